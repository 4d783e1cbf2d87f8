"""Write `learning.html`: what the class learned, without names and without groups of fewer than five learners."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.feedback.exercise import all_exercises
from utils.grading.intake.folders import replace_folder, write_text
from utils.grading.reports.html_parts import render_page
from utils.grading.reports.learning.calibration import Calibration, measure_calibration
from utils.grading.reports.learning.exercises import Effort, Transfer, measure_effort, measure_transfer
from utils.grading.reports.learning.families import name_mistake_families
from utils.grading.reports.learning.inventory import InventoryResult, measure_inventory
from utils.grading.reports.learning.messages import (
    MessageEffect,
    Recurrence,
    measure_messages,
    measure_recurrence,
)
from utils.grading.reports.learning.shared_file import SharedFile, parse_shared
from utils.grading.reports.learning.suppression import SMALLEST, rounded_count
from utils.grading.reports.tally import ReportError, lesson_title

PAGE, SHARED = "learning.html", "learning.json"
MOST_BYTES = 2_000_000


@dataclass(frozen=True)
class LearningResult:
    """All numbers of the page.

    Attributes:
        learners: the numbers of the learners who shared a file.
    """

    learners: range
    messages: list[MessageEffect]
    recurrence: list[Recurrence]
    effort: list[Effort]
    transfer: list[Transfer]
    inventory: InventoryResult
    calibration: list[Calibration]


def read_class(handed_in: Path) -> list[SharedFile]:
    """Read the file of each learner who shared one.

    Args:
        handed_in: the folder that `coginst collect` wrote.

    Raises:
        ReportError: no learner shared a file, or a file is not valid.
    """
    paths = sorted(handed_in.glob(f"*/{SHARED}"))
    if not paths:
        raise ReportError(
            f"No student's folder in {handed_in} contains {SHARED}. Learners write this file with progress().share() and"
            " hand it in with their lessons; `coginst collect` then stores it."
        )
    return [parse_shared(path.read_bytes()) for path in paths]


def measure_class(learners: Sequence[SharedFile]) -> LearningResult:
    """Compute all numbers of the page from the files of a class."""
    return LearningResult(
        range(len(learners)),
        measure_messages(learners),
        measure_recurrence(learners, name_mistake_families(all_exercises().values())),
        measure_effort(learners),
        measure_transfer(learners),
        measure_inventory(learners),
        measure_calibration(learners),
    )


def learning_page(result: LearningResult) -> str:
    """Return the HTML page of a class."""
    by_lesson = itertools.groupby(result.messages, key=lambda effect: effect.message.lesson)
    return render_page(
        "learning_page.html",
        "What the class learned",
        "sort_tables.js",
        result=result,
        messages={lesson: list(effects) for lesson, effects in by_lesson},
        lesson_title=lesson_title,
        rounded_count=rounded_count,
        smallest=SMALLEST,
        forms=_group_items(result.inventory),
    )


def _group_items(inventory: InventoryResult) -> dict[str, list]:
    by_form = itertools.groupby(inventory.items, key=lambda item: item.form)
    return {form: list(items) for form, items in by_form}


def write_learning_page(handed_in: Path, out: Path) -> LearningResult:
    """Write `learning.html` into the folder `out`, and replace an older page there.

    Raises:
        ReportError: see `read_class`.
        FolderError: `out` contains other files.
        MissingPackageError: scipy is not installed.
    """
    result = measure_class(read_class(handed_in))
    page = learning_page(result)
    with replace_folder(out, PAGE) as folder:
        write_text(folder / PAGE, page)
    return result
