"""The token explorers are driven as a reader drives them; what they show is compared with the tokenizer and with
torch."""

import html
import itertools
import re
import warnings
from types import SimpleNamespace

import pytest
import torch

from tests.explore.panels import alt, everything_said, facts, plain
from utils import explore
from utils.explore.tokenization import KS, distribution
from utils.gpt2 import load_tokenizer
from utils.show import charts
from utils.show.colours import VERMILION
from utils.show.tokenization import CHIPS, chip_text, token_of

VOCAB = 50257


class Model:
    """Logits that depend on the last id alone; counts its calls."""

    def __init__(self, longest=64):
        self.calls, self.config = 0, SimpleNamespace(n_positions=longest)

    def __call__(self, ids):
        self.calls += 1
        assert ids.ndim == 2 and len(ids) == 1 and not torch.is_grad_enabled()
        return SimpleNamespace(logits=torch.stack([row_of(int(one)) for one in ids[0]])[None])


def row_of(last):
    row = 2 * torch.randn(VOCAB, generator=torch.Generator().manual_seed(last))
    row[:5] += 12
    return row


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer()


@pytest.fixture
def undrawn(monkeypatch):
    """No picture is drawn, for tests that click many times and look at the tokens alone."""
    monkeypatch.setattr(charts, "bars", lambda *args, **kwargs: SimpleNamespace(html=lambda dpi: ""))


def chips(widget):
    """[(text, id, colour, marked)] of the chips in an HTML widget."""
    found = re.findall(
        r"background:(#\w+);[^\"]*?border:2px solid ([#\w]+);[^>]*>(.*?)<br><span[^>]*>(\d+)</span></span>",
        widget.value,
    )
    return [(html.unescape(text), int(number), colour, edge == VERMILION) for colour, edge, text, number in found]


# ---------------------------------------------------------------- a text and its tokens


def test_chips_are_the_tokens_of_what_is_typed(tokenizer):
    panel = explore.tokens(tokenizer, "Ralph ralph")
    assert panel.text.continuous_update and facts(panel)["characters"] == "11"
    panel.text.value = text = "I am 56873+3184623, <b>you</b> & antidisestablishmentarianism"
    ids = tokenizer.encode(text)
    shown = chips(panel.chips)
    assert [number for _, number, _, _ in shown] == ids
    assert [chip for chip, _, _, _ in shown] == [chip_text(tokenizer.decode([number])) for number in ids]
    colours = [colour for _, _, colour, _ in shown]
    assert all(a != b for a, b in itertools.pairwise(colours)) and set(colours) <= set(CHIPS)
    assert facts(panel) == {
        "tokens": str(len(ids)),
        "characters": str(len(text)),
        "characters per token": f"{len(text) / len(ids):.1f}",
    }
    assert "<b>you" not in panel.chips.value and "A space (·) belongs to the token that follows it." in plain(
        panel.readout
    )
    assert f"'I' {ids[0]} '·am' {ids[1]}" in repr(panel)


def test_an_empty_text_has_no_tokens(tokenizer):
    panel = explore.tokens(tokenizer, "")
    assert (
        facts(panel) == {"tokens": "0", "characters": "0"}
        and "type something" in plain(panel.readout)
        and not chips(panel.chips)
    )
    panel.text.value = "a"
    assert len(chips(panel.chips)) == 1


def test_parts_of_a_character_are_said_to_be_parts(tokenizer):
    panel = explore.tokens(tokenizer, "a 😀")
    assert [chip for chip, *_ in chips(panel.chips)] == ["a", "·\\xf0\\x9f\\x98", "\\x80"]
    assert "2 tokens are only parts of a character" in plain(panel.readout)
    panel.text.value = "é\ufffd"
    assert "part" not in plain(panel.readout)
    panel.text.value = "a\ud83d"  # a browser may send half of an emoji while it is typed
    assert chips(panel.chips)[0][0] == "a"


def test_a_long_text_has_a_limit_that_is_said(tokenizer):
    panel = explore.tokens(tokenizer, "a b " * 500)
    assert "first 2,000" not in plain(panel.readout) and facts(panel)["characters"] == "2,000"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panel.text.value = "😀" * 2431
    assert "The text has 2,431 characters; these are the tokens of the first 2,000." in plain(panel.readout)
    assert len(chips(panel.chips)) == len(tokenizer.encode("😀" * 2000))


@pytest.mark.parametrize(
    "text",
    [
        "\x00\n\r\t\u202e",
        "</div><script>alert(1)</script>",
        "<!--",
        "'\"&lt;",
        "<|endoftext|>",
        "汉字",
        " ",
        "x" * 1999,
    ],
)
def test_no_text_breaks_the_page(text, tokenizer):
    panel = explore.tokens(tokenizer, text)
    outside = re.sub(r"</?(div|span|br)\b[^>]*>", "", panel.chips.value)
    assert "<" not in outside and ">" not in outside
    assert not re.search(r"[\x00-\x1f\u202e]", panel.chips.value)
    assert [number for _, number, _, _ in chips(panel.chips)] == tokenizer.encode(text)


def test_any_tokenizer_will_do():
    from tokenizers import Tokenizer, models, pre_tokenizers

    plain_one = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    plain_one.pre_tokenizer = pre_tokenizers.Whitespace()
    assert [(chip, number) for chip, number, _, _ in chips(explore.tokens(plain_one, "a b c").chips)] == [
        ("a", 0),
        ("b", 1),
        ("?", 2),
    ]


# ---------------------------------------------------------------- what is drawn from
LOGITS = torch.tensor([1.0, 3.0, 3.0, -2.0, 0.5]).double()


@pytest.mark.parametrize("temperature", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_distribution_is_torchs(temperature, k):
    probs = distribution(LOGITS, temperature, k)
    top = LOGITS.topk(k)
    assert torch.allclose(probs[top.indices], (top.values / temperature).softmax(-1), atol=1e-12)
    assert int((probs > 0).sum()) == k and probs.sum().item() == pytest.approx(1)


def test_temperature_0_and_k_1_are_greedy_and_take_the_first_of_equals():
    for probs in (distribution(LOGITS, 0.0, 5), distribution(LOGITS, 0.0, 2), distribution(LOGITS, 2.0, 1)):
        assert probs.tolist() == [0, 1, 0, 0, 0]
    assert distribution(torch.zeros(VOCAB).double(), 0.0, VOCAB).argmax() == 0


# ---------------------------------------------------------------- the next token


@pytest.mark.parametrize("temperature, k", [(1.0, VOCAB), (0.5, VOCAB), (2.0, 20), (0.7, 3), (0.0, 50), (1.3, 1)])
def test_next_token_shows_torchs_numbers(temperature, k, tokenizer):
    model = Model()
    panel = explore.next_token(model, tokenizer, " a b")
    panel.temperature.value, panel.k.value = temperature, k
    logits = row_of(tokenizer.encode(" a b")[-1]).double()
    kept = logits.masked_fill(logits < logits.topk(k).values[-1], -torch.inf)
    probs = (
        (kept / temperature).softmax(-1)
        if temperature
        else torch.nn.functional.one_hot(logits.argmax(), VOCAB).double()
    )
    ranked = probs.sort(descending=True).values
    entropy = -(ranked[ranked > 0] * ranked[ranked > 0].log()).sum()
    shown = facts(panel)
    assert float(shown["likeliest"]) == pytest.approx(ranked[0].item(), abs=0.0051)
    assert float(shown["entropy"]) == pytest.approx(entropy.item(), abs=0.0051)
    count = int(shown["tokens that carry 90 %"].replace(",", ""))
    assert ranked[:count].sum() >= 0.9 - 1e-9 and ranked[: count - 1].sum() < 0.9
    ends = logits.topk(10).indices
    for group, values in (("the model's own", logits.softmax(-1)), (f"temperature {temperature}", probs)):
        said = next(part for part in alt(panel).split(". ") if group in part)
        assert f"{chip_text(token_of(tokenizer, int(ends[0])))}' {values[ends[0]]:.2f}" in said
    assert model.calls == 1, "moving a slider asks the model nothing"


def test_every_setting_has_its_remark(tokenizer):
    panel = explore.next_token(Model(), tokenizer, " a b")
    seen = set()
    for temperature, k, word in (
        (1.0, VOCAB, "model's own"),
        (0.5, VOCAB, "Below 1"),
        (1.5, VOCAB, "Above 1"),
        (1.0, 5, "5 likeliest"),
        (1.5, 1, "greedy"),
        (0.0, 5, "k does not matter"),
    ):
        panel.temperature.value, panel.k.value = temperature, k
        assert word in plain(panel.readout)
        seen.add(plain(panel.readout))
    assert len(seen) == 6 and [value for _, value in panel.k.options] == [*KS, VOCAB]


def test_sampling_appends_tokens_and_start_over_takes_them_back(tokenizer):
    model = Model()
    panel = explore.next_token(model, tokenizer, " a b")
    start = tokenizer.encode(" a b")
    panel.k.value = 3
    for n in range(1, 5):
        last = chips(panel.so_far)[-1][1]
        allowed = row_of(last).topk(3).indices.tolist()
        panel.sample.click()
        shown = chips(panel.so_far)
        assert [number for _, number, _, _ in shown][: len(start)] == start and len(shown) == len(start) + n
        assert shown[-1][1] in allowed and [marked for *_, marked in shown] == [False] * len(start) + [True] * n
        assert f"Drawn: '{shown[-1][0]}'" in plain(panel.readout)
        probability, rank = re.search(r"probability ([\d.]+) and was number (\d+)", plain(panel.readout)).groups()
        assert int(rank) == allowed.index(shown[-1][1]) + 1
        assert float(probability) == pytest.approx(
            distribution(row_of(last).double(), 1.0, 3)[shown[-1][1]].item(), abs=0.0051
        )
    assert model.calls == 5
    panel.start_over.click()
    assert [number for _, number, _, _ in chips(panel.so_far)] == start and "Back to the prompt." in plain(
        panel.readout
    )
    panel.temperature.value = 0.5
    assert "Back to the prompt" not in plain(panel.readout)


def test_draws_come_with_their_probabilities(tokenizer, undrawn):
    same = row_of(0)
    panel = explore.next_token(lambda ids: SimpleNamespace(logits=same.expand(1, ids.shape[1], -1)), tokenizer, "a")
    panel.k.value, panel.temperature.value = 2, 2.0
    wanted = distribution(same.double(), 2.0, 2)
    for _ in range(40):
        panel.sample.click()
    drawn = [number for _, number, _, marked in chips(panel.so_far) if marked]
    likelier, other = wanted.topk(2).indices.tolist()
    assert len(drawn) == 40 and set(drawn) == {likelier, other}
    assert drawn.count(likelier) / 40 == pytest.approx(wanted[likelier].item(), abs=0.2)


def test_greedy_takes_the_same_each_time(tokenizer):
    panel = explore.next_token(Model(), tokenizer, " a b")
    panel.temperature.value = 0
    for _ in range(3):
        best = int(row_of(chips(panel.so_far)[-1][1]).argmax())
        panel.sample.click()
        assert chips(panel.so_far)[-1][1] == best and "Taken: " in plain(panel.readout)


def test_the_seed_repeats_the_draws_and_leaves_the_global_generator_alone(tokenizer, undrawn):
    state = torch.get_rng_state()
    texts = []
    for seed in (0, 0, 1):
        panel = explore.next_token(Model(), tokenizer, " a b", seed=seed)
        for _ in range(6):
            panel.sample.click()
        texts.append([number for _, number, *_ in chips(panel.so_far)])
    assert texts[0] == texts[1] != texts[2] and torch.equal(torch.get_rng_state(), state)


def test_a_new_prompt_starts_anew_and_an_empty_one_from_bos(tokenizer):
    model = Model()
    panel = explore.next_token(model, tokenizer, " a b")
    panel.sample.click()
    assert not panel.prompt.continuous_update
    panel.prompt.value = " c"
    assert [number for _, number, *_ in chips(panel.so_far)] == tokenizer.encode(" c") and "Drawn" not in plain(
        panel.readout
    )
    panel.prompt.value = ""
    assert chips(panel.so_far)[0][:2] == ("<|endoftext|>", 50256)
    panel.prompt.value = "<b>😀"
    assert "<b>" not in re.sub(
        r"<b>[\d.,]+</b>", "", everything_said(panel).replace("prompt", "").replace(panel.prompt.value, "")
    )


def test_a_text_that_is_too_long_keeps_the_last_one(tokenizer):
    model = Model(longest=4)
    panel = explore.next_token(model, tokenizer, " a b")
    panel.prompt.value = " a b c d e"
    assert (
        "That makes 5 tokens, and this model reads at most 4. The picture is still that of the text before."
        in plain(panel.readout)
    )
    assert len(chips(panel.so_far)) == 2
    for _ in range(3):
        panel.sample.click()
    assert len(chips(panel.so_far)) == 4 and "That makes 5 tokens" in plain(panel.readout)
    with pytest.raises(ValueError, match="That makes 5 tokens"):
        explore.next_token(model, tokenizer, " a b c d e")


def test_a_model_in_training_is_asked_without_dropout_and_left_in_training(tokenizer):
    class Trained(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, ids):
            assert not self.training
            return SimpleNamespace(logits=self.weight * torch.stack([row_of(int(one)) for one in ids[0]])[None])

    model = Trained().train()
    explore.next_token(model, tokenizer, " a b").sample.click()
    assert model.training and model.weight.grad is None


def test_only_the_last_chips_of_a_long_text_are_shown(tokenizer):
    panel = explore.next_token(Model(longest=None), tokenizer, " a" * 70)
    panel.sample.click()
    assert len(chips(panel.so_far)) == 60 and "… 11 tokens before" in plain(panel.so_far)
    assert [marked for *_, marked in chips(panel.so_far)] == [False] * 59 + [True]
