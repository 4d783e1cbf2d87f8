"""Read lessons as data (cells and marked regions) or as modules (definitions, without demo cells).

Start with `cells`. Imports: no other package.
"""

from utils.lessons.answers import definition_source, solved_source
from utils.lessons.cells import Cell, Lesson, parse_lesson, read_lesson
from utils.lessons.files import (
    FILE_NAME,
    ROOT,
    LessonError,
    all_lessons,
    course_version,
    find_lesson,
    hold_lock,
    is_lesson_file,
    read_text,
    write_atomically,
)
from utils.lessons.loading import load_lesson
from utils.lessons.markdown import LANGUAGES, prose_lines
from utils.lessons.names import bound_names
from utils.lessons.syntax import parse_cell, strip_magics

__all__ = [
    "FILE_NAME",
    "LANGUAGES",
    "ROOT",
    "Cell",
    "Lesson",
    "LessonError",
    "all_lessons",
    "bound_names",
    "course_version",
    "definition_source",
    "find_lesson",
    "hold_lock",
    "is_lesson_file",
    "load_lesson",
    "parse_cell",
    "parse_lesson",
    "prose_lines",
    "read_lesson",
    "read_text",
    "solved_source",
    "strip_magics",
    "write_atomically",
]
