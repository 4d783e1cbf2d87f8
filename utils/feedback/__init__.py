"""Judge a learner's answer, and explain what is wrong.

`check` is the function that learners call; `diagnose` finds the verdict. Start with `diagnose`. Imports: exercises,
learner_data, lessons, show.
"""
