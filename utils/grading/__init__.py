"""Collect, grade and report the submissions of a class (docs/grading.md).

Start with `engine`. Imports: exercises, feedback, gpt2, instructor, learner_data, learning, lessons, models, show,
test_doubles.
"""
