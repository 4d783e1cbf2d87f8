"""Test that each submission becomes exactly one complete result, even if workers die."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import utils
from tests.grading.student_notebooks import notebook, notebook_with_answer, reference_notebook, unsolved_notebook
from utils.cli.commands import app
from utils.cli.grading import parse_limits
from utils.grading import engine
from utils.grading.judge import bubblewrap, shared_folder
from utils.grading.judge.results import LessonResult, read_result, read_results, result_path
from utils.grading.judge.verdicts import Judge, Submission, absent_result
from utils.grading.runner import answer_extraction
from utils.grading.runner.isolation import ResourceLimits
from utils.lessons import ROOT

WRONG = notebook(["def row_sums(x):\n    return x.sum(dim=0)"])
RIGHT = notebook(["def row_sums(x):\n    return x.sum(dim=1)"])
PAGE = "00_start_here.ipynb"


def hand_in(folder: Path, pages: dict[str, bytes]) -> Path:
    """Write a class's folder from `{"anna/00_start_here.ipynb": bytes}`; "anna/" is a student without pages."""
    for name, text in pages.items():
        path = folder / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_bytes(text)
    return folder


class Counting(Executor):
    """Runs tasks in this process without a judge: each exercise passes, or the first `fails` tasks raise `error`."""

    def __init__(self, fails: int = 0, error: type[Exception] = RuntimeError) -> None:
        self.asked: list[str] = []
        self.fails, self.error = fails, error

    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        task: Submission = args[0]
        self.asked.append(task.student)
        if self.fails:
            self.fails -= 1
            future.set_exception(self.error("gone"))
        else:
            made = absent_result(task.student, task.lesson, task.key)
            passed = tuple(dataclasses.replace(e, state="passed", points=1.0) for e in made.exercises)
            future.set_result(dataclasses.replace(made, exercises=passed))
        return future


def states(folder: Path) -> dict[str, list[str]]:
    return {f"{r.student} {r.lesson[:2]}": [e.state for e in r.exercises] for r in read_results(folder)}


def test_each_submission_becomes_one_result(sandbox, tmp_path):
    odd = '\'=HYPERLINK("x") <b>&"\' ' + "ö" * 100
    link = hand_in(tmp_path / "in", {f"anna/{PAGE}": RIGHT, f"ben/{PAGE}": WRONG, "cleo/": b"", f"{odd}/{PAGE}": RIGHT})
    (link / "dora").mkdir()
    (link / "dora" / PAGE).symlink_to(link / "anna" / PAGE)
    done = engine.grade(link, tmp_path / "out")
    assert states(tmp_path / "out") == {
        "anna 00": ["passed"],
        "ben 00": ["failed"],
        "cleo 00": ["absent"],
        "dora 00": ["unreadable"],
        f"{odd} 00": ["passed"],
    }
    assert done.graded_count == 5 and done.state_counts["passed"] == 2
    ben = read_result(result_path(tmp_path / "out", "ben", "00_start_here"))
    (found,) = ben.exercises
    assert found.misconception == "sums-columns" and found.message
    assert found.html and found.answer == "def row_sums(x):\n    return x.sum(dim=0)"
    assert found.fingerprint and found.seconds > 0 and (found.points, found.max_points) == (0, 1)


def test_a_page_with_its_pictures_is_graded(sandbox):
    """A notebook that was run has megabytes of outputs, more than the buffer of a socket."""
    shown = json.loads(RIGHT)
    shown["cells"][0]["outputs"] = [{"output_type": "display_data", "data": {"image/png": "A" * (2 << 20)}}]
    task = Submission("anna", "00_start_here", {PAGE: json.dumps(shown).encode()}, "key")
    assert [e.state for e in Judge(sandbox, ResourceLimits()).grade(task).exercises] == ["passed"]


def test_what_is_graded_stays_and_what_is_new_is_graded(tmp_path):
    folder = hand_in(tmp_path / "in", {f"anna/{PAGE}": RIGHT, f"ben/{PAGE}": WRONG, "cleo/": b""})
    first, second, third = Counting(), Counting(), Counting()
    assert engine.grade(folder, tmp_path / "out", executor=first).graded_count == 3 and first.asked == ["anna", "ben"]
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*.json")}
    done = engine.grade(folder, tmp_path / "out", executor=second)
    assert (done.graded_count, done.reused_count, second.asked) == (0, 3, [])
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*.json")}
    (folder / "ben" / PAGE).write_bytes(RIGHT)
    (folder / "cleo" / PAGE).write_bytes(RIGHT)
    engine.grade(folder, tmp_path / "out", executor=third)
    assert third.asked == ["ben", "cleo"]


def test_a_result_that_is_no_result_is_made_again(tmp_path):
    folder = hand_in(tmp_path / "in", {f"anna/{PAGE}": RIGHT})
    engine.grade(folder, tmp_path / "out", executor=Counting())
    result_path(tmp_path / "out", "anna", "00_start_here").write_text("{half a", encoding="utf-8")
    assert engine.grade(folder, tmp_path / "out", executor=Counting()).graded_count == 1
    assert states(tmp_path / "out") == {"anna 00": ["passed"]}


def test_the_key_holds_what_a_verdict_depends_on(monkeypatch):
    pages = {"04_causal_attention.ipynb": b"a", "03_self_attention.ipynb": b"b"}
    settings = engine.Settings()
    keys = {
        engine.result_key("04_causal_attention", pages, settings),
        engine.result_key("04_causal_attention", pages | {"03_self_attention.ipynb": b"c"}, settings),
        engine.result_key("04_causal_attention", pages, engine.Settings(ResourceLimits(20.0))),
        engine.result_key("04_causal_attention", pages, engine.Settings(with_answers=("03_self_attention",))),
    }
    keys.add(engine.result_key("04_causal_attention", pages, engine.Settings(seed=1)))
    monkeypatch.setattr(engine, "course_version", lambda: "another")
    keys.add(engine.result_key("04_causal_attention", pages, settings))
    assert len(keys) == 6
    monkeypatch.undo()
    assert engine.result_key("04_causal_attention", dict(reversed(pages.items())), settings) in keys


def test_a_lesson_comes_with_the_earlier_ones_that_it_asks_for_and_no_others(tmp_path):
    names = ("02_simplified_attention", "03_self_attention", "04_causal_attention", "05_multihead_attention")
    folder = hand_in(tmp_path, {f"anna/{name}.ipynb": reference_notebook(name) for name in names})
    found = {
        task.lesson: {name[:2] for name in task.pages}
        for task in engine.iter_submissions(folder, names, engine.Settings())
    }
    assert found["02_simplified_attention"] == {"02"} and found["05_multihead_attention"] >= {"04", "05"}
    assert "02" not in found["05_multihead_attention"]


def test_however_large_the_class_few_submissions_are_held(tmp_path, monkeypatch):
    folder = hand_in(tmp_path / "in", {f"s{n:03}/{PAGE}": RIGHT for n in range(60)})
    read, write, held, most = engine.read_page, engine.write_result, [0], [0]

    def reads(path):
        held[0] += 1
        most[0] = max(most[0], held[0])
        return read(path)

    def writes(out, result):
        held[0] -= 2  # Each page is read twice: to find the lessons that it needs, and to send it.
        return write(out, result)

    monkeypatch.setattr(engine, "read_page", reads)
    monkeypatch.setattr(engine, "write_result", writes)
    assert engine.grade(folder, tmp_path / "out", executor=Counting(), jobs=3).graded_count == 60
    assert most[0] <= 2 * (2 * 3 + 1)


@pytest.mark.parametrize("error", [RuntimeError, BrokenExecutor])
def test_a_task_whose_worker_dies_is_tried_again_and_is_at_last_named(tmp_path, error):
    folder = hand_in(tmp_path / "in", {f"anna/{PAGE}": RIGHT, f"ben/{PAGE}": WRONG})
    once = Counting(fails=1, error=error)
    assert engine.grade(folder, tmp_path / "out", executor=once).graded_count == 2 and len(once.asked) == 3
    always = Counting(fails=99, error=error)
    done = engine.grade(folder, tmp_path / "other", executor=always)
    assert [line.split(":")[0] for line in sorted(done.lost_submissions)] == [
        "anna, 00_start_here",
        "ben, 00_start_here",
    ]
    assert not done.graded_count and len(always.asked) == 2 * engine.ATTEMPTS


def _dies(task: Submission, settings: engine.Settings) -> LessonResult:
    if task.student == "ben":
        os.kill(os.getpid(), signal.SIGKILL)
    return absent_result(task.student, task.lesson, task.key)


def test_processes_that_are_killed_are_replaced_and_the_task_that_kills_them_is_named(tmp_path, monkeypatch):
    """The processes are real, and one task kills the process that it runs in."""
    monkeypatch.setattr(engine, "grade_submission", _dies)
    folder = hand_in(tmp_path / "in", {f"{name}/{PAGE}": RIGHT for name in ("anna", "ben", "cleo", "dora")})
    done = engine.grade(folder, tmp_path / "out", settings=engine.Settings(isolation="none"), jobs=2)
    assert [line.split(":")[0] for line in done.lost_submissions] == ["ben, 00_start_here"]
    found = states(tmp_path / "out")
    assert found == {"ben 00": ["unreadable"]} | {f"{name} 00": ["absent"] for name in ("anna", "cleo", "dora")}
    again = engine.grade(folder, tmp_path / "out", executor=Counting())
    assert (again.graded_count, again.reused_count) == (1, 3)  # Only the lost submission is tried again.


OTHER = """
import sys
from pathlib import Path
from tests.grading.test_engine import Counting
from utils.grading import engine
class Slow(Counting):
    def submit(self, fn, /, task, *args, **kwargs):
        print(task.student, flush=True)
        if task.student == "ben":
            sys.stdin.readline()
        return super().submit(fn, task, *args, **kwargs)
print(engine.grade(Path(sys.argv[1]), Path(sys.argv[2]), executor=Slow()).graded_count)
"""


def test_two_processes_that_start_together_keep_one_seed(tmp_path, monkeypatch):
    """The other process keeps its seed while this process samples one."""
    sample, others = shared_folder.secrets.randbelow, []

    def interrupted(limit):
        monkeypatch.setattr(shared_folder.secrets, "randbelow", sample)
        others.append(shared_folder.keep_seed(tmp_path, None))
        return 5

    monkeypatch.setattr(shared_folder.secrets, "randbelow", interrupted)
    assert [shared_folder.keep_seed(tmp_path, None)] == others
    assert [path.name for path in tmp_path.iterdir()] == [shared_folder.SEED_FILE]


def test_a_seed_is_kept_on_a_disk_without_links(tmp_path, monkeypatch):
    def refuse(*paths):
        raise PermissionError("no links")

    monkeypatch.setattr(shared_folder.os, "link", refuse)
    assert shared_folder.keep_seed(tmp_path, None) == shared_folder.keep_seed(tmp_path, None)
    assert [path.name for path in tmp_path.iterdir()] == [shared_folder.SEED_FILE]


def test_without_file_locks_every_process_grades(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows
    with shared_folder.SubmissionLocks(tmp_path) as mine, shared_folder.SubmissionLocks(tmp_path) as other:
        assert mine.take("ben", "00_start_here") and other.take("ben", "00_start_here")
        mine.release("ben", "00_start_here")


@pytest.mark.parametrize("dies", [False, True])
def test_two_processes_share_the_work_and_a_lock_ends_with_its_process(tmp_path, dies):
    """The other process holds the lock on ben while this process grades the rest."""
    folder = hand_in(tmp_path / "in", {f"{name}/{PAGE}": RIGHT for name in ("anna", "ben", "cleo")})
    command = [sys.executable, "-c", OTHER, folder, tmp_path / "out"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=-1, stdout=-1, env=environment, cwd=ROOT, encoding="utf-8") as other:
        assert other.stdin and other.stdout
        assert [other.stdout.readline().strip() for _ in range(2)] == ["anna", "ben"]
        mine = Counting()
        end = other.kill if dies else other.stdin.close
        with pytest.MonkeyPatch.context() as patch:  # The other process ends when this one has nothing else to do.
            patch.setattr(engine, "time", SimpleNamespace(sleep=lambda seconds: (end(), other.wait())))
            engine.grade(folder, tmp_path / "out", executor=mine)
    assert mine.asked == (["cleo", "anna", "ben"] if dies else ["cleo"])
    assert states(tmp_path / "out") == {f"{name} 00": ["passed"] for name in ("anna", "ben", "cleo")}


# --- dependencies between exercises ---------------------------------------------------------------------


def test_what_builds_on_an_earlier_lesson_waits_for_it(sandbox, tmp_path):
    first = notebook_with_answer(
        "LayerNorm", "class LayerNorm(nn.Module):\n    def __init__(self, d, eps=1e-5):\n        pass"
    )
    pages = {"anna/12_your_own_gpt2.ipynb": reference_notebook("12"), "anna/06_layer_norm.ipynb": first}
    pages |= {f"anna/05_{lesson}.ipynb": reference_notebook("05") for lesson in ("multihead_attention",)}
    pages |= {"anna/04_causal_attention.ipynb": reference_notebook("04")}
    folder = hand_in(tmp_path / "in", pages)
    done = engine.grade(folder, tmp_path / "out", ["12"])
    (result,) = read_results(tmp_path / "out")
    assert done.wait_counts == {"06": 1}  # Exercises that wait for Block do not wait for an earlier lesson.
    found = {e.name: (e.state, e.waits_for) for e in result.exercises}
    assert found["gelu"] == ("passed", None) and found["MLP"] == ("passed", None)
    assert found["Block"] == ("waits for another exercise", "LayerNorm")
    engine.grade(folder, tmp_path / "out", ["12"], engine.Settings(with_answers=("06_layer_norm",)))
    (result,) = read_results(tmp_path / "out")
    assert {e.state for e in result.exercises} == {"passed"}


def test_what_builds_on_another_exercise_of_the_page_waits_for_it(sandbox, tmp_path):
    text = notebook_with_answer("attn_weights_2", "attn_weights_2 = attn_scores_2 / attn_scores_2.sum()")
    engine.grade(hand_in(tmp_path / "in", {"anna/02_simplified_attention.ipynb": text}), tmp_path / "out")
    (result,) = read_results(tmp_path / "out")
    assert [(e.name, e.state) for e in result.exercises] == [
        ("attn_scores_2", "passed"),
        ("attn_weights_2", "failed"),
        ("context_vec_2", "waits for another exercise"),
        ("softmax", "passed"),
        ("attn_scores", "passed"),
        ("simple_attention", "passed"),
        ("mix_texts", "passed"),
    ]
    assert result.exercises[2].waits_for == "attn_weights_2" and "`attn_weights_2`" in result.exercises[2].message


def test_no_page_runs_for_an_earlier_answer_that_does_not_pass(tmp_path, monkeypatch):
    """Running the page would not provide that answer. For a name that a cell computes, the cells before it do run."""
    cells = ['CausalAttention = yours("CausalAttention")', "ran.append(1)", "scale = 2"]
    cells += [
        f"def {name}(x):\n    return CausalAttention(x) {more}" for name, more in {"f": "", "g": "* scale"}.items()
    ]
    (tmp_path / PAGE).write_bytes(notebook(["from utils import yours", *cells]))
    monkeypatch.setitem(vars(utils), "yours", answer_extraction.make_yours({}, tmp_path))
    for name, times in {"f": 0, "g": 1}.items():
        ran = []
        answer = answer_extraction.load_answer(tmp_path / PAGE, name, "function", {"ran": ran}, 10.0)
        assert len(ran) == times
        with pytest.raises(NameError, match="CausalAttention"):
            answer(1)


def test_an_untouched_page_is_not_attempted(sandbox, tmp_path):
    pages = {
        "anna/02_simplified_attention.ipynb": unsolved_notebook("02"),
        "anna/08_toy_transformer.ipynb": unsolved_notebook("08"),
    }
    engine.grade(hand_in(tmp_path / "in", pages), tmp_path / "out")
    assert {s for found in states(tmp_path / "out").values() for s in found} == {"not attempted"}


# --- the command ----------------------------------------------------------------------------------------


def call(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["grade", *map(str, arguments)])
    return done.exit_code, done.output


def test_the_command_grades(sandbox, tmp_path):
    folder = hand_in(tmp_path / "in", {f"anna/{PAGE}": RIGHT})
    code, output = call(folder, "--out", tmp_path / "out", "--quiet")
    assert code == 0 and str(tmp_path / "out") in output and "passed 1" in output and "with-answers" not in output
    numbers = lambda line: [int(number) for number in re.findall(r"\b\d+\b", line.replace(str(tmp_path), ""))]
    assert numbers(output.splitlines()[0]) == [1, 0]
    again = call(folder, "00", "--out", tmp_path / "out", "--quiet")[1]
    assert numbers(again.splitlines()[0]) == [0, 1]


def test_the_seed_is_random_kept_and_can_be_chosen(sandbox, tmp_path):
    folder = hand_in(tmp_path / "in", {f"anna/{PAGE}": RIGHT})
    grade = lambda out, *more: call(folder, "--out", tmp_path / out, "--quiet", *more)[1]
    kept = lambda out: int((tmp_path / out / shared_folder.SEED_FILE).read_text(encoding="ascii"))
    assert "1 new" in grade("one") and "1 new" in grade("two") and kept("one") != kept("two")
    assert "0 new" in grade("one") and "0 new" in grade("one", "--seed", kept("one"))
    assert "1 new" in grade("one", "--seed", "7") and kept("one") == 7 and "0 new" in grade("one")
    (tmp_path / "one" / shared_folder.SEED_FILE).write_text("lost", encoding="ascii")
    assert call(folder, "--out", tmp_path / "one")[0] == 2


def test_a_missing_lesson_is_reported_to_the_student_and_the_instructor(sandbox, tmp_path, snapshot):
    folder = hand_in(tmp_path / "in", {"anna/05_multihead_attention.ipynb": reference_notebook("05")})
    code, output = call(folder, "--out", tmp_path / "out", "--quiet")
    assert code == 0 and "esson 04" in output and "--with-answers 04" in output
    (result,) = read_results(tmp_path / "out")
    waiting = [e for e in result.exercises if e.state == "waits for another exercise"]
    assert {e.waits_for: e.message for e in waiting} == snapshot


def test_without_bubblewrap_it_refuses_with_the_cure(tmp_path, monkeypatch):
    folder = hand_in(tmp_path / "in", {f"anna/{PAGE}": RIGHT})
    monkeypatch.setattr(bubblewrap, "find_bwrap", lambda: None)
    code, output = call(folder, "--out", tmp_path / "out")
    assert code == 2 and bubblewrap.CURE in output
    assert not list((tmp_path / "out").glob("*/*"))
    code, output = call(folder, "--out", tmp_path / "out", "--isolation", "none", "--quiet")
    assert code == 0 and bubblewrap.UNPROTECTED in output


@pytest.mark.parametrize(
    "arguments",
    [
        ("nowhere",), ("empty",), ("none",), ("in", "99"), ("in", "--limit", "fast"), ("in", "--limit", "0s"),
        ("in", "--with-answers", "x"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_cannot_be_graded_is_refused(tmp_path, arguments, snapshot):
    hand_in(tmp_path, {f"in/anna/{PAGE}": RIGHT, "empty/": b"", "none/anna/": b""})
    code, output = call(tmp_path / arguments[0], *arguments[1:])
    message = re.sub(r"(: )\d\d_.*", r"\1LESSONS.", output.strip().replace(str(tmp_path), "TMP"))
    assert code == 2 and message == snapshot


def test_limits_are_read():
    assert parse_limits("10s,2G") == ResourceLimits(10.0, 2 << 30)
    assert parse_limits("500M") == ResourceLimits(10.0, 500 << 20)
    assert parse_limits(" 2m ") == ResourceLimits(120.0, 2 << 30)


@pytest.mark.parametrize("name", ["..", ".", "a/b", "", "a\0b", "a\\b"])
def test_a_student_whose_name_is_a_path_is_no_file(tmp_path, name):
    with pytest.raises(ValueError, match="cannot name"):
        result_path(tmp_path, name, "00_start_here")


def test_a_huge_page_is_not_read_whole(tmp_path):
    path = tmp_path / PAGE
    with open(path, "wb") as file:
        file.truncate(500 << 20)
    assert len(engine.read_page(path)) == 20 * 10**6 + 1
    os.mkfifo(tmp_path / "pipe.ipynb")
    assert engine.read_page(tmp_path / "pipe.ipynb") == b""
