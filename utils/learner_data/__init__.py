"""Store the learner's progress, log of attempts and seed."""
