"""What is made of results: a page for each student, tables for the gradebook, and a page for the class."""
