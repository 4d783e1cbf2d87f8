"""Save the learner's sentence, so that later lessons can draw it next to their example."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from utils.gpt2.layer0 import Checkpoint
from utils.gpt2.sources import WeightsError, find_source
from utils.gpt2.tokenizer import backend_tokenizer
from utils.learner_data.progress import sentence_path
from utils.lessons.files import write_atomically
from utils.show.text_format import count_text
from utils.show.tokenization import decode_token, quote_token
from utils.show.widget import Widget, make_widget

FEWEST, MOST = 2, 16  # the fewest and the most tokens that the pictures in lessons 02 to 05 can show


def my_sentence(default: str = "Mary likes the cat and Tom likes the dog") -> str:
    """Return the sentence that the learner saved with `explore.sentence()`, or `default` if there is none."""
    return _read_sentence() or default


def sentence() -> Widget:
    """Show a text box for the learner's sentence, and save the sentence on this machine for `my_sentence`.

    The sentence is saved next to the progress file, unless COURSE_PROGRESS is "off". An empty text deletes the
    saved sentence.

    Returns:
        A widget whose `state` has `text`.
    """
    words = "A text box: the sentence that you write in it is kept on this machine, and lessons 02 to 05 draw it too."
    return make_widget(__file__, words, {}, {"text": _read_sentence(), "told": ""}, on_message=_handle_message)


def _handle_message(widget: Widget, message: Mapping[str, Any]) -> None:
    widget.send({"text": message["text"], "told": save_sentence(message["text"])})


def save_sentence(text: str) -> str:
    """Save a sentence unless it is too short or too long for the pictures. Return a message for the learner."""
    path = sentence_path()
    if path is None:
        return "Your sentence is not kept, because COURSE_PROGRESS is off."
    text = " ".join(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").split())
    try:
        if not text:
            path.unlink(missing_ok=True)
            return "No sentence is kept, so the lessons show only their own."
        ids = backend_tokenizer().encode(text).ids
        if not FEWEST <= len(ids) <= MOST:
            need = f"and the pictures need {FEWEST} to {MOST}. Try another length."
            return f"Not kept: your sentence has {count_text(len(ids), 'token')}, {need}"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as problem:
        return f"Not kept: {path.name} cannot be written ({problem.strerror})."
    use = "Run the cells with `my_sentence` in lessons 02 to 05 to see it there."
    return f"Kept: {len(ids)} tokens. {use}{_describe_unknown_tokens(ids)}"


def _read_sentence() -> str:
    path = sentence_path()
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = path.read_text(encoding="utf-8").strip() if path else ""
        return text if FEWEST <= len(backend_tokenizer().encode(text).ids) <= MOST else ""
    return ""


def _describe_unknown_tokens(ids: list[int]) -> str:
    """Return a sentence that names tokens on which the small GPT-2 was not trained, or "" if there are none."""
    try:
        with Checkpoint(find_source()) as checkpoint:
            known = set(checkpoint.read_trained_ids().tolist())
    except WeightsError:  # only the small GPT-2 lists the tokens on which it was trained
        return ""
    decode = lambda number: quote_token(decode_token(backend_tokenizer(), number))
    unknown = [decode(number) for number in dict.fromkeys(ids) if number not in known]
    if not unknown:
        return ""
    examples = ", ".join(unknown[:4]) + (" and others" if len(unknown) > 4 else "")
    return f" The small GPT-2 was not trained on {examples}: it reads all such tokens as one unknown token."
