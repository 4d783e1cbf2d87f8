"""Whether anything of the answers survives in what students get."""

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

# The shapes' vocabulary: prose speaks of these before any code does.
_TERMS = frozenset("batch seq d_model d_head n_heads d_in d_out vocab".split())
_WORD = re.compile(r"[^\W\d]\w*")
_MARKER = re.compile(r"<\s*/?\s*COG(?:INST|NOTE|LINE|STUB)\s*>", re.IGNORECASE)
_MENTION = re.compile(r"`[^`\n]*`")


def find_leaks(sources: list[tuple[Lesson, StrippedLesson]], copies: dict[str, Any]) -> list[str]:
    """One line for each answer that survives: `file:line: what`. `copies` maps a student file's name to its text or
    JSON.

    An answer's line counts when it has at least three names, numbers or strings; what it returns counts by itself, if
    it is long. It may stand, as a line of given code, in its own lesson or a later one: there the author shows it. A
    name counts when only answers bind it; one that could be an English word (`weights`) counts in code alone, for prose
    needs words.
    """
    texts = {name: list(_strings(content)) for name, content in copies.items()}
    joined = {name: _collapse_whitespace("\n".join(parts)) for name, parts in texts.items()}
    words = {name: set(_WORD.findall(text)) for name, text in joined.items()}
    given: set[str] = set()
    for _, stripped in sources:
        for cell in stripped.cells:
            if cell.kind == "code":
                given |= _identifiers(cell.source)
    found: list[str] = []
    shown: set[str] = set()
    for lesson, stripped in reversed(sources):
        shown |= {
            _collapse_whitespace(line)
            for cell in stripped.cells
            if cell.kind == "code"
            for line in cell.source.split("\n")
        }
        for line, answer in _iter_answer_lines(stripped, shown):
            what = f"the answer {answer!r} of {lesson.path}:{line} survives here"
            found += [
                _format_leak(sources, copy, answer, what) for copy, text in joined.items() if _occurs_in(answer, text)
            ]
        for name, line in _iter_answer_names(stripped):
            if name not in given and _is_distinctive(name):
                what = f"the name {name!r}, which only the answer of {lesson.path}:{line} uses, survives here"
                found += [_format_leak(sources, copy, name, what) for copy in copies if name in words[copy]]
    return list(dict.fromkeys(found))


def _iter_answer_lines(stripped: StrippedLesson, shown: set[str]) -> Iterator[tuple[int, str]]:
    """What may survive nowhere: of each telling line of an answer that no code in `shown` gives away, its number and
    its text."""
    for line, text in stripped.code_answers:
        answer = _collapse_whitespace(_strip_comment(text))
        if answer not in shown and _is_informative(answer, code=True):
            # Prose would hardly quote the word `return` as well; but a short `x.sum(dim=1)` may come up by itself.
            returned = answer.removeprefix("return ")
            by_itself = len(returned) >= 20 and not any(returned in line for line in shown)
            yield line, returned if by_itself else answer
    for line, text in stripped.prose_answers:
        answer = _collapse_whitespace(text)
        if answer not in shown and _is_informative(answer, code=False):
            yield line, answer


def _occurs_in(answer: str, text: str) -> bool:
    return answer in text and bool(re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text))


def find_whole_answers(sources: list[tuple[Lesson, StrippedLesson]], files: dict[str, str]) -> list[str]:
    """One line for each answer that a file holds whole: of four telling lines or more, every one.

    For files that learners need and do not study: single lines of an answer may well stand there, in a check's wrong
    answers above all.
    """
    squeezed = {name: _collapse_whitespace(text) for name, text in files.items()}
    found = []
    for lesson, stripped in sources:
        for start, lines in _iter_answer_regions(stripped):
            if len(lines) >= 4:
                found += [
                    f"{name}:1: the whole answer of {lesson.path}:{start} stands here; take it out."
                    for name, text in squeezed.items()
                    if all(line in text for line in lines)
                ]
    return found


def find_short_answers(sources: list[tuple[Lesson, StrippedLesson]], files: dict[str, str]) -> list[str]:
    """One line for each file in which more than one short answer stands, one of three telling lines at most.

    A single one may be there by chance, a wrong answer's other half or what a model is made of; two are a copy.
    """
    squeezed = {name: _collapse_whitespace(text) for name, text in files.items()}
    held: dict[str, list[str]] = {}
    for lesson, stripped in sources:
        for start, lines in _iter_answer_regions(stripped):
            if 0 < len(lines) < 4:
                for name, text in squeezed.items():
                    if all(_occurs_in(line, text) for line in lines):
                        held.setdefault(name, []).append(f"{lesson.path}:{start}")
    return [
        f"{name}:1: {len(places)} short answers stand here, those of {', '.join(places[:3])}"
        f"{' and others' if len(places) > 3 else ''}; take them out."
        for name, places in held.items()
        if len(places) > 1
    ]


def find_markers(text: str) -> list[tuple[int, str]]:
    """The line and the words of each marker of ours in a text; what stands in backticks is a mention and none."""
    plain = _MENTION.sub(lambda found: " " * len(found[0]), text)
    return [(text.count("\n", 0, found.start()) + 1, found[0]) for found in _MARKER.finditer(plain)]


def _iter_answer_regions(stripped: StrippedLesson) -> Iterator[tuple[int, list[str]]]:
    """Each answer in code: its first line's number, and those of its lines that say something."""
    numbered = dict(sorted(stripped.code_answers))
    for start in [number for number in numbered if number - 1 not in numbered]:
        end = start
        while end in numbered:
            end += 1
        lines = [_collapse_whitespace(_strip_comment(numbered[number])) for number in range(start, end)]
        yield start, [line for line in lines if _is_informative(line, code=True)]


def _strings(content: Any) -> Iterator[str]:
    """Every string in a text or in JSON, keys and attachments included."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for key, value in content.items():
            yield key
            yield from _strings(value)
    elif isinstance(content, list):
        if all(isinstance(part, str) for part in content):  # nbformat's way to write one text
            yield "".join(content)
        else:
            for value in content:
                yield from _strings(value)


def _collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def _strip_comment(line: str) -> str:
    """A line of code without its comment."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.type == tokenize.COMMENT:
                return line.strip()[: token.start[1]]
    except (tokenize.TokenError, SyntaxError):
        pass
    return line


def _is_informative(answer: str, code: bool) -> bool:
    """Whether a line says enough to be worth keeping from learners."""
    tokens = re.findall(r"\w+", answer)
    if code:
        return len([token for token in tokens if not keyword.iskeyword(token)]) >= 3 and len(answer) >= 12
    return len(tokens) >= 4


def _iter_answer_names(stripped: StrippedLesson) -> Iterator[tuple[str, int]]:
    """The names that answers bind and that the student's copy of the lesson does not use, each with a line."""
    kept = {name for cell in stripped.cells if cell.kind == "code" for name in _identifiers(cell.source)}
    for line, text in stripped.code_answers:
        for name in _bound_in(text):
            if name not in kept and not hasattr(builtins, name):
                yield name, line


def _identifiers(source: str) -> set[str]:
    return set(_WORD.findall(re.sub(r"#.*", "", source)))


def _bound_in(line: str) -> list[str]:
    text = line.strip()
    for attempt in (text, f"{text} pass", f"{text}\n    pass"):
        try:
            tree = ast.parse(attempt)
        except (SyntaxError, ValueError):
            continue
        return [
            name
            for node in tree.body
            if not isinstance(node, (ast.Import, ast.ImportFrom))
            for name in lessons.bound_names(node)
        ]
    return _WORD.findall(text.split("=")[0]) if re.match(r"[\w, ]+=[^=]", text) else []


def _is_distinctive(name: str) -> bool:
    """Whether it can only be a name in a program: `attn_probs`, `w2`, `headDim`."""
    return (
        len(name) >= 4
        and name not in _TERMS
        and ("_" in name.strip("_") or any(c.isdigit() for c in name) or not (name.islower() or name.istitle()))
    )


def _format_leak(sources: list[tuple[Lesson, StrippedLesson]], copy: str, text: str, what: str) -> str:
    """The fault with its place: the line of the source that the student's copy got it from, where there is one."""
    for lesson, stripped in sources:
        if copy.startswith(lesson.stem + "."):
            answers = [*stripped.code_answers, *stripped.prose_answers]
            hidden = {line for line, _ in answers} - stripped.partial_lines
            for number, line in enumerate(lessons.read_text(lesson.path).split("\n"), 1):
                if number not in hidden and text in _collapse_whitespace(line):
                    return f"{lesson.path}:{number}: {what}; reword it, or take it into the region."
    return f"{copy}:1: {what}; take it out."
