"""The explorer of patches, on a model that copies: what it shows, what a click tells, what it asks the kernel."""

import pytest
import torch
from torch import nn

from utils import explore

CLEAN, TWIN = "a b c d", "a b x d"
VOCAB = 50257
SURE = torch.tensor([10.0, *[0.0] * (VOCAB - 1)]).double().softmax(0)[0].item()
BOTH = torch.tensor([5.0, 5.0, *[0.0] * (VOCAB - 2)]).double().softmax(0)[0].item()


class Copier(nn.Module):
    """It continues with token 2 of the text. Its "patch" moves all of that before block 0 at position 2, half of it
    before block 1 at the last position, half of it the other way one position earlier, and nothing elsewhere."""

    def __init__(self, size=0):
        super().__init__()
        self.blocks = [None, None]
        self.weight = nn.Parameter(torch.empty(size, device="meta"))

    def forward(self, tokens):
        logits = torch.zeros(*tokens.shape, VOCAB)
        logits[0, -1, tokens[0, 2]] = 10.0
        return logits


def patch(model, clean, corrupted, layer, position):
    share = {(0, 2): 1.0, (1, 2): -0.5, (1, 3): 0.5}.get((layer, position), 0.0)
    return (1 - share) * model(clean) + share * model(corrupted)


def copying(size=0):
    return explore.patching(Copier(size), patch, CLEAN, TWIN)


def table(page):
    """The numbers of the places as they are read, by what they are called."""
    script = "all => all.map(one => [one.getAttribute('aria-label'), one.textContent])"
    found = dict(page.root.locator("table button").evaluate_all(script))
    assert all(name.startswith(f"{shown}: ") for name, shown in found.items())
    return {name.split(": ")[1]: shown for name, shown in found.items()}


def note(page):
    return page.root.locator(".note").inner_text()


def place(page, layer, position):
    return page.root.get_by_role("button", name=f"before block {layer}, position {position} ")


def probabilities(page):
    """[of the sentence's answer, of the twin's, of the best other one], as the bars' lengths have them."""
    rows = page.root.locator("svg rect").evaluate_all("all => all.map(bar => Number(bar.getAttribute('width')))")
    return [length / sum(rows) for length in rows]


def answered(widget, page):
    """Let the kernel answer what the page has asked."""
    sent = []
    widget.send = sent.append
    for message in page.sent():
        widget._handle_custom_msg(message, [])
    for message in sent:
        page.answer(message)
    return sent


def test_each_place_has_a_button_with_its_share(show_widget):
    page = show_widget(copying())
    assert table(page) == {
        f"before block {layer}, position {position} ({token})": {(0, 2): "1.0", (1, 2): "−0.5", (1, 3): "0.5"}.get(
            (layer, position), "0.0"
        )
        for layer in range(2)
        for position, token in enumerate(["a", "b", "c/x", "d"])
    }
    shares = [[answer["moved"] for answer in row] for row in page.numbers()["rows"]]
    assert shares == [pytest.approx([0, 0, 1, 0], abs=1e-5), pytest.approx([0, 0, -0.5, 0.5], abs=1e-5)]
    colours = page.root.locator("table button").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert len(set(colours)) == 4  # as much towards the twin and away from it are two colours
    assert page.sent() == []


def test_a_click_tells_the_answer_and_it_stays(show_widget):
    page = show_widget(copying())
    page.page.evaluate("() => { window.gone = true; }")
    assert "continued with ' c', its twin with ' x'" in note(page)
    place(page, 0, 2).click()
    assert f"before block 0, position 2 (c/x): ' c' 0.0%, ' x' {100 * SURE:.1f}%" in note(page)
    place(page, 1, 3).click()
    assert f"before block 1, position 3 (d): ' c' {100 * BOTH:.1f}%, ' x' {100 * BOTH:.1f}%" in note(page)
    right, wrong, _ = probabilities(page)
    assert right == pytest.approx(wrong) and right > 0.4
    assert page.state()["place"] == [1, 3]
    assert place(page, 1, 3).get_attribute("aria-pressed") == "true"
    assert page.root.locator("[aria-pressed=true]").count() == 1


def test_pointing_tells_the_answer_until_the_pointer_goes(show_widget):
    page = show_widget(copying())
    place(page, 0, 2).hover()
    assert "position 2 (c/x)" in note(page) and page.state()["place"] is None
    page.page.mouse.move(1, 1)
    assert "Choose a place" in note(page)


@pytest.mark.parametrize("width", [800, 150])
def test_the_arrow_keys_go_from_place_to_place(show_widget, width):
    """Also where the table stands the other way, as on a narrow page."""
    page = show_widget(copying(), width=width)
    assert (page.root.locator("table.tall").count() == 1) == (width == 150)
    place(page, 0, 0).focus()
    right, down = ("ArrowRight", "ArrowDown") if width == 800 else ("ArrowDown", "ArrowRight")
    for key in (right, right, right, right, down):
        page.page.keyboard.press(key)
    assert page.state()["place"] == [1, 3] and "before block 1, position 3 (d)" in note(page)
    assert page.page.evaluate("() => document.activeElement.getAttribute('aria-label')").startswith(
        "0.5: before block 1"
    )
    assert page.root.locator("table button[tabindex='0']").count() == 1


def test_where_the_streams_are_the_same_nothing_is_run(show_widget):
    run = []

    def counted(model, clean, corrupted, layer, position):
        run.append((layer, position))
        return patch(model, clean, corrupted, layer, position)

    explore.patching(Copier(), counted, CLEAN, TWIN)
    assert run == [(0, 2), (1, 2), (1, 3)]


def test_other_sentences_are_asked_of_the_kernel(show_widget):
    widget = copying()
    page = show_widget(widget)
    box, twin = (page.root.get_by_role("textbox", name=name) for name in ("sentence", "its twin"))
    box.fill("a b c d e")
    box.press("Enter")
    assert page.sent() == [{"asked": ["a b c d e", TWIN]}]
    answered(widget, page)
    assert note(page) == "Tokens: 5 in the sentence, 4 in its twin. Exchange a word for one of as many tokens."
    assert table(page) == {}
    twin.fill("a b x d e")
    twin.press("Enter")
    replies = answered(widget, page)
    assert len(table(page)) == 10 and page.state()["corrupted"] == "a b x d e"
    page.answer({**replies[-1], "asked": [CLEAN, "a b y d"], "found": {"refused": "late"}})  # of other sentences
    assert len(table(page)) == 10
    page.page.evaluate("() => { window.gone = true; }")
    for field, text in ((box, CLEAN), (twin, TWIN)):  # what was there before needs no kernel
        field.fill(text)
        field.press("Enter")
    assert len(table(page)) == 8 and "continued with ' c'" in note(page)


def test_without_a_kernel_it_says_so_calmly(show_widget):
    page = show_widget(copying())
    page.page.evaluate("() => { window.gone = true; }")
    twin = page.root.get_by_role("textbox", name="its twin")
    twin.fill("a b y d")
    twin.press("Enter")
    assert note(page) == "No answer yet. The kernel is busy, or none is running: then run this cell again."
    assert (
        table(page) == {} and page.state()["corrupted"] == TWIN
    )  # the saved notebook keeps the pair that was answered


def test_a_table_is_not_taken_for_that_of_sentences_still_typed(show_widget):
    page = show_widget(copying())
    twin = page.root.get_by_role("textbox", name="its twin")
    twin.fill("a b y d")
    assert note(page).startswith("Press Enter") and page.root.locator(".stale[inert] table").count() == 1
    twin.fill(TWIN)
    assert "continued with ' c'" in note(page) and page.root.locator("[inert]").count() == 0
    twin.fill("a b y d")
    twin.press("Enter")
    assert page.sent() == [{"asked": [CLEAN, "a b y d"]}] and page.root.locator("[inert]").count() == 0


def test_a_page_to_read_has_its_two_sentences(show_widget):
    page = show_widget(copying(), reading=True)
    for name in ("sentence", "its twin"):
        assert not page.root.get_by_role("textbox", name=name).is_editable()
    assert "On this page these two sentences; in JupyterLab any others." in page.root.inner_text()
    place(page, 0, 2).click()
    assert "position 2 (c/x)" in note(page)


def test_a_large_model_is_asked_row_by_row(show_widget):
    widget = copying(10**10)
    assert widget.state["found"] is None and repr(widget).endswith("with the twin's vector there.")
    page = show_widget(widget)
    assert page.sent() == [{"asked": [CLEAN, TWIN]}] and note(page) == "Asking the model…"
    sent = answered(widget, page)
    assert [len(message["found"]["rows"]) for message in sent] == [1, 2]
    page.answer(sent[0])
    assert len(table(page)) == 4 and page.root.locator("table .wait").count() == 4
    page.answer(sent[1])
    assert len(table(page)) == 8 and len(page.state()["found"]["rows"]) == 2


def test_a_patch_that_fails_is_told(show_widget):
    def failing(*_):
        raise RuntimeError("sizes do not match")

    widget = explore.patching(Copier(10**10), failing, CLEAN, TWIN)
    page = show_widget(widget)
    answered(widget, page)
    assert note(page) == "The exchange failed. RuntimeError: sizes do not match"


@pytest.mark.parametrize(
    "clean, twin, why",
    [
        (CLEAN, CLEAN, "The two sentences are the same"),
        (CLEAN, "x b c d", "Both sentences are continued with ' c'"),
        (" a" * 25, " b" * 25, "2 to 24 tokens"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(show_widget, clean, twin, why):
    page = show_widget(explore.patching(Copier(), patch, clean, twin))
    assert why in note(page) and "failed" in page.root.locator(".note").get_attribute("class")


def test_half_of_an_emoji_is_answered_too(show_widget):
    """A browser may send one half of a pair."""
    widget = copying()
    page = show_widget(widget)
    page.root.get_by_role("textbox", name="its twin").evaluate(
        "box => { box.value = '\\ud83d b x d'; box.dispatchEvent(new Event('change')); }"
    )
    answered(widget, page)
    assert "No answer" not in note(page) and "Asking" not in note(page)


def test_its_words_where_it_cannot_be_shown():
    assert repr(copying()).endswith("The sentence is continued with ' c', its twin with ' x'.")


def test_no_sideways_scrolling_on_a_narrow_page(show_widget):
    page = show_widget(explore.patching(Copier(), patch, "a b c d" * 5, "a b x d" + "a b c d" * 4), width=360)
    assert len(table(page)) > 30
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 360
