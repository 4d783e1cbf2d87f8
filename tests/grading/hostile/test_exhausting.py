"""Attack with pages that use up resources, never end, or end processes: only their own exercise may be affected."""

from __future__ import annotations

import json
import os

import pytest

from tests.grading.hostile.conftest import PAGE, RIGHT, SHORT, WRONG, graded, untouched, verdict
from tests.grading.student_notebooks import notebook
from utils.grading import engine
from utils.grading.judge.results import read_results
from utils.grading.judge.sandbox import Sandbox
from utils.grading.judge.submissions import NOT_COLLECTED
from utils.grading.judge.verdicts import LARGEST, Judge, Submission
from utils.grading.runner.isolation import ResourceLimits

GREEDY = "import torch\ndef row_sums(x):\n    held = TAKEN\n    return x.sum(dim=1)"
TAKES = {
    "with torch": "torch.empty({0}, dtype=torch.uint8)",
    "with Python": "bytearray({0})",
    "shared with others": "__import__('mmap').mmap(-1, 4 * {0})",
    "in pieces": "[bytearray(1 << 24) for _ in range({0} >> 24)]",
}


@pytest.mark.parametrize("take", TAKES.values(), ids=list(TAKES))
def test_what_is_too_much_memory_is_refused(sandbox, in_process, take):
    assert in_process(GREEDY.replace("TAKEN", take.format(3 << 26)))["said"] == ["passed"]
    result = graded(sandbox, GREEDY.replace("TAKEN", take.format(3 << 26)), limits=ResourceLimits(5.0, 1 << 27))
    assert not result.exercises[0].points
    assert untouched(sandbox)


def test_50_gb_are_told_as_such(sandbox, in_process):
    """Without protection, request only a little more than the limit, and never write to this memory."""
    asks = GREEDY.replace("TAKEN", "torch.empty({}, dtype=torch.uint8)")
    more = SHORT.memory + (1 << 26)
    assert in_process(asks.format(more))["said"] == ["passed"]
    for count in (more, 50 << 30):
        result = graded(sandbox, asks.format(count))
        assert result.exercises[0].state == "stopped" and "memory" in result.exercises[0].message
        assert not result.incidents


def test_an_answer_that_exceeds_memory_and_then_time_is_stopped_for_memory(sandbox, snapshot):
    hog = "import torch\nseen = []\ndef row_sums(x):\n    while seen:\n        pass\n    seen.append(x)\n"
    result = graded(sandbox, f"{hog}    return torch.empty(50 << 30, dtype=torch.uint8)", limits=SHORT)
    assert result.exercises[0].state == "stopped" and result.exercises[0].message == snapshot
    assert not result.incidents


# --- time -----------------------------------------------------------------------------------------------

LOOPS = {
    "while it is loaded": "class Endless:\n    while True:\n        pass\n" + RIGHT,
    "while it is called": "def row_sums(x):\n    while True:\n        pass",
    "and catches what stops it": """
def row_sums(x):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
""",
    "inside torch": "import torch\ndef row_sums(x):\n    big = torch.ones(9000, 9000)\n    return (big @ big).sum(1)",
    "in a thread that it waits for": """
import threading
def spin():
    while True:
        pass
def row_sums(x):
    thread = threading.Thread(target=spin)
    thread.start()
    thread.join()
""",
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=list(LOOPS))
def test_what_does_not_end_is_stopped(sandbox, in_process, loop):
    assert in_process(loop, RIGHT, seconds=1.0) == {"said": [], "status": "endless", "printed": 0}
    result = graded(sandbox, loop, limits=ResourceLimits(1.0, 1 << 30))
    assert result.exercises[0].state == "stopped"
    assert not result.incidents  # This can happen by accident.
    assert untouched(sandbox)


def test_a_loop_is_reported_with_its_line_as_in_the_notebook(sandbox):
    exercise = verdict(sandbox, LOOPS["while it is called"], limits=ResourceLimits(1.0, 1 << 30))
    assert exercise.reason == "stopped"
    assert "line 3 (`pass`)" in exercise.message or "line 2 (`while True:`)" in exercise.message


def test_a_loop_costs_its_exercise_and_not_the_page(sandbox):
    """In lesson 02, only a value whose cell never ends, and the exercises that use this value, are affected."""
    from tests.grading.student_notebooks import notebook_with_answer

    page = notebook_with_answer("attn_weights_2", "while True:\n    attn_weights_2 = attn_scores_2.softmax(0)")
    task = Submission("anna", "02_simplified_attention", {"02_simplified_attention.ipynb": page}, "key")
    done = {e.name: e for e in Judge(sandbox, ResourceLimits(10.0, 1 << 30)).grade(task).exercises}
    assert {name: e.state for name, e in done.items()} == {
        "attn_scores_2": "passed",
        "attn_weights_2": "stopped",
        "context_vec_2": "waits for another exercise",
        "softmax": "passed",
        "attn_scores": "passed",
        "simple_attention": "passed",
        "mix_texts": "passed",
    }
    assert done["context_vec_2"].waits_for == "attn_weights_2"


WAITS = "import time\ndef {0}(*x):\n    time.sleep(1000)"


def test_an_answer_that_waits_is_told_so(sandbox, snapshot):
    assert verdict(sandbox, WAITS.format("row_sums"), limits=ResourceLimits(0.5, 1 << 30)).message == snapshot


def test_an_interrupt_of_the_answer_itself_is_no_timeout(sandbox):
    for error in ("KeyboardInterrupt", "GeneratorExit", "SystemExit"):
        found = verdict(sandbox, f"def row_sums(x):\n    raise {error}")
        assert found.state == "failed" and f"stopped on line 2 (`raise {error}`)" in found.message
        assert verdict(sandbox, f"class Page:\n    raise {error}", RIGHT).state in ("passed", "failed")


def test_answers_that_wait_share_one_limit_for_the_whole_lesson(sandbox, monkeypatch):
    """After two answers that wait as long as they may, each further one is stopped after the CPU limit."""
    given, open_session = [], Sandbox.open_session

    def opens(self, *arguments):
        session = open_session(self, *arguments)
        given.append(session)
        return session

    monkeypatch.setattr(Sandbox, "open_session", opens)
    names = ["softmax", "attn_scores", "simple_attention", "context_vec_2"]
    page = notebook([WAITS.format("softmax"), *(f"import time\ntime.sleep(1000)\n{name} = 1" for name in names[1:])])
    lesson, limits = "02_simplified_attention", ResourceLimits(0.5, 1 << 30)
    Judge(sandbox, limits).grade(Submission("anna", lesson, {f"{lesson}.ipynb": page}, "key"))
    bounds = [session.left for session in given[1:]]
    assert len(bounds) == 4 and all(left <= limits.seconds for left in bounds[2:])


# --- processes ------------------------------------------------------------------------------------------

BOMB = """
import os
class Attack:
    born = 0
    for _ in range(40):
        try:
            if not os.fork():
                import time
                time.sleep(1)
                os._exit(0)
            born += 1
        except OSError:
            break
def row_sums(x, born=Attack.born):
    raise RuntimeError(f"born: {born}")
"""


def test_a_fork_bomb_finds_nothing_to_burn(sandbox, unisolated_sandbox):
    assert "born: 40" in verdict(unisolated_sandbox, BOMB).message
    result = graded(sandbox, BOMB)
    assert "born: 0" in result.exercises[0].message
    assert "processes" in {incident.kind for incident in result.incidents}
    assert untouched(sandbox)


THREADS = """
import threading
class Attack:
    held = threading.Event()
    count = 0
    try:
        for count in range(600):
            threading.Thread(target=held.wait, daemon=True).start()
    except RuntimeError:
        pass
def row_sums(x, count=Attack.count):
    return x.sum(dim=1) + (count < 500)
"""


def test_threads_are_counted(sandbox, in_process):
    """The answer is correct only if it can start 500 threads."""
    assert in_process(THREADS)["said"] == ["passed"]
    assert verdict(sandbox, THREADS).state == "failed"
    assert untouched(sandbox)


EXITS = {
    "os._exit": "import os\nos._exit(0)",
    "a signal": "import os\nos.kill(os.getpid(), 9)",
    "a crash": "import ctypes\nctypes.string_at(0)",
    "abort": "import os\nos.abort()",
}


@pytest.mark.parametrize("end", EXITS.values(), ids=list(EXITS))
def test_who_ends_the_process_ends_his_own(sandbox, in_process, end):
    body = "\n".join(f"    {line}" for line in end.splitlines())
    page = f"def row_sums(x):\n{body}\n    return x.sum(dim=1) + 1"
    assert in_process(page, RIGHT)["said"] == []  # No student gets a verdict.
    found = verdict(sandbox, page)
    assert found.state in ("stopped", "failed") and not found.points
    assert untouched(sandbox)


PARENT = """
import os, signal
class Attack:
    for pid in {}:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
"""


def test_the_parent_cannot_be_ended(sandbox, unisolated_sandbox):
    assert untouched(unisolated_sandbox)
    before = unisolated_sandbox.fork_server_pid
    graded(unisolated_sandbox, PARENT.format("(os.getppid(),)"), WRONG)
    assert unisolated_sandbox.fork_server_pid != before
    assert untouched(unisolated_sandbox)  # The fork server is started again.
    before = sandbox.fork_server_pid
    assert verdict(sandbox, PARENT.format("(os.getppid(), 2, -1)"), WRONG).state == "failed"
    assert untouched(sandbox) and sandbox.fork_server_pid == before


def test_without_isolation_an_exercise_whose_parent_ends_is_lost_alone(unisolated_sandbox):
    loop = "class Endless:\n    while True:\n        pass\n"
    result = graded(unisolated_sandbox, PARENT.format("(os.getppid(),)"), loop + RIGHT, limits=SHORT)
    assert [e.state for e in result.exercises] == ["stopped"]
    assert untouched(unisolated_sandbox)


def test_a_gigabyte_of_output_goes_nowhere(sandbox, in_process):
    loud = "import os\ndef row_sums(x):\n    for _ in range({}):\n        os.write(1, bytes(1 << 20))\n"
    loud += "    return x.sum(dim=1)"
    assert in_process(loud.format(8))["printed"] >= 8 << 20
    assert verdict(sandbox, loud.format(256)).state == "passed"  # Four cases or more print over a gigabyte.


# --- files that are no pages ----------------------------------------------------------------------------

ODD = {
    "500 MB": b'{"nbformat": 4, "cells": [' + b" " * (21 << 20),
    "not UTF-8": notebook([RIGHT]).replace(b"row_sums", b"row_\xff\xfe"),
    "nested JSON": b"[" * 200_000,
    "nested markdown": b'{"nbformat": 4, "cells": ' + b'[{"a":' * 50_000,
    "nothing": b"",
    "not collected": f"{NOT_COLLECTED}It is larger than the limit of 64 MB. Clear its outputs.".encode(),
    "another format": b'{"nbformat": 3, "worksheets": []}',
    "cells that are none": b'{"nbformat": 4, "cells": [1, null, {"cell_type": 5, "source": {}}]}',
}


def sources(text: bytes) -> list[str]:
    """Read a page without any precaution."""
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]


@pytest.mark.parametrize("text", ODD.values(), ids=list(ODD))
def test_what_is_no_page_is_unreadable_and_nothing_else(sandbox, text, snapshot):
    assert sources(notebook([RIGHT])) == [RIGHT]
    with pytest.raises((ValueError, TypeError, KeyError, RecursionError)):  # A naive reader would stop here.
        sources(text)
    page = {"00_start_here.ipynb": text}
    found = Judge(sandbox, ResourceLimits()).grade(Submission("anna", "00_start_here", page, "key"))
    assert [e.state for e in found.exercises] == ["unreadable"] and found.exercises[0].message
    assert "/" not in found.exercises[0].message  # The message must not contain the runner's folder.
    if text in (ODD["500 MB"], ODD["nothing"], ODD["not collected"]):
        assert found.exercises[0].message == snapshot
    assert untouched(sandbox)


def test_a_file_of_500_mb_is_read_only_up_to_the_size_of_the_largest_page(sandbox, tmp_path):
    """The file is sparse: it takes a few bytes on the disk, but reading all of it takes 500 MB."""
    for student in ("anna", "ben"):
        (tmp_path / "in" / student).mkdir(parents=True)
        (tmp_path / "in" / student / PAGE).write_bytes(notebook([RIGHT]))
    large = tmp_path / "in" / "anna" / PAGE
    os.truncate(large, 500 << 20)
    with large.open("rb") as file:
        assert len(file.read(LARGEST + 2)) == LARGEST + 2  # A naive reader would read on.
    assert len(engine.read_page(large)) == LARGEST + 1
    engine.grade(tmp_path / "in", tmp_path / "out")
    found = {r.student: [e.state for e in r.exercises] for r in read_results(tmp_path / "out")}
    assert found == {"anna": ["unreadable"], "ben": ["passed"]}


DEEP = {
    "code": "x = " + "(" * 250 + "1" + ")" * 250 + "\n" + WRONG,
    "code without end": "x = " + "-" * 100_000 + "1\n" + WRONG,
    "a null byte": "x = 1\0\n" + WRONG,
    "names of another language": "def row_sums(x):\n    '\\ud800'\n    return x.sum(dim=1) + 1",
}


def described(source: str) -> bytes:
    """Run an answer's source without any precaution, and return its docstring."""
    names = {}
    exec(source, names)
    return (names["row_sums"].__doc__ or "").encode()


@pytest.mark.parametrize("source", DEEP.values(), ids=list(DEEP))
def test_odd_code_is_an_answer_that_does_not_pass(sandbox, source):
    assert described(WRONG) == b""
    with pytest.raises((SyntaxError, ValueError, MemoryError, RecursionError)):  # A naive grader would stop here.
        described(source)
    found = verdict(sandbox, source)
    assert found.state in ("failed", "not attempted", "stopped", "unreadable") and not found.points
    found.message.encode()
    found.html.encode()
    assert untouched(sandbox)
