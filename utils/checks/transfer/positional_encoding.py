"""Define the transfer exercise of lesson 07: rotary positions of several texts, with one changed convention."""

import torch

from utils.checks._attention import rope
from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.properties import batch_independent
from utils.feedback.transfer_families import LessonTask, member, transfer_family


def _neighbours(x):
    return x[..., 0::2], x[..., 1::2]


def _alternate(first, second):
    return torch.stack((first, second), dim=-1).flatten(-2)


def _halves(x):
    return x.chunk(2, dim=-1)


def _side_by_side(first, second):
    return torch.cat((first, second), dim=-1)


def _count(x, axis):
    """Return the positions 0, 1, 2, … along an axis, in a shape that broadcasts to the pairs [.., .., d / 2]."""
    shape = [1] * x.dim()
    shape[axis] = -1
    return torch.arange(x.shape[axis]).view(shape)


def _from_the_end(x):
    return _count(x, 1).flip(1)


def _exponents(d):
    return torch.arange(0, d, 2) / d


def _turn(a, b, cos, sin):
    return a * cos - b * sin, a * sin + b * cos


@with_steps
def _rotate(
    x,
    base,
    *,
    at=lambda x: _count(x, 1),
    cut=_neighbours,
    join=_alternate,
    exponents=_exponents,
    turn=_turn,
    base_is=lambda base: base,
):
    """Cut x into pairs with `cut`, rotate each pair by position × speed, and join the pairs with `join`."""
    angles = at(x) * base_is(base) ** -exponents(x.shape[-1])
    return join(*turn(*cut(x), angles.cos(), angles.sin()))


@with_steps
def _rotate_part(x, base, *, part=lambda x: x.chunk(2, -1), combine=_side_by_side, **steps):
    """Rotate the first part of the entries, and keep the second part. `steps` replaces steps of `_rotate`."""
    moved, kept = part(x)
    return combine(_rotate.replace(**steps)(moved, base), kept)


_seq_first = _rotate.replace(at=lambda x: _count(x, 0))
_pair_halves = _rotate.replace(cut=_halves, join=_side_by_side)
_backwards = _rotate.replace(at=_from_the_end)


# --- the oracles multiply complex numbers --------------------------------------------------------------------


def _phases(positions, d, base):
    """Return the complex numbers of length 1 that rotate the pairs, [len(positions), d / 2]."""
    speeds = torch.tensor([base ** (-2 * i / d) for i in range(d // 2)])
    angles = torch.outer(torch.as_tensor(positions).float(), speeds)
    return torch.polar(torch.ones_like(angles), angles)


def _rotate_neighbours(x, phases):
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * phases).flatten(-2)


def _seq_first_oracle(x, base):
    return _rotate_neighbours(x, _phases(range(len(x)), x.shape[-1], base)[:, None])


def _halves_oracle(x, base):
    half = x.shape[-1] // 2
    pairs = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous())
    turned = pairs * _phases(range(x.shape[1]), x.shape[-1], base)
    return torch.cat((turned.real, turned.imag), dim=-1)


def _from_the_end_oracle(x, base):
    seq = x.shape[1]
    return _rotate_neighbours(x, _phases([seq - 1 - i for i in range(seq)], x.shape[-1], base))


def _first_half_oracle(x, base):
    if x.shape[-1] % 4:  # the task excludes this width, so no case may have it
        raise ValueError(f"d must be divisible by 4; got {x.shape[-1]}")
    first, rest = x.tensor_split((x.shape[-1] // 2,), dim=-1)
    return torch.cat((_rotate_neighbours(first, _phases(range(x.shape[1]), first.shape[-1], base)), rest), dim=-1)


def _milestones(at=lambda x: _count(x, 1), rotated=lambda d: d):
    """Return the milestones of a task. `at` gives the positions, and the first `rotated(d)` entries are rotated."""

    def values(x, base):
        exponents = _exponents(rotated(x.shape[-1]))
        angles = at(x) * base**-exponents
        return {
            "the exponents?": exponents,
            "the speeds?": base**-exponents,
            "the angles?": angles,
            "the cosines of the angles?": angles.cos(),
            "the sines of the angles?": angles.sin(),
        }

    return values


def _mistakes(rotate, **more):
    """Return the mistakes common to all tasks, and those in `more`. `rotate` is the correct answer."""
    return {
        "other-direction": rotate.replace(turn=lambda a, b, cos, sin: _turn(a, b, cos, -sin)).wrong(
            "You rotate the pairs clockwise. Rotate them counterclockwise, as in this lesson: the minus sign belongs"
            " in the first entry of the new pair, and the positions should not be negative."
        ),
        "base-ignored": rotate.replace(base_is=lambda base: 10000.0).wrong(
            "Your base is always 10000. Use the argument `base`."
        ),
        "first-overwritten": rotate.replace(
            turn=lambda a, b, cos, sin: (a * cos - b * sin, (a * cos - b * sin) * sin + b * cos)
        ).wrong(
            "You computed the second entry of a pair from the new first entry. Both should come from the old pair."
        ),
        "one-speed-for-all": rotate.replace(exponents=lambda d: torch.zeros(d // 2)).wrong(
            "You rotate all pairs by one radian per position. Each pair needs its own speed."
        ),
        "half-the-exponent": rotate.replace(exponents=lambda d: _exponents(d) / 2).wrong(
            "Your exponents are half as large as they should be, so the later pairs rotate too fast."
        ),
        **more,
    }


transfer_family(
    "rotate_texts",
    lesson=LessonTask("the texts are on the first axis, neighbours form pairs, and position 0 is the start", rope),
    # d is divisible by 4, and no two sizes of a case are equal.
    cases=lambda rand: [
        case(rand(2, 5, 4), 100.0),
        case(rand(3, 2, 8), 50.0),
        case(rand(6, 3, 12), 1000.0),
        case(rand(5, 7, 4), 20.0),
    ],
    members={
        "seq-first": member(
            """
            Rotate the vectors of several texts, for rotary positions. `x` has the shape `[seq, batch, d]`: the first
            axis is the position, and the second axis says which text it is. So `x[p, b]` is the vector at position `p`
            of text `b`. `d` is even, and `base` is a positive number.

            Rotate each pair of entries, as in this lesson: neighbouring entries form pairs (0 with 1, 2 with 3), pair
            `i` at position `p` rotates counterclockwise by `p * base ** (-2 * i / d)`, and position 0 is not rotated.
            Each rotated pair goes back to its two entries.

            Return the rotated vectors in the same order of the axes, `[seq, batch, d]`.
            """,
            clause="the first axis is the position and the second axis is the text",
            oracle=_seq_first_oracle,
            returns=Float("seq batch d"),
            milestones=_milestones(lambda x: _count(x, 0)),
            misconceptions=_mistakes(
                _seq_first,
                **{
                    "not-moved-back": Wrong(
                        lambda x, base: _rotate(x.transpose(0, 1), base),
                        "The rotations are right, but the axes are in the order [batch, seq, d]. Return them in the"
                        " order of the input.",
                    ),
                    "halves-at-the-end": _seq_first.replace(join=_side_by_side).wrong(
                        "You return all first entries of the pairs, then all second entries. Put each rotated pair back"
                        " into its two entries."
                    ),
                },
            ),
        ),
        "halves": member(
            """
            Rotate the vectors of several texts, for rotary positions. `x` has the shape `[batch, seq, d]`, and
            `x[b, p]` is the vector at position `p` of text `b`. `d` is even, and `base` is a positive number.

            Some libraries form other pairs than this lesson. There, entry `i` of the first half of a vector forms pair
            `i` with entry `i` of the second half: for `d` = 4, the pairs are 0 with 2 and 1 with 3. Pair `i` at
            position `p` rotates counterclockwise, from the first half towards the second, by
            `p * base ** (-2 * i / d)`: a rotation of the pair (a, b) by 90 degrees gives (-b, a). Position 0 is not
            rotated. Each rotated pair goes back to its two entries.

            Return the rotated vectors, in the same shape `[batch, seq, d]`.
            """,
            clause="an entry of the first half forms a pair with an entry of the second half",
            oracle=_halves_oracle,
            returns=Float("batch seq d"),
            properties=[batch_independent()],
            milestones=_milestones(),
            misconceptions=_mistakes(
                _pair_halves,
                **{
                    "halves-only-at-the-end": _rotate.replace(join=_side_by_side).wrong(
                        "You pair neighbouring entries and split only the result into halves. Form the pairs from the"
                        " two halves of x."
                    ),
                    "alternating-at-the-end": _rotate.replace(cut=_halves).wrong(
                        "Your pairs are right, but the entries of a rotated pair become neighbours. Put them back into"
                        " the first and the second half."
                    ),
                    "mirrored-pairs": _rotate.replace(
                        cut=lambda x: (x.chunk(2, -1)[0], x.chunk(2, -1)[1].flip(-1)),
                        join=lambda first, second: torch.cat((first, second.flip(-1)), dim=-1),
                    ).wrong(
                        "You pair the first entry with the last. Instead, pair entry i of the first half with entry i"
                        " of the second half."
                    ),
                },
            ),
        ),
        "from-the-end": member(
            """
            Rotate the vectors of several texts, for rotary positions. `x` has the shape `[batch, seq, d]`, and
            `x[b, j]` is the vector of token `j` of text `b`. `d` is even, and `base` is a positive number.

            The positions count back from the end: the last token has position 0, the token before it has position 1,
            and the first token has position `seq - 1`. Apart from that, rotate as in this lesson: neighbouring entries
            form pairs (0 with 1, 2 with 3), pair `i` at position `p` rotates counterclockwise by
            `p * base ** (-2 * i / d)`, and each rotated pair goes back to its two entries.

            Return the rotated vectors, in the same shape `[batch, seq, d]`.
            """,
            clause="the positions count back from the end of the text",
            oracle=_from_the_end_oracle,
            returns=Float("batch seq d"),
            properties=[batch_independent()],
            milestones=_milestones(_from_the_end),
            misconceptions=_mistakes(
                _backwards,
                **{
                    "last-is-one": _backwards.replace(at=lambda x: _from_the_end(x) + 1).wrong(
                        "Your last token has position 1. It should have position 0, so that it is not rotated."
                    ),
                    "reversed-tokens": Wrong(
                        lambda x, base: _rotate(x.flip(1), base),
                        "You reversed the tokens. The tokens should stay in their order; only the positions count"
                        " backwards.",
                    ),
                    "reversed-entries": Wrong(
                        lambda x, base: _rotate(x.flip(-1), base).flip(-1),
                        "You reversed the entries of the vectors. Only the positions of the tokens should count"
                        " backwards, along the second axis.",
                    ),
                },
            ),
        ),
        "first-half": member(
            """
            Rotate the vectors of several texts, for rotary positions. `x` has the shape `[batch, seq, d]`, and
            `x[b, p]` is the vector at position `p` of text `b`. `d` is divisible by 4, and `base` is a positive number.

            Some models rotate only a part of each vector. Here it is the first `n = d // 2` entries; all other entries
            stay as they are. Rotate the first part as in this lesson, like a vector of `n` entries: neighbours form
            pairs (0 with 1, 2 with 3), and pair `i` at position `p` rotates counterclockwise by
            `p * base ** (-2 * i / n)`. Each rotated pair goes back to its two entries.

            Return whole vectors, with all `d` entries, in the same shape `[batch, seq, d]`.
            """,
            clause="only the first half of the entries is rotated",
            oracle=_first_half_oracle,
            returns=Float("batch seq d"),
            properties=[batch_independent()],
            milestones=_milestones(rotated=lambda d: d // 2),
            # With d = 4, only one pair is rotated. Its exponent is always 0, so this case cannot show a wrong exponent.
            cases=lambda rand: [
                case(rand(2, 5, 8), 100.0),
                case(rand(3, 2, 12), 50.0),
                case(rand(6, 3, 16), 1000.0),
                case(rand(5, 7, 4), 20.0),
            ],
            misconceptions=_mistakes(
                _rotate_part,
                **{
                    "half-the-exponent": _rotate_part.replace(exponents=lambda n: _exponents(n) / 2).wrong(
                        "In your exponents, you divide by d. Divide by n, the number of entries that are rotated."
                    ),
                    "second-half": _rotate_part.replace(
                        part=lambda x: x.chunk(2, -1)[::-1], combine=lambda moved, kept: torch.cat((kept, moved), -1)
                    ).wrong("You rotated the second half of the entries. Rotate the first half and keep the second."),
                    "second-half-left-out": _rotate_part.replace(combine=lambda moved, kept: moved).wrong(
                        "You return only the rotated half. Append the other entries, unchanged."
                    ),
                    "halves-exchanged": _rotate_part.replace(
                        combine=lambda moved, kept: torch.cat((kept, moved), -1)
                    ).wrong("You swapped the two halves. The rotated half should come first."),
                },
            ),
        ),
    },
)
