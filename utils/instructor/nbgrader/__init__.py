"""Use the course with nbgrader: export assignments, and grade their cells."""
