"""Run the tests that belong to the changed files. `make quick` runs this after the lint.

The choice follows the names: a lesson, a module or a package needs the tests of the same name. It is not complete:
for example, a change of the check engine can also change the verdicts of exercises. `make test` runs everything. Of the
tests in a browser, this chooses only those of a changed explorer.

Usage: python .ci/quick_tests.py [BASE]              files that differ from the commit BASE (default: HEAD)
       python .ci/quick_tests.py --files FILE ...    these files
       ... --exercises NAME ...                      only these exercises of the lessons
       ... --ignore FOLDER ...                       without the tests of these folders
       ... --list                                    print the arguments of pytest, and run nothing
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SLOW = ("tests/browser", "tests/book")  # These tests need JupyterLab and Chromium, or build the book.
DOCUMENTS = "tests/test_docs.py"  # These tests read all documents.
EVERY_EXPLORER = "tests/explore/test_every_explorer.py"  # These tests have a parameter for each explorer.
# These tests have a parameter for each exercise or each lesson.
EVERY_LESSON = (
    "tests/checks/test_exercises.py",
    "tests/checks/test_transfer.py",
    "tests/checks/test_blind.py",
    "tests/checks/test_test_doubles.py",
    "tests/course/test_run_again.py",
    "tests/course/test_voice.py",
    "tests/instructor/test_solved_notebooks.py",
    "tests/solved/test_outputs.py",
)


def git_lines(*arguments: str) -> list[str]:
    """Return the lines that a git command prints."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    return done.stdout.splitlines()


def changed_files(base: str) -> list[str]:
    """Return the names of files that differ from `base`, and of new files that git does not ignore."""
    return git_lines("diff", "--name-only", base) + git_lines("ls-files", "--others", "--exclude-standard")


def lesson_stem(file: str) -> str:
    """Return the stem of the lesson that a file belongs to, such as `layer_norm`, or "" if it belongs to none."""
    folders = r"solutions|course|tests/solved|tests/checks/blind/\w+|tests/checks/transfer"
    if numbered := re.match(rf"(?:{folders})/\d\d_(\w+)\.\w+$", file):
        return numbered[1]
    stem = re.match(r"(?:utils/(?:checks/transfer|checks|models)|tests/course)/(?:test_)?(\w+)(?:\.py$|/)", file)
    return stem[1] if stem and list(ROOT.glob(f"solutions/[0-9][0-9]_{stem[1]}.md")) else ""


def importing_tests(file: str, folder: str) -> list[str]:
    """Return the test files in a folder that import a module of `utils`."""
    package, _, name = file.removesuffix(".py").replace("/", ".").rpartition(".")
    forms = (rf"(?:from|import) {package}\.{name}\b", rf"from {package} import (?:\([^)]*|[^\n(]*)\b{name}\b")
    pattern = re.compile(rf"^\s*(?:{'|'.join(forms)})", re.MULTILINE)
    paths = (ROOT / folder).rglob("test_*.py")
    found = (path for path in paths if pattern.search(path.read_text(encoding="utf-8")))
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def choose_tests(file: str) -> list[str]:
    """Return the test files and folders of a changed file that belongs to no lesson.

    These are the test of the same name, or else the tests of the package that import the module, or else all tests of
    the package, or else the general tests. A document needs only the general tests that name it.
    """
    if file.startswith("tests/"):
        if Path(file).name.startswith("test_") and file.endswith(".py"):
            return [file]
        folder = str(Path(file).parent) if file.count("/") > 1 else ""
    else:
        folder = re.sub(r"^utils/(\w+)/.*", r"tests/\1", file) if file.startswith("utils/") else ""
    folder = folder.removesuffix("/__snapshots__")
    if folder == "tests/explore" and not explorer_names(file):  # What several explorers share needs no browser here.
        return [f"{EVERY_EXPLORER}::test_an_explorer_is_a_widget_and_a_sentence"]
    own = f"{folder}/test_{Path(file).stem.removeprefix('test_')}.py"
    if folder and (ROOT / own).is_file():
        return [own]
    if file.startswith("utils/") and folder and (importing := importing_tests(file, folder)):
        return importing
    if folder and (ROOT / folder).is_dir():
        return [folder]
    general = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/test_*.py"))
    if not file.endswith(".md"):
        return general
    name = Path(file).name
    return [test for test in general if test == DOCUMENTS or name in (ROOT / test).read_text(encoding="utf-8")]


def explorer_names(file: str) -> list[str]:
    """Return the explorers that a module or script of `utils.explore` contains: `causal` for causal_attention.js."""
    stem = re.match(r"utils/explore/(\w+)\.(?:py|js)$", file)
    if stem is None:
        return []
    sys.path.insert(0, str(ROOT))
    from utils import explore

    modules = {name: getattr(explore, name).__module__ for name in explore.__all__}
    return [name for name, module in modules.items() if module == f"utils.explore.{stem[1]}"]


def exercise_names(stem: str) -> list[str]:
    """Return the names of a lesson's exercises."""
    sys.path.insert(0, str(ROOT))
    from utils.exercises.exercise import all_exercises

    return [name for name, exercise in all_exercises().items() if exercise.lesson == stem]


def pytest_runs(files: Iterable[str], exercises: Sequence[str] = (), ignored: Sequence[str] = ()) -> list[list[str]]:
    """Return the arguments of each run of pytest that these files need.

    Args:
        files: the names of the changed files, relative to the repository.
        exercises: of the tests for each exercise, choose only those for these (default: all of the lessons).
        ignored: folders of tests that are not chosen.
    """
    stems, tests, explorers = set(), set(), set()
    for file in files:
        explorers.update(explorer_names(file))
        if stem := lesson_stem(file):
            stems.add(stem)
        if not stem or file.startswith("utils/models"):
            tests.update(choose_tests(file))
    pages = sorted(page for stem in stems for page in ROOT.glob(f"solutions/[0-9][0-9]_{stem}.md"))
    for page in pages:
        tests |= {f"tests/course/test_{page.stem[3:]}.py", f"course/{page.stem}.ipynb"}
    tests |= {DOCUMENTS} if pages else set()
    whole = sorted(
        test for test in tests if (ROOT / test.partition("::")[0]).exists() and not test.startswith((*SLOW, *ignored))
    )
    workers = [] if exercises else ["-n", "2"]  # The tests of one exercise take less time than another worker.
    runs = [[*whole, *workers, "--dist", "loadfile"]] if whole else []
    if explorers:
        runs.append([EVERY_EXPLORER, "-n", "2", "-k", " or ".join(f"[{name}" for name in sorted(explorers))])
    if pages:
        names = exercises or [name for page in pages for name in exercise_names(page.stem[3:])]
        ids = [f"[{page.stem}]" for page in pages] + [form.format(name) for name in names for form in ("[{}]", "[{}-")]
        chosen = " or ".join(ids)
        every = [test for test in EVERY_LESSON if not test.startswith(tuple(ignored))]
        runs.append([*every, *workers, "-k", chosen])
    return runs


def main() -> int:
    """Run the tests. Return the exit status: 0 if all pass, also if there are none."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("base", nargs="?", default="HEAD", help="a commit (default: HEAD)")
    ask.add_argument("--files", nargs="+", metavar="FILE", help="the changed files, instead of git's list")
    ask.add_argument("--exercises", nargs="+", default=(), metavar="NAME", help="only these exercises of the lessons")
    ask.add_argument("--ignore", nargs="+", default=(), metavar="FOLDER", help="choose no tests of these folders")
    ask.add_argument("--list", action="store_true", help="print the arguments of pytest, and run nothing")
    given = ask.parse_args()
    runs = pytest_runs(given.files or changed_files(given.base), given.exercises, given.ignore)
    if given.list or not runs:
        print("\n".join(shlex.join(run) for run in runs) or "No tests belong to the changed files.")
        return 0
    options = [sys.executable, "-m", "pytest", "-q", "--hypothesis-profile=ci"]
    return max(subprocess.run([*options, *run], cwd=ROOT).returncode for run in runs)


if __name__ == "__main__":
    sys.exit(main())
