"""Hold what a learner knows and did: the concept inventory, the schedule of questions, attempts, and sharing."""
