"""Rules for every family of transfer exercises. A new family needs no change here.

`test_exercises.py` tests each member like any other exercise. The right answers are in the folder `transfer`.
"""

import ast
import inspect
import re
from collections import Counter

import pytest
import torch

from utils import lessons
from utils.exercises.exercise import all_exercises, all_members, family_members, find_exercise
from utils.exercises.oracles import to_learner_answer
from utils.feedback.check import hint, solution, yours
from utils.feedback.diagnose import diagnose
from utils.feedback.sweeps import applicable_sweeps
from utils.feedback.transfer_families import LESSON_TASK, OTHER_TASK
from utils.instructor.answers import AnswerFactory, read_answers, transfer_folder
from utils.instructor.lesson_time import shows_progress
from utils.learner_data.seed import assign_task
from utils.lessons.names import bound_names
from utils.lessons.syntax import parse_cell

FAMILIES = {name: family_members(exercise) for name, exercise in all_exercises().items() if exercise.member}
ANSWERS = [answer for path in sorted(transfer_folder().glob("*.py")) for answer in read_answers(path)]
each_family = pytest.mark.parametrize("name", FAMILIES)
each_member = pytest.mark.parametrize("name", [name for name, each in all_members().items() if each.member])


def answers_to(name):
    """Return the right answers to a member, as functions or classes."""
    factory = AnswerFactory.from_exercise(find_exercise(name))
    sources = [factory.source, *(answer.source for answer in ANSWERS if answer.exercise == name)]
    return [factory.make_answer(source) for source in sources]


@each_member
def test_answers_to_the_other_tasks_are_recognised(name):
    """The first right answer to each other member gets the message that names both tasks."""
    own = find_exercise(name)
    for other in family_members(own):
        if other is own:
            continue
        report = diagnose(own, answers_to(other.full_name)[0])
        assert report.misconception == OTHER_TASK + other.member, str(report)
        assert (
            report.message.startswith("Your result is right for another task, in which ")
            and "In your task, " in report.message
        )


@each_member
def test_the_sweeps_run_or_the_member_says_why_not(name):
    own = find_exercise(name)
    every = {"state", "sizes", "zeros", "ties", "large", "signs"}
    assert every <= {*applicable_sweeps(own), *own.unswept}
    assert all(len(reason.split()) > 4 for reason in own.unswept.values())


@each_family
def test_the_members_share_name_lesson_and_signature(name):
    members = FAMILIES[name]
    assert len(members) >= 4 and len({member.member for member in members}) == len(members)
    assert {(each.name, each.lesson, each.signature.arguments, each.kind) for each in members} == {
        (name, members[0].lesson, members[0].signature.arguments, members[0].kind)
    }


@each_member
def test_the_task_is_complete(name):
    """The text gives shapes and says what to return. The texts of a family have about the same length."""
    own = find_exercise(name)
    lengths = {each.member: len(each.task.split()) for each in family_members(own)}
    assert re.search(r"`\[\w+(, \w+)*\]`", own.task), "the task gives no shape"
    assert "Return " in own.task
    assert all(f"`{argument}`" in own.task for argument in own.signature.arguments)
    assert lengths[own.member] <= 1.5 * min(lengths.values()), lengths
    assert own.task.rstrip().endswith((".", "?")) or own.task.split("\n\n")[-1].startswith("    ")


def count_operations(source):
    """Count the calls, operators, subscripts and attributes of an answer."""
    kinds = ast.Call, ast.operator, ast.unaryop, ast.cmpop, ast.Subscript, ast.Attribute
    return sum(isinstance(node, kinds) for node in ast.walk(ast.parse(source)))


@each_family
def test_the_reference_answers_of_the_members_are_about_equally_long(name):
    """Members should be equally difficult. A much longer answer shows a member that changes more than the others."""
    references = {
        member.member: next(answer.source for answer in ANSWERS if answer.exercise == member.full_name)
        for member in FAMILIES[name]
    }
    lines = {id: len(source.strip().splitlines()) for id, source in references.items()}
    operations = {id: count_operations(source) for id, source in references.items()}
    assert max(lines.values()) <= 1.5 * min(lines.values()), lines
    # For very short answers, a ratio says little: five more operations are always allowed.
    assert max(operations.values()) <= max(1.5 * min(operations.values()), min(operations.values()) + 5), operations


@each_family
def test_the_lesson_ends_with_its_family(name):
    """Before the cell that shows how many questions are due, the last code cells are the task and the stub.

    Nothing else in the lesson uses the answer.
    """
    lesson = lessons.read_lesson(lessons.find_lesson(FAMILIES[name][0].lesson))
    code = [cell for cell in lesson.cells if cell.kind == "code" and not shows_progress(cell)]
    assert code[-2].source == f'task("{name}")'
    assert name in bound_names(parse_cell(code[-1])) and code[-1].source.endswith(f"\n\ncheck({name})")
    assert not any(re.search(rf"\b{name}\b", cell.source) for cell in code[:-2])
    number = {4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}[len(FAMILIES[name])]
    assert f"There are {number} tasks, and each learner gets one of them." in lesson.cells[code[-2].index - 1].source


def test_each_lesson_has_at_most_one_family():
    assert max(Counter(members[0].lesson for members in FAMILIES.values()).values()) == 1


@each_family
def test_seeds_are_spread_evenly_over_the_members(name):
    """With 4,000 learners, each count is within five standard deviations of the expected number."""
    size, learners = len(FAMILIES[name]), 4000
    counts = Counter(assign_task(f"{number:06}", name, size).number for number in range(learners))
    expected = learners / size
    assert set(counts) == set(range(1, size + 1))
    assert all(abs(count - expected) < 5 * (expected * (1 - 1 / size)) ** 0.5 for count in counts.values()), counts


@each_family
def test_there_are_no_hints_no_solution_and_no_yours(name):
    assert "no hints, because" in hint(name).text and "no hints, because" in hint(name, 3).text
    assert "no solution to look up" in solution(name).text and "def " not in solution(name).text
    with pytest.raises(ValueError, match="learners get different tasks"):
        yours(name)


def test_every_answer_belongs_to_a_member_of_its_lesson():
    for path in transfer_folder().glob("*.py"):
        for answer in read_answers(path):
            assert answer.kind == "right" and find_exercise(answer.exercise).lesson == path.stem[3:]


@each_family
def test_every_member_recognises_the_task_of_the_lesson(name):
    """`test_exercises.py` tests the message."""
    assert all(LESSON_TASK in [wrong.id for wrong in each.misconceptions] for each in FAMILIES[name])


@each_family
def test_oracles_of_other_members_fail(name):
    for own in FAMILIES[name]:
        for other in FAMILIES[name]:
            assert bool(diagnose(own, to_learner_answer(own, other.oracle))) == (own is other)


def test_signatures_of_answers_match():
    for answer in ANSWERS:
        exercise = find_exercise(answer.exercise)
        made = AnswerFactory.from_exercise(exercise).make_answer(answer.source)
        parameters = tuple(inspect.signature(made.forward if exercise.kind == "module" else made).parameters)
        assert tuple(each for each in parameters if each != "self") == exercise.signature.arguments


def test_exponentials_of_large_scores_must_not_overflow():
    """A task promises this, so an answer that adds 1 to the sum of plain exponentials is rejected."""

    def attend_new(q, k, v, past_k, past_v):
        keys, values = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
        scores = q @ keys.mT / q.shape[-1] ** 0.5
        visible = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(past_k.shape[2])
        powers = scores.exp() * visible
        return powers / (1 + powers.sum(-1, keepdim=True)) @ values

    report = diagnose(find_exercise("attend_new/nothing"), attend_new)
    assert not report and report.property == "finite"
