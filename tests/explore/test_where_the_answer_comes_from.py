"""The explorer of activation patching on a model that copies: what it shows, and what it asks the kernel."""

import pytest
import torch
from playwright.sync_api import expect
from torch import nn

from utils import explore

CLEAN, TWIN = "a b c d", "a b x d"
VOCAB = 50257
SURE = torch.tensor([10.0, *[0.0] * (VOCAB - 1)]).double().softmax(0)[0].item()
BOTH = torch.tensor([5.0, 5.0, *[0.0] * (VOCAB - 2)]).double().softmax(0)[0].item()


class Copier(nn.Module):
    """A model that continues a text with its token 2.

    Its patch moves the whole answer before block 0 at position 2, half of it before block 1 at the last position, and
    minus half of it one position earlier; it moves nothing elsewhere.
    """

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
    """Return the numbers of the table by the names of their buttons."""
    script = "all => all.map(one => [one.getAttribute('aria-label'), one.textContent])"
    numbers = dict(page.root.locator("table button").evaluate_all(script))
    assert all(name.startswith(f"{shown}: ") for name, shown in numbers.items())
    return {name.split(": ")[1]: shown for name, shown in numbers.items()}


def note(page):
    return page.root.locator(".note:not(.room)").inner_text().replace("\u00a0", " ")


def place(page, layer, position):
    return page.root.get_by_role("button", name=f"before block {layer}, position {position} ")


def probabilities(page):
    """Return the probabilities of the two answers and of the best other one, measured from the lengths of the bars."""
    rows = page.root.locator("svg rect").evaluate_all("all => all.map(bar => Number(bar.getAttribute('width')))")
    return [length / sum(rows) for length in rows]


def answered(widget, page):
    """Let the kernel answer the page's questions."""
    sent = []
    widget.send = sent.append
    for message in page.sent_messages():
        widget._handle_custom_msg(message, [])
    for message in sent:
        page.reply_from_kernel(message)
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
    assert len(set(colours)) == 4  # moves towards the twin and away from it have different colours
    assert page.sent_messages() == []


def test_a_click_shows_the_answer_and_it_stays(show_widget, snapshot):
    page = show_widget(copying())
    page.page.evaluate("() => { window.gone = true; }")
    assert note(page) == snapshot(name="no place")
    assert (
        "'\u00a0c'" in page.root.locator(".note").first.inner_text()
    )  # no line breaks between the quote and its token
    place(page, 0, 2).click()
    assert note(page) == snapshot(name="a place")
    assert f"before block 0, position 2 (c/x): ' c' 0.0%, ' x' {100 * SURE:.1f}%" in note(page)
    place(page, 1, 3).click()
    assert f"before block 1, position 3 (d): ' c' {100 * BOTH:.1f}%, ' x' {100 * BOTH:.1f}%" in note(page)
    right, wrong, _ = probabilities(page)
    assert right == pytest.approx(wrong) and right > 0.4
    assert page.state()["place"] == [1, 3]
    assert place(page, 1, 3).get_attribute("aria-pressed") == "true"
    assert page.root.locator("[aria-pressed=true]").count() == 1


def test_pointing_shows_the_answer_until_the_pointer_leaves(show_widget):
    page = show_widget(copying())
    before = note(page)
    place(page, 0, 2).hover()
    assert "position 2 (c/x)" in note(page) and page.state()["place"] is None
    page.page.mouse.move(1, 1)
    assert note(page) == before


@pytest.mark.parametrize("width", [800, 150])
def test_the_arrow_keys_go_from_place_to_place(show_widget, width):
    """A narrow page exchanges the rows and columns of the table."""
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


def test_the_table_follows_the_width_of_the_page_and_keeps_the_focus(show_widget):
    page = show_widget(copying())
    place(page, 1, 2).click()
    for width, is_tall in ((150, 1), (800, 0)):
        page.page.set_viewport_size({"width": width, "height": 900})
        expect(page.root.locator("table.tall")).to_have_count(is_tall)
        expect(place(page, 1, 2)).to_be_focused()


def test_places_where_the_streams_are_equal_are_not_computed(show_widget):
    computed = []

    def counted(model, clean, corrupted, layer, position):
        computed.append((layer, position))
        return patch(model, clean, corrupted, layer, position)

    explore.patching(Copier(), counted, CLEAN, TWIN)
    assert computed == [(0, 2), (1, 2), (1, 3)]


def test_the_kernel_answers_for_other_sentences(show_widget, snapshot):
    widget = copying()
    page = show_widget(widget)
    box, twin = (page.root.get_by_role("textbox", name=name) for name in ("sentence", "its twin"))
    box.fill("a b c d e")
    box.press("Enter")
    assert page.sent_messages() == [{"asked": ["a b c d e", TWIN]}]
    answered(widget, page)
    assert note(page) == snapshot(name="other lengths")
    assert table(page) == {}
    twin.fill("a b x d e")
    twin.press("Enter")
    replies = answered(widget, page)
    assert len(table(page)) == 10 and page.state()["corrupted"] == "a b x d e"
    page.reply_from_kernel(
        {**replies[-1], "asked": [CLEAN, "a b y d"], "found": {"refused": "late"}}
    )  # for other sentences
    assert len(table(page)) == 10
    page.page.evaluate("() => { window.gone = true; }")
    for field, text in ((box, CLEAN), (twin, TWIN)):  # earlier sentences need no kernel
        field.fill(text)
        field.press("Enter")
    assert len(table(page)) == 8 and "' c'" in note(page)


def test_without_a_kernel_it_says_so(show_widget, snapshot):
    page = show_widget(copying())
    page.page.evaluate("() => { window.gone = true; }")
    twin = page.root.get_by_role("textbox", name="its twin")
    twin.fill("a b y d")
    twin.press("Enter")
    assert note(page) == snapshot
    assert (
        table(page) == {} and page.state()["corrupted"] == TWIN
    )  # the saved notebook keeps the pair that was answered


def test_the_table_is_dimmed_while_other_sentences_are_typed(show_widget, snapshot):
    page = show_widget(copying())
    twin = page.root.get_by_role("textbox", name="its twin")
    twin.fill("a b y d")
    assert note(page) == snapshot and page.root.locator(".stale[inert] table").count() == 1
    twin.fill(TWIN)
    assert "' c'" in note(page) and page.root.locator("[inert]").count() == 0
    twin.fill("a b y d")
    twin.press("Enter")
    assert page.sent_messages() == [{"asked": [CLEAN, "a b y d"]}] and page.root.locator("[inert]").count() == 0


def test_a_page_of_the_book_has_its_two_sentences(show_widget, snapshot):
    page = show_widget(copying(), reading=True)
    for name in ("sentence", "its twin"):
        assert not page.root.get_by_role("textbox", name=name).is_editable()
    assert page.root.locator(".legend").first.inner_text() == snapshot
    place(page, 0, 2).click()
    assert "position 2 (c/x)" in note(page)


def test_a_large_model_is_computed_row_by_row(show_widget, snapshot):
    widget = copying(10**10)
    assert widget.state["found"] is None and repr(widget) == snapshot(name="terminal")
    page = show_widget(widget)
    assert page.sent_messages() == [{"asked": [CLEAN, TWIN]}] and note(page) == snapshot(name="page")
    sent = answered(widget, page)
    assert [len(message["found"]["rows"]) for message in sent] == [1, 2]
    page.reply_from_kernel(sent[0])
    assert len(table(page)) == 4 and page.root.locator("table .wait").count() == 4
    page.reply_from_kernel(sent[1])
    assert len(table(page)) == 8 and len(page.state()["found"]["rows"]) == 2


def test_the_error_of_a_patch_is_shown(show_widget, snapshot):
    def failing(*_):
        raise RuntimeError("sizes do not match")

    widget = explore.patching(Copier(10**10), failing, CLEAN, TWIN)
    page = show_widget(widget)
    answered(widget, page)
    assert note(page) == snapshot


@pytest.mark.parametrize(
    "clean, twin",
    [
        pytest.param(CLEAN, CLEAN, id="same sentence"),
        pytest.param(CLEAN, "x b c d", id="same answer"),
        pytest.param(" a" * 25, " b" * 25, id="too long"),
    ],
)
def test_sentences_that_cannot_be_compared_are_rejected(show_widget, clean, twin, snapshot):
    page = show_widget(explore.patching(Copier(), patch, clean, twin))
    assert note(page) == snapshot and "failed" in page.root.locator(".note:not(.room)").get_attribute("class")


def test_half_of_an_emoji_is_answered_too(show_widget):
    """A browser may send half of a surrogate pair."""
    widget = copying()
    page = show_widget(widget)
    page.root.get_by_role("textbox", name="its twin").evaluate(
        "box => { box.value = '\\ud83d b x d'; box.dispatchEvent(new Event('change')); }"
    )
    assert answered(widget, page)
    assert table(page) or "failed" in page.root.locator(".note:not(.room)").get_attribute("class")


def test_in_a_terminal_it_is_a_text(snapshot):
    assert repr(copying()) == snapshot


def test_no_sideways_scrolling_on_a_narrow_page(show_widget):
    page = show_widget(explore.patching(Copier(), patch, "a b c d" * 5, "a b x d" + "a b c d" * 4), width=360)
    assert len(table(page)) > 30
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 360
