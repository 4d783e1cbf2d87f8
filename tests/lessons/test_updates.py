"""Cells that a release changed are recorded, and found in a learner's copy that did not take them over."""

from pathlib import Path

import jupytext
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, writes

from utils import progress
from utils.lessons.updates import UPDATES, find_outdated_cells, record_updates

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


def test_progress_shows_the_new_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = record_updates(release(TITLE, EXERCISE), release(TITLE, NEW_EXERCISE))
    outdated(tmp_path, record, TITLE, answer(EXERCISE))
    shown = progress()
    assert repr(shown).endswith("your copy has their earlier text:\n  02 the cell of `softmax`")
    page = shown._repr_html_()
    assert f'<a href="{STEM}.ipynb"' in page and "the cell of <code>softmax</code></summary>" in page
    assert "Normalise along `dim`." in page
    outdated(tmp_path, record, TITLE, NEW_EXERCISE)
    assert "earlier text" not in repr(progress()) + progress()._repr_html_()
