"""Test the commands `coginst book` and `coginst vendor`."""

import pytest
from typer.testing import CliRunner

from utils.book import site, vendor
from utils.cli.commands import app


def test_a_lesson_that_is_not_there_is_told(tmp_path):
    done = CliRunner().invoke(app, ["book", "77", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and "77" in done.output
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_else_in_it_is_told(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    done = CliRunner().invoke(app, ["book", "00", "--out", str(tmp_path)])
    assert done.exit_code == 2 and "--out" in done.output and (tmp_path / "mine.txt").is_file()


def test_a_copy_for_students_and_answers_of_an_absent_lesson_are_told_before_any_download(tmp_path, monkeypatch):
    monkeypatch.setattr(vendor, "fetch_packages", pytest.fail)
    absent = CliRunner().invoke(app, ["book", "04", "--with-solutions", "02", "--out", str(tmp_path / "out")])
    assert absent.exit_code == 2 and "02_simplified_attention" in absent.output
    monkeypatch.setattr(site, "ROOT", tmp_path)
    student = CliRunner().invoke(app, ["book", "--out", str(tmp_path / "out")])
    assert student.exit_code == 2 and "in a clone" in " ".join(student.output.split())


def test_vendor_names_what_goes_into_the_book():
    done = CliRunner().invoke(app, ["vendor"])
    assert done.exit_code == 0
    for package in vendor.PACKAGES:
        assert f"{package.name} {package.version}, {package.licence}" in done.output
