"""Data, models and stored weights of the lessons."""
