"""List the claims in the lessons, each with the test that supports it, and find new claims without a test.

A mark on a test in `tests/course/` quotes the words of the lesson that the test supports. `@pytest.mark.claim("…")`
marks a test that removes the cause named in the lesson, and checks that the effect disappears.
`@pytest.mark.observed("…")` marks a test that measures what the lesson reports. `docs/claims.md` is generated from
these marks.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from utils import lessons
from utils.lessons import ROOT, Lesson

EVIDENCE = {"claim": "intervention", "observed": "observation"}  # the kind of evidence, by the name of the mark
CAUSAL_WORDS = re.compile(r"\b(because|therefore|cannot|always|never)\b", re.IGNORECASE)
_INTRODUCTION = """# The claims of the lessons and their tests

Each row quotes a lesson. An *intervention* is a test that removes the cause named by the lesson and observes that the
effect disappears. An *observation* is a test that measures what the lesson reports. The last column says what the test
does. `coginst ready` generates this page from the marks of the tests in `tests/course/`.
"""


class Claim(NamedTuple):
    """A quotation from a lesson, and the test that supports it.

    Attributes:
        lesson: the stem of the lesson's file, such as "05_multihead_attention".
        quote: words of the lesson.
        evidence: "intervention" or "observation".
        test: the name of the test.
        summary: what the test does: the first paragraph of its docstring, or "".
    """

    lesson: str
    quote: str
    evidence: str
    test: str
    summary: str


def read_claims(root: Path = ROOT) -> list[Claim]:
    """Return the marked claims of all lessons, in the order of the lessons and of their tests."""
    return [claim for path in lessons.all_lessons(root / "solutions") for claim in _claims_of_lesson(path, root)]


def _claims_of_lesson(lesson: Path, root: Path) -> Iterator[Claim]:
    path = root / "tests" / "course" / f"test_{lesson.stem[3:]}.py"
    if not path.exists():
        return
    tests = (n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.FunctionDef))
    for node in tests:
        for decorator in node.decorator_list:
            match = re.fullmatch(r"pytest\.mark\.(\w+)\((.*)\)", ast.unparse(decorator), re.DOTALL)
            if match and match[1] in EVIDENCE:
                summary = (ast.get_docstring(node) or "").partition("\n\n")[0]
                yield Claim(
                    lesson.stem,
                    _one_line(ast.literal_eval(match[2])),
                    EVIDENCE[match[1]],
                    node.name,
                    _one_line(summary),
                )


def find_wrong_quotes(claims: list[Claim], root: Path = ROOT) -> list[str]:
    """Return a line for each claim whose quotation is not in its lesson."""
    texts = {path.stem: _prose(path.read_text(encoding="utf-8")) for path in lessons.all_lessons(root / "solutions")}
    return [
        f'{claim.test}: solutions/{claim.lesson}.md does not contain "{claim.quote}"'
        for claim in claims
        if _prose(claim.quote) not in texts[claim.lesson]
    ]


def render_page(claims: list[Claim], root: Path = ROOT) -> str:
    """Return the text of docs/claims.md."""
    parts = [_INTRODUCTION]
    for path in lessons.all_lessons(root / "solutions"):
        rows = [claim for claim in claims if claim.lesson == path.stem]
        if rows:
            parts.append(f"## {path.stem[:2]} {lessons.read_lesson(path).title}\n")
            parts.append("| claim | evidence | test |\n|---|---|---|")
            parts += [f"| {_cell(c.quote)} | {c.evidence} | {_cell(c.summary) or f'`{c.test}`'} |" for c in rows]
            parts.append("")
    return "\n".join(parts)


def write_page(root: Path = ROOT) -> None:
    """Write docs/claims.md."""
    lessons.write_atomically(root / "docs" / "claims.md", render_page(read_claims(root), root))


def find_new_claims(lesson: Lesson, root: Path = ROOT) -> list[str]:
    """Return the lesson's new causal sentences that no test quotes.

    A sentence is new if the last commit does not contain it. If there is no commit, for example outside a git
    repository, the result is empty.
    """
    if git_output(root, "rev-parse", "HEAD") is None:
        return []
    quotes = [_prose(claim.quote) for claim in read_claims(root) if claim.lesson == lesson.stem]
    committed = _causal_sentences(git_output(root, "show", f"HEAD:solutions/{lesson.path.name}") or "")
    prose = "\n\n".join(cell.source for cell in lesson.cells if cell.kind == "markdown")
    return [
        sentence
        for sentence in _causal_sentences(prose)
        if sentence not in committed and not any(quote in _prose(sentence) for quote in quotes)
    ]


def git_output(root: Path, *arguments: str) -> str | None:
    """Return the output of a git command, or None if the command fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, encoding="utf-8")
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def _causal_sentences(text: str) -> list[str]:
    paragraphs = re.split(r"\n\s*\n|\n(?=[-*|] )", text)
    sentences = (s for p in paragraphs for s in re.split(r"(?<=[.?!:]) (?=[A-Z`*\"])", _one_line(p)))
    return [sentence for sentence in sentences if CAUSAL_WORDS.search(sentence)]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _prose(text: str) -> str:
    """Remove emphasis and line breaks from a text, so that quotations can be compared with it."""
    return _one_line(re.sub(r"[*_]", "", text))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
