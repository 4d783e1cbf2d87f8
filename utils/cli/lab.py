"""Build the course, and open it in JupyterLab. `utils.cli.configure` contains the settings of JupyterLab."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import tempfile
import webbrowser
from pathlib import Path

from utils.cli.configure import is_configured
from utils.learner_data.folder import home_folder, learner_folder, notebook_folder
from utils.lessons import ROOT, write_atomically

# These environment variables tell Jupyter, IPython and matplotlib to store their files outside the home folder.
HOMES = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR")
PORT, LAST_PORT, RETRIES = 8888, 65535, 50


class LabError(ValueError):
    """JupyterLab cannot start or open the course. The message says what to do."""


def lab(port: int | None = None, browser: bool = True, course: str | Path | None = None) -> None:
    """Build the course and serve it with JupyterLab until Ctrl-C. Only this machine can connect.

    Args:
        port: the first port to try (default: 8888). If it is in use, the next port is tried.
        browser: open the first lesson in a browser, if there is a display.
        course: a folder with notebooks, which are opened unchanged. By default, open the current folder if it contains
            lessons, otherwise `course/`, after building it from `solutions/` if that folder exists.

    Raises:
        LabError: there is no notebook to open, or no free port.
    """
    if port is not None and not 0 < port <= LAST_PORT:
        raise LabError(f"The port is {port}, but a port must be from 1 to {LAST_PORT}. The default is {PORT}.")
    folder = _own_course() if course is None else Path(course).resolve()
    first = _first_notebook(folder)
    sync_paired_text(folder)
    for warning in find_problems(folder):
        print(warning, file=sys.stderr)
    _prepare_environment(folder)

    from jupyterlab.labapp import LabApp  # imported late: the import is slow and reads the environment set above

    token = os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(24)
    arguments = _arguments(folder, first, port or PORT, browser=browser and can_show_browser(), token=token)
    try:
        server = LabApp.initialize_server(argv=arguments)
    except SystemExit:  # Jupyter has tried every port in its range, and has logged the failure
        raise LabError(
            f"JupyterLab found no free port, starting at {port or PORT}. Choose another: coginst lab --port 9000."
        ) from None
    message = f"\nThe course is open at\n{server.connection_url}lab/tree/{first}?token={token}\nCtrl-C stops it.\n"
    server.io_loop.add_callback(
        print, message, flush=True
    )  # the event loop runs this first, so the message appears when the server is listening
    server.start()


def can_show_browser() -> bool:
    """Check whether a browser window can open. Linux needs a display; on macOS, the session must not use ssh."""
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
    """Return the lessons' folder. If `solutions/` exists, build `course/` first. Students have no `solutions/`."""
    folder = notebook_folder()
    is_built = folder == ROOT / "course" and any((ROOT / "solutions").glob("[0-9]*.md"))
    if is_built and (not folder.exists() or os.access(folder, os.W_OK)):
        from utils.instructor.build import build

        for warning in build().kept:
            print(warning, file=sys.stderr)
    return folder


def find_problems(folder: Path) -> list[str]:
    """Return one sentence for each problem with Jupyter that would affect the course."""
    problems = []
    if not is_configured():
        problems.append(
            "Jupyter is not configured for the course here. If you use this Python environment only for the course, run"
            " `coginst configure` once."
        )
    if not os.access(folder, os.W_OK):
        problems.append(
            f"Your answers cannot be saved in {folder}, because you may not write there. Copy this folder, and run"
            " `coginst lab` in the copy."
        )
    return problems


def _first_notebook(folder: Path) -> str:
    notebooks = sorted(path.name for path in folder.glob("*.ipynb"))
    if not notebooks:
        raise LabError(
            f"There is no notebook in {folder}. Run this command in the folder that contains 00_start_here.ipynb."
        )
    return notebooks[0]


def sync_paired_text(folder: Path) -> None:
    """Update the .md file of a lesson if another editor has saved only the notebook.

    JupyterLab refuses to open a lesson if its .md file is older than its notebook and differs from it.
    """
    for notebook in folder.glob("*.ipynb"):
        text = notebook.with_suffix(".md")
        if text.is_file() and notebook.stat().st_mtime_ns > text.stat().st_mtime_ns:
            import jupytext

            with contextlib.suppress(Exception):  # JupyterLab itself reports a damaged notebook
                saved = jupytext.read(notebook)
                sources = ([cell.source for cell in page.cells] for page in (saved, jupytext.read(text)))
                if next(sources) != next(sources):  # timestamps prove nothing, because copying changes them
                    write_atomically(text, jupytext.writes(saved, "md"))


def _prepare_environment(folder: Path) -> None:
    """Choose Jupyter's folders for this server and its kernels."""
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # a python3 kernel in the home folder would use a different Python
    own = learner_folder(folder)
    # Open tabs are stored with the course. Otherwise, the tabs of other projects would open here.
    os.environ.setdefault("JUPYTERLAB_WORKSPACES_DIR", str(own / ".workspaces"))
    if not _can_write(home_folder()):  # Jupyter needs a writable home folder to start a kernel
        home = own / ".home" if _can_write(own) else Path(tempfile.mkdtemp(prefix="coginst-"))
        for name in HOMES:
            os.environ.setdefault(name, str(home / name.lower()))
        home.mkdir(exist_ok=True)  # without this folder, IPython uses a temporary one


def _can_write(folder: Path) -> bool:
    """Tell whether files can be written in the folder. A missing folder, permissions or a quota can prevent this."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(2**16))
        return True
    except OSError:
        return False


def _arguments(folder: Path, first: str, port: int, *, browser: bool, token: str) -> list[str]:
    """Return Jupyter's options. Command-line arguments take precedence over a user's configuration files."""
    options = {
        "ServerApp.root_dir": folder,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": min(RETRIES, LAST_PORT - port),
        "ServerApp.open_browser": browser,
        "ServerApp.allow_root": hasattr(os, "geteuid") and os.geteuid() == 0,
        "ServerApp.answer_yes": True,  # one Ctrl-C stops the server
        "ServerApp.log_level": "WARN",
        "LabApp.log_level": "WARN",
        "IdentityProvider.token": token,
        "LabApp.default_url": f"/lab/tree/{first}",
    }
    return [f"--{name}={value}" for name, value in options.items()]
