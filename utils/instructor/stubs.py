"""Keep an old import path for nbgrader settings that were exported before the package `nbgrader` existed."""

from utils.instructor.nbgrader.stubs import preprocessors as preprocessors
