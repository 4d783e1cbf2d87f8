"""How large figures, their margins and their letters are."""

NARROWEST, WIDEST = 4.0, 6.0  # inches; one inch is 100 CSS pixels in a notebook
CSS_DPI, PNG_DPI = 100, 200
HEADLINE = 4.4  # inches: as much of a wide figure as a phone shows before it is moved; no title is longer
PAD = 0.12  # inches
TEXT, SMALL, SMALLEST, TITLE = 9.5, 8.5, 6.5, 11.0  # points
MOST_NUMBERS = 8  # tables up to 8 × 8 have their numbers printed
BENCH = 10.0  # inches: the scratch size on which axes are placed before the figure is cut to what is on it
