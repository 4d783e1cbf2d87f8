"""The records of a learner, as data: the log of attempts, and the file that a learner may share."""
