"""Provide the models, data and stored weights that lessons 05 and 08 to 13 use.

The module or package of a lesson has the lesson's name. Start with `toy_transformer`. Imports: gpt2, lessons, show,
training.
"""
