"""Read the two forms of the concept inventory.

The repository contains the forms as YAML. A release contains compressed forms, so that nobody sees a correct choice by
accident when opening or searching its files. This does not protect the choices from somebody who wants to read them.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TypeVar

AnyPath = TypeVar("AnyPath", bound=PurePath)
ITEMS = Path(__file__).with_name("items")
CORRECT = "correct"  # the label of a correct choice; the label of a distractor is `exercise/misconception`


@dataclass(frozen=True)
class Item:
    """One item of a form.

    Attributes:
        id: the name of the item, such as "A3".
        concept: the concept that the item asks about; each form has one item for each concept.
        question: plain text with `code` in backticks.
        code: the lines of the item's code, without line numbers; empty if the item has no code.
        choices: maps the text of each choice to its label.
    """

    id: str
    concept: str
    question: str
    code: list[str]
    choices: dict[str, str]


def load_form(name: str) -> list[Item]:
    """Return the items of form "a" or "b", in order."""
    import yaml  # imported late, so that `check` imports fast

    path = ITEMS / f"form_{name}.yaml"
    text = path.read_bytes() if path.is_file() else zlib.decompress(packed_path(path).read_bytes())
    return [_parse_item(item) for item in yaml.safe_load(text)]


def packed_path(path: AnyPath) -> AnyPath:
    """Convert a form's path in the repository to its path in a release."""
    return path.with_suffix(".bin")


def pack_form(content: bytes) -> bytes:
    """Compress a form for a release."""
    return zlib.compress(content, 9)


def _parse_item(item: dict) -> Item:
    code = [re.sub(r"^\d+  ", "", line) for line in item.get("code", "").splitlines()]
    choices = {choice["text"]: choice.get("misconception", CORRECT) for choice in item["choices"]}
    return Item(item["id"], item["concept"], item["question"], code, choices)
