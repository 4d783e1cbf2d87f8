"""Define the colours for figures and HTML. A test checks that `page.css` contains the same colours."""

from collections.abc import Sequence

# Each CSS name has one tone for light pages and one for dark pages. In both tones, the
# contrast with `paper` is at least 4.5:1 for text and at least 3:1 for marks. The series are Okabe and Ito's colours,
# adjusted to reach this contrast.
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
    # Tints of the series. Neighbouring tints differ in hue and lightness. Ink has a contrast of at least 7:1 on each
    # tint.
    "tint-blue": ("#cfe8f7", "#173c56"),
    "tint-vermilion": ("#fbdcc0", "#57331a"),
    "tint-green": ("#c9ebdd", "#174536"),
    "tint-purple": ("#f2d9ec", "#4b2c49"),
    "tint-brown": ("#f5e9b3", "#453d12"),
    "tint-ink": ("#e3e5e8", "#343a42"),
    # These colours are for the table of class results.
    "grey": ("#aeb6bf", "#59626d"),
    "ochre": ("#d9a441", "#8a6d1f"),
}
PAPER, INK, MUTED, FAINT, SHADE = (PALETTE[name][0] for name in ("paper", "ink", "muted", "faint", "shade"))
BLUE, VERMILION, GREEN, PURPLE, BROWN = (PALETTE[name][0] for name in ("blue", "vermilion", "green", "purple", "brown"))
SERIES = (BLUE, VERMILION, GREEN, PURPLE, BROWN, INK)
TINTS = tuple(light for name, (light, _) in PALETTE.items() if name.startswith("tint-"))
YES, NO = TINTS[0], SHADE
GREY, OCHRE = PALETTE["grey"][0], PALETTE["ochre"][0]
# Tables of numbers look the same on light and dark pages. These are matplotlib's names of
# colour scales. `page.js` also contains viridis.
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"
BLOCKED = "#e4e7eb"  # a table cell whose score is blocked (−∞)

# These mid-tone accents have a contrast of at least 3:1 on JupyterLab's light and dark backgrounds. The text beside
# them has the theme's own colour.
ACCENT = {"passed": "#2a8f5b", "failed": "#d1543a", "todo": "#7a7f8a"}


def text_colour_on(rgba: Sequence[float]) -> str:
    """Return black or white: the text colour with the higher WCAG contrast on `rgba`. The contrast is at least 4.54.

    The white is a fixed colour instead of `paper`, because `paper` becomes dark on a dark page. Text in a coloured cell
    must stay white.
    """
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgba[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#fefefe" if luminance < 0.179 else "#000000"
