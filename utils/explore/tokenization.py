"""Provide an explorer for tokens: type a text to see how a tokenizer splits it."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from utils.gpt2.tokenizer import backend_tokenizer, build_vocabulary, read_merges
from utils.show.tokenization import chip_text, decode_token
from utils.show.widget import Widget, make_widget, parse_text

LONGEST = 2000  # the browser shows the tokens of at most this many characters, from the start of a text
# A tokenizer with GPT-2's vocabulary but different rules may split these texts differently.
AWKWARD = ("a b", " a", "I'll pay\n\n12,50 €  now", "<|endoftext|>é\u200d😀\x00")


def encode(tokenizer: Any, text: str) -> list[int]:
    """Return the ids of a text. A lone surrogate, which a browser may send, becomes the replacement character."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    try:
        encoding = tokenizer.encode(whole, verbose=False)  # no model reads this text, so a long text needs no warning
    except TypeError:
        encoding = tokenizer.encode(whole)
    return [int(number) for number in getattr(encoding, "ids", encoding)]


def require_tokenizer(tokenizer: Any) -> None:
    """Check that an object has `encode` and `decode`.

    Raises:
        ValueError: one of the two methods is missing.
    """
    if not (hasattr(tokenizer, "encode") and hasattr(tokenizer, "decode")):
        got = type(tokenizer).__name__
        raise ValueError(f"tokenizer must have encode and decode, like the result of load_tokenizer(); got {got}.")


def tokens(
    tokenizer: Any, text: str = "Tokens are pieces of words: antidisestablishmentarianism, 12345, 😀."
) -> Widget:
    """Show a text box. While the learner types, show the tokens in colour, their ids and how many there are.

    GPT-2's tokenizer runs in the browser; every other tokenizer runs in the kernel. The static version is
    `show.tokens(to_str_tokens(text, tokenizer), tokenizer.encode(text))`.

    Args:
        tokenizer: GPT-2's tokenizer, or any object with `encode` and `decode`.
        text: the initial content of the text box.

    Returns:
        A widget whose `state` has `text`.

    Raises:
        ValueError: `tokenizer` lacks `encode` or `decode`, or `text` is not a string.
    """
    require_tokenizer(tokenizer)
    parse_text("text", text, empty=True)
    words = "Explorer: type a text and see its tokens with their ids."
    if _is_gpt2s(tokenizer):
        return make_widget(__file__, words, {}, {"text": text}, packed_merges())

    def answer_question(widget: Widget, message: Mapping[str, Any]) -> None:
        widget.send(_describe_tokens(tokenizer, str(message["text"])))

    start = {"found": _describe_tokens(tokenizer, text)}
    return make_widget(__file__, words, start, {"text": text}, on_message=answer_question)


def _describe_tokens(tokenizer: Any, text: str) -> dict[str, Any]:
    """Return the data that the browser needs to draw the first tokens of a text."""
    start = text[:LONGEST]
    tokens = []
    for number in encode(tokenizer, start):
        piece = decode_token(tokenizer, number)
        tokens.append({"id": number, "text": chip_text(piece), "part": isinstance(piece, bytes)})
    return {"text": start, "tokens": tokens}


def _is_gpt2s(tokenizer: Any) -> bool:
    """Tell whether a tokenizer has GPT-2's vocabulary and splits difficult texts as GPT-2's tokenizer does."""
    if not hasattr(tokenizer, "get_vocab") or tokenizer.get_vocab() != build_vocabulary(read_merges()):
        return False
    return all(encode(tokenizer, text) == encode(backend_tokenizer(), text) for text in AWKWARD)


@functools.cache
def packed_merges() -> bytes:
    """Return GPT-2's merges, compressed with zlib. Each merge is stored as the pair of ids that it joins.

    The low bytes of all left ids come first, then their high bytes. The right ids follow in the same order.
    """
    merges = read_merges()
    ids = build_vocabulary(merges)
    sides = [np.array([ids[pair[side]] for pair in merges], np.uint16) for side in (0, 1)]
    return zlib.compress(b"".join((side >> shift).astype(np.uint8).tobytes() for side in sides for shift in (0, 8)), 9)
