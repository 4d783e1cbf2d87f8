"""A `Runner` whose answer runs elsewhere: each call becomes a question to the runner, each reply is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from utils.feedback.exercise import AnswerSignature, Case
from utils.feedback.observe import Observation, RunOptions
from utils.feedback.op_trace import NonfiniteOrigin
from utils.feedback.runner import RESULT_ONLY, CodeTraits, DeviceMoveResult
from utils.grading import schema
from utils.grading.codec import Packer, Unpacker, parse_tensors
from utils.grading.fingerprint import fingerprint_observation
from utils.grading.framing import ProtocolError
from utils.grading.sandbox import Session

NO_MEMORY = ("can't allocate memory", "not enough memory", "Cannot allocate memory")


class RemoteAnswerNotFound(Exception):
    """The page has no answer to the exercise.

    Attributes:
        failure: what stopped it from being made, or None.
    """

    def __init__(self, message: str, failure: Any) -> None:
        super().__init__(message)
        self.failure = failure


class RemoteRunner:
    """A `Runner` over a session.

    Attributes:
        digests: what each run gave, as a short text, in the order of the runs.
        out_of_memory: whether a run stopped because there was no more memory.
        unfinished: the exercise that is not attempted yet, where a run came upon one; "" where it cannot be told.
    """

    def __init__(self, session: Session, form: AnswerSignature) -> None:
        self.session, self.form = session, form
        self.fingerprints: list[str] = []
        self.out_of_memory, self.unfinished = False, ""
        self._traits: CodeTraits | None = None

    def load_answer(self, page: str, yours: dict[str, str]) -> None:
        """Load the page and hold the answer. Raises `Missing`.

        Args:
            yours: the page that `yours` takes each exercise from, for those that it may take.
        """
        form = schema.encode_form(self.form)
        self._ask("load_answer", lambda data, _: None, form=form, page=page, yours=yours)

    def inspect_code(self) -> CodeTraits:
        """As `Runner` has it."""
        found = self._traits or self._ask("inspect_code", lambda data, _: schema.decode_traits(data))
        self._traits = found
        return found

    def run(self, case: Case, look: RunOptions = RESULT_ONLY) -> Observation:
        """As `Runner` has it."""
        seen = self._observe("run", case, look=schema.encode_look(look))
        self.fingerprints.append(fingerprint_observation(seen))
        return seen

    def run_after_earlier_case(self, case: Case, earlier: Case) -> Observation:
        """As `Runner` has it."""
        return self._observe("run_after_earlier_case", case, earlier)

    def run_on_fake_device(self, case: Case) -> DeviceMoveResult:
        """As `Runner` has it."""
        return self._ask("run_on_fake_device", lambda data, _: schema.decode_device_result(data), case)

    def find_nonfinite_origin(self, case: Case) -> NonfiniteOrigin | None:
        """As `Runner` has it."""
        return self._ask("find_nonfinite_origin", lambda data, _: schema.decode_origin(data), case)

    def compute_gradients(self, case: Case) -> dict[str, Tensor | None]:
        """As `Runner` has it."""
        return self._ask(
            "compute_gradients", lambda data, unpacker: schema.decode_gradients(unpacker.unpack(data)), case
        )

    def _observe(self, do: str, *cases: Case, **message: Any) -> Observation:
        seen = self._ask(do, lambda data, unpacker: schema.decode_observation(unpacker, data), *cases, **message)
        failure = seen.failure
        if failure and (failure.type == "MemoryError" or any(words in failure.text for words in NO_MEMORY)):
            self.out_of_memory = True
        if failure and failure.todo:
            self.unfinished = self.unfinished or failure.todo.partition(".")[0]
        return seen

    def _ask(self, do: str, read: Callable[[Any, Unpacker], Any], *cases: Case, **message: Any) -> Any:
        """Ask with cases, and read what is done. Raises `Over`, `Missing`, or what the runner's own part raised."""
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
                raise ProtocolError("a reply that says nothing")
            bounds = self.session.channel.bounds
            return read(reply["done"], Unpacker(parse_tensors(blob, bounds), bounds))
        except ProtocolError as error:
            raise self.session.stop_tampered(str(error)) from None


def _rebuild_exception(what: str) -> Exception:
    """What was raised where a result was looked at, under its own name."""
    name, _, text = what[: schema.LONGEST].encode("utf-8", "replace").decode().partition(": ")
    return type(name if name.isidentifier() else "Exception", (Exception,), {})(text)
