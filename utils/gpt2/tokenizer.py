"""GPT-2's tokenizer from its merge table alone, without a network (Radford et al. 2019, section 2.2)."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import GPT2TokenizerFast

MERGES = Path(__file__).resolve().parent.parent / "assets" / "gpt2" / "vocab.bpe"
END_OF_TEXT = "<|endoftext|>"


def byte_symbols() -> list[str]:
    """The 256 one-byte tokens in GPT-2's order, each as the printable character that stands for it in the table.

    Bytes that print stand for themselves and come first; the other 68, the space among them, follow as the characters
    from U+0100 on.
    """
    prints = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in prints]
    return [chr(byte) for byte in prints] + [chr(256 + i) for i in range(len(others))]


def read_merges(path: Path = MERGES) -> list[tuple[str, str]]:
    """The pairs of a merge table in order; its first line is a version."""
    lines = path.read_text(encoding="utf-8").split("\n")[1:]
    return [(left, right) for left, right in (line.split(" ") for line in lines if line)]


def build_vocabulary(merges: list[tuple[str, str]]) -> dict[str, int]:
    """Every token with its id: the bytes, then what each merge makes, then the end of the text."""
    tokens = [*byte_symbols(), *(left + right for left, right in merges), END_OF_TEXT]
    return {token: i for i, token in enumerate(tokens)}


@functools.cache
def backend_tokenizer() -> Tokenizer:
    """The same tokenizer without transformers, whose import takes longer than all that layer 0 needs."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    merges = read_merges()
    made = Tokenizer(models.BPE(build_vocabulary(merges), merges))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.add_special_tokens([AddedToken(END_OF_TEXT, special=True, normalized=False)])
    return made


@functools.cache
def load_tokenizer() -> GPT2TokenizerFast:
    """GPT-2's own tokenizer: 50,257 tokens, and `<|endoftext|>` (50256) to begin, to end and to pad with."""
    from transformers import GPT2TokenizerFast

    merges = read_merges()
    return GPT2TokenizerFast(
        vocab=build_vocabulary(merges), merges=merges, pad_token=END_OF_TEXT, model_max_length=int(1e9)
    )
