"""Test doubles: fake models, tokenizers and layers to run answers with, and functions that collect their effects.

Each module is named after its lesson. The process that runs an answer, sandboxed or not, creates these objects by name.
Therefore, this package contains no correct or wrong answers, and none of its modules imports `utils.checks` or
`solutions`.
"""
