"""Test doubles: the fake models, tokenizers and layers that answers are run with, and views of what an answer changed.

There is one module for each lesson, with the lesson's stem. A process that runs an answer builds these objects by name,
also in the sandbox. Therefore nothing in this package knows a correct or a wrong answer, and no module here imports
`utils.checks` or `solutions`.
"""
