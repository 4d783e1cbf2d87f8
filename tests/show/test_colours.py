"""One table of colours: what is written is legible on what it stands on."""

import pytest
from matplotlib.colors import to_rgb

from tests.show.figures import contrast
from utils.show import colours


@pytest.mark.parametrize("text", [colours.INK, colours.MUTED, *colours.SERIES])
def test_what_is_written_on_paper_is_legible(text):
    assert contrast(to_rgb(text), to_rgb(colours.PAPER)) >= 4.5


@pytest.mark.parametrize("tint", [*colours.TINTS, colours.YES, colours.NO])
def test_ink_is_legible_on_every_tint(tint):
    assert contrast(to_rgb(colours.INK), to_rgb(tint)) >= 10


@pytest.mark.parametrize("accent", colours.ACCENT.values())
@pytest.mark.parametrize("page", ["#ffffff", "#111111"])  # JupyterLab's
def test_edges_and_marks_stand_out_in_light_and_dark(accent, page):
    assert contrast(to_rgb(accent), to_rgb(page)) >= 3
