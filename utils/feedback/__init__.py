"""Check a learner's answer: run it, compare its results with those of an oracle, and explain what is wrong."""
