"""Binder and Colab: the links, and a notebook for Colab run where nothing of the course is."""

import json
import os
import re
import sys
import zipfile
from urllib.parse import urlsplit

import nbformat
import pytest
import yaml
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell
from typer.testing import CliRunner

from utils import lessons
from utils.cli.commands import app
from utils.instructor import online_links
from utils.instructor.release import release
from utils.lessons import ROOT

STEMS = [path.stem for path in lessons.all_lessons()]


@pytest.fixture
def clone(tmp_path):
    """What the links are made from, in a folder of its own."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "solutions").symlink_to(ROOT / "solutions")
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    return tmp_path


def test_the_page_is_what_the_command_makes():
    assert (ROOT / "docs" / "online.md").read_text(encoding="utf-8") == online_links.links_page(), (
        "run `coginst online`"
    )


def test_a_name_goes_into_every_link(clone):
    assert "**Not public yet.**" in online_links.links_page(clone)
    online_links.set_repository_name("ada/attention.by-hand", clone)
    assert online_links.repository_name(clone) == "ada/attention.by-hand" and 'version = "' in (
        clone / "pyproject.toml"
    ).read_text(encoding="utf-8")
    page = online_links.write_links_page(clone).read_text(encoding="utf-8")
    assert online_links.UNSET not in page and "Not public yet" not in page
    links = re.findall(r"\]\((https:[^)]+)\)", page)
    assert len(links) == 2 * len(STEMS)
    for stem, (binder, colab) in zip(STEMS, zip(links[::2], links[1::2])):
        assert urlsplit(binder)[1:4] == (
            "mybinder.org",
            "/v2/gh/ada/attention.by-hand/main",
            f"urlpath=lab/tree/course/{stem}.ipynb",
        )
        assert urlsplit(colab)[1:3] == (
            "colab.research.google.com",
            f"/github/ada/attention.by-hand/blob/colab/{stem}.ipynb",
        )
        assert (ROOT / "course" / f"{stem}.ipynb").is_file()


def test_the_page_warns_of_answers_and_the_way_without_them_has_what_binder_needs(tmp_path):
    """The copy that the page tells to publish: no answer in it, and every notebook that a link opens."""
    page = online_links.links_page()
    publishing = page.partition("## Publishing a clone")[2]
    assert "A public clone shows the answers" in publishing and "history" in publishing
    told = re.findall(r"coginst release (\S+) ", publishing)
    assert (
        told == ["attention.zip"]
        and f"git push https://github.com/{online_links.repository_name()} {online_links.BRANCH}" in page
    )
    with zipfile.ZipFile(release(tmp_path / told[0]).path) as packed:
        names = {name.partition("/")[2] for name in packed.namelist() if name.startswith("attention/")}
    assert not [name for name in names if name.startswith(("solutions", ".git"))]
    links = re.findall(r"urlpath=lab/tree/([^)]+)", page)
    assert len(links) == len(STEMS) and {*links, "environment.yml", "requirements.lock", "pyproject.toml"} <= names


@pytest.mark.parametrize("name", ["attention", "a/b/c", "/b", "a/", "a b/c", 'a/b"', "https://github.com/a/b", "-a/b"])
def test_what_is_no_name_is_refused_and_nothing_is_written(clone, name):
    before = (clone / "pyproject.toml").read_text(encoding="utf-8")
    with pytest.raises(online_links.OnlineError, match="no name of a repository"):
        online_links.set_repository_name(name, clone)
    assert (clone / "pyproject.toml").read_text(encoding="utf-8") == before and not list((clone / "docs").iterdir())


def test_without_the_line_it_says_which_to_write(clone):
    (clone / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    with pytest.raises(online_links.OnlineError, match=r"\[tool.coginst\]"):
        online_links.links_page(clone)
    (clone / "pyproject.toml").write_text('[tool.coginst]\nrepository = "a/b"\n', encoding="utf-8")
    with pytest.raises(online_links.OnlineError, match="lists only none of them"):
        online_links.colab_notebooks(clone)


def test_the_notebooks_are_the_students_and_one_cell(tmp_path):
    made = online_links.write_colab_notebooks(tmp_path / "colab")
    assert made == [f"{stem}.ipynb" for stem in STEMS] == sorted(path.name for path in (tmp_path / "colab").iterdir())
    for name in made:
        mine = json.loads((tmp_path / "colab" / name).read_text(encoding="utf-8"))
        nbformat.validate(mine)
        student = json.loads((ROOT / "course" / name).read_text(encoding="utf-8"))
        assert mine["cells"][1:] == student["cells"] and "jupytext" not in mine["metadata"]
        compile("".join(mine["cells"][0]["source"]), name, "exec")
    with pytest.raises(online_links.OnlineError, match="a folder of their own"):
        online_links.write_colab_notebooks(ROOT / "course")


def test_in_an_empty_folder_the_first_cell_brings_the_course(tmp_path):
    """GitHub is this checkout; pip finds everything there already. The whole lesson runs, and the first cell again at
    the end."""
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        **os.environ,
        "HOME": str(home),
        "PYTHONPATH": str(ROOT / "tests" / "offline"),
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": f"url.{ROOT.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": f"https://github.com/{online_links.repository_name()}",
        "GIT_CONFIG_KEY_1": "safe.directory",
        "GIT_CONFIG_VALUE_1": "*",
        "COURSE_PROGRESS": "",
    }
    notebook = nbformat.reads(online_links.colab_notebooks()["00_start_here.ipynb"].decode(), 4)
    told = new_code_cell("import utils; print(utils.__file__); print(os.getcwd()); print(sys.executable)")
    notebook.cells += [new_code_cell(notebook.cells[0].source), told]
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute(env=environment)
    course = home / online_links.repository_name().partition("/")[2]
    file, folder, python = notebook.cells[-1].outputs[0].text.split("\n")[:3]
    assert (
        file == str(course / "utils" / "__init__.py") and folder == str(course / "course") and python == sys.executable
    )
    assert (course / ".progress.json").is_file()
    shown = next(cell for cell in notebook.cells if cell.source.endswith("progress()")).outputs[0]
    assert "0 of" in shown["data"]["text/plain"]


def test_binder_finds_conda_s_road():
    """repo2docker takes environment.yml when the repository has no folder for Binder and no Dockerfile; pip's lines are
    relative to it."""
    assert not any((ROOT / name).exists() for name in ("binder", ".binder", "Dockerfile"))
    pip = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"][-1]["pip"]
    assert (ROOT / pip[0].removeprefix("-r ")).is_file() and pip[1] == "-e ."
    assert "jupyterlab==" in (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_the_workflow_makes_the_branch_that_links_name():
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "colab.yml").read_text(encoding="utf-8"))
    said = "\n".join(step.get("run", "") for step in flow["jobs"]["notebooks"]["steps"])
    assert (
        flow[True]["push"]["branches"] == [online_links.BRANCH]
        and f"--initial-branch {online_links.COLAB_BRANCH}" in said
    )
    assert re.search(r"coginst online .* --notebooks build/colab", said) and flow["permissions"] == {
        "contents": "write"
    }


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(online_links, "write_links_page", lambda: "docs/online.md")
    done = CliRunner().invoke(app, ["online", "--notebooks", str(tmp_path / "out")])
    assert (
        done.exit_code == 0
        and f"{len(STEMS)} notebooks" in done.output
        and len(list((tmp_path / "out").iterdir())) == len(STEMS)
    )
    done = CliRunner().invoke(app, ["online", "nonsense"])
    assert done.exit_code == 2 and "no name of a repository" in done.output
