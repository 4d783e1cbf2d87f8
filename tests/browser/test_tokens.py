"""Attention pictures and token explorers in a real browser: without a network, after saving, and untrusted."""

import json
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Page, expect

from tests.browser import harness as browser
from utils.show.circuitsvis import MISSING, TRUST

FIRST = "show.attention(['<|endoftext|>', ' a', ' b'], torch.eye(3).repeat(7, 1, 1))"
SECOND = "show.attention(['</script><b>x', '<!--', 'it\\'s \"q\"\\n\\u2028'], torch.full((2, 3, 3), 1 / 3))"
TOKENS = "from utils import explore, gpt2\nexplore.tokens(gpt2.load_tokenizer())"
NEXT = """import torch
from types import SimpleNamespace

def model(ids):  # after each token comes the token with the next id
    return SimpleNamespace(logits=12.0 * torch.nn.functional.one_hot((ids + 1) % 50257, 50257))

explore.next_token(model, gpt2.load_tokenizer(), " a b")"""
PACKED = "DecompressionStream"  # occurs only in an output with the library


def write(path: Path, cells: list[str]) -> Path:
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in cells], metadata=browser.KERNEL), path)
    return path


def await_drawn(page: Page, cell: str, count: int) -> None:
    """Wait until circuitsvis has painted `count` canvases in the output of the cell, without a fallback text."""
    place = browser.Notebook(page).cell(cell)
    canvases = place.locator("[data-place] canvas")
    expect(canvases).to_have_count(count)
    script = """place => [...place.querySelectorAll('[data-place] canvas')].every(canvas => {
        const data = canvas.width && canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return data && data.some(value => value);
    })"""
    page.wait_for_function(script, arg=place.element_handle())
    expect(canvases).to_have_count(count)
    expect(place.locator("[data-words]")).to_have_count(0)


def carriers(notebook: dict) -> list[int]:
    """Return the numbers of the cells whose outputs contain the library."""
    return [i for i, cell in enumerate(notebook["cells"]) if PACKED in json.dumps(cell.get("outputs", []))]


def test_attention_is_drawn_again_and_again(lab: browser.Lab, tmp_path: Path) -> None:
    """The notebook has one copy of the library; each figure is drawn after every run, and after saving and opening."""
    figures = write(
        tmp_path / "00_figures.ipynb", ["import torch\nfrom utils import show", FIRST, SECOND, f"{FIRST}  # again"]
    )
    lab.replace_notebooks([figures])
    path, page, notebook = lab.folder / figures.name, lab.page, lab.open_notebook(figures.name)
    with browser.screenshot_on_failure(page, "attention-failure"):
        notebook.run_all()
        for cell, count in ((FIRST, 8), (SECOND, 3), ("# again", 8)):
            await_drawn(page, cell, count)
        browser.screenshot(notebook.cell(FIRST), "attention-light")
        kept = browser.Notebook(page).save(path)
        assert carriers(kept) == [1]
        sent = json.loads(json.dumps(kept))
        html = ["".join(cell["outputs"][0]["data"]["text/html"]) for cell in kept["cells"][1:]]
        assert html[0].startswith(html[2]), "equal figures must give equal outputs"
        assert "</script><b>" not in html[1] and len(html[1]) < 100_000 < len(html[0])

        notebook.run(notebook.cell(SECOND))  # runs another cell again: the library stays in its cell
        notebook.run(notebook.cell(FIRST))  # runs the cell with the library again: its new output has the library
        await_drawn(page, SECOND, 3)
        await_drawn(page, FIRST, 8)
        assert carriers(browser.Notebook(page).save(path)) == [1]
        browser.set_theme(page, "Dark")
        browser.screenshot(notebook.cell(FIRST), "attention-dark")

        notebook.type(notebook.cell(FIRST), "'no figure here any more'")
        notebook.run(notebook.cell("no figure here"))
        notebook.run(notebook.cell(SECOND))  # the library is lost, so the next figure includes it
        await_drawn(page, SECOND, 3)
        assert carriers(browser.Notebook(page).save(path)) == [2]
        assert notebook.errors() == []

        notebook = browser.open_in_reloaded_page(page, lab.notebook_url(figures.name))  # trusted; no cell is run
        await_drawn(page, SECOND, 3)
        await_drawn(page, "# again", 8)
        notebook.cell(SECOND).locator(".jp-InputPrompt").click()
        page.keyboard.press("d")
        page.keyboard.press("d")
        assert carriers(browser.Notebook(page).save(path)) == []

        # Trusted, but the library was deleted with its cell; the kernel is the same.
        notebook = browser.open_in_reloaded_page(page, lab.notebook_url(figures.name))
        cell = notebook.cell("# again")
        expect(cell.locator("[data-words]")).to_have_text(MISSING)
        expect(cell.locator("[data-twin] svg[aria-label*='head 6']")).to_be_visible()
        notebook.run(cell)
        await_drawn(page, "# again", 8)

        sent["cells"][-1]["source"] = "'sent'"  # a notebook from somebody else has no signature of this machine
        path.with_name("02_sent.ipynb").write_text(json.dumps(sent), encoding="utf-8")
        notebook = browser.open_in_reloaded_page(page, lab.notebook_url("02_sent.ipynb"))
        cell = notebook.cell("'sent'")
        expect(cell).to_contain_text(TRUST)
        expect(cell).to_contain_text("head 6")  # Lab removes the picture and keeps its text
        assert cell.locator("canvas").count() == 0
        browser.screenshot(cell, "attention-untrusted")
        browser.choose_menu_item(page, "View", "Activate Command Palette")  # as the text tells the learner
        page.keyboard.type("Trust Notebook")
        page.keyboard.press("Enter")
        page.locator(".jp-Dialog .jp-mod-accept").click()
        await_drawn(page, "'sent'", 8)
        browser.set_theme(page, "Light")
        browser.close_notebook(page)


def test_the_token_explorers_answer(lab: browser.Lab, tmp_path: Path) -> None:
    explorers = write(tmp_path / "00_explorers.ipynb", [TOKENS, NEXT])
    lab.replace_notebooks([explorers])
    page, notebook = lab.page, lab.open_notebook(explorers.name)
    with browser.screenshot_on_failure(page, "explorers-failure"):
        notebook.run_all()
        tokens, following = notebook.cell("explore.tokens("), notebook.cell("explore.next_token(")
        box = tokens.locator("textarea").last
        box.fill("I like <b>😀")
        expect(tokens).to_contain_text("·like")
        expect(tokens).to_contain_text("parts of a character", use_inner_text=True)
        expect(tokens).to_contain_text("·<")
        expect(following).to_contain_text("the model's own probabilities", use_inner_text=True)
        following.get_by_role("button", name="Sample").click()
        expect(following).to_contain_text("Sampled: ", use_inner_text=True)
        expect(following.locator(".chip.drawn")).to_have_count(1)  # the kernel has answered
        prompt = following.locator("input[type=text]").first
        prompt.fill("a b c")
        prompt.press("Enter")
        expect(following).not_to_contain_text("Sampled: ", use_inner_text=True)
        expect(following.locator(".chip")).to_have_count(3)
        expect(following).not_to_contain_text("kernel", use_inner_text=True)
        expect(following.locator("svg[aria-label*='probability']")).to_be_visible()
        browser.set_theme(page, "Dark")
        browser.screenshot(tokens, "explore-tokens-dark")
        browser.screenshot(following, "explore-next-token-dark")
        assert notebook.errors() == []
        browser.set_theme(page, "Light")
        browser.close_notebook(page)
