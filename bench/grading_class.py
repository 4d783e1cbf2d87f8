"""Collect, grade and report the submissions of lesson 02 from a class of 300. Every tenth student hands in a hostile
answer, such as an endless loop.

    python -m bench.grading_class 40    # another number of students; prints the folder, and keeps it
"""

import json
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from statistics import mean

from bench.example_class import ROSTER, SUBMISSIONS, make_example_class
from bench.grading import resident_megabytes
from bench.measurement import Row, cpu_seconds
from bench.report import table_cells
from utils.grading import engine
from utils.grading.judge.results import write_result
from utils.grading.judge.sandbox import Sandbox
from utils.grading.judge.verdicts import Judge

LESSON, STUDENTS, COMMAND = "02", 300, (sys.executable, "-m", "utils.cli")
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
    make_example_class(folder, students, names=[LESSON])
    add_hostile_cells(folder / SUBMISSIONS)
    collecting = cpu_seconds(*COMMAND, "collect", SUBMISSIONS, "--roster", ROSTER, cwd=folder)
    stems, settings = engine.resolve_stems([LESSON]), engine.Settings(seed=1)
    finished, stopped = [], []
    with Sandbox() as box:
        judge = Judge(box, settings.limits, seed=settings.seed)
        for task in engine.iter_submissions(folder / "handed-in", stems, settings):
            if task.pages:
                began = time.process_time() + box.cpu_seconds
                result = judge.grade(task)
                write_result(folder / "results", result)
                group = stopped if any(e.state == "stopped" for e in result.exercises) else finished
                group.append(time.process_time() + box.cpu_seconds - began)
        memory = resident_megabytes()
    reporting = cpu_seconds(*COMMAND, "report", "results", cwd=folder)
    sizes = [path.stat().st_size / 1024 for path in sorted(folder.glob("report/students/*.html"))]
    return [
        Row("`collect`", [collecting], "s"),
        Row("`grade`, mean of the submissions within all limits", [mean(finished)], "s", bar="1 s", headline=True),
        Row("`grade`, mean of the submissions that exceed a limit", [mean(stopped)], "s"),
        Row("`grade`, median of all submissions", finished + stopped, "s"),
        Row("memory of the judge", [memory], "MB"),
        Row("`report`", [reporting], "s"),
        Row("the class page", [(folder / "report" / "class.html").stat().st_size / 1024], "KB"),
        Row("the largest page of a student", [max(sizes)], "KB"),
    ]


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return time_class(Path(folder) / "class", STUDENTS)


def main() -> None:
    folder = Path(tempfile.mkdtemp()) / "class"
    print(folder, flush=True)
    for row in time_class(folder, int(sys.argv[1])):
        print(" | ".join(table_cells(row)))


if __name__ == "__main__":
    main()
