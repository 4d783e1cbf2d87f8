"""Train the course's models: the training loop, its display, and the bundled small GPT-2.

Start with `loop`. Imports: gpt2, lessons, show.
"""
