"""Write the page with links to the course in Binder and Colab, and write the notebooks for Colab.

The links depend on one setting in `pyproject.toml`: `repository` in `[tool.coginst]`. Binder builds the whole
repository from `environment.yml`, and runs `postBuild`, which configures Jupyter. Colab opens only one notebook, so the
notebooks for Colab begin with a cell that fetches the course. `.github/workflows/colab.yml` keeps these notebooks on a
separate branch, so that the notebooks in `course/` do not contain this cell.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template

from packaging.requirements import Requirement

from utils import lessons
from utils.instructor import ipynb
from utils.instructor.build import student_files
from utils.lessons import ROOT, write_atomically
from utils.lessons.files import read_pyproject

UNSET = "OWNER/NAME"
TEMPLATES = Path(__file__).parent / "templates" / "online"
BRANCH, COLAB_BRANCH = "main", "colab"
# Colab lacks these packages or has old versions. Its torch, numpy and matplotlib are recent enough.
FETCHED = ("transformers", "jaxtyping", "circuitsvis", "anywidget")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[\w.-]+")


class OnlineError(ValueError):
    """The links or notebooks cannot be created. Nothing was written."""


def repository_name(root: Path = ROOT) -> str:
    """Return the repository's public name, "owner/name", from `pyproject.toml`.

    Raises:
        OnlineError: `pyproject.toml` names no repository, or the name is not a valid name on GitHub.
    """
    name = read_pyproject(root).get("tool", {}).get("coginst", {}).get("repository")
    if name is None:
        raise OnlineError(
            f"{root / 'pyproject.toml'} does not name a repository. Add the lines [tool.coginst] and repository ="
            ' "owner/name".'
        )
    return _require_repository_name(name)


def set_repository_name(name: str, root: Path = ROOT) -> None:
    """Write the repository's public name to `pyproject.toml`, and change nothing else in the file.

    Raises:
        OnlineError: the name is not a valid name on GitHub, or `pyproject.toml` does not contain the line with the old
            name exactly once.
    """
    path, line = root / "pyproject.toml", 'repository = "{}"'
    old, new = line.format(repository_name(root)), line.format(_require_repository_name(name))
    text = path.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise OnlineError(
            f"{path} must contain the line {old} exactly once. Correct the file, and run this command again."
        )
    write_atomically(path, text.replace(old, new))


def _require_repository_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise OnlineError(
            f"{name!r} is not the name of a repository on GitHub. Write owner/name, as in the repository's address."
        )
    return name


def _fill_template(template: str, **words: str) -> str:
    return Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(words)


def binder_url(name: str, path: str) -> str:
    """Return the address that makes Binder build the repository and open `path` in JupyterLab."""
    return f"https://mybinder.org/v2/gh/{name}/{BRANCH}?urlpath=lab/tree/{path}"


def colab_url(name: str, notebook: str) -> str:
    """Return the address that opens a notebook of the branch `COLAB_BRANCH` in Colab."""
    return f"https://colab.research.google.com/github/{name}/blob/{COLAB_BRANCH}/{notebook}"


def links_page(root: Path = ROOT) -> str:
    """Return the text of `docs/online.md`, with a row of links for each lesson."""
    name = repository_name(root)
    unset = (
        f"**Not public yet.** The links contain the placeholder `{UNSET}`. To replace it, run `coginst online"
        " your-name/your-repository`.\n\n"
        if name == UNSET
        else ""
    )
    rows = [
        f"| {path.stem[:2]} | {lessons.read_lesson(path).title} |"
        f" [Binder]({binder_url(name, f'course/{path.stem}.ipynb')}) |"
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
    )


def colab_notebooks(root: Path = ROOT) -> dict[str, bytes]:
    """Return the students' notebooks for Colab by file name. The first cell of each notebook fetches the course.

    Raises:
        OnlineError: `pyproject.toml` lacks the repository's name or a package.
        MarkerError, BuildError: same as in a build.
    """
    setup = _colab_setup_source(repository_name(root), root)
    notebooks = {}
    for name, content in student_files(root / "solutions").items():
        if name.endswith(".ipynb"):
            notebook = json.loads(content)
            notebook["metadata"].pop("jupytext", None)  # on Colab, there is no .md to synchronise with
            source = setup.rstrip("\n").splitlines(keepends=True)
            notebook["cells"].insert(0, ipynb.make_cell("code", "on-colab", {}, source))
            notebooks[name] = (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()
    return notebooks


def colab_requirements(root: Path = ROOT) -> list[str]:
    """Return the requirements that the first cell on Colab installs with pip.

    Raises:
        OnlineError: `pyproject.toml` does not list all packages in `FETCHED`.
    """
    listed = map(Requirement, read_pyproject(root).get("project", {}).get("dependencies", []))
    requirements = [f"{package.name}{package.specifier}" for package in listed if package.name in FETCHED]
    if len(requirements) != len(FETCHED):
        raise OnlineError(
            f"Colab needs {', '.join(FETCHED)}, but pyproject.toml lists only {', '.join(requirements)}."
            if requirements
            else f"Colab needs {', '.join(FETCHED)}, but pyproject.toml lists none of these packages."
        )
    return requirements


def _colab_setup_source(name: str, root: Path) -> str:
    """Return the source of the first cell on Colab. Running the cell again does not change an existing course."""
    packages = ", ".join(f'"{package}"' for package in colab_requirements(root))
    return _fill_template("colab.py.txt", folder=name.partition("/")[2], name=name, wanted=packages)


def write_links_page(root: Path = ROOT) -> Path:
    """Write `docs/online.md`. Raises `OnlineError`."""
    path = root / "docs" / "online.md"
    write_atomically(path, links_page(root))
    return path


def write_colab_notebooks(out: str | Path, root: Path = ROOT) -> list[str]:
    """Write the notebooks for Colab to the folder `out`, and return their names. Existing notebooks are overwritten.

    Raises:
        OnlineError: `out` is the course's folder, or `pyproject.toml` lacks the repository's name or a package.
        MarkerError, BuildError: same as in a build.
    """
    out = Path(out)
    if out.resolve() == (root / "course").resolve():
        raise OnlineError(
            f"{out} contains the course, but the notebooks for Colab need a separate folder. Name another folder."
        )
    notebooks = colab_notebooks(root)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in notebooks.items():
        write_atomically(out / name, content)
    return sorted(notebooks)
