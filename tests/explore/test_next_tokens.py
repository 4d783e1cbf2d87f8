"""The explorer of the next token, in a browser: its probabilities are torch's, and it draws by them."""

import base64
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from utils import explore
from utils.explore.next_tokens import KS, pack_descending
from utils.gpt2 import load_gpt2, load_tokenizer
from utils.show.tokenization import chip_text, decode_token, quote_token

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
    row = 2 * torch.randn(VOCAB, generator=torch.Generator().manual_seed(last)) - 90
    row[:5] += 12
    return row


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer()


def chips(page):
    """[(text, id or "?", class)] of the text so far."""
    return page.page.evaluate(
        """() => [...document.querySelectorAll('.chip')].map(chip =>
            [chip.firstChild.data, chip.querySelector('small').textContent, chip.classList[1] ?? ''])"""
    )


def press(page, name):
    page.root.get_by_role("button", name=name).click()
    page.check()


def hear(page, widget):
    """The kernel answers the page's last message."""
    sent = []
    widget.send = lambda content, buffers=None: sent.append(content)
    widget._handle_custom_msg(page.sent()[-1], [])
    page.answer(sent[-1])
    page.check()


# ---------------------------------------------------------------- what is drawn from


@pytest.mark.parametrize("temperature, k", [(1.0, VOCAB), (0.5, VOCAB), (2.0, 20), (0.7, 3), (0.0, 50), (1.3, 1)])
def test_its_numbers_are_torchs(temperature, k, show_widget, tokenizer):
    model = Model()
    page = show_widget(explore.next_token(model, tokenizer, " a b"))
    page.set("temperature", temperature)
    page.set("k", k)
    logits = row_of(tokenizer.encode(" a b")[-1]).double()
    top = logits.topk(k).values
    ranked = (top / temperature).softmax(-1) if temperature else torch.ones(1).double()
    numbers = page.numbers()
    assert torch.tensor(numbers["probs"]).double() == pytest.approx(ranked, abs=1e-6)
    assert torch.tensor(numbers["own"]).double() == pytest.approx(logits.softmax(-1).topk(10).values, abs=1e-6)
    entropy = abs((ranked[ranked > 0] * ranked[ranked > 0].log()).sum().item())
    assert numbers["entropy"] == pytest.approx(entropy, abs=1e-5)
    count = numbers["carriers"]
    assert ranked[:count].sum() >= 0.9 - 1e-9 and ranked[: count - 1].sum() < 0.9
    best = quote_token(decode_token(tokenizer, int(logits.argmax())))
    assert page.facts()["entropy"] == f"{entropy:.2f}" and best in page.said()
    assert model.calls == 1 and page.sent() == [], "moving a slider asks the model"


def test_the_small_gpt2_is_in_the_page_whole(show_widget, tokenizer):
    model, _ = load_gpt2("bundled")
    widget = explore.next_token(model, tokenizer, "When Mary and John went to the")
    with torch.no_grad():
        logits = model(tokenizer("When Mary and John went to the", return_tensors="pt").input_ids).logits[0, -1]
    assert len(widget.start["first"]["values"]) < 10_000
    page = show_widget(widget)
    page.set("temperature", 2)
    probs = torch.tensor(page.numbers()["probs"])
    assert probs == pytest.approx((logits / 2).softmax(-1).sort(descending=True).values, abs=1e-6)
    assert page.state()["k"] == VOCAB == len(probs)


@pytest.mark.parametrize(
    "values",
    [
        [3.0, 3.0, 1.5, 0.0, 0.0, -0.0, -1e-30, -2.5, -2.5, -2.5, -math.inf],
        [-5.0],
        [3e38, 1e-38, -3e38],
        sorted((3 * np.random.default_rng(0).standard_normal(3000) - 100).tolist(), reverse=True),
    ],
)
def test_packed_numbers_are_read_back_exactly(values):
    given = np.array(values, np.float32)
    data, key, back = iter(pack_descending(given)), 2**31, []
    while (step := _number(data)) is not None:  # read as the comment on `packed` says
        count = 1 if step else _number(data)
        key -= step
        bits = key if key >= 0 else key ^ 0x7FFFFFFF
        back += [np.array(bits, np.int64).astype(np.int32).view(np.float32)] * count
    assert np.array_equal(np.array(back), given)


def _number(data):
    value, unit = 0, 1
    for byte in data:
        value += (byte & 127) * unit
        if byte < 128:
            return value
        unit *= 128
    return None


def test_the_logits_of_a_whole_vocabulary_take_little_room():
    falling = row_of(0).sort(descending=True).values.numpy()
    assert len(base64.b64encode(pack_descending(falling))) < 100_000


def test_every_setting_has_its_remark(show_widget, tokenizer):
    widget = explore.next_token(Model(), tokenizer, " a b")
    assert widget.start["ks"] == [*KS, VOCAB]
    page = show_widget(widget)
    for temperature, k, word in (
        (1.0, VOCAB, "model's own"),
        (0.5, VOCAB, "Below 1"),
        (1.5, VOCAB, "Above 1"),
        (1.0, 5, "5 likeliest"),
        (1.5, 1, "greedy"),
        (0.0, 5, "k does not matter"),
    ):
        page.set("temperature", temperature)
        page.set("k", k)
        assert word in page.remark()


# ---------------------------------------------------------------- drawing


def test_sampling_appends_tokens_and_start_over_takes_them_back(show_widget, tokenizer):
    model = Model()
    widget = explore.next_token(model, tokenizer, " a b")
    page = show_widget(widget)
    start = [str(number) for number in tokenizer.encode(" a b")]
    page.set("k", 3)
    for n in range(1, 5):
        last = int(chips(page)[-1][1])
        allowed = row_of(last).topk(3).indices.tolist()
        press(page, "Sample")
        name, number, mark = chips(page)[-1]
        assert mark == "waits" and "The kernel works out what may follow" in page.remark()
        hear(page, widget)
        found = chips(page)
        assert found[-1] == [name, number, "drawn"] and int(number) in allowed
        assert [one for _, one, _ in found[: len(start)]] == start
        assert [mark for *_, mark in found] == [""] * len(start) + ["drawn"] * n
        assert f"Drawn: '{name}'" in page.remark() and "kernel" not in page.remark()
        probability, rank = re.search(r"probability ([\d.]+) and was number (\d+)", page.remark()).groups()
        assert int(rank) == allowed.index(int(number)) + 1
        wanted = row_of(last).double()[allowed].softmax(-1)[int(rank) - 1].item()
        assert float(probability) == pytest.approx(wanted, abs=0.0051)
        best = quote_token(decode_token(tokenizer, int(row_of(int(number)).argmax())))
        assert f"Likeliest next token: {best}" in page.said(), "the picture is not that of the longer text"
    assert model.calls == 5
    press(page, "Start over")
    assert [number for _, number, _ in chips(page)] == start and page.remark() == "Back to the prompt."
    page.root.get_by_role("slider", name="temperature").press("ArrowLeft")
    assert "Back to the prompt" not in page.remark() and page.state()["temperature"] == 0.9


def test_draws_come_as_often_as_their_probabilities_say(show_widget, tokenizer):
    page = show_widget(explore.next_token(Model(), tokenizer, " a b"))
    page.set("temperature", 2)
    page.set("k", 5)
    counts = {}
    for _ in range(400):
        page.page.evaluate("() => document.querySelector('button.main').click()")
    for message in page.sent():
        counts[message["ids"][-1]] = counts.get(message["ids"][-1], 0) + 1
    top = row_of(tokenizer.encode(" a b")[-1]).double().topk(5)
    assert set(counts) <= set(top.indices.tolist()) and sum(counts.values()) == 400
    for number, probability in zip(top.indices.tolist(), (top.values / 2).softmax(-1).tolist()):
        assert counts.get(number, 0) / 400 == pytest.approx(probability, abs=0.1)


def test_a_rare_token_is_named_by_the_kernel(show_widget, tokenizer):
    def model(ids):
        return SimpleNamespace(logits=torch.zeros(1, ids.shape[1], VOCAB))

    widget = explore.next_token(model, tokenizer, "a", seed=3)
    page = show_widget(widget)
    press(page, "Sample")
    message = page.sent()[-1]
    assert message["ids"] == tokenizer.encode("a") and message["rank"] >= 1000 and "a rare token" in page.remark()
    hear(page, widget)
    # of equal logits the first has the first rank
    assert chips(page)[-1] == [chip_text(decode_token(tokenizer, message["rank"])), str(message["rank"]), "drawn"]
    name = quote_token(decode_token(tokenizer, message["rank"]))
    assert f"Drawn: {name}, which had the probability 0.00 and was number {message['rank'] + 1:,}" in page.remark()


def test_greedy_takes_the_likeliest_each_time(show_widget, tokenizer):
    widget = explore.next_token(Model(), tokenizer, " a b")
    page = show_widget(widget)
    page.set("temperature", 0)
    for _ in range(3):
        best = int(row_of(int(chips(page)[-1][1])).argmax())
        press(page, "Sample")
        hear(page, widget)
        assert chips(page)[-1][1] == str(best) and "Taken: " in page.remark()


def test_the_seed_repeats_the_draws_and_leaves_the_global_generator_alone(show_widget, tokenizer):
    state = torch.get_rng_state()
    texts = []
    for seed in (0, 0, 1, -1):
        page = show_widget(explore.next_token(Model(), tokenizer, " a b", seed=seed))
        page.set("temperature", 2)
        for _ in range(6):
            press(page, "Sample")
        texts.append(str([(message["ids"], message.get("rank")) for message in page.sent()]))
    assert texts[0] == texts[1] and len(set(texts)) == 3 and torch.equal(torch.get_rng_state(), state)


# ---------------------------------------------------------------- with the kernel and without


def test_without_a_kernel_it_still_draws_and_says_how_to_go_on(show_widget, tokenizer):
    page = show_widget(explore.next_token(Model(), tokenizer, " a b"))
    page.page.evaluate("() => { window.gone = true; }")
    press(page, "Sample")
    assert "To go on from there, run this cell again: no kernel listens." in page.remark()
    assert chips(page)[-1][2] == "waits"
    press(page, "Sample")
    assert len(chips(page)) == 3, "two draws from the same probabilities are two tokens of the text"
    prompt = page.root.get_by_role("textbox", name="prompt")
    prompt.fill("c")
    prompt.press("Enter")
    assert "To read another prompt, run this cell again" in page.remark()
    prompt.fill(" a b")
    prompt.press("Enter")
    assert page.remark() == "Back to the prompt."
    page.set("temperature", 0.5)
    assert page.remark().startswith("Below 1")


def test_a_page_to_read_keeps_its_prompt_and_draws_again_and_again(show_widget, tokenizer):
    page = show_widget(explore.next_token(Model(), tokenizer, " a b"), reading=True)
    prompt = page.root.get_by_role("textbox", name="prompt")
    assert not prompt.is_editable() and "On this page this prompt; in JupyterLab any other." in page.root.inner_text()
    for _ in range(2):
        press(page, "Sample")
        assert len(chips(page)) == 3 and "In JupyterLab the text goes on from there" in page.remark()
        assert "cell" not in page.remark() and page.sent() == []


def test_a_kernel_that_does_not_answer_is_spoken_of(show_widget, tokenizer):
    page = show_widget(explore.next_token(Model(), tokenizer, " a b"))
    page.page.clock.install()
    press(page, "Sample")
    assert "has not answered" not in page.remark()
    page.page.clock.run_for(3500)
    assert "The kernel has not answered yet. It may be busy" in page.remark()


def test_a_late_answer_is_not_taken_for_a_new_one(show_widget, tokenizer):
    widget = explore.next_token(Model(), tokenizer, " a b")
    page = show_widget(widget)
    press(page, "Sample")
    late = page.sent()[-1]
    press(page, "Start over")
    page.answer({"ask": late["ask"], "ids": [1, 2, 3], "drawn": 1})
    assert len(chips(page)) == 2 and page.remark() == "Back to the prompt."


def test_a_new_prompt_is_read_by_the_kernel_and_an_empty_one_is_bos(show_widget, tokenizer):
    widget = explore.next_token(Model(), tokenizer, " a b")
    page = show_widget(widget)
    press(page, "Sample")
    prompt = page.root.get_by_role("textbox", name="prompt")
    for text, ids in ((" c", tokenizer.encode(" c")), ("", [50256])):
        prompt.fill(text)
        prompt.press("Enter")
        assert page.sent()[-1]["text"] == text and "until then the picture is that of the text before" in page.remark()
        hear(page, widget)
        assert [int(number) for _, number, _ in chips(page)] == ids and page.remark().startswith("At temperature 1")
    assert page.state()["base"]["ids"] == [50256]


def test_a_text_that_is_too_long_keeps_the_last_one(show_widget, tokenizer):
    widget = explore.next_token(Model(longest=4), tokenizer, " a b")
    page = show_widget(widget)
    prompt = page.root.get_by_role("textbox", name="prompt")
    prompt.fill(" a b c d e")
    prompt.press("Enter")
    hear(page, widget)
    told = "That makes 5 tokens, and this model reads at most 4. The picture is still that of the text before."
    assert page.remark() == told and len(chips(page)) == 2
    for _ in range(3):
        press(page, "Sample")
        hear(page, widget)
    assert len(chips(page)) == 4 and "That makes 5 tokens" in page.remark()
    with pytest.raises(ValueError, match="That makes 5 tokens"):
        explore.next_token(Model(longest=4), tokenizer, " a b c d e")


def test_a_model_that_fails_is_told_of(show_widget, tokenizer):
    class Once(Model):
        def __call__(self, ids):
            if self.calls:
                raise RuntimeError("no memory left")
            return super().__call__(ids)

    widget = explore.next_token(Once(), tokenizer, " a b")
    page = show_widget(widget)
    press(page, "Sample")
    hear(page, widget)
    assert page.remark() == "no memory left The picture is still that of the text before."


def test_logits_of_nan_are_refused(tokenizer):
    def model(ids):
        return SimpleNamespace(logits=torch.full((1, ids.shape[1], VOCAB), torch.nan))

    with pytest.raises(ValueError, match="logits hold nan"):
        explore.next_token(model, tokenizer, "a")


def test_a_model_in_training_is_asked_without_dropout_and_left_in_training(tokenizer):
    class Trained(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, ids):
            assert not self.training
            return SimpleNamespace(logits=self.weight * torch.stack([row_of(int(one)) for one in ids[0]])[None])

    model = Trained().train()
    explore.next_token(model, tokenizer, " a b")
    assert model.training and model.weight.grad is None


def test_only_the_last_chips_of_a_long_text_are_shown(show_widget, tokenizer):
    widget = explore.next_token(Model(longest=None), tokenizer, " a" * 70)
    page = show_widget(widget)
    press(page, "Sample")
    hear(page, widget)
    assert len(chips(page)) == 60 and "… 11 tokens before" in page.root.inner_text()
    assert [mark for *_, mark in chips(page)] == [""] * 59 + ["drawn"]


def test_it_fits_a_narrow_page(show_widget, tokenizer):
    page = show_widget(explore.next_token(Model(), tokenizer), width=360)
    assert page.page.evaluate("() => document.documentElement.scrollWidth") == 360
