"""Keep the states of widgets in a saved notebook after its kernel has ended.

JupyterLab saves only the states of widgets that are connected to the running kernel. If a learner restarts the kernel,
or opens the notebook on another day, the next save would drop the states of all explorers that the outputs
still show.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

VIEW = "application/vnd.jupyter.widget-view+json"
STATES = "application/vnd.jupyter.widget-state+json"


def lost_widgets(notebook: Mapping[str, Any]) -> set[str]:
    """Return the ids of the widgets that appear in a notebook's outputs but have no saved state in the notebook.

    Raises:
        KeyError: JupyterLab saved no states in this notebook.
    """
    outputs = [output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", ())]
    return {data[VIEW]["model_id"] for data in outputs if VIEW in data} - widget_states(notebook).keys()


def keep_widget_states(notebook: Mapping[str, Any], earlier: Mapping[str, Any]) -> None:
    """Add the states of lost widgets to a notebook, if an earlier version of the notebook contains them.

    Raises:
        KeyError: JupyterLab saved no states in one of the notebooks.
    """
    states, old, wanted = widget_states(notebook), widget_states(earlier), lost_widgets(notebook)
    while wanted:
        name = wanted.pop()
        if name in old and name not in states:
            states[name] = old[name]
            wanted |= {*re.findall("IPY_MODEL_([0-9a-f]+)", json.dumps(old[name]))}  # its layout and its inner widgets


def widget_states(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """Return {widget id: state} for the widgets whose states are saved in a notebook.

    Raises:
        KeyError: JupyterLab saved no states in this notebook.
    """
    return notebook["metadata"]["widgets"][STATES]["state"]
