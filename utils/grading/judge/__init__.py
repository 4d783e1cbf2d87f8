"""Judge answers and store the verdicts. The judge never executes student code; a runner in the sandbox does."""
