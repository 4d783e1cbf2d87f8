"""Test `coginst report --learning`: the page, groups that it must not reveal, and the list of the worst messages."""

import json
import re
from collections import defaultdict

import pytest
from typer.testing import CliRunner

from bench.example_logs import simulate_class, simulated_course, write_class
from bench.learning import LESSONS
from tests.grading.submission_files import read_tree
from tests.grading.test_learning_statistics import attempt
from tests.grading.test_reports import RESULTS, Page
from utils.cli.commands import app
from utils.exercises.exercise import all_exercises, family_members, find_exercise
from utils.grading.intake.roster import Student, format_roster
from utils.grading.judge.results import ExerciseResult, LessonResult, write_result
from utils.grading.reports.html_parts import format_difference
from utils.grading.reports.learning.intervals import Estimate
from utils.grading.reports.learning.messages import measure_messages, read_outcomes
from utils.grading.reports.learning.page import learning_page, measure_class
from utils.grading.reports.learning.worst import find_weak_messages, misconception_source, rank_messages
from utils.grading.reports.redact import HIDDEN
from utils.learning.sharing import FILE_NAME, parse_shared

STUDENTS = [Student(f"s{n}", f"Ada Lovelace{n}", f"ada{n}@x.org") for n in range(12)]


def parse_class(learners, seed=1):
    return [parse_shared(content) for content in simulate_class(learners, seed, course=simulated_course(LESSONS))]


@pytest.fixture
def collected(tmp_path):
    """A folder as `coginst collect` leaves it: a roster, and the records of twelve learners."""
    write_files(tmp_path, simulate_class(12, 1, course=simulated_course(LESSONS)))
    return tmp_path


def write_files(folder, files):
    handed_in = folder / "handed-in"
    handed_in.mkdir(exist_ok=True)
    for student, content in zip(STUDENTS, files):
        (handed_in / student.folder).mkdir(parents=True, exist_ok=True)
        (handed_in / student.folder / FILE_NAME).write_bytes(content)
    (handed_in / "roster.csv").write_bytes(format_roster(STUDENTS).encode())


def run_report(folder, *options):
    return CliRunner().invoke(app, ["report", str(folder / "results"), *options])


def words(result):
    return " ".join((result.output + (result.stderr if result.stderr_bytes else "")).split())


def test_the_simulated_class_attempts_the_transfer_exercises_of_the_course():
    transfer = {(e.lesson, e.name): e.members for e in simulated_course() if e.members}
    families = [e for e in all_exercises().values() if e.member]
    assert {name for _, name in transfer} == {e.name for e in families}
    assert "00" not in {lesson[:2] for lesson, _ in transfer}
    assert {e.name for e in simulated_course()} == set(all_exercises())
    (mix_texts,) = (members for (_, name), members in transfer.items() if name == "mix_texts")
    members = {
        attempt.member for record in parse_class(40) for attempt in record.attempts if attempt.exercise == "mix_texts"
    }
    assert members == set(mix_texts) == {e.member for e in family_members(find_exercise("mix_texts"))}


# --- the page -------------------------------------------------------------------------------------------------


def test_the_page_shows_every_part_and_names_nobody(collected):
    done = run_report(collected, "--learning")
    assert done.exit_code == 0, done.output
    text = (collected / "learning" / "learning.html").read_text(encoding="utf-8")
    page = Page(text)
    headings = re.findall(r"<h2[^>]*>(.+?)</h2>", text)
    assert headings == [
        "What learners do after a message", "Misconceptions that return", "Attempts and time", "Transfer exercises",
        "The concept inventory", "Calibration",
    ]  # fmt: skip
    assert {attributes["href"] for tag, attributes in page.elements if tag == "a"} == {
        f"#{attributes['id']}" for tag, attributes in page.elements if tag == "h2"
    }
    assert not re.search(r"Ada|Lovelace|ada\d|\bs\d+\b", page.text)
    assert "About 10 learners shared a record" in page.text
    assert "fewer than 5 learners" in page.text and "counts as not passed" in page.text
    assert "not assigned at random" in page.text
    columns = re.findall(r"<th[^>]*><button[^>]*>(.+?)</button>", text)
    assert {"Difference from numbers only, points", "Minutes: median (quartiles)"} <= set(columns)
    assert "a dash for" in page.text and "fewer than 5 learners read that message" in page.text
    assert "Questions of form A" in page.text and not re.search(r"\b(items?|members?)\b", page.text, re.IGNORECASE)


def test_the_page_loads_nothing_and_runs_one_script(collected):
    run_report(collected, "--learning")
    text = (collected / "learning" / "learning.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text and text.count("<script>") == 1
    assert not re.search(r"""(src|href)=["']?(?!#)\w|url\(|@import""", text)


def test_the_numbers_of_the_page_are_those_of_the_class():
    learners = parse_class(60)
    page = Page(learning_page(measure_class(learners)))
    for effect in measure_messages(learners):
        value, low, high = (round(100 * number) for number in effect.repaired)
        assert f"{value} % ({low}–{high})" in page.lines
    for sitting, form in ((1, "a"), (2, "b")):
        right = defaultdict(list)
        both = [file for file in learners if {1, 2} <= {a.sitting for a in file.inventory}]
        for file in both if len(learners) - len(both) < 5 else learners:
            for answer in file.inventory:
                if answer.sitting == sitting:
                    right[answer.item].append(answer.choice == "correct")
        assert len(right) == 12
        for item, answers in right.items():
            pattern = rf"{item}\n\d+\n{100 * sum(answers) / len(answers):.0f} %\n"
            assert item[0].lower() == form and re.search(pattern, page.lines), item


@pytest.mark.parametrize("learners", [5, 7, 9, 12, 20, 31])
def test_no_group_of_fewer_than_five_is_on_the_page_or_follows_from_a_total(learners):
    for seed in range(4):
        files = parse_class(learners, seed)
        result = measure_class(files)
        rows = [*result.messages, *result.recurrence, *result.effort, *result.transfer, *result.inventory.items]
        groups = [getattr(row, "readers", None) or row.learners for row in [*rows, *result.calibration]]
        gains = [gain for gain in (result.inventory.gain, result.inventory.retention) if gain]
        assert all(len(group) >= 5 for group in [*groups, *(gain.learners for gain in gains)])
        shown = {effect.message for effect in result.messages}
        for outcomes in read_outcomes(files).values():
            hidden = {n for message, readers in outcomes.items() if message not in shown for n in readers}
            assert not shown & outcomes.keys() or len(hidden) not in range(1, 5)
        for item in result.inventory.items:
            number = len(item.learners)
            wrong = number - round(item.difficulty * number)
            cells = [round(choice.share * number) for choice in item.choices]
            assert all(cell >= 5 for cell in cells) and sum(cells) in ((wrong,) if wrong >= 5 else (0,))
        if len(gains) == 2:
            assert len(gains[0].learners - gains[1].learners) not in range(1, 5)
        for item in result.inventory.items if gains else ():
            assert len(item.learners - gains[0].learners) not in range(1, 5)
        counts = re.findall(r'<td class="number">(\d+)</td>', learning_page(result))
        assert all(int(count) % 5 == 0 or count in LESSONS for count in counts)


def test_a_difference_has_a_sign_unless_it_is_rounded_to_zero():
    assert format_difference(Estimate(-0.004, -0.126, 0.08)) == "0 (−13 to +8)"


def test_fewer_than_five_learners_give_a_page_without_numbers():
    page = Page(learning_page(measure_class(parse_class(4))))
    assert "Fewer than 5 learners shared a record" in page.text
    assert not [tag for tag, _ in page.elements if tag == "table"]


def test_a_text_that_one_learner_invents_is_not_on_the_page(collected):
    path = collected / "handed-in" / "s0" / FILE_NAME
    shared = json.loads(path.read_bytes())
    shared["attempts"] += [attempt("AdaLovelace", "AdaLovelace", "02_AdaLovelace"), attempt("to: <b>Ada Lovelace</b>")]
    shared["inventory"][0] |= {"item": "AdaLovelace", "choice": "Ada/Lovelace"}
    path.write_text(json.dumps(shared), encoding="utf-8")
    assert run_report(collected, "--learning").exit_code == 0
    assert "Ada" not in (collected / "learning" / "learning.html").read_text(encoding="utf-8")


# --- the command ----------------------------------------------------------------------------------------------


def test_todays_report_does_not_change_with_logs(collected):
    for result in RESULTS:
        write_result(collected / "results", result)
    assert run_report(collected).exit_code == 0
    with_logs = read_tree(collected / "report")
    for path in (collected / "handed-in").glob(f"*/{FILE_NAME}"):
        path.unlink()
    assert run_report(collected).exit_code == 0
    assert read_tree(collected / "report") == with_logs and "learning.html" not in with_logs


def test_without_any_file_the_command_says_how_to_get_one(tmp_path):
    write_files(tmp_path, [])
    done = run_report(tmp_path, "--learning")
    assert done.exit_code == 2 and not (tmp_path / "learning").exists()
    assert f"contains {FILE_NAME}. Learners write this file with progress().share(write=True)" in words(done)


def test_equal_files_without_times_belong_to_different_learners(collected):
    """After a single attempt, the files of two learners are equal."""
    path = collected / "handed-in" / "s3" / FILE_NAME
    content = json.loads(path.read_bytes())
    content["attempts"], content["inventory"] = content["attempts"][:1], []
    content["attempts"][0]["minutes"] = None
    for number in (3, 5):
        (collected / "handed-in" / f"s{number}" / FILE_NAME).write_text(json.dumps(content), encoding="utf-8")
    done = run_report(collected, "--learning")
    assert done.exit_code == 0 and "from the records of 12 learners" in words(done)


def test_a_refused_file_is_named_and_the_others_count(collected):
    (collected / "handed-in" / "s3" / FILE_NAME).write_text('{"format": 2}', encoding="utf-8")
    (collected / "handed-in" / "s5" / FILE_NAME).write_bytes((collected / "handed-in" / "s4" / FILE_NAME).read_bytes())
    done = run_report(collected, "--learning")
    assert done.exit_code == 0 and "from the records of 10 learners" in words(done)
    assert "Left out: s3: learning.json has a wrong value: `format`" in words(done)
    assert "Left out: s5: learning.json is the same file as another student's." in words(done)
    for number in range(12):
        (collected / "handed-in" / f"s{number}" / FILE_NAME).write_bytes(b"[")
    before = read_tree(collected / "learning")
    done = run_report(collected, "--learning")
    assert done.exit_code == 2 and "is valid. s0: learning.json is not JSON" in words(done)
    assert read_tree(collected / "learning") == before


def test_a_folder_with_other_files_is_not_replaced(collected):
    (collected / "learning").mkdir()
    (collected / "learning" / "notes.txt").write_text("mine", encoding="utf-8")
    done = run_report(collected, "--learning")
    assert done.exit_code == 2 and "contains other files and no learning.html" in words(done)
    assert read_tree(collected / "learning") == {"notes.txt": b"mine"}


@pytest.mark.parametrize(
    "options, sentence",
    [(["--worst", "3"], "Add --learning."), (["--learning", "--names"], "never names students. Leave out --names.")],
)
def test_options_that_do_not_fit_together(collected, options, sentence):
    done = run_report(collected, *options)
    assert done.exit_code == 2 and sentence in words(done)


# --- the worst messages ---------------------------------------------------------------------------------------


def record(*attempts):
    """Return the content of the file of a learner with these attempts."""
    shared = {"format": 1, "course": "", "attempts": attempts, "questions": [], "inventory": []}
    return json.dumps(shared).encode()


def learners_of(*groups):
    return [parse_shared(record(*map(attempt, verdicts))) for verdicts, count in groups for _ in range(count)]


def test_the_worst_message_has_the_lowest_upper_limit():
    class_ = learners_of(
        (["clamped", "passed"], 20), (["clamped"], 20),  # 20 of 40
        (["over-everything"], 5),  # 0 of 5: low, but from few readers
        (["not-normalised"], 30), (["not-normalised", "passed"], 10),  # 10 of 40
    )  # fmt: skip
    order = [effect.message.misconception for effect in rank_messages(measure_messages(class_))]
    assert order == ["not-normalised", "over-everything", "clamped"]


def test_the_answer_comes_from_the_graded_class_without_the_students_name():
    effects = measure_messages(learners_of((["over-everything"], 6), (["clamped"], 6)))
    (graded,) = find_graded("def softmax(x):\n    return x.exp() / x.exp().sum()  # Ada Lovelace")
    first, second = find_weak_messages(effects, 10, all_exercises(), [graded])
    assert first.effect.message.misconception == "clamped" and "clamp" in first.answer
    assert first.origin == "the misconception's own code" and first.text.startswith("You clamp")
    assert second.origin == "the shortest graded answer of the class"
    assert "x.exp().sum()" in second.answer and HIDDEN in second.answer and "Lovelace" not in second.answer


def find_graded(source):
    from utils.grading.reports.tally import Column, Tally

    result = ExerciseResult("softmax", "failed", 0.0, 1.0, "misconception", "over-everything", "All.", answer=source)
    tally = Tally([], [Column("02_simplified_attention", "softmax", 1.0)])
    student = Student("s1", "Ada Lovelace")
    tally.add_student(
        student, {"02_simplified_attention": LessonResult("s1", "02_simplified_attention", "k", (result,))}, {}
    )
    return tally.mistakes.values()


def test_the_code_of_a_misconception_with_replaced_steps_is_these_steps():
    wrong = {m.id: m for m in all_exercises()["causal_attn_weights"].misconceptions}
    source = misconception_source(wrong["divided-by-d_k"])
    assert "1 / d_head" in source and not source.endswith(",")
    missing = [
        (exercise.name, m.id)
        for exercise in all_exercises().values()
        for m in exercise.misconceptions
        if not misconception_source(m)
    ]
    assert missing == [("gelu", "exact")]  # a function of torch


def test_the_list_of_the_worst_messages(collected):
    answer = "def softmax(x):\n    return x.exp() / x.exp().sum()  # by Ada"
    write_files(collected, [record(attempt("over-everything", minutes=n / 10)) for n in range(12)])
    result = ExerciseResult("softmax", "failed", 0.0, 1.0, "misconception", "over-everything", "All.", answer=answer)
    write_result(collected / "results", LessonResult("s1", "02_simplified_attention", "k", (result,)))
    done = run_report(collected, "--learning", "--worst", "10")
    assert done.exit_code == 0
    assert done.output.partition("\n\n")[2] == (
        "1. softmax, lesson 02: over everything\n"
        "   0 % (0–24) of about 10 readers pass within two further attempts.\n"
        "   Message: All entries of your tensor together sum to one. The result should sum to one along dim.\n"
        "   Answer (the shortest graded answer of the class):\n"
        "       def softmax(x):\n"
        f"           return x.exp() / x.exp().sum()  # by {HIDDEN}\n"
    )


def test_the_example_class_is_collected_work(tmp_path):
    write_class(tmp_path / "class", 6, 1)
    done = run_report(tmp_path / "class", "--learning", "--worst", "1")
    assert done.exit_code == 0 and "from the records of 6 learners" in words(done)
    with pytest.raises(FileExistsError):
        write_class(tmp_path / "class", 6, 1)
