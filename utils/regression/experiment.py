"""A training run: its configuration, what it saw, and how it is kept."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Mapping

import torch
from torch import Tensor, nn

from utils.regression.data import Prompts, Supply, draw
from utils.regression.evaluation import mean_squared_error
from utils.regression.layers import INITS, build, circuits
from utils.train import SCHEDULES
from utils.train import train as descend

OPTIMISERS = {"SGD": torch.optim.SGD, "Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW}
VALIDATION_SEED = 7_654_321
ASSETS = Path(__file__).resolve().parent.parent / "assets" / "regression"


@dataclass(frozen=True)
class RegressionConfig:
    """Everything that a run depends on. The defaults train a layer of two heads in about five seconds.

    Args:
        d, L: entries of x, and examples in a prompt (None: 8 · d).
        n_head, n_layers, weight_tying, n_out: the model.
        init: "random" (nn.Linear's own, Q and K times `gain_qk`, V and O times `gain_ov`), "small_id", "small_id_qk", "oppo_small_id".
        optimiser, optimiser_params: "SGD", "Adam" or "AdamW", and what its torch class takes besides the rate.
        lr_qk, lr_ov: the rate of Q and K, and of everything else.
        schedule: "cosine", "constant" or "one_cycle".
        steps: None is 4,000, and 8,000 for more than two heads, whose shares settle late.
        batch_size, queries: prompts in a batch, and questions asked of each. Questions are cheap: they share the examples.
        noise_std: see `draw`.
        log_every, validate_every, dynamics_every, matrices_every: steps between readings of the training loss, of the loss on
            fixed prompts, of every head's w and μ, and of whole QK and OV products.
        seed: of the start values and of the data.
        device: None is a GPU where there is one.

    Raises:
        ValueError: a value that cannot be, with what it could be.
    """

    d: int = 5
    L: int | None = None
    n_head: int = 2
    n_layers: int = 1
    weight_tying: bool = False
    n_out: int = 1
    init: str = "random"
    gain_qk: float = 0.5
    gain_ov: float = 3.0
    optimiser: str = "Adam"
    optimiser_params: Mapping[str, Any] = field(default_factory=dict)
    lr_qk: float = 4e-3
    lr_ov: float = 4e-2
    schedule: str = "cosine"
    steps: int | None = None
    batch_size: int = 128
    queries: int = 8
    noise_std: float = 0.01
    log_every: int = 10
    validate_every: int = 500
    dynamics_every: int = 50
    matrices_every: int = 500
    seed: int = 0
    device: str | None = None

    def __post_init__(self) -> None:
        for name in ("d", "n_head", "n_layers", "n_out", "batch_size", "queries", "log_every", "validate_every", "dynamics_every", "matrices_every"):
            _whole(name, getattr(self, name))
        for name in ("L", "steps"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name))
        if self.n_out != 1:
            raise ValueError(f"n_out must be 1, because y is one number; got {self.n_out}.")
        for name, known in (("init", INITS), ("optimiser", OPTIMISERS), ("schedule", SCHEDULES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}.")
        if self.init == "oppo_small_id" and self.n_head % 2:
            raise ValueError(f"oppo_small_id starts half of the heads with the opposite sign, so it needs an even n_head; got {self.n_head}.")
        for name in ("lr_qk", "lr_ov", "gain_qk", "gain_ov"):
            if not (isinstance(getattr(self, name), (int, float)) and 0 < getattr(self, name) < math.inf):
                raise ValueError(f"{name} must be a positive number; got {getattr(self, name)!r}.")
        if not (isinstance(self.noise_std, (int, float)) and 0 <= self.noise_std < math.inf):
            raise ValueError(f"noise_std must be a number and not negative; got {self.noise_std!r}.")

    @property
    def length(self) -> int:
        """Examples in a prompt."""
        return self.L if self.L is not None else 8 * self.d

    @property
    def total_steps(self) -> int:
        """Steps of the whole run."""
        return self.steps if self.steps is not None else 4000 if self.n_head <= 2 else 8000


def _whole(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}.")


@dataclass
class Run:
    """A trained model and what was read on the way; all readings were taken before the step that they name.

    `w` and `mu` are [readings, layers, heads]; `qk` is [readings, layers, heads, D, D] and `ov` the OV products' last column,
    [readings, layers, heads, D]. The last reading of each is that of the finished model, at step `done`.
    """

    config: RegressionConfig
    model: nn.Module
    done: int = 0
    interrupted: bool = False
    seconds: float = 0.0
    loss_steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    validation_steps: list[int] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)
    dynamics_steps: list[int] = field(default_factory=list)
    w: Tensor = field(default_factory=lambda: torch.zeros(0))
    mu: Tensor = field(default_factory=lambda: torch.zeros(0))
    matrix_steps: list[int] = field(default_factory=list)
    qk: Tensor = field(default_factory=lambda: torch.zeros(0))
    ov: Tensor = field(default_factory=lambda: torch.zeros(0))
    optimiser_state: dict | None = field(default=None, repr=False)

    _LISTS = ("loss_steps", "losses", "validation_steps", "validation_losses", "dynamics_steps", "matrix_steps")
    _TENSORS = ("w", "mu", "qk", "ov")

    @property
    def finished(self) -> bool:
        """Whether all steps of the configuration are done."""
        return self.done >= self.config.total_steps

    def resume(self, progress: bool = True) -> "Run":
        """The same run, taken up where it stopped and brought to its end; it ends as if it had never stopped."""
        return self if self.finished else _advance(self, progress)

    def save(self, path: str | Path) -> Path:
        """Weights, readings and the optimiser's state as tensors, the rest as JSON in the same `.safetensors` file; nothing is pickled.

        The file appears whole or not at all.
        """
        from safetensors.torch import save_file

        path = Path(path).with_suffix(".safetensors")
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"read.{name}": getattr(self, name) for name in self._TENSORS}
        for index, values in (self.optimiser_state or {}).items():
            tensors |= {f"optimiser.{index}.{name}": torch.as_tensor(value) for name, value in values.items()}
        about = {name: getattr(self, name) for name in ("done", "interrupted", "seconds", *self._LISTS)}
        about |= {"config": asdict(self.config), "model": type(self.model).__name__}
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.partial-{os.getpid()}")
        try:
            save_file({name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}, partial, metadata={"run": json.dumps(about)})
            partial.chmod(0o644)  # safetensors makes files for their owner alone
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        return path

    @classmethod
    def load(cls, path: str | Path, model: nn.Module | None = None) -> "Run":
        """A saved run. A module of one's own is built first and handed in as `model`; it is filled with the saved weights.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is no saved run, is cut short, or does not fit the module.
        """
        from safetensors import SafetensorError, safe_open

        path = Path(path).with_suffix(".safetensors")
        if not path.is_file():
            raise FileNotFoundError(f"There is no run at {path}. Run.save(path) writes one.")
        try:
            with safe_open(path, "pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}
                about = json.loads((file.metadata() or {})["run"])
            config = RegressionConfig(**about.pop("config"))
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is not a whole run file ({error}). Was it cut short while it was copied? Train again, or save it again.") from None
        ours = model is None
        model = build(config) if ours else model
        weights = {name[len("model."):]: t for name, t in tensors.items() if name.startswith("model.")}
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            made = f" It holds the weights of a {about['model']}: build one and hand it in as Run.load(path, model=...)." if ours else ""
            raise ValueError(f"{path} does not fit {type(model).__name__}.{made} ({error})") from None
        state: dict[int, dict] = {}
        for name, value in tensors.items():
            if name.startswith("optimiser."):
                _, index, key = name.split(".", 2)
                state.setdefault(int(index), {})[key] = value
        about.pop("model")
        run = cls(config, model, **about, **{name: tensors[f"read.{name}"] for name in cls._TENSORS})
        run.optimiser_state = state or None
        return run


def stored(n_head: int, seed: int = 0) -> Run:
    """A run that ships with the course: 1, 2, 4 or 8 heads, seeds 0 to 2, all else as `RegressionConfig` has it.

    Made by `python bench/regression.py --write`.
    """
    path = ASSETS / f"heads-{n_head}-seed-{seed}.safetensors"
    if not path.is_file():
        there = sorted(p.stem for p in ASSETS.glob("*.safetensors"))
        raise ValueError(f"There is no stored run of {n_head} heads with seed {seed}; there are {', '.join(there) or 'none'}.")
    return Run.load(path)


def train(config: RegressionConfig, model: nn.Module | None = None, progress: bool = True) -> Run:
    """Train a layer on regression prompts, each step on new ones.

    Args:
        model: any module called as `model(z_q, z)` that gives [n, queries, 1]; None is the one that the configuration describes.
            It is trained in place, from the start values it has. Heads are read from `q_proj, k_proj, v_proj, o_proj` where it has them.
        progress: False for silence.

    Ctrl-C ends the run after what is done, and `Run.resume` takes it up again.
    """
    return _advance(Run(config, build(config) if model is None else model), progress)


def _advance(run: Run, progress: bool) -> Run:
    config, model = run.config, run.model
    device = torch.device(config.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    model.to(device).train()
    supply, optimiser = Supply(config, device), _optimiser(config, model, device)
    if run.optimiser_state:
        held = optimiser.state_dict()
        optimiser.load_state_dict({"state": run.optimiser_state, "param_groups": held["param_groups"]})
    log = _Log(run, device)

    def before(step: int) -> None:
        supply.ready(step)
        log.read(step)

    def step_loss(step: int) -> Tensor:
        z_q, z, y_q = supply.deal()
        return (model(z_q, z) - y_q).square().mean()  # of one shape: the first reading of the validation loss has looked

    history = descend(
        step_loss, optimiser, config.total_steps, SCHEDULES[config.schedule], log_every=config.log_every, progress=progress,
        title=f"{config.n_head} head{'s' * (config.n_head > 1)}", first=run.done, before=before, graph=device.type == "cuda",
    )
    run.loss_steps += history.steps
    run.losses += history.losses
    run.done, run.interrupted, run.seconds = history.done, history.interrupted, run.seconds + history.seconds
    run.optimiser_state = optimiser.state_dict()["state"]
    model.to("cpu").eval()
    log.close()
    return run


def _optimiser(config: RegressionConfig, model: nn.Module, device: torch.device) -> torch.optim.Optimizer:
    """Queries and keys at their own rate, ten times lower by default: a score is a product of both, and goes into an exponential."""
    qk = [p for name, p in model.named_parameters() if "q_proj" in name or "k_proj" in name]
    rest = [p for name, p in model.named_parameters() if not ("q_proj" in name or "k_proj" in name)]
    captured = device.type == "cuda"
    groups = [{"params": params, "lr": torch.tensor(lr, device=device) if captured else lr} for params, lr in ((qk, config.lr_qk), (rest, config.lr_ov)) if params]
    # Fused: one kernel for all weights; and on a GPU the only SGD that reads its rate from a tensor, as a recorded step must.
    options = {"fused": True} | ({} if config.optimiser == "SGD" else {"capturable": captured}) | dict(config.optimiser_params)
    try:
        return OPTIMISERS[config.optimiser](groups, **options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"optimiser_params={dict(config.optimiser_params)!r} does not suit {config.optimiser}: {error}") from None


class _Log:
    """Readings on the way: the loss on fixed prompts, every head's two numbers, and whole products."""

    def __init__(self, run: Run, device: torch.device) -> None:
        self.run, self.config = run, run.config
        c = self.config
        self.fixed = draw(2000, c.length, c.d, c.noise_std, generator=torch.Generator().manual_seed(VALIDATION_SEED)).to(device)
        self.heads = all(hasattr(layer, "q_proj") for layer in getattr(run.model, "layers", [run.model]))
        self.dynamics = [*zip(run.w, run.mu)]
        self.matrices = [*zip(run.qk, run.ov)]

    def read(self, step: int) -> None:
        run, c = self.run, self.config
        if step % c.validate_every == 0 and (not run.validation_steps or run.validation_steps[-1] < step):
            run.validation_steps.append(step)
            run.validation_losses.append(mean_squared_error(run.model, self.fixed))
        if not self.heads:
            return
        if step % c.dynamics_every == 0 and (not run.dynamics_steps or run.dynamics_steps[-1] < step):
            run.dynamics_steps.append(step)
            qk, ov = self._products()
            self.dynamics.append((qk.diagonal(dim1=-2, dim2=-1)[..., :-1].mean(-1), ov[..., -1]))
        if step % c.matrices_every == 0 and (not run.matrix_steps or run.matrix_steps[-1] < step):
            run.matrix_steps.append(step)
            self.matrices.append(self._products())

    def _products(self) -> tuple[Tensor, Tensor]:
        qk, ov = circuits(self.run.model)
        return qk.cpu(), torch.stack([o[..., -1] for o in ov]).cpu()

    def close(self) -> None:
        """The state at the end is a reading too, once the run has come to it."""
        run = self.run
        if run.finished:
            run.validation_steps.append(run.done)
            run.validation_losses.append(mean_squared_error(run.model, Prompts(*(t.cpu() for t in self.fixed))))
            if self.heads:
                qk, ov = self._products()
                run.dynamics_steps.append(run.done)
                self.dynamics.append((qk.diagonal(dim1=-2, dim2=-1)[..., :-1].mean(-1), ov[..., -1]))
                run.matrix_steps.append(run.done)
                self.matrices.append((qk, ov))
        if self.dynamics:
            run.w, run.mu = (torch.stack(list(part)) for part in zip(*self.dynamics))
        if self.matrices:
            run.qk, run.ov = (torch.stack(list(part)) for part in zip(*self.matrices))
