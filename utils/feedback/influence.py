"""Find parts of the inputs that an answer wrongly ignores or wrongly uses.

Gradients suggest such parts. To confirm a suggestion, this module changes the part, and runs the answer and the oracle
again.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from utils.exercises.compare import values_equal
from utils.exercises.exercise import Case
from utils.exercises.observe import is_float
from utils.exercises.oracles import cached_oracle_gradients, cached_oracle_observation, parse_observation
from utils.exercises.probe import Probe, Trial
from utils.feedback.difference import select_reported_trial
from utils.feedback.phrases import call_text


def influence_text(probe: Probe, wrong: list[Trial]) -> str:
    """Name a part of an input that the answer wrongly ignores or wrongly uses.

    Returns:
        A sentence with a leading space, or "" if no such part is found.
    """
    # Leave out cases with a note, such as "with large scores": there, a change of an input can have an effect that is
    # too small to change a float.
    usable = [t for t in wrong if not (t.yours.failure or t.expected.failure or t.case.note)]
    if probe.exercise.kind == "value":
        return ""
    reported = select_reported_trial(wrong) if wrong else None
    for trial in sorted(usable, key=lambda trial: trial is not reported):
        if text := _trial_text(probe, trial):
            call = call_text(probe.exercise, trial.case)
            return f" {text}" if trial is reported else f" {text} This is so for {call}."
    return ""


def _trial_text(probe: Probe, trial: Trial) -> str:
    yours, expected = probe.runner.compute_gradients(trial.case), cached_oracle_gradients(probe.exercise, trial.case)
    for name, value in probe.bind_arguments(trial.case).items():
        gradients = [gradient.get(f"`{name}`") for gradient in (yours, expected)]
        if not is_float(value) or value.dim() < 2 or any(g is None or not g.isfinite().all() for g in gradients):
            continue
        used, should_be_used = (gradient.abs().amax(-1) > 0 for gradient in gradients if gradient is not None)
        for is_missing, places in ((True, should_be_used & ~used), (False, used & ~should_be_used)):
            if places.any() and _is_proved(probe, trial, name, places, is_missing):
                return _sentence(name, places, is_missing)
    return ""


def _is_proved(probe: Probe, trial: Trial, name: str, places: Tensor, is_missing: bool) -> bool:
    """Test whether the answer wrongly ignores (`is_missing`) or wrongly uses the input at `places`."""
    changed = _change(probe, trial.case, name, places)
    if changed is None:
        return False
    yours = parse_observation(probe.exercise, changed, probe.runner.run(changed))
    expected = cached_oracle_observation(probe.exercise, changed, False)
    if yours.failure or expected.failure:
        return False
    unchanged = values_equal(yours.value, trial.yours.value, probe.exercise.atol, "any")
    right = values_equal(expected.value, trial.expected.value, probe.exercise.atol, "any")
    return (unchanged and not right) if is_missing else (right and not unchanged)


def _change(probe: Probe, case: Case, name: str, places: Tensor) -> Case | None:
    """Return a copy of the case in which argument `name` has other numbers in the rows marked by `places`."""
    value = probe.bind_arguments(case)[name]
    changed = torch.where(places[..., None], 1.5 - 2 * value, value)
    args = tuple(changed if a is value else a for a in case.args)
    kwargs = {key: changed if a is value else a for key, a in case.kwargs.items()}
    is_found = any(a is changed for a in (*args, *kwargs.values()))
    return replace(case, args=args, kwargs=kwargs) if is_found else None


def _sentence(name: str, places: Tensor, is_missing: bool) -> str:
    index, covers_all = _index_text(places)
    where = f"`{name}[{index}]`" if covers_all else f"some rows of `{name}`, such as `{name}[{index}]`"
    if is_missing:
        return f"Your result does not depend on {where}, but it should."
    return f"Your result depends on {where}, but it should not."


def _index_text(places: Tensor) -> tuple[str, bool]:
    """Write an index for the marked places, such as "0, :". Also return whether the index covers all marked places."""
    indices = places.nonzero()
    common = [int(column[0]) if len(column.unique()) == 1 else None for column in indices.unbind(1)]
    region = tuple(slice(None) if i is None else i for i in common)
    if int(places[region].sum()) == places[region].numel():
        return ", ".join(":" if i is None else str(i) for i in common), True
    return ", ".join(str(int(i)) for i in indices[0]), len(indices) == 1
