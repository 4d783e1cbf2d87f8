"""Test that docs/bench.md and the table of README show the numbers in bench/measured.json."""

import ast
import platform
import re
import sys

import pytest

from bench import __main__ as command
from bench import report
from bench.measurement import ROOT, Row, describe_machine

MACHINE = "A processor, 2 cores"
ROUNDS = {"what": "the build", "ours": [0.2, 0.5, 0.3], "unit": "s", "beside": "a peer", "theirs": [2.0, 1.0, 1.5]}
THINGS = {"what": "a check", "ours": [0.01, 0.4], "unit": "s of CPU", "beside": "torch", "theirs": [2.0]}
THINGS |= {"names": ["`a`", "`b`"], "bar": "at most 1/5", "headline": True}


def entry(*rows: dict, machine: str = MACHINE) -> dict:
    return {"date": "2026-01-02", "machine": machine, "load": 0.1, "rows": rows}


@pytest.mark.parametrize("path", report.render_files(report.load_results()), ids=lambda path: path.name)
def test_every_page_says_what_was_measured(path):
    """`python -m bench --render` writes both pages. This test finds a digit that was changed by hand."""
    assert path.read_text(encoding="utf-8") == report.render_files(report.load_results())[path]


def test_every_benchmark_is_a_module_that_says_what_it_does():
    for name in report.ALL:
        source = ast.parse((ROOT / "bench" / f"{name}.py").read_text(encoding="utf-8"))
        assert "rows" in {node.name for node in source.body if isinstance(node, ast.FunctionDef)}, name
        assert report.benchmark_summary(name).endswith("."), name


def test_what_was_measured_has_a_row_in_readme_its_date_and_its_machine():
    lines, letters = (
        report.render_headlines(report.load_results()).splitlines(),
        report.machine_letters(report.load_results()),
    )
    for name, title in report.ALL.items():
        if name not in report.load_results():
            assert f"| {title} | | never run | |" in lines
            continue
        kept = report.load_results()[name]
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", kept["date"])
        heads = [row for row in kept["rows"] if row.get("headline")]
        assert heads, name
        for row in heads:
            own = [line for line in lines if line.startswith(f"| {row['what']} | {row.get('beside', '')}".rstrip())]
            assert own and all(line.endswith(f"| {kept['date']}, machine {letters[kept['machine']]} |") for line in own)


def test_a_row_gives_medians_and_each_rounds_own_quotient():
    assert report.table_cells(Row(**ROUNDS)) == [
        "the build",
        "0.300 s (0.200–0.500 s)",
        "a peer: 1.50 s",
        "0.20 (0.10–0.50)",
        "",
    ]
    assert report.headline_text(Row(**ROUNDS)) == "0.300 s (0.20 ×)"


def test_of_many_things_the_highest_is_named():
    assert report.table_cells(Row(**THINGS))[1:] == [
        "0.205 s of CPU (10.0 ms–0.400 s, `b`)",
        "torch: 2.00 s of CPU",
        "0.10 (1/200–0.20)",
        "at most 1/5",
    ]
    assert report.headline_text(Row(**THINGS)) == "median 0.10 ×, maximum 0.20 ×"
    alone = THINGS | {"beside": "", "theirs": []}
    assert report.headline_text(Row(**alone)) == "median 0.205 s of CPU, maximum 0.400 s of CPU"


@pytest.mark.parametrize(
    "value, unit, said",
    [
        (0.04567, "s of CPU", "45.7 ms of CPU"),
        (0.1, "s", "0.100 s"),
        (99.6, "ms", "99.6 ms"),
        (1234, "MB", "1,234 MB"),
        (125.4, "s of CPU", "2 min 5 s of CPU"),
        (119.6, "s", "2 min 0 s"),
        (0.67, "", "0.670"),
    ],
)
def test_a_number_has_three_digits_and_long_times_are_in_minutes(value, unit, said):
    assert report.format_amount(value, unit) == said


def test_a_quotient_has_two_digits_behind_the_point_or_is_a_fraction():
    assert [report.format_ratio(x) for x in (0.0091, 0.1, 2.904, 53.4)] == ["1/110", "0.10", "2.90", "53"]
    assert [report.describe_ratio(x) for x in (0.5, 2)] == ["0.50 ×", "2.00 ×"]


def test_what_was_not_measured_says_so_and_each_machine_has_a_letter():
    measured = {"build": entry(ROUNDS | {"headline": True}), "checks": entry(THINGS, machine="Another, 4 cores")}
    text = report.render_tables(measured)
    assert "A: Another, 4 cores; B: A processor, 2 cores." in text
    assert text.count("Never run.") == len(report.ALL) - 2
    measured["gpt2"] = measured["checks"]
    text = report.render_tables(measured)
    assert "Measured on 2026-01-02, machine A, unless a section says otherwise." in text
    assert text.count("Measured on 2026-01-02, machine B.") == text.count("Measured on ") - 1 == 1
    assert "| the build | a peer | 0.300 s (0.20 ×) | 2026-01-02, machine B |" in report.render_headlines(measured)


def test_only_what_stands_between_the_comments_is_replaced():
    before, after = "# Title\n\nprose\n\n", "\n\nmore <!-- until here --> prose\n"
    text = f"{before}{report.BEGIN}\nold\n{report.END}{after}"
    assert (
        report.replace_between_comments(text, "new\nlines")
        == f"{before}{report.BEGIN}\nnew\nlines\n{report.END}{after}"
    )


def test_numbers_are_kept_to_four_digits_and_come_back():
    row = Row("a", (1.23456, 20000.7), "s", headline=True)
    kept = report.row_to_json(row)
    assert kept == {"what": "a", "ours": [1.235, 20000.0], "unit": "s", "headline": True}
    assert '"ours": [1.235, 20000.0]' in report.results_json({"build": entry(kept)})


def test_the_machine_is_named_and_not_its_host(monkeypatch):
    monkeypatch.setattr(platform, "node", lambda: pytest.fail("asked for the name of the host"))
    assert re.search(
        r"\d cores, \d+ GB of memory, .+, Python 3\.\d+\.\d+, torch 2\S+, (no GPU|.+)$", describe_machine()
    )


def test_one_that_fails_leaves_what_was_measured_and_does_not_stop_the_others(monkeypatch, capsys):
    def run(name: str) -> list[Row]:
        if name == "build":
            raise RuntimeError("no peer")
        return [Row(**THINGS)]

    kept = {}
    monkeypatch.setattr(report, "load_results", lambda: {"build": entry(ROUNDS)})
    monkeypatch.setattr(command, "run_in_subprocess", run)
    monkeypatch.setattr(command, "write_results", kept.update)
    monkeypatch.setattr(sys, "argv", ["bench", "build", "imports"])
    with pytest.raises(SystemExit, match="left as they were: build"):
        command.main()
    assert "no peer" in capsys.readouterr().err
    assert kept["build"] == entry(ROUNDS) and kept["imports"]["rows"] == [THINGS]
    kept.clear()
    monkeypatch.setattr(sys, "argv", ["bench", "--try", "imports"])
    command.main()
    assert not kept and "`b`" in capsys.readouterr().out
