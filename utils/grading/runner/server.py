"""Serve the judge from inside the sandbox: load one student's notebook, run the answer, and return observations.

The answer runs with `InProcessRunner`, as in a notebook. The judge does not trust this process: a notebook can change
all the code here, but this affects only its own result.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import utils
from utils import lessons
from utils.exercises.exercise import AnswerSignature
from utils.exercises.observe import Observation, build_failure
from utils.exercises.runner import InProcessRunner
from utils.exercises.timeout import Timeout
from utils.grading.runner.answer_extraction import (
    AnswerNotFound,
    NullObject,
    find_answers,
    load_answer,
    make_yours,
    requested_exercises,
)
from utils.grading.runner.audit import AuditLog
from utils.grading.runner.codec import LARGEST, Packer, TooLarge, parse_tensors
from utils.grading.runner.deserialize import TrustedUnpacker
from utils.grading.runner.framing import FROM_JUDGE, Channel, ChannelClosed
from utils.grading.runner.isolation import ResourceLimits
from utils.grading.runner.protocol import (
    AnswerMissing,
    Done,
    Outcome,
    OutOfMemory,
    ParsedPage,
    Raised,
    Reply,
    Request,
    TimeUp,
    clip,
    convert,
)

SILENT = ("check", "hint", "solution", "task", "progress", "show", "explore")


class PageLoader:
    """Loads an answer from a student's notebooks. The attribute `runner` runs the loaded answer.

    Args:
        folder: an empty folder for the notebooks; no other process uses this folder.
        seconds: the CPU time limit of the exercise.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.notes = AuditLog((str(folder),))
        self.runner = InProcessRunner(AnswerSignature("", "function"), None)

    def write_pages(self, pages: dict[str, bytes]) -> None:
        """Write notebooks to the folder. The keys of `pages` are file names."""
        for name, content in pages.items():
            (self.folder / name).write_bytes(content)

    def parse_page(self, page: str, exercises: dict[str, str]) -> ParsedPage:
        """Return the answers in a notebook without running it.

        Args:
            exercises: the kind of each exercise of the lesson ("function", "module" or "value"), by name.
        """
        try:
            lesson = lessons.read_lesson(self.folder / page)
            answers = find_answers(lesson, exercises)
        except lessons.LessonError as error:
            # The message contains the runner's folder, which is meaningless outside the sandbox.
            return ParsedPage(unreadable_reason=str(error).replace(f"{self.folder}{os.sep}", ""))
        except (RecursionError, MemoryError):
            return ParsedPage(unreadable_reason=f"{page} is nested too deeply to be read.")
        entries = {name: (clip(entry.source), entry.uses) for name, entry in answers.items()}
        return ParsedPage(entries, requested_exercises(lesson))

    def load_answer(self, signature: AnswerSignature, page: str, yours: dict[str, str]) -> None:
        """Load the answer to an exercise from a notebook, and create its runner.

        Args:
            yours: for each exercise that `yours` may return, the notebook that defines it.

        Raises:
            AnswerNotFound: the notebook has no answer to the exercise.
        """
        null = NullObject()
        for name, value in {**dict.fromkeys(SILENT, null), "yours": make_yours(yours, self.folder)}.items():
            setattr(utils, name, value)
        self.notes.start()
        names = {"display": null, "get_ipython": null, "__name__": "__main__"}
        answer = load_answer(self.folder / page, signature.name, signature.kind, names, self.seconds / 4)
        self.notes.record_replacements()
        self.runner = InProcessRunner(signature, answer)


class RunnerServer:
    """Answers the judge's requests one after the other until the judge closes the connection."""

    def __init__(self, channel: Channel, limits: ResourceLimits, folder: Path) -> None:
        self.channel = channel
        self.pages = PageLoader(folder, limits.seconds)
        self.alarm = Timeout(limits.seconds)

    def serve(self) -> None:
        """Answer requests until the judge closes the connection or the time limit is reached."""
        os.chdir(self.pages.folder)
        number = None
        with self.alarm:
            try:
                while True:
                    number = None
                    message, blob = self.channel.receive()
                    request = convert(message, Request)
                    number = request.id
                    self._reply(number, *self._call(request, blob))
            except ChannelClosed:
                return
            except KeyboardInterrupt as interrupt:
                self.alarm.stop()
                at = build_failure(interrupt, self.pages.runner.answer)
                self._reply(number, TimeUp(at.line, clip(at.code)))

    def _reply(self, number: int | None, outcome: Outcome, blob: bytes = b"") -> None:
        self.channel.send(Reply(number, self.pages.notes.drain(), outcome), blob)

    def _call(self, request: Request, blob: bytes) -> tuple[Outcome, bytes]:
        """Call the requested method of the `PageLoader` or the runner.

        Raises:
            KeyboardInterrupt: the time limit was reached.
        """
        packer = Packer(largest=LARGEST)
        try:
            unpacker = TrustedUnpacker(parse_tensors(blob, FROM_JUDGE), FROM_JUDGE)
            args, kwargs = unpacker.unpack(request.args), unpacker.unpack(request.kwargs)
            owner: Any = self.pages if hasattr(self.pages, request.method) else self.pages.runner
            return Done(packer.pack(getattr(owner, request.method)(*args, **kwargs))), packer.blob()
        except TooLarge as error:
            return OutOfMemory(str(error)), b""
        except AnswerNotFound as error:
            failure = build_failure(error.error, None) if error.error else None
            return AnswerMissing(clip(str(error)), packer.pack(failure)), b""
        except MemoryError:
            return OutOfMemory(), b""
        except BaseException as error:  # A notebook or its result can raise any exception.
            if isinstance(error, KeyboardInterrupt) and self.alarm.fired:
                raise
            if request.method == "run":  # If `run` raises, the answer or its result is the cause.
                return Done(packer.pack(Observation(failure=build_failure(error, self.pages.runner.answer)))), b""
            text = str(error) or "The page raises it itself."
            return Raised(clip(type(error).__name__), clip(text)), b""


def silence_output() -> None:
    """Discard everything that this process prints."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
