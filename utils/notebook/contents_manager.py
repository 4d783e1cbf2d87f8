"""Change how JupyterLab opens, lists and saves lessons.

Without this module, JupyterLab marks a lesson as unsaved as soon as it is opened, lists each lesson twice, and can save
a lesson without its widgets.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from utils.lessons import is_lesson_file
from utils.notebook.widget_states import keep_widget_states, lost_widgets


class CourseContentsManager(AsyncLargeFileManager):
    """Jupyter's contents manager with three differences, for lessons only.

    It writes the version of the running Python into each lesson that it returns. JupyterLab writes this version, down
    to the patch release, into each notebook that it opens. If the file contains a different version, JupyterLab shows
    the notebook as unsaved. The learner's version of Python is not known when the course is released.

    It lists only the notebook of a lesson, not its .md file.

    When JupyterLab saves a lesson, this manager keeps widget states that JupyterLab would remove.
    """

    async def get(
        self, path: str, content: bool = True, type: Any = None, format: Any = None, require_hash: bool = False
    ) -> dict[str, Any]:
        model = await super().get(path, content, type, format, require_hash)
        if content and model["type"] == "notebook" and is_lesson_file(Path(model["path"])):
            metadata = model["content"]["metadata"]
            is_pair = metadata.get("jupytext", {}).get("formats") == "ipynb,md"
            if is_pair and metadata.get("kernelspec", {}).get("name") == "python3":
                metadata["language_info"] = dict(IPythonKernel.language_info)
        elif content and model["type"] == "directory":
            names = {entry["name"] for entry in model["content"]}
            model["content"] = [entry for entry in model["content"] if not _is_text_of_lesson(entry["name"], names)]
        return model

    async def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        if model.get("type") == "notebook" and is_lesson_file(Path(path)):
            with contextlib.suppress(Exception):  # without a readable earlier version, there are no states to keep
                if lost_widgets(model["content"]):
                    earlier = Path(self._get_os_path(path)).read_text(encoding="utf-8")
                    keep_widget_states(model["content"], json.loads(earlier))
        return await super().save(model, path)


def _is_text_of_lesson(name: str, names: set[str]) -> bool:
    return name.endswith(".md") and f"{name[:-3]}.ipynb" in names and is_lesson_file(Path(name))
