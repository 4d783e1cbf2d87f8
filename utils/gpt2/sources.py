"""Choose the GPT-2 that the lessons use, without a network, and announce it in one line."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BUNDLED = Path(__file__).resolve().parent.parent / "assets" / "gpt2-mini"
# GPT-2 has two names on the hub. The Hugging Face cache may have a folder for each name.
REPOSITORIES = ("openai-community/gpt2", "gpt2")
WEIGHTS, INDEX, PICKLE, CONFIG = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "config.json"

_COMES = "it comes with the course"
_CACHED = "found in the Hugging Face cache"
_announced: set[Source] = set()


class WeightsError(ValueError):
    """The files of a GPT-2 are missing or unusable. The message names the file, the problem and the remedy."""

    @classmethod
    def for_damage(cls, folder: Path, problem: str) -> WeightsError:
        """Create the error for a damaged GPT-2 in `folder`; the message ends with the remedy for this folder."""
        return cls(f"{problem} {remedy_for(folder)}")


@dataclass(frozen=True)
class Source:
    """A GPT-2 on disk. `reason` says why it was chosen."""

    name: str
    path: Path
    real: bool
    reason: str = field(compare=False)
    n_layers: int
    n_heads: int
    d_model: int
    n_positions: int
    vocab_size: int
    epsilon: float

    @property
    def d_head(self) -> int:
        """Return the width of a head's queries and keys."""
        return self.d_model // self.n_heads

    @property
    def is_explicit(self) -> bool:
        """Tell whether the caller's path or COURSE_GPT2 selected this GPT-2.

        If so, `coginst fetch gpt2` changes nothing.
        """
        return not self.reason.startswith(_COMES) and self.reason != _CACHED

    @property
    def announcement(self) -> str:
        """Return the sentence that is printed when this source is used for the first time."""
        size = f"{self.n_layers} layers of {self.n_heads} heads, width {self.d_model}"
        more = "" if self.real or self.is_explicit else " `coginst fetch gpt2` gets the real one."
        return f"Using {self.name} ({size}): {self.reason}.{more}"


def source(path: str | os.PathLike | None = None) -> Source:
    """Choose a GPT-2, and print one line about it when it is first used.

    The order is: `path`; the environment variable COURSE_GPT2 (a path or "bundled"); a real GPT-2 in the Hugging Face
        cache, where `coginst fetch gpt2` puts it; the small GPT-2 that comes with the course.

    Raises:
        WeightsError: `path` or COURSE_GPT2 names no usable GPT-2. In this case there is no fallback.
    """
    chosen = find_source(path)
    if chosen not in _announced:
        _announced.add(chosen)
        print(chosen.announcement)
    return chosen


def find_source(path: str | os.PathLike | None = None) -> Source:
    """Choose a GPT-2 by the rules of `source`, but print nothing.

    Raises:
        WeightsError: `path` or COURSE_GPT2 names no usable GPT-2.
    """
    if path is not None:
        return _source_at(path, "the path argument names it")
    if os.environ.get("COURSE_GPT2"):
        return _source_at(os.environ["COURSE_GPT2"], "COURSE_GPT2 names it")
    cached, note = find_in_cache()
    if cached is not None:
        return read_source(cached, "GPT-2", True, _CACHED)
    return read_source(BUNDLED, "the small GPT-2", False, f"{_COMES}{note}")


def find_in_cache() -> tuple[Path | None, str]:
    """Find a real GPT-2 in the Hugging Face cache. Return its folder or None, and a note about incomplete copies."""
    from huggingface_hub import constants

    note = ""
    for repository in REPOSITORIES:
        if not (Path(constants.HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}").is_dir():
            continue
        # This import is slow, so do it only if the folder exists.
        from huggingface_hub import try_to_load_from_cache

        files = {name: try_to_load_from_cache(repository, name) for name in (CONFIG, WEIGHTS, INDEX, PICKLE)}
        here = {name: file for name, file in files.items() if isinstance(file, str)}
        if CONFIG in here and here.keys() & {WEIGHTS, INDEX}:
            return Path(here[CONFIG]).parent, ""
        if here:
            missing = CONFIG if CONFIG not in here else WEIGHTS
            note = f"; {repository} in the Hugging Face cache is incomplete: {missing} is missing"
    return None, note


def _source_at(path: str | os.PathLike, reason: str) -> Source:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise WeightsError(
            f"path must be a folder that contains a GPT-2, or 'bundled'; got {path!r}. Without a path, the course"
            " looks for a GPT-2 itself."
        )
    if os.fspath(path) == "bundled":
        return read_source(BUNDLED, "the small GPT-2", False, reason)
    place = Path(path).expanduser()
    if not place.exists():
        raise WeightsError(
            f"There is no {place} ({reason}). Expected a folder with {CONFIG} and {WEIGHTS}, or the word 'bundled'."
        )
    if place.is_file() and place.name not in (CONFIG, WEIGHTS, INDEX):
        raise WeightsError(
            _pickle_message(place)
            if place.suffix in (".bin", ".pt", ".pth")
            else f"{place} ({reason}) is not a {WEIGHTS} file. {_LAYOUT}"
        )
    folder = place.parent if place.is_file() else place
    if folder.resolve() == BUNDLED:
        return read_source(BUNDLED, "the small GPT-2", False, reason)
    return read_source(folder, "GPT-2", True, reason)


def read_source(folder: Path, name: str, real: bool, reason: str) -> Source:
    """Read the configuration of the GPT-2 in `folder`.

    Raises:
        WeightsError: the configuration is missing, damaged or for a different kind of model, or the weights are missing
            or only pickled.
    """  # noqa: DOC501  (ruff mistakes the constructor's name for the exception)
    config = _read_config(folder)
    if not any((folder / file).exists() for file in (WEIGHTS, INDEX)):
        if (folder / PICKLE).exists():
            raise WeightsError(_pickle_message(folder / PICKLE))
        raise WeightsError(f"{folder} has no {WEIGHTS}. `coginst fetch gpt2` downloads the real GPT-2.")
    try:
        sizes = {ours: int(config[theirs]) for ours, theirs in _SIZES.items()}
        epsilon = float(config.get("layer_norm_epsilon", 1e-5))
    except (KeyError, TypeError, ValueError) as error:
        problem = f"{folder / CONFIG} does not specify the sizes of the model ({error})."
        raise WeightsError.for_damage(folder, problem) from None
    if min(sizes.values()) < 1 or sizes["d_model"] % sizes["n_heads"]:
        raise WeightsError.for_damage(folder, f"{folder / CONFIG} has sizes that are impossible for a GPT-2: {sizes}.")
    return Source(name, folder, real, reason, **sizes, epsilon=epsilon)


_LAYOUT = f"Expected a folder with {CONFIG} and {WEIGHTS}, as written by save_pretrained."
_SIZES = dict(
    n_layers="n_layer", n_heads="n_head", d_model="n_embd", n_positions="n_positions", vocab_size="vocab_size"
)


def _read_config(folder: Path) -> dict[str, Any]:
    file = folder / CONFIG
    if not file.exists():
        raise WeightsError(f"{folder} has no {CONFIG}. {_LAYOUT}")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise WeightsError.for_damage(folder, f"{file} is damaged ({error}).") from None
    if not isinstance(config, dict) or config.get("model_type") != "gpt2":
        kind = config.get("model_type") if isinstance(config, dict) else type(config).__name__
        raise WeightsError(f"{file} describes another kind of model ({kind}), but this course reads only GPT-2.")
    return config


def _pickle_message(file: Path) -> str:
    return (
        f"{file} is a pickle, which can run any code when it is opened; the course reads only {WEIGHTS}."
        " `coginst fetch gpt2` downloads this file. If you trust the pickle, convert it:"
        " GPT2LMHeadModel.from_pretrained(folder).save_pretrained(folder)"
    )


def remedy_for(folder: Path) -> str:
    """Return a sentence on how to replace a damaged file in `folder`."""
    if folder.resolve() == BUNDLED:
        return "It comes with the course: `git checkout -- utils/assets/gpt2-mini` restores it."
    from huggingface_hub import constants

    if Path(constants.HF_HUB_CACHE).resolve() in folder.resolve().parents:
        return "`coginst fetch gpt2` downloads it again; COURSE_GPT2=bundled selects the small GPT-2 of the course."
    return (
        "Copy or save the files again. Or give no path and unset COURSE_GPT2: `coginst fetch gpt2` gets the real"
        " GPT-2, and a small GPT-2 comes with the course."
    )
