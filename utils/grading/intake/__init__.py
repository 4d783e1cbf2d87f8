"""Read what a class handed in: archives, rosters, and the student and the lesson that each file belongs to."""
