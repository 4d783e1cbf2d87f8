"""What is asked of every function that draws at random from a generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from utils.feedback.exercise import case
from utils.feedback.observe import collect_tensors
from utils.feedback.probe import Probe


def draws_from_its_generator(*given: Any, **words: str) -> Callable[[Probe], str | None]:
    """All chance comes from the generator, the last argument, and from nowhere else.

    Args:
        given: the arguments before the generator; those of the first case unless given.
        words: what to say, for each question that is to be asked: `elsewhere` (the same generator gives other draws the
            second time), `restarted` (a second call repeats the first one), `ignored` (two generators give the same),
            `disturbing` (torch's own random numbers are used as well) and `constant` (without a generator, two calls
            give the same).
    """

    def broken(probe: Probe) -> str | None:
        args = given or probe.trials[0].case.args[:-1]

        def draw(seed: int | None, world: int = 1, calls: int = 1):
            generator = () if seed is None else (torch.Generator().manual_seed(seed),)
            return probe.run(case(*args, *generator, seed=world), calls=calls)

        first, again, other = draw(1), draw(1, world=2), draw(2)
        if first.failure or again.failure or other.failure:
            return None
        questions = {
            "elsewhere": lambda: not _equal(first.value, again.value),
            "restarted": lambda: _equal(*(draw(1, calls=2).value or (0, 1))),
            "ignored": lambda: _equal(first.value, other.value),
            "disturbing": lambda: first.drew,
            "constant": lambda: _equal(*(draw(None, world=3, calls=2).value or (0, 1))),
        }
        return next((words[name] for name, wrong in questions.items() if name in words and wrong()), None)

    return broken


def batches_from_their_generator(
    what: str, *given: Any, elsewhere: str, constant: str
) -> Callable[[Probe], str | None]:
    """The same of batches of `what` to train on; `elsewhere` and `constant` end the sentences on these two."""
    return draws_from_its_generator(
        *given,
        elsewhere=f"The same generator in the same state gave other {what} the second time{elsewhere}",
        restarted=f"Two calls in a row with one generator gave the same {what}: it is copied or seeded anew inside."
        " Draw from it as it is, so that each call goes on where the last one ended.",
        ignored=f"Two generators in different states gave the very same {what}. Is something seeded inside? Draw from"
        " the generator that is passed in.",
        disturbing="With a generator passed in, torch's global random numbers were used or seeded as well. Draw from"
        " the generator alone.",
        constant=f"Without a generator, two calls gave the same {what}. Training would see one batch for"
        f" ever{constant}",
    )


def _equal(a: Any, b: Any) -> bool:
    pairs = list(zip(collect_tensors(a), collect_tensors(b)))
    return bool(pairs) and all(x.shape == y.shape and torch.equal(x, y) for x, y in pairs)
