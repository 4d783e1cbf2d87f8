"""Test `coginst publish`, whose branch only grows, and `coginst link`."""

import json
import os
import re
import subprocess
import zipfile
from functools import partial
from urllib.parse import parse_qsl, urlsplit

import pytest
from typer.testing import CliRunner

from tests.instructor.small_course import git
from utils.cli.commands import app
from utils.instructor import publish as publishing
from utils.instructor.publish import PublishError, publish, pull_links
from utils.instructor.release import ReleaseError, release
from utils.lessons.updates import find_outdated_cells

NOBODY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}  # no identity and no filters of this machine


@pytest.fixture
def clone(small, monkeypatch):
    """Return a course with one commit on `main`, in which git knows its user."""
    for name, value in NOBODY.items():
        monkeypatch.setenv(name, value)
    git(small, "config", "user.name", "Ada")
    git(small, "config", "user.email", "ada@example.org")
    git(small, "symbolic-ref", "HEAD", "refs/heads/main")
    git(small, "commit", "--quiet", "-m", "With answers")
    return small


def change_lesson(root, words):
    """Change the text of the lesson, but not its answer."""
    path = root / "solutions" / "04_turn.md"
    path.write_text(path.read_text(encoding="utf-8").replace("# T\n", f"# T\n\n{words}\n"), encoding="utf-8")


def read_commit(root, commit):
    """Return the files of a commit, {path: content}, as git itself unpacks them."""
    packed = root.parent / "commit.zip"
    git(root, "archive", "--output", packed, commit)
    with zipfile.ZipFile(packed) as files:
        return {name: files.read(name) for name in files.namelist() if not name.endswith("/")}


def read_zip(path):
    with zipfile.ZipFile(path) as files:
        return {name.partition("/")[2]: files.read(name) for name in files.namelist()}


def state(root):
    """Return all refs, the work tree's differences and the staged files."""
    return git(root, "for-each-ref"), git(root, "status", "--porcelain"), git(root, "ls-files", "--stage")


# --- commits ------------------------------------------------------------------------------------------


def test_the_commit_contains_the_release_byte_by_byte(clone, tmp_path):
    (clone / "utils" / "crlf.txt").write_bytes(b"one\r\ntwo\n")
    git(clone, "add", "--all")
    git(clone, "config", "core.autocrlf", "input")  # this filter would change the file
    done = publish("hub", root=clone)
    assert done.is_first and done.branch == "hub"
    files = read_commit(clone, "hub")
    assert files.pop(".gitignore") and files.pop("course/.updates.json") == b"{}\n"
    packed = read_zip(release(tmp_path / "attention.zip", root=clone).path)
    assert b"a link" in files.pop("README.md") and b"make lab" in packed.pop(
        "README.md"
    )  # hub learners install nothing
    assert files == packed and "utils/crlf.txt" in files


def test_an_administrator_installs_the_hub_from_the_same_branch(clone):
    (clone / "deploy" / "hub").mkdir(parents=True)
    for name, mode in (("install", 0o755), ("values.yaml", 0o644), ("own-notes", 0o644)):
        (clone / "deploy" / "hub" / name).write_text(name, encoding="utf-8")
        (clone / "deploy" / "hub" / name).chmod(mode)
    git(clone, "add", "deploy/hub/install", "deploy/hub/values.yaml")
    publish("hub", root=clone)
    listed = git(clone, "ls-tree", "-r", "--format=%(objectmode) %(path)", "hub", "deploy").splitlines()
    assert listed == ["100755 deploy/hub/install", "100644 deploy/hub/values.yaml"]


def test_the_branch_lists_the_cells_that_releases_changed(clone):
    """A learner may skip a release, so the list of a release also contains the changes of earlier releases."""
    publish("hub", root=clone)
    for words in ("Second.", "Third."):
        change_lesson(clone, words)
        publish("hub", root=clone)
    table = json.loads(git(clone, "show", "hub:course/.updates.json"))
    befores = {update["before"] for update in table["04_turn"]}
    assert len(befores) == 2 and sum("Second." in before for before in befores) == 1
    assert all("Third." in update["after"] for update in table["04_turn"])


@pytest.mark.parametrize("old, new, listed", [("# T", "# T and my note", True), ("Each row", "My row", False)])
def test_an_update_is_listed_if_the_pull_kept_the_learners_line(clone, tmp_path, old, new, listed):
    """The release changes the first cell. The learner edits a line of the notebook's file, and nbgitpuller merges."""
    publish("hub", root=clone)
    home = tmp_path / "attention"
    subprocess.run(["git", "clone", "--quiet", "--branch", "hub", clone, home], check=True)
    git(home, "config", "user.name", "Bob")
    git(home, "config", "user.email", "bob@example.org")
    path = home / "course" / "04_turn.ipynb"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    change_lesson(clone, "A sentence of the second release.")
    publish("hub", root=clone)
    git(home, "commit", "--quiet", "--all", "-m", "Automatic commit by nbgitpuller")
    git(home, "pull", "--quiet", "--no-rebase", "--no-edit", "--strategy-option=ours")
    assert new in path.read_text(encoding="utf-8")
    assert ["second release" in update.after for update in find_outdated_cells(path)] == [True] * listed


def test_git_ignores_what_learners_write_beside_the_lessons(clone, tmp_path):
    publish("hub", root=clone)
    home = tmp_path / "attention"
    subprocess.run(["git", "clone", "--quiet", "--branch", "hub", clone, home], check=True)
    for name in (".progress.json", ".progress.json.sentence", ".workspaces/lab.json", ".ipynb_checkpoints/04.ipynb"):
        (home / "course" / name).parent.mkdir(exist_ok=True)
        (home / "course" / name).write_text("mine", encoding="utf-8")
    assert git(home, "status", "--porcelain") == ""


def test_a_second_release_is_one_commit_on_top_of_the_first(clone):
    first = publish("hub", root=clone).commit
    change_lesson(clone, "A second sentence.")
    second = publish("hub", root=clone)
    assert not second.is_first
    assert second.changed_files == [
        "course/.updates.json",
        "course/04_turn.ipynb",
        "course/04_turn.md",
        "utils/assets/first/04_turn.md",
    ]
    assert git(clone, "rev-list", "hub").split() == [second.commit, first]
    subjects = git(clone, "log", "--format=%s", "hub").splitlines()
    assert [subject.split(",")[0] for subject in subjects] == ["Release 2", "Release 1"]
    assert "A second sentence." in git(clone, "show", "hub:course/04_turn.md")


def test_the_same_release_again_changes_nothing(clone):
    publish("hub", root=clone)
    before = state(clone)
    assert publish("hub", root=clone).changed_files == [] and state(clone) == before


def test_the_work_tree_and_staged_changes_stay_as_they_are(clone):
    change_lesson(clone, "Staged.")
    git(clone, "add", "--all")
    change_lesson(clone, "Not staged.")
    (clone / "notes.txt").write_text("mine", encoding="utf-8")
    before = state(clone)
    publish("hub", root=clone)
    after = state(clone)
    assert before[1:] == after[1:] and before[0] in after[0]
    assert "Not staged." in git(clone, "show", "hub:course/04_turn.md"), "a release is built from the files"


def test_answers_are_in_the_branch_only_if_they_are_named(clone):
    publish("hub", root=clone)
    assert not [name for name in read_commit(clone, "hub") if name.startswith("solutions/")]
    assert publish("hub", ["turn"], root=clone).changed_files[-2:] == ["solutions/04_turn.md", "solutions/__init__.py"]


def test_a_clone_continues_the_branch_of_its_remote(clone, tmp_path):
    """On another machine, only the remote has the branch. A new first commit would be rejected by every learner."""
    first = publish("hub", root=clone).commit
    other = tmp_path / "other"
    subprocess.run(["git", "clone", "--quiet", clone, other], check=True)
    git(other, "config", "user.name", "Bob")
    git(other, "config", "user.email", "bob@example.org")
    assert publish("hub", root=other).commit == first and git(other, "rev-parse", "hub").strip() == first
    change_lesson(other, "From the other machine.")
    second = publish("hub", root=other).commit
    git(other, "push", "--quiet", "origin", "hub")  # git rejects this push unless the branch only grows
    assert git(clone, "rev-list", "hub").split() == [second, first]


def test_a_branch_that_is_behind_its_remote_is_moved_forward(clone, tmp_path):
    first = publish("hub", root=clone).commit
    change_lesson(clone, "Second.")
    second = publish("hub", root=clone).commit
    git(clone, "update-ref", "refs/remotes/origin/hub", second)
    git(clone, "update-ref", "refs/heads/hub", first)
    assert publish("hub", root=clone).commit == second == git(clone, "rev-parse", "hub").strip()


# --- refusals -----------------------------------------------------------------------------------------


def refusal(root, branch="hub"):
    """Publish, and return the message of the error. Nothing may have changed."""
    before = state(root)
    with pytest.raises(PublishError) as error:
        publish(branch, root=root)
    assert state(root) == before
    return str(error.value).replace(str(root), "ROOT")


def test_a_branch_with_other_commits_is_refused(clone, snapshot):
    git(clone, "branch", "old")
    git(clone, "config", "core.abbrev", "40")
    assert refusal(clone, "old").replace(git(clone, "rev-parse", "old").strip(), "HASH") == snapshot


def test_a_release_on_top_of_other_commits_is_refused(clone):
    """The last commit is a release, but the history below it contains the answers."""
    git(clone, "branch", "hub")
    message = "Release 1\n\nPublished-by: coginst publish\n"
    commit = git(clone, "commit-tree", "hub^{tree}", "-p", "hub", "-m", message).strip()
    git(clone, "update-ref", "refs/heads/hub", commit)
    assert "With answers" in refusal(clone)


def test_the_branch_that_is_checked_out_is_refused(clone, snapshot):
    assert refusal(clone, "main") == snapshot


def test_branches_that_diverge_are_refused(clone, snapshot):
    """Two machines have each published a release on top of the first."""
    first = publish("hub", root=clone).commit
    change_lesson(clone, "Published there.")
    there = publish("hub", root=clone).commit
    git(clone, "update-ref", "refs/heads/hub", first)
    change_lesson(clone, "Published here.")
    publish("hub", root=clone)
    git(clone, "update-ref", "refs/remotes/origin/hub", there)
    assert refusal(clone) == snapshot


@pytest.mark.parametrize("name", ["", "a b", "-x", "hub..1", "hub.lock"])
def test_a_name_that_git_does_not_allow_is_refused(clone, name):
    assert refusal(clone, name) == f"{name!r} is not a valid name of a git branch. Choose a name such as hub."


def test_without_an_identity_the_message_says_how_to_set_it(clone, snapshot, monkeypatch):
    git(clone, "config", "--unset", "user.email")
    monkeypatch.delenv("EMAIL", raising=False)
    assert refusal(clone) == snapshot


def test_outside_a_repository(clone, snapshot, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(clone.parent))
    (clone / ".git").rename(clone / "gone")
    with pytest.raises(PublishError) as error:
        publish("hub", root=clone)
    assert str(error.value).replace(str(clone), "ROOT") == snapshot


def test_without_git(clone, monkeypatch, snapshot):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PublishError) as error:
        publish("hub", root=clone)
    assert str(error.value).replace(str(clone), "ROOT") == snapshot


def test_a_release_with_an_answer_in_it_is_not_published(clone):
    (clone / "utils" / "old.md").write_text((clone / "solutions" / "04_turn.md").read_text("utf-8"), encoding="utf-8")
    git(clone, "add", "--all")
    before = state(clone)
    with pytest.raises(ReleaseError):
        publish("hub", root=clone)
    assert state(clone) == before


def test_a_commit_of_another_process_is_not_overwritten(clone, monkeypatch):
    """Another `coginst publish` finishes while this one writes its tree."""
    publish("hub", root=clone)
    write_tree = publishing._write_tree

    def write_tree_slowly(*arguments):
        git(clone, "update-ref", "refs/heads/hub", "main")
        return write_tree(*arguments)

    change_lesson(clone, "Second.")
    monkeypatch.setattr(publishing, "_write_tree", write_tree_slowly)
    with pytest.raises(PublishError, match="update-ref failed"):
        publish("hub", root=clone)
    assert git(clone, "rev-parse", "hub") == git(clone, "rev-parse", "main")


def test_the_command_prints_what_to_do_next(clone, snapshot, monkeypatch):
    monkeypatch.setattr(publishing, "publish", partial(publish, root=clone))
    outputs = [CliRunner().invoke(app, ["publish", "hub"]).output for _ in range(2)]
    change_lesson(clone, "Second.")
    outputs += [CliRunner().invoke(app, ["publish", name]).output for name in ("hub", "main")]
    assert [
        re.sub("Commit [0-9a-f]{10}", "Commit HASH", text.replace(str(clone), "ROOT")) for text in outputs
    ] == snapshot


# --- links --------------------------------------------------------------------------------------------

HUB, REPOSITORY = "https://hub.example.edu", "https://github.com/ada/attention"


def test_a_link_names_everything_that_nbgitpuller_needs():
    (url,) = pull_links(HUB, "hub/2026", ["02"], REPOSITORY).values()
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "hub.example.edu", "/hub/user-redirect/git-pull")
    assert dict(parse_qsl(parts.query)) == {
        "repo": REPOSITORY,
        "branch": "hub/2026",
        "targetpath": "attention",
        "urlpath": "lab/tree/attention/course/02_simplified_attention.ipynb",
    }


def test_the_hub_may_have_a_prefix_and_every_lesson_gets_a_link(clone):
    links = pull_links("http://example.edu/jupyter/", "hub", repository=REPOSITORY, root=clone)
    assert list(links) == ["04_turn"]
    assert links["04_turn"].startswith("http://example.edu/jupyter/hub/user-redirect/git-pull?")


def test_the_repository_on_github_is_the_default(clone):
    project = clone / "pyproject.toml"
    project.write_text(project.read_text("utf-8").replace('"OWNER/NAME"', '"ada/attention"'), encoding="utf-8")
    (url,) = pull_links(HUB, "hub", root=clone).values()
    assert dict(parse_qsl(urlsplit(url).query))["repo"] == REPOSITORY


@pytest.mark.parametrize(
    "arguments",
    [
        ["hub.example.edu", "hub", "--repository", REPOSITORY],
        ["ftp://hub.example.edu", "hub", "--repository", REPOSITORY],
        [f"{HUB}?next=x", "hub", "--repository", REPOSITORY],
        [HUB, "a b", "--repository", REPOSITORY],
        [HUB, "hub", "99", "--repository", REPOSITORY],
        [HUB, "hub", "--repository", "git@github.com:ada/attention.git"],
        [HUB, "hub", "--repository", "https://ada:secret@example.org/attention"],
        [HUB, "hub", "--repository", "ada/attention"],
        [HUB, "hub"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_a_wrong_argument_gets_a_message(arguments, snapshot):
    done = CliRunner().invoke(app, ["link", *arguments])
    assert done.exit_code == 2 and done.stdout == ""
    assert done.stderr == snapshot
