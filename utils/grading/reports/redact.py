"""A student's code and words without the student's name, so that an example can be shown to everybody."""

from __future__ import annotations

import re

from utils.grading.roster import Student

HIDDEN = "▒▒▒"
SHORTEST, TELLING = 3, 5  # letters of a part of a name: as a word of its own in prose; anywhere, names in code too
_PROSE = re.compile(r"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)


def redact_name(text: str, student: Student | None) -> str:
    """`text` without the parts of a student's name, id and email address.

    A short part, which may be a word of Python as well ("Max"), goes from comments and strings alone.
    """
    if student is None:
        return text
    parts = [part for part in re.split(r"[\W_]+", student.name) if len(part) >= SHORTEST]
    whole = [word for word in (student.email, student.login, student.id, student.sis) if word]
    long = [*whole, *(part for part in parts if len(part) >= TELLING)]
    if long:
        text = re.sub("|".join(map(re.escape, long)), HIDDEN, text, flags=re.IGNORECASE)
    if parts:
        word = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, parts))})(?![^\W_])", re.IGNORECASE)
        text = _PROSE.sub(lambda found: word.sub(HIDDEN, found[0]), text)
    return text
