"""Record and share a learner's progress: the concept inventory, the schedule of questions, and attempts."""
