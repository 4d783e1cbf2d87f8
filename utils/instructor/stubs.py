"""The name that nbgrader settings import which were exported before nbgrader had a room of its own."""

from utils.instructor.nbgrader.stubs import preprocessors as preprocessors
