"""Check the figures of class results: nothing is cut off at any size, and colours, key and alt text are right."""

import pytest
from matplotlib.colors import to_rgb

from tests.show.figure_checks import AWKWARD, assert_not_clipped, awkward_texts, luminance
from utils import show
from utils.show.class_results import STATES

NAMES = list(STATES)


def states(exercises, students):
    return [[NAMES[(i * 3 + j) % len(NAMES)] for j in range(students)] for i in range(exercises)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exercises, students", [(1, 1), (12, 30), (65, 300)])
def test_nothing_is_cut_off_whatever_the_size(exercises, students):
    assert_not_clipped(show.standing(states(exercises, students), awkward_texts(exercises)))
    if students <= 60:
        assert_not_clipped(
            show.standing(states(exercises, students), awkward_texts(exercises), awkward_texts(students))
        )


@pytest.mark.filterwarnings("error")
def test_bars_of_counts_are_whole_and_end_in_whole_numbers():
    picture = show.counted([12, 3, 0, 1][: len(AWKWARD)], ["W" * 60, "softmax: wrong axis", "$x_1$", "a"])
    assert_not_clipped(picture)
    assert {text.get_text() for text in picture.figure.axes[0].texts} == {"12", "3", "0", "1"}
    assert "softmax: wrong axis 3, " in picture.alt


def test_a_cell_has_the_colour_of_its_state_and_the_key_names_those_that_occur(snapshot):
    picture = show.standing([["passed", "failed"], ["absent", "passed"]], ["softmax 02", "get_mask 04"])
    (image,) = picture.figure.axes[0].images
    shown = image.get_array().tolist()
    assert [[NAMES[int(code)] for code in row] for row in shown] == [["passed", "failed"], ["absent", "passed"]]
    assert {text.get_text() for text in picture.figure.axes[0].texts} == {"passed", "failed", "absent"}
    assert picture.alt == snapshot


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: show.standing([], []), id="no states"),
        pytest.param(lambda: show.standing([["passed"], []], ["a", "b"]), id="rows of different lengths"),
        pytest.param(lambda: show.standing([["well"]], ["a"]), id="unknown state"),
        pytest.param(lambda: show.standing([["passed"]], ["a", "b"]), id="too many exercises"),
        pytest.param(lambda: show.standing([["passed"]], ["a"], ["x", "y"]), id="too many students"),
        pytest.param(lambda: show.counted([], []), id="no counts"),
        pytest.param(lambda: show.counted([1.5], ["a"]), id="fraction"),
        pytest.param(lambda: show.counted([1, 2], ["a"]), id="too few labels"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(call, snapshot):
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == snapshot
    assert "\n" not in str(caught.value)


def test_neighbouring_states_differ_in_lightness():
    """Colour-blind readers and printed pages need this: good states are light, bad states are dark."""
    light = {name: luminance(to_rgb(colour)) for name, colour in STATES.items()}
    assert light["absent"] > light["passed"] > light["not attempted"] > 2 * light["failed"] > 2 * light["unreadable"]
    assert light["passed"] > 3.5 * light["failed"] and light["waits for another exercise"] > 2 * light["failed"]
