"""The one table of colours: figures and HTML both take theirs from here. It imports nothing."""

from collections.abc import Sequence

PAPER, INK, MUTED, FAINT = "#ffffff", "#1f2328", "#57606a", "#d0d7de"
# Okabe and Ito's colours, darkened where they would be too light for text on paper.
BLUE, VERMILION, GREEN, PURPLE, BROWN, BLACK = "#0072b2", "#c24e00", "#00795a", "#8c4a86", "#7a5c00", INK
SERIES = (BLUE, VERMILION, GREEN, PURPLE, BROWN, BLACK)
# Tints of the series, in an order in which neighbours differ in hue and in lightness; ink has 10:1 on each.
TINTS = ("#cfe8f7", "#fbdcc0", "#c9ebdd", "#f2d9ec", "#f5e9b3", "#e3e5e8")
YES, NO = TINTS[0], "#f3f4f6"
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"  # matplotlib's names

# Mid-tone accents keep a contrast of 3:1 and more on JupyterLab's light and dark backgrounds;
# text beside them keeps the theme's own colour.
ACCENT = {"passed": "#2a8f5b", "failed": "#d1543a", "todo": "#7a7f8a"}


def readable_on(rgba: Sequence[float]) -> str:
    """Black or white, whichever has the higher WCAG contrast on the colour: 4.58 at least, at luminance 0.179."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgba[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#ffffff" if luminance < 0.179 else "#000000"
