"""Test the lint for worn-out wording: its findings, their line numbers, and the text that it ignores."""

import importlib.util
from pathlib import Path

import pytest

from utils.lessons import ROOT

spec = importlib.util.spec_from_file_location("lint_prose", ROOT / ".ci" / "lint_prose.py")
lint_prose = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lint_prose)


def lint(folder: Path, name: str, text: str) -> list[tuple[int, str]]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return [(line, words) for line, words, _ in lint_prose.findings(path)]


@pytest.mark.parametrize(
    "sentence, words",
    [
        ("The cell is run anew each time.", "anew"),
        ("The page has a quiz, besides.", "besides"),
        ("Whoever writes a check needs a case.", "Whoever"),
        ("The mask stands in a buffer.", "stands in"),
        ("The verdict hangs on the seed.", "hangs on"),
        ("It takes half of that.", "of that"),
        ("A stand-in answers for it.", "stand-in"),
    ],
)
def test_a_worn_out_word_is_found_in_every_kind_of_text(tmp_path, sentence, words):
    assert lint(tmp_path, "a.md", f"# Title\n\n{sentence}\n") == [(3, words)]
    assert lint(tmp_path, "a.py", f"x = 1\n# {sentence}\n") == [(2, words)]
    assert lint(tmp_path, "b.py", f'def f():\n    """Do it.\n\n    {sentence}\n    """\n') == [(4, words)]
    assert lint(tmp_path, "c.py", f'raise ValueError(\n    "{sentence}"\n)\n') == [(2, words)]
    assert lint(tmp_path, "d.js", f"// {sentence}\n") == [(1, words)]


@pytest.mark.parametrize(
    "sentence",
    [
        "σ stands for the standard deviation, and the fake stands in for the model.",
        "Readers notice that, of course.",
        "The size of that matrix is 3 × 3.",
        "Sit beside somebody and ask.",
    ],
)
def test_ordinary_english_is_left_alone(tmp_path, sentence):
    assert lint(tmp_path, "a.md", sentence) == lint(tmp_path, "a.py", f"# {sentence}\n") == []


def test_code_in_a_page_is_not_prose(tmp_path):
    page = "~~~markdown\nanew\n```python\nbesides\n```\n~~~\n\nCall `anew(x)`.\n\n```\nwhoever\n```\n\nAgain: anew.\n"
    assert lint(tmp_path, "a.md", page) == [(14, "anew")]


def test_a_docstring_starts_with_a_verb_or_a_noun(tmp_path):
    code = 'def f():\n    """What the judge reads."""\n\n\ndef g():\n    """What does the mask hide?"""\n'
    assert lint(tmp_path, "a.py", code) == [(2, "What the judge reads. …")]


def test_names_and_labels_are_not_sentences(tmp_path):
    assert lint(tmp_path, "a.py", 'KINDS = ("anew", "made anew")\n') == []


def test_the_command_prints_the_place_and_the_replacement_and_fails(tmp_path, capsys):
    path = tmp_path / "a.md"
    path.write_text("Run it anew.\n", encoding="utf-8")
    assert lint_prose.main([str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == [f"{path}:1: 'anew' -> again"]
    path.write_text("Run it again.\n", encoding="utf-8")
    assert lint_prose.main([str(path)]) == 0
