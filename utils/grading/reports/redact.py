"""Remove a student's name from code and messages before the class sees them."""

from __future__ import annotations

import re

from utils.grading.intake.roster import Student

HIDDEN = "▒▒▒"
# If a part of a name has at least SHORTEST letters, it is removed from comments and strings where it is a whole word.
# If it has at least TELLING letters, it is removed everywhere, even inside identifiers.
SHORTEST, TELLING = 3, 5
_PROSE = re.compile(r"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)


def redact_name(text: str, student: Student | None) -> str:
    """Remove the student's ids, login, email address and name from a text.

    A short part of a name, such as "Max", can also be a Python name, so it is removed only from comments and strings.
    Parts of one or two letters are not removed.
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
