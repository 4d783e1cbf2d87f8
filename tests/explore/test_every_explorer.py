"""What holds for every explorer: it is a widget, in a terminal a sentence, and it refuses what it cannot show."""

import math
import re
import warnings
from types import SimpleNamespace

import pytest
import torch

from tests.show.figures import TOKENS
from utils import explore
from utils.gpt2 import load_tokenizer

SCORES = [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]
TABLE = torch.randn(6, 6, generator=torch.Generator().manual_seed(3)) * 2


def flat(ids):
    """A model to which all tokens are equal."""
    return SimpleNamespace(logits=torch.zeros(1, ids.shape[1], 50257))


EXPLORERS = {  # how it is made
    "predict": lambda: explore.predict("How many?", 10),
    "quiz": lambda: explore.quiz("Which?", {"a": "no", "b": "yes"}, "b"),
    "dot_product": explore.dot_product,
    "scaling": explore.scaling,
    "softmax": lambda: explore.softmax(SCORES, TOKENS),
    "layer_norm": explore.layer_norm,
    "positions": explore.positions,
    "causal": lambda: explore.causal(TABLE, TOKENS),
    "query": explore.query,
    "volume": explore.volume,
    "tokens": lambda: explore.tokens(load_tokenizer()),
    "next_token": lambda: explore.next_token(flat, load_tokenizer(), " a b"),
    "sentence": explore.sentence,
}


@pytest.mark.parametrize("name", EXPLORERS)
def test_an_explorer_is_a_widget_and_a_calm_sentence(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = EXPLORERS[name](), EXPLORERS[name]()
    bundle = first._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == first.model_id
    said = data["text/plain"]
    assert said == repr(first) == repr(second) and said.endswith(".")
    assert len(said) > 30 and not re.search(r"0x|VBox|[0-9a-f]{16}", said)


REFUSED = {
    "seq of 1": (lambda: explore.scaling(1), "seq must be a whole number from 2 to 16"),
    "seq of 17": (lambda: explore.scaling(17), "seq must be a whole number from 2 to 16"),
    "seq of 2.0": (lambda: explore.scaling(2.0), "seq must be a whole number from 2 to 16"),
    "seq of yes": (lambda: explore.scaling(True), "seq must be a whole number from 2 to 16"),
    "nan": (lambda: explore.softmax([1.0, math.nan], ["a", "b"]), r"scores\[1\] is nan"),
    "labels": (lambda: explore.softmax([1.0], ["a", "b"]), "2 labels were given for 1 scores"),
    "shape": (lambda: explore.softmax([[1.0]], ["a"]), "shape"),
    "many": (lambda: explore.softmax([1.0] * 17, ["a"] * 17), "at most 16 scores"),
    "position": (
        lambda: explore.causal(TABLE, TOKENS, position="journey"),
        "position must be a whole number from 0 to 5; got 'journey'",
    ),
    "five tokens": (lambda: explore.causal(TABLE, TOKENS[:5]), "5 tokens were given"),
    "a name": (lambda: explore.tokens("gpt2"), "tokenizer must have encode and decode.*got str"),
    "a name beside a model": (lambda: explore.next_token(flat, "gpt2", " a"), "tokenizer must have encode and decode"),
    "prompt": (lambda: explore.next_token(flat, load_tokenizer(), 3), "prompt must be a string"),
    "seed": (lambda: explore.next_token(flat, load_tokenizer(), " a", seed=0.5), "seed must be a whole number"),
    "text": (lambda: explore.tokens(load_tokenizer(), None), "text must be a string"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_explorers_refuse(case):
    make, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        make()
