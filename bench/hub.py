"""Measure the memory and the time that a class on JupyterHub needs. For each of seven lessons, one kernel runs all
cells with correct answers, and another kernel runs the cells up to the first check. Then 30 kernels of lesson 02 run at
the same time; each repeats a check, with pauses of 20 s on average.

Memory is the proportional set size: memory that several processes share is divided between them. The latency of a check
includes the kernel's reply. Run `.ci/install-hub` once before this benchmark.
"""

import asyncio
import json
import os
import random
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil
from jupyter_client.manager import AsyncKernelManager

from bench.measurement import ROOT, Row
from tests.hub.running_hub import run_hub
from utils import lessons
from utils.instructor.solved_notebooks import solved_cells

LESSONS = ("01", "02", "05", "08", "10", "12", "13")
CLASS, PAUSE, SECONDS = 30, 20.0, 120.0
MEGABYTE = 1e6


def memory(*processes: psutil.Process) -> float:
    """Return the memory of processes and their children, in megabytes."""
    family = {child for process in processes for child in [process, *process.children(recursive=True)]}
    return sum(process.memory_full_info().pss for process in family) / MEGABYTE


def cell_sources(lesson: str) -> list[str]:
    cells = solved_cells(lessons.read_lesson(lessons.find_lesson(lesson)))
    return [cell.source for cell in cells if cell.kind == "code"]


def cells_until(check: str, sources: list[str]) -> int:
    """Return the number of cells up to the first that contains `check`."""
    return next(n for n, source in enumerate(sources, 1) if check in source)


class LearnerKernel:
    """A kernel that runs cells of a lesson, as JupyterLab starts it."""

    def __init__(self, lesson: str) -> None:
        self.lesson = lesson
        self.manager = AsyncKernelManager(kernel_name="python3")

    async def __aenter__(self) -> "LearnerKernel":
        notebook = ROOT / "course" / f"{lessons.find_lesson(self.lesson).stem}.ipynb"
        await self.manager.start_kernel(cwd=notebook.parent, env=os.environ | {"JPY_SESSION_NAME": str(notebook)})
        self.client = self.manager.client()
        self.client.start_channels()
        await self.client.wait_for_ready(timeout=120)
        self.process = psutil.Process(self.manager.provisioner.pid)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.client.stop_channels()
        await self.manager.shutdown_kernel(now=True)

    async def run(self, source: str) -> float:
        """Run a cell, and return the seconds until its reply.

        Raises:
            RuntimeError: the cell failed.
        """
        began = time.perf_counter()
        reply = await self.client.execute(source, reply=True, timeout=120)
        if reply["content"]["status"] != "ok":
            raise RuntimeError(f"lesson {self.lesson}: {reply['content'].get('evalue')}\n{source}")
        return time.perf_counter() - began


async def run_cells(lesson: str, count: int | None) -> tuple[float, float]:
    """Return the memory of a kernel after the first `count` cells of a lesson, and the duration of the last cell."""
    async with LearnerKernel(lesson) as kernel:
        seconds = [await kernel.run(source) for source in cell_sources(lesson)[:count]]
        return memory(kernel.process), seconds[-1]


async def run_class() -> tuple[float, list[float]]:
    """Return the memory of a kernel in a full class, and the latency of each check."""
    sources = cell_sources("02")
    check = "check(softmax)"
    start = sources[: cells_until(check, sources)]
    kernels = [LearnerKernel("02") for _ in range(CLASS)]
    latencies: list[float] = []

    async def learn(kernel: LearnerKernel, rand: random.Random) -> None:
        while (pause := rand.expovariate(1 / PAUSE)) < end - time.perf_counter():
            await asyncio.sleep(pause)
            latencies.append(await kernel.run(check))

    try:
        for kernel in kernels:  # learners arrive one after the other
            await kernel.__aenter__()
            for source in start:
                await kernel.run(source)
        end = time.perf_counter() + SECONDS
        await asyncio.gather(*(learn(kernel, random.Random(n)) for n, kernel in enumerate(kernels)))
        return memory(*(kernel.process for kernel in kernels)) / CLASS, latencies
    finally:
        for kernel in kernels:
            if hasattr(kernel, "client"):
                await kernel.__aexit__()


def measure_hub() -> tuple[float, float, float, float]:
    """Return the memory of the hub with its proxy and culler, the memory of a learner's server, the seconds until it
    answers, and the size of a learner's files after a pull.
    """
    with tempfile.TemporaryDirectory() as folder, run_hub(Path(folder)) as hub:
        me = psutil.Process()
        own = memory(*me.children())
        began = time.perf_counter()
        _post(f"{hub.url}/hub/api/users/ada", hub.token)
        _post(f"{hub.url}/hub/api/users/ada/server", hub.token)
        while not _is_ready(f"{hub.url}/hub/api/users/ada", hub.token):
            time.sleep(0.05)
        seconds = time.perf_counter() - began
        servers = [p for p in me.children(recursive=True) if "jupyterhub.singleuser" in " ".join(p.cmdline())]
        python = [p for p in servers if "python" in p.name()]
        home = Path(folder) / "clone"
        command = ["git", "clone", "--quiet", "--depth", "1", "--branch", "hub", f"file://{hub.source}", str(home)]
        subprocess.run(command, check=True)
        size = sum(path.lstat().st_blocks * 512 for path in home.rglob("*")) / MEGABYTE
        return own, memory(python[-1]), seconds, size


def _post(url: str, token: str) -> None:
    request = urllib.request.Request(url, method="POST", headers={"Authorization": f"token {token}"})
    urllib.request.urlopen(request).close()


def _is_ready(url: str, token: str) -> bool:
    request = urllib.request.Request(url, headers={"Authorization": f"token {token}"})
    with urllib.request.urlopen(request) as reply:
        return any(server["ready"] for server in json.load(reply)["servers"].values())


def rows() -> list[Row]:
    """Measure the hub, a server, kernels, and a class of 30."""
    own, server, seconds, size = measure_hub()
    starts = [asyncio.run(run_cells(lesson, cells_until("check(", cell_sources(lesson)))) for lesson in LESSONS]
    ends = [asyncio.run(run_cells(lesson, None)) for lesson in LESSONS]
    checked, finished = [part for part, _ in starts], [part for part, _ in ends]
    each, latencies = asyncio.run(run_class())
    latencies.sort()
    names = [f"lesson {lesson}" for lesson in LESSONS]
    return [
        Row("hub, proxy and culler, memory", [own], "MB"),
        Row("a learner's server, memory", [server], "MB"),
        Row("a learner's server, wall time until it answers", [seconds], "s"),
        Row("a learner's files after a pull", [size], "MB"),
        Row("one learner, first check of a lesson, wall time", [seconds for _, seconds in starts], "s", names=names),
        Row("kernel after the first check, memory", checked, "MB", names=names),
        Row("kernel after all cells, memory", finished, "MB", names=names),
        Row(f"{CLASS} kernels of lesson 02, memory of each", [each], "MB", headline=True),
        Row(f"{CLASS} learners, check, median, wall time", [latencies[len(latencies) // 2]], "s"),
        Row(f"{CLASS} learners, check, 95th percentile, wall time", [latencies[len(latencies) * 95 // 100]], "s"),
    ]
