"""Data, models and stored weights for the lessons."""
