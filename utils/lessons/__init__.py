"""A lesson as data (its cells, its marked regions) and as a module (its definitions, and no demo cell)."""

from utils.lessons.answers import source_of, with_answers
from utils.lessons.cells import Cell, Lesson, parse, read
from utils.lessons.code import bound_names, tree_of, without_magics
from utils.lessons.files import FILE_NAME, ROOT, LessonError, all_lessons, find, locked, read_text, write_atomically
from utils.lessons.loading import load
from utils.lessons.markdown import LANGUAGES, prose_lines

__all__ = [
    "FILE_NAME",
    "LANGUAGES",
    "ROOT",
    "Cell",
    "Lesson",
    "LessonError",
    "all_lessons",
    "bound_names",
    "find",
    "load",
    "locked",
    "parse",
    "prose_lines",
    "read",
    "read_text",
    "source_of",
    "tree_of",
    "with_answers",
    "without_magics",
    "write_atomically",
]
