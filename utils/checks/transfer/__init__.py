"""Declare the transfer exercises, one module per lesson.

`utils.feedback.transfer_families` explains families and members.
"""
