"""Test that hostile and damaged zips and folders are read safely, and that every refusal has a message."""

import io
import os
import re
import struct
import time
import zipfile

import pytest

from tests.grading.submission_files import read_tree, write_zip
from utils.grading.intake import archives
from utils.grading.intake.archives import MAX_FILE, ArchiveError, ArchiveLimits, iter_files


def refusals(source):
    """Return why each file of a source is refused, by path."""
    return {file.path.as_posix(): file.refusal for file in iter_files(source)}


def error_text(read, tmp_path):
    """Return the message of the error that `read` raises, without temporary paths and the reason that zipfile gives."""
    with pytest.raises(ArchiveError) as error:
        read()
    return re.sub(r"\(.*\)", "(REASON)", str(error.value).replace(str(tmp_path), "TMP"))


def read(source):
    return {file.path.as_posix(): file.read() for file in iter_files(source) if not file.refusal}


def test_a_folder_and_a_zip_of_it_hold_the_same(tmp_path):
    content = {"a/1.ipynb": b"one", "b/c/2.md": b"two", "3.txt": b""}
    for name, text in content.items():
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    assert read(tmp_path / "folder") == read(write_zip(tmp_path / "x.zip", content)) == content


def test_what_systems_leave_behind_is_passed_over(tmp_path):
    left = ("__MACOSX/a/._1.ipynb", "a/.DS_Store", ".ipynb_checkpoints/1.ipynb", "__pycache__/x.pyc")
    whole = write_zip(tmp_path / "x.zip", dict.fromkeys(left, b"x") | {"a/1.ipynb": b"1"})
    assert read(whole) == {"a/1.ipynb": b"1"}
    outer = write_zip(tmp_path / "outer.zip", {"anna/hw.zip": whole.read_bytes()})
    assert list(read(outer).values()) == [b"1"]  # a student's own zip holds them too


@pytest.mark.parametrize("others", [b"", b"\x01\x00\x02\x00ab"], ids=["alone", "after another field"])
def test_the_exact_time_of_a_zip_entry_comes_before_its_rounded_local_time(tmp_path, others):
    """Info-ZIP writes this field: tag, size, flags (bit 0: time of change), and the time in UTC."""
    entry = zipfile.ZipInfo("1.ipynb", (2026, 3, 1, 12, 0, 0))
    entry.extra = others + struct.pack("<HHBi", 0x5455, 5, 1, 1_700_000_001)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed:
        packed.writestr(entry, b"1")
    assert [file.mtime for file in iter_files(tmp_path / "x.zip")] == [1_700_000_001]


@pytest.mark.parametrize("extra", [b"", b"UT", b"UT\x05\x00\x01ab", b"UT\x05\x00\x02abcd", b"\x01\x00\xff\xffab"])
def test_without_an_exact_time_the_local_time_counts(tmp_path, extra):
    """The field is missing, cut off, without the time of change, or follows a field that is cut off."""
    entry = zipfile.ZipInfo("1.ipynb", (2026, 3, 1, 12, 0, 0))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed:
        packed.writestr(entry, b"1")
    entry.extra = extra
    assert archives._entry_mtime(entry) == time.mktime((2026, 3, 1, 12, 0, 0, 0, 0, -1))


@pytest.mark.parametrize(
    "name", ["../out.ipynb", "a/../../out.ipynb", "/etc/out.ipynb", "..\\out.ipynb", "C:/out.ipynb", "C:\\out.ipynb"]
)
def test_a_name_that_leads_out_is_refused_and_nothing_is_written(tmp_path, name, snapshot):
    (tmp_path / "in").mkdir()
    path = write_zip(tmp_path / "in" / "x.zip", {name: b"x", "good.ipynb": b"good"})
    (refusal,) = [why for why in refusals(path).values() if why]
    assert refusal == snapshot
    assert read(path) == {"good.ipynb": b"good"}, "the other files are read"
    assert list(read_tree(tmp_path)) == ["in/x.zip"]


def test_links_are_not_followed(tmp_path, snapshot):
    secret = tmp_path / "secret"
    secret.write_text("secret", encoding="utf-8")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "1.ipynb").write_text("secret", encoding="utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.ipynb").symlink_to(secret)
    (tmp_path / "in" / "folder").symlink_to(tmp_path / "secrets")
    packed = write_zip(tmp_path / "x.zip", {"1.ipynb": b"/etc/passwd"}, mode=0o120777)
    reasons = refusals(packed)["1.ipynb"], *refusals(tmp_path / "in").values()
    assert len(reasons) == 3 and set(reasons) == {reasons[0]} and reasons[0] == snapshot


def test_a_link_that_takes_a_file_s_place_is_not_followed(tmp_path):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "1.ipynb"
    path.write_text("mine", encoding="utf-8")
    (file,) = iter_files(tmp_path / "in")
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    with pytest.raises(ArchiveError):
        file.read()


def test_devices_and_pipes_are_not_opened(tmp_path, snapshot):
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "1.ipynb")  # Opening it would block for ever.
    packed = write_zip(tmp_path / "x.zip", {"1.ipynb": b""}, mode=0o060660)
    assert refusals(packed) == refusals(tmp_path / "in") == snapshot


def test_a_file_of_500_mb_is_refused_unread(tmp_path, snapshot):
    (tmp_path / "in").mkdir()
    with open(tmp_path / "in" / "1.ipynb", "wb") as file:
        file.truncate(500_000_000)  # The file is sparse and takes no space on the disk.
    assert refusals(tmp_path / "in") == snapshot


def test_a_file_is_refused_by_its_size_however_small_it_is_in_the_zip(tmp_path, snapshot):
    """A notebook that printed one line a million times is compressed as strongly as a zip bomb."""
    packed = write_zip(tmp_path / "x.zip", {"big.ipynb": bytes(MAX_FILE + 1), "dense.ipynb": bytes(2_000_000)})
    why = refusals(packed)
    assert why["big.ipynb"] == snapshot and why["dense.ipynb"] == ""
    assert [len(f.read()) for f in iter_files(packed) if not f.refusal] == [2_000_000]


def test_a_zip_that_lies_about_a_size_gives_no_more_than_it_said(tmp_path, snapshot):
    content = io.BytesIO()
    write_zip(content, {"1.ipynb": bytes(3_000_000)})
    lied = content.getvalue().replace(struct.pack("<I", 3_000_000), struct.pack("<I", 10))
    (tmp_path / "x.zip").write_bytes(lied)
    (file,) = iter_files(tmp_path / "x.zip")
    assert error_text(file.read, tmp_path) == snapshot


@pytest.mark.parametrize("limits", [ArchiveLimits(5, 10**9), ArchiveLimits(10, 29)], ids=["files", "bytes"])
def test_too_many_files_or_bytes_refuse_the_whole_zip(tmp_path, monkeypatch, limits, snapshot):
    packed = write_zip(tmp_path / "x.zip", {f"{n}": b"12345" for n in range(6)})
    monkeypatch.setattr(archives, "OUTER", limits)
    assert error_text(lambda: list(iter_files(packed)), tmp_path) == snapshot


def test_a_zip_in_a_zip_is_opened_and_one_deeper_is_not(tmp_path):
    inner, middle = io.BytesIO(), io.BytesIO()
    write_zip(inner, {"1.ipynb": b"deep"})
    write_zip(middle, {"work/1.ipynb": b"one", "more.zip": inner.getvalue()})
    packed = write_zip(tmp_path / "x.zip", {"ada/my work.zip": middle.getvalue()})
    found = read(packed)
    assert found["ada/my work.zip/work/1.ipynb"] == b"one"
    assert list(found) == ["ada/my work.zip/work/1.ipynb", "ada/my work.zip/more.zip"]


def test_a_student_s_bomb_is_refused_and_other_files_are_read(tmp_path, monkeypatch, snapshot):
    inner = io.BytesIO()
    write_zip(inner, {f"{n}.ipynb": b"12345" for n in range(6)})
    monkeypatch.setattr(archives, "INNER", ArchiveLimits(5, 10**9))
    why = refusals(write_zip(tmp_path / "x.zip", {"ada.zip": inner.getvalue(), "alan.ipynb": b"x"}))
    assert why["ada.zip"] == snapshot and why["alan.ipynb"] == ""


@pytest.mark.parametrize("name", ["broken.zip", "missing.zip"])
def test_a_source_that_is_not_a_zip_is_refused(tmp_path, name, snapshot):
    (tmp_path / "broken.zip").write_bytes(b"no zip")
    assert error_text(lambda: list(iter_files(tmp_path / name)), tmp_path) == snapshot


def test_a_student_s_file_that_is_damaged_or_locked_is_refused(tmp_path, snapshot):
    broken = refusals(write_zip(tmp_path / "y.zip", {"ada.zip": b"no zip"}))["ada.zip"]
    assert re.sub(r"\(.*\)", "(REASON)", broken) == snapshot
    content = bytearray(write_zip(tmp_path / "z.zip", {"1.ipynb": b"some text, some text"}).read_bytes())
    content[40] ^= 0xFF
    (tmp_path / "z.zip").write_bytes(content)
    (file,) = iter_files(tmp_path / "z.zip")
    assert error_text(file.read, tmp_path) == snapshot
    locked = bytearray(write_zip(tmp_path / "l.zip", {"1.ipynb": b"x"}).read_bytes())
    for start in (zipfile.stringFileHeader, zipfile.stringCentralDir):
        locked[locked.index(start) + (6 if start == zipfile.stringFileHeader else 8)] |= 1
    (tmp_path / "l.zip").write_bytes(locked)
    assert refusals(tmp_path / "l.zip") == snapshot
