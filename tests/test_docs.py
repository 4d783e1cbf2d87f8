"""The pages beside the course: papers, data, changelog and citation say what is so."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from utils import lessons
from utils.exercise import all_exercises

ROOT = Path(__file__).resolve().parent.parent
LESSONS = [lessons.read(path) for path in lessons.all_lessons()]


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def sections(text: str) -> dict[str, str]:
    return dict(part.partition("\n")[::2] for part in text.split("\n## ")[1:])


PAPERS = sections(page("docs/papers.md"))
# Authors. *Title.* Where, year. Which part. What the lesson takes from it.
ENTRY = re.compile(r"- (?P<authors>[^*]+?)[.] \*(?P<title>[^*]+)\*(?P<place>.*?\b(?P<year>19\d\d|20\d\d)\b.*?)\. (?P<part>[^.]*(?:\.\d[^.]*)*)\. (?P<why>.+\.)")


def test_every_lesson_has_its_papers_under_its_title():
    assert list(PAPERS) == [f"{lesson.stem[:2]} {lesson.title}" for lesson in LESSONS]


@pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.stem for lesson in LESSONS])
def test_each_paper_says_who_what_when_and_which_part(lesson):
    entries = [line for line in PAPERS[f"{lesson.stem[:2]} {lesson.title}"].splitlines() if line]
    for entry in entries:
        found = ENTRY.fullmatch(entry)
        assert found, entry
        part = found["part"]
        assert re.match(r"Sections? [\d.]+|The (whole|paragraph|part|empirical)|General discussion|\"", part), part
        assert found["why"].strip(), entry
    assert entries


@pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.stem for lesson in LESSONS])
def test_who_is_named_in_a_lesson_stands_on_the_page(lesson):
    prose = "\n".join(cell.source for cell in lesson.cells if cell.kind == "markdown")
    mine = PAPERS[f"{lesson.stem[:2]} {lesson.title}"]
    for name, year in re.findall(r"([A-ZŁ]\w+) and others \((\d{4})\)|([A-ZŁ]\w+) and others, (\d{4})", prose) and [
        (a or c, b or d) for a, b, c, d in re.findall(r"([A-ZŁ]\w+) and others \((\d{4})\)|([A-ZŁ]\w+) and others, (\d{4})", prose)
    ]:
        assert any(name in entry and year in entry for entry in mine.splitlines()), f"{name} {year}"


def test_a_paper_is_the_same_wherever_it_is_named():
    """One title, one year."""
    known = {}
    for text in PAPERS.values():
        for entry in filter(None, text.splitlines()):
            found = ENTRY.fullmatch(entry)
            first = re.split(r",| and ", found["authors"])[0]
            assert known.setdefault(found["title"], (first, found["year"])) == (first, found["year"])
    assert len(known) > 20


def test_every_shipped_file_has_a_licence():
    tracked = subprocess.run(["git", "ls-files", "utils/assets", "docs", "*.png", "*.safetensors"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    told = [cell.strip().strip("`") for row in re.findall(r"(?m)^\|(.+)\|$", page("docs/data.md")) for cell in row.split(" | ")[1:2]]
    places = [place for place in told if "/" in place]
    assert len(places) >= 7
    for name in tracked:
        if name.startswith("docs/") and name.endswith(".md"):
            continue
        cards = name.startswith("utils/assets/gpt2/")  # the table's own licence and card
        assert cards or any(name == place or place.endswith("/") and name.startswith(place) or Path(name).match(place) for place in places), name
    for place in places:
        assert list(ROOT.glob(place.rstrip("/"))), f"{place} is gone"


def test_what_the_page_on_data_says_of_the_files():
    text = page("docs/data.md")
    merges = [line for line in page("utils/assets/gpt2/vocab.bpe").splitlines() if line and not line.startswith("#version")]
    assert len(merges) == 50_000 and "50,000 lines" in text
    quoted = next(cell.source for cell in LESSONS[2].cells if "inputs = torch.tensor(" in cell.source)
    assert len(re.findall(r"\d\.\d\d", quoted)) == 18 and len(re.findall(r'"\w+"', quoted)) == 6 and "six words and their 18 numbers" in text
    for command in re.findall(r"`python (bench/\w+\.py) --write`", text):
        assert "--write" in page(command)
    names = {name for lesson in LESSONS if any("0.43, 0.15, 0.89" in cell.source for cell in lesson.cells) for name in [lesson.stem[:2]]}
    assert names and min(names) == "02" and max(names) <= "05"


def test_what_is_kept_about_learners_is_as_the_page_says(tmp_path, monkeypatch):
    from utils.progress import read, record

    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    record("start_here", "row_sums", "failed")
    assert set(read()["start_here"]["row_sums"]) == {"status", "tries", "when"}


def test_links_between_the_pages_lead_somewhere():
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))):
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", re.sub(r"```.*?```", "", page(name), flags=re.DOTALL)):
            assert ((ROOT / name).parent / link).exists(), f"{name} links to {link}"


def test_the_readme_leads_to_them():
    text = page("README.md")
    assert all(f"]({name})" in text for name in ("docs/papers.md", "docs/data.md", "docs/online.md", "CHANGELOG.md", "CITATION.cff"))


def test_version_and_licence_agree():
    version = re.search(r'(?m)^version = "(.+)"$', page("pyproject.toml"))[1]
    cited = yaml.safe_load(page("CITATION.cff"))
    assert cited["version"] == version and cited["license"] == "MIT" and cited["cff-version"] == "1.2.0"
    assert cited["title"] == page("README.md").splitlines()[0].removeprefix("# ")
    assert re.search(rf"(?m)^## {re.escape(version)}, {cited['date-released']}$", page("CHANGELOG.md"))


def test_the_changelog_counts_right():
    text = page("CHANGELOG.md")
    assert f"{len(all_exercises())} exercises" in text and f"00 to {LESSONS[-1].stem[:2]}" in text
    commands = set(re.findall(r"`coginst ([\w-]+)", text))
    from typer.main import get_command

    from utils.instructor.cli import app

    assert commands <= set(get_command(app).commands)
