"""Record and share a learner's progress: the concept inventory, the schedule of questions, and attempts.

Start with `inventory`. Imports: feedback, learner_data, lessons, show.
"""
