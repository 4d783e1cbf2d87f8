"""Configure Jupyter for the course, in an environment that is dedicated to the course.

Jupyter and IPython read their configuration from the folder `etc` of the environment. `utils/assets/etc` has the same
structure:

- `jupyter_server_config.json`: the contents manager hides the .md files of lessons, and never changes a lesson that
  is only opened. The extension manager is read-only; otherwise, it would contact a registry at every start. JupyterLab
  starts no language servers. For each open lesson, a type checker would read all of torch; this takes minutes and
  1.7 GB.
- `labconfig/default_setting_overrides.json` opens a .md lesson as a notebook and disables news.
- `labconfig/page_config.json` removes the buttons for Notebook 7.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from utils.lessons import ROOT, write_atomically

SETTINGS = ROOT / "utils" / "assets" / "etc"
# Each kernel runs this file before its first cell. The file prepares the kernels of lessons, and no other kernels.
# Without this log level, each kernel warns in the terminal that its local connection is not encrypted.
STARTUP = {"IPKernelApp": {"exec_files": [str(ROOT / "utils" / "notebook" / "startup.py")], "log_level": "ERROR"}}
KERNEL_CONFIG = "ipython/ipython_kernel_config.json"


def configure(prefix: Path = Path(sys.prefix)) -> list[Path]:
    """Add the course's settings to the configuration of this environment. Return the files that contain them.

    Other settings in these files stay as they are.

    Raises:
        ValueError: an existing file of the environment contains no settings.
        OSError: a file cannot be read or written.
    """
    changed = {prefix / "etc" / name: _merge(_read(prefix / "etc" / name), new) for name, new in _settings().items()}
    for path, content in changed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(content, indent=2) + "\n")
    return list(changed)


def is_configured(prefix: Path = Path(sys.prefix)) -> bool:
    """Tell whether the configuration of this environment contains the course's settings."""
    files = {prefix / "etc" / name: new for name, new in _settings().items()}
    try:
        return all(_merge(old := _read(path), new) == old for path, new in files.items())
    except (ValueError, OSError):
        return False


def _settings() -> dict[str, dict[str, Any]]:
    """Return the settings as a dict that maps each file name (in the folder `etc`) to the file's content."""
    files = {path.relative_to(SETTINGS).as_posix(): _read(path) for path in sorted(SETTINGS.rglob("*.json"))}
    return files | {KERNEL_CONFIG: STARTUP}


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise ValueError(f"{path} contains no settings in JSON. Repair or remove it, then run coginst configure again.")
    return content


def _merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the old settings, updated with the new ones. Nested tables are updated in the same way."""
    merged = {
        name: _merge(old[name], value) if isinstance(old.get(name), dict) else value for name, value in new.items()
    }
    return old | merged
