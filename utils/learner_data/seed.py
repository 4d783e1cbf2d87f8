"""Assign each learner one transfer exercise from each family, based on the learner's seed.

The seed is six characters. A task code such as `K7F2QX-3` consists of the seed and the exercise's number in its
family. The notebook stores the task code in an output, so grading knows which task the learner got.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import NamedTuple

from utils import lessons
from utils.learner_data.progress import stored_seed

ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without 0, 1, I, L and O, which look alike
LENGTH = 6  # 887 million seeds: in a class of 1,000, two learners share a seed with a probability of 0.06 %
FIXED = "SAMPLE"  # no random seed equals this text, because L is not in ALPHABET
TITLE = "Your task"
_CODE = re.compile(rf"{TITLE} \(([A-Z0-9]{{{LENGTH}}})-(\d+)\)")


class TaskCode(NamedTuple):
    """The learner's seed, and the exercise's number in its family, counted from 1."""

    seed: str
    number: int

    def __str__(self) -> str:
        return f"{self.seed}-{self.number}"


def learner_seed() -> str:
    """Return the seed of this learner.

    In the folder `solutions/`, or if COURSE_SEED is "fixed", the learner gets the first member of every family. Any
    other text in COURSE_SEED is hashed. If COURSE_SEED is not set, the seed on a hub is a hash of the user's name.
    Elsewhere, the seed is random, and the progress file stores it. A learner whose seed cannot be stored gets the first
    member.
    """
    setting, user = os.environ.get("COURSE_SEED"), os.environ.get("JUPYTERHUB_USER")
    if setting == "fixed" or _is_in_solutions():
        return FIXED
    if setting or user:
        return _encode(_hash(f"seed {setting}" if setting else f"user {user}"))
    return stored_seed(_encode(secrets.randbits(64))) or FIXED


def assign_task(seed: str, family: str, size: int) -> TaskCode:
    """Return the task of a learner in a family with `size` members."""
    return TaskCode(seed, 1 if seed == FIXED else 1 + _hash(f"{seed} {family}") % size)


def find_task_codes(text: str) -> list[TaskCode]:
    """Return the different task codes in the text of an output, in order."""
    return list(dict.fromkeys(TaskCode(seed, int(number)) for seed, number in _CODE.findall(text)))


def _is_in_solutions() -> bool:
    try:
        return Path.cwd() == lessons.ROOT / "solutions"
    except OSError:  # the current folder was deleted
        return False


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _encode(number: int) -> str:
    """Convert a number to a seed."""
    characters = []
    for _ in range(LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        characters.append(ALPHABET[digit])
    return "".join(characters)
