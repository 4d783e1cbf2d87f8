"""Draw tokens: a text as coloured chips, the chips after each merge, and the likeliest next tokens."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_integer, parse_numbers, parse_title, require_filled, require_unit_interval
from utils.show.charts import bars
from utils.show.colours import INK, MUTED, TINTS, VERMILION
from utils.show.drawing_types import ArrayLike, Axes
from utils.show.marks import draw_rounded_box
from utils.show.picture import Picture, course_theme, finish_picture, new_canvas
from utils.show.sizes import PAD, SMALL, TEXT, WIDEST
from utils.show.text_format import (
    count_text,
    escape_invisible,
    escape_undrawable,
    fit_font_size,
    number_text,
    text_width,
    truncate_text,
)

CHIPS = TINTS[:5]
MOST_TOKENS, MOST_ROWS, MOST_UNITS = 200, 24, 40
LONGEST = 40  # the maximum number of characters drawn for one token


def parse_tokens(given: Any, name: str = "tokens") -> list[str | bytes]:
    """Return `given` as a list of tokens, each a string or bytes.

    Raises:
        ValueError: if `given` is unfinished, empty or not such a list. The message calls it `name`.
    """
    require_filled(given, name)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ValueError(f"{name} must be a list of strings, one for each token; got {given!r}.")
    tokens = list(given)
    for i, token in enumerate(tokens):
        if not isinstance(token, (str, bytes)):
            raise ValueError(f"{name}[{i}] is {token!r}; expected a string or bytes, as to_str_tokens returns them.")
    if not tokens:
        raise ValueError(f"{name} is empty; expected at least one token.")
    return tokens


def parse_ids(given: Any, count: int) -> list[int] | None:
    """Return `given` as a list of `count` whole numbers; return None for None.

    Raises:
        ValueError: if `given` is not such a list.
    """
    if given is None:
        return None
    plain = given.tolist() if hasattr(given, "tolist") else given
    if isinstance(plain, (str, bytes)) or not isinstance(plain, Iterable):
        raise ValueError(f"ids must be a list of whole numbers, one for each token; got {given!r}.")
    numbers = [number.item() if hasattr(number, "item") else number for number in plain]
    for i, number in enumerate(numbers):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            cure = " (for a batch, draw one row: ids[0])" if isinstance(number, list) else ""
            raise ValueError(f"ids[{i}] is {number!r}; expected a whole number of at least 0{cure}.")
    if len(numbers) != count:
        raise ValueError(f"{len(numbers)} ids were given for {count} tokens; expected one for each.")
    return numbers


def chip_text(token: str | bytes) -> str:
    """Return the text of a token's chip, with dots instead of spaces.

    Hidden characters become escapes. Bytes that are only part of a character also become escapes.
    """
    if isinstance(token, bytes):
        try:
            token = token.decode("utf-8")
        except UnicodeDecodeError:  # the bytes are only part of a character
            return "".join(escape_invisible(chr(byte)) if byte < 128 else f"\\x{byte:02x}" for byte in token)
    return escape_invisible(token).replace(" ", "·").replace("\u00a0", "·")


def quote_token(token: str | bytes) -> str:
    """Return the visible text of a token in single quotes."""
    return f"'{chip_text(token)}'"


@functools.cache
def _bytes_by_letter() -> dict[str, int]:
    """Return GPT-2's {letter: byte}.

    A visible byte and its letter have the same number. The letters for other bytes start at code point 256.
    """
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(256 + i): byte for i, byte in enumerate(others)}


def decode_token(tokenizer: Any, token_id: int) -> str | bytes:
    """Return the token with this id: its text, or its bytes if it is only part of a character."""
    text = tokenizer.decode([token_id])
    if "\ufffd" not in text:
        return text
    letters = tokenizer.convert_ids_to_tokens(token_id) if hasattr(tokenizer, "convert_ids_to_tokens") else None
    if letters is None and hasattr(tokenizer, "id_to_token"):
        letters = tokenizer.id_to_token(token_id)
    if letters and all(letter in _bytes_by_letter() for letter in letters):
        raw = bytes(_bytes_by_letter()[letter] for letter in letters)
        with contextlib.suppress(UnicodeDecodeError):
            return raw.decode("utf-8")  # the token is the replacement character itself
        return raw
    return text


@course_theme()
def tokens(tokens: Sequence[str | bytes], ids: Sequence[int] | None = None, title: str | None = None) -> Picture:
    """Draw a text as coloured chips, one for each token, with its id below. A space is drawn as ·.

    Args:
        tokens: 1 to 200 strings, in order (bytes if a token is only part of a character).
        ids: a whole number for each token, as a list or a tensor.
        title: by default, the number of tokens and of characters.

    Raises:
        ValueError: if `tokens` or `ids` is not such a list, or their lengths differ.
    """
    pieces = parse_tokens(tokens)
    if len(pieces) > MOST_TOKENS:
        raise ValueError(f"tokens draws at most {MOST_TOKENS} tokens; got {len(pieces)}. Draw some: tokens[:100].")
    numbers = parse_ids(ids, len(pieces))
    width = WIDEST - 2 * PAD
    high, below, gap = 0.27, 0.2 if numbers else 0.0, 0.05
    texts = [truncate_text(escape_undrawable(chip_text(piece)), LONGEST) for piece in pieces]
    under = [str(number) for number in numbers] if numbers else [""] * len(pieces)
    rooms = [max(text_width(a, TEXT + 1), text_width(b, SMALL - 1)) + 0.14 for a, b in zip(texts, under)]
    places, x, y = [], 0.0, 0.0
    for room in rooms:
        if x and x + room > width:
            x, y = 0.0, y + high + below + 0.12
        places.append((x, y))
        x += room + gap
    wide, tall = max(x + room for (x, _), room in zip(places, rooms)), y + high + below
    figure, axes = new_canvas(1, 1, wide, tall)
    for i, ((x, y), room) in enumerate(zip(places, rooms)):
        _draw_chip(axes, x, y, room, high, texts[i], CHIPS[i % len(CHIPS)], size=TEXT + 1)
        if numbers:
            axes.text(x + room / 2, y + high + 0.04, under[i], ha="center", va="top", size=SMALL - 1, color=MUTED)
    characters = sum(len(piece) for piece in pieces if isinstance(piece, str))
    whole = all(isinstance(piece, str) for piece in pieces)
    default = count_text(len(pieces), "token") + (f" for {count_text(characters, 'character')}" if whole else "")
    names = [quote_token(piece) for piece in pieces]
    said = [f"{name} {number}" for name, number in zip(names, numbers)] if numbers else names
    what = "Tokens with their ids" if numbers else "Tokens"
    return finish_picture(figure, title, default, f"{what}, in order: {', '.join(said)}.")


def _draw_chip(
    axes: Axes, x: float, y: float, width: float, height: float, text: str, fill: str, size: float, edge: str = "none"
) -> None:
    draw_rounded_box(axes, x, y, width, height, fill, edge, 0.06, linewidth=1.6)
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center_baseline", size=size, color=INK)


@course_theme()
def merges(steps: Iterable[tuple[str, Sequence[str | bytes]]], title: str | None = None) -> Picture:
    """Draw a short text as chips after each step of byte-pair encoding. The new tokens of a step are outlined.

    Args:
        steps: (name, tokens) pairs, or a dict {name: tokens}. The joined tokens must give the same text in every step.
            At most 24 steps and 40 characters (or bytes).
        title: by default, the number of tokens before the first step and after the last step.

    Raises:
        ValueError: if a step is not such a pair, the texts of the steps differ, or there are too many steps or
            characters.
    """
    rows = _parse_steps(steps)
    names = [name for name, _ in rows]
    units = sum(map(len, rows[0][1]))
    labels = [truncate_text(escape_undrawable(name), 24) for name in names]
    left = max(text_width(label, SMALL) for label in labels) + 0.16
    count = max(text_width(count_text(len(row), "token"), SMALL - 0.5) for _, row in rows) + 0.12
    unit = min(0.26, (WIDEST - 2 * PAD - left - count) / units)
    pitch, high = 0.36, 0.26
    figure, axes = new_canvas(1, 1, left + unit * units + count, pitch * len(rows))
    before: set[tuple[int, int]] = set()
    colours = _colours([row for _, row in rows])
    said = ["Each row shows the same text after one step."]
    for k, (name, row) in enumerate(rows):
        y, spans, made = k * pitch, _token_spans(row), []
        axes.text(0, y + high / 2, labels[k], size=SMALL, va="center", color=INK)
        for piece, (start, end) in zip(row, spans):
            new = bool(before) and (start, end) not in before
            made += [quote_token(piece)] if new else []
            width, text = unit * (end - start) - 0.03, escape_undrawable(chip_text(piece))
            size = fit_font_size(text, TEXT, width - 0.02)  # an escape is wider than a letter
            x, edge = left + unit * start + 0.015, VERMILION if new else "none"
            _draw_chip(axes, x, y, width, high, text, colours[piece], size, edge)
        number = count_text(len(row), "token")
        axes.text(left + unit * units + 0.1, y + high / 2, number, size=SMALL - 0.5, va="center", color=MUTED)
        new_words = f" New: {', '.join(dict.fromkeys(made))}." if made else ""
        said.append(f"{name}: {' | '.join(map(chip_text, row))} ({number}).{new_words}")
        before = set(spans)
    first, last = len(rows[0][1]), len(rows[-1][1])
    default = f"{count_text(len(rows) - 1, 'step')}: {first} tokens become {last}"
    return finish_picture(figure, title, count_text(first, "token") if len(rows) == 1 else default, "\n".join(said))


def _colours(rows: Iterable[Sequence[str | bytes]]) -> dict[str | bytes, str]:
    """Return a colour for each distinct token. Neighbours get different colours if one of the five colours is free."""
    beside: dict[str | bytes, list[str | bytes]] = {}
    for row in rows:
        for left, right in itertools.pairwise(row):
            beside.setdefault(left, []).append(right)
            beside.setdefault(right, []).append(left)
        beside.setdefault(row[0], [])
    colours: dict[str | bytes, str] = {}
    for piece, others in beside.items():
        taken = [colours[other] for other in others if other in colours]
        turn = CHIPS[len(colours) % len(CHIPS) :] + CHIPS[: len(colours) % len(CHIPS)]
        colours[piece] = min(turn, key=taken.count)
    return colours


def _token_spans(row: Sequence[str | bytes]) -> list[tuple[int, int]]:
    """Return the start and the end of each token in the joined text."""
    ends = list(itertools.accumulate(map(len, row)))
    return list(zip([0, *ends], ends))


def _join(row: Sequence[Any]) -> str | bytes:
    return row[0][:0].join(row)


def _parse_steps(steps: Any) -> list[tuple[str, list[str | bytes]]]:
    require_filled(steps, "steps")
    pairs = list(steps.items()) if hasattr(steps, "items") else steps
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise ValueError(f"steps must be (name, tokens) pairs, one for each row; got {steps!r}.")
    rows: list[tuple[str, list[str | bytes]]] = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError(
                f"each step must be a (name, tokens) pair, as in ('a + b → ab', ['ab', 'c']); got {pair!r}."
            )
        rows.append((escape_invisible(pair[0]), parse_tokens(pair[1], f"the tokens of step {pair[0]!r}")))
    if not 1 <= len(rows) <= MOST_ROWS:
        raise ValueError(f"merges draws 1 to {MOST_ROWS} steps; got {len(rows)}.")
    for name, row in rows:
        if any(not piece for piece in row):
            raise ValueError(f"step {name!r} has an empty token; every token must have at least one character.")
        if len({type(piece) for _, one in rows for piece in one}) > 1:
            raise ValueError("steps mix strings and bytes; expected only strings or only bytes.")
        joined, whole = _join(row), _join(rows[0][1])
        if joined != whole:
            raise ValueError(
                f"the tokens of step {name!r} join to {joined!r}, those of the first step to {whole!r}; "
                "expected the same text."
            )
    units = sum(map(len, rows[0][1]))
    if units > MOST_UNITS:
        raise ValueError(f"merges draws a text of at most {MOST_UNITS} characters; got {units}. Choose a shorter text.")
    return rows


def next_tokens(probs: ArrayLike, tokenizer: Any, k: int = 10, title: str | None = None) -> Picture:
    """Draw the k likeliest next tokens as bars, with the likeliest on top.

    Args:
        probs: [vocab] probabilities that sum to one, such as `logits[0, -1].softmax(-1)`.
        tokenizer: an object whose `decode` takes a list of ids. It supplies the names of the tokens.
        k: 1 to 40.
        title: by default, the likeliest token.

    Raises:
        ValueError: if `probs` is not a single row of probabilities, `k` is out of range, or `tokenizer` has no
            `decode`.
    """
    values = parse_numbers(probs, "probs", [1], "one row of probabilities, [vocab]")
    require_unit_interval(values, "probs", "Are these logits? Take their softmax.", tolerance=1e-4)
    if abs(values.sum() - 1) > 1e-2:
        raise ValueError(f"probs sum to {number_text(values.sum())}; over the whole vocabulary, they must sum to 1.")
    k = parse_integer(k, "k", 1, 40)
    if not hasattr(tokenizer, "decode"):
        raise ValueError(f"tokenizer must have decode, like the result of load_tokenizer(); got {tokenizer!r}.")
    order = np.argsort(-values, kind="stable")[: min(k, len(values))]
    labels = [quote_token(decode_token(tokenizer, int(number))) for number in order]
    default = f"Most likely next: {labels[0]}, {number_text(values.max())}"
    return bars(values[order], labels, title=parse_title(title, default), limit=1.0)
