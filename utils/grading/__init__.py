"""Taking back a class: the judge and the runner, and what is made of their verdicts (docs/grading.md)."""
