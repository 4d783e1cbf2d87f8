"""Test `--isolation container`: a program in place of podman records its arguments, and runs the command itself."""

import json
import os
import sys

import pytest

from tests.grading.student_notebooks import notebook
from tests.grading.test_engine import PAGE, call, hand_in, states
from utils.grading.judge.sandbox import Sandbox
from utils.grading.judge.submissions import Submission
from utils.grading.judge.verdicts import Judge
from utils.grading.runner.isolation import ResourceLimits
from utils.lessons import ROOT

RIGHT = "def row_sums(x):\n    return x.sum(dim=1)"
PODMAN = f"""#!{sys.executable}
import json, os, pathlib, sys
log = pathlib.Path(__file__).with_name("calls.jsonl")
with log.open("a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1:3] == ["image", "inspect"]:
    sys.exit("Error: no such image" if sys.argv[3] == "unknown" else 0)
if sys.argv[1] == "run":
    volumes = dict(reversed(a[9:].split(":")[:2]) for a in sys.argv if a.startswith("--volume="))
    code = sys.argv[-1].replace("/course", {str(ROOT)!r}).replace("/judge", volumes["/judge"])
    if "broken" in sys.argv:
        sys.exit("Error: cannot set up the user namespace")
    os.execv(sys.executable, [sys.executable, "-B", "-c", code])
"""


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Install the program, and return a function that returns its calls."""
    program = tmp_path / "bin" / "podman"
    program.parent.mkdir()
    program.write_text(PODMAN, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    log = program.with_name("calls.jsonl")
    return lambda: [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def graded(folder, out, *more):
    return call(folder, "--out", out, "--isolation", "container", "--quiet", *more)


def test_each_submission_has_its_own_unprivileged_container(calls, tmp_path):
    answers = {
        "anna": RIGHT,
        "ben": RIGHT.replace("1", "0"),
        "cem": "import os\nclass A:\n    os._exit(3)",
        "dan": RIGHT,
    }
    folder = hand_in(tmp_path / "in", {f"{id}/{PAGE}": notebook([source]) for id, source in answers.items()})
    code, output = graded(folder, tmp_path / "out", "--image", "attention")
    assert code == 0, output
    assert states(tmp_path / "out") == {
        "anna 00": ["passed"], "ben 00": ["failed"], "cem 00": ["not attempted"], "dan 00": ["passed"],
    }  # fmt: skip
    runs = [words for words in calls() if words[0] == "run"]
    assert len(runs) == 4 and len({words[words.index("--name") + 1] for words in runs}) == 4
    for words in runs:
        text = " ".join(words)
        for option in ("--rm", "--network none", "--read-only", "--cap-drop ALL", "no-new-privileges", "--user 65534"):
            assert option in text
        assert words[-6:-1] == ["attention", "python3", "-I", "-B", "-c"]
        sources = [word.removeprefix("--volume=").split(":") for word in words if word.startswith("--volume=")]
        assert all(mode == ["ro"] or target == "/judge" for _, target, *mode in sources)
        mounted = {os.path.relpath(source, ROOT) for source, target, *_ in sources if target != "/judge"}
        assert "utils/grading/runner" in mounted and all(path.startswith("utils/") for path in mounted)
        assert not mounted & {"utils", "utils/checks", "utils/grading", "utils/grading/judge", "utils/instructor"}


@pytest.mark.parametrize("image", ["", "unknown", "broken"])
def test_what_is_missing_is_named(calls, tmp_path, image, snapshot):
    folder = hand_in(tmp_path / "in", {f"anna/{PAGE}": notebook([RIGHT])})
    code, output = graded(folder, tmp_path / "out", "--image", image)
    assert code == 2 and output.replace(os.uname().nodename, "HOST") == snapshot


def test_without_podman_and_docker_it_refuses(tmp_path, monkeypatch, snapshot):
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = hand_in(tmp_path / "in", {f"anna/{PAGE}": notebook([RIGHT])})
    code, output = graded(folder, tmp_path / "out", "--image", "attention")
    assert code == 2 and output == snapshot


def test_a_container_that_does_not_end_is_killed(calls):
    with Sandbox("container", "attention") as box:
        page = {PAGE: notebook([RIGHT])}
        assert Judge(box, ResourceLimits()).grade(Submission("anna", "00_start_here", page, "key")).points == 1
        box._kill()
    (run,) = (words for words in calls() if words[0] == "run")
    assert ["kill", run[run.index("--name") + 1]] in calls()


REFUSED = {
    "a process": "import os\n    os.fork()",
    "a program": "import subprocess\n    subprocess.run(['true'])",
    "a connection": "import socket\n    socket.create_connection(('127.0.0.1', 1))",
    "a namespace": "import ctypes\n    if ctypes.CDLL(None).unshare(1 << 28): raise PermissionError('not permitted')",
}


@pytest.mark.parametrize("attack", REFUSED)
def test_the_system_call_filter_works_in_a_container_too(calls, attack):
    page = {PAGE: notebook([f"def row_sums(x):\n    {REFUSED[attack]}\n    return x.sum(dim=1)"])}
    with Sandbox("container", "attention") as box:
        (result,) = Judge(box, ResourceLimits()).grade(Submission("anna", "00_start_here", page, "key")).exercises
    assert result.state == "failed" and "not permitted" in result.message
