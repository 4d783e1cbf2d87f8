"""Test the documents: the statements of papers, data, changelog and citation hold."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from utils import lessons
from utils.cli.commands import app
from utils.instructor.readme_counts import generate_counts, insert_counts
from utils.learner_data.progress import read_progress, record_attempt
from utils.lessons import ROOT

LESSONS = [lessons.read_lesson(path) for path in lessons.all_lessons()]
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.stem for lesson in LESSONS])


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def sections(text: str) -> dict[str, str]:
    return dict(part.partition("\n")[::2] for part in text.split("\n## ")[1:])


PAPERS = sections(page("docs/papers.md"))
# Format: Authors. *Title.* Place, year. The part to read. Its use in the lesson.
ENTRY = re.compile(
    r"- (?P<authors>[^*]+?)[.] \*(?P<title>[^*]+)\*(?P<place>.*?\b(?P<year>19\d\d|20\d\d)\b.*?)\."
    r" (?P<part>[^.]*(?:\.\d[^.]*)*)\. (?P<why>.+\.)"
)


def heading(lesson) -> str:
    return f"{lesson.stem[:2]} {lesson.title}"


def entries(section: str) -> list[str]:
    return [line for line in section.splitlines() if line]


def test_every_lesson_has_its_papers_under_its_title():
    assert list(PAPERS) == [heading(lesson) for lesson in LESSONS]


@each_lesson
def test_each_paper_says_who_what_when_and_which_part(lesson):
    papers = entries(PAPERS[heading(lesson)])
    for entry in papers:
        match = ENTRY.fullmatch(entry)
        assert match, entry
        part = match["part"]
        assert re.match(r"Sections? [\d.]+|The (whole|paragraph|part|empirical)|General discussion|\"", part), part
        assert match["why"].strip(), entry
    assert papers


@each_lesson
def test_authors_named_in_a_lesson_are_on_the_page(lesson):
    prose = "\n".join(cell.source for cell in lesson.cells if cell.kind == "markdown")
    for name, year in re.findall(r"([A-ZŁ]\w+) and others(?:, | \()(\d{4})", prose):
        assert any(name in entry and year in entry for entry in entries(PAPERS[heading(lesson)])), f"{name} {year}"


def test_a_title_has_the_same_author_and_year_everywhere():
    known = {}
    for match in (ENTRY.fullmatch(entry) for text in PAPERS.values() for entry in entries(text)):
        first = re.split(r",| and ", match["authors"])[0]
        assert known.setdefault(match["title"], (first, match["year"])) == (first, match["year"])
    assert len(known) > 20


def test_every_shipped_file_has_a_licence():
    command = "git ls-files utils/assets docs *.png *.safetensors".split()
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout.split()
    table = re.findall(r"(?m)^\|(.+)\|$", page("docs/data.md"))
    places = [place for row in table for cell in row.split(" | ")[1:2] if "/" in (place := cell.strip().strip("`"))]
    assert len(places) >= 7
    for name in tracked:
        listed = any(name == p or (p.endswith("/") and name.startswith(p)) or Path(name).match(p) for p in places)
        exempt = name.startswith("utils/assets/gpt2/")  # This folder contains its own licence and card.
        assert listed or exempt or re.fullmatch(r"docs/.*\.md", name), name
    for place in places:
        assert list(ROOT.glob(place.rstrip("/"))), f"{place} is gone"


def test_the_facts_about_files_on_the_page_on_data():
    text = page("docs/data.md")
    merges = [line for line in entries(page("utils/assets/gpt2/vocab.bpe")) if not line.startswith("#version")]
    assert len(merges) == 50_000 and "50,000 lines" in text
    quoted = next(cell.source for cell in LESSONS[2].cells if "inputs = torch.tensor(" in cell.source)
    counts = [len(re.findall(pattern, quoted)) for pattern in (r"\d\.\d\d", r'"\w+"')]
    assert counts == [18, 6] and "six words and their 18 numbers" in text
    for command in re.findall(r"`python (bench/\w+\.py) --write`", text):
        assert "--write" in page(command)
    names = {lesson.stem[:2] for lesson in LESSONS if any("0.43, 0.15, 0.89" in cell.source for cell in lesson.cells)}
    assert names and min(names) == "02" and max(names) <= "05"


def test_progress_stores_only_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    record_attempt("start_here", "row_sums", "failed")
    assert set(read_progress()["start_here"]["row_sums"]) == {"status", "tries", "when", "answer"}


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")], ids=lambda path: path.name)
def test_links_between_the_pages_have_targets(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (path.parent / link).exists(), f"{path.name} links to {link}"


def test_the_readme_links_to_the_documents():
    for name in ("docs/papers.md", "docs/data.md", "docs/online.md", "CHANGELOG.md", "CITATION.cff"):
        assert f"]({name})" in page("README.md")


def test_version_and_licence_agree():
    version = re.search(r'(?m)^version = "(.+)"$', page("pyproject.toml"))[1]
    cited = yaml.safe_load(page("CITATION.cff"))
    assert cited["version"] == version and cited["license"] == "MIT" and cited["cff-version"] == "1.2.0"
    assert cited["title"] == page("README.md").splitlines()[0].removeprefix("# ")
    assert re.search(rf"(?m)^## {re.escape(version)}, {cited['date-released']}$", page("CHANGELOG.md"))


def test_the_numbers_in_the_readme_are_generated():
    parts = generate_counts()
    assert insert_counts(page("README.md"), parts) == page("README.md"), "run `coginst ready LESSON`"
    for text in ("Of [12 mutants]", "Of [1 mutants] or of [2 mutants]"):
        with pytest.raises(ValueError, match="should contain one text"):
            insert_counts(text, parts)


def test_the_changelog_names_commands_that_exist():
    commands = set(re.findall(r"`coginst (\w[\w-]*)", page("CHANGELOG.md")))
    assert commands <= set(get_command(app).commands)
