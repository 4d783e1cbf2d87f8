"""The body of query, key and reference, its explorer, and curves with the spread of runs: what is drawn is what was given."""

import html
import math
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

from utils import explore, show
from utils.explore.panel import DPI
from utils.explore.volume import LONGEST, arrows
from utils.show.volume import placed

BODY = ([1.2, 0.2, 0.1], [0.6, 1.1, 0.3], [0.1, 0.3, 1.0])
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


def texts(picture):
    from matplotlib.text import Text

    return [t for t in picture.figure.findobj(Text) if t.get_visible() and t.get_text().strip()]


def said(picture):
    """The words of the figure's right half: {name: number}, as they stand in rows."""
    rows = {}
    for text in picture.figure.axes[1].texts:
        rows.setdefault(round(text.get_position()[1], 3), []).append(text.get_text())
    return {row[0]: row[1] for row in rows.values() if len(row) == 2}


# ---------------------------------------------------------------- the figure


@pytest.mark.parametrize("vectors", AWKWARD)
def test_turning_the_body_changes_no_dot_product(vectors):
    given = [np.asarray(torch.as_tensor(v, dtype=torch.float64)) for v in vectors]
    rows = placed(*given)
    assert rows.shape == (3, 3) and np.allclose(rows @ rows.T, np.stack(given) @ np.stack(given).T, rtol=1e-9, atol=1e-9)
    assert rows[0, 2] == rows[2, 2] == 0 and rows[1, 2] >= 0  # query and reference on the floor, the key above it


@pytest.mark.parametrize("vectors", AWKWARD)
def test_the_numbers_are_those_of_torch(vectors):
    matrix = gram(*vectors)
    determinant = float(torch.linalg.det(matrix))
    picture = show.volume(*vectors)
    drawn = said(picture)
    score = float(drawn["score = −volume²"].replace("−", "-"))
    assert score == pytest.approx(-determinant, rel=0.07, abs=0.006)
    assert score <= 0 and "−0.00" not in drawn["score = −volume²"] or determinant > 0
    area, height, volume = (float(drawn[name]) for name in ("area of q and r", "height of k", "volume = area × height"))
    assert area * height == pytest.approx(volume, rel=0.05, abs=0.02)
    entries = [t.get_text() for t in picture.figure.axes[1].texts][:9]
    for text, value in zip(entries, matrix.flatten().tolist()):
        assert float(text.replace("−", "-")) == pytest.approx(value, rel=0.06, abs=0.006)


@pytest.mark.parametrize("vectors, flat", list(zip(AWKWARD, [False, False, False, True, True, True, True, True, False, True, False])))
def test_flat_is_told_from_thin(vectors, flat):
    picture = show.volume(*vectors)
    assert picture.alt.startswith("Flat: no volume, and the highest score there is, 0.") == flat
    edges = [line for line in picture.figure.axes[0].lines if len(line.get_xdata()) == 2 and line.get_marker() == "None"]
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
    ends = {frozenset((round(float(x), 6), round(float(y), 6)) for x, y in zip(*line.get_data())): line.get_linestyle() for line in edges}
    hidden = [edge for edge, style in ends.items() if style == "--"]
    assert len(ends) == 12 and len(hidden) == 3
    # What is hidden meets at the corner that is furthest from the eye.
    rows = placed(*map(np.array, BODY))
    turn, tilt = math.radians(-68), math.radians(24)
    eye = np.array([math.cos(tilt) * math.cos(turn), math.cos(tilt) * math.sin(turn), math.sin(tilt)])
    corners = np.array([(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]) @ rows
    far = corners[(corners @ eye).argmin()]
    up = np.array([-math.sin(tilt) * math.cos(turn), -math.sin(tilt) * math.sin(turn), math.cos(tilt)])
    spot = (round(float(far @ [-math.sin(turn), math.cos(turn), 0]), 6), round(float(far @ up), 6))
    assert all(any(np.allclose(spot, end, atol=1e-5) for end in edge) for edge in hidden)


def assert_it_fits(picture):
    picture.figure.canvas.draw()
    width, height = picture.figure.get_size_inches() * picture.figure.dpi
    assert picture.figure.get_figwidth() <= 6.3
    boxes = [text.get_window_extent(picture.figure.canvas.get_renderer()) for text in texts(picture)]
    for text, box in zip(texts(picture), boxes):
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1, text
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            over = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
            assert min(over) < 3.5, (texts(picture)[i], over)


@pytest.mark.parametrize("vectors", AWKWARD)
def test_nothing_is_cut_off_and_no_word_lies_on_another(vectors):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_it_fits(show.volume(*vectors))


@pytest.mark.parametrize("rise, length, angle", [(r, n, a) for r in (0, 45, 90) for n in (0, LONGEST) for a in (0, 60, 120)])
def test_the_explorers_pictures_fit_their_frame(rise, length, angle):
    assert_it_fits(show.volume(*arrows(rise, length, angle), limit=LONGEST))


def test_the_words_say_the_same():
    alt = show.volume(*BODY).alt
    assert alt.startswith("Volume 1.11, score −1.22. ") and "query (1.20, 0.20, 0.10); key (0.60, 1.10, 0.30)" in alt
    assert "Gram matrix: 1.49, 0.97, 0.28; 0.97, 1.66, 0.69; 0.28, 0.69, 1.10." in alt and "the key rises by 0.88" in alt
    assert show.volume(*BODY, title="Look").alt.startswith("Look. ")


@pytest.mark.parametrize("vectors, words", [
    (([[1, 0]], [1, 0, 0], [0, 1, 0]), "query has the shape [1, 2]; expected one vector, [d]"),
    (([1, 0, 0], [1, 0], [0, 1, 0]), "have the shapes [3], [2], [3]; expected one shape"),
    (([1, 0, math.nan], [1, 0, 0], [0, 1, 0]), "query[2] is nan"),
    (([1, 0, 0], [math.inf, 0, 0], [0, 1, 0]), "key[0] is infinite"),
    (([1e90, 0, 0], [0, 1e90, 0], [0, 0, 1e90]), "so long that their squared volume is infinite"),
    (([1, 0, 0], ..., [0, 1, 0]), "fill in the exercise"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_refused_in_words(vectors, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        show.volume(*vectors)


# ---------------------------------------------------------------- the explorer


def facts(panel):
    return dict(re.findall(r"([a-z][a-z ]*?) <b>([^<]+)</b>", html.unescape(panel.readout.value)))


def plain(widget):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", widget.value)).split())


@pytest.mark.parametrize("rise, length, angle", [(30, 1.5, 90), (0, 2.0, 90), (90, 2.0, 120), (45, 0.0, 60), (60, 1.0, 0), (5, 0.1, 10)])
def test_the_explorer_shows_what_torch_computes(rise, length, angle):
    panel = explore.volume()
    panel.rise.value, panel.length.value, panel.angle.value = rise, length, angle
    vectors = torch.tensor(arrows(rise, length, angle))
    determinant = max(0.0, float(torch.linalg.det(vectors @ vectors.T)))
    shown = facts(panel)
    assert float(shown["score"].replace("−", "-")) == pytest.approx(-determinant, abs=0.006) and not shown["score"].startswith("−0.00")
    assert float(shown["volume"]) == pytest.approx(math.sqrt(determinant), abs=0.006)
    assert float(shown["dot product of query and key"]) == pytest.approx(float(vectors[0] @ vectors[1]), abs=0.006)


def test_each_remark_comes_where_it_is_true():
    panel = explore.volume()
    assert "Twice as long would be twice the volume and four times the score: −2.25." in plain(panel.readout)
    panel.length.value = 0.7
    before = float(facts(panel)["score"].replace("−", "-"))
    panel.length.value = 1.4
    assert float(facts(panel)["score"].replace("−", "-")) == pytest.approx(4 * before, abs=0.03)
    panel.rise.value = 0
    assert "stays 0 at any length" in plain(panel.readout) and facts(panel)["score"] == "0.00"
    panel.length.value = 0.0
    assert "A key of length 0 spans nothing" in plain(panel.readout)
    panel.length.value, panel.rise.value, panel.angle.value = 1.0, 40, 0
    assert "they span no plane" in plain(panel.readout)


def test_the_frame_holds_still_while_sliders_move():
    scales = set()
    for rise, length, angle in [(30, 1.5, 90), (90, LONGEST, 120), (0, 0.0, 0)]:
        axes = show.volume(*arrows(rise, length, angle), limit=LONGEST).figure.axes[0]
        scales.add((*np.round(axes.get_xlim(), 6), *np.round(axes.get_ylim(), 6)))
    assert len(scales) == 1
    assert explore.volume().picture.value == show.volume(*arrows(30, 1.5, 90), limit=LONGEST).html(DPI)


def test_the_explorer_is_a_widget_and_a_calm_sentence():
    first, second = explore.volume(), explore.volume()
    bundle = first._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == first.model_id
    words = bundle["text/plain"]
    assert words == repr(first) == repr(second) and words.endswith(".") and "volume 0.75, score −0.56" in words
    assert not re.search(r"0x|VBox|[0-9a-f]{16}", words)
    code = "import sys; from utils import explore; explore.volume; assert not {'ipywidgets', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------- curves


RUNS = {"standard": [[0, 10, 20.0], [4, 20, 20.0]], "triple": torch.tensor([[1.0, 2.0, 3.0]])}


def test_curves_draw_the_mean_in_a_band_of_all_runs():
    picture = show.curves([1, 2, 4], RUNS, title="Rising", xlabel="step", ylabel="right", reference=("chance", 5))
    axes = picture.figure.axes[0]
    assert [line.get_ydata().tolist() for line in axes.lines[:2]] == [[2, 15, 20], [1, 2, 3]]
    band = axes.collections[0].get_paths()[0].vertices
    assert {(x, y) for x, y in band.round(6).tolist()} >= {(1, 0), (2, 10), (1, 4), (2, 20), (4, 20)}
    assert band[:, 1].min() == 0 and band[:, 1].max() == 20
    assert "standard: 2.00 at 1, 15.0 at 2, 20.0 at 4." in picture.alt and "chance 5.00" in picture.alt
    assert "standard: 2 runs, furthest apart at 2 from 10.0 to 20.0." in picture.alt and "triple: 1 run." in picture.alt
    words = [t.get_text() for t in texts(picture)]
    assert {"Rising", "step", "right", "standard", "triple", "chance 5.00"} <= set(words)


@pytest.mark.parametrize("x, runs, words", [
    ([1, 2, 3], [[1, 2, 3]], "runs must be a dict"),
    ([1, 2, 3], {"a": [1, 2, 3]}, "expected a row for each run, [runs, n]"),
    ([1, 2], {"a": [[1, 2, 3]]}, "3 numbers for 2 of x"),
    ([2, 1], {"a": [[1, 2]]}, "x must increase"),
    ([1, 2], {}, "1 to 6 named lines"),
    ([1, 2], {"a": [[1, math.nan]]}, "is nan"),
])  # fmt: skip
def test_curves_that_cannot_be_drawn_are_refused(x, runs, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        show.curves(x, runs)
