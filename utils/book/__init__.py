"""Build the course as a web site (`coginst book`). Its explorers work without an installation.

Start with `site`. Imports: exercises, instructor, lessons, show.
"""
