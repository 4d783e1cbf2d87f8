"""Train, save and load a run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from utils.lessons.files import ROOT, write_atomically
from utils.models.icl_regression.config import OPTIMISERS, RegressionConfig
from utils.models.icl_regression.data import PromptBuffer, draw
from utils.models.icl_regression.evaluation import mean_squared_error
from utils.models.icl_regression.layers import build_model, circuits
from utils.training import loop

if TYPE_CHECKING:
    from jaxtyping import Float

VALIDATION_SEED = 7_654_321
ASSETS = ROOT / "utils" / "assets" / "icl_regression"
STUDY = ASSETS / "study.json"


@dataclass
class Run:
    """A trained model and the readings from its training. A reading at step n was taken before that step.

    `ov` contains the last column of the OV products. In a finished run, the last reading of each kind describes the
    final model, at step `done`.
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
    w: Float[Tensor, "readings layers heads"] = field(default_factory=lambda: torch.zeros(0))
    mu: Float[Tensor, "readings layers heads"] = field(default_factory=lambda: torch.zeros(0))
    matrix_steps: list[int] = field(default_factory=list)
    qk: Float[Tensor, "readings layers heads D D"] = field(default_factory=lambda: torch.zeros(0))
    ov: Float[Tensor, "readings layers heads D"] = field(default_factory=lambda: torch.zeros(0))

    _LISTS = ("loss_steps", "losses", "validation_steps", "validation_losses", "dynamics_steps", "matrix_steps")
    _TENSORS = ("w", "mu", "qk", "ov")

    @property
    def finished(self) -> bool:
        """True if all steps of the configuration are done."""
        return self.done >= self.config.total_steps

    def save(self, path: str | Path) -> Path:
        """Save the run in one `.safetensors` file: weights and readings as tensors, the rest as JSON.

        The file is written atomically and contains no pickled objects.
        """
        from safetensors.torch import save

        path = _run_path(path)
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"read.{name}": getattr(self, name) for name in self._TENSORS}
        metadata = {name: getattr(self, name) for name in ("done", "interrupted", "seconds", *self._LISTS)}
        metadata |= {"config": asdict(self.config), "model": type(self.model).__name__}
        path.parent.mkdir(parents=True, exist_ok=True)
        stored_tensors = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
        write_atomically(path, save(stored_tensors, metadata={"run": json.dumps(metadata)}))
        return path

    @classmethod
    def load(cls, path: str | Path, model: nn.Module | None = None) -> Run:
        """Load a saved run. If `build_model` did not build the run's model, pass a suitable module as `model`.

        The module receives the saved weights.

        Raises:
            FileNotFoundError: the file does not exist.
            ValueError: the file is not a saved run, is truncated, or does not fit the module.
        """
        from safetensors import SafetensorError, safe_open

        path = _run_path(path)
        if not path.is_file():
            raise FileNotFoundError(f"The file {path} does not exist. Run.save(path) writes a run.")
        try:
            with safe_open(path, "pt") as file:
                names = file.keys()
                tensors = {name: file.get_tensor(name) for name in names}
                metadata = json.loads((file.metadata() or {})["run"])
            config = RegressionConfig(**metadata.pop("config"))
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} is not a complete run file ({error}). Was it truncated during a copy? Train again, or save"
                " the run again."
            ) from None
        model_name, advice = metadata.pop("model"), ""
        if model is None:
            model = build_model(config)
            advice = f" It contains the weights of a {model_name}: build one, then call Run.load(path, model=...)."
        try:
            model.load_state_dict(
                {name[len("model.") :]: t for name, t in tensors.items() if name.startswith("model.")}
            )
        except RuntimeError as error:
            raise ValueError(f"{path} does not fit {type(model).__name__}.{advice} ({error})") from None
        readings = {name: tensors[f"read.{name}"] for name in cls._TENSORS}
        return cls(config, model, **metadata, **readings)


def stored(n_head: int = 2, seed: int = 0, kind: str = "heads") -> Run:
    """Load a run that ships with the course.

    The runs of `kind="heads"` train one layer with 1, 2, 4 or 8 heads and seed 0, 1 or 2; all other settings are the
    defaults of `RegressionConfig`. `python bench/icl_regression.py --write` generates these runs. The other kinds come
    from `utils.models.icl_regression.study`.

    Raises:
        ValueError: no such run ships with the course.
    """
    path = ASSETS / f"{kind}-{n_head}-seed-{seed}.safetensors"
    if not path.is_file():
        stored_names = sorted(p.stem for p in ASSETS.glob("*.safetensors"))
        raise ValueError(f"There is no stored run {path.stem}. Stored runs: {', '.join(stored_names) or 'none'}.")
    return Run.load(path)


def stored_study() -> dict[str, dict[str, Any]]:
    """Read the results of every run of `utils.models.icl_regression.study`, by name and seed, for example "SGD 0".

    A result contains the `error` on 40,000 prompts, and `w` and `mu` for each layer. If the run belongs to the
    comparison of prompts, its result has four more entries. `diagonal` is QK's diagonal in the rows of x. `step` is the
    error of one centred step with the best rate, and `ridge` is the error of ridge regression. `formula` says how far
    the kernel estimator deviates from the layer, relative to the size of the answers.
    """
    return json.loads(STUDY.read_text(encoding="utf-8"))


def train(config: RegressionConfig, model: nn.Module | None = None, progress: bool = True) -> Run:
    """Train a layer on regression prompts, with new prompts at each step.

    Ctrl-C ends the run and keeps the completed steps.

    Args:
        model: any module that maps `(z_q, z)` to [n, queries, 1]. None builds the model from the configuration. A given
            model is trained in place from its current weights. If it has `q_proj, k_proj, v_proj, o_proj`, its heads
            are recorded.
        progress: False shows nothing.
    """
    run = Run(config, model := build_model(config) if model is None else model)
    device = torch.device(config.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    model.to(device).train()
    supply, optimiser = PromptBuffer(config, device), _optimiser(config, model, device)
    log = _RunRecorder(run, device)

    def before(step: int) -> None:
        supply.refill(step)
        log.take_readings(step)

    def step_loss(step: int) -> Tensor:
        z_q, z, y_q = supply.next_batch()
        # The first validation has already checked that the shapes are equal, so no broadcasting happens here.
        return (model(z_q, z) - y_q).square().mean()

    history = loop.train(
        step_loss,
        optimiser,
        config.total_steps,
        loop.SCHEDULES[config.schedule],
        clip=config.clip,
        log_every=config.log_every,
        progress=progress,
        title=f"{config.n_head} head{'s' * (config.n_head > 1)}",
        before_step=before,
        use_cuda_graph=device.type == "cuda",
    )
    run.loss_steps, run.losses = history.steps, history.losses
    run.done, run.interrupted, run.seconds = history.done, history.interrupted, history.seconds
    model.to("cpu").eval()
    log.close()
    return run


def _optimiser(config: RegressionConfig, model: nn.Module, device: torch.device) -> torch.optim.Optimizer:
    """Build the optimiser, with one rate for queries and keys and another for all other parameters.

    By default, the rate for queries and keys is ten times lower, because a score is the product of a query and a key,
    and exp is then applied to the score.

    Raises:
        ValueError: the optimiser does not accept `optimiser_params`.
    """
    qk = [p for name, p in model.named_parameters() if "q_proj" in name or "k_proj" in name]
    rest = [p for name, p in model.named_parameters() if not ("q_proj" in name or "k_proj" in name)]
    captured, own_options = device.type == "cuda", dict(config.optimiser_params)
    groups = [
        {"params": params, "lr": torch.tensor(lr, device=device) if captured else lr}
        for params, lr in ((qk, config.lr_qk), (rest, config.lr_ov))
        if params
    ]
    # A fused optimiser updates all weights in one kernel. A recorded CUDA graph requires an optimiser that reads its
    # rate from a tensor. On a GPU, SGD does so only if it is fused.
    options = {"fused": True} | ({} if config.optimiser == "SGD" else {"capturable": captured}) | own_options
    try:
        return OPTIMISERS[config.optimiser](groups, **options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{config.optimiser} does not accept optimiser_params={own_options!r}: {error}") from None


class _RunRecorder:
    """Records readings during a run: the loss on fixed prompts, w and μ for every head, and the full QK and OV."""

    def __init__(self, run: Run, device: torch.device) -> None:
        self.run, c = run, run.config
        generator = torch.Generator().manual_seed(VALIDATION_SEED)
        self.validation_prompts = draw(2000, c.length, c.d, c.noise_std, 1, generator, scales=c.scales).to(device)
        self.has_heads = all(hasattr(layer, "q_proj") for layer in getattr(run.model, "layers", [run.model]))
        self.dynamics, self.matrices = [], []

    def take_readings(self, step: int, last: bool = False) -> None:
        """Take the readings that are due, or all readings if `last` is True."""
        run, c = self.run, self.run.config

        if last or step % c.validate_every == 0:
            run.validation_steps.append(step)
            run.validation_losses.append(mean_squared_error(run.model, self.validation_prompts))
        if self.has_heads and (last or step % c.dynamics_every == 0):
            run.dynamics_steps.append(step)
            qk, ov = self._products()
            self.dynamics.append((qk.diagonal(dim1=-2, dim2=-1)[..., :-1].mean(-1), ov[..., -1]))
        if self.has_heads and (last or step % c.matrices_every == 0):
            run.matrix_steps.append(step)
            self.matrices.append(self._products())

    def _products(self) -> tuple[Tensor, Tensor]:
        qk, ov = circuits(self.run.model)
        return qk.cpu(), torch.stack([o[..., -1] for o in ov]).cpu()

    def close(self) -> None:
        """If the run is finished, take the readings for the final model. Store all readings in the run."""
        run = self.run
        if run.finished:
            self.validation_prompts = self.validation_prompts.to("cpu")  # the model is on the CPU now
            self.take_readings(run.done, last=True)
        if self.dynamics:
            run.w, run.mu = (torch.stack(list(part)) for part in zip(*self.dynamics))
        if self.matrices:
            run.qk, run.ov = (torch.stack(list(part)) for part in zip(*self.matrices))


def _run_path(path: str | Path) -> Path:
    """Return the path of a run's file. The suffix is added to the whole name, which may contain a number like 0.5."""
    path = Path(path)
    return path if path.suffix == ".safetensors" else path.with_name(f"{path.name}.safetensors")
