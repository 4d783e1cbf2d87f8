"""Prepare the kernel of a lesson before its first cell runs.

In an environment that `coginst configure` has set up, every kernel runs this file in the namespace of its notebook.
Notebooks that are not lessons must not be affected, so the file imports `utils` only for a lesson.
"""


def _prepare_lesson() -> None:
    import importlib
    import os
    import re
    import sys
    from pathlib import Path

    root = Path(__file__).resolve().parents[2]
    notebook = Path(os.environ.get("JPY_SESSION_NAME", ""))  # set by Jupyter to the path of the kernel's notebook
    name = re.fullmatch(r"\d\d_(\w+)\.(?:ipynb|md)", notebook.name)
    if not name or not (root / "utils" / "checks" / f"{name[1]}.py").is_file() or not notebook.is_file():
        return
    if not re.search(r'"?formats"?: "?ipynb,md', notebook.read_text(encoding="utf-8", errors="replace")):
        return  # another project's notebook with the same name
    sys.path.insert(0, str(root))  # `utils` is a common name, so the course's package must come first
    for variable, first in (("PYTHONPATH", root), ("PATH", Path(sys.executable).parent)):  # for `!python` and `!pip`
        os.environ[variable] = os.pathsep.join(filter(None, [str(first), os.environ.get(variable)]))
    # The tensors in the lessons are tiny. On a busy machine, OpenMP's threads spin while they wait for each other, so
    # 300 training steps in lesson 03 take 10 s instead of less than 1 s. With the passive policy, they sleep instead.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    importlib.import_module("utils.notebook.exception_hooks")  # importing `utils` registers the exception hook


_prepare_lesson()
del _prepare_lesson
