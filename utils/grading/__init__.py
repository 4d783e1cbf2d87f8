"""Collect, grade and report the submissions of a class (docs/grading.md)."""
