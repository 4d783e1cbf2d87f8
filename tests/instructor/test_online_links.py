"""Test the links for Binder and Colab, and run a notebook for Colab in an empty folder."""

import json
import os
import re
import subprocess
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
    """Return a folder with the files from which the links are made."""
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
    """The copy that the page recommends to publish has no answer, and every notebook that a link opens."""
    page = online_links.links_page()
    publishing = page.partition("## Publishing a clone")[2]
    assert "A public clone shows the answers" in publishing and "history" in publishing
    zip_names = re.findall(r"coginst release (\S+) ", publishing)
    assert (
        zip_names == ["attention.zip"]
        and f"git push https://github.com/{online_links.repository_name()} {online_links.BRANCH}" in page
    )
    with zipfile.ZipFile(release(tmp_path / zip_names[0]).path) as packed:
        names = {name.partition("/")[2] for name in packed.namelist() if name.startswith("attention/")}
    assert not [name for name in names if name.startswith(("solutions", ".git"))]
    links = re.findall(r"urlpath=lab/tree/([^)]+)", page)
    assert (
        len(links) == len(STEMS)
        and {*links, "environment.yml", "postBuild", "requirements.lock", "pyproject.toml"} <= names
    )


@pytest.mark.parametrize("name", ["attention", "a/b/c", "/b", "a/", "a b/c", 'a/b"', "https://github.com/a/b", "-a/b"])
def test_what_is_no_name_is_refused_and_nothing_is_written(clone, name, snapshot):
    before = (clone / "pyproject.toml").read_text(encoding="utf-8")
    with pytest.raises(online_links.OnlineError) as error:
        online_links.set_repository_name(name, clone)
    assert str(error.value) == snapshot
    assert (clone / "pyproject.toml").read_text(encoding="utf-8") == before and not list((clone / "docs").iterdir())


def test_without_the_line_it_says_which_to_write(clone, snapshot):
    (clone / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    with pytest.raises(online_links.OnlineError) as error:
        online_links.links_page(clone)
    assert str(error.value).replace(str(clone), "CLONE") == snapshot
    (clone / "pyproject.toml").write_text('[tool.coginst]\nrepository = "a/b"\n', encoding="utf-8")
    with pytest.raises(online_links.OnlineError) as error:
        online_links.colab_notebooks(clone)
    assert str(error.value) == snapshot


def test_the_notebooks_are_the_students_and_one_cell(tmp_path):
    made = online_links.write_colab_notebooks(tmp_path / "colab")
    assert made == [f"{stem}.ipynb" for stem in STEMS] == sorted(path.name for path in (tmp_path / "colab").iterdir())
    for name in made:
        notebook = json.loads((tmp_path / "colab" / name).read_text(encoding="utf-8"))
        nbformat.validate(notebook)
        student = json.loads((ROOT / "course" / name).read_text(encoding="utf-8"))
        assert notebook["cells"][1:] == student["cells"] and "jupytext" not in notebook["metadata"]
        compile("".join(notebook["cells"][0]["source"]), name, "exec")


def test_the_notebooks_are_not_written_into_the_course(snapshot):
    with pytest.raises(online_links.OnlineError) as error:
        online_links.write_colab_notebooks(ROOT / "course")
    assert str(error.value).replace(str(ROOT), "ROOT") == snapshot


def test_in_an_empty_folder_the_first_cell_brings_the_course(tmp_path):
    """The whole lesson runs, and then its first cell again.

    Git fetches from this clone instead of GitHub, and all packages are already installed.
    """
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
    report_cell = new_code_cell("import utils; print(utils.__file__); print(os.getcwd()); print(sys.executable)")
    notebook.cells += [new_code_cell(notebook.cells[0].source), report_cell]
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute(env=environment)
    course = home / online_links.repository_name().partition("/")[2]
    file, folder, python = notebook.cells[-1].outputs[0].text.split("\n")[:3]
    assert (
        file == str(course / "utils" / "__init__.py") and folder == str(course / "course") and python == sys.executable
    )
    assert (course / "course" / ".progress.json").is_file()
    progress_output = next(cell for cell in notebook.cells if cell.source.endswith("progress()")).outputs[0]
    assert "0 of" in progress_output["data"]["text/plain"]


def test_binder_builds_from_environment_yml():
    """repo2docker uses environment.yml only if the repository has no folder for Binder and no Dockerfile."""
    assert not any((ROOT / name).exists() for name in ("binder", ".binder", "Dockerfile"))
    pip = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"][-1]["pip"]
    assert (ROOT / pip[0].removeprefix("-c ")).is_file() and pip[1] == "-e ."
    assert "jupyterlab==" in (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_binder_configures_jupyter(tmp_path):
    """repo2docker runs postBuild after the installation. Without it, a lesson would open as text."""
    (tmp_path / "coginst").write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    (tmp_path / "coginst").chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", ROOT / "postBuild"], env=environment, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == "configure\n"


def test_the_workflow_makes_the_branch_that_links_name():
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "colab.yml").read_text(encoding="utf-8"))
    commands = "\n".join(step.get("run", "") for step in flow["jobs"]["notebooks"]["steps"])
    assert (
        flow[True]["push"]["branches"] == [online_links.BRANCH]
        and f"--initial-branch {online_links.COLAB_BRANCH}" in commands
    )
    assert re.search(r"coginst online .* --notebooks build/colab", commands) and flow["permissions"] == {
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
    assert done.exit_code == 2 and "'nonsense'" in done.output
