"""Test that honest students are not accused: common habits and unusual results cause no incident."""

from __future__ import annotations

import pytest

from tests.grading.hostile.conftest import PAGE
from tests.grading.student_notebooks import notebook
from utils.grading.judge.verdicts import Judge, Submission
from utils.grading.runner.isolation import ResourceLimits

IN_THE_ANSWER = "def row_sums(x):\n    {}\n    return x.sum(dim=1)"
HABITS = {  # cells before a correct answer, or with one
    "a plot": ["import matplotlib.pyplot as plt", "plt.plot([1])", "def show():\n    plt.plot([1])\n    plt.show()"],
    "a plot in the answer": ["import matplotlib.pyplot as plt", IN_THE_ANSWER.format("plt.plot([1]); plt.close()")],
    "a saved plot": ["import matplotlib.pyplot as plt", IN_THE_ANSWER.format("plt.plot([1]); plt.savefig('a.png')")],
    "pip with %": ["%pip install torch"],
    "pip with !": ["!pip install -q torch"],
    "pip with a program": [
        "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'torch'])"
    ],
    "os.system": ["import os", IN_THE_ANSWER.format("os.system('clear')")],
    "nvidia-smi": ["import subprocess\nprint(subprocess.run(['nvidia-smi'], capture_output=True))"],
    "%matplotlib": ["%matplotlib inline"],
    "%timeit": ["%timeit row_sums(torch.ones(3, 3))"],
    "%%time": ["%%time\nx = 1"],
    "input()": ["name = input('Your name? ')"],
    "a file in this folder": ["with open('notes.txt', 'w') as file:\n    file.write('x')\nopen('notes.txt').read()"],
    "a file in another folder": ["open('../data/shakespeare.txt').read()"],
    "Google Drive": ["open('/content/drive/MyDrive/data.csv').read()"],
    "the home folder": ["import os\nos.makedirs(os.path.expanduser('~/figures'))", "os.mkdir('../figures')"],
    "numpy files": ["import numpy as np", IN_THE_ANSWER.format("np.save('x.npy', x.detach().numpy())")],
    "torch.save": ["import torch", IN_THE_ANSWER.format("torch.save(x, 'x.pt'); torch.load('x.pt')")],
    "widgets": ["import ipywidgets\nipywidgets.interact(lambda n: n, n=3)"],
    "tqdm": ["from tqdm.auto import tqdm", IN_THE_ANSWER.format("list(tqdm(range(3)))")],
    "timing": ["import time", IN_THE_ANSWER.format("start = time.perf_counter(); print(time.time() - start)")],
    "timeit": ["import timeit", IN_THE_ANSWER.format("timeit.timeit(lambda: 1, number=3)")],
    "cProfile": ["import cProfile\nprofile = cProfile.Profile()\nprofile.enable()\nx = 1\nprofile.disable()"],
    "multiprocessing": ["import multiprocessing\nmultiprocessing.Pool(2)"],
    "a thread pool": [
        "from concurrent.futures import ThreadPoolExecutor",
        IN_THE_ANSWER.format("list(ThreadPoolExecutor(2).map(str, [1]))"),
    ],
    "a data loader": ["import torch\nlist(torch.utils.data.DataLoader(torch.ones(4), num_workers=2))"],
    "a download": ["import urllib.request\nurllib.request.urlretrieve('https://example.org/a.txt', 'a.txt')"],
    "requests": ["import requests\nrequests.get('https://example.org/a.txt')"],
    "warnings": ["import warnings\nwarnings.filterwarnings('ignore')", IN_THE_ANSWER.format("warnings.warn('x')")],
    "logging": ["import logging\nlogging.basicConfig(level='DEBUG')", IN_THE_ANSWER.format("logging.info('x')")],
    "a breakpoint": ["import pdb", IN_THE_ANSWER.format("if x is None: breakpoint()")],
    "the shape in repr": ["import torch\ntorch.Tensor.__repr__ = lambda self: str(tuple(self.shape))"],
    "print options": ["import torch", IN_THE_ANSWER.format("torch.set_printoptions(precision=2)")],
    "seeds": ["import random, torch", IN_THE_ANSWER.format("random.seed(0); torch.manual_seed(0)")],
    "shadowed names": ["sum = 3\nlist = [1]\nmax = min"],
    "the platform": ["import platform", IN_THE_ANSWER.format("platform.platform(); platform.processor()")],
    "the number of cores": ["import os", IN_THE_ANSWER.format("os.cpu_count(); os.getcwd(); os.listdir()")],
    "torch.compile": ["import torch", IN_THE_ANSWER.format("torch.compile(lambda y: y + 1)")],
    "numpy": ["import numpy as np", IN_THE_ANSWER.format("np.random.rand(3)")],
    "einops": ["import einops"],
    "recursion": ["def f(n):\n    return f(n + 1)", "f(0)"],
}
NESTED = "def row_sums(x):\n    y = []\n    for _ in range({}):\n        y = [y]\n    return y"
ODD_RESULTS = {  # wrong answers whose results exceed a limit of the protocol
    "a list nested 50 deep": [NESTED.format(50)],
    "a list nested 100,000 deep": [NESTED.format(100_000)],
    "a list that contains itself": ["def row_sums(x):\n    y = []\n    y.append(y)\n    return y"],
    "300,000 characters": ["def row_sums(x):\n    return 'x' * 300_000"],
    "a dict with a long key": ["def row_sums(x):\n    return {'x' * 300_000: x}"],
    "a million numbers": ["def row_sums(x):\n    return [1.0] * 1_000_000"],
    "30 axes": ["def row_sums(x):\n    return x.sum(dim=1).reshape([1] * 30 + [-1])"],
    "60 axes": ["def row_sums(x):\n    return x.sum(dim=1).reshape([1] * 60 + [-1])"],
    "a sparse tensor": ["def row_sums(x):\n    return x.sum(dim=1).to_sparse()"],
    "a quantized tensor": [
        "import torch",
        "def row_sums(x):\n    return torch.quantize_per_tensor(x, 1, 0, torch.qint8)",
    ],
    "a nested tensor": ["import torch", "def row_sums(x):\n    return torch.nested.nested_tensor([x[0], x[0, :1]])"],
    "a large size": ["import torch", "def row_sums(x):\n    return torch.Size([2**62])"],
    "a huge meta tensor": ["import torch", "def row_sums(x):\n    return torch.empty(2**40, device='meta')"],
    "a huge number": ["def row_sums(x):\n    return 10**400"],
    "a generator": ["def row_sums(x):\n    return (y for y in x)"],
    "a long error": ["def row_sums(x):\n    raise ValueError('x' * 300_000)"],
    "an odd error": ["def row_sums(x):\n    raise type('a b' * 200_000, (Exception,), {})('\\ud800')"],
    "a long line": ["def row_sums(x):\n    return x." + "x." * 100_000 + "y"],
    "much printed": ["def row_sums(x):\n    print('x' * 1_000_000)\n    return x"],
    "many parameters": ["def row_sums(" + ", ".join(f"a{n}" for n in range(2000)) + "):\n    return a0"],
    "an enormous function": ["def row_sums(x):\n" + "    x = x + 1\n" * 20_000 + "    return x"],
    "an endless loop": ["def row_sums(x):\n    while True: pass"],
    "a crash": ["import ctypes\ndef row_sums(x):\n    ctypes.string_at(0)"],
    "memory": ["import torch\ndef row_sums(x):\n    return torch.ones(50 << 30)"],
}
RUN_ALL = ["scale = 1 + 0", "def row_sums(x):\n    return x.sum(dim=1) * scale"]  # All cells run, for `scale`.
LIMITS = ResourceLimits(5.0, 2 << 30)
AMPLE = ResourceLimits(120.0, 2 << 30)  # `import torch._dynamo` takes seconds on a slow machine


def judged(sandbox, cells, limits=LIMITS):
    return Judge(sandbox, limits).grade(Submission("anna", "00_start_here", {PAGE: notebook(cells)}, "key"))


@pytest.mark.parametrize("name", HABITS)
def test_a_habit_is_no_incident(sandbox, name):
    cells = HABITS[name] if "def row_sums" in HABITS[name][-1] else HABITS[name] + RUN_ALL
    found = judged(sandbox, cells, AMPLE)
    assert [e.state for e in found.exercises] == ["passed"] and not found.incidents


@pytest.mark.parametrize("name", ODD_RESULTS)
def test_an_unusual_result_is_no_incident(sandbox, name):
    found = judged(sandbox, ODD_RESULTS[name])
    assert found.exercises[0].state in ("failed", "stopped", "unreadable") and not found.incidents
    assert found.exercises[0].message and "Its process sent" not in found.exercises[0].message
