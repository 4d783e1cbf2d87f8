"""Define the attention layers of the experiment, and the products of their weights.

A head's four matrices act only through two products. The scores are z_q · QK · zᵀ and the output is Σ weights · z · OV,
with QK = W_Qᵀ W_K / √D and OV = W_Vᵀ W_Oᵀ for weights [out, in] as in nn.Linear (Elhage et al., "A Mathematical
Framework for Transformer Circuits", 2021). The layers here compute with these products: the results are the
same, and the computation is much faster for tokens with 6 numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from utils.models.icl_regression.config import RegressionConfig
from utils.models.lesson_models import LessonModule

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")


class QueryLayer(nn.Module):
    """One layer with `n_head` heads. Questions attend only to the examples, not to questions.

    Each head is as wide as a token: the weights of `q_proj, k_proj, v_proj` are [heads · D, D], and the weights of
    `o_proj` are [n_out, heads · D].
    """

    def __init__(self, n_embd: int, n_head: int, n_out: int) -> None:
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(n_embd, n_embd * n_head, bias=False) for _ in range(3))
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def initialise(self, init: str, gain_qk: float, gain_ov: float) -> None:
        """Set the initial weights: nn.Linear's defaults multiplied by a gain, or small multiples of the identity."""
        eye, heads = torch.eye(self.n_embd), self.n_head
        with torch.no_grad():
            if init == "random":
                for name in PROJECTIONS:
                    getattr(self, name).weight.mul_(gain_qk if name in ("q_proj", "k_proj") else gain_ov)
                return
            size = 1e-4 if init == "small_id_qk" else 1e-6
            self.q_proj.weight.copy_(size * eye.repeat(heads, 1))
            self.k_proj.weight.copy_(size * eye.repeat(heads, 1))
            if init == "oppo_small_id":
                # Negate only the queries, because a second minus sign in the keys would cancel the first.
                self.q_proj.weight[heads // 2 * self.n_embd :].neg_()
            if init == "small_id":
                self.v_proj.weight.copy_(size * eye.repeat(heads, 1))
                if self.n_out == self.n_embd:
                    self.o_proj.weight.copy_(size * eye.repeat(1, heads))

    def forward(
        self,
        z_q: Float[Tensor, "n queries D"],
        z: Float[Tensor, "n L D"],
        allowed: Bool[Tensor, "queries L"] | None = None,
    ) -> Float[Tensor, "n queries n_out"]:
        """Return the output for each question. It is zero if `allowed` is False at every example for the question.

        Args:
            allowed: True at the examples that a question may attend to; None allows all.
        """
        qk, ov = _qk_ov_products(self)
        n, queries, D = z_q.shape
        queries_by_head = (z_q @ qk.permute(1, 0, 2).reshape(D, -1)).view(n, queries * self.n_head, D)
        scores = queries_by_head @ z.mT
        if allowed is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            rows = allowed.repeat_interleave(self.n_head, dim=0)
            weights = torch.softmax(scores.masked_fill(~rows, -1e9), dim=-1) * rows
        mixed = (weights @ z).view(n, queries, self.n_head * D)
        return mixed @ ov.reshape(self.n_head * D, self.n_out)


class Stack(nn.Module):
    """Several layers on one residual stream, and a linear map that computes the predictions for the questions.

    In each layer, the heads attend to the examples, and their output is added to every token. No token attends to a
    question.

    Args:
        weight_tying: True shares one set of weights between all layers.
        causal: True lets an example attend only to earlier examples, as in a language model. False lets it attend to
            all examples.
        writes: "token", or "y" if the layers may change only the last number of a token.
    """

    kept: Tensor

    def __init__(
        self, n_embd: int, n_head: int, n_layers: int, n_out: int, weight_tying: bool, causal: bool, writes: str
    ) -> None:
        super().__init__()
        layers = [QueryLayer(n_embd, n_head, n_embd) for _ in range(1 if weight_tying else n_layers)]
        self.layers = nn.ModuleList(layers * n_layers if weight_tying else layers)
        self.final_linear = nn.Linear(n_embd, n_out, bias=False)
        self.causal = causal
        written = torch.ones(n_embd) if writes == "token" else torch.eye(n_embd)[-1]
        self.register_buffer("kept", written, persistent=False)

    def streams(
        self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
    ) -> list[Float[Tensor, "n queries D"]]:
        """Return the residual stream of the questions before the first layer and after each layer."""
        L, streams = z.shape[1], [z_q]
        allowed = torch.ones(L, L, dtype=torch.bool, device=z.device).tril(-1) if self.causal else None
        for layer in self.layers:
            streams.append(streams[-1] + self.kept * layer(streams[-1], z))
            if len(streams) <= len(self.layers):
                z = z + self.kept * layer(z, z, allowed)
        return streams

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        return self.final_linear(self.streams(z_q, z)[-1])


def build_model(config: RegressionConfig) -> QueryLayer | Stack:
    """Build the untrained model for `config`, using its seed. The global random state does not change."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        if config.n_layers == 1:
            model = QueryLayer(config.d + 1, config.n_head, config.n_out)
        else:
            options = (config.weight_tying, config.causal, config.writes)
            model = Stack(config.d + 1, config.n_head, config.n_layers, config.n_out, *options)
        for module in model.modules():  # yields each layer once, even if the stack uses a layer several times
            if isinstance(module, QueryLayer):
                module.initialise(config.init, config.gain_qk, config.gain_ov)
    return model


def circuits(model: nn.Module) -> tuple[Float[Tensor, "layers heads D D"], list[Float[Tensor, "heads D n_out"]]]:
    """Return QK of all heads as one tensor, and OV of all heads as a list with one tensor for each layer.

    `model` is a `QueryLayer`, a `Stack`, or any module with the four projections of a `QueryLayer`. In a stack, the
    last layer's OV includes the final linear map.

    Raises:
        ValueError: the module has no such weights.
    """
    layers = list(getattr(model, "layers", [model]))
    with torch.no_grad():
        for layer in layers:
            _require_projections(layer)
        products = [_qk_ov_products(layer) for layer in layers]
        ov = [o for _, o in products]
        if isinstance(model, Stack):
            ov = [o * model.kept for o in ov]
            ov[-1] = ov[-1] @ model.final_linear.weight.mT
        return torch.stack([qk for qk, _ in products]), ov


def _require_projections(layer: LessonModule) -> None:
    missing = [name for name in PROJECTIONS if not isinstance(getattr(layer, name, None), nn.Linear)]
    if missing:
        raise ValueError(
            f"{type(layer).__name__} has no nn.Linear called {', '.join(missing)}; circuits() needs q_proj,"
            " k_proj, v_proj and o_proj."
        )
    rows, D = layer.q_proj.weight.shape
    if rows % D:
        raise ValueError(f"q_proj returns {rows} numbers for a token of {D}; each head must be as wide as a token.")


def _qk_ov_products(layer: LessonModule) -> tuple[Tensor, Tensor]:
    """Return QK [heads, D, D], which includes the scale 1/√D, and OV [heads, D, n_out]."""
    D = layer.q_proj.weight.shape[1]
    q, k, v = (p.weight.view(-1, D, D) for p in (layer.q_proj, layer.k_proj, layer.v_proj))
    o = layer.o_proj.weight.unflatten(1, (-1, D)).permute(1, 2, 0)
    return q.mT @ k * D**-0.5, v.mT @ o


@dataclass(frozen=True)
class HeadStatistics:
    """A head's w and μ, and how far its QK and OV differ from what w and μ describe.

    Attributes:
        layer, head: the position of the head in the model.
        w, w_variance: the mean and the variance of the diagonal in the x block of QK.
        qk_rest: the largest absolute value of the other entries in the x block of QK.
        mu: OV's entry from y to the first output, or to y in a stack's inner layers.
        ov_rest: the largest absolute value of the other entries in the same column of OV.
    """

    layer: int
    head: int
    w: float
    w_variance: float
    qk_rest: float
    mu: float
    ov_rest: float


def statistics(model: nn.Module) -> list[HeadStatistics]:
    """Compute `HeadStatistics` for every head."""
    qk, ov = circuits(model)
    d = qk.shape[-1] - 1
    head_statistics = []
    for layer, (qks, ovs) in enumerate(zip(qk, ov)):
        for head, (block, column) in enumerate(zip(qks[:, :d, :d], ovs[:, :, -1])):
            diagonal = block.diagonal()
            rest = (block - diagonal.diag()).abs().max() if d > 1 else torch.zeros(())
            values = diagonal.mean(), diagonal.var(correction=0), rest, column[-1], column[:-1].abs().max()
            head_statistics.append(HeadStatistics(layer, head, *(value.item() for value in values)))
    return head_statistics
