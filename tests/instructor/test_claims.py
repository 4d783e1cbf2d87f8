"""Test the list of claims: every mark quotes its lesson, docs/claims.md is current, and new claims are found."""

import shutil
import subprocess

import pytest

from tests.lesson_files import HEADER
from utils import lessons
from utils.instructor import claims
from utils.lessons import ROOT

LESSON = (
    HEADER
    + """\
# One lesson

The scores grow because the keys are long. A mask *never* hides the diagonal.
"""
)
TESTS = '''
import pytest


@pytest.mark.claim("The scores grow because the keys are long")
@pytest.mark.observed("A mask never hides the diagonal.")
def test_short_keys():
    """With keys of length 1, the scores stay | small.

    More."""
'''


@pytest.fixture
def repository(tmp_path):
    """A repository with one lesson, whose test supports two claims."""
    (tmp_path / "docs").mkdir()
    for name, text in {"solutions/01_one.md": LESSON, "tests/course/test_one.py": TESTS}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def commit(folder):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "lesson"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)


def test_every_mark_quotes_its_lesson():
    assert claims.find_wrong_quotes(claims.read_claims()) == []


def test_the_page_is_current():
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert page == claims.render_page(claims.read_claims()), "run `coginst ready LESSON`"


def test_marks_become_rows(repository):
    found = claims.read_claims(repository)
    assert [claim.evidence for claim in found] == ["intervention", "observation"]
    assert claims.find_wrong_quotes(found, repository) == []
    claims.write_page(repository)
    page = (repository / "docs" / "claims.md").read_text()
    assert "| The scores grow because the keys are long | intervention | With keys of length 1" in page
    assert "the scores stay \\| small. |" in page
    assert "## 01 One lesson" in page


def test_a_quote_that_the_lesson_no_longer_contains_is_reported(repository):
    path = repository / "solutions" / "01_one.md"
    path.write_text(LESSON.replace("keys are long", "queries are long"))
    wrong = claims.find_wrong_quotes(claims.read_claims(repository), repository)
    assert wrong == [
        'test_short_keys: solutions/01_one.md does not contain "The scores grow because the keys are long"'
    ]


def test_new_causal_sentences_are_reported(repository):
    path = repository / "solutions" / "01_one.md"
    commit(repository)
    assert claims.find_new_claims(lessons.read_lesson(path), repository) == []
    new = "Long keys *cannot* lose."
    path.write_text(f"{LESSON}\n{new} The keys are long.\n")
    assert claims.find_new_claims(lessons.read_lesson(path), repository) == [new]
    (repository / "tests/course/test_one.py").write_text(
        TESTS.replace("The scores grow because the keys are long", new)
    )
    assert claims.find_new_claims(lessons.read_lesson(path), repository) == []


def test_outside_a_git_repository_nothing_is_new(repository):
    shutil.rmtree(repository / ".git", ignore_errors=True)
    assert claims.find_new_claims(lessons.read_lesson(repository / "solutions" / "01_one.md"), repository) == []
