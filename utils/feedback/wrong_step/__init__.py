"""Find the step at which an answer goes wrong: compare its torch calls with the expected intermediate values.

Start with `departure`.
"""
