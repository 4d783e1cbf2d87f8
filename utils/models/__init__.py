"""Provide data, models and stored weights for the lessons."""
