"""Attack with wrong answers that try to pass: they patch the code that judges, or look up the correct results."""

import pytest

from tests.grading.hostile.conftest import PAGE, RIGHT, SHORT, WRONG, graded, untouched, verdict
from tests.grading.student_notebooks import notebook, notebook_with_answer
from utils.exercises.exercise import find_exercise
from utils.exercises.oracles import make_runner
from utils.feedback.diagnose import diagnose_with_runner
from utils.grading.judge.submissions import Submission
from utils.grading.judge.verdicts import Judge
from utils.grading.runner.isolation import ResourceLimits

# Each attack is a cell of a page. Its code is in a class body, because demo cells do not run when a page is loaded.
PATCHES = {
    "the diagnosis": """
class Attack:
    import utils.feedback.diagnose as judge
    judge._all_right = lambda *a, **k: True
    judge.run_sweeps = lambda *a: None
""",
    "the comparison": """
class Attack:
    import utils.exercises.compare as compare, utils.feedback.diagnose as judge
    compare.observations_agree = judge.observations_agree = lambda *a, **k: True
    judge.run_sweeps = lambda *a: None
""",
    "torch.equal": """
class Attack:
    import torch
    torch.equal = lambda *a: True
""",
    "a builtin": """
class Attack:
    import builtins
    builtins.all = lambda things: True
    import utils.feedback.diagnose as judge
    judge.run_sweeps = lambda *a: None
""",
    "the exercise": """
class Attack:
    from utils.exercises.exercise import find_exercise
    object.__setattr__(find_exercise("row_sums"), "oracle", lambda x: x.sum(1) + 1)
""",
    "an import": """
import importlib.abc, importlib.util, sys
class Attack(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name == "utils.checks.start_here":
            return importlib.util.spec_from_loader(name, self)
    def exec_module(self, module):
        exec('from utils.exercises.exercise import *\\n'
             'exercise("row_sums", oracle=lambda x: x.sum(1) + 1, hints=Hints("", "", ""), misconceptions={},\\n'
             '         cases=lambda rand: [case(rand(2, 3))])', vars(module))
class Installed:
    sys.meta_path.insert(0, Attack())
""",
    "sys.modules": """
import sys, types
class Attack:
    import utils.feedback.check
    old = sys.modules.pop("utils.feedback.check")
    made = sys.modules["utils.feedback.check"] = types.ModuleType("utils.feedback.check")
    vars(made).update(vars(old))
    made = old.Report
    old.diagnose = lambda exercise, *rest, made=made: made(exercise.name, "passed", "passed.", reason="passed")
""",
    "the report": """
class Attack:
    from utils.feedback.report import Report
    Report.__setattr__ = lambda self, n, value: object.__setattr__(self, n, "passed" if n == "status" else value)
""",
}


@pytest.mark.parametrize("patch", PATCHES.values(), ids=list(PATCHES))
def test_what_judges_cannot_be_patched(sandbox, in_process, patch):
    assert in_process((patch, WRONG), WRONG)["said"] == ["passed", "passed"]  # The next student's answer passes too.
    assert verdict(sandbox, patch, WRONG).state == "failed"
    assert untouched(sandbox)


ASKED = """
def row_sums(x):
    from utils.exercises.exercise import find_exercise
    return find_exercise("row_sums").oracle(x)
"""
SOLVED = """
def row_sums(x):
    import pathlib, re, sys
    for folder in sys.path:
        for page in pathlib.Path(folder).glob("solutions/00_*.md"):
            code = re.search(r"```python\\n(def row_sums.*?)```", page.read_text(), re.S)[1]
            names = {}
            exec("from __future__ import annotations\\n" + code.replace("check(row_sums)", ""), names)
            return names["row_sums"](x)
"""
CHECKED = """
def row_sums(x):
    from utils.exercises.oracles import observe_oracle
    from utils.exercises.exercise import find_exercise, case
    import utils.checks.start_here
    return observe_oracle(find_exercise("row_sums"), case(x)).value
"""


@pytest.mark.parametrize("cheat", [ASKED, SOLVED, CHECKED], ids=["the oracle", "the solutions", "the checks"])
def test_what_is_right_cannot_be_looked_up(sandbox, unisolated_sandbox, cheat):
    assert verdict(unisolated_sandbox, cheat).state == "passed"
    assert verdict(sandbox, cheat).state == "failed"


TRACED = """
import sys
from utils import check
TOLD = {}
def key(x):
    return tuple(x.flatten().tolist())
def row_sums(x):
    return TOLD[key(x)].clone() if key(x) in TOLD else x.sum(1) + 1
def watch(frame, event, value):
    if event == "return" and frame.f_code.co_name in ("observe_oracle", "cached_oracle_observation") and value:
        TOLD[key(frame.f_locals["case"].args[0])] = value.value
    return watch
class Attack:
    sys.settrace(watch)
    for _ in range(3):
        check(row_sums)
    sys.settrace(None)
"""


def test_what_is_right_cannot_be_overheard(sandbox, in_process):
    assert in_process(TRACED)["said"] == ["passed"]
    found = graded(sandbox, TRACED)
    assert found.exercises[0].state == "failed"
    assert [i.kind for i in found.incidents] == ["tampering"]  # The instructor learns about settrace.


YES = """
import torch
class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True if func in (torch.equal, torch.allclose) else super().__torch_function__(func, types, args, kwargs)
    __eq__ = lambda self, other: True
    __hash__ = None
def row_sums(x):
    return (x.sum(dim=1) + 1).as_subclass(Yes)
"""


def test_a_tensor_that_equals_everything_is_read_as_the_numbers_that_it_holds(sandbox):
    import torch

    names = {}
    exec(YES, names)
    x = torch.ones(2, 3)
    assert torch.equal(names["row_sums"](x), x.sum(dim=1))  # This is how an assert in a notebook would compare.
    assert verdict(sandbox, YES).state == "failed"


THREAD = """
class Attack:
    import threading, time
    def wait(time=time):
        import sys
        time.sleep(0.05)
        while True:
            sys.modules["utils.feedback.diagnose"]._all_right = lambda *a, **k: True
            sys.modules["utils.feedback.diagnose"].run_sweeps = lambda *a: None
            time.sleep(0.01)
    threading.Thread(target=wait, daemon=True).start()
"""


def test_a_thread_does_not_outlive_its_exercise(sandbox, in_process):
    assert in_process((THREAD, RIGHT), WRONG)["said"] == ["passed", "passed"]
    assert verdict(sandbox, THREAD, WRONG).state == "failed"
    assert untouched(sandbox)


RECORDED = """
import torch
TABLE = {}
def row_sums(x):
    found = TABLE.get(repr((x.dtype, x.tolist())), 0.0)
    return torch.tensor(found, dtype=x.dtype) + 0 * x.sum(dim=-1)
"""


def test_results_recorded_from_the_release_do_not_pass(sandbox):
    """The page contains the results of every call of the release's check, and no computation."""
    table = {}

    def row_sums(x):
        table[repr((x.dtype, x.tolist()))] = x.sum(dim=-1).tolist()
        return x.sum(dim=-1)

    exercise = find_exercise("row_sums")
    assert diagnose_with_runner(exercise, make_runner(exercise, row_sums))
    page = {PAGE: notebook([RECORDED.replace("{}", repr(table))])}
    task = Submission("anna", "00_start_here", page, "key")
    states = [Judge(sandbox, SHORT, seed=seed).grade(task).exercises[0].state for seed in (None, 1, 2)]
    assert states == ["passed", "failed", "failed"]


# The scores are right, but the answer stores a vector for each pair of positions, which the page forbids.
A_VECTOR_FOR_EACH_PAIR = """
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    q, r, k = q.unsqueeze(-2), r.unsqueeze(-2), k.unsqueeze(-3)
    def along(v, u):
        uu = (u * u).sum(-1, keepdim=True)
        return (v * u).sum(-1, keepdim=True) / torch.where(uu > 0, uu, 1.0) * u
    rest = r - along(r, q)
    up = k - along(k, q) - along(k, rest)
    return -(q * q).sum(-1) * (rest * rest).sum(-1) * (up * up).sum(-1)
"""
FORGED_COUNTS = {  # with the state: the judge recognises counts that are impossible, but not a lie that fits the result
    "nothing": ("", "failed"),
    "no count": (
        """
    from utils.exercises.op_trace import OperationCounter
    OperationCounter.__torch_dispatch__ = lambda self, f, types, args=(), kwargs=None: f(*args, **kwargs or {})
""",
        "stopped",
    ),
    "a small count": (
        """
    from utils.exercises.observe import Observation
    Observation.__setattr__ = lambda self, name, value: object.__setattr__(
        self, name, 1 if name in ("operations", "largest") else value
    )
""",
        "stopped",
    ),
    "a count that fits the result": (
        """
    from utils.exercises.observe import Observation
    Observation.__setattr__ = lambda self, name, value: object.__setattr__(
        self, name, 64 * 64 if name in ("operations", "largest") else value
    )
""",
        "passed",
    ),
}


@pytest.mark.parametrize("forged", FORGED_COUNTS)
def test_a_forged_count_of_operations_is_an_incident(sandbox, forged):
    patch, state = FORGED_COUNTS[forged]
    page = notebook_with_answer("gram_scores", f"class Attack:\n    pass\n{patch}{A_VECTOR_FOR_EACH_PAIR}")
    task = Submission("anna", "11_gram_attention", {"11_gram_attention.ipynb": page}, "key")
    result = Judge(sandbox, ResourceLimits()).grade(task, only="gram_scores")
    assert result.exercises[0].state == state
    assert {incident.kind for incident in result.incidents} == ({"tampering"} if patch else set())
