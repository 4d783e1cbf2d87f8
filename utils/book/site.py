"""Build the web site from the lessons and the pages of `docs/`: write Sphinx's sources, then run Sphinx.

Everything is built in a work folder. The site replaces the output folder only if the site contains no answers.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import gzip
import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from string import Template
from typing import Any

from utils import lessons
from utils.book import landing, lesson_pages, vendor
from utils.book.lesson_outputs import CACHE_FOLDER, SCRIPTS, BookError, Outputs, collect_outputs
from utils.book.site_leaks import find_site_leaks
from utils.instructor import ipynb, online_links
from utils.lessons import ROOT, Lesson
from utils.lessons.files import hold_lock, replace_folder_atomically
from utils.show import html
from utils.show.circuitsvis import compressed_library
from utils.show.widget import read_script, read_shared

OUT, WORK = ROOT / "build" / "book", ROOT / "build" / "book-work"
LOOK = Path(__file__).parent / "look"
_DOCS = (
    "accessibility",
    "bench",
    "checks",
    "claims",
    "data",
    "grading",
    "hub",
    "instructors",
    "mutants",
    "online",
    "papers",
    "sources",
    "study",
)
DOCUMENTS = (*(f"docs/{name}.md" for name in _DOCS), "CONTRIBUTING.md", "CHANGELOG.md")
LEFT_OUT = (".buildinfo*", "*.map", "*webpack-macros.html")  # only Sphinx and theme authors need these files
READING = (
    '<p class="to-read">This page is for reading. In JupyterLab, you type your answers and check them: '
    '<a href="../index.html#do-it-yourself">how to start</a>.</p>'
)
MARKER_FILE = ".coginst-book"  # marks a folder that a build may replace
_LINK = re.compile(r"(!?)\[([^\]]+)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
_TO_LESSON = re.compile(r'href="(\d\d_\w+)\.ipynb(?:#[^"]*)?"')
_FENCED = re.compile(r"(?ms)^(```|~~~).*?^\1")


@dataclass(frozen=True)
class BookSummary:
    """A finished book: its folder, its number of pages, and its size in bytes."""

    path: Path
    page_count: int
    size_bytes: int


def build_book(
    out: Path = OUT,
    lesson_names: Iterable[str] = (),
    solved_lessons: Iterable[str] = (),
    log: Callable[[str], None] = lambda line: None,
    work_folder: Path = WORK,
    cache_folder: Path = CACHE_FOLDER,
) -> BookSummary:
    """Build the book, and replace the folder `out` with it.

    Args:
        lesson_names: numbers or names of the lessons in the book; by default, all lessons.
        solved_lessons: the lessons whose answers the book shows.
        log: called with one line for each slow step.
        work_folder: a folder for files that the next build can reuse.
        cache_folder: the folder with the lessons' outputs.

    Raises:
        BookError: a lesson does not run, Sphinx reports a warning, the site contains an answer, `out` contains
            something other than a book, this copy of the course lacks pages of the book, or a solved lesson is not in
            the book.
        VendorError: a package is missing and cannot be fetched.
        LessonError: there is no such lesson.
        OSError: the disk is full.
    """
    _require_own_folder(out)
    _require_clone()
    chosen = [lessons.find_lesson(name, ROOT / "solutions") for name in lesson_names] or lessons.all_lessons()
    course = [lessons.read_lesson(path) for path in sorted(chosen)]
    shown_stems = {lessons.find_lesson(name, ROOT / "solutions").stem for name in solved_lessons}
    if absent := sorted(shown_stems - {lesson.stem for lesson in course}):
        raise BookError(
            f"--with-solutions names {', '.join(absent)}, which this book does not contain. Add it to the lessons of"
            " the book, or leave out the option."
        )
    _require_sphinx()
    work_folder.mkdir(parents=True, exist_ok=True)
    waits = partial(log, f"Waiting for another `coginst book`, which is using {work_folder}")
    with hold_lock(work_folder / "lock", 0, waits):
        for line in vendor.fetch_packages():
            log(f"Fetched {line}")
        outputs = collect_outputs(course, log, cache_folder)
        stage, site = work_folder / "stage", work_folder / "html"
        _sync_folder(stage, _source_files(course, outputs, shown_stems, log))
        _sync_folder(work_folder / "static", _static_files())
        log("Sphinx is writing the pages")
        with _reuse_last_pages(work_folder, course):
            run_sphinx(stage, site, work_folder)
        _publish(site, out, shown_stems)
    every = [path for path in out.rglob("*") if path.is_file()]
    return BookSummary(out, sum(path.suffix == ".html" for path in every), sum(path.stat().st_size for path in every))


def _publish(site: Path, out: Path, shown_stems: set[str]) -> None:
    """Replace the folder `out` with the site if the site contains no answer.

    Raises:
        BookError: the site contains part of an answer.
        OSError: the disk is full.
        shutil.Error: a file cannot be copied for a different reason.
    """
    if faults := find_site_leaks(site, shown_stems):
        raise BookError("\n".join([f"The book would contain parts of the answers, so {out} was not written:", *faults]))
    with replace_folder_atomically(out) as new:
        try:
            shutil.copytree(site, new, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        except shutil.Error as error:
            _raise_if_disk_was_full(str(error))
            raise
        (new / MARKER_FILE).write_text("`coginst book` replaces this folder.\n", encoding="utf-8")


def _require_clone() -> None:
    """Require the pages that only a clone contains. A student's copy of the course also lacks most answers.

    Raises:
        BookError: a page is missing.
    """
    if missing := [name for name in DOCUMENTS if not (ROOT / name).is_file()]:
        raise BookError(
            f"This copy of the course does not contain {missing[0]}, which is a page of the book. Build the book in a"
            " clone of the course."
        )


def _require_sphinx() -> None:
    try:
        installed("sphinx-book-theme")
    except PackageNotFoundError:
        raise BookError(
            'Sphinx or its theme is not installed. With Python 3.11 or later, run  pip install -e ".[book]"'
        ) from None


def _require_own_folder(out: Path) -> None:
    """Require that the folder is empty or was written by an earlier build of the book.

    Raises:
        BookError: the folder contains something else.
    """
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / MARKER_FILE).is_file())):
        raise BookError(f"{out} already exists and is not a book. Name another folder with --out, or move it away.")


# --- sources --------------------------------------------------------------------------------------------


def _sync_folder(folder: Path, files: dict[str, bytes]) -> None:
    """Write the files into the folder, and delete all other files. Unchanged files keep their modification time."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _source_files(
    course: Sequence[Lesson], outputs: Mapping[str, Outputs], shown_stems: set[str], log: Callable[[str], None]
) -> dict[str, bytes]:
    """Return Sphinx's sources: the first page, the documents and the lessons."""
    site_pages, public = _site_pages(course), online_links.repository_name()
    files = {"index.md": _front_page(course), **_document_files(course)}
    for number, lesson in enumerate(course, 1):
        intro = render_commands(public, lesson)
        notebook = lesson_pages.make_lesson_page(lesson, outputs[lesson.stem], intro, lesson.stem in shown_stems)
        _link_cells(notebook["cells"], f"course/{lesson.stem}.md", site_pages)
        files[f"course/{lesson.stem}.ipynb"] = ipynb.notebook_text(notebook).encode()
        log(f"[{number}/{len(course)}] {lesson.stem}")
    return files


def _front_page(course: Sequence[Lesson]) -> bytes:
    total = len(lessons.all_lessons())
    whole = len(course) == total
    text = Template((LOOK / "index.md").read_text(encoding="utf-8")).substitute(
        scope="You can read all of it here." if whole else f"This site contains {len(course)} of its {total} lessons.",
        wrong=landing.render_wrong_answers(),
        map=landing.render_lesson_map(course),
        commands=render_commands(online_links.repository_name()),
        lessons="\n".join(f"{lesson.stem[:2]} {lesson.title} <course/{lesson.stem}>" for lesson in course),
    )
    return text.encode()


def _document_files(course: Sequence[Lesson]) -> dict[str, bytes]:
    """Return the pages that are not lessons, and the images of `docs/`. `resolve_links` adapts the links."""
    site_pages, public = _site_pages(course), online_links.repository_name()
    files = {
        name: resolve_links(lessons.read_text(ROOT / name), name, site_pages, public).encode() for name in DOCUMENTS
    }
    return files | {f"docs/{path.name}": path.read_bytes() for path in (ROOT / "docs").glob("*.png")}


def _site_pages(course: Sequence[Lesson]) -> set[str]:
    """Return the paths of the files that become pages of the site, relative to the root of the clone."""
    return {*DOCUMENTS, *(f"course/{lesson.stem}.{end}" for lesson in course for end in ("md", "ipynb"))}


def resolve_links(text: str, name: str, site_pages: set[str], public: str) -> str:
    """Find links to files that are not part of the site, and replace them with links to the public clone.

    If the clone is not public, these links become plain text.

    Args:
        name: the path of the page, relative to the root of the clone.
        site_pages: the paths of the site's pages, relative to the root of the clone.
        public: the public name of the clone, "owner/name".
    """

    def link(found: re.Match[str]) -> str:
        picture, words, target, anchor = found.groups()
        path = os.path.normpath(os.path.join(os.path.dirname(name), target)).replace(os.sep, "/")
        if picture or path in site_pages:
            return found[0]
        if public == online_links.UNSET:
            return words
        return f"[{words}](https://github.com/{public}/blob/{online_links.BRANCH}/{path}{anchor or ''})"

    parts, at = [], 0
    for fenced in _FENCED.finditer(text):
        parts += [_LINK.sub(link, text[at : fenced.start()]), fenced[0]]
        at = fenced.end()
    return "".join([*parts, _LINK.sub(link, text[at:])])


def _link_cells(cells: list[dict[str, Any]], name: str, site_pages: set[str]) -> None:
    """Change the links in a lesson's cells and outputs, so that they lead to pages of the site."""

    def page(found: re.Match[str]) -> str:
        return f'href="{found[1]}.html"' if f"course/{found[1]}.ipynb" in site_pages else ""

    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = resolve_links(cell["source"], name, site_pages, online_links.repository_name())
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output["data"]["text/html"] = _TO_LESSON.sub(page, output["data"]["text/html"])


def render_commands(name: str, lesson: Lesson | None = None) -> str:
    """Return HTML with the commands that open the course in JupyterLab, and a button that copies them.

    For a lesson, the HTML also says that the page is only for reading. It also contains links to services that run the
    lesson without an installation.

    Args:
        name: the public name of the clone, "owner/name".
    """
    commands, links, folder_note = "make lab", "", ""
    if name == online_links.UNSET:
        folder_note = "<p>In the course's folder (a clone or a download of its repository):</p>"
    else:
        commands = f"git clone https://github.com/{name} && cd {name.partition('/')[2]}\nmake lab"
        if lesson:
            binder = online_links.binder_url(name, f"course/{lesson.stem}.ipynb")
            colab = online_links.colab_url(name, f"{lesson.stem}.ipynb")
            links = f' <a href="{binder}">Binder</a> <a href="{colab}">Colab</a>'
    text, reading = html.escape(commands), READING if lesson else ""
    button = f'<button type="button" data-copy="{text}" hidden>Open in JupyterLab: copy the commands</button>'
    details = f"<details><summary>What to type</summary>{folder_note}<pre>{text}</pre></details>"
    return f'{reading}<div class="open-in-lab">{button}{links} <span role="status"></span>{details}</div>\n'


def _static_files() -> dict[str, bytes]:
    """Return the files that pages share: the explorers' modules and styles, circuitsvis, and the npm packages."""
    kinds = {path.stem: read_script(path) for path in SCRIPTS}
    modules = json.dumps({"shared": read_shared("page.js"), "kinds": kinds}, ensure_ascii=True)
    compressed = compressed_library()
    library = gzip.decompress(base64.b64decode(compressed)) if compressed else b""
    announce = b"\n;window.CircuitsVis = CircuitsVis; dispatchEvent(new Event('course-circuitsvis'));\n"
    files = {
        "explore.js": f"window.courseModules = {modules};\n".encode(),
        "explore.css": read_shared("page.css").encode(),
        "circuitsvis.js": library + announce,
    }
    for package in vendor.PACKAGES:
        files |= {f"{package.name}/{name}": content for name, content in vendor.package_files(package).items()}
    return files


# --- Sphinx ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _reuse_last_pages(work: Path, course: Sequence[Lesson]) -> Iterator[None]:
    """Let Sphinx reuse the pages that have not changed since the last build.

    If the settings, a library's version or a title in the sidebar has changed, all pages are built again, because
    Sphinx notices only some of these changes. All pages are also built again if the last run did not finish, because it
    may have left incomplete pages.
    """
    titles = [f"{lesson.stem} {lesson.title}" for lesson in course]
    titles += [lessons.read_text(ROOT / name).partition("\n")[0] for name in DOCUMENTS]
    libraries = [f"{name} {installed(name)}" for name in ("sphinx", "myst-nb", "sphinx-book-theme", "myst-parser")]
    stamp = "\n".join([*libraries, *titles, (LOOK / "conf.py").read_text(encoding="utf-8")])
    stamp_file = work / "settings"
    if not stamp_file.is_file() or stamp_file.read_text(encoding="utf-8") != stamp:
        for folder in ("html", "doctrees"):
            shutil.rmtree(work / folder, ignore_errors=True)
    stamp_file.unlink(missing_ok=True)
    yield
    stamp_file.write_text(stamp, encoding="utf-8")


def run_sphinx(stage: Path, site: Path, work: Path) -> None:
    """Run Sphinx.

    Raises:
        BookError: Sphinx reports an error or a warning.
        OSError: the disk is full.
    """
    from sphinx.cmd.build import build_main

    footer = f"<p>{book_version()}</p>"
    options = [
        *("-b", "html", "-W", "--keep-going", "-q", "-c", str(LOOK), "-d", str(work / "doctrees")),
        *("-D", f"html_static_path={LOOK / 'static'},{work / 'static'}"),
        *("-D", f"html_theme_options.extra_footer={footer}"),
    ]
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = build_main([*options, str(stage), str(site)])
    _raise_if_disk_was_full(output.getvalue())
    if status:
        raise BookError(f"Sphinx reported errors or warnings:\n{output.getvalue().strip()}")


def _raise_if_disk_was_full(text: str) -> None:
    """Raise a single error if the disk is full, because Sphinx and shutil report an error for each file.

    Raises:
        OSError: the text says that the disk is full.
    """
    if os.strerror(errno.ENOSPC) in text:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None


def book_version(root: Path = ROOT) -> str:
    """Return the course's version and, if git knows it, the commit that the book is built from."""
    text = lessons.read_text(root / "CITATION.cff")
    number = re.search(r"(?m)^version: (.+)$", text)
    label = f"version {number[1].strip()}" if number else "no version"
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "rev-parse", "--short=10", "HEAD"]
    try:
        commit = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return label
    return f"{label}, commit {commit}"
