"""The whole course as a web site, `coginst book`, in seconds of CPU: from nothing, in which every lesson is
executed, and again, with the lessons' outputs kept. Beside the latter `jupyter nbconvert --to html`, which executes
nothing either, on the same lessons as the book shows them: no explorers, no search, and no look through the pages
for answers."""

import sys
import tempfile
from pathlib import Path

from bench.measurement import Row, cpu_seconds

MAKE = """
import sys
from pathlib import Path
from utils.book import site
out, work, kept = map(Path, sys.argv[1:])
site.book(out, work=work, kept=kept)
"""


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        first, again = (
            cpu_seconds(sys.executable, "-c", MAKE, *(Path(folder, name) for name in (out, work, "kept")))
            for out, work in (("book", "work"), ("second", "work again"))
        )
        pages = sorted(Path(folder, "work", "stage", "course").glob("*.ipynb"))
        assert len(pages) == len(list(Path(folder, "kept").iterdir()))
        convert = ("nbconvert", "--log-level=ERROR", "--to", "html", "--output-dir", Path(folder, "plain"))
        alone = cpu_seconds(sys.executable, "-m", *convert, *pages)
    what = f"the book of {len(pages)} lessons"
    return [
        Row(f"{what}, from nothing", [first], "s of CPU", headline=True),
        Row(f"{what}, outputs kept", [again], "s of CPU", "nbconvert to HTML", [alone], headline=True),
    ]
