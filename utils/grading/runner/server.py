"""Serve the judge from inside the sandbox: load one student's page, run the answer, and return observations.

The answer runs with `InProcessRunner`, as in a notebook. The judge does not trust this process: a page can change all
the code here, but the only effect is a different result.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import utils
from utils import lessons
from utils.feedback.exercise import AnswerSignature
from utils.feedback.observe import build_failure
from utils.feedback.runner import InProcessRunner
from utils.feedback.timeout import Timeout
from utils.grading.runner import schema
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

SILENT = ("check", "hint", "solution", "progress", "show", "explore")


class RunnerServer:
    """Answers the judge's requests one after the other until the judge closes the connection.

    Args:
        folder: an empty folder for the pages; no other process uses this folder.
    """

    def __init__(self, channel: Channel, limits: ResourceLimits, folder: Path) -> None:
        self.channel, self.limits, self.folder = channel, limits, folder
        self.notes = AuditLog((str(folder),))
        self.alarm = Timeout(limits.seconds)
        self.answer: Any = None
        self.runner = InProcessRunner(AnswerSignature("", "function"), None)

    def serve(self) -> None:
        """Answer requests until the judge closes the connection or the time limit is reached."""
        os.chdir(self.folder)
        with self.alarm:
            while True:
                try:
                    message, blob = self.channel.receive()
                except ChannelClosed:
                    return
                except KeyboardInterrupt as interrupt:
                    return self._reply_stopped(None, interrupt)
                try:
                    self._reply(message["id"], *self._handle_request(message, blob))
                except KeyboardInterrupt as interrupt:
                    return self._reply_stopped(message["id"], interrupt)

    def _reply_stopped(self, number: int | None, interrupt: BaseException) -> None:
        self.alarm.stop()
        at = build_failure(interrupt, self.answer)
        self._reply(number, {"stopped": {"line": at.line, "code": at.code[: schema.LONGEST]}})

    def _reply(self, number: int | None, reply: dict[str, Any], blob: bytes = b"") -> None:
        self.channel.send({"id": number, "notes": self.notes.drain(), **reply}, blob)

    def _handle_request(self, message: dict[str, Any], blob: bytes) -> tuple[dict[str, Any], bytes]:
        packer = Packer(largest=LARGEST)
        try:
            done = getattr(self, f"do_{message['do']}")(message, blob, packer)
            return {"done": done}, packer.blob()
        except TooLarge as error:
            return {"large": str(error)}, b""
        except AnswerNotFound as error:
            failure = build_failure(error.error, None) if error.error else None
            return {"missing": str(error)[: schema.LONGEST], "failure": schema.encode_failure(failure)}, b""
        except MemoryError:
            return {"memory": True}, b""
        except (Exception, SystemExit) as error:  # For example, inspecting a strange result can raise anything.
            return {"odd": f"{type(error).__name__}: {error}"[: schema.LONGEST]}, b""

    # --- requests -------------------------------------------------------------------------------------

    def do_write_pages(self, message: dict[str, Any], blob: bytes, packer: Packer) -> None:
        """Write the student's pages into the folder; `blob` contains their concatenated bytes."""
        start = 0
        for name, size in message["pages"]:
            (self.folder / name).write_bytes(blob[start : start + size])
            start += size

    def do_parse_page(self, message: dict[str, Any], blob: bytes, packer: Packer) -> dict[str, Any]:
        """Return the answers on a page without running the page."""
        try:
            lesson = lessons.read_lesson(self.folder / message["page"])
            answers = find_answers(lesson, message["exercises"])
        except lessons.LessonError as error:
            # The message contains the runner's folder, which is meaningless outside the sandbox.
            return {"unreadable": str(error).replace(f"{self.folder}{os.sep}", "")[: schema.LONGEST]}
        except (RecursionError, MemoryError):
            return {"unreadable": ""}
        texts = {name: entry.source[: schema.LONGEST] for name, entry in answers.items()}
        return {
            "answers": {name: [texts[name], entry.uses] for name, entry in answers.items()},
            "asked": requested_exercises(lesson),
        }

    def do_load_answer(self, message: dict[str, Any], blob: bytes, packer: Packer) -> None:
        """Load a page up to an exercise and keep the answer."""
        null = NullObject()
        for name, value in {
            **dict.fromkeys(SILENT, null),
            "yours": make_yours(message["yours"], self.folder),
        }.items():
            setattr(utils, name, value)
        form = schema.decode_form(message["form"])
        self.notes.start()
        names = {"display": null, "get_ipython": null, "__name__": "__main__"}
        page, patience = self.folder / message["page"], self.limits.seconds / 4
        self.answer = load_answer(page, form.name, form.kind, names, patience)
        self.notes.record_replacements()
        self.runner = InProcessRunner(form, self.answer)

    def do_inspect_code(self, message: dict[str, Any], blob: bytes, packer: Packer) -> dict[str, Any]:
        """`Runner.inspect_code`."""
        return schema.encode_traits(self.runner.inspect_code())

    def do_run(self, message: dict[str, Any], blob: bytes, packer: Packer) -> dict[str, Any]:
        """`Runner.run`."""
        (case,) = _decode_cases(message, blob)
        return schema.encode_observation(packer, self.runner.run(case, schema.decode_look(message["look"])))

    def do_run_after_earlier_case(self, message: dict[str, Any], blob: bytes, packer: Packer) -> dict[str, Any]:
        """`Runner.run_after_earlier_case`."""
        return schema.encode_observation(packer, self.runner.run_after_earlier_case(*_decode_cases(message, blob)))

    def do_run_on_fake_device(self, message: dict[str, Any], blob: bytes, packer: Packer) -> dict[str, Any]:
        """`Runner.run_on_fake_device`."""
        return schema.encode_device_result(self.runner.run_on_fake_device(*_decode_cases(message, blob)))

    def do_find_nonfinite_origin(self, message: dict[str, Any], blob: bytes, packer: Packer) -> dict[str, Any] | None:
        """`Runner.find_nonfinite_origin`."""
        return schema.encode_origin(self.runner.find_nonfinite_origin(*_decode_cases(message, blob)))

    def do_compute_gradients(self, message: dict[str, Any], blob: bytes, packer: Packer) -> Any:
        """`Runner.compute_gradients`."""
        return packer.pack(self.runner.compute_gradients(*_decode_cases(message, blob)))


def _decode_cases(message: dict[str, Any], blob: bytes) -> list[Any]:
    unpacker = TrustedUnpacker(parse_tensors(blob, FROM_JUDGE), FROM_JUDGE)
    return [schema.decode_case(unpacker, data) for data in message["cases"]]


def silence_output() -> None:
    """Discard everything that this process prints."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
