"""Test that the workflows in .github are safe for a public repository, and that the commands that they run exist."""

import os
import re
import subprocess

import pytest
import yaml
from typer.main import get_command

from utils.book import site
from utils.cli.commands import app
from utils.lessons import ROOT

TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.y*ml")}
FLOWS = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
JOBS = {(name, job): content for name, flow in FLOWS.items() for job, content in flow["jobs"].items()}
STEPS = [step for job in JOBS.values() for step in job["steps"]]
GPU = JOBS["ci", "gpu"]
# Every job that is not listed here may only read the repository.
WRITES = {
    ("colab", "notebooks"): {"contents": "write"},
    ("pages", "publish"): {"pages": "write", "id-token": "write"},
    ("release", "release"): {"contents": "write"},
}


def run_lines(*job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


@pytest.mark.parametrize(
    "label, event, head, runs",
    [
        ("gpu", "push", "", True),
        ("gpu", "pull_request", "me/course", True),
        ("gpu", "pull_request", "you/course", False),
        ("gpu", "pull_request", "", False),  # The fork was deleted.
        ("gpu", "schedule", "", False),
        ("", "push", "", False),
        ("", "pull_request", "me/course", False),
    ],
)
def test_the_gpu_job_needs_a_runner_and_never_runs_the_code_of_a_fork(
    label: str, event: str, head: str, runs: bool
) -> None:
    values = {"vars.GPU_RUNNER": label, "github.event_name": event, "github.repository": "me/course"}
    values["github.event.pull_request.head.repo.full_name"] = head
    condition = GPU["if"].replace("&&", "and").replace("||", "or")
    condition = re.sub(r"\b(?:vars|github)(?:\.\w+)+", lambda found: repr(values[found[0]]), condition)
    assert eval(condition) is runs
    assert GPU["runs-on"] == "${{ vars.GPU_RUNNER }}"


def test_all_other_jobs_run_on_machines_of_github() -> None:
    places = {job["runs-on"] for job in JOBS.values() if job is not GPU}
    assert places == {"ubuntu-latest", "${{ matrix.os }}"}  # tests/test_packaging.py tests matrix.os


def test_no_workflow_reads_secrets_or_runs_with_the_rights_of_main_for_a_fork() -> None:
    for name, text in TEXTS.items():
        assert not re.search(r"pull_request_target|workflow_run|issue_comment|\bsecrets\b", text), name


@pytest.mark.parametrize("job", JOBS, ids="-".join)
def test_each_job_has_only_the_permissions_that_it_needs(job: tuple[str, str]) -> None:
    assert JOBS[job].get("permissions", FLOWS[job[0]].get("permissions")) == WRITES.get(job, {"contents": "read"})
    assert "pull_request" not in FLOWS[job[0]][True] or job not in WRITES  # YAML parses the key `on` as True.


def test_actions_are_official_or_pinned_and_no_checkout_stores_the_token() -> None:
    for step in (step for step in STEPS if "uses" in step):
        assert re.fullmatch(r"actions/[\w-]+@v\d+|[\w./-]+@[0-9a-f]{40}", step["uses"]), step
        if step["uses"].startswith("actions/checkout@"):
            assert step.get("with", {}).get("persist-credentials") is False


def test_only_a_tag_creates_a_release_after_the_tests() -> None:
    flow = FLOWS["release"]
    assert flow[True] == {"push": {"tags": ["v*"]}}
    assert {name: job.get("needs") for name, job in flow["jobs"].items()} == {
        "test": None,
        "build": "test",
        "release": "build",
    }
    assert not [job for job in flow["jobs"].values() if "if" in job or "continue-on-error" in job]
    assert run_lines("release", "test")[-1] == "make test"


def test_a_release_has_the_zip_for_students_and_the_book() -> None:
    build, (create,) = run_lines("release", "build"), run_lines("release", "release")
    book = build.index("make book")
    assert build[book + 1] == f"python -m zipfile -c build/release/book.zip {site.OUT.relative_to(ROOT).as_posix()}"
    assert ".venv/bin/coginst release build/release/attention.zip" in build
    assert create.startswith('gh release create "$GITHUB_REF_NAME" attention.zip book.zip --verify-tag')
    # The job that may write has no checkout, so it runs no code of the repository.
    assert [step.get("uses") for step in JOBS["release", "release"]["steps"]] == ["actions/download-artifact@v4", None]


@pytest.mark.parametrize("suffix", ["", ".1"])
def test_the_tag_must_name_the_version_of_pyproject(suffix: str) -> None:
    version = re.search(r'(?m)^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))[1]
    command = ["bash", "-e", "-o", "pipefail", "-c", run_lines("release", "test")[0]]
    environment = os.environ | {"GITHUB_REF_NAME": f"v{version}{suffix}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False)
    sentence = f"The tag is v{version}{suffix}, but the version in pyproject.toml is {version}."
    assert (done.returncode, sentence in done.stdout) == ((1, True) if suffix else (0, False)), done


def test_the_commands_of_the_workflows_exist() -> None:
    runs = "\n".join(step["run"] for step in STEPS if "run" in step)
    targets = set(re.search(r"(?m)^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"))[1].split())
    arguments = re.findall(r"\.ci/run (\w+)", runs) + [
        each["target"] for each in JOBS["ci", "cpu"]["strategy"]["matrix"]["include"]
    ]
    made = set(re.findall(r"\bmake ([\w-]+)", runs)) | set(arguments)
    assert {"test", "suite", "book"} <= made <= targets
    commands = set(re.findall(r"\bcoginst ([\w-]+)", runs))
    assert {"release", "online", "build"} <= commands <= set(get_command(app).commands)
    assert all(os.access(ROOT / script, os.X_OK) for script in re.findall(r"\.ci/[\w-]+", runs))
