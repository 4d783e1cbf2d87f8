"""Declare exercises, run an answer on their cases, and compare the results.

The sandbox for students' code runs answers with this package. Start with `exercise`. Imports:
lessons.
"""
