"""Properties that an exercise may ask of an answer, beyond agreeing with the oracle.

Each is a function of a `utils.diagnose.Probe` and returns a sentence when the property is broken, else None.
A property explains wrong numbers ("rows do not sum to one") and guards right ones that our numbers happen to let through.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from utils.diagnose import call_text
from utils.exercise import case
from utils.observe import as_module, build, expected, fill, reseed, sealed, tensors


def rows_sum_to_one(part: int | None = None) -> Callable:
    """Attention weights: each row of the result (or of its part `part`) sums to one."""
    def broken(probe):
        for trial in probe.trials:
            value = trial.yours.value
            weights = value[part] if part is not None and isinstance(value, tuple) else value if part is None else None
            if not isinstance(weights, torch.Tensor) or not weights.is_floating_point() or weights.dim() == 0:
                continue
            sums = weights.detach().sum(-1).flatten()
            worst = int((sums - 1).abs().argmax())
            if abs(sums[worst] - 1) > 1e-3:
                columns = " The columns do: the softmax ran along the wrong axis." if weights.dim() > 1 and torch.allclose(
                    weights.detach().sum(-2), torch.ones(()), atol=1e-3) else ""
                row = worst % weights.shape[-2] if weights.dim() > 1 else worst
                return f"The rows of the weights do not sum to one: row {row} sums to {sums[worst]:.4f}. Each position shares out exactly one unit of attention.{columns}"
        return None
    return broken


def causal(argument: int = 0, axis: int = -2, loud: float = 1000.0) -> Callable:
    """A future token does not change the past: the positions before a changed one keep their results.

    Tried on the inputs as they are, and `loud` times as large: there a score that was hidden with some low number comes up again.
    """
    def broken(probe):
        for factor in (1.0, loud):
            for trial in probe.trials:
                words = _past_changed(probe, trial, argument, axis, factor)
                if words:
                    return words
        return None
    return broken


def _past_changed(probe, trial, argument: int, axis: int, factor: float) -> str | None:
    x = trial.case.args[argument] * factor
    size = x.shape[axis]
    if size < 2:
        return None
    moved = x.clone()
    moved.select(axis, size - 1).add_(factor)
    results = []
    for given in (x, moved):
        args = tuple(given if i == argument else a for i, a in enumerate(trial.case.args))
        seen = trial.yours if given is x and factor == 1.0 else probe.run(replace(trial.case, args=args))
        if seen.failure:
            return None
        results.append(_first(seen.value).narrow(axis, 0, size - 1))
    before, after = results
    if factor != 1.0:
        # Weights made by a softmax over all, then cut and renormalised, may all come out 0 here: such rows are no leak, and are small.
        rows = [t.movedim(axis, -2).flatten(0, -2) for t in results]
        told = [row.isfinite().all(1) & (row.abs().amax(1) > factor**0.5) for row in rows]
        leaks = ~torch.isclose(*rows, rtol=1e-4, atol=1e-5 * factor).all(1)
        if not (told[0] & told[1] & leaks).any():
            return None
        return (
            f"With inputs {factor:.0f} times as large the future changes the past. What hides a score has to be lower than every score that can come up, "
            "and no number such as -100 or -10000 is: only minus infinity."
        )
    if torch.allclose(before, after, atol=1e-5):
        return None
    rows = (before - after).abs().transpose(axis, 0).flatten(1).amax(1)
    first = int((rows > 1e-5).nonzero()[0])
    return f"The future changes the past: when the last of {size} tokens changed, position {first} changed too, though it comes earlier. When a model writes, that token does not exist yet."


def batch_independent(argument: int = 0) -> Callable:
    """Batch items do not leak into each other: an item's result is the same with other company."""
    def broken(probe):
        for trial in probe.trials:
            x = trial.case.args[argument]
            if x.dim() < 3 or x.shape[0] < 2:
                continue
            moved = x.clone()
            moved[1:] += 1.0
            args = tuple(moved if i == argument else a for i, a in enumerate(trial.case.args))
            after = probe.run(replace(trial.case, args=args))
            if after.failure:
                return None
            if not torch.allclose(_first(trial.yours.value)[0], _first(after.value)[0], atol=1e-5):
                return "Batch items leak into each other: sequence 0 gave another result when only the other sequences of its batch changed. They are separate texts and must not see each other."
        return None
    return broken


def finite_when_loud(factor: float = 1000.0, alone: bool = False) -> Callable:
    """Inputs `factor` times as large give numbers still, where the oracle gives some: a softmax must not overflow.

    Cases with a mask are left out, and `alone` tries the first position by itself, for attention that hides the future:
    weights that are hidden after the softmax and shared out again are equal, and may come out as 0 / 0 there.
    """
    def turned(a):
        if not isinstance(a, torch.Tensor) or not a.is_floating_point():
            return a
        return (a.narrow(-2, 0, 1) if alone else a) * factor

    def broken(probe):
        unmasked = [t.case for t in probe.trials if not any(isinstance(a, torch.Tensor) and a.dtype == torch.bool for a in (*t.case.args, *t.case.kwargs.values()))]
        for case in _unlike(unmasked):
            loud = replace(case, args=tuple(map(turned, case.args)))
            seen = probe.run(loud)
            if seen.failure or all(t.isfinite().all() for t in tensors(seen.value)):
                continue
            if all(t.isfinite().all() for t in tensors(expected(probe.exercise, loud).value)):
                return (
                    f"With inputs {factor:.0f} times as large, nan or inf comes out. exp of a large number overflows, and of very low ones nothing is left to divide by. "
                    "A softmax takes the largest score of each row away first, as torch's own does."
                )
        return None
    return broken


def moves_with_its_module(probe) -> str | None:
    """What a module keeps or makes goes where the module goes. Tried on the meta device, which every machine has."""
    for case in _unlike([trial.case for trial in probe.trials]):
        module = probe.answer(**case.init) if isinstance(case.init, dict) else probe.answer(*case.init)
        module.train(case.train).to("meta")
        for part in module.modules():
            for name, kept in vars(part).items():
                if name not in ("_parameters", "_buffers") and any(t.device.type != "meta" for t in tensors(kept)):
                    return f"`self.{name}` stayed behind when the module moved to another device: `.to(...)` takes along parameters, buffers and layers, and a tensor that is only assigned to self is none of these. On a GPU the first forward pass would stop."
        if _mixes_devices(module, case):
            return "It works on the CPU only: on another device, forward mixes the input with a tensor that it made on the CPU. What a module needs besides its input should be kept where `.to(...)` takes it along, or be made on the input's device."
    return None


def _unlike(cases: list, at_most: int = 2) -> list:
    """Of cases that differ in numbers and sizes alone the first two: where a tensor is made seldom depends on more, and meta tensors are slow."""
    kinds: dict[tuple, list] = {}
    for case in cases:
        dims = tuple(a.dim() if isinstance(a, torch.Tensor) else None for a in case.args)
        kinds.setdefault((case.train, tuple(sorted(case.kwargs)), dims), []).append(case)
    return [case for alike in kinds.values() for case in alike[:at_most]]


def remembers_nothing(probe) -> str | None:
    """A result depends on this call's input and on the parameters as they are now, not on an earlier call."""
    for trial in probe.trials:
        case = trial.case
        if not case.fill or not all(isinstance(a, torch.Tensor) for a in case.args):
            continue
        other = replace(case, seed=case.seed + 1000, args=tuple(a.flip(0) for a in case.args))
        fresh = probe.run(other)
        if fresh.failure:
            continue
        with sealed(case.seed):
            module = build(probe.exercise, probe.answer, case)
            module(*case.args, **case.kwargs)
            fill(module, other.seed)
            reseed(other.seed)
            again = module(*other.args, **other.kwargs)
        if not torch.allclose(_first(fresh.value), _first(again), atol=1e-5):
            return (
                "An object that was called before answers differently from a new one with the same parameters and the same input. "
                "Something of the first call was kept; training changes the parameters after every call, so compute from them each time."
            )
    return None


def slopes_agree(probe) -> str | None:
    """The gradients have the right numbers too: nothing on the way was taken for a constant."""
    right = as_module(probe.exercise, probe.exercise.oracle)
    for trial in probe.trials:
        found = [_slopes(probe.exercise, made, trial.case) for made in (right, probe.answer)]
        for name, wanted in found[0].items():
            mine = found[1].get(name)
            if mine is not None and wanted is not None and not torch.allclose(mine, wanted, rtol=1e-3, atol=1e-3 * float(1 + wanted.abs().max())):
                return (
                    f"The numbers are right, and the gradient for {name} is not: something on the way was taken for a constant (.detach(), .data, .item(), torch.no_grad()). "
                    "Training follows the gradient, so it would go another way."
                )
    return None


def _slopes(exercise, made, case) -> dict:
    with sealed(case.seed):
        module = build(exercise, made, case)
        args = [a.clone().requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in case.args]
        reseed(case.seed)
        value = module(*args, **case.kwargs)
        value = value[0] if isinstance(value, tuple) else value
        leaves = {"the input" if a is args[0] else "an input": a for a in args if isinstance(a, torch.Tensor) and a.requires_grad}
        leaves |= {f"`{n}`": p for n, p in module.named_parameters()}
        weights = torch.linspace(-1, 1, value.numel()).view(value.shape)
        return dict(zip(leaves, torch.autograd.grad((value * weights).sum(), list(leaves.values()), allow_unused=True)))


def refuses(init: tuple, shape: tuple, why: str) -> Callable:
    """What cannot be done is refused with a ValueError, and neither done all the same nor left to torch's words on shapes."""
    def broken(probe):
        asked = case(torch.zeros(shape), init=init)
        failure = probe.run(asked).failure
        if failure is None:
            return f"{call_text(probe.exercise, asked)} should be refused with a ValueError, because {why}. Yours gave a result."
        if failure.type not in ("ValueError", "AssertionError"):
            return f"{call_text(probe.exercise, asked)} should be refused with a ValueError, because {why}; it stopped with a {failure.type}: {failure.text.splitlines()[0]}"
        return None
    return broken


def takes(init: tuple, shape: tuple, why: str) -> Callable:
    """What is long and allowed is done. No case for it: a wrong answer may take seconds with what a right one does at once."""
    def broken(probe):
        asked = case(torch.zeros(shape), init=init)
        failure = probe.run(asked).failure
        return failure and f"{call_text(probe.exercise, asked)} was refused ({failure.text.splitlines()[0]}). {why}"
    return broken


def works_where_its_input_is(probe) -> str | None:
    """What a function makes is made on its input's device. Tried on the meta device, as for modules."""
    if any(_mixes_devices(probe.answer, trial.case) for trial in probe.trials):
        return "It works on the CPU only: on another device it mixes its input with a tensor that it made on the CPU. What a function makes from nothing has to be made on, or brought to, the device of its input."
    return None


def _mixes_devices(call: Callable, case) -> bool:
    given = [a.to("meta") if isinstance(a, torch.Tensor) else a for a in case.args]
    try:
        with _OneDevice():
            call(*given, **{k: v.to("meta") if isinstance(v, torch.Tensor) else v for k, v in case.kwargs.items()})
    except Exception as error:  # shapes without numbers stop some right answers too; only devices are asked about
        return isinstance(error, _TwoDevices) or "device" in str(error)
    return False


class _TwoDevices(Exception):
    """An operation was given tensors of two devices."""


class _OneDevice(TorchDispatchMode):
    """Stops an operation on tensors of two devices, as a GPU would; the meta device lets operations in place through."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = [t.device for t in tensors([*args, *(kwargs or {}).values()]) if t.dim()]
        if len(set(given)) > 1 and not any(word in func.__name__ for word in ("copy", "index")):  # these may cross
            raise _TwoDevices(func.__name__)
        return func(*args, **(kwargs or {}))


def _first(value) -> torch.Tensor:
    return (value[0] if isinstance(value, tuple) else value).detach()
