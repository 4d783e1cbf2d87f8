"""What a learner does in the course, as data: the log of attempts, and the file that a learner may share."""
