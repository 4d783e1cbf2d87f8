"""Keep an old import path for nbgrader assignments that were exported before the package `nbgrader` existed."""

from utils.instructor.nbgrader.grading import grade as grade
