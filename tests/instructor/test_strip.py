"""Test each arrangement of markers: the student's exact cell, or the line and the message of each fault."""

import ast
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.lesson_files import FIRST, HEADER
from utils import lessons
from utils.instructor.strip import MarkerError, strip_answers, strip_lesson


def code(source):
    return f"{HEADER}```python\n{source}\n```\n"


def student(source):
    """Return the student's version of one code cell."""
    text = strip_lesson(code(source), "05_x.md")
    return lessons.parse_lesson(text, "05_x.md").cells[0].source


def faults(text):
    with pytest.raises(MarkerError) as error:
        strip_lesson(text, "05_x.md")
    return str(error.value).split("\n")


def places(lines):
    """Return the line number of each fault."""
    return [int(re.match(r"05_x\.md:(\d+): \S", line)[1]) for line in lines]


# --- code that builds -----------------------------------------------------------------------------------

Y = "# YOUR CODE HERE"
BUILDS = {
    "a function's body": (
        "def f(x):\n    '''Doc.'''\n    # <COGINST>\n    return x\n    # </COGINST>\n\n\ncheck(f)",
        f"def f(x):\n    '''Doc.'''\n    {Y}\n    raise NotImplementedError(\"f\")\n\n\ncheck(f)",
    ),
    "a method": (
        "class A:\n    def g(self):\n        # <COGINST>\n        return 1\n        # </COGINST>",
        f'class A:\n    def g(self):\n        {Y}\n        raise NotImplementedError("A.g")',
    ),
    "a function in a function": (
        "def f():\n    def g():\n        # <COGINST>\n        return 1\n        # </COGINST>\n    return g",
        f'def f():\n    def g():\n        {Y}\n        raise NotImplementedError("f.g")\n    return g',
    ),
    "an async function": (
        "async def f():\n    # <COGINST>\n    return 1\n    # </COGINST>",
        f'async def f():\n    {Y}\n    raise NotImplementedError("f")',
    ),
    "lines after the region stay": (
        "def f():\n    # <COGINST>\n    out = 1\n    # </COGINST>\n    return out",
        f'def f():\n    {Y}\n    raise NotImplementedError("f")\n    return out',
    ),
    "tabs": (
        "def f():\n\t# <COGINST>\n\treturn 1\n\t# </COGINST>",
        f'def f():\n\t{Y}\n\traise NotImplementedError("f")',
    ),
    "markers at another indentation": (
        "def f():\n# <COGINST>\n    return 1\n# </COGINST>",
        f'def f():\n    {Y}\n    raise NotImplementedError("f")',
    ),
    "an inner block": (
        "def f(x):\n    for i in x:\n        # <COGINST>\n        print(i)\n        # </COGINST>\n    return x",
        f'def f(x):\n    for i in x:\n        {Y}\n        raise NotImplementedError("f")\n    return x',
    ),
    "two regions": (
        "# <COGINST>\na = 1\n# </COGINST>\nb = 2\n# <COGINST>\nc = 3\n# </COGINST>",
        f"a = ...  {Y}\nb = 2\nc = ...  {Y}",
    ),
    "a value": (
        "# <COGINST>\nhalf = 2\nvalue = half\n# </COGINST>\ncheck(value=value)",
        f"half = ...  {Y}\nvalue = ...  {Y}\ncheck(value=value)",
    ),
    "each name once": ("# <COGINST>\na = 1\na = 2\n# </COGINST>", f"a = ...  {Y}"),
    "tuple and starred targets": (
        "# <COGINST>\n(a, [b, *c]), _ = x\n# </COGINST>",
        "\n".join(f"{n} = ...  {Y}" for n in "abc"),
    ),
    "annotated and augmented": ("# <COGINST>\na: int = 1\nb += 2\n# </COGINST>", f"a = ...  {Y}\nb = ...  {Y}"),
    "a walrus": ("# <COGINST>\nprint([a := q for q in x], (b := 2))\n# </COGINST>", f"a = ...  {Y}\nb = ...  {Y}"),
    "for and with": (
        "# <COGINST>\nfor i, (j, k) in x:\n    with f() as g:\n        h = [z for z in g]\n# </COGINST>",
        "\n".join(f"{n} = ...  {Y}" for n in "ijkgh"),
    ),
    "imports, a def and a class": (
        "# <COGINST>\nimport a.b, c as d\nfrom e import f\ndef g(p):\n    q = 1\nclass H:\n    r = 1\n# </COGINST>",
        "\n".join(f"{n} = ...  {Y}" for n in ["a", "d", "f", "g", "H"]),
    ),
    "a decorated def whole": ("# <COGINST>\n@dec\ndef g():\n    pass\n# </COGINST>", f"g = ...  {Y}"),
    "in a class": (
        "class A:\n    # <COGINST>\n    size = 3\n    def f(self): pass\n    # </COGINST>",
        f"class A:\n    size = ...  {Y}\n    f = ...  {Y}",
    ),
    "a region that binds nothing": ("# <COGINST>\nprint(1)\nx[0] = 2\n# </COGINST>", Y),
    "a top-level block": ("if a:\n    # <COGINST>\n    b = 1\n    # </COGINST>", f"if a:\n    b = ...  {Y}"),
    "a top-level block that binds nothing": (
        "if a:\n    # <COGNOTE>\n    print()\n    # </COGNOTE>",
        f"if a:\n    ...  {Y}",
    ),
    "a block that prints": ("if a:\n    # <COGINST>\n    print()\n    # </COGINST>", f"if a:\n    ...  {Y}"),
    "all lines of a block": (
        "if a:\n    b = 1  # <COGLINE>\n    c = 2  # <COGLINE>",
        f"if a:\n    b = ...  {Y}\n    c = ...  {Y}",
    ),
    "a class of notes": ("class A:\n    'Doc.'\n    # <COGNOTE>\n    a = 1\n    # </COGNOTE>", "class A:\n    'Doc.'"),
    "an else-block": (
        "if a:\n    b = 1\nelse:\n    # <COGINST>\n    b = 2\n    # </COGINST>",
        f"if a:\n    b = 1\nelse:\n    b = ...  {Y}",
    ),
    "a whole if with its else": ("# <COGINST>\nif a:\n    b = 1\nelse:\n    b = 2\n# </COGINST>", f"b = ...  {Y}"),
    "an except-block": (
        "try:\n    a = 1\nexcept ValueError:\n    # <COGINST>\n    a = 2\n    # </COGINST>",
        f"try:\n    a = 1\nexcept ValueError:\n    a = ...  {Y}",
    ),
    "a note": ("a = 1\n# <COGNOTE>\n# for your eyes\nb = 2\n# </COGNOTE>\nc = 3", "a = 1\nc = 3"),
    "a note that was the body": (
        "def f():\n    '''Doc.'''\n    # <COGNOTE>\n    return 1\n    # </COGNOTE>",
        f"def f():\n    '''Doc.'''\n    {Y}\n    raise NotImplementedError(\"f\")",
    ),
    "an empty note": ("a = 1\n# <COGNOTE>\n# </COGNOTE>", "a = 1"),
    "a line": ("def f():\n    a = 1\n    b = 2  # <COGLINE>\n    return a", "def f():\n    a = 1\n    return a"),
    "a statement over lines": (
        "def f():\n    a = 1\n    return (\n        a\n    )  # <COGLINE>",
        "def f():\n    a = 1",
    ),
    "a line marked inside": ("a = 1\nb = f(\n    1,  # <COGLINE>\n)", "a = 1"),
    "the only line": ("def f():\n    return 1  # <COGLINE>", f'def f():\n    {Y}\n    raise NotImplementedError("f")'),
    "all lines": (
        "def f():\n    a = 1  # <COGLINE>\n    return a  # <COGLINE>",
        f'def f():\n    {Y}\n    raise NotImplementedError("f")',
    ),
    "the only line of a loop": ("for i in x:\n    print(i)  # <COGLINE>", f"for i in x:\n    ...  {Y}"),
    "the only line of a cell": ("print(i)  # <COGLINE>", Y),
    "the only line of an else": (
        "if a:\n    b = 1\nelse:\n    b = 2  # <COGLINE>",
        f"if a:\n    b = 1\nelse:\n    b = ...  {Y}",
    ),
    "a stub": ("q = x @ W  # <COGSTUB> multiply", "q = ...  # multiply"),
    "a stub without a hint": ("q = x @ W  # <COGSTUB>", f"q = ...  {Y}"),
    "a stub in a function": (
        "def f(x):\n    q = x * 2  # <COGSTUB> twice\n    return q",
        "def f(x):\n    q = ...  # twice\n    return q",
    ),
    "a stub with other equal signs": ("q = f(a == 1, k=2, s='=', g=lambda z=3: z)  # <COGSTUB> h", "q = ...  # h"),
    "a stub of a lambda": ("q = lambda a=1, b=2: a == b  # <COGSTUB> h", "q = ...  # h"),
    "a stub of a comparison": ("q = a == b  # <COGSTUB> h", "q = ...  # h"),
    "a stub of a subscript": ("d[k == 1, 'a=b'] = f(x)  # <COGSTUB> h", "d[k == 1, 'a=b'] = ...  # h"),
    "a stub over lines": ("q = (\n    1 +\n    2\n)  # <COGSTUB> h", "q = ...  # h"),
    "a stub with a long left side": ("q[\n    f(a=1)\n] = (1)  # <COGSTUB> h", "q[\n    f(a=1)\n] = ...  # h"),
    "a stub with an annotation": ('q: Float[T, "a=b"] = x  # <COGSTUB> h', 'q: Float[T, "a=b"] = ...  # h'),
    "an augmented stub": ("q += x  # <COGSTUB> h", "q += ...  # h"),
    "a tuple stub": ("a, (b, c) = f()  # <COGSTUB> h", "a, (b, c) = ..., (..., ...)  # h"),
    "a chained stub": ("a = b = c + 1  # <COGSTUB> h", "a = b = ...  # h"),
    "a stub beside wide characters": ("é = 'ü=' + ß  # <COGSTUB> h", "é = ...  # h"),
    "a marker in a string": (
        "s = '# <COGINST>'\nt = '''\n# <COGINST>\n# </COGLINE>\n'''",
        "s = '# <COGINST>'\nt = '''\n# <COGINST>\n# </COGLINE>\n'''",
    ),
    "a marker in an f-string": ("s = f'# <COGLINE> {x}'", "s = f'# <COGLINE> {x}'"),
    "a comment about the command": ("# coginst build makes the copies", "# coginst build makes the copies"),
    "magics": (
        "%matplotlib inline\nfiles = !ls\n# <COGINST>\na = 1\n# </COGINST>",
        f"%matplotlib inline\nfiles = !ls\na = ...  {Y}",
    ),
    "a cell magic": ("%%time\n# <COGINST>\na = 1\n# </COGINST>", f"%%time\na = ...  {Y}"),
    "a global in a region": (
        "def f():\n    # <COGINST>\n    global a\n    a = 1\n    # </COGINST>",
        f'def f():\n    {Y}\n    raise NotImplementedError("f")',
    ),
    "a match": (
        "match a:\n    case 1:\n        # <COGINST>\n        b = 1\n        # </COGINST>",
        f"match a:\n    case 1:\n        b = ...  {Y}",
    ),
}


@pytest.mark.parametrize("name", BUILDS)
def test_builds(name):
    source, expected = BUILDS[name]
    assert student(source) == expected
    ast.parse(lessons.strip_magics(expected))
    assert student(expected) == expected


# --- code with faults: (source, [row of each fault in the cell]) ----------------------------------------

REFUSED = {
    "never closed": ("# <COGINST>\na = 1", [0]),
    "never opened": ("a = 1\n# </COGINST>", [1]),
    "nested": (
        "# <COGINST>\n# <COGINST>\na = 1\n# </COGINST>\n# </COGINST>",
        [1, 4],
    ),
    "crossed": (
        "# <COGINST>\na = 1\n# <COGNOTE>\n# </COGINST>\n# </COGNOTE>",
        [2, 4],
    ),
    "closed by another": (
        "# <COGINST>\na = 1\n# </COGNOTE>",
        [0, 2],
    ),
    "mis-cased": ("# <Coginst>\na = 1\n# </COGINST>", [0, 2]),
    "spaced": ("# < COGINST >\na = 1\n# </ COGINST>", [0, 2]),
    "trailing code": ("# <COGINST>\na = 1\n# </COGINST>; x = 2", [0, 2]),
    "misspelt": ("# <COGINTS>\na = 1", [0]),
    "a letter short": ("# <CGINST>\na = 1", [0]),
    "no space": ("#<COGINST>\na = 1\n#</COGINST>", [0, 2]),
    "two hashes": ("## <COGINST>\na = 1", [0]),
    "no brackets": ("# COGINST\na = 1", [0]),
    "half a bracket": ("# <COGINST\na = 1", [0]),
    "the other half": ("# COGINST>\na = 1", [0]),
    "a self-closing tag": ("# <COGINST/>\na = 1", [0]),
    "after code": (
        "a = 1  # <COGINST>\nb = 2\n# </COGINST>",
        [0, 2],
    ),
    "a line marker with a hint": ("a = 1  # <COGLINE> foo", [0]),
    "a mis-cased line marker": ("a = 1  # <cogline>", [0]),
    "a closing line marker": ("a = 1  # </COGLINE>", [0]),
    "a marker after a comment": ("a = 1  # why <COGLINE>", [0]),
    "two markers": ("a = 1  # <COGLINE> <COGSTUB>", [0]),
    "a marker in a hint": ("a = 1  # <COGSTUB> b <COGLINE>", [0]),
    "an empty region": ("# <COGINST>\n# </COGINST>", [0]),
    "a region of comments": (
        "def f():\n    # <COGINST>\n    # todo\n    # </COGINST>\n    return 1",
        [1],
    ),
    "cuts a call": (
        "a = f(\n    # <COGINST>\n    1,\n    # </COGINST>\n)",
        [1, 3],
    ),
    "cuts a signature": (
        "def f(\n    # <COGINST>\n    a,\n    # </COGINST>\n):\n    pass",
        [1, 3],
    ),
    "cuts a decorator": (
        "# <COGINST>\n@dec\n# </COGINST>\ndef f():\n    pass",
        [0],
    ),
    "cuts a decorator above": (
        "@dec\n# <COGINST>\ndef f(): return 1\n# </COGINST>",
        [1],
    ),
    "wide letters": ("# <ＣＯＧＩＮＳＴ>\na = 1", [0]),
    "cuts a def": (
        "# <COGINST>\ndef f():\n    a = 1\n    # </COGINST>\n    return a",
        [0],
    ),
    "cuts an else": (
        "if a:\n    b = 1\n# <COGINST>\nelse:\n    b = 2\n# </COGINST>",
        [3],
    ),
    "cuts an else's head": (
        "if a:\n    b = 1\n    # <COGINST>\n    c = 1\nelse:\n    # </COGINST>\n    b = 2",
        [4],
    ),
    "cuts an elif": (
        "if a:\n    b = 1\n# <COGINST>\nelif c:\n    b = 2\n# </COGINST>",
        [2],
    ),
    "cuts an except": ("try:\n    a\n# <COGINST>\nexcept E:\n    b = 2\n# </COGINST>", [3]),
    "out of its block": (
        "def f():\n    a = 1\n    # <COGINST>\n    return a\nb = 2\n# </COGINST>",
        [2],
    ),
    "a marked def": ("def f():  # <COGLINE>\n    pass", [0]),
    "a marked if": ("if a:  # <COGSTUB> b\n    b = 1", [0]),
    "a marked for on one line": ("for a in b: c = 1  # <COGLINE>", [0]),
    "a marked class": ("class A:  # <COGLINE>\n    a = 1", [0]),
    "a marked with": ("with a as b:  # <COGLINE>\n    c = 1", [0]),
    "a marked decorator": ("@dec  # <COGLINE>\ndef f():\n    pass", [0]),
    "a marked else": ("if a:\n    b = 1\nelse:  # <COGLINE>\n    b = 2", [2]),
    "a stub of no assignment": (
        "def f():\n    return 1  # <COGSTUB> h",
        [1],
    ),
    "a stub of an annotation": ("a: int  # <COGSTUB> h", [0]),
    "a stub of keywords only": ("f(a=1)  # <COGSTUB> h", [0]),
    "two statements": ("a = 1; b = 2  # <COGLINE>", [0]),
    "a semicolon": ("a = 1;  # <COGSTUB> h", [0]),
    "marks nothing": ("a = 1\n# <COGLINE>\nb = 2", [1]),
    "marks nothing in a block": (
        "def f():\n    a = 1\n    # <COGLINE>\n    b = 2",
        [2],
    ),
    "marked twice": ("a = f(  # <COGLINE>\n    1)  # <COGLINE>", [1]),
    "a line in a region": ("# <COGINST>\na = 1  # <COGLINE>\n# </COGINST>", [1]),
    "code that does not parse": ("def f(:\n    pass", [0]),
    "unbalanced brackets": ("a = 1\nb = (", [1]),
    "two arguments of one name": ("a = 1\ndef f(x, x):\n    return x", [1]),
    "a marker on a magic": ("a = 1\n%time f()  # <COGLINE>", [1]),
    "what is left does not compile": (
        "def f():\n    # <COGINST>\n    n = 1\n    # </COGINST>\n    def g():\n        nonlocal n\n    return g",
        [0],
    ),
    "all faults at once": (
        "# <Coginst>\na = 1  # <COGLINE> no\nif b:  # <COGLINE>\n    c",
        [0, 1, 2],
    ),
}


PYTHON_SAYS_WHY = {
    "code that does not parse",
    "unbalanced brackets",
    "two arguments of one name",
    "what is left does not compile",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, snapshot):
    source, rows = REFUSED[name]
    lines = faults(code(source))
    assert places(lines) == [FIRST + 1 + row for row in rows]
    if name in PYTHON_SAYS_WHY:
        assert "does not parse" in lines[0]
    else:
        assert lines == snapshot


# --- prose ----------------------------------------------------------------------------------------------

A = "*YOUR ANSWER HERE*"
PROSE = {
    "an answer": ("Why?\n\n<COGINST>\nBecause.\n\nReally.\n</COGINST>\n\nGood.", f"Why?\n\n{A}\n\nGood."),
    "a note": ("One.\n\n<COGNOTE>\nMind this.\n</COGNOTE>\n\nTwo.", "One.\n\nTwo."),
    "a note at the end": ("One.\n\n<COGNOTE>\nMind this.\n</COGNOTE>", "One."),
    "a note first": ("<COGNOTE>\nMind this.\n</COGNOTE>\n\nTwo.", "Two."),
    "two notes": ("<COGNOTE>\na\n</COGNOTE>\n\nTwo.\n\n<COGNOTE>\nb\n</COGNOTE>\n\nThree.", "Two.\n\nThree."),
    "indented a little": ("  <COGINST>\n  Because.\n  </COGINST>", A),
    "inline code": ("Write `<COGINST>` and ``# </ COGINST>``, `<Coginst>`.", None),
    "a fenced example": ("~~~\n<COGINST>\n# <COGLINE>\n~~~\n\n```text\n</COGNOTE>\n```", None),
    "a fence in an answer": ("<COGINST>\n~~~\n</COGINST>\n~~~\n</COGINST>", A),
    "an escaped tag": ("Write &lt;COGINST&gt; here.", None),
    "the command": ("Run `coginst build`, or coginst lab; a < b and <b>cog</b>.", None),
}


@pytest.mark.parametrize("name", PROSE)
def test_prose(name):
    source, expected = PROSE[name]
    expected = source if expected is None else expected
    for after in ("", "\n```python\nx = 1\n```\n", "\n\nMore.\n"):
        text = strip_lesson(f"{HEADER}{source}\n{after}", "05_x.md")
        assert text == f"{HEADER}{expected}\n{after}"


@pytest.mark.parametrize(
    "source, rows",
    [
        ("<COGINST>\nBecause.", [0]),
        ("</COGNOTE>", [0]),
        (
            "<COGINST>\n<COGNOTE>\n</COGNOTE>\n</COGINST>",
            [1, 2],
        ),
        ("<COGINST>\n\n</COGINST>", [0]),
        ("<Coginst>\nBecause.\n</COGINST>", [0, 2]),
        ("# <COGINST>\nBecause.", [0]),
        ("<COGINST> Because. </COGINST>", [0]),
        ("- item\n\n    <COGINST>", [2]),
        ("<!-- <COGNOTE> -->", [0]),
        ("<COGIST>\nBecause.", [0]),
        ("A line <COGLINE>", [0]),
        ("[COGNOTE]\nSecret.\n[/COGNOTE]", [0, 2]),
        ("<COGINST>\n\n\nTwo blank lines.\n</COGINST>", [0, 4]),
    ],
)
def test_prose_refused(source, rows, snapshot):
    lines = faults(f"{HEADER}{source}\n")
    assert places(lines) == [FIRST + row for row in rows]
    assert lines == snapshot


# --- files ----------------------------------------------------------------------------------------------


def test_a_cell_that_was_a_note_goes_with_its_blank_lines():
    note = "<COGNOTE>\nMind this.\n</COGNOTE>"
    cell = "```python\n# <COGNOTE>\nx = 1\n# </COGNOTE>\n```"
    region = f"<!-- #region -->\n{note}\n<!-- #endregion -->"
    for gone in (note, cell, region):
        for before, after in [
            ("One.\n\n\n", "Two.\n"),
            ("```python\na\n```\n\n", "```python\nb\n```\n"),
            ("One.\n\n\n", "```python\nb\n```\n"),
        ]:
            blank = "\n" if after.startswith("```") else "\n\n"
            text = strip_lesson(HEADER + before + gone + blank * 1 + "\n" + after, "05_x.md")
            kept = [cell.source for cell in lessons.parse_lesson(text, "05_x.md").cells]
            assert kept == [part.strip("\n`").removeprefix("python\n") for part in (before, after)]


def test_crlf_tabs_and_bom():
    text = code("def f():\n\t# <COGINST>\n\treturn 1\n\t# </COGINST>")
    assert strip_lesson("\ufeff" + text.replace("\n", "\r\n"), "05_x.md") == strip_lesson(text, "05_x.md")


@pytest.mark.parametrize(
    "text, line",
    [
        ("", 1),
        ("---\ntitle: x\n---\n\nText\n", 1),
        (HEADER, 1),
        (HEADER + "\n\n\n", 1),
        (HEADER + "<COGNOTE>\na\n</COGNOTE>\n", 1),
        (HEADER + "\n\n<COGNOTE>\n</COGNOTE>\n", 1),
        (HEADER + "```python\nx = 1\n", 9),
        (HEADER + "<!-- #region -->\nText\n", 9),
        (HEADER + "```bash\nls # <COGLINE>\n```\n", 10),
        (HEADER + "<!-- #raw -->\n<COGINST>\n<!-- #endraw -->\n", 10),
    ],
)
def test_files_that_are_refused(text, line, snapshot):
    lines = faults(text)
    assert places(lines) == [line] and lines == snapshot


def test_a_part_of_a_lesson_strips_as_it_does_in_the_whole():
    part = "A\n\n```python\n# <COGINST>\na = 1\n# </COGINST>\n```\n"
    assert HEADER + strip_lesson(part, "05_x.md") == strip_lesson(HEADER + part, "05_x.md")
    assert strip_lesson("# A readme\n", "README.md") == "# A readme\n"
    with pytest.raises(MarkerError, match="^05_x.md:1: "):
        strip_answers(part, "05_x.md")


def test_what_stands_outside_the_markers_stays_byte_for_byte():
    outside = '\n# T  \n\n\n\n- a\n\n```python tags=["x"]  \n\n a = 1 \n\n```\n\nEnd  '
    for text in (HEADER + outside, HEADER + outside + "\n\n"):
        with pytest.raises(MarkerError):
            strip_lesson(text, "05_x.md")
        fine = text.replace(" a = 1 ", "a = 1 ")
        assert strip_lesson(fine, "05_x.md") == fine


# --- any arrangement ------------------------------------------------------------------------------------

SECRET = "secret_{}"
LINES = [
    *["# <COGINST>", "# </COGINST>"] * 2, "# <COGNOTE>", "# </COGNOTE>", "# <Coginst>",
    "{s} = alpha(1, 2, 3)", "{s} = alpha(4, 5, 6)  # <COGLINE>", "alpha.beta = {s} = gamma(7)  # <COGSTUB> a hint",
    "shown = 1", "def f_{i}(x):", "class C_{i}:", "if shown:", "else:", "for j in range(3):", "return {s}(8)", "@dec",
    "alpha(", ")", "'''", "", "pass", "pass",
]  # fmt: skip


def stripped_or_refused(text):
    """Return the stripped page, or None if it has faults. Each fault must name its line."""
    try:
        return strip_answers(text, "05_x.md")
    except MarkerError as error:
        refusal = str(error)
    assert places(refusal.split("\n"))
    return None


@st.composite
def cells(draw):
    """Generate lines of code and markers. An opener indents the next line, and some lines reduce the indentation."""
    lines, depth = [], 0
    for i in range(draw(st.integers(1, 9))):
        line = draw(st.sampled_from(LINES)).format(s=SECRET.format(i), i=i)
        depth = max(depth - draw(st.sampled_from([0, 0, 0, 1, 2])), 0)
        lines.append("    " * depth + line)
        depth += line.endswith(":")
    return "\n".join(lines)


@given(st.lists(cells(), min_size=1, max_size=3))
def test_any_arrangement_builds_without_a_leak_or_is_refused_with_its_place(sources):
    text = HEADER + "\n\n".join(f"```python\n{source}\n```" for source in sources) + "\n"
    stripped = stripped_or_refused(text)
    if stripped is None:
        return
    made = lessons.parse_lesson(stripped.text, "05_x.md").cells
    assert [cell.source for cell in made] == [cell.source for cell in stripped.cells]
    for cell in made:
        ast.parse(cell.source)
    in_strings = "'''" in text
    assert in_strings or "COG" not in stripped.text
    for line, answer in stripped.code_answers:
        assert text.split("\n")[line - 1] == answer
        if SECRET[:7] in answer:
            gone = [other for _, other in stripped.code_answers].count(answer)
            assert stripped.text.split("\n").count(answer) == text.split("\n").count(answer) - gone
    assert strip_lesson(stripped.text, "05_x.md") == stripped.text


PROSE_LINES = (
    "<COGINST>", "</COGINST>", "<COGNOTE>", "</COGNOTE>", "text", "- SECRET", "", "~~~", "`<COGINST>`", "<Coginst>",
)  # fmt: skip


@given(st.lists(st.sampled_from(PROSE_LINES), max_size=9))
@example(["", "", "<COGNOTE>", "</COGNOTE>"])
@example([""])
def test_any_prose_builds_or_is_refused_with_its_place(lines):
    stripped = stripped_or_refused(HEADER + "\n".join(lines) + "\n")
    if stripped is None:
        return
    assert strip_lesson(stripped.text, "05_x.md") == stripped.text
    if "~~~" not in lines:
        assert not re.search(r"^ *</?COG", stripped.text, re.MULTILINE)
