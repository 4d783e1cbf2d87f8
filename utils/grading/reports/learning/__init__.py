"""Estimate what a class learned from the `learning.json` files that learners chose to share."""
