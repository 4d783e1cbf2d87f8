"""Measure what learners know: the concept inventory, and the schedule of repeated questions."""
