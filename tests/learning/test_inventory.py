"""The sittings of the concept inventory: which one is due, what is stored, and what stays hidden."""

import json
from datetime import datetime, timedelta, timezone

import pytest

from utils import lessons
from utils.learner_data.progress import merge_progress, read_sittings, record_attempt
from utils.learning.forms import ITEMS, load_form, pack_form
from utils.learning.inventory import Sitting, ask_inventory, due_sitting, read_inventory

NOW = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
DAY = timedelta(days=1)


def send(sitting, chosen, done=True, minutes=None):
    """Send the choices of a page to the kernel, as the browser does."""
    message = {"event": "chosen", "chosen": chosen, "minutes": minutes or {}, "done": done}
    sitting.widget._handle_custom_msg(message, [])


def complete(number, when=NOW, chosen=()):
    sitting = Sitting(number, lambda: when)
    send(sitting, dict(chosen))
    return sitting


def places(sitting, label_of):
    """Return a choice for each item: the place of the first choice whose label is accepted."""
    return {
        item.id: next(i for i, text in enumerate(sitting.choices[item.id]) if label_of(item.choices[text]))
        for item in sitting.items
    }


def test_form_a_is_due_until_the_course_has_begun(progress_path):
    assert due_sitting(NOW) == 1
    record_attempt("start_here", "row_sums", "passed")
    record_attempt("tokenization", "merge", "failed")
    assert due_sitting(NOW) == 1
    record_attempt("tokenization", "merge", "passed")
    assert due_sitting(NOW) == (
        "The first sitting of the concept inventory is for the time before lesson 01."
        " Form B is due when you have passed an exercise of lesson 13."
    )


def test_form_b_is_due_after_the_last_lesson_and_form_a_four_weeks_later(progress_path):
    complete(1)
    assert due_sitting(NOW) == (
        "Form A, before the course: 0 of 12 right. Form B is due when you have passed an exercise of lesson 13."
    )
    record_attempt("where_the_answer_comes_from", "logit_lens", "passed")
    assert due_sitting(NOW) == 2
    complete(2)
    for days, words in ((0, "28 days"), (0.5, "28 days"), (26.5, "2 days"), (27.5, "1 day")):
        assert due_sitting(NOW + days * DAY).endswith(f"Form A is due again in {words}."), days
    assert due_sitting(NOW + 28 * DAY) == 3
    complete(3, NOW + 28 * DAY)
    assert due_sitting(NOW + 99 * DAY).startswith(
        "You have completed the concept inventory. Form A, before the course:"
    )


def test_form_b_is_due_for_learners_who_left_out_form_a(progress_path):
    record_attempt("where_the_answer_comes_from", "logit_lens", "passed")
    assert due_sitting(NOW) == 2


def test_a_clock_that_is_set_back_only_waits(progress_path):
    complete(2, NOW + 365 * DAY)
    assert due_sitting(NOW).endswith("Form A is due again in 393 days.")


def test_a_complete_sitting_is_stored_item_by_item(progress_path):
    sitting = Sitting(2, lambda: NOW)
    assert read_inventory() == []
    chosen = places(sitting, lambda label: label == "correct")
    chosen["B2"] = -1  # skipped
    del chosen["B3"]  # never seen
    wrong = next(i for i, text in enumerate(sitting.choices["B4"]) if sitting.items[3].choices[text] != "correct")
    chosen["B4"] = wrong
    send(sitting, chosen, minutes={"B1": 0.44, "B4": 99, "B5": -3})
    stored = read_inventory()
    assert [item["item"] for item in stored] == [f"B{n}" for n in range(1, 13)]
    assert all(set(item) == {"form", "sitting", "item", "choice", "minutes"} for item in stored)
    assert {(item["form"], item["sitting"]) for item in stored} == {("b", 2)}
    assert [item["choice"] for item in stored[:3]] == ["correct", "", ""]
    assert stored[3]["choice"] == sitting.items[3].choices[sitting.choices["B4"][wrong]] != "correct"
    assert "/" in stored[3]["choice"] and [item["minutes"] for item in stored[:5]] == [0.4, 0, 0, 10, 0]
    assert sitting.widget.state["result"]["score"] == 9
    assert dict(sitting.widget.state["result"]["concepts"])["softmax"] is True


def test_the_first_sitting_tells_the_score_only(progress_path):
    result = complete(1).widget.state["result"]
    assert result == {"score": 0, "n": 12, "concepts": [], "saved": True}
    assert len(complete(3).widget.state["result"]["concepts"]) == 12


def test_an_older_state_from_a_slow_browser_does_not_remove_the_result(progress_path):
    """While the kernel is busy, Jupyter delays updates of the state, so an older state can come after a message."""
    sitting = complete(1)
    older = {"place": "review", "chosen": {"A1": -1}, "minutes": {}, "result": None}
    sitting.widget.set_state({"state": older})
    assert sitting.widget.state["result"]["n"] == 12 and sitting.widget.state["place"] == "result"


def test_an_unfinished_sitting_is_kept_and_does_not_count(progress_path):
    first = Sitting(1, lambda: NOW)
    send(first, {"A1": 2, "A2": -1}, done=False, minutes={"A1": 1.5})
    assert read_inventory() == [] and due_sitting(NOW) == 1
    again = Sitting(1, lambda: NOW + DAY)
    assert again.choices == first.choices
    assert again.widget.state["chosen"] == {"A1": 2, "A2": -1} and again.widget.state["minutes"]["A1"] == 1.5


def test_the_order_of_choices_differs_between_learners_and_sittings(progress_path):
    sittings = [Sitting(number) for number in (1, 1, 3)]  # nothing is stored, so each is a new learner
    orders = [[sitting.choices[f"A{n}"] for n in range(1, 13)] for sitting in sittings]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    firsts = [sitting.items[n].choices[sitting.choices[f"A{n + 1}"][0]] for sitting in sittings for n in range(12)]
    assert 0 < firsts.count("correct") < 24  # in the files, the first choice is always correct


def test_a_complete_sitting_never_changes(progress_path):
    sitting = complete(1, chosen={"A1": 0})
    before = read_sittings()
    send(sitting, {"A1": 1, "A2": 1})
    send(sitting, {"A1": 1}, done=False)
    assert read_sittings() == before
    assert sitting.widget.state["result"]["score"] == sum(item["choice"] == "correct" for item in before[1]["items"])


IMPOSSIBLE = ["text", {"event": "other"}, {"event": "chosen"}, {"event": "chosen", "chosen": [], "minutes": {}}]


@pytest.mark.parametrize("message", IMPOSSIBLE)
def test_other_messages_store_nothing(progress_path, message):
    Sitting(1).widget._handle_custom_msg(message, [])
    assert read_sittings() == {}


@pytest.mark.parametrize("place", [4, -2, "0", 1.0, None, True])
def test_a_choice_that_does_not_exist_counts_as_skipped(progress_path, place):
    complete(1, chosen={"A1": place, "A99": 0})
    assert read_inventory()[0]["choice"] == "" and len(read_inventory()) == 12


def test_a_full_disk_is_reported_and_nothing_is_lost(progress_path, monkeypatch):
    sitting = Sitting(1, lambda: NOW)
    with monkeypatch.context() as patch:
        patch.setattr("utils.learner_data.progress.write_atomically", lambda *_: (_ for _ in ()).throw(OSError("full")))
        send(sitting, {"A1": 0})
        assert sitting.widget.state["result"]["saved"] is False and read_inventory() == []
    send(sitting, {"A1": 0})
    assert sitting.widget.state["result"]["saved"] is True and len(read_inventory()) == 12


def test_without_a_progress_file_the_inventory_is_a_sentence(monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "off")
    assert ask_inventory().startswith("The concept inventory stores your answers, but COURSE_PROGRESS is off.")


ITEM = {"form": "a", "sitting": 1, "item": "A1", "choice": "", "minutes": 0.1}
GOOD = {"seed": 1, "done": True, "when": NOW.isoformat(), "items": [ITEM]}
DAMAGED = [
    None, [], GOOD | {"seed": "1"}, GOOD | {"done": 1}, GOOD | {"when": "2026"}, GOOD | {"items": {}},
    *(GOOD | {"items": [ITEM | change]} for change in (
        {"form": "c"}, {"sitting": 4}, {"item": 1}, {"choice": None}, {"minutes": -1}, {"minutes": "1"},
        {"minutes": float("nan")}, {"minutes": float("inf")},
    )),
]  # fmt: skip


@pytest.mark.parametrize("damaged", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_sitting_is_ignored(progress_path, damaged):
    progress_path.write_text(json.dumps({"inventory": {"1": GOOD}}), encoding="utf-8")
    assert read_inventory() == [ITEM]
    progress_path.write_text(json.dumps({"inventory": {"1": damaged, "9": GOOD}}), encoding="utf-8")
    assert read_inventory() == [] and due_sitting(NOW) == 1
    complete(1)
    assert len(read_inventory()) == 12


def test_sittings_of_two_machines_are_merged(progress_path, tmp_path):
    """A complete sitting wins, and of two complete sittings the earlier one, whatever the order of the files."""
    later = GOOD | {"when": (NOW + DAY).isoformat(), "items": [ITEM | {"choice": "correct"}]}
    draft = GOOD | {"done": False, "when": (NOW + 2 * DAY).isoformat()}
    other = tmp_path / "other.json"
    pairs = [(GOOD, later, GOOD), (draft, later, later), (GOOD | {"done": False}, draft, draft), (None, draft, draft)]
    for one, two, expected in pairs:
        for first, second in ((one, two), (two, one)):
            progress_path.write_text(json.dumps({"inventory": {"1": first}}), encoding="utf-8")
            other.write_text(json.dumps({"inventory": {"1": second}}), encoding="utf-8")
            merge_progress(other)
            assert read_sittings() == {1: expected}


# --- what can be read ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_form_reads_the_same_in_a_release(tmp_path, monkeypatch, name):
    expected, content = load_form(name), (ITEMS / f"form_{name}.yaml").read_bytes()
    (tmp_path / f"form_{name}.bin").write_bytes(pack_form(content))
    monkeypatch.setattr("utils.learning.forms.ITEMS", tmp_path)
    assert load_form(name) == expected
    assert not any(word in pack_form(content) for word in (b"correct", b"rationale", b"choices", b"text"))


def test_no_lesson_and_no_document_contains_an_item():
    """Neither the course's pages nor its documents quote a question or a rationale of an item."""
    folders = [lessons.ROOT / name for name in ("solutions", "course", "docs")]
    pages = [path for folder in folders for path in folder.glob("*.md")] + [lessons.ROOT / "README.md"]
    every = " ".join(" ".join(path.read_text(encoding="utf-8").split()) for path in pages)
    assert len(pages) > 30
    for item in load_form("a") + load_form("b"):
        assert item.question not in every, item.id
