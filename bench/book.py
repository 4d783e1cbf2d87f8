"""Build the web site of the course. If no outputs are stored, the build executes every lesson. For comparison,
nbconvert converts the notebooks without executing them; its pages have no explorers and no search.
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
    return [
        Row("building the book without stored outputs", [first], "s"),
        Row("building the book with stored outputs", [again], "s", "nbconvert", [alone], headline=True),
    ]
