"""Provide the `coginst` command: one module for each group of commands.

Start with `app`. Imports: book, exercises, feedback, gpt2, grading, instructor, learner_data, lessons, models,
training.
"""
