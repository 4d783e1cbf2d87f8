"""Define the exercises: one module per lesson, with oracles, cases, misconceptions and hints.

Only the registry (`utils.exercises.exercise.all_exercises`) imports these modules.
"""
