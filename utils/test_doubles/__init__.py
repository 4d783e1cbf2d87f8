"""Provide fake models, tokenizers and layers for running answers, and functions that collect the answers' effects.

Each module is named after its lesson. The process that runs an answer, sandboxed or not, creates these objects by name.
Therefore, this package contains no correct or wrong answers, and none of its modules imports `utils.checks` or
`solutions`.

Start with `toy_transformer`. Imports: gpt2, models.
"""
