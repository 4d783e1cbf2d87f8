"""Test `coginst misconception` and `coginst answers` with hostile files."""

import pytest
from typer.testing import CliRunner

from utils.cli.commands import app
from utils.grading import engine
from utils.grading.judge.verdicts import Judge
from utils.grading.runner.isolation import ResourceLimits

ANSWER = "def softmax(x, dim):\n    "
FILES = {  # the file, and words of the output
    "it ends the process": ("import os\nos._exit(0)\n" + ANSWER + "return x", "softmax"),
    "it ends the process later": (ANSWER + "__import__('os')._exit(0)", "softmax"),
    "it interrupts": (ANSWER + "raise KeyboardInterrupt", "KeyboardInterrupt"),
    "it interrupts at once": ("raise KeyboardInterrupt", "softmax"),
    "half a character": (ANSWER + r"raise ValueError('\ud800')", "softmax"),
    "half a character in a decorator": (
        "def broken(f): raise ValueError('\\ud800')\n@broken\n" + ANSWER + "return x",
        "could not define",
    ),
    "terminal codes": (ANSWER + r"raise ValueError('\x1b[2J\u202e')", "softmax"),
    "it never ends": (ANSWER + "while True: pass", "still running"),
    "NUL": (ANSWER + "return '\0'", "is not valid Python"),
    "deep": (ANSWER + "return " + "-" * 20_000 + "x", "softmax"),
    "empty": ("", "softmax"),
    "not UTF-8": ((ANSWER + "return 'ä'").encode("latin-1"), "not UTF-8"),
}


@pytest.fixture(autouse=True)
def judge(sandbox, monkeypatch):
    """Use the sandbox of the session with a short time limit."""
    judge = Judge(sandbox, ResourceLimits(2.0, 1 << 30))
    monkeypatch.setattr(engine, "_get_judge", lambda settings: {"bwrap": judge}[settings.isolation])


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("command", [["misconception", "softmax"], ["answers"]], ids=lambda words: words[0])
def test_a_hostile_file_is_reported_and_runs_only_in_the_sandbox(tmp_path, case, command):
    content, words = FILES[case]
    content = content if isinstance(content, bytes) else content.encode()
    evil = f"import os\nif True: os.mkdir({str(tmp_path / 'made')!r})\n".encode()
    head = b"# %% softmax wrong: hostile\n" if command == ["answers"] else b""
    (tmp_path / "answer.py").write_bytes(head + content + b"\n" + evil)
    done = CliRunner().invoke(app, [*command, str(tmp_path / "answer.py")])
    assert isinstance(done.exception, SystemExit | None), done.exception
    assert words in done.output and "None" not in done.output and not set(done.output) & set("\x1b\u202e\ud800")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("case, words", [("deep", "nested too deeply"), ("NUL", "does not parse (source code")])
def test_an_answer_that_does_not_parse_does_not_become_a_misconception(tmp_path, case, words):
    (tmp_path / "answer.py").write_text(FILES[case][0], encoding="utf-8")
    done = CliRunner().invoke(app, ["misconception", "softmax", str(tmp_path / "answer.py"), "--id", "no-code"])
    assert done.exit_code == 2 and words in done.output


def test_without_isolation_a_file_of_answers_can_do_anything(tmp_path):
    evil = f"import os\nos.mkdir({str(tmp_path / 'made')!r})\n"
    (tmp_path / "answer.py").write_text(f"# %% softmax wrong: hostile\n{evil}{ANSWER}return x\n", encoding="utf-8")
    for write in ([], ["--write"]):
        assert not (tmp_path / "made").exists()
        assert CliRunner().invoke(app, ["answers", str(tmp_path / "answer.py"), *write]).exit_code == 0
    assert (tmp_path / "made").exists()
