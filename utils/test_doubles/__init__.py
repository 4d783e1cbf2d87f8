"""What an answer is run with and is not plain data: models, tokenizers and layers that stand in, and views.

One module a lesson, named by its stem. Whoever runs an answer elsewhere builds these by name; so nothing in this room
knows a right answer or a wrong one, and nothing here imports `utils.checks` or `solutions`.
"""
