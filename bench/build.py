"""Build lessons in a new process. For comparison, jupytext only converts the same lessons to notebooks, and nbgrader
builds them with its default settings.
"""

import sys
import tempfile
from pathlib import Path

from bench.measurement import Row, cpu_seconds, time_nbgrader_command
from utils.instructor.nbgrader.export import export_lessons

LESSONS, CELLS, ROUNDS = 12, 40, 3

HEADER = "---\njupyter:\n  kernelspec:\n    display_name: Python 3\n    language: python\n    name: python3\n---\n"
EXERCISE = '''```python
def answer_{n}(x, scale=2.0):
    """Scale x and keep what is positive."""
    # <COGINST>
    scaled_{n} = x * scale
    return scaled_{n}.clamp(min=0)
    # </COGINST>


value_{n} = 1 + {n}  # <COGLINE>
```
'''
DEMO = "```python\nprint(answer_{n}(torch.ones(3)))\n```\n"
PROSE = (
    "## Step {n}\n\nThree sentences of prose. They say what the next cell shows. They are about as long as a lesson's"
    " are.\n"
)


def synthetic_lesson(number: int) -> str:
    """Generate a lesson of CELLS cells: prose, an exercise, prose, a cell that needs the exercise, and so on."""
    cells = [f"# Lesson {number}\n\n", "```python\nimport torch\n```\n"]
    turns = (PROSE, EXERCISE, PROSE, DEMO)
    while len(cells) < CELLS:
        step, turn = divmod(len(cells) - 2, 4)
        cells.append(turns[turn].replace("{n}", str(step)))
    return HEADER + "\n" + "\n".join(cells)


def write_lessons(source: Path) -> list[Path]:
    """Write the lessons into a folder."""
    source.mkdir()
    paths = [source / f"{number:02}_made_up_{number}.md" for number in range(LESSONS)]
    for number, path in enumerate(paths):
        path.write_text(synthetic_lesson(number), encoding="utf-8")
    return paths


def rows() -> list[Row]:
    ours, plain, generated = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        pages = write_lessons(Path(folder, "solutions"))
        course = Path(folder, "nbgrader")
        export_lessons(course, source=pages[0].parent)
        (course / "nbgrader_config.py").unlink()
        for turn in range(ROUNDS):
            out = Path(folder, f"course{turn}")
            command = (sys.executable, "-m", "utils.cli", "build", "--source", pages[0].parent, "--out", out)
            ours.append(cpu_seconds(*command))
            plain.append(cpu_seconds(sys.executable, "-m", "jupytext", "--quiet", "--to", "ipynb", *pages))
            generated.append(time_nbgrader_command("generate_assignment", "--assignment=*", "--force", cwd=course))
            assert len(list(out.glob("*.ipynb"))) == len(list(course.glob("release/*/*.ipynb"))) == LESSONS
    what = f"building {LESSONS} lessons of {CELLS} cells"
    return [
        Row(what, ours, "s", "jupytext", plain, bar="1.5 s"),
        Row(what, ours, "s", "nbgrader's `generate_assignment`", generated, headline=True),
    ]
