"""Explorers on a phone: dragging, the size of targets, and the table of patches."""

from __future__ import annotations

import pytest

from tests.explore.test_every_explorer import EXPLORERS
from tests.explore.test_where_the_answer_comes_from import Copier, note, patch
from tests.explore.widget_page import WidgetPage
from utils import explore

PHONE = {"width": 390, "height": 664}  # the part of an iPhone 13's screen that shows the page
HEADER = 56  # pixels at the top that the book's header covers
SLIDERS = ["dot_product", "scaling", "softmax", "layer_norm", "positions", "causal", "query", "volume", "regression"]
_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(scrollY))))"
_LISTEN = """() => {
    window.scrolled = new Promise(done => addEventListener('scrollend', () => done(scrollY), {once: true}));
}"""
# The height of each control, or of its label.
_HEIGHTS = """all => all.map(one => [one.ariaLabel ?? one.closest('label')?.textContent ?? one.textContent, one.type,
    (one.closest('label') ?? one).getBoundingClientRect().height])"""


@pytest.fixture(scope="module")
def phone(chromium):
    window = chromium.new_context(has_touch=True, is_mobile=True, viewport=PHONE)
    yield window
    window.close()


@pytest.fixture
def show_on_phone(phone):
    """Show a widget on a phone, in a page that is long enough to scroll."""
    pages = []

    def show(widget):
        pages.append(WidgetPage(phone, widget, width=PHONE["width"]))
        pages[-1].page.set_viewport_size(PHONE)
        pages[-1].page.evaluate("() => { document.body.style.paddingBottom = '1000px'; }")
        return pages[-1]

    yield show
    for page in pages:
        page.close()


def drag(page, x, y, across, down):
    """Drag a finger from (x, y) in eight steps. Return the position to which the page is scrolled afterwards."""
    touch = page.context.new_cdp_session(page)
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 9):
        point = {"x": x + across * step / 8, "y": y + down * step / 8}
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    return page.evaluate(_FRAMES)


@pytest.mark.parametrize("name", SLIDERS)
def test_dragging_a_slider_does_not_scroll_the_page(show_on_phone, name):
    """A finger that moves across sets the slider, and a finger that moves down scrolls the page."""
    shown = show_on_phone(EXPLORERS[name]())
    for slider in shown.root.get_by_role("slider").all():
        low, high, value = (float(slider.evaluate(f"one => one.{part}")) for part in ("min", "max", "value"))
        share = (value - low) / (high - low)
        box = slider.bounding_box()
        x, y = box["x"] + 8 + share * (box["width"] - 16), box["y"] + box["height"] / 2
        start = shown.page.evaluate("scrollY")
        assert drag(shown.page, x, y, 60 if share < 0.5 else -60, 15) == start
        moved = slider.input_value()
        assert float(moved) != value
        shown.page.evaluate(_LISTEN)
        drag(shown.page, x, y, 5, -100)
        assert shown.page.evaluate("() => window.scrolled") > start
        assert slider.input_value() == moved
        shown.page.evaluate("start => scrollTo(0, start)", start)


@pytest.mark.parametrize("name", EXPLORERS)
def test_targets_are_as_large_as_a_finger(show_on_phone, name):
    """44 pixels, and at least 24 where a larger target would push the picture off the screen."""
    shown = show_on_phone(EXPLORERS[name]())
    for label, kind, height in shown.root.locator("input, button:not(table *)").evaluate_all(_HEIGHTS):
        assert height >= (32 if kind == "range" else 44), label
    for label, _, height in shown.root.locator("table button").evaluate_all(_HEIGHTS):
        assert height >= 24, label


class FourBlocks(Copier):
    """A model with the blocks of the small GPT-2."""

    def __init__(self):
        super().__init__()
        self.blocks = [None] * 4


def test_the_table_of_patches_and_its_verdict_fit_on_a_phone(show_on_phone):
    """A finger can choose each place, and sees the verdict without scrolling."""
    sentences = ["a b c d e f g h i j k l m n", "a b x d e f g h i j k l m n"]  # as long as those of lesson 13
    shown = show_on_phone(explore.patching(FourBlocks(), patch, *sentences))
    buttons = shown.root.locator("table button")
    assert buttons.count() == 4 * 14
    top = shown.root.locator(".note").first.bounding_box()["y"]
    shown.page.evaluate("top => scrollTo(0, top)", top - HEADER)
    places = buttons.evaluate_all(_PLACES_ON_SCREEN)
    assert max(bottom for _, _, bottom in places) <= PHONE["height"]
    assert min(width for _, width, _ in places) >= 44
    verdicts = set()
    for button in buttons.all():
        button.tap()
        assert button.get_attribute("aria-pressed") == "true"
        verdicts.add(note(shown))
    assert len(verdicts) == 4 * 14
    assert buttons.evaluate_all(_PLACES_ON_SCREEN) == places


_PLACES_ON_SCREEN = """all => all.map(one => one.getBoundingClientRect()).map(at => [at.x, at.width, at.bottom])"""
