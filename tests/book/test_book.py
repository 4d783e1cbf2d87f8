"""Test a book of two lessons in a browser, over http and from a file."""

import contextlib
import html
import json
import math
import re
import shutil
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.axe import violations
from tests.browser.contrast import faint
from tests.browser.harness import outside_loopback, screenshot_on_failure
from utils import lessons
from utils.book import site
from utils.book.landing import EXERCISE, WRONG
from utils.book.lesson_outputs import CACHE_FOLDER, BookError
from utils.book.lesson_pages import IN_LAB
from utils.exercises.exercise import find_exercise
from utils.instructor.answers import AnswerFactory
from utils.learning.forms import load_form

LESSONS = ["00", "02"]
START, SIMPLE = "course/00_start_here.html", "course/02_simplified_attention.html"
BUILT = "() => [...document.querySelectorAll('.live')].every(place => place.dataset.built !== undefined)"
TOO_WIDE = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).length"
DRAWN = "() => document.querySelectorAll('mjx-container').length > 0 && document.fonts.status === 'loaded'"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the summary of a book of two lessons, its work folder, and the lines of its log."""
    folder, log = tmp_path_factory.mktemp("book"), []
    return site.build_book(folder / "out", LESSONS, log=log.append, work_folder=folder / "work"), folder / "work", log


@pytest.fixture(scope="module")
def book(made):
    return made[0].path


@pytest.fixture(scope="module")
def browser(chromium):
    return chromium


@contextlib.contextmanager
def served(folder):
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(params=["http", "file"])
def address(request, book):
    if request.param == "file":
        yield book.as_uri()
    else:
        with served(book) as url:
            yield url


@pytest.fixture
def http(book):
    with served(book) as url:
        yield url


@contextlib.contextmanager
def opened(browser, url, **options):
    """Open a page of the book and wait until its widgets are built.

    On exit, check that there were no errors, no warnings, and no requests to other hosts.
    """
    context = browser.new_context(**options)
    page = context.new_page()
    urls, faults = [], []
    page.on("request", lambda request: urls.append(request.url))
    page.on("requestfailed", lambda request: faults.append(f"failed: {request.url}"))
    page.on("response", lambda response: faults.append(response.url) if response.status >= 400 else None)
    page.on("console", lambda line: faults.append(line.text) if line.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(url)
    try:
        with screenshot_on_failure(page, "book-failure"):
            page.wait_for_function(BUILT)
            yield page
        assert not faults, faults
        assert not outside_loopback([url for url in urls if not url.startswith("file:")])
    finally:
        context.close()


# --- the built folder -----------------------------------------------------------------------------------


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids.add(attributes.get("id"))
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]


def test_every_link_leads_to_a_page_that_is_there(book):
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in book.rglob("*.html")}
    assert len(pages) > 10
    lost = []
    for path, page in pages.items():
        for link in page.links:
            part = urlsplit(link)
            if part.scheme in ("http", "https", "data"):
                continue
            target = (path.parent / unquote(part.path)).resolve() if part.path else path
            anchor = unquote(part.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].ids):
                lost.append(f"{path.name}: {link}")
    assert not lost, lost


def test_it_is_small_and_says_what_it_is_made_from(made, book):
    assert made[0].size_bytes == sum(path.stat().st_size for path in book.rglob("*") if path.is_file()) < 25e6
    for path in book.rglob("*.html"):
        assert path.stat().st_size < 1.5e6, path.name
        assert site.book_version() in path.read_text(encoding="utf-8"), path.name
    assert re.fullmatch(r"version \d+\.\d+\.\d+(, commit [0-9a-f]{10})?", site.book_version())


def test_a_line_is_said_of_each_lesson(made):
    assert [line for line in made[2] if " ran" not in line and line.startswith("[")] == [
        "[1/2] 00_start_here",
        "[2/2] 02_simplified_attention",
    ]


def test_scripts_and_styles_are_shared_by_the_pages(book):
    page = (book / SIMPLE).read_text(encoding="utf-8")
    assert "followTheme" not in page and page.count('class="live"') == 6
    assert (book / "_static" / "explore.js").stat().st_size < 200_000


def test_the_answers_stand_in_it_only_where_they_are_asked_for(made, book, tmp_path):
    answer = "torch.exp(x - x.amax"
    text = lambda folder: re.sub("<[^>]+>", "", (folder / SIMPLE).read_text(encoding="utf-8"))
    assert answer not in text(book)
    shown = site.build_book(tmp_path / "shown", LESSONS, solved_lessons=["02"], work_folder=made[1])
    assert answer in text(shown.path)


def test_no_file_of_it_contains_an_item_of_the_inventory(book):
    """The lessons of this book include one that offers the inventory."""
    items = load_form("a") + load_form("b")
    texts = {item.question for item in items} | {text for item in items for text in item.choices if len(text) > 40}
    files = [path for path in book.rglob("*") if path.suffix in (".html", ".js", ".json", ".ipynb", ".txt")]
    every = " ".join(" ".join(path.read_text(encoding="utf-8").split()) for path in files)
    assert IN_LAB["inventory"] in every
    assert not [text for text in texts if text in every or html.escape(text) in every]


def test_every_sidebar_knows_the_lessons_of_this_book(made, tmp_path):
    sidebar = lambda folder: (folder / START).read_text(encoding="utf-8").partition("<article")[0]
    assert "02 Attention without training" in sidebar(made[0].path)
    shutil.copytree(made[1], tmp_path / "work")
    alone = site.build_book(tmp_path / "alone", ["00"], work_folder=tmp_path / "work")
    assert "02 Attention without training" not in sidebar(alone.path) and not (alone.path / SIMPLE).exists()


def test_a_planted_answer_stops_the_book(tmp_path, made):
    cache = tmp_path / "kept"
    cache.mkdir()
    for path in CACHE_FOLDER.glob("00_start_here-*.json"):
        shown = json.loads(path.read_bytes())
        answer = lessons.definition_source(lessons.find_lesson("02"), "softmax")
        place = next(i for i, outputs in enumerate(shown["outputs"]) if outputs)
        shown["outputs"][place] = [{"output_type": "stream", "name": "stdout", "text": answer}]
        (cache / path.name).write_text(json.dumps(shown), encoding="utf-8")
    with pytest.raises(BookError, match=r"(?s)00_start_here\.html.*amax"):
        site.build_book(tmp_path / "out", ["00"], work_folder=tmp_path / "work", cache_folder=cache)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_no_book_is_left_alone(tmp_path, snapshot):
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(BookError) as error:
        site.build_book(tmp_path, ["00"])
    assert str(error.value).replace(str(tmp_path), "FOLDER") == snapshot
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "mine"


def test_a_warning_of_sphinx_stops_the_book(made, tmp_path):
    work = tmp_path / "work"
    stage = work / "stage"
    shutil.copytree(made[1] / "stage", stage)
    page = stage / "docs" / "papers.md"
    page.write_text(page.read_text(encoding="utf-8") + "\nSee [nothing](nowhere.md).\n", encoding="utf-8")
    with pytest.raises(BookError, match=r"papers\.md.*nowhere"):
        site.run_sphinx(stage, work / "html", made[1])


# --- the pages in a browser -----------------------------------------------------------------------------


def test_a_formula_is_drawn(browser, address):
    with opened(browser, f"{address}/{SIMPLE}") as page:
        page.wait_for_function(DRAWN)
        box = page.locator("mjx-container").first.bounding_box()
        assert box["width"] > 50 and box["height"] > 20


def test_an_explorer_is_moved_and_its_numbers_are_right(browser, address):
    with opened(browser, f"{address}/{SIMPLE}") as page:
        place = page.locator('.live[data-kind="dot_products"]')
        place.locator("input[type=range]").first.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        values = [float(each.input_value()) for each in place.locator("input[type=range]").all()]
        angle_a, length_a, angle_b, length_b = values
        dot = length_a * length_b * math.cos(math.radians(angle_b - angle_a))
        assert angle_a != 20  # where it starts
        expect(place.locator(".facts")).to_contain_text(f"dot product {dot:.2f}")


def test_a_prediction_is_judged_and_a_quiz_explained(browser, address):
    with opened(browser, f"{address}/{SIMPLE}") as page:
        guess = page.locator('.live[data-kind="predictions"]').nth(1)  # the first one asks for yes or no
        guess.locator("input[type=text]").fill("1.4754")
        guess.get_by_role("button", name="Check my guess").click()
        expect(guess.locator(".note")).to_contain_text("Right.")
        quiz = page.locator('.live[data-kind="quizzes"]').first
        quiz.get_by_role("button", name="All five shrink").click()
        expect(quiz.locator(".note.passed")).to_be_visible()


def test_the_first_page_says_what_the_check_says(browser, address):
    answers = AnswerFactory.from_name(EXERCISE)
    with opened(browser, address + "/index.html") as page:
        for wrong in WRONG:
            page.get_by_role("radio", name=wrong.description).check()
            shown = page.locator(".wrong-answer:visible")
            expect(shown).to_have_count(1)
            message = answers.judge(wrong.source).message
            expect(shown).to_contain_text(message)
            expect(shown).to_contain_text(wrong.source.splitlines()[-1].strip())


def test_the_first_page_is_no_lesson_and_says_how_many_lessons_the_book_has(book, monkeypatch):
    page = (book / "index.html").read_text(encoding="utf-8")
    every = [lessons.read_lesson(path) for path in lessons.all_lessons()]
    assert "this lesson" not in page and "all of it" not in page
    assert f"{len(LESSONS)} of its {len(every)} lessons" in page
    monkeypatch.setattr(site.landing, "render_wrong_answers", str)  # this step takes seconds
    assert b"all of it" in site._front_page(every)


@pytest.mark.parametrize("wrong", WRONG, ids=[wrong.name for wrong in WRONG])
def test_each_wrong_answer_is_taken_for_what_it_is(wrong):
    report = AnswerFactory.from_name(EXERCISE).judge(wrong.source)
    assert report.misconception == wrong.misconception
    assert report.message == next(
        m.message for m in find_exercise(EXERCISE).misconceptions if m.id == wrong.misconception
    )


def test_the_search_finds_a_lesson_and_shows_where(browser, address):
    with opened(browser, address + "/search.html?q=softmax") as page:
        result = page.locator("#search-results li", has_text="Attention without training").first
        expect(result.locator("a").first).to_be_visible()
        excerpts = result.locator("p.context")  # from a file, the browser cannot read other pages
        expect(excerpts).to_have_count(1 if address.startswith("http") else 0)
        for text in excerpts.all_inner_texts():
            assert "softmax" in text and "Exercise:" not in text, (
                "the result must quote the text, not the list of headings"
            )


def test_the_commands_are_copied(browser, http):
    with opened(browser, f"{http}/{SIMPLE}", permissions=["clipboard-read", "clipboard-write"]) as page:
        page.get_by_role("button", name="Open in JupyterLab").click()
        expect(page.locator(".open-in-lab [role=status]")).to_contain_text("Copied.")
        assert page.evaluate("() => navigator.clipboard.readText()").endswith("make lab")


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("light", 400), ("dark", 1280), ("dark", 400)])
def test_no_page_keeps_anybody_out(browser, http, scheme, width):
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    for name in ("index.html", START, SIMPLE, "docs/checks.html", "docs/mutants.html"):
        with opened(browser, f"{http}/{name}", **options) as page:
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), name
            page.wait_for_function("() => document.getAnimations().length === 0")  # the search button fades in
            assert violations(page, "html") + faint(page.locator("body")) == [], name


def test_what_scrolls_shows_at_which_edge_there_is_more(browser, http):
    with opened(browser, f"{http}/{SIMPLE}", viewport={"width": 390, "height": 844}) as page:
        box = page.locator(".output:has(> .course-figure)").first
        edges = lambda: (box.evaluate("box => box.classList.contains('more-left')"),
                         box.evaluate("box => box.classList.contains('more-right')"))  # fmt: skip
        faded = lambda: box.evaluate("box => getComputedStyle(box).maskImage") != "none"
        for left, expected in ((0, (False, True)), (40, (True, True)), (999, (True, False))):
            box.evaluate("(box, left) => { box.scrollLeft = left; }", left)
            page.wait_for_function("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
                                   ".then(() => true)")  # fmt: skip
            assert edges() == expected and faded()
        page.emulate_media(media="print")
        assert not faded()
        page.emulate_media(media="screen")
        page.set_viewport_size({"width": 1280, "height": 844})
        page.wait_for_function("() => !document.querySelector('.more-right:has(> .course-figure)')")


def test_every_tab_stop_has_a_name_and_no_formula_is_one(browser, http):
    """A box that scrolls is a Tab stop, so that a keyboard can scroll it."""
    with opened(browser, f"{http}/{SIMPLE}", viewport={"width": 390, "height": 844}) as page:
        page.wait_for_function(DRAWN)
        page.wait_for_function("() => document.querySelector('article pre[tabindex], .output[tabindex]')")
        stops = page.locator("[tabindex='0']:not(input, button, a)")
        names = stops.evaluate_all("stops => stops.map(stop => stop.ariaLabel || stop.closest('label')?.innerText)")
        assert names and all(names), names
        assert page.locator("mjx-container").count() and not page.locator("mjx-container[tabindex]").count()


def test_the_theme_is_chosen_and_its_menu_gone(browser, http):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with opened(browser, f"{http}/{START}", **phone) as page:
        page.locator(".theme-switch-button:visible").tap()
        dark = page.locator(".theme-change-button[data-mode=dark]:visible")
        dark.tap()
        assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
        expect(dark).to_have_count(0)


def test_the_page_of_a_phone_does_not_offer_a_terminal(browser, http):
    for width, shown in ((390, False), (1280, True)):
        with opened(browser, f"{http}/{SIMPLE}", viewport={"width": width, "height": 844}) as page:
            expect(page.locator(".to-read")).to_be_visible()
            assert page.get_by_role("button", name="Open in JupyterLab").is_visible() == shown


def test_no_reader_has_made_progress(browser, http):
    with opened(browser, f"{http}/{START}") as page:
        expect(page.get_by_text(IN_LAB[None])).to_be_visible()
        assert "exercises passed" not in page.locator("article").inner_text()


def test_on_a_phone_code_breaks_and_what_is_dragged_moves_alone(browser, http):
    phone = {"viewport": {"width": 400, "height": 800}, "has_touch": True, "is_mobile": True}
    with opened(browser, f"{http}/{SIMPLE}", **phone) as page:
        assert page.locator(".cell_input pre").evaluate_all(TOO_WIDE) == 0
        place = page.locator('.live[data-kind="dot_products"]')
        handle, facts = place.locator(".draggable").last, place.locator(".facts")
        handle.scroll_into_view_if_needed()
        page.wait_for_function(
            "() => new Promise(done => { const y = scrollY; setTimeout(() => done(y === scrollY)); })"
        )
        before, at, box = facts.inner_text(), page.evaluate("scrollY"), handle.bounding_box()
        finger = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        touch = page.context.new_cdp_session(page)
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [finger]})
        for y in range(10, 70, 10):
            moved = {**finger, "y": finger["y"] + y}
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [moved]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        expect(facts).not_to_have_text(before)
        assert page.evaluate("scrollY") == at


def test_targets_are_as_large_as_a_finger(browser, http):
    """44 pixels; sliders are smaller, so that a phone also shows the picture below them."""
    heights = """all => all.filter(one => one.checkVisibility() && one.type !== 'range')
        .map(one => one.closest('label') ?? one)
        .map(one => [one.textContent.trim().slice(0, 40), one.getBoundingClientRect().height])"""
    phone = {"viewport": {"width": 400, "height": 800}, "has_touch": True, "is_mobile": True}
    for name in ("index.html", SIMPLE):
        with opened(browser, f"{http}/{name}", **phone) as page:
            targets = page.locator("article :is(input, button, summary, textarea)").evaluate_all(heights)
            assert len(targets) > 5 and [target for target in targets if target[1] < 44] == []


def test_without_scripts_a_widget_is_words_and_every_wrong_answer_stands(browser, book):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{book.as_uri()}/{SIMPLE}")
    for words in page.locator(".live-words").all():
        expect(words).to_be_visible()
    page.goto(f"{book.as_uri()}/index.html")
    expect(page.locator(".wrong-answer:visible")).to_have_count(len(WRONG))
    expect(page.get_by_role("radio")).to_have_count(0)
    context.close()


def test_paper_is_white_whatever_the_screen_is(browser, http):
    with opened(browser, f"{http}/{START}", color_scheme="dark") as page:
        theme = lambda: page.evaluate("() => document.documentElement.dataset.theme")
        assert theme() == "dark"
        page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        assert theme() == "light"
        page.evaluate("() => dispatchEvent(new Event('afterprint'))")
        assert theme() == "dark"


def test_on_paper_widgets_are_words(browser, http):
    with opened(browser, f"{http}/{SIMPLE}") as page:
        place = page.locator(".live").first
        expect(place.locator(".live-words")).to_be_hidden()
        page.emulate_media(media="print")
        expect(place.locator(".live-words")).to_be_visible()
        expect(place.locator(".coginst")).to_be_hidden()
        page.set_viewport_size({"width": 700, "height": 900})
        assert page.locator(".cell_input pre").evaluate_all(TOO_WIDE) == 0
