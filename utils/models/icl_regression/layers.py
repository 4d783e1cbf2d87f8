"""The attention layers of the experiment, and what their weights amount to.

A head's four matrices act only through two products. With the scores z_q · QK · zᵀ and the output Σ weights · z · OV,
QK = W_Qᵀ W_K / √D and OV = W_Vᵀ W_Oᵀ for weights [out, in] as nn.Linear keeps them (Elhage et al., "A Mathematical
Framework for Transformer Circuits", 2021). The layers here compute with these products, which is the same function
and, for a token of 6 numbers, much less work.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

INITS = ("random", "small_id", "small_id_qk", "oppo_small_id")
WRITES = ("token", "y")


class Layer(nn.Module):
    """Weights of `n_head` heads, each as wide as a token: `q_proj, k_proj, v_proj` [heads · D, D] and `o_proj` [n_out,
    heads · D]."""

    def __init__(self, n_embd: int, n_head: int, n_out: int) -> None:
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(n_embd, n_embd * n_head, bias=False))
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def initialise(self, init: str, gain_qk: float, gain_ov: float) -> None:
        """Start values: nn.Linear's own times a gain, or small multiples of the identity in every head."""
        eye, heads = torch.eye(self.n_embd), self.n_head
        with torch.no_grad():
            if init == "random":
                for proj, gain in (
                    (self.q_proj, gain_qk),
                    (self.k_proj, gain_qk),
                    (self.v_proj, gain_ov),
                    (self.o_proj, gain_ov),
                ):
                    proj.weight.mul_(gain)
                return
            size = 1e-4 if init == "small_id_qk" else 1e-6
            self.q_proj.weight.copy_(size * eye.repeat(heads, 1))
            self.k_proj.weight.copy_(size * eye.repeat(heads, 1))
            if init == "oppo_small_id":  # the sign on the queries alone: on both it would cancel
                self.q_proj.weight[heads // 2 * self.n_embd :].neg_()
            if init == "small_id":
                self.v_proj.weight.copy_(size * eye.repeat(heads, 1))
                if self.n_out == self.n_embd:
                    self.o_proj.weight.copy_(size * eye.repeat(1, heads))

    def qk_ov_products(self) -> tuple[Tensor, Tensor]:
        """QK [heads, D, D] with the scale 1/√D in it, and OV [heads, D, n_out]."""
        q, k, v = (
            p.weight.view(self.n_head, self.n_embd, self.n_embd) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        o = self.o_proj.weight.view(self.n_out, self.n_head, self.n_embd).permute(1, 2, 0)
        return q.mT @ k * self.n_embd**-0.5, v.mT @ o


class QueryLayer(Layer):
    """One layer whose questions look at the examples, and not at themselves: (z_q, z) to [n, queries, n_out].

    `allowed` [queries, L] says which examples a question may look at; one that may look at none gets zeros.
    """

    def forward(self, z_q: Tensor, z: Tensor, allowed: Tensor | None = None) -> Tensor:
        qk, ov = self.qk_ov_products()
        n, queries, D = z_q.shape
        asked = (z_q @ qk.permute(1, 0, 2).reshape(D, -1)).view(n, queries * self.n_head, D)
        scores = asked @ z.mT
        if allowed is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            rows = allowed.repeat_interleave(self.n_head, dim=0)
            weights = torch.softmax(scores.masked_fill(~rows, -1e9), dim=-1) * rows
        seen = (weights @ z).view(n, queries, self.n_head * D)
        return seen @ ov.reshape(self.n_head * D, self.n_out)


class Stack(nn.Module):
    """Several layers on one residual stream, and a linear map that reads the question's place: (z_q, z) to [n, queries,
    n_out].

    Each layer adds to every token what its heads bring from the examples. Nobody looks at a question.

    Args:
        weight_tying: all layers share one set of weights.
        causal: an example looks only at those before it, as in a language model; otherwise at all of them.
        writes: "token", or "y" for layers that may change a token's last number alone.
    """

    def __init__(
        self, n_embd: int, n_head: int, n_layers: int, n_out: int, weight_tying: bool, causal: bool, writes: str
    ) -> None:
        super().__init__()
        made = [QueryLayer(n_embd, n_head, n_embd) for _ in range(1 if weight_tying else n_layers)]
        self.layers = nn.ModuleList(made * n_layers if weight_tying else made)
        self.final_linear = nn.Linear(n_embd, n_out, bias=False)
        self.causal = causal
        kept = torch.ones(n_embd) if writes == "token" else torch.eye(n_embd)[-1]
        self.register_buffer("kept", kept, persistent=False)

    def initialise(self, init: str, gain_qk: float, gain_ov: float) -> None:
        for layer in set(self.layers):
            layer.initialise(init, gain_qk, gain_ov)

    def streams(self, z_q: Tensor, z: Tensor) -> list[Tensor]:
        """The questions' stream before the first layer and after each, [n, queries, D]."""
        L, found = z.shape[1], [z_q]
        allowed = torch.ones(L, L, dtype=torch.bool, device=z.device).tril(-1) if self.causal else None
        for layer in self.layers:
            found.append(found[-1] + self.kept * layer(found[-1], z))
            if len(found) <= len(self.layers):
                z = z + self.kept * layer(z, z, allowed)
        return found

    def forward(self, z_q: Tensor, z: Tensor) -> Tensor:
        return self.final_linear(self.streams(z_q, z)[-1])


def build_model(config) -> nn.Module:
    """The untrained model of a `RegressionConfig`, drawn from its seed; the global random numbers stay as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        if config.n_layers == 1:
            model = QueryLayer(config.d + 1, config.n_head, config.n_out)
        else:
            how = (config.weight_tying, config.causal, config.writes)
            model = Stack(config.d + 1, config.n_head, config.n_layers, config.n_out, *how)
        model.initialise(config.init, config.gain_qk, config.gain_ov)
    return model


def circuits(model: nn.Module) -> tuple[Tensor, list[Tensor]]:
    """Every head's two products: QK [layers, heads, D, D], and for each layer OV [heads, D, out].

    `model` is one of ours, or any module with `q_proj, k_proj, v_proj, o_proj` as `Layer` has them. In a stack the last
    layer's OV includes the final linear map.

    Raises:
        ValueError: the module has no such weights.
    """
    layers = list(getattr(model, "layers", [model]))
    with torch.no_grad():
        made = [_layer_products(layer) for layer in layers]
        ov = [o for _, o in made]
        if hasattr(model, "final_linear"):
            ov = [o * model.kept for o in ov]
            ov[-1] = ov[-1] @ model.final_linear.weight.mT
        return torch.stack([qk for qk, _ in made]), ov


def _layer_products(layer: nn.Module) -> tuple[Tensor, Tensor]:
    missing = [
        name
        for name in ("q_proj", "k_proj", "v_proj", "o_proj")
        if not isinstance(getattr(layer, name, None), nn.Linear)
    ]
    if missing:
        raise ValueError(
            f"{type(layer).__name__} has no nn.Linear called {', '.join(missing)}; circuits are read from q_proj,"
            " k_proj, v_proj and o_proj."
        )
    rows, D = layer.q_proj.weight.shape
    if rows % D:
        raise ValueError(f"q_proj gives {rows} numbers for a token of {D}; each head has to be as wide as a token.")
    same = Layer.__new__(Layer)
    nn.Module.__init__(same)
    same.n_embd, same.n_head, same.n_out = D, rows // D, layer.o_proj.weight.shape[0]
    same.q_proj, same.k_proj, same.v_proj, same.o_proj = layer.q_proj, layer.k_proj, layer.v_proj, layer.o_proj
    return same.qk_ov_products()


@dataclass(frozen=True)
class HeadStatistics:
    """How close a head is to "w times the identity on x, and μ times y": its two numbers and the largest of all
    others."""

    layer: int
    head: int
    w: float
    w_variance: float
    qk_rest: float
    mu: float
    ov_rest: float


def statistics(model: nn.Module) -> list[HeadStatistics]:
    """For each head: the mean w and the variance of QK's diagonal on x, the largest other entry of the x block,
    μ (OV's entry from y to the first output, or in a stack's inner layers from y to y), and the largest of OV's other
    entries.
    """
    qk, ov = circuits(model)
    d = qk.shape[-1] - 1
    found = []
    for layer, (qks, ovs) in enumerate(zip(qk, ov)):
        for head, (block, column) in enumerate(zip(qks[:, :d, :d], ovs[:, :, -1])):
            diagonal = block.diagonal()
            rest = (block - diagonal.diag()).abs().max().item() if d > 1 else 0.0
            found.append(
                HeadStatistics(
                    layer,
                    head,
                    diagonal.mean().item(),
                    diagonal.var(correction=0).item(),
                    rest,
                    column[-1].item(),
                    column[:-1].abs().max().item(),
                )
            )
    return found
