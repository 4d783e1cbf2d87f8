"""Test the reports: every state has a text, no page shows a wrong name, and no text from a student becomes HTML."""

import base64
import csv
import dataclasses
import hashlib
import html
import io
import json
import os
import re
import time
from html.parser import HTMLParser

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from tests.grading.submission_files import read_tree
from utils.cli.commands import app
from utils.feedback.report import Report, Table
from utils.grading.intake.folders import FolderError
from utils.grading.intake.roster import RosterError, Student, format_roster
from utils.grading.judge.results import STATES, ExerciseResult, Incident, LessonResult, write_result
from utils.grading.judge.submissions import page_hash
from utils.grading.reports.class_page import MEANINGS, OTHER_STATES, display_order
from utils.grading.reports.redact import HIDDEN, redact_name
from utils.grading.reports.report_writer import write_reports
from utils.grading.reports.tally import Column, ReportError, Tally, merge_incidents, read_columns
from utils.show import class_results

ADA, ALAN, ZOE = Student("s1", "Ada Lovelace", "ada@x.org"), Student("s2", "Alan Turing"), Student("s3", "Zoë O'Neill")
SOFTMAX, SELF, MASK = "02_simplified_attention", "03_self_attention", "04_causal_attention"
HANDED_IN = time.mktime((2026, 3, 1, 12, 0, 0, 0, 0, -1))
NOT_SCALED = "The scores were never divided by the square root of the width."


def passed(name):
    return ExerciseResult(name, "passed", 1.0, 1.0, "passed", message="passed, right in 5 cases.")


def wrong(name, message, id=None, answer="", fingerprint="", reason="misconception"):
    return ExerciseResult(name, "failed", 0.0, 1.0, reason if not id else "misconception", id, message, "", 0.1, None,
                          answer, fingerprint)  # fmt: skip


def scaled(name, answer="w = softmax(s)"):
    return wrong(name, NOT_SCALED, "not-scaled", answer)


RESULTS = [
    LessonResult(
        "s1", SOFTMAX, "k", (passed("attn_scores"), wrong("softmax", "A sum.", answer="def softmax(x): ...  # by Ada")),
    ),
    LessonResult("s1", SELF, "k", (scaled("SelfAttention_v1"),)),
    LessonResult("s1", MASK, "k", (scaled("CausalAttention"), passed("get_mask"))),
    LessonResult(
        "s2", SOFTMAX, "k",
        (
            ExerciseResult("attn_scores", "not attempted", 0.0, 1.0, "todo"),
            ExerciseResult("softmax", "waits for another exercise", 0.0, 1.0, waits_for="attn_scores"),
        ),
    ),
    LessonResult(
        "s2", SELF, "k", (ExerciseResult("SelfAttention_v1", "stopped", 0.0, 1.0, "stopped", message="After 10 s."),),
        (Incident("network", "SelfAttention_v1", "It was stopped after 10 seconds."),),
    ),
    LessonResult(
        "s2", MASK, "k",
        tuple(ExerciseResult(n, "unreadable", 0.0, 1.0, message="No JSON.") for n in ("CausalAttention", "get_mask")),
    ),
]  # fmt: skip


@pytest.fixture
def graded(tmp_path):
    """Return a function that writes results and a roster, and returns the report files, {name: text}."""
    (tmp_path / "handed-in").mkdir()

    def run(results=RESULTS, students=(ADA, ALAN, ZOE), **more):
        (tmp_path / "handed-in" / "roster.csv").write_bytes(format_roster(students).encode())
        for result in results:
            write_result(tmp_path / "results", result)
        write_reports(tmp_path / "results", out=tmp_path / "report", **more)
        return {name: content.decode() for name, content in read_tree(tmp_path / "report").items()}

    return run


def table(text):
    return list(csv.reader(io.StringIO(text, newline="")))


class Page(HTMLParser):
    """A parsed page: its visible text, the same text with one line per piece, and its elements with attributes."""

    def __init__(self, text):
        super().__init__()
        self.words, self.elements, self.open = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"
        self.text = " ".join(" ".join(self.words).split())
        self.lines = "\n".join(word.strip() for word in self.words if word.strip())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br", "hr", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.words.append(data)


# --- tables -------------------------------------------------------------------------------------------


def test_grades_are_in_the_roster_s_order_with_every_state_in_words(graded):
    header, *rows = table(graded(students=(ZOE, ADA, ALAN))["grades.csv"])
    assert header == [
        "id", "name", "email", "section", "points of 5", "02 points of 2", "03 points of 1", "04 points of 2",
        "02 attn_scores", "02 softmax", "03 SelfAttention_v1", "04 CausalAttention", "04 get_mask",
    ]  # fmt: skip
    assert rows == [
        ["s3", "Zoë O'Neill", "", "", "", "absent", "absent", "absent", *["absent"] * 5],
        ["s1", "Ada Lovelace", "ada@x.org", "", "2", "1", "0", "1", "passed", "failed", "failed", "failed", "passed"],
        ["s2", "Alan Turing", "", "", "0", "0", "0", "unreadable", "not attempted", "waits for another exercise",
         "stopped", "unreadable", "unreadable"],
    ]  # fmt: skip
    assert {cell for row in rows for cell in row[8:]} == set(STATES)


def test_parts_of_points_stay_parts(graded):
    half = dataclasses.replace(passed("row_sums"), points=0.5, max_points=2.5)
    header, row = table(graded([LessonResult("s1", "00_start_here", "k", (half,))], (ADA,))["grades.csv"])
    assert header[4:6] == ["points of 2.5", "00 points of 2.5"] and row[4:6] == ["0.5", "0.5"]


def test_canvas_gets_the_columns_that_it_reads(graded):
    students = (dataclasses.replace(ADA, canvas="77", sis="u1", login="ada", section="A"), ALAN)
    header, possible, *rows = table(graded(students=students)["canvas.csv"])
    assert header[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert header[5:] == ["02 Attention without training", "03 Attention that can learn", "04 No peeking"]
    assert possible == ["    Points Possible", "", "", "", "", "2", "1", "2"]
    assert rows == [
        ["Ada Lovelace", "77", "u1", "ada", "A", "1", "0", "1"],
        ["Alan Turing", "", "s2", "", "", "0", "0", ""],
    ]


def test_moodle_gets_a_user_in_every_row_and_no_zero_for_what_was_not_graded(graded):
    """Moodle would assign a row with an empty user to the student above."""
    header, *rows = table(graded()["moodle.csv"])
    assert header[:2] == ["ID number", "Full name"] and "Email address" not in header
    assert (
        [row[0] for row in rows] == ["s1", "s2", "s3"] and rows[2][2:] == ["", "", ""] and rows[1][2:] == ["0", "0", ""]
    )
    header, *rows = table(graded(students=(ADA,))["moodle.csv"])
    assert header[2] == "Email address" and rows[0][2] == "ada@x.org"


def test_moodle_gets_no_email_address_as_an_id_number(graded):
    """A grading worksheet without ID numbers leaves only the email address to find a user."""
    header, row = table(graded(students=(Student("ada@x.org", "Ada Lovelace", "ada@x.org"),))["moodle.csv"])
    assert header[:2] == ["Full name", "Email address"] and row[:2] == ["Ada Lovelace", "ada@x.org"]


def test_gradescope_gets_what_an_autograder_writes(graded):
    files = {name: json.loads(text) for name, text in graded().items() if name.startswith("gradescope/")}
    assert set(files) == {f"gradescope/{stem}/{id}.json" for stem in (SOFTMAX, SELF, MASK) for id in ("s1", "s2")}
    made = files[f"gradescope/{SOFTMAX}/s1.json"]
    assert made["score"] == 1.0 and made["output"] == "02 Attention without training: 1 passed, 1 failed"
    assert made["tests"][0]["output"] == "passed, right in 5 cases."
    assert made["tests"][1] == {
        "name": "softmax", "score": 0.0, "max_score": 1.0, "status": "failed", "output": "failed. A sum.",
        "output_format": "text", "visibility": "visible",
    }  # fmt: skip


def test_incidents_say_who_where_and_what(graded):
    assert table(graded()["incidents.csv"]) == [
        ["id", "name", "lesson", "exercise", "kind", "what happened"],
        ["s2", "Alan Turing", SELF, "SelfAttention_v1", "network", "It was stopped after 10 seconds."],
    ]


def test_what_happened_in_several_exercises_is_one_incident(snapshot):
    paths = [f"os.scandir('/{n}')" for n in range(5)]
    found = [Incident("file", exercise, path) for exercise in ("softmax", "row_sums") for path in (*paths, paths[0])]
    found += [Incident("network", "softmax", "Stopped."), Incident("file", "get_mask", paths[4])]
    merged = merge_incidents(found)
    assert [(incident.kind, incident.exercise) for incident in merged] == [
        ("file", "softmax, row_sums"),
        ("network", "softmax"),
        ("file", "get_mask"),
    ]
    assert [incident.detail for incident in merged] == snapshot


def test_a_log_entry_is_introduced_and_a_sentence_is_not(snapshot):
    details = [Incident("processes", "softmax", text) for text in ("os.fork()", "Its process ended.")]
    assert [incident.detail for incident in merge_incidents(details)] == snapshot


# --- a student's page -----------------------------------------------------------------------------------


def test_a_student_s_page_has_the_notebook_s_words_and_tables(graded):
    said = Report("softmax", "failed", "It `sums` <to> 2.", table=Table([["1.0"]], [["0.5"]], {(0, 0)}), reason="shape")
    result = dataclasses.replace(wrong("softmax", said.message), html=said._repr_html_())
    page = graded([LessonResult("s1", SOFTMAX, "k", (passed("attn_scores"), result))])["students/s1.html"]
    assert said._repr_html_() in page
    text = Page(page).text
    assert "Ada Lovelace" in text and "1 of 2 points" in text and "1 passed, 1 failed" in text


def test_every_state_has_its_words_on_the_page(graded, snapshot):
    pages = graded()
    text = Page(pages["students/s2.html"]).text
    assert Page(pages["students/s2.html"]).lines == snapshot
    assert "0 of 3 points" in text, "only exercises that could be graded count"
    assert text.count("No JSON.") == 1 and "get_mask" not in text, "an unreadable file has one reason and no zeros"
    for name in ("s1", "s2", "s3"):
        elements = Page(pages[f"students/{name}.html"]).elements
        asked = [attributes["href"][1:] for tag, attributes in elements if tag == "a"]
        assert set(asked) <= {attributes.get("id") for _, attributes in elements}, "every link has a target"
    text = Page(pages["students/s3.html"]).text
    assert Page(pages["students/s3.html"]).lines == snapshot
    assert "0" not in re.sub(r"0\d |s3", "", text), "an ungraded exercise is not shown as zero"


@pytest.mark.parametrize(
    "older, says",
    [
        ([], None),
        ([HANDED_IN - 60], "2 versions of this lesson. The version of 2026-03-01 12:00:00 was graded."),
        ([HANDED_IN - 60, HANDED_IN - 9], "3 versions of this lesson. The version of 2026-03-01 12:00:00 was graded."),
        ([HANDED_IN], "2 versions of this lesson. One of them was graded."),
        ([HANDED_IN - 0.4], "2 versions of this lesson. One of them was graded."),
        ([315_532_800.0], "2 versions of this lesson. One of them was graded."),  # 1980: the time is lost
    ],
)
def test_a_student_s_page_says_which_of_several_versions_was_graded(graded, tmp_path, older, says):
    folder = tmp_path / "handed-in" / "s1"
    (folder / "older").mkdir(parents=True)
    names = [f"{SOFTMAX}.ipynb", *(f"older/{SOFTMAX}.2026-01-01-00000{n}.0123abcd.ipynb" for n in range(len(older)))]
    for name, mtime in zip(names, [HANDED_IN, *older]):
        (folder / name).write_bytes(b"{}")
        os.utime(folder / name, (mtime, mtime))
    pages = graded()
    text = Page(pages["students/s1.html"]).text
    assert (says is None and "versions" not in text) or f"You handed in {says} If it is the wrong version" in text
    assert "versions" not in Page(pages["students/s2.html"]).text


@pytest.mark.parametrize("state", ["failed", "absent"])
def test_a_version_that_was_collected_after_grading_has_no_grade(graded, tmp_path, state):
    (tmp_path / "handed-in" / "s1").mkdir(parents=True)
    path = tmp_path / "handed-in" / "s1" / f"{SOFTMAX}.ipynb"
    path.write_bytes(b"{}")
    results = (ExerciseResult("softmax", state, 0.0, 1.0),)
    result = LessonResult("s1", SOFTMAX, "k", results, page=page_hash(b"{}") if state == "failed" else "")
    read = lambda: Page(graded([result])["students/s1.html"]).text
    assert ("its newest version has not been graded" in read()) == (state == "absent")
    path.write_bytes(b"{} ")
    assert "its newest version has not been graded; coginst grade grades it" in read()


def test_a_state_without_a_message_gets_a_default_text(graded, snapshot):
    states = [state for state in STATES if state not in ("absent", "unreadable")]
    results = [ExerciseResult(f"e{n}", state, 0.0, 1.0, waits_for="e0") for n, state in enumerate(states)]
    results.append(ExerciseResult("e9", "absent", 0.0, 1.0))
    assert Page(graded([LessonResult("s1", SOFTMAX, "k", tuple(results))])["students/s1.html"]).lines == snapshot


def test_a_student_s_page_has_no_script_loads_nothing_and_names_nobody_else(graded):
    for name, text in graded().items():
        if name.startswith("students/"):
            page = Page(text)
            assert not [tag for tag, _ in page.elements if tag in ("script", "link", "iframe", "img")]
            assert not re.search(r"https?://|url\(|@import", text)
            others = {"s1": ("Turing", "Neill"), "s2": ("Lovelace", "Neill"), "s3": ("Lovelace", "Turing")}
            assert not [other for other in others[name[9:11]] if other in text]
            policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
            assert policy.startswith("default-src 'none'") and "script-src" not in policy
            assert "prefers-color-scheme: dark" in text


EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def test_names_messages_and_code_are_text_everywhere(graded):
    student = Student(EVIL, EVIL * 3, "=x@y", EVIL)
    results = [
        LessonResult(
            student.folder, SOFTMAX, "k",
            (
                wrong("softmax", f"You wrote {EVIL}.", answer=f"x = '''{EVIL}'''", reason="raised"),
                dataclasses.replace(scaled("attn_scores"), misconception=EVIL, answer=EVIL),
                ExerciseResult("simple_attention", "waits for another exercise", 0.0, 1.0, waits_for=EVIL),
            ),
            (Incident("file", EVIL, EVIL),),
        )
    ]  # fmt: skip
    again = (dataclasses.replace(scaled("SelfAttention_v1"), misconception=EVIL),)
    first = (dataclasses.replace(scaled("attn_scores"), misconception=EVIL),)
    results += [LessonResult(folder, SELF, "k", again) for folder in (student.folder, "s1")]  # a mistake of two lessons
    results.append(LessonResult("s1", SOFTMAX, "k", first))
    for names in (False, True):
        for name, text in graded(results, (student, ADA), names=names).items():
            if name.endswith(".html"):
                page = Page(text)
                assert [tag for tag, _ in page.elements].count("script") == (name == "class.html")
                assert not [1 for tag, attrs in page.elements if "onerror" in attrs or attrs.get("src") == "x"]
    assert {name.split("/")[1] for name in graded(results, (student, ADA)) if name.startswith("students/")} == {
        f"{student.folder}.html", "s1.html",
    }  # fmt: skip


def test_half_a_character_does_not_lose_the_report(graded, tmp_path):
    graded(students=(ADA,))
    path = tmp_path / "results" / "s1" / f"{SOFTMAX}.json"
    path.write_text(
        path.read_text(encoding="utf-8").replace("A sum.", "half: \\ud800"), encoding="utf-8"
    )  # JSON can contain a lone surrogate.
    write_reports(tmp_path / "results", out=tmp_path / "report")
    assert "half: ?" in (tmp_path / "report" / "students" / "s1.html").read_text(encoding="utf-8")


# --- the class ------------------------------------------------------------------------------------------


def many(count=12):
    """Return a class in which some students never scale, in two lessons, and some give the same wrong numbers."""
    students = [Student(f"n{i}", f"Student{i} Family{i}") for i in range(count)]
    results = []
    for i, student in enumerate(students):
        first = scaled("SelfAttention_v1") if i < 5 else passed("SelfAttention_v1")
        other = wrong("get_mask", "other words", "not-scaled") if i == 9 else passed("get_mask")
        second = scaled("CausalAttention") if 3 <= i < 8 else passed("CausalAttention")
        numbers = wrong("softmax", f"{i} of 9 differ.", None, f"y = x  # {'long ' * (9 - i)}", "f00d", "difference")
        alone = wrong("softmax", "Alone.", None, "z = x", "beef", "difference")
        third = numbers if i < 4 else alone if i == 4 else passed("softmax")
        results += [
            LessonResult(student.id, SOFTMAX, "k", (third,)),
            LessonResult(student.id, SELF, "k", (first,)),
            LessonResult(student.id, MASK, "k", (second, other)),
        ]
    return results, students


def tally_of(results, students):
    by = {}
    for result in results:
        by.setdefault(result.student, {})[result.lesson] = result
    columns = {(r.lesson, e.name): e.max_points for r in results for e in r.exercises}
    tally = Tally([], [Column(stem, name, most) for (stem, name), most in sorted(columns.items())])
    for student in students:
        tally.add_student(student, by.get(student.id, {}), {})
    return tally


def test_mistakes_are_counted_and_followed_across_lessons():
    tally = tally_of(*many())
    assert [(m.exercise, m.id, len(m.students)) for m in tally.commonest_mistakes()] == [
        ("SelfAttention_v1", "not-scaled", 5), ("CausalAttention", "not-scaled", 5), ("get_mask", "not-scaled", 1),
    ]  # fmt: skip
    (family,) = tally.mistake_families()
    assert [m.exercise for m in family.mistakes] == ["SelfAttention_v1", "CausalAttention"], (
        "not the one of other words"
    )
    assert len(family.students) == 8, "a student who made the mistake twice counts once"


def test_failures_without_a_name_are_grouped_by_what_they_gave():
    clusters = tally_of(*many()).failure_clusters()
    assert [(m.exercise, m.fingerprint, len(m.students)) for m in clusters] == [
        ("softmax", "f00d", 4),
        ("softmax", "beef", 1),
    ]
    assert clusters[0].example.count("long") == 6, "the shortest answer is the example"


def test_the_matrix_is_ordered_so_that_the_pattern_shows():
    tally = tally_of(*many())
    columns, rows = display_order(tally)
    shares = [tally.count_students(column, "passed") for column in columns]
    scores = [tally.states[row].count("passed") for row in rows]
    assert shares == sorted(shares, reverse=True) and scores == sorted(scores, reverse=True)
    assert sorted(columns) == list(range(4)) and sorted(rows) == list(range(12))


def test_the_class_page_names_nobody_unless_it_is_asked(graded):
    results, students = many()
    students[0] = dataclasses.replace(students[0], name="Max Power-Grid", email="max@power.org")
    signed = "# Max did this, max@power.org\nmaximum = torch.max(x)  # power\nauthor = 'n0'"
    first = [
        scaled("SelfAttention_v1", "x" * 999 + signed) if r.student == "n0" and r.lesson == SELF else None
        for r in results
    ]
    results = [dataclasses.replace(result, exercises=(new,)) if new else result for result, new in zip(results, first)]
    results[0] = LessonResult("n0", SOFTMAX, "k", (wrong("softmax", "It said 'Max'.", answer=signed, fingerprint="1"),))
    pages = graded(results, students)
    shown = html.unescape(pages["class.html"]) + "".join(
        text for name, text in pages.items() if name.startswith("clusters/")
    )
    for word in ("Student", "Family", "Max ", "max@", "'Max'", "n0", "power"):
        found = re.findall(rf"\w*{word}\w*", re.sub(r"base64,[\w+/=]*|Students", "", shown))
        assert not found, (word, found)
    assert "torch.max(x)" in shown and "maximum" in shown, "words of Python stay"
    named = Page(graded(results, students, names=True)["class.html"]).text
    assert "Student3 Family3" in named and "Max Power-Grid" in named


def test_the_picture_names_nobody_either(graded):
    """The picture does not depend on the students' names unless names are requested."""
    results, students = many()
    picture = lambda **more: re.search(r"(?s)<svg [^>]*course-figure.*?</svg>", graded(results, **more)["class.html"])[
        0
    ]
    others = [dataclasses.replace(student, name=f"Somebody Else{i}") for i, student in enumerate(students)]
    assert picture(students=students) == picture(students=others)
    assert picture(students=students, names=True) != picture(students=others, names=True)


def test_the_class_page_says_what_went_wrong_and_what_to_do(graded, tmp_path, snapshot):
    results, students = many()
    pages = graded(results, students)
    text = Page(pages["class.html"]).text
    without_pictures = re.sub(r"(?s)<svg.*?</svg>", "", pages["class.html"])  # Their texts are tested with utils.show.
    assert Page(without_pictures).lines.replace(str(tmp_path), "TMP") == snapshot
    assert re.search(r"\b12 of 12 .* 3 .* 67 % of .* 48 .* 16 .* 69 % of ", text), "the summary counts the class"
    for facts in (
        "not scaled 8 2 SelfAttention_v1 5, CausalAttention 5",
        "4 students: softmax , lesson 02",
        "1 student: softmax , lesson 02",
        "04 get_mask 92 % 1",  # A mistake that one student made is not listed as the most common one.
        "not scaled: 5 of 12 students who tried",
        "2 mistakes were made by 5 students each",
        NOT_SCALED,
        "w = softmax(s)",
    ):
        assert facts in text, facts
    commands = re.findall(r"coginst misconception softmax (\S+) --id what-is-wrong", text)
    answers = [(tmp_path / command).read_text(encoding="utf-8")[:5] for command in commands]
    assert answers == ["y = x", "z = x"], "the files in the commands exist and contain the answers"


@pytest.mark.parametrize("count, shown", [(1, "0 of 1"), (4, "0 of 4"), (5, "0 %"), (6, "17 %")])
def test_a_small_number_of_students_has_no_percentage(graded, count, shown):
    """The first five students of `many` fail the exercise."""
    results, students = many(count)
    row = re.search(r"SelfAttention_v1</code></a></td>(.*?)</tr>", graded(results, students)["class.html"], re.DOTALL)[
        1
    ]
    assert re.search(r">([^<>]+)</td>", row)[1] == shown


def test_every_heading_with_a_meaning_has_it_as_a_tooltip_and_as_text(graded):
    page = graded()["class.html"]
    shown, headings = Page(page), re.findall(r'<th scope="col"[^>]*>(?:<button[^>]*>)?([^<]+)', page)
    titles = [attributes["title"] for tag, attributes in shown.elements if tag == "th" and "title" in attributes]
    explained = [name for name in headings if name in MEANINGS]
    assert {"Pass rate", "Most common mistake", "Failed"} <= set(explained)
    assert titles == [MEANINGS[name] for name in explained]
    assert all(f"{name}: {MEANINGS[name]}" in shown.text for name in explained)
    assert {state.capitalize() for state in OTHER_STATES} < MEANINGS.keys()


def test_an_answer_that_is_not_python_is_not_offered_as_a_misconception(graded):
    answers = ("def softmax(x:", "def softmax(x): return x")
    students = zip(("s1", "s2"), answers)
    pages = graded([LessonResult(id, SOFTMAX, "k", (wrong("softmax", f"Read {a}", answer=a),)) for id, a in students])
    assert len(re.findall("coginst misconception", pages["class.html"])) == 1
    assert [text for name, text in pages.items() if name.startswith("clusters/")] == [f"{answers[1]}\n"]
    assert "Read def softmax(x:" in pages["class.html"]


def test_a_long_message_is_cut_on_the_class_page_only(graded):
    long = LessonResult("s1", SOFTMAX, "k", (wrong("softmax", "It stopped: " + "word " * 2000, reason="raised"),))
    report = graded([long])
    assert Page(report["class.html"]).text.count("word") < 500
    assert report["students/s1.html"].count("word") >= 2000


def test_the_commands_of_the_page_are_the_program_s(graded):
    commands = re.findall(r"coginst ([\w-]+)", graded(*many())["class.html"])
    assert commands and set(commands) <= set(get_command(app).commands)


def test_incidents_are_counted_there_and_told_elsewhere(graded):
    page = Page(graded()["class.html"])
    assert "network 1" in page.text and "incidents.csv" in page.text and "Turing" not in page.text


def test_the_one_script_of_the_class_page_is_the_one_that_is_allowed(graded):
    text = graded()["class.html"]
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{hashed}'" in text and "default-src 'none'" in text
    assert not re.search(r"https?://|@import", text)


def test_its_pictures_say_in_words_what_they_show(graded):
    pictures = [a for tag, a in Page(graded(*many())["class.html"]).elements if tag == "svg"]
    assert len(pictures) == 2 and all(a["role"] == "img" for a in pictures)
    assert "4 by 12" in pictures[0]["aria-label"] and "SelfAttention_v1: not scaled 5" in pictures[1]["aria-label"]


def test_tries_are_told_where_they_are_known(graded, tmp_path):
    results, students = many()
    for i, tries in ((0, 3), (1, 9), (5, 4), (6, 5), (7, "many"), (8, -4), (9, 10**9)):
        folder = tmp_path / "handed-in" / f"n{i}"
        folder.mkdir()
        kept = {"self_attention": {"SelfAttention_v1": {"tries": tries, "status": "passed", "when": ""}}}
        kept |= {"answers": {"How many?": {"right": True}}, "inventory": [], "last_attempt": "2026-01-01"}
        (folder / "progress.json").write_text(json.dumps(kept), encoding="utf-8")
    (tmp_path / "handed-in" / "n10").mkdir()
    (tmp_path / "handed-in" / "n10" / "progress.json").write_text("[" * 100_000, encoding="utf-8")
    text = Page(graded(results, students)["class.html"]).text
    assert "SelfAttention_v1 4.5 2" in text, "only students who passed count, with plausible numbers of tries"


@pytest.mark.parametrize(
    "text, student, left",
    [
        ("# Ada Lovelace, s1\nx = 1", ADA, f"# {HIDDEN} {HIDDEN}, {HIDDEN}\nx = 1"),
        ("lovelace_scores = 'ada@x.org'", ADA, f"{HIDDEN}_scores = '{HIDDEN}'"),
        ("adaptive = Adam()  # adam", ADA, "adaptive = Adam()  # adam"),
        ('"""By ada."""', ADA, f'"""By {HIDDEN}."""'),
        ("x = 1", None, "x = 1"),
    ],
)
def test_a_name_goes_and_code_stays(text, student, left):
    assert redact_name(text, student) == left


# --- the folder -------------------------------------------------------------------------------------------


def test_again_writes_the_same_and_what_is_gone_goes(graded):
    assert graded() == graded()
    assert "students/s3.html" not in graded(students=(ADA, ALAN))


def test_results_of_a_student_who_is_not_on_the_roster_are_left_out(graded, tmp_path):
    graded(students=(ADA,))
    done = write_reports(tmp_path / "results", out=tmp_path / "report")
    assert done.unknown_students == ["s2"] and not (tmp_path / "report" / "students" / "s2.html").exists()


def test_nothing_is_written_without_results_or_a_roster_or_over_other_files(graded, tmp_path, snapshot):
    def refusal(kind, run, *arguments):
        with pytest.raises(kind) as error:
            run(*arguments)
        return re.sub(r"\(\w+Error: .*\)", "(REASON)", str(error.value).replace(str(tmp_path), "TMP"))

    assert refusal(ReportError, graded, []) == snapshot
    folders = [tmp_path / name for name in ("results", "elsewhere", "report")]
    assert refusal(ReportError, write_reports, *folders) == snapshot
    before = graded()
    roster = tmp_path / "handed-in" / "roster.csv"
    roster.write_text("id\n", encoding="utf-8")
    with pytest.raises(RosterError):
        write_reports(tmp_path / "results", out=tmp_path / "report")
    assert {n: c.decode() for n, c in read_tree(tmp_path / "report").items()} == before, "the old report stays"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x", encoding="utf-8")
    roster.write_bytes(format_roster((ADA,)).encode())
    with pytest.raises(FolderError):
        write_reports(tmp_path / "results", out=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_columns_come_from_any_result_that_has_exercises(tmp_path):
    """The result of an unreadable file may have no exercises."""
    write_result(tmp_path, LessonResult("s1", SOFTMAX, "k", ()))
    write_result(tmp_path, LessonResult("s2", SOFTMAX, "k", (passed("softmax"),)))
    assert [column.exercise for column in read_columns(tmp_path)] == ["softmax"]


def test_the_pictures_know_every_state():
    assert set(class_results.STATES) == set(STATES)


def test_the_command(graded, tmp_path):
    graded()
    run = lambda *more: CliRunner().invoke(app, ["report", str(tmp_path / "results"), *map(str, more)])
    done = run("--out", tmp_path / "new")
    assert done.exit_code == 0 and "3 students" in done.stdout and "class.html" in done.stdout
    assert "incidents.csv" in done.stderr
    refused = run("--handed-in", tmp_path / "none", "--out", tmp_path / "new")
    assert refused.exit_code == 2 and len(refused.stderr.splitlines()) == 1
