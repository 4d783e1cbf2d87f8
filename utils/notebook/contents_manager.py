"""How `coginst lab` reads notebooks: as the Jupyter here would save them, so that to open one is not to edit it."""

from __future__ import annotations

from typing import Any

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager


class CourseContentsManager(AsyncLargeFileManager):
    """Jupyter's own contents manager. A notebook that it hands out names the Python that will run it.

    JupyterLab writes that into each notebook that it opens, down to the patch release, and shows the page as unsaved
    where it said something else. A course that is handed out cannot know it.
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
