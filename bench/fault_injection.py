"""Inject faults into the files of a simulated class: renamed, truncated, endless, copied, missing or foreign files."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

from utils.grading.intake.roster import Student
from utils.instructor import ipynb

STRANGER = Student("guest", "Alex Guest")

Files = dict[str, tuple[bytes, float]]


def _last_notebook(files: Files) -> str:
    """Return the name of the notebook that receives the fault."""
    return max(name for name in files if name.endswith(".ipynb"))


def _edit_notebook(content: bytes, edit: Callable[[str], str]) -> bytes:
    """Apply `edit` to the first code cell that contains a function definition and a check."""
    notebook = json.loads(content)
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "def " in source and "check(" in source:
            cell["source"] = edit(source).splitlines(keepends=True)
            break
    return ipynb.notebook_text(notebook).encode()


def _insert_endless_loop(source: str) -> str:
    """Insert an endless loop as the first statement of the first function."""
    lines = source.split("\n")
    first = next(n for n, line in enumerate(lines) if line.lstrip().startswith("def "))
    last = next(n for n in range(first, len(lines)) if lines[n].rstrip().endswith(":"))
    indent = " " * (len(lines[first]) - len(lines[first].lstrip()) + 4)
    lines.insert(last + 1, f"{indent}while True:\n{indent}    pass")
    return "\n".join(lines)


def _rename_fault(name: str) -> Callable[[Files], None]:
    def happen(files: Files) -> None:
        old = _last_notebook(files)
        files[name.format(stem=old.removesuffix(".ipynb"))] = files.pop(old)

    return happen


def _content_fault(change: Callable[[bytes], bytes]) -> Callable[[Files], None]:
    def happen(files: Files) -> None:
        content, when = files[_last_notebook(files)]
        files[_last_notebook(files)] = change(content), when

    return happen


def _second_version(files: Files) -> None:
    content, when = files[_last_notebook(files)]
    stem = _last_notebook(files).removesuffix(".ipynb")
    files[f"{stem} (1).ipynb"] = (
        _edit_notebook(content, lambda source: source.replace("check(", "# once more\ncheck(")),
        when,
    )
    files[f"{stem}.ipynb"] = content, when - 24 * 3600


FAULTS: dict[str, Callable[[Files], None]] = {
    "a copy's number in the name": _rename_fault("{stem} (1).ipynb"),
    "another name": _rename_fault("homework final.ipynb"),
    "cut off": _content_fault(lambda content: content[: len(content) // 2]),
    "empty": _content_fault(lambda content: b""),
    "a cell that does not parse": _content_fault(
        lambda content: _edit_notebook(content, lambda s: s.replace("):", ")", 1))
    ),
    "an endless loop": _content_fault(lambda content: _edit_notebook(content, _insert_endless_loop)),
    "a second version": _second_version,
    "nothing handed in": lambda files: files.clear(),
}
COPIED, UNKNOWN = "another's file", "not on the roster"


def inject_faults(
    handed_in: dict[str, Files], roster: Sequence[Student], rng: random.Random
) -> dict[tuple[str, str], str]:
    """Inject each fault into the files of one in forty students, and add files of a student who is not on the roster.

    Each fault occurs once, or not at all if the class has too few students. No student receives two faults.

    Returns:
        The fault for each (student id, lesson stem) that it affects.
    """
    times = max(1, len(roster) // 40)
    affected = rng.sample([student.id for student in roster], min(len(roster) - 1, times * (len(FAULTS) + 1)))
    faults: dict[tuple[str, str], str] = {}
    spared = next(student.id for student in roster if student.id not in affected)
    for id, fault in zip(affected, [*FAULTS, COPIED] * times):
        files = handed_in[id]
        stems = [name.removesuffix(".ipynb") for name in files if name.endswith(".ipynb")]
        if fault == COPIED:
            name = _last_notebook(handed_in[spared])
            content, when = handed_in[spared][name]
            files[name] = content, when + 3600
            faults[id, name.removesuffix(".ipynb")] = fault
        else:
            FAULTS[fault](files)
            faults |= dict.fromkeys([(id, stem) for stem in (stems if not files else [max(stems)])], fault)
    handed_in[STRANGER.id] = dict(handed_in[spared])
    faults[STRANGER.id, ""] = UNKNOWN
    return faults
