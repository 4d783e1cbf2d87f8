"""Provide an explorer for activation patching: replace one vector in a run and see how the answer changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from utils.explore.tokenization import encode
from utils.gpt2 import load_tokenizer
from utils.show.text_format import token_label
from utils.show.widget import Widget, make_widget, parse_text

MOST = 24  # the maximum number of tokens in a sentence, because the table has a button for each token and block
# The whole table is computed at once if parameters × tokens × (block, position) pairs does not exceed this limit. A
# table at the limit takes about a second.
AT_ONCE = 5e9

Result = dict[str, Any]


def _decode(token_id: int) -> str:
    return str(load_tokenizer().decode([token_id]))


class _Pair:
    """Two texts of equal length, the model's answer to each, and its answers after one vector is replaced."""

    def __init__(self, model: Any, patch: Callable[..., Tensor], clean: str, corrupted: str) -> None:
        self.model, self.patch = model, patch
        self.clean, self.corrupted = (torch.tensor([encode(load_tokenizer(), text)]) for text in (clean, corrupted))
        n, m = self.clean.shape[1], self.corrupted.shape[1]
        if n != m:
            raise ValueError(f"The sentence has {n} tokens, its twin {m}. Choose words with the same number of tokens.")
        if not 2 <= n <= MOST:
            raise ValueError(f"The sentence must have 2 to {MOST} tokens; it has {n}.")
        if torch.equal(self.clean, self.corrupted):
            raise ValueError("The two sentences are the same: replace a word in one of them.")
        with torch.no_grad():
            self.clean_log_probs, self.corrupted_log_probs = (
                model(tokens)[0, -1].log_softmax(-1) for tokens in (self.clean, self.corrupted)
            )
        self.right, self.wrong = int(self.clean_log_probs.argmax()), int(self.corrupted_log_probs.argmax())
        if self.right == self.wrong:
            answer = repr(_decode(self.right))
            raise ValueError(f"The model continues both sentences with {answer}, so there is no difference to explain.")

    @property
    def tokens(self) -> list[str]:
        pairs = zip(self.clean[0].tolist(), self.corrupted[0].tolist())
        return [_decode(a) if a == b else f"{_decode(a)}/{_decode(b).strip()}" for a, b in pairs]

    def differs(self, layer: int, position: int) -> bool:
        """Tell whether the two residual streams can differ at this layer and position.

        A position attends only to itself and to earlier positions, so the streams are equal before the first token that
        differs. Before block 0, the streams differ only where the tokens differ.
        """
        changed = self.clean[0] != self.corrupted[0]
        return bool(changed[position] if layer == 0 else changed[: position + 1].any())

    def patched_answer(self, layer: int, position: int) -> Result:
        """Return the answer after the vector at this layer and position is replaced."""
        if not self.differs(layer, position):
            return self.summarize_answer(self.clean_log_probs)
        with torch.no_grad():
            logits = self.patch(self.model, self.clean, self.corrupted, layer, position)
        return self.summarize_answer(logits[0, -1].log_softmax(-1))

    def summarize_answer(self, logs: Float[Tensor, "vocab"]) -> Result:
        """Summarise log probabilities.

        Returns:
            The change of the answer, from 0 (the first text's answer) to 1 (the second text's answer), and the
            probabilities of the first text's answer, of the second text's answer and of the likeliest other token.
        """
        clean, corrupted, patched = (
            float(x[self.right] - x[self.wrong]) for x in (self.clean_log_probs, self.corrupted_log_probs, logs)
        )
        probs = logs.exp()
        right, wrong = probs[[self.right, self.wrong]].tolist()
        probs[[self.right, self.wrong]] = -1
        best = int(probs.argmax())
        share, other = (clean - patched) / (clean - corrupted), repr(_decode(best))
        return {"moved": share, "right": right, "wrong": wrong, "other": other, "others": float(probs[best])}


def patching(model: Any, patch: Callable[..., Tensor], clean: str, corrupted: str) -> Widget:
    """Show a table of buttons, one for each block and position, coloured by how much the answer changes.

    Learners point at a button to see the answer. For a small model, such as the small GPT-2, the whole table is
    computed in advance, and the browser needs no kernel. For larger models, and for sentences that the learner types,
    the browser asks the kernel, which sends the table row by row. The static version is `show.effects`.

    Args:
        model: lesson 12's GPT.
        patch: lesson 13's `patch_stream`.
        clean, corrupted: the initial contents of the two text boxes.

    Returns:
        A widget whose `state` has `clean` and `corrupted` (the two texts), `place` (the chosen block and position, or
        None) and `found` (the table, or the reason why there is no table).

    Raises:
        ValueError: the model has no `blocks`, `patch` is not a function, or a text is blank.
    """
    blocks = getattr(model, "blocks", None)
    if blocks is None or not callable(model):
        raise ValueError(f"model must be a GPT with blocks, as in lesson 12; got {type(model).__name__}.")
    if not callable(patch):
        raise ValueError(f"patch must be a function, such as lesson 13's patch_stream; got {patch!r}.")
    texts = [parse_text("clean", clean).strip(), parse_text("corrupted", corrupted).strip()]
    about = "Explorer: type a sentence and its twin, click a place, and see the answer with the twin's vector there."

    def answer_question(widget: Widget, message: Mapping[str, Any]) -> None:
        sentences = [str(text).strip() for text in message["asked"]]
        for table in _results(model, patch, sentences):
            widget.send({"asked": message["asked"], "found": table})

    result = _compute_if_cheap(model, patch, texts)
    state = {"clean": texts[0], "corrupted": texts[1], "place": None, "found": result}
    words = f"{about} {_words(result)}" if result else about
    return make_widget(__file__, words, {"blocks": len(blocks)}, state, on_message=answer_question)


def _compute_if_cheap(model: Any, patch: Callable[..., Tensor], texts: list[str]) -> Result | None:
    """Return the whole table, or the reason why there is none. Return None if the computation would be slow."""
    try:
        pair = _Pair(model, patch, *texts)
    except ValueError as error:
        return {"refused": str(error)}
    seq = pair.clean.shape[1]
    places = sum(pair.differs(layer, position) for layer in range(len(model.blocks)) for position in range(seq))
    if places * seq * sum(part.numel() for part in model.parameters()) > AT_ONCE:
        return None
    return list(_rows(pair))[-1]


def _results(model: Any, patch: Callable[..., Tensor], texts: list[str]) -> Iterator[Result]:
    """Yield the table after each new row, or the reason why there is no table."""
    try:
        pair = _Pair(model, patch, *texts)
    except ValueError as error:
        yield {"refused": str(error)}
        return
    try:
        yield from _rows(pair)
    except Exception as error:  # a learner's function may raise any exception, but the browser must not wait forever
        yield {"refused": f"The exchange failed. {type(error).__name__}: {error}"}


def _rows(pair: _Pair) -> Iterator[Result]:
    result = {
        "tokens": [token.strip() for token in pair.tokens],
        "labels": [token_label(token, 14) for token in pair.tokens],
        "right": repr(_decode(pair.right)),
        "wrong": repr(_decode(pair.wrong)),
        "sentence": pair.summarize_answer(pair.clean_log_probs),
    }
    rows: list[list[Result]] = []
    for layer in range(len(pair.model.blocks)):
        rows.append([pair.patched_answer(layer, position) for position in range(pair.clean.shape[1])])
        yield {**result, "rows": [*rows]}


def _words(result: Result) -> str:
    if "refused" in result:
        return result["refused"]
    return f"The model continues the sentence with {result['right']} and its twin with {result['wrong']}."
