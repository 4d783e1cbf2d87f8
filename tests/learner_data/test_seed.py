"""Test how a learner's seed is chosen and stored, and how it decides the task."""

import json
import re
import shutil

import pytest
from typer.testing import CliRunner

from utils import lessons
from utils.cli.commands import app
from utils.exercises.exercise import Float, case, family_members, find_exercise
from utils.feedback.transfer_families import LessonTask, TaskNote, find_own_exercise, member, task, transfer_family
from utils.learner_data import seed as module
from utils.learner_data.progress import merge_progress, read_progress, record_attempt
from utils.learner_data.seed import FIXED, TaskCode, assign_task, find_task_codes, learner_seed

NAME = "mix_texts"


@pytest.fixture(autouse=True)
def own_machine(monkeypatch, tmp_path):
    """A learner who works on a machine of their own."""
    for name in ("COURSE_SEED", "JUPYTERHUB_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    return tmp_path / "progress.json"


def test_the_seed_is_stored_once_and_survives_checks_and_a_copy(own_machine, tmp_path, monkeypatch):
    seed = learner_seed()
    assert re.fullmatch(rf"[{module.ALPHABET}]{{6}}", seed)
    record_attempt("simplified_attention", NAME, "failed")
    assert learner_seed() == seed and list(read_progress()) == ["simplified_attention"]
    shutil.copy(own_machine, tmp_path / "copy.json")
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "copy.json"))
    assert learner_seed() == seed


def test_two_learners_have_different_seeds(tmp_path, monkeypatch):
    seeds = set()
    for number in range(20):
        monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / f"{number}.json"))
        seeds.add(learner_seed())
    assert len(seeds) == 20


def test_a_hub_gives_each_user_the_same_seed_on_each_machine(tmp_path, monkeypatch):
    seeds = {}
    for user in ("ada", "bob", "ada"):
        monkeypatch.setenv("JUPYTERHUB_USER", user)
        monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / f"{len(seeds)}.json"))
        assert seeds.setdefault(user, learner_seed()) == learner_seed()
    assert seeds["ada"] != seeds["bob"] and not list(tmp_path.iterdir())


def test_course_seed_has_priority(monkeypatch, own_machine):
    monkeypatch.setenv("JUPYTERHUB_USER", "ada")
    user = learner_seed()
    monkeypatch.setenv("COURSE_SEED", "spring")
    assert learner_seed() not in (user, FIXED) and not own_machine.exists()
    monkeypatch.setenv("COURSE_SEED", "fixed")
    assert learner_seed() == FIXED


def test_without_a_place_to_store_it_the_seed_is_fixed(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("COURSE_PROGRESS", "off")
    assert learner_seed() == FIXED
    (tmp_path / "file").touch()
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "file" / "progress.json"))
    assert learner_seed() == FIXED


def test_instructors_get_the_first_member_in_solutions(monkeypatch, own_machine):
    monkeypatch.chdir(lessons.ROOT / "solutions")
    assert learner_seed() == FIXED and not own_machine.exists()


PASSED = {"simplified_attention": {NAME: {"status": "passed", "tries": 1, "when": ""}}}
OTHER = {"start_here": {"row_sums": {"status": "passed", "tries": 1, "when": ""}}}


@pytest.mark.parametrize("mine, theirs, expected", [
    (OTHER, PASSED, "ABCDEF"), (PASSED, PASSED, "QRSTUV"), (PASSED, OTHER, "QRSTUV"), (OTHER, OTHER, "QRSTUV")
])  # fmt: skip
def test_a_merge_selects_the_seed_of_the_passed_transfer_exercises(tmp_path, own_machine, mine, theirs, expected):
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"learner": {"seed": "ABCDEF"}, **theirs}), encoding="utf-8")
    own_machine.write_text(json.dumps({"learner": {"seed": "QRSTUV"}, **mine}), encoding="utf-8")
    said = [CliRunner().invoke(app, ["progress", "merge", str(other)]).stdout for _ in range(2)]
    assert learner_seed() == expected and f"the task code {expected}" in said[0]
    own_machine.unlink()
    merge_progress(other)
    assert learner_seed() == "ABCDEF"


def test_a_merge_says_nothing_about_a_seed_that_is_not_used(tmp_path, own_machine, monkeypatch):
    """On a hub, the user name determines the seed."""
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"learner": {"seed": "ABCDEF"}, **PASSED}), encoding="utf-8")
    learner_seed()
    monkeypatch.setenv("JUPYTERHUB_USER", "ada")
    assert len(CliRunner().invoke(app, ["progress", "merge", str(other)]).stdout.splitlines()) == 1


@pytest.mark.parametrize(
    "content", ['{"learner": 3}', '{"learner": {"seed": 3}}', '{"learner": {"seed": "abc"}}', "damaged"]
)
def test_a_damaged_seed_is_replaced(own_machine, content):
    own_machine.write_text(content, encoding="utf-8")
    seed = learner_seed()
    assert re.fullmatch(rf"[{module.ALPHABET}]{{6}}", seed) and learner_seed() == seed


def test_a_seed_gives_one_member_of_each_family_independently():
    assert assign_task(FIXED, NAME, 4) == TaskCode(FIXED, 1)
    pairs = {(assign_task(f"{n}", "one", 4).number, assign_task(f"{n}", "two", 4).number) for n in range(500)}
    assert len(pairs) == 16


def test_codes_are_found_in_a_text():
    assert find_task_codes("Your task (K7F2QX-3)\n… Your task (K7F2QX-3) Your task (ABCDEF-1)") == [
        TaskCode("K7F2QX", 3),
        TaskCode("ABCDEF", 1),
    ]
    assert find_task_codes("Your task (K7F2-3), K7F2QX-3") == []


def test_task_shows_the_own_member_with_its_code(own_machine):
    own, note = find_own_exercise(NAME), task(NAME)
    (code,) = find_task_codes(str(note))
    assert code.seed == learner_seed() and family_members(own)[code.number - 1] is own
    assert " ".join(own.task.split()) == " ".join(note.text.split())
    assert find_task_codes(note._repr_html_()) == [code]
    assert str(task(type("Answer", (), {"__name__": NAME})())) == str(note)
    assert find_own_exercise(f"{NAME}/distances").member == "distances"


def test_the_fixed_task_says_that_each_learner_gets_their_own(monkeypatch):
    monkeypatch.setenv("COURSE_SEED", "fixed")
    assert task(NAME).text.endswith("This is one of 4 tasks. Each learner gets one of them.")


def test_task_explains_a_wrong_name():
    assert "No exercise is called mix_text. Did you mean mix_texts?" in str(task("mix_text"))
    assert "`softmax` is not a transfer exercise" in str(task("softmax"))


def test_an_unknown_member_is_an_error():
    with pytest.raises(ValueError, match="mix_texts has no member x. Its members are: seq-first, centred"):
        find_exercise(f"{NAME}/x")


def test_indented_paragraphs_are_code():
    note = TaskNote("t", "Repair `f`:\n\n    def f(x):\n        return x < 2\n\nReturn x.")
    shown = note._repr_html_()
    assert "<code>f</code>" in shown and ">def f(x):\n    return x &lt; 2</pre>" in shown


def test_a_family_needs_four_members(monkeypatch):
    three = {id: member("Return 1.", clause=id, oracle=lambda x: x) for id in "abc"}
    with pytest.raises(ValueError, match="at least four members, but has 3"):
        transfer_family("few", members=three)


def test_a_member_overrides_the_fields_of_its_family(monkeypatch):
    from utils.exercises import exercise as declared

    monkeypatch.setattr(declared, "_exercises", dict(declared._exercises))
    monkeypatch.setattr(declared, "_families", dict(declared._families))
    members = {id: member("Return 1.", clause=f"it is {id}", oracle=lambda x: x) for id in "abc"}
    members["d"] = member("Return 1.", clause="it is d", oracle=lambda x: x, returns=Float("d"))
    usual = LessonTask("it is u", lambda x: x)
    transfer_family("letters", members=members, lesson=usual, cases=[case(1)], returns=Float("a"))
    first, *_, last = family_members(find_exercise("letters"))
    assert (first.returns, last.returns) == (Float("a"), Float("d")) and first.lesson == "test_seed"
    assert [wrong.id for wrong in last.misconceptions] == [
        "other-task-a", "other-task-b", "other-task-c", "as-in-the-lesson"
    ]  # fmt: skip
    assert (
        last.misconceptions[0].message
        == "Your result is right for another task, in which it is a. In your task, it is d."
    )
