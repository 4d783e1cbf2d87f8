"""Drive a learner's browser: JupyterLab or Notebook 7 on a copy of a course folder, in a real headless Chromium.

A test uses the running Lab of its worker (the fixture `lab`), or starts its own:

    with serve_jupyter(tmp_path, notebooks=[...]) as url, open_lab(chromium, url) as page:
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
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from queue import Empty, Queue
from urllib.parse import urlsplit

import nbformat
from nbformat.sign import NotebookNotary
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.browser import axe
from tests.browser.contrast import faint
from utils.lessons import ROOT

PICTURES = ROOT / "build" / "browser"

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --disable-dev-shm-usage"
).split()

# The headless shell is Chromium without windows. It opens a page seven times as fast.
_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SHOWN = ".jp-NotebookPanel:not(.lm-mod-hidden)"
# Each test worker has its own range of ports. Jupyter first looks for a free port and opens it later, so two workers
# could otherwise choose the same port.
_PORT = 8988 + 100 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
# Arguments that start the course's own command or Jupyter's on a folder, at a port, with an open notebook.
LAB = ("-c", "import sys; from utils.cli.lab import lab; lab({port}, False, sys.argv[1])", "{folder}")
NOTEBOOK = (
    "-m", "notebook", "--no-browser", "--allow-root", "--port={port}", "--ServerApp.root_dir={folder}",
    "--JupyterNotebookApp.default_url=/notebooks/{first}",
)  # fmt: skip
# With these settings, JupyterLab renders all cells, not only the visible cells, and does not save automatically. If two
# saves overlapped, it would ask what to do with a file that has changed on the disk.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "docmanager-extension/plugin": {"autosave": False},
}
# Kill kernels at once: an orderly shutdown with torch takes half a second.
_CONFIG = {
    **{name: {"expose_app_in_browser": True} for name in ("LabApp", "JupyterNotebookApp")},
    "KernelManager": {"shutdown_wait_time": 0.1},
}
# Until JupyterLab is ready, it shows an empty, "idle" notebook and then the cells of the file. It ignores requests to
# run cells during this time.
_READY = """() => {
    const shown = window.jupyterapp?.shell.currentWidget, cells = shown?.content?.widgets ?? [];
    const kernel = shown?.sessionContext?.isReady && shown.sessionContext.session?.kernel;
    const drawn = shown?.content?.notebookConfig?.windowingMode !== 'none' || cells.every(cell => cell.isAttached);
    const connected = kernel && kernel.connectionStatus === 'connected' && kernel.status === 'idle';
    return shown?.context?.isReady && drawn && connected;
}"""
# When JupyterLab has loaded the widgets of a notebook from the kernel, it draws them again and discards typed text.
_RESTORED = """async () => {
    const {rendermime} = window.jupyterapp.shell.currentWidget.content;
    const widget = 'application/vnd.jupyter.widget-view+json';
    if (!rendermime.mimeTypes.includes(widget)) return false;
    const renderer = rendermime.createRenderer(widget), manager = await renderer._manager.promise;
    renderer.dispose();
    return manager.restoredStatus && !manager._kernelRestoreInProgress;
}"""
# Every widget is drawn, or its place shows an error.
_NO_WIDGET_LOADS = """() =>
    [...window.jupyterapp.shell.currentWidget.node.querySelectorAll('.jp-OutputArea-output')]
        .every(output => output.textContent !== 'Loading widget...')"""
# Run all cells, as the menu does. JupyterLab's own promise ends at the first error, even if the cell is allowed to
# raise it, so this script waits for the promise of each cell. It first removes the execution counts of an earlier run,
# so that every cell with a count has run.
_RUN_ALL = """() => {
    const {content} = window.jupyterapp.shell.currentWidget;
    window.ran = false;
    content.widgets.filter(cell => cell.outputArea).forEach(cell => { cell.model.executionCount = null; });
    const rest = () => Promise.allSettled(content.widgets.map(cell => cell.outputArea?.future?.done));
    const end = () => { window.ran = true; };
    window.jupyterapp.commands.execute('notebook:run-all-cells').then(rest, rest).then(end);
}"""
_ENDED = "() => window.ran && window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
# Return the cells that stopped a run: cells without an execution count, and cells that raised an error although they
# should not. After an error, the kernel drops the cells in its queue, but later cells may still run. Cells without
# visible source never have a count and are left out.
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
# JupyterLab shows a red broken link before each widget whose kernel has ended.
_DISCONNECTED = """panel => [...panel.querySelectorAll('.jupyter-widgets-disconnected')]
    .filter(node => getComputedStyle(node, '::before').content !== 'none').length"""
# The command saves, and then makes a checkpoint. Until it has ended, JupyterLab ignores another command to save.
_SAVE = """() => {
    const {commands, shell} = window.jupyterapp, {saveState} = shell.currentWidget.context;
    let state = 'it was not tried';
    const hear = (_, heard) => { state = heard; };
    window.saved = '';
    saveState.connect(hear);
    commands.commandExecuted.connect(function ended(_, {id, result}) {
        if (id !== 'docmanager:save') return;
        commands.commandExecuted.disconnect(ended);
        result.catch(() => {}).then(() => {
            saveState.disconnect(hear);
            window.saved = state;
        });
    });
}"""
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
WINDOW, HALF_WINDOW = {"width": 1280, "height": 900}, {"width": 600, "height": 900}
THEMES = ("Light", "Dark")
# The course's own parts of a notebook. The box around a text is Lab's, and so are the buttons that fold a heading: Lab
# draws them inside the text.
_OWN_PARTS = f"{_SHOWN} :is(.jp-OutputArea-output, .jp-RenderedMarkdown > *)"
_FOLD_BUTTON = ".jp-collapseHeadingButton"
# Close without Lab's two questions, about shutting down the kernel and about unsaved changes.
_PUT_AWAY = """async () => {
    const shown = window.jupyterapp.shell.currentWidget;
    await shown.sessionContext.shutdown();
    shown.context.model.dirty = false;
    shown.dispose();
}"""
# Milliseconds. The limits only stop what hangs; a busy machine may be slow.
_PATIENCE, _HANGS = 120_000, 600_000
expect.set_options(timeout=_PATIENCE)


def find_chromium() -> str:
    """Return the path of a Chromium: $CHROMIUM, or else the first on PATH. Without one, the tests fail."""
    for name in filter(None, (os.environ.get("CHROMIUM"), *_PROGRAMS)):
        if path := shutil.which(name):
            return path
    raise AssertionError("THE BROWSER TESTS DID NOT RUN: no Chromium is installed. Run: bash .ci/install-browser")


@contextlib.contextmanager
def launch_browser() -> Iterator[Browser]:
    """Start a headless browser. A process can have only one at a time; tests use the fixture `chromium`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def serve_jupyter(
    folder: Path,
    notebooks: list[Path],
    port: int = _PORT,
    program: tuple[str, ...] = LAB,
    python: str | Path = sys.executable,
) -> Iterator[str]:
    """Serve copies of `notebooks` in `folder`. Yield the address, which opens the first notebook.

    The default program is JupyterLab, started as by `coginst lab --no-browser`. It does not see the user's own Jupyter
    settings, and writes nothing outside `folder`.
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
        [python, *words],
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
    """Return the address that the server prints. A thread keeps reading, so that the pipe never fills."""
    lines: Queue[str] = Queue()

    def listen() -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put("")  # the server has ended

    threading.Thread(target=listen, daemon=True).start()
    printed = []
    with contextlib.suppress(Empty):
        while line := lines.get(timeout=_PATIENCE / 1000):
            printed.append(line)
            if address := re.search(r"http://\S+token=\S+", line):
                return address[0]
    raise AssertionError(f"The server printed no address, only:\n{''.join(printed)}")


@contextlib.contextmanager
def open_lab(browser: Browser, url: str) -> Iterator[Page]:
    """Open a fresh window at `url` and wait for Lab. At the end, check that no request has left this machine."""
    asked: list[str] = []
    window = browser.new_context(viewport=WINDOW)
    page = window.new_page()
    page.set_default_timeout(_PATIENCE)
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    page.goto(url)
    try:
        with screenshot_on_failure(page, "failure"):
            await_ready(page)
            yield page
    finally:
        window.close()
    outside = outside_loopback(asked)
    assert not outside, f"the page requested URLs outside this machine: {outside}"


class Lab:
    """A JupyterLab whose window has no notebook open.

    Attributes:
        page: the window.
        folder: the folder that it serves.
        data: the folder with Jupyter's list of trusted notebooks.
    """

    def __init__(self, page: Page, url: str, root: Path) -> None:
        self.page, self.folder, self.data, self._url = page, root / "course", root / "data", url

    def replace_notebooks(self, notebooks: Iterable[Path], trusted: bool = False) -> None:
        """Replace the contents of the folder with copies of these files.

        Scripts in outputs run only if `trusted` is true.
        """
        notebooks = [*notebooks]
        # JupyterLab lists the folder again and again, and shows a dialog if a file disappears during this time.
        for old in self.folder.iterdir():
            if old.name not in {path.name for path in notebooks}:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        for path in notebooks:
            partial = shutil.copy(path, self.folder.with_name(f"{path.name}.new"))
            os.replace(partial, self.folder / path.name)
            if trusted:
                NotebookNotary(data_dir=str(self.data)).sign(nbformat.read(path, as_version=4))
        self.page.evaluate("() => window.jupyterapp.commands.execute('filebrowser:refresh')")

    def open_notebook(self, name: str) -> Notebook:
        """Open a notebook by a double click in the list of files, and wait until it can run cells."""
        return open_from_file_list(self.page, name)

    def notebook_url(self, name: str) -> str:
        """Return the address that opens a notebook of the folder in a reloaded page."""
        return self._url.replace(urlsplit(self._url).path, f"/lab/tree/{name}")

    def is_clean(self) -> bool:
        """Tell whether no notebook or dialog is open and the window has its original size."""
        is_open = self.page.locator(".jp-NotebookPanel, .jp-Dialog").count()
        return self.page.viewport_size == WINDOW and not is_open


def open_from_file_list(page: Page, name: str) -> Notebook:
    """Open the notebook by a double click in Lab's list of files, and wait until it can run cells."""

    def double_click() -> None:
        page.locator(".jp-DirListing-item", has_text=name).dblclick()
        expect(page.locator(_SHOWN)).to_be_visible()

    return _open(page, double_click)


def open_in_reloaded_page(page: Page, url: str) -> Notebook:
    """Open the notebook at `url` in a reloaded page without running a cell."""
    return _open(page, lambda: page.goto(f"{url}&reset"))


def _open(page: Page, attempt: Callable[[], object]) -> Notebook:
    """Open a notebook with its widgets; try three times at most.

    On a slow machine, JupyterLab sometimes shows "model not found" instead of a saved widget. When the kernel connects,
    `WidgetManager.restoreWidgets` of jupyterlab_widgets 3.0 may say that all widgets are loaded before it has read
    those of the notebook; an output then waits for its widget for only two seconds (ipywidgets issue 3823).
    """
    for _ in range(3):
        attempt()
        await_ready(page)
        if not page.locator(_SHOWN).get_by_text("model not found").count():
            return Notebook(page)
        close_notebook(page)
    raise AssertionError("widgets of the notebook are missing after three attempts to open it")


def close_notebook(page: Page) -> None:
    """Close the notebook without saving, and shut down its kernel."""
    page.evaluate(_PUT_AWAY)


def toggle_file_list(page: Page) -> None:
    """Show or hide the list of files."""
    page.keyboard.press("ControlOrMeta+b")


def await_ready(page: Page) -> None:
    """Wait until the notebook has its cells and widgets, and is connected to an idle kernel."""
    page.wait_for_function(_READY)
    page.wait_for_function(_RESTORED)
    page.wait_for_function(_NO_WIDGET_LOADS)


def outside_loopback(urls: list[str]) -> list[str]:
    """Return the `urls` that are fetched from another machine."""
    parts = [(url, urlsplit(url)) for url in urls]
    return [
        url
        for url, part in parts
        if part.scheme not in ("data", "blob") and part.hostname not in ("127.0.0.1", "localhost", "::1")
    ]


def choose_menu_item(page: Page, *path: str) -> None:
    """Choose from Lab's menu bar: `choose_menu_item(page, "Run", "Run All Cells")`."""
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
    """Switch Lab to its "Light" or "Dark" theme, and wait until it shows."""
    if page.locator("body").get_attribute("data-jp-theme-light") == str(name == "Light").lower():
        return
    choose_menu_item(page, "Settings", "Theme", f"JupyterLab {name}")
    page.wait_for_selector(f'body[data-jp-theme-light="{str(name == "Light").lower()}"]', state="attached")
    page.wait_for_timeout(300)  # colours fade in


@contextlib.contextmanager
def screenshot_on_failure(page: Page, name: str) -> Iterator[None]:
    """Save a picture of the page if the block fails."""
    try:
        yield
    except BaseException:
        _save_screenshot(page, name)
        raise


def screenshots_enabled() -> bool:
    """Tell whether pictures are wanted even if nothing fails; `make browser-test` sets COURSE_PICTURES."""
    return "COURSE_PICTURES" in os.environ


def screenshot(shown: Page | Locator, name: str) -> None:
    """Save a picture of the page, or of a part of it, as build/browser/NAME.png if pictures are wanted."""
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
        """Return the code cells, in order."""
        return self.panel.locator(".jp-CodeCell")

    def sources(self) -> list[str]:
        """Return the visible source of each code cell; it is empty if the source is folded."""
        script = "cells => cells.map(cell => cell.querySelector('.cm-content')?.innerText ?? '')"
        return [source.replace("\u00a0", " ") for source in self.code_cells().evaluate_all(script)]

    def cell(self, text: str) -> Locator:
        """Return the first code cell whose source contains `text`. The locator keeps the cell if its source changes."""
        numbers = [number for number, source in enumerate(self.sources()) if text in source]
        assert numbers, f"no code cell of the notebook contains {text!r}"
        return self.code_cells().nth(numbers[0])

    def check_outputs(self) -> list[str]:
        """Return the output of each cell with a check."""
        return [self.outputs(self.code_cells().nth(n)) for n, text in enumerate(self.sources()) if "\ncheck(" in text]

    def run_all(self) -> None:
        """Run all cells, and wait until the run has ended and the kernel is idle.

        Raises:
            AssertionError: a cell did not run, or raised an error although it should not.
        """
        self.page.evaluate(_RUN_ALL)
        self.page.wait_for_function(_ENDED, timeout=_HANGS)
        stuck = self.page.evaluate(_NOT_PAST)
        assert not stuck, f"Run All did not get past {stuck[0]!r}. Red on the page: {self.errors()}"

    def type(self, cell: Locator, source: str) -> None:
        """Replace the cell's source by typing, and wait until the notebook has it."""
        editor = cell.locator(".cm-content")
        editor.click()
        expect(editor).to_be_focused()
        self.page.keyboard.press("ControlOrMeta+A")
        self.page.keyboard.insert_text(source)
        self.page.wait_for_function(_TYPED, arg=[cell.element_handle(), source])

    def run(self, cell: Locator) -> str:
        """Run the cell, wait for its new number and its outputs, and return their text."""
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
        """Return the visible text of the cell's outputs."""
        return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts())

    def save(self, path: Path) -> dict:
        """Save with the keyboard, wait until the server has written the file, and read it."""
        self.page.evaluate(_SAVE)
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("ControlOrMeta+s")
        saved = self.page.wait_for_function("() => window.saved").json_value()
        assert saved == "completed", f"{path.name} was not saved: {saved}"
        return json.loads(path.read_text(encoding="utf-8"))

    def accessibility_violations(self, themes: Iterable[str] = THEMES) -> list[str]:
        """Return the accessibility violations in texts and outputs, in a whole and in half a window.

        The contrast is measured in each theme; nothing else depends on the theme.
        """
        found = []
        for size in (WINDOW, HALF_WINDOW):
            self.page.set_viewport_size(size)
            lines = axe.violations(self.page, _OWN_PARTS, (_FOLD_BUTTON,))
            for theme in themes:
                set_theme(self.page, theme)
                lines += [f"{theme}: {line}" for line in faint(self.page.locator(_OWN_PARTS))]
            found += [f"{size['width']} px: {line}" for line in lines]
        self.page.set_viewport_size(WINDOW)
        return found

    def has_unsaved_changes(self) -> bool:
        """Tell whether Jupyter shows the notebook as changed since it was saved."""
        return self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.model.dirty")

    def count_disconnected_widgets(self) -> int:
        """Count the widgets with the red mark of a missing kernel."""
        return self.panel.evaluate(_DISCONNECTED)

    def errors(self) -> list[str]:
        """Return the text of every red output: tracebacks and text on stderr."""
        red = '[data-mime-type="application/vnd.jupyter.error"], [data-mime-type="application/vnd.jupyter.stderr"]'
        return self.panel.locator(red).all_inner_texts()
