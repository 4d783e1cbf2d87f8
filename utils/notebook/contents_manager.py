"""Keep JupyterLab from marking a notebook as unsaved as soon as `coginst lab` opens it."""

from __future__ import annotations

from typing import Any

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager


class CourseContentsManager(AsyncLargeFileManager):
    """Jupyter's contents manager, extended: it writes this Python's version into each notebook that it returns.

    JupyterLab writes this version, down to the patch release, into each notebook that it opens. If the file contains a
    different version, JupyterLab shows the notebook as unsaved. The learner's version of Python is not known when the
    course is released.
    """

    async def get(
        self, path: str, content: bool = True, type: Any = None, format: Any = None, require_hash: bool = False
    ) -> dict[str, Any]:
        model = await super().get(path, content, type, format, require_hash)
        if content and model["type"] == "notebook":
            metadata = model["content"]["metadata"]
            if metadata.get("kernelspec", {}).get("name") == "python3":
                metadata["language_info"] = dict(IPythonKernel.language_info)
        return model
