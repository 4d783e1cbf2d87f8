"""Grade lessons 02 and 04 of six students with `coginst grade`, in the sandbox. The first row does not include
start-up. nbgrader's `autograde` grades the same notebooks without isolation.

No two submissions are equal, because the judge caches its results. Memory is measured with 700 students, whose
submissions are more than the cache holds. In the class at the end, every tenth student hands in a hostile answer, such
as an endless loop.

    python -m bench.grading all --students 40    # other lessons, more students, without nbgrader
    python -m bench.grading --class 300          # only the class; its folder is kept
"""

import argparse
import json
import sys
import tempfile
import time
import zipfile
from dataclasses import replace
from pathlib import Path

from bench.example_class import ROSTER, SUBMISSIONS, make_example_class
from bench.measurement import Row, cpu_seconds, time_nbgrader_command
from bench.report import table_cells
from utils import lessons
from utils.feedback.exercise import all_exercises
from utils.grading import engine
from utils.grading.judge.results import write_result
from utils.grading.judge.sandbox import Sandbox
from utils.grading.judge.verdicts import Judge
from utils.instructor.nbgrader.export import BEGIN, END, export_lessons, make_assignment
from utils.instructor.release import release

LESSONS, STUDENTS, CLASS = ("02", "04"), 6, (100, 700)
EXAMPLE_LESSON, EXAMPLE_STUDENTS, COMMAND = "02", 40, (sys.executable, "-m", "utils.cli")
HOSTILE = (  # cells at the end of a page of lesson 02
    "def broken(f):\n    raise ValueError('\\ud800')\n@broken\ndef softmax(*x): ...",
    "def softmax(*x):\n    while True: pass",
    "import time\ndef softmax(*x):\n    time.sleep(1000)",
    "import torch\ndef softmax(*x):\n    return torch.empty(50 << 30, dtype=torch.uint8)",
    "import os\ndef softmax(*x):\n    os._exit(0)",
    "import os\ndef softmax(*x):\n    while True: os.fork()",
    "import socket\ndef softmax(*x):\n    socket.create_connection(('10.0.0.1', 80))",
    "def softmax(*x):\n    return open('/etc/shadow').read()",
    "import gc, socket\nclass Forged:\n    [s.send(bytes(9)) for s in gc.get_objects() if type(s) is socket.socket]",
    "import sys\nclass Traced:\n    sys.settrace(lambda *a: None)\ndef softmax(*x):\n    return x[0]",
    "def softmax(*x):\n    deep = []\n    for _ in range(100_000): deep = [deep]\n    return deep",
    "def softmax(*x):\n    print('x' * 10**8)\n    raise ValueError('<script>alert(1)</script>' * 10**5)",
)


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
                held.append(_resident_megabytes())
    return held


def _resident_megabytes() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def write_submissions(folder: Path, stems: list[str], students: int) -> None:
    for student in range(students):
        place = folder / f"s{student:03}"
        place.mkdir(parents=True)
        for stem in stems:
            (place / f"{stem}.ipynb").write_text(json.dumps(student_notebook(stem, student)), encoding="utf-8")


def time_grading(folder: Path, stems: list[str], students: int) -> list[Row]:
    """Return the time for the first submissions, for each submission when the judge is warm, and for all submissions a
    second time.
    """
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


def add_hostile_cells(path: Path) -> None:
    """Add a hostile cell to every tenth notebook of a zip."""
    with zipfile.ZipFile(path) as packed:
        files = {entry: packed.read(entry) for entry in packed.infolist()}
    pages = [entry for entry, text in files.items() if entry.filename.endswith(".ipynb") and text.endswith(b"}\n")]
    for number, entry in enumerate(pages[::10]):
        notebook = json.loads(files[entry])
        notebook["cells"].append(notebook["cells"][-1] | {"cell_type": "code", "id": "hostile", "outputs": []})
        notebook["cells"][-1] |= {"execution_count": None, "source": HOSTILE[number % len(HOSTILE)]}
        files[entry] = json.dumps(notebook).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for entry, text in files.items():
            packed.writestr(entry, text)


def time_class(folder: Path, students: int) -> list[Row]:
    """Collect, grade and report an example class in a new folder; return the CPU time, memory and sizes of pages.

    One judge grades the class, because the processes of `grade -j 2` do not include the CPU time of their sandboxes.
    """
    make_example_class(folder, students, names=[EXAMPLE_LESSON])
    add_hostile_cells(folder / SUBMISSIONS)
    collecting = cpu_seconds(*COMMAND, "collect", SUBMISSIONS, "--roster", ROSTER, cwd=folder)
    stems, settings = engine.resolve_stems([EXAMPLE_LESSON]), engine.Settings(seed=1)
    grading = []
    with Sandbox() as box:
        judge = Judge(box, settings.limits, seed=settings.seed)
        for task in engine.iter_submissions(folder / "handed-in", stems, settings):
            if task.pages:
                began = time.process_time() + box.cpu_seconds
                write_result(folder / "results", judge.grade(task))
                grading.append(time.process_time() + box.cpu_seconds - began)
        memory = _resident_megabytes()
    reporting = cpu_seconds(*COMMAND, "report", "results", cwd=folder)
    sizes = [path.stat().st_size / 1024 for path in sorted(folder.glob("report/students/*.html"))]
    label = f"a class of {students}, 1 in 10 hostile"
    return [
        Row(f"`collect`, {label}", [collecting], "s"),
        Row(f"`grade`, a submission, {label}", grading, "s", bar="1 s"),
        Row(f"`grade`, all submissions, {label}", [sum(grading)], "s"),
        Row(f"memory of the judge, {label}", [memory], "MB"),
        Row(f"`report`, {label}", [reporting], "s"),
        Row(f"the class page, {label}", [(folder / "report" / "class.html").stat().st_size / 1024], "KB"),
        Row(f"the largest page of a student, {label}", [max(sizes)], "KB"),
    ]


def rows() -> list[Row]:
    stems = engine.resolve_stems(LESSONS)
    with tempfile.TemporaryDirectory() as ourselves, tempfile.TemporaryDirectory() as other:
        each, *more = time_grading(Path(ourselves), stems, STUDENTS)
        autograde = [time_nbgrader(Path(other), stems, STUDENTS)]
        example = time_class(Path(ourselves) / "class", EXAMPLE_STUDENTS)
    early, late = judge_memory()
    return [
        replace(each, beside="nbgrader's `autograde`", theirs=autograde, headline=True),
        *more,
        Row(f"memory of the judge after {CLASS[1]} students", [late], "MB", f"after {CLASS[0]} students", [early]),
        *example,
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("lessons", nargs="*", default=LESSONS)
    parser.add_argument("--students", type=int, default=STUDENTS)
    parser.add_argument("--class", dest="example", type=int, metavar="STUDENTS")
    asked = parser.parse_args()
    if asked.example:
        folder = Path(tempfile.mkdtemp()) / "class"
        print(folder, flush=True)
        for row in time_class(folder, asked.example):
            print(" | ".join(table_cells(row)))
        return
    every = [stem for stem, found in engine.exercises_by_lesson().items() if found]
    stems = every if asked.lessons == ["all"] else engine.resolve_stems(asked.lessons)
    with tempfile.TemporaryDirectory() as folder:
        for row in time_grading(Path(folder), stems, asked.students):
            print(" | ".join(table_cells(row)))


if __name__ == "__main__":
    main()
