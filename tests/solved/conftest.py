"""Exclude the solved notebooks from nbval: test_outputs.py compares them with a run that other tests share."""

collect_ignore_glob = ["*.ipynb"]
