"""Check that the figure of the body shows the given query, key and reference."""

import math
import re

import numpy as np
import pytest
import torch

from tests.show.figure_checks import assert_no_overlap, assert_not_clipped
from utils import show
from utils.show.gram_attention import align_to_floor

BODY = ([1.2, 0.2, 0.1], [0.6, 1.2, 0.3], [0.1, 0.3, 1.0])  # volume 1.224: no printed figure is near an edge
AWKWARD = [
    BODY,
    ([1, 0, 0], [-10, -20, 0], [0, 0, 100]),
    ([1, 0, 0, 0], [0.1, 0, 100, 0], [0, 1, 0, 0]),
    ([1, 0, 0], [0.5, 0, 0.5], [0, 0, 1]),
    ([1, 0, 0], [0, 0, 0], [0, 0, 1]),
    ([0, 0, 0], [0, 0, 0], [0, 0, 0]),
    ([1, 1], [1, -1], [0, 3]),
    ([2.0], [1.0], [-1.0]),
    ([1e-5, 0, 0], [0, 1e-5, 0], [0, 0, 1e-5]),
    ([3, 1, 2], [6, 2, 4], [-3, -1, -2]),
    torch.randn(3, 16, generator=torch.Generator().manual_seed(0)),
]


def gram(query, key, reference):
    rows = torch.tensor([list(map(float, row)) for row in (query, key, reference)], dtype=torch.float64)
    return rows @ rows.T


def said(picture):
    """Return {name: number} from the rows of text in the figure's right half."""
    rows = {}
    for text in picture.figure.axes[1].texts:
        rows.setdefault(round(text.get_position()[1], 3), []).append(text.get_text())
    return {row[0]: row[1] for row in rows.values() if len(row) == 2}


@pytest.mark.parametrize("vectors", AWKWARD)
def test_turning_the_body_changes_no_dot_product(vectors):
    given = [np.asarray(torch.as_tensor(v, dtype=torch.float64)) for v in vectors]
    rows = align_to_floor(*given)
    assert rows.shape == (3, 3) and np.allclose(
        rows @ rows.T, np.stack(given) @ np.stack(given).T, rtol=1e-9, atol=1e-9
    )
    assert rows[0, 2] == rows[2, 2] == 0 and rows[1, 2] >= 0  # query and reference on the floor, the key above it


@pytest.mark.parametrize("vectors", AWKWARD)
def test_the_numbers_are_those_of_torch(vectors):
    matrix = gram(*vectors)
    determinant = float(torch.linalg.det(matrix))
    picture = show.volume(*vectors)
    drawn = said(picture)
    score = float(drawn["score = −volume²"].replace("−", "-"))
    assert score == pytest.approx(-determinant, rel=0.07, abs=0.006)
    assert (score <= 0 and "−0.00" not in drawn["score = −volume²"]) or determinant > 0
    area, height, volume = (float(drawn[name]) for name in ("area of q and r", "height of k", "volume = area × height"))
    assert area * height == pytest.approx(volume, rel=0.05, abs=0.02)
    entries = [t.get_text() for t in picture.figure.axes[1].texts][:9]
    for text, value in zip(entries, matrix.flatten().tolist()):
        assert float(text.replace("−", "-")) == pytest.approx(value, rel=0.06, abs=0.006)


@pytest.mark.parametrize(
    "vectors, flat", list(zip(AWKWARD, [False, False, False, True, True, True, True, True, False, True, False]))
)
def test_flat_is_told_from_thin(vectors, flat):
    picture = show.volume(*vectors)
    assert picture.alt.startswith("Flat") == flat
    edges = [
        line for line in picture.figure.axes[0].lines if len(line.get_xdata()) == 2 and line.get_marker() == "None"
    ]
    assert (not edges) == flat  # a flat body has no edges above the floor, and no line from the key down to it


def test_the_dotted_line_is_as_long_as_the_height():
    picture = show.volume([1, 0, 0], [0.3, 0.2, 2.0], [0, 1, 0])
    axes = picture.figure.axes[0]
    line = next(line for line in axes.lines if line.get_linewidth() == 1.3)
    (x0, x1), (y0, y1) = line.get_data()
    assert x0 == pytest.approx(x1) and y1 - y0 == pytest.approx(2.0 * math.cos(math.radians(24)))
    assert said(picture)["height of k"] == "2.00"


def test_a_body_is_drawn_with_twelve_edges_some_of_them_hidden():
    axes = show.volume(*BODY).figure.axes[0]
    edges = [line for line in axes.lines if line.get_linewidth() in (0.9, 0.7)]
    ends = {
        frozenset((round(float(x), 6), round(float(y), 6)) for x, y in zip(*line.get_data())): line.get_linestyle()
        for line in edges
    }
    hidden = [edge for edge, style in ends.items() if style == "--"]
    assert len(ends) == 12 and len(hidden) == 3
    # The hidden edges meet at the corner that is furthest from the eye.
    rows = align_to_floor(*map(np.array, BODY))
    turn, tilt = math.radians(-68), math.radians(24)
    eye = np.array([math.cos(tilt) * math.cos(turn), math.cos(tilt) * math.sin(turn), math.sin(tilt)])
    corners = np.array([(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]) @ rows
    far = corners[(corners @ eye).argmin()]
    up = np.array([-math.sin(tilt) * math.cos(turn), -math.sin(tilt) * math.sin(turn), math.cos(tilt)])
    spot = (round(float(far @ [-math.sin(turn), math.cos(turn), 0]), 6), round(float(far @ up), 6))
    assert all(any(np.allclose(spot, end, atol=1e-5) for end in edge) for edge in hidden)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("vectors", AWKWARD)
def test_nothing_is_cut_off_and_no_word_lies_on_another(vectors):
    picture = show.volume(*vectors)
    assert_not_clipped(picture, widest=6.05)
    assert_no_overlap(picture, over=3.5)


def test_the_words_say_the_same(snapshot):
    assert show.volume(*BODY).alt == snapshot
    assert show.volume([1, 0, 0], [0.5, 0, 0.5], [0, 0, 1]).alt == snapshot
    assert show.volume(*BODY, title="Look").alt.startswith("Look. ")


def test_the_six_diagonals_give_the_determinant():
    """Each drawn line passes through the three cells of its product."""
    names = [["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"]]
    numbers = torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = dict(zip("abcdefghi", numbers.flatten().tolist()))
    picture = show.sarrus(names)
    products = re.findall(r"([+−]) (\w) · (\w) · (\w)", picture.alt)
    signed = [(1 if sign == "+" else -1) * math.prod(values[name] for name in product) for sign, *product in products]
    assert len(signed) == 6 and sum(signed) == pytest.approx(float(torch.linalg.det(numbers)))
    axes = picture.figure.axes[0]
    cells = {text.get_position(): text.get_text() for text in axes.texts if text.get_text() in values}
    assert len(cells) == 15
    for line, (sign, *product) in zip(axes.lines, products):
        (x0, x1), (y0, y1) = line.get_data()
        on_line = [
            (x, name) for (x, y), name in cells.items() if abs((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) < 0.35
        ]
        assert [name for _, name in sorted(on_line)] == product and (y1 > y0) == (sign == "+")


def test_sarrus_needs_three_rows_of_three():
    with pytest.raises(ValueError, match=r"three rows of three names; got rows of \[2, 2\] names"):
        show.sarrus([["a", "b"], ["c", "d"]])
