"""Test that only the pinned packages are taken from npm."""

import hashlib
import io
import tarfile

import pytest

from utils.book import vendor
from utils.book.vendor import Package, VendorError, package_files

FILES = {
    "package/LICENSE": b"Do what you like.",
    "package/es5/main.js": b"let x = 1;",
    "package/es5/fonts/A.woff": b"letters",
    "package/src/main.ts": b"not wanted",
}


def packed(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as made:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            made.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


RIGHT = packed(FILES)
PACKAGE = Package(
    "maths", "1.2.3", hashlib.sha256(RIGHT).hexdigest(), "MIT", ("LICENSE", "es5/main.js", "es5/fonts/*.woff"), "es5/"
)


class Npm:
    """A fake npm that writes the given content and records the requested packages."""

    def __init__(self, content=RIGHT, output="npm notice"):
        self.content, self.output, self.requested = content, output, []

    def __call__(self, package, into):
        self.requested.append(package)
        if self.content is not None:
            (into / PACKAGE.archive_name).write_bytes(self.content)
        return self.output


def test_a_package_is_fetched_once_at_its_version(tmp_path):
    npm = Npm()
    assert len(vendor.fetch_packages(tmp_path, [PACKAGE], npm)) == 1
    assert vendor.fetch_packages(tmp_path, [PACKAGE], npm) == []
    assert npm.requested == ["maths@1.2.3"]


def test_the_book_gets_the_files_that_it_names_and_the_licence(tmp_path):
    vendor.fetch_packages(tmp_path, [PACKAGE], Npm())
    expected = {"LICENSE": b"Do what you like.", "main.js": b"let x = 1;", "fonts/A.woff": b"letters"}
    assert package_files(PACKAGE, tmp_path) == expected


def test_another_content_is_refused_and_not_kept(tmp_path):
    other = packed({**FILES, "package/es5/main.js": b"let x = 2;"})
    with pytest.raises(VendorError, match=hashlib.sha256(other).hexdigest()):
        vendor.fetch_packages(tmp_path, [PACKAGE], Npm(other))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_package_is_not_used_and_is_fetched_again(tmp_path):
    vendor.fetch_packages(tmp_path, [PACKAGE], Npm())
    (tmp_path / PACKAGE.archive_name).write_bytes(RIGHT[:-1])
    with pytest.raises(VendorError, match="coginst vendor"):
        package_files(PACKAGE, tmp_path)
    assert len(vendor.fetch_packages(tmp_path, [PACKAGE], Npm())) == 1
    assert package_files(PACKAGE, tmp_path)["main.js"] == b"let x = 1;"


def test_where_npm_gives_nothing_its_words_are_told(tmp_path):
    with pytest.raises(VendorError, match=r"maths 1\.2\.3 \(no network\)"):
        vendor.fetch_packages(tmp_path, [PACKAGE], Npm(None, "\nno network\n\n"))


def test_every_package_is_pinned_with_its_licence_and_told_of():
    from utils.lessons import ROOT

    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    for package in vendor.PACKAGES:
        assert len(package.sha256) == 64 and "LICENSE" in package.file_patterns
        row = next(line for line in page.splitlines() if f"`{package.name}` {package.version}" in line)
        assert package.licence in row
