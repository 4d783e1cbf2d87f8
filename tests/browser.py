"""A learner's browser: JupyterLab on a copy of a course folder, driven in real headless Chromium.

    with serve(tmp_path, notebooks=[...]) as url, open_lab(url) as page:
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
from pathlib import Path
from queue import Empty, Queue
from typing import Iterator
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "build" / "browser"

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage""".split()

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SHOWN = ".jp-NotebookPanel:not(.lm-mod-hidden)"
# One range for each test worker: Jupyter looks for a free port first and takes it later, and two may find the same.
_PORT = 8988 + 100 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_START_LAB = "import sys; from utils.instructor.lab import lab; lab(int(sys.argv[2]), False, sys.argv[1])"
# Every cell in the page at once; as it comes, Lab draws only those in view.
_NO_WINDOWING = '{"windowingMode": "none"}'
_EXPOSED = '{"LabApp": {"expose_app_in_browser": true}}'
# Before that, Lab shows an empty notebook that is "idle", then the file's cells; what is run then is dropped without a word.
_READY = """() => {
    const shown = window.jupyterapp?.shell.currentWidget, cells = shown?.content?.widgets ?? [];
    const kernel = shown?.sessionContext?.isReady && shown.sessionContext.session?.kernel;
    const drawn = shown?.content?.notebookConfig?.windowingMode !== 'none' || cells.every(cell => cell.isAttached);
    return shown?.context?.isReady && drawn && kernel && kernel.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
expect.set_options(timeout=30_000)  # a busy machine is slow, and none of this is about speed


def chromium() -> str:
    """The path of a Chromium: $CHROMIUM, else the first on PATH. There is no skipping without one."""
    for name in filter(None, (os.environ.get("CHROMIUM"), *_PROGRAMS)):
        if found := shutil.which(name):
            return found
    raise AssertionError("THE BROWSER TESTS DID NOT RUN: there is no Chromium here. Run: bash .ci/install-browser")


@contextlib.contextmanager
def serve(folder: Path, notebooks: list[Path], port: int = _PORT) -> Iterator[str]:
    """JupyterLab on copies of `notebooks` in `folder`, started as `coginst lab --no-browser` does it. Yields its address.

    The user's own Jupyter settings are out of sight, and nothing is written outside `folder`.
    """
    course = folder / "course"
    course.mkdir(parents=True)
    for notebook in notebooks:
        shutil.copy(notebook, course)
    settings = folder / "config" / "lab" / "user-settings" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)
    (settings / "tracker.jupyterlab-settings").write_text(_NO_WINDOWING)
    (folder / "config" / "jupyter_lab_config.json").write_text(_EXPOSED)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "offline")]),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "IPYTHONDIR": str(folder / "ipython"),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", _START_LAB, str(course), str(port)],
        cwd=folder, env=environment, text=True, encoding="utf-8",
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


def _address(process: subprocess.Popen, patience: float = 60) -> str:
    """The address that the server prints. Reads on in the background, so that its pipe never fills."""
    lines: Queue[str] = Queue()

    def listen() -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put("")  # it has ended

    threading.Thread(target=listen, daemon=True).start()
    said = []
    with contextlib.suppress(Empty):
        while line := lines.get(timeout=patience):
            said.append(line)
            if line.startswith("http"):
                return line.strip()
    raise AssertionError(f"JupyterLab printed no address, only:\n{''.join(said)}")


@contextlib.contextmanager
def open_lab(url: str) -> Iterator[Page]:
    """A new browser with no past, at `url`, once Lab is up. On leaving, no request may have left this machine."""
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda socket: asked.append(socket.url))
        page.goto(url)
        try:
            with pictured(page, "failure"):
                _await_ready(page)
                yield page
        finally:
            browser.close()
    outside = outside_loopback(asked)
    assert not outside, f"the page asked for things outside this machine: {outside}"


def choose(page: Page, name: str) -> Notebook:
    """Open the notebook from Lab's list of files, as by a double click; once it can run cells."""
    page.locator(".jp-DirListing-item", has_text=name).dblclick()
    expect(page.locator(_SHOWN)).to_be_visible()
    _await_ready(page)
    return Notebook(page)


def reopen(page: Page, url: str) -> Notebook:
    """The notebook at `url` in a page that is loaded anew; nothing in it is run."""
    page.goto(f"{url}&reset")
    _await_ready(page)
    return Notebook(page)


def put_away(page: Page) -> None:
    """Close the notebook, which is saved, and shut down its kernel."""
    panels = page.locator(".jp-NotebookPanel")
    others = panels.count() - 1
    page.locator(f"{_SHOWN} .jp-Notebook").focus()
    page.keyboard.press("Control+Shift+Q")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(panels).to_have_count(others)


def files(page: Page) -> None:
    """Show or hide the list of files."""
    page.keyboard.press("ControlOrMeta+b")


def _await_ready(page: Page, patience: float = 90) -> None:
    """Wait until the notebook that the page shows has its cells, and is connected to a kernel that rests."""
    page.wait_for_function(_READY, timeout=patience * 1000)
    page.wait_for_timeout(500)  # the page asks the kernel for its widgets


def outside_loopback(urls: list[str]) -> list[str]:
    """Those of `urls` that are fetched from another machine."""
    parts = [(url, urlsplit(url)) for url in urls]
    return [
        url for url, part in parts if part.scheme not in ("data", "blob") and part.hostname not in ("127.0.0.1", "localhost", "::1")
    ]


def menu(page: Page, *path: str) -> None:
    """Choose from Lab's menu bar: `menu(page, "Run", "Run All Cells")`."""
    page.locator(".lm-MenuBar-itemLabel", has_text=re.compile(f"^{path[0]}$")).click()
    for depth, label in enumerate(path[1:]):
        item = page.locator(".lm-Menu").nth(depth).locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{re.escape(label)}$"))
        item.hover()
    item.click()


def theme(page: Page, name: str) -> None:
    """Switch Lab to its "Light" or "Dark" theme, if it is another, and wait until it shows."""
    if page.locator("body").get_attribute("data-jp-theme-light") == str(name == "Light").lower():
        return
    menu(page, "Settings", "Theme", f"JupyterLab {name}")
    page.wait_for_selector(f'body[data-jp-theme-light="{str(name == "Light").lower()}"]', state="attached")
    page.wait_for_timeout(300)  # colours fade in


@contextlib.contextmanager
def pictured(page: Page, name: str) -> Iterator[None]:
    """Keep what the page shows when what is done within fails."""
    try:
        yield
    except BaseException:
        screenshot(page, name)
        raise


def screenshot(shown: Page | Locator, name: str) -> Path:
    """Keep what the page shows, or one part of it, as build/browser/NAME.png (CI keeps the folder)."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    path = PICTURES / f"{name}.png"
    shown.screenshot(path=path)
    return path


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

    def run_all(self, patience: float = 120) -> None:
        """Run All Cells; wait until each code cell that shows its source is numbered, and the kernel rests.

        A run that stops on the way (the kernel rests for five seconds, and cells have no number) is an AssertionError.
        """
        self.page.evaluate("() => { window.restingSince = undefined }")  # the page may have shown another notebook, at rest for long
        menu(self.page, "Run", "Run All Cells")
        script = """shown => {
            const panel = document.querySelector(shown);
            const idle = panel.querySelector('.jp-Notebook-ExecutionIndicator').dataset.status === 'idle';
            window.restingSince = idle ? window.restingSince ?? Date.now() : undefined;
            const waiting = [...panel.querySelectorAll('.jp-CodeCell')]
                .filter(cell => cell.querySelector('.cm-content')?.innerText.trim())
                .filter(cell => !/\\[\\d+\\]/.test(cell.querySelector('.jp-InputPrompt').innerText));
            const asked = waiting.some(cell => cell.querySelector('.jp-InputPrompt').innerText.includes('*'));
            if (!idle || asked || waiting.length && Date.now() - window.restingSince < 5000) return null;
            return {waiting: waiting.map(cell => cell.querySelector('.cm-content').innerText)};
        }"""
        end = self.page.wait_for_function(script, arg=_SHOWN, timeout=patience * 1000).json_value()
        assert not end["waiting"], f"Run All stopped before {end['waiting'][0]!r}. Red on the page: {self.errors()}"

    def type(self, cell: Locator, source: str) -> None:
        """Replace the cell's source, as by hand: select all, type."""
        cell.locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+A")
        self.page.keyboard.insert_text(source)

    def run(self, cell: Locator, patience: float = 60) -> str:
        """Run the cell and wait for its new number; returns the text of its outputs."""
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        expect(prompt).not_to_have_text(before)
        expect(prompt).to_have_text(re.compile(r"\[\d+\]"), timeout=patience * 1000)
        self.page.wait_for_timeout(200)  # the last output is drawn after the number
        return self.outputs(cell)

    def outputs(self, cell: Locator) -> str:
        """The text of the cell's outputs, as a reader sees it."""
        return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts())

    def save(self, path: Path) -> dict:
        """Save as by hand, and read what is on the disk."""
        before = path.stat().st_mtime_ns
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("ControlOrMeta+s")
        for _ in range(300):
            self.page.wait_for_timeout(100)
            if path.stat().st_mtime_ns != before:
                break
        else:
            raise AssertionError(f"{path.name} was not saved within 30 seconds")
        self.page.wait_for_timeout(200)
        return json.loads(path.read_text(encoding="utf-8"))

    def errors(self) -> list[str]:
        """The text of every red output: tracebacks, and what was written to stderr."""
        red = '[data-mime-type="application/vnd.jupyter.error"], [data-mime-type="application/vnd.jupyter.stderr"]'
        return self.panel.locator(red).all_inner_texts()
