"""The build of twelve lessons of forty cells, in one fresh process, its start included. The course asks for at most 1.5
s.

Beside it jupytext alone, which turns the same pages into notebooks and looks at nothing: no markers, no leaks, no
parsing.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LESSONS, CELLS, ROUNDS = 12, 40, 5
BAR = 1.5
ROOT = Path(__file__).resolve().parent.parent

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


def lesson(number: int) -> str:
    """A lesson of CELLS cells: by turns prose, an exercise, prose and a cell that needs it."""
    cells = [f"# Lesson {number}\n\n", "```python\nimport torch\n```\n"]
    turns = (PROSE, EXERCISE, PROSE, DEMO)
    while len(cells) < CELLS:
        step, turn = divmod(len(cells) - 2, 4)
        cells.append(turns[turn].replace("{n}", str(step)))
    return HEADER + "\n" + "\n".join(cells)


def seconds(*command: str) -> float:
    """How long one fresh process takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, taken, plain = Path(folder, "solutions"), [], []
        source.mkdir()
        for number in range(LESSONS):
            (source / f"{number:02}_made_up_{number}.md").write_text(lesson(number), encoding="utf-8")
        for round_ in range(ROUNDS):
            out = Path(folder, f"course{round_}")
            taken.append(seconds("utils.cli", "build", "--source", str(source), "--out", str(out)))
            plain.append(seconds("jupytext", "--quiet", "--to", "ipynb", *map(str, sorted(source.glob("*.md")))))
            assert len(list(out.glob("*.ipynb"))) == LESSONS
    print(
        f"{LESSONS} lessons of {CELLS} cells: {statistics.median(taken):.2f} s, slowest {max(taken):.2f} s (at most"
        f" {BAR}), of {ROUNDS} fresh processes"
    )
    ratio = statistics.median(taken) / statistics.median(plain)
    print(f"jupytext alone, on the same pages: {statistics.median(plain):.2f} s; the build takes {ratio:.2f} of that")


if __name__ == "__main__":
    main()
