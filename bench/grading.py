"""Grade lessons 02 and 04 of six students with `coginst grade` in the sandbox. The first row does not include
start-up. For comparison, nbgrader's `autograde` grades the same notebooks without isolation. The judge is the process
that compares the results. In the rows about a class of 40, one submission in ten is hostile.

No two submissions are equal, because the judge caches its results. Memory is measured with 700 students, whose
submissions do not all fit into the cache.

    python -m bench.grading all --students 40    # other lessons, more students, without nbgrader
"""

import argparse
import json
import tempfile
import time
import zipfile
from dataclasses import replace
from pathlib import Path

from bench.measurement import Row, time_nbgrader_command
from bench.report import table_cells
from utils import lessons
from utils.exercises.exercise import all_exercises
from utils.grading import engine
from utils.grading.judge.sandbox import Sandbox
from utils.grading.judge.verdicts import Judge
from utils.instructor.nbgrader.export import BEGIN, END, export_lessons, make_assignment
from utils.instructor.release import release

LESSONS, STUDENTS, CLASS = ("02", "04"), 6, (100, 700)


def student_notebook(stem: str, student: int) -> dict:
    """Return a student's notebook with the reference answers. For every second student, the first function or class
    returns something else.
    """
    right = student % 2 == 0
    notebook = make_assignment(lessons.find_lesson(stem))
    names = [e.name for e in all_exercises().values() if e.lesson == stem[3:] and e.kind != "value"]
    for cell in notebook["cells"]:
        lines = "".join(cell["source"]).split("\n")
        cell["source"] = "\n".join(line for line in lines if line.strip() not in (BEGIN, END))
        if not right and names and cell["cell_type"] == "code" and f"def {names[0]}(" in cell["source"]:
            cell["source"] += (
                f"\n\n_{names[0]} = {names[0]}\ndef {names[0]}(*a, **k):\n    return 2 * _{names[0]}(*a, **k)"
            )
    notebook["cells"][0]["source"] += f"\n\nStudent {student}."
    return notebook


def judge_memory() -> list[float]:
    """Return the megabytes that the judge of a large class uses after 100 students and at the end."""
    stem, settings, held = engine.resolve_stems(["00"])[0], engine.Settings(), []
    with Sandbox() as box:
        judge = Judge(box, settings.limits)
        for student in range(CLASS[1]):
            pages = {f"{stem}.ipynb": json.dumps(student_notebook(stem, student)).encode()}
            judge.grade(engine.Submission(f"s{student:03}", stem, pages, "key"))
            if student + 1 in CLASS:
                held.append(resident_megabytes())
    return held


def resident_megabytes() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def write_submissions(folder: Path, stems: list[str], students: int) -> None:
    for student in range(students):
        place = folder / f"s{student:03}"
        place.mkdir(parents=True)
        for stem in stems:
            (place / f"{stem}.ipynb").write_text(json.dumps(student_notebook(stem, student)), encoding="utf-8")


def time_grading(folder: Path, stems: list[str], students: int) -> list[Row]:
    """Return three times: for the first submissions, for each submission with a warm judge, and for a second run."""
    settings = engine.Settings()
    for part, count in {"one": 1, "few": 2, "all": students}.items():
        write_submissions(folder / part, stems, count)
    with Sandbox() as box:
        judge = Judge(box, settings.limits)

        def run(part: str) -> float:
            began = time.process_time() + box.cpu_seconds
            for task in engine.iter_submissions(folder / part, stems, settings):
                judge.grade(task)
            return time.process_time() + box.cpu_seconds - began

        first, _, each = (run(part) for part in ("one", "few", "all"))
    engine.grade(folder / "all", folder / "results", stems)
    again = time.process_time()
    assert engine.grade(folder / "all", folder / "results", stems).graded_count == 0
    again = time.process_time() - again
    each /= students * len(stems)
    return [
        Row("grading a lesson of one student", [each], "s", bar="1 s"),
        Row(f"the first {len(stems)} submissions, with start-up", [first], "s"),
        Row("regrading all submissions", [again], "s"),
    ]


def time_nbgrader(folder: Path, stems: list[str], students: int) -> float:
    """Return the seconds that `nbgrader autograde` needs for each submission."""
    course, installed = folder / "course", folder / "attention"
    zipfile.ZipFile(release(folder / "attention.zip").path).extractall(folder)
    export_lessons(course, stems)
    seconds = 0.0
    for stem in stems:
        time_nbgrader_command("generate_assignment", stem, cwd=course, path=installed)
        released = json.loads((course / "release" / stem / f"{stem}.ipynb").read_text(encoding="utf-8"))
        for student in range(students):
            by_id = {cell.get("id"): cell["source"] for cell in student_notebook(stem, student)["cells"]}
            for cell in released["cells"]:
                if cell["metadata"].get("nbgrader", {}).get("solution"):
                    cell["source"] = by_id.get(cell["id"], cell["source"])
            place = course / "submitted" / f"s{student:03}" / stem
            place.mkdir(parents=True)
            (place / f"{stem}.ipynb").write_text(json.dumps(released), encoding="utf-8")
        seconds += time_nbgrader_command("autograde", stem, cwd=course, path=installed)
    return seconds / (students * len(stems))


def rows() -> list[Row]:
    stems = engine.resolve_stems(LESSONS)
    with tempfile.TemporaryDirectory() as ourselves, tempfile.TemporaryDirectory() as other:
        each, *more = time_grading(Path(ourselves), stems, STUDENTS)
        autograde = [time_nbgrader(Path(other), stems, STUDENTS)]
    early, late = judge_memory()
    return [
        replace(each, beside="nbgrader's `autograde`", theirs=autograde, headline=True),
        *more,
        Row(f"memory of the judge after {CLASS[1]} students", [late], "MB", f"after {CLASS[0]} students", [early]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("lessons", nargs="*", default=LESSONS)
    parser.add_argument("--students", type=int, default=STUDENTS)
    asked = parser.parse_args()
    every = [stem for stem, found in engine.exercises_by_lesson().items() if found]
    stems = every if asked.lessons == ["all"] else engine.resolve_stems(asked.lessons)
    with tempfile.TemporaryDirectory() as folder:
        for row in time_grading(Path(folder), stems, asked.students):
            print(" | ".join(table_cells(row)))


if __name__ == "__main__":
    main()
