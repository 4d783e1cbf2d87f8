"""Remove a student's name from code and messages, so that the class can see them."""

from __future__ import annotations

import re

from utils.grading.intake.roster import Student

HIDDEN = "▒▒▒"
# A part of a name with at least SHORTEST letters is removed where it is a whole word in a comment or string. A part
# with at least TELLING letters is removed everywhere, even inside identifiers.
SHORTEST, TELLING = 3, 5
_PROSE = re.compile(r"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)


def redact_name(text: str, student: Student | None) -> str:
    """Return `text` without the student's id, login, email address and any part of the student's name.

    A short part of a name, such as "Max", can also be a Python name, so it is removed only from comments and strings.
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
