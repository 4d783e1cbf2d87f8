"""Test the student pairs: their content, that they contain no answers, and that a build keeps a learner's work."""

import json
import os
import re
import signal
import subprocess
import sys
import threading

import jupytext
import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.fresh_python import run_python
from tests.instructor.test_strip import cells
from tests.lesson_files import HEADER, write_lesson
from utils import lessons
from utils.cli.commands import app
from utils.instructor import build as builder
from utils.instructor.build import MANIFEST, BuildError, build, find_drift, watch
from utils.instructor.leaks import find_leaks
from utils.instructor.strip import strip_answers
from utils.lessons.markers import MarkerError
from utils.lessons.stubs import TODO

BODY = '''\
# Masks

<COGNOTE>
Ask them first.
</COGNOTE>

```python
import math

SIZE = 4
```

```python tags=["nbval-check-output", "keep"]
def get_mask(size):
    """A row for each position."""
    # <COGINST>
    diagonal_rows = [[column <= row for column in range(size)] for row in range(size)]
    return diagonal_rows
    # </COGINST>


print("defined")
```

```python tags=["nbval-check-output"]
rows = get_mask(SIZE)
print(rows)
```

```python
# <COGINST>
total = sum(map(sum, get_mask(SIZE)))
# </COGINST>
print("next")
```

Why?

<COGINST>
Because a position cannot see the future.
</COGINST>

```python
assert get_mask(2) == [[True, False], [True, True]]
assert total == 10
```
'''


@pytest.fixture
def folders(tmp_path):
    source, out = tmp_path / "solutions", tmp_path / "course"
    source.mkdir()
    write_lesson(source, "04_masks", BODY)
    return source, out


def file_states(folder):
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def without_place(line, folder):
    """Return a message with `file:line:` at its start and the path of the folder removed."""
    return re.sub(r"^\S+:\d+: ", "", line).replace(f"{folder}{os.sep}", "")


def contents(folder):
    return {name: content for name, (content, _) in file_states(folder).items()}


# --- what a pair holds --------------------------------------------------------------------------------


def test_both_halves_agree_as_jupytext_reads_them(folders):
    source, out = folders
    write_lesson(
        source,
        "05_more",
        'One.\n\n\nTwo.\n\n```bash magic_args="-s a"\nls\n```\n\n<!-- #region tags=["hide"]'
        " -->\n```python\nx\n```\n<!-- #endregion -->\n",
    )
    build(source, out)
    pairs = [(out, path.stem) for path in source.glob("*.md")] + [
        (lessons.ROOT / "course", path.stem) for path in lessons.all_lessons()
    ]
    for folder, stem in pairs:
        markdown, notebook = jupytext.read(folder / f"{stem}.md"), nbformat.read(folder / f"{stem}.ipynb", 4)
        assert [
            (c.cell_type, c.source, {k: v for k, v in c.metadata.items() if k != "lines_to_next_cell"})
            for c in markdown.cells
        ] == [(c.cell_type, c.source, c.metadata) for c in notebook.cells]
        nbformat.validate(notebook)
        assert markdown.metadata["jupytext"]["formats"] == notebook.metadata["jupytext"]["formats"] == "ipynb,md"
        assert markdown.metadata["kernelspec"] == notebook.metadata["kernelspec"]
        assert notebook.metadata["kernelspec"]["name"] == "python3"


def test_a_save_in_jupyterlab_leaves_the_markdown_as_the_build_made_it(folders):
    source, out = folders
    build(source, out)
    notebook = jupytext.read(out / "04_masks.ipynb")
    saved = jupytext.writes(notebook, fmt="md")
    made = (out / "04_masks.md").read_text(encoding="utf-8")
    assert re.sub(r" *jupytext_version: .*\n", "", saved) == made


def test_the_students_cells(folders):
    source, out = folders
    build(source, out)
    notebook = json.loads((out / "04_masks.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["metadata"] for cell in code] == [
        {}, {"tags": ["keep"]}, {"tags": ["raises-exception"]}, {}, {"tags": ["raises-exception"]},
    ]  # fmt: skip
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    text = (out / "04_masks.md").read_text(encoding="utf-8")
    for gone in ("COG", "Ask them first", "diagonal", "Because", "nbval", "solutions", str(source)):
        assert gone not in text and gone not in json.dumps(notebook)
    assert (
        'raise NotImplementedError("get_mask")' in text
        and f"total = ...  {TODO}" in text
        and "*YOUR ANSWER HERE*" in text
    )


def test_ids_come_from_lesson_and_position(folders):
    source, out = folders
    write_lesson(source, "05_twin", BODY)
    build(source, out)
    ids = {
        stem: [cell["id"] for cell in json.loads((out / f"{stem}.ipynb").read_text(encoding="utf-8"))["cells"]]
        for stem in ("04_masks", "05_twin")
    }
    (source / "04_masks.md").write_text(
        (source / "04_masks.md").read_text(encoding="utf-8").replace("# Masks", "# All masks"), encoding="utf-8"
    )
    build(source, out)
    again = [cell["id"] for cell in json.loads((out / "04_masks.ipynb").read_text(encoding="utf-8"))["cells"]]
    assert again == ids["04_masks"]
    assert len(set(ids["04_masks"] + ids["05_twin"])) == 2 * len(again)


def test_a_students_header_points_nowhere(folders):
    source, out = folders
    front = (
        "title: Masks\njupyter:\n  jupytext:\n    formats: solutions//md,course//ipynb\n    notebook_metadata_filter:"
        " all\n"
    )
    (source / "04_masks.md").write_text((HEADER + BODY).replace("jupyter:\n", front, 1), encoding="utf-8")
    build(source, out)
    text = (out / "04_masks.md").read_text(encoding="utf-8")
    assert text.startswith("---\ntitle: Masks\njupyter:\n  jupytext:\n    formats: ipynb,md\n")
    assert "solutions" not in text and "filter" not in text
    assert (
        jupytext.reads(text, fmt="md").cells[0].source
        == nbformat.read(out / "04_masks.ipynb", 4).cells[0].source
        == "---\ntitle: Masks\n---"
    )


def test_the_course_is_what_the_lessons_make():
    assert find_drift() == []


# --- splice the answers back ----------------------------------------------------------------------------


def splice(student_text, source_text):
    """Return the student's code cells, with each unfinished cell replaced by the source's cell with answers."""
    student, source = (lessons.parse_lesson(text, "04_x.md").cells for text in (student_text, source_text))
    answers = {}
    for cell in source:
        if "COG" in cell.source and cell.kind == "code":
            answers[strip_answers(f"{HEADER}```python\n{cell.source}\n```\n", "04_x.md").cells[0].source] = (
                lessons.solved_source(cell)
            )
    return [answers.get(cell.source, cell.source) for cell in student if cell.kind == "code"]


def test_spliced_back_the_answers_make_a_lesson_that_passes(folders):
    source, out = folders
    build(source, out)
    student, solved = (
        (out / "04_masks.md").read_text(encoding="utf-8"),
        (source / "04_masks.md").read_text(encoding="utf-8"),
    )
    assert TODO in student
    names = {}
    for cell in splice(student, solved):
        exec(cell, names)
    assert names["total"] == 10
    with pytest.raises(NotImplementedError, match="^get_mask$"):
        exec(
            "\n".join(cell.source for cell in lessons.parse_lesson(student, "04_x.md").cells if cell.kind == "code"), {}
        )


@pytest.mark.parametrize("path", lessons.all_lessons(), ids=lambda path: path.stem)
def test_spliced_back_every_lesson_is_its_source_again(path):
    source = path.read_text(encoding="utf-8")
    cells = [lessons.solved_source(cell) for cell in lessons.read_lesson(path).cells if cell.kind == "code"]
    assert splice((lessons.ROOT / "course" / path.name).read_text(encoding="utf-8"), source) == cells


# --- the tags of an untouched lesson --------------------------------------------------------------------

SETUP = "def stub(n):\n    # <COGINST>\n    return n\n    # </COGINST>"
KLASS = (
    "class Net:\n    def forward(self, x):\n        # <COGINST>\n        return x\n        # </COGINST>\nclass Fine:"
    " pass"
)
VALUE = "# <COGINST>\nvalue = [1, 2]\n# </COGINST>"


@pytest.mark.parametrize(
    "sources, tagged",
    [
        ([SETUP, "stub(3)"], "01"),
        ([SETUP, "check(stub)", "hint(stub)", "utils.check(stub)", "report = check(stub)"], "00000"),
        ([SETUP, "show.mask(stub(4), ['a'])"], "01"),
        ([SETUP, "check(stub(4))"], "01"),
        ([SETUP, "assert check(stub)"], "01"),
        ([SETUP + "\nprint(stub(1))"], "1"),
        ([SETUP, "def g(): return stub(1)", "def h(): return g()", "check(h)", "h()"], "00001"),
        ([SETUP, "f = lambda: stub(1)", "f()", "list(map(lambda n: stub(n), [1]))"], "0011"),
        ([SETUP, "def g(stub): return stub", "g(1)"], "000"),
        ([SETUP, "a = stub(1)", "a + 1", "a = 3", "a + 1"], "01100"),
        ([SETUP, "def stub(n): return n", "stub(1)"], "000"),
        ([SETUP, "g = stub", "pair = (stub, 1)", "g(1)", "pair[0](1)"], "00011"),
        ([SETUP, "x = 1\na = stub(x)\ny = 2", "x", "print(y)"], "0101"),
        ([SETUP, "for i in range(3):\n    stub(i)", "if False:\n    stub(1)"], "011"),
        ([SETUP, "@stub\ndef g(): pass", "def h(n=stub(1)): pass"], "011"),
        ([SETUP, "class A:\n    def f(self): return stub(1)", "A().f()", "class B(A): pass", "B()"], "00101"),
        (
            [SETUP, "def g(): return late()", "def late():\n    # <COGINST>\n    return 1\n    # </COGINST>", "g()"],
            "0001",
        ),
        ([SETUP, "f'{stub(1)}'", "[stub(i) for i in range(2)]", "obj.stub", "call(stub=1)"], "01100"),
        ([KLASS, "net = Net(3, 2)", "net(1)", "Fine()", "check(Net)"], "01100"),
        ([KLASS, "class Sub(Net): pass", "Sub()"], "001"),
        (["# <COGINST>\nclass Net: pass\n# </COGINST>", "class Sub(Net): pass"], "01"),
        ([VALUE, "value", "check(value=value)", "print(value)", "value += 1", "value = []", "print(value)"], "0001100"),
        (["a = 1  # <COGLINE>", "print(a)"], "01"),
        (["a = 0\na = 5  # <COGLINE>\nprint(a)"], "1"),
        (["a = f()  # <COGSTUB> call f", "print(a)", "check(a=a)"], "010"),
        (["# <COGNOTE>\nkey = 1\n# </COGNOTE>\nx = 1", "print(key)", "print(x)"], "010"),
        (
            [
                "Net = yours('Net')",
                "net = Net(3)",
                "class Sub(Net): pass",
                "def f(): return utils.yours('g')",
                "print(1)",
            ],
            "11100",
        ),
        ([SETUP, "%time stub(1)", "%%time\nstub(1)", "%%bash\nstub"], "0010"),
    ],
)
def test_tags(tmp_path, sources, tagged):
    (tmp_path / "solutions").mkdir()
    write_lesson(tmp_path / "solutions", "04_x", "\n\n".join(f"```python\n{source}\n```" for source in sources) + "\n")
    build(tmp_path / "solutions", tmp_path / "course")
    cells = json.loads((tmp_path / "course" / "04_x.ipynb").read_text(encoding="utf-8"))["cells"]
    assert "".join(str(int("raises-exception" in cell["metadata"].get("tags", []))) for cell in cells) == tagged


# --- no leak --------------------------------------------------------------------------------------------

ANSWER = "diagonal_rows = [[column <= row for column in range(size)] for row in range(size)]"


@pytest.mark.parametrize(
    "extra",
    [
        f"So it is `{ANSWER}`.",
        f"~~~python\n{ANSWER}\n~~~",
        f"![{ANSWER}](picture.png)",
        "The variable `diagonal_rows` helps.",
        "Because a position cannot see the future.",
        "Some say: Because a position cannot see\nthe future.",
        '```python title="diagonal_rows"\nx = 1\n```',
        '<!-- #region alt="diagonal_rows" -->\nText\n<!-- #endregion -->',
        "```python\nx = 1  # <COGSTUB> use diagonal_rows\n```",
    ],
)
def test_an_answer_that_survives_stops_the_build_with_its_place(folders, extra, snapshot):
    source, out = folders
    path = write_lesson(source, "04_masks", f"{BODY}\n{extra}\n")
    with pytest.raises(MarkerError) as error:
        build(source, out)
    first = (
        path.read_text(encoding="utf-8").count("\n", 0, path.read_text(encoding="utf-8").rindex(extra.split("\n")[0]))
        + 1
    )
    places = (
        [int(re.match(rf"{re.escape(str(path))}:(\d+): ", line).group(1)) for line in str(error.value).split("\n")]
        if "Some say" not in extra
        else [first]
    )
    assert [without_place(line, source) for line in str(error.value).split("\n")] == snapshot
    assert all(first <= place <= first + 2 for place in places)
    assert not out.exists()


def test_an_answer_in_an_earlier_lesson_is_a_leak_and_in_a_later_one_is_not(folders, snapshot):
    source, out = folders
    write_lesson(source, "05_later", f"```python\n{ANSWER.replace('diagonal_', '')}\n```\n")
    write_lesson(source, "04_masks", BODY.replace("diagonal_", ""))
    build(source, out)
    (source / "05_later.md").rename(source / "03_earlier.md")
    with pytest.raises(MarkerError) as error:
        build(source, out)
    assert str(error.value).replace(f"{source}{os.sep}", "") == snapshot


@pytest.mark.parametrize(
    "place",
    [
        lambda nb: nb["cells"][1].update(
            outputs=[{"output_type": "stream", "name": "stdout", "text": ["x\n", ANSWER]}]
        ),
        lambda nb: nb["cells"][1]["metadata"].update(alt=ANSWER),
        lambda nb: nb["cells"][0].update(attachments={"diagonal_rows.png": {"image/png": "AA=="}}),
        lambda nb: nb["metadata"].update(author={"note": "diagonal_rows"}),
    ],
)
def test_a_leak_in_outputs_metadata_or_attachments_is_found(folders, place):
    path = folders[0] / "04_masks.md"
    sources = [(lessons.read_lesson(path), strip_answers(path.read_text(encoding="utf-8"), path))]
    made = builder.student_files(folders[0])
    text, notebook = made["04_masks.md"].decode(), json.loads(made["04_masks.ipynb"])
    assert find_leaks(sources, {"04_masks.md": text, "04_masks.ipynb": notebook}) == []
    place(notebook)
    leaks = find_leaks(sources, {"04_masks.md": text, "04_masks.ipynb": notebook})
    assert leaks and all("diagonal_rows" in leak for leak in leaks)


def test_what_an_answer_returns_is_a_leak_without_the_word_return(folders):
    source, out = folders
    lesson = (
        "Write `weights.argmax(dim=-1)`, that is it.\n\n```python\ndef f(weights):\n    # <COGINST>\n    return"
        " weights.argmax(dim=-1)\n    # </COGINST>\n```\n"
    )
    write_lesson(source, "04_masks", lesson)
    with pytest.raises(MarkerError, match=r"the answer 'weights.argmax\(dim=-1\)' "):
        build(source, out)
    # The author shows the value in visible code, so it is no leak.
    write_lesson(source, "04_masks", lesson + "\n```python\nprint(f(x), x == weights.argmax(dim=-1))\n```\n")
    build(source, out)
    # A short value may be a coincidence, but the whole line with `return` may not.
    short = lesson.replace("weights.argmax(dim=-1)", "weights.max(-1)")
    write_lesson(source, "04_masks", short)
    build(source, out)
    write_lesson(source, "04_masks", short.replace("Write `", "Write `return "))
    with pytest.raises(MarkerError, match=r"the answer 'return weights.max\(-1\)' "):
        build(source, out)


@pytest.mark.parametrize(
    "answer, prose",
    [
        (
            "weights = softmax(scores)\n    return weights",
            "The weights come from `softmax`; each row of weights sums to one.",
        ),
        ("return size", "return size"),
        ("d_head = size // 2", "Each head has `d_head` numbers."),
        ("pass", "pass on"),
        ("out = []\n    return out", "`out` is a list"),
        ("x = math.sin(1)", "Use math and sin(1)."),
    ],
)
def test_common_words_are_no_leak(folders, answer, prose):
    source, out = folders
    write_lesson(
        source,
        "04_masks",
        f"{prose}\n\n```python\ndef f(size):\n    # <COGINST>\n    {answer}\n    # </COGINST>\n```\n",
    )
    build(source, out)


@settings(max_examples=settings.default.max_examples // 5)
@given(sources=st.lists(cells(), min_size=1, max_size=3))
def test_any_lesson_builds_twice_to_the_same_or_not_at_all(tmp_path_factory, sources):
    folder = tmp_path_factory.mktemp("any")
    (folder / "solutions").mkdir()
    write_lesson(folder / "solutions", "04_x", "\n\n".join(f"```python\n{source}\n```" for source in sources) + "\n")
    try:
        build(folder / "solutions", folder / "course")
    except MarkerError as error:
        faults = str(error).split("\n")
    else:
        faults = []
    if faults:
        assert all(re.match(r".*04_x\.md:\d+: \S", line) for line in faults)
        assert not (folder / "course").exists()
        return
    before = file_states(folder / "course")
    assert build(folder / "solutions", folder / "course").written == []
    assert file_states(folder / "course") == before


# --- all files or none ----------------------------------------------------------------------------------


def test_building_twice_changes_nothing(folders):
    source, out = folders
    assert build(source, out).written == ["04_masks.ipynb", "04_masks.md"]
    before = file_states(out)
    assert (build(source, out).written, file_states(out)) == ([], before)
    assert sorted(before) == [MANIFEST, "04_masks.ipynb", "04_masks.md"]
    manifest = before[MANIFEST][0].decode()
    assert manifest.endswith("}\n") and list(json.loads(manifest)["files"]) == ["04_masks.ipynb", "04_masks.md"]


def test_one_bad_lesson_stops_all_and_all_faults_are_told(folders):
    source, out = folders
    build(source, out)
    before = file_states(out)
    write_lesson(source, "04_masks", BODY.replace("# Masks", "# New"))
    write_lesson(source, "05_bad", "```python\n# <COGINST>\n```\n")
    (source / "06_readme.md").write_text("# no lesson\n", encoding="utf-8")
    (source / "07_latin.md").write_bytes(HEADER.encode() + "\né\n".encode("latin-1"))
    with pytest.raises(MarkerError) as error:
        build(source, out)
    assert re.findall(r"^\S*/(0\w+\.md:\d+): ", str(error.value), re.MULTILINE) == [
        "05_bad.md:10",
        "06_readme.md:1",
        "07_latin.md:10",
    ]
    assert file_states(out) == before


KILLED = """
import os, signal, sys
from utils.instructor import build
calls = 0
def dying(function):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call
for name in ("replace", "rename", "fsync", "utime"):
    setattr(os, name, dying(getattr(os, name)))
build.shutil.rmtree = dying(build.shutil.rmtree)
build.build(sys.argv[1], sys.argv[2])
"""


def test_killed_anywhere_a_build_leaves_whole_files_and_the_next_one_finishes(folders):
    source, out = folders
    write_lesson(source, "05_twin", BODY)
    build(source, out)
    old = contents(out)
    new_body = BODY.replace("# Masks", "# New")
    write_lesson(source, "05_twin", new_body)
    write_lesson(source, "06_third", new_body)
    (source / "04_masks.md").unlink()
    fresh = out.parent / "fresh"
    build(source, fresh)
    new = contents(fresh)
    states, step = set(), 0
    while True:
        step += 1
        for path in out.iterdir():
            path.unlink()
        for name, content in old.items():
            (out / name).write_bytes(content)
        run = subprocess.run([sys.executable, "-c", KILLED, str(source), str(out), str(step)], cwd=lessons.ROOT)
        for name, content in contents(out).items():
            if "/" not in name:
                assert content in (old.get(name), new.get(name)), f"step {step}: {name} is half-written"
        states.add(run.returncode)
        builder._apply_stage(out)
        assert contents(out) in (old, new), f"step {step}: a build wrote some files and not others"
        build(source, out)
        assert contents(out) == new, f"step {step}"
        if run.returncode == 0:
            break
    assert states == {-signal.SIGKILL, 0} and step > 8


def test_after_a_kill_a_learners_edit_is_still_theirs(folders):
    source, out = folders
    build(source, out)
    write_lesson(source, "04_masks", BODY.replace("# Masks", "# New"))
    builder._stage_files(out, builder._Plan(builder.student_files(source), out))
    (out / "04_masks.md").write_text("mine", encoding="utf-8")
    assert build(source, out).kept
    assert (out / "04_masks.md").read_text(encoding="utf-8") == "mine"


def test_builds_of_one_folder_take_turns(folders, monkeypatch, snapshot):
    """A second build waits for the first, so a folder never mixes two builds. If the first hangs, the second fails."""
    source, out = folders
    later, fsync = [], os.fsync

    def meanwhile(number):
        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(builder, "LOCK_PATIENCE", 0)
        with pytest.raises(BuildError) as error:
            build(source, out)
        assert str(error.value).replace(str(out), "OUT") == snapshot
        monkeypatch.setattr(builder, "LOCK_PATIENCE", 600)
        second.start()
        fsync(number)

    monkeypatch.setattr(os, "fsync", meanwhile)
    second = threading.Thread(target=lambda: later.append(build(source, out)))
    assert build(source, out).written == ["04_masks.ipynb", "04_masks.md"]
    second.join()
    assert later == [builder.BuildSummary()] and find_drift(source, out) == []


def test_a_lesson_that_is_being_written_is_built_or_refused_and_what_was_there_stays(folders):
    """An editor may empty the file and fill it again, and a build may read it at any moment in between."""
    source, out = folders
    lesson = source / "04_masks.md"
    whole = lesson.read_bytes()
    build(source, out)
    made = contents(out)
    refused = 0
    for end in (0, 1, *range(3, len(whole), 97)):
        lesson.write_bytes(whole[:end])
        before = contents(out)
        result = CliRunner().invoke(app, ["build", "--source", str(source), "--out", str(out)])
        if result.exit_code:
            refused += 1
            assert result.exit_code == 2 and contents(out) == before
            assert all(line.startswith(f"{lesson}:") for line in result.stderr.splitlines())
    lesson.write_bytes(whole)
    build(source, out)
    assert refused > 3 and contents(out) == made


# --- ownership ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", ["md", "ipynb"])
def test_a_learners_edit_is_kept_with_its_pair_and_named(folders, half, snapshot):
    source, out = folders
    write_lesson(source, "05_twin", BODY)
    build(source, out)
    edited = out / f"04_masks.{half}"
    edited.write_bytes(edited.read_bytes() + b"\n")
    pair = {path: path.read_bytes() for path in out.glob("04*")}
    for body in (BODY, BODY.replace("# Masks", "# New")):
        write_lesson(source, "04_masks", body)
        (message,) = build(source, out).kept
        assert message.startswith(str(edited)) and message.replace(str(out), "OUT") == snapshot
        assert {path: path.read_bytes() for path in out.glob("04*")} == pair
    edited.unlink()
    assert build(source, out).written == ["04_masks.ipynb", "04_masks.md"]
    assert find_drift(source, out) == []


def test_a_file_that_the_build_did_not_make_is_kept(folders):
    source, out = folders
    out.mkdir()
    (out / "04_masks.ipynb").write_text("theirs", encoding="utf-8")
    (out / "notes.md").write_text("theirs", encoding="utf-8")
    assert len(build(source, out).kept) == 1
    assert (
        (out / "04_masks.ipynb").read_text(encoding="utf-8")
        == (out / "notes.md").read_text(encoding="utf-8")
        == "theirs"
    )
    assert not (out / "04_masks.md").exists()


def test_the_pair_of_a_lesson_that_went_goes_unless_it_was_edited(folders):
    source, out = folders
    write_lesson(source, "05_gone", BODY)
    write_lesson(source, "06_left", BODY)
    build(source, out)
    (out / "06_left.md").write_text("mine", encoding="utf-8")
    for stem in ("05_gone", "06_left"):
        (source / f"{stem}.md").unlink()
    built = build(source, out)
    assert built.removed == ["05_gone.ipynb", "05_gone.md"] and "06_left.md" in built.kept[0]
    assert {path.stem for path in out.glob("0*")} == {"04_masks", "06_left"}


@pytest.mark.parametrize("manifest", [None, "", "[]", '{"files": 3}', '{"files": {"../../etc/x": "00"}}'])
def test_without_a_manifest_equal_files_are_taken_over(folders, manifest):
    source, out = folders
    build(source, out)
    before = contents(out)
    (out / MANIFEST).unlink() if manifest is None else (out / MANIFEST).write_text(manifest, encoding="utf-8")
    assert build(source, out).kept == []
    assert contents(out) == before


def test_a_lost_half_comes_back_with_a_pair_of_one_age(folders):
    source, out = folders
    build(source, out)
    os.utime(out / "04_masks.md", (1000, 1000))
    (out / "04_masks.ipynb").unlink()
    build(source, out)
    assert (out / "04_masks.md").stat().st_mtime_ns == (out / "04_masks.ipynb").stat().st_mtime_ns


# --- check, watch, and what cannot be built -----------------------------------------------------------------


def test_check_writes_nothing_and_lists_what_drifts(folders, snapshot):
    source, out = folders
    assert [line.split("/")[-1] for line in find_drift(source, out)] == [
        "04_masks.ipynb: missing",
        "04_masks.md: missing",
    ]
    assert not out.exists()
    write_lesson(source, "05_gone", BODY)
    build(source, out)
    assert find_drift(source, out) == []
    (source / "05_gone.md").unlink()
    write_lesson(source, "04_masks", BODY.replace("# Masks", "# New"))
    before = file_states(out)
    drift = find_drift(source, out)
    assert [line.split(": ")[0].split("/")[-1] for line in drift] == [
        "04_masks.ipynb", "04_masks.md", "05_gone.ipynb", "05_gone.md",
    ]  # fmt: skip
    assert [line.replace(str(out), "OUT").replace(str(source), "SOURCE") for line in drift] == snapshot
    assert file_states(out) == before
    build(source, out)
    (out / MANIFEST).unlink()
    assert [line.split("/")[-1] for line in find_drift(source, out)] == [f"{MANIFEST}: differs"]


def test_watch_builds_again_reports_errors_and_goes_on(folders):
    source, out = folders
    outcomes = []
    steps = [
        lambda: write_lesson(source, "04_masks", BODY.replace("</COGINST>", "</Coginst>")),
        lambda: write_lesson(source, "04_masks", BODY.replace("# Masks", "# A longer title")),
        lambda: (_ for _ in ()).throw(KeyboardInterrupt),
    ]

    def report(outcome):
        outcomes.append(outcome)
        steps.pop(0)()

    watch(source, out, report, interval=0.01)
    assert [type(outcome).__name__ for outcome in outcomes] == ["BuildSummary", "MarkerError", "BuildSummary"]
    assert "# A longer title" in (out / "04_masks.md").read_text(encoding="utf-8")


def bad_folders(folders):
    source, out = folders
    file = source.parent / "file"
    file.write_text("", encoding="utf-8")
    empty = source.parent / "empty"
    empty.mkdir()
    twins = {}
    for name, stems in {"number": ("04_a", "04_b"), "name": ("04_a", "05_a"), "named": ("4_a",)}.items():
        twins[name] = source.parent / name
        twins[name].mkdir()
        for stem in stems:
            write_lesson(twins[name], stem, BODY)
    return [
        (source.parent / "nowhere", out),
        (empty, out),
        (source, source),
        (source, source / "course"),
        (source, source.parent / "x" / ".." / "solutions"),
        (source, file),
        (twins["number"], out),
        (twins["name"], out),
        (twins["named"], out),
    ]


def test_what_cannot_be_built_is_one_red_line_and_exit_code_2(folders, snapshot):
    for source, out in bad_folders(folders):
        with pytest.raises(BuildError) as error:
            build(source, out)
        assert str(error.value).replace(str(folders[0].parent), "FOLDER") == snapshot
        for options in ([], ["--check"]):
            result = CliRunner().invoke(app, ["build", "--source", str(source), "--out", str(out), *options])
            assert result.exit_code == 2 and result.stderr == f"{error.value}\n"
    assert not folders[1].exists()


def test_the_command(folders, snapshot):
    source, out = folders
    places = ["--source", str(source), "--out", str(out)]
    run = CliRunner().invoke
    assert (run(app, ["build", *places, "--check"]).exit_code, out.exists()) == (1, False)
    result = run(app, ["build", *places])
    assert (result.exit_code, result.stdout) == (0, snapshot)
    result = run(app, ["build", *places])
    assert (result.exit_code, result.stdout) == (0, snapshot)
    assert run(app, ["build", *places, "--check"]).exit_code == 0
    (out / "04_masks.md").write_text("mine", encoding="utf-8")
    result = run(app, ["build", *places])
    assert result.exit_code == 0 and result.stderr.startswith(str(out / "04_masks.md"))
    write_lesson(source, "04_masks", "```python\nx = 1  # <COGINST>\n```\n")
    result = run(app, ["build", *places])
    assert result.exit_code == 2 and result.stderr.startswith(f"{source / '04_masks.md'}:10: ")
    result = run(app, ["build", *places, "--check", "--watch"])
    assert result.exit_code == 2 and result.stderr == snapshot


def test_watch_ends_on_ctrl_c_without_a_word(folders):
    source, out = folders
    command = [sys.executable, "-m", "utils.cli", "build", "--watch", "--source", str(source), "--out", str(out)]
    # A background job of a shell ignores Ctrl-C.
    listens = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        command, cwd=lessons.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", preexec_fn=listens
    )
    assert "2 files" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=600)[1] == "" and process.returncode == 0


def test_the_command_starts_light():
    script = (
        "import sys; from utils.cli.commands import app\ntry: app(['build', '--check'])\nexcept SystemExit:"
        " pass\nprint([m for m in ('jupytext', 'torch', 'nbformat', 'nbclient', 'IPython') if m in sys.modules],"
        " file=sys.stderr)"
    )
    assert run_python("-c", script).stderr.splitlines()[-1] == "[]"


def test_a_fence_that_the_next_one_closes_is_refused_with_its_line(folders, snapshot):
    source, out = folders
    write_lesson(source, "04_masks", "# T\n\n```python\nx = 1\n\n```python\ny = 2\n```\n")
    with pytest.raises(MarkerError) as error:
        build(source, out)
    assert str(error.value).replace(f"{source}{os.sep}", "") == snapshot
    assert not out.exists()


def test_a_build_says_when_it_was_not_this_folder_s(tmp_path, monkeypatch, snapshot):
    """With two clones and one active environment, the command works on its own clone."""
    (tmp_path / "solutions").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(builder, "build", lambda *_: builder.BuildSummary())  # no test writes to the real course/
    done = CliRunner().invoke(app, ["build"])
    assert done.exit_code == 0 and done.output.splitlines()[-1].replace(str(lessons.ROOT), "ROOT") == snapshot


def test_a_place_that_cannot_be_written_is_named(monkeypatch, snapshot):
    def build(*_):
        raise PermissionError(13, "Permission denied", "/somewhere/course")

    monkeypatch.setattr(builder, "build", build)
    done = CliRunner().invoke(app, ["build"])
    assert done.exit_code == 2 and done.output == snapshot
