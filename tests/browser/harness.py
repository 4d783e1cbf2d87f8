"""A learner's browser: JupyterLab, or Notebook 7, on a copy of a course folder, driven in real headless Chromium.

A test takes the Lab that its worker has running (the fixture `lab`), or starts one of its own:

    with serve(tmp_path, notebooks=[...]) as url, open_lab(chromium, url) as page:
        notebook = Notebook(page)
        notebook.run_all()
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import Empty, Queue
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.browser import axe
from tests.browser.contrast import faint
from utils.lessons import ROOT

PICTURES = ROOT / "build" / "browser"

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --disable-dev-shm-usage"
).split()

# The shell is Chromium without what draws windows: the same pages for a seventh of the work of opening one.
_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SHOWN = ".jp-NotebookPanel:not(.lm-mod-hidden)"
# One range for each test worker: Jupyter looks for a free port first and takes it later, and two may find the same.
_PORT = 8988 + 100 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
# How to start a program on a folder, at a port, with a notebook open; the course's own command, and Jupyter's.
LAB = ("-c", "import sys; from utils.cli.lab import lab; lab({port}, False, sys.argv[1])", "{folder}")
NOTEBOOK = (
    "-m", "notebook", "--no-browser", "--allow-root", "--port={port}", "--ServerApp.root_dir={folder}",
    "--JupyterNotebookApp.default_url=/notebooks/{first}",
)  # fmt: skip
# Every cell in the page at once (as it comes, Lab draws only those in view), and no saving but the test's own: Lab asks
# what to do with a file that has changed on the disk when two of its saves overlap.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "docmanager-extension/plugin": {"autosave": False},
}
# A kernel that is shut down is killed at once: to take torch down in order costs half a second.
_CONFIG = {
    **{name: {"expose_app_in_browser": True} for name in ("LabApp", "JupyterNotebookApp")},
    "KernelManager": {"shutdown_wait_time": 0.1},
}
# Before that, Lab shows an empty notebook that is "idle", then the file's cells; what is run then is dropped without a
# word.
_READY = """() => {
    const shown = window.jupyterapp?.shell.currentWidget, cells = shown?.content?.widgets ?? [];
    const kernel = shown?.sessionContext?.isReady && shown.sessionContext.session?.kernel;
    const drawn = shown?.content?.notebookConfig?.windowingMode !== 'none' || cells.every(cell => cell.isAttached);
    const connected = kernel && kernel.connectionStatus === 'connected' && kernel.status === 'idle';
    return shown?.context?.isReady && drawn && connected;
}"""
# As the menu does it. Lab's own promise ends with the first error, even of a cell that may raise: each cell's goes on.
# The numbers of an earlier run go first: a cell that then has one was run.
_RUN_ALL = """() => {
    const {content} = window.jupyterapp.shell.currentWidget;
    window.ran = false;
    content.widgets.filter(cell => cell.outputArea).forEach(cell => { cell.model.executionCount = null; });
    const rest = () => Promise.allSettled(content.widgets.map(cell => cell.outputArea?.future?.done));
    const end = () => { window.ran = true; };
    window.jupyterapp.commands.execute('notebook:run-all-cells').then(rest, rest).then(end);
}"""
_ENDED = "() => window.ran && window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
# A cell without a number was not run. After one that raised, the kernel drops what has reached it by then: the rest may
# run or not, as fast as it comes; so it counts as well, unless it may raise. A cell that shows no source has no number.
_NOT_PAST = """() => {
    const number = cell => /\\[\\d+\\]/.test(cell.node.querySelector('.jp-InputPrompt').innerText);
    const raised = ({model}) => model.outputs.toJSON().some(output => output.output_type === 'error')
        && !(model.getMetadata('tags') ?? []).includes('raises-exception');
    return window.jupyterapp.shell.currentWidget.content.widgets
        .filter(cell => cell.outputArea && (!number(cell) || raised(cell)))
        .map(cell => cell.node.querySelector('.cm-content')?.innerText.trim()).filter(Boolean);
}"""
_TYPED = """([cell, source]) => window.jupyterapp.shell.currentWidget.content.widgets
    .find(widget => widget.node === cell).model.sharedModel.getSource() === source"""
_DRAWN = """cell => {
    const {content, sessionContext} = window.jupyterapp.shell.currentWidget;
    const outputs = content.widgets.find(widget => widget.node === cell).model.outputs.length;
    const drawn = cell.querySelectorAll('.jp-OutputArea-child').length;
    return sessionContext.session.kernel.status === 'idle' && drawn >= Math.min(outputs, 50);
}"""
# A broken link, in red, stands before each widget whose kernel is gone.
_DISCONNECTED = """panel => [...panel.querySelectorAll('.jupyter-widgets-disconnected')]
    .filter(node => getComputedStyle(node, '::before').content !== 'none').length"""
_SAVE = """() => {
    const {saveState} = window.jupyterapp.shell.currentWidget.context;
    window.saved = '';
    saveState.connect(function heard(_, state) {
        if (state === 'started') return;
        window.saved = state;
        saveState.disconnect(heard);
    });
}"""
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
WINDOW = {"width": 1280, "height": 900}
# Without Lab's two questions, whether that is meant, and what to do with what was not saved.
_PUT_AWAY = """async () => {
    const shown = window.jupyterapp.shell.currentWidget;
    await shown.sessionContext.shutdown();
    shown.context.model.dirty = false;
    shown.dispose();
}"""
# Milliseconds. A busy machine is slow, and none of this is about speed: limits are for what hangs.
_PATIENCE, _HANGS = 120_000, 600_000
expect.set_options(timeout=_PATIENCE)


def find_chromium() -> str:
    """The path of a Chromium: $CHROMIUM, else the first on PATH. There is no skipping without one."""
    for name in filter(None, (os.environ.get("CHROMIUM"), *_PROGRAMS)):
        if found := shutil.which(name):
            return found
    raise AssertionError("THE BROWSER TESTS DID NOT RUN: there is no Chromium here. Run: bash .ci/install-browser")


@contextlib.contextmanager
def launch_browser() -> Iterator[Browser]:
    """A new browser, headless. A process can have one at a time; tests take theirs from the fixture `chromium`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def serve_jupyter(
    folder: Path, notebooks: list[Path], port: int = _PORT, program: tuple[str, ...] = LAB
) -> Iterator[str]:
    """JupyterLab on copies of `notebooks` in `folder`, started as `coginst lab --no-browser` does it, or `NOTEBOOK`.
    Yields its address, at which the first of the notebooks opens.

    The user's own Jupyter settings are out of sight, and nothing is written outside `folder`.
    """
    course = folder / "course"
    course.mkdir(parents=True)
    for notebook in notebooks:
        shutil.copy(notebook, course)
    for name, chosen in SETTINGS.items():
        settings = folder / "config" / "lab" / "user-settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps(chosen), encoding="utf-8")
    (folder / "config" / "jupyter_server_config.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "offline")]),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "IPYTHONDIR": str(folder / "ipython"),
    }
    words = [word.format(folder=course, port=port, first=notebooks[0].name) for word in program]
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=folder, env=environment, encoding="utf-8",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        yield _address(process)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _address(process: subprocess.Popen) -> str:
    """The address that the server prints. Reads on in the background, so that its pipe never fills."""
    lines: Queue[str] = Queue()

    def listen() -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put("")  # it has ended

    threading.Thread(target=listen, daemon=True).start()
    said = []
    with contextlib.suppress(Empty):
        while line := lines.get(timeout=_PATIENCE / 1000):
            said.append(line)
            if found := re.search(r"http://\S+token=\S+", line):
                return found[0]
    raise AssertionError(f"The server printed no address, only:\n{''.join(said)}")


@contextlib.contextmanager
def open_lab(browser: Browser, url: str) -> Iterator[Page]:
    """A window with no past, at `url`, once Lab is up. On leaving, no request may have left this machine."""
    asked: list[str] = []
    window = browser.new_context(viewport=WINDOW)
    page = window.new_page()
    page.set_default_timeout(_PATIENCE)
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    page.goto(url)
    try:
        with screenshot_on_failure(page, "failure"):
            _await_ready(page)
            yield page
    finally:
        window.close()
    outside = outside_loopback(asked)
    assert not outside, f"the page asked for things outside this machine: {outside}"


class Lab:
    """A JupyterLab whose window has no notebook open.

    Attributes:
        page: the window.
        folder: what it serves.
        data: where Jupyter keeps which notebooks are trusted.
    """

    def __init__(self, page: Page, url: str, root: Path) -> None:
        self.page, self.folder, self.data, self._url = page, root / "course", root / "data", url

    def replace_notebooks(self, notebooks: Iterable[Path]) -> None:
        """Have copies of these files in its folder, and nothing else."""
        for old in self.folder.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        for path in notebooks:
            shutil.copy(path, self.folder)
        self.page.evaluate("() => window.jupyterapp.commands.execute('filebrowser:refresh')")

    def open_notebook(self, name: str) -> Notebook:
        """Open a notebook of the folder, as by a double click in the list of files; once it can run cells."""
        return open_from_file_list(self.page, name)

    def notebook_url(self, name: str) -> str:
        """Where a notebook of the folder opens in a page that is loaded anew."""
        return self._url.replace(urlsplit(self._url).path, f"/lab/tree/{name}")

    def is_clean(self) -> bool:
        """Whether the window is as it was: no notebook is open, and it has its own size."""
        return self.page.viewport_size == WINDOW and not self.page.locator(".jp-NotebookPanel").count()


def open_from_file_list(page: Page, name: str) -> Notebook:
    """Open the notebook from Lab's list of files, as by a double click; once it can run cells."""
    page.locator(".jp-DirListing-item", has_text=name).dblclick()
    expect(page.locator(_SHOWN)).to_be_visible()
    _await_ready(page)
    return Notebook(page)


def open_in_reloaded_page(page: Page, url: str) -> Notebook:
    """The notebook at `url` in a page that is loaded anew; nothing in it is run."""
    page.goto(f"{url}&reset")
    _await_ready(page)
    return Notebook(page)


def close_notebook(page: Page) -> None:
    """Close the notebook, and shut down its kernel; what was not saved is lost."""
    page.evaluate(_PUT_AWAY)


def toggle_file_list(page: Page) -> None:
    """Show or hide the list of files."""
    page.keyboard.press("ControlOrMeta+b")


def _await_ready(page: Page) -> None:
    """Wait until the notebook that the page shows has its cells, and is connected to a kernel that rests."""
    page.wait_for_function(_READY)
    page.wait_for_timeout(500)  # the page asks the kernel for its widgets


def outside_loopback(urls: list[str]) -> list[str]:
    """Those of `urls` that are fetched from another machine."""
    parts = [(url, urlsplit(url)) for url in urls]
    return [
        url
        for url, part in parts
        if part.scheme not in ("data", "blob") and part.hostname not in ("127.0.0.1", "localhost", "::1")
    ]


def choose_menu_item(page: Page, *path: str) -> None:
    """Choose from Lab's menu bar: `menu(page, "Run", "Run All Cells")`."""
    page.locator(".lm-MenuBar-itemLabel", has_text=re.compile(f"^{path[0]}$")).click()
    for depth, label in enumerate(path[1:]):
        item = (
            page.locator(".lm-Menu")
            .nth(depth)
            .locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{re.escape(label)}$"))
        )
        item.hover()
    item.click()


def set_theme(page: Page, name: str) -> None:
    """Switch Lab to its "Light" or "Dark" theme, if it is another, and wait until it shows."""
    if page.locator("body").get_attribute("data-jp-theme-light") == str(name == "Light").lower():
        return
    choose_menu_item(page, "Settings", "Theme", f"JupyterLab {name}")
    page.wait_for_selector(f'body[data-jp-theme-light="{str(name == "Light").lower()}"]', state="attached")
    page.wait_for_timeout(300)  # colours fade in


@contextlib.contextmanager
def screenshot_on_failure(page: Page, name: str) -> Iterator[None]:
    """Keep what the page shows when what is done within fails."""
    try:
        yield
    except BaseException:
        _save_screenshot(page, name)
        raise


def screenshots_enabled() -> bool:
    """Whether somebody will look at pages that are as they should be: `make browser-test` says so."""
    return "COURSE_PICTURES" in os.environ


def screenshot(shown: Page | Locator, name: str) -> None:
    """Keep what the page shows, or one part of it, as build/browser/NAME.png, where pictures are wanted."""
    if screenshots_enabled():
        _save_screenshot(shown, name)


def _save_screenshot(shown: Page | Locator, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    shown.screenshot(path=PICTURES / f"{name}.png")


class Notebook:
    """The notebook that the page shows."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.panel = page.locator(_SHOWN)

    def code_cells(self) -> Locator:
        """Its code cells, in order."""
        return self.panel.locator(".jp-CodeCell")

    def sources(self) -> list[str]:
        """The source of each code cell, as shown: empty where it is folded away."""
        script = "cells => cells.map(cell => cell.querySelector('.cm-content')?.innerText ?? '')"
        return [source.replace("\u00a0", " ") for source in self.code_cells().evaluate_all(script)]

    def cell(self, text: str) -> Locator:
        """The first code cell whose source holds `text`; it stays that cell when its source changes."""
        found = [number for number, source in enumerate(self.sources()) if text in source]
        assert found, f"no code cell of the notebook holds {text!r}"
        return self.code_cells().nth(found[0])

    def check_outputs(self) -> list[str]:
        """What each of its exercises' cells says."""
        return [self.outputs(self.code_cells().nth(n)) for n, text in enumerate(self.sources()) if "\ncheck(" in text]

    def run_all(self) -> None:
        """Run All Cells; wait until the run has ended, and the kernel rests.

        A run that stops on the way, or would have with a faster page, is an AssertionError.
        """
        self.page.evaluate(_RUN_ALL)
        self.page.wait_for_function(_ENDED, timeout=_HANGS)
        stuck = self.page.evaluate(_NOT_PAST)
        assert not stuck, f"Run All did not get past {stuck[0]!r}. Red on the page: {self.errors()}"

    def type(self, cell: Locator, source: str) -> None:
        """Replace the cell's source, as by hand: select all, type; once the notebook has it."""
        editor = cell.locator(".cm-content")
        editor.click()
        expect(editor).to_be_focused()
        self.page.keyboard.press("ControlOrMeta+A")
        self.page.keyboard.insert_text(source)
        self.page.wait_for_function(_TYPED, arg=[cell.element_handle(), source])

    def run(self, cell: Locator) -> str:
        """Run the cell and wait for its new number, and for its outputs; returns their text."""
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        expect(prompt).not_to_have_text(before)
        expect(prompt).to_have_text(re.compile(r"\[\d+\]"), timeout=_HANGS)
        self.page.wait_for_function(_DRAWN, arg=cell.element_handle())
        self.page.wait_for_timeout(200)  # an output's own script may write into it
        return self.outputs(cell)

    def outputs(self, cell: Locator) -> str:
        """The text of the cell's outputs, as a reader sees it."""
        return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts())

    def revert_to_file(self) -> None:
        """Take the cells that the file has by now, without Lab's question whether that is meant; the kernel stays."""
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.revert()")
        self.page.wait_for_function(_READY)

    def save(self, path: Path) -> dict:
        """Save as by hand, and read what is on the disk, once the server has written all of it."""
        self.page.evaluate(_SAVE)
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("ControlOrMeta+s")
        saved = self.page.wait_for_function("() => window.saved").json_value()
        assert saved == "completed", f"{path.name} was not saved: {saved}"
        return json.loads(path.read_text(encoding="utf-8"))

    def accessibility_violations(self) -> list[str]:
        """What in the outputs would stop somebody who listens, or who sees little, in the theme that is on."""
        outputs = f"{_SHOWN} .jp-OutputArea-output"
        if not self.page.locator(outputs).count():
            return []
        return axe.violations(self.page, outputs) + faint(self.page.locator(outputs))

    def has_unsaved_changes(self) -> bool:
        """Whether Jupyter shows the page as changed since it was saved."""
        return self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.model.dirty")

    def count_disconnected_widgets(self) -> int:
        """How many widgets have the red mark of a kernel that is gone."""
        return self.panel.evaluate(_DISCONNECTED)

    def errors(self) -> list[str]:
        """The text of every red output: tracebacks, and what was written to stderr."""
        red = '[data-mime-type="application/vnd.jupyter.error"], [data-mime-type="application/vnd.jupyter.stderr"]'
        return self.panel.locator(red).all_inner_texts()
