"""JupyterLab, set up for the course: one call that builds, starts and prints where to look."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import webbrowser
from pathlib import Path

from utils.lessons import ROOT, write_atomically

# Jupyter looks into `labconfig/` in here. `default_setting_overrides.json`: a .md lesson opens as a notebook, nothing
# asks for news. `page_config.json`: where Notebook 7 is installed, Lab has no buttons that lead to it.
SETTINGS = ROOT / "utils" / "assets"
# Not in Lab's list of files: Jupyter's own patterns, and each lesson's text, which stands there as a notebook as well.
HIDDEN = ("__pycache__", "*.pyc", "*.pyo", ".DS_Store", "*~", "*.md")
# Where Jupyter, IPython and matplotlib keep what they otherwise keep in the home folder.
HOMES = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR")
PORT, LAST_PORT, RETRIES = 8888, 65535, 50


class LabError(ValueError):
    """JupyterLab cannot open what was asked for; the message says what to do."""


def lab(port: int | None = None, browser: bool = True, course: str | Path | None = None) -> None:
    """Build the course and serve it with JupyterLab on this machine only, until Ctrl-C.

    `port` is the first to try (8888); a taken one moves on to the next. `browser` opens the first lesson where there
    is a display. `course` is a folder of notebooks to open as it is; without it, the course's own is built first
    (where there are `solutions/` to build from). Raises `LabError` when there is no notebook to open or no free port.
    """
    if port is not None and not 0 < port <= LAST_PORT:
        raise LabError(f"The port is {port}, and a port lies between 1 and {LAST_PORT}: leave it out for {PORT}.")
    folder = _own_course() if course is None else Path(course).resolve()
    first = _first_notebook(folder)
    sync_paired_text(folder)
    _prepare_environment()

    from jupyterlab.labapp import LabApp  # a second of imports, and it reads the environment: not before it is needed

    token = os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(24)
    arguments = _arguments(folder, first, port or PORT, browser=browser and can_show_browser(), token=token)
    try:
        server = LabApp.initialize_server(argv=arguments)
    except SystemExit:  # Jupyter has tried every port in its range, and logged so
        raise LabError(
            f"JupyterLab found no free port from {port or PORT} on: name another, coginst lab --port 9000."
        ) from None
    words = f"\nThe course is open at\n{server.connection_url}lab/tree/{first}?token={token}\nCtrl-C stops it.\n"
    server.io_loop.add_callback(
        print, words, flush=True
    )  # said when the server listens, which is the loop's first task
    server.start()


def can_show_browser() -> bool:
    """Whether opening a browser would show a window here (over ssh and on a bare server it would not)."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    if sys.platform == "darwin" and os.environ.get("SSH_CONNECTION"):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _own_course() -> Path:
    """The course's folder, built from `solutions/` where those are (students are handed only `course/`)."""
    if any((ROOT / "solutions").glob("[0-9]*.md")):
        from utils.instructor.build import build

        for word in build().kept:
            print(word, file=sys.stderr)
    return ROOT / "course"


def _first_notebook(folder: Path) -> str:
    notebooks = sorted(path.name for path in folder.glob("*.ipynb"))
    if not notebooks:
        raise LabError(f"There is no notebook in {folder}: name the folder that holds 00_start_here.ipynb.")
    return notebooks[0]


def sync_paired_text(folder: Path) -> None:
    """Write a lesson's .md anew where another editor has saved its notebook alone: Lab refuses to open such a pair."""
    for notebook in folder.glob("*.ipynb"):
        text = notebook.with_suffix(".md")
        if text.is_file() and notebook.stat().st_mtime_ns > text.stat().st_mtime_ns:
            import jupytext

            with contextlib.suppress(Exception):  # Lab says what is wrong with a damaged one, when it is opened
                saved = jupytext.read(notebook)
                sources = ([cell.source for cell in each.cells] for each in (saved, jupytext.read(text)))
                if next(sources) != next(sources):  # the moment alone says nothing: a copy may have any
                    write_atomically(text, jupytext.writes(saved, "md"))


def _prepare_environment() -> None:
    """What Jupyter and its kernels inherit: this Python, this checkout, the course's settings."""
    prepend = {
        "PATH": str(Path(sys.executable).parent),  # `!pip` in a cell is this environment's
        "PYTHONPATH": str(ROOT),  # `utils` is a common name; the course's own comes first
        "JUPYTER_CONFIG_PATH": str(SETTINGS),
    }
    for name, value in prepend.items():
        os.environ[name] = os.pathsep.join(filter(None, [value, os.environ.get(name)]))
    # A lesson's tensors are tiny. On a busy machine OpenMP's threads spin while they wait for each other, and 300 steps
    # of lesson 03 take 10 s instead of a fraction of one; passive threads sleep.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault(
        "JUPYTERLAB_WORKSPACES_DIR", str(ROOT / "build" / "lab")
    )  # open tabs are remembered here, apart from those of other projects
    os.environ.setdefault("PYTHONSTARTUP", str(ROOT / "utils" / "notebook" / "startup.py"))  # IPython runs it
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # a python3 kernel in the user's home would be another Python
    if not os.access(os.path.expanduser("~"), os.W_OK):  # what is kept there elsewhere is kept beside the course
        home = ROOT / "build" / "home"
        home.mkdir(parents=True, exist_ok=True)  # IPython would take a temporary folder
        for name in HOMES:
            os.environ.setdefault(name, str(home / name.lower()))


def _arguments(folder: Path, first: str, port: int, *, browser: bool, token: str) -> list[str]:
    """Jupyter's own options; given as arguments, they win over a user's configuration files."""
    options = {
        "ServerApp.root_dir": folder,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": min(RETRIES, LAST_PORT - port),
        "ServerApp.open_browser": browser,
        "ServerApp.allow_root": hasattr(os, "geteuid") and os.geteuid() == 0,
        "ServerApp.answer_yes": True,  # one Ctrl-C is enough
        "ServerApp.contents_manager_class": "utils.notebook.contents_manager.CourseContentsManager",  # to open a page is not to edit it
        "ServerApp.log_level": "WARN",
        "LabApp.log_level": "WARN",
        "IdentityProvider.token": token,
        "LabApp.default_url": f"/lab/tree/{first}",
        # Of the course's own tools the type checker is one: as a language server it reads all of torch for each lesson
        # that is opened, which takes minutes and 1.7 GB.
        "LanguageServerManager.autodetect": False,
        "LabApp.extension_manager": "readonly",  # the other one asks a registry on every start
    }
    hidden = [f"--ContentsManager.hide_globs={pattern}" for pattern in HIDDEN]
    return [f"--{name}={value}" for name, value in options.items()] + hidden
