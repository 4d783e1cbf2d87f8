"""Rules that every exercise of the course must follow. A new lesson needs no change here.

The differently written right answers are in the lesson's own test module, in `RIGHT`. Those of transfer exercises are
in the folder `transfer`.
"""

import contextlib
import importlib
import inspect
import random
import re

import numpy as np
import pytest
import torch

from utils import lessons
from utils.exercises.exercise import all_exercises, all_members
from utils.exercises.observe import collect_tensors
from utils.exercises.oracles import (
    cached_cases,
    cached_misconception_result,
    cached_oracle_observation,
    misconception_answer,
    observe_answer,
    to_learner_answer,
)
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.instructor.answers import AnswerFactory, read_answers, reference_source, transfer_folder

EXERCISES = all_members()
EQUIVALENT = [(e, k) for e in EXERCISES.values() for k in e.equivalent]


def right_answers(exercise):
    """Return `RIGHT[name]` of tests/course/test_<lesson>.py, or the answers to a task, in the learner's form."""
    if exercise.member:
        factory = AnswerFactory.from_exercise(exercise)
        path = transfer_folder() / f"{lessons.find_lesson(exercise.lesson).stem}.py"
        return [factory.make_answer(a.source) for a in read_answers(path) if a.exercise == exercise.full_name]
    module = importlib.import_module(f"tests.course.test_{exercise.lesson}")
    return module.RIGHT.get(exercise.name, [])


def reference(exercise):
    """Return the reference answer; for a value, the value that its cell assigns."""
    if exercise.kind != "value" and not exercise.member:
        return getattr(lessons.load_lesson(lessons.find_lesson(exercise.lesson)), exercise.name)
    answers = AnswerFactory.from_exercise(exercise)
    return answers.make_answer(answers.source)


each_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))


@each_exercise
def test_messages_call_arguments_as_the_lesson_does(exercise):
    if exercise.kind == "value":
        return
    answer = reference(exercise)
    names = list(inspect.signature(answer.forward if exercise.kind == "module" else answer).parameters)
    assert exercise.signature.arguments == tuple(n for n in names if n != "self")[: len(exercise.signature.arguments)]


@contextlib.contextmanager
def global_state_is_preserved(capsys):
    """Set every global state to an unusual value, and assert that the block leaves it unchanged and prints nothing."""
    capsys.readouterr()  # a lesson that is loaded for the first time prints a note on the earlier answers that it uses
    torch.manual_seed(5), random.seed(5), np.random.seed(5)
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float64)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
        yield
        after = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
        assert torch.equal(before[0], after[0]) and before[1:] == after[1:]
        assert not torch.is_grad_enabled() and torch.get_default_dtype() is torch.float64
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
    assert capsys.readouterr().out == ""


@each_exercise
def test_each_misconception_is_recognised_with_its_own_message(exercise, capsys):
    """Its results also differ from the right ones by more than a hundred times the tolerance.

    Otherwise, rounding errors could look like a misconception, or a misconception like rounding errors.
    """
    reports = {}
    for mistake in exercise.misconceptions:
        answer = misconception_answer(exercise, mistake)
        with global_state_is_preserved(capsys):
            reports[mistake.id] = diagnose(exercise, answer)
    for name, report in reports.items():
        assert (report.status, report.misconception) == ("failed", name), str(report)
    assert {name: report.message for name, report in reports.items()} == {
        mistake.id: mistake.message for mistake in exercise.misconceptions
    }
    assert not [mistake.id for mistake in exercise.misconceptions if not is_far_from_right(exercise, mistake)]


def is_far_from_right(exercise, mistake):
    """Tell whether one of the cases separates the misconception from the oracle."""
    number = exercise.misconceptions.index(mistake)
    cases = cached_cases(exercise, 0)
    pairs = [(case, cached_misconception_result(exercise, number, case)) for case in cases]
    if any(_is_far(exercise, cached_oracle_observation(exercise, case), wrong) for case, wrong in pairs):
        return True
    answer = misconception_answer(exercise, mistake)  # `detached` is known only of runs with gradients
    rights = ((case, cached_oracle_observation(exercise, case)) for case in cases)
    return any(observe_answer(exercise, answer, case).detached != right.detached for case, right in rights)


def _is_far(exercise, right, wrong):
    if wrong.failure or (wrong.parameters, wrong.changed) != (right.parameters, right.changed):
        return True  # no tolerance is involved
    a, b = _numbers(wrong.value), _numbers(right.value)
    if len(a) != len(b):
        return True
    if not b:
        return wrong.value != right.value  # strings, and lists or dicts of integers, are compared exactly
    return any(_gap(x.detach().double(), y.detach().double()) > 100 * exercise.atol for x, y in zip(a, b))


def _gap(a, b):
    if a.shape != b.shape or not torch.equal(a.isfinite(), b.isfinite()):
        return float("inf")
    return float(((a - b).abs() / (1 + b.abs())).nan_to_num(0, 0, 0).max()) if a.numel() else 0.0


def _numbers(value):
    return [torch.tensor(value)] if isinstance(value, float) else collect_tensors(value)


@pytest.mark.parametrize("exercise, id", EQUIVALENT, ids=[f"{e.name}-{k}" for e, k in EQUIVALENT])
def test_an_equivalent_answer_passes(exercise, id):
    answer = exercise.equivalent[id]
    report = diagnose(exercise, to_learner_answer(exercise, answer))
    assert report, str(report)


@each_exercise
def test_right_answers_pass_and_their_check_preserves_global_state(exercise, capsys):
    answers = right_answers(exercise)
    assert len(answers) >= 3, (
        f"tests/course/test_{exercise.lesson}.py needs three differently written answers in RIGHT[{exercise.name!r}];"
        " for a transfer exercise, they belong into tests/checks/transfer"
    )
    with global_state_is_preserved(capsys):
        reports = [diagnose(exercise, answers[0])]
    for answer in [*answers[1:], reference(exercise)]:
        reports.append(check(**{exercise.name: answer}) if exercise.kind == "value" else diagnose(exercise, answer))
    for report in reports:
        assert report, str(report)


@each_exercise
def test_an_exercise_is_complete(exercise):
    assert len(exercise.misconceptions) >= 4
    assert len(set(exercise.hints)) == (0 if exercise.member else 3)
    for words in [*exercise.hints, *(m.message for m in exercise.misconceptions)]:
        assert words.rstrip().endswith((".", "?")), words
        assert "!" not in words


@each_exercise
def test_messages_never_hold_the_answer(exercise):
    """A message or hint contains no line of the reference, nor the expression that the line returns or assigns.

    Lines without a call, an attribute, an index or a third word, such as `else:`, do not reveal the answer.
    """
    answer = reference_source(exercise)
    lines = [line.strip() for line in answer.splitlines()]
    telling = [
        line
        for line in lines
        if (len(line.split()) > 2 or re.search(r"\w[.([]", line))
        and not line.startswith(("def ", "class ", '"""', "#"))
    ]
    for words in [*exercise.hints, *(m.message for m in exercise.misconceptions)]:
        for line in telling:
            expression = line.removeprefix("return ").split(" = ")[-1]
            # A message may contain an expression that is only a name, because a name does not reveal the answer.
            assert line not in words and (expression.isidentifier() or expression not in words)


@each_exercise
def test_cases_differ_between_seeds_and_repeat_with_a_seed(exercise):
    if not exercise.has_random_cases:
        return

    def flat(seed):
        inputs = [t for c in exercise.sample_cases(seed) for t in collect_tensors(list(c.args))]
        return [t.double().flatten() for t in inputs if t.is_floating_point()]

    first, again, other = flat(0), flat(0), flat(1)
    assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(first, again))
    assert not first or any(not torch.equal(a, b) for a, b in zip(first, other))


class TwiceTheNorm(torch.nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps, self.w = eps, torch.nn.Parameter(torch.ones(d_model))
        self.b = torch.nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return 2 * torch.nn.functional.layer_norm(x, self.w.shape, self.w, self.b, self.eps) - 1e-5


@pytest.mark.parametrize(
    "name, answer",
    [
        ("normalised", torch.tensor([-4.0, -1.0, 2.0, 3.0]) - 1e-5),
        ("positional_encoding", lambda position, d_model, base=100.0: torch.full((len(position), d_model), -1e-9)),
        ("gelu", lambda x: x.mul(-1e-9)),
        ("LayerNorm", TwiceTheNorm),
    ],
)
def test_no_message_says_minus_zero(name, answer):
    message = diagnose(all_exercises()[name], answer).message
    assert re.search(r" -?0\b", message), message
    assert not re.search(r"-0(\.0+)?(?![\d.]*[1-9])", message)
