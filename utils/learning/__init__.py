"""What a learner knows and did: the concept inventory, the schedule of questions, the log of attempts, sharing."""
