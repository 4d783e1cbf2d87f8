"""Find parts of answers in the files that students get."""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from typing import Any

from utils import lessons
from utils.instructor.strip import StrippedLesson
from utils.lessons import Lesson

# The names of tensor dimensions are not leaks, because prose uses them before any code does.
_TERMS = frozenset("batch seq d_model d_head n_heads d_in d_out vocab".split())
_WORD = re.compile(r"[^\W\d]\w*")
_MARKER = re.compile(r"<\s*/?\s*COG(?:INST|NOTE|LINE|STUB)\s*>", re.IGNORECASE)
_MENTION = re.compile(r"`[^`\n]*`")


def find_leaks(sources: list[tuple[Lesson, StrippedLesson]], copies: dict[str, Any]) -> list[str]:
    """Return one line `file:line: description` for each part of an answer that a student file still contains.

    A line of code can be a leak if it has at least three names or numbers. A line of prose can be a leak if it has at
    least four words. A long returned value can be a leak even without the word `return`. A line is not a leak if it
    also occurs in the visible code of the same lesson or of a later lesson. A name is a leak if it occurs only in
    answers and cannot be an English word: `attn_probs` can be a leak, `weights` cannot.

    Args:
        sources: the lessons in order, each with its answers.
        copies: the text or JSON of each student file, by file name.
    """
    texts = {name: list(_strings(content)) for name, content in copies.items()}
    joined = {name: _collapse_whitespace("\n".join(parts)) for name, parts in texts.items()}
    names_by_copy = {name: set(_WORD.findall(text)) for name, text in joined.items()}
    visible_names: set[str] = set()
    for _, stripped in sources:
        for cell in stripped.cells:
            if cell.kind == "code":
                visible_names |= _identifiers(cell.source)
    faults: list[str] = []
    visible_lines: set[str] = set()
    for lesson, stripped in reversed(sources):
        visible_lines |= {
            _collapse_whitespace(line)
            for cell in stripped.cells
            if cell.kind == "code"
            for line in cell.source.split("\n")
        }
        for line, answer in _iter_answer_lines(stripped, visible_lines):
            leak = f"this contains the answer {answer!r} of {lesson.path}:{line}"
            faults += [
                _format_leak(sources, copy, answer, leak) for copy, text in joined.items() if _occurs_in(answer, text)
            ]
        for name, line in _iter_answer_names(stripped):
            if name not in visible_names and _is_distinctive(name):
                leak = f"this contains the name {name!r}, which only the answer of {lesson.path}:{line} uses"
                faults += [_format_leak(sources, copy, name, leak) for copy in copies if name in names_by_copy[copy]]
    return list(dict.fromkeys(faults))


def _iter_answer_lines(stripped: StrippedLesson, visible_lines: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each answer line that students must not see.

    Uninformative lines and lines in visible code (`visible_lines`) are left out.
    """
    for line, text in stripped.code_answers:
        answer = _collapse_whitespace(_strip_comment(text))
        if answer not in visible_lines and _is_informative(answer, code=True):
            # Prose may repeat a returned value without the word `return`, so search for the value alone if it is long.
            # A short value could match by coincidence.
            returned = answer.removeprefix("return ")
            without_return = len(returned) >= 20 and not any(returned in line for line in visible_lines)
            yield line, returned if without_return else answer
    for line, text in stripped.prose_answers:
        answer = _collapse_whitespace(text)
        if answer not in visible_lines and _is_informative(answer, code=False):
            yield line, answer


def _occurs_in(answer: str, text: str) -> bool:
    return answer in text and bool(re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text))


def find_whole_answers(sources: list[tuple[Lesson, StrippedLesson]], files: dict[str, str]) -> list[str]:
    """Return one line for each complete answer that a file contains.

    Answers with fewer than four informative lines are ignored. This check is for files that learners need but do not
    study. Such files may contain single lines of an answer, for example as part of a wrong answer.
    """
    squeezed = {name: _collapse_whitespace(text) for name, text in files.items()}
    faults = []
    for lesson, stripped in sources:
        for start, lines in _iter_answer_regions(stripped):
            if len(lines) >= 4:
                faults += [
                    f"{name}:1: this file contains the whole answer of {lesson.path}:{start}. Remove it."
                    for name, text in squeezed.items()
                    if all(line in text for line in lines)
                ]
    return faults


def find_short_answers(sources: list[tuple[Lesson, StrippedLesson]], files: dict[str, str]) -> list[str]:
    """Return one line for each file that contains more than one short answer.

    A short answer has at most three informative lines. A single short answer may match by coincidence, for example
    because a wrong answer or a model contains the same lines. A file that contains two short answers is treated as a
    copy of the solution.
    """
    squeezed = {name: _collapse_whitespace(text) for name, text in files.items()}
    answers_in_file: dict[str, list[str]] = {}
    for lesson, stripped in sources:
        for start, lines in _iter_answer_regions(stripped):
            if 0 < len(lines) < 4:
                for name, text in squeezed.items():
                    if all(_occurs_in(line, text) for line in lines):
                        answers_in_file.setdefault(name, []).append(f"{lesson.path}:{start}")
    return [
        f"{name}:1: this file contains {len(places)} short answers: {', '.join(places[:3])}"
        f"{' and others' if len(places) > 3 else ''}. Remove them."
        for name, places in answers_in_file.items()
        if len(places) > 1
    ]


def find_markers(text: str) -> list[tuple[int, str]]:
    """Return the line number and the text of each marker in a text. A marker in backticks does not count."""
    plain = _MENTION.sub(lambda found: " " * len(found[0]), text)
    return [(text.count("\n", 0, found.start()) + 1, found[0]) for found in _MARKER.finditer(plain)]


def _iter_answer_regions(stripped: StrippedLesson) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line number and the informative lines of each answer in code."""
    numbered = dict(sorted(stripped.code_answers))
    for start in [number for number in numbered if number - 1 not in numbered]:
        end = start
        while end in numbered:
            end += 1
        lines = [_collapse_whitespace(_strip_comment(numbered[number])) for number in range(start, end)]
        yield start, [line for line in lines if _is_informative(line, code=True)]


def _strings(content: Any) -> Iterator[str]:
    """Yield every string in a text or in JSON, including keys and attachments."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for key, value in content.items():
            yield key
            yield from _strings(value)
    elif isinstance(content, list):
        if all(isinstance(part, str) for part in content):  # nbformat stores a text as a list of lines
            yield "".join(content)
        else:
            for value in content:
                yield from _strings(value)


def _collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def _strip_comment(line: str) -> str:
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.type == tokenize.COMMENT:
                return line.strip()[: token.start[1]]
    except (tokenize.TokenError, SyntaxError):
        pass
    return line


def _is_informative(answer: str, code: bool) -> bool:
    """Return whether a line of an answer reveals so much that learners must not see it."""
    tokens = re.findall(r"\w+", answer)
    if code:
        return len([token for token in tokens if not keyword.iskeyword(token)]) >= 3 and len(answer) >= 12
    return len(tokens) >= 4


def _iter_answer_names(stripped: StrippedLesson) -> Iterator[tuple[str, int]]:
    """Yield (name, line) for each name that an answer binds and that no visible code of the lesson uses."""
    visible_names = {name for cell in stripped.cells if cell.kind == "code" for name in _identifiers(cell.source)}
    for line, text in stripped.code_answers:
        for name in _bound_names(text):
            if name not in visible_names and not hasattr(builtins, name):
                yield name, line


def _identifiers(source: str) -> set[str]:
    return set(_WORD.findall(re.sub(r"#.*", "", source)))


def _bound_names(line: str) -> list[str]:
    text = line.strip()
    for attempt in (text, f"{text} pass", f"{text}\n    pass"):
        try:
            return lessons.bound_names(ast.parse(attempt), imports=False)
        except (SyntaxError, ValueError):
            continue
    return _WORD.findall(text.split("=")[0]) if re.match(r"[\w, ]+=[^=]", text) else []


def _is_distinctive(name: str) -> bool:
    """Return whether a name, such as `attn_probs`, `w2_out` or `headDim`, cannot be an English word."""
    return (
        len(name) >= 4
        and name not in _TERMS
        and ("_" in name.strip("_") or any(c.isdigit() for c in name) or not (name.islower() or name.istitle()))
    )


def _format_leak(sources: list[tuple[Lesson, StrippedLesson]], copy: str, text: str, leak: str) -> str:
    """Format a fault, beginning with its place.

    If a visible line of the lesson's source contains `text`, the place is this line. Otherwise, it is the student's
    file.
    """
    for lesson, stripped in sources:
        if copy.startswith(lesson.stem + "."):
            answers = [*stripped.code_answers, *stripped.prose_answers]
            hidden = {line for line, _ in answers} - stripped.partial_lines
            for number, line in enumerate(lessons.read_text(lesson.path).split("\n"), 1):
                if number not in hidden and text in _collapse_whitespace(line):
                    return f"{lesson.path}:{number}: {leak}. Reword this line, or include it in the marked region."
    return f"{copy}:1: {leak}. Remove it."
