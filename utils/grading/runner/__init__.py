"""Run one student's answer in the sandbox. Only this package of `grading` is mounted there."""
