"""Extend Jupyter for the course: short error messages, the home view, and the learner's progress."""
