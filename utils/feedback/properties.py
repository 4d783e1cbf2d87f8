"""Properties that an exercise may ask of an answer, beyond agreeing with the oracle.

Each is a function of a `Probe` that returns a sentence when the property is broken, else None. A property explains
wrong numbers ("rows do not sum to one") and guards right ones that our numbers happen to let through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from utils.feedback.exercise import Case, case
from utils.feedback.observe import collect_tensors, is_float
from utils.feedback.phrases import article, call_text, error_summary, origin_text
from utils.feedback.probe import Probe, Trial
from utils.feedback.runner import cached_oracle_gradients, observe_oracle

Property = Callable[[Probe], str | None]


def rows_sum_to_one(part: int | None = None) -> Property:
    """Attention weights: each row of the result (or of its part `part`) sums to one."""

    def broken(probe: Probe) -> str | None:
        for trial in probe.trials:
            value = trial.yours.value
            if part is not None:
                value = value[part] if isinstance(value, tuple) else None
            if not isinstance(value, Tensor) or not value.is_floating_point() or value.dim() == 0:
                continue
            weights = value.detach()
            sums = weights.sum(-1).flatten()
            worst = int((sums - 1).abs().argmax())
            if abs(sums[worst] - 1) > 1e-3:
                turned = weights.dim() > 1 and torch.allclose(weights.sum(-2), torch.ones(()), atol=1e-3)
                columns = " The columns do: the shares were made along the other axis." if turned else ""
                row = worst % weights.shape[-2] if weights.dim() > 1 else worst
                return (
                    f"The rows of the weights do not sum to one: row {row} sums to {sums[worst]:.4f}. Each position"
                    f" shares out exactly one unit of attention.{columns}"
                )
        return None

    return broken


def causal(argument: int = 0, axis: int = -2, scale: float = 1e6) -> Property:
    """A future token does not change the past: the positions before a changed one keep their results.

    Tried on the inputs as they are, and `scale` times as large: there a score that was hidden with some low number
    comes up again.
    """

    def broken(probe: Probe) -> str | None:
        trials = _select_trials(probe, lambda case: case.args[argument].shape[axis] > 1)
        for factor in (1.0, scale):
            for trial in trials:
                if words := _past_changed(probe, trial, argument, axis, factor):
                    return words
        return None

    return broken


def _past_changed(probe: Probe, trial: Trial, argument: int, axis: int, factor: float) -> str | None:
    x = trial.case.args[argument] * factor
    size = x.shape[axis]
    moved = x.clone()
    moved.select(axis, size - 1).add_(factor)
    seen = trial.yours if factor == 1.0 else probe.run(_replace_argument(trial.case, argument, x))
    after = probe.run(_replace_argument(trial.case, argument, moved))
    if seen.failure or after.failure:
        return None
    past = [_first_tensor(o.value).narrow(axis, 0, size - 1) for o in (seen, after)]
    return _past_change_message(past, axis, size) if factor == 1.0 else _scaled_past_change_message(past, axis, factor)


def _past_change_message(past: list[Tensor], axis: int, size: int) -> str | None:
    """What to say where the earlier positions' results, from before and after the last token's change, differ."""
    before, after = past
    if torch.allclose(before, after, atol=1e-5):
        return None
    rows = (before - after).abs().transpose(axis, 0).flatten(1).amax(1)
    first = int((rows > 1e-5).nonzero()[0])
    return (
        f"The future changes the past: when the last of {size} tokens changed, position {first} changed too, though it"
        " comes earlier. When a model writes, that token does not exist yet."
    )


def _scaled_past_change_message(past: list[Tensor], axis: int, factor: float) -> str | None:
    # Weights made by a softmax over all, then cut and renormalised, may all come out 0: such rows are small, and no
    # leak.
    rows = [t.movedim(axis, -2).flatten(0, -2) for t in past]
    told = [row.isfinite().all(1) & (row.abs().amax(1) > factor**0.5) for row in rows]
    leaks = ~torch.isclose(*rows, rtol=1e-4, atol=1e-5 * factor).all(1)
    if not (told[0] & told[1] & leaks).any():
        return None
    return (
        f"With inputs {factor:,.0f} times as large the future changes the past. What hides a score has to be lower than"
        " every score that can come up, and no number such as -100 or -1e9 is: only minus infinity."
    )


def batch_independent(argument: int = 0) -> Property:
    """Batch items do not leak into each other: an item's result is the same with other company."""

    def broken(probe: Probe) -> str | None:
        for trial in _select_trials(probe, lambda case: case.args[argument].dim() > 2 and len(case.args[argument]) > 1):
            x = trial.case.args[argument]
            moved = x.clone()
            moved[1:] += 1.0
            after = probe.run(_replace_argument(trial.case, argument, moved))
            if after.failure:
                return None
            if not torch.allclose(_first_tensor(trial.yours.value)[0], _first_tensor(after.value)[0], atol=1e-5):
                return (
                    "Batch items leak into each other: sequence 0 gave another result when only the other sequences of"
                    " its batch changed. They are separate texts and must not see each other."
                )
        return None

    return broken


def finite_when_scaled(factor: float = 1000.0) -> Property:
    """Inputs `factor` times as large give numbers still, where the oracle gives some: a softmax must not overflow."""

    def broken(probe: Probe) -> str | None:
        for plain in _representative_trials(probe.trials):
            asked = replace(plain.case, args=tuple(a * factor if is_float(a) else a for a in plain.case.args))
            seen = probe.run(asked)
            if seen.failure or _all_finite(seen.value) or not _all_finite(observe_oracle(probe.exercise, asked).value):
                continue
            why = origin_text(probe.runner.find_nonfinite_origin(asked), probe.runner.inspect_code().source)
            return f"With inputs {factor:.0f} times as large, nan or inf comes out.{why}"
        return None

    return broken


def _all_finite(value: Any) -> bool:
    return all(t.isfinite().all() for t in collect_tensors(value))


def moves_with_its_module(probe: Probe) -> str | None:
    """What a module keeps or makes goes where the module goes."""
    for trial in _representative_trials(probe.trials):
        seen = probe.runner.run_on_fake_device(trial.case)
        if seen.unmoved_tensor:
            return (
                f"`self.{seen.unmoved_tensor}` stayed behind when the module moved to another device: `.to(...)` takes"
                " along parameters, buffers and layers, and a tensor that is only assigned to self is none of these."
                " On a GPU the first forward pass would stop."
            )
        if seen.has_device_mix:
            return (
                "It works on the CPU only: on another device, forward mixes the input with a tensor that it made on"
                " the CPU. What a module needs besides its input should be kept where `.to(...)` takes it along, or be"
                " made on the input's device."
            )
    return None


def works_where_its_input_is(probe: Probe) -> str | None:
    """What a function makes is made on its input's device."""
    if any(probe.runner.run_on_fake_device(trial.case).has_device_mix for trial in probe.trials):
        return (
            "It works on the CPU only: on another device it mixes its input with a tensor that it made on the CPU. What"
            " a function makes from nothing has to be made on, or brought to, the device of its input."
        )
    return None


def _representative_trials(trials: Iterable[Trial]) -> list[Trial]:
    """Of trials that differ in numbers and sizes alone the first two: what is asked here seldom depends on more."""
    kinds: dict[tuple, list[Trial]] = {}
    for each in trials:
        case = each.case
        dims = tuple(a.dim() if isinstance(a, Tensor) else None for a in case.args)
        kinds.setdefault((case.train, tuple(sorted(case.kwargs)), dims), []).append(each)
    return [each for alike in kinds.values() for each in alike[:2]]


def _select_trials(probe: Probe, fits: Callable[[Case], bool]) -> list[Trial]:
    """The trials whose case fits: all that may explain wrong numbers; where there are none, two of each kind."""
    trials = [trial for trial in probe.trials if fits(trial.case)]
    return _representative_trials(trials) if probe.has_correct_values else trials


def remembers_nothing(probe: Probe) -> str | None:
    """A result depends on this call's input and on the parameters as they are now, not on an earlier call."""
    for trial in _select_trials(probe, lambda case: case.fill and all(isinstance(a, Tensor) for a in case.args)):
        first = trial.case
        other = replace(first, seed=first.seed + 1000, args=tuple(a.flip(0) for a in first.args))
        fresh, used = probe.run(other), probe.runner.run_after_earlier_case(other, earlier=first)
        if fresh.failure or used.failure:
            continue
        if not torch.allclose(_first_tensor(fresh.value), _first_tensor(used.value), atol=1e-5):
            return (
                "An object that was called before answers differently from a new one with the same parameters and the"
                " same input. Something was kept, from the first call or from `__init__`; training changes the"
                " parameters after every call, so compute from them each time."
            )
    return None


_CUTS = re.compile(r"\.detach\(\)|\.data\b|\.item\(\)|\.tolist\(\)|torch\.no_grad\(\)|torch\.tensor\(")


def slopes_agree(probe: Probe) -> str | None:
    """The gradients have the right numbers too: nothing on the way was taken for a constant."""
    if not probe.has_correct_values:  # wrong numbers have wrong gradients, and that is no news
        return None
    for trial in probe.trials:
        mine = probe.runner.compute_gradients(trial.case)
        for name, wanted in cached_oracle_gradients(probe.exercise, trial.case).items():
            found = mine.get(name)
            if found is None or wanted is None:
                continue
            if not torch.allclose(found, wanted, rtol=1e-3, atol=1e-3 * float(1 + wanted.abs().max())):
                cut = _CUTS.search(probe.runner.inspect_code().source)
                guess = f" Does `{cut[0]}` take something on the way for a constant?" if cut else ""
                return (
                    f"The numbers are right, and the gradient for {name} is not, so training would go another way: a"
                    f" constant stands where something depends on {name}, or a difference too small to show in the"
                    f" numbers.{guess}"
                )
    return None


def draws_nothing(why: str) -> Property:
    """Where the numbers are wrong and random ones were drawn on the way: `why` says what that may be."""

    def broken(probe: Probe) -> str | None:
        drew = not probe.has_correct_values and any(trial.yours.drew for trial in probe.trials)
        return why if drew else None

    return broken


def refuses(init: tuple, shape: tuple, why: str) -> Property:
    """What cannot be done is refused with a ValueError: neither done all the same, nor left to torch's words on
    shapes."""

    def broken(probe: Probe) -> str | None:
        asked = case(torch.zeros(shape), init=init)
        failure = probe.run(asked).failure
        wanted = f"{call_text(probe.exercise, asked)} should be refused with a ValueError, because {why}"
        if failure is None:
            return f"{wanted}. Yours gave a result."
        if "ValueError" not in (failure.type, *failure.bases):
            return f"{wanted}; it stopped with {article(failure.type)}{error_summary(failure)}"
        return None

    return broken


def takes(init: tuple, shape: tuple, why: str) -> Property:
    """What is long and allowed is done. No case for it: a wrong answer may take seconds with what a right one does at
    once."""

    def broken(probe: Probe) -> str | None:
        asked = case(torch.zeros(shape), init=init)
        failure = probe.run(asked).failure
        if failure is None:
            return None
        return f"{call_text(probe.exercise, asked)} was refused{error_summary(failure)}. {why}"

    return broken


def _replace_argument(case: Case, argument: int, value: Tensor) -> Case:
    """The case with one argument exchanged."""
    return replace(case, args=tuple(value if i == argument else a for i, a in enumerate(case.args)))


def _first_tensor(value: Any) -> Tensor:
    return (value[0] if isinstance(value, tuple) else value).detach()
