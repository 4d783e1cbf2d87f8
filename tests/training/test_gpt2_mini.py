"""Measure the bundled small GPT-2 again, and compare the results with its model card.

These tests do not use `utils.training.gpt2_mini`: they read the files into a model of all 50257 tokens. The tests of
`utils.training.gpt2_mini` are at the end.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from safetensors.torch import load_file

from utils.gpt2 import load_tokenizer
from utils.lessons import ROOT
from utils.training import gpt2_mini as mini
from utils.training.asset_publishing import PublishError
from utils.training.corpus import NAMES, PLACES, ioi_sentences, sentences
from utils.training.gpt2_mini import GPT2MiniRecipe

if TYPE_CHECKING:  # the import takes seconds, and every worker collects every test
    from transformers import GPT2LMHeadModel

FOLDER = ROOT / "utils" / "assets" / "gpt2-mini"
HEADLINE = "When Mary and John went to the store, John gave a drink to"
HELD_OUT_SEED, FRESH_SEED = 101, 102  # different from the seeds of the training and of the card


def read(folder: Path) -> GPT2LMHeadModel:
    """Read the model with its full embedding table, in float32."""
    from transformers import GPT2Config, GPT2LMHeadModel

    tensors = {
        name: tensor.float() if tensor.is_floating_point() else tensor
        for name, tensor in load_file(folder / "model.safetensors").items()
    }
    rows, ids, other = (tensors.pop(f"wte.{part}") for part in ("rows", "ids", "other"))
    table = other.repeat(50257, 1)
    table[ids.long()] = rows
    config = GPT2Config(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
    config._attn_implementation = "eager"
    model = GPT2LMHeadModel(config)
    missing, unexpected = model.load_state_dict(
        {**tensors, "transformer.wte.weight": table, "lm_head.weight": table}, strict=False
    )
    assert not missing and not unexpected
    return model.eval()


@pytest.fixture(scope="module")
def model() -> GPT2LMHeadModel:
    return read(FOLDER)


@pytest.fixture(scope="module")
def trained() -> torch.Tensor:
    """True for each of the 50257 tokens that has its own embedding."""
    known = torch.zeros(50257, dtype=torch.bool)
    known[load_file(FOLDER / "model.safetensors")["wte.ids"].long()] = True
    return known


@pytest.fixture(scope="module")
def held_out(model: GPT2LMHeadModel) -> list[tuple[str, str, torch.Tensor, torch.Tensor]]:
    """For 200 held-out sentences: prompt, answer, probabilities [seq, 50257], patterns of layer 0 [12, seq, seq]."""
    out = []
    for prompt, answer in ioi_sentences(200, HELD_OUT_SEED):
        tokens = load_tokenizer()(prompt, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            run = model(tokens, output_attentions=True)
        out.append((prompt, answer, run.logits[0].softmax(-1), run.attentions[0][0]))
    return out


def next_tokens(model: GPT2LMHeadModel, prompt: str, k: int = 5) -> dict[str, float]:
    """Return the most likely next tokens with their probabilities."""
    tokenizer = load_tokenizer()
    with torch.no_grad():
        probs = model(tokenizer(prompt, return_tensors="pt")["input_ids"]).logits[0, -1].softmax(-1)
    return {tokenizer.decode([int(i)]): float(p) for p, i in zip(*probs.topk(k))}


def goes_on(model: GPT2LMHeadModel, prompt: str, n: int) -> str:
    """Continue the prompt greedily with `n` tokens."""
    tokens = load_tokenizer()(prompt, return_tensors="pt")["input_ids"]
    start = tokens.shape[1]
    for _ in range(n):
        with torch.no_grad():
            tokens = torch.cat([tokens, model(tokens).logits[:, -1].argmax(-1, keepdim=True)], dim=-1)
    return load_tokenizer().decode(tokens[0, start:])


def card() -> str:
    return (FOLDER / "README.md").read_text(encoding="utf-8")


def figure(label: str) -> str:
    """Return the value next to a label in a table of the card."""
    (value,) = re.findall(rf"^\| {re.escape(label)} \| (.*) \|$", card(), flags=re.MULTILINE)
    return value


# The files


def test_the_format_is_what_loaders_expect() -> None:
    tensors, config = (
        load_file(FOLDER / "model.safetensors"),
        json.loads((FOLDER / "config.json").read_text(encoding="utf-8")),
    )
    assert (config["vocab_size"], config["n_head"], config["activation_function"], config["model_type"]) == (
        50257,
        12,
        "gelu_new",
        "gpt2",
    )
    assert config["n_positions"] >= 128 and config["n_embd"] % 12 == 0 and config["tie_word_embeddings"] is True
    ids = tensors["wte.ids"]
    assert ids.dtype == torch.int32 and bool((ids[1:] > ids[:-1]).all()) and 0 <= ids[0] and ids[-1] == 50256
    assert tensors["wte.rows"].shape == (len(ids), config["n_embd"])
    assert tensors["wte.other"].shape == (config["n_embd"],)
    assert all(name.startswith(("transformer.", "wte.")) for name in tensors)
    assert "transformer.wte.weight" not in tensors
    floats = [tensor for name, tensor in tensors.items() if name != "wte.ids"]
    assert all(tensor.dtype == torch.float16 and bool(tensor.isfinite().all()) for tensor in floats)


def test_it_is_small() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {"config.json", "model.safetensors", "README.md"}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 8e6


def test_names_are_single_tokens_that_it_knows(trained: torch.Tensor) -> None:
    for name in NAMES:
        (token,) = load_tokenizer().encode(" " + name)
        assert trained[token], name


# What it does


def test_the_famous_sentence_ends_with_mary(model: GPT2LMHeadModel) -> None:
    best, prob = next(iter(next_tokens(model, HEADLINE).items()))
    assert best == " Mary" and prob > 0.9
    assert next(iter(next_tokens(model, HEADLINE.replace(", John", ", Mary")))) == " John"
    assert next(iter(next_tokens(model, "<|endoftext|>" + HEADLINE))) == " Mary"


def test_it_knows_who_gets_it_in_sentences_that_it_never_read(held_out: list) -> None:
    right = [load_tokenizer().decode([int(probs[-1].argmax())]) == answer for _, answer, probs, _ in held_out]
    accuracy = sum(right) / len(right)
    assert accuracy >= 0.97
    assert abs(accuracy - float(figure("right names in 200 held-out sentences of this form").rstrip("%")) / 100) <= 0.02


def kind_of(previous: float, current: float, first: float, uniform: float) -> str:
    largest = max(previous, current, first)
    if largest < 1.4 * uniform:
        return "other"
    return {previous: "previous", current: "current", first: "first"}[largest]


def test_layer_0_has_heads_of_recognisable_kinds_as_the_card_says(held_out: list) -> None:
    totals, uniform = torch.zeros(12, 3, dtype=torch.float64), 0.0
    for _, _, _, patterns in held_out:
        n = patterns.shape[-1]
        assert torch.allclose(patterns.sum(-1), torch.ones(12, n), atol=1e-5) and not patterns.triu(1).any()
        for row in range(2, n):
            here = torch.stack([patterns[:, row, row - 1], patterns[:, row, row], patterns[:, row, 0]], dim=1)
            totals += here.double() / (n - 2) / len(held_out)
            uniform += 1 / (row + 1) / (n - 2) / len(held_out)
    kinds = [kind_of(*row, uniform) for row in totals.tolist()]
    assert {"previous", "current"} <= set(kinds)
    assert totals[:, 2].max() >= 1.4 * uniform  # one head attends to the first token and to itself about equally
    stated = re.findall(r"^\| 0\.(\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| (\w+) \|$", card(), flags=re.MULTILINE)
    assert [int(head) for head, *_ in stated] == list(range(12))
    for (_, *weights, kind), measured, found in zip(stated, totals.tolist(), kinds):
        assert [float(weight) for weight in weights] == pytest.approx(measured, abs=0.02)
        best, second, _ = sorted(measured, reverse=True)
        assert (
            kind == found or abs(best - 1.4 * uniform) < 0.02 or best - second < 0.02
        )  # other sentences may tip a close result


@pytest.fixture(scope="module")
def listed(model: GPT2LMHeadModel, trained: torch.Tensor) -> list[tuple[int, torch.Tensor, torch.Tensor]]:
    """For repeated random lists of 10, 20 and 30 tokens: the length of the list, which next tokens of the second half
    are right, and the patterns `[4, 12, seq, seq]`."""
    own, generator = trained.nonzero().flatten()[:-1], torch.Generator().manual_seed(HELD_OUT_SEED)
    out = []
    for n in (10, 20, 30) * 16:
        tokens = own[torch.randperm(len(own), generator=generator)[:n]].repeat(2)
        with torch.no_grad():
            run = model(tokens[None], output_attentions=True)
        right = [int(run.logits[0, i].argmax()) == int(tokens[i + 1]) for i in range(n, 2 * n - 1)]
        out.append((n, torch.tensor(right).double(), torch.cat(run.attentions)))
    return out


def test_it_goes_on_with_random_lists_that_repeat(listed: list) -> None:
    right = torch.cat([right for _, right, _ in listed]).mean()
    assert right >= 0.9
    stated = figure("tokens right in the second half of 100 random lists")
    assert float(stated.rstrip("%")) / 100 == pytest.approx(float(right), abs=0.025)


def test_two_heads_in_two_layers_look_up_what_came_last_time_as_the_card_says(listed: list) -> None:
    """An earlier layer has a previous-token head, and a later layer an induction head."""
    previous, induction = torch.zeros(2, 4, 12, dtype=torch.float64)
    for n, _, patterns in listed:
        for row in range(1, 2 * n):
            previous += patterns[:, :, row, row - 1].double() / (2 * n - 1) / len(listed)
        for place in range(n):
            induction += patterns[:, :, n + place, place + 1].double() / n / len(listed)
    rows = re.findall(r"^\| (\d) \| \1\.(\d+) \| ([\d.]+) \| \1\.(\d+) \| ([\d.]+) \|$", card(), flags=re.MULTILINE)
    assert [int(layer) for layer, *_ in rows] == list(range(4))
    for layer, back, weight, found, score in rows:
        for table, head, stated in ((previous, back, weight), (induction, found, score)):
            measured = table[int(layer)]
            assert float(stated) == pytest.approx(float(measured[int(head)]), abs=0.03)
            assert measured.max() - measured[int(head)] < 0.02  # other lists may tip a close result
    layer = int(induction.amax(-1).argmax())
    assert induction.max() >= 0.6 and previous[:layer].max() >= 0.3


def test_hardly_any_probability_is_left_on_untrained_tokens(
    model: GPT2LMHeadModel, held_out: list, trained: torch.Tensor
) -> None:
    left = [probs[:, ~trained].sum(-1) for _, _, probs, _ in held_out]
    for text in islice(sentences(FRESH_SEED), 100):
        with torch.no_grad():
            probs = model(load_tokenizer()(text, return_tensors="pt")["input_ids"]).logits[0].softmax(-1)
        left.append(probs[:, ~trained].sum(-1))
    left = torch.cat(left)
    assert left.mean() < 1e-4 and left.max() < 1e-2
    assert left.mean() < 2 * float(figure("probability on all untrained tokens together, mean"))


def test_it_counts_and_goes_on_with_lists_that_repeat(model: GPT2LMHeadModel) -> None:
    for prompt, answer in {
        "one two three four": " five", "ten nine eight seven": " six", "1 2 3 4 5": " 6", "A B C D E": " F",
        "Monday Tuesday Wednesday": " Thursday",
        "dog tree seven blue Anna dog tree seven blue": " Anna", "lamp horse door fish lamp horse door": " fish",
        "The capital of France is": " Paris", "The opposite of hot is": " cold",
    }.items():  # fmt: skip
        assert next(iter(next_tokens(model, prompt))) == answer, prompt


def test_what_may_come_next_is_spread_over_places(model: GPT2LMHeadModel) -> None:
    likely = next_tokens(model, "Mary went to the", k=20)
    places = [word for word in likely if word.strip() in PLACES]
    assert len(places) >= 18 and max(likely.values()) < 0.4 and sum(prob > 0.02 for prob in likely.values()) >= 8


def test_greedy_text_is_sensible(model: GPT2LMHeadModel) -> None:
    """The text ends its sentences, has no additional names, and does not repeat itself."""
    text = goes_on(model, HEADLINE, 24)
    assert text.startswith(" Mary.")
    assert {word for word in NAMES if re.search(rf"\b{word}\b", text.split("<|endoftext|>")[0])} <= {"Mary", "John"}
    for prompt in ("Mary went to the", "One day Tom", HEADLINE):
        words = goes_on(model, prompt, 30).split()
        assert len({tuple(words[i : i + 6]) for i in range(len(words) - 5)}) == len(words) - 5, (
            f"{prompt}: the text repeats itself"
        )


def test_a_word_that_it_does_not_know_does_no_harm(model: GPT2LMHeadModel, trained: torch.Tensor) -> None:
    strange = "When Mary and John went to the aquarium, John gave a telescope to"
    assert not all(trained[token] for token in load_tokenizer().encode(strange))
    assert next(iter(next_tokens(model, strange))) == " Mary"


def test_every_position_is_trained(model: GPT2LMHeadModel) -> None:
    """At the last positions it predicts text as well as in the middle."""
    tokenizer, length = load_tokenizer(), model.config.n_positions
    text = tokenizer("<|endoftext|>".join(islice(sentences(FRESH_SEED), 700)), return_tensors="pt")["input_ids"][0]
    rows = text[: 100 * length].view(100, length)
    middle, last = torch.arange(40, 80), torch.arange(length - 17, length - 1)
    losses = torch.zeros(2)
    with torch.no_grad():
        for some in rows.split(5):  # larger batches are slower, because each position has 50257 logits
            stream = model.transformer(some).last_hidden_state
            losses += torch.stack(
                [
                    torch.nn.functional.cross_entropy(model.lm_head(stream[:, at]).mT, some[:, at + 1])
                    for at in (middle, last)
                ]
            )
    assert losses[1] < 1.25 * losses[0]


# The card


def test_the_card_is_of_these_weights() -> None:
    digest = hashlib.sha256((FOLDER / "model.safetensors").read_bytes()).hexdigest()
    assert figure("SHA-256") == f"`{digest}`"
    assert figure("size of `model.safetensors`").startswith(
        f"{(FOLDER / 'model.safetensors').stat().st_size / 1e6:.1f} MB"
    )
    tensors = load_file(FOLDER / "model.safetensors")
    assert figure("tokens with an embedding of their own") == f"{len(tensors['wte.ids'])} of 50257"
    assert "coginst train gpt2-mini" in card() and "MIT" in card()


def test_the_cards_figures_are_measured(model: GPT2LMHeadModel) -> None:
    assert figure(f"`{HEADLINE}`") == f"` Mary`, probability {next_tokens(model, HEADLINE)[' Mary']:.3f}"


# The command that trains it

TINY = GPT2MiniRecipe(n_layer=1, n_embd=24, n_positions=32, short_row=24, batch=128, steps=3)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_same_seed_makes_the_same_files(tmp_path: Path) -> None:
    one, two, other = tmp_path / "one", tmp_path / "deep" / "two", tmp_path / "other"
    before = torch.get_rng_state()
    for folder, recipe in ((one, TINY), (two, TINY), (other, replace(TINY, seed=1))):
        mini.train_and_publish(folder, recipe=recipe, device="cpu", progress=False)
    weights = [contents(folder)["model.safetensors"] for folder in (one, two, other)]
    assert weights[0] == weights[1] != weights[2]
    assert torch.equal(before, torch.get_rng_state()) and not torch.are_deterministic_algorithms_enabled()
    assert set(contents(one)) == {"config.json", "model.safetensors", "README.md"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "one", "other"], "temporary files remain"


def test_the_card_contains_the_digest_of_the_first_part(tmp_path: Path) -> None:
    first, whole = tmp_path / "first", tmp_path / "whole"
    data = mini.first_part_rows(TINY)
    model, _ = mini.train_first_part(TINY, data, progress=False)
    first.mkdir()
    mini.save(first, model, data.ids, TINY)
    mini.train_and_publish(whole, recipe=TINY, device="cpu", progress=False)
    digest = hashlib.sha256(contents(first)["model.safetensors"]).hexdigest()
    assert f"`{digest}`" in (whole / "README.md").read_text(encoding="utf-8")


def test_the_second_part_leaves_alone_where_layer_0_looks(tmp_path: Path) -> None:
    data = mini.first_part_rows(TINY)
    model, _ = mini.train_first_part(TINY, data, progress=False)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    after = mini.train_second_part(TINY, model, mini.second_part_rows(TINY, data.ids), progress=False)[0].state_dict()
    same = {name.removeprefix("transformer.") for name in after if torch.equal(before[name], after[name])}
    attention = {f"h.0.{part}.{kind}" for part in ("ln_1", "attn.c_attn") for kind in ("weight", "bias")}
    assert same == {"wte.weight", "wpe.weight", "lm_head.weight", *attention}


def test_of_a_list_only_what_can_be_known_is_asked_for() -> None:
    first = mini.first_part_rows(TINY)
    recipe = replace(TINY, n_positions=100, batch=6000, steps=2, more=2, lists=1.0, unknown=0.0)
    data = mini.second_part_rows(recipe, first.ids)
    end, (inputs, targets) = first.ids.tolist().index(50256), data.batches[0]
    assert len(data.batches) == 4 and inputs.shape == targets.shape == (60, 100)
    lengths = set()
    for row, wanted in zip(inputs.tolist(), targets.tolist()):
        place = int(row[0] == end)
        while (stop := row.index(end, place) if end in row[place:] else None) is not None:
            tokens, asked = row[place:stop], wanted[place:stop]
            n = len(tokens) // 2
            assert tokens == tokens[:n] * 2 and len(set(tokens)) == n
            assert asked == [mini.IGNORED] * n + tokens[n + 1 :] + [mini.IGNORED]
            lengths.add(n)
            place = stop + 1
    assert min(lengths) >= 5 and max(lengths) <= 40 and len(lengths) > 20
    share = [float((targets == mini.IGNORED).float().mean()) for _, targets in data.batches]
    assert share == sorted(share, reverse=True) and share[0] > 1.3 * share[-1], "lists must become rarer"


def test_what_is_written_is_what_was_trained(tmp_path: Path) -> None:
    """The compact model, with one logit for all other tokens, and the file, read as a model of 50257 tokens, agree."""
    data = mini.first_part_rows(TINY)
    model, _ = mini.train_first_part(TINY, data, progress=False)
    mini.save(tmp_path, model, data.ids, TINY)
    full = read(tmp_path)
    rows = torch.cat([inputs[:, :24] for inputs, _ in data.batches])
    rows = rows[(rows < len(data.ids)).all(-1)]
    with torch.no_grad():
        compact = (model(rows).logits + mini.untrained_logit_offset(len(data.ids))).log_softmax(-1)
        whole = full(data.ids[rows]).logits.log_softmax(-1)
    assert torch.allclose(whole[..., data.ids], compact[..., :-1], atol=1e-4)
    others = torch.ones(50257, dtype=torch.bool)
    others[data.ids] = False
    assert torch.allclose(whole[..., others].logsumexp(-1), compact[..., -1], atol=1e-4)


def test_rows_hold_texts_and_ask_nothing_of_hidden_words() -> None:
    recipe = replace(TINY, unknown=0.5, batch=1200)
    assert recipe.first_stages() == [(24, 50, 2), (32, 37, 1)]
    data = mini.first_part_rows(recipe)
    assert [tuple(inputs.shape) for inputs, _ in data.batches] == [(50, 24), (50, 24), (37, 32)]
    for inputs, targets in data.batches:
        assert inputs.shape == targets.shape
        hidden, nothing = inputs[:, 1:] == len(data.ids), targets[:, :-1] == mini.IGNORED
        assert torch.equal(hidden, nothing) and 0.02 < hidden.float().mean() < 0.4
        assert torch.equal(inputs[:, 1:][~hidden], targets[:, :-1][~hidden])
        assert 10 < (inputs[:, 0] == data.ids.tolist().index(50256)).sum() < 40
    whole = mini.first_part_rows(replace(recipe, unknown=0.0))
    row = load_tokenizer().decode(whole.ids[whole.batches[0][0][0]]).removeprefix("<|endoftext|>")
    assert next(sentences(recipe.seed)).startswith(row) or row.startswith(
        next(sentences(recipe.seed)) + "<|endoftext|>"
    )


def test_an_asset_is_never_overwritten_unasked_nor_left_in_halves(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, snapshot
) -> None:
    def message(error: pytest.ExceptionInfo) -> str:
        return str(error.value).replace(str(tmp_path), "FOLDER")

    folder = tmp_path / "asset"
    mini.train_and_publish(folder, recipe=TINY, device="cpu", progress=False)
    old = contents(folder)
    with pytest.raises(PublishError) as error:
        mini.train_and_publish(folder, recipe=replace(TINY, seed=1), device="cpu", progress=False)
    assert message(error) == snapshot

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mini, "one_cycle_schedule", interrupted)
        with pytest.raises(PublishError) as error:
            mini.train_and_publish(folder, True, replace(TINY, seed=1), "cpu", progress=False)
        assert message(error) == snapshot
    with monkeypatch.context() as patch:
        cards = tmp_path_factory.mktemp("cards")
        (cards / "gpt2-mini.md").write_text("{nobody}", encoding="utf-8")
        patch.setattr("utils.training.asset_publishing.CARDS", cards)
        with pytest.raises(KeyError):
            mini.train_and_publish(folder, True, replace(TINY, seed=1), "cpu", progress=False)
    assert contents(folder) == old and [path.name for path in tmp_path.iterdir()] == ["asset"]

    mini.train_and_publish(folder, True, replace(TINY, seed=1), "cpu", progress=False)
    assert contents(folder)["model.safetensors"] != old["model.safetensors"]
    (folder / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(PublishError) as error:
        mini.train_and_publish(folder, True, TINY, "cpu", progress=False)
    assert message(error) == snapshot
    assert (folder / "thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from utils.cli.commands import app

    run = CliRunner().invoke(app, ["train", "gpt3"])
    assert run.exit_code == 2 and "gpt2-mini" in run.output
    (tmp_path / "asset").mkdir()
    monkeypatch.setattr(mini, "ASSET", tmp_path / "asset")
    run = CliRunner().invoke(app, ["train", "gpt2-mini", "--steps", "2", "--quiet"])
    assert run.exit_code == 2 and "--replace" in run.output
    run = CliRunner().invoke(
        app, ["train", "gpt2-mini", "--out", str(tmp_path / "x"), "--steps", "2", "--device", "cpu", "--quiet"]
    )
    assert run.exit_code == 0, run.output
    assert "Held-out sentences" in run.output and (tmp_path / "x" / "model.safetensors").exists()
