"""Define the configuration of a training run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from utils.training.loop import SCHEDULES

INITS = ("random", "small_id", "small_id_qk", "oppo_small_id")
WRITES = ("token", "y")
DEVICES = ("cpu", "cuda", "mps")
OPTIMISERS = {"SGD": torch.optim.SGD, "Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW}
WHOLE = (
    *("d", "n_head", "n_layers", "n_out", "batch_size", "queries"),
    *("log_every", "validate_every", "dynamics_every", "matrices_every", "L", "steps"),
)


def require_positive_integers(**values: object) -> None:
    """Check that all values are integers of at least 1.

    Raises:
        ValueError: a value is not an integer of at least 1.
    """
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}.")


@dataclass(frozen=True)
class RegressionConfig:
    """Everything that determines a run. The defaults train a layer with two heads in about five seconds.

    Args:
        d, L: the number of entries in x, and the number of examples in a prompt (`L=None` means 8 · d).
        n_head, n_layers, weight_tying, causal, writes, n_out: the model; `weight_tying`, `causal` and `writes` apply
            only to a stack (see `Stack`).
        init: "random" (the defaults of nn.Linear, with Q and K multiplied by `gain_qk`, and V and O by `gain_ov`),
            "small_id", "small_id_qk", "oppo_small_id".
        optimiser, optimiser_params: "SGD", "Adam" or "AdamW", and other arguments of its torch class, except the
            rate.
        lr_qk, lr_ov: the learning rate for Q and K, and the rate for all other parameters.
        schedule: "cosine", "constant" or "one_cycle".
        clip: the maximum norm of the gradient of all parameters; None does not clip.
        steps: None means 4,000, or 8,000 for more than two heads, which converge later.
        batch_size, queries: prompts in a batch, and questions about each prompt. Additional questions are cheap,
            because they share the examples.
        noise_std, scales: see `draw`.
        log_every, validate_every, dynamics_every, matrices_every: the number of steps between readings of the training
            loss, the loss on fixed prompts, w and μ for every head, and the complete QK and OV products, respectively.
        seed: the seed for the initial values and the data.
        device: None means a GPU if there is one, otherwise the CPU.

    Raises:
        ValueError: a value is invalid; the message says what is allowed.
    """

    d: int = 5
    L: int | None = None
    n_head: int = 2
    n_layers: int = 1
    weight_tying: bool = False
    causal: bool = False
    writes: str = "token"
    n_out: int = 1
    init: str = "random"
    gain_qk: float = 0.5
    gain_ov: float = 3.0
    optimiser: str = "Adam"
    optimiser_params: Mapping[str, Any] = field(default_factory=dict)
    lr_qk: float = 4e-3
    lr_ov: float = 4e-2
    schedule: str = "cosine"
    clip: float | None = None
    steps: int | None = None
    batch_size: int = 128
    queries: int = 8
    noise_std: float = 0.01
    scales: Sequence[float] | None = None
    log_every: int = 10
    validate_every: int = 500
    dynamics_every: int = 50
    matrices_every: int = 500
    seed: int = 0
    device: str | None = None

    def __post_init__(self) -> None:
        optional = {name for name in ("L", "steps") if getattr(self, name) is None}
        require_positive_integers(**{name: getattr(self, name) for name in WHOLE if name not in optional})
        if self.n_out != 1:
            raise ValueError(f"n_out must be 1, because y is one number; got {self.n_out}.")
        for name, known in (("init", INITS), ("optimiser", OPTIMISERS), ("schedule", SCHEDULES), ("writes", WRITES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}.")
        if self.init == "oppo_small_id" and self.n_head % 2:
            raise ValueError(
                "oppo_small_id initialises half of the heads with the opposite sign, so it needs an even n_head; got"
                f" {self.n_head}."
            )
        for name in ("lr_qk", "lr_ov", "gain_qk", "gain_ov"):
            if not (isinstance(getattr(self, name), (int, float)) and 0 < getattr(self, name) < math.inf):
                raise ValueError(f"{name} must be a positive, finite number; got {getattr(self, name)!r}.")
        if not (isinstance(self.noise_std, (int, float)) and 0 <= self.noise_std < math.inf):
            raise ValueError(f"noise_std must be a finite number and not negative; got {self.noise_std!r}.")
        if self.clip is not None and not (isinstance(self.clip, (int, float)) and self.clip > 0):
            raise ValueError(f"clip must be a positive number, or None for no clipping; got {self.clip!r}.")
        if not isinstance(self.seed, int):
            raise ValueError(f"seed must be a whole number; got {self.seed!r}.")
        if self.device is not None and str(self.device).partition(":")[0] not in DEVICES:
            raise ValueError(f"device must be None or one of {', '.join(DEVICES)}; got {self.device!r}.")

    @property
    def length(self) -> int:
        """The number of examples in a prompt."""
        return self.L if self.L is not None else 8 * self.d

    @property
    def total_steps(self) -> int:
        """The number of steps of the whole run."""
        return self.steps if self.steps is not None else 4000 if self.n_head <= 2 else 8000
