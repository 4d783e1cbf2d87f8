"""Tests of the inputs for lesson 13: pairs of sentences, repeated lists, and the patterns of all heads."""

import pytest
import torch

from solutions import your_own_gpt2 as lesson
from utils import gpt2
from utils.models import abc_sorter
from utils.models import where_the_answer_comes_from as where
from utils.models import your_own_gpt2 as parts
from utils.training import corpus


def test_every_word_is_one_token_that_the_small_model_knows():
    tokenizer, known = gpt2.load_tokenizer(), set(where.known_tokens().tolist())
    for words, theirs in ((where.NAMES, corpus.NAMES), (where.PLACES, corpus.PLACES), (where.THINGS, corpus.OBJECTS)):
        assert set(words) <= set(theirs) and len(set(words)) == len(words)
        for word in words:
            (token,) = tokenizer.encode(f" {word}")
            assert token in known


def test_a_twin_differs_in_the_giver_alone():
    many, tokenizer = where.pairs(60), gpt2.load_tokenizer()
    assert many.clean.shape == many.corrupted.shape == (60, 14)
    different = (many.clean != many.corrupted).nonzero()
    assert different.tolist() == [[row, 9] for row in range(60)]
    rows = torch.arange(60)
    assert torch.equal(many.clean[rows, 9], many.wrong) and torch.equal(many.corrupted[rows, 9], many.right)
    first = (many.right == many.clean[:, 1]).float().mean()
    assert 0.3 < first < 0.7  # the receiver is the first name in about half of the sentences
    for row in range(60):
        both = {many.clean[row, 1].item(), many.clean[row, 3].item()}
        assert {many.right[row].item(), many.wrong[row].item()} == both
    assert torch.equal(where.pairs(60).clean, many.clean) and not torch.equal(where.pairs(60, seed=1).clean, many.clean)
    assert tokenizer.decode(many.clean[0]).startswith("When ")


def test_the_other_kind_of_twin_differs_in_the_receiver_alone():
    many, givers, rows = where.pairs(60, exchange="receiver"), where.pairs(60), torch.arange(60)
    assert torch.equal(many.clean, givers.clean) and torch.equal(many.right, givers.right)
    different = (many.clean != many.corrupted).nonzero()
    assert different[:, 0].tolist() == list(range(60)) and set(different[:, 1].tolist()) == {1, 3}
    places = different[:, 1]
    assert torch.equal(many.clean[rows, places], many.right) and torch.equal(many.corrupted[rows, places], many.wrong)
    assert not (many.clean == many.wrong[:, None]).any()


def test_another_kind_of_twin_is_an_error(snapshot):
    with pytest.raises(ValueError) as error:
        where.pairs(3, exchange="place")
    assert str(error.value) == snapshot


@pytest.mark.parametrize("n", [0, -1, 2.0, True])
def test_an_invalid_number_of_pairs_is_an_error(n, snapshot):
    with pytest.raises(ValueError) as error:
        where.pairs(n)
    assert str(error.value) == snapshot


def test_less_than_one_list_or_position_is_refused():
    with pytest.raises(ValueError, match="n must be at least 1; got 0"):
        where.repeated_lists(0, 10)
    with (
        pytest.raises(ValueError, match="count must be at least 1; got 0"),
        where.last_positions(torch.nn.Identity(), 0),
    ):
        pass


def test_a_list_is_random_and_repeated(snapshot):
    lists, known = where.repeated_lists(7, 12), set(where.known_tokens().tolist())
    assert lists.shape == (7, 24) and torch.equal(lists[:, :12], lists[:, 12:])
    assert all(len(set(row)) == 12 and set(row) <= known for row in lists[:, :12].tolist())
    assert 1000 < len(known) < 50257 and where.END not in known
    assert torch.equal(lists, where.repeated_lists(7, 12))
    assert not torch.equal(lists, where.repeated_lists(7, 12, seed=1))
    with pytest.raises(ValueError) as error:
        where.repeated_lists(1, 0)
    assert str(error.value) == snapshot


@torch.no_grad()
def test_the_patterns_are_those_of_transformers():
    theirs, tokenizer = gpt2.load_gpt2()
    tokens = tokenizer(
        ["Mary and John went to the store", "John and Mary came to the park"], return_tensors="pt"
    ).input_ids
    wanted = torch.stack(theirs(tokens, output_attentions=True).attentions)
    tensors, config = parts.checkpoint()
    model = parts.load(lesson.GPT(config), lesson.gpt2_state(tensors, config))
    torch.testing.assert_close(where.patterns(model, tokens), wanted, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_inside_the_block_only_the_last_positions_are_asked():
    tensors, config = parts.checkpoint()
    model = parts.load(lesson.GPT(config), lesson.gpt2_state(tensors, config))
    tokens = where.pairs(3).clean
    whole = model(tokens)
    with where.last_positions(model):
        assert torch.allclose(model(tokens), whole[:, -1:], atol=1e-4)
    with where.last_positions(model, 3):
        assert torch.allclose(model(tokens), whole[:, -3:], atol=1e-4)
    with pytest.raises(RuntimeError, match="half-way"), where.last_positions(model):
        raise RuntimeError("half-way")
    assert torch.equal(model(tokens), whole)  # after an error, the model returns all positions again


@pytest.mark.parametrize("head", [12, -1])
def test_a_head_that_does_not_exist_is_refused(head):
    """With an empty slice, nothing would be removed, which would look like a measurement."""
    tensors, config = parts.checkpoint()
    model = parts.load(lesson.GPT(config), lesson.gpt2_state(tensors, config))
    asked, message = where.pairs(1), f"there is no head {head}: the model has 12 heads, from 0 to 11"
    with pytest.raises(ValueError, match=message):
        where.without_heads(model, [(0, head)])
    with pytest.raises(ValueError, match=message):
        where.exchange_head(model, asked.clean, where.head_results(model, asked.corrupted), 0, head, 9)
    with pytest.raises(ValueError, match=f"no head {head}: the model has 2 heads"):
        abc_sorter.without(torch.nn.Identity(), head)


@torch.no_grad()
def test_an_exchanged_head_comes_from_the_twin():
    """In the last block, only the logits of the chosen position change, and only the entries of the chosen head."""
    tensors, config = parts.checkpoint()
    model = parts.load(lesson.GPT(config), lesson.gpt2_state(tensors, config))
    asked = where.pairs(3)
    out_proj, kept = model.blocks[3].attn.out_proj, []
    with out_proj.register_forward_hook(lambda part, given, result: kept.append(given[0])):
        whole = model(asked.clean)
        logits = where.exchange_head(model, asked.clean, where.head_results(model, asked.corrupted), 3, 2, 9)
    own, twin, clean = kept
    assert logits.shape == whole.shape and not out_proj._forward_pre_hooks
    assert (whole != logits).any(2).any(0).nonzero().flatten().tolist() == [9]
    wanted, place = own.clone(), (slice(None), 9, where.entries(model, 2))
    wanted[place] = twin[place]
    assert torch.equal(clean, wanted) and not torch.equal(clean, own)
