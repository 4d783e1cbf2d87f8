"""The display of a training run: what the kernel sends, what a stopped run leaves, and what the page shows."""

import json

import nbformat
import pytest
from nbclient import NotebookClient

from utils.lessons import ROOT
from utils.show.widget import make_widget
from utils.training import training_display
from utils.training.training_display import LINES, POINTS, TerminalDisplay, is_in_notebook, open_training_display

CODE = """
import torch
from solutions import toy_transformer as lesson
from utils.models import toy_transformer as toy
from utils.training.loop import train

def learn(steps, stop=None, **how):
    torch.manual_seed(0)
    model, losses = lesson.CogModel(55, 8, 1), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    shown = how or dict(model=model, losses=losses)
    for batch in toy.batches(steps, 8, **shown):
        if len(losses) == stop:
            raise KeyboardInterrupt
        losses.append(lesson.training_step(model, optimizer, batch))
    return losses, model

def fit(steps, stop=None, worth=1.0, **how):
    x = torch.nn.Parameter(torch.tensor(5.0))
    def loss(step):
        if step == stop:
            raise KeyboardInterrupt
        return worth * x ** 2 / (step + 1)
    return train(loss, torch.optim.SGD([x], lr=0.0), steps, title="a parabola", log_every=1, **how)
"""
CELLS = {
    "whole": "losses, model = learn(28)\nprint(losses, toy.generate_greedily(model, 'minecraft upper', 13))",
    "stopped": "learn(28, stop=9)",
    "silent": "learn(3, progress=False)",
    "nothing done": "learn(3, stop=0)",
    "a loop": "fit(1000)",
    "a loop stopped": "print(fit(1000, stop=600).done)",
    "a silent loop": "fit(3, progress=False)",
    "no number": "fit(3, worth=float('nan'))",
}


@pytest.fixture(scope="module")
def ran():
    """Run a notebook. Return {name: (text of the widget, traits of the widget or None, printed text)}."""
    cells = [nbformat.v4.new_code_cell(code) for code in (CODE, *CELLS.values())]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(notebook, timeout=600, allow_errors=True, kernel_name="python3", coalesce_streams=True)
    client.execute(cwd=str(ROOT))
    widgets = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    results = {}
    for name, cell in zip(CELLS, cells[1:]):
        words, traits, printed = None, None, ""
        for output in cell.outputs:
            if output.output_type == "stream":
                assert output.name == "stdout", output  # otherwise a terminal's progress bar
                printed += output.text
            elif "application/vnd.jupyter.widget-view+json" in output.get("data", {}):
                assert words is None, "shown twice"
                words = output.data["text/plain"]
                traits = widgets[output.data["application/vnd.jupyter.widget-view+json"]["model_id"]]["state"]
        results[name] = words, traits, printed
    return results


def test_a_notebook_keeps_the_whole_training(ran, snapshot):
    words, traits, printed = ran["whole"]
    losses, text = printed.strip()[1:].split("] ")
    assert traits["start"] == {
        "steps": 28, "title": "training", "first": 0, "prompt": "minecraft upper", "right": "MINECRAFT.", "lines": 15,
    }  # fmt: skip
    state = traits["state"]
    assert state["done"] == 28 and state["running"] is False and "left" not in state
    expected = [[i + 1, pytest.approx(loss, abs=1e-6)] for i, loss in enumerate(json.loads(f"[{losses}]"))]
    assert state["losses"] == expected and state["loss"] == expected[-1][1]
    assert [step for step, _ in state["lines"]] == [1, *range(2, 29, 2)] and state["lines"][-1][1] == f"{text}"
    assert words == snapshot


def test_a_stopped_training_says_so(ran, snapshot):
    words, traits, _ = ran["stopped"]
    state = traits["state"]
    assert state["done"] == 9 and state["running"] is False and len(state["losses"]) == 9
    assert state["lines"][-1][0] == 9  # what the half-trained model writes
    assert words == snapshot


def test_a_run_without_steps_shows_nothing(ran):
    for name in ("silent", "nothing done", "a silent loop", "no number"):
        assert ran[name] == (None, None, "")


def test_the_loop_shows_itself_and_keeps_a_curve_of_bounded_size(ran, snapshot):
    words, traits, _ = ran["a loop"]
    state = traits["state"]
    assert traits["start"] == {"steps": 1000, "title": "a parabola", "first": 0}
    assert state["losses"] == [[step, pytest.approx(25 / step, abs=1e-6)] for step in range(1, 1001, 3)]
    assert len(state["losses"]) <= POINTS and state["loss"] == pytest.approx(0.025) and state["lines"] == []
    assert words == snapshot(name="whole")
    words, traits, printed = ran["a loop stopped"]
    assert traits["state"]["done"] == 600 == int(printed) and not traits["state"]["running"]
    assert words == snapshot(name="stopped")


def test_in_a_terminal_it_is_a_bar(capsys):
    assert not is_in_notebook()
    bar = open_training_display(4, "a parabola")
    assert isinstance(bar, TerminalDisplay)
    bar.update(2, 0.5)
    bar.update(4)
    bar.close()
    out, err = capsys.readouterr()
    assert "a parabola" in err and "4/4" in err and "loss=0.5000" in err and out == ""


# ---------------------------------------------------------------- in a page

START = {"steps": 40, "title": "training", "first": 0, "prompt": "minecraft upper", "right": "MINECRAFT.", "lines": 15}


def state(done, running=True, **more):
    losses = [[step, 4 / step] for step in range(1, done + 1)]
    lines = [[1, "xx"], [done, " MINE"]]
    return {"done": done, "loss": losses[-1][1], "losses": losses, "lines": lines, "running": running, **more}


def page_of(show_widget, at, start=START, **how):
    return show_widget(make_widget(training_display.__file__, "Training.", start, at), **how)


def test_the_page_follows_the_kernel(show_widget, snapshot):
    page = page_of(show_widget, state(4, left=12.2))
    assert page.facts() == {"step": "4 of 40", "loss": "1.0000", "time left": "about 12 s"}
    assert page.remark() == snapshot(name="running")
    page.set_state(state(20, left=0.4))
    assert page.facts() == {"step": "20 of 40", "loss": "0.2000"} and page.numbers()["share"] == 0.5
    curve = page.root.locator("svg path").get_attribute("d")
    assert curve.count("L") == 19
    rows = page.root.locator("svg text", has=page.page.locator("tspan"))
    assert rows.all_text_contents() == ["xx", "MINE"]
    fills = rows.last.locator("tspan").evaluate_all("all => all.map(one => one.style.fill)")
    assert fills == ["var(--blue)"] * 4
    assert page.root.get_by_text("blue: right").is_visible()
    page.set_state(state(40, running=False))
    assert page.remark() == snapshot(name="done")
    assert page.remark() in page.root.get_by_role("status").inner_text()


def test_a_stopped_training_stays_as_it_ended(show_widget, snapshot):
    page = page_of(show_widget, state(12, running=False))
    assert page.remark() == snapshot


def test_a_page_without_news_from_its_kernel_says_so(show_widget, snapshot):
    page = page_of(show_widget, state(12, left=30))
    page.page.clock.install()
    page.set_state(state(13, left=29))
    running = page.remark()
    page.page.clock.run_for(19_000)
    assert page.remark() == running
    page.set_state(state(14, left=28))
    page.page.clock.run_for(19_000)
    assert page.remark() == running and "time left" in page.facts()
    page.page.clock.run_for(2_000)
    assert page.remark() == snapshot(name="silent") and "time left" not in page.facts()
    page.set_state(state(40, running=False))
    page.page.clock.run_for(60_000)
    assert page.remark() == snapshot(name="done")


def test_a_loss_that_is_no_number_is_reported(show_widget, snapshot):
    page = page_of(show_widget, {**state(3), "loss": "nan"})
    assert page.facts()["loss"] == "not a number" and page.remark() == snapshot


def test_without_losses_there_is_a_bar(show_widget):
    start = {"steps": 40, "title": "2 heads", "first": 20}
    page = page_of(show_widget, {**state(25), "loss": None, "losses": [], "lines": []}, start)
    bars = page.root.locator("svg rect")
    widths = [float(bars.nth(i).get_attribute("width")) for i in (0, 1)]
    assert widths[1] == pytest.approx(widths[0] / 4) and page.facts() == {"step": "25 of 40"}
    assert page.picture_label().startswith("2 heads.")


@pytest.mark.parametrize("width", [360, 800])
def test_it_fits(show_widget, width):
    at = {**state(40), "lines": [[i, " MMMMMMMMMMMMM"] for i in range(LINES + 1)]}
    page = page_of(show_widget, at, width=width)
    assert page.right_edge() <= width - 16
    curve = page.root.locator("svg path").bounding_box()
    lines = page.root.locator("svg text", has=page.page.locator("tspan")).first.bounding_box()
    assert curve["width"] > 250
    assert (lines["y"] > curve["y"] + curve["height"]) == (width == 360)  # below the curve, or beside it
