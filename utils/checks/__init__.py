"""Define the exercises: one module per lesson, with oracles, cases, misconceptions and hints.

Only the registry (`utils.feedback.exercise.all_exercises`) imports these modules.
"""
