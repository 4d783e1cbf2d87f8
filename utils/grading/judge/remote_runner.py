"""Implement `Runner` for an answer in the sandbox: each call becomes a request to the runner process.

All replies are checked, because the runner process is not trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from utils.feedback.exercise import AnswerSignature, Case
from utils.feedback.observe import Observation, RunOptions
from utils.feedback.op_trace import NonfiniteOrigin
from utils.feedback.runner import RESULT_ONLY, CodeTraits, DeviceMoveResult
from utils.grading.judge.fingerprint import fingerprint_observation
from utils.grading.judge.sandbox import Session
from utils.grading.runner import schema
from utils.grading.runner.codec import Packer, Unpacker, parse_tensors
from utils.grading.runner.framing import ProtocolError

NO_MEMORY = ("can't allocate memory", "not enough memory", "Cannot allocate memory")


class RemoteAnswerNotFound(Exception):
    """The page has no answer to the exercise.

    Attributes:
        failure: the exception that prevented the answer, or None.
    """

    def __init__(self, message: str, failure: Any) -> None:
        super().__init__(message)
        self.failure = failure


class RemoteRunner:
    """A `Runner` that sends its calls through a session.

    Attributes:
        fingerprints: a digest of the observation of each run, in the order of the runs.
        out_of_memory: whether a run failed because of the memory limit.
        unfinished: the first exercise that a run found not attempted; "" if there was none.
    """

    def __init__(self, session: Session, form: AnswerSignature) -> None:
        self.session, self.form = session, form
        self.fingerprints: list[str] = []
        self.out_of_memory, self.unfinished = False, ""
        self._traits: CodeTraits | None = None

    def load_answer(self, page: str, yours: dict[str, str]) -> None:
        """Load the page and keep the answer in the runner.

        Args:
            yours: for each exercise that `yours` may return, the page that defines it.

        Raises:
            RemoteAnswerNotFound: the page has no answer to the exercise.
        """
        form = schema.encode_form(self.form)
        self._ask("load_answer", lambda data, _: None, form=form, page=page, yours=yours)

    def inspect_code(self) -> CodeTraits:
        """See `Runner`."""
        traits = self._traits or self._ask("inspect_code", lambda data, _: schema.decode_traits(data))
        self._traits = traits
        return traits

    def run(self, case: Case, look: RunOptions = RESULT_ONLY) -> Observation:
        """See `Runner`."""
        observation = self._observe("run", case, look=schema.encode_look(look))
        self.fingerprints.append(fingerprint_observation(observation))
        return observation

    def run_after_earlier_case(self, case: Case, earlier: Case) -> Observation:
        """See `Runner`."""
        return self._observe("run_after_earlier_case", case, earlier)

    def run_on_fake_device(self, case: Case) -> DeviceMoveResult:
        """See `Runner`."""
        return self._ask("run_on_fake_device", lambda data, _: schema.decode_device_result(data), case)

    def find_nonfinite_origin(self, case: Case) -> NonfiniteOrigin | None:
        """See `Runner`."""
        return self._ask("find_nonfinite_origin", lambda data, _: schema.decode_origin(data), case)

    def compute_gradients(self, case: Case) -> dict[str, Tensor | None]:
        """See `Runner`."""
        return self._ask(
            "compute_gradients", lambda data, unpacker: schema.decode_gradients(unpacker.unpack(data)), case
        )

    def _observe(self, do: str, *cases: Case, **message: Any) -> Observation:
        observation = self._ask(do, lambda data, unpacker: schema.decode_observation(unpacker, data), *cases, **message)
        failure = observation.failure
        if failure and (failure.type == "MemoryError" or any(words in failure.text for words in NO_MEMORY)):
            self.out_of_memory = True
        if failure and failure.todo:
            self.unfinished = self.unfinished or failure.todo.partition(".")[0]
        return observation

    def _ask(self, do: str, read: Callable[[Any, Unpacker], Any], *cases: Case, **message: Any) -> Any:
        """Send a request with cases and decode the reply.

        Raises:
            RunnerStopped: the runner has ended, or its reply is not valid.
            RemoteAnswerNotFound: the page has no answer to the exercise.
            Exception: the runner's code raised an exception; it is raised here under the same name.
        """
        packer = Packer(objects=True)
        packed = [schema.encode_case(packer, case) for case in cases]
        reply, blob = self.session.ask(do, packer.blob(), cases=packed, **message)
        try:
            if "missing" in reply:
                raise RemoteAnswerNotFound(
                    str(reply["missing"])[: schema.LONGEST], schema.decode_failure(reply.get("failure"))
                )
            if "odd" in reply:
                raise _rebuild_exception(str(reply["odd"]))
            if "done" not in reply:
                raise ProtocolError("a reply without a result")
            bounds = self.session.channel.bounds
            return read(reply["done"], Unpacker(parse_tensors(blob, bounds), bounds))
        except ProtocolError as error:
            raise self.session.stop_tampered(str(error)) from None


def _rebuild_exception(what: str) -> Exception:
    """Return an exception with the type name and message from a runner's text."""
    name, _, text = what[: schema.LONGEST].encode("utf-8", "replace").decode().partition(": ")
    return type(name if name.isidentifier() else "Exception", (Exception,), {})(text)
