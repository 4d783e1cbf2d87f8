"""Rules for every explorer: it is a widget, a sentence in a terminal, and it rejects arguments that it cannot show.

In a page, it is readable in both themes, fits any width and works with the keyboard alone.
"""

import json
import math
import re
import warnings
from types import SimpleNamespace

import pytest
import torch

from solutions import abc_sorter, toy_transformer
from tests.browser import axe
from tests.browser.contrast import faint
from tests.explore.test_where_the_answer_comes_from import Copier, copying
from tests.show.figure_checks import TOKENS
from utils import explore
from utils.gpt2 import load_tokenizer
from utils.learning.forms import load_form
from utils.learning.inventory import Sitting
from utils.models.abc_sorter import Sorter
from utils.models.toy_transformer import CharTokenizer, load_cogmodel
from utils.show.widget import make_widget, read_shared
from utils.training import training_display

SCORES = [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]
TABLE = torch.randn(6, 6, generator=torch.Generator().manual_seed(3)) * 2


def flat(ids):
    """A model that gives all tokens the same logit."""
    return SimpleNamespace(logits=torch.zeros(1, ids.shape[1], 50257))


def sorter():
    torch.manual_seed(1)
    return explore.sorter(Sorter(abc_sorter.DeepQKVAttention(6, 2, 7)), "bca")


def writer(prompt="strawberry upper"):
    return explore.writer(load_cogmodel(build=toy_transformer.CogModel)[0], CharTokenizer(), prompt)


def predict():
    return explore.predict("How many `rows` has it?", 10, explain="Each token has `one`.")


def quiz():
    return explore.quiz("Which `one`?", {"a `row`": "No: `dim=0`.", "b": "Yes."}, "b")


EXPLORERS = {  # how to create each explorer
    "predict": predict,
    "quiz": quiz,
    "dot_product": explore.dot_product,
    "scaling": explore.scaling,
    "softmax": lambda: explore.softmax(SCORES, TOKENS),
    "layer_norm": explore.layer_norm,
    "positions": explore.positions,
    "causal": lambda: explore.causal(TABLE, TOKENS),
    "query": explore.query,
    "volume": explore.volume,
    "tokens": lambda: explore.tokens(load_tokenizer()),
    "next_token": lambda: explore.next_token(flat, load_tokenizer(), " a b"),
    "sentence": explore.sentence,
    "regression": explore.regression,
    "sorter": sorter,
    "writer": writer,
    "patching": copying,
    "inventory": lambda: Sitting(1).widget,
}


def test_none_is_left_out():
    missing = set(explore.__all__) - {"my_sentence"} - set(EXPLORERS)  # my_sentence returns a string
    assert not missing, f"add these to EXPLORERS, here and in tests/browser/widgets.py: {missing}"
    assert set(EXPLORERS) - {"inventory"} <= set(explore.__all__)  # `progress().inventory()` shows the inventory


@pytest.mark.parametrize("name", EXPLORERS)
def test_an_explorer_is_a_widget_and_a_sentence(name, snapshot):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = EXPLORERS[name](), EXPLORERS[name]()
    bundle = first._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == first.model_id
    text = data["text/plain"]
    assert text == repr(first) == repr(second) and text.endswith(".")
    assert len(text) > 30 and not re.search(r"0x|VBox|[0-9a-f]{16}", text)
    assert text == snapshot


REJECTED = {
    "many": (lambda: explore.softmax([1.0] * 17, ["a"] * 17), "16 .*17"),
    "tokenizer": (lambda: explore.tokens("gpt2"), "tokenizer .* str"),
    "tokenizer of a model": (lambda: explore.next_token(flat, "gpt2", " a"), "tokenizer .* str"),
    "prompt": (lambda: explore.next_token(flat, load_tokenizer(), 3), "prompt .* 3"),
    "seed": (lambda: explore.next_token(flat, load_tokenizer(), " a", seed=0.5), "seed .* 0.5"),
    "no model": (lambda: explore.next_token(None, load_tokenizer(), " a"), "model .* NoneType"),
    "logits": (lambda: explore.next_token(lambda ids: ids, load_tokenizer(), " a"), r"vocab.* \[1, 1\]"),
    "model of another kind": (lambda: explore.patching(torch.nn.Linear(2, 2), len, "a", "b"), "blocks.* Linear"),
    "no function": (lambda: explore.patching(SimpleNamespace(blocks=[]), len, "a", "b"), "blocks"),
    "patch": (lambda: explore.patching(Copier(0), None, "a", "b"), "patch .* None"),
    "text": (lambda: explore.tokens(load_tokenizer(), None), "text .* None"),
}
REJECTED_BY_SHOW = {  # the messages of utils.show.arguments, whose tests have the snapshots
    "seq of 1": (lambda: explore.scaling(1), "seq .*2 to 16"),
    "seq of 17": (lambda: explore.scaling(17), "seq .*2 to 16"),
    "seq of 2.0": (lambda: explore.scaling(2.0), "seq .*2 to 16"),
    "seq of True": (lambda: explore.scaling(True), "seq .*2 to 16"),
    "nan": (lambda: explore.softmax([1.0, math.nan], ["a", "b"]), r"scores\[1\].* nan"),
    "labels": (lambda: explore.softmax([1.0], ["a", "b"]), "2 labels .*1 scores"),
    "shape": (lambda: explore.softmax([[1.0]], ["a"]), "shape"),
    "position": (lambda: explore.causal(TABLE, TOKENS, position="journey"), "position .*0 to 5.*'journey'"),
    "five tokens": (lambda: explore.causal(TABLE, TOKENS[:5]), "5 tokens"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_explorers_reject(case, snapshot):
    make, pattern = REJECTED[case]
    with pytest.raises(ValueError, match=pattern) as error:
        make()
    assert str(error.value) == snapshot


@pytest.mark.parametrize("case", REJECTED_BY_SHOW)
def test_explorers_reject_arguments_like_the_figures(case):
    make, pattern = REJECTED_BY_SHOW[case]
    with pytest.raises(ValueError, match=pattern):
        make()


# ---------------------------------------------------------------- in a page


def training(done, running=True):
    lines = [[1, " xx"], [done, " MINEcraft."]]
    losses = [[step, 4 / step] for step in range(1, done + 1)]
    start = {
        "steps": 40,
        "title": "training",
        "first": 0,
        "prompt": "minecraft upper",
        "right": "MINECRAFT.",
        "lines": 5,
    }
    state = {"done": done, "loss": 0.1, "losses": losses, "lines": lines, "running": running}
    return make_widget(training_display.__file__, "Training.", start, state)


def write(text):
    def act(page):
        box = page.root.locator("input[type=text]").first
        box.fill(text)
        box.press("Enter")

    return act


def press(name):
    return lambda page: page.root.get_by_role("button", name=name).click()


def both(page):
    for n in range(2):
        page.root.locator("button.choice").nth(n).click()


def go_to(panel):
    """Skip the questions of the inventory until the panel with this name is shown."""

    def act(page):
        press("Begin")(page)
        while not page.root.get_by_role("group", name=panel, exact=True).count():
            press("Skip")(page)

    return act


def result_of(sitting):
    """The last panel of the inventory, with half of the answers right."""
    widget = Sitting(sitting).widget
    concepts = [[item.concept, n % 2 == 0] for n, item in enumerate(load_form("b"))] if sitting > 1 else []
    result = {"score": 6, "n": 12, "concepts": concepts, "saved": True}
    widget.state = {**widget.state, "place": "result", "result": result}
    return widget


def put(name, value):
    return lambda page: page.set_control(name, value)


def rests(page):
    """Leave the page as it is."""


# Pages to inspect, initially and after an action: {name: (how to create it, action)}.
SEEN = {name: (make, rests) for name, make in EXPLORERS.items()} | {
    "predict, right": (predict, write("10")),
    "predict, wrong": (predict, write("12")),
    "predict, unread": (predict, write("ten")),
    "predict, shown": (predict, press("Show me")),
    "quiz, answered": (quiz, both),
    "causal, masked": (EXPLORERS["causal"], put("mask", True)),
    "dot_product, flat": (explore.dot_product, put("length_a", 0)),
    "inventory, question": (EXPLORERS["inventory"], press("Begin")),
    "inventory, code": (EXPLORERS["inventory"], go_to("Question 3 of 12")),
    "inventory, before the end": (EXPLORERS["inventory"], go_to("Before you finish")),
    "inventory, result": (lambda: result_of(1), rests),
    "inventory, concepts": (lambda: result_of(2), rests),
    "next_token, drawn": (EXPLORERS["next_token"], press("Sample")),
    "patching, chosen": (copying, press("before block 0, position 2 ")),
    "sentence, asked": (explore.sentence, write("a cat and a dog")),
    "sorter, a head off": (sorter, put("head_0", False)),
    "sorter, half typed": (sorter, put("letters", "ca")),
    "training, begun": (lambda: training(4), rests),
    "training, stopped": (lambda: training(20, running=False), rests),
    "writer, wrong": (lambda: writer("Minecraft echo"), rests),
    "writer, refused": (writer, put("prompt", "a1")),
}
_TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
_OUTSIDE = """roots => roots.flatMap(root => {
    const edge = root.getBoundingClientRect();
    return [...root.querySelectorAll('*')].filter(part => part.checkVisibility() && !part.closest('.unseen'))
        .map(part => [part, part.getBoundingClientRect()])
        .filter(([part, at]) => at.right > edge.right + 1 || at.left < edge.left - 1)
        .map(([part]) => `${part.tagName} ${part.textContent.slice(0, 40)}`);
})"""


def wear(page, theme):
    """Change the page's background, and wait until the widget follows."""
    page.page.evaluate(
        "colour => { document.body.style.background = colour; }", {"light": "#fff", "dark": "#111417"}[theme]
    )
    page.page.wait_for_selector(f".coginst[data-theme={theme}]")


# All pairs of texts or controls that overlap, and all controls and texts that their box cuts off.
_LOST = """root => {
    const seen = one => one.checkVisibility({visibilityProperty: true}) && !one.closest('.unseen, desc, title');
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), range = document.createRange(), parts = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (!node.data.trim() || !seen(node.parentElement)) continue;
        range.selectNodeContents(node);
        for (const at of range.getClientRects()) parts.push([node.data.trim(), node.parentElement, at]);
    }
    for (const one of root.querySelectorAll('input, button, textarea'))
        if (seen(one)) parts.push([one.ariaLabel ?? one.textContent, one, one.getBoundingClientRect()]);
    const overlap = ([, a, p], [, b, q]) => !a.contains(b) && !b.contains(a)
        && Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2
        && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3;
    const pairs = parts.flatMap((one, i) => parts.slice(i + 1).filter(other => overlap(one, other))
        .map(other => `${one[0]} overlaps ${other[0]}`));
    const cut = [...root.querySelectorAll(':not(svg *, input, .unseen)')]
        .filter(one => seen(one) && getComputedStyle(one).overflowX !== 'visible')
        .filter(one => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1);
    return [...pairs, ...cut.map(one => `${one.tagName} ${one.textContent} is cut off`)];
}"""


@pytest.mark.parametrize("name", SEEN)
def test_it_is_readable_in_both_themes_and_at_every_zoom(show_widget, name):
    """axe finds nothing, every text has a contrast of 4.5, and nothing crosses the edge, overlaps or is cut off.

    A window of 1280 × 720 or 1600 × 900 pixels has half of them at 200 % zoom; 320 pixels are 400 % zoom.
    """
    make, act = SEEN[name]
    page = show_widget(make())
    act(page)
    for width, themes in ((800, ("light", "dark")), (320, ("dark", "light"))):
        page.page.set_viewport_size({"width": width, "height": 1200})
        page.page.evaluate(_TWO_FRAMES)
        for theme in themes:
            wear(page, theme)
            assert faint(page.root) + page.root.evaluate_all(_OUTSIDE) == [], (width, theme)
        # In the last theme, which differs between the widths:
        assert axe.violations(page.page, "#here") == [], (width, theme)
        assert page.page.evaluate("() => document.documentElement.scrollWidth") <= width
    for width, height in ((640, 360), (800, 450), (320, 568)):
        page.page.set_viewport_size({"width": width, "height": height})
        page.page.evaluate(_TWO_FRAMES)
        assert page.root.evaluate(_LOST) + page.root.evaluate_all(_OUTSIDE) == [], width


@pytest.mark.parametrize("name", EXPLORERS)
def test_what_a_screen_reader_reads(show_widget, name, snapshot):
    """The snapshots contain the role, the name and the value of each control, and the description of each picture."""
    page = show_widget(EXPLORERS[name]())
    controls = page.root.locator("input, button, textarea")
    assert page.page.locator("main").aria_snapshot() == snapshot
    sizes = controls.evaluate_all(
        "all => all.map(one => (one.closest('label') ?? one).getBoundingClientRect()).map(at => [at.width, at.height])"
    )
    assert min(map(min, sizes)) >= 24  # pixels, as WCAG 2.2 requires


def test_a_screen_reader_tells_explorers_apart(show_widget):
    names = [
        show_widget(make()).root.get_attribute("aria-label") for make in (*EXPLORERS.values(), lambda: training(4))
    ]
    assert None not in names and len(set(names)) == len(names) and "Explorer" not in names


_HEARD = """root => {
    const status = root.querySelector('[role=status]');
    window.heard = [];
    new MutationObserver(() => window.heard.push(status.textContent)).observe(status, {childList: true, subtree: true});
}"""
STEPS = {  # how to make several steps with one control of each kind
    "dot_product": ("slider", ["ArrowRight", "ArrowRight", "ArrowLeft"]),
    "query": ("slider", ["ArrowRight", "ArrowRight", "ArrowLeft"]),
    "causal": ("checkbox", ["Space", "Space", "Space"]),
    "tokens": ("textbox", ["a", "b", "c"]),
    "writer": ("textbox", ["End", "Backspace", "Backspace"]),
    "patching": ("button", ["ArrowRight", "ArrowRight", "ArrowDown"]),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_pause_is_announced_and_not_each_step(show_widget, name):
    page = show_widget(EXPLORERS[name]())
    page.page.clock.install()
    page.root.evaluate(_HEARD)
    role, keys = STEPS[name]
    page.root.get_by_role(role).first.focus()
    for key in keys:
        page.page.keyboard.press(key)
    assert page.page.evaluate("heard") == []
    page.page.clock.run_for(10_000)
    (heard,) = page.page.evaluate("heard")
    visible = page.root.locator(".remark, .note").first.inner_text()
    assert visible.splitlines()[-1] in heard and len(visible) > 20


# Sequences of moves during which no line may appear or disappear.
MOVES = {
    "causal": [{"position": at, "mask": mask} for at in range(6) for mask in (False, True)],
    "dot_product": [{"length_a": 0}, {"length_a": 1, "angle_b": 110}, {"angle_b": -160}],
    "query": [{"x": x, "y": y} for x in (-3, 0, 3) for y in (-3, 0, 3)] + [{"scaled": False}, {"asks": 0}],
    "regression": [{"w": 0.05, "mu": 10}, {"w": 0.6, "mu": 1}, {"mu": 11}],
    "writer": [{"prompt": "strawberry upper"[:end]} for end in range(0, 16, 3)]
    + [{"prompt": "a1"}, {"prompt": "a" * 29}],
}
_STANDS = """root => [root, ...root.querySelectorAll('svg, svg text.title')].map(one => {
    const at = one.getBoundingClientRect();
    return [at.top, one.tagName === 'text' ? 0 : at.height];
})"""


@pytest.mark.parametrize("name", MOVES)
def test_nothing_jumps_while_a_control_is_moved(show_widget, name):
    page = show_widget(EXPLORERS[name]())
    for width in (360, 800):
        page.page.set_viewport_size({"width": width, "height": 900})
        page.page.evaluate(_TWO_FRAMES)
        before = page.root.evaluate(_STANDS)
        for move in MOVES[name]:
            for control, value in move.items():
                page.set_control(control, value)
            assert page.root.evaluate(_STANDS)[:2] == before[:2], (width, move)


# All controls with their place on the page: what a pointer or the keyboard may be about to use.
_PLACES_OF_CONTROLS = """root => Object.fromEntries(
    [...root.querySelectorAll('input, button, textarea, .draggable')].map((one, i) => {
        const {x, y, width, height} = one.getBoundingClientRect();
        one.dataset.place ??= `${i} ${one.ariaLabel ?? one.textContent}`;
        return [one.dataset.place, [x + scrollX, y + scrollY, width, height].map(Math.round)];
    }))"""


# The buttons of the inventory lead to another panel; test_inventory.py tests that they do not move.
@pytest.mark.parametrize("name", sorted(EXPLORERS.keys() - {"inventory"}))
def test_nothing_moves_under_the_pointer(show_widget, name):
    """No control moves while the pointer is over a control, and none moves when it is clicked."""
    page = show_widget(EXPLORERS[name]())
    for width in (360, 700, 1100):
        page.page.mouse.move(0, 0)
        page.page.set_viewport_size({"width": width, "height": 900})
        page.page.evaluate(_TWO_FRAMES)
        before = page.root.evaluate(_PLACES_OF_CONTROLS)
        for control, (x, y, across, down) in before.items():
            page.page.evaluate("y => scrollTo(0, y - 300)", y)
            x, y = x + across / 2, y + down / 2 - page.page.evaluate("() => scrollY")
            page.page.mouse.move(x, y)
            page.page.evaluate(_TWO_FRAMES)
            assert page.root.evaluate(_PLACES_OF_CONTROLS) == before, (width, control)
            if not page.page.evaluate("([x, y]) => document.elementFromPoint(x, y).closest('.draggable')", [x, y]):
                page.page.mouse.click(x, y)
                page.page.evaluate(_TWO_FRAMES)
                after = page.root.evaluate(_PLACES_OF_CONTROLS)
                assert after.get(control) == before[control], (width, control)
                before = after


# The left edges of texts, or of elements without text.
_LEFT = """all => [...new Set(all.map(one => {
    const range = document.createRange();
    range.selectNode(one.firstChild ?? one);
    return range.getBoundingClientRect().left;
}))]"""


def test_sliders_begin_at_the_left_edge_and_below_each_other(show_widget):
    for name in ("causal", "volume"):
        page = show_widget(EXPLORERS[name](), width=360)
        edge = page.root.bounding_box()["x"]
        assert edge > page.page.locator("#here").bounding_box()["x"]  # in JupyterLab, the bar of the cell is there
        assert page.root.locator(".slider span").evaluate_all(_LEFT) == [edge]
        assert len(page.root.locator(".slider input").evaluate_all(_LEFT)) == 1


# ---------------------------------------------------------------- a notebook that was saved

_PICTURE = """root => [...[...root.querySelectorAll('.facts, .remark, svg')].map(one => one.outerHTML),
    ...[...root.querySelectorAll('input')].map(one => [one.value, one.checked])]"""


@pytest.mark.parametrize(
    "name, moved", [("sorter", {"letters": "acb", "head_1": False}), ("writer", {"prompt": "minecraft upper"})]
)
def test_a_model_in_a_page_lives_on_in_a_saved_notebook(show_widget, name, moved):
    """Without a kernel, the page has only the state that Jupyter saved, with its keys in another order."""
    widget = EXPLORERS[name]()
    page = show_widget(widget)
    for control, value in moved.items():
        page.set_control(control, value)
    assert page.state() == moved | dict.fromkeys(page.state().keys() - moved.keys(), True)
    traits = json.dumps({"start": widget.start, "state": page.state()}, sort_keys=True)
    kept = SimpleNamespace(**json.loads(traits), data=bytes(widget.data), _esm=widget._esm, _css=widget._css)
    again = show_widget(kept)
    again.page.evaluate("() => { window.gone = true; }")
    assert again.root.evaluate(_PICTURE) == page.root.evaluate(_PICTURE) and again.numbers() == page.numbers()
    control, text, answer = {
        "sorter": ("letters", "bbc", "bbc"),
        "writer": ("prompt", "journal echo", "journal echo journal."),
    }[name]
    again.set_control(control, text)
    assert answer in again.remark()


# Number all controls; the controls of a group share one place in the order of Tab.
_CONTROLS = """() => {
    const all = [...document.querySelectorAll('.coginst :is(input, button, textarea, select, [tabindex])')];
    all.forEach((one, i) => { one.dataset.number = i; });
    return all.map(one => ({kind: one.type ?? 'other', grouped: Boolean(one.name || one.closest('table'))}));
}"""
_AT = "() => Number(document.activeElement.dataset.number ?? -1)"
_OUTLINE = "() => getComputedStyle(document.activeElement).outline"
_DEAD = "() => document.activeElement.getAttribute('aria-disabled') === 'true'"
_LOOKS = """() => JSON.stringify([document.querySelector('.coginst').innerHTML,
    ...[...document.querySelectorAll('.coginst :is(input, textarea)')].map(one => [one.value, one.checked])])"""
KEYS = {
    "range": ["ArrowLeft", "ArrowRight"],
    "checkbox": ["Space"],
    "text": ["7"],
    "textarea": ["7"],
    "radio": ["ArrowDown"],
}


def answers(page, kind):
    """Press the control's keys until the page changes; it must change at once and without animation."""
    if kind == "text":
        page.page.keyboard.press("End")
    for key in KEYS.get(kind, ["Enter"]):
        before = page.page.evaluate(_LOOKS)
        page.page.keyboard.press(key)
        after = page.page.evaluate(_LOOKS)
        assert page.page.evaluate("() => document.getAnimations().length") == 0
        page.page.evaluate(_TWO_FRAMES)
        assert page.page.evaluate(_LOOKS) == after
        if after != before:
            if kind == "text":
                page.page.keyboard.press("Backspace")  # some results are shown only for the original text
            return True
    return False


def of_group(page, most):
    """Return the numbers of the controls that the arrow keys reach, row by row."""
    reached = {page.page.evaluate(_AT)}
    for key in 2 * (["ArrowRight"] * most + ["ArrowDown"] + ["ArrowLeft"] * most + ["ArrowDown"]):
        page.page.keyboard.press(key)
        reached.add(page.page.evaluate(_AT))
    return reached


@pytest.mark.parametrize("name", EXPLORERS)
def test_keys_alone_reach_and_use_it(show_widget, name):
    """Tab reaches every control, or one control of a group from which arrow keys reach the others.

    Each control reacts to its keys, and nothing is animated with reduced motion.
    """
    page = show_widget(EXPLORERS[name]())
    page.page.emulate_media(reduced_motion="reduce")
    controls = page.page.evaluate(_CONTROLS)
    reached = set()
    for _ in controls:
        page.page.keyboard.press("Tab")
        number = page.page.evaluate(_AT)
        if number < 0:
            break
        reached.add(number)
        assert page.page.evaluate(_OUTLINE) == "rgb(9, 105, 218) solid 2px"  # the focus is visible
        assert answers(page, controls[number]["kind"]) or page.page.evaluate(_DEAD), controls[number]
        if controls[number]["grouped"]:
            reached |= of_group(page, len(controls))
    assert reached == set(range(len(controls)))
    page.assert_no_errors()


_STATE = "() => ({...document.querySelector('.coginst').coginst.state})"
_PLACES = "() => [...document.querySelectorAll('.coginst input[type=range]')].map(one => one.ariaValueText)"


@pytest.mark.parametrize("name, handles", [("dot_product", 2), ("query", 1), ("volume", 1), ("regression", 1)])
def test_every_handle_has_sliders(show_widget, name, handles):
    """A slider sets every value that a handle sets, for learners who cannot drag."""
    page = show_widget(EXPLORERS[name]())
    assert page.root.locator(".draggable").count() == handles
    for n in range(handles):
        before, places = page.page.evaluate(_STATE), page.page.evaluate(_PLACES)
        at = page.root.locator(".draggable").nth(n).bounding_box()
        x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
        page.page.mouse.move(x, y)
        page.page.mouse.down()
        page.page.mouse.move(x + 24, y + 15, steps=3)
        page.page.mouse.up()
        dragged = [key for key, value in page.page.evaluate(_STATE).items() if value != before[key]]
        moved = [new for old, new in zip(places, page.page.evaluate(_PLACES)) if new != old]
        assert len(dragged) == len(moved) >= 1


def test_numbers_are_readable_on_every_colour_of_a_table(show_widget):
    page = show_widget(sorter())
    shares = [i / 200 for i in range(201)]
    pairs = page.page.evaluate("all => all.map(t => [module.viridis(t), module.onViridis(t)])", shares)
    contrast = [
        contrast_ratio([int(x) for x in re.findall(r"\d+", colour)], [255 * (ink == "#ffffff")] * 3)
        for colour, ink in pairs
    ]
    assert min(contrast) > 4.5


def test_the_outline_of_the_focus_has_a_contrast_of_3():
    style = read_shared("page.css")
    controls, papers = (re.findall(rf"--{name}: #(\w{{6}})", style) for name in ("control", "paper"))
    pairs = [[list(bytes.fromhex(colour)) for colour in pair] for pair in zip(controls, papers, strict=True)]
    assert len(pairs) == 2 and min(contrast_ratio(*pair) for pair in pairs) > 3


def contrast_ratio(*colours):
    """Return the contrast of two colours, as WCAG defines it."""
    linear = lambda x: x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4
    dark, bright = sorted(
        sum(share * linear(x / 255) for share, x in zip((0.2126, 0.7152, 0.0722), colour)) for colour in colours
    )
    return (bright + 0.05) / (dark + 0.05)
