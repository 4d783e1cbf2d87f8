"""Build submissions for tests: notebooks of the course, and zips with any content."""

import json
import zipfile

from utils.grading.intake.collect import INTAKE
from utils.lessons import ROOT

ROSTER = "id,name\ns1,Ada Lovelace\ns2,Alan Turing\ns3,Zoë O'Neill\n"
ADAS = "Ada Lovelace_4711_assignsubmission_file_/"  # a student's folder in a zip of Moodle
CANVAS = "{name}_123_456_{file}"
SOFTMAX = "02_simplified_attention"
MASK = "04_causal_attention"


def student_copy(stem=SOFTMAX):
    """Return a lesson's notebook as students receive it."""
    return json.loads((ROOT / "course" / f"{stem}.ipynb").read_text(encoding="utf-8"))


def edited_copy(stem=SOFTMAX, words="mine", ids=True):
    """Return a lesson's notebook with an additional cell by a student.

    Without `ids`, cells have no ids, as in old formats.
    """
    notebook = student_copy(stem)
    notebook["cells"].append({"cell_type": "code", "metadata": {}, "source": f"x = {words!r}", "outputs": []})
    if not ids:
        notebook["cells"] = [{key: cell[key] for key in cell if key != "id"} for cell in notebook["cells"]]
    return json.dumps(notebook).encode()


def write_zip(path, files, time=(2026, 3, 1, 12, 0, 0), mode=0o100644):
    """Write a zip of these files, {name: content} or {name: (content, time)}, and return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            content, when = content if isinstance(content, tuple) else (content, time)
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr, entry.compress_type, entry.create_system = mode << 16, zipfile.ZIP_DEFLATED, 3
            packed.writestr(entry, content)
    return path


def read_tree(folder):
    """Return all files of a folder: {path in the folder: content}."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def lesson_files_in(folder):
    """Return the lessons and their older versions, without the CSV tables."""
    return {name: content for name, content in read_tree(folder).items() if not name.endswith(".csv")}


def intake_rows(collected):
    """Return the rows of an intake as (id, lesson, what)."""
    assert (collected.folder / INTAKE).is_file()
    return [(row.id, row.lesson, row.what) for row in collected.rows]
