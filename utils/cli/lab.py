"""Build the course, configure JupyterLab for it, and start the server."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import webbrowser
from pathlib import Path

from utils.lessons import ROOT, write_atomically

# Jupyter reads the folder `labconfig/` in this folder. There, `default_setting_overrides.json` opens a .md lesson as a
# notebook and disables news. `page_config.json` removes the buttons for Notebook 7, in case it is installed.
SETTINGS = ROOT / "utils" / "assets"
# JupyterLab's file list hides files that match these patterns. All patterns except `*.md` are Jupyter's defaults.
# `*.md` hides the text of each lesson, because the list already shows its notebook.
HIDDEN = ("__pycache__", "*.pyc", "*.pyo", ".DS_Store", "*~", "*.md")
# Variables that move the files of Jupyter, IPython and matplotlib out of the home folder.
HOMES = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR")
PORT, LAST_PORT, RETRIES = 8888, 65535, 50


class LabError(ValueError):
    """JupyterLab cannot start or open the course. The message says what to do."""


def lab(port: int | None = None, browser: bool = True, course: str | Path | None = None) -> None:
    """Build the course and serve it with JupyterLab, for this machine only, until Ctrl-C.

    Args:
        port: the first port to try (default: 8888). If it is in use, the next port is tried.
        browser: open the first lesson in a browser, if there is a display.
        course: a folder with notebooks, which are opened unchanged. By default, open `course/`, after building it from
            `solutions/` if that folder exists.

    Raises:
        LabError: there is no notebook to open, or no free port.
    """
    if port is not None and not 0 < port <= LAST_PORT:
        raise LabError(f"The port is {port}, but a port must be from 1 to {LAST_PORT}. The default is {PORT}.")
    folder = _own_course() if course is None else Path(course).resolve()
    first = _first_notebook(folder)
    sync_paired_text(folder)
    _prepare_environment()

    from jupyterlab.labapp import LabApp  # imported late: it takes a second, and it reads the environment

    token = os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(24)
    arguments = _arguments(folder, first, port or PORT, browser=browser and can_show_browser(), token=token)
    try:
        server = LabApp.initialize_server(argv=arguments)
    except SystemExit:  # Jupyter has tried every port in its range, and has logged that
        raise LabError(
            f"JupyterLab found no free port, starting at {port or PORT}. Choose another: coginst lab --port 9000."
        ) from None
    message = f"\nThe course is open at\n{server.connection_url}lab/tree/{first}?token={token}\nCtrl-C stops it.\n"
    server.io_loop.add_callback(
        print, message, flush=True
    )  # the first task of the event loop, so the message appears when the server is listening
    server.start()


def can_show_browser() -> bool:
    """Check whether a browser window can open. It cannot over ssh or on a server without a display."""
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
    """Build the course if `solutions/` exists, and return its folder. Students have only `course/`."""
    if any((ROOT / "solutions").glob("[0-9]*.md")):
        from utils.instructor.build import build

        for warning in build().kept:
            print(warning, file=sys.stderr)
    return ROOT / "course"


def _first_notebook(folder: Path) -> str:
    notebooks = sorted(path.name for path in folder.glob("*.ipynb"))
    if not notebooks:
        raise LabError(f"There is no notebook in {folder}. Name the folder that contains 00_start_here.ipynb.")
    return notebooks[0]


def sync_paired_text(folder: Path) -> None:
    """Write the .md file of a lesson again if another editor has saved only its notebook.

    JupyterLab refuses to open a pair if its .md file is older and different.
    """
    for notebook in folder.glob("*.ipynb"):
        text = notebook.with_suffix(".md")
        if text.is_file() and notebook.stat().st_mtime_ns > text.stat().st_mtime_ns:
            import jupytext

            with contextlib.suppress(Exception):  # JupyterLab reports a damaged notebook when it opens it
                saved = jupytext.read(notebook)
                sources = ([cell.source for cell in page.cells] for page in (saved, jupytext.read(text)))
                if next(sources) != next(sources):  # time stamps prove nothing, because copying changes them
                    write_atomically(text, jupytext.writes(saved, "md"))


def _prepare_environment() -> None:
    """Set the environment that Jupyter and its kernels inherit: this Python, this clone, and the course's settings."""
    prepend = {
        "PATH": str(Path(sys.executable).parent),  # so that `!pip` in a cell uses this environment
        "PYTHONPATH": str(ROOT),  # `utils` is a common name, so the course's package must come first
        "JUPYTER_CONFIG_PATH": str(SETTINGS),
    }
    for name, value in prepend.items():
        os.environ[name] = os.pathsep.join(filter(None, [value, os.environ.get(name)]))
    # The tensors in the lessons are tiny. On a busy machine, OpenMP's threads spin while they wait for each other, so
    # that 300 training steps in lesson 03 take 10 s instead of less than 1 s. Passive threads sleep.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault(
        "JUPYTERLAB_WORKSPACES_DIR", str(ROOT / "build" / "lab")
    )  # stores open tabs separately from those of other projects
    os.environ.setdefault("PYTHONSTARTUP", str(ROOT / "utils" / "notebook" / "startup.py"))  # IPython runs this file
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # a python3 kernel in the home folder would use a different Python
    if not os.access(os.path.expanduser("~"), os.W_OK):  # then these files are stored in the course folder
        home = ROOT / "build" / "home"
        home.mkdir(parents=True, exist_ok=True)  # otherwise IPython uses a temporary folder
        for name in HOMES:
            os.environ.setdefault(name, str(home / name.lower()))


def _arguments(folder: Path, first: str, port: int, *, browser: bool, token: str) -> list[str]:
    """Return Jupyter's options. Command-line arguments take precedence over a user's configuration files."""
    options = {
        "ServerApp.root_dir": folder,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": min(RETRIES, LAST_PORT - port),
        "ServerApp.open_browser": browser,
        "ServerApp.allow_root": hasattr(os, "geteuid") and os.geteuid() == 0,
        "ServerApp.answer_yes": True,  # one Ctrl-C is enough
        # so that opening a page does not mark it as changed
        "ServerApp.contents_manager_class": "utils.notebook.contents_manager.CourseContentsManager",
        "ServerApp.log_level": "WARN",
        "LabApp.log_level": "WARN",
        "IdentityProvider.token": token,
        "LabApp.default_url": f"/lab/tree/{first}",
        # Otherwise, the type checker from the developer tools would start as a language server. It would read all of
        # torch for each open lesson, which takes minutes and 1.7 GB.
        "LanguageServerManager.autodetect": False,
        "LabApp.extension_manager": "readonly",  # the default extension manager contacts a registry at every start
    }
    hidden = [f"--ContentsManager.hide_globs={pattern}" for pattern in HIDDEN]
    return [f"--{name}={value}" for name, value in options.items()] + hidden
