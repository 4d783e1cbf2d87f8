"""What students hand in, as tests make it: notebooks of the course, and zips with anything in them."""

import json
import zipfile

from utils.grading.collect import INTAKE
from utils.lessons import ROOT

ROSTER = "id,name\ns1,Ada Lovelace\ns2,Alan Turing\ns3,Zoë O'Neill\n"
MOODLE = "{name}_4711_assignsubmission_file_/{file}"
CANVAS = "{name}_123_456_{file}"
SOFTMAX = "02_simplified_attention"
MASK = "04_causal_attention"


def student_copy(stem=SOFTMAX):
    """A lesson's notebook as it is handed out."""
    return json.loads((ROOT / "course" / f"{stem}.ipynb").read_text(encoding="utf-8"))


def edited_copy(stem=SOFTMAX, words="mine", ids=True):
    """A lesson's notebook with something of a student's in it; without `ids` as old programs save it."""
    notebook = student_copy(stem)
    notebook["cells"].append({"cell_type": "code", "metadata": {}, "source": f"x = {words!r}", "outputs": []})
    if not ids:
        notebook["cells"] = [{key: cell[key] for key in cell if key != "id"} for cell in notebook["cells"]]
    return json.dumps(notebook).encode()


def write_zip(path, files, time=(2026, 3, 1, 12, 0, 0), mode=0o100644):
    """A zip of these files, {name: content}; a content may be (content, time)."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            content, when = content if isinstance(content, tuple) else (content, time)
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr, entry.compress_type, entry.create_system = mode << 16, zipfile.ZIP_DEFLATED, 3
            packed.writestr(entry, content)
    return path


def read_tree(folder):
    """What lies in a folder: {path in it: content}."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def lesson_files_in(folder):
    """The lessons and the older versions, without the tables."""
    return {name: content for name, content in read_tree(folder).items() if not name.endswith(".csv")}


def intake_rows(collected):
    """The rows of an intake as (id, lesson, what)."""
    assert (collected.folder / INTAKE).is_file()
    return [(row.id, row.lesson, row.what) for row in collected.rows]
