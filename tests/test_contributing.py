"""Run the code of the ten-minute exercise in CONTRIBUTING.md."""

import re

import pytest
import torch

from utils.exercises import exercise as registry
from utils.feedback.diagnose import diagnose
from utils.lessons import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CODE_BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```$", re.sub(r"(?s)~~~markdown.*?~~~", "", PAGE))


@pytest.fixture
def exercise(monkeypatch):
    others = {name: known for name, known in registry.all_exercises().items() if name != "most_attended"}
    monkeypatch.setattr(registry, "_exercises", others)
    exec(CODE_BLOCKS[0], {"__name__": "utils.checks.contributing"})
    return registry.find_exercise("most_attended")


def test_it_is_short_and_declarative():
    body = CODE_BLOCKS[0][CODE_BLOCKS[0].index("exercise(") :]
    assert 25 <= len(body.splitlines()) <= 35


def test_right_answers_pass_and_misconceptions_are_named(exercise):
    names = {"torch": torch}
    exec(CODE_BLOCKS[1], names)
    assert len(names["RIGHT"]["most_attended"]) == 3
    for answer in names["RIGHT"]["most_attended"]:
        assert diagnose(exercise, answer)
    assert len(exercise.misconceptions) == 4
    for wrong in exercise.misconceptions:
        assert diagnose(exercise, wrong.answer).misconception == wrong.id
