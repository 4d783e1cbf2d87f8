"""Declare exercises, run an answer on their cases, and compare the results."""
