"""The name that nbgrader assignments import which were exported before nbgrader had a room of its own."""

from utils.instructor.nbgrader.grading import grade as grade
