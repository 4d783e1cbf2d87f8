"""`learning.json`: what a learner shares, that nothing is written before, and a parser that trusts no file."""

import hashlib
import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from utils import lessons, progress
from utils.feedback.check import check
from utils.feedback.report import REASONS
from utils.learner_data.attempt_log import append_attempt, log_path
from utils.learner_data.progress import record_answer
from utils.learning.attempts import read_attempts
from utils.learning.sharing import MAX_BYTES, SharedFileError, build_shared, format_shared, parse_shared

INVENTORY = {"form": "a", "sitting": 1, "item": "A1", "choice": "softmax/over-everything", "minutes": 0.4}
QUESTION = "What is the sum of the second row of x?"  # of lesson 00


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The progress file of a learner whose notebooks are in the current folder."""
    path = tmp_path / "course" / ".progress.json"
    path.parent.mkdir()
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    monkeypatch.chdir(path.parent)
    return path


def row_sums(x):
    secret_name = x.sum(dim=0)
    return secret_name


@pytest.fixture
def learner(store):
    """A learner with an attempt, an answered prediction and a sitting of the inventory."""
    check(row_sums)
    start = {"question": QUESTION, "kind": "number", "answer": 3}
    record_answer("predictions", start, right=False, sure="certain")
    sitting = {"seed": 1, "done": True, "when": "2026-01-01T00:00:00+00:00", "items": [INVENTORY]}
    unfinished, damaged = {**sitting, "done": False}, {**sitting, "items": [{**INVENTORY, "form": "c"}]}
    content = json.loads(store.read_bytes()) | {"inventory": {"1": sitting, "2": unfinished, "3": damaged}}
    store.write_text(json.dumps(content), encoding="utf-8")
    return store


ATTEMPT = {
    "lesson": "00_start_here",
    "exercise": "row_sums",
    "member": "",
    "status": "failed",
    "reason": "misconception",
    "misconception": "sums-columns",
    "milestone": "",
    "attempt": 1,
    "minutes": None,
}


# --- what is shared -----------------------------------------------------------------------------------


def test_the_file_contains_the_attempts_the_questions_and_the_inventory(learner):
    content = json.loads(format_shared(build_shared()))
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", content.pop("course"))
    assert content == {
        "format": 1,
        "attempts": [ATTEMPT],
        "questions": [
            {
                "kind": "predictions",
                "lesson": "00_start_here",
                "question": hashlib.sha256(QUESTION.encode()).hexdigest()[:8],
                "right": False,
                "sure": "certain",
            }
        ],
        "inventory": [INVENTORY],
    }


def test_the_file_contains_no_code_no_question_no_date_and_no_path(learner):
    text = format_shared(build_shared())
    assert not re.search(r"secret_name|second row|def |\d{4}-\d\d|\d:\d\d|tmp|id\"", text)


def test_a_level_of_confidence_that_the_course_does_not_have_is_not_shared(store):
    record_answer("quizzes", {"question": "Which?"}, right=True, sure="my name is Ada")
    record_answer("an older kind", {"question": "Who?"}, right=True, sure="")
    assert [(q.kind, q.sure) for q in build_shared().questions] == [("quizzes", "")]


@pytest.mark.parametrize(
    "edit", [{"attempt": "2"}, {"reason": "great"}, {"lesson": 7}, {"lesson": "no such lesson"}, {"minutes": -1}]
)
def test_an_edited_line_of_the_log_is_left_out(store, edit):
    check(row_sums)
    entry = {**ATTEMPT, "lesson": "start_here"}
    append_attempt(store, {**entry, **edit})
    append_attempt(store, {**entry, "attempt": 2})
    assert [attempt.attempt for attempt in read_attempts()] == [1, 2]


# --- nothing is written before the learner asks -------------------------------------------------------


def test_share_shows_the_exact_content_and_writes_only_on_request(learner):
    path, before = learner.parent / "learning.json", sorted(learner.parent.iterdir())
    shown = progress().share()
    assert sorted(learner.parent.iterdir()) == before
    assert shown.text in repr(shown) and "Nothing has been written" in repr(shown)
    assert "1 attempt at 1 exercise, 1 first answer to predictions and quizzes, and 1 answer to the" in repr(shown)
    written = progress().share(write=True)
    assert path.read_text(encoding="utf-8") == written.text == shown.text
    assert written.text in repr(written) and "learning.json is written" in repr(written)
    assert parse_shared(path.read_bytes()) == build_shared()
    assert sorted(learner.parent.iterdir()) == sorted([*before, path])


def test_a_notebook_shows_the_same_words(learner):
    shown = progress().share()
    page = re.sub(r"<.*?>", "", shown._repr_html_()).replace("&quot;", '"')
    assert all(part.replace("`", "") in page for part in (shown.summary, shown.text, shown.outcome))


@pytest.mark.parametrize("setting", ["off", "empty.json"])
def test_without_records_there_is_nothing_to_share(store, monkeypatch, setting):
    monkeypatch.setenv("COURSE_PROGRESS", setting)
    shown = progress().share(write=True)
    assert repr(shown).startswith("Nothing is recorded on this machine") and ("off" in repr(shown)) == (
        setting == "off"
    )
    assert list(store.parent.iterdir()) == []


def test_a_file_that_cannot_be_written_is_one_sentence(learner, tmp_path, capsys):
    for path, why in ((tmp_path / "none" / "a.json", "No such file or directory"), ("", "Is a directory")):
        sentence = f"{path or '.'} cannot be written: {why}."
        assert sentence in repr(progress().share(write=True, path=path))
        progress().save(path=path)
        assert sentence in capsys.readouterr().out


# --- the parser ---------------------------------------------------------------------------------------

names = st.text("azAZ09_", min_size=1, max_size=20)
ids = st.text("az09-", min_size=1, max_size=20)
failures = st.sampled_from([reason for reason in REASONS if reason not in ("passed", "todo", "misconception")])
attempts = st.fixed_dictionaries({
    "lesson": st.sampled_from([path.stem for path in lessons.all_lessons()]),
    "exercise": names,
    "member": ids | st.just(""),
    "milestone": st.sampled_from(["", "the scores", "Q Kᵀ / √d"]),
    "attempt": st.integers(1, 500),
    "minutes": st.none() | st.integers(0, 60) | st.floats(0, 60),
}).flatmap(
    lambda common: st.one_of(
        st.just({**common, "status": "passed", "reason": "passed", "misconception": ""}),
        ids.map(lambda id: {**common, "status": "failed", "reason": "misconception", "misconception": id}),
        failures.map(lambda reason: {**common, "status": "failed", "reason": reason, "misconception": ""}),
    )
)  # fmt: skip
questions = st.fixed_dictionaries({
    "kind": st.sampled_from(["predictions", "quizzes"]),
    "lesson": st.sampled_from(["", "02_simplified_attention"]),
    "question": st.text("0123456789abcdef", min_size=8, max_size=8),
    "right": st.booleans(),
    "sure": st.sampled_from(["certain", "fairly sure", "guessing", ""]),
})  # fmt: skip
items = st.fixed_dictionaries({
    "form": st.sampled_from("ab"),
    "sitting": st.integers(1, 3),
    "item": st.sampled_from(["A1", "A12", "B3"]),
    "choice": st.sampled_from(["", "correct", "softmax/wrong-axis"]),
    "minutes": st.floats(0, 100),
})  # fmt: skip
files = st.fixed_dictionaries({
    "format": st.just(1),
    "course": st.sampled_from(["0.3.0", "1.0.0rc1", ""]),
    "attempts": st.lists(attempts, max_size=5),
    "questions": st.lists(questions, max_size=3, unique_by=lambda q: (q["kind"], q["question"])),
    "inventory": st.lists(items, max_size=3, unique_by=lambda i: (i["form"], i["sitting"], i["item"])),
})  # fmt: skip

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=5), children, max_size=4),
    max_leaves=20,
)


def to_bytes(content):
    return json.dumps(content).encode()


@given(content=files)
def test_a_valid_file_is_read_as_it_is(content):
    shared = parse_shared(to_bytes(content))
    assert msgspec.to_builtins(shared, builtin_types=()) == json.loads(
        json.dumps(content), object_hook=lambda d: {k: tuple(v) if isinstance(v, list) else v for k, v in d.items()}
    )
    assert parse_shared(format_shared(shared).encode()) == shared


@given(content=files, extra=st.dictionaries(st.text("xyz", min_size=1), st.integers() | st.text(), max_size=3))
def test_unknown_keys_are_ignored(content, extra):
    expected = parse_shared(to_bytes(content))
    larger = {**extra, **content, "attempts": [{**extra, **attempt} for attempt in content["attempts"]]}
    assert parse_shared(to_bytes(larger)) == expected


def error_message(content):
    """Return the message with which the parser refuses a file; None if it accepts the file."""
    try:
        parse_shared(content)
    except SharedFileError as error:
        message = str(error)
        assert message.isprintable() and message.endswith(".") and 20 < len(message) < 300, message
        return message
    return None


@given(content=st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
@example(b"\xef\xbb\xbf{}")
@example(b'{"format": 1, "\\ud800": "\\ud800"}')
def test_any_other_file_is_refused_with_a_sentence(content):
    assert error_message(content) is not None


@given(data=st.data(), content=files, value=json_values)
def test_a_wrong_value_is_refused_and_its_field_is_named(data, content, value):
    """Replace one field of a valid file by anything. The parser accepts the file only if the value is possible."""
    table = data.draw(st.sampled_from(["attempts", "questions", "inventory"]))
    content[table] = content[table] or [
        data.draw({"attempts": attempts, "questions": questions, "inventory": items}[table])
    ]
    entry = content[table][-1]
    name = data.draw(st.sampled_from(sorted(entry)))
    accepted_types = {type(entry[name]), *((int, float, type(None)) if name == "minutes" else ())}
    entry[name] = value
    message = error_message(to_bytes(content))
    if message is not None:
        whole_file = "is not a number" in message or "nested more than" in message  # found before the fields are read
        assert whole_file or f"`{name}`" in message or f".{name}" in message or table in message, message
    else:
        assert type(value) in accepted_types


@given(content=files, missing=st.data())
def test_a_missing_field_is_named(content, missing):
    name = missing.draw(st.sampled_from(sorted(content)))
    del content[name]
    assert f"`{name}`" in error_message(to_bytes(content))


VALID = {"format": 1, "course": "0.3.0", "attempts": [ATTEMPT], "questions": [], "inventory": [INVENTORY]}


def with_attempt(**fields):
    return to_bytes({**VALID, "attempts": [{**ATTEMPT, **fields}]})


HOSTILE = {
    "an empty file": b"",
    "a list": b"[]",
    "UTF-16": '{"format": 1}'.encode("utf-16"),
    "another format": to_bytes({**VALID, "format": 2}),
    "2 MB and one byte": b" " * (MAX_BYTES + 1),
    "a million entries": b"[" + b"0," * 1_000_000 + b"0]",
    "many attempts": to_bytes({**VALID, "attempts": [0] * 20_001}),
    "deep nesting": b'{"attempts":' + b"[" * 100_000,
    "deep nesting under an unknown key": to_bytes({**VALID, "x": [[[[[[[[[]]]]]]]]]}),
    "a key twice": b'{"format": 1, "form\\u0061t": 1}',
    "a hostile key twice": b'{"\\u202e\\ud800": 1, "\\u202e\\ud800": 1}',
    "nan": to_bytes({**VALID, "x": float("nan")}),
    "an infinite number": with_attempt(minutes="infinite").replace(b'"infinite"', b"1e999"),
    "a number of 10,000 digits": with_attempt(attempt=7).replace(b"7", b"7" * 10_000),
    "a number of 20 digits": with_attempt(attempt=10**20),
    "a fraction of an attempt": with_attempt(attempt=1.5),
    "attempt 0": with_attempt(attempt=0),
    "a bool for a number": with_attempt(attempt=True),
    "more minutes than a pause": with_attempt(minutes=60.5),
    "a surrogate": with_attempt(milestone="the \ud800 scores"),
    "a mark of direction": with_attempt(milestone="the \u202e scores"),
    "a long text": with_attempt(milestone="x" * 1_000),
    "a line break after a name": with_attempt(exercise="softmax\n"),
    "a path": with_attempt(lesson="../../etc/passwd"),
    "markup": with_attempt(exercise="<script>"),
    "a long value of a fixed list": with_attempt(status="\u202e" * 100_000),
    "a reason of another status": with_attempt(status="passed"),
    "a misconception without its reason": with_attempt(reason="shape"),
    "a reason without its misconception": with_attempt(misconception=""),
    "an unknown sitting": to_bytes({**VALID, "inventory": [{**INVENTORY, "sitting": 4}]}),
    "an item twice in a sitting": to_bytes({**VALID, "inventory": [INVENTORY, INVENTORY]}),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_file_is_refused_with_a_sentence(content, snapshot):
    assert error_message(to_bytes(VALID)) is None
    assert error_message(content) == snapshot


def test_the_file_of_a_full_log_is_not_too_large(store, monkeypatch):
    """The log's limit leaves room for the questions and the inventory."""
    from utils.learner_data import attempt_log

    longest = max((len(path.stem), path.stem) for path in lessons.all_lessons())[1]
    entry = {**ATTEMPT, "lesson": longest[3:], "reason": "difference", "misconception": "", "milestone": "x" * 60}
    line = json.dumps({"id": "0" * 16, **entry}, separators=(",", ":")) + "\n"
    lines = attempt_log.MAX_BYTES // len(line)
    log_path(store).write_text(line * lines, encoding="utf-8")
    assert len(read_attempts()) == lines
    assert len(progress().share(write=True).text) < 1.5 * attempt_log.MAX_BYTES < MAX_BYTES
    assert len(parse_shared(Path("learning.json").read_bytes()).attempts) == lines
