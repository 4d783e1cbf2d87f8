"""Extend Jupyter for the course: short error messages, the home view, and the learner's progress.

Start with `startup`. Imports: exercises, explore, feedback, learner_data, learning, lessons, show.
"""
