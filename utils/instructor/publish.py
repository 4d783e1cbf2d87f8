"""Publish releases on a git branch that learners pull with nbgitpuller, and print the links for pulling.

nbgitpuller merges a branch into a learner's copy, so published commits must never change: each release is one new
commit on top of the previous release. Learners can read all commits of the branch, so it must contain only releases.
This module writes the commit with git's plumbing commands, so the work tree and its index do not change.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from utils import lessons
from utils.instructor import online_links
from utils.instructor.release import release
from utils.lessons import ROOT
from utils.lessons.updates import UPDATES, record_updates

FOLDER = "attention"  # the folder in a learner's home that nbgitpuller creates
_TRAILER = "Published-by"  # the key of the line that this module adds to each commit message
_MAKER = "coginst publish"
_README = Path(__file__).parent / "templates" / "hub" / "README.md"  # for a hub, where learners install nothing
_DEPLOYMENT = "deploy/hub"  # an administrator installs the hub from the same branch
# Files that learners and their programs write beside the lessons. A pull leaves these files unchanged.
_UNTRACKED = ".venv/\n*.egg-info/\n__pycache__/\n.ipynb_checkpoints/\n.progress.json*\n.workspaces/\n.home/\n"
_ABSENT = "0" * 40  # `git update-ref` reads this value as "the branch must not exist"


class PublishError(ValueError):
    """The release or the links cannot be created. No branch was changed; the message says what to do."""


class _GitError(PublishError):
    """A git command failed."""


@dataclass(frozen=True)
class PublishSummary:
    """The commit that contains the release, and how the release differs from the previous one.

    Attributes:
        branch: the local branch that contains the release.
        commit: the hash of the branch's last commit.
        changed_files: the files that differ from the previous release; empty if the releases are equal.
        is_first: whether this is the first release of the branch.
    """

    branch: str
    commit: str
    changed_files: list[str]
    is_first: bool


def publish(branch: str, with_solutions: Iterable[str] = (), root: Path = ROOT) -> PublishSummary:
    """Add a release to a local branch as one commit. If the last commit contains the same release, change nothing.

    Args:
        branch: the name of the branch, which is created if it does not exist. If only a remote has the branch, the
            new commit is placed on top of the remote's last commit.
        with_solutions: the lessons whose answers the release contains.

    Raises:
        PublishError: `root` is not in a git repository; `branch` is not a valid name, is checked out, or contains
            a commit that is not a release; or git has no name and email address for the commit.
        ReleaseError, MarkerError, BuildError, LessonError: same as in a release.
    """
    _require_repository(root, branch)
    own, parent = _find_commit(root, f"refs/heads/{branch}"), _last_release(root, branch)
    if parent:
        _require_only_releases(root, branch, parent)
    with tempfile.TemporaryDirectory(prefix="coginst-publish-") as folder:
        packed = release(Path(folder) / f"{FOLDER}.zip", with_solutions, root=root).path
        with zipfile.ZipFile(packed) as files:
            files.extractall(folder)
        _add_hub_files(root, Path(folder) / FOLDER, parent)
        tree = _write_tree(root, Path(folder))
    changed = _git(root, "diff-tree", "-r", "--name-only", "-z", parent, tree).split("\0")[:-1] if parent else []
    if parent and not changed:
        commit = parent
    else:
        version = online_links.read_pyproject(root)["project"]["version"]
        number = _count_commits(root, parent) + 1 if parent else 1
        message = f"Release {number}, version {version}\n\n{_TRAILER}: {_MAKER}\n"
        commit = _git(root, "commit-tree", tree, *(("-p", parent) if parent else ()), input=message).strip()
    _git(root, "update-ref", f"refs/heads/{branch}", commit, own or _ABSENT)
    return PublishSummary(branch, commit, changed, parent is None)


def iter_published_copies(stem: str, root: Path = ROOT) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each student copy of a lesson, from every published release in the clone.

    Yield nothing if git is not installed, or if `root` is not in a clone.
    """
    names = [f"course/{stem}{suffix}" for suffix in (".md", ".ipynb")]
    try:
        found = _git(root, "log", "--all", "--format=%H", f"--grep=^{_TRAILER}: {_MAKER}$", "--", *names)
    except PublishError:
        return
    for commit in found.split():
        for name in _git(root, "ls-tree", "--name-only", "-z", commit, *names).split("\0")[:-1]:
            yield Path(name).name, _git(root, "show", f"{commit}:{name}").encode()


def _git(root: Path, *arguments: str, input: str = "", index: Path | None = None) -> str:
    """Run git and return its output.

    Raises:
        PublishError: git is not installed.
        _GitError: git failed.
    """
    environment = os.environ | ({"GIT_INDEX_FILE": str(index)} if index else {})
    command = ["git", "-c", "safe.directory=*", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, input=input, capture_output=True, encoding="utf-8", env=environment)
    except OSError as error:
        raise PublishError(f"git cannot run ({error.strerror}). Install git, and run this command again.") from None
    if done.returncode:
        raise _GitError(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout


def _find_commit(root: Path, ref: str) -> str | None:
    """Return the hash of the commit that `ref` names, or None if there is no such ref."""
    return _git(root, "for-each-ref", "--format=%(objectname)", ref).strip() or None


def _require_repository(root: Path, branch: str) -> None:
    """Check that `root` is in a git repository, and that a commit can be written to this branch.

    Raises:
        PublishError: a check failed.
    """
    try:
        _git(root, "rev-parse", "--git-dir")
    except _GitError:
        raise PublishError(
            f"{root} is not in a git repository, and a release is published as a commit. Publish from a clone of the"
            " course."
        ) from None
    _require_branch_name(root, branch)
    if place := _git(root, "for-each-ref", "--format=%(worktreepath)", f"refs/heads/{branch}").strip():
        raise PublishError(
            f"The branch {branch} is checked out in {place}. Name a branch that contains only releases, such as hub."
        )
    try:
        _git(root, "-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
    except _GitError:
        raise PublishError(
            "git does not know your name and email address, which every commit contains. Set them: git config"
            ' user.name "Your Name", and git config user.email you@example.org.'
        ) from None


def _require_branch_name(root: Path, branch: str) -> None:
    try:
        _git(root, "check-ref-format", "--branch", branch)
    except _GitError:
        raise PublishError(f"{branch!r} is not a valid name of a git branch. Choose a name such as hub.") from None


def _last_release(root: Path, branch: str) -> str | None:
    """Return the last commit of the local or remote branch, or None if there is no such branch.

    Raises:
        PublishError: the local and remote copies of the branch have diverged.
    """
    refs = _git(root, "for-each-ref", "--format=%(objectname) %(refname)", f"refs/heads/{branch}", "refs/remotes")
    tips = {
        name: commit
        for commit, name in (line.split(" ") for line in refs.splitlines())
        if name.startswith("refs/heads/") or name.split("/", 3)[3] == branch
    }
    if not tips:
        return None
    # `newest` is the tip with the longest history. If this history lacks a commit of another tip, the copies of the
    # branch have diverged.
    newest = max(tips.values(), key=lambda commit: _count_commits(root, commit))
    if _count_commits(root, *tips.values()) > _count_commits(root, newest):
        raise PublishError(
            f"{' and '.join(sorted(tips))} have different commits, so a push would be rejected. Keep the branch that"
            " learners pull, and delete the other one with `git branch -D` or `git push --delete`."
        )
    return newest


def _count_commits(root: Path, *commits: str) -> int:
    """Return the number of commits in the history of `commits`, including `commits` themselves."""
    return int(_git(root, "rev-list", "--count", *commits))


def _require_only_releases(root: Path, branch: str, commit: str) -> None:
    """Check that each commit of the branch is a release.

    Raises:
        PublishError: a commit is not a release.
    """
    listing = f"--format=%h %s%x09%(trailers:key={_TRAILER},valueonly,separator=%x20)"
    for line in _git(root, "log", listing, commit).splitlines():
        shown, _, maker = line.rpartition("\t")
        if maker.strip() != _MAKER:
            raise PublishError(
                f"The branch {branch} contains a commit that `coginst publish` did not write: {shown}. Learners can"
                " read every commit of the branch. Name a new branch, such as hub."
            )


def _add_hub_files(root: Path, top: Path, parent: str | None) -> None:
    """Add the files that only a hub needs. `top` is the new release's folder, `parent` the last release's commit."""
    before = _read_texts(root, parent) if parent else {}
    after = {path.name: path.read_bytes() for path in (top / "course").glob("*.md")}
    earlier = before.pop(UPDATES, b"")
    (top / "course" / UPDATES).write_bytes(record_updates(before, after, earlier))  # `progress()` reads this file
    (top / ".gitignore").write_text(_UNTRACKED, encoding="utf-8", newline="\n")
    shutil.copy2(_README, top / "README.md")
    for name in _git(root, "ls-files", "-z", "--", _DEPLOYMENT).split("\0")[:-1]:
        if (root / name).is_file():  # git also lists tracked files that were deleted
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, top / name)


def _read_texts(root: Path, commit: str) -> dict[str, bytes]:
    """Return a release's lesson texts and its file `UPDATES`, by file name."""
    names = _git(root, "ls-tree", "--name-only", "-z", commit, "course/").split("\0")
    wanted = [name for name in names if name.endswith((".md", UPDATES))]
    return {Path(name).name: _git(root, "show", f"{commit}:{name}").encode() for name in wanted}


def _write_tree(root: Path, folder: Path) -> str:
    """Store the files of the release in git without filters, and return the hash of their tree."""
    top = folder / FOLDER
    paths = sorted(path for path in top.rglob("*") if path.is_file())
    names = [path.relative_to(top).as_posix() for path in paths]
    hashes = _git(
        root, "hash-object", "-w", "--no-filters", "--stdin-paths", input="".join(f"{path}\n" for path in paths)
    ).split()
    index = folder / "index"
    modes = ["100755" if path.stat().st_mode & stat.S_IXUSR else "100644" for path in paths]
    lines = "".join(f"{mode} {hash}\t{name}\0" for mode, hash, name in zip(modes, hashes, names))
    _git(root, "update-index", "-z", "--add", "--index-info", input=lines, index=index)
    return _git(root, "write-tree", index=index).strip()


# --- links ----------------------------------------------------------------------------------------------


def pull_links(
    hub: str, branch: str, names: Iterable[str] = (), repository: str | None = None, root: Path = ROOT
) -> dict[str, str]:
    """Return a link for each lesson. Each link pulls the branch into a learner's home on the hub, and opens the lesson.

    Args:
        hub: the address of the hub, such as https://hub.example.edu.
        branch: the branch that contains the releases.
        names: the names or numbers of the lessons (default: all).
        repository: the address from which learners fetch the branch without a password (default: the repository on
            GitHub that `pyproject.toml` names).

    Raises:
        PublishError: an address or the name of the branch is not valid, or the repository's address is unknown.
        LessonError: there is no such lesson.
    """
    repository = repository or _github_address(root)
    _require_address(hub, "hub", ("https", "http"), "https://hub.example.edu")
    _require_address(repository, "repository", ("https", "http", "file"), "https://github.com/owner/name")
    _require_branch_name(root, branch)
    folder = root / "solutions" if any((root / "solutions").glob("[0-9]*.md")) else root / "course"
    stems = [lessons.find_lesson(name, folder).stem for name in names]
    fixed = {"repo": repository, "branch": branch, "targetpath": FOLDER}
    return {
        stem: f"{hub.rstrip('/')}/hub/user-redirect/git-pull?"
        + urlencode({**fixed, "urlpath": f"lab/tree/{FOLDER}/course/{stem}.ipynb"}, quote_via=quote)
        for stem in stems or [path.stem for path in lessons.all_lessons(folder)]
    }


def _github_address(root: Path) -> str:
    """Return the address of the repository that `pyproject.toml` names.

    Raises:
        PublishError: the file contains only the placeholder.
    """
    name = online_links.repository_name(root)
    if name == online_links.UNSET:
        raise PublishError(
            "pyproject.toml does not name the repository that contains the branch. Add its address, such as"
            " --repository https://github.com/owner/name."
        )
    return f"https://github.com/{name}"


def _require_address(address: str, what: str, schemes: tuple[str, ...], example: str) -> None:
    """Check that a text is an address that may be part of a link.

    Raises:
        PublishError: the text is not such an address, or contains a user name or a password.
    """
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise PublishError(
            f"The address of the {what} contains a user name or a password, which all learners would read."
        )
    if parts.scheme not in schemes or not (parts.netloc or parts.scheme == "file") or parts.query or parts.fragment:
        raise PublishError(f"{address!r} is not the address of a {what}. Write an address such as {example}.")
