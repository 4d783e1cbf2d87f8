"""Implement `Runner` for an answer in the sandbox: each call becomes a request to the runner process."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from utils.exercises.exercise import AnswerSignature, Case
from utils.exercises.observe import Observation, RunOptions
from utils.exercises.op_trace import collect_tensors
from utils.exercises.runner import RESULT_ONLY, CodeTraits
from utils.grading.judge.fingerprint import fingerprint_observation
from utils.grading.judge.sandbox import RESULT_TYPES, Session

NO_MEMORY = ("can't allocate memory", "not enough memory", "Cannot allocate memory")


class RemoteRunner:
    """A `Runner` that sends its calls through a session.

    Attributes:
        fingerprints: a digest of the observation of each run, in the order of the runs.
        out_of_memory: whether a run failed because of the memory limit.
        unfinished: the first exercise that a run found to be not attempted; "" if there was none.
        has_impossible_count: whether a run returned a result, but counted no operation or no tensor of that size.
    """

    def __init__(self, session: Session, signature: AnswerSignature) -> None:
        self.session, self.signature = session, signature
        self.fingerprints: list[str] = []
        self.out_of_memory, self.unfinished, self.has_impossible_count = False, "", False

    def load_answer(self, page: str, yours: dict[str, str]) -> None:
        """See `PageLoader`. Raises `RemoteAnswerNotFound`."""
        self.session.call("load_answer", self.signature, page, yours)

    def run(self, case: Case, look: RunOptions = RESULT_ONLY) -> Observation:
        """See `Runner`."""
        observation = self._call("run", case, look)
        self.fingerprints.append(fingerprint_observation(observation))
        if look.count and not observation.failure:
            size = max((tensor.numel() for tensor in collect_tensors(observation.value)), default=0)
            self.has_impossible_count |= observation.operations < 1 or observation.largest < size
        return observation

    @functools.cached_property
    def _traits(self) -> CodeTraits:
        return self._call("inspect_code")

    def inspect_code(self) -> CodeTraits:
        """See `Runner`."""
        return self._traits

    def __getattr__(self, method: str) -> Any:
        """Return any other method of `Runner`. The method only sends its arguments to the runner.

        Raises:
            AttributeError: `Runner` has no such method.
        """
        if method not in RESULT_TYPES:
            raise AttributeError(method)
        return functools.partial(self._call, method)

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the runner. Do not send the notes on the cases, because only the judge needs them."""
        result = self.session.call(method, *map(_drop_notes, args), **{n: _drop_notes(a) for n, a in kwargs.items()})
        if isinstance(result, Observation) and (failure := result.failure):
            if failure.type == "MemoryError" or any(words in failure.text for words in NO_MEMORY):
                self.out_of_memory = True
            if failure.todo:
                self.unfinished = self.unfinished or failure.todo.partition(".")[0]
        return result


def _drop_notes(argument: Any) -> Any:
    return dataclasses.replace(argument, note="", page_example="") if isinstance(argument, Case) else argument
