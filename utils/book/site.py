"""From the lessons and the pages of `docs/` to the web site: the stage that Sphinx reads, its run, and the last look.

Everything is made beside its place. Only a site in which no answer stands gets there.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from string import Template

from utils import lessons
from utils.book import landing, lesson_pages, vendor
from utils.book.leaks import find_site_leaks
from utils.book.lesson_outputs import CACHE_FOLDER, EXPLORERS, BookError, collect_outputs
from utils.instructor import ipynb, online_links
from utils.lessons import ROOT, Lesson
from utils.lessons.files import hold_lock, replace_folder_atomically
from utils.show import html
from utils.show.circuitsvis import compressed_library

OUT, WORK = ROOT / "build" / "book", ROOT / "build" / "book-work"
LOOK = Path(__file__).parent / "look"
_DOCS = ("bench", "checks", "data", "grading", "instructors", "mutants", "online", "papers", "sources")
DOCUMENTS = (*(f"docs/{name}.md" for name in _DOCS), "CONTRIBUTING.md", "CHANGELOG.md")
LEFT_OUT = (".buildinfo*", "*.map", "*webpack-macros.html")  # for Sphinx, and for who writes a theme
READING = (
    '<p class="to-read">This page is for reading. In JupyterLab you type your answers, and they are checked: '
    '<a href="../index.html#do-it-yourself">how to get there</a>.</p>'
)
MARKER_FILE = ".coginst-book"  # marks a folder as ours to replace
_LINK = re.compile(r"(!?)\[([^\]]+)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
_TO_LESSON = re.compile(r'href="(\d\d_\w+)\.ipynb(?:#[^"]*)?"')
_FENCED = re.compile(r"(?ms)^(```|~~~).*?^\1")


@dataclass(frozen=True)
class BookSummary:
    """A book: where it lies, how many pages it has, and how many bytes."""

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
    vendor_folder: Path = vendor.VENDOR,
) -> BookSummary:
    """Make the book in the folder `out`, which gives way to it.

    Args:
        only: numbers or names of the lessons that it holds; all when none is named.
        solved: those whose answers it shows.
        said: hears a line about each thing that took time.
        work: where what the next build can use again is kept.
        kept: where the lessons' outputs are kept.
        vendored: where the packages lie that pages load.

    Raises:
        BookError: a lesson does not run, Sphinx warned of something, an answer stands in the site, or `out` is not
            a folder of ours.
        VendorError: a package is missing and cannot be fetched.
        LessonError: there is no such lesson.
    """
    _require_own_folder(out)
    chosen = [lessons.find_lesson(name, ROOT / "solutions") for name in lesson_names] or lessons.all_lessons()
    course = [lessons.read_lesson(path) for path in sorted(chosen)]
    shown = {lessons.find_lesson(name, ROOT / "solutions").stem for name in solved_lessons}
    _require_sphinx()
    work_folder.mkdir(parents=True, exist_ok=True)
    waits = partial(log, f"Waiting for another `coginst book`, which is at work in {work_folder}")
    with hold_lock(work_folder / "lock", 0, waits):
        return _build_locked(out, course, shown, log, work_folder, cache_folder, vendor_folder)


def _build_locked(
    out: Path,
    course: Sequence[Lesson],
    shown: set[str],
    said: Callable[[str], None],
    work: Path,
    kept: Path,
    vendored: Path,
) -> BookSummary:
    """The same, with nobody else at work in `work`."""
    for line in vendor.fetch_packages(vendored):
        said(f"fetched {line}")
    outputs = collect_outputs(course, said, kept)
    held, stage, site = _site_pages(course), work / "stage", work / "html"
    files = {"index.md": _front_page(course), **_document_files(course)}
    for number, lesson in enumerate(course, 1):
        made = lesson_pages.make_lesson_page(
            lesson, outputs[lesson.stem], render_commands(online_links.repository_name(), lesson), lesson.stem in shown
        )
        _link_cells(made["cells"], f"course/{lesson.stem}.md", held)
        files[f"course/{lesson.stem}.ipynb"] = ipynb.notebook_text(made).encode()
        said(f"[{number}/{len(course)}] {lesson.stem}")
    _sync_folder(stage, files)
    _sync_folder(work / "static", _static_files(vendored))
    said("Sphinx writes the pages")
    with _reuse_last_pages(work, course):
        run_sphinx(stage, site, work)
    if faults := find_site_leaks(site, shown):
        raise BookError("\n".join(["An answer would stand in the book; it was not put in its place.", *faults]))
    with replace_folder_atomically(out) as new:
        with _reraise_full_disk():
            shutil.copytree(site, new, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        (new / MARKER_FILE).write_text("coginst book replaces this folder.\n", encoding="utf-8")
    every = [path for path in out.rglob("*") if path.is_file()]
    return BookSummary(out, sum(path.suffix == ".html" for path in every), sum(path.stat().st_size for path in every))


def _require_sphinx() -> None:
    try:
        installed("sphinx-book-theme")
    except PackageNotFoundError:
        raise BookError(
            'Sphinx or its theme is not here; with Python 3.11 or later they come with  pip install -e ".[book]"'
        ) from None


def _require_own_folder(out: Path) -> None:
    """Refuse a folder with something in it that no book put there."""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / MARKER_FILE).is_file())):
        raise BookError(f"{out} is there and is no book; name another place with --out, or move it away.")


# --- the stage ------------------------------------------------------------------------------------------


def _sync_folder(folder: Path, files: dict[str, bytes]) -> None:
    """Make the folder hold these files and no others; one that has not changed stays as old as it is."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _front_page(course: Sequence[Lesson]) -> bytes:
    text = Template((LOOK / "index.md").read_text(encoding="utf-8")).substitute(
        wrong=landing.render_wrong_answers(),
        map=landing.render_lesson_map(course),
        commands=render_commands(online_links.repository_name()),
        lessons="\n".join(f"{lesson.stem[:2]} {lesson.title} <course/{lesson.stem}>" for lesson in course),
    )
    return text.encode()


def _document_files(course: Sequence[Lesson]) -> dict[str, bytes]:
    """The pages beside the lessons, as they lie in the clone, with links to what the site does not hold led away."""
    held, public = _site_pages(course), online_links.repository_name()
    files = {name: resolve_links(lessons.read_text(ROOT / name), name, held, public).encode() for name in DOCUMENTS}
    return files | {f"docs/{path.name}": path.read_bytes() for path in (ROOT / "docs").glob("*.png")}


def _site_pages(course: Sequence[Lesson]) -> set[str]:
    """The pages of the site, as links in the clone name them."""
    return {*DOCUMENTS, *(f"course/{lesson.stem}.{end}" for lesson in course for end in ("md", "ipynb"))}


def resolve_links(text: str, name: str, site_pages: set[str], public: str) -> str:
    """A page whose links lead to a page of the site, to the public clone, or, where there is none, nowhere.

    Args:
        name: of the page, from the root of the clone.
        held: the pages of the site, named so.
        public: the clone's public name.
    """

    def link(found: re.Match) -> str:
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


def _link_cells(cells: list[dict], name: str, held: set[str]) -> None:
    """Let the links of a lesson's cells, and of what they show, lead to pages of the site."""

    def page(found: re.Match) -> str:
        return f'href="{found[1]}.html"' if f"course/{found[1]}.ipynb" in held else ""

    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = resolve_links(cell["source"], name, held, online_links.repository_name())
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output["data"]["text/html"] = _TO_LESSON.sub(page, output["data"]["text/html"])


def render_commands(name: str, lesson: Lesson | None = None) -> str:
    """HTML: the commands that open the course in JupyterLab, to copy, and where a lesson runs without installing; above
    a lesson, what its page is for.

    `name` is the clone's public name.
    """
    clone = (
        [] if name == online_links.UNSET else [f"git clone https://github.com/{name} && cd {name.partition('/')[2]}"]
    )
    text = html.escape("\n".join([*clone, "make lab"]))
    where = "" if clone else "<p>In the course's folder, a clone or a download of its repository:</p>"
    reading = READING if lesson else ""
    links = ""
    if clone and lesson:
        links = (
            f' <a href="{online_links.binder_url(name, f"course/{lesson.stem}.ipynb")}">Binder</a>'
            f' <a href="{online_links.colab_url(name, f"{lesson.stem}.ipynb")}">Colab</a>'
        )
    button = f'<button type="button" data-copy="{text}" hidden>Open in Lab: copy the commands</button>'
    typed = f"<details><summary>What to type</summary>{where}<pre>{text}</pre></details>"
    return f'{reading}<div class="open-in-lab">{button}{links} <span role="status"></span>{typed}</div>\n'


def _static_files(vendored: Path) -> dict[str, bytes]:
    """What pages share: the explorers' modules and look, circuitsvis, and the packages, each with its licence."""
    shared = (EXPLORERS / "page.js").read_text(encoding="utf-8")
    imported = re.compile(r'^import \{[^}]*\} from "\./page\.js";\n', re.MULTILINE)
    kinds = {
        path.stem: imported.sub("", path.read_text(encoding="utf-8"))
        for path in sorted(EXPLORERS.glob("*.js"))
        if path.stem != "page"
    }
    modules = json.dumps({"shared": shared, "kinds": kinds}, ensure_ascii=True)
    library = gzip.decompress(base64.b64decode(compressed_library() or "")) if compressed_library() else b""
    files = {
        "explore.js": f"window.courseModules = {modules};\n".encode(),
        "explore.css": (EXPLORERS / "page.css").read_bytes(),
        "circuitsvis.js": library
        + b"\n;window.CircuitsVis = CircuitsVis; dispatchEvent(new Event('course-circuitsvis'));\n",
    }
    for package in vendor.PACKAGES:
        files |= {
            f"{package.name}/{name}": content for name, content in vendor.package_files(package, vendored).items()
        }
    return files


# --- Sphinx ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _reuse_last_pages(work: Path, course: Sequence[Lesson]) -> Iterator[None]:
    """Let Sphinx write over the pages of last time, of which it keeps what has not changed.

    It begins anew where settings, Sphinx itself, or what stands in every page's sidebar are others, for it sees only
    some of these; and where it did not come to its end, for a full disk or a kill leaves half a page.
    """
    titles = [f"{lesson.stem} {lesson.title}" for lesson in course]
    titles += [lessons.read_text(ROOT / name).partition("\n")[0] for name in DOCUMENTS]
    libraries = [f"{name} {installed(name)}" for name in ("sphinx", "myst-nb", "sphinx-book-theme", "myst-parser")]
    stamp = "\n".join([*libraries, *titles, (LOOK / "conf.py").read_text(encoding="utf-8")])
    kept = work / "settings"
    if not kept.is_file() or kept.read_text(encoding="utf-8") != stamp:
        for folder in ("html", "doctrees"):
            shutil.rmtree(work / folder, ignore_errors=True)
    kept.unlink(missing_ok=True)
    yield
    kept.write_text(stamp, encoding="utf-8")


def run_sphinx(stage: Path, site: Path, work: Path) -> None:
    """Run Sphinx, for which a warning is an error."""
    from sphinx.cmd.build import build_main

    footer = f"<p>{book_version()}</p>"
    options = [
        *("-b", "html", "-W", "--keep-going", "-q", "-c", str(LOOK), "-d", str(work / "doctrees")),
        *("-D", f"html_static_path={LOOK / 'static'},{work / 'static'}"),
        *("-D", f"html_theme_options.extra_footer={footer}"),
    ]
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        status = build_main([*options, str(stage), str(site)])
    if os.strerror(errno.ENOSPC) in heard.getvalue():  # in each of a hundred lines
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if status:
        raise BookError(f"Sphinx found something wrong:\n{heard.getvalue().strip()}")


@contextlib.contextmanager
def _reraise_full_disk() -> Iterator[None]:
    """Raise the plain OSError of a full disk for shutil's, which lists every file that did not fit."""
    try:
        yield
    except shutil.Error as error:
        if os.strerror(errno.ENOSPC) in str(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        raise


def book_version(root: Path = ROOT) -> str:
    """The course's version and, where git knows it, the commit that the book is made from."""
    text = lessons.read_text(root / "CITATION.cff")
    number = re.search(r"(?m)^version: (.+)$", text)
    said = f"version {number[1].strip()}" if number else "no version"
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "rev-parse", "--short=10", "HEAD"]
    try:
        commit = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return said
    return f"{said}, commit {commit}"
