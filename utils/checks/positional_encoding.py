"""Define the exercises of lesson 07: sinusoids, a module that adds them, and rotary position embeddings."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from utils.checks._attention import rope, sinusoids
from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Hints, Wrong, case, exercise
from utils.feedback.properties import (
    batch_independent,
    draws_nothing,
    moves_with_its_module,
    refuses,
    takes,
    works_where_its_input_is,
)
from utils.feedback.report import format_number


def _alternating(first, second):
    """Combine two tables [..., d/2] into one table [..., d] with alternating columns."""
    return torch.stack((first, second), dim=-1).flatten(-2)


def _halves(first, second):
    return torch.cat((first, second), dim=-1)


def _pairs(d):
    """Return 2i / d for each pair i."""
    return torch.arange(0, d, 2) / d


@with_steps
def _waves(
    position,
    d_model,
    base=100.0,
    *,
    first=torch.sin,
    second=torch.cos,
    power=_pairs,
    join=_alternating,
    at=lambda p: p,
    base_is=lambda base: base,
    unit=1.0,
):
    angle = at(position.float())[:, None] * base_is(base) ** -power(d_model) * unit
    return join(first(angle), second(angle))


def _by_logarithm(position, d_model, base=100.0):
    speed = torch.exp(torch.arange(0, d_model, 2) * (-math.log(base) / d_model))
    angle = position.float()[:, None] * speed
    return _alternating(angle.sin(), angle.cos())


def _angle_values(position, d_model, base=100.0):
    """Compute the milestones up to the sines and cosines of the angles [seq, d_model / 2]."""
    pairs = torch.arange(0, d_model, 2).float()
    power = base ** (pairs / d_model)
    angles = position.float()[:, None] / power
    values = {
        "the numbers 0, 2, 4, …?": pairs,
        "the exponents?": pairs / d_model,
        "the negative exponents?": -pairs / d_model,
        "the logarithms of the speeds?": -math.log(base) * pairs / d_model,
        "the powers of the base?": power,
        "the speeds?": 1 / power,
        "the angles": angles,
        "the sines": angles.sin(),
        "the cosines": angles.cos(),
    }
    result = {"the positions?": position.float()}
    for label, value in values.items():
        result[f"{label.rstrip('?')} of all entries?"] = value.repeat_interleave(2, -1)
        result[label] = value
    return result


def _angle_difference(a, b):
    """Return the absolute difference between two angles, ignoring full turns."""
    return float(((a - b + math.pi) % (2 * math.pi) - math.pi).abs())


def _angles(probe):
    """Check that each pair of entries is the sine and the cosine of position × speed."""
    for trial in probe.trials:
        yours, position = trial.yours.value, trial.case.args[0]
        d_model, base = trial.case.args[1], trial.case.kwargs.get("base", 100.0)
        if not isinstance(yours, torch.Tensor) or yours.shape != trial.expected.value.shape:
            continue
        positions = position.tolist()
        for row, p in enumerate(positions):
            same = (trial.expected.value - yours[row]).abs().amax(-1).lt(1e-4).nonzero().flatten().tolist()
            if same and row not in same:
                return (
                    f"Row {row} is the encoding of position {positions[same[0]]:g}, but it should be the encoding of"
                    f" position {p:g}."
                )
            for i in range(d_model // 2):
                sine, cosine = yours[row, 2 * i].double(), yours[row, 2 * i + 1].double()
                if abs(float(sine**2 + cosine**2) - 1) > 1e-3:
                    return (
                        f"Entries {2 * i} and {2 * i + 1} at position {p:g} are"
                        f" {_pair_text(map(float, (sine, cosine)))}, and their squares sum to"
                        f" {float(sine**2 + cosine**2):.3f}. The squares of the sine and the cosine of an angle"
                        " sum to 1."
                    )
                expected = torch.tensor(p * base ** (-2 * i / d_model), dtype=torch.float64)
                angle = torch.atan2(sine, cosine)
                if _angle_difference(angle, expected) > 1e-3:
                    return (
                        f"Entries {2 * i} and {2 * i + 1} at position {p:g} are the sine and the cosine of"
                        f" {format_number(float(angle), 3)}, with d_model = {d_model} and base = {base:g}. Pair {i}"
                        f" should rotate by {base ** (-2 * i / d_model):.4g} rad per position, so the angle here should"
                        f" be {float(expected):.3f}, plus or minus a multiple of 2π."
                    )
    return None


def _keeps_lengths(probe):
    """Check that each pair keeps its length and is rotated by the angle position × speed."""
    for trial in probe.trials:
        yours, x = trial.yours.value, trial.case.args[0].double()
        base = trial.case.kwargs.get("base", 10000.0)
        if not isinstance(yours, torch.Tensor) or yours.shape != x.shape:
            continue
        seq, d_head = x.shape[-2:]
        before, after = (
            torch.view_as_complex(t.detach().double().reshape(-1, seq, d_head // 2, 2)[0].contiguous())
            for t in (x, yours)
        )
        for p in range(seq):
            for i in range(d_head // 2):
                pair = f"Entries {2 * i} and {2 * i + 1} at position {p}"
                if abs(float(after[p, i].abs() - before[p, i].abs())) > 1e-3:
                    return (
                        f"{pair} form a vector of length {float(before[p, i].abs()):.3f} in x and of length"
                        f" {float(after[p, i].abs()):.3f} in your result. A rotation should keep the length."
                    )
                angle = (after[p, i] / before[p, i]).angle()
                expected = torch.tensor(p * base ** (-2 * i / d_head), dtype=torch.float64)
                if float(before[p, i].abs()) > 0.05 and _angle_difference(angle, expected) > 1e-2:
                    return (
                        f"{pair} are rotated by {format_number(float(angle), 3)} rad, with d_head = {d_head} and base ="
                        f" {base:g}. Pair {i} should rotate by {base ** (-2 * i / d_head):.4g} rad per position,"
                        f" starting with 0 at position 0: the angle here should be {float(expected):.3f} rad,"
                        " plus or minus a multiple of 2π."
                    )
    return None


def _far_rows(probe):
    """Check the row for position 2049, which float16 cannot distinguish from position 2048."""
    observation = probe.run(case(torch.tensor([2049.0]), 2))
    expected = torch.tensor([math.sin(2049), math.cos(2049)])
    if observation.failure is None and not torch.allclose(observation.value[0], expected, atol=0.01):
        return (
            f"Position 2049 gets {[round(v, 3) + 0.0 for v in observation.value[0].tolist()]}, but its sine and cosine"
            f" are {expected[0]:.3f} and {expected[1]:.3f}; early positions are right. Do you keep positions or angles"
            " in float16? It cannot represent odd numbers above 2048."
        )
    return None


exercise(
    "positional_encoding",
    unswept={"ones": "the lesson says that d_model is even"},
    oracle=sinusoids,
    milestones=_angle_values,
    cases=lambda rand: [
        case(torch.arange(4.0), 4, page_example="positions 0 to 3, as in this lesson"),
        case(torch.arange(7.0), 4),
        case(torch.arange(5.0), 6, base=10000.0),
        case(rand(5).abs() * 10, 8, note="with positions that are out of order and not integers"),
        case(torch.arange(20.0, 26.0), 10, base=50.0, note="with positions that start at 20"),
        case(torch.tensor([3.0]), 2, note="with a single position"),
    ],
    returns=Float("seq d_model"),
    properties=[_angles, _far_rows],
    differentiable=False,
    misconceptions={
        "positions-ignored": _waves.replace(at=lambda p: torch.arange(len(p))).wrong(
            "You number the rows 0, 1, 2, … yourself and ignore the values in `position`. If a text begins at position"
            " 20, its first rows should belong to positions 20, 21, 22."
        ),
        "base-fixed": _waves.replace(base_is=lambda base: 100.0).wrong(
            "Your base is always 100. The base decides how slow the slowest wave is, so use the argument."
        ),
        "ten-thousand": _waves.replace(base_is=lambda base: 10000.0).wrong(
            "Your base is always 10000, as in the 2017 paper. Use the argument, whose default here is 100."
        ),
        "every-entry-its-own-speed": Wrong(
            _waves.replace(
                power=lambda d: torch.arange(d) / d,
                join=lambda s, c: torch.where(torch.arange(s.shape[-1]) % 2 == 0, s, c),
            ),
            "Your exponent is different for every entry, so the sine and the cosine of a pair have different angles."
            " Entries 2i and 2i + 1 should share one angle; otherwise, a shift by a few positions is not a rotation of"
            " the pair.",
        ),
        "half-the-exponent": _waves.replace(power=lambda d: _pairs(d) / 2).wrong(
            "Your exponent is i / d_model and should be 2i / d_model. As a result, every pair after the first pair"
            " rotates too fast."
        ),
        "twice-the-exponent": _waves.replace(power=lambda d: 2 * _pairs(d)).wrong(
            "Your exponent is twice as large as it should be. In the formula, 2i takes the values 0, 2, 4, …, so an"
            " arange in steps of two already gives 2i, not i."
        ),
        "divided-twice": _waves.replace(power=lambda d: -_pairs(d)).wrong(
            "You multiply by the power of the base instead of dividing by it, so later waves get faster and faster."
            " The first pair should be the fastest, at one radian per position, and the others should be slower."
        ),
        "sine-and-cosine-swapped": _waves.replace(first=torch.cos, second=torch.sin).wrong(
            "You swapped sine and cosine: even entries should hold the sine, and odd entries the cosine. The row of"
            " position 0 should begin with 0, 1."
        ),
        "halves": _waves.replace(join=_halves).wrong(
            "You put all sines first, then all cosines. They should alternate, so that the sine and the cosine of a"
            " pair are neighbours and can be rotated together."
        ),
        "sine-only": _waves.replace(second=torch.sin).wrong(
            "Both entries of each pair are sines. Two positions on opposite sides of a wave's peak can then get the"
            " same value; the cosine tells them apart."
        ),
        "whole-rounds": _waves.replace(unit=2 * torch.pi).wrong(
            "Your angles contain an extra factor of 2π, so at every integer position the first pair is back at its"
            " start. The first pair should rotate by one radian per position."
        ),
        "angles-only": _waves.replace(first=torch.clone, second=torch.clone).wrong(
            "You return the angles themselves, which grow without limit. Return their sines and cosines, which stay"
            " between -1 and 1."
        ),
        "degrees": _waves.replace(unit=torch.pi / 180).wrong(
            "You treated the angle as degrees. The formula uses radians, as torch's sin and cos do."
        ),
        "cut-to-whole": _waves.replace(at=torch.trunc).wrong(
            "You truncate positions to integers, so position 2.5 gets the row of position 2. A position may be any"
            " number, and the angle should be proportional to it."
        ),
        "exponents-up-to-one": _waves.replace(power=lambda d: torch.linspace(0, 1, d // 2)).wrong(
            "Your exponents run from 0 to 1, but the last exponent should be less than 1. Use 2i / d_model."
        ),
        "starts-at-one": _waves.replace(at=lambda p: p + 1).wrong(
            "You added one to every position. Position 0 should have the angle 0, so its row should begin with 0, 1."
        ),
    },
    equivalent={"by-logarithm": _by_logarithm},
    hints=Hints(
        "Work out one pair by hand: at position 3, entries 0 and 1 are sin 3 and cos 3. What is the angle of entries 2"
        " and 3?",
        "The angles form a table with a row for each position and a column for each pair. A column of positions times"
        " a row of speeds gives this table.",
        "The speeds are base to the power of -(0, 2, 4, …) / d_model. Put the sines of the angles into the even"
        " columns and their cosines into the odd columns.",
    ),
)


def _no_parameters(d_model, max_len=5000):
    if d_model % 2:
        raise ValueError("d_model must be even")
    return {}


def _encode_positions(x, position=None, base=100.0):
    """Return the encoding of `position`, which defaults to the positions 0, 1, 2, … of x."""
    return sinusoids(torch.arange(x.shape[-2]) if position is None else position, x.shape[-1], base)


@with_steps
def _add_positions(p, x, *, make=_encode_positions, join=torch.add, last=lambda p, x: x):
    if x.shape[-2] > p.init_args["max_len"]:
        raise ValueError("too long")
    return last(p, join(x, make(x)))


def _rows_by_text(x):
    marks = _encode_positions(x, torch.arange(x.shape[0]))
    return marks[:, None] if x.dim() == 3 else marks


class _CutByFirstAxis(nn.Module):
    """The lesson's class, but it takes the first x.size(0) rows of the table."""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.register_buffer("pe", sinusoids(torch.arange(max_len), d_model))

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class _BatchAxisOfThree(_CutByFirstAxis):
    """The class from the course's source text: its table has the shape [max_len, 1, d_model]."""

    def forward(self, x):
        return x + self.pe[:, None][: x.size(0)]


class _UncutTable(_CutByFirstAxis):
    def forward(self, x):
        return x + self.pe


_NO_DROPOUT = draws_nothing(
    "Your forward samples random numbers: does it apply dropout, as in torch's tutorial? This module should only add"
    " the encoding to its input, in training mode too."
)


def _adds_its_rows(probe):
    """Report what the answer added at the first wrong position."""
    for trial in probe.trials:
        x = trial.case.args[0]
        added, expected = (observation.value.detach() - x for observation in (trial.yours, trial.expected))
        wrong = (added - expected).abs().reshape(-1, *x.shape[-2:]).amax((0, 2)) > 1e-4
        if wrong.any():
            position = int(wrong.nonzero()[0])
            yours, right = (t.reshape(-1, *x.shape[-2:])[0, position, :2].tolist() for t in (added, expected))
            return (
                f"At position {position}, you added {_pair_text(yours)} to the first two entries of x. Row {position}"
                f" of the table should begin with {_pair_text(right)}."
            )
    return None


def _pair_text(pair):
    return " and ".join(format_number(value, 3) for value in pair)


def _keeps_its_table(probe):
    """Check that a layer accepts a long text after a short text: it must keep all rows of its table."""
    short, long = (case(torch.zeros(seq, 2), init=(2,), fill=False) for seq in (3, 50))
    failure = probe.runner.run_in_sequence([short, long])[-1].failure
    return failure and (
        f"After a text of 3 positions, a text of 50 positions stops with a {failure.type}: {failure.text}. Did you"
        " overwrite the table with a slice of it? Take rows from it, but keep the whole table for the next text."
    )


def _has_far_rows(probe):
    """Check row 4999 of the table. In float16, 4999 is rounded to the same number as its neighbours."""
    observation = probe.run(case(torch.zeros(5000, 2), init=(2,), fill=False))
    expected = torch.tensor([math.sin(4999), math.cos(4999)])
    if observation.failure is None and not torch.allclose(observation.value[-1].detach(), expected, atol=0.01):
        yours = [round(v, 3) + 0.0 for v in observation.value[-1].tolist()]
        return (
            f"At position 4999, you added {_pair_text(yours)} to the first two entries of x, expected"
            f" {_pair_text(expected.tolist())}; early positions are right. Do you keep positions or angles in float16?"
        )
    return None


exercise(
    "PositionalEncoding",
    unswept={"parameters": "the lesson lets the layer save its table as a buffer"},
    initial_parameters=_no_parameters,
    oracle=_add_positions,
    milestones=lambda p, x: {"the encodings of the positions": _encode_positions(x)},
    cases=lambda rand: [
        case(rand(5, 4), init=(4,)),
        case(rand(3, 6, 4), init=(4, 20), seed=1, train=True, note="in training"),
        case(rand(4, 2, 8), init=(8, 9), seed=2),
        case(rand(2, 7, 6), init=(6, 7), seed=3, note="as long as max_len"),
        case(rand(1, 1, 2), init=(2, 3), seed=4),
    ],
    returns=Float("... seq d_model"),
    properties=[
        _NO_DROPOUT,
        batch_independent(),
        moves_with_its_module,
        refuses((4, 6), (2, 7, 4), "the text is longer than max_len"),
        # If the answer does not check the length, torch broadcasts the table's single row to all positions.
        refuses((4, 1), (2, 3, 4), "the text is longer than max_len"),
        takes((2,), (5000, 2), "max_len is 5000 by default, and a text may have up to max_len positions."),
        takes((2, 5100), (5001, 2), "max_len may be larger than 5000, and a text may have up to max_len positions."),
        _keeps_its_table,
        refuses((2,), (5001, 2), "the text is longer than 5000, the default of max_len"),
        refuses((5, 9), (2, 3, 5), "entries come in pairs and d_model is odd"),
        _adds_its_rows,
        _has_far_rows,
    ],
    misconceptions={
        "batch-axis-of-three": Wrong(
            _BatchAxisOfThree,
            "You take the number of table rows from the first axis of x, which is the axis of the texts in a batch, so"
            " every position of text b gets row b. Take one row for each position, along the second-to-last axis of x;"
            " the middle axis of your table is not needed.",
        ),
        "first-axis": Wrong(
            _CutByFirstAxis,
            "Your forward raises an error for a batch of several texts: do you take the number of table rows from the"
            " first axis of x, which is the axis of the texts? Take one row for each position; the positions are on the"
            " second-to-last axis of x.",
        ),
        "not-cut": Wrong(
            _UncutTable,
            "You add the whole table with all max_len rows, which does not fit a shorter text. Take as many rows as x"
            " has positions.",
        ),
        "concatenated": _add_positions.replace(join=lambda x, pe: torch.cat((x, pe.expand_as(x)), dim=-1)).wrong(
            "You put x and the encoding side by side, so the result is twice as wide as later layers expect. Add the"
            " encoding instead, which keeps the width."
        ),
        "subtracted": _add_positions.replace(join=torch.sub).wrong("You subtracted the table. Add it to x."),
        "tokens-enlarged": _add_positions.replace(join=lambda x, pe: x * x.shape[-1] ** 0.5 + pe).wrong(
            "You multiplied x by the square root of d_model before the addition. Some models do this with their"
            " embeddings, but this module should only add the encoding."
        ),
        "batch-axis": _add_positions.replace(make=_rows_by_text).wrong(
            "In a batch, every position of a text gets the same vector, because you take one table row for each text,"
            " along the first axis of x. Take one row for each position; the positions are on the second-to-last axis"
            " of x."
        ),
        "multiplied": _add_positions.replace(join=torch.mul).wrong(
            "You multiplied x by the encoding, which loses an entry wherever a sine is 0; at position 0, you lose every"
            " second entry. Add the encoding instead."
        ),
        "nothing-added": _add_positions.replace(join=lambda x, pe: x).wrong(
            "You return x unchanged, so the later layers cannot see the order of the tokens. Add the encoding to x."
        ),
        "encoding-alone": _add_positions.replace(join=lambda x, pe: pe.expand_as(x)).wrong(
            "You return only the encoding, so the tokens are lost. Add the encoding to x."
        ),
        "reversed": Wrong(
            _add_positions.replace(make=lambda x: _encode_positions(x, torch.arange(x.shape[-2]).flip(0))),
            "You count positions from the end, so all of them change when a token is added. The first token should"
            " have position 0.",
        ),
        "starts-at-one": Wrong(
            _add_positions.replace(make=lambda x: _encode_positions(x, torch.arange(x.shape[-2]) + 1)),
            "You gave the first token position 1. It should get the first row of the table, which belongs to position"
            " 0.",
        ),
        "base-ten-thousand": _add_positions.replace(make=lambda x: _encode_positions(x, base=10000.0)).wrong(
            "You compute the table with base 10000. In this course, the module uses base 100, which is the default of"
            " positional_encoding."
        ),
        "dropout": _add_positions.replace(last=lambda p, x: F.dropout(x, 0.1, p.training)).wrong(
            "You apply dropout after the addition, as in torch's tutorial: in training, some of the numbers become 0,"
            " and the other numbers are scaled up. This module should only add the encoding."
        ),
        "a-parameter": Wrong(
            _add_positions,
            "Your table is a parameter of the module, so training would change it. Make it a buffer, which moves with"
            " the module and keeps its values.",
            initial_parameters=lambda d_model, max_len=5000: {"pe": torch.zeros(max_len, d_model)},
        ),
    },
    hints=Hints(
        "The table is made once, in __init__, for all max_len positions. What should forward do with it?",
        "register_buffer stores the table with the module without training it. forward adds the first rows of the table"
        " to x, one row for each position.",
        "The number of positions is x.shape[-2], both for [seq, d] and for [batch, seq, d]. Take that many rows of the"
        " buffer; broadcasting does the rest.",
    ),
)


def _positions(x):
    return torch.arange(x.shape[-2]).float()


def _split_neighbours(x):
    return x[..., 0::2], x[..., 1::2]


def _rotate_pair(a, b, cos, sin):
    return a * cos - b * sin, a * sin + b * cos


@with_steps
def _rotate(
    x,
    base=10000.0,
    *,
    at=_positions,
    power=_pairs,
    cut=_split_neighbours,
    turn=_rotate_pair,
    join=_alternating,
    base_is=lambda base: base,
):
    angle = at(x)[..., None] * base_is(base) ** -power(x.shape[-1])
    return join(*turn(*cut(x), angle.cos(), angle.sin()))


def _rope_values(x, base=10000.0):
    values = _angle_values(torch.arange(x.shape[-2]), x.shape[-1], base)
    cosines, sines = values["the cosines"], values["the sines"]
    a, b = _split_neighbours(x)
    swapped = _alternating(-b, a)
    return {
        **values,
        "the first entries of the pairs?": a,
        "the second entries of the pairs?": b,
        "the entries times the cosines?": x * _alternating(cosines, cosines),
        "the swapped pairs?": swapped,
        "the swapped pairs times the sines?": swapped * _alternating(sines, sines),
        "the first entries times the cosines?": a * cosines,
        "the second entries times the sines?": b * sines,
        "the first entries times the sines?": a * sines,
        "the second entries times the cosines?": b * cosines,
        "the rotated first entries": a * cosines - b * sines,
        "the rotated second entries": a * sines + b * cosines,
    }


def _count_along(axis):
    """Return a function that uses the indices along `axis` as positions."""

    def at(x):
        if x.dim() < 3:
            return torch.arange(x.shape[0]).float()
        indices = torch.arange(x.shape[axis]).float()
        return indices.view(-1, *[1] * (x.dim() - 2 - axis % x.dim())).expand(x.shape[:-1])

    return at


def _far_positions(probe):
    """Check the angle at position 2049, which float16 cannot distinguish from position 2048."""
    observation = probe.run(case(torch.tensor([[1.0, 0.0]]).repeat(2050, 1)))
    expected = torch.tensor([2049.0, 2049.0 - torch.pi / 2]).cos()
    if observation.failure is None and not torch.allclose(observation.value[-1], expected, atol=0.01):
        return (
            f"Position 2049 rotates (1, 0) to {[round(v, 3) + 0.0 for v in observation.value[-1].tolist()]} instead of"
            f" {[round(v, 3) for v in expected.tolist()]}; short texts are right. Do you keep positions or angles in"
            " float16? It cannot represent odd numbers above 2048."
        )
    return None


exercise(
    "apply_rope",
    oracle=rope,
    milestones=_rope_values,
    cases=lambda rand: [
        case(rand(5, 4)),
        case(rand(2, 6, 8)),
        case(rand(2, 3, 7, 6), base=100.0),
        case(rand(1, 9, 2), base=50.0),
        case(rand(3, 1, 1, 10)),
        case(rand(30, 4)),
    ],
    returns=Float("... seq d_head"),
    differentiable=True,
    properties=[batch_independent(), _keeps_lengths, works_where_its_input_is, _far_positions],
    misconceptions={
        "turned-by-the-head": _rotate.replace(at=_count_along(-3)).wrong(
            "You count the positions along the third-to-last axis, which is the axis of heads or texts, so all tokens"
            " of a head or text are rotated by the same angle. Count the positions along the second-to-last axis."
        ),
        "same-turn-everywhere": _rotate.replace(at=lambda x: torch.ones(x.shape[-2])).wrong(
            "Your rotation angles are the speeds alone, so they are the same at every position. The angle should be the"
            " position times the speed; otherwise, attention cannot tell positions apart."
        ),
        "base-a-hundred": _rotate.replace(base_is=lambda base: 100.0).wrong(
            "Your base is always 100, the default of positional_encoding. Use the argument, whose default is 10000."
        ),
        "starts-at-one": _rotate.replace(at=lambda x: _positions(x) + 1).wrong(
            "You added one to every position, so the first token is rotated too. Position 0 should stay unchanged."
        ),
        "only-cosines": _rotate.replace(turn=lambda a, b, cos, sin: (a * cos, b * cos)).wrong(
            "You multiplied both entries by the cosine, which only scales a pair. A rotation mixes the two entries of"
            " the pair."
        ),
        "other-direction": _rotate.replace(at=lambda x: -_positions(x)).wrong(
            "You rotate the pairs clockwise. In both directions, a score depends only on the difference of the"
            " positions, but this course rotates counterclockwise, from the first entry of a pair towards the second."
        ),
        "first-overwritten": Wrong(
            _rotate.replace(turn=lambda a, b, cos, sin: (a * cos - b * sin, (a * cos - b * sin) * sin + b * cos)),
            "You computed the second entry of a pair from the new first entry. Both entries should come from the old"
            " pair, so keep the old pair until both are computed.",
        ),
        "places-exchanged": _rotate.replace(join=lambda first, second: _alternating(second, first)).wrong(
            "You swapped the two entries of each pair. The entry with the minus sign should come first, and the entry"
            " with the plus sign second."
        ),
        "halves-at-the-end": _rotate.replace(join=_halves).wrong(
            "You return all first entries of the rotated pairs, then all second entries. Dot products do not change if"
            " queries and keys are reordered in the same way, but each rotated pair should go back into its own two"
            " entries."
        ),
        "halves-as-pairs": _rotate.replace(cut=lambda x: x.chunk(2, dim=-1), join=_halves).wrong(
            "You pair entry i with entry i + d/2, as some libraries do, but weights that were trained with one pairing"
            " do not fit the other pairing. Here, neighbouring entries form pairs: 0 with 1, 2 with 3."
        ),
        "one-speed-for-all": _rotate.replace(power=lambda d: torch.zeros(d // 2)).wrong(
            "You rotate all pairs by one radian per position, so after 6.28 positions they are nearly back at their"
            " start, and distant positions look close. Each pair needs its own speed."
        ),
        "base-ignored": _rotate.replace(base_is=lambda base: 10000.0).wrong(
            "Your base is always 10000. Use the argument."
        ),
        "half-the-exponent": _rotate.replace(power=lambda d: _pairs(d) / 2).wrong(
            "Your exponent is i / d_head and should be 2i / d_head. As a result, the slow pairs rotate too fast."
        ),
        "turned-by-the-batch": _rotate.replace(at=_count_along(0)).wrong(
            "You count the positions along the first axis, which is the axis of the texts in a batch. Count them along"
            " the second-to-last axis."
        ),
        "added": Wrong(
            lambda x, base=10000.0: x + _encode_positions(x, base=base),
            "You added sines and cosines, as in the previous encoding. A rotation multiplies by them instead, and keeps"
            " the length of each pair.",
        ),
        "scaled": _rotate.replace(turn=lambda a, b, cos, sin: (a * cos, b * sin)).wrong(
            "You multiplied each entry by its own cosine or sine. To rotate a pair, compute each of the two results"
            " from both entries."
        ),
        "minus-misplaced": _rotate.replace(turn=lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)).wrong(
            "Your formula has no minus sign. Rotating (a, b) gives a cos - b sin and a sin + b cos; without the minus"
            " sign, the length of the pair changes with the position."
        ),
    },
    hints=Hints(
        "Take one pair (a, b) as a point in the plane. Where is it after a rotation by the angle t?",
        "x[..., 0::2] are the first entries of all pairs, and x[..., 1::2] are the second entries. The angles form the"
        " same table as in positional_encoding: positions times speeds.",
        "The first result is a cos - b sin, the second is a sin + b cos. To put them side by side again, stack them"
        " along a new last axis, then flatten the last two axes.",
    ),
)
