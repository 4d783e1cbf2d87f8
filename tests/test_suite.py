"""Test the test suite itself: settings of the notebooks, progress files, and reports of cells that cannot run."""

import json
import os
import shutil
from pathlib import Path

import nbformat
import pytest
import torch
from hypothesis import settings
from nbformat.v4 import new_code_cell, new_notebook

from tests.browser import harness as browser
from tests.fresh_python import environment_without, run_python
from utils.lessons import ROOT

FREE = "import os; assert 'COURSE_CHECKS' not in os.environ"
ALONE = """import os, pathlib
store = pathlib.Path(os.environ['COURSE_PROGRESS'])
assert not store.exists()
store.write_text('{}')
assert 'coginst-tests-' in str(store)"""
LOOPBACK = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())"
CONNECTS = "import socket\ntry: socket.create_connection(('192.0.2.7', 80), timeout=1)\nexcept OSError: pass"
LOOKS_UP = "import socket\ntry: socket.getaddrinfo('example.org', 80)\nexcept OSError as e: print(e)"
ONE_THREAD = "import torch; assert torch.get_num_threads() == 1"


def run(folder: Path, notebooks: dict[str, str], *workers: str) -> tuple[int, str]:
    """Run pytest over generated notebooks `{path: code}` with the project's conftest. Return its exit status and
    output.
    """
    shutil.copy(ROOT / "conftest.py", folder)
    shutil.copytree(ROOT / "tests" / "offline", folder / "tests" / "offline")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for name, code in notebooks.items():
        path = folder / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(new_notebook(cells=[new_code_cell(code)], metadata=kernel), path)
    options = "-q -rA -p no:cacheprovider --nbval-lax --nbval-current-env".split()
    environment = environment_without("PYTEST_", "OMP_") | {"COURSE_CHECKS": "strict"}  # a setting that a user may have
    done = run_python("-m", "pytest", *options, *workers, folder, cwd=folder, env=environment)
    return done.returncode, done.stdout


def test_each_notebook_meets_the_checks_and_an_empty_store_as_its_reader_does(tmp_path: Path) -> None:
    """Checks are not strict. No notebook sees the progress of another, or of the user."""
    right = {
        "course/01_a": f"{FREE}\n{ALONE}\n{LOOPBACK}\n{ONE_THREAD}",
        "course/02_b": f"{FREE}\n{ALONE}",
    }
    status, said = run(tmp_path, right | {"course/03_c": "assert False"})
    assert "1 failed, 2 passed" in said, said
    assert all(f"PASSED {name}.ipynb" in said for name in right), said
    assert "something asked for" not in said and status == 1


def test_a_swallowed_request_fails_the_run_and_is_named(tmp_path: Path) -> None:
    notebooks = {"course/01_a": CONNECTS, "course/02_b": LOOKS_UP, "course/03_c": ALONE}
    status, said = run(tmp_path, notebooks, "-n", "2")
    assert "3 passed" in said and "something tried to reach: 192.0.2.7, example.org" in said and status == 1, said


@pytest.mark.parametrize("layers, there", [(12, True), (2, False), (None, False)])
def test_the_tests_of_the_real_gpt_2_run_where_it_is_and_say_how_to_get_it_where_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layers: int | None, there: bool
) -> None:
    from tests.gpt2.test_real_gpt2 import missing

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("COURSE_GPT2_GIVEN", str(tmp_path) if layers else "")
    sizes = {"n_layer": layers, "n_head": 12, "n_embd": 24, "n_positions": 8, "vocab_size": 9}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", **sizes}), encoding="utf-8")
    (tmp_path / "model.safetensors").touch()
    assert (missing() is None) == there
    assert there or "coginst fetch gpt2" in missing()


def test_workers_do_not_fight_for_the_cores() -> None:
    assert os.environ["OMP_NUM_THREADS"] == "1" and torch.get_num_threads() == 1


def test_the_files_that_are_begun_first_are_there() -> None:
    import conftest

    assert not [name for name in conftest.LONGEST if not (ROOT / name).exists()]


def test_ci_tries_the_same_examples_every_time() -> None:
    profile = settings.get_profile("ci")
    assert profile.derandomize and profile.deadline is None
    assert "--hypothesis-profile=ci" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_without_chromium_the_browser_tests_fail_and_say_what_to_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(AssertionError, match=r"DID NOT RUN.*bash .ci/install-browser"):
        browser.find_chromium()


def test_a_request_to_another_machine_is_seen() -> None:
    here = "http://127.0.0.1:8888/lab ws://localhost:8888/api data:image/png;base64,AA blob:http://127.0.0.1:8888/1"
    away = ["https://example.org/x.js", "http://192.0.2.1/", "http://127.0.0.1.example.org/"]
    assert browser.outside_loopback(here.split() + away) == away
