"""How the suite itself runs: which notebooks are strict, and where progress goes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent


def run(folder: Path, **notebooks: str) -> subprocess.CompletedProcess:
    """A run like `make test` over generated notebooks `{path: code}`, with the project's conftest."""
    shutil.copy(ROOT / "conftest.py", folder)
    for name, code in notebooks.items():
        path = folder / f"{name.replace('__', '/')}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        nbformat.write(new_notebook(cells=[new_code_cell(code)], metadata=kernel), path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile", "--nbval-lax", "--nbval-current-env"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "OMP_"))}
    environment["COURSE_CHECKS"] = "strict"  # as a user may have set it
    return subprocess.run([*command, str(folder)], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_solved_notebooks_are_strict_and_students_copies_are_not(tmp_path: Path) -> None:
    strict = "import os; assert os.environ.get('COURSE_CHECKS') == 'strict'"
    free = "import os; assert 'COURSE_CHECKS' not in os.environ"
    done = run(tmp_path, tests__solved__01_a=strict, course__01_a=free, tests__solved__02_b=strict, course__02_b=free)
    assert "4 passed" in done.stdout, done.stdout
    done = run(tmp_path, tests__solved__01_a=free, course__01_a=strict)
    assert "2 failed" in done.stdout, done.stdout


def test_no_notebook_sees_what_another_passed_nor_the_users_own(tmp_path: Path) -> None:
    alone = "import os, pathlib; store = pathlib.Path(os.environ['COURSE_PROGRESS']); assert not store.exists(); store.write_text('{}')"
    mine = f"\nassert '{tmp_path.parent.name}' not in str(store) and 'coginst-tests-' in str(store)"
    done = run(tmp_path, course__01_a=alone + mine, tests__solved__01_a=alone + mine, course__02_b=alone + mine)
    assert "3 passed" in done.stdout, done.stdout


def test_a_swallowed_request_fails_the_run_and_is_named(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tests" / "offline", tmp_path / "tests" / "offline")
    asks = "import socket\ntry: socket.create_connection(('192.0.2.7', 80), timeout=1)\nexcept OSError: pass"
    done = run(tmp_path, course__01_a=asks)
    assert "1 passed" in done.stdout and "something asked for: 192.0.2.7" in done.stdout and done.returncode == 1, done.stdout
    done = run(tmp_path, course__01_a="import socket\ntry: socket.getaddrinfo('example.org', 80)\nexcept OSError as e: print(e)")
    assert "something asked for: example.org" in done.stdout and done.returncode == 1, done.stdout
    done = run(tmp_path, course__01_a="import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())")
    assert "1 passed" in done.stdout and done.returncode == 0, done.stdout


@pytest.mark.parametrize("layers, collected", [(12, True), (2, False), (None, False)])
def test_the_tests_of_the_real_gpt_2_exist_where_it_is(tmp_path: Path, layers: int | None, collected: bool) -> None:
    """Never skipped: with the weights they are collected, without them they are not there."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COURSE_"))} | {"HF_HOME": str(tmp_path / "empty")}
    if layers:
        sizes = {"n_layer": layers, "n_head": 12, "n_embd": 24, "n_positions": 8, "vocab_size": 9}
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", **sizes}))
        (tmp_path / "model.safetensors").touch()
        environment["COURSE_GPT2"] = str(tmp_path)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests/real", "tests/test_progress.py"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert ("test_real_gpt2.py" in done.stdout) == collected and "test_progress.py" in done.stdout, done.stdout + done.stderr


def test_workers_do_not_fight_for_the_cores(tmp_path: Path) -> None:
    done = run(tmp_path, course__01_a="import torch; assert torch.get_num_threads() == 1")
    assert "1 passed" in done.stdout, done.stdout


def test_the_students_copies_are_what_the_lessons_make() -> None:
    done = subprocess.run([sys.executable, "-m", "utils.instructor.cli", "build", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_chromium_the_browser_tests_fail_and_say_what_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import browser

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(AssertionError, match="DID NOT RUN.*bash .ci/install-browser"):
        browser.chromium()


def test_a_request_to_another_machine_is_seen() -> None:
    import browser

    here = ["http://127.0.0.1:8888/lab", "ws://localhost:8888/api", "data:image/png;base64,AA", "blob:http://127.0.0.1:8888/1"]
    away = ["https://example.org/x.js", "http://192.0.2.1/", "http://127.0.0.1.example.org/"]
    assert browser.outside_loopback(here + away) == away
