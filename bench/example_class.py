"""Generate a class of simulated students to try grading on: correct answers, wrong answers and faulty files.

The answers come from `tests/checks/blind`. Their authors saw only the student files, and ran no check.
Each student's answers are sampled: a student has an ability, finishes a number of lessons, and can repeat a mistake
from one lesson in the next. The same seed always generates the same class.

    python -m bench.example_class try 02 03 04                  # 40 students who hand in three lessons
    python -m bench.example_class try --students 100 --seed 2   # another class, with all lessons
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import random
import shlex
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from bench.fault_injection import STRANGER, Files, inject_faults
from utils import lessons
from utils.grading.intake.csv_tables import format_csv
from utils.grading.intake.folders import write_text
from utils.grading.intake.lesson_detection import known_lessons
from utils.grading.intake.roster import Student, format_roster
from utils.instructor import ipynb
from utils.instructor.answers import Answer, read_answers
from utils.instructor.strip import strip_answers
from utils.lessons.syntax import statement_rows

BLIND = lessons.ROOT / "tests" / "checks" / "blind"
ROSTER, SUBMISSIONS, EXPECTED = "roster.csv", "submissions.zip", "expected.csv"
DUE = time.mktime((2026, 3, 9, 23, 59, 0, 0, 0, -1))

GIVEN_NAMES = """
Ada Alan Aisha Amara Anaïs Ben Bilal Chen Chloé Daan Diego Elif Emma Emre Farah Finn Freya Gabriel Hana Hugo
Ines Ishaan Ivan Jonas Juno Kai Karim Kenji Lea Leila Liam Lina Luca Magda Malik Mateo Maya Mila Nia Nils Noa Noor Olga
Omar Oskar Paula Petra Priya Quinn Rania Rosa Samir Sofia Søren Tariq Thandi Tomás Uma Wei Zoë""".split()
FAMILY_NAMES = """
Abe Acosta Adeyemi Almeida Andersson Bakker Banerjee Becker Bianchi Çelik Cohen Costa Dahl Demir Diallo
Dubois Eriksen Farouk Fischer Fontaine García Gupta Haddad Hansen Horvat Ibrahim Ito Jansen Jensen Kaya Keller Khan Kim
Kovács Laurent Lindqvist López Mbeki Meyer Moreau Müller Nakamura Ndiaye Nguyen Novák O'Neill Okafor Olsen Park Patel
Pereira Rossi Sato Schmidt Silva Tanaka Weber Wójcik Yilmaz Zhang""".split()
# the maximum number of students, because every student needs a different name
MOST = len(GIVEN_NAMES) * len(FAMILY_NAMES)


class ExampleError(ValueError):
    """The class cannot be generated; nothing was written."""


@dataclass(frozen=True)
class ExpectedResult:
    """A row of `expected.csv`: the answer of a simulated student to one exercise.

    Attributes:
        verdict: the verdict of the check, in the notation of `coginst answers`.
        mishap: the fault that was injected into the student's file, or "".
        answer: the source of the answer; "" if the exercise was not attempted.
    """

    id: str
    lesson: str
    exercise: str
    verdict: str
    mishap: str
    answer: str


@dataclass
class ExampleClassSummary:
    """The generated class: its folder, its students, and the number of students with each injected fault."""

    folder: Path
    students: list[Student]
    file_count: int
    fault_counts: Counter[str] = field(default_factory=Counter)


def make_example_class(
    out: str | Path, students: int = 40, seed: int = 1, names: Iterable[str] = ()
) -> ExampleClassSummary:
    """Write a class into the new folder `out`: a roster, a zip in Moodle's format, and the expected results.

    Args:
        students: the number of students on the roster.
        seed: the seed of the random generator.
        names: the lessons to hand in; by default all.

    Raises:
        ExampleError: `out` already exists, or the number of students is out of range.
        LessonError: a lesson in `names` does not exist.
    """
    out = Path(out)
    if not 2 <= students <= MOST:
        raise ExampleError(f"A class has 2 to {MOST:,} students, but you requested {students:,}.")
    if out.exists():
        raise ExampleError(f"{out} already exists. Name a new folder.")
    stems = [lessons.find_lesson(name).stem for name in names] or [path.stem for path in lessons.all_lessons()]
    course = _Course(sorted(set(stems)), seed)
    roster = _sample_roster(students, seed)
    handed_in, expected = {}, []
    for student in roster:
        simulated = _SimulatedStudent(student, course, seed)
        handed_in[student.id] = simulated.files()
        expected += simulated.expected
    mishaps = inject_faults(handed_in, roster, random.Random(f"{seed}:mishaps"))
    expected = [replace(row, mishap=mishaps.get((row.id, row.lesson), "")) for row in expected]
    out.mkdir(parents=True)
    everybody = [*roster, STRANGER] if STRANGER.id in handed_in else roster
    write_text(out / ROSTER, format_roster(roster))
    write_text(out / EXPECTED, format_csv([f.name for f in fields(ExpectedResult)], map(astuple, expected)))
    _write_zip(out / SUBMISSIONS, everybody, handed_in, random.Random(f"{seed}:numbers"))
    fault_counts = Counter(
        {what: len({id for (id, _), told in mishaps.items() if told == what}) for what in mishaps.values()}
    )
    return ExampleClassSummary(out, roster, sum(map(len, handed_in.values())), fault_counts)


# --- the roster -------------------------------------------------------------------------------------------


def _sample_roster(count: int, seed: int) -> list[Student]:
    draw = random.Random(f"{seed}:roster")
    pairs = [(given, family) for given in GIVEN_NAMES for family in FAMILY_NAMES]
    roster = []
    for n, (given, family) in enumerate(draw.sample(pairs, count)):
        id = f"s{1000 + n}"
        roster.append(Student(id, f"{given} {family}", f"{id}@example.edu", "AB"[n % 2]))
    return roster


# --- the answers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gap:
    """An exercise in a student's copy: the cell and rows that an answer replaces, and the reference answer."""

    exercise: str
    cell_index: int
    span: range
    reference: str


class _Course:
    """The lessons and gaps of the class, the blind answers to them, and sampled difficulties."""

    def __init__(self, stems: Sequence[str], seed: int) -> None:
        draw = random.Random(f"{seed}:course")
        known = {lesson.stem: lesson.exercises for lesson in known_lessons()}
        self.notebooks = {stem: _student_copy(lessons.find_lesson(stem)) for stem in stems}
        self.gaps = {stem: _find_gaps(self.notebooks[stem], stem, known[stem]) for stem in stems}
        self.right: dict[str, list[Answer]] = {}
        self.wrong: dict[str, list[Answer]] = {}
        for path in sorted(BLIND.glob("*/*.py")):
            for answer in read_answers(path):
                (self.right if answer.kind == "right" else self.wrong).setdefault(answer.exercise, []).append(answer)
        for answers in self.wrong.values():
            draw.shuffle(answers)
        asked = [gap.exercise for gaps in self.gaps.values() for gap in gaps]
        self.difficulty = {exercise: draw.gauss(0, 0.8) for exercise in asked}
        ids = Counter(id for name in asked for id in {_misconception(a) for a in self.wrong.get(name, ())} - {""})
        self.habits = [id for id, count in ids.most_common(12) if count > 1]


def _student_copy(path: Path) -> dict[str, Any]:
    """Return the notebook of a lesson that students receive."""
    lesson = lessons.parse_lesson(strip_answers(lessons.read_text(path), path).text, path)
    cells = [
        ipynb.make_cell(cell.kind, ipynb.cell_id(path.stem, cell.index), cell.metadata, cell.source.splitlines(True))
        for cell in lesson.cells
    ]
    return ipynb.make_notebook(cells)


def _misconception(answer: Answer) -> str:
    kind, _, id = answer.verdict.partition(" ")
    return id if kind == "misconception" else ""


def _find_gaps(notebook: dict[str, Any], stem: str, exercises: Iterable[str]) -> list[Gap]:
    """Return the gaps of a lesson's exercises in the order of the page."""
    lesson = lessons.parse_lesson(json.dumps(notebook), f"{stem}.ipynb")
    path = lessons.find_lesson(stem)
    gaps: dict[str, Gap] = {}
    for cell in lesson.cells:
        tree = lessons.parse_cell(cell)
        for node in tree.body if tree else ():
            for name in set(lessons.bound_names(node)) & set(exercises) - gaps.keys():
                gaps[name] = Gap(name, cell.index, statement_rows(node), lessons.definition_source(path, name))
    return list(gaps.values())


class _SimulatedStudent:
    """A student with a sampled ability, a number of finished lessons, and up to two habitual misconceptions.

    `expected` collects the rows for `expected.csv` while the notebooks are written.
    """

    def __init__(self, student: Student, course: _Course, seed: int) -> None:
        self.student, self.course = student, course
        self.draw = random.Random(f"{seed}:{student.id}")
        self.ability = self.draw.gauss(1.1, 1.1)
        habit_weights = [1 / (n + 1) for n in range(len(course.habits))]
        self.habits = set(self.draw.choices(course.habits, habit_weights, k=2)) if course.habits else set()
        done = len(course.gaps)
        self.lessons = list(course.gaps)[: done if self.draw.random() < 0.7 else self.draw.randint(1, done)]
        self.expected: list[ExpectedResult] = []

    def files(self) -> Files:
        """Return the submitted files by name, each with its content and time."""
        files = {f"{stem}.ipynb": (self._notebook(stem), self._sample_time()) for stem in self.lessons}
        if self.draw.random() < 0.5:
            files["progress.json"] = (self._progress(), self._sample_time())
        return files

    def _sample_time(self) -> float:
        return DUE - self.draw.randint(30, 4 * 24 * 60) * 60

    def _notebook(self, stem: str) -> bytes:
        notebook = copy.deepcopy(self.course.notebooks[stem])
        answers = [(gap, *self._sample_answer(gap)) for gap in self.course.gaps[stem]]
        for gap, verdict, source in answers:
            self.expected.append(ExpectedResult(self.student.id, stem, gap.exercise, verdict, "", source))
        for gap, _, source in reversed(answers):  # start at the end, so that the rows of earlier gaps stay valid
            if source:
                insert_answer(notebook, gap, source)
        count = self.draw.randint(1, 99)  # Execution counts differ between students, because cells run repeatedly.
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["execution_count"] = count = count + self.draw.randint(1, 3)
        return ipynb.notebook_text(notebook).encode()

    def _sample_answer(self, gap: Gap) -> tuple[str, str]:
        """Sample a verdict and an answer with this verdict; the answer is "" if the gap is not attempted."""
        draw, name = self.draw, gap.exercise
        wrong = self.course.wrong.get(name, [])
        habitual = [answer for answer in wrong if _misconception(answer) in self.habits]
        chance = 1 / (1 + math.exp(self.course.difficulty[name] - self.ability))
        if draw.random() < (0.5 * chance if habitual else chance):
            others = [answer.source for answer in self.course.right.get(name, ())]
            return "passed", draw.choice(others) if others and draw.random() < 0.5 else gap.reference
        if not wrong or draw.random() < 0.12:
            return "todo", ""
        if habitual and draw.random() < 0.85:
            answer = draw.choice(habitual)
        else:  # A few mistakes are frequent, the others are rare.
            answer = draw.choices(wrong, [1 / (n + 1) ** 1.6 for n in range(len(wrong))])[0]
        return answer.verdict, answer.source

    def _progress(self) -> bytes:
        """Return the content of `progress.json`; harder exercises take more tries."""
        entries: dict[str, dict[str, Any]] = {}
        for row in self.expected:
            status = {"passed": "passed", "todo": "todo"}.get(row.verdict, "failed")
            mean = max(0.2, 1.5 + self.course.difficulty[row.exercise] - 0.5 * self.ability)
            tries = 0 if status == "todo" else 1 + int(self.draw.expovariate(1 / mean))
            entries.setdefault(row.lesson[3:], {})[row.exercise] = {
                "status": status, "tries": tries, "when": "2026-03-09T12:00:00+00:00",
            }  # fmt: skip
        return json.dumps(entries, indent=1, sort_keys=True).encode()


def insert_answer(notebook: dict[str, Any], gap: Gap, source: str) -> None:
    """Replace the rows of a gap with an answer."""
    cell = notebook["cells"][gap.cell_index]
    lines = "".join(cell["source"]).split("\n")
    lines[gap.span.start : gap.span.stop] = source.rstrip("\n").split("\n")
    cell["source"] = "\n".join(lines).splitlines(keepends=True)


# --- the zip --------------------------------------------------------------------------------------------


def _write_zip(path: Path, students: Sequence[Student], handed_in: dict[str, Files], draw: random.Random) -> None:
    """Write the files in the format of Moodle's “Download all submissions”, with a folder for each student."""
    numbers = draw.sample(range(100_000, 999_999), len(students))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for number, student in sorted(zip(numbers, students), key=lambda pair: pair[1].name):
            name_there = student.name.replace("'", "")  # Moodle removes quotes.
            folder = f"{name_there}_{number}_assignsubmission_file_"
            for name, (content, when) in handed_in[student.id].items():
                entry = zipfile.ZipInfo(f"{folder}/{name}", time.localtime(when)[:6])
                entry.external_attr, entry.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
                packed.writestr(entry, content)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="FOLDER", help="the folder to create")
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="the lessons to hand in (default: all)")
    parser.add_argument("--students", type=int, default=40, help="the number of students on the roster")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same class")
    options = parser.parse_args(arguments)
    try:
        summary = make_example_class(options.out, options.students, options.seed, options.lessons)
    except ValueError as error:
        parser.error(str(error))
    print(f"Written: {summary.folder}, {len(summary.students)} students, {summary.file_count} files.")
    print("Faults in it: " + ", ".join(f"{fault} ({count})" for fault, count in summary.fault_counts.items()) + ".")
    roster, submissions, handed_in = (str(summary.folder / name) for name in (ROSTER, SUBMISSIONS, "handed-in"))
    print("Next: " + shlex.join(["coginst", "collect", submissions, "--roster", roster, "--out", handed_in]))


if __name__ == "__main__":
    main()
