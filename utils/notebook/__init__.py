"""Extend Jupyter for the course: short messages for errors, the home view, and the learner's progress."""
