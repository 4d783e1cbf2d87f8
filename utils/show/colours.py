"""The one table of colours: figures, HTML and the live pages' `page.css` have theirs from here. It imports nothing."""

from collections.abc import Sequence

# What a colour is called in CSS, its tone on a light page and on a dark one. On paper a text has a contrast of 4.5:1
# at least in both, a mark 3:1. The series are Okabe and Ito's colours, darkened or lightened until they have it.
PALETTE = {
    "paper": ("#ffffff", "#111417"),
    "ink": ("#1f2328", "#e6e8eb"),
    "muted": ("#57606a", "#a8b0ba"),
    "faint": ("#d0d7de", "#4a525c"),
    "shade": ("#f3f4f6", "#22272d"),
    "blue": ("#0072b2", "#5cb5ea"),
    "vermilion": ("#c24e00", "#ff9a57"),
    "green": ("#00795a", "#4fcba2"),
    "purple": ("#8c4a86", "#dba1d5"),
    "brown": ("#7a5c00", "#dcbc52"),
    # Tints of the series, in an order in which neighbours differ in hue and in lightness; ink has 7:1 on each.
    "tint-blue": ("#cfe8f7", "#173c56"),
    "tint-vermilion": ("#fbdcc0", "#57331a"),
    "tint-green": ("#c9ebdd", "#174536"),
    "tint-purple": ("#f2d9ec", "#4b2c49"),
    "tint-brown": ("#f5e9b3", "#453d12"),
    "tint-ink": ("#e3e5e8", "#343a42"),
    # In a table of who passed what.
    "grey": ("#aeb6bf", "#59626d"),
    "ochre": ("#d9a441", "#8a6d1f"),
}
PAPER, INK, MUTED, FAINT, SHADE = (PALETTE[name][0] for name in ("paper", "ink", "muted", "faint", "shade"))
BLUE, VERMILION, GREEN, PURPLE, BROWN = (PALETTE[name][0] for name in ("blue", "vermilion", "green", "purple", "brown"))
SERIES = (BLUE, VERMILION, GREEN, PURPLE, BROWN, INK)
TINTS = tuple(light for name, (light, _) in PALETTE.items() if name.startswith("tint-"))
YES, NO = TINTS[0], SHADE
GREY, OCHRE = PALETTE["grey"][0], PALETTE["ochre"][0]
# Tables of numbers look the same on a light and on a dark page. The names are matplotlib's; `page.js` has viridis, too.
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"
BLOCKED = "#e4e7eb"  # a cell of such a table that holds no number

# Mid-tone accents keep a contrast of 3:1 and more on JupyterLab's light and dark backgrounds;
# text beside them keeps the theme's own colour.
ACCENT = {"passed": "#2a8f5b", "failed": "#d1543a", "todo": "#7a7f8a"}


def text_colour_on(rgba: Sequence[float]) -> str:
    """Black or white, whichever has the higher WCAG contrast on the colour: 4.54 at least, at luminance 0.179.

    The white is a hair off paper's, which turns dark on a dark page: what stands in a coloured cell stays as it is.
    """
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgba[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#fefefe" if luminance < 0.179 else "#000000"
