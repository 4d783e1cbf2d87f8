"""Test grading on a real Dask cluster on this machine: a scheduler and two workers, one of which is killed."""

from __future__ import annotations

import contextlib
import json
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
from utils.grading import engine, executors
from utils.lessons import ROOT

pytest.importorskip("distributed", reason='needs Dask: pip install -e ".[grade]"')

PAGES = {
    f"s{n:02}/{PAGE}": notebook([f"def row_sums(x):\n    return x.sum(dim={1 if n % 2 else 0})\n# {n}"])
    for n in range(14)
}


@pytest.fixture(params=["tcp", "tls"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path):
    """The address of a scheduler with two workers, and the workers' processes."""
    yield from run_cluster(tmp_path, request.param)


def run_cluster(tmp_path: Path, protocol: str):
    import dask

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

    certificate, key = str(tmp_path / "certificate.pem"), str(tmp_path / "key.pem")
    tls = {"ca-file": certificate} | {
        role: {"cert": certificate, "key": key} for role in ("client", "scheduler", "worker")
    }
    config = {}
    if protocol == "tls":
        make = (
            "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=grading -days 2 -out certificate.pem -keyout key.pem"
        )
        subprocess.run(make.split(), cwd=tmp_path, check=True, capture_output=True)
        config = {"distributed": {"comm": {"tls": tls, "require-encryption": True}}}
        (tmp_path / "dask.yaml").write_text(json.dumps(config), encoding="utf-8")
        environment["DASK_CONFIG"] = str(tmp_path / "dask.yaml")
    file, here = str(tmp_path / "scheduler.json"), ("--dashboard-address", "127.0.0.1:0")
    listen = ("--host", f"{protocol}://127.0.0.1", "--port", "0", "--no-dashboard")
    start("dask_scheduler", *listen, *here, "--scheduler-file", file)
    for name in ("one", "two"):
        start("dask_worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny", *here, "--name", name)
    from distributed import Client

    for _ in range(600):
        if Path(file).exists():
            break
        assert started[0].poll() is None, (tmp_path / "0.log").read_text(encoding="utf-8")
        time.sleep(0.2)
    with dask.config.set(dask.config.merge(dask.config.config, config)):
        with Client(scheduler_file=file, timeout=120) as client:
            client.wait_for_workers(2, timeout=240)
            address = client.scheduler.address
        assert address.startswith(protocol)
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
    with executors.dask_executor(address) as (executor, at_once):
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
    with pytest.raises(engine.GradingError) as error, executors.dask_executor("tcp://127.0.0.1:1"):
        pass
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    "address", ["tcp://192.0.2.1:8786", "192.0.2.1:8786", "ws://192.0.2.1:1", "tcp://[2001:db8::1]:1"]
)
def test_an_unencrypted_connection_to_another_machine_is_refused_unless_permitted(monkeypatch, address):
    """192.0.2.1 and 2001:db8::1 are reserved for documentation, so they belong to no machine."""
    import distributed

    asked = []

    def refuse(address: str, **_):
        asked.append(address)
        raise OSError("refused")

    monkeypatch.setattr(distributed, "Client", refuse)
    for unencrypted, reason in ((False, "not encrypted"), (True, "No Dask scheduler answers")):
        with pytest.raises(engine.GradingError, match=reason), executors.dask_executor(address, unencrypted):
            pass
    with pytest.raises(engine.GradingError, match="answers"), executors.dask_executor("tls://192.0.2.1:8786"):
        pass
    assert asked == [address, "tls://192.0.2.1:8786"]


def test_a_scheduler_without_workers_is_reported(monkeypatch):
    import distributed

    class Client(contextlib.nullcontext):
        nthreads = dict

    monkeypatch.setattr(distributed, "Client", lambda *_, **__: Client())
    with pytest.raises(engine.GradingError, match="no workers"), executors.dask_executor("tcp://127.0.0.1:1"):
        pass
