"""Provide fake models, tokenizers and layers as arguments for answers, and functions that collect an answer's effects.

Each module is named after its lesson. An answer runs in a process, with or without a sandbox, and this process creates
the objects by name. Therefore, this package contains no correct or wrong answers, and none of its modules imports
`utils.checks` or `solutions`.

Start with `toy_transformer`. Imports: gpt2, models.
"""
