"""What holds for every figure: nothing is cut off, what cannot be drawn is refused, and importing costs nothing."""

import math
import pkgutil

import pytest
import torch

from tests.fresh_python import printed_output
from tests.show.figure_checks import (
    AWKWARD,
    INPUTS,
    SCORES,
    TOKENS,
    WEIGHTS,
    assert_not_clipped,
    awkward_texts,
    random_patterns,
)
from utils import explore, show

HEAVY = {"matplotlib", "ipywidgets", "transformers", "circuitsvis"}
FIRST_FIGURE = "show.grid(['a']), show.attention(['a', 'b'], [[1, 0], [.5, .5]])._repr_mimebundle_()"


def imported(code):
    """The top-level packages that a fresh process has imported after `code`, and matplotlib.pyplot."""
    asks = "import sys; print(*{name for name in sys.modules if '.' not in name or name == 'matplotlib.pyplot'})"
    return set(printed_output(f"{code}; {asks}").split())


def test_nothing_is_imported_before_a_figure_is_drawn():
    every = ", ".join(f"{package.__name__}.{name}" for package in (show, explore) for name in package.__all__)
    assert not HEAVY & imported(f"import utils.show, utils.explore; {every}; from utils import check")


def test_a_figure_needs_neither_pyplot_nor_widgets():
    after = imported(f"from utils import show; {FIRST_FIGURE}")
    assert "matplotlib" in after and not {"circuitsvis", "matplotlib.pyplot", "ipywidgets"} & after


def test_html_needs_nothing_that_is_slow_to_import():
    assert not {"numpy", "torch", *HEAVY} & imported("import utils.show.html, utils.notebook.exception_hooks")


@pytest.mark.parametrize("package", [show, explore], ids=lambda package: package.__name__)
def test_a_package_lists_its_names_and_says_which_there_are(package):
    assert set(dir(package)) == set(package.__all__) and all(callable(getattr(package, name)) for name in dir(package))
    assert not {module.name for module in pkgutil.iter_modules(package.__path__)} & set(package.__all__), (
        "once it is loaded, a module hides what the package calls by its name"
    )
    with pytest.raises(AttributeError, match=rf"{package.__name__} has no 'grids'. There are: .*{package.__all__[0]}"):
        package.grids


# ---------------------------------------------------------------- nothing is cut off


def tables(n):
    names, eye = awkward_texts(n), torch.eye(n)
    yield "grid", show.grid(names)
    yield "mask", show.mask(eye.bool(), names)
    yield "weights", show.weights(eye, names)
    yield "scores", show.scores(-1234.5 * eye, names)
    yield "row", show.weights(eye[0], names)
    groups = {"a long name for a group of bars": torch.linspace(-9999, 9999, n), "b": eye[0]}
    yield "bars", show.bars(groups, names, reference=0.9)


def others(_):
    yield "bars", show.bars([0.0], ["$"], title="word " * 40, reference=("a reference with a long name", -3.0))
    yield "bars", show.bars([-1.0, -2.0], [" a", "b "])
    yield "vectors", show.vectors({name: [math.cos(i), math.sin(i)] for i, name in enumerate(AWKWARD[:6])})
    yield "vectors", show.vectors({AWKWARD[5]: [1e-3, 0], AWKWARD[11]: [-1e-3, 1e-5]}, angle=(AWKWARD[5], AWKWARD[11]))
    yield "vectors", show.vectors({"a": [0, 0]}, title="W" * 200)
    yield "vectors", show.vectors({"a": [500, 1], "b": [1, 900]}, angle=("a", "b"), projection=("b", "a"), limit=1000)
    wide = torch.randn(12, 40, generator=torch.Generator().manual_seed(0))
    yield "mixing", show.mixing(torch.full((12,), 1 / 12), wide, AWKWARD)
    yield "mixing", show.mixing([0.0], [[0.0, 0.0]], ["a"])
    yield "mixing", show.mixing([-3.0, 1.0], [[0, 1e4], [0, 1e-4]], ["up", "WWWWWWWWWWWWWW"])
    generator = torch.Generator().manual_seed(0)
    for n, d in ((1, 1), (8, 1), (8, 64), (3, 5)):
        x, *W = (1000 * torch.randn(size, generator=generator) for size in ((n, d), (d, 7), (d, 7), (d, 2)))
        yield "steps", show.steps(x, awkward_texts(n), n - 1)
        yield "steps", show.steps(x, awkward_texts(n), 0, *W)
    yield "saturation", show.saturation(draws=20)
    yield "saturation", show.saturation((1, 3), scaled=[True], seq=1, draws=5)
    series = {name: [0.0, i / 100] for i, name in enumerate(AWKWARD[:6])}
    yield "lines", show.lines([0, 1], series, ylabel="y", reference=("W" * 40, 0))
    yield "strips", show.strips([0, 1], series, xlabel="x", ylabel="a long name of an axis")
    yield "strips", show.strips([3.0], {"a": [1e9]}, title="$\\frac")
    yield "lines", show.lines([3.0], {"a": [1e9]}, xlabel="a long label of the axis " * 2, title="$\\frac")
    for names, at in (
        (TOKENS, 0),
        (["W" * 14] * 16, 7),
        (["a", "b"], 0),
        (["$x_1$", "\n", "", "汉", "<b>", " the"], 3),
    ):
        yield "causal", show.causal(torch.randn(len(names), len(names), generator=generator), names, at)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "make, n", [*((tables, n) for n in (1, 8, 9, 40)), (others, 0)], ids=["1", "8", "9", "40", "others"]
)
def test_nothing_is_cut_off_and_every_figure_is_of_a_width(make, n):
    for name, picture in make(n):
        print(name)  # pytest shows it when the figure fails
        assert_not_clipped(picture)


# ---------------------------------------------------------------- what is refused

NAN = WEIGHTS.clone()
NAN[2, 3] = math.nan
BODY = [1, 0, 0], [0, 1, 0], [0, 0, 1]
HEADS = random_patterns(2, 4)
EVEN = torch.full((50257,), 1 / 50257)


def refused(name, message, *args, **kwargs):
    """A call of `show.name` that is refused with words that the pattern `message` matches."""
    return pytest.param(getattr(show, name), message, args, kwargs, id=f"{name}: {message}")


REFUSED = [
    refused(
        "attention", "heads must differ, so that one can be chosen; got a, a", list("abcd"), HEADS, heads=["a", "a"]
    ),
    refused("attention", "1 heads were given for 2 patterns", list("abcd"), HEADS, heads=["a"]),
    refused("strips", "x must increase", [2, 1], {"a": [1, 2]}),
    refused("weights", r"weights has the shape \[1, 6, 6\]; expected .*weights\[0\]", WEIGHTS[None], TOKENS),
    refused("weights", r"weights\[2, 3\] is nan", NAN, TOKENS),
    refused("scores", r"scores\[2, 3\] is nan", NAN, TOKENS),
    refused("scores", r"scores\[0, 0\] is infinite; expected finite numbers or -inf", [[math.inf]], ["a"]),
    refused("weights", "5 tokens were given for 6 queries", WEIGHTS, TOKENS[:5]),
    refused("weights", "must be a list of strings.*'abcdef'", WEIGHTS, "abcdef"),
    refused("weights", r"between 0 and 1; found 1\.50.*show\.scores", SCORES, TOKENS),
    refused("weights", "found −0.20", [[-0.2, 0.5], [0.5, 0.5]], ["a", "b"]),
    refused("weights", "2 × 6 table needs keys=", WEIGHTS[:2], TOKENS[:2]),
    refused("weights", "3 keys were given for 6 keys", WEIGHTS[:2], TOKENS[:2], keys=TOKENS[:3]),
    refused("weights", r"weights is empty \(shape \[0\]\)", [], []),
    refused("weights", "rows of different lengths", [[1.0], [0.5, 0.5]], ["a", "b"]),
    refused("weights", "something other than numbers", [["a"]], ["a"]),
    refused("weights", "something other than numbers", None, ["a"]),
    refused("weights", r"weights is still `\.\.\.` \(Ellipsis\): fill in", ..., ["a"]),
    refused("mask", "mask holds float32; expected bool", torch.ones(2, 2), ["a", "b"]),
    refused("mask", r"mask has the shape \[1\]", [True], ["a"]),
    refused("grid", "tokens is empty", []),
    refused("grid", "must be a list of strings", 4),
    refused("grid", "title must be a string; got int", ["a"], title=3),
    refused("bars", "one or two groups; got 3", {"a": [1], "b": [1], "c": [1]}, ["x"]),
    refused("bars", r"values\['b'\] has 2 numbers for 1 labels", {"a": [1], "b": [1, 2]}, ["x"]),
    refused("bars", "1 labels were given for 2 bars", [1, 2], ["x"]),
    refused("bars", r"values\[0\] is infinite", [-math.inf], ["x"]),
    refused("bars", "at most 40 bars; got 41", [1] * 41, ["x"] * 41),
    refused("bars", "reference holds something other than numbers", [1], ["x"], reference="uniform"),
    refused("vectors", r"vectors\['a'\] has 3 numbers; expected 2", {"a": INPUTS[0]}),
    refused("vectors", "must be a dict of 1 to 6", [[1, 2]]),
    refused("vectors", "angle names 'z', which is not among the vectors: 'a'", {"a": [1, 2]}, angle=("a", "z")),
    refused("vectors", "angle must name two", {"a": [1, 2]}, angle="ab"),
    refused("vectors", "'b': it has length 0", {"a": [1, 2], "b": [0, 0]}, projection=("a", "b")),
    refused("mixing", "1 weights were given for 2 vectors", [1.0], [[1, 2], [3, 4]], ["a"]),
    refused("mixing", "at least 2 numbers", [1.0], [[1]], ["a"]),
    refused("mixing", "at most 12 vectors; got 13", [1.0] * 13, [[1, 2]] * 13, ["a"] * 13),
    refused("steps", "at most 8 tokens; got 9", torch.ones(9, 2), awkward_texts(9), 0),
    refused("steps", "'two' is in the tokens 0 times", INPUTS, TOKENS, "two"),
    refused("steps", "'a' is in the tokens 6 times; give its index", INPUTS, ["a"] * 6, "a"),
    refused("steps", "an index from 0 to 5; got 6", INPUTS, TOKENS, 6),
    refused("steps", "W_value is missing", INPUTS, TOKENS, 0, torch.ones(3, 2), torch.ones(3, 2)),
    refused("steps", r"W_query has the shape \[2, 3\].*\.weight\.T", INPUTS, TOKENS, 0, *[torch.ones(2, 3)] * 3),
    refused("steps", "W_key .*needs the same", INPUTS, TOKENS, 0, torch.ones(3, 2), torch.ones(3, 4), torch.ones(3, 2)),
    refused("lines", "x must increase", [2, 1], {"a": [1, 2]}),
    refused("lines", "above 0", [0, 1], {"a": [1, 2]}, logx=True),
    refused("lines", r"series\['a'\] has 1 numbers for 2 of x", [0, 1], {"a": [1]}),
    refused("lines", "series must be a dict", [0, 1], [1, 2]),
    refused("saturation_study", r"d_ks\[0\] must be a whole number of at least 1; got 0", (0,)),
    refused("saturation_study", "d_ks is empty", ()),
    refused("saturation", "draws must be a whole number", draws=1.5),
    refused("saturation", "scaled is empty", scaled=()),
    refused("causal", "scores is 2 × 6; expected a square table of 2 to 16 positions", SCORES[:2], TOKENS, 0),
    refused("causal", "17 × 17", torch.zeros(17, 17), ["a"] * 17, 0),
    refused("causal", "5 tokens were given for 6 positions", SCORES, TOKENS[:5], 0),
    refused("causal", "position must be a token or a number from 0 to 5; got 6", SCORES, TOKENS, 6),
    refused("causal", "no token is 'trip'; there are: Your, journey", SCORES, TOKENS, "trip"),
    refused("causal", "position must be", SCORES, TOKENS, True),
    refused("causal", "is nan", NAN, TOKENS, 0),
    refused("causal", "is infinite", SCORES.masked_fill(SCORES > 1, -torch.inf), TOKENS, 0),
    refused("causal", "fill in the exercise", ..., TOKENS, 0),
    refused(
        "attention",
        r"patterns has the shape \[1, 2, 4, 4\]; expected \[heads, seq, seq\].*patterns\[0\]",
        TOKENS[:4],
        HEADS[None],
    ),
    refused("attention", r"patterns has the shape \[4\]; expected", TOKENS[:4], HEADS[0, 0]),
    refused(
        "attention", r"patterns has the shape \[2, 3, 4\].*as many keys \(across\) as queries", TOKENS[:4], HEADS[:, :3]
    ),
    refused("attention", "3 tokens were given for 4 positions", TOKENS[:3], HEADS),
    refused("attention", "tokens must be a list of strings", "abcd", HEADS),
    refused("attention", r"patterns\[0, 0, 0\] is nan", TOKENS[:4], torch.full((2, 4, 4), math.nan)),
    refused("attention", r"between 0 and 1; found 3\.00\. Are these scores\?", TOKENS[:4], HEADS * 3),
    refused("attention", "between 0 and 1; found −1.00", TOKENS[:4], -HEADS),
    refused("attention", r"is infinite; expected finite", TOKENS[:4], HEADS.log()),
    refused("attention", "at most 32 heads; got 33", TOKENS[:4], torch.eye(4).repeat(33, 1, 1)),
    refused("attention", "at most 64 tokens; got 65", ["a"] * 65, torch.eye(65)),
    refused("attention", "patterns is empty", [], torch.zeros(2, 0, 0)),
    refused("attention", "Ellipsis", TOKENS[:4], ...),
    refused("attention", "something other than numbers", TOKENS[:4], "patterns"),
    refused("attention", "title must be a string", TOKENS[:4], HEADS, title=3),
    refused("tokens", "tokens must be a list of strings, one for each token; got 'a text'", "a text"),
    refused("tokens", r"tokens\[0\] is 1; expected a string", [1, 2]),
    refused("tokens", "tokens is empty", []),
    refused("tokens", "tokens must be a list of strings", None),
    refused("tokens", "Ellipsis", ...),
    refused("tokens", r"at most 200 tokens; got 201.*tokens\[:100\]", ["a"] * 201),
    refused("tokens", "1 ids were given for 2 tokens", ["a", "b"], [1]),
    refused("tokens", r"ids\[0\] is \[1, 2\].*ids\[0\]\)", ["a", "b"], torch.tensor([[1, 2]])),
    refused("tokens", r"ids\[0\] is 1.5; expected a whole number", ["a"], [1.5]),
    refused("tokens", r"ids\[0\] is -1", ["a"], [-1]),
    refused("tokens", "ids must be a list of whole numbers", ["a"], 3),
    refused("tokens", "title must be a string", ["a"], title=1),
    refused("merges", "1 to 24 steps; got 0", []),
    refused("merges", "steps must be", "abc"),
    refused("merges", r"a step is a \(name, tokens\) pair", [["a", "b", "c"]]),
    refused("merges", "step 'b' joins to 'ac', the first one to 'ab'", {"a": ["ab"], "b": ["a", "c"]}),
    refused("merges", "mix strings and bytes", {"a": ["a"], "b": [b"a"]}),
    refused("merges", "at most 40 characters; got 41", {"a": ["x" * 41]}),
    refused("merges", "hold an empty one", {"a": ["a", ""]}),
    refused("merges", "Ellipsis", ...),
    refused("next_tokens", "Are these logits", torch.randn(50257), None),
    refused("next_tokens", r"shape \[1, 50257\].*one row of probabilities", EVEN[None], None),
    refused("next_tokens", "probs sum to 0.50", EVEN / 2, None),
    refused("next_tokens", "k must be a whole number from 1 to 40; got 0", EVEN, None, k=0),
    refused("residual_stream", "from 1 to 4; got 0", 0),
    refused("residual_stream", "from 1 to 4; got 12", 12),
    refused("residual_stream", "got True", True),
    refused("volume", r"query has the shape \[1, 2\]; expected one vector, \[d\]", [[1, 0]], *BODY[1:]),
    refused("volume", r"have the shapes \[3\], \[2\], \[3\]; expected one shape", BODY[0], [1, 0], BODY[2]),
    refused("volume", r"query\[2\] is nan", [1, 0, math.nan], *BODY[1:]),
    refused("volume", r"key\[0\] is infinite", BODY[0], [math.inf, 0, 0], BODY[2]),
    refused("volume", "so long that their squared volume is infinite", *(1e90 * torch.eye(3).double())),
    refused("volume", "fill in the exercise", BODY[0], ..., BODY[2]),
    refused("curves", "runs must be a dict", [1, 2, 3], [[1, 2, 3]]),
    refused("curves", r"expected a row for each run, \[runs, n\]", [1, 2, 3], {"a": [1, 2, 3]}),
    refused("curves", "3 numbers for 2 of x", [1, 2], {"a": [[1, 2, 3]]}),
    refused("curves", "x must increase", [2, 1], {"a": [[1, 2]]}),
    refused("curves", "1 to 6 named lines", [1, 2], {}),
    refused("curves", "is nan", [1, 2], {"a": [[1, math.nan]]}),
]


@pytest.mark.parametrize("draw, message, args, kwargs", REFUSED)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(draw, message, args, kwargs):
    with pytest.raises(ValueError, match=message) as caught:
        draw(*args, **kwargs)
    assert "\n" not in str(caught.value)
