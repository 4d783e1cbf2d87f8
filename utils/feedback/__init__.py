"""Check a learner's answers: run them, compare their results with an oracle's, and explain what is wrong."""
