"""Read what a class handed in, and find the student and the lesson that each file belongs to."""
