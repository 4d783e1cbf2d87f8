"""Build, write and read `learning.json`, a file about a learner's own learning.

Learners choose whether to submit the file. The course shows the content of the file, and writes the file only if the
learner asks for it. The course never sends the file. It contains no name, no code, no date and no time of day.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from utils import lessons
from utils.learner_data.progress import progress_path, read_answers
from utils.learning.attempts import LONGEST_NAME, Attempt, read_attempts
from utils.learning.inventory import read_inventory
from utils.learning.review import find_questions
from utils.show.html import TEXT_COLOUR, escape, inline_html, text_line

FILE_NAME = "learning.json"
FORMAT = 1
MAX_BYTES = 2_000_000
MAX_DEPTH = 8  # maximum depth of nested lists and objects; the format has three levels
CONFIDENCE = ("certain", "fairly sure", "guessing", "")
Struct = TypeVar("Struct", bound=msgspec.Struct)


class SharedFileError(ValueError):
    """A shared file was rejected. The message gives the reason and, if possible, the field."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The first answer to a prediction or a quiz.

    Attributes:
        kind: "predictions" or "quizzes".
        lesson: the lesson's stem, or "" if it is unknown.
        question: the first 8 hexadecimal digits of the SHA-256 of the question's text.
        right: whether the answer was right.
        sure: how sure the learner was, or "" if the learner did not say.
    """

    kind: Literal["predictions", "quizzes"]
    lesson: Annotated[str, msgspec.Meta(pattern=r"\A(\d\d_\w+)?\Z", max_length=LONGEST_NAME)]
    question: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{8}\Z")]
    right: bool
    sure: Literal["certain", "fairly sure", "guessing", ""]


class InventoryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one item in a completed sitting of the concept inventory.

    Attributes:
        form: "a" or "b".
        sitting: 1 before the course, 2 after it, 3 four weeks later.
        item: the id of the item.
        choice: "correct", the misconception of the chosen distractor as "exercise/id", or "" if the item was skipped.
        minutes: the time that the learner spent on the item.
    """

    form: Literal["a", "b"]
    sitting: Literal[1, 2, 3]
    item: Annotated[str, msgspec.Meta(pattern=r"\A\w[\w.-]*\Z", max_length=LONGEST_NAME)]
    choice: Annotated[str, msgspec.Meta(pattern=r"\A(correct|\w[\w-]*/\w[\w-]*)?\Z", max_length=2 * LONGEST_NAME)]
    minutes: Annotated[float, msgspec.Meta(ge=0, le=24 * 60)]


class SharedFile(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `learning.json`. Keys that this version does not know are ignored.

    Attributes:
        format: the version of the format.
        course: the version of the course, or "" if it is unknown.
        attempts: the attempts at exercises, in the order of the log.
        questions: the first answers to predictions and quizzes.
        inventory: the answers to the items of the concept inventory.
    """

    format: Literal[1]
    course: Annotated[str, msgspec.Meta(pattern=r"\A[\w.+!-]*\Z", max_length=40)]
    attempts: Annotated[tuple[Attempt, ...], msgspec.Meta(max_length=20_000)]
    questions: Annotated[tuple[Question, ...], msgspec.Meta(max_length=2_000)]
    inventory: Annotated[tuple[InventoryAnswer, ...], msgspec.Meta(max_length=500)]

    def __post_init__(self) -> None:
        _refuse_repetition("questions", ((q.kind, q.question) for q in self.questions))
        _refuse_repetition("inventory", ((i.form, i.sitting, i.item) for i in self.inventory))


def _refuse_repetition(field: str, keys: Iterable[tuple]) -> None:
    seen = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"`{field}` contains two entries for {' '.join(map(str, key))}")
        seen.add(key)


# --- read --------------------------------------------------------------------------------------------------


def parse_shared(content: bytes) -> SharedFile:
    """Parse a `learning.json` without trusting it, because anybody may have written it.

    Raises:
        SharedFileError: the file is too large or is not JSON, or a field has a wrong type or an impossible value.
    """
    if len(content) > MAX_BYTES:
        raise SharedFileError(f"{FILE_NAME} has {len(content):,} bytes; the limit is {MAX_BYTES:,}.")
    try:
        data = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_build_object, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise SharedFileError(f"{FILE_NAME} is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise SharedFileError(f"{FILE_NAME} is not JSON: {error.msg} in line {error.lineno}.") from None
    except RecursionError:
        raise SharedFileError(_TOO_DEEP) from None
    except SharedFileError:
        raise
    except ValueError:  # Python does not convert numbers with thousands of digits
        raise SharedFileError(f"{FILE_NAME} contains a number that is too long.") from None
    _refuse_depth(data)
    try:
        return msgspec.convert(data, SharedFile)
    except msgspec.ValidationError as error:
        raise SharedFileError(f"{FILE_NAME} has a wrong value: {_describe(error)}.") from None
    except UnicodeEncodeError:  # msgspec encodes keys as UTF-8, which cannot represent a lone surrogate
        raise SharedFileError(f"{FILE_NAME} contains half of a character (a lone surrogate).") from None


_TOO_DEEP = f"{FILE_NAME} contains lists or objects nested more than {MAX_DEPTH} levels deep."


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise SharedFileError(f"{FILE_NAME} contains the key {repeated[:LONGEST_NAME]!a} twice in one object.")
    return content


def _refuse_constant(name: str) -> None:
    raise SharedFileError(f"{FILE_NAME} contains {name}, which is not a number.")


def _refuse_depth(data: Any) -> None:
    level = [data]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for value in level
            for child in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
        ]
        if not level:
            return
    raise SharedFileError(_TOO_DEEP)


def _describe(error: msgspec.ValidationError) -> str:
    """Describe an error of msgspec, for example as "`attempts[0].minutes`: expected `float` <= 60"."""
    text, _, place = str(error).partition(" - at `$")
    field = place.rstrip("`").lstrip(".")
    if text.startswith("Invalid enum value") or "matching regex" in text:
        text = "this value is not possible"  # msgspec's text would quote the pattern or a long value
    text = text.replace("Expected", "expected").replace("Object missing", "the object lacks the")
    return f"`{field}`: {text}" if field else text


# --- write -------------------------------------------------------------------------------------------------


def build_shared() -> SharedFile:
    """Return what this learner would share now, from the records on this machine. Invalid records are left out."""
    questions = [_question_entry(text, entry) for text, entry in read_answers().items()]
    return SharedFile(
        format=FORMAT,
        course=lessons.course_version(),
        attempts=tuple(read_attempts()),
        questions=tuple(_valid_entries(questions, Question)),
        inventory=tuple(_valid_entries(read_inventory(), InventoryAnswer)),
    )


def _question_entry(text: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
    lesson, _ = find_questions().get(text, ("", ""))
    sure = entry["sure"] if entry["sure"] in CONFIDENCE else ""
    return {"kind": entry["kind"], "lesson": lesson, "question": digest, "right": entry["right"], "sure": sure}


def _valid_entries(entries: Iterable[object], kind: type[Struct]) -> list[Struct]:
    valid = []
    for entry in entries:
        try:
            valid.append(msgspec.convert(entry, kind))
        except msgspec.ValidationError:
            continue
    return valid


def format_shared(shared: SharedFile) -> str:
    """Return the text of `learning.json`: JSON with one line for each entry."""
    parts = []
    for name, value in msgspec.to_builtins(shared).items():
        if isinstance(value, (list, tuple)) and value:
            entries = ",\n".join(f"  {json.dumps(entry)}" for entry in value)
            parts.append(f'"{name}": [\n{entries}\n]')
        else:
            parts.append(f'"{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


@dataclass(frozen=True)
class Share:
    """The output of `progress().share()`: a summary, the exact content of the file, and whether it was written.

    Attributes:
        summary: sentences about the content.
        text: the content of the file; "" if there is nothing to share.
        outcome: a sentence that says what was written, or how to write the file.
    """

    summary: str
    text: str
    outcome: str

    def __repr__(self) -> str:
        return "\n\n".join(filter(None, (self.summary.replace("`", ""), self.text, self.outcome.replace("`", ""))))

    def _repr_html_(self) -> str:
        style = "margin:6px 0;max-height:22em;overflow:auto;white-space:pre"
        label = f"The content of {FILE_NAME}"
        content = f'<pre tabindex="0" role="region" aria-label="{label}" style="{style}">{escape(self.text)}</pre>'
        summary, outcome = (text_line(inline_html(text)) for text in (self.summary, self.outcome))
        return f'<div style="{TEXT_COLOUR}">{summary}{content if self.text else ""}{outcome}</div>'


def share(write: bool = False, path: str | Path = FILE_NAME) -> Share:
    """Show the file that this learner may submit. Write it only if `write` is True.

    Args:
        write: whether to write the file that is shown.
        path: the file to write; an existing file is replaced.
    """
    shared = build_shared()
    if not (shared.attempts or shared.questions or shared.inventory):
        reason = "" if progress_path() else ", because COURSE_PROGRESS is off"
        return Share(f"Nothing is recorded on this machine{reason}.", "", "")
    text, summary = format_shared(shared), _summarise(shared)
    if write is not True:
        return Share(summary, text, f"Nothing has been written. `progress().share(write=True)` writes {FILE_NAME}.")
    path = Path(path)
    try:
        parse_shared(text.encode())
        lessons.write_atomically(path, text)
    except SharedFileError as error:
        return Share(summary, text, f"Nothing was written. {error}")
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror}."
        return Share(summary, text, f"{why} Choose another file: `progress().share(write=True, path=...)`.")
    return Share(summary, text, f"{path} is written, with this content.")


def _summarise(shared: SharedFile) -> str:
    exercises = len({(each.lesson, each.exercise) for each in shared.attempts})
    counts = (
        f"{_count(len(shared.attempts), 'attempt')} at {_count(exercises, 'exercise')}",
        f"{_count(len(shared.questions), 'first answer')} to predictions and quizzes",
        f"{_count(len(shared.inventory), 'answer')} to the concept inventory",
    )
    return (
        f"{FILE_NAME} contains {counts[0]}, {counts[1]}, and {counts[2]}. It says what each check found, and how many"
        " minutes passed between attempts. It contains no name, none of your code, no date and no time of day. The"
        " course never sends the file; you decide whether you hand it in with your lessons. If your instructor collects"
        " your folder, for example on a hub, the file is part of it."
    )


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
