"""Temporary reader of learning.json."""
from __future__ import annotations

from typing import Literal

import msgspec


class Attempt(msgspec.Struct):
    lesson: str
    exercise: str
    status: Literal["passed", "failed"]
    reason: str
    misconception: str = ""
    milestone: str = ""
    member: str = ""
    attempt: int = 1
    minutes: float | None = None


class Question(msgspec.Struct):
    kind: str
    lesson: str
    question: str
    right: bool
    sure: str


class Item(msgspec.Struct):
    form: str
    sitting: int
    item: str
    choice: str
    minutes: float = 0.0


class SharedFile(msgspec.Struct):
    format: int
    course: str
    attempts: list[Attempt] = []
    questions: list[Question] = []
    inventory: list[Item] = []


def parse_shared(content: bytes) -> SharedFile:
    return msgspec.json.decode(content, type=SharedFile)
