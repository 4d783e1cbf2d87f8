"""The explorer of the next token in a browser: its probabilities equal torch's, and it samples by them."""

import base64
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from utils import explore
from utils.explore.next_tokens import KS, pack_descending
from utils.gpt2 import load_gpt2
from utils.show.tokenization import chip_text, decode_token, quote_token

VOCAB = 50257


class Model:
    """A model whose logits depend only on the last id. It counts its calls."""

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


def chips(page):
    """Return [(text, id or "?", class)] of the text so far."""
    return page.page.evaluate(
        """() => [...document.querySelectorAll('.chip')].map(chip =>
            [chip.firstChild.data, chip.querySelector('small').textContent, chip.classList[1] ?? ''])"""
    )


def press(page, name):
    page.root.get_by_role("button", name=name).click()
    page.assert_no_errors()


def hear(page, widget):
    """Let the kernel answer the page's last message."""
    sent = []
    widget.send = lambda content, buffers=None: sent.append(content)
    widget._handle_custom_msg(page.sent_messages()[-1], [])
    page.reply_from_kernel(sent[-1])
    page.assert_no_errors()


# ---------------------------------------------------------------- probabilities


@pytest.mark.parametrize("temperature, k", [(1.0, VOCAB), (0.5, VOCAB), (2.0, 20), (0.7, 3), (0.0, 50), (1.3, 1)])
def test_its_numbers_are_torchs(temperature, k, show_widget, tokenizer):
    model = Model()
    page = show_widget(explore.next_token(model, tokenizer, " a b"))
    page.set_control("temperature", temperature)
    page.set_control("k", k)
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
    assert page.facts()["entropy"] == f"{entropy:.2f}" and best in page.picture_label()
    assert model.calls == 1 and page.sent_messages() == [], "moving a slider must not run the model"


def test_the_small_gpt2_is_in_the_page_whole(show_widget, tokenizer):
    model, _ = load_gpt2("bundled")
    widget = explore.next_token(model, tokenizer, "When Mary and John went to the")
    with torch.no_grad():
        logits = model(tokenizer("When Mary and John went to the", return_tensors="pt").input_ids).logits[0, -1]
    assert len(widget.start["first"]["values"]) < 10_000
    page = show_widget(widget)
    page.set_control("temperature", 2)
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
    numbers = np.array(values, np.float32)
    data, key, back = iter(pack_descending(numbers)), 2**31, []
    while (step := _number(data)) is not None:  # decoded as described in the docstring of pack_descending
        count = 1 if step else _number(data)
        key -= step
        bits = key if key >= 0 else key ^ 0x7FFFFFFF
        back += [np.array(bits, np.int64).astype(np.int32).view(np.float32)] * count
    assert np.array_equal(np.array(back), numbers)


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


def test_every_setting_has_its_remark(show_widget, tokenizer, snapshot):
    widget = explore.next_token(Model(), tokenizer, " a b")
    assert widget.start["ks"] == [*KS, VOCAB]
    page = show_widget(widget)
    remarks = {}
    for temperature, k in ((1.0, VOCAB), (0.5, VOCAB), (1.5, VOCAB), (1.0, 5), (1.5, 1), (0.0, 5)):
        page.set_control("temperature", temperature)
        page.set_control("k", k)
        remarks[f"temperature {temperature}, k {k}"] = page.remark()
    assert len(set(remarks.values())) == 6 and remarks == snapshot


# ---------------------------------------------------------------- sampling


def test_sampling_appends_tokens_and_start_over_removes_them(show_widget, tokenizer, snapshot):
    model = Model()
    widget = explore.next_token(model, tokenizer, " a b")
    page = show_widget(widget)
    start = [str(number) for number in tokenizer.encode(" a b")]
    page.set_control("k", 3)
    for n in range(1, 5):
        last = int(chips(page)[-1][1])
        allowed = row_of(last).topk(3).indices.tolist()
        press(page, "Sample")
        name, number, mark = chips(page)[-1]
        assert mark == "waits" and "kernel" in page.remark()
        hear(page, widget)
        shown = chips(page)
        assert shown[-1] == [name, number, "drawn"] and int(number) in allowed
        assert [one for _, one, _ in shown[: len(start)]] == start
        assert [mark for *_, mark in shown] == [""] * len(start) + ["drawn"] * n
        assert f"'{name}'" in page.remark() and "kernel" not in page.remark()
        probability, rank = re.search(r"probability ([\d.]+) and was number (\d+)", page.remark()).groups()
        assert int(rank) == allowed.index(int(number)) + 1
        expected = row_of(last).double()[allowed].softmax(-1)[int(rank) - 1].item()
        assert float(probability) == pytest.approx(expected, abs=0.0051)
        best = quote_token(decode_token(tokenizer, int(row_of(int(number)).argmax())))
        assert f"Likeliest next token: {best}" in page.picture_label(), "the picture must show the longer text"
    assert model.calls == 5
    press(page, "Start over")
    assert [number for _, number, _ in chips(page)] == start and page.remark() == snapshot(name="start over")
    page.root.get_by_role("slider", name="temperature").press("ArrowLeft")
    assert "prompt" not in page.remark() and page.state()["temperature"] == 0.9


def test_samples_follow_the_probabilities(show_widget, tokenizer):
    page = show_widget(explore.next_token(Model(), tokenizer, " a b"))
    page.set_control("temperature", 2)
    page.set_control("k", 5)
    counts = {}
    page.page.evaluate("() => { for (let i = 0; i < 400; i++) document.querySelector('button.main').click(); }")
    for message in page.sent_messages():
        counts[message["ids"][-1]] = counts.get(message["ids"][-1], 0) + 1
    top = row_of(tokenizer.encode(" a b")[-1]).double().topk(5)
    assert set(counts) <= set(top.indices.tolist()) and sum(counts.values()) == 400
    for number, probability in zip(top.indices.tolist(), (top.values / 2).softmax(-1).tolist()):
        assert counts.get(number, 0) / 400 == pytest.approx(probability, abs=0.1)


def test_a_rare_token_is_named_by_the_kernel(show_widget, tokenizer, snapshot):
    def model(ids):
        return SimpleNamespace(logits=torch.zeros(1, ids.shape[1], VOCAB))

    widget = explore.next_token(model, tokenizer, "a", seed=3)
    page = show_widget(widget)
    press(page, "Sample")
    message = page.sent_messages()[-1]
    assert message["ids"] == tokenizer.encode("a") and message["rank"] >= 1000
    assert page.remark() == snapshot(name="waiting")
    hear(page, widget)
    # equal logits are ranked by id
    assert chips(page)[-1] == [chip_text(decode_token(tokenizer, message["rank"])), str(message["rank"]), "drawn"]
    name = quote_token(decode_token(tokenizer, message["rank"]))
    assert name in page.remark() and f"number {message['rank'] + 1:,} " in page.remark()
    assert page.remark() == snapshot(name="named")


def test_greedy_takes_the_likeliest_each_time(show_widget, tokenizer, snapshot):
    widget = explore.next_token(Model(), tokenizer, " a b")
    page = show_widget(widget)
    page.set_control("temperature", 0)
    for _ in range(3):
        best = int(row_of(int(chips(page)[-1][1])).argmax())
        press(page, "Sample")
        hear(page, widget)
        assert chips(page)[-1][1] == str(best)
    assert page.remark() == snapshot


def test_the_seed_repeats_the_samples_and_the_global_generator_is_unchanged(show_widget, tokenizer):
    state = torch.get_rng_state()
    texts = []
    for seed in (0, 0, 1, -1):
        page = show_widget(explore.next_token(Model(), tokenizer, " a b", seed=seed))
        page.set_control("temperature", 2)
        for _ in range(6):
            press(page, "Sample")
        texts.append(str([(message["ids"], message.get("rank")) for message in page.sent_messages()]))
    assert texts[0] == texts[1] and len(set(texts)) == 3 and torch.equal(torch.get_rng_state(), state)


# ---------------------------------------------------------------- with the kernel and without


def test_without_a_kernel_it_still_samples_and_says_how_to_continue(show_widget, tokenizer, snapshot):
    page = show_widget(explore.next_token(Model(), tokenizer, " a b"))
    page.page.evaluate("() => { window.gone = true; }")
    press(page, "Sample")
    assert page.remark() == snapshot(name="sample")
    assert chips(page)[-1][2] == "waits"
    press(page, "Sample")
    assert len(chips(page)) == 3, "the second sample must replace the first"
    prompt = page.root.get_by_role("textbox", name="prompt")
    prompt.fill("c")
    prompt.press("Enter")
    assert page.remark() == snapshot(name="new prompt")
    prompt.fill(" a b")
    prompt.press("Enter")
    assert page.remark() == snapshot(name="same prompt")
    page.set_control("temperature", 0.5)
    assert "prompt" not in page.remark()


def test_a_page_of_the_book_keeps_its_prompt_and_samples_repeatedly(show_widget, tokenizer, snapshot):
    page = show_widget(explore.next_token(Model(), tokenizer, " a b"), reading=True)
    prompt = page.root.get_by_role("textbox", name="prompt")
    assert not prompt.is_editable() and page.root.locator(".legend").inner_text() == snapshot(name="prompt")
    for _ in range(2):
        press(page, "Sample")
        assert len(chips(page)) == 3 and "In JupyterLab" in page.remark()
        assert "cell" not in page.remark() and page.sent_messages() == []


def test_a_kernel_that_does_not_answer_is_reported(show_widget, tokenizer, snapshot):
    page = show_widget(explore.next_token(Model(), tokenizer, " a b"))
    page.page.clock.install()
    press(page, "Sample")
    before = page.remark()
    page.page.clock.run_for(3500)
    assert before != page.remark() == snapshot


def test_a_late_answer_is_ignored(show_widget, tokenizer):
    widget = explore.next_token(Model(), tokenizer, " a b")
    page = show_widget(widget)
    press(page, "Sample")
    late = page.sent_messages()[-1]
    press(page, "Start over")
    before = page.remark()
    page.reply_from_kernel({"ask": late["ask"], "ids": [1, 2, 3], "drawn": 1})
    assert len(chips(page)) == 2 and page.remark() == before


def test_a_new_prompt_is_read_by_the_kernel_and_an_empty_one_is_bos(show_widget, tokenizer, snapshot):
    widget = explore.next_token(Model(), tokenizer, " a b")
    page = show_widget(widget)
    press(page, "Sample")
    prompt = page.root.get_by_role("textbox", name="prompt")
    for text, ids in ((" c", tokenizer.encode(" c")), ("", [50256])):
        prompt.fill(text)
        prompt.press("Enter")
        assert page.sent_messages()[-1]["text"] == text and page.remark() == snapshot(name="waiting")
        hear(page, widget)
        assert [int(number) for _, number, _ in chips(page)] == ids and "kernel" not in page.remark()
    assert page.state()["base"]["ids"] == [50256]


@pytest.mark.parametrize("button", ["Sample", "Start over"])
def test_buttons_wait_for_a_new_prompt(show_widget, tokenizer, button):
    """A click on a button first leaves the text box, which sends the new prompt."""
    widget = explore.next_token(Model(), tokenizer, " a b")
    page = show_widget(widget)
    page.root.get_by_role("textbox", name="prompt").fill(" c")
    press(page, button)
    hear(page, widget)
    assert [int(number) for _, number, _ in chips(page)] == tokenizer.encode(" c")
    assert [message.get("text") for message in page.sent_messages()] == [" c"]


def test_a_text_that_is_too_long_keeps_the_last_one(show_widget, tokenizer, snapshot):
    widget = explore.next_token(Model(longest=4), tokenizer, " a b")
    page = show_widget(widget)
    prompt = page.root.get_by_role("textbox", name="prompt")
    prompt.fill(" a b c d e")
    prompt.press("Enter")
    hear(page, widget)
    refusal = page.remark()
    assert refusal == snapshot(name="remark") and len(chips(page)) == 2
    for _ in range(3):
        press(page, "Sample")
        hear(page, widget)
    assert len(chips(page)) == 4 and page.remark() == refusal
    with pytest.raises(ValueError, match="5 tokens") as error:
        explore.next_token(Model(longest=4), tokenizer, " a b c d e")
    assert refusal.startswith(str(error.value))


def test_the_error_of_a_model_is_shown(show_widget, tokenizer, snapshot):
    class Once(Model):
        def __call__(self, ids):
            if self.calls:
                raise RuntimeError("no memory left")
            return super().__call__(ids)

    widget = explore.next_token(Once(), tokenizer, " a b")
    page = show_widget(widget)
    press(page, "Sample")
    hear(page, widget)
    assert page.remark() == snapshot


def test_logits_of_nan_are_rejected(tokenizer, snapshot):
    def model(ids):
        return SimpleNamespace(logits=torch.full((1, ids.shape[1], VOCAB), torch.nan))

    with pytest.raises(ValueError, match="nan") as error:
        explore.next_token(model, tokenizer, "a")
    assert str(error.value) == snapshot


def test_a_model_in_training_runs_without_dropout_and_stays_in_training(tokenizer):
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
    assert len(chips(page)) == 60 and "… 11 tokens" in page.root.inner_text()
    assert [mark for *_, mark in chips(page)] == [""] * 59 + ["drawn"]


def test_it_fits_a_narrow_page(show_widget, tokenizer):
    page = show_widget(explore.next_token(Model(), tokenizer), width=360)
    assert page.page.evaluate("() => document.documentElement.scrollWidth") == 360
