"""What a figure shows is what it was given: numbers, colours and words are read back from the figure."""

import itertools
import math
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from utils import show

INPUTS = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
TOKENS = "Your journey starts with one step".split()
SCORES = INPUTS @ INPUTS.T
WEIGHTS = SCORES.softmax(-1)
AWKWARD = [
    "$x_1$",
    " the",
    "\n",
    "汉字漢字",
    "😀",
    "supercalifragilistic",
    "",
    '<b>&"',
    "a\tb",
    "\u202eabc",
    "$\\frac$",
    "WWWWWWWWWWWW",
]


def awkward(n):
    return [AWKWARD[i % len(AWKWARD)] for i in range(n)]


def texts(picture):
    from matplotlib.text import Text

    return [text for text in picture.figure.findobj(Text) if text.get_visible() and text.get_text()]


def words(picture):
    return [text.get_text() for text in texts(picture)]


def box(picture, artist):
    return artist.get_window_extent(picture.figure.canvas.get_renderer())


def pixels(picture):
    picture.figure.canvas.draw()
    return np.asarray(picture.figure.canvas.buffer_rgba()).astype(int)


def cell_colour(picture, i, j, shot=None):
    """The colour on the page a little off the middle of a cell, where no number is."""
    x, y = picture.figure.axes[0].transData.transform((j - 0.35, i - 0.35))
    shot = pixels(picture) if shot is None else shot
    return shot[shot.shape[0] - 1 - int(y), int(x), :3]


def in_cells(picture):
    """{(row, column): text} of the texts whose centre lies in the table."""
    axes = picture.figure.axes[0]
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t for t in axes.texts if t.get_ha() == "center"}


# ---------------------------------------------------------------- Picture and theme


def test_nothing_is_imported_before_a_figure_is_drawn():
    code = (
        "import sys; from utils import show; assert not {m for m in sys.modules if m.split('.')[0] == 'matplotlib'}; "
    )
    code += "show.grid(['a']); assert 'matplotlib.figure' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_mime_bundle_is_text_and_an_image_with_the_same_words():
    picture = show.weights(WEIGHTS, ['<b>&"', *TOKENS[1:]])
    bundle = picture._repr_mimebundle_()
    assert bundle["text/plain"] == picture.alt == repr(picture)
    image = bundle["text/html"]
    assert image.count("<") == 1 and image.startswith("<img ") and 'src="data:image/png;base64,' in image
    assert "&lt;b&gt;&amp;&quot; 0.21" in image
    assert int(re.search(r'width="(\d+)"', image)[1]) == round(picture.figure.get_figwidth() * 100)


def test_the_png_has_twice_the_pixels_of_its_width():
    picture = show.grid(TOKENS)
    width = int.from_bytes(picture.png()[16:20], "big")
    assert abs(width - 200 * picture.figure.get_figwidth()) <= 1


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_save_writes_the_same_bytes_each_time(tmp_path, suffix):
    first, second = (show.steps(INPUTS, TOKENS, 1).save(tmp_path / f"{k}.{suffix}").read_bytes() for k in "ab")
    assert first == second and len(first) > 1000


def test_save_refuses_other_suffixes(tmp_path):
    with pytest.raises(ValueError, match=r"'a\.bmp'.*\.png, \.svg or \.pdf"):
        show.grid(["a"]).save(tmp_path / "a.bmp")


def test_the_readers_style_neither_changes_a_figure_nor_is_changed():
    import matplotlib

    before = show.weights(WEIGHTS, TOKENS).png()
    with matplotlib.rc_context(
        {"font.size": 30, "axes.labelweight": "bold", "savefig.bbox": "tight", "text.parse_math": True}
    ):
        assert show.weights(WEIGHTS, TOKENS).png() == before
        assert matplotlib.rcParams["font.size"] == 30


# ---------------------------------------------------------------- tables


def test_grid_is_empty_and_labelled_on_both_sides():
    picture = show.grid(["When", "Mary"], title="Which cells are yes?")
    assert words(picture).count("When") == 2 and words(picture).count("Mary") == 2
    assert not in_cells(picture)
    assert (
        picture.alt.startswith("Which cells are yes? An empty table")
        and "4 cells" in picture.alt
        and "When, Mary" in picture.alt
    )


def test_mask_marks_every_cell():
    given = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    picture = show.mask(given, ["a", "b", "c"])
    assert {at: t.get_text() for at, t in in_cells(picture).items()} == {
        (i, j): "✓" if given[i, j] else "×" for i in range(3) for j in range(3)
    }
    assert "5 of 9 cells are yes" in picture.alt
    assert "a may attend to: a, c." in picture.alt and "b may attend to: nothing." in picture.alt
    assert (cell_colour(picture, 0, 0) != cell_colour(picture, 0, 1)).any()


def test_a_large_mask_has_a_dot_for_each_yes():
    given = torch.ones(40, 40, dtype=torch.bool).tril()
    (dots,) = [line for line in show.mask(given, awkward(40)).figure.axes[0].lines]
    assert {(y, x) for x, y in dots.get_xydata()} == {(i, j) for i, j in given.nonzero().tolist()}


def test_weights_print_and_colour_the_numbers_given():
    from matplotlib import colormaps

    picture = show.weights(WEIGHTS, TOKENS)
    for i, j in itertools.product(range(6), range(6)):
        assert in_cells(picture)[i, j].get_text() == f"{WEIGHTS[i, j]:.2f}"
        assert (
            np.abs(cell_colour(picture, i, j) - 255 * np.array(colormaps["viridis"](WEIGHTS[i, j].item())[:3])).max()
            <= 1
        )
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
        assert [in_cells(picture)[0, j].get_text() for j in range(6)] == [
            "0.14",
            "0.24",
            "0.23",
            "0.12",
            "0.11",
            "0.16",
        ]
    assert "1 query, 6 keys" in bare.alt and "journey: Your 0.14" in named.alt


def test_row_sums_that_are_not_one_are_said():
    assert "Row sums run from 0.50 to 0.70." in show.weights([[0.5, 0.0], [0.2, 0.5]], ["a", "b"]).alt


def test_numbers_stop_beyond_eight_and_a_scale_takes_over():
    eight, nine = (show.weights(torch.eye(n), awkward(n)) for n in (8, 9))
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


def test_blocked_scores_are_grey_and_counted():
    picture = show.scores(SCORES.masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf), TOKENS)
    assert in_cells(picture)[0, 5].get_text() == "−∞" and "15 are blocked (−∞)" in picture.alt
    colour = cell_colour(picture, 0, 5)
    assert np.ptp(colour) < 10 and colour.max() < 245


def test_scores_that_are_all_zero_are_drawn():
    assert in_cells(show.scores([[0.0]], ["a"]))[0, 0].get_text() == "0"
    assert "−∞" in show.scores([[-math.inf]], ["a"]).alt


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("draw, low", [(show.weights, 0.0), (show.scores, -1.0)])
def test_numbers_have_wcag_contrast_on_every_colour(draw, low):
    from matplotlib.colors import to_rgb

    picture = draw(np.linspace(low, 1, 64).reshape(8, 8), TOKENS + ["a", "b"])
    shot = pixels(picture)
    for (i, j), text in in_cells(picture).items():
        pair = sorted([luminance(to_rgb(text.get_color())), luminance(cell_colour(picture, i, j, shot) / 255)])
        assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5


@pytest.mark.parametrize("n", [1, 2, 6, 8])
def test_numbers_fit_their_cells(n):
    picture = show.scores(np.full((n, n), -123456.0), awkward(n))
    axes = picture.figure.axes[0]
    for (i, j), text in in_cells(picture).items():
        (x0, y1), (x1, y0) = axes.transData.transform([(j - 0.5, i - 0.5), (j + 0.5, i + 0.5)])
        inner = box(picture, text)
        assert x0 <= inner.x0 and inner.x1 <= x1 and y0 <= inner.y0 and inner.y1 <= y1


# ---------------------------------------------------------------- every function, over awkward input


def tables(n):
    names, eye = awkward(n), torch.eye(n)
    yield "grid", show.grid(names)
    yield "mask", show.mask(eye.bool(), names)
    yield "weights", show.weights(eye, names)
    yield "scores", show.scores(-1234.5 * eye, names)
    yield "row", show.weights(eye[0], names)
    yield (
        "bars",
        show.bars(
            {"a long name for a group of bars": torch.linspace(-9999, 9999, n), "b": eye[0]}, names, reference=0.9
        ),
    )


def others():
    yield "bars", show.bars([0.0], ["$"], title="word " * 40, reference=("a reference with a long name", -3.0))
    yield "bars", show.bars([-1.0, -2.0], [" a", "b "])
    yield "vectors", show.vectors({name: [math.cos(i), math.sin(i)] for i, name in enumerate(AWKWARD[:6])})
    yield "vectors", show.vectors({AWKWARD[5]: [1e-3, 0], AWKWARD[11]: [-1e-3, 1e-5]}, angle=(AWKWARD[5], AWKWARD[11]))
    yield "vectors", show.vectors({"a": [0, 0]}, title="W" * 200)
    yield "vectors", show.vectors({"a": [500, 1], "b": [1, 900]}, angle=("a", "b"), projection=("b", "a"), limit=1000)
    yield (
        "mixing",
        show.mixing(
            torch.full((12,), 1 / 12), torch.randn(12, 40, generator=torch.Generator().manual_seed(0)), AWKWARD
        ),
    )
    yield "mixing", show.mixing([0.0], [[0.0, 0.0]], ["a"])
    yield "mixing", show.mixing([-3.0, 1.0], [[0, 1e4], [0, 1e-4]], ["up", "WWWWWWWWWWWWWW"])
    generator = torch.Generator().manual_seed(0)
    for n, d in ((1, 1), (8, 1), (8, 64), (3, 5)):
        x, *W = (1000 * torch.randn(size, generator=generator) for size in ((n, d), (d, 7), (d, 7), (d, 2)))
        yield "steps", show.steps(x, awkward(n), n - 1)
        yield "steps", show.steps(x, awkward(n), 0, *W)
    yield "saturation", show.saturation(draws=20)
    yield "saturation", show.saturation((1, 3), scaled=[True], seq=1, draws=5)
    yield (
        "lines",
        show.lines(
            [0, 1], {name: [0.0, i / 100] for i, name in enumerate(AWKWARD[:6])}, ylabel="y", reference=("W" * 40, 0)
        ),
    )
    yield "lines", show.lines([3.0], {"a": [1e9]}, xlabel="a long label of the axis " * 2, title="$\\frac")


ALL = [pytest.param(tables, n, id=f"{n}x{n}") for n in (1, 8, 9, 40)] + [
    pytest.param(lambda _: others(), 0, id="others")
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make, n", ALL)
def test_nothing_is_cut_off_and_every_figure_is_of_a_width(make, n):
    for name, picture in make(n):
        figure = picture.figure
        drawn = figure.get_tightbbox(figure.canvas.get_renderer())
        width, height = figure.get_size_inches()
        assert 0 <= drawn.x0 and drawn.x1 <= width and 0 <= drawn.y0 and drawn.y1 <= height, name
        shot = pixels(picture)
        border = np.concatenate([shot[0], shot[-1], shot[:, 0], shot[:, -1]])
        assert (border == 255).all(), f"{name}: something touches the edge"
        assert 4 <= width <= 6.001, f"{name} is {width} inches wide"
        assert picture.alt and "\t" not in picture.alt and "nan" not in picture.alt
        for title in figure.texts:
            top = max(axes.get_tightbbox(figure.canvas.get_renderer()).y1 for axes in figure.axes)
            assert box(picture, title).y0 >= top, f"{name}: the title touches the picture"
        assert not any(text.get_parse_math() for text in texts(picture)), f"{name} would read $…$ as mathematics"


@pytest.mark.parametrize("names", [TOKENS, awkward(8), ["W" * 7] * 8])
def test_column_labels_do_not_touch(names):
    picture = show.weights(torch.eye(len(names)), names)
    labels = picture.figure.axes[0].get_xticklabels()
    if not labels[0].get_rotation():
        boxes = [box(picture, label) for label in labels]
        assert all(a.x1 <= b.x0 for a, b in zip(boxes, boxes[1:]))
    else:  # slanted: the lines of text are parallel, a cell apart
        assert all(label.get_rotation() in (45, 90) for label in labels)


def test_names_at_tips_do_not_touch():
    close = {f"vector {i}": [1.0, i / 1000] for i in range(6)}
    picture = show.vectors(close)
    boxes = [box(picture, text) for text in texts(picture) if text.get_text().startswith("vector")]
    assert len(boxes) == 6 and not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_names_at_line_ends_do_not_touch():
    picture = show.lines([0, 1], {f"line {i}": [i, 1.0] for i in range(6)})
    boxes = [box(picture, text) for text in texts(picture) if text.get_text().startswith("line")]
    assert len(boxes) == 6 and not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


@pytest.mark.parametrize(
    "token, drawn",
    [
        (" the", "·the"),
        ("  ", "··"),
        ("a b", "a b"),
        ("\n", "\\n"),
        ("", "''"),
        ("汉", "\\u6c49"),
        ("$a$", "$a$"),
        ("a" * 20, "a" * 11 + "…"),
    ],
)
def test_tokens_on_axes(token, drawn):
    assert words(show.weights([[1.0]], [token])).count(drawn) == 2


def test_alt_text_keeps_letters_that_the_font_lacks():
    assert "汉字" in show.weights([[1.0]], ["汉字"]).alt.split("\n")[1]


# ---------------------------------------------------------------- bars


def test_bars_end_in_their_numbers():
    picture = show.bars({"scores": SCORES[1], "weights": WEIGHTS[1]}, TOKENS, reference=("uniform", 1 / 6))
    left, right = picture.figure.axes
    assert [bar.get_width() for bar in left.patches] == pytest.approx(SCORES[1].tolist())
    assert [bar.get_width() for bar in right.patches] == pytest.approx(WEIGHTS[1].tolist())
    at = {(text.xy[1], text.get_text()): text.xy[0] for text in right.texts if hasattr(text, "xy")}
    assert at == pytest.approx({(i, f"{w:.2f}"): w for i, w in enumerate(WEIGHTS[1].tolist())})
    dashed = [line.get_xdata()[0] for line in right.lines if line.get_linestyle() == "--"]
    assert dashed == [1 / 6] and not [line for line in left.lines if line.get_linestyle() == "--"]
    assert "uniform 0.17" in words(picture) and "scores" in words(picture) and left.get_legend() is None
    assert "weights: Your 0.14, journey 0.24" in picture.alt and "Dashed line: uniform 0.17." in picture.alt
    assert "scores: Your 0.95, journey 1.50" in picture.alt


def test_bars_share_a_scale_only_when_asked():
    values = {"guess": [0.1, 0.2], "truth": [5.0, 10.0]}
    spans = lambda p: [axes.get_xlim() for axes in p.figure.axes]
    own, same = (spans(show.bars(values, ["a", "b"], same_scale=flag)) for flag in (False, True))
    assert own[0][1] < 1 and same[0][1] == pytest.approx(same[1][1], rel=0.2) and same[0][1] > 10


def test_a_limit_ends_the_one_scale_of_both_groups():
    left, right = show.bars({"own": [0.76, 0.1], "set": [0.76, 0.2]}, ["a", "b"], same_scale=True, limit=1.0).figure.axes
    assert left.get_xlim() == pytest.approx(right.get_xlim()) and left.get_xlim()[1] > 1


def test_a_number_stands_outside_its_bar():
    picture = show.bars([-3.0, 0.5], ["a", "b"])
    axes = picture.figure.axes[0]
    for bar, text in zip(axes.patches, [t for t in axes.texts if hasattr(t, "xy")]):
        assert not box(picture, text).overlaps(box(picture, bar))


# ---------------------------------------------------------------- arrows


def test_vectors_arrows_end_where_they_should():
    picture = show.vectors({"a": [3.0, 0.0], "b": [1.0, 1.0]}, angle=("a", "b"), projection=("b", "a"))
    axes = picture.figure.axes[0]
    ends = [tuple(t.xy) for t in axes.texts if getattr(t, "arrow_patch", None)]
    assert ends == [(3.0, 0.0), (1.0, 1.0)]
    assert "a · b = 3.00 × 1.41 × cos 45° = 3.00" in axes.get_xlabel() and "shadow of b on a: 1.00" in axes.get_xlabel()
    assert "45°" in words(picture)
    assert "a is (3.00, 0), 3.00 long." in picture.alt and "cos 45° = 3.00" in picture.alt
    (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--" and len(line.get_xdata()) == 2]
    assert dashed.get_xydata().tolist() == [[1.0, 1.0], [1.0, 0.0]]


def test_one_unit_is_as_wide_as_it_is_high():
    axes = show.vectors({"a": [3.0, 0.5]}).figure.axes[0]
    (x0, y0), (x1, y1) = axes.transData.transform([(0, 0), (1, 1)])
    assert x1 - x0 == pytest.approx(y1 - y0, rel=1e-6)


@pytest.mark.parametrize("degrees", [0, 1, 90, 179, 180, 270])
def test_the_arc_spans_the_angle_between(degrees):
    turn = math.radians(degrees)
    picture = show.vectors({"a": [1, 0], "b": [math.cos(turn), math.sin(turn)]}, angle=("a", "b"))
    (arc,) = picture.figure.axes[0].patches
    between = min(degrees, 360 - degrees)
    assert (arc.theta2 - arc.theta1) % 360 == pytest.approx(between, abs=1e-6)
    assert f"cos {between}°" in picture.alt


def test_mixing_walks_from_tip_to_tail():
    picture = show.mixing(WEIGHTS[1], INPUTS, TOKENS)
    arrows = [(t.xyann, t.xy) for t in picture.figure.axes[0].texts if getattr(t, "arrow_patch", None)]
    (start, result), *chain = arrows
    expected = WEIGHTS[1] @ INPUTS
    assert tuple(start) == (0, 0) and tuple(result) == pytest.approx(tuple(expected[:2].tolist()))
    assert tuple(chain[-1][1]) == pytest.approx(tuple(result))
    for (_, tip), (tail, _) in zip(chain, chain[1:]):
        assert tuple(tip) == tuple(tail)
    for k, (tail, tip) in enumerate(chain):
        assert np.subtract(tip, tail) == pytest.approx((WEIGHTS[1, k] * INPUTS[k, :2]).numpy(), abs=1e-6)
    assert "0.24 × journey" in words(picture) and "coordinate 1 of 3" in words(picture)
    assert "(0.44, 0.65, 0.57)" in picture.alt and "first two of 3 coordinates" in picture.alt


# ---------------------------------------------------------------- steps


def test_steps_without_matrices_is_the_simplified_attention_of_the_course():
    picture = show.steps(INPUTS, TOKENS, "journey")
    assert {"0.95", "1.50", "1.48", "0.84", "0.71", "1.09"} <= set(words(picture))
    assert "scores [6], query · each input: Your 0.95, journey 1.50" in picture.alt
    assert "weights [6], softmax(scores): Your 0.14, journey 0.24" in picture.alt
    assert picture.alt.endswith("context [3], sum of weight × input: (0.44, 0.65, 0.57).")
    assert "keys [6, 3]" not in words(picture)


def test_steps_with_matrices_scales_and_uses_query_keys_and_values():
    torch.manual_seed(123)
    W = [torch.nn.Parameter(torch.rand(3, 2)) for _ in range(3)]
    picture = show.steps(INPUTS, TOKENS, 1, *W)
    # The numbers that the course's source prints for this seed.
    assert "query [2], journey @ W_query: (0.43, 1.46)." in picture.alt
    assert "Your 1.27, journey 1.85, starts 1.81, with 1.08, one 0.56, step 1.54" in picture.alt
    assert "softmax(scores / √2): Your 0.15, journey 0.23, starts 0.22, with 0.13, one 0.09, step 0.18" in picture.alt
    assert picture.alt.endswith("context [2], sum of weight × value: (0.31, 0.82).")
    assert {
        "inputs [6, 3]",
        "keys [6, 2]",
        "query [2]",
        "scores [6]",
        "weights [6]",
        "values [6, 2]",
        "context [2]",
    } <= set(words(picture))


def test_steps_columns_hold_each_tokens_numbers():
    picture = show.steps(INPUTS, TOKENS, 1)
    inside = {text.get_text(): text.get_position() for text in picture.figure.axes[0].texts}
    for token, score in zip(TOKENS, ["0.95", "1.50", "1.48", "0.84", "0.71", "1.09"]):
        assert inside[score][0] == pytest.approx(inside[token][0])


def test_steps_colours_the_weights_as_the_table_does():
    from matplotlib import colormaps

    picture = show.steps(INPUTS, TOKENS, 1)
    fills = [tuple(patch.get_facecolor()) for patch in picture.figure.axes[0].patches]
    assert all(tuple(colormaps["viridis"](weight)) in fills for weight in WEIGHTS[1].double().tolist())


def test_a_long_vector_is_shortened_and_says_so():
    picture = show.steps(torch.arange(7.0)[None], ["a"], 0)
    assert "⋮" in words(picture) and "6.00" in words(picture) and "4.00" not in words(picture)


# ---------------------------------------------------------------- lines and saturation


def test_lines_are_the_numbers_given_with_names_at_their_ends():
    picture = show.lines(
        [1, 2, 4], {"loss": [3.0, 2.0, 1.0], "other": [1.0, 1.5, 3.0]}, xlabel="step", ylabel="nats", logx=True
    )
    axes = picture.figure.axes[0]
    assert [line.get_ydata().tolist() for line in axes.lines] == [[3.0, 2.0, 1.0], [1.0, 1.5, 3.0]]
    assert len({(line.get_linestyle(), line.get_marker(), line.get_color()) for line in axes.lines}) == 2
    heights = {text.get_text(): box(picture, text) for text in axes.texts}
    for name, end in (("loss", 1.0), ("other", 3.0)):
        y = axes.transData.transform((4, end))[1]
        assert heights[name].y0 <= y <= heights[name].y1 and heights[name].x0 >= axes.get_window_extent().x1
    assert "loss: 3.00 at 1, 2.00 at 2, 1.00 at 4." in picture.alt and axes.get_legend() is None


def test_a_long_line_is_summed_up():
    alt = show.lines(range(50), {"a": [float(i) for i in range(50)]}, xlabel="step").alt
    assert "a: from 0 at step 0 to 49.0 at 49, lowest 0, highest 49.0." in alt


def test_entropy_of_one_hot_and_uniform():
    assert show.entropy(torch.tensor([0.0, 1.0, 0.0])).item() == 0
    assert show.entropy(torch.full((2, 7), 1 / 7)).tolist() == pytest.approx([math.log(7)] * 2)


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0, 5.0, 40.0])
def test_jacobian_norm_is_autograds(scale):
    scores = scale * torch.randn(6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    assert show.jacobian_norm(scores.softmax(-1)).item() == pytest.approx(jacobian.norm().item(), abs=1e-8)


def test_the_study_is_a_mean_over_its_draws():
    study = show.saturation_study((3, 8), seq=4, draws=10, seed=5)
    for at, d_k in enumerate((3, 8)):
        generator = torch.Generator().manual_seed(5)
        queries = torch.randn(10, 1, d_k, generator=generator, dtype=torch.float64)
        keys = torch.randn(10, 4, d_k, generator=generator, dtype=torch.float64)
        for how, divisor in (("unscaled", 1.0), ("scaled", math.sqrt(d_k))):
            found = {"largest": [], "entropy": [], "gradient": []}
            for q, k in zip(queries[:, 0], keys):
                scores = torch.stack([torch.dot(q, one) for one in k]) / divisor
                found["largest"].append(max(scores.softmax(0).tolist()))
                found["entropy"].append(torch.distributions.Categorical(logits=scores).entropy().item())
                found["gradient"].append(
                    torch.autograd.functional.jacobian(lambda s: s.softmax(0), scores).norm().item()
                )
            for fact, values in found.items():
                assert study[f"{fact}_{how}"][at].item() == pytest.approx(np.mean(values)), (fact, how, d_k)


def test_the_study_shows_what_the_lesson_says():
    study = show.saturation_study()
    assert study["d_k"].tolist() == [2, 8, 32, 128, 512]
    # Lesson prose quotes these.
    expected = {
        "spread_unscaled": [1.4243, 2.8535, 5.7150, 11.3512, 22.7484],
        "spread_scaled": [1.0072, 1.0089, 1.0103, 1.0033, 1.0053],
        "largest_unscaled": [0.4662, 0.6952, 0.8483, 0.9274, 0.9627],
        "largest_scaled": [0.3894, 0.4166, 0.4257, 0.4247, 0.4237],
        "entropy_unscaled": [1.3414, 0.8007, 0.3865, 0.1846, 0.0923],
        "entropy_scaled": [1.5022, 1.4701, 1.4574, 1.4606, 1.4591],
        "gradient_unscaled": [0.3662, 0.2884, 0.1776, 0.0961, 0.0512],
        "gradient_scaled": [0.3787, 0.3817, 0.3836, 0.3837, 0.3862],
    }
    assert {name: study[name].tolist() for name in expected} == {
        name: pytest.approx(v, abs=1e-3) for name, v in expected.items()
    }


def test_the_study_leaves_the_global_generator_alone_and_each_d_k_to_itself():
    state = torch.get_rng_state()
    alone, among = show.saturation_study((8,), draws=50), show.saturation_study((2, 8), draws=50)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(alone[name][0] == among[name][1] for name in alone)


def test_saturation_draws_the_study():
    picture, study = show.saturation(draws=100), show.saturation_study(draws=100)
    for axes, fact in zip(picture.figure.axes, ("largest", "entropy", "gradient")):
        unscaled, scaled = (line.get_ydata().tolist() for line in axes.lines[:2])
        assert unscaled == study[f"{fact}_unscaled"].tolist() and scaled == study[f"{fact}_scaled"].tolist()
        assert axes.get_xlim()[0] < 2 and axes.get_xscale() == "log"
    last = study["gradient_unscaled"][-1].item()
    assert f"{last:.2f} at 512" in picture.alt and "uniform 0.37" in picture.alt
    only = show.saturation(scaled=(True,), draws=100)
    assert (
        "not scaled" not in words(only)
        and only.figure.axes[0].lines[0].get_ydata().tolist() == study["largest_scaled"].tolist()
    )


# ---------------------------------------------------------------- what is accepted, and what is refused


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.clone().requires_grad_(),
        lambda x: x.double().numpy(),
        lambda x: x.tolist(),
        lambda x: list(x.requires_grad_()),
        lambda x: [tuple(row) for row in x],
    ],
)
def test_tensors_arrays_and_lists_give_the_same_figure(make):
    assert show.weights(make(WEIGHTS.clone()), TOKENS).alt == show.weights(WEIGHTS, TOKENS).alt


def test_half_precision_is_drawn():
    assert in_cells(show.weights(WEIGHTS.bfloat16(), TOKENS))[1, 1].get_text() == "0.24"


def test_the_given_tensors_stay_as_they_were():
    given = WEIGHTS.clone().requires_grad_()
    show.weights(given, TOKENS), show.mixing(given[1], INPUTS, TOKENS)
    assert given.requires_grad and torch.equal(given, WEIGHTS)


NAN = WEIGHTS.clone()
NAN[2, 3] = math.nan
REFUSED = {
    "batch": (
        lambda: show.weights(WEIGHTS[None], TOKENS),
        r"weights has the shape \[1, 6, 6\]; expected .*weights\[0\]",
    ),
    "nan": (lambda: show.weights(NAN, TOKENS), r"weights\[2, 3\] is nan"),
    "scores nan": (lambda: show.scores(NAN, TOKENS), r"scores\[2, 3\] is nan"),
    "infinite score": (
        lambda: show.scores([[math.inf]], ["a"]),
        r"scores\[0, 0\] is infinite; expected finite numbers or -inf",
    ),
    "tokens": (lambda: show.weights(WEIGHTS, TOKENS[:5]), "5 tokens were given for 6 queries"),
    "a string": (lambda: show.weights(WEIGHTS, "abcdef"), "must be a list of strings.*'abcdef'"),
    "scores as weights": (lambda: show.weights(SCORES, TOKENS), r"between 0 and 1; found 1\.50.*show\.scores"),
    "negative weight": (lambda: show.weights([[-0.2, 0.5], [0.5, 0.5]], ["a", "b"]), "found −0.20"),
    "oblong": (lambda: show.weights(WEIGHTS[:2], TOKENS[:2]), "2 × 6 table needs keys="),
    "keys": (lambda: show.weights(WEIGHTS[:2], TOKENS[:2], keys=TOKENS[:3]), "3 keys were given for 6 keys"),
    "empty": (lambda: show.weights([], []), r"weights is empty \(shape \[0\]\)"),
    "ragged": (lambda: show.weights([[1.0], [0.5, 0.5]], ["a", "b"]), "rows of different lengths"),
    "words": (lambda: show.weights([["a"]], ["a"]), "something other than numbers"),
    "nothing": (lambda: show.weights(None, ["a"]), "something other than numbers"),
    "unfilled": (lambda: show.weights(..., ["a"]), r"weights is still `\.\.\.` \(Ellipsis\): fill in"),
    "float mask": (lambda: show.mask(torch.ones(2, 2), ["a", "b"]), "mask holds float32; expected bool"),
    "flat mask": (lambda: show.mask([True], ["a"]), r"mask has the shape \[1\]"),
    "grid of none": (lambda: show.grid([]), "tokens is empty"),
    "grid of a number": (lambda: show.grid(4), "must be a list of strings"),
    "title": (lambda: show.grid(["a"], title=3), "title must be a string; got int"),
    "three groups": (lambda: show.bars({"a": [1], "b": [1], "c": [1]}, ["x"]), "one or two groups; got 3"),
    "groups differ": (lambda: show.bars({"a": [1], "b": [1, 2]}, ["x"]), r"values\['b'\] has 2 numbers for 1 labels"),
    "labels": (lambda: show.bars([1, 2], ["x"]), "1 labels were given for 2 bars"),
    "infinite bar": (lambda: show.bars([-math.inf], ["x"]), r"values\[0\] is infinite"),
    "many bars": (lambda: show.bars([1] * 41, ["x"] * 41), "at most 40 bars; got 41"),
    "reference": (lambda: show.bars([1], ["x"], reference="uniform"), "reference holds something other than numbers"),
    "3-D": (lambda: show.vectors({"a": INPUTS[0]}), r"vectors\['a'\] has 3 numbers; expected 2"),
    "no dict": (lambda: show.vectors([[1, 2]]), "must be a dict of 1 to 6"),
    "unknown": (
        lambda: show.vectors({"a": [1, 2]}, angle=("a", "z")),
        "angle names 'z', which is not among the vectors: 'a'",
    ),
    "one name": (lambda: show.vectors({"a": [1, 2]}, angle="ab"), "angle must name two"),
    "onto zero": (lambda: show.vectors({"a": [1, 2], "b": [0, 0]}, projection=("a", "b")), "'b': it has length 0"),
    "mixing counts": (lambda: show.mixing([1.0], [[1, 2], [3, 4]], ["a"]), "1 weights were given for 2 vectors"),
    "mixing flat": (lambda: show.mixing([1.0], [[1]], ["a"]), "at least 2 numbers"),
    "mixing many": (lambda: show.mixing([1.0] * 13, [[1, 2]] * 13, ["a"] * 13), "at most 12 vectors; got 13"),
    "nine tokens": (lambda: show.steps(torch.ones(9, 2), awkward(9), 0), "at most 8 tokens; got 9"),
    "no such token": (lambda: show.steps(INPUTS, TOKENS, "two"), "'two' is in the tokens 0 times"),
    "twice": (lambda: show.steps(INPUTS, ["a"] * 6, "a"), "'a' is in the tokens 6 times; give its index"),
    "index": (lambda: show.steps(INPUTS, TOKENS, 6), "an index from 0 to 5; got 6"),
    "two of three": (lambda: show.steps(INPUTS, TOKENS, 0, torch.ones(3, 2), torch.ones(3, 2)), "W_value is missing"),
    "transposed": (
        lambda: show.steps(INPUTS, TOKENS, 0, *[torch.ones(2, 3)] * 3),
        r"W_query has the shape \[2, 3\].*\.weight\.T",
    ),
    "q and k": (
        lambda: show.steps(INPUTS, TOKENS, 0, torch.ones(3, 2), torch.ones(3, 4), torch.ones(3, 2)),
        "W_key .*needs the same",
    ),
    "x falls": (lambda: show.lines([2, 1], {"a": [1, 2]}), "x must increase"),
    "log of 0": (lambda: show.lines([0, 1], {"a": [1, 2]}, logx=True), "above 0"),
    "length": (lambda: show.lines([0, 1], {"a": [1]}), r"series\['a'\] has 1 numbers for 2 of x"),
    "series": (lambda: show.lines([0, 1], [1, 2]), "series must be a dict"),
    "d_k": (lambda: show.saturation_study((0,)), r"d_ks\[0\] must be a whole number of at least 1; got 0"),
    "d_ks": (lambda: show.saturation_study(()), "d_ks is empty"),
    "draws": (lambda: show.saturation(draws=1.5), "draws must be a whole number"),
    "no lines": (lambda: show.saturation(scaled=()), "scaled is empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(case):
    draw, message = REFUSED[case]
    with pytest.raises(ValueError, match=message) as caught:
        draw()
    assert "\n" not in str(caught.value)
