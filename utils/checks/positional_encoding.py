"""Exercises of lesson 07: sinusoids, the module that adds them, and rotary positions."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from utils.checks._attention import rope, sinusoids
from utils.feedback.exercise import Float, Hints, Wrong, case, exercise
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
    """Two tables [..., d/2] as one [..., d] in which their columns alternate."""
    return torch.stack((first, second), dim=-1).flatten(-2)


def _halves(first, second):
    return torch.cat((first, second), dim=-1)


def _pairs(d):
    """2i / d for each pair i."""
    return torch.arange(0, d, 2) / d


def _by_formula(
    first=torch.sin,
    second=torch.cos,
    power=_pairs,
    join=_alternating,
    at=lambda p: p,
    base_is=lambda base: base,
    unit=1.0,
):
    """Sinusoids with one piece of the formula replaced."""

    def answer(position, d_model, base=100.0):
        angle = at(position.float())[:, None] * base_is(base) ** -power(d_model) * unit
        return join(first(angle), second(angle))

    return answer


def _by_logarithm(position, d_model, base=100.0):
    speed = torch.exp(torch.arange(0, d_model, 2) * (-math.log(base) / d_model))
    angle = position.float()[:, None] * speed
    return _alternating(angle.sin(), angle.cos())


def _apart(a, b):
    """By how much two angles differ, whole turns left out."""
    return float(((a - b + math.pi) % (2 * math.pi) - math.pi).abs())


def _angles(probe):
    """Each pair of entries is the sine and the cosine of position times speed."""
    for trial in probe.trials:
        yours, position = trial.yours.value, trial.case.args[0]
        d_model, base = trial.case.args[1], trial.case.kwargs.get("base", 100.0)
        if not isinstance(yours, torch.Tensor) or yours.shape != trial.expected.value.shape:
            continue
        for row, p in enumerate(position.tolist()):
            for i in range(d_model // 2):
                sine, cosine = yours[row, 2 * i].double(), yours[row, 2 * i + 1].double()
                if abs(float(sine**2 + cosine**2) - 1) > 1e-3:
                    return (
                        f"Entries {2 * i} and {2 * i + 1} at position {p:g} are"
                        f" {_pair_text(map(float, (sine, cosine)))}, and their squares sum to"
                        f" {float(sine**2 + cosine**2):.3f}. A sine and a cosine of the same angle have squares that"
                        " sum to 1."
                    )
                wanted, angle = (
                    torch.tensor(p * base ** (-2 * i / d_model), dtype=torch.float64),
                    torch.atan2(sine, cosine),
                )
                if _apart(angle, wanted) > 1e-3:
                    return (
                        f"Entries {2 * i} and {2 * i + 1} at position {p:g} stand for the angle"
                        f" {format_number(float(angle), 3)}, with d_model = {d_model} and base = {base:g}. Pair {i} turns"
                        f" by {base ** (-2 * i / d_model):.4g} radians a position, which makes {float(wanted):.3f}, up"
                        " to whole turns."
                    )
    return None


def _keeps_lengths(probe):
    """Turning keeps the length of each pair, and turns it by position times speed."""
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
                        f"{pair} had the length {float(before[p, i].abs()):.3f} as an arrow, and have"
                        f" {float(after[p, i].abs()):.3f} now. A turn keeps the length of what it turns."
                    )
                turned, wanted = (
                    (after[p, i] / before[p, i]).angle(),
                    torch.tensor(p * base ** (-2 * i / d_head), dtype=torch.float64),
                )
                if float(before[p, i].abs()) > 0.05 and _apart(turned, wanted) > 1e-2:
                    return (
                        f"{pair} were turned by {format_number(float(turned), 3)} radians, with d_head = {d_head} and"
                        f" base = {base:g}. Pair {i} turns by {base ** (-2 * i / d_head):.4g} a position, from position"
                        f" 0 on, which makes {float(wanted):.3f}, up to whole turns."
                    )
    return None


def _far_rows(probe):
    """Position 2049 has a row of its own, which numbers in float16 cannot tell from 2048's."""
    seen, wanted = probe.run(case(torch.tensor([2049.0]), 2)), torch.tensor([math.sin(2049), math.cos(2049)])
    if seen.failure is None and not torch.allclose(seen.value[0], wanted, atol=0.01):
        return (
            f"Position 2049 gets {[round(v, 3) + 0.0 for v in seen.value[0].tolist()]}; its sine and cosine are"
            f" {wanted[0]:.3f} and {wanted[1]:.3f}, and early positions are right. Are positions or angles kept in"
            " float16? Above 2048 it holds even numbers only."
        )
    return None


exercise(
    "positional_encoding",
    oracle=sinusoids,
    cases=lambda rand: [
        case(torch.arange(4.0), 4, page_example="positions 0 to 3, as on this page"),
        case(torch.arange(7.0), 4),
        case(torch.arange(5.0), 6, base=10000.0),
        case(rand(4).abs() * 10, 8, note="with positions out of order, between whole ones"),
        case(torch.arange(20.0, 26.0), 10, base=50.0, note="with positions that start at 20"),
        case(torch.tensor([3.0]), 2, note="with a single position"),
    ],
    returns=Float("seq d_model"),
    properties=[_angles, _far_rows],
    differentiable=False,
    misconceptions={
        "positions-ignored": Wrong(
            _by_formula(at=lambda p: torch.arange(len(p))),
            "You number the rows 0, 1, 2 … yourselves, whatever position holds. A text may begin at position 20, and"
            " then its rows belong to 20, 21, 22.",
        ),
        "base-fixed": Wrong(
            _by_formula(base_is=lambda base: 100.0),
            "base is 100 whatever is passed. It decides how slow the slowest wave is: use the argument.",
        ),
        "ten-thousand": Wrong(
            _by_formula(base_is=lambda base: 10000.0),
            "Your base is 10000, as in the paper of 2017, whatever is passed. Use the argument; here it is 100 unless"
            " said otherwise.",
        ),
        "every-entry-its-own-speed": Wrong(
            _by_formula(
                power=lambda d: torch.arange(d) / d,
                join=lambda s, c: torch.where(torch.arange(s.shape[-1]) % 2 == 0, s, c),
            ),
            "Sine and cosine of a pair have different speeds: the exponent counts entries one by one. Entries 2i and"
            " 2i + 1 belong together and share one angle, or moving on by a few positions is no rotation any more.",
        ),
        "half-the-exponent": Wrong(
            _by_formula(power=lambda d: _pairs(d) / 2),
            "The exponent is i / d_model where it should be 2i / d_model: the slowest wave is only as slow as the root"
            " of the base allows.",
        ),
        "twice-the-exponent": Wrong(
            _by_formula(power=lambda d: 2 * _pairs(d)),
            "The exponent is twice what it should be. The formula's 2i is 0, 2, 4, …: an arange in steps of two is 2i"
            " already, and not i.",
        ),
        "divided-twice": Wrong(
            _by_formula(power=lambda d: -_pairs(d)),
            "You multiply by the power of the base where you should divide: later waves get faster and faster. The"
            " first pair is the fastest, one radian a position; the others are slower.",
        ),
        "sine-and-cosine-swapped": Wrong(
            _by_formula(first=torch.cos, second=torch.sin),
            "Sine and cosine have changed places: even entries hold the sine, odd ones the cosine. At position 0 a row"
            " then reads 0, 1, 0, 1.",
        ),
        "halves": Wrong(
            _by_formula(join=_halves),
            "All sines come first, then all cosines. Here they alternate, so that a pair stands side by side: it can"
            " be turned as one.",
        ),
        "sine-only": Wrong(
            _by_formula(second=torch.sin),
            "Both entries of a pair are sines. Then positions before and after the top of the wave look alike; the"
            " cosine tells them apart.",
        ),
        "whole-rounds": Wrong(
            _by_formula(unit=2 * torch.pi),
            "There is a 2π too many: at whole positions the first wave is always at the start of a round. The first"
            " pair turns by one radian a position.",
        ),
        "angles-only": Wrong(
            _by_formula(first=torch.clone, second=torch.clone),
            "These are the angles themselves, which grow without end. Their sines and cosines stay between -1 and 1,"
            " like the vectors they join.",
        ),
        "degrees": Wrong(
            _by_formula(unit=torch.pi / 180),
            "The angle was taken for degrees. The formula counts in radians, as torch's sin and cos do.",
        ),
        "cut-to-whole": Wrong(
            _by_formula(at=torch.trunc),
            "Positions were cut to whole numbers, so that 2.5 gets the row of 2. A position may be any number, and the"
            " angle follows it.",
        ),
        "exponents-up-to-one": Wrong(
            _by_formula(power=lambda d: torch.linspace(0, 1, d // 2)),
            "The exponents run from 0 to 1, both included. They are 2i / d_model, and the last of these is not yet 1.",
        ),
        "starts-at-one": Wrong(
            _by_formula(at=lambda p: p + 1),
            "One was added to every position. Position 0 has angle 0: its row reads 0, 1, 0, 1.",
        ),
    },
    equivalent={"by-logarithm": _by_logarithm},
    hints=Hints(
        "Work out one pair by hand: at position 3, entries 0 and 1 are sin 3 and cos 3. What is the angle of entries 2"
        " and 3?",
        "The angles are a table: a row for each position, a column for each pair. A column of positions times a row of"
        " speeds makes it.",
        "speeds: base to the power of -(0, 2, 4 …) / d_model. The table of angles goes through sin into the even"
        " columns and through cos into the odd ones.",
    ),
)


def _nothing(d_model, max_len=5000):
    if d_model % 2:
        raise ValueError("d_model must be even")
    return {}


def _marks(x, position=None, base=100.0):
    """The waves of these positions; of x's own, from 0 on, unless others are given."""
    return sinusoids(torch.arange(x.shape[-2]) if position is None else position, x.shape[-1], base)


def _adds(make=_marks, join=torch.add, last=lambda p, x: x):
    def answer(p, x):
        if x.shape[-2] > p.init_args["max_len"]:
            raise ValueError("too long")
        return last(p, join(x, make(x)))

    return answer


def _of_the_batch(x):
    marks = _marks(x, torch.arange(x.shape[0]))
    return marks[:, None] if x.dim() == 3 else marks


class _Wrong(nn.Module):
    """The lesson's class, for mistakes that live in the table it keeps and in how it cuts it."""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.register_buffer("pe", sinusoids(torch.arange(max_len), d_model))

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class _BatchAxisOfThree(_Wrong):
    """The source text's own: a table [max_len, 1, d_model]."""

    def forward(self, x):
        return x + self.pe[:, None][: x.size(0)]


class _NotCut(_Wrong):
    def forward(self, x):
        return x + self.pe


_NO_DROPOUT = draws_nothing(
    "Random numbers are drawn in forward: is there a dropout, as in torch's tutorial? This module only adds, in"
    " training as well."
)


def _adds_its_rows(probe):
    """What was added at the first position that is wrong."""
    for trial in probe.trials:
        x = trial.case.args[0]
        added, wanted = (seen.value.detach() - x for seen in (trial.yours, trial.expected))
        wrong = (added - wanted).abs().reshape(-1, *x.shape[-2:]).amax((0, 2)) > 1e-4
        if wrong.any():
            place = int(wrong.nonzero()[0])
            mine, right = (t.reshape(-1, *x.shape[-2:])[0, place, :2].tolist() for t in (added, wanted))
            return (
                f"At position {place}, {_pair_text(mine)} were added to the first two entries of x. Row {place} of the"
                f" table begins {_pair_text(right)}."
            )
    return None


def _pair_text(pair):
    return " and ".join(format_number(value, 3) for value in pair)


def _keeps_its_table(probe):
    """After a short text a long one still finds all its rows."""
    short, long = (case(torch.zeros(seq, 2), init=(2,), fill=False) for seq in (3, 50))
    failure = probe.runner.run_after_earlier_case(long, earlier=short).failure
    return failure and (
        f"After a text of 3 positions, one of 50 stops with a {failure.type}: {failure.text}. Was the table itself cut?"
        " Take rows of it, and keep all of it for the next text."
    )


exercise(
    "PositionalEncoding",
    initial_parameters=_nothing,
    oracle=_adds(),
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
        refuses(
            (4, 1), (2, 3, 4), "the text is longer than max_len"
        ),  # one row, which torch would add to every position
        takes((2,), (5000, 2), "max_len is 5000 unless it is given, and a text may be that long."),
        takes((2, 5100), (5001, 2), "max_len may be larger than 5000, and a text may be that long."),
        _keeps_its_table,
        refuses((2,), (5001, 2), "the text is longer than 5000, which max_len is unless it is given"),
        refuses((5, 9), (2, 3, 5), "entries come in pairs and d_model is odd"),
        _adds_its_rows,
    ],
    misconceptions={
        "batch-axis-of-three": Wrong(
            _BatchAxisOfThree,
            "You cut the table by the first axis of x, which in a batch counts texts: text number b gets the mark of"
            " position b at each of its places. Positions run along the last axis but one, and the middle axis of your"
            " table is not needed.",
        ),
        "first-axis": Wrong(
            _Wrong,
            "You cut the table by the first axis of x. That is the number of positions of one text, and the number of"
            " texts of a batch, where the shapes then do not fit; positions run along the last axis but one.",
        ),
        "not-cut": Wrong(
            _NotCut,
            "The whole table is added, all max_len rows of it, which fits no shorter text. Take as many of its rows as"
            " x has positions.",
        ),
        "concatenated": Wrong(
            _adds(join=lambda x, pe: torch.cat((x, pe.expand_as(x)), dim=-1)),
            "The marks stand beside x, and the result is twice as wide, which no later layer expects. They are added:"
            " the width stays.",
        ),
        "subtracted": Wrong(
            _adds(join=torch.sub),
            "The table was subtracted. It is added to x.",
        ),
        "tokens-enlarged": Wrong(
            _adds(join=lambda x, pe: x * x.shape[-1] ** 0.5 + pe),
            "x was multiplied by the root of d_model before the addition. Some models do that to their embeddings;"
            " this module only adds.",
        ),
        "batch-axis": Wrong(
            _adds(_of_the_batch),
            "In a batch, every position of a text gets one and the same vector: that of the text's place in the batch."
            " You cut the table by the first axis of x, which is the batch; positions run along the last axis but one.",
        ),
        "multiplied": Wrong(
            _adds(join=torch.mul),
            "You multiplied by the encoding. A sine of 0 then wipes the entry out, at position 0 in every second"
            " place. It is added, so that nothing is lost.",
        ),
        "nothing-added": Wrong(
            _adds(join=lambda x, pe: x),
            "x comes out as it went in. To the layers that follow, the text is still a bag of tokens.",
        ),
        "encoding-alone": Wrong(
            _adds(join=lambda x, pe: pe.expand_as(x)),
            "Only the encoding is returned, and the tokens are gone. It is added to what x holds.",
        ),
        "reversed": Wrong(
            _adds(lambda x: _marks(x, torch.arange(x.shape[-2]).flip(0))),
            "Positions are counted from the end, so that they all change when a token is added. The first token has"
            " position 0.",
        ),
        "starts-at-one": Wrong(
            _adds(lambda x: _marks(x, torch.arange(x.shape[-2]) + 1)),
            "The first token got position 1. The table's first row, position 0, belongs to it.",
        ),
        "base-ten-thousand": Wrong(
            _adds(lambda x: _marks(x, base=10000.0)),
            "The waves have base 10000. In this course the module has base 100, which positional_encoding takes by"
            " itself.",
        ),
        "dropout": Wrong(
            _adds(last=lambda p, x: F.dropout(x, 0.1, p.training)),
            "A dropout follows the addition, as in torch's tutorial: in training a tenth of the numbers become 0, and"
            " the others grow. This module only adds.",
        ),
        "a-parameter": Wrong(
            _adds(),
            "The table is a parameter of the module, so training would change it. It should be a buffer, which moves"
            " with the module and stays as it is.",
            initial_parameters=lambda d_model, max_len=5000: {"pe": torch.zeros(max_len, d_model)},
        ),
    },
    hints=Hints(
        "The table is made once, in __init__, for all max_len positions. What does forward have to do with it?",
        "register_buffer keeps the table with the module without training it. forward adds its first rows, as many as"
        " x has positions.",
        "The number of positions is x.shape[-2], for [seq, d] and for [batch, seq, d]. Cut the buffer there;"
        " broadcasting does the rest.",
    ),
)


def _positions(x):
    return torch.arange(x.shape[-2]).float()


def _neighbours(x):
    return x[..., 0::2], x[..., 1::2]


def _turned(a, b, cos, sin):
    return a * cos - b * sin, a * sin + b * cos


def _rotate(at=_positions, power=_pairs, cut=_neighbours, turn=_turned, join=_alternating, base_is=lambda base: base):
    """Rotation by pairs with one piece replaced."""

    def answer(x, base=10000.0):
        angle = at(x)[..., None] * base_is(base) ** -power(x.shape[-1])
        return join(*turn(*cut(x), angle.cos(), angle.sin()))

    return answer


def _along(axis):
    """The places along another axis, for each position."""

    def at(x):
        if x.dim() < 3:
            return torch.arange(x.shape[0]).float()
        places = torch.arange(x.shape[axis]).float()
        return places.view(-1, *[1] * (x.dim() - 2 - axis % x.dim())).expand(x.shape[:-1])

    return at


def _far_positions(probe):
    """Position 2049 has an angle of its own, which numbers in float16 cannot tell from 2048's."""
    seen = probe.run(case(torch.tensor([[1.0, 0.0]]).repeat(2050, 1)))
    wanted = torch.tensor([2049.0, 2049.0 - torch.pi / 2]).cos()
    if seen.failure is None and not torch.allclose(seen.value[-1], wanted, atol=0.01):
        return (
            f"Position 2049 turns (1, 0) to {[round(v, 3) + 0.0 for v in seen.value[-1].tolist()]}, and"
            f" {[round(v, 3) for v in wanted.tolist()]} is right; short texts are fine. Are positions or angles kept in"
            " float16? Above 2048 it holds even numbers only."
        )
    return None


exercise(
    "apply_rope",
    oracle=rope,
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
        "turned-by-the-head": Wrong(
            _rotate(at=_along(-3)),
            "The axis before the positions was taken for them: heads where there are heads, texts in a batch. All"
            " tokens then turn alike; positions run along the last axis but one.",
        ),
        "same-turn-everywhere": Wrong(
            _rotate(at=lambda x: torch.ones(x.shape[-2])),
            "Each pair turns by its speed, wherever the token stands. The angle is the position times the speed, or no"
            " two positions differ.",
        ),
        "base-a-hundred": Wrong(
            _rotate(base_is=lambda base: 100.0),
            "Your base is 100 whatever is passed, as for the waves. Use the argument, which is 10000 unless said"
            " otherwise.",
        ),
        "starts-at-one": Wrong(
            _rotate(at=lambda x: _positions(x) + 1),
            "One was added to every position, so that the first token turns too. Position 0 stays as it is.",
        ),
        "only-cosines": Wrong(
            _rotate(turn=lambda a, b, cos, sin: (a * cos, b * cos)),
            "Both entries were multiplied by the cosine. That shrinks a pair and keeps its direction; a turn mixes its"
            " two entries.",
        ),
        "other-direction": Wrong(
            _rotate(at=lambda x: -_positions(x)),
            "The pairs turn clockwise. Scores would not mind, as long as queries and keys turn the same way; this"
            " course turns counter-clockwise, from the first entry of a pair towards the second.",
        ),
        "first-overwritten": Wrong(
            _rotate(turn=lambda a, b, cos, sin: (a * cos - b * sin, (a * cos - b * sin) * sin + b * cos)),
            "The second entry of a pair was made from the new first one. Both come from the old pair: keep that until"
            " both are made.",
        ),
        "places-exchanged": Wrong(
            _rotate(join=lambda first, second: _alternating(second, first)),
            "The two entries of each pair have changed places: the one with the minus belongs in the first place, the"
            " other one in the second.",
        ),
        "halves-at-the-end": Wrong(
            _rotate(join=_halves),
            "The pairs are turned rightly and put back in another order: all first entries, then all second ones. Dot"
            " products do not notice, since queries and keys are shuffled alike; whatever else reads the vector does."
            " Each pair goes back to its own two places.",
        ),
        "halves-as-pairs": Wrong(
            _rotate(cut=lambda x: x.chunk(2, dim=-1), join=_halves),
            "You pair entry i with entry i + d/2, as some libraries do. Weights trained for one way do not fit the"
            " other; here neighbours are pairs: 0 with 1, 2 with 3.",
        ),
        "one-speed-for-all": Wrong(
            _rotate(power=lambda d: torch.zeros(d // 2)),
            "All pairs turn by one radian a position. After 6.28 positions they are nearly back where they were, and"
            " far positions look near. Each pair needs a speed of its own.",
        ),
        "base-ignored": Wrong(
            _rotate(base_is=lambda base: 10000.0),
            "base is 10000 whatever is passed. Use the argument.",
        ),
        "half-the-exponent": Wrong(
            _rotate(power=lambda d: _pairs(d) / 2),
            "The exponent is i / d_head where it should be 2i / d_head, so the slow pairs turn too fast.",
        ),
        "turned-by-the-batch": Wrong(
            _rotate(at=_along(0)),
            "The first axis was taken for the positions. In a batch it counts the texts; positions run along the last"
            " axis but one.",
        ),
        "added": Wrong(
            lambda x, base=10000.0: x + _marks(x, base=base),
            "You added sines and cosines. That is the encoding from before; a rotation multiplies, and keeps the"
            " length of each pair.",
        ),
        "scaled": Wrong(
            _rotate(turn=lambda a, b, cos, sin: (a * cos, b * sin)),
            "Each entry was multiplied by a cosine or a sine of its own. To turn a pair, both entries go into both"
            " results.",
        ),
        "minus-misplaced": Wrong(
            _rotate(turn=lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)),
            "There is no minus. Turning (a, b) gives a cos - b sin and a sin + b cos; without the minus the pair's"
            " length changes with the position.",
        ),
    },
    hints=Hints(
        "Take one pair (a, b) as a point in the plane. Where does it lie after a turn by the angle t?",
        "x[..., 0::2] are the first entries of all pairs, x[..., 1::2] the second ones. The angles are the table of"
        " positions times speeds that you know.",
        "first: a cos - b sin; second: a sin + b cos. To put them side by side again: stack along a new last axis,"
        " then flatten the last two.",
    ),
)
