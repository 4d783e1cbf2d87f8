"""Check grids, masks, weights and scores: read numbers, colours and words back from the figure."""

import itertools
import math

import numpy as np
import pytest
import torch

from tests.show.figure_checks import (
    SCORES,
    TOKENS,
    WEIGHTS,
    artist_box,
    awkward_texts,
    contrast_ratio,
    pixels,
    text_strings,
)
from utils import show


def cell_colour(picture, i, j, shot=None):
    """Return the colour of a cell, measured beside its middle, where there is no number."""
    x, y = picture.figure.axes[0].transData.transform((j - 0.35, i - 0.35))
    shot = pixels(picture) if shot is None else shot
    return shot[shot.shape[0] - 1 - int(y), int(x), :3]


def in_cells(picture):
    """Return {(row, column): text} for the texts in the cells of the table."""
    axes = picture.figure.axes[0]
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t for t in axes.texts if t.get_ha() == "center"}


def test_grid_is_empty_and_labelled_on_both_sides(snapshot):
    picture = show.grid(["When", "Mary"], title="Which cells are yes?")
    assert text_strings(picture).count("When") == 2 and text_strings(picture).count("Mary") == 2
    assert not in_cells(picture)
    assert picture.alt == snapshot


def test_mask_marks_every_cell(snapshot):
    given = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    picture = show.mask(given, ["a", "b", "c"])
    assert {at: t.get_text() for at, t in in_cells(picture).items()} == {
        (i, j): "✓" if given[i, j] else "×" for i in range(3) for j in range(3)
    }
    assert picture.alt == snapshot
    assert (cell_colour(picture, 0, 0) != cell_colour(picture, 0, 1)).any()


def test_a_large_mask_has_a_dot_for_each_yes():
    given = torch.ones(40, 40, dtype=torch.bool).tril()
    (dots,) = list(show.mask(given, awkward_texts(40)).figure.axes[0].lines)
    assert {(y, x) for x, y in dots.get_xydata()} == {(i, j) for i, j in given.nonzero().tolist()}


def test_a_number_just_above_one_is_written_with_enough_digits():
    with pytest.raises(ValueError, match=r"found 1\.004\."):
        show.weights([[1.004, 0.0], [0.5, 0.5]], ["a", "b"])


def test_weights_print_and_colour_the_numbers_given():
    from matplotlib import colormaps

    low, high = WEIGHTS.min().item(), WEIGHTS.max().item()
    sharp = (SCORES * 20).softmax(-1)
    for given, scaled in ((WEIGHTS, (WEIGHTS - low) / (high - low)), (sharp, sharp)):
        picture = show.weights(given, TOKENS)
        for i, j in itertools.product(range(6), range(6)):
            assert in_cells(picture)[i, j].get_text().replace("0.00", "0") == f"{given[i, j]:.2f}".replace("0.00", "0")
            colour = 255 * np.array(colormaps["viridis"](scaled[i, j].item())[:3])
            assert np.abs(cell_colour(picture, i, j) - colour).max() <= 3
    assert sharp.max() > 0.5 and len(picture.figure.axes) == 1, "from 0 to 1, nothing needs to be said"


def test_colours_that_run_over_what_is_there_say_so(snapshot):
    picture = show.weights(WEIGHTS, TOKENS)
    _, scale = picture.figure.axes
    assert [label.get_text() for label in scale.get_yticklabels()] == ["0.10", "0.24"]
    assert picture.alt == snapshot
    assert len(show.weights(torch.full((3, 3), 1 / 3), list("abc")).figure.axes) == 1, "nothing to tell apart"
    assert "journey: Your 0.14, journey 0.24, starts 0.23, with 0.12, one 0.11, step 0.16." in picture.alt
    assert "Every row sums to 1." in picture.alt and picture.alt.startswith(
        "The largest weight: 'journey' → 'journey', 0.24"
    )


def test_queries_go_down_and_keys_across():
    picture = show.weights([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]], ["q0", "q1"], keys=["k0", "k1", "k2"])
    axes = picture.figure.axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["q0", "q1"]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["k0", "k1", "k2"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # row 0 is on top
    assert in_cells(picture)[0, 0].get_text() == "0.90" and in_cells(picture)[1, 2].get_text() == "0.50"
    assert "q1: k0 0.20, k1 0.30, k2 0.50." in picture.alt


def test_weights_of_one_query():
    bare, named = show.weights(WEIGHTS[1], TOKENS), show.weights(WEIGHTS[1], "journey", keys=TOKENS)
    for picture in (bare, named):
        drawn = [in_cells(picture)[0, j].get_text() for j in range(6)]
        assert drawn == ["0.14", "0.24", "0.23", "0.12", "0.11", "0.16"]
    assert "1 query, 6 keys" in bare.alt and "journey: Your 0.14" in named.alt


def test_row_sums_that_are_not_one_are_said(snapshot):
    assert show.weights([[0.5, 0.0], [0.2, 0.5]], ["a", "b"]).alt == snapshot


def test_row_sums_that_are_written_as_one_are_one():
    assert "Every row sums to 1." in show.weights([[0.5, 0.498], [0.5, 0.5]], ["a", "b"]).alt


def test_the_words_tell_equal_tokens_apart():
    table, names = torch.eye(9), [*"abcdefg", "a", "a"]
    table[0, 7] = 0.5
    assert "a (0): largest at a (0), 1.00, then a (7), 0.50." in show.scores(table, names).alt
    assert "a (1) may attend to: a (0), a (1)." in show.mask(torch.ones(2, 2).tril().bool(), ["a", "a"]).alt
    assert "a (1) → a (0) 0.70" in show.attention(["a", "a"], [[1, 0], [0.7, 0.3]]).alt


def test_a_larger_table_names_the_two_largest_numbers_of_each_row():
    """The largest score is often a token's score with itself, which says nothing about the other tokens."""
    table = torch.eye(9)
    table[2, 7] = 0.5
    assert "c: largest at c, 1.00, then h, 0.50." in show.scores(table, list("abcdefghi")).alt


def test_numbers_stop_beyond_eight_and_a_scale_takes_over():
    eight, nine = (show.weights(torch.eye(n), awkward_texts(n)) for n in (8, 9))
    assert len(in_cells(eight)) == 64 and len(eight.figure.axes) == 1
    assert not in_cells(nine) and len(nine.figure.axes) == 2
    assert ":" in nine.alt and "largest at supercalifragilistic, 1.00" in nine.alt


def test_scores_are_signed_and_centred_at_zero():
    given = torch.tensor([[0.0, -1.0], [1.0, 2.0]])
    picture = show.scores(given, ["a", "b"])
    image = picture.figure.axes[0].images[0]
    assert image.norm.vmin == -2 and image.norm.vmax == 2
    zero, low, high = (cell_colour(picture, *at) for at in ((0, 0), (0, 1), (1, 1)))
    assert zero.min() > 240 and low[2] > low[0] and high[0] > high[2]  # white, blue, red
    assert [in_cells(picture)[at].get_text() for at in ((0, 0), (0, 1), (1, 0))] == ["0", "−1.00", "1.00"]
    assert "b: a 1.00, b 2.00." in picture.alt


def test_blocked_scores_are_grey_and_counted(snapshot):
    picture = show.scores(SCORES.masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf), TOKENS)
    assert in_cells(picture)[0, 5].get_text() == "−∞"
    assert picture.alt == snapshot
    colour = cell_colour(picture, 0, 5)
    assert np.ptp(colour) < 10 and colour.max() < 245


def test_scores_that_are_all_zero_are_drawn():
    assert in_cells(show.scores([[0.0]], ["a"]))[0, 0].get_text() == "0"
    assert "−∞" in show.scores([[-math.inf]], ["a"]).alt


@pytest.mark.parametrize("draw, low", [(show.weights, 0.0), (show.scores, -1.0)])
def test_numbers_have_wcag_contrast_on_every_colour(draw, low):
    from matplotlib.colors import to_rgb

    picture = draw(np.linspace(low, 1, 64).reshape(8, 8), [*TOKENS, "a", "b"])
    shot = pixels(picture)
    for (i, j), text in in_cells(picture).items():
        assert contrast_ratio(to_rgb(text.get_color()), cell_colour(picture, i, j, shot) / 255) >= 4.5


@pytest.mark.parametrize("n", [1, 2, 6, 8])
def test_numbers_fit_their_cells(n):
    picture = show.scores(np.full((n, n), -123456.0), awkward_texts(n))
    axes = picture.figure.axes[0]
    for (i, j), text in in_cells(picture).items():
        (x0, y1), (x1, y0) = axes.transData.transform([(j - 0.5, i - 0.5), (j + 0.5, i + 0.5)])
        inner = artist_box(picture, text)
        assert x0 <= inner.x0 and inner.x1 <= x1 and y0 <= inner.y0 and inner.y1 <= y1


@pytest.mark.parametrize("names", [TOKENS, awkward_texts(8), ["W" * 7] * 8])
def test_column_labels_do_not_touch(names):
    picture = show.weights(torch.eye(len(names)), names)
    labels = picture.figure.axes[0].get_xticklabels()
    if not labels[0].get_rotation():
        boxes = [artist_box(picture, label) for label in labels]
        assert all(a.x1 <= b.x0 for a, b in itertools.pairwise(boxes))
    else:  # slanted: the lines of text are parallel, a cell apart
        assert all(label.get_rotation() in (45, 90) for label in labels)
