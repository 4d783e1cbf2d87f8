"""The ten-minute exercise of CONTRIBUTING.md is run as it stands there."""

import re

import pytest
import torch

from utils.feedback import exercise as declared
from utils.feedback.diagnose import diagnose
from utils.lessons import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"(?ms)^```python\n(.*?)^```$", re.sub(r"(?s)~~~markdown.*?~~~", "", PAGE))


@pytest.fixture
def exercise(monkeypatch):
    monkeypatch.setattr(declared, "_exercises", dict(declared.all_exercises()))
    exec(SHOWN[0], {"__name__": "utils.checks.shown"})
    return declared.find_exercise("most_attended")


def test_it_is_short_and_declarative():
    body = SHOWN[0][SHOWN[0].index("exercise(") :]
    assert 25 <= len(body.splitlines()) <= 35


def test_it_works_as_the_page_says(exercise):
    names = {"torch": torch}
    exec(SHOWN[1], names)
    assert len(names["RIGHT"]["most_attended"]) == 3
    for answer in names["RIGHT"]["most_attended"]:
        assert diagnose(exercise, answer)
    assert len(exercise.misconceptions) == 4
    for wrong in exercise.misconceptions:
        assert diagnose(exercise, wrong.answer).misconception == wrong.id
