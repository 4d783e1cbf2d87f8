"""Write `learning.html`: what the class learned, without names and without groups of fewer than five learners."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.exercises.exercise import all_exercises
from utils.grading.intake.folders import replace_folder, write_text
from utils.grading.reports.html_parts import render_page
from utils.grading.reports.learning.calibration import Calibration, measure_calibration
from utils.grading.reports.learning.exercises import Effort, Transfer, measure_effort, measure_transfer
from utils.grading.reports.learning.families import name_mistake_families
from utils.grading.reports.learning.intervals import load_scipy_stats
from utils.grading.reports.learning.inventory import InventoryResult, measure_inventory
from utils.grading.reports.learning.messages import (
    MessageEffect,
    Recurrence,
    measure_messages,
    measure_recurrence,
)
from utils.grading.reports.learning.suppression import SMALLEST, rounded_count
from utils.grading.reports.tally import ReportError, lesson_title
from utils.learning.sharing import FILE_NAME, MAX_BYTES, SharedFile, SharedFileError, parse_shared

PAGE = "learning.html"


@dataclass(frozen=True)
class LearningResult:
    """All results on the page.

    Attributes:
        learners: the learners who shared a file, numbered from 0.
    """

    learners: range
    messages: list[MessageEffect]
    recurrence: list[Recurrence]
    effort: list[Effort]
    transfer: list[Transfer]
    inventory: InventoryResult
    calibration: list[Calibration]


@dataclass(frozen=True)
class ClassRecords:
    """The records that the learners of a class shared.

    Attributes:
        learners: the content of each file.
        refused: for each file that is left out, a sentence with the name of the student's folder.
    """

    learners: list[SharedFile]
    refused: list[str]


def read_class(handed_in: Path) -> ClassRecords:
    """Read the files that learners shared.

    A file with the same content as another student's file is left out if it contains times: it is a copy, and each
    learner counts once. Without times, equal files are likely, for example after a single attempt.

    Args:
        handed_in: the folder that `coginst collect` wrote.

    Raises:
        ReportError: no learner shared a valid file.
    """
    learners: list[SharedFile] = []
    seen: set[bytes] = set()
    refused = []
    for path in sorted(handed_in.glob(f"*/{FILE_NAME}")):
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        try:
            shared = parse_shared(content)
        except SharedFileError as error:
            refused.append(f"{path.parent.name}: {error}")
            continue
        if content in seen and (shared.inventory or any(attempt.minutes is not None for attempt in shared.attempts)):
            refused.append(f"{path.parent.name}: {FILE_NAME} is the same file as another student's.")
            continue
        seen.add(content)
        learners.append(shared)
    if not learners:
        invalid = f"No {FILE_NAME} in {handed_in} is valid. {' '.join(refused)}"
        missing = (
            f"No student's folder in {handed_in} contains {FILE_NAME}. Learners write this file with"
            " progress().share(write=True) and hand it in with their lessons; `coginst collect` then stores it."
        )
        raise ReportError(invalid if refused else missing)
    return ClassRecords(learners, refused)


def measure_class(learners: Sequence[SharedFile]) -> LearningResult:
    """Compute all results on the page from the files of a class.

    Raises:
        MissingPackageError: scipy is not installed.
    """
    load_scipy_stats()
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


def write_learning_page(result: LearningResult, out: Path) -> Path:
    """Write `learning.html` into the folder `out`, replace an older page there, and return the path of the page.

    Raises:
        FolderError: `out` contains other files.
    """
    page = learning_page(result)
    with replace_folder(out, PAGE) as folder:
        write_text(folder / PAGE, page)
    return out / PAGE
