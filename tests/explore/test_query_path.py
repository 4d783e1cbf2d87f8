"""The explorer of one query in a browser: scores, weights and mix equal torch's for every query."""

import numpy as np
import pytest
import torch

from tests.show.figure_checks import TOKENS
from utils import explore
from utils.checks._attention import INPUTS


def lesson_matrices():
    torch.manual_seed(123)
    return [torch.nn.Parameter(torch.rand(3, 2)) for _ in range(3)]


def expected(query, matrices, scaled=True):
    """Return scores, weights and mix as torch computes them."""
    keys, values = (INPUTS @ W.detach() for W in matrices[1:])
    query = torch.tensor(query)
    scale = None if scaled else 1.0
    mix = torch.nn.functional.scaled_dot_product_attention(query[None], keys, values, scale=scale)[0]
    weights = torch.nn.functional.scaled_dot_product_attention(query[None], keys, torch.eye(6), scale=scale)[0]
    return {"scores": keys @ query, "weights": weights, "context": mix}


def assert_numbers(page, expected, near=1e-5):
    numbers = page.numbers()
    for name, values in expected.items():
        assert numbers[name] == pytest.approx(values.tolist(), abs=near), name


@pytest.fixture
def lesson(show_widget):
    return show_widget(explore.query(INPUTS, TOKENS, "journey", *lesson_matrices()))


@pytest.mark.parametrize("asks", range(6))
def test_each_token_asks_with_its_own_query(lesson, asks):
    matrices = lesson_matrices()
    lesson.set_control("asks", (asks + 1) % 6)
    lesson.set_control("x", -1.0)
    lesson.set_control("asks", asks)
    own = (INPUTS[asks] @ matrices[0]).tolist()
    assert [lesson.state()["x"], lesson.state()["y"]] == pytest.approx(own)
    assert_numbers(lesson, expected(own, matrices))
    lesson.set_control("scaled", False)
    assert_numbers(lesson, expected(own, matrices, scaled=False))


@pytest.mark.parametrize("query", [(0.0, 0.0), (-2.5, -1.2), (2.9, -2.0), (3.0, 3.0)])
def test_a_moved_query_is_answered_as_torch_does(lesson, query):
    lesson.set_control("x", query[0])
    lesson.set_control("y", query[1])
    assert_numbers(lesson, expected(query, lesson_matrices()))


def test_without_arguments_it_shows_lesson_03(show_widget, snapshot):
    page = show_widget(explore.query())
    matrices = lesson_matrices()
    assert_numbers(page, expected((INPUTS[1] @ matrices[0]).tolist(), matrices), near=5e-4)
    assert page.facts() == {"query": "(0.43, 1.46)", "mix of the values": "(0.31, 0.82)"}
    assert page.picture_label() == snapshot


@pytest.mark.parametrize("asker", ["starts", 2, torch.tensor([0, 1, 3]).argmax(), np.int64(2)])
def test_who_asks_is_a_token_or_its_place(asker):
    assert explore.query(INPUTS, TOKENS, asker, *lesson_matrices()).state["asks"] == 2


def boxes(page, selector):
    return page.root.locator(selector).evaluate_all(
        "all => all.map(one => [one.textContent, one.getBoundingClientRect().toJSON()])"
    )


def test_each_of_eight_tokens_has_a_colour_of_its_own(show_widget):
    page = show_widget(explore.query(torch.eye(8), list("abcdefgh"), 0, *(torch.rand(8, 2) for _ in range(3))))
    fills = page.root.locator("svg circle:not(.draggable)").evaluate_all(
        "all => all.map(one => one.attributes.fill.value)"
    )
    assert len(fills) == 16 and len(set(fills)) == 8 and "var(--ink)" not in fills


def test_the_zero_of_the_scores_stays_where_it_is(lesson):
    zeros = set()
    for x, y in ((0.43, 1.46), (3, 3), (-3, -3), (3, -3), (0, 0)):
        lesson.set_control("x", x)
        lesson.set_control("y", y)
        signs = {score > 0 for score in lesson.numbers()["scores"]}
        line = boxes(lesson, "svg g g line")[0][1]
        zeros.add(round(line["x"]))
    assert len(zeros) == 1 and signs == {False}


@pytest.mark.parametrize("width", [360, 800])
def test_no_name_covers_an_axis_and_no_number_covers_a_line(show_widget, width):
    page = show_widget(explore.query(), width=width)
    for x, y in ((0.43, 1.46), (-2, -2), (3, -3), (0.2, 3)):
        page.set_control("x", x)
        page.set_control("y", y)
        texts = boxes(page, "svg g g text.number")
        ((_, line),) = boxes(page, "svg g line[stroke-dasharray='4 3']")
        beside = [(text, at) for text, at in texts if at["bottom"] > line["top"] and at["top"] < line["bottom"]]
        assert len(beside) in (6, 12) and not [at for _, at in beside if at["left"] < line["left"] < at["right"]]
        axes = [at for _, at in boxes(page, "svg > g > line[stroke='var(--faint)']") if at["width"] > 100]
        names = [(text, at) for text, at in boxes(page, "svg > g > text") if text in TOKENS]
        assert len(axes) == 2 and len(names) == 12
        for axis in axes:
            near = [at for _, at in names if axis["left"] < at["left"] < axis["right"]]
            assert all(at["bottom"] - 4 < axis["top"] or at["top"] + 4 > axis["top"] for at in near)


def drag(page, x, y):
    box = page.root.locator("circle.draggable").bounding_box()
    page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 + y, steps=6)


def test_the_query_is_dragged_and_goes_back(lesson, snapshot):
    lesson.page.evaluate("() => { window.gone = true; }")
    before = lesson.state()
    drag(lesson, -60, 40)
    held = lesson.facts()["query"]
    lesson.page.mouse.up()
    after = lesson.state()
    assert after["x"] < before["x"] - 0.5 and after["y"] < before["y"] - 0.3
    assert held == lesson.facts()["query"] != "(0.43, 1.46)" and lesson.remark() == snapshot(name="dragged")
    assert_numbers(lesson, expected((after["x"], after["y"]), lesson_matrices()))
    slider = lesson.root.get_by_role("slider", name="query, up")
    assert float(slider.input_value()) == pytest.approx(after["y"], abs=0.02)
    lesson.root.get_by_role("button", name="Back to its own query").press("Enter")
    assert [lesson.state()[name] for name in ("x", "y")] == [before["x"], before["y"]]
    assert lesson.remark() == snapshot(name="its own")


def test_a_query_is_not_dragged_out_of_its_plane(lesson):
    drag(lesson, -600, -600)
    lesson.page.mouse.up()
    assert (lesson.state()["x"], lesson.state()["y"]) == (-3, 3)


def test_a_finger_drags_too(show_widget):
    page = show_widget(explore.query(), width=360)
    touch = page.page.context.new_cdp_session(page.page)
    box = page.root.locator("circle.draggable").bounding_box()
    x, y = box["x"] + 14, box["y"] + 14
    for kind, points in (
        ("touchStart", [{"x": x, "y": y}]),
        ("touchMove", [{"x": x - 30, "y": y + 20}]),
        ("touchMove", [{"x": x - 60, "y": y + 40}]),
        ("touchEnd", []),
    ):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert page.state()["x"] < 0 and page.facts()["query"] != "(0.43, 1.46)"
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_keys_move_everything(lesson, snapshot):
    lesson.root.get_by_role("slider", name="query, across").press("Home")
    assert lesson.state()["x"] == -3
    lesson.root.get_by_role("slider", name="who asks").press("End")
    assert lesson.state()["asks"] == 5 and lesson.state()["x"] != -3
    lesson.root.get_by_role("checkbox", name="divide by √d_k").press("Space")
    assert lesson.state()["scaled"] is False and lesson.remark() == snapshot


def test_remarks_are_true(show_widget, snapshot):
    identity = torch.eye(2)
    page = show_widget(explore.query(torch.eye(2) * 5, ["a", "b"], 0, identity, identity, identity))
    assert max(page.numbers()["weights"]) > 0.9 and page.remark() == snapshot(name="one token")
    page.set_control("x", 0)
    page.set_control("y", 0)
    assert page.remark() == snapshot(name="no length") and page.numbers()["weights"] == [0.5, 0.5]
    assert page.picture_label().startswith("Each token gets the same weight, 0.50")


def test_vectors_of_zeros_are_drawn(show_widget):
    nothing = torch.zeros(2, 2)
    page = show_widget(explore.query(torch.zeros(2, 2), ["a", "b"], 0, nothing, nothing, nothing))
    assert page.numbers()["context"] == [0, 0]
    assert "NaN" not in page.root.inner_html()


WQ, WK, WV = (torch.ones(3, 2) for _ in range(3))
REJECTED = {
    "one missing": ((INPUTS, TOKENS, 1, WQ, WK), "W_value"),
    "nine tokens": ((torch.ones(9, 3), ["a"] * 9, 1, WQ, WK, WV), "2 to 8 .*9"),
    "three columns": ((INPUTS, TOKENS, 1, torch.ones(3, 3), WK, WV), r"W_query .*\[3, 3\].*\[3, 2\]"),
    "transposed": ((INPUTS, TOKENS, 1, WQ, WK.T, WV), r"W_key .*\[2, 3\].*\.weight\.T"),
}
REJECTED_BY_SHOW = {  # the messages of utils.show.arguments, whose tests have the snapshots
    "five names": ((INPUTS, TOKENS[:5], 1, WQ, WK, WV), "5 .*6"),
    "no such token": ((INPUTS, TOKENS, "you", WQ, WK, WV), "query 'you'"),
    "index too large": ((INPUTS, TOKENS, 6, WQ, WK, WV), "query .*0 to 5.*6"),
    "index 1.5": ((INPUTS, TOKENS, torch.tensor(1.5), WQ, WK, WV), "query .*0 to 5"),
    "two indices": ((INPUTS, TOKENS, torch.tensor([1, 2]), WQ, WK, WV), "query .*0 to 5"),
    "a bool": ((INPUTS, TOKENS, True, WQ, WK, WV), "query .*0 to 5.*True"),
    "unfilled": ((INPUTS, TOKENS, 1, ..., WK, WV), r"W_query .*`\.\.\.`"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_it_rejects(case, snapshot):
    arguments, pattern = REJECTED[case]
    with pytest.raises(ValueError, match=pattern) as error:
        explore.query(*arguments)
    assert str(error.value) == snapshot


@pytest.mark.parametrize("case", REJECTED_BY_SHOW)
def test_it_rejects_arguments_like_the_figures(case):
    arguments, pattern = REJECTED_BY_SHOW[case]
    with pytest.raises(ValueError, match=pattern):
        explore.query(*arguments)
