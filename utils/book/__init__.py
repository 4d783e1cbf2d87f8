"""The course as a web site that is read, and moved, with nothing installed: `coginst book`."""
