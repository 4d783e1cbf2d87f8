"""Check functions that sample from a random generator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch

from utils.exercises.exercise import case
from utils.exercises.observe import collect_tensors
from utils.exercises.probe import Probe

STATES = 20  # with only two possible values, all 20 samples are equal with a probability of about 2 / 10 ** 6
FEW = 6  # if an answer has at most five different results, at least two of its six samples are equal


def draws_from_its_generator(*arguments: Any, **messages: str) -> Callable[[Probe], str | None]:
    """Check that a function samples only from its generator, which is its last argument.

    Args:
        arguments: the arguments before the generator; by default, the arguments of the first case.
        messages: one message for each test to run. `elsewhere`: two calls with the same generator state return
            different samples. `restarted`: a second call repeats the samples of the first call. `ignored`: generators
            with different states lead to the same samples. `disturbing`: the function also uses torch's global
            generator. `constant`: without a generator, two calls return the same samples. `shared`: all items of a
            sample are equal. `repeated`: two of `FEW` generators lead to the same samples.

    Equal samples can have several causes. A message that names one cause is therefore returned only if the samples are
    equal for all `STATES` generators. The message `repeated` names no cause, so one pair of equal samples is enough.
    """

    def broken(probe: Probe) -> str | None:
        args = arguments or probe.trials[0].case.args[:-1]

        def sample(seed: int | None, global_seed: int = 1, calls: int = 1):
            generator = () if seed is None else (torch.Generator().manual_seed(seed),)
            return probe.run(case(*args, *generator, seed=global_seed), calls=calls)

        first, again = sample(1), sample(1, global_seed=2)
        if first.failure or again.failure or sample(2).failure:
            return None
        states = range(1, 1 + STATES)
        tests = {
            "elsewhere": lambda: not _equal(first.value, again.value),
            "restarted": lambda: all(_equal(*(sample(seed, calls=2).value or (0, 1))) for seed in states),
            "ignored": lambda: all(_equal(first.value, sample(seed).value) for seed in states),
            "disturbing": lambda: first.drew,
            "constant": lambda: all(_equal(*(sample(None, seed, calls=2).value or (0, 1))) for seed in states),
            "shared": lambda: all(_has_equal_items(sample(seed).value) for seed in states),
            "repeated": lambda: any(_equal(a.value, b.value) for a, b in combinations(map(sample, states[:FEW]), 2)),
        }
        return next((messages[name] for name, fails in tests.items() if name in messages and fails()), None)

    return broken


def batches_from_their_generator(
    noun: str, *arguments: Any, elsewhere: str, constant: str
) -> Callable[[Probe], str | None]:
    """Check that a function samples training batches only from its generator.

    Args:
        noun: a plural noun that names the contents of a batch in the messages.
        arguments: the arguments before the generator; by default, the arguments of the first case.
        elsewhere, constant: the ends of the messages `elsewhere` and `constant`.
    """
    return draws_from_its_generator(
        *arguments,
        elsewhere=f"The same generator in the same state gave different {noun} the second time{elsewhere}",
        restarted=f"Two calls in a row with the same generator gave the same {noun}. In each call, sample new {noun}"
        " directly from the generator, which continues where the last call ended: do not copy it, set its seed or store"
        " a result.",
        ignored=f"Two generators in different states gave the same {noun}, as if your function set a seed. Sample from"
        " the generator that is passed in.",
        disturbing="A generator was passed in, but your code used or seeded torch's global random generator. Sample"
        " only from the generator that was passed in.",
        repeated=f"Of {FEW} generators in different states, at least two gave exactly the same {noun}. Sample every"
        " number independently from the generator, so that equal samples are very unlikely.",
        constant=f"Without a generator, two calls gave the same {noun}. Training would see the same batch again and"
        f" again{constant}",
    )


def _equal(a: Any, b: Any) -> bool:
    pairs = list(zip(collect_tensors(a), collect_tensors(b)))
    return bool(pairs) and all(x.shape == y.shape and torch.equal(x, y) for x, y in pairs)


def _has_equal_items(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and len(value) > 1 and bool((value == value[0]).all())
