"""Judge answers and store the verdicts. The judge never executes student code; it asks a runner in the sandbox."""
