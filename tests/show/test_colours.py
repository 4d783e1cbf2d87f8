"""Check that text is legible on its background, on light and on dark pages, and that all pages use one table."""

import re
from pathlib import Path

import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb

import utils.show
from tests.show.figure_checks import contrast_ratio
from utils.show import colours
from utils.show.colours import PALETTE

TONES = {"light": 0, "dark": 1}
DARK_PAGES = ("#111111", "#111417", "#14181e")  # the backgrounds of JupyterLab, our pages, and Sphinx's book theme
WRITTEN = ["ink", "muted", "blue", "vermilion", "green", "purple", "brown"]
TINTS = [name for name in PALETTE if name.startswith("tint-")]


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_on_paper_is_legible(name):
    light, dark = PALETTE[name]
    assert contrast_ratio(to_rgb(light), to_rgb("#ffffff")) >= 4.5
    assert all(contrast_ratio(to_rgb(dark), to_rgb(page)) >= 4.5 for page in DARK_PAGES)


@pytest.mark.parametrize("tone", TONES)
@pytest.mark.parametrize("tint", [*TINTS, "shade"])
def test_ink_is_legible_on_every_tint(tint, tone):
    tones = PALETTE["ink"], PALETTE[tint]
    assert contrast_ratio(*(to_rgb(pair[TONES[tone]]) for pair in tones)) >= 7


def test_no_two_colours_of_the_table_are_the_same():
    """The SVG renderer identifies each colour by its light tone."""
    assert len({light for light, _ in PALETTE.values()}) == len(PALETTE)
    assert colours.text_colour_on((0, 0, 0)) not in {light for light, _ in PALETTE.values()}


@pytest.mark.parametrize("name", [colours.SEQUENTIAL, colours.DIVERGING])
def test_numbers_are_legible_in_every_cell(name):
    for k in range(256):
        cell = colormaps[name](k)
        assert contrast_ratio(to_rgb(colours.text_colour_on(cell)), cell[:3]) >= 4.5


def test_the_live_pages_have_the_same_colours():
    css = (Path(utils.show.__file__).parent / "page.css").read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in re.findall(r"\{([^}]*)\}", css)[:2])
    for name in set(WRITTEN) | {"paper", "faint"}:
        assert (light[name], dark[name]) == PALETTE[name]


@pytest.mark.parametrize("accent", colours.ACCENT.values())
@pytest.mark.parametrize("page", ["#ffffff", "#111111"])  # JupyterLab's
def test_edges_and_marks_stand_out_in_light_and_dark(accent, page):
    assert contrast_ratio(to_rgb(accent), to_rgb(page)) >= 3
