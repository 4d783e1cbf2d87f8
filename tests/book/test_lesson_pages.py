"""Test the page of a lesson: gaps, outputs of the solved run, and folded hints."""

import json
import re
from dataclasses import replace

import pytest

from tests.lesson_files import write_lesson
from utils import lessons
from utils.book import lesson_outputs
from utils.book.lesson_outputs import BookError
from utils.book.lesson_pages import IN_LAB, make_lesson_page, render_hints, script_json, share_library
from utils.exercises.exercise import find_exercise
from utils.instructor.solved_notebooks import solved_cells

TEXT = """---
jupyter:
  kernelspec:
    name: python3
---

# A title

Words.

```python
def softmax(x, dim):
    # <COGINST>
    powers = x.exp()
    return powers / powers.sum(dim, keepdim=True)
    # </COGINST>


check(softmax)
```

<COGNOTE>
Only for you.
</COGNOTE>

```python jupyter={"source_hidden": true}
explore.quiz("Which?", {"a": "b", "c": "d"}, "a")
```

```python
explore.dot_product()
```
"""
LESSON = replace(lessons.parse_lesson(TEXT, "02_simplified_attention.md"), stem="02_simplified_attention")
START = {"question": "</script> & 1 < 2"}


def html(text):
    return {"output_type": "display_data", "data": {"text/html": text, "text/plain": "plain"}, "metadata": {}}


def widget(name):
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": name}, "text/plain": "In <words>."}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def outputs(**changed):
    """Return the outputs of a run of LESSON. An argument sets the outputs of the cell that contains its name."""
    shown = {"check(softmax)": [html("<b>passed</b>")], "quiz": [widget("one")], "dot_product": []} | changed
    return {
        "outputs": [
            next((each for word, each in shown.items() if word in cell.source), []) for cell in solved_cells(LESSON)
        ],
        "widgets": {
            "one": {"kind": "quizzes", "start": START, "state": {"chosen": []}, "data": "AAAA"},
            "foreign": {"kind": "", "start": {}, "state": {}, "data": ""},
        },
    }


def sources(made):
    return ["".join(cell["source"]) for cell in made["cells"]]


def cell(made, word):
    return next(cell for cell in made["cells"] if word in "".join(cell["source"]))


def test_a_page_has_the_gap_and_what_a_right_answer_shows():
    made = make_lesson_page(LESSON, outputs(), "")
    gap = cell(made, "check(softmax)")
    assert "YOUR CODE HERE" in gap["source"] and "powers" not in json.dumps(made)
    assert gap["outputs"][0]["data"] == {"text/html": "<b>passed</b>"} and gap["metadata"]["tags"] == ["gap"]
    assert "Only for you" not in json.dumps(made)


def test_with_answers_a_page_has_them_and_no_note():
    made = make_lesson_page(LESSON, outputs(), "", with_answers=True)
    assert "powers = x.exp()" in cell(made, "check(softmax)")["source"]
    assert "COG" not in json.dumps(made) and "Only for you" not in json.dumps(made)
    assert "metadata" in cell(made, "check(softmax)") and not cell(made, "check(softmax)")["metadata"]


def test_three_hints_follow_the_cell_that_checks():
    made = sources(make_lesson_page(LESSON, outputs(), ""))
    at = next(i for i, source in enumerate(made) if "check(softmax)" in source)
    assert re.findall(r"<summary>Hint (\d): (.+?)</summary>", made[at + 1]) == [
        ("1", "a nudge"), ("2", "the idea"), ("3", "almost the code"),
    ]  # fmt: skip
    assert "<details open" not in made[at + 1]


def test_a_hint_is_shown_as_it_is_written():
    exercise = replace(find_exercise("softmax"), hints=("a < b", "`x`", "three"))
    assert "<p>a &lt; b</p>" in render_hints(exercise) and "<p><code>x</code></p>" in render_hints(exercise)


def test_a_hidden_source_is_not_shown_and_its_widget_has_a_place():
    made = cell(make_lesson_page(LESSON, outputs(), ""), "explore.quiz")
    assert made["metadata"]["tags"] == ["remove-input"]
    shown = made["outputs"][0]["data"]["text/html"]
    assert 'data-kind="quizzes"' in shown and "In &lt;words&gt;." in shown
    script = re.search(r'<script type="application/json">(.*?)</script>', shown)[1]
    assert json.loads(script) == {"start": START, "state": {"chosen": []}, "data": "AAAA"}


def test_a_widget_that_needs_a_kernel_is_refused(snapshot):
    with pytest.raises(BookError) as error:
        make_lesson_page(LESSON, outputs(dot_product=[widget("foreign")]), "")
    assert str(error.value) == snapshot


def test_progress_is_replaced_by_a_sentence():
    text = TEXT.replace("explore.dot_product()", "progress()")
    lesson = replace(lessons.parse_lesson(text, "02_simplified_attention.md"), stem="02_simplified_attention")
    made = make_lesson_page(lesson, outputs(**{"progress()": [html("1 of 65 exercises passed")]}), "")
    shown = cell(made, "progress()")["outputs"]
    assert len(shown) == 1 and IN_LAB[None] in shown[0]["data"]["text/html"]


def test_the_inventory_is_a_sentence_and_the_questions_that_are_due_are_left_out():
    """The run of the lesson showed the inventory's widget, but the page contains none of its questions."""
    calls = "".join(
        f"\n```python\nfrom utils import progress\n\nprogress().{name}()\n```\n" for name in ("inventory", "due")
    )
    lesson = replace(lessons.parse_lesson(TEXT + calls, "02_simplified_attention.md"), stem="02_simplified_attention")
    run = outputs(inventory=[widget("items")])
    run["outputs"] += [[widget("items")], []]
    run["widgets"]["items"] = {"kind": "inventory", "start": {"question": "SECRET"}, "state": {}, "data": ""}
    made = make_lesson_page(lesson, run, "")
    (shown,) = cell(made, "progress().inventory()")["outputs"]
    assert IN_LAB["inventory"] in shown["data"]["text/html"] and "SECRET" not in json.dumps(made)
    assert not any("due()" in source for source in sources(made))


def test_the_commands_stand_below_the_title():
    first = sources(make_lesson_page(LESSON, outputs(), "<p>the commands</p>"))[0]
    assert first.splitlines()[0] == "# A title" and "<p>the commands</p>" in first and first.endswith("Words.")


def test_addresses_and_folders_of_this_machine_are_not_shown():
    stream = {"output_type": "stream", "name": "stdout", "text": f"\x1b[31m<f at 0x7f12ab34cd>\x1b[0m {lessons.ROOT}/x"}
    shown = cell(make_lesson_page(LESSON, outputs(dot_product=[stream]), ""), "dot_product")["outputs"][0]["text"]
    assert shown == "<f at 0x000000> ./x"


def test_circuitsvis_is_one_file_for_all_pages():
    from utils.show import circuitsvis

    figure = circuitsvis.interactive_html("<svg></svg>", "Heads", {"attention": [[[1.0]]], "tokens": ["a"]}, True)
    assert circuitsvis.compressed_library() in figure
    shared = share_library(figure)
    assert len(shared) < 10_000 and shared.count("_static/circuitsvis.js") == 1
    assert (
        share_library(circuitsvis.interactive_html("", "", {"attention": [[[1.0]]], "tokens": ["a"]}, False)).count(
            "_static"
        )
        == 0
    )


def test_json_in_a_script_ends_no_script_and_says_the_same():
    value = {"text": "</script><!-- \u2028", "numbers": [0.1, 1e-9]}
    assert "<" not in script_json(value) and json.loads(script_json(value)) == value


# --- when a lesson runs again ---------------------------------------------------------------------------


def key(text=TEXT, earlier=(), course="as it is"):
    lesson = replace(lessons.parse_lesson(text, "02_simplified_attention.md"), stem="02_simplified_attention")
    return lesson_outputs.outputs_key(
        lesson, [lessons.parse_lesson(each, "01_tokenization.md") for each in earlier], course
    )


def test_a_word_of_prose_runs_nothing_and_code_does():
    assert key() == key(TEXT.replace("Words.", "Other words."))
    assert key() != key(TEXT.replace("x.exp()", "torch.exp(x)"))
    assert key() != key(course="changed")


def test_what_an_earlier_lesson_hands_on_counts_and_its_demonstrations_do_not():
    demo = TEXT.replace("explore.dot_product()", "print(1)")
    assert key(earlier=[TEXT]) == key(earlier=[demo])
    assert key(earlier=[TEXT]) != key(earlier=[TEXT.replace("x.exp()", "torch.exp(x)")])


def test_the_fingerprint_is_of_the_course_and_not_of_pages_that_no_notebook_imports(tmp_path):
    def written(name, text):
        path = tmp_path / "utils" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return lesson_outputs.environment_fingerprint(tmp_path)

    first = written("show/figure.py", "x = 1\n")
    assert written("grading/judge.py", "x = 1\n") == first == written("show/page.js", "let x;")
    assert written("instructor/solved_notebooks.py", "x = 1\n") != first  # this module runs the lessons
    assert written("show/figure.py", "x = 2\n") != first


def test_a_run_uses_the_answers_beside_the_lesson_and_prints_nothing_about_the_authors_machine(tmp_path, monkeypatch):
    """In `course/`, lesson 00 has no answer, or an answer of the author."""
    monkeypatch.setenv("COURSE_GPT2", "bundled")
    write_lesson(tmp_path, "00_start_here", "# A\n\n```python\ndef row_sums(x):\n    return x.sum(dim=1) + 0\n```\n")
    code = "from utils import gpt2, yours\n\nprint(yours('row_sums').__code__.co_filename)\nprint(gpt2.source().name)"
    path = write_lesson(tmp_path, "01_tokenization", f"# B\n\n```python\n{code}\n```\n")
    (output,) = lesson_outputs.run_lesson(path)[0]["outputs"][1]
    file, announcement, name = output["text"].splitlines()
    assert str(tmp_path) in file and name == "the small GPT-2"
    assert announcement.startswith("Using the small GPT-2") and "COURSE_GPT2" not in announcement
