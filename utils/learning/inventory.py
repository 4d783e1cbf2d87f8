"""Present the twelve items of the concept inventory, and record the learner's choices.

There are three sittings: form A before the course, form B after it, and form A again four weeks later. The widget in
the browser never receives the correct choices: this module scores the learner's choices in the kernel. A widget that is
shown again continues an unfinished sitting.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from utils.learner_data.progress import progress_path, read_progress, read_sittings, record_sitting
from utils.learning.clock import Clock, utc_now
from utils.learning.forms import CORRECT, Item, load_form
from utils.show.widget import Widget, make_widget

FORMS = {1: "a", 2: "b", 3: "a"}  # the form of each sitting
OCCASIONS = {1: "before the course", 2: "after the course", 3: "four weeks after form B"}
PAUSE = timedelta(days=28)  # between the second and the third sitting
FIRST_LESSON, LAST_LESSON = "start_here", "where_the_answer_comes_from"
MINUTES = 10  # the time for a form; also the maximum time recorded for one item


def read_inventory() -> list[dict[str, Any]]:
    """Return the items of all complete sittings: `{"form", "sitting", "item", "choice", "minutes"}`, in order.

    `choice` is "correct", the chosen misconception as `exercise/misconception`, or "" for a skipped item.
    """
    return [item for _, entry in sorted(read_sittings().items()) if entry["done"] for item in entry["items"]]


def ask_inventory(clock: Clock = utc_now) -> Widget | str:
    """Return a widget with the sitting that is due, or a sentence that says why none is due."""
    if progress_path() is None:
        return "The concept inventory stores your answers, but COURSE_PROGRESS is off. Remove this variable."
    due = due_sitting(clock())
    return due if isinstance(due, str) else Sitting(due, clock).widget


def due_sitting(now: datetime) -> int | str:
    """Return the number of the sitting that is due, or a sentence that says when the next sitting is due."""
    sittings = read_sittings()
    done = {number: entry for number, entry in sittings.items() if entry["done"]}
    passed = {
        lesson for lesson, table in read_progress().items() for entry in table.values() if entry["status"] == "passed"
    }
    results = "".join(f"{_result_sentence(number, entry)} " for number, entry in sorted(done.items()))
    if 2 in done:
        wait = datetime.fromisoformat(done[2]["when"]) + PAUSE - now
        if 3 in done:
            return f"You have completed the concept inventory. {results}".strip()
        days = math.ceil(wait / timedelta(days=1))
        if days <= 0:
            return 3
        return f"{results}Form A is due again in {days} {'day' if days == 1 else 'days'}."
    if LAST_LESSON in passed:
        return 2
    if 1 not in done and passed <= {FIRST_LESSON}:
        return 1
    if 1 not in done:
        results = "The first sitting of the concept inventory is for the time before lesson 01. "
    return f"{results}Form B is due when you have passed an exercise of lesson 13."


def _result_sentence(number: int, entry: Mapping[str, Any]) -> str:
    score = sum(item["choice"] == CORRECT for item in entry["items"])
    return f"Form {FORMS[number].upper()}, {OCCASIONS[number]}: {score} of {len(entry['items'])} right."


class Sitting:
    """One sitting. Its `widget` shows the items. The order of the choices is sampled for each learner and sitting."""

    def __init__(self, number: int, clock: Clock = utc_now) -> None:
        self.number, self.form, self.clock = number, FORMS[number], clock
        self.items = load_form(self.form)
        entry = read_sittings().get(number, {})
        self.seed = entry.get("seed", random.SystemRandom().randrange(2**31))
        shuffle = random.Random(self.seed)
        self.choices = {item.id: shuffle.sample(list(item.choices), len(item.choices)) for item in self.items}
        name = self.form.upper()
        start = {
            "title": f"Concept inventory, form {name}: {OCCASIONS[number]}",
            "minutes": MINUTES,
            "items": [self._to_page(item) for item in self.items],
        }
        words = (
            f"Form {name} of the concept inventory asks {len(self.items)} questions about attention, which take about"
            f" {MINUTES} minutes. Open the lesson in JupyterLab to answer them."
        )
        self.result: dict[str, Any] | None = None
        self.widget = make_widget(__file__, words, start, self._restore_state(entry), on_message=self.handle_message)
        self.widget.observe(self._show_result, "state")

    def _to_page(self, item: Item) -> dict[str, Any]:
        return {"id": item.id, "question": item.question, "code": item.code, "choices": self.choices[item.id]}

    def _restore_state(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return the widget's state: for each stored item, the index of the choice (-1 if skipped) and the minutes."""
        chosen, minutes = {}, {}
        labels = {item.id: [item.choices[text] for text in self.choices[item.id]] for item in self.items}
        for stored in entry.get("items", ()):
            if stored["item"] in labels and stored["choice"] in ("", *labels[stored["item"]]):
                place = labels[stored["item"]].index(stored["choice"]) if stored["choice"] else -1
                chosen[stored["item"]], minutes[stored["item"]] = place, stored["minutes"]
        return {"place": "intro", "chosen": chosen, "minutes": minutes, "result": None}

    def handle_message(self, widget: Widget, message: Any) -> None:
        """Record the choices from a message `{"event": "chosen", "chosen", "minutes", "done"}`. Ignore other messages.

        If `done` is true, complete the sitting, and show its result in the widget.
        """
        if not isinstance(message, Mapping) or message.get("event") != "chosen":
            return
        chosen, minutes = message.get("chosen"), message.get("minutes")
        if not isinstance(chosen, Mapping) or not isinstance(minutes, Mapping):
            return
        done = message.get("done") is True
        items = [
            self._record(item, chosen.get(item.id, -1), minutes.get(item.id, 0))
            for item in self.items
            if done or item.id in chosen
        ]
        entry = {"seed": self.seed, "done": done, "when": self.clock().isoformat(), "items": items}
        record_sitting(self.number, entry)
        if done:
            self.result = self._result(items)
            self._show_result()

    def _show_result(self, _change: Any = None) -> None:
        """Put the result into the widget's state. A slow browser may send an older state after the last message."""
        if self.result and self.widget.state.get("result") != self.result:
            self.widget.state = {**self.widget.state, "place": "result", "result": self.result}

    def _record(self, item: Item, place: Any, minutes: Any) -> dict[str, Any]:
        """Return the record of one item. The browser is not trusted: an impossible choice counts as skipped."""
        texts = self.choices[item.id]
        is_choice = type(place) is int and 0 <= place < len(texts)
        is_time = isinstance(minutes, (int, float)) and minutes >= 0
        return {
            "form": self.form,
            "sitting": self.number,
            "item": item.id,
            "choice": item.choices[texts[place]] if is_choice else "",
            "minutes": round(min(minutes, MINUTES), 1) if is_time else 0,
        }

    def _result(self, items: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the result that the widget shows at the end.

        The first sitting does not reveal which items were right, because the third sitting presents the same items
        again.
        """
        stored = read_sittings().get(self.number, {})
        saved = stored.get("done", False)
        items = stored["items"] if saved else items  # another tab may already have completed the sitting
        right = {item["item"]: item["choice"] == CORRECT for item in items}
        concepts = [[item.concept, right.get(item.id, False)] for item in self.items]
        return {
            "score": sum(right.values()),
            "n": len(self.items),
            "concepts": [] if self.number == 1 else concepts,
            "saved": saved,
        }
