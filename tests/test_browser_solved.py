"""Every lesson with its answers in a real browser: nothing is red, and every prediction, quiz and explorer answers."""

import ast
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import browser
import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from utils import lessons

STEMS = [path.stem for path in lessons.all_lessons()]
SOLVED = browser.ROOT / "tests" / "solved"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str, Path]]:
    """One page and one server for all lessons, which have their answers and were not run: the page, its address, the folder."""
    unrun, folder = tmp_path_factory.mktemp("unrun"), tmp_path_factory.mktemp("served")
    for stem in STEMS:
        notebook = nbformat.read(SOLVED / f"{stem}.ipynb", as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(notebook, unrun / f"{stem}.ipynb")
    with browser.serve(folder, [unrun / f"{stem}.ipynb" for stem in STEMS]) as url, browser.open_lab(url) as page:
        yield page, url, folder / "course"


# ---------------------------------------------------------------- what a learner does with each kind of widget


def slide(label: str, key: str) -> Callable[[Locator], None]:
    """Take a slider's handle and press a key: "Home" is its lowest value, "End" its highest."""

    def act(cell: Locator) -> None:
        handle = cell.locator(".widget-slider, .widget-hslider", has_text=re.compile(f"^{re.escape(label)}")).locator(".noUi-handle")
        handle.focus()
        cell.page.keyboard.press(key)

    return act


def tick(label: str) -> Callable[[Locator], None]:
    return lambda cell: cell.get_by_label(label).check()


def write(text: str) -> Callable[[Locator], None]:
    def act(cell: Locator) -> None:
        box = cell.locator(".jupyter-widgets").locator("input[type=text], textarea").first
        box.fill(text)
        box.press("Enter")

    return act


# What is done, and what is then to be read. A new explorer needs a line here.
EXPLORERS = {
    "causal": (tick("mask on"), "What the future held goes to the rest in proportion"),
    "dot_product": (slide("angle of b", "End"), "Negative: the arrows lean apart."),
    "layer_norm": (slide("multiply by", "Home"), "eps holds the result back"),
    "next_token": (slide("temperature", "Home"), "Temperature 0 is greedy"),
    "positions": (slide("d_model", "Home"), "the pattern repeats"),
    "regression": (slide("μ", "Home"), "Below the curve: the answers are too small."),
    "scaling": (tick("divide by √d_k"), "The scores, divided by √d_k, have a standard deviation of"),
    "softmax": (slide("multiply by", "Home"), "largest weight 0.17"),
    "sorter": (write("cab"), "cab becomes abc."),
    "tokens": (write("I like <b>😀"), "only parts of a character"),
    "volume": (slide("key rises by", "Home"), "In the plane of query and reference there is no volume."),
    "writer": (write("journal echo"), "journal echo journal"),
}


def calls(stem: str) -> list[tuple[int, str, ast.Call]]:
    """The lesson's calls of `explore`: the number of their code cell, the function's name, the call."""
    code = [cell.source for cell in nbformat.read(SOLVED / f"{stem}.ipynb", as_version=4).cells if cell.cell_type == "code"]
    return [
        (number, node.func.attr, node)
        for number, source in enumerate(code)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "explore"
    ]


def given(call: ast.Call) -> list:
    """The arguments of a `predict` or a `quiz`, which are literals or arithmetic: question, choices or answer, …"""
    return [eval(ast.unparse(value)) for value in [*call.args, *(keyword.value for keyword in call.keywords)]]


def typed(answer: object) -> str:
    """An answer as a learner writes it."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)


def use(cell: Locator, name: str, call: ast.Call) -> str:
    """Do with the widget what a learner does; returns words that stay on the page from then on."""
    values = {keyword.arg: eval(ast.unparse(keyword.value)) for keyword in call.keywords if name in ("predict", "quiz")}
    if name == "predict":
        cell.locator("input[type=text]").fill(typed(values["answer"]))
        cell.get_by_role("button", name="Check my guess").click()
        return f"Right. Your guess: {typed(values['answer'])}"
    if name == "quiz":
        choices, answer = given(call)[1:3]
        wrong = next(choice for choice in choices if choice != answer)
        for choice, verdict in ((wrong, "Not this one."), (answer, "Right.")):
            cell.get_by_role("button", name="ABCDEFGH"[list(choices).index(choice)], exact=True).click()
            expect(cell).to_contain_text(f"{verdict} {choices[choice].replace('`', '')}")
        return f"Right. {choices[answer].replace('`', '')}"
    act, words = EXPLORERS[name]
    pictures = cell.locator("img").evaluate_all("all => all.map(img => img.src)")
    assert words not in cell.inner_text()
    act(cell)
    expect(cell).to_contain_text(words, timeout=20_000)
    assert not pictures or pictures != cell.locator("img").evaluate_all("all => all.map(img => img.src)")
    return words


# ---------------------------------------------------------------- what must hold on a page


def widgets_are_there(notebook: browser.Notebook, cells: list[int]) -> None:
    """Each of the cells shows its widget, and no output says that one is missing."""
    for number in cells:
        expect(notebook.code_cells().nth(number).locator(".jp-OutputArea-output .jupyter-widgets").first).to_be_visible()
    for words in ("Error displaying widget", "Loading widget", "model not found", "Widget not found"):
        expect(notebook.panel.get_by_text(words)).to_have_count(0)


def too_wide(notebook: browser.Notebook) -> list[str]:
    """What in the outputs reaches over the right edge of its output, or is cut off inside a widget."""
    script = """areas => areas.flatMap(area => {
        const edge = area.getBoundingClientRect().right + 1;
        return [...area.querySelectorAll('*')]
            .filter(part => part.checkVisibility() && part.getBoundingClientRect().width > 0)
            .filter(part => part.getBoundingClientRect().right > edge
                || part.matches('.widget-label, .jupyter-button') && part.scrollWidth > part.clientWidth + 1)
            .map(part => `${part.tagName}.${part.className}: ${part.innerText?.slice(0, 60)}`);
    })"""
    return notebook.panel.locator(".jp-OutputArea-output").evaluate_all(script)


def whole(page: Page, name: str, width: int) -> None:
    """Keep a picture of the whole notebook."""
    long = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer").evaluate("it => it.scrollHeight")
    page.set_viewport_size({"width": width, "height": min(16_000, long + 200)})
    page.wait_for_timeout(300)
    browser.screenshot(page, name)


@pytest.mark.parametrize("stem", STEMS)
def test_a_solved_lesson_answers(course: tuple[Page, str, Path], stem: str) -> None:
    page, url, folder = course
    address = url.replace(STEMS[0], stem)
    t = time.time()
    def lap(what):
        nonlocal t
        print(f"{what} {time.time() - t:.1f}", end="  "); t = time.time()
    page.set_viewport_size({"width": 1280, "height": 900})
    notebook = browser.visit(page, f"{address}&reset")
    lap("open")
    notebook.run_all()
    lap("run")
    used = calls(stem)
    widgets_are_there(notebook, [number for number, _, _ in used])
    assert notebook.errors() == []
    for number, source in enumerate(notebook.sources()):
        if "\ncheck(" in source:
            assert "passed" in notebook.outputs(notebook.code_cells().nth(number))
    lap("see")
    said = [(number, use(notebook.code_cells().nth(number), name, call)) for number, name, call in used]
    for number, words in said:
        expect(notebook.code_cells().nth(number)).to_contain_text(words)
    assert notebook.errors() == []
    assert too_wide(notebook) == []
    lap("use")
    whole(page, f"{stem}-solved", 1280)
    lap("pic")
    notebook.save(folder / f"{stem}.ipynb")
    browser.end_kernels(url, page)
    lap("save")

    page.set_viewport_size({"width": 600, "height": 900})
    notebook = browser.visit(page, f"{address}&reset", kernel=False)
    page.keyboard.press("ControlOrMeta+b")
    lap("reopen")
    for number, words in said:
        expect(notebook.code_cells().nth(number)).to_contain_text(words)
    widgets_are_there(notebook, [number for number, _, _ in used])
    browser.theme(page, "Dark")
    lap("dark")
    whole(page, f"{stem}-narrow-dark", 600)
    browser.theme(page, "Light")
    wide = too_wide(notebook)
    lap("pic")
    browser.end_kernels(url, page)
    assert wide == []
