"""Build the course as a web site with `coginst book`, and measure the CPU time: first without stored outputs, so that
every lesson is executed, then with stored outputs. The second build is compared with `jupyter nbconvert --to html` on
the same lessons, which also executes nothing. That conversion produces pages without explorers and without search, and
does not scan the pages for answers.
"""

import sys
import tempfile
from pathlib import Path

from bench.measurement import Row, cpu_seconds

MAKE = """
import sys
from pathlib import Path
from utils.book import site
out, work, kept = map(Path, sys.argv[1:])
site.build_book(out, work_folder=work, cache_folder=kept)
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
    what = f"building the book of {len(pages)} lessons"
    return [
        Row(f"{what} from nothing", [first], "s of CPU", headline=True),
        Row(f"{what} with stored outputs", [again], "s of CPU", "nbconvert to HTML", [alone], headline=True),
    ]
