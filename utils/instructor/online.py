"""The course in a browser without installing: a page of links for Binder and Colab, and the notebooks that Colab opens.

Everything follows from one line of `pyproject.toml`, `[tool.coginst] repository`. Binder builds the whole repository from
`environment.yml`. Colab opens one notebook and nothing around it, so its copies begin with a cell that fetches the rest;
`.github/workflows/colab.yml` keeps them on a branch of their own, so that nobody meets that cell in `course/`.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from utils import lessons
from utils.instructor.build import student_files
from utils.lessons import ROOT

UNSET = "OWNER/NAME"
BRANCH, COLAB_BRANCH = "main", "colab"
# What Colab lacks or has too old. Its torch, numpy and matplotlib serve as they are.
FETCHED = ("transformers", "jaxtyping", "circuitsvis", "ipywidgets")
_LINE = re.compile(r'(?m)^(\[tool\.coginst\]\nrepository = )"(.*)"')
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[\w.-]+")


class OnlineError(ValueError):
    """The links cannot be made; nothing was written."""


def repository(root: Path = ROOT) -> str:
    """The repository's public name, "owner/name", from `pyproject.toml`. Raises `OnlineError`."""
    found = _LINE.search((root / "pyproject.toml").read_text(encoding="utf-8"))
    if not found:
        raise OnlineError(f'{root / "pyproject.toml"} names no repository; give it the lines [tool.coginst] and repository = "owner/name".')
    return _checked(found[2])


def name_it(name: str, root: Path = ROOT) -> None:
    """Write the repository's public name into `pyproject.toml`. Raises `OnlineError`."""
    repository(root)
    path = root / "pyproject.toml"
    text = _LINE.sub(rf'\g<1>"{_checked(name)}"', path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise OnlineError(f"{name!r} is no name of a repository on GitHub; write owner/name, as it stands in its address.")
    return name


def binder(name: str, path: str) -> str:
    """The address at which Binder builds the repository and opens `path` in JupyterLab."""
    return f"https://mybinder.org/v2/gh/{name}/{BRANCH}?urlpath=lab/tree/{path}"


def colab(name: str, notebook: str) -> str:
    """The address at which Colab opens a notebook of the branch that is made for it."""
    return f"https://colab.research.google.com/github/{name}/blob/{COLAB_BRANCH}/{notebook}"


def page(root: Path = ROOT) -> str:
    """`docs/online.md`: a row of links for each lesson."""
    name = repository(root)
    unset = f"**Not public yet.** The links hold the stand-in `{UNSET}` until `coginst online` is given the repository's name.\n\n" if name == UNSET else ""
    rows = [
        f"| {path.stem[:2]} | {lessons.read(path).title} | [Binder]({binder(name, f'course/{path.stem}.ipynb')}) | [Colab]({colab(name, f'{path.stem}.ipynb')}) |"
        for path in lessons.all_lessons(root / "solutions")
    ]
    return _PAGE.format(unset=unset, rows="\n".join(rows), name=name, main=BRANCH, branch=COLAB_BRANCH, fetched=", ".join(f"`{p}`" for p in FETCHED))


def notebooks(root: Path = ROOT) -> dict[str, bytes]:
    """The students' notebooks for Colab by file name: each with a first cell that fetches the course. Raises as a build does."""
    setup = _setup(repository(root), root)
    made = {}
    for name, content in student_files(root / "solutions").items():
        if name.endswith(".ipynb"):
            notebook = json.loads(content)
            notebook["metadata"].pop("jupytext", None)  # there is no .md to keep in step with
            cell = {"cell_type": "code", "id": "on-colab", "metadata": {}, "execution_count": None, "outputs": [], "source": setup.splitlines(keepends=True)}
            notebook["cells"].insert(0, cell)
            made[name] = (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()
    return made


def _setup(name: str, root: Path) -> str:
    """The first cell on Colab: it may be run again, and leaves a course that is there as it is."""
    listed = re.findall(r'(?m)^    "([A-Za-z_]+)(.*?)",', (root / "pyproject.toml").read_text(encoding="utf-8").partition("dependencies = [")[2].partition("]")[0])
    wanted = [f"{package}{bound}" for package, bound in listed if package in FETCHED]
    if len(wanted) != len(FETCHED):
        raise OnlineError(f"Colab needs {', '.join(FETCHED)}, and pyproject.toml lists only {', '.join(wanted) or 'none of them'}.")
    return _SETUP.format(folder=name.partition("/")[2], name=name, wanted=", ".join(f'"{package}"' for package in wanted))


def write(root: Path = ROOT) -> Path:
    """Write `docs/online.md`. Raises `OnlineError`."""
    path = root / "docs" / "online.md"
    path.write_text(page(root), encoding="utf-8")
    return path


def write_notebooks(out: str | Path, root: Path = ROOT) -> list[str]:
    """Write the notebooks for Colab into the folder `out`, made where there is none; older ones give way. Raises as `notebooks`."""
    out = Path(out)
    if out.resolve() == (root / "course").resolve():
        raise OnlineError(f"{out} holds the course; these notebooks are for Colab and want a folder of their own.")
    made = notebooks(root)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        half = out / f".{name}.new"
        half.write_bytes(content)
        os.replace(half, out / name)
    return sorted(made)


_SETUP = """\
# Colab opens this page without the rest of the course. This cell fetches it, in about a minute.
import os, subprocess, sys

course = os.path.expanduser("~/{folder}")
if not os.path.isdir(course):
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", "https://github.com/{name}", course], check=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", {wanted}], check=True)
sys.path.insert(0, course)
os.chdir(os.path.join(course, "course"))"""

_PAGE = """\
# Without installing

{unset}Two services run the course in a browser, on machines of theirs. Neither keeps your work: download a notebook before you leave.

| | | | |
|---|---|---|---|
{rows}

**Binder** builds the whole course as it is on a laptop, from `environment.yml`. The first visitor after a change waits for that, ten minutes or more, because torch is large; later ones wait less. `progress()`, `yours(...)` and links between lessons work as at home, until the session ends.

**Colab** opens one notebook. It begins with a cell that fetches the course and {fetched}: run that first. Each notebook has a machine of its own there, so `progress()` knows one lesson alone, and `yours(...)` takes the course's own answers.

## For whoever publishes a clone

The repository's name stands in `pyproject.toml`, under `[tool.coginst]`; now it is `{name}`. `coginst online your-name/your-repository` writes it there and makes this page again. `.github/workflows/colab.yml` makes the notebooks for Colab on every push to `{main}`, with `coginst online --notebooks`, and keeps them on the branch `{branch}`.

What was tried: a test runs a notebook for Colab in an empty folder, with the repository taken from this machine; and Binder's own program, repo2docker, reads `environment.yml` as meant. Neither service itself was asked.
"""
