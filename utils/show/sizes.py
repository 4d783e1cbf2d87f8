"""Define the sizes of figures, margins and text."""

NARROWEST, WIDEST = 4.0, 6.0  # inches; one inch is 100 CSS pixels in a notebook
CSS_DPI, PNG_DPI = 100, 200
HEADLINE = 4.4  # the maximum width of a title, in inches, so that a phone shows the title without scrolling
PAD = 0.12  # inches
TEXT, SMALL, SMALLEST, TITLE = 9.5, 8.5, 6.5, 11.0  # points
MOST_NUMBERS = 8  # tables up to 8 × 8 show their numbers
BENCH = 10.0  # inches: the side of the scratch page for axes, before the figure is cropped to its content
