"""Check every figure: nothing is cut off, bad arguments raise a ValueError, and importing is cheap."""

import math
import pkgutil
from collections.abc import Sequence
from typing import get_type_hints

import numpy as np
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
from utils.show.argument_types import explain_wrong_types
from utils.show.drawing_types import ArrayLike

HEAVY = {"matplotlib", "ipywidgets", "transformers", "circuitsvis"}
FIRST_FIGURE = "show.grid(['a']), show.attention(['a', 'b'], [[1, 0], [.5, .5]])._repr_mimebundle_()"


def imported(code):
    """Return the top-level packages, and matplotlib.pyplot, that a fresh process has imported after `code`."""
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
        "once loaded, a module hides the name of the package that equals its own"
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
    yield "vectors", show.vectors({"a": [500, 1], "b": [1, 900]}, angle=("a", "b"), projection=("b", "a"))
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
        print(name)  # pytest shows the name if the figure fails
        assert_not_clipped(picture)


# ---------------------------------------------------------------- errors

NAN = WEIGHTS.clone()
NAN[2, 3] = math.nan
BODY = [1, 0, 0], [0, 1, 0], [0, 0, 1]
HEADS = random_patterns(2, 4)
EVEN = torch.full((50257,), 1 / 50257)


def bad_call(name, *args, **kwargs):
    """Return a test case for a call of `show.name` that must raise a ValueError."""
    return name, args, kwargs


BAD_CALLS = [
    bad_call("attention", list("abcd"), HEADS, heads=["a", "a"]),
    bad_call("attention", list("abcd"), HEADS, heads=["a"]),
    bad_call("strips", [2, 1], {"a": [1, 2]}),
    bad_call("weights", WEIGHTS[None], TOKENS),
    bad_call("weights", NAN, TOKENS),
    bad_call("scores", NAN, TOKENS),
    bad_call("scores", [[math.inf]], ["a"]),
    bad_call("weights", WEIGHTS, TOKENS[:5]),
    bad_call("weights", WEIGHTS, "abcdef"),
    bad_call("weights", SCORES, TOKENS),
    bad_call("weights", [[-0.2, 0.5], [0.5, 0.5]], ["a", "b"]),
    bad_call("weights", WEIGHTS[:2], TOKENS[:2]),
    bad_call("weights", WEIGHTS[:2], TOKENS[:2], keys=TOKENS[:3]),
    bad_call("weights", [], []),
    bad_call("weights", [[1.0], [0.5, 0.5]], ["a", "b"]),
    bad_call("weights", [["a"]], ["a"]),
    bad_call("weights", None, ["a"]),
    bad_call("weights", ..., ["a"]),
    bad_call("mask", torch.ones(2, 2), ["a", "b"]),
    bad_call("mask", [True], ["a"]),
    bad_call("grid", []),
    bad_call("grid", 4),
    bad_call("grid", ["a"], title=3),
    bad_call("bars", {"a": [1], "b": [1], "c": [1]}, ["x"]),
    bad_call("bars", {"a": [1], "b": [1, 2]}, ["x"]),
    bad_call("bars", [1, 2], ["x"]),
    bad_call("bars", [-math.inf], ["x"]),
    bad_call("bars", [1] * 41, ["x"] * 41),
    bad_call("bars", [1], ["x"], reference="uniform"),
    bad_call("bars", [1], ["x"], limit="1"),
    bad_call("vectors", {"a": INPUTS[0]}),
    bad_call("vectors", [[1, 2]]),
    bad_call("vectors", {"a": [1, 2]}, angle=("a", "z")),
    bad_call("vectors", {"a": [1, 2]}, angle="ab"),
    bad_call("vectors", {"a": [1, 2], "b": [0, 0]}, projection=("a", "b")),
    bad_call("mixing", [1.0], [[1, 2], [3, 4]], ["a"]),
    bad_call("mixing", [1.0], [[1]], ["a"]),
    bad_call("mixing", [1.0] * 13, [[1, 2]] * 13, ["a"] * 13),
    bad_call("steps", torch.ones(9, 2), awkward_texts(9), 0),
    bad_call("steps", INPUTS, TOKENS, "two"),
    bad_call("steps", INPUTS, ["a"] * 6, "a"),
    bad_call("steps", INPUTS, TOKENS, 6),
    bad_call("steps", INPUTS, TOKENS, 0, torch.ones(3, 2), torch.ones(3, 2)),
    bad_call("steps", INPUTS, TOKENS, 0, *[torch.ones(2, 3)] * 3),
    bad_call("steps", INPUTS, TOKENS, 0, torch.ones(3, 2), torch.ones(3, 4), torch.ones(3, 2)),
    bad_call("lines", [2, 1], {"a": [1, 2]}),
    bad_call("lines", [0, 1], {"a": [1, 2]}, logx=True),
    bad_call("lines", [0, 1], {"a": [1]}),
    bad_call("lines", [0, 1], [1, 2]),
    bad_call("saturation_study", (0,)),
    bad_call("saturation_study", ()),
    bad_call("saturation", draws=1.5),
    bad_call("saturation", scaled=()),
    bad_call("saturation", [8, 8]),
    bad_call("saturation", 8),
    bad_call("saturation", [8, 16], scaled=True),
    bad_call("sarrus", None),
    bad_call("sarrus", [1, 2, 3]),
    bad_call("valley", [1, 2], [2, 1], {"a": (0.1, 2)}),
    bad_call("valley", [1, 2], [2, 1], {"a": [(0.1, 2, 3)]}),
    bad_call("valley", [1, 2], [2, 1], {"a": 3}),
    bad_call("circuits", [[[1.0]]]),
    bad_call("packed", 5, 768),
    bad_call("packed", 12, 6),
    bad_call("packed", 12, -768),
    bad_call("packed", 12, "768"),
    bad_call("one_matrix", 6.0),
    bad_call("cuts", {"a": 3}),
    bad_call("trace", "abc"),
    bad_call("trace", None),
    bad_call("trace", [1]),
    bad_call("norm_places", 3),
    bad_call("norm_places", "pre-norm"),
    bad_call("looking_back", ["a", "b"], ["c", "d"], 3, "a"),
    bad_call("standing", 3, ["a"]),
    bad_call("counted", 3, ["a"]),
    bad_call("causal", SCORES[:2], TOKENS, 0),
    bad_call("causal", torch.zeros(17, 17), ["a"] * 17, 0),
    bad_call("causal", SCORES, TOKENS[:5], 0),
    bad_call("causal", SCORES, TOKENS, 6),
    bad_call("causal", SCORES, TOKENS, "trip"),
    bad_call("causal", SCORES, TOKENS, True),
    bad_call("causal", NAN, TOKENS, 0),
    bad_call("causal", SCORES.masked_fill(SCORES > 1, -torch.inf), TOKENS, 0),
    bad_call("causal", ..., TOKENS, 0),
    bad_call("attention", TOKENS[:4], HEADS[None]),
    bad_call("attention", TOKENS[:4], HEADS[0, 0]),
    bad_call("attention", TOKENS[:4], HEADS[:, :3]),
    bad_call("attention", TOKENS[:3], HEADS),
    bad_call("attention", "abcd", HEADS),
    bad_call("attention", TOKENS[:4], torch.full((2, 4, 4), math.nan)),
    bad_call("attention", TOKENS[:4], HEADS * 3),
    bad_call("attention", TOKENS[:4], -HEADS),
    bad_call("attention", TOKENS[:4], HEADS.log()),
    bad_call("attention", TOKENS[:4], torch.eye(4).repeat(33, 1, 1)),
    bad_call("attention", ["a"] * 65, torch.eye(65)),
    bad_call("attention", [], torch.zeros(2, 0, 0)),
    bad_call("attention", TOKENS[:4], ...),
    bad_call("attention", TOKENS[:4], "patterns"),
    bad_call("attention", TOKENS[:4], HEADS, title=3),
    bad_call("tokens", "a text"),
    bad_call("tokens", [1, 2]),
    bad_call("tokens", []),
    bad_call("tokens", None),
    bad_call("tokens", ...),
    bad_call("tokens", ["a"] * 201),
    bad_call("tokens", ["a", "b"], [1]),
    bad_call("tokens", ["a", "b"], torch.tensor([[1, 2]])),
    bad_call("tokens", ["a"], [1.5]),
    bad_call("tokens", ["a"], [-1]),
    bad_call("tokens", ["a"], 3),
    bad_call("tokens", ["a"], title=1),
    bad_call("merges", []),
    bad_call("merges", "abc"),
    bad_call("merges", [["a", "b", "c"]]),
    bad_call("merges", {"a": ["ab"], "b": ["a", "c"]}),
    bad_call("merges", {"a": ["a"], "b": [b"a"]}),
    bad_call("merges", {"a": ["x" * 41]}),
    bad_call("merges", {"a": ["a", ""]}),
    bad_call("merges", ...),
    bad_call("next_tokens", torch.linspace(-3, 3, 50257), None),
    bad_call("next_tokens", EVEN[None], None),
    bad_call("next_tokens", EVEN / 2, None),
    bad_call("next_tokens", EVEN, None, k=0),
    bad_call("next_tokens", EVEN, None),
    bad_call("residual_stream", 0),
    bad_call("residual_stream", True),
    bad_call("volume", [[1, 0]], *BODY[1:]),
    bad_call("volume", BODY[0], [1, 0], BODY[2]),
    bad_call("volume", [1, 0, math.nan], *BODY[1:]),
    bad_call("volume", BODY[0], [math.inf, 0, 0], BODY[2]),
    bad_call("volume", *(1e90 * torch.eye(3).double())),
    bad_call("volume", *(1e200 * torch.eye(3).double())),
    bad_call("volume", BODY[0], ..., BODY[2]),
    bad_call("curves", [1, 2, 3], [[1, 2, 3]]),
    bad_call("curves", [1, 2, 3], {"a": [1, 2, 3]}),
    bad_call("curves", [1, 2], {"a": [[1, 2, 3]]}),
    bad_call("curves", [2, 1], {"a": [[1, 2]]}),
    bad_call("curves", [1, 2], {}),
    bad_call("curves", [1, 2], {str(run): [[1, 2]] for run in range(7)}),
    bad_call("curves", [1, 2], {"a": [[1, math.nan]]}),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", sorted({name for name, _, _ in BAD_CALLS}))
def test_what_cannot_be_drawn_is_refused_in_a_sentence(name, snapshot):
    messages = []
    for function, args, kwargs in BAD_CALLS:
        if function == name:
            with pytest.raises(ValueError) as error:
                getattr(show, name)(*args, **kwargs)
            messages.append(str(error.value))
    assert messages == snapshot
    assert not [message for message in messages if "\n" in message]


@pytest.mark.parametrize("package", [show, explore], ids=lambda package: package.__name__)
def test_the_annotations_of_a_function_can_be_evaluated(package):
    """Otherwise, `explain_wrong_types` cannot name an argument."""
    assert all(isinstance(get_type_hints(getattr(package, name)), dict) for name in package.__all__)


@explain_wrong_types
def draw(number: int, names: Sequence[str] = (), pair: tuple[str, float] | None = None, ids: ArrayLike = 0):
    """A function with a mistake in its code."""
    return number + names + pair + "a"


def test_an_error_is_blamed_on_an_argument_only_if_the_argument_has_the_wrong_type():
    for args in (("1",), (1, "ab"), (1, [2]), (1, ["a"], ("a", "b")), (1, ["a"], ("a",)), (1, torch.tensor(1))):
        with pytest.raises(ValueError, match="must be"):
            draw(*args)
    for args in ((), (1, [], None, 0, 0), (1, ["a"], ("a", 1), "x"), (torch.tensor(1), np.array(["a"]), None)):
        with pytest.raises(TypeError):
            draw(*args)
