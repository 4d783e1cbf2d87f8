"""`coginst configure`: lessons look the same in every Jupyter of the environment, and other notebooks do not change."""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest

from tests.browser.harness import LAB, serve_jupyter
from tests.fresh_python import environment_without
from utils.cli import configure as configuring
from utils.lessons import ROOT

NAME = "02_simplified_attention"
OPTIONS = "--no-browser --allow-root --port={port} --ServerApp.root_dir={folder}"
# JupyterHub starts a server with the class of `jupyter server`, and without Lab's own command.
PROGRAMS = {
    "coginst lab": LAB,
    "jupyter lab": ("-m", "jupyterlab", *OPTIONS.split()),
    "jupyter server": ("-m", "jupyter_server", *OPTIONS.split()),
}
Get = Callable[[str], str]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a virtual environment that has the packages of this one, and is configured for the course."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    paths = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([python, "-c", paths], check=True, capture_output=True, encoding="utf-8").stdout.strip()
    line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (Path(packages) / "packages.pth").write_text(line, encoding="utf-8")
    shutil.copytree(Path(sys.prefix) / "share" / "jupyter", folder / "share" / "jupyter")
    enabled = Path(sys.prefix) / "etc" / "jupyter" / "jupyter_server_config.d"
    shutil.copytree(enabled, folder / "etc" / "jupyter" / "jupyter_server_config.d")
    subprocess.run([python, "-m", "utils.cli", "configure"], cwd=ROOT, check=True)
    return python


@pytest.fixture
def notebooks(tmp_path: Path) -> list[Path]:
    """A lesson, and another project, which has a notebook with the name of a lesson."""
    folder = tmp_path / "source"
    folder.mkdir()
    for suffix in (".ipynb", ".md"):
        shutil.copy(ROOT / "course" / f"{NAME}{suffix}", folder)
    other = json.loads((folder / f"{NAME}.ipynb").read_text(encoding="utf-8"))
    other["metadata"] = {"kernelspec": other["metadata"]["kernelspec"], "language_info": {"name": "python"}}
    (folder / "01_tokenization.ipynb").write_text(json.dumps(other), encoding="utf-8")
    (folder / "notes.ipynb").write_text(json.dumps(other), encoding="utf-8")
    for name in ("notes.md", "README.md"):
        (folder / name).write_text("# Notes\n", encoding="utf-8")
    return sorted(folder.iterdir(), key=lambda path: path.name != f"{NAME}.ipynb")


def wait_until_it_listens(port: int) -> None:
    """Wait for a server that has printed its address. `jupyter server` prints it first, and then listens."""
    while True:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)


@pytest.fixture(params=PROGRAMS)
def get(request: pytest.FixtureRequest, tmp_path: Path, python: Path, notebooks: list[Path]) -> Iterator[Get]:
    """A function that reads from a running server."""
    with serve_jupyter(tmp_path, notebooks, program=PROGRAMS[request.param], python=python) as url:
        (token,) = parse_qs(urlsplit(url).query)["token"]
        wait_until_it_listens(urlsplit(url).port)

        def read(path: str) -> str:
            with urlopen(f"http://{urlsplit(url).netloc}/{path}?token={token}", timeout=6000) as response:
                return response.read().decode()

        yield read


def test_a_lesson_opens_as_a_notebook_and_opening_it_changes_nothing(get: Get, tmp_path: Path) -> None:
    lesson = json.loads(get(f"api/contents/{NAME}.ipynb"))["content"]
    assert lesson["metadata"]["language_info"]["version"] == sys.version.split()[0]
    settings = json.loads(get("lab/api/settings"))["settings"]
    schemas = {entry["id"]: entry["schema"].get("properties") for entry in settings}
    viewers = schemas["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"]["default"]
    assert viewers == {"markdown": "Jupytext Notebook"}, "a .md lesson would open as text"
    columns = schemas["@jupyterlab/filebrowser-extension:browser"]
    assert columns["showLastModifiedColumn"]["default"] is False, "names would be cut off"
    news = schemas["@jupyterlab/apputils-extension:notification"]
    assert news["fetchNews"]["default"] == "false" and news["checkForUpdates"]["default"] is False
    assert json.loads(get("lsp/status"))["sessions"] == {}, (
        "a type checker would read all of torch for each lesson that is opened"
    )
    page = get("lab")
    assert '"extensionManager": {"can_install": false' in page, "the extension manager would ask a registry"
    assert '"disabledExtensions": ["@jupyter-notebook/lab-extension"]' in page, "buttons would lead to Notebook 7"
    names = {entry["name"] for entry in json.loads(get("api/contents"))["content"]}
    assert f"{NAME}.ipynb" in names and f"{NAME}.md" not in names


def test_another_project_in_the_same_jupyter_is_unchanged(get: Get, tmp_path: Path, notebooks: list[Path]) -> None:
    names = {entry["name"] for entry in json.loads(get("api/contents"))["content"]}
    assert names == {path.name for path in notebooks} - {f"{NAME}.md"}
    for name in ("01_tokenization.ipynb", "notes.ipynb"):
        content = json.loads(get(f"api/contents/{name}"))["content"]
        for cell in content["cells"]:
            cell["metadata"].pop("trusted", None)  # Jupyter adds this to each code cell that it sends
        file = tmp_path / "course" / name
        expected = json.loads(file.read_text(encoding="utf-8"))
        assert content["metadata"] == expected["metadata"]
        assert [cell["metadata"] for cell in content["cells"]] == [cell["metadata"] for cell in expected["cells"]]
        assert file.read_bytes() == (tmp_path / "source" / name).read_bytes()


RUN = """
import json, os, sys
import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
sources = json.loads(sys.argv[2])
notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
path = sys.argv[1]
folder = {"metadata": {"path": os.path.dirname(path)}}
client = NotebookClient(notebook, allow_errors=True, timeout=600, resources=folder)
client.execute(env={**os.environ, "JPY_SESSION_NAME": path})
print(json.dumps([cell.outputs for cell in notebook.cells]))
"""
FAILS = "def softmax(x):\n    raise NotImplementedError('softmax')\nsoftmax(1)"
LOADED = "import os, sys; print('utils' in sys.modules, os.environ.get('OMP_WAIT_POLICY'))"


def run_cells(python: Path, notebook: Path, *sources: str) -> list[list[dict[str, Any]]]:
    """Run cells in a kernel of a notebook, as Jupyter starts it. Return the outputs of each cell."""
    environment = environment_without("OMP_WAIT", "PYTHONPATH", "JUPYTER", "IPYTHON")
    script = [str(python), "-c", RUN, str(notebook), json.dumps(sources)]
    done = subprocess.run(script, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, "a kernel writes this into the learner's terminal"
    return json.loads(done.stdout)


def test_a_kernel_of_a_lesson_is_calm_and_others_are_as_usual(python: Path, notebooks: list[Path]) -> None:
    folder = notebooks[0].parent
    (line,), (calm,) = run_cells(python, folder / f"{NAME}.ipynb", LOADED, FAILS)
    assert line["text"] == "True PASSIVE\n"
    assert calm["data"]["text/plain"] == "This cell needs `softmax` from the exercise above."
    for name in ("01_tokenization.ipynb", "notes.ipynb"):
        (line,), (error,) = run_cells(python, folder / name, LOADED, FAILS)
        assert line["text"] == "False None\n"
        assert len(error["traceback"]) > 2


def test_a_package_of_another_project_with_the_same_name_does_not_replace_the_course(
    python: Path, notebooks: list[Path]
) -> None:
    folder = notebooks[0].parent
    (folder / "utils.py").write_text("print('not the course')", encoding="utf-8")
    where = "import utils; print(utils.__file__)"
    ((line,),) = run_cells(python, folder / f"{NAME}.ipynb", where)
    assert line["text"] == f"{ROOT / 'utils' / '__init__.py'}\n"
    ((line,),) = run_cells(python, folder / "notes.ipynb", where)
    assert line["text"] == f"not the course\n{folder / 'utils.py'}\n"


def test_settings_that_the_environment_has_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "etc" / "jupyter" / "jupyter_server_config.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"ServerApp": {"port": 9000}, "LabApp": {"extension_manager": "pypi"}}', encoding="utf-8")
    assert not configuring.is_configured(tmp_path)
    written = configuring.configure(tmp_path)
    settings = json.loads(path.read_text(encoding="utf-8"))
    assert settings["ServerApp"]["port"] == 9000 and settings["LabApp"] == {"extension_manager": "readonly"}
    assert configuring.is_configured(tmp_path)
    before = [file.read_bytes() for file in written]
    configuring.configure(tmp_path)
    assert [file.read_bytes() for file in written] == before


@pytest.mark.parametrize("text", ["{half", "[]"])
def test_a_file_that_contains_no_settings_is_named_and_kept(tmp_path: Path, text: str) -> None:
    path = tmp_path / "etc" / "jupyter" / "jupyter_server_config.json"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"jupyter_server_config\.json contains no settings"):
        configuring.configure(tmp_path)
    assert path.read_text(encoding="utf-8") == text and not configuring.is_configured(tmp_path)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]


def test_an_environment_without_the_settings_is_named_when_lab_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from utils.cli import lab

    monkeypatch.setattr(lab, "is_configured", lambda: False)
    (problem,) = lab.find_problems(tmp_path)
    assert "coginst configure" in problem
    monkeypatch.setattr(lab, "is_configured", lambda: True)
    assert lab.find_problems(tmp_path) == []
