"""Keep JupyterLab from marking a lesson as unsaved as soon as it is opened, and from listing each lesson twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from utils.lessons import is_lesson_file


class CourseContentsManager(AsyncLargeFileManager):
    """Jupyter's contents manager with two differences, for lessons only.

    It writes this Python's version into each lesson that it returns. JupyterLab writes this version, down to the patch
    release, into each notebook that it opens. If the file contains a different version, JupyterLab shows the notebook
    as unsaved. The learner's version of Python is not known when the course is released.

    It lists only the notebook of a lesson, and not its text.
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


def _is_text_of_lesson(name: str, names: set[str]) -> bool:
    return name.endswith(".md") and f"{name[:-3]}.ipynb" in names and is_lesson_file(Path(name))
