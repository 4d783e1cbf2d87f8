"""Explorers are driven as a reader drives them; what they show is compared with torch."""

import html
import math
import re
import subprocess
import sys
import warnings

import pytest
import torch

from utils import explore, show
from utils.show.page import number_text

TOKENS = "Your journey starts with one step".split()
SCORES = [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]


def plain(widget):
    """What an HTML widget says."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", widget.value)).split())


def facts(panel):
    """{name: number} of what an explorer shows."""
    pairs = re.findall(r"([a-z][a-z ]*?) <b>([^<]+)</b>", html.unescape(panel.readout.value))
    return {name.strip(): value for name, value in pairs}


def alt(panel):
    return html.unescape(re.search(r'alt="([^"]*)"', panel.picture.value)[1])


def everything_said(widget):
    """All text that the browser has been given."""
    said = [str(getattr(widget, name, "")) for name in ("value", "description", "placeholder", "tooltip")]
    return " ".join(said + [everything_said(child) for child in getattr(widget, "children", ())])


def press_enter(text):
    text._handle_custom_msg({"event": "submit"}, [])  # what the browser sends


EXPLORERS = {
    "predict": lambda: explore.predict("How many?", 10),
    "quiz": lambda: explore.quiz("Which?", {"a": "no", "b": "yes"}, "b"),
    "dot_product": explore.dot_product,
    "scaling": explore.scaling,
    "softmax": lambda: explore.softmax(SCORES, TOKENS),
}


def test_importing_costs_no_widgets_and_no_figures():
    code = "import sys; from utils import explore; assert not {'ipywidgets', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", EXPLORERS)
def test_an_explorer_is_a_widget_and_a_calm_sentence(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = EXPLORERS[name](), EXPLORERS[name]()
    bundle = first._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == first.model_id
    said = bundle["text/plain"]
    assert said == repr(first) == second._repr_mimebundle_()["text/plain"]
    assert said.endswith(".") and len(said) > 30 and not re.search(r"0x|VBox|[0-9a-f]{16}", said)
    assert first._model_name == "VBoxModel" and first._model_module == "@jupyter-widgets/controls"


PARTS = {
    "predict": ["guess", "button", "show_me", "result"],
    "quiz": [],
    "dot_product": ["angle_a", "length_a", "angle_b", "length_b", "readout", "picture"],
    "scaling": ["d_k", "divide", "new_draw", "readout", "picture"],
    "softmax": ["factor", "shift", "readout", "picture"],
}


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_part_is_on_the_page(name):
    def within(widget):
        return [widget, *(part for child in getattr(widget, "children", ()) for part in within(child))]

    panel = EXPLORERS[name]()
    parts = [getattr(panel, part) for part in PARTS[name]]
    if name == "quiz":
        parts = [*panel.buttons.values(), *panel.explanations.values()]
    assert all(any(part is widget for widget in within(panel)) for part in parts)


# ---------------------------------------------------------------- predict


def test_nothing_is_revealed_before_a_guess():
    panel = explore.predict("How many are `True`?", 1234, explain="Because of 5678.")
    panel.guess.value = "12"  # typing is not yet a guess
    assert "1234" not in everything_said(panel) and "5678" not in everything_said(panel) and "1234" not in repr(panel)
    assert "<code>True</code>" in panel.children[0].value


@pytest.mark.parametrize("way", ["enter", "button"])
def test_a_guess_stands_beside_the_truth(way):
    panel = explore.predict("How many?", 10, explain="1 + 2 + 3 + 4")
    panel.guess.value = "12"
    press_enter(panel.guess) if way == "enter" else panel.button.click()
    assert plain(panel.result) == "Not this time. Your guess: 12 The answer: 10 off by 2 1 + 2 + 3 + 4"
    assert panel.guess.disabled and panel.button.disabled and panel.show_me.disabled


def test_the_first_guess_counts():
    panel = explore.predict("How many?", 10)
    panel.guess.value = "12"
    press_enter(panel.guess)
    panel.guess.value = "10"
    press_enter(panel.guess)
    assert "Your guess: 12" in plain(panel.result)


def test_show_me_gives_the_answer_without_a_verdict():
    panel = explore.predict("How many?", 10, explain="Count.")
    panel.show_me.click()
    assert plain(panel.result) == "The answer: 10 Count."


@pytest.mark.parametrize("text", ["", "  ", "many", "nan", "1/0", "twelve"])
def test_what_is_no_number_reveals_nothing(text):
    panel = explore.predict("How many?", 10)
    panel.guess.value = text
    panel.button.click()
    assert "a number" in plain(panel.result) and "10" not in plain(panel.result) and not panel.guess.disabled


@pytest.mark.parametrize(
    "answer, tolerance, guess, right",
    [
        (10, 0, "10", True), (10, 0, " 10.0 ", True), (10, 0, "11", False), (10, 0, "-10", False), (-1, 0, "−1", True),
        (0.25, 0, "1/4", True), (0.25, 0, "25%", True), (0.25, 0, "0.26", False),
        (0.24, 0.02, "0.26", True), (0.24, 0.02, "0.27", False),
        (0.3, 0.1, "0.2", True), (math.inf, 0, "inf", True), (-math.inf, 0, "inf", False),
        (torch.tensor(1.5), 0, "1.5", True),
        ("nan", 0, "NaN", True), ("the last row", 0, "The  last ROW", True), ("journey", 0, "starts", False),
        (True, 0, "yes", True), (True, 0, "False", False),
        ([6, 3], 0, "[6, 3]", True), ([6, 3], 0, "6 x 3", True), ((6, 3), 0, "torch.Size([6, 3])", True),
        ([6, 3], 0, "3, 6", False), ([6, 3], 0, "6", False),
    ],
)  # fmt: skip
def test_right_and_wrong_are_said_in_words(answer, tolerance, guess, right):
    panel = explore.predict("What?", answer, tolerance)
    panel.guess.value = guess
    panel.button.click()
    assert plain(panel.result).startswith("Right." if right else "Not this time.")


def test_a_near_guess_is_right_and_says_how_near():
    panel = explore.predict("What?", 0.24, tolerance=0.02)
    panel.guess.value = "0.25"
    panel.button.click()
    assert plain(panel.result) == "Right. Your guess: 0.25 The answer: 0.24 off by 0.01"


def test_what_a_reader_types_is_text():
    panel = explore.predict("What?", "a")
    panel.guess.value = "<script>x</script>"
    panel.button.click()
    assert "<script>" not in panel.result.value and "<script>x</script>" in plain(panel.result)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"question": "", "answer": 1}, "question must be a string"),
        (
            {"question": "What?", "answer": None},
            "answer must be a number, a string, a bool or a list of numbers; got None",
        ),
        ({"question": "What?", "answer": ""}, "answer must be a number"),
        ({"question": "What?", "answer": []}, "answer must be a number"),
        ({"question": "What?", "answer": 1, "tolerance": -1}, "tolerance must be a number of at least 0; got -1"),
        ({"question": "What?", "answer": 1, "tolerance": math.nan}, "tolerance must be"),
        ({"question": "What?", "answer": 1, "explain": 3}, "explain must be a string"),
    ],
)
def test_predict_refuses(given, message):
    with pytest.raises(ValueError, match=message):
        explore.predict(**given)


# ---------------------------------------------------------------- quiz

CHOICES = {"red": "Red is `hot`.", "green & blue": "Green is <cold>.", "blue": "Blue is far."}


def test_every_choice_is_explained_once_chosen_and_not_before():
    panel = explore.quiz("Which?", CHOICES, "blue")
    for choice in CHOICES:
        assert panel.explanations[choice].value == ""
    assert "far" not in everything_said(panel)
    for choice, text in (
        ("green & blue", "Not this one. Green is <cold>."),
        ("blue", "Right. Blue is far."),
        ("red", "Not this one. Red is hot ."),
    ):
        panel.buttons[choice].click()
        assert plain(panel.explanations[choice]) == text
    assert not any(button.disabled for button in panel.buttons.values())


def test_choices_are_lettered_whole_and_in_words():
    panel = explore.quiz("Which?", CHOICES, "blue")
    assert [button.description for button in panel.buttons.values()] == ["A", "B", "C"]
    assert "green &amp; blue" in everything_said(panel)
    assert "A) red B) green & blue C) blue" in repr(panel) and "far" not in repr(panel)


@pytest.mark.parametrize(
    "choices, answer, message",
    [
        ({"a": "x"}, "a", "2 to 8 choices"),
        (["a", "b"], "a", "2 to 8 choices"),
        ({"a": "x", "b": "y"}, "c", "the answer 'c' is not among the choices: 'a', 'b'"),
        ({"a": "x", "b": ""}, "a", "the explanation of 'b' must be a string with something in it"),
    ],
)
def test_quiz_refuses(choices, answer, message):
    with pytest.raises(ValueError, match=message):
        explore.quiz("Which?", choices, answer)


# ---------------------------------------------------------------- dot product


@pytest.mark.parametrize(
    "a, r, b, s",
    [(20, 1.5, 80, 1.0), (0, 1.0, 90, 2.0), (-170, 2.0, 170, 0.5), (45, 1.0, -135, 1.0), (30, 1.2, 30, 1.1)],
)
def test_dot_product_follows_its_sliders(a, r, b, s):
    panel = explore.dot_product()
    panel.angle_a.value, panel.length_a.value, panel.angle_b.value, panel.length_b.value = a, r, b, s
    one, two = (
        torch.tensor([math.cos(math.radians(t)), math.sin(math.radians(t))]).double() * n for t, n in ((a, r), (b, s))
    )
    cosine = torch.cosine_similarity(one, two, dim=0).clamp(-1, 1)
    shown = facts(panel)
    assert float(shown["dot product"]) == pytest.approx((one @ two).item(), abs=0.0051)
    assert float(shown["cosine"]) == pytest.approx(cosine.item(), abs=0.0051)
    assert float(shown["angle"].rstrip("°")) == pytest.approx(math.degrees(cosine.acos()), abs=0.01)
    x, y = (number_text(n) for n in one.tolist())
    assert f"a is ({x}, {y})" in alt(panel) and f"dot product {shown['dot product']}" in repr(panel)


def test_dot_product_says_what_the_sign_means():
    panel = explore.dot_product()
    assert "Positive" in plain(panel.readout)
    panel.angle_a.value = 170
    panel.angle_b.value = 80
    assert "right angle" in plain(panel.readout) and facts(panel)["dot product"] == "0.00"
    panel.angle_b.value = 20
    assert "Negative" in plain(panel.readout)
    panel.length_a.value = 0
    assert facts(panel) == {"dot product": "0.00", "cosine": "none", "angle": "none"}


# ---------------------------------------------------------------- scaling


def scaled_row(d_k, divide, seed, seq=6):
    rows = torch.randn(seq + 1, 1024, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    scores = torch.stack([torch.dot(rows[0, :d_k], key[:d_k]) for key in rows[1:]])
    return scores / math.sqrt(d_k) if divide else scores


@pytest.mark.parametrize("d_k", [1, 8, 128, 1024])
@pytest.mark.parametrize("divide", [False, True])
def test_scaling_shows_torchs_numbers(d_k, divide):
    panel = explore.scaling(seed=3)
    panel.d_k.value, panel.divide.value = d_k, divide
    scores = scaled_row(d_k, divide, 3)
    weights = scores.softmax(0)
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(0), scores)
    entropy = torch.distributions.Categorical(logits=scores).entropy()
    shown = facts(panel)
    assert float(shown["largest weight"]) == pytest.approx(weights.max().item(), abs=0.0051)
    assert float(shown["entropy"]) == pytest.approx(entropy.item(), abs=0.0051)
    assert float(shown["size of the gradient"]) == pytest.approx(jacobian.norm().item(), abs=0.0051)
    for i, weight in enumerate(weights):
        assert f"key {i} {number_text(weight.item())}" in alt(panel)
    assert "largest weight 0.17, entropy 1.79, size of the gradient 0.37" in plain(panel.readout)


def test_scaling_starts_saturated_and_dividing_mends_it():
    panel = explore.scaling()
    assert panel.d_k.value == 128 and panel.divide.value is False
    before = facts(panel)
    panel.divide.value = True
    after = facts(panel)
    assert float(before["largest weight"]) > 0.95 > 0.6 > float(after["largest weight"])
    assert float(before["size of the gradient"]) < 0.1 < 0.3 < float(after["size of the gradient"])


def test_a_new_draw_is_new_and_can_be_repeated():
    first, second = explore.scaling(), explore.scaling()
    start = alt(first)
    first.new_draw.click()
    second.new_draw.click()
    assert start != alt(first) == alt(second)


@pytest.mark.parametrize("seq", [1, 17, 2.0, True])
def test_scaling_refuses(seq):
    with pytest.raises(ValueError, match="seq must be a whole number from 2 to 16"):
        explore.scaling(seq)


# ---------------------------------------------------------------- softmax


@pytest.mark.parametrize("factor, shift", [(1.0, 0.0), (0.0, 3.0), (20.0, -10.0), (4.0, 2.0)])
def test_softmax_shows_torchs_numbers(factor, shift):
    panel = explore.softmax(torch.tensor(SCORES, requires_grad=True), TOKENS)
    panel.factor.value, panel.shift.value = factor, shift
    scores = torch.tensor(SCORES, dtype=torch.float64)
    weights = (scores * factor).softmax(0)  # the shift is left out: it must change nothing
    shown = facts(panel)
    assert float(shown["largest weight"]) == pytest.approx(weights.max().item(), abs=0.0051)
    assert shown["of the given scores"] == f"{scores.softmax(0).max():.2f}"
    assert shown["changed by the shift"] == "0.0000"
    for token, weight, score in zip(TOKENS, weights, scores * factor + shift):
        assert f"{token} {number_text(weight.item())}" in alt(panel).split("weights:")[1]
        assert f"{token} {number_text(score.item())}" in alt(panel).split("weights:")[0]


@pytest.mark.parametrize(
    "scores, labels, message",
    [([1.0, math.nan], ["a", "b"], r"scores\[1\] is nan"), ([1.0], ["a", "b"], "2 labels were given for 1 scores"),
     ([[1.0]], ["a"], "shape"),
     ([1.0] * 17, ["a"] * 17, "at most 16 scores")],
)  # fmt: skip
def test_softmax_refuses(scores, labels, message):
    with pytest.raises(ValueError, match=message):
        explore.softmax(scores, labels)


def test_the_picture_of_an_explorer_is_an_image_with_words():
    panel = explore.dot_product()
    assert panel.picture.value.startswith("<img ") and "data:image/png;base64," in panel.picture.value
    assert alt(panel).startswith("a · b = 0.75.")
