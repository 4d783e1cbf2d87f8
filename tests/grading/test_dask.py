"""Test grading on a real Dask cluster on this machine: a scheduler and two workers, one of which is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.grading.student_notebooks import notebook
from tests.grading.test_engine import PAGE, hand_in, states
from utils.grading import engine
from utils.lessons import ROOT

pytest.importorskip("distributed", reason='needs Dask: pip install -e ".[grade]"')

PAGES = {
    f"s{n:02}/{PAGE}": notebook([f"def row_sums(x):\n    return x.sum(dim={1 if n % 2 else 0})\n# {n}"])
    for n in range(14)
}


@pytest.fixture
def cluster(tmp_path: Path):
    """The address of a scheduler with two workers, and the workers' processes."""
    started: list[subprocess.Popen] = []
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "120s",
    }

    def start(*arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
        with open(tmp_path / f"{len(started)}.log", "w", encoding="utf-8") as log:
            started.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log))
        return started[-1]

    file, here = str(tmp_path / "scheduler.json"), ("--dashboard-address", "127.0.0.1:0")
    start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *here, "--scheduler-file", file)
    for name in ("one", "two"):
        start("dask_worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny", *here, "--name", name)
    from distributed import Client

    for _ in range(600):
        if Path(file).exists():
            break
        assert started[0].poll() is None, (tmp_path / "0.log").read_text(encoding="utf-8")
        time.sleep(0.2)
    with Client(scheduler_file=file, timeout=120) as client:
        client.wait_for_workers(2, timeout=240)
        address = client.scheduler.address
    yield address, started[1:]
    for process in started[::-1]:
        process.kill()
        process.wait()


def test_a_worker_that_is_killed_loses_nothing_and_nothing_is_graded_twice(sandbox, cluster, tmp_path):
    address, workers = cluster
    folder, out = hand_in(tmp_path / "in", PAGES), tmp_path / "out"

    def kill() -> None:
        while len(list(out.glob("*/*.json"))) < 3:
            time.sleep(0.05)
        workers[0].send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with engine.dask_executor(address) as (executor, at_once):
        assert at_once == 2
        done = engine.grade(folder, out, executor=executor, jobs=at_once)
    killer.join(10)
    assert workers[0].wait(10) == -signal.SIGKILL
    assert (done.graded_count, done.lost_submissions) == (len(PAGES), [])
    assert states(out) == {f"s{n:02} 00": ["passed" if n % 2 else "failed"] for n in range(14)}


def test_an_address_without_a_scheduler_is_refused(monkeypatch, snapshot):
    import distributed

    def refuse(*_, **__):
        raise OSError("refused")

    monkeypatch.setattr(distributed, "Client", refuse)
    with pytest.raises(engine.GradingError) as error, engine.dask_executor("tcp://127.0.0.1:1"):
        pass
    assert str(error.value) == snapshot
