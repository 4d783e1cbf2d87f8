"""Test how an answer below a stub is found if the stub was not deleted."""

import pytest

from utils.exercises.exercise import find_exercise
from utils.feedback.diagnose import diagnose
from utils.lessons.stubs import has_code_above_stub, has_code_after_stub

STUB = 'def f(x):\n    """Says what."""\n    # YOUR CODE HERE\n    raise NotImplementedError("f")\n'


@pytest.mark.parametrize(
    "source, found",
    [
        (STUB, False),
        (STUB + "    return x.sum()\n", True),
        (STUB + "    y = x\n    return y\n", True),
        (STUB + "    return state\n", False),  # the page's own last line
        ("class A:\n    " + STUB.replace("\n", "\n    ") + "    return 1\n", True),
        ("    " + STUB.replace("\n", "\n    ") + "    return 1\n", True),  # a method without its class
        (STUB.replace('("f")', '("g")') + "    return x.sum()\n", False),
        ("def f(x):\n    return x(\n", False),
    ],
)
def test_what_stands_below_a_stub(source, found):
    assert has_code_after_stub(source, "f") is found


@pytest.mark.parametrize(
    "source, found",
    [
        (STUB, False),
        (STUB.replace("    raise", "    y = x.sum()\n    raise"), True),
        (STUB.replace("    # YOUR CODE HERE\n", "    y = x.sum()\n"), True),
        (STUB.replace("    # YOUR CODE HERE\n", ""), False),
        (STUB.replace("    # YOUR CODE HERE", "    y = x\n    # YOUR CODE HERE"), False),  # the page's own line
        ("class A:\n    " + STUB.replace("    raise", "    y = x\n    raise").replace("\n", "\n    "), True),
        (STUB.replace("    raise", "    y = x\n    raise").replace('("f")', '("g")'), False),
        ("def f(x):\n    return x(\n", False),
    ],
)
def test_what_stands_above_a_stub(source, found):
    assert has_code_above_stub(source, "f") is found


@pytest.mark.parametrize("edit", ["below", "above"])
def test_the_report_names_the_line_to_delete(edit, snapshot, tmp_path):
    path = tmp_path / "page.py"
    stub = STUB.replace("f(x)", "row_sums(x)").replace('"f"', '"row_sums"')
    answers = {
        "below": stub + "    return x.sum(dim=1)\n",
        "above": stub.replace("    raise", "    sums = x.sum(dim=1)\n    raise") + "    return sums\n",
    }
    path.write_text(answers[edit], encoding="utf-8")
    names = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    report = diagnose(find_exercise("row_sums"), names["row_sums"])
    assert report.status == "todo"
    assert report.message == snapshot
