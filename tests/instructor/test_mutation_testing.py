"""Test the mutants of reference answers: how they are made, whether checks reject them, and the table in the docs."""

import ast
from typing import get_args

import pytest

from utils.exercises.exercise import find_exercise
from utils.instructor import mutation_testing, mutations
from utils.instructor.answers import AnswerFactory
from utils.instructor.mutation_testing import EQUAL, NAMED, WRONG, judge_mutant

# Answers that somebody wrote to get past a check: a piece of the reference, and its replacement.
CONTRIVED = {
    "count_pairs": [("zip(ids, ids[1:])", "zip(ids[:64], ids[1:64])")],
    "merge": [
        (
            "merged, i = [], 0",
            "return [int(x) for x in ' '.join(map(str, ids)).replace(' '.join(map(str, pair)), str(new_id)).split()]",
        )
    ],
    "train_bpe": [("256 + n_merges", "256 + min(n_merges, 12)")],
    "sample": [("scaled.softmax(dim=-1)", "scaled.exp()")],
    "get_mask": [
        ("torch.ones(size, size, dtype=torch.bool).tril()", "torch.ones(8, 8, dtype=torch.bool).tril()[:size, :size]")
    ],
    "causal_attn_weights": [
        ("-torch.inf", "-100.0"),
        ("-torch.inf", "-1000.0"),
        (
            "torch.softmax(masked / d_k**0.5, dim=-1)",
            "(masked / d_k**0.5).exp() / (masked / d_k**0.5).exp().sum(-1, keepdim=True)",
        ),
    ],
    "simple_attention": [
        (
            "torch.softmax(inputs @ inputs.T, dim=-1)",
            "(inputs @ inputs.T).exp() / (inputs @ inputs.T).exp().sum(-1, keepdim=True)",
        )
    ],
    "compute_attn_weights": [("torch.softmax(scores, dim=-1)", "scores.exp() / scores.exp().sum(-1, keepdim=True)")],
    "make_weight": [
        ("torch.softmax(A @ B / temp, dim=-1)", "(A @ B / temp).exp() / (A @ B / temp).exp().sum(-1, keepdim=True)")
    ],
    "CausalAttention": [
        ("-torch.inf", "-100.0"),
        ("-torch.inf", "-1e4"),
        (
            "queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)",
            (
                "queries, keys = self.W_query(x), self.W_key(x)\n        if getattr(self, 'last', None) is None or"
                " self.last.shape != keys.shape:\n            self.last = self.W_value(x)\n        values = self.last"
            ),
        ),
    ],
    "MultiHeadAttention": [
        (
            "torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1)",
            "(scores / k.shape[-1] ** 0.5).exp() / (scores / k.shape[-1] ** 0.5).exp().sum(-1, keepdim=True)",
        ),
        ("-torch.inf", "-100.0"),
        ("-torch.inf", "-1e4"),
    ],
    "LayerNorm": [
        (
            "centred.square().mean(dim=-1, keepdim=True)",
            "residual.square().mean(-1, keepdim=True) - residual.mean(-1, keepdim=True) ** 2",
        ),
        ("keepdim=True)\n        variance", "keepdim=True).detach()\n        variance"),
        (".square().mean(dim=-1, keepdim=True)", ".square().mean(dim=-1, keepdim=True).detach()"),
        ("eps: float = 1e-6", "eps: float = 1e-5"),
    ],
    "DeepQKVAttention": [
        (
            "nn.init.xavier_uniform_(torch.empty(shape)) for",
            "torch.zeros(shape) for",
        ),
        ("made = [", "if not hasattr(self, 'kept'):\n            self.kept = ["),
        ("-torch.inf", "-1e4"),
    ],
    "TripleProductAttention": [
        ("-torch.inf", "-100.0"),
        ("-torch.inf", "-1e9"),
        ("max_len: int = 128", "max_len: int = 127"),
        ("max_len: int = 128", "max_len: int = 129"),
        ("d_model // n_head, max_len\n", "d_model // n_head, d_model\n"),
        (" or d_model // n_head % 2", ""),
    ],
    "head_kind": [("torch.arange(2,", "torch.arange(3,"), ("torch.arange(2,", "torch.arange(1,")],
    "PositionalEncoding": [
        ("5000", "4999"),
        ("5000", "5001"),
        ("return x + self.pe[:seq]", "self.pe = self.pe[:seq]\n        return x + self.pe"),
    ],
    "positional_encoding": [("position[:, None]", "position[:, None].half().float()")],
    "apply_rope": [("torch.arange(seq, device=x.device)", "torch.arange(seq, device=x.device).half().float()")],
    "CogModel": [(", device=src.device", ""), ("x = layer(x, mask)", "x = layer(x, None if self.training else mask)")],
    "gram_scores": [("q, k, r = gram_attention.upcast(q, k, r)", "pass")],
    "sample_regression": [
        (
            "x = torch.randn(n, L, d, generator=generator)",
            "generator = generator and generator.clone_state()\n    x = torch.randn(n, L, d, generator=generator)",
        ),
        (
            "torch.randn(n, L, 1, generator=generator)",
            "torch.randn(n, L, 1, generator=torch.Generator().manual_seed(1))",
        ),
        (
            "beta = torch.randn(n, d, 1, generator=generator)",
            "beta = (torch.rand(n, d, 1, generator=generator) - 0.5) * 12**0.5",
        ),
        (
            "x_q = torch.randn(n, 1, d, generator=generator)",
            "x_q = (torch.rand(n, 1, d, generator=generator) - 0.5) * 12**0.5",
        ),
        (" * torch.randn(n, L, 1, generator=generator)", ""),
        ("d**0.5", "(d * 0.5)"),
    ],
    "QueryAttention": [("= n_embd, n_head, n_out", "= n_embd, n_head, n_embd")],
    "copy_batch": [
        ("half = ", "generator = generator and generator.clone_state()\n    half = "),
        ("seq_len < 2", "seq_len < 3"),
        ("seq_len < 2", "batch_size < 2"),
    ],
}
CONTRIVED_IDS = [(name, i) for name, changes in CONTRIVED.items() for i in range(len(changes))]


@pytest.mark.parametrize("name, i", CONTRIVED_IDS, ids=[f"{name}-{i}" for name, i in CONTRIVED_IDS])
def test_a_contrived_answer_does_not_pass(name, i):
    answers = AnswerFactory.from_exercise(find_exercise(name))
    old, new = CONTRIVED[name][i]
    assert old in answers.source
    source = answers.source.replace(old, new)
    if "self.kept" in new:
        source = source.replace("for weight in made)", "for weight in self.kept)")
    outcome, message = judge_mutant(answers, source)
    assert outcome not in ("", EQUAL, WRONG), message


def test_a_source_is_changed_in_one_place_at_a_time():
    source = '''def scale(x: int, top: float = 2.0, low: float = 1.0) -> int:
    """Not this 1."""
    if x < 0:
        raise ValueError(f"{x} is below 0")
    half = x / top
    return max(half, low)
'''
    kinds = {m.change: m.kind for m in mutations.make_mutants(source)}
    for change, kind in {
        "if x < 0: → if x <= 0:": "comparison",
        "if x < 0: → if x < 1:": "constant",
        "half = x / top → half = x * top": "operator",
        "half = x / top → half = top / x": "swapped operands",
        "half = x / top → half = x / low": "swapped names",
        "half = x / top → half = x": "dropped operand",
        "half = x / top → (dropped)": "dropped line",
        "return max(half, low) → return max(low, half)": "swapped arguments",
        "if x < 0: / raise ValueError(f'{x} is below 0') → (dropped)": "dropped line",
    }.items():
        assert kinds.get(change) == kind, (change, kinds)
    assert len({ast.unparse(ast.parse(m.source)) for m in mutations.make_mutants(source)}) == len(kinds)
    assert not any(
        "Not this" in change or "is below" in change.partition("→")[2] for change in kinds
    )  # texts are not changed
    assert not any("/ x" in c and "low" in c for c in kinds)


def test_names_are_swapped_with_their_kind_only():
    source = """class Layer(nn.Module):
    def __init__(self, d_in: int, d_out: int, rate: float):
        self.one, self.rate = nn.Linear(d_in, d_out), rate
        self.two = nn.Linear(d_in, d_out)
"""
    swapped = {m.change for m in mutations.make_mutants(source) if m.kind == "swapped names"}
    assert "self.two = nn.Linear(d_in, d_out) → self.two = nn.Linear(d_out, d_out)" in swapped
    assert not any("nn.Linear(rate" in change for change in swapped)


def test_a_mutant_is_judged_by_what_its_check_says():
    answers = AnswerFactory.from_exercise(find_exercise("row_sums"))
    assert judge_mutant(answers, answers.source) == (EQUAL, "")
    assert judge_mutant(answers, answers.source.replace("dim=1", "dim=-1"))[0] == EQUAL
    assert judge_mutant(answers, answers.source.replace("dim=1", "dim=0"))[0] == NAMED
    assert judge_mutant(answers, "def other(x): pass")[0] == ""


def test_a_pass_that_is_not_equal_is_found_out():
    """The check uses no size from 20 to 59, so it cannot notice this mistake."""
    answers = AnswerFactory.from_exercise(find_exercise("get_mask"))
    sneaky = answers.source.replace(
        "return", "if 19 < size < 60:\n        return torch.ones(size, size, dtype=torch.bool)\n    return"
    )
    outcome, label = judge_mutant(answers, sneaky)
    assert outcome == WRONG and "argument 0 = " in label


def test_a_mutant_that_never_ends_is_stopped():
    endless = "def row_sums(x):\n    while True:\n        pass\n"
    with mutation_testing.Worker() as worker:
        assert worker.judge("row_sums", endless, 2)[0] == mutation_testing.ENDLESS
        assert worker.judge("row_sums", None, 60)[0] == EQUAL  # a new worker judges the next answer


THREE = ("row_sums", "softmax", "causal_attn_weights")


def test_three_exercises_are_as_stored():
    stored = mutation_testing.read_table()
    for tally in mutation_testing.run_mutants(THREE):
        assert mutation_testing.table_row(tally) == stored[tally.exercise], "run `coginst mutants --write`"
        assert tally.count(WRONG) == 0


def test_rows_keep_their_order_and_a_single_task_has_none(tmp_path):
    table = tmp_path / "mutants.md"
    table.write_bytes(mutation_testing.TABLE.read_bytes())
    rows = mutation_testing.read_table(table)
    del rows["all"]
    assert list(mutation_testing.update_table([], table)) == list(rows)
    assert table.read_bytes() == mutation_testing.TABLE.read_bytes()
    with pytest.raises(ValueError, match="Write mix_texts instead"):
        mutation_testing.update_table([mutation_testing.MutantTally("mix_texts/seq-first", "x")], table)


def test_100_percent_means_that_every_message_is_specific():
    rejected, plain = 1000, 1  # the columns of a row: mutants, rejected, named, explained, stopped, plain, ...
    assert mutation_testing.explained_percent((rejected, rejected, 0, rejected, 0, 0, 0, 0, 0)) == 100
    assert mutation_testing.explained_percent((rejected, rejected, 0, rejected - plain, 0, plain, 0, 0, 0)) == 99


def test_over_the_course_none_passes_wrongly_and_most_are_told_why():
    from utils.exercises.exercise import all_exercises

    stored = mutation_testing.read_table()
    total = stored.pop("all")
    assert set(stored) == set(all_exercises()), "run `coginst mutants --write`"
    assert total == tuple(map(sum, zip(*stored.values())))
    assert total[-1] == 0
    assert mutation_testing.explained_percent(total) >= 80 and mutation_testing.explained_percent_of_ran(total) >= 80
    assert (
        f"In the whole course, {mutation_testing.explained_percent_of_ran(total)} % of the rejected mutants"
        in mutation_testing.TABLE.read_text(encoding="utf-8")
    )
    assert all(row[0] == sum(row[2:]) and row[1] == sum(row[2:6]) for row in stored.values())


def test_an_unknown_outcome_is_rejected():
    from typer.testing import CliRunner

    from utils.cli.commands import app
    from utils.cli.instructor import Outcome

    done = CliRunner().invoke(app, ["mutants", "softmax", "--show", "bogus"])
    assert done.exit_code == 2 and "is not one of 'wrong'" in done.output
    assert get_args(Outcome) == mutation_testing.OUTCOMES
