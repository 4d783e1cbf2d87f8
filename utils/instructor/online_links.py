"""The course in a browser without installing: a page of links for Binder and Colab, and the notebooks that Colab opens.

Everything follows from one line of `pyproject.toml`, `[tool.coginst] repository`. Binder builds the whole repository
from `environment.yml`. Colab opens one notebook and nothing around it, so its copies begin with a cell that fetches the
rest; `.github/workflows/colab.yml` keeps them on a branch of their own, so that nobody meets that cell in `course/`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from string import Template
from typing import Any

from packaging.requirements import Requirement

from utils import lessons
from utils.instructor import ipynb
from utils.instructor.build import student_files
from utils.lessons import ROOT, write_atomically

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

UNSET = "OWNER/NAME"
TEMPLATES = Path(__file__).parent / "templates" / "online"
BRANCH, COLAB_BRANCH = "main", "colab"
# What Colab lacks or has too old. Its torch, numpy and matplotlib serve as they are.
FETCHED = ("transformers", "jaxtyping", "circuitsvis", "anywidget")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[\w.-]+")


class OnlineError(ValueError):
    """The links cannot be made; nothing was written."""


def repository_name(root: Path = ROOT) -> str:
    """The repository's public name, "owner/name", from `pyproject.toml`. Raises `OnlineError`."""
    name = _read_pyproject(root).get("tool", {}).get("coginst", {}).get("repository")
    if name is None:
        raise OnlineError(
            f"{root / 'pyproject.toml'} names no repository; give it the lines [tool.coginst] and repository ="
            ' "owner/name".'
        )
    return _require_repository_name(name)


def _read_pyproject(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def set_repository_name(name: str, root: Path = ROOT) -> None:
    """Write the repository's public name into `pyproject.toml`, and leave the rest as it is. Raises `OnlineError`."""
    path, line = root / "pyproject.toml", 'repository = "{}"'
    old, new = line.format(repository_name(root)), line.format(_require_repository_name(name))
    text = path.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise OnlineError(f"{path} is to hold the line {old}, once; write it so, and run this again.")
    write_atomically(path, text.replace(old, new))


def _require_repository_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise OnlineError(
            f"{name!r} is no name of a repository on GitHub; write owner/name, as it stands in its address."
        )
    return name


def _fill_template(template: str, **words: str) -> str:
    return Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(words)


def binder_url(name: str, path: str) -> str:
    """The address at which Binder builds the repository and opens `path` in JupyterLab."""
    return f"https://mybinder.org/v2/gh/{name}/{BRANCH}?urlpath=lab/tree/{path}"


def colab_url(name: str, notebook: str) -> str:
    """The address at which Colab opens a notebook of the branch that is made for it."""
    return f"https://colab.research.google.com/github/{name}/blob/{COLAB_BRANCH}/{notebook}"


def links_page(root: Path = ROOT) -> str:
    """`docs/online.md`: a row of links for each lesson."""
    name = repository_name(root)
    unset = (
        f"**Not public yet.** The links hold the stand-in `{UNSET}` until `coginst online` is given the repository's"
        " name.\n\n"
        if name == UNSET
        else ""
    )
    rows = [
        f"| {path.stem[:2]} | {lessons.read_lesson(path).title} | [Binder]({binder_url(name, f'course/{path.stem}.ipynb')}) |"
        f" [Colab]({colab_url(name, f'{path.stem}.ipynb')}) |"
        for path in lessons.all_lessons(root / "solutions")
    ]
    return _fill_template(
        "page.md",
        unset=unset,
        rows="\n".join(rows),
        name=name,
        main=BRANCH,
        branch=COLAB_BRANCH,
        fetched=", ".join(f"`{p}`" for p in FETCHED),
    )


def colab_notebooks(root: Path = ROOT) -> dict[str, bytes]:
    """The students' notebooks for Colab by file name: each with a first cell that fetches the course. Raises as a build
    does."""
    setup = _colab_setup_source(repository_name(root), root)
    made = {}
    for name, content in student_files(root / "solutions").items():
        if name.endswith(".ipynb"):
            notebook = json.loads(content)
            notebook["metadata"].pop("jupytext", None)  # there is no .md to keep in step with
            source = setup.rstrip("\n").splitlines(keepends=True)
            notebook["cells"].insert(0, ipynb.make_cell("code", "on-colab", {}, source))
            made[name] = (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()
    return made


def colab_requirements(root: Path = ROOT) -> list[str]:
    """What the first cell on Colab installs, as pip takes it. Raises `OnlineError`."""
    listed = map(Requirement, _read_pyproject(root).get("project", {}).get("dependencies", []))
    found = [f"{package.name}{package.specifier}" for package in listed if package.name in FETCHED]
    if len(found) != len(FETCHED):
        raise OnlineError(
            f"Colab needs {', '.join(FETCHED)}, and pyproject.toml lists only {', '.join(found) or 'none of them'}."
        )
    return found


def _colab_setup_source(name: str, root: Path) -> str:
    """The first cell on Colab: it may be run again, and leaves a course that is there as it is."""
    packages = ", ".join(f'"{package}"' for package in colab_requirements(root))
    return _fill_template("colab.py.txt", folder=name.partition("/")[2], name=name, wanted=packages)


def write_links_page(root: Path = ROOT) -> Path:
    """Write `docs/online.md`. Raises `OnlineError`."""
    path = root / "docs" / "online.md"
    write_atomically(path, links_page(root))
    return path


def write_colab_notebooks(out: str | Path, root: Path = ROOT) -> list[str]:
    """Write the notebooks for Colab into the folder `out`, made where there is none; older ones give way. Raises as
    `notebooks`."""
    out = Path(out)
    if out.resolve() == (root / "course").resolve():
        raise OnlineError(f"{out} holds the course; these notebooks are for Colab and want a folder of their own.")
    made = colab_notebooks(root)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        write_atomically(out / name, content)
    return sorted(made)
