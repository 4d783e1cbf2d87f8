"""Report worn-out wording in documents, docstrings, comments and messages, each with its replacement.

The list is short on purpose: a pattern belongs here only if every match is worth changing. CONTRIBUTING.md, "Voice",
has the rules that need a reader.

Usage: python .ci/lint_prose.py [FILE ...]      (without files: everything that git tracks)
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HABITS = {
    r"\banew\b": "again",
    r"\bbesides\b": "also, in addition",
    r"\bwhoever\b": "anyone who, or name the person",
    r"\b(whereof|wherein|thereof|therein|thereby|wherefore)\b": "two sentences",
    r"\bstands? (?!in for\b)(in|at|on|behind|beside|between|under|above|below|before|there|here)\b": "is",
    r"\bhangs? on\b": "depends on",
    r"\b(of|than) that(?=[,;:)]|\.(\s|$))": "name the thing: of the total, than the limit",
    r"\bstand-ins?\b": "test double, fake",
    r"\bthe (dear|cheap)est\b": "the slowest, the fastest",
}
DOCSTRING_START = (r"\AWhat (?![^.]*\?)", "start with a verb, or name the thing")

# Generated files, data that is not prose, and answers as learners wrote them.
SKIPPED = re.compile(
    r"^(course|tests/checks/(blind|transfer)|tests/solved|docs/(bench|mutants)\.md|\.ci/lint_prose|tests/test_lint_prose)|corpus\.py$"
)
SENTENCE = 4  # words: a shorter string is a name or a label


def texts_of_markdown(source: str) -> Iterator[tuple[int, str]]:
    """Yield the prose of a Markdown page, line by line, without fenced code and inline code."""
    fence = ""
    for number, line in enumerate(source.splitlines(), 1):
        if mark := re.match(r"\s*(`{3,}|~{3,})", line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence:
            yield number, re.sub(r"`[^`]*`", "`code`", line)


def texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments and the sentences among the string constants of a Python file."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) >= SENTENCE:
            yield node.lineno, node.value


def texts_of_javascript(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a JavaScript file: its comments and texts are the only prose in it."""
    yield from enumerate(source.splitlines(), 1)


def docstring_starts(source: str) -> Iterator[tuple[int, str]]:
    """Yield every docstring of a Python file."""
    for node in ast.walk(ast.parse(source)):
        documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        if documented and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, text


READERS = {".md": texts_of_markdown, ".py": texts_of_python, ".js": texts_of_javascript}


def findings(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield `(line, words found, replacement)` for one file."""
    source = path.read_text(encoding="utf-8")
    for line, text in READERS[path.suffix](source):
        for pattern, instead in HABITS.items():
            for match in re.finditer(pattern, text, re.IGNORECASE):
                yield line + text.count("\n", 0, match.start()), match[0], instead
    if path.suffix == ".py":
        pattern, instead = DOCSTRING_START
        for line, text in docstring_starts(source):
            if re.search(pattern, text):
                yield line, " ".join(text.split()[:4]) + " …", instead


def tracked_files() -> list[Path]:
    """List the files that git tracks, and new ones that it does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [ROOT / name for name in names if name]


def short_name(path: Path) -> str:
    """Return the path inside the repository, or the whole path of a file outside it."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


def main(arguments: list[str]) -> int:
    """Print every finding as `file:line: words -> replacement`. Return the exit status: 1 if there is any."""
    paths = [Path(name).resolve() for name in arguments] or tracked_files()
    count = 0
    for path in paths:
        if path.suffix not in READERS or SKIPPED.search(short_name(path)) or not path.is_file():
            continue
        for line, words, instead in findings(path):
            print(f"{short_name(path)}:{line}: {words!r} -> {instead}")
            count += 1
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
