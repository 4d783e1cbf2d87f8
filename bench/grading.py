"""What grading costs: `coginst grade` beside nbgrader's `autograde` on the same notebooks, in CPU seconds.

Each lesson is handed in by students of whom every second one has a wrong answer. Ours is run once to start (torch is
imported by the judge and by the warm process), then over all submissions; what a submission costs includes its sandbox.
No two students hand in the same bytes, for a judge remembers a page. The judge's memory is looked at in a class of its
own: after 100 students of lesson 00, and after 700, more than a judge remembers pages of. nbgrader is asked where it
has been installed, in build/nbgrader (`make test-nbgrader` makes that).

    python bench/grading.py                  # lessons 02 and 04, 10 students, 3 minutes
    python bench/grading.py all --students 40
    python bench/grading.py 05 12 --ours     # without nbgrader and without the class for the memory
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from utils import lessons
from utils.feedback.exercise import all_exercises
from utils.grading import engine
from utils.grading.judge import Judge
from utils.grading.sandbox import Sandbox
from utils.instructor.nbgrader.export import BEGIN, END, assignment, export
from utils.instructor.release import release
from utils.lessons.answers import source_of

NBGRADER = lessons.ROOT / "build" / "nbgrader" / "bin" / "python"


def cpu() -> float:
    """CPU seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def page(stem: str, student: int) -> dict:
    """A student's notebook with the course's answers; of every second one the first function or class returns something
    else."""
    right = student % 2 == 0
    notebook = assignment(lessons.find(stem))
    names = [e.name for e in all_exercises().values() if e.lesson == stem[3:] and e.kind != "value"]
    for cell in notebook["cells"]:
        lines = "".join(cell["source"]).split("\n")
        cell["source"] = "\n".join(line for line in lines if line.strip() not in (BEGIN, END))
        if not right and names and cell["cell_type"] == "code" and f"def {names[0]}(" in cell["source"]:
            source = source_of(lessons.find(stem), names[0])
            cell["source"] += (
                f"\n\n_{names[0]} = {names[0]}\ndef {names[0]}(*a, **k):\n    return 2 * _{names[0]}(*a, **k)"
            )
            assert source
    notebook["cells"][0]["source"] += f"\n\nStudent {student}."
    return notebook


def memory(students: tuple[int, int] = (100, 700)) -> None:
    """Say how much memory the judge of a large class holds: early on, and at the end."""
    stem, settings, held = engine.stems_of(["00"])[0], engine.Settings(), []
    with Sandbox() as box:
        judge = Judge(box, settings.limits)
        for student in range(students[1]):
            pages = {f"{stem}.ipynb": json.dumps(page(stem, student)).encode()}
            judge.grade(engine.Submission(f"s{student:03}", stem, pages, "key"))
            if student + 1 in students:
                status = Path("/proc/self/status").read_text(encoding="utf-8")
                held.append(int(status.partition("VmRSS:")[2].split()[0]) / 1024)
    early, late = students
    print(f"  the judge's memory: {held[0]:.0f} MB after {early} students, {held[1]:.0f} MB after {late}")


def ours(folder: Path, stems: list[str], students: int) -> float:
    """CPU seconds for each submission, once everything is warm."""
    settings, states = engine.Settings(), Counter()
    with Sandbox() as box:
        judge = Judge(box, settings.limits)

        def run(part: str) -> tuple[float, float]:
            began, clock = time.process_time() + box.spent, time.perf_counter()
            for task in engine.submissions(folder / part, stems, settings):
                result = judge.grade(task)
                states.update(e.state for e in result.exercises)
            return time.process_time() + box.spent - began, time.perf_counter() - clock

        first = run("one")[0]
        run("few")
        states.clear()
        spent, clock = run("all")
    count = students * len(stems)
    each = spent / count
    print(f"coginst grade: {each:.2f} s of CPU a submission ({clock / count:.2f} s by the clock), isolation included;")
    print(f"  the first {len(stems)} took {first:.1f} s, with the warm start and the oracles")
    engine.grade(folder / "all", folder / "results", stems)
    again = time.process_time()
    done = engine.grade(folder / "all", folder / "results", stems)
    print(f"  a second run: {time.process_time() - again:.2f} s of CPU for all, {done.made} graded again")
    print("  " + ", ".join(f"{state} {number}" for state, number in sorted(states.items())))
    return each


def theirs(folder: Path, stems: list[str], students: int) -> float:
    """CPU seconds of `nbgrader autograde` for each submission."""
    import zipfile

    course = folder / "nbgrader" / "course"
    zipfile.ZipFile(release(folder / "nbgrader" / "attention.zip").path).extractall(folder / "nbgrader")
    export(course, stems)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COURSE_")}
    environment |= {"PATH": f"{NBGRADER.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    environment["PYTHONPATH"] = str(folder / "nbgrader" / "attention")

    def run(*arguments: str) -> float:
        begin = cpu()
        subprocess.run(
            [NBGRADER, "-m", "nbgrader", *arguments], cwd=course, env=environment, check=True, capture_output=True
        )
        return cpu() - begin

    seconds = 0.0
    for stem in stems:
        run("generate_assignment", stem)
        released = json.loads((course / "release" / stem / f"{stem}.ipynb").read_text())
        for student in range(students):
            answers = page(stem, student)
            by_id = {cell.get("id"): cell["source"] for cell in answers["cells"]}
            for cell in released["cells"]:
                if cell["metadata"].get("nbgrader", {}).get("solution"):
                    cell["source"] = by_id.get(cell["id"], cell["source"])
            place = course / "submitted" / f"s{student:03}" / stem
            place.mkdir(parents=True)
            (place / f"{stem}.ipynb").write_text(json.dumps(released))
        seconds += run("autograde", stem)
    return seconds / (students * len(stems))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("lessons", nargs="*", default=["02", "04"])
    parser.add_argument("--students", type=int, default=10)
    parser.add_argument("--ours", action="store_true")
    asked = parser.parse_args()
    every = [stem for stem, found in engine.exercises_of_lessons().items() if found]
    stems = every if asked.lessons == ["all"] else engine.stems_of(asked.lessons)
    folder = Path(tempfile.mkdtemp(prefix="grading-"))
    try:
        (folder / "nbgrader").mkdir()
        for part, count in {"one": 1, "few": 2, "all": asked.students}.items():
            for student in range(count):
                place = folder / part / f"s{student:03}"
                place.mkdir(parents=True)
                for stem in stems:
                    (place / f"{stem}.ipynb").write_text(json.dumps(page(stem, student)))
        each = ours(folder, stems, asked.students)
        if asked.ours:
            return
        memory()
        if NBGRADER.exists():
            seconds = theirs(folder, stems, asked.students)
            print(
                f"nbgrader autograde: {seconds:.2f} s a submission, {seconds / each:.1f} times ours, without isolation"
            )
        else:
            print("nbgrader is not installed (make test-nbgrader), and was not asked")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
