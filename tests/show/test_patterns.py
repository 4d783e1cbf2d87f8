"""Check attention figures: the small tables, the safety of the script, and that the library is included once."""

import base64
import gzip
import html
import itertools
import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from tests.explore.widget_page import open_tab, open_window
from tests.show.figure_checks import artist_box, assert_not_clipped, awkward_texts, random_patterns, text_strings
from utils import show
from utils.show import circuitsvis
from utils.show.circuitsvis import MISSING, TRUST, UNSUPPORTED, WORDS, LibraryTracker, adapt_library, compressed_library

TOKENS = ["<|endoftext|>", "When", " Mary", " and"]


def page(picture):
    return picture._repr_mimebundle_()["text/html"]


def props(text):
    return json.loads(re.search(r"const props = (.*);\n", text)[1])


# ---------------------------------------------------------------- the small tables


@pytest.mark.parametrize("heads, n", [(1, 4), (2, 3), (5, 6), (12, 4), (13, 9), (32, 16)])
def test_every_head_has_its_table(heads, n):
    given = random_patterns(heads, n)
    picture = show.attention(awkward_texts(n), given)
    *tables, scale = [axes for axes in picture.figure.axes if axes.images]
    assert [label.get_text() for label in scale.get_yticklabels()] == ["0", "0.5", "1"]
    assert len(tables) == heads
    for k, axes in enumerate(tables):
        assert np.allclose(axes.images[0].get_array(), given[k], atol=1e-6)
        assert axes.images[0].norm.vmin == 0 and axes.images[0].norm.vmax == 1
        assert axes.get_title() == (f"head {k}" if heads > 1 else "")
        assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first query is on top
    assert len(picture.figure.axes) - heads == 1  # one scale
    named = [axes for axes in picture.figure.axes if "query" in axes.get_ylabel()]
    assert len(named) == math.ceil(heads / (3 if heads in (5, 6, 9) else 4))


def test_words_say_where_each_query_looks(snapshot):
    table = torch.tensor([[1, 0, 0, 0], [0.75, 0.25, 0, 0], [0, 0.9, 0.1, 0], [0.1, 0.1, 0.2, 0.6]])
    alt = show.attention(TOKENS, torch.stack([table, torch.eye(4)])).alt
    assert alt == snapshot


def test_words_of_a_long_text_name_the_favourite_key(snapshot):
    table = torch.zeros(9, 9)
    table[:, 3] = 0.5
    table[5, 4] = 0.875
    assert show.attention(list("abcdefghi"), table).alt == snapshot


def test_small_tables_have_their_numbers():
    assert text_strings(show.attention(TOKENS, random_patterns(1, 4))).count("1.00") == 1
    assert "1.00" not in text_strings(show.attention(list("abcdef"), random_patterns(12, 6)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("heads, n", [(1, 1), (1, 12), (2, 5), (3, 12), (12, 6), (12, 15), (16, 40), (32, 64)])
def test_nothing_is_cut_off(heads, n):
    picture = show.attention(awkward_texts(n), random_patterns(heads, n))
    figure = picture.figure
    assert_not_clipped(picture)
    titles = [artist_box(picture, axes.title) for axes in figure.axes if axes.get_title()]
    tables = [axes.get_window_extent() for axes in figure.axes if axes.images]
    assert not any(title.overlaps(table) for title in titles for table in tables)
    for axes in (axes for axes in figure.axes if "query" in axes.get_ylabel()):
        labels = [artist_box(picture, label) for label in axes.get_yticklabels() if label.get_text()]
        assert all(lower.y1 <= upper.y0 + 1 for upper, lower in itertools.pairwise(labels))


# ---------------------------------------------------------------- the interactive half


def test_the_script_holds_the_numbers_and_the_tokens():
    given = random_patterns(3, 4)
    held = props(page(show.attention(TOKENS, given)))
    assert held["tokens"] == ["<|endoftext|>", "When", "·Mary", "·and"]
    assert np.allclose(held["attention"], given, atol=5.1e-5)
    assert (held["minValue"], held["maxValue"], held["maskUpperTri"]) == (0, 1, False)
    assert held["attentionHeadNames"] == ["head 0", "head 1", "head 2"]


def test_heads_are_called_by_the_names_that_they_are_given():
    names = ["head 0.5, previous", "head 0.1", "head 0.11"]
    picture = show.attention(TOKENS, random_patterns(3, 4), heads=names)
    assert [name for name in text_strings(picture) if name.startswith("head")] == names
    assert props(page(picture))["attentionHeadNames"] == names
    assert all(f"{name}: <|endoftext|> → " in picture.alt for name in names) and "head 0:" not in picture.alt
    assert re.match(r"The largest weight: .* in head 0\.\d+", picture.alt)


def test_the_largest_weight_may_be_in_the_first_row():
    """Under a causal mask, the first token sees only itself, so its weight of 1 says nothing."""
    free = show.attention(["a", "b", "c"], [[0.05, 0.05, 0.9], [0.4, 0.3, 0.3], [0.4, 0.4, 0.2]])
    causal = show.attention(["a", "b", "c"], [[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.4, 0.4, 0.2]])
    assert free.alt.startswith("The largest weight: 'a' → 'c', 0.90")
    assert causal.alt.startswith("The largest weight: 'b' → 'b', 0.60")


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"'`${x}",
    "\\u003c\n\r\t",
    "\u2028\u2029",
    "\ud83d",
    "<|endoftext|>",
    "&lt;",
    "😀汉",
]


def test_tokens_cannot_break_out():
    text = page(show.attention(HOSTILE, torch.eye(9)))
    text.encode("utf-8")
    assert text.count("<script>") == text.count("</script>") == 2 and "<!--" not in text
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    assert script.isascii()
    said = props(text)["tokens"]
    assert said[0] == HOSTILE[0][:23] + "…"
    assert said[1:3] == HOSTILE[1:3] and said[6:] == HOSTILE[6:]
    assert said[4] == "\\u2028\\u2029"  # hidden characters are shown as escapes
    outside = re.sub(r"<script>.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL)
    outside = re.sub(r"<svg.*?</svg>", "<svg>", outside, flags=re.DOTALL)
    tags = ["div", "div", "svg", "div", "div", "small", "i", "div"]
    assert re.findall(r"<(\w+)", outside) == tags, "a token became a tag"


def test_the_picture_and_the_sentence_stand_without_a_script():
    picture = show.attention(TOKENS, random_patterns(3, 4))
    text = page(picture)
    static = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert picture.html() in static and html.escape(TRUST) in static
    assert (
        "Trust Notebook" in TRUST and "run this cell" in TRUST and "run this cell again" in MISSING and MISSING in text
    )
    assert picture._repr_mimebundle_()["text/plain"] == picture.alt == repr(picture)
    assert "script" not in picture.html()  # for widgets, which run none


def test_the_same_figure_gives_the_same_output_and_others_do_not_collide():
    key = lambda text: re.search(r'data-attention="(\w+)"', text)[1]
    first, second, other = (page(show.attention(TOKENS, random_patterns(2, 4, seed=seed))) for seed in (0, 0, 1))
    assert first == second and key(first) != key(other)
    assert f'[data-attention="{key(first)}"]' in first
    static = re.sub(r"<script>.*?</script>|<svg.*?</svg>", "", first, flags=re.DOTALL)
    assert not re.search(r"\sid=", static), "the page must create the ids"


def test_nothing_asks_the_network():
    text = page(show.attention(TOKENS, random_patterns(2, 4)))
    assert not re.search(r"https?:|unpkg|src=(?!\"data:)|import\(|fetch\(", re.sub(r'atob\("[^"]*"\)', "", text))
    library = gzip.decompress(base64.b64decode(compressed_library())).decode()
    assert "sourceMappingURL" not in library and "AttentionHeads" in library and len(library) > 1_000_000
    assert len(compressed_library()) < 600_000


BUNDLE = (
    " ".join(WORDS)
    + 'return e>=0?r(t).mix(r("white"),Math.min(Math.max(1-e/i,0),1)):0'
    + "a.default.createElement(b,{attention:c,tokens:d,showAxisLabels:!1,"
)


def test_circuitsvis_says_queries_and_keys():
    for library in (gzip.decompress(base64.b64decode(compressed_library())).decode(), adapt_library(BUNDLE)):
        assert all(theirs not in library and ours in library for theirs, ours in WORDS.items())
        assert len(re.findall(r"\(courseShade\(\w/\w\)\)", library)) == 1


@pytest.mark.parametrize("missing", [*WORDS, "mix(", "showAxisLabels:!1", ""])
def test_another_version_of_circuitsvis_shows_the_picture_and_says_why(monkeypatch, tmp_path, missing):
    bundle = tmp_path / "dist" / "cdn" / "iife.js"
    bundle.parent.mkdir(parents=True)
    if missing:  # otherwise, the bundle is not where the course looks for it
        bundle.write_text(BUNDLE.replace(missing, "different("), encoding="utf-8")
    package = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(circuitsvis.importlib.util, "find_spec", lambda name: package)
    monkeypatch.setattr(circuitsvis, "version", lambda name: "9.9")
    monkeypatch.setattr(circuitsvis, "compressed_library", compressed_library.__wrapped__)  # without the cache
    picture = show.attention(TOKENS, random_patterns(2, 4))
    assert page(picture) == f"{picture.html()}<div>{UNSUPPORTED.format(version='9.9')}</div>"


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def live(chromium):
    """A page on which the scripts of two figures have run."""
    names = ["head 0.5, previous", "head 0.1, current", "head 0.11, first"]
    figures = (
        show.attention([f"t{i}" for i in range(5)], random_patterns(3, 5), "One of each", names),
        show.attention(TOKENS, random_patterns(1, 4)[0]),
    )
    with open_window(chromium) as window:
        opened = open_tab(window)
        opened.set_content(f"<body style='background: #fff'>{''.join(map(page, figures))}</body>")
        expect(opened.locator("[data-place] canvas")).to_have_count(4 + 2)
        yield opened


def test_the_picture_gives_way_and_is_still_there_for_who_listens(live):
    twin, title = live.locator("[data-twin]").first, live.locator("[data-title]").first
    expect(title).to_be_visible()
    assert title.inner_text().startswith("One of each") and twin.bounding_box()["width"] <= 1
    assert "head 0.11, first" in twin.locator("svg").get_attribute("aria-label")
    live.emulate_media(media="print")
    assert twin.bounding_box()["width"] > 300 and not live.locator("[data-place]").first.is_visible()
    live.emulate_media(media="screen")


def test_heads_are_chosen_by_keyboard_and_have_names_that_can_be_read(live):
    heads, group = live.locator("[role=radio]"), live.get_by_role("radiogroup", name="heads").first
    assert group.get_by_role("radio").count() == 3
    chosen = [heads.nth(k).get_attribute("aria-checked") for k in range(3)].index("true")
    heads.nth(chosen).focus()
    for head in range(chosen, 3) if chosen else ():  # another test may have chosen another head
        live.keyboard.press("ArrowRight")
        expect(heads.nth((head + 1) % 3)).to_be_focused()
    for key, head in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowRight", 0), ("ArrowLeft", 2), ("Home", 2)):
        live.keyboard.press(key)
        expect(heads.nth(head)).to_have_attribute("aria-checked", "true")
        expect(heads.nth(head)).to_be_focused()
        expect(live.locator("h3").nth(1)).to_have_text(heads.nth(head).get_attribute("aria-label"))
    descriptions = heads.evaluate_all("all => all.map(one => one.ariaDescription)")
    twin = live.locator("[data-twin] svg").first.get_attribute("aria-label")
    for name, text in zip(("head 0.5, previous", "head 0.1, current", "head 0.11, first"), descriptions):
        assert text.startswith("t0 → t0 1.00, t1 → ") and f"{name}: {text}" in twin
    badge = "getComputedStyle(document.querySelector('[role=radio] h4'))"
    assert float(live.evaluate(f"{badge}.fontSize")[:-2]) >= 12
    written, behind = live.evaluate(f"[{badge}.color, {badge}.backgroundColor]")
    assert behind == "rgba(0, 0, 0, 0)" and written == live.evaluate("getComputedStyle(document.body).color")
    assert not live.locator("[role=radio]").nth(3).is_visible(), "with a single head, there is no choice"


def test_only_the_large_table_is_drawn_again_when_a_head_is_chosen(live):
    large = live.locator("[data-place]").first.locator("canvas").last
    live.mouse.move(0, 0)
    live.evaluate("""() => {
        const clear = CanvasRenderingContext2D.prototype.clearRect;
        window.drawn = new Set();
        CanvasRenderingContext2D.prototype.clearRect = function (...area) {
            window.drawn.add(this.canvas);
            return clear.call(this, ...area);
        };
    }""")
    before = large.evaluate("canvas => canvas.toDataURL()")
    live.locator("[role=radio][aria-checked=true]").first.press("ArrowRight")
    changed = "([canvas, before]) => canvas.toDataURL() !== before"
    live.wait_for_function(changed, arg=[large.element_handle(), before])
    drawn = live.evaluate("() => [...document.querySelectorAll('[data-place] canvas')].map(one => drawn.has(one))")
    assert drawn == [False, False, False, True, False, False]


def test_a_live_table_has_the_picture_s_colours(live):
    """The first query attends only to itself: its row has both the highest and the lowest colour of the scale."""
    read = """canvas => {
        const {width, height} = canvas, paper = canvas.getContext("2d"), found = new Set();
        for (const colour of new Uint32Array(paper.getImageData(0, 0, width, height).data.buffer)) found.add(colour);
        return [...found].map(colour => [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255].join());
    }"""
    from matplotlib import colormaps

    found = live.locator("[data-place] canvas").first.evaluate(read)
    for end in (0.0, 1.0):
        assert ",".join(str(round(255 * part)) for part in colormaps["viridis"](end)[:3]) in found


def test_the_label_of_a_cell_goes_when_the_page_is_moved(live):
    canvas = live.locator("[data-place] canvas").last
    looks = "canvas => { const were = canvas.looks; canvas.looks = canvas.toDataURL(); return were === canvas.looks; }"
    canvas.scroll_into_view_if_needed()
    live.mouse.move(0, 0)
    live.wait_for_function(looks, arg=canvas.element_handle(), polling=100)
    canvas.hover()
    live.wait_for_function("canvas => canvas.toDataURL() !== canvas.looks", arg=canvas.element_handle())
    live.evaluate("() => dispatchEvent(new Event('scroll'))")
    live.wait_for_function("canvas => canvas.toDataURL() === canvas.looks", arg=canvas.element_handle())


def test_each_row_and_column_is_named_on_a_phone(chromium):
    tokens = [f"name{i}" for i in range(16)]
    with open_window(chromium) as window:
        phone = open_tab(window, width=360)
        phone.evaluate("""() => {
            const written = CanvasRenderingContext2D.prototype.fillText;
            window.texts = [];
            CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
                window.texts.push(text);
                return written.call(this, text, ...where);
            };
        }""")
        phone.locator("body").evaluate(
            "(body, text) => body.append(document.createRange().createContextualFragment(text))",
            page(show.attention(tokens, random_patterns(1, 16)[0])),
        )
        expect(phone.locator("[data-place] canvas")).to_have_count(2)
        phone.wait_for_function("tokens => tokens.every(one => texts.includes(one))", arg=tokens)
        assert min(phone.evaluate("tokens => tokens.map(one => texts.filter(text => text === one).length)", tokens)) > 1


def test_without_circuitsvis_the_picture_is_all(monkeypatch):
    monkeypatch.setattr(circuitsvis.importlib.util, "find_spec", lambda name: None)
    monkeypatch.delattr(circuitsvis, "version")  # no package, no version
    monkeypatch.setattr(circuitsvis, "compressed_library", compressed_library.__wrapped__)  # without the cache
    picture = show.attention(TOKENS, random_patterns(2, 4))
    assert page(picture) == picture.html()


# ---------------------------------------------------------------- one library in a notebook


class Kernel:
    """A fake kernel with the parts that a figure uses; `run` imitates JupyterLab."""

    def __init__(self):
        self.bundle, self.hooks, self.execution_count, self.parent = LibraryTracker(), [], 0, {}
        self.events = SimpleNamespace(register=lambda name, hook: self.hooks.append(hook))
        self.kernel = self

    def get_parent(self):
        return self.parent

    def run(self, cell, figures=1, session="page 1", deleted=(), ids=True):
        """Run a cell with the given number of figures; return which of them contain the library."""
        self.execution_count += 1
        metadata = {"cellId": cell, "deletedCells": list(deleted)} if ids else {}
        self.parent = {"header": {"session": session}, "metadata": metadata, "content": {"code": f"source of {cell}"}}
        for hook in self.hooks:
            hook(SimpleNamespace(raw_cell=f"source of {cell}"))
        return [self.bundle.claim_library() for _ in range(figures)]


@pytest.fixture
def kernel(monkeypatch):
    made = Kernel()
    monkeypatch.setattr(circuitsvis, "_shell", lambda: made)
    return made


@pytest.mark.parametrize("ids", [True, False], ids=["cell ids", "no cell ids"])
def test_the_library_comes_once_and_again_with_its_cell(kernel, ids):
    assert kernel.run("A", 2, ids=ids) == [True, False]
    assert kernel.run("B", ids=ids) == kernel.run("B", ids=ids) == [False]
    assert kernel.run("A", 2, ids=ids) == [True, False]
    assert [kernel.run(cell, ids=ids) for cell in "BAB"] == [[False], [True], [False]]


def test_run_all_twice_leaves_one_library(kernel):
    for _ in range(3):
        assert [kernel.run(cell, n) for cell, n in (("import", 0), ("A", 1), ("B", 2), ("C", 1))] == [
            [],
            [True],
            [False] * 2,
            [False],
        ]


def test_a_cell_that_lost_the_library_is_followed_by_the_next_figure(kernel):
    kernel.run("A")
    assert kernel.run("A", 0) == [] and kernel.run("B") == [True]
    assert kernel.run("A") == [False] and kernel.run("B") == [True]


def test_a_deleted_cell_is_followed_by_the_next_figure(kernel):
    kernel.run("A")
    assert kernel.run("x", 0, deleted=["A"]) == [] and kernel.run("B") == [True] and kernel.run("C") == [False]
    assert kernel.run("C", deleted=["B"]) == [True]


def test_a_page_that_was_loaded_anew_gets_the_library_with_its_first_figure(kernel):
    kernel.run("A")
    assert kernel.run("B", session="page 2") == [True] and kernel.run("C", session="page 2") == [False]
    assert kernel.run("A", session="page 2") == [False], "one of the two copies disappears when its cell runs again"


def test_outside_a_notebook_every_figure_stands_alone(monkeypatch):
    monkeypatch.setattr(circuitsvis, "_shell", lambda: None)
    assert LibraryTracker().claim_library() and LibraryTracker().claim_library()


def test_in_a_real_kernel(tmp_path):
    """nbclient sends no cell ids; the first figure has the library, the second does not."""
    import nbformat
    from nbclient import NotebookClient

    source = "from utils import show\nshow.attention(['a', 'b'], [[1, 0], [.5, .5]])"
    cells = [nbformat.v4.new_code_cell(code) for code in (source, source + "  # again", source)]
    notebook = NotebookClient(nbformat.v4.new_notebook(cells=cells), kernel_name="python3", timeout=600).execute()
    pages = [cell.outputs[0]["data"]["text/html"] for cell in notebook.cells]
    assert ["DecompressionStream" in page for page in pages][:2] == [True, False]
    assert pages[0].startswith(pages[1]) and len(pages[1]) < 60_000
