"""Use each widget of a lesson as a learner does, and check the page afterwards."""

import ast
import base64
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import nbformat
from ipywidgets.embed import dependency_state
from playwright.sync_api import Locator, expect

from tests.browser import harness as browser
from tests.lesson_runs import run_outputs
from utils import explore
from utils.book.lesson_outputs import SCRIPTS
from utils.show.widget import widget_class

SOLVED = browser.ROOT / "tests" / "solved"


def unrun(stem: str, folder: Path) -> Path:
    """Write a copy of the solved lesson without outputs to `folder`."""
    notebook = nbformat.read(SOLVED / f"{stem}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    path = folder / f"{stem}.ipynb"
    nbformat.write(notebook, path)
    return path


def executed(stem: str, folder: Path) -> Path:
    """Write the solved lesson with all its outputs to `folder`."""
    run = run_outputs(stem)
    notebook = nbformat.read(SOLVED / f"{stem}.ipynb", as_version=4)
    for number, (cell, outputs) in enumerate(zip(notebook.cells, run["outputs"], strict=True), 1):
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [nbformat.from_dict(output) for output in outputs], number
    saved = {"version_major": 2, "version_minor": 0, "state": widget_models(run["widgets"])}
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": saved}
    path = folder / f"{stem}.ipynb"
    nbformat.write(notebook, path)
    return path


def widget_models(widgets: dict[str, dict]) -> dict[str, dict]:
    """Return the models that a notebook saves, from the outputs of a run."""
    scripts = {path.stem: path for path in SCRIPTS}
    models: dict[str, dict] = {}
    for name, saved in widgets.items():
        if saved["kind"]:
            data = base64.b64decode(saved["data"])
            widget = widget_class(scripts[saved["kind"]])("", start=saved["start"], state=saved["state"], data=data)
            state = dependency_state(widget, drop_defaults=False)
            models |= {name: state.pop(widget.model_id), **state}
    return models


# ---------------------------------------------------------------- using each kind of widget


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


# For each explorer, actions and a text that the page then shows. A new explorer needs a line here.
EXPLORERS = {
    "causal": [(tick("mask on"), "The weight on the future goes to the other positions")],
    "dot_product": [
        (slide("angle of b", "End"), "Negative: "),
        (slide("length of a", "Home"), "points nowhere"),
    ],
    "inventory": [(press("Begin"), "Question 1 of 12"), (press("Skip"), "Question 2 of 12")],
    "layer_norm": [(slide("multiply by", "Home"), "eps keeps the result small")],
    "next_token": [(slide("temperature", "Home"), "Temperature 0 is greedy"), (press("Sample"), "Taken: ")],
    "patching": [(press("before block 1, position 13"), "the twin's vector before block 1, position 13 (to)")],
    "positions": [(slide("d_model", "Home"), "the pattern repeats")],
    "query": [(slide("query, across", "Home"), "another direction favours other keys")],
    "regression": [(slide("μ", "Home"), "Below the curve")],
    "scaling": [(tick("divide by √d_k"), "The scores, divided by √d_k")],
    "sentence": [(write("Mary likes the cat and Tom likes the dog"), "Kept: 9 tokens.")],
    "softmax": [(slide("multiply by", "Home"), "largest weight 0.17")],
    "sorter": [(write("cab"), "cab becomes abc."), (write("cax"), "Type three letters")],
    "tokens": [(write("I like <b>😀"), "only parts of a character")],
    "volume": [(slide("key rises by", "Home"), "in the plane of query and reference")],
    "writer": [(write("journal echo"), "journal echo journal")],
}


def calls(stem: str, module: str = "explore", name: str = "") -> dict[int, ast.Call]:
    """Return the lesson's calls of a module's functions whose names begin with `name`, by the number of the code cell.

    The call of the inventory counts as a call of `explore`. A cell may contain only one such call.
    """
    code = [
        cell.source for cell in nbformat.read(SOLVED / f"{stem}.ipynb", as_version=4).cells if cell.cell_type == "code"
    ]
    found = [
        (number, node)
        for number, source in enumerate(code)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).replace("progress().inventory", "explore.inventory").startswith(f"{module}.{name}")
        and ast.unparse(node.func) != "explore.my_sentence"  # returns a string, not a widget
    ]
    assert len(dict(found)) == len(found), f"{stem}: two calls of {module} in one cell"
    return dict(found)


# Values for the small GPT-2 that two answers of lesson 05 use; tests/course/test_multihead_attention.py measures them.
SMALL = {
    "source": SimpleNamespace(d_model=192, d_head=16),
    "first_against_others": lambda head, texts: 1.41,
    "resting": 11,
    "sentences": [],
}


def given(name: str, call: ast.Call) -> dict[str, object]:
    """Return the arguments of a `predict` or a `quiz` by name; they are literals, arithmetic and names in `SMALL`."""
    positional = [eval(ast.unparse(value), SMALL) for value in call.args]
    named = {keyword.arg: eval(ast.unparse(keyword.value), SMALL) for keyword in call.keywords}
    return inspect.signature(getattr(explore, name)).bind(*positional, **named).arguments


def typed(answer: object) -> str:
    """Format an answer as a learner types it."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)


def use(cell: Locator, call: ast.Call) -> str:
    """Use the widget as a learner does, and return a text that stays on the page."""
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
    assert name in EXPLORERS, f"add explore.{name} to EXPLORERS in tests/browser/widgets.py"
    before = picture(cell)
    for act, words in EXPLORERS[name]:
        assert words not in cell.inner_text()
        act(cell)
        expect(cell).to_contain_text(words, use_inner_text=True)  # ignores hidden text that only reserves space
    assert picture(cell) != before or not before
    return words


def picture(cell: Locator) -> str:
    return cell.locator(".coginst svg[role=img]").evaluate_all("all => all.map(svg => svg.innerHTML).join()")


# ---------------------------------------------------------------- checking the page


def widgets_are_there(notebook: browser.Notebook, cells: Iterable[int]) -> None:
    """Check that each cell shows its widget, and that no output reports a missing widget."""
    for number in cells:
        expect(notebook.code_cells().nth(number).locator(".jp-OutputArea-output .coginst").first).to_be_visible()
    for words in ("Error displaying widget", "Loading widget", "model not found", "Widget not found"):
        expect(notebook.panel.get_by_text(words)).to_have_count(0)


def too_wide(notebook: browser.Notebook) -> list[str]:
    """Return the elements that cross the right edge of their output or are cut off inside a widget."""
    script = """areas => areas.flatMap(area => {
        const edge = area.getBoundingClientRect().right + 1;
        return [...area.querySelectorAll('*')]
            .filter(part => !part.closest('svg') || part.matches('svg, text'))  // shapes in a drawing may be clipped
            .filter(part => part.checkVisibility() && part.getBoundingClientRect().width > 0)
            .filter(part => part.getBoundingClientRect().right > edge
                || part.matches('button, label') && part.scrollWidth > part.clientWidth + 1)
            .map(part => `${part.tagName}.${part.getAttribute('class')}: ${part.textContent.slice(0, 60)}`);
    })"""
    return notebook.panel.locator(".jp-OutputArea-output").evaluate_all(script)
