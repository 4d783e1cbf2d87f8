"""Check the SVG of figures: it looks like the figure, follows light and dark, and needs no other resource."""

import base64
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from tests.explore.widget_page import open_tab
from tests.show.figure_checks import INPUTS, SCORES, TOKENS, WEIGHTS, contrast_ratio, random_patterns
from utils import show
from utils.show.colours import PALETTE

FIGURES = {
    "arrows": lambda: show.vectors({"a": [2, 1], "b": [1, 2]}, angle=("a", "b"), projection=("b", "a")),
    "attention": lambda: show.attention(TOKENS, random_patterns(4, 6)),
    "bars": lambda: show.bars({"one": [1.5, -1], "two": [0.5, 2]}, ["·a", "b"], reference=("half", 0.5)),
    "boxes": lambda: show.residual_stream(1),
    "cells": lambda: show.weights(WEIGHTS, TOKENS),
    "clipped": lambda: show.heat(torch.arange(4000.0).view(40, 100) - 2000),
    "dots": lambda: show.against(torch.arange(-5.0, 5.0, 0.1), torch.arange(-5.0, 5.0, 0.1) ** 2, "x", "y"),
    "flow": lambda: show.steps(INPUTS, TOKENS, 1),
    "lines": lambda: show.lines(range(40), {"up": range(40), "down": range(40, 0, -1)}, "t", "x", "y", reference=9),
    "mask": lambda: show.mask(SCORES > 0.8, TOKENS),
    "signed": lambda: show.scores(SCORES.masked_fill(SCORES < 0.5, -torch.inf), TOKENS),
    "strips": lambda: show.strips(range(40), {"a": torch.arange(40.0).sin(), "b": torch.arange(40.0).cos()}),
}
PAGE = "<!doctype html><html {html}><meta charset='utf-8'><body {body} style='margin:0'>{inside}</body></html>"


def shown(window, inside, html="", body="", width=800):
    page = open_tab(window, width)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.set_content(PAGE.format(html=html, body=body, inside=inside))
    assert not [url for url in asked if not url.startswith("data:")]
    return page


def blurred(png):
    """Return the means of squares of 10 × 10 pixels, so that different smoothing of edges does not matter."""
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(float)
    rows, columns = pixels.shape[0] // 10, pixels.shape[1] // 10
    return pixels[: rows * 10, : columns * 10].reshape(rows, 10, columns, 10, 3).mean((1, 3))


@pytest.mark.parametrize("name", FIGURES)
def test_in_a_light_page_it_looks_as_matplotlib_draws_it(window, name):
    picture = FIGURES[name]()
    page = shown(window, show.Picture.html(picture))
    ours, theirs = blurred(page.locator("svg").first.screenshot()), blurred(picture.png(dpi=100))
    page.close()
    rows, columns = (min(a, b) for a, b in zip(ours.shape[:2], theirs.shape[:2]))
    apart = np.abs(ours[:rows, :columns] - theirs[:rows, :columns])
    assert theirs.std() > 5, "the picture is empty"
    assert apart.mean() < 4 and np.quantile(apart, 0.99) < 32


@pytest.mark.parametrize(
    "html, body, dark",
    [
        ("", "", False),
        ("", "data-jp-theme-light='true'", False),
        ("", "data-jp-theme-light='false'", True),
        ("data-theme='light'", "", False),
        ("data-theme='dark'", "", True),
        ("", "class='vscode-dark'", True),
        ("style='color-scheme: light dark'", "", "system"),
        ("style='color-scheme: light dark' data-theme='light'", "", False),
    ],
)
def test_it_follows_what_the_page_says_of_light_and_dark(window, html, body, dark):
    page = shown(window, show.mask(SCORES > 0.8, TOKENS).html(), html, body)
    ink = "getComputedStyle(document.querySelector('svg')).fill"
    tones = ["rgb({}, {}, {})".format(*bytes.fromhex(tone[1:])) for tone in PALETTE["ink"]]
    for system in ("light", "dark"):
        page.emulate_media(color_scheme=system, media="screen")
        assert page.evaluate(ink) == tones[system == "dark" if dark == "system" else dark]
    page.emulate_media(media="print")
    assert page.evaluate(ink) == tones[0], "paper is white"
    page.close()


@pytest.mark.parametrize("name", FIGURES)
def test_in_a_dark_page_nothing_written_is_lost(window, name):
    """Text outside cells is legible on JupyterLab's dark background, and the figure has no background."""
    page = shown(window, show.Picture.html(FIGURES[name]()), "data-theme='dark'", "bgcolor='#111111'")
    fills = page.evaluate("[...document.querySelectorAll('svg > g[transform]')].map(g => getComputedStyle(g).fill)")
    corner = page.evaluate("getComputedStyle(document.querySelector('svg')).backgroundColor")
    page.close()
    in_cells = {(254, 254, 254), (0, 0, 0)}
    drawn = {tuple(map(int, re.findall(r"\d+", fill)[:3])) for fill in fills} - in_cells
    assert fills and drawn and corner == "rgba(0, 0, 0, 0)"
    assert all(contrast_ratio(np.array(fill) / 255, [17 / 255] * 3) >= 4.5 for fill in drawn)


@pytest.mark.parametrize("width", [380, 800])
def test_it_is_never_wider_than_the_page(window, width):
    page = shown(window, "".join(show.Picture.html(draw()) for draw in FIGURES.values()), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [one.bounding_box() for one in page.locator("body > svg").all()]
    page.close()
    assert len(boxes) == len(FIGURES) and all(box["width"] <= width and box["height"] > 60 for box in boxes)
    assert width == 380 or all(400 <= box["width"] <= 601 for box in boxes)


def test_ids_are_one_of_a_kind_and_all_that_is_referred_to_is_there():
    texts = [show.Picture.html(draw()) for draw in FIGURES.values()]
    assert texts == [show.Picture.html(draw()) for draw in FIGURES.values()], "the same figure, the same text"
    every = []
    for text in texts:
        root = ElementTree.fromstring(text)
        ids = [one.get("id") for one in root.iter() if one.get("id")]
        named = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
        assert ids and {a or b for a, b in named} == set(ids)
        every += ids
    assert len(every) == len(set(every)), "two figures share an id"


def test_it_is_smaller_than_the_image():
    for draw in FIGURES.values():
        picture = draw()
        assert len(show.Picture.html(picture)) < len(base64.b64encode(picture.png())) / 2


def test_a_page_that_takes_drawings_away_is_left_with_the_words():
    """For an untrusted notebook, JupyterLab shows the text between the tags, but neither drawings nor styles."""
    picture = show.weights(WEIGHTS, ["<b>&\"'", *TOKENS[1:]])
    root = ElementTree.fromstring(picture.html())
    said = " ".join(picture.alt.split())
    assert root.get("aria-label") == said and root.get("role") == "img"
    left = "".join(
        text for one in root.iter() if not one.tag.endswith("style") for text in (one.text or "", one.tail or "")
    )
    assert left == said


def test_cells_stay_as_they_are_and_marks_follow():
    text = show.weights(WEIGHTS, TOKENS).html()
    assert 'fill="#000000"' in text and 'fill="#fefefe"' in text and "image-rendering:pixelated" in text
    mask = show.mask(SCORES > 0.8, TOKENS).html()
    assert "<image" not in mask and "var(--tint-blue,#cfe8f7)" in mask and "var(--shade,#f3f4f6)" in mask
