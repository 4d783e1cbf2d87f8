"""Build GPT-2's tokenizer from its merge table, without a network (Radford et al. 2019, section 2.2)."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

MERGES = Path(__file__).resolve().parent.parent / "assets" / "gpt2" / "vocab.bpe"
END_OF_TEXT = "<|endoftext|>"


def byte_symbols() -> list[str]:
    """Return the 256 characters that represent single bytes in the merge table, in GPT-2's order.

    Printable bytes come first and represent themselves. The other 68 bytes, including the space, follow; they are
    represented by characters from U+0100 on.
    """
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + i) for i in range(len(others))]


def read_merges(path: Path = MERGES) -> list[tuple[str, str]]:
    """Read the pairs of a merge table in order. The first line, which contains a version, is skipped."""
    lines = path.read_text(encoding="utf-8").split("\n")[1:]
    return [(left, right) for left, right in (line.split(" ") for line in lines if line)]


def build_vocabulary(merges: list[tuple[str, str]]) -> dict[str, int]:
    """Map each token to its id. The bytes come first, then the results of the merges, then the end-of-text token."""
    tokens = [*byte_symbols(), *(left + right for left, right in merges), END_OF_TEXT]
    return {token: i for i, token in enumerate(tokens)}


@functools.cache
def backend_tokenizer() -> Tokenizer:
    """Return the tokenizer without importing transformers, because this import is slow."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    merges = read_merges()
    tokenizer = Tokenizer(models.BPE(build_vocabulary(merges), merges))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(END_OF_TEXT, special=True, normalized=False)])
    return tokenizer


@functools.cache
def load_tokenizer() -> PreTrainedTokenizerFast:
    """Return GPT-2's tokenizer of 50,257 tokens. `<|endoftext|>` (id 50256) begins, ends and pads texts."""
    return wrap_backend(backend_tokenizer())


def wrap_backend(backend: Tokenizer) -> PreTrainedTokenizerFast:
    """Return a transformers tokenizer that uses `backend`.

    Use the general class of transformers. GPT-2's own class takes 0.3 s longer to import and adds nothing.
    """
    from transformers import PreTrainedTokenizerFast

    roles = dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"), END_OF_TEXT)
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=int(1e9), **roles)
