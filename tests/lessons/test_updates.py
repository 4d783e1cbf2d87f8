"""Cells that a release changed are recorded, and found in a learner's copy that did not take them over."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import jupytext
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, writes

from utils import progress
from utils.lessons.updates import UPDATES, find_outdated_cells, record_updates
from utils.notebook.progress_view import UPDATED

STEM = "02_simplified_attention"
TITLE, PROSE = "# Attention without training", "The scores are sums."
GAP = '    # YOUR CODE HERE\n    raise NotImplementedError("softmax")\n'
EXERCISE = f'def softmax(x, dim=-1):\n    """Normalise."""\n{GAP}\n\ncheck(softmax)'
NEW_PROSE, NEW_EXERCISE = "The scores are products.", EXERCISE.replace("Normalise.", "Normalise along `dim`.")


def answer(source: str) -> str:
    return source.replace(GAP, "    return x.softmax(dim)\n")


def notebook(*cells: str) -> NotebookNode:
    """A lesson with these cells. A cell with a check is code."""
    made = [new_code_cell(cell) if "check(" in cell else new_markdown_cell(cell) for cell in cells]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return new_notebook(cells=made, metadata=kernel)


def release(*cells: str) -> dict[str, bytes]:
    return {f"{STEM}.md": jupytext.writes(notebook(*cells), "md").encode()}


def outdated(folder: Path, record: bytes, *cells: str) -> list[tuple[str, str]]:
    """Return the names and the new texts of the changed cells that a learner's copy with these cells lacks."""
    path = folder / f"{STEM}.ipynb"
    path.write_text(writes(notebook(*cells)), encoding="utf-8")
    (folder / UPDATES).write_bytes(record)
    return [(update.name, update.after) for update in find_outdated_cells(path)]


def test_a_changed_cell_is_listed_until_it_is_taken_over(tmp_path: Path) -> None:
    record = record_updates(release(TITLE, PROSE, EXERCISE), release(TITLE, NEW_PROSE, NEW_EXERCISE))
    prose, exercise = (
        ("the cell that begins with “The scores are products.”", NEW_PROSE),
        ("the cell of `softmax`", NEW_EXERCISE),
    )
    assert outdated(tmp_path, record, TITLE, PROSE, EXERCISE) == [prose, exercise]
    assert outdated(tmp_path, record, TITLE, NEW_PROSE, EXERCISE) == [exercise]
    assert outdated(tmp_path, record, TITLE, NEW_PROSE, NEW_EXERCISE) == []


def test_an_answer_hides_no_update_and_is_none(tmp_path: Path) -> None:
    record = record_updates(release(TITLE, EXERCISE), release(TITLE, NEW_EXERCISE))
    assert outdated(tmp_path, record, TITLE, answer(EXERCISE)) == [("the cell of `softmax`", NEW_EXERCISE)]
    assert outdated(tmp_path, record, TITLE, answer(NEW_EXERCISE)) == []
    longer = NEW_EXERCISE.replace("x, dim=-1):\n", "x, dim=-1):\n    assert x.ndim\n")
    record = record_updates(release(NEW_EXERCISE), release(longer))
    assert outdated(tmp_path, record, answer(NEW_EXERCISE)) == [("the cell of `softmax`", longer)]
    assert outdated(tmp_path, record, answer(longer)) == []


def test_a_changed_gap_is_listed_until_it_is_filled(tmp_path: Path) -> None:
    changed = EXERCISE.replace(GAP, f"    # YOUR CODE HERE: three lines\n{GAP.splitlines()[1]}\n")
    record = record_updates(release(TITLE, EXERCISE), release(TITLE, changed))
    assert outdated(tmp_path, record, TITLE, EXERCISE) == [("the cell of `softmax`", changed)]
    assert outdated(tmp_path, record, TITLE, answer(EXERCISE)) == []


def test_cells_that_a_learner_wrote_moved_or_deleted_are_not_listed(tmp_path: Path) -> None:
    record = record_updates(release(TITLE, PROSE, EXERCISE), release(TITLE, NEW_PROSE, EXERCISE))
    assert outdated(tmp_path, record, answer(EXERCISE), "My notes.", NEW_PROSE, TITLE) == []
    assert outdated(tmp_path, record, TITLE, answer(EXERCISE)) == []


PARAGRAPH = "One product of a matrix and a vector gives all six scores."
NEW_PARAGRAPH = "One product of a matrix and a vector gives the scores of all six words."
CODE = "# one row for each token\nscores = inputs @ inputs.T\nprint(scores)\n\ncheck(scores)"
NEW_CODE = CODE.replace("one row for each token", "one row for each query")


@pytest.mark.parametrize(
    "before, after, own",
    [
        (PARAGRAPH, NEW_PARAGRAPH, f"{PARAGRAPH} My note: this is row 1 of the product of all six words."),
        (PARAGRAPH, NEW_PARAGRAPH, f"{PARAGRAPH} {'My note is longer than the paragraph. ' * 9}"),
        (PARAGRAPH, NEW_PARAGRAPH, PARAGRAPH.replace("six", "of the six")),
        (CODE, NEW_CODE, CODE.replace("token", "token, as a reminder")),
        (CODE, NEW_CODE, CODE.replace("one row for each token", "I rewrote this")),
        (CODE, NEW_CODE, CODE.split("\n", 1)[1]),
        (CODE, CODE.replace("print(scores)\n", ""), CODE.replace("print(scores)", "print(scores, 7)")),
        (EXERCISE, NEW_EXERCISE, answer(EXERCISE.replace('"""Normalise."""', '"""Normalise well."""'))),
        (EXERCISE, NEW_EXERCISE, EXERCISE.replace(GAP, "    y = x\n" * 30 + "    return y\n")),
    ],
)
def test_a_change_is_listed_if_the_learner_changed_the_same_line(
    tmp_path: Path, before: str, after: str, own: str
) -> None:
    """The pull kept the learner's line. It contains neither the earlier line nor the new line."""
    record = record_updates(release(TITLE, before), release(TITLE, after))
    assert [text for _, text in outdated(tmp_path, record, TITLE, own)] == [after]


@pytest.mark.parametrize(
    "before, after, own",
    [
        (PARAGRAPH, NEW_PARAGRAPH, f"{NEW_PARAGRAPH} My note: this is row 1 of the product."),
        (PARAGRAPH, NEW_PARAGRAPH, f"{NEW_PARAGRAPH}\n\nMy note: this is row 1 of the product."),
        (CODE, NEW_CODE, NEW_CODE.replace("print(scores)", "print(scores[0])\nprint(inputs)")),
        (
            CODE,
            CODE.replace("(scores)\n", "(scores.shape)\n"),
            CODE.replace("(scores)\n", "(scores.shape)\nprint(inputs)\n"),
        ),
        (CODE, CODE.replace("print(scores)\n", ""), CODE.replace("print(scores)\n", "assert len(inputs)\n")),
        (EXERCISE, NEW_EXERCISE, answer(NEW_EXERCISE)),
        (EXERCISE, NEW_EXERCISE, answer(NEW_EXERCISE).replace("    return", "    # Normalise.\n    return")),
    ],
)
def test_a_change_that_the_learner_has_and_edited_is_not_listed(
    tmp_path: Path, before: str, after: str, own: str
) -> None:
    record = record_updates(release(TITLE, before), release(TITLE, after))
    assert outdated(tmp_path, record, TITLE, own) == []


def test_a_copy_of_the_earlier_cell_hides_no_new_text(tmp_path: Path) -> None:
    """The learner kept a copy of the cell. The pull changed the original."""
    record = record_updates(release(TITLE, EXERCISE), release(TITLE, NEW_EXERCISE))
    for copy in (EXERCISE, answer(EXERCISE)):
        assert outdated(tmp_path, record, TITLE, copy, answer(NEW_EXERCISE)) == []
        assert outdated(tmp_path, record, TITLE, answer(NEW_EXERCISE), copy) == []


BASE = [f"the word{n}a of word{n}b in word{n}c word{n}d" for n in range(8)]
EDITS = {
    "change": lambda line, new: [line.replace("a of", f"a of {new}")],
    "extend": lambda line, new: [f"{line} {new}"],
    "delete": lambda line, new: [],
    "insert": lambda line, new: [line, f"{new} {line[4:10]} {new}"],
}
edits = st.dictionaries(st.integers(0, len(BASE) - 1), st.sampled_from(sorted(EDITS)), max_size=2)


def edit_lines(changes: dict[int, str], new: str) -> str:
    return "".join(f"{line}\n" for n, line in enumerate(BASE) for line in edit_line(changes.get(n), line, f"{new}{n}"))


def edit_line(change: str | None, line: str, new: str) -> list[str]:
    return EDITS[change](line, new) if change else [line]


@given(edits, edits)
def test_a_change_is_listed_exactly_if_git_finds_a_conflict(theirs: dict[int, str], own: dict[int, str]) -> None:
    """A learner and a release edit the lines of a cell. Git merges them as nbgitpuller does."""
    assume(not any(own[n] == theirs[n] == "delete" for n in own.keys() & theirs.keys()))  # then nothing is missing
    texts = {"own": edit_lines(own, "mine"), "base": edit_lines({}, ""), "theirs": edit_lines(theirs, "new")}
    with TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        command = ["git", "merge-file", "--stdout", "--quiet"]
        conflicts = subprocess.run([*command, *texts], cwd=folder, stdout=subprocess.DEVNULL).returncode
        merged = subprocess.run([*command, "--ours", *texts], cwd=folder, stdout=subprocess.PIPE, encoding="utf-8")
        record = record_updates(release(TITLE, texts["base"]), release(TITLE, texts["theirs"]))
        assert bool(outdated(Path(folder), record, TITLE, merged.stdout)) == bool(conflicts)


def test_a_new_cell_that_a_copy_lacks_is_listed(tmp_path: Path) -> None:
    record = record_updates(release(TITLE, PROSE), release(TITLE, EXERCISE, PROSE))
    assert outdated(tmp_path, record, TITLE, PROSE) == [("the cell of `softmax`", EXERCISE)]
    assert outdated(tmp_path, record, TITLE, answer(EXERCISE), PROSE) == []


def test_a_copy_of_any_earlier_release_is_compared_with_the_last(tmp_path: Path) -> None:
    texts = ["The scores are sums.", "The scores are products.", "The scores are dot products of vectors."]
    releases = [release(TITLE, text) for text in texts]
    record = record_updates(releases[0], releases[1])
    record = record_updates(releases[1], releases[2], record)
    for text in texts[:2]:
        assert [after for _, after in outdated(tmp_path, record, TITLE, text)] == texts[2:]
    assert outdated(tmp_path, record, TITLE, texts[2]) == []
    record = record_updates(releases[2], releases[0], record)  # back to the first text
    assert outdated(tmp_path, record, TITLE, texts[0]) == []
    assert [after for _, after in outdated(tmp_path, record, TITLE, texts[1])] == texts[:1]
    assert record_updates(releases[0], releases[0], record) == record
    assert record_updates(releases[0], release(TITLE), record) == b"{}\n"


@pytest.mark.parametrize("content", [b"", b"{half", b"[]", b'{"02_simplified_attention": [{"text": 1}]}'])
def test_a_damaged_list_is_empty(tmp_path: Path, content: bytes) -> None:
    assert outdated(tmp_path, content, TITLE, PROSE) == []
    assert record_updates(release(PROSE), release(PROSE), content) == b"{}\n"


def test_progress_shows_the_new_text_above_the_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = record_updates(release(TITLE, EXERCISE), release(TITLE, NEW_EXERCISE))
    outdated(tmp_path, record, TITLE, answer(EXERCISE))
    shown = progress()
    lines = repr(shown).splitlines()
    assert lines[2:4] == [UPDATED, "  02 the cell of `softmax`"] and lines[4].startswith("00 ")
    page = shown._repr_html_()
    above, below = page.split('<div role="list"')
    assert UPDATED in above and f'<a href="{STEM}.ipynb"' in above
    assert "the cell of <code>softmax</code></summary>" in above and "Normalise along `dim`." in above
    assert "new release" not in below
    outdated(tmp_path, record, TITLE, NEW_EXERCISE)
    assert "new release" not in repr(progress()) + progress()._repr_html_()
