"""Test the student's zip: its content, what it must not contain, and that it works after unzipping."""

import functools
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
import zipfile
import zlib
from urllib.parse import urlsplit

import pytest
import yaml
from typer.testing import CliRunner

import utils
from tests.fresh_python import environment_without, isolated_jupyter_environment, run_python
from tests.instructor.small_course import SECRET, git
from tests.lesson_files import HEADER
from utils import lessons
from utils.cli.commands import app
from utils.instructor import release as releasing
from utils.instructor.build import student_files
from utils.instructor.release import INITIAL_LESSONS, ReleaseError, audit_zip, release
from utils.instructor.strip import strip_notes
from utils.learning.sharing import FILE_NAME
from utils.lessons import ROOT

STEMS = [path.stem for path in lessons.all_lessons()]


def read(path):
    """Return the files of a zip, by their names within its folder."""
    with zipfile.ZipFile(path) as packed:
        return {name.partition("/")[2]: packed.read(name) for name in packed.namelist()}


def write(path, files, folder="made"):
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(f"{folder}/{name}", content)
    return path


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Return a function that releases the course with the answers of some lessons, once for each choice of lessons."""
    return functools.cache(
        lambda *answers: release(tmp_path_factory.mktemp("zip") / "attention course.zip", answers).path
    )


@pytest.fixture
def course(released):
    return released()


@pytest.fixture(scope="module")
def copies():
    """Return the students' files of the whole course."""
    return student_files(ROOT / "solutions")


# --- content ------------------------------------------------------------------------------------------


def of_utils(names):
    """Return the names in `utils`, without the copies of the lessons' texts."""
    return {name for name in names if name.startswith("utils/") and not name.startswith(f"{INITIAL_LESSONS}/")}


def test_it_holds_the_students_course_and_nothing_else(course, copies):
    files = read(course)
    assert {name.partition("/")[0] for name in files} == {
        "course",
        "utils",
        "docs",
        "AGENTS.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "environment.yml",
        "postBuild",
        "pyproject.toml",
        "requirements.lock",
    }
    assert {name for name in files if name.startswith("course/")} == {
        f"course/{stem}.{half}" for stem in STEMS for half in ("md", "ipynb")
    }
    assert {name: content for name, content in files.items() if name.startswith("course/")} == {
        f"course/{name}": content for name, content in copies.items()
    }
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "utils"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout.split("\0")
    packed = {re.sub(r"(/learning/items/.*)\.yaml$", r"\1.bin", name) for name in tracked if (ROOT / name).is_file()}
    assert packed == of_utils(files)
    assert {name: files[f"{INITIAL_LESSONS}/{name}"] for name in (f"{stem}.md" for stem in STEMS)} == {
        name.removeprefix("course/"): content
        for name, content in files.items()
        if name.startswith("course/") and name.endswith(".md")
    }
    assert not [name for name in files if "__pycache__" in name or name.startswith((".", "course/."))]
    assert course.stat().st_size < 10e6


def test_no_file_can_be_searched_for_the_items_of_the_inventory(course):
    """A learner or an assistant who reads or searches the files meets no question, no choice and no rationale."""
    forms = {name: (ROOT / f"utils/learning/items/form_{name}.yaml").read_bytes() for name in "ab"}
    items = [item for content in forms.values() for item in yaml.safe_load(content)]
    choices = [choice["text"] for item in items for choice in item["choices"]]
    texts = [item[part] for item in items for part in ("question", "rationale")]
    texts += [text for text in choices if len(text.split()) > 6]
    files = read(course)
    every = " ".join(" ".join(content.decode("utf-8", "replace").split()) for content in files.values())
    assert len(texts) > 90 and not [text for text in texts if " ".join(text.split()) in every]
    assert not [name for name in files if name.endswith(".yaml")]
    for name, content in forms.items():
        assert zlib.decompress(files[f"utils/learning/items/form_{name}.bin"]) == content


def test_an_uncompressed_form_stops_the_release(tmp_path, course):
    files = read(course) | {"utils/learning/items/form_a.yaml": b"- id: A1"}
    faults = audit_zip(write(tmp_path / "made.zip", files))
    assert faults == ["utils/learning/items/form_a.yaml:1: this file does not belong in a student's copy."]


def test_a_learners_assistant_is_told_to_teach(course):
    """AGENTS.md names only functions that exist, and names the forbidden ones as learners call them."""
    text = read(course)["AGENTS.md"].decode()
    do, _, never = text.partition("**Do not**")
    assert "check(NAME)" in do and "hint(NAME)" in do and all(grade in do for grade in ("a nudge", "the idea"))
    assert "solution(" not in do and all(f"`{folder}/`" in never for folder in ("solutions", "utils/checks"))
    assert all(f"`{name}(" in never and callable(getattr(utils, name)) for name in ("solution", "yours"))


def test_what_git_does_not_know_stays_here_and_is_named(tmp_path, small):
    """Files of Python, Jupyter and editors, and a private copy of lesson 04, stay out of the zip."""
    for name in ("__pycache__/x.pyc", ".cache", "x.egg-info/PKG-INFO", "old.zip", "backup.txt", "assets/new.json"):
        path = small / "utils" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET, encoding="utf-8")
    (small / ".gitignore").write_text("__pycache__/\n*.egg-info/\n.cache\n*.zip\n", encoding="utf-8")
    made = release(tmp_path / "a.zip", root=small)
    assert of_utils(read(made.path)) == {"utils/__init__.py"}
    assert made.untracked_files == ["utils/assets/new.json", "utils/backup.txt"]
    git(small, "add", "utils/assets/new.json")
    (small / "utils" / "assets" / "new.json").write_text("{}", encoding="utf-8")
    made = release(tmp_path / "b.zip", root=small)
    assert read(made.path)["utils/assets/new.json"] == b"{}" and made.untracked_files == ["utils/backup.txt"]


def test_a_tracked_file_that_was_deleted_is_not_missed(tmp_path, small):
    (small / "utils" / "gone.py").write_text("", encoding="utf-8")
    git(small, "add", "--all")
    (small / "utils" / "gone.py").unlink()
    assert "utils/gone.py" not in read(release(tmp_path / "a.zip", root=small).path)


def test_without_git_a_manifest_says_what_belongs_to_the_course(tmp_path, small, snapshot):
    shutil.rmtree(small / ".git")
    (small / "utils" / "backup.txt").write_text(SECRET, encoding="utf-8")
    with pytest.raises(ReleaseError) as error:
        release(tmp_path / "a.zip", root=small)
    assert str(error.value).replace(str(small), "ROOT") == snapshot
    (small / "release.txt").write_text("# ours\nutils/__init__.py\nutils/none.py\n\n", encoding="utf-8")
    with pytest.raises(ReleaseError) as error:
        release(tmp_path / "a.zip", root=small)
    assert str(error.value).replace(str(small), "ROOT") == snapshot
    assert list(tmp_path.iterdir()) == [small]
    (small / "release.txt").write_text("utils/__init__.py\n", encoding="utf-8")
    names = read(release(tmp_path / "a.zip", root=small).path)
    assert of_utils(names) == {"utils/__init__.py"} and "release.txt" not in names


def test_its_readme_leads_somewhere_and_asks_for_nothing_that_stays_here(course):
    files = read(course)
    page = files["README.md"].decode()
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert len(links) > len(STEMS) - 2 and [link for link in links if link not in files] == []
    assert "make lab" in page and not re.search(
        r"make (?!lab)\w|For (instructors|maintainers)|\btests/", page.replace("make and", "")
    )
    makefile = files["Makefile"].decode()
    assert re.findall(r"(?m)^([\w-]+):(?!=)", makefile) == ["lab"]


def test_its_makefile_and_page_say_what_the_course_s_own_say(course):
    """Our Makefile contains each block of the student's, and the student's README each marked part of ours."""
    files, ours = read(course), (ROOT / "Makefile").read_text(encoding="utf-8")
    for block in files["Makefile"].decode().split("\n\n"):
        assert block.startswith(".PHONY") or block in ours
    page, readme = files["README.md"].decode(), (ROOT / "README.md").read_text(encoding="utf-8")
    parts = re.findall(r"(?s)<!-- for students too -->\n(.*?)\n<!-- until here -->", readme)
    assert page.splitlines()[0] == readme.splitlines()[0] and len(parts) == 3
    assert re.findall("(?m)^## .*$", page) == ["## Hand in", "## New versions", "## Lessons", "## GPT-2"]
    assert all(part in page for part in parts) and "<!--" not in page


def test_the_page_says_what_to_hand_in(course):
    """The commands on the page exist, and the file is the one that `coginst collect` looks for."""
    part = re.search(r"(?s)## Hand in\n(.*?)\n## ", read(course)["README.md"].decode())[1]
    assert "`.ipynb`" in part and f"`course/{FILE_NAME}`" in part and "voluntary" in part
    for call in re.findall(r"`progress\(\)\.(.+?)`", part):
        name, words = re.fullmatch(r"(\w+)\((?:(\w+)=True)?\)", call).groups()
        parameters = inspect.signature(getattr(utils.progress(), name)).parameters
        assert words is None or words in parameters
    assert part.count("progress().") == 2


def test_a_page_that_marks_nothing_for_students_stops_the_release(tmp_path, small, snapshot):
    (small / "README.md").write_text("# T\n", encoding="utf-8")
    with pytest.raises(ReleaseError) as error:
        release(tmp_path / "a.zip", root=small)
    assert str(error.value) == snapshot


def test_the_zip_unzips_into_one_folder_and_a_second_one_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first, second = (
        release(tmp_path / folder / "autumn.zip").path.read_bytes()
        for folder in ("a", "b")
        if (tmp_path / folder).mkdir() is None
    )
    assert first == second
    with zipfile.ZipFile(tmp_path / "a" / "autumn.zip") as packed:
        assert {name.partition("/")[0] for name in packed.namelist()} == {"autumn"}
        assert len({entry.date_time for entry in packed.infolist()}) == 1, (
            "jupytext rejects a .md that is older than its .ipynb"
        )


def test_answers_come_along_for_the_lessons_that_are_named_and_notes_never(tmp_path, small):
    made = release(tmp_path / "a.zip", ["turn"], root=small)
    text = read(made.path)["solutions/04_turn.md"].decode()
    assert made.solved_lessons == ["04_turn"] and "Ada" not in text and "key = 1" not in text and "COGNOTE" not in text
    assert SECRET in text and "What `<COGINST>` is." in text and "x = 2  # <COGLINE>" in text
    assert not [name for name in read(release(tmp_path / "b.zip", root=small).path) if name.startswith("solutions")]


@pytest.mark.parametrize("path", lessons.all_lessons(), ids=lambda path: path.stem)
def test_without_notes_a_lesson_makes_the_same_copy(path, tmp_path, copies):
    (tmp_path / path.name).write_text(strip_notes(lessons.read_text(path), path), encoding="utf-8")
    assert all(copies[name] == content for name, content in student_files(tmp_path).items())


def test_a_handed_out_lesson_that_holds_another_ones_answer_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(
        ReleaseError, match=r"solutions/05_multihead_attention.md:1: .* solutions/04_\S+ .* --with-solutions"
    ):
        release(tmp_path / "a.zip", ["05"])
    assert list(tmp_path.iterdir()) == []
    assert release(tmp_path / "a.zip", STEMS).solved_lessons == STEMS


# --- the web site ---------------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path):
    """Return the folder of a small web site with the files that `coginst book` makes."""
    folder = tmp_path / "site"
    (folder / "_static").mkdir(parents=True)
    (folder / ".coginst-book").write_text("", encoding="utf-8")
    (folder / "index.html").write_text("<h1>T</h1>", encoding="utf-8")
    (folder / "CONTRIBUTING.html").write_text("<p># &lt;COGINST&gt;</p>", encoding="utf-8")
    (folder / "_static" / "letters.woff").write_bytes(b"\xff\x00")
    return folder


def test_a_web_site_comes_along_where_it_is_asked_for(tmp_path, small, site):
    without = read(release(tmp_path / "a.zip", root=small).path)
    made = read(release(tmp_path / "b.zip", root=small, book=site).path)
    assert made.keys() - without.keys() == {
        f"book/{name}" for name in ("index.html", "CONTRIBUTING.html", "_static/letters.woff")
    }
    assert made["book/_static/letters.woff"] == b"\xff\x00"
    assert "`book/index.html`" in made["README.md"].decode() and b"book" not in without["README.md"]


@pytest.mark.parametrize(
    "page",
    ["<pre>turned_rows = [<b>rows</b>[step:] for _ in rows]</pre>", "<pre>&lt;COGNOTE&gt;</pre>"],
    ids=["an answer among tags", "a marker"],
)
def test_a_web_site_is_looked_through_as_its_reader_sees_it(tmp_path, small, site, page, snapshot):
    (site / "04.html").write_text(page, encoding="utf-8")
    with pytest.raises(ReleaseError) as error:
        release(tmp_path / "a.zip", root=small, book=site)
    assert str(error.value).replace(f"{tmp_path}{os.sep}", "") == snapshot
    assert not (tmp_path / "a.zip").exists()


def test_a_web_site_may_show_the_answers_that_are_handed_out(tmp_path, small, site):
    (site / "04.html").write_text(
        f"<pre>{SECRET}</pre>".replace("# <COGINST>", "").replace("# </COGINST>", ""), encoding="utf-8"
    )
    assert "book/04.html" in read(release(tmp_path / "a.zip", ["04"], root=small, book=site).path)


def test_a_folder_without_a_web_site_is_refused(tmp_path, small, snapshot):
    with pytest.raises(ReleaseError) as error:
        release(tmp_path / "a.zip", root=small, book=tmp_path)
    assert str(error.value).replace(str(tmp_path), "FOLDER") == snapshot


# --- leaks --------------------------------------------------------------------------------------------

NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "source": [],
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["turned_rows = [rows[step:] for _ in rows]"]}
            ],
        }
    ]
}
SMUGGLED = {
    "a line of an answer in a lesson": ("course/04_turn.md", "turned_rows = [rows[step:] for _ in rows]"),
    "a name of an answer in the page": ("README.md", "Think of turned_rows."),
    "an answer in an output": ("course/04_turn.ipynb", json.dumps(NOTEBOOK)),
    "a marker": ("utils/backup.txt", "x = 1\n# <COGLINE>\n"),
    "a marker in a lesson": ("course/04_turn.md", "Text.\n\n< /coginst >\n"),
    "a marker in a notebook": ("course/04_turn.ipynb", '{"cells": [{"source": ["# <COGNOTE>"]}]}'),
    "a lesson put aside": ("utils/backup.txt", HEADER + f"```python\n{SECRET}```\n"),
    "a whole answer in a module": ("utils/turning.py", SECRET),
    "a solved notebook": ("tests/solved/04_turn.ipynb", '{"cells": []}'),
    "a solved notebook elsewhere": ("utils/assets/04_turn.ipynb", '{"cells": []}'),
    "a lesson that is not handed out": ("solutions/04_turn.md", HEADER + f"```python\n{SECRET}```\n"),
    "the tests": ("tests/test_turn.py", "RIGHT = {}"),
    "a place": ("utils/here.py", "HERE = {root!r}"),
    "a manifest": ("course/.coginst.json", "{}"),
}


@pytest.mark.parametrize("case", SMUGGLED)
def test_the_zip_itself_is_looked_through(tmp_path, small, case, snapshot):
    files = read(release(tmp_path / "a.zip", root=small).path)
    assert audit_zip(tmp_path / "a.zip", root=small) == []
    name, content = SMUGGLED[case]
    if case == "a place":
        content = content.format(root=str(small))
    faults = audit_zip(write(tmp_path / "b.zip", files | {name: content}), root=small)
    assert any(fault.startswith((f"{name}:", "solutions/04_turn.md:")) for fault in faults)
    assert [fault.replace(str(small), "ROOT") for fault in faults] == snapshot


SHORT = """
```python
def first(rows):
    # <COGINST>
    return rows[0].turned(by_step=2)
    # </COGINST>


def second(rows):
    # <COGINST>
    return rows[1].turned(by_step=3)
    # </COGINST>
```
"""


def test_short_answers_are_counted_in_each_file(tmp_path, small, snapshot):
    """One short answer may be a coincidence. Two are a copy, although neither is a long answer."""
    path = small / "solutions" / "04_turn.md"
    path.write_text(path.read_text(encoding="utf-8") + SHORT, encoding="utf-8")
    one, other = "return rows[0].turned(by_step=2)", "return rows[1].turned(by_step=3)"
    files = read(release(tmp_path / "a.zip", root=small).path)
    for held, fault in ((one, False), (f"{one}\nx = 1\n{other}", True)):
        faults = audit_zip(write(tmp_path / "b.zip", files | {"utils/aside.txt": held}), root=small)
        assert bool(faults) == fault
    assert faults == snapshot
    git(small, "add", "--all")
    (small / "utils" / "aside.txt").write_text(f"{one}\n{other}", encoding="utf-8")
    git(small, "add", "--all")
    with pytest.raises(ReleaseError) as error:
        release(tmp_path / "c.zip", root=small)
    assert str(error.value) == "\n".join(f"{tmp_path / 'c.zip'}!{fault}" for fault in faults)


def test_a_zip_that_spills_or_is_none_is_refused(tmp_path, small, snapshot):
    files = read(release(tmp_path / "a.zip", root=small).path)
    with zipfile.ZipFile(write(tmp_path / "b.zip", files), "a") as packed:
        packed.writestr("other/x.py", "")
    assert audit_zip(tmp_path / "b.zip", root=small) == snapshot
    (tmp_path / "c.zip").write_text("no zip", encoding="utf-8")
    (fault,) = audit_zip(tmp_path / "c.zip", root=small)
    assert re.sub(r"\(.*\)", "(...)", fault) == snapshot  # the reason in parentheses is Python's


def test_a_handed_out_lesson_must_make_the_copy_that_is_there(tmp_path, small, snapshot):
    files = read(release(tmp_path / "a.zip", ["04"], root=small).path)
    assert audit_zip(tmp_path / "a.zip", ["04_turn"], small) == []
    files["course/04_turn.md"] += b"More.\n"
    assert audit_zip(write(tmp_path / "b.zip", files), ["04_turn"], small) == snapshot
    del files["solutions/04_turn.md"]
    assert audit_zip(write(tmp_path / "c.zip", files), ["04_turn"], small) == snapshot


def test_an_answer_in_utils_stops_the_release_and_nothing_is_left(tmp_path, small):
    (small / "utils" / "turning.py").write_text(
        "\n".join(line for line in SECRET.split("\n") if "COG" not in line), encoding="utf-8"
    )
    git(small, "add", "--all")
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(ReleaseError, match=r"a\.zip!utils/turning\.py:1: "):
        release(out / "a.zip", root=small)
    assert list(out.iterdir()) == []


def test_a_folder_is_not_replaced(tmp_path, small):
    folder = tmp_path / "a.zip"
    folder.mkdir()
    with pytest.raises(ReleaseError, match="is a folder"):
        release(folder, replace=True, root=small)


@pytest.mark.parametrize("replace", [False, True])
def test_two_releases_of_one_zip_at_once_do_not_mix(tmp_path, small, monkeypatch, replace):
    """The second release is written after the audit of the first, and before the first gets its final name."""
    out = tmp_path / "out" / "a.zip"
    out.parent.mkdir()

    def second(folder, solved, root):
        monkeypatch.undo()
        release(out, ["04"], root=root)
        return audit_zip(folder, solved, root)

    monkeypatch.setattr(releasing, "audit_zip", second)
    if replace:
        assert release(out, replace=True, root=small).solved_lessons == []
    else:
        with pytest.raises(ReleaseError, match=r"a\.zip .* --replace"):
            release(out, root=small)
    assert audit_zip(out, [] if replace else ["04_turn"], small) == [] and list(out.parent.iterdir()) == [out]


# --- the command --------------------------------------------------------------------------------------


def test_the_command_says_what_it_made_and_refuses_in_one_line(tmp_path, snapshot):
    run = lambda *arguments: CliRunner().invoke(app, ["release", *map(str, arguments)])
    done = run(tmp_path / "a.zip", "--with-solutions", "02", "--with-solutions", "start_here")
    numbers = re.sub(r"\d+ files, \d\.\d MB", "N files, N MB", done.stdout.replace(str(tmp_path), "FOLDER"))
    assert done.exit_code == 0 and numbers == snapshot
    before = (tmp_path / "a.zip").read_bytes()
    for arguments in (
        [tmp_path / "a.zip"],
        [tmp_path / "a"],
        [tmp_path / "no" / "a.zip"],
    ):
        refused = run(*arguments)
        assert refused.exit_code == 2 and len(refused.stderr.splitlines()) == 1
        assert refused.stderr.replace(str(tmp_path), "FOLDER") == snapshot
    refused = run(tmp_path / "b.zip", "--with-solutions", "nope")
    assert refused.exit_code == 2 and "'nope'" in refused.stderr and len(refused.stderr.splitlines()) == 1
    assert (tmp_path / "a.zip").read_bytes() == before and [path.name for path in tmp_path.iterdir()] == ["a.zip"]
    assert run(tmp_path / "a.zip", "--replace").exit_code == 0 and (tmp_path / "a.zip").read_bytes() != before


# --- after unzipping ---------------------------------------------------------------------------------


def unzipped(path, folder):
    """Unzip the release, with a finished environment, so that `make lab` installs nothing."""
    with zipfile.ZipFile(path) as packed:
        packed.extractall(folder)
    (root,) = folder.iterdir()
    (root / ".venv" / "bin").mkdir(parents=True)
    python = root / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (root / ".venv" / ".ready").touch()
    return root


def environment(folder):
    """Return the environment of a student, without access to this clone."""
    offline = {"PYTHONPATH": str(ROOT / "tests" / "offline")}
    return environment_without("PYTEST_", "COURSE_", "JUPYTER_") | isolated_jupyter_environment(folder) | offline


LEARNER = """
import utils, torch
from pathlib import Path
from utils import check, hint, solution, yours
assert Path(utils.__file__).parent.parent == Path.cwd()
def row_sums(x): return x.sum(dim=0)
print(check(row_sums))
def row_sums(x): return x.sum(dim=1)
print(check(row_sums))
print(hint(row_sums, 1))
print(solution(row_sums))
print(solution("get_mask"))
try: print(yours("get_mask")(2))
except NotImplementedError as error: print("NotYet", error)
"""


@pytest.mark.parametrize("answers", [[], ["start_here"]])
def test_make_lab_works_in_the_unzipped_folder(tmp_path, released, answers):
    root = unzipped(released(*answers), tmp_path / "home")
    before = {path: path.read_bytes() for path in (root / "course").iterdir()}
    command = ["make", "--silent", "lab", "ARGS=--no-browser --port 9410"]
    process = subprocess.Popen(
        command, cwd=root, env=environment(tmp_path), encoding="utf-8", stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    output = ""
    try:
        while not output.rstrip().endswith("Ctrl-C stops it."):
            line = process.stdout.readline()
            assert line, output
            output += line
        address = next(line for line in output.splitlines() if line.startswith("http"))
        assert "/lab/tree/00_start_here.ipynb?token=" in address
        token = address.partition("token=")[2]
        with urllib.request.urlopen(
            f"http://{urlsplit(address).netloc}/api/contents/05_multihead_attention.ipynb?token={token}", timeout=600
        ) as page:
            notebook = json.loads(page.read())["content"]
        assert "Many heads" in notebook["cells"][0]["source"] and len(notebook["cells"]) > 20
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=600)
    after = {path: path.read_bytes() for path in (root / "course").iterdir() if path.name != ".coginst.json"}
    assert after == before and "Traceback" not in output


@pytest.mark.parametrize("answers", [[], ["start_here"], ["00", "04"]])
def test_checks_and_hints_work_there(tmp_path, released, answers):
    root = unzipped(released(*answers), tmp_path / "home")
    done = run_python("-c", LEARNER, cwd=root, env=environment(tmp_path) | {"PYTHONPATH": str(root)})
    assert done.returncode == 0, done.stderr
    assert "✗ row_sums: " in done.stdout and "✓ row_sums: " in done.stdout and "hint 1 of 3" in done.stdout
    assert ("return x.sum(dim=1)" in done.stdout) == bool(answers)
    assert ("torch.ones(size, size, dtype=torch.bool).tril()" in done.stdout) == (len(answers) == 2)
    assert ("NotYet " in done.stdout) == (len(answers) < 2)
    assert (root / "course" / ".progress.json").exists()
