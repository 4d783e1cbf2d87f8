"""Build, verify and release the course: student copies, nbgrader assignments, new lessons and misconceptions.

Start with `build`. Imports: exercises, explore, feedback, learning, lessons.
"""
