"""A training run: what it saw, and how it is kept."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from utils.lessons.files import ROOT, write_atomically
from utils.models.icl_regression.config import OPTIMISERS, RegressionConfig
from utils.models.icl_regression.data import PromptBuffer, draw
from utils.models.icl_regression.evaluation import mean_squared_error
from utils.models.icl_regression.layers import build_model, circuits
from utils.training import loop

VALIDATION_SEED = 7_654_321
ASSETS = ROOT / "utils" / "assets" / "icl_regression"


@dataclass
class Run:
    """A trained model and what was read on the way; all readings were taken before the step that they name.

    `w` and `mu` are [readings, layers, heads]; `qk` is [readings, layers, heads, D, D] and `ov` the OV products' last
    column, [readings, layers, heads, D]. The last reading of each is that of the finished model, at step `done`.
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
        return self if self.finished else _continue_run(self, progress)

    def save(self, path: str | Path) -> Path:
        """Weights, readings and the optimiser's state as tensors, the rest as JSON in the same `.safetensors` file;
        nothing is pickled.

        The file appears whole or not at all.
        """
        from safetensors.torch import save

        path = Path(path).with_suffix(".safetensors")
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"read.{name}": getattr(self, name) for name in self._TENSORS}
        for index, values in (self.optimiser_state or {}).items():
            tensors |= {f"optimiser.{index}.{name}": torch.as_tensor(value) for name, value in values.items()}
        about = {name: getattr(self, name) for name in ("done", "interrupted", "seconds", *self._LISTS)}
        about |= {"config": asdict(self.config), "model": type(self.model).__name__}
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
        write_atomically(path, save(kept, metadata={"run": json.dumps(about)}))
        return path

    @classmethod
    def load(cls, path: str | Path, model: nn.Module | None = None) -> "Run":
        """A saved run. A module of one's own is built first and handed in as `model`; it is filled with the saved
        weights.

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
                names = file.keys()
                tensors = {name: file.get_tensor(name) for name in names}
                about = json.loads((file.metadata() or {})["run"])
            config = RegressionConfig(**about.pop("config"))
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} is not a whole run file ({error}). Was it cut short while it was copied? Train again, or save"
                " it again."
            ) from None
        ours = model is None
        model = build_model(config) if ours else model
        weights = {name[len("model.") :]: t for name, t in tensors.items() if name.startswith("model.")}
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            made = (
                f" It holds the weights of a {about['model']}: build one and hand it in as Run.load(path, model=...)."
                if ours
                else ""
            )
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


def stored(n_head: int = 2, seed: int = 0, kind: str = "heads") -> Run:
    """A run that ships with the course.

    `kind="heads"`: one layer of 1, 2, 4 or 8 heads, seeds 0 to 2, all else as `RegressionConfig` has it, made by
    `python bench/icl_regression.py --write`. The other kinds are the studies of `utils.models.icl_regression.study`.
    """
    path = ASSETS / f"{kind}-{n_head}-seed-{seed}.safetensors"
    if not path.is_file():
        there = sorted(p.stem for p in ASSETS.glob("*.safetensors"))
        raise ValueError(
            f"There is no stored run of {n_head} heads with seed {seed}; there are {', '.join(there) or 'none'}."
        )
    return Run.load(path)


def train(config: RegressionConfig, model: nn.Module | None = None, progress: bool = True) -> Run:
    """Train a layer on regression prompts, each step on new ones.

    Args:
        model: any module called as `model(z_q, z)` that gives [n, queries, 1]; None is the one that the configuration
            describes. It is trained in place, from the start values it has. Heads are read from `q_proj, k_proj,
            v_proj, o_proj` where it has them.
        progress: False for silence.

    Ctrl-C ends the run after what is done, and `Run.resume` takes it up again.
    """
    return _continue_run(Run(config, build_model(config) if model is None else model), progress)


def _continue_run(run: Run, progress: bool) -> Run:
    config, model = run.config, run.model
    device = torch.device(config.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    model.to(device).train()
    supply, optimiser = PromptBuffer(config, device), _optimiser(config, model, device)
    if run.optimiser_state:
        held = optimiser.state_dict()
        optimiser.load_state_dict({"state": run.optimiser_state, "param_groups": held["param_groups"]})
    log = _RunRecorder(run, device)

    def before(step: int) -> None:
        supply.refill(step)
        log.take_readings(step)

    def step_loss(step: int) -> Tensor:
        z_q, z, y_q = supply.next_batch()
        return (
            (model(z_q, z) - y_q).square().mean()
        )  # of one shape: the first reading of the validation loss has looked

    history = loop.train(
        step_loss,
        optimiser,
        config.total_steps,
        loop.SCHEDULES[config.schedule],
        clip=config.clip,
        log_every=config.log_every,
        progress=progress,
        title=f"{config.n_head} head{'s' * (config.n_head > 1)}",
        first_step=run.done,
        before_step=before,
        use_cuda_graph=device.type == "cuda",
    )
    run.loss_steps += history.steps
    run.losses += history.losses
    run.done, run.interrupted, run.seconds = history.done, history.interrupted, run.seconds + history.seconds
    run.optimiser_state = optimiser.state_dict()["state"]
    model.to("cpu").eval()
    log.close()
    return run


def _optimiser(config: RegressionConfig, model: nn.Module, device: torch.device) -> torch.optim.Optimizer:
    """Queries and keys at their own rate, ten times lower by default: a score is a product of both, and goes into an
    exponential."""
    qk = [p for name, p in model.named_parameters() if "q_proj" in name or "k_proj" in name]
    rest = [p for name, p in model.named_parameters() if not ("q_proj" in name or "k_proj" in name)]
    captured = device.type == "cuda"
    groups = [
        {"params": params, "lr": torch.tensor(lr, device=device) if captured else lr}
        for params, lr in ((qk, config.lr_qk), (rest, config.lr_ov))
        if params
    ]
    # Fused: one kernel for all weights; and on a GPU the only SGD that reads its rate from a tensor, as a recorded step
    # must.
    options = (
        {"fused": True}
        | ({} if config.optimiser == "SGD" else {"capturable": captured})
        | dict(config.optimiser_params)
    )
    try:
        return OPTIMISERS[config.optimiser](groups, **options)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"optimiser_params={dict(config.optimiser_params)!r} does not suit {config.optimiser}: {error}"
        ) from None


class _RunRecorder:
    """Readings on the way: the loss on fixed prompts, every head's two numbers, and whole products."""

    def __init__(self, run: Run, device: torch.device) -> None:
        self.run, self.config = run, run.config
        c = self.config
        self.validation_prompts = draw(
            2000, c.length, c.d, c.noise_std, generator=torch.Generator().manual_seed(VALIDATION_SEED)
        ).to(device)
        self.has_heads = all(hasattr(layer, "q_proj") for layer in getattr(run.model, "layers", [run.model]))
        self.dynamics = [*zip(run.w, run.mu)]
        self.matrices = [*zip(run.qk, run.ov)]

    def take_readings(self, step: int, last: bool = False) -> None:
        """Take the readings that are due; at the last step all of them."""
        run, c = self.run, self.config

        def due(every: int, steps: list[int]) -> bool:
            return last or (step % every == 0 and (not steps or steps[-1] < step))

        if due(c.validate_every, run.validation_steps):
            run.validation_steps.append(step)
            run.validation_losses.append(mean_squared_error(run.model, self.validation_prompts))
        if self.has_heads and due(c.dynamics_every, run.dynamics_steps):
            run.dynamics_steps.append(step)
            qk, ov = self._products()
            self.dynamics.append((qk.diagonal(dim1=-2, dim2=-1)[..., :-1].mean(-1), ov[..., -1]))
        if self.has_heads and due(c.matrices_every, run.matrix_steps):
            run.matrix_steps.append(step)
            self.matrices.append(self._products())

    def _products(self) -> tuple[Tensor, Tensor]:
        qk, ov = circuits(self.run.model)
        return qk.cpu(), torch.stack([o[..., -1] for o in ov]).cpu()

    def close(self) -> None:
        """The state at the end is a reading too, once the run has come to it."""
        run = self.run
        if run.finished:
            self.validation_prompts = self.validation_prompts.to("cpu")  # where the model is now
            self.take_readings(run.done, last=True)
        if self.dynamics:
            run.w, run.mu = (torch.stack(list(part)) for part in zip(*self.dynamics))
        if self.matrices:
            run.qk, run.ov = (torch.stack(list(part)) for part in zip(*self.matrices))
