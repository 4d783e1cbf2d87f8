"""Compare learners' confidence in their answers with how often the answers were correct."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from utils.learner_data.progress import read_answers
from utils.show.html import escape

SURE = {
    "certain": "when certain",
    "fairly sure": "when fairly sure",
    "guessing": "when guessing",
    "": "confidence not stated",
}


@dataclass(frozen=True)
class Calibration:
    """How often the learner was correct at each level of confidence. The level "" means "not stated".

    Attributes:
        counts: maps each level to (number of correct first answers, number of all first answers).
    """

    counts: Mapping[str, tuple[int, int]]

    @property
    def n_answers(self) -> int:
        return sum(every for _, every in self.counts.values())

    @property
    def n_correct(self) -> int:
        return sum(right for right, _ in self.counts.values())

    def __str__(self) -> str:
        if not self.n_answers:
            return ""
        parts = [f"{SURE[sure]}: {right} of {every}" for sure, (right, every) in self.counts.items() if every]
        total = f"{self.n_correct} of {self.n_answers} first answers were right"
        return f"Predictions and quizzes: {total} ({'; '.join(parts)})."

    def html(self) -> str:
        """Return an HTML table with a row and a bar for each level of confidence that occurs."""
        rows = "".join(_row(sure, *self.counts[sure]) for sure in SURE if self.counts[sure][1])
        head = f"Predictions and quizzes: <b>{self.n_correct} of {self.n_answers}</b> first answers were right."
        table = f'<table style="font-size:inherit;margin:0">{rows}</table>'
        return f'<div style="margin-top:10px">{head}{table}</div>'


def _row(sure: str, right: int, every: int) -> str:
    track = "display:inline-block;width:8em;height:0.7em;border:1px solid currentColor;border-radius:3px"
    filled = f"display:block;height:100%;width:{right / every:.0%};background:currentColor"
    bar = f'<span aria-hidden="true" style="{track}"><span style="{filled}"></span></span>'
    cell = '<td style="text-align:left;padding:0 12px 0 0;font-size:inherit;line-height:1.6;white-space:nowrap">'
    cells = "".join(f"{cell}{inside}</td>" for inside in (escape(SURE[sure]), bar, f"{right} of {every}"))
    return f'<tr style="background:none">{cells}</tr>'  # prevents Jupyter's striped rows


def load_calibration() -> Calibration:
    """Read the answers recorded on this machine."""
    answers = read_answers().values()
    counts = {}
    for sure in SURE:
        verdicts = [entry["right"] for entry in answers if entry["sure"] == sure]
        counts[sure] = (sum(verdicts), len(verdicts))
    return Calibration(counts)
