"""Help the tests of figures: texts that are hard to draw, and functions that read a figure's texts and colours."""

import re
from xml.etree import ElementTree

import numpy as np
import torch

from utils.checks._attention import INPUTS
from utils.show import Picture

TOKENS = "Your journey starts with one step".split()
SCORES = INPUTS @ INPUTS.T
WEIGHTS = SCORES.softmax(-1)
AWKWARD = ["$x_1$", " the", "\n", "汉字漢字", "😀", "supercalifragilistic"]
AWKWARD += ["", '<b>&"', "a\tb", "\u202eabc", "$\\frac$", "WWWWWWWWWWWW"]


def awkward_texts(n):
    return [AWKWARD[i % len(AWKWARD)] for i in range(n)]


def text_artists(picture):
    """Return all visible texts of a figure."""
    from matplotlib.text import Text

    return [text for text in picture.figure.findobj(Text) if text.get_visible() and text.get_text()]


def text_strings(picture):
    return [text.get_text() for text in text_artists(picture)]


def artist_box(picture, artist):
    return artist.get_window_extent(picture.figure.canvas.get_renderer())


def pixels(picture):
    picture.figure.canvas.draw()
    return np.asarray(picture.figure.canvas.buffer_rgba()).astype(int)


def contrast_ratio(one, other):
    """Return the WCAG contrast of two colours, each given as three numbers from 0 to 1."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def random_patterns(heads, n, causal=True, seed=0):
    scores = 3 * torch.randn(heads, n, n, generator=torch.Generator().manual_seed(seed))
    return (scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf) if causal else scores).softmax(-1)


def assert_not_clipped(picture, widest=6.001):
    """Check that nothing touches the edge, that $…$ is not mathematics, and that width and alt text are valid."""
    figure = picture.figure
    drawn = figure.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_size_inches()
    assert drawn.x0 >= 0 and drawn.x1 <= width and drawn.y0 >= 0 and drawn.y1 <= height
    shot = pixels(picture)
    border = np.concatenate([shot[0], shot[-1], shot[:, 0], shot[:, -1]])
    assert (border == 255).all(), "part of the drawing touches the edge"
    assert 4 <= width <= widest, f"{width} inches wide"
    for title in figure.texts:
        top = max(axes.get_tightbbox(figure.canvas.get_renderer()).y1 for axes in figure.axes)
        assert artist_box(picture, title).y0 >= top, "the title touches the picture"
    assert ElementTree.fromstring(Picture.html(picture)).get("aria-label") == " ".join(picture.alt.split())
    assert picture.alt and not re.search(r"\t|\bnan\b", picture.alt)
    assert not any(text.get_parse_math() for text in text_artists(picture)), "$…$ would be read as mathematics"


def assert_no_overlap(picture, over=0.0):
    """Check that no two texts overlap by more than `over` pixels in both directions."""
    boxes = [(text.get_text(), artist_box(picture, text)) for text in text_artists(picture)]
    for i, (one, a) in enumerate(boxes):
        for other, b in boxes[i + 1 :]:
            shared = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert min(shared) <= over, f"{one!r} touches {other!r}"
