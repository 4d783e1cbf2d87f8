"""Test lessons as data, split into cells as by jupytext, and as modules with definitions but without demo cells."""

import importlib
import linecache
import os
import pickle
import sys
import traceback

import jupytext
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jupytext.languages import _JUPYTER_LANGUAGES

from tests.fresh_python import printed_output
from tests.lesson_files import HEADER, write_lesson, write_notebook
from utils import lessons
from utils.lessons import LessonError, loading

STEM = "04_causal_attention"
BARE = HEADER.removesuffix("\n")  # without the blank line below it


def as_jupytext(text):
    return [
        (
            cell.cell_type,
            cell.source,
            {key: value for key, value in cell.metadata.items() if key != "lines_to_next_cell"},
        )
        for cell in jupytext.reads(text, fmt="md").cells
    ]


def as_ours(text):
    return [(cell.kind, cell.source, cell.metadata) for cell in lessons.parse_lesson(text, "04_x.md").cells]


# --- reading ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", lessons.all_lessons(), ids=lambda path: path.stem)
def test_real_lessons_have_the_cells_that_jupytext_makes(path):
    text = path.read_text(encoding="utf-8")
    assert as_ours(text) == as_jupytext(text)
    lines = text.splitlines()
    for cell in lessons.read_lesson(path).cells:
        source = cell.source.split("\n")
        assert lines[cell.line - 1 : cell.line - 1 + len(source)] == source


PIECES = [
    "", "", "", "prose", "## heading", "- item", "    indented code", "\tafter a tab", " ", "`inline`",
    "```", "```python", '```python tags=["nbval-check-output"]', '```python title="a b" hide', "````python", "````",
    "```bash", "```html", "```text", "````text", "~~~python", "~~~",
    "x = 1", "# comment", "'''", '"""', 's = "it\'s"', "s = 'don\\'t'", "%time x", "!ls",
    "<!-- #region -->", "<!-- #endregion -->", '<!-- #region tags=["a"] -->', "<!-- #region A title -->",
    "<!-- #md -->", "<!-- #endmd -->", "<!-- #raw -->", "<!-- #endraw -->",
    "<details><summary>q</summary>", "</details>", "<!-- note -->", "---", "\x0c",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from(["", "title: T\n"]), st.booleans())
def test_any_text_has_the_cells_that_jupytext_makes_or_is_refused(pieces, front, blank):
    text = BARE.replace("---\n", f"---\n{front}", 1) + "\n" * blank + "\n".join(pieces) + "\n"
    refusal = ""
    try:
        assert as_ours(text) == as_jupytext(text)
    except LessonError as error:
        refusal = str(error)
    assert not refusal or (refusal.startswith("04_x.md:") and "triple quotes" in refusal)


def test_a_kernelspec_needs_no_language(tmp_path):
    text = HEADER.replace("    language: python\n", "") + "```python\nx\n```\n"
    assert as_ours(text) == as_jupytext(text) == [("code", "x", {})]


def test_languages_are_jupytexts():
    newest = {"jenner"}  # since jupytext 1.19.6
    assert lessons.LANGUAGES - newest <= _JUPYTER_LANGUAGES <= lessons.LANGUAGES


def test_line_numbers_title_and_name(tmp_path):
    path = write_lesson(
        tmp_path, STEM, "~~~\n# not this\n~~~\n\n# A mask\n\n```python\n\nx = 1\n```\n\n```bash\nls\n```\n"
    )
    read = lessons.read_lesson(path)
    assert (read.stem, read.name, read.title, read.path) == ("04_causal_attention", "causal_attention", "A mask", path)
    assert [(cell.kind, cell.line, cell.index) for cell in read.cells] == [
        ("markdown", 9, 0),
        ("code", 16, 1),
        ("code", 20, 2),
    ]


@pytest.mark.parametrize(
    "content, message",
    [
        (b"# No header\n", ":1: this is not a lesson: it has no front matter"),
        (b"", ":1: this is not a lesson"),
        (b"---\ntitle: x\n---\n", ":1: this is not a lesson: its front matter names no kernelspec"),
        (b"---\njupyter: [\n---\n", ":1: this is not a lesson: its front matter names no kernelspec"),
        (b"---\njupyter:\n", ":1: the front matter is never closed"),
        (HEADER.replace("language: python", "language: R").encode(), "kernelspec is for 'R'"),
        (HEADER.replace("jupyter:", "jupyter:\n  jupytext:\n    split_at_heading: true").encode(), "split_at_heading"),
        (HEADER.encode() + b"fine\n\xff\n", ":10: this byte is not UTF-8"),
        (HEADER.encode() + b"```PYTHON\n```\n", ":9: write the fence's language in lower case"),
        (HEADER.encode() + b"```python {.foo}\n```\n", ":9: the options '{.foo}' are not understood"),
        (HEADER.encode() + b'```python active="py"\n```\n', ":9: a lesson's cells are all active"),
    ],
)
def test_what_is_not_a_lesson(tmp_path, content, message):
    path = tmp_path / "04_x.md"
    path.write_bytes(content)
    with pytest.raises(LessonError) as error:
        lessons.read_lesson(path)
    assert str(error.value).startswith(str(path)) and message in str(error.value)


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(LessonError, match="no such file"):
        lessons.read_lesson(tmp_path / "04_x.md")
    for content in ("{", '{"nbformat": 4, "cells": [{"cell'):
        (tmp_path / "04_x.ipynb").write_text(content, encoding="utf-8")
        with pytest.raises(LessonError, match="damaged or incomplete .* replace it with a complete copy"):
            lessons.read_lesson(tmp_path / "04_x.ipynb")
    for content in ("[]", '{"nbformat": 3}', '{"nbformat": 4, "cells": [1]}'):
        (tmp_path / "04_x.ipynb").write_text(content, encoding="utf-8")
        with pytest.raises(LessonError, match="not a Jupyter notebook of format 4"):
            lessons.read_lesson(tmp_path / "04_x.ipynb")
    (tmp_path / "04_x.py").write_text("", encoding="utf-8")
    with pytest.raises(LessonError, match="a lesson is a .md or .ipynb file"):
        lessons.read_lesson(tmp_path / "04_x.py")


def test_bom_and_crlf_are_read_as_if_they_were_not_there(tmp_path):
    plain, windows = tmp_path / "04_x.md", tmp_path / "05_y.md"
    text = HEADER + "# T\n\n```python\nx = 1\n```\n"
    plain.write_bytes(text.encode())
    windows.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert lessons.read_lesson(windows).cells == lessons.read_lesson(plain).cells


# --- finding ------------------------------------------------------------------------------------------


def test_find_by_name_stem_and_number(tmp_path):
    path = write_lesson(tmp_path, STEM, "# A")
    (tmp_path / "README.md").write_text("no lesson", encoding="utf-8")
    for name in ("causal_attention", "04_causal_attention", "04"):
        assert lessons.find_lesson(name, tmp_path) == path
    assert lessons.all_lessons(tmp_path) == [path]
    with pytest.raises(LessonError, match=r"no lesson 'causal'.*There are: causal_attention\."):
        lessons.find_lesson("causal", tmp_path)
    with pytest.raises(LessonError, match="none at all"):
        lessons.find_lesson("causal", tmp_path / "nowhere")
    with pytest.raises(lessons.LessonError, match=r"no lesson '99' in \w+/\. Lessons are numbered 00 to 13\.$"):
        lessons.find_lesson("99", lessons.ROOT / "course")


def test_of_a_pair_the_one_changed_last(tmp_path):
    markdown, other = write_lesson(tmp_path, STEM, "# A"), write_notebook(tmp_path, STEM, "x")
    for latest in (markdown, other, markdown):
        for path in (markdown, other):
            os.utime(path, (1000, 2000 if path == latest else 1000))
        assert lessons.find_lesson("04", tmp_path) == latest
        assert lessons.all_lessons(tmp_path) == [latest]


# --- a lesson as a module ---------------------------------------------------------------------------

BODY = """\
# T

```python
import math
from typing import List

SIZE = 4
A, B = 1, 2
lower = 3
print("a demo ran")
```

```python
%matplotlib inline
def area(r: float) -> float:
    # <COGINST>
    return math.pi * r**2 + SIZE * 0
    # </COGINST>


area(1.0) / 0
```

```python
def broken(:
```

```python
@staticmethod
def fails():
    raise KeyError("here")
```
"""


def test_load_runs_definitions_only(tmp_path, capsys):
    module = lessons.load_lesson(write_lesson(tmp_path, STEM, BODY))
    assert module.area(1.0) == pytest.approx(3.14159, abs=1e-5)
    assert (module.SIZE, module.A, module.B) == (4, 1, 2)
    assert capsys.readouterr().out == ""
    with pytest.raises(AttributeError, match="defines no 'lower'"):
        module.lower
    assert getattr(module, "broken", None) is None


@pytest.mark.parametrize("suffix", ["md", "ipynb"])
def test_tracebacks_show_the_lessons_line(tmp_path, suffix):
    source = "def fails():\n    raise KeyError('here')"
    path = (
        write_lesson(tmp_path, STEM, f"# T\n\n```python\n{source}\n```\n")
        if suffix == "md"
        else write_notebook(tmp_path, STEM, "x = 1", source)
    )
    module = lessons.load_lesson(path)
    try:
        module.fails()
    except KeyError as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
    assert last.line == "raise KeyError('here')"
    assert (last.filename, last.lineno) == (
        (str(path), 13) if suffix == "md" else ("<04_causal_attention.ipynb, cell 2>", 2)
    )
    linecache.checkcache()
    assert linecache.getline(last.filename, last.lineno).strip() == last.line


def test_what_fails_says_why_when_it_is_asked_for(tmp_path):
    path = write_notebook(
        tmp_path, STEM, "SIZE = undefined\ndef fine(): return 1", "class C(Missing): pass", "import no_such_module"
    )
    module = lessons.load_lesson(path)
    assert module.fine() == 1
    with pytest.raises(AttributeError, match="could not define 'SIZE': NameError: name 'undefined'") as error:
        module.SIZE
    assert isinstance(error.value.__cause__, NameError)
    assert getattr(module, "C", None) is None and getattr(module, "no_such_module", None) is None


def test_a_cell_that_does_not_parse_or_that_exits_says_so(tmp_path):
    path = write_notebook(
        tmp_path, STEM, "x = 1\ndef softmax(x):\n    return x.exp(", "class C:\n    raise SystemExit(3)", "A = 2"
    )
    module = lessons.load_lesson(path)
    assert module.A == 2
    with pytest.raises(
        AttributeError,
        match=f"The cell of `softmax` in {path.name} cannot be run, because it is not valid Python: line 3,"
        " `return x.exp\\(`: '\\(' was never closed",
    ):
        module.softmax
    with pytest.raises(AttributeError, match="could not define 'C': SystemExit: 3"):
        module.C


def test_a_lesson_whose_load_was_interrupted_is_loaded_again(tmp_path, monkeypatch):
    path = write_lesson(tmp_path, STEM, BODY)
    with monkeypatch.context() as stopped:
        stopped.setattr(loading.CellRunner, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lessons.load_lesson(path)
    assert lessons.load_lesson(path).SIZE


def interrupted(*_):
    raise KeyboardInterrupt


def test_load_keeps_the_module_until_the_file_changes(tmp_path):
    path = write_lesson(tmp_path, STEM, "```python\nSIZE = 1\n```\n")
    first = lessons.load_lesson(path)
    assert lessons.load_lesson(path) is first
    path.write_text(path.read_text(encoding="utf-8").replace("1\n```", "22\n```"), encoding="utf-8")
    assert lessons.load_lesson(path).SIZE == 22


def test_future_imports_hold_in_later_cells(tmp_path):
    path = write_lesson(
        tmp_path,
        STEM,
        "```python\nfrom __future__ import annotations\n```\n\n```python\ndef f(x: undefined): return x\n```\n",
    )
    assert lessons.load_lesson(path).f.__annotations__ == {"x": "undefined"}


def test_yours_is_a_definition(tmp_path):
    path = write_lesson(
        tmp_path,
        STEM,
        '```python\ndef yours(name): return name.upper()\n\nNorm = yours("norm")\nother = str("x")\n```\n',
    )
    module = lessons.load_lesson(path)
    assert module.Norm == "NORM" and not hasattr(module, "other")


def test_solutions_is_a_package_of_lessons():
    import solutions
    from solutions import start_here

    assert start_here is solutions.start_here is lessons.load_lesson(lessons.find_lesson("start_here"))
    assert start_here.__name__ == "solutions.start_here"
    assert "start_here" in dir(solutions)
    with pytest.raises(AttributeError, match="no lesson 'nope' in solutions/. There are: start_here"):
        solutions.nope
    for statement in ("from solutions import nope", "import solutions.nope"):
        with pytest.raises(ImportError, match="no lesson 'nope' in solutions/. There are: start_here"):
            exec(statement)
    assert not hasattr(solutions, "nope")


def test_a_lesson_is_imported_as_any_module_is():
    import solutions.start_here

    assert solutions.start_here is lessons.load_lesson(lessons.find_lesson("start_here"))
    assert solutions.start_here.__doc__ == "The definitions of 00_start_here.md."


def test_an_imported_lesson_is_pickled_and_loaded_again(tmp_path, monkeypatch):
    import solutions

    source = "```python\nfrom dataclasses import dataclass\n\n@dataclass\nclass Pair:\n    size: int = 1\n```\n"
    path = write_lesson(tmp_path, "04_pairs", source)
    monkeypatch.setattr(solutions, "_HERE", tmp_path)
    try:
        pairs = importlib.import_module("solutions.pairs")
        pickled = pickle.dumps(pairs.Pair(3))
        assert pickle.loads(pickled) == pairs.Pair(3)
        path.write_text(path.read_text(encoding="utf-8").replace("1\n```", "22\n```"), encoding="utf-8")
        assert importlib.reload(pairs) is pairs
        assert pairs.Pair() == pairs.Pair(22)
        del sys.modules["solutions.pairs"]  # as it would be in another process
        again = pickle.loads(pickled)
        assert (again.size, type(again).__module__, type(again) is pairs.Pair) == (3, "solutions.pairs", False)
    finally:
        sys.modules.pop("solutions.pairs", None)
        vars(solutions).pop("pairs", None)


def test_importing_it_is_light():
    heavy = "jupytext torch nbformat IPython yaml".split()
    assert (
        printed_output(f"import sys, utils.lessons, solutions; print([m for m in {heavy} if m in sys.modules])") == "[]"
    )


# --- definition_source ----------------------------------------------------------------------------------


def test_source_of(tmp_path):
    path = write_lesson(
        tmp_path,
        STEM,
        "```python\nimport torch\n\n@torch.no_grad()\ndef f(x):\n    # <COGINST>\n    y = x  # keep\n    # </COGINST>\n"
        "    # <COGNOTE>\n    # secret\n    # </COGNOTE>\n    z = 1  # <COGLINE>\n    return y  # <COGSTUB>"
        " hint\n\nshown = 1\n# <COGINST>\nhalf = 2\nvalue = half\n# </COGINST>\nafter = value\n```\n",
    )
    assert (
        lessons.definition_source(path, "f")
        == "@torch.no_grad()\ndef f(x):\n    y = x  # keep\n    z = 1\n    return y"
    )
    assert (
        lessons.definition_source(path, "value") == lessons.definition_source(path, "half") == "half = 2\nvalue = half"
    )
    assert lessons.definition_source(path, "shown") == "shown = 1"
    assert lessons.definition_source(path, "after") == "after = value"
    with pytest.raises(LessonError, match="defines no 'nope'"):
        lessons.definition_source(path, "nope")


@pytest.mark.parametrize(
    "source, expected",
    [
        ("%time f()\nx = 1", "pass\nx = 1"),
        ("%%time\nx = 1", "\nx = 1"),
        ("%%bash\nls", None),
        ("x = (1\n%2)", "x = (1\n%2)"),
        ("if a:\n    !ls", "if a:\n    pass"),
        ("x = !ls", "pass"),
        ("f?", "pass"),
    ],
)
def test_without_magics(source, expected):
    assert lessons.strip_magics(source) == expected
