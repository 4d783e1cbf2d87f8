"""What a learner does with each widget of a lesson, and what must hold of the page then."""

import ast
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import nbformat
from playwright.sync_api import Locator, expect

from tests.browser import harness as browser
from utils import explore

SOLVED = browser.ROOT / "tests" / "solved"
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 600, "height": 900}  # the second: an editor's half of a window


def unrun(stem: str, folder: Path) -> Path:
    """A copy of the lesson with its answers, in `folder`, of which no cell was run."""
    notebook = nbformat.read(SOLVED / f"{stem}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    path = folder / f"{stem}.ipynb"
    nbformat.write(notebook, path)
    return path


# ---------------------------------------------------------------- what a learner does with each kind of widget


def slide(label: str, key: str) -> Callable[[Locator], None]:
    """Press a key on a slider: "Home" is its lowest value, "End" its highest."""
    return lambda cell: cell.get_by_role("slider", name=label).press(key)


def tick(label: str) -> Callable[[Locator], None]:
    return lambda cell: cell.get_by_role("checkbox", name=label).check()


def press(name: str) -> Callable[[Locator], None]:
    return lambda cell: cell.get_by_role("button", name=name).click()


def write(text: str) -> Callable[[Locator], None]:
    def act(cell: Locator) -> None:
        box = cell.locator(".coginst").locator("input[type=text], textarea").first
        box.fill(text)
        box.press("Enter")

    return act


# What is done, and what is then to be read. A new explorer needs a line here.
EXPLORERS = {
    "causal": [(tick("mask on"), "What the future held goes to the rest in proportion")],
    "dot_product": [
        (slide("angle of b", "End"), "Negative: the arrows lean apart."),
        (slide("length of a", "Home"), "points nowhere"),
    ],
    "layer_norm": [(slide("multiply by", "Home"), "eps holds the result back")],
    "next_token": [(slide("temperature", "Home"), "Temperature 0 is greedy"), (press("Sample"), "Taken: ")],
    "patching": [(press("before block 1, position 13"), "The twin's vector before block 1, position 13 (to)")],
    "positions": [(slide("d_model", "Home"), "the pattern repeats")],
    "query": [(slide("query, across", "Home"), "another direction favours other keys")],
    "regression": [(slide("μ", "Home"), "Below the curve: the answers are too small.")],
    "scaling": [(tick("divide by √d_k"), "The scores, divided by √d_k, have a standard deviation of")],
    "sentence": [(write("Mary likes the cat and Tom likes the dog"), "Kept: 9 tokens.")],
    "softmax": [(slide("multiply by", "Home"), "largest weight 0.17")],
    "sorter": [(write("cab"), "cab becomes abc."), (write("cax"), "three letters from a, b, c are needed")],
    "tokens": [(write("I like <b>😀"), "only parts of a character")],
    "volume": [(slide("key rises by", "Home"), "In the plane of query and reference there is no volume.")],
    "writer": [(write("journal echo"), "journal echo journal")],
}


def calls(stem: str, module: str = "explore", name: str = "") -> dict[int, ast.Call]:
    """The lesson's calls of a module's functions, or of one, by the number of their code cell; at most one to a
    cell."""
    code = [
        cell.source for cell in nbformat.read(SOLVED / f"{stem}.ipynb", as_version=4).cells if cell.cell_type == "code"
    ]
    found = [
        (number, node)
        for number, source in enumerate(code)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).startswith(f"{module}.{name}")
        and ast.unparse(node.func) != "explore.my_sentence"  # words, no widget
    ]
    assert len(dict(found)) == len(found), f"{stem}: two calls of {module} in one cell"
    return dict(found)


# What two answers of lesson 05 hang on, for the small GPT-2; tests/course/test_multihead_attention.py measures it.
SMALL = {
    "source": SimpleNamespace(d_model=192, d_head=16),
    "first_against_others": lambda head, texts: 1.41,
    "resting": 11,
    "sentences": [],
}


def given(name: str, call: ast.Call) -> dict[str, object]:
    """The arguments of a `predict` or a `quiz` by name; they are literals, arithmetic, and what `SMALL` holds."""
    positional = [eval(ast.unparse(value), SMALL) for value in call.args]
    named = {keyword.arg: eval(ast.unparse(keyword.value), SMALL) for keyword in call.keywords}
    return inspect.signature(getattr(explore, name)).bind(*positional, **named).arguments


def typed(answer: object) -> str:
    """An answer as a learner writes it."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)


def use(cell: Locator, call: ast.Call) -> str:
    """Do with the widget what a learner does; returns words that stay on the page from then on."""
    name = call.func.attr
    if name == "predict":
        guess = typed(given(name, call)["answer"])
        cell.locator("input[type=text]").fill(guess)
        cell.get_by_role("button", name="Check my guess").click()
        return f"Right. Your guess: {guess}"
    if name == "quiz":
        _, choices, answer = given(name, call).values()
        explained = {choice: explanation.replace("`", "") for choice, explanation in choices.items()}
        wrong = next(choice for choice in choices if choice != answer)
        for choice, verdict in ((wrong, "Not this one."), (answer, "Right.")):
            cell.locator("button.choice").nth(list(choices).index(choice)).click()
            expect(cell).to_contain_text(f"{verdict} {explained[choice]}")
        return f"Right. {explained[answer]}"
    assert name in EXPLORERS, f"say in EXPLORERS of tests/browser/widgets.py what a learner does with explore.{name}"
    before = picture(cell)
    for act, words in EXPLORERS[name]:
        assert words not in cell.inner_text()
        act(cell)
        expect(cell).to_contain_text(words, use_inner_text=True)  # not what is kept out of sight, for its room
    assert picture(cell) != before or not before
    return words


def picture(cell: Locator) -> str:
    return cell.locator(".coginst svg[role=img]").evaluate_all("all => all.map(svg => svg.innerHTML).join()")


# ---------------------------------------------------------------- what must hold on a page


def widgets_are_there(notebook: browser.Notebook, cells: Iterable[int]) -> None:
    """Each of the cells shows its widget, and no output says that one is missing."""
    for number in cells:
        expect(notebook.code_cells().nth(number).locator(".jp-OutputArea-output .coginst").first).to_be_visible()
    for words in ("Error displaying widget", "Loading widget", "model not found", "Widget not found"):
        expect(notebook.panel.get_by_text(words)).to_have_count(0)


def too_wide(notebook: browser.Notebook) -> list[str]:
    """What in the outputs reaches over the right edge of its output, or is cut off inside a widget."""
    script = """areas => areas.flatMap(area => {
        const edge = area.getBoundingClientRect().right + 1;
        return [...area.querySelectorAll('*')]
            .filter(part => !part.closest('svg') || part.matches('svg, text'))  // a drawing cuts off what it clips
            .filter(part => part.checkVisibility() && part.getBoundingClientRect().width > 0)
            .filter(part => part.getBoundingClientRect().right > edge
                || part.matches('button, label') && part.scrollWidth > part.clientWidth + 1)
            .map(part => `${part.tagName}.${part.getAttribute('class')}: ${part.textContent.slice(0, 60)}`);
    })"""
    return notebook.panel.locator(".jp-OutputArea-output").evaluate_all(script)
