"""Train the models of the course: the training loop, its display, and the bundled small GPT-2."""
