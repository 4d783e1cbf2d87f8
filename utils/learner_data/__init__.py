"""Store a learner's progress, log of attempts and seed in the folder that belongs to the user.

Start with `progress`. Imports: lessons.
"""
