"""Measure and draw how softmax saturates on dot products of random vectors: the reason for 1/√d_k."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from utils.show.arguments import parse_integer
from utils.show.charts import chart_size, describe_lines, draw_lines, parse_series
from utils.show.picture import Picture, course_theme, finish_picture, new_axes, new_figure
from utils.show.sizes import BENCH


def entropy(weights: Float[Tensor, "... n"]) -> Float[Tensor, "..."]:
    """Return the entropy of weights in nats: 0 for one-hot weights, log n for uniform weights."""
    return torch.special.entr(weights).sum(-1)


def jacobian_norm(weights: Float[Tensor, "... n"]) -> Float[Tensor, "..."]:
    """Return the Frobenius norm of the softmax's Jacobian diag(w) − w wᵀ, given its output w."""
    squares = weights.pow(2).sum(-1)
    return (squares - 2 * weights.pow(3).sum(-1) + squares.pow(2)).clamp_min(0).sqrt()


def saturation_study(
    d_ks: Sequence[int] = (2, 8, 32, 128, 512), seq: int = 6, draws: int = 2000, seed: int = 0
) -> dict[str, Shaped[Tensor, "d_ks"]]:
    """Measure the softmax of dot products of random queries and keys, with and without the division by √d_k.

    For each d_k, sample `draws` queries [d_k]. For each query, sample `seq` keys [d_k]. All entries are standard
    normal. The scaled and the unscaled numbers use the same samples. The samples for one d_k do not depend on the other
    values in `d_ks`.

    Returns:
        A dict of float64 tensors [len(d_ks)]. Each name has the suffix "_unscaled" or "_scaled". `spread` is the
        standard deviation of all scores, `largest` is the mean of the largest weight in a row, `entropy` is the mean
        entropy of a row in nats, and `gradient` is the mean Frobenius norm of the softmax's Jacobian at a row. The dict
        also contains `d_k`, int64.

    Raises:
        ValueError: if `d_ks` is empty or a size is not a whole number of at least 1.
    """
    seq, draws = parse_integer(seq, "seq", 1), parse_integer(draws, "draws", 1)
    d_ks = [parse_integer(d_k, f"d_ks[{i}]", 1) for i, d_k in enumerate(d_ks)]
    if not d_ks:
        raise ValueError("d_ks is empty; expected at least one size.")
    rows: dict[str, list[float]] = {}
    for d_k in d_ks:
        generator = torch.Generator().manual_seed(seed)
        q = torch.randn(draws, 1, d_k, generator=generator, dtype=torch.float64)
        k = torch.randn(draws, seq, d_k, generator=generator, dtype=torch.float64)
        dots = (q * k).sum(-1)
        for how, scores in (("unscaled", dots), ("scaled", dots / d_k**0.5)):
            w = scores.softmax(-1)
            facts = {"largest": w.amax(-1).mean(), "entropy": entropy(w).mean(), "gradient": jacobian_norm(w).mean()}
            for fact, value in {"spread": scores.std(correction=0), **facts}.items():
                rows.setdefault(f"{fact}_{how}", []).append(value.item())
    measured = {name: torch.tensor(row, dtype=torch.float64) for name, row in rows.items()}
    return {"d_k": torch.tensor(d_ks), **measured}


@course_theme()
def saturation(
    d_ks: Sequence[int] = (2, 8, 32, 128, 512),
    scaled: Sequence[bool] = (False, True),
    seq: int = 6,
    draws: int = 2000,
    seed: int = 0,
    title: str | None = None,
) -> Picture:
    """Draw the results of `saturation_study` against d_k: the softmax's largest weight, entropy and gradient.

    Args:
        scaled: the lines to draw: for unscaled scores (False), for scores divided by √d_k (True), or for both.

    Raises:
        ValueError: if `scaled` is empty, `d_ks` does not increase, or a size is not a whole number of at least 1.
    """
    study = saturation_study(d_ks, seq, draws, seed)
    if (study["d_k"].diff() <= 0).any():
        raise ValueError("d_ks must increase from each number to the next.")
    lines_ = [{False: ("not scaled", "unscaled"), True: ("÷ √d_k", "scaled")}[bool(one)] for one in scaled]
    if not lines_:
        raise ValueError("scaled is empty; expected False, True or both.")
    uniform = torch.full((seq,), 1 / seq, dtype=torch.float64)
    panels = {
        "largest": ("largest weight", 1 / seq),
        "entropy": ("entropy, nats", entropy(uniform).item()),
        "gradient": ("size of the gradient", jacobian_norm(uniform).item()),
    }
    figure, words = new_figure(), []
    for k, (fact, (ylabel, at_uniform)) in enumerate(panels.items()):
        xs, ys = parse_series(study["d_k"], {label: study[f"{fact}_{how}"] for label, how in lines_}, logx=True)
        mark = ("uniform", at_uniform)
        axes = new_axes(figure, 2, 6 - 1.65 * k, *chart_size(ys, mark, 1.35))
        draw_lines(axes, xs, ys, "d_k" if k == 2 else "", ylabel, True, mark, bottom=0)
        axes.yaxis.set_label_coords(-0.42 / (BENCH * axes.get_position().width), 0.5)
        if k < 2:
            axes.tick_params(labelbottom=False)
        words.append(f"Mean {ylabel}.\n{describe_lines(xs, ys, 'd_k', mark)}")
    default = "Unscaled scores saturate the softmax as d_k grows"
    if len(lines_) > 1:
        default += "; scores divided by √d_k do not"
    elif scaled[0]:
        default = "With scores divided by √d_k, the softmax stays about the same at any d_k"
    head = f"Three charts against d_k for {seq} random keys per query."
    return finish_picture(figure, title, default, "\n".join([head, *words]))
