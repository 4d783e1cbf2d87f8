"""Which GPT-2 is used: decided in one order, said in one line, and never by asking the network."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

BUNDLED = Path(__file__).resolve().parent.parent / "assets" / "gpt2-mini"
REPOSITORIES = ("openai-community/gpt2", "gpt2")  # the Hugging Face cache keeps them apart
WEIGHTS, INDEX, PICKLE, CONFIG = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "config.json"

_COMES = "it comes with the course"
_CACHED = "found in the Hugging Face cache"
_announced: set[Source] = set()


class WeightsError(ValueError):
    """A GPT-2 cannot be used; the message names the file, what was expected, and the cure."""


@dataclass(frozen=True)
class Source:
    """One GPT-2 on disk. `why` says how it was found."""

    name: str
    path: Path
    is_real: bool
    reason: str = field(compare=False)
    n_layers: int
    n_heads: int
    d_model: int
    n_positions: int
    vocab_size: int
    epsilon: float

    @property
    def d_head(self) -> int:
        """The width of one head's queries and keys."""
        return self.d_model // self.n_heads

    @property
    def is_explicit(self) -> bool:
        """Whether a path or COURSE_GPT2 chose it, so that fetching another changes nothing."""
        return not self.reason.startswith(_COMES) and self.reason != _CACHED

    @property
    def announcement(self) -> str:
        """The sentence that is printed when it is first used."""
        size = f"{self.n_layers} layers of {self.n_heads} heads, width {self.d_model}"
        more = "" if self.is_real or self.is_explicit else " `coginst fetch gpt2` gets the real one."
        return f"Using {self.name} ({size}): {self.reason}.{more}"


def source(path: str | os.PathLike | None = None) -> Source:
    """The GPT-2 that is used, announced in one printed line the first time.

    Looked for in this order: `path`; the environment's COURSE_GPT2 (a path, or the word "bundled"); a real GPT-2 in the
    Hugging Face cache, where `coginst fetch gpt2` puts it; the small one that comes with the course.

    Raises:
        WeightsError: a path was given, or COURSE_GPT2 is set, and there is no usable GPT-2. There is no fallback then.
    """
    found = find_source(path)
    if found not in _announced:
        _announced.add(found)
        print(found.announcement)
    return found


def find_source(path: str | os.PathLike | None = None) -> Source:
    """As `source`, in silence."""
    if path is not None:
        return _source_at(path, "the path that was given")
    if os.environ.get("COURSE_GPT2"):
        return _source_at(os.environ["COURSE_GPT2"], "COURSE_GPT2 names it")
    cached, note = find_in_cache()
    if cached is not None:
        return read_source(cached, "GPT-2", True, _CACHED)
    return read_source(BUNDLED, "the small GPT-2", False, f"{_COMES}{note}")


def find_in_cache() -> tuple[Path | None, str]:
    """The folder of a real GPT-2 in the Hugging Face cache, and what to add to the announcement where it is
    incomplete."""
    from huggingface_hub import constants

    note = ""
    for repository in REPOSITORIES:
        if not (Path(constants.HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}").is_dir():
            continue
        from huggingface_hub import try_to_load_from_cache  # 100 modules, which most learners need not wait for

        files = {name: try_to_load_from_cache(repository, name) for name in (CONFIG, WEIGHTS, INDEX, PICKLE)}
        here = {name for name, file in files.items() if isinstance(file, str)}
        if CONFIG in here and here & {WEIGHTS, INDEX}:
            return Path(files[CONFIG]).parent, ""
        if here:
            missing = CONFIG if CONFIG not in here else WEIGHTS
            note = f"; {repository} in the Hugging Face cache is incomplete, {missing} is missing"
    return None, note


def _source_at(path: str | os.PathLike, why: str) -> Source:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise WeightsError(
            f"path must name a folder with a GPT-2 in it, or be 'bundled'; got {path!r}. Without a path the course"
            " looks for itself."
        )
    if os.fspath(path) == "bundled":
        return read_source(BUNDLED, "the small GPT-2", False, why if why.startswith("COURSE") else "it was asked for")
    place = Path(path).expanduser()
    if not place.exists():
        raise WeightsError(
            f"There is no {place} ({why}). Expected a folder with {CONFIG} and {WEIGHTS}, or the word bundled."
        )
    if place.is_file() and place.name not in (CONFIG, WEIGHTS, INDEX):
        raise WeightsError(
            _pickle_message(place)
            if place.suffix in (".bin", ".pt", ".pth")
            else f"{place} ({why}) is not a {WEIGHTS}. {_LAYOUT}"
        )
    folder = place.parent if place.is_file() else place
    if folder.resolve() == BUNDLED:
        return read_source(BUNDLED, "the small GPT-2", False, why)
    return read_source(folder, "GPT-2", True, why)


def read_source(folder: Path, name: str, is_real: bool, reason: str) -> Source:
    """Read the configuration of the GPT-2 in `folder`.

    Raises:
        WeightsError: no configuration, a damaged one, or one of another kind of model; no weights, or only a pickle.
    """
    config = _read_config(folder)
    if not any((folder / file).exists() for file in (WEIGHTS, INDEX)):
        if (folder / PICKLE).exists():
            raise WeightsError(_pickle_message(folder / PICKLE))
        raise WeightsError(f"{folder} has no {WEIGHTS}. `coginst fetch gpt2` downloads the real one.")
    try:
        sizes = {ours: int(config[theirs]) for ours, theirs in _SIZES.items()}
        epsilon = float(config.get("layer_norm_epsilon", 1e-5))
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(
            f"{folder / CONFIG} does not say how large the model is ({error}). {remedy_for(folder)}"
        ) from None
    if min(sizes.values()) < 1 or sizes["d_model"] % sizes["n_heads"]:
        raise WeightsError(f"{folder / CONFIG} has sizes that make no GPT-2: {sizes}. {remedy_for(folder)}")
    return Source(name, folder, is_real, reason, **sizes, epsilon=epsilon)


_LAYOUT = f"Expected a folder with {CONFIG} and {WEIGHTS}, as save_pretrained writes it."
_SIZES = {
    "n_layers": "n_layer",
    "n_heads": "n_head",
    "d_model": "n_embd",
    "n_positions": "n_positions",
    "vocab_size": "vocab_size",
}


def _read_config(folder: Path) -> dict:
    file = folder / CONFIG
    if not file.exists():
        raise WeightsError(f"{folder} has no {CONFIG}. {_LAYOUT}")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise WeightsError(f"{file} is damaged ({error}). {remedy_for(folder)}") from None
    if not isinstance(config, dict) or config.get("model_type") != "gpt2":
        kind = config.get("model_type") if isinstance(config, dict) else type(config).__name__
        raise WeightsError(f"{file} describes another kind of model ({kind}); this course reads GPT-2 only.")
    return config


def _pickle_message(file: Path) -> str:
    return (
        f"{file} is a pickle, which can run any code when it is opened; {WEIGHTS} is expected. `coginst fetch gpt2`"
        " downloads that. If you trust the pickle: GPT2LMHeadModel.from_pretrained(folder).save_pretrained(folder)"
        " writes it."
    )


def remedy_for(folder: Path) -> str:
    """What to do about a damaged file."""
    if folder.resolve() == BUNDLED:
        return "It comes with the course: `git checkout -- utils/assets/gpt2-mini` restores it."
    from huggingface_hub import constants

    if Path(constants.HF_HUB_CACHE).resolve() in folder.resolve().parents:
        return "`coginst fetch gpt2` replaces it; COURSE_GPT2=bundled uses the small one that comes with the course."
    return (
        "Copy or save the files anew, or leave the path out and unset COURSE_GPT2: `coginst fetch gpt2` gets the real"
        " one, and a small one is here."
    )
