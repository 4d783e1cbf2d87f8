"""Test `--nbgrader` without nbgrader, which is not in requirements.lock. test_real_gradebook.py uses the real one."""

from __future__ import annotations

import sys

from typer.testing import CliRunner

from tests.fresh_python import printed_output
from tests.grading.student_notebooks import reference_notebook
from utils.cli.commands import app


def test_without_nbgrader_nothing_is_graded_and_the_cure_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nbgrader", None)
    (tmp_path / "in" / "anna").mkdir(parents=True)
    (tmp_path / "in" / "anna" / "00_start_here.ipynb").write_bytes(reference_notebook("00"))
    (tmp_path / "gradebook.db").write_bytes(b"")
    out, book = tmp_path / "out", tmp_path / "gradebook.db"
    asked = ["grade", tmp_path / "in", "--out", out, "--isolation", "none", "--nbgrader", book, "--quiet"]
    done = CliRunner().invoke(app, [*map(str, asked)])
    assert done.exit_code == 2 and 'pip install -e ".[nbgrader]"' in done.stderr
    assert not out.exists() and book.read_bytes() == b""


def test_it_is_not_imported_unless_it_is_asked_for():
    code = "import sys; sys.modules['nbgrader'] = None; import utils.grading.reports.nbgrader_gradebook; print('here')"
    assert printed_output(code) == "here"
