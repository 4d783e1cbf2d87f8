"""Write a course with one lesson into a git repository of its own, for tests of releases."""

import shutil
import subprocess

from tests.lesson_files import HEADER
from utils.lessons import ROOT

SECRET = '''\
def turn(rows, step):
    """Each row moved on."""
    # <COGINST>
    turned_rows = [rows[step:] for _ in rows]
    while len(turned_rows) > step + 1:
        turned_rows.append(rows[step] + rows[0])
        step = step + len(rows) // 2
    return turned_rows[step] + rows[:step]
    # </COGINST>
'''


def git(root, *arguments):
    """Run git in `root`, and return its output."""
    command = ["git", "-C", root, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def write_small_course(root):
    """Write the course into the folder `root`, and return the folder."""
    (root / "utils").mkdir(parents=True)
    (root / "solutions").mkdir()
    for name in ("LICENSE", "environment.yml", "postBuild", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, root)
    (root / "README.md").write_text(
        "# T\n\n<!-- for students too -->\n| 04 | x |\n<!-- until here -->\n", encoding="utf-8"
    )
    (root / "utils" / "__init__.py").write_text("", encoding="utf-8")
    (root / "solutions" / "__init__.py").write_text("", encoding="utf-8")
    body = (
        f"# T\n\n<COGNOTE>\nAsk *Ada* first.\n</COGNOTE>\n\n```python\n{SECRET}```\n\nWhat `<COGINST>`"
        " is.\n\n```python\n# <COGNOTE>\nkey = 1\n# </COGNOTE>\nx = 2  # <COGLINE>\n```\n"
    )
    (root / "solutions" / "04_turn.md").write_text(HEADER + body, encoding="utf-8")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    return root
