"""Define the exercises: one module per lesson, with oracles, cases, misconceptions and hints.

Only the registry (`utils.exercises.exercise.all_exercises`) imports these modules. Start with `layer_norm`. Imports:
exercises, feedback, gpt2, models, test_doubles.
"""
