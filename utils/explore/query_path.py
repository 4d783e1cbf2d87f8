"""Provide an explorer for one query: its scores with all keys, the weights, and the weighted sum of the values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_names, parse_numbers, parse_position, shape_text
from utils.show.widget import Widget, make_widget

MOST = 8  # the labels of more tokens would not fit into the pictures
EXAMPLE = {  # the example of lesson 03, with matrices rounded to four decimals
    "inputs": [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ],
    "tokens": ["Your", "journey", "starts", "with", "one", "step"],
    "W_query": [[0.2961, 0.5166], [0.2517, 0.6886], [0.0740, 0.8665]],
    "W_key": [[0.1366, 0.1025], [0.1841, 0.7264], [0.3153, 0.6871]],
    "W_value": [[0.0756, 0.1966], [0.3164, 0.4017], [0.1186, 0.8274]],
}


def query(
    inputs: Any = None,
    tokens: Sequence[str] | None = None,
    query: int | str = 1,
    W_query: Any = None,
    W_key: Any = None,
    W_value: Any = None,
) -> Widget:
    """Show one query with its scores, its weights and its weighted sum of values. Learners drag the query.

    Without arguments, it shows the example of lesson 03. The static version is
    `show.steps(inputs, tokens, query, W_query, W_key, W_value)`.

    Args:
        inputs: [seq, d_in], seq from 2 to 8.
        tokens: seq strings.
        query: the initial query token: its index, or its text if it occurs only once.
        W_query, W_key, W_value: [d_in, 2] each, so that queries, keys and values can be drawn in a plane. For an
            `nn.Linear`, pass `.weight.T`.

    Returns:
        A widget whose `state` has `asks`, the index of the query token; `x` and `y`, the coordinates of the query;
        and `scaled`, whether scores are divided by √d_k.

    Raises:
        ValueError: an argument is missing or cannot be drawn.
    """
    arguments = {"inputs": inputs, "tokens": tokens, "W_query": W_query, "W_key": W_key, "W_value": W_value}
    missing = [name for name, part in arguments.items() if part is None]
    if 0 < len(missing) < len(arguments):
        raise ValueError(f"missing: {', '.join(missing)}. Pass inputs, tokens and the three matrices, or none of them.")
    if missing:
        arguments = EXAMPLE
    x = parse_numbers(arguments["inputs"], "inputs", [2], "one vector in each row, [seq, d_in]")
    if not 2 <= len(x) <= MOST:
        raise ValueError(f"query draws 2 to {MOST} tokens; got {len(x)}. To draw a part of them, pass inputs[:{MOST}].")
    names = parse_names(arguments["tokens"], len(x), "tokens", "inputs (rows)")
    at = parse_position(query, names)
    vectors = {name: x @ _matrix(arguments[f"W_{one}"], f"W_{one}", x.shape[1]) for name, one in _MATRICES.items()}
    reach = _reach(np.vstack([vectors["queries"], vectors["keys"]]))
    words = (
        "Explorer: one query and its result. Choose a token and drag its query: the scores with all keys, the weights"
        " and the mix of the values follow."
    )
    start = {"tokens": names, "reach": reach, **{name: rows.tolist() for name, rows in vectors.items()}}
    asks = vectors["queries"][at].tolist()
    return make_widget(__file__, words, start, {"asks": at, "x": asks[0], "y": asks[1], "scaled": True})


_MATRICES = {"queries": "query", "keys": "key", "values": "value"}


def _matrix(values: Any, name: str, d_in: int) -> np.ndarray:
    matrix = parse_numbers(values, name, [2], f"[d_in, 2], here [{d_in}, 2]")
    if matrix.shape == (d_in, 2):
        return matrix
    cure = " For an nn.Linear, pass .weight.T." if matrix.shape == (2, d_in) else ""
    raise ValueError(f"{name} has shape {shape_text(matrix)}, expected [{d_in}, 2] for a plane.{cure}")


def _reach(points: np.ndarray) -> float:
    """Return how far the query can be dragged: twice the largest coordinate, rounded up to one significant digit."""
    far = 2 * float(np.abs(points).max())
    if far == 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(far))
    return math.ceil(far / unit) * unit
