"""Write reports on results: a page for each student, tables for gradebooks, and a page for the class."""
