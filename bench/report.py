"""Write docs/bench.md and the table of README from the numbers in bench/measured.json."""

from __future__ import annotations

import ast
import json
import re
import statistics
from pathlib import Path
from typing import Any

from bench.measurement import ROOT, Row

# Each benchmark is a module with a function `rows`. The first paragraph of its docstring describes it on the page.
BENCHMARKS = {
    "imports": "Importing",
    "checks": "Checks",
    "explorers": "Explorers",
    "build": "The build",
    "gpt2": "Layer 0 of GPT-2",
    "abc_sorter": "The sorter",
    "icl_regression": "Regression",
    "gram_attention": "Gram scores",
    "your_own_gpt2": "The key-value cache",
    "grading": "Grading",
    "book": "The book",
    "course": "The course",
}
BY_NAME = {  # These take minutes, or need a machine that is rarely available. They run only if they are named.
    "source_loop": "The complete regression loop",
    "suite": "The test suite",
    "grading_class": "A class of 300",
    "hub": "A class on JupyterHub",
    "learning": "Learning",
    "gpu": "On a GPU",
}
ALL = BENCHMARKS | BY_NAME
NEVER = "never run"
COLUMNS = ["measurement", "result", "compared with", "ratio", "limit"]  # of docs/bench.md
DATA, PAGE, README = ROOT / "bench" / "measured.json", ROOT / "docs" / "bench.md", ROOT / "README.md"
BEGIN, END = "<!-- bench -->", "<!-- until here -->"


def load_results() -> dict[str, dict[str, Any]]:
    """Read the results of each measured benchmark: `date`, `machine`, `rows` and, if known, the `load` before it."""
    return json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}


def row_to_json(row: Row) -> dict[str, Any]:
    """Convert a row for storage: numbers with four digits, without empty fields."""
    kept = vars(row) | {name: [float(f"{x:.4g}") for x in getattr(row, name)] for name in ("ours", "theirs")}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items() if value}


def results_json(measured: dict[str, dict[str, Any]]) -> str:
    """Format the results as JSON: benchmarks in the order of `ALL`, one line for each list of numbers."""
    text = json.dumps({name: measured[name] for name in ALL if name in measured}, indent=1, ensure_ascii=False)
    return re.sub(r"\[[^\[\]{}]*\]", lambda found: f"[{' '.join(found[0][1:-1].split())}]", text) + "\n"


def machine_letters(measured: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Give each machine description a letter."""
    machines = dict.fromkeys(measured[name]["machine"] for name in ALL if name in measured)
    return {words: chr(ord("A") + number) for number, words in enumerate(machines)}


def date_text(entry: dict[str, Any], letters: dict[str, str]) -> str:
    return f"{entry['date']}, machine {letters[entry['machine']]}"


def usual_date(measured: dict[str, dict[str, Any]], letters: dict[str, str]) -> str:
    """Return the date and the machine of most benchmarks."""
    return statistics.mode(date_text(measured[name], letters) for name in ALL if name in measured)


def machine_legend(letters: dict[str, str]) -> str:
    return "; ".join(f"{letter}: {words}" for words, letter in letters.items()) + "."


# --- figures ---------------------------------------------------------------------------------------------


def format_three_digits(x: float) -> str:
    """Format a number with three significant digits."""
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:#.3g}".rstrip(".")


def format_amount(x: float, unit: str) -> str:
    """Format a number with its unit: below 0.1 s in milliseconds, from 100 s on in minutes."""
    if unit.partition(" ")[0] != "s" or 0.1 <= x < 100:
        return f"{format_three_digits(x)} {unit}".strip()
    if x < 0.1:
        return f"{format_three_digits(1000 * x)} m{unit}"
    minutes, seconds = divmod(round(x), 60)
    return f"{minutes} min {seconds} {unit}"


def format_ratio(x: float) -> str:
    return f"{x:.2f}" if 0.1 <= x < 10 else f"{x:.0f}" if x >= 10 else f"1/{1 / x:.0f}"


def describe_ratio(x: float) -> str:
    return f"{format_ratio(x)} ×"


def format_spread(values: list[float], text) -> str:
    """Format the median, followed by the lowest and the highest value in parentheses."""
    middle, low, high = (text(choose(values)) for choose in (statistics.median, min, max))
    return middle if low == high else f"{middle} ({low}–{high})"


def table_cells(row: Row) -> list[str]:
    """Return the cells of one row of docs/bench.md, in the order of `COLUMNS`."""
    ours = format_amount(statistics.median(row.ours), row.unit)
    if len(row.ours) > 1:
        low, high = (format_amount(limit(row.ours), row.unit.partition(" ")[0]) for limit in (min, max))
        highest = f", {row.names[row.ours.index(max(row.ours))]}" if row.names else ""
        same_unit = low.partition(" ")[2] == high.partition(" ")[2]
        ours += f" ({low.partition(' ')[0] if same_unit else low}–{high}{highest})"
    if not row.theirs:
        return [row.what, ours, row.beside, "", row.bar]
    theirs = f"{row.beside}: {format_amount(statistics.median(row.theirs), row.unit)}"
    return [row.what, ours, theirs, format_spread(row.ratios, format_ratio), row.bar]


def headline_text(row: Row) -> str:
    """Return the result cell of one row of README."""
    middle = format_amount(statistics.median(row.ours), row.unit)
    if row.names:
        worst = describe_ratio(max(row.ratios)) if row.theirs else format_amount(max(row.ours), row.unit)
        return f"median {describe_ratio(row.ratio) if row.theirs else middle}, maximum {worst}"
    return f"{middle} ({describe_ratio(row.ratio)})" if row.theirs else middle


# --- the two pages ---------------------------------------------------------------------------------------


def markdown_table(heads: list[str], lines: list[list[str]]) -> str:
    head, *rows = ("|" + "".join(f" {cell} |" if cell else " |" for cell in line) for line in (heads, *lines))
    return "\n".join([head, "|" + "---|" * len(heads), *rows])


def drop_empty_columns(heads: list[str], lines: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    used = [place for place in range(len(heads)) if any(line[place] for line in lines)]
    return [heads[place] for place in used], [[line[place] for place in used] for line in lines]


def benchmark_summary(name: str) -> str:
    """Return the first paragraph of the docstring of a benchmark."""
    source = (ROOT / "bench" / f"{name}.py").read_text(encoding="utf-8")
    return " ".join((ast.get_docstring(ast.parse(source)) or "").partition("\n\n")[0].split())


def render_section(name: str, measured: dict[str, dict[str, Any]], letters: dict[str, str]) -> str:
    if name not in measured:
        return f"## {ALL[name]}\n\n{benchmark_summary(name)}\n\n{NEVER.capitalize()}."
    entry = measured[name]
    rows = markdown_table(*drop_empty_columns(COLUMNS, [table_cells(Row(**row)) for row in entry["rows"]]))
    date = date_text(entry, letters)
    section = f"## {ALL[name]}\n\n{benchmark_summary(name)}\n\n{rows}"
    return section if date == usual_date(measured, letters) else f"{section}\n\nMeasured on {date}."


def render_tables(measured: dict[str, dict[str, Any]]) -> str:
    """Return the generated part of docs/bench.md."""
    letters = machine_letters(measured)
    machines = f"Machines: {machine_legend(letters)}"
    date = f"Measured on {usual_date(measured, letters)}, unless a section says otherwise."
    return "\n\n".join([machines, date, *(render_section(name, measured, letters) for name in ALL)])


def render_headlines(measured: dict[str, dict[str, Any]]) -> str:
    """Return the generated table of README."""
    letters, lines = machine_letters(measured), []
    for name, title in ALL.items():
        entry = measured.get(name, {"rows": [{"what": title, "headline": True, "unit": "", "ours": []}]})
        rows = [row for row in (Row(**row) for row in entry["rows"]) if row.headline]
        date = date_text(entry, letters) if name in measured else ""
        lines += [[row.what, row.beside, headline_text(row) if row.ours else NEVER, date] for row in rows]
    table = markdown_table(["measurement (`make bench`)", "compared with", "result", "measured"], lines)
    note = (
        "Times are CPU times, unless a row says wall time. A number with `×` is a ratio: the course's number divided by"
        " the number of the other program."
    )
    return f"{table}\n\n{note} [All figures, and the machines](docs/bench.md)."


def replace_between_comments(text: str, table: str) -> str:
    """Replace the part of a page between its two comments."""
    before, rest = text.split(f"{BEGIN}\n")
    return f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}"


def render_files(measured: dict[str, dict[str, Any]]) -> dict[Path, str]:
    """Return every file that shows the numbers, with its new text."""
    parts = {PAGE: render_tables(measured), README: render_headlines(measured)}
    pages = {path: replace_between_comments(path.read_text(encoding="utf-8"), text) for path, text in parts.items()}
    return {DATA: results_json(measured), **pages}
