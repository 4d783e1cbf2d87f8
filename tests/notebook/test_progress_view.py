"""The home view: every lesson with its minutes, every exercise with its state, and a link to the next exercise."""

import json
import re
from pathlib import Path

from utils import lessons, progress
from utils.exercises.exercise import all_exercises
from utils.learner_data.progress import record_attempt
from utils.lessons import ROOT
from utils.notebook.lesson_progress import ExerciseProgress, LessonProgress
from utils.notebook.progress_view import ProgressView


def at(progress_path, **moments):
    """Set the times of the last tries, because all checks of one test happen within one second."""
    kept = json.loads(progress_path.read_text(encoding="utf-8"))
    for entries in kept.values():
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            entry["when"] = moments.get(name, entry["when"])
    progress_path.write_text(json.dumps(kept), encoding="utf-8")


def test_all_lessons_and_exercises_with_the_time_that_each_page_states(progress_path):
    shown = progress()
    assert [page.stem for page in shown.pages] == [path.stem for path in lessons.all_lessons()]
    assert sorted(item.name for page in shown.pages for item in page.exercises) == sorted(all_exercises())
    readme = re.findall(r"(?m)^\| (\d\d) \| \[(.+?)\].* \| (\d+) \|$", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert readme == [(page.stem[:2], page.title, str(page.minutes)) for page in shown.pages], (
        "README's table of lessons"
    )
    hours = sum(page.minutes for page in shown.pages) / 60
    headline = repr(shown).splitlines()[0]
    assert shown.n_passed == 0 and f"0 of {len(all_exercises())} " in headline and f" {hours:.0f} hours" in headline


def test_exercises_stand_in_the_order_of_their_page(progress_path):
    for page in progress().pages:
        text = "\n".join(cell.source for cell in lessons.read_lesson(page.path).cells)
        places = [re.search(rf"(?m)^check\({item.name}\b", text).start() for item in page.exercises]
        assert places == sorted(places) and places


def test_states_in_words_and_marks(progress_path):
    record_attempt("start_here", "row_sums", "failed")
    record_attempt("start_here", "row_sums", "passed")
    record_attempt("simplified_attention", "softmax", "failed")
    shown = progress()
    assert shown.n_passed == 1
    text, page = repr(shown), shown._repr_html_()
    assert (
        "00 Start here · 10 minutes · done\n  ✓ row_sums (2 tries)" in text
        and "✗ softmax (1 try)" in text
        and "○ simple_attention" in text
    )
    assert (
        "02 Attention without training · 55 minutes · 0 of 7" in text
        and "01 From text to tokens and back · 55 minutes\n" in text
    )
    titles = re.findall(r'<a href="[^"]+" title="([^"]+)"', page)  # a screen reader reads them with the links
    assert {"passed, 2 tries", "tried, 1 try", "to do"} == {*titles}


def test_where_to_go_on(progress_path, snapshot):
    where = lambda: tuple(
        part.stem[:2] if part is shown.next_exercise[0] else part.name for part in shown.next_exercise
    )
    shown = progress()
    assert where() == ("00", "row_sums") and repr(shown).splitlines()[1] == snapshot
    for name in ("attn_scores_2", "context_vec_2"):  # Run All checks untouched cells, too; these are no tries
        record_attempt("simplified_attention", name, "todo")
    shown = progress()
    assert where() == ("00", "row_sums")
    record_attempt("simplified_attention", "attn_scores_2", "passed")
    shown = progress()
    assert where() == ("02", "attn_weights_2") and repr(shown).splitlines()[1] == snapshot
    record_attempt("causal_attention", "get_mask", "failed")
    at(progress_path, attn_scores_2="2026-01-02T00:00:00+00:00", get_mask="2026-01-01T00:00:00+00:00")
    shown = progress()
    assert where() == ("02", "attn_weights_2"), (
        "the next exercise must be in the lesson of the last try, not in the furthest lesson"
    )
    at(progress_path, get_mask="2026-01-03T00:00:00+00:00")
    shown = progress()
    assert where() == ("04", "get_mask")
    record_attempt("simplified_attention", "attn_scores_2", "passed")  # the learner runs the passed cell again
    shown = progress()
    assert where() == ("04", "get_mask")
    at(progress_path, attn_scores_2="2099-01-01T00:00:00+00:00")  # the clock was wrong
    shown = progress()
    assert where() == ("04", "get_mask")
    last = lessons.all_lessons()[-1].stem[3:]
    for exercise in all_exercises().values():
        if exercise.lesson in ("causal_attention", last):
            record_attempt(exercise.lesson, exercise.name, "passed")
    shown = progress()
    assert where() == ("00", "row_sums"), "after the last lesson, the next exercise must be the first open one"


def test_at_the_end_it_says_so(progress_path, snapshot):
    for exercise in all_exercises().values():
        record_attempt(exercise.lesson, exercise.name, "passed")
    shown = progress()
    line = repr(shown).splitlines()[1]
    assert shown.next_exercise is None and line == snapshot and line in shown._repr_html_()


def test_every_link_leads_to_the_heading_of_an_exercise(progress_path):
    shown = progress()
    links = re.findall(r'href="([^"]+)"', shown._repr_html_())
    for page in shown.pages:
        cells = {
            cell["id"]: "".join(cell["source"]) for cell in json.loads(page.path.read_text(encoding="utf-8"))["cells"]
        }
        mine = {link for link in links if link.startswith(page.stem)}
        assert f"{page.stem}.ipynb" in mine and len(mine) == 1 + len({item.heading_cell_id for item in page.exercises})
        for item in page.exercises:
            assert (
                page.link_address(item) == f"{page.stem}.ipynb#cell-id={item.heading_cell_id}"
                and page.link_address(item) in mine
            )
            assert re.search(r"(?m)^(### Exercise: |## Transfer$)", cells[item.heading_cell_id])


def test_a_page_of_markdown_has_links_to_itself_alone(progress_path, monkeypatch, tmp_path):
    (tmp_path / "00_start_here.md").write_bytes((ROOT / "course" / "00_start_here.md").read_bytes())
    monkeypatch.chdir(tmp_path)
    page = progress().pages[0]
    assert page.link_address() == page.link_address(page.exercises[0]) == "00_start_here.md"


def test_links_are_found_from_where_the_notebook_runs(progress_path, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    assert progress().pages[0].link_address() == "course/00_start_here.ipynb"
    mine = tmp_path / "my course"
    mine.mkdir()
    (mine / "00_start_here.ipynb").write_bytes((ROOT / "course" / "00_start_here.ipynb").read_bytes())
    monkeypatch.chdir(mine)
    shown = progress()
    assert shown.pages[0].link_address() == "00_start_here.ipynb" and shown.pages[1].link_address().endswith(
        "/course/01_tokenization.ipynb"
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "09_notes.md").write_text("# not a lesson of the course\n", encoding="utf-8")
    assert len(progress().pages) == len(shown.pages)


def test_a_page_that_cannot_be_read_is_told_from_the_next_copy(progress_path, monkeypatch, tmp_path):
    (tmp_path / "02_simplified_attention.ipynb").write_text("{half", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    page = progress().pages[2]
    assert (page.title, page.minutes) == ("Attention without training", 55)
    monkeypatch.setattr(lessons, "read_lesson", lambda path: (_ for _ in ()).throw(lessons.LessonError("unreadable")))
    shown = progress()
    assert (
        shown.pages[2].title == "simplified attention"
        and shown.n_exercises == len(all_exercises())
        and 'role="list"' in shown._repr_html_()
    )


def test_nothing_in_it_becomes_markup():
    shown = ProgressView(
        [
            LessonProgress(
                "03_<b>", "<script>", 5, Path('a&b "c".ipynb'), [ExerciseProgress("<i>", heading_cell_id="<u>")]
            )
        ]
    )
    page = shown._repr_html_()
    assert not re.search(r"<script|<i>|<u>", page) and 'href="a%26b%20%22c%22.ipynb#cell-id=%3Cu%3E"' in page
    assert ProgressView([])._repr_html_() and repr(ProgressView([])).startswith("0 of 0 ")


def test_code_that_is_nested_too_deeply_is_named_and_left_out(tmp_path, capsys, snapshot):
    path = tmp_path / "02_simplified_attention.ipynb"
    cell = {"cell_type": "code", "source": "softmax = x" + ".a" * 2000, "metadata": {}}
    path.write_text(json.dumps({"nbformat": 4, "cells": [cell]}), encoding="utf-8")
    ProgressView([LessonProgress(path.stem, "Attention", 5, path, [ExerciseProgress("softmax", "passed", 1)])]).save(
        path=tmp_path / "mine.html"
    )
    assert capsys.readouterr().out == snapshot


def test_its_file_is_not_tracked():
    assert ".progress.json*" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
