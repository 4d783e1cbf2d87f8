"""Declare the transfer exercises, one module per lesson. `utils.feedback.transfer` explains families and members."""
