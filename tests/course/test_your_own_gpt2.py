"""Test lesson 12: alternative correct answers, the claims of its prose, and a checkpoint of GPT-2's size."""

import itertools
import math
import re
import statistics

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from solutions import your_own_gpt2 as lesson
from tests.feedback.answers import with_name as answer_named
from utils import corpus, gpt2, lessons
from utils.checks import your_own_gpt2 as checks
from utils.exercises.exercise import find_exercise
from utils.feedback.diagnose import diagnose
from utils.instructor.answers import AnswerFactory
from utils.models import where_the_answer_comes_from as sentences
from utils.models import your_own_gpt2 as parts
from utils.models.your_own_gpt2 import GPTConfig

TEXT = "When Mary and John went to the store, John gave a drink to"
CONFIG = GPTConfig(vocab_size=11, n_positions=7, d_model=6, n_layers=2, n_heads=3, eps=1e-2)


# --- alternative correct answers -----------------------------------------------------------------------


class Sequential(nn.Module):
    """Create the layers in a loop, and use torch's gelu."""

    def __init__(self, d_model, d_mlp):
        super().__init__()
        layers = {"c_fc": nn.Linear(d_model, d_mlp), "c_proj": nn.Linear(d_mlp, d_model)}
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Products(Sequential):
    def forward(self, x):
        wide = x @ self.c_fc.weight.T + self.c_fc.bias
        return lesson.gelu(wide) @ self.c_proj.weight.T + self.c_proj.bias


class WithTorchsGelu(Sequential):
    def __init__(self, d_model, d_mlp):
        super().__init__(d_model, d_mlp)
        self.act = nn.GELU(approximate="tanh")

    def forward(self, x):
        x = self.c_fc(x)
        x = self.act(x)
        return self.c_proj(x)


class NamedSums(lesson.Block):
    def forward(self, x):
        attention = self.attn(self.ln_1(x))
        middle = x + attention
        return middle + self.mlp(self.ln_2(middle))


class Looped(lesson.Block):
    def forward(self, x):
        for norm, part in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            x = part(norm(x)) + x
        return x


class OtherMlp(lesson.Block):
    """Use a different MLP class under the lesson's name."""

    def __init__(self, config):
        super().__init__(config)
        self.mlp = Products(config.d_model, config.d_model * 4)


class ByTheWeight(lesson.GPT):
    def forward(self, tokens):
        n = tokens.size(-1)
        x = F.embedding(tokens, self.wte.weight) + self.wpe.weight[:n].unsqueeze(0)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x)
        return F.linear(self.ln_f(x), self.wte.weight)


class PositionsPerText(lesson.GPT):
    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
        x = nn.Sequential(*self.blocks)(self.wte(tokens) + self.wpe(places))
        return torch.einsum("bsd,vd->bsv", self.ln_f(x), self.wte.weight)


class TiedLayer(lesson.GPT):
    """Use an output layer that shares the embedding's parameter."""

    def __init__(self, config):
        super().__init__(config)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def _state_by_layers(tensors, config):
    found, d = parts.named(tensors, config), config.d_model
    state = {"wte.weight": found["wte.weight"], "wpe.weight": found["wpe.weight"]}
    state |= {"ln_f.w": found["ln_f.weight"], "ln_f.b": found["ln_f.bias"]}
    for i in range(config.n_layers):
        h, b = f"h.{i}", f"blocks.{i}"
        for k in "12":
            state[f"{b}.ln_{k}.w"], state[f"{b}.ln_{k}.b"] = (
                found[f"{h}.ln_{k}.{kind}"] for kind in ("weight", "bias")
            )
        weight, bias = found[f"{h}.attn.c_attn.weight"], found[f"{h}.attn.c_attn.bias"]
        for place, name in enumerate(("W_query", "W_key", "W_value")):
            columns = slice(place * d, (place + 1) * d)
            state[f"{b}.attn.{name}.weight"] = weight[:, columns].T.contiguous()
            state[f"{b}.attn.{name}.bias"] = bias[columns]
        for mine, theirs in (("attn.out_proj", "attn.c_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{b}.{mine}.weight"] = found[f"{h}.{theirs}.weight"].t()
            state[f"{b}.{mine}.bias"] = found[f"{h}.{theirs}.bias"]
    return state


def _state_by_patterns(tensors, config):
    state = {}
    for name, value in parts.named(tensors, config).items():
        name = re.sub(r"^h\.(\d+)", r"blocks.\1", name)
        name = re.sub(r"(ln_\w)\.(w|b)\w+$", r"\1.\2", name).replace("attn.c_proj", "attn.out_proj")
        if name.endswith((".w", ".b")) or name.startswith("w"):
            state[name] = value
        elif "c_attn" in name:
            whole = value.mT if value.dim() == 2 else value
            for letter, piece in zip(("query", "key", "value"), whole.split(config.d_model)):
                state[name.replace("c_attn", f"W_{letter}")] = piece
        else:
            state[name] = value if value.dim() == 1 else value.permute(1, 0)
    return state


def _state_as_copies(tensors, config):
    return {name: value.clone().contiguous() for name, value in _state_by_layers(tensors, config).items()}


def _by_torchs_attention(model, tokens, n_tokens):
    """Keep tensors in a dict, and use torch's attention with a mask only for the prompt."""
    cache, heads, fed = {}, model.config.n_heads, tokens
    for step in range(n_tokens):
        start = 0 if step == 0 else tokens.shape[1] - 1
        x = model.wte(fed) + model.wpe.weight[start : start + fed.shape[1]]
        for block in model.blocks:
            h = block.ln_1(x)
            q, k, v = (
                getattr(block.attn, f"W_{name}")(h).unflatten(-1, (heads, -1)).transpose(1, 2)
                for name in ("query", "key", "value")
            )
            if step:
                k, v = (torch.cat(pair, dim=-2) for pair in zip(cache[block], (k, v)))
            cache[block] = (k, v)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=step == 0)
            x = x + block.attn.out_proj(mixed.transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        fed = F.linear(model.ln_f(x[:, -1]), model.wte.weight).argmax(-1, keepdim=True)
        tokens = torch.cat((tokens, fed), dim=-1)
    return tokens


def _with_preallocated_cache(model, tokens, n_tokens):
    """Allocate the cache for all positions first, and fill it step by step."""
    c, (batch, seq) = model.config, tokens.shape
    room = torch.zeros(2, c.n_layers, batch, c.n_heads, seq + n_tokens, c.d_model // c.n_heads)
    text = torch.cat((tokens, torch.zeros(batch, n_tokens, dtype=tokens.dtype)), dim=1)
    start, end = 0, seq
    while end < seq + n_tokens:
        x = model.wte(text[:, start:end]) + model.wpe(torch.arange(start, end))
        sees = torch.ones(end, end).tril()[start:end].bool()
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (
                layer(h).view(batch, end - start, c.n_heads, -1).transpose(1, 2)
                for layer in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            room[0, i, :, :, start:end], room[1, i, :, :, start:end] = k, v
            scores = q @ room[0, i, :, :, :end].mT / math.sqrt(q.shape[-1])
            mixed = scores.where(sees, -torch.inf).softmax(-1) @ room[1, i, :, :, :end]
            x = x + block.attn.out_proj(mixed.transpose(1, 2).reshape(batch, end - start, -1))
            x = x + block.mlp(block.ln_2(x))
        text[:, end] = (model.ln_f(x)[:, -1] @ model.wte.weight.T).argmax(1)
        start, end = end, end + 1
    return text


@torch.no_grad()
def _token_by_token(model, tokens, n_tokens):
    """Feed the prompt token by token, too."""
    kept = [[] for _ in model.blocks]
    todo, heads = list(tokens.unbind(1)), model.config.n_heads
    for position in range(tokens.shape[1] + n_tokens - 1):
        x = model.wte(todo[position]) + model.wpe(torch.tensor(position))
        for block, memory in zip(model.blocks, kept):
            a, h = block.attn, block.ln_1(x)
            q, k, v = (f(h).view(len(h), heads, -1) for f in (a.W_query, a.W_key, a.W_value))
            memory.append((k, v))
            ks, vs = (torch.stack(side, dim=2) for side in zip(*memory))
            weights = (torch.einsum("bhd,bhsd->bhs", q, ks) / k.shape[-1] ** 0.5).softmax(-1)
            x = x + a.out_proj(torch.einsum("bhs,bhsd->bhd", weights, vs).flatten(1))
            x = x + block.mlp(block.ln_2(x))
        if position + 1 == len(todo):
            todo.append((model.ln_f(x) @ model.wte.weight.T).argmax(-1))
    return torch.stack(todo, dim=1)


RIGHT = {
    "gelu": [
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: x * 0.5 * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0)))),
        lambda x: x - x / (1 + torch.exp(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))),
    ],
    "MLP": [answer_named("MLP", cls) for cls in (Sequential, Products, WithTorchsGelu)],
    "Block": [answer_named("Block", cls) for cls in (NamedSums, Looped, OtherMlp)],
    "GPT": [answer_named("GPT", cls) for cls in (ByTheWeight, PositionsPerText, TiedLayer)],
    "gpt2_state": [_state_by_layers, _state_by_patterns, _state_as_copies],
    "generate_cached": [_by_torchs_attention, _with_preallocated_cache, _token_by_token],
}


# --- messages if no misconception matches --------------------------------------------------------------


@pytest.fixture
def no_departure(monkeypatch):
    """Leave out the step at which an answer departs, which quotes line numbers."""
    monkeypatch.setattr("utils.feedback.failure_report.find_departure", lambda probe, wrong: None)


@pytest.mark.usefixtures("no_departure")
def test_the_first_wrong_part_is_named(snapshot):
    """Of two mistakes, the message names the first one in the stream."""

    class Shouting(lesson.MLP):
        def forward(self, x):
            return 1.3 * super().forward(x)

    class GPT(lesson.GPT):
        def __init__(self, config):
            super().__init__(config)
            self.blocks[-1].mlp = Shouting(config.d_model, 4 * config.d_model)

        def forward(self, tokens):
            return super().forward(tokens) * 2

    report = diagnose(find_exercise("GPT"), GPT)
    assert report.property == "first_wrong_part"
    assert "`blocks.1.mlp`" in report.message and report.message == snapshot


@pytest.mark.usefixtures("no_departure")
def test_a_wrong_input_and_a_wrong_result_get_different_messages(snapshot):
    class GPT(lesson.GPT):
        def forward(self, tokens):
            x = self.wte(tokens) + 0.7 * self.wpe.weight[: tokens.shape[1]]
            for block in self.blocks:
                x = block(x)
            return self.ln_f(x) @ self.wte.weight.T

    report = diagnose(find_exercise("GPT"), GPT)
    assert report.property == "first_wrong_part" and report.message == snapshot(name="wrong input")

    class Scaled(lesson.GPT):
        def forward(self, tokens):
            return 1.5 * super().forward(tokens)

    report = diagnose(find_exercise("GPT"), Scaled)
    assert report.property == "first_wrong_part" and report.message == snapshot(name="wrong result")


@pytest.mark.parametrize(
    "name, old, new, departure, line",
    [
        ("gelu", "torch.tanh(inner)", "torch.tanh(inner / 2)", "the values of tanh", "inner / 2"),
        ("MLP", "self.c_proj(gelu(", "self.c_proj(2 * gelu(", "the result of c_proj", "2 * gelu"),
        ("Block", "self.attn(self", "self.attn(2 * self", "the result of attn", "2 * self"),
        ("GPT", "x = block(x)", "x = block(x) * 1.1", "the stream after block 1", "x = block(x) * 1.1"),
        ("generate_cached", "x + block.mlp", "x + 2 * block.mlp", "the stream after block 0", "2 * block.mlp"),
    ],
)
def test_the_line_at_which_a_computation_departs_is_quoted(name, old, new, departure, line):
    answer = AnswerFactory.from_name(name)
    report = answer.judge(answer.source.replace(old, new))
    assert report.departure == departure
    assert [row.state for row in report.trace if line in row.code] == ["wrong"], report.message


def test_writing_without_a_cache_fails(snapshot):
    def plain(model, tokens, n_tokens):
        for _ in range(n_tokens):
            tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(dim=-1)], dim=1)
        return tokens

    report = diagnose(find_exercise("generate_cached"), plain)
    assert report.property == "keeps_keys_and_values" and report.message == snapshot


def _with_cached_attention_inputs(model, tokens, n_tokens):
    """Cache the results of ln_1, and compute the keys and values of all positions in every pass."""
    kept, heads, fed = [None] * len(model.blocks), model.config.n_heads, tokens
    for step in range(n_tokens):
        start = 0 if step == 0 else tokens.shape[1] - 1
        x = model.wte(fed) + model.wpe.weight[start : start + fed.shape[1]]
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            kept[i] = h if step == 0 else torch.cat((kept[i], h), dim=1)
            q, k, v = (
                layer(inputs).unflatten(-1, (heads, -1)).transpose(1, 2)
                for layer, inputs in ((a.W_query, h), (a.W_key, kept[i]), (a.W_value, kept[i]))
            )
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=step == 0)
            x = x + a.out_proj(mixed.transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        fed = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(-1)
        tokens = torch.cat((tokens, fed), dim=1)
    return tokens


def test_computing_old_keys_again_fails(snapshot):
    report = diagnose(find_exercise("generate_cached"), _with_cached_attention_inputs)
    assert report.property == "keeps_keys_and_values", str(report)
    assert "6 positions went through W_key" in report.message and report.message == snapshot


def test_a_wrong_prompt_pass_is_diagnosed_even_if_the_first_tokens_are_correct():
    class Louder(nn.Module):
        def __init__(self, part):
            super().__init__()
            self.part = part

        def forward(self, x):
            return 1.1 * self.part(x)

    def louder(model, tokens, n_tokens):
        for block in model.blocks:
            block.ln_2 = Louder(block.ln_2)
        return _by_torchs_attention(model, tokens, n_tokens)

    report = diagnose(find_exercise("generate_cached"), louder)
    # No snapshot, because rounding decides how many of the 64 prompts get a wrong token.
    assert report.property == "first_wrong_pass" and "of 64 prompts" in report.message, str(report)


def test_a_wrong_later_pass_is_numbered(snapshot):
    def cold(model, tokens, n_tokens):
        text = _by_torchs_attention(model, tokens, n_tokens)
        text[:, tokens.shape[1] + 1 :] = 0
        return text

    report = diagnose(find_exercise("generate_cached"), cold)
    assert report.property == "first_wrong_pass" and "pass 2" in report.message and report.message == snapshot


@pytest.mark.parametrize("seed", [0, 1])
def test_no_choice_depends_on_rounding(seed):
    """The best token of each step leads by far more than a different order of sums could change."""
    for case in find_exercise("generate_cached").sample_cases(seed):
        model, tokens, n_tokens = case.args
        for _ in range(n_tokens):
            first, second = model(tokens)[:, -1].topk(2).values.T
            assert (first - second > 1e-3).all()
            tokens = torch.cat((tokens, model(tokens)[:, -1:].argmax(-1)), dim=1)


# --- checkpoints ---------------------------------------------------------------------------------------


def zero_checkpoint(config, prefix=""):
    return {f"{prefix}{name}": torch.zeros(shape) for name, shape in parts.shapes(config).items()}


def test_prefixes_and_stored_masks_are_removed_from_a_checkpoint():
    plain = zero_checkpoint(CONFIG)
    with_extras = zero_checkpoint(CONFIG, "transformer.") | {
        "lm_head.weight": torch.zeros(11, 6), "transformer.h.0.attn.bias": torch.zeros(1, 1, 7, 7),
        "transformer.h.1.attn.masked_bias": torch.zeros(()),
    }  # fmt: skip
    assert parts.named(plain, CONFIG).keys() == parts.named(with_extras, CONFIG).keys() == plain.keys()


@pytest.mark.parametrize(
    "change",
    [{"h.1.mlp.c_fc.bias": None}, {"h.2.ln_1.bias": torch.zeros(6)}, {"wpe.weight": torch.zeros(4, 6)}],
    ids=["missing", "superfluous", "wrong shape"],
)
def test_a_checkpoint_that_does_not_fit_is_an_error(change, snapshot):
    tensors = {name: value for name, value in (zero_checkpoint(CONFIG) | change).items() if value is not None}
    with pytest.raises(ValueError) as error:
        lesson.gpt2_state(tensors, CONFIG)
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    "name, change",
    [
        ("blocks.1.mlp.c_fc.weight", lambda tensor: tensor.T.reshape(tensor.shape)),
        ("blocks.0.attn.out_proj.weight", lambda tensor: tensor.T),
        ("wte.weight", lambda tensor: tensor.flip(0)),
    ],
    ids=["reshaped", "not transposed", "flipped"],
)
def test_the_first_wrong_tensor_of_a_state_is_explained(name, change, snapshot):
    def gpt2_state(tensors, config):
        state = lesson.gpt2_state(tensors, config)
        return {**state, name: change(state[name])}

    report = diagnose(find_exercise("gpt2_state"), gpt2_state)
    assert report.property == "from_which_tensor" and report.message == snapshot


def test_a_tensor_from_the_wrong_part_of_the_file_is_named(snapshot):
    def gpt2_state(tensors, config):
        state = lesson.gpt2_state(tensors, config)
        return {**state, "blocks.0.attn.out_proj.weight": state["blocks.0.attn.W_key.weight"]}

    report = diagnose(find_exercise("gpt2_state"), gpt2_state)
    assert report.property == "from_which_tensor" and report.message == snapshot


def test_wrong_names_in_a_state_are_listed(snapshot):
    def gpt2_state(tensors, config):
        state = lesson.gpt2_state(tensors, config)
        return {name.replace("W_key", "W_keys"): tensor for name, tensor in state.items()}

    report = diagnose(find_exercise("gpt2_state"), gpt2_state)
    assert report.property == "names_fit_the_model" and report.message == snapshot


@pytest.mark.parametrize("keep", [lambda number: len(number) == 1, lambda number: True], ids=["left out", "merged"])
def test_one_digit_of_a_block_s_number_is_not_enough(keep, snapshot):
    def gpt2_state(tensors, config):
        state = lesson.gpt2_state(tensors, config)
        kept = {name: value for name, value in state.items() if name[0] != "b" or keep(name.split(".")[1])}
        return {re.sub(r"(blocks\.\d)\d*", r"\1", name): value for name, value in kept.items()}

    report = diagnose(find_exercise("gpt2_state"), gpt2_state)
    assert report.property == "names_fit_the_model" and report.message == snapshot


def test_a_state_that_does_not_fit_the_model_is_an_error():
    state = lesson.gpt2_state(zero_checkpoint(CONFIG), CONFIG)
    state["blocks.0.attn.W_keys.weight"] = state.pop("blocks.0.attn.W_key.weight")
    with pytest.raises(ValueError, match=r"blocks.0.attn.W_key.weight"):
        parts.load(lesson.GPT(CONFIG), state)


# --- the model, compared with transformers -------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    tensors, config = parts.checkpoint()
    return parts.load(lesson.GPT(config), lesson.gpt2_state(tensors, config))


@pytest.fixture(scope="module")
def prompt():
    return gpt2.load_tokenizer()(TEXT, return_tensors="pt").input_ids


@pytest.mark.observed("no two further apart than 0.001")
@torch.no_grad()
def test_the_model_equals_the_model_of_transformers(model, prompt):
    theirs, tokenizer = gpt2.load_gpt2()
    torch.testing.assert_close(model(prompt), theirs(prompt).logits, atol=1e-4, rtol=1e-4)
    written = theirs.generate(prompt, max_new_tokens=20, do_sample=False, pad_token_id=50256)
    assert torch.equal(lesson.generate_cached(model, prompt, 20), written)
    assert tokenizer.decode(model(prompt)[0, -1].argmax()) == " Mary"


@torch.no_grad()
def test_a_checkpoint_of_full_size_gives_what_transformers_gives():
    """Compare models with the sizes of the real GPT-2 (124 million parameters) and random weights."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    theirs = GPT2LMHeadModel(GPT2Config()).eval()
    config = GPTConfig(vocab_size=50257, n_positions=1024, d_model=768, n_layers=12, n_heads=12)
    mine = parts.load(lesson.GPT(config), lesson.gpt2_state(theirs.state_dict(), config))
    tokens = torch.randint(50257, (2, 9), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(mine(tokens), theirs(tokens).logits, atol=1e-3, rtol=1e-3)
    written = theirs.generate(
        tokens, max_new_tokens=5, do_sample=False, pad_token_id=50256, attention_mask=torch.ones_like(tokens)
    )
    assert torch.equal(lesson.generate_cached(mine, tokens, 5), written)


# --- claims of the page --------------------------------------------------------------------------------


def page():
    return "\n".join(cell.source for cell in lessons.read_lesson(lessons.find_lesson("your_own_gpt2")).cells)


@pytest.mark.observed("Two thirds of a block's parameters are in its MLP.")
@pytest.mark.observed("The real GPT-2 would grow from 124 to 163 million")
def test_the_counts_of_the_page(model):
    block = model.blocks[0]
    mlp, every = (sum(p.numel() for p in part.parameters()) for part in (block.mlp, block))
    assert round(mlp / every, 3) == 0.665 and (4 + 4) / (4 + 4 + 4) == pytest.approx(2 / 3)
    total, embedding = sum(p.numel() for p in model.parameters()), 50257 * 192
    assert round(total / 1e6, 1) == 11.5 and round((total + embedding) / 1e6, 1) == 21.1
    assert round((total + embedding) / total, 2) == 1.84
    real = sum(math.prod(shape) for shape in parts.shapes(GPTConfig(50257, 1024, 768, 12, 12)).values())
    assert (round(real / 1e6), round((real + 50257 * 768) / 1e6)) == (124, 163)
    assert sum(range(8, 108)) == 5750 and 8 + 99 == 107
    assert "5,750" in page() and "163 million" in page()


@pytest.mark.observed("The exact curve differs by less than 0.0005")
def test_the_two_forms_of_gelu():
    x = torch.linspace(-10, 10, 200_001, dtype=torch.float64)
    assert 0.0004 < (F.gelu(x) - lesson.gelu(x)).abs().max() < 0.0005
    assert (F.gelu(x) - x * torch.sigmoid(1.702 * x)).abs().max() < 0.0204
    assert round(lesson.gelu(torch.tensor(-1.0)).item(), 4) == -0.1588
    assert round(lesson.gelu(torch.tensor(-4.0)).item(), 4) == -0.0001


@pytest.mark.claim("Still, its answers to forty sentences like the first on this page stay the same")
@pytest.mark.observed("the small GPT-2's stream changes by about one part in 5,000 after each block")
@torch.no_grad()
def test_the_exact_gelu_does_not_change_the_answers(model, monkeypatch):
    """Replace the formula by the exact curve, for 40 sentences: the difference stays between 1.4e-4 and 2.1e-4 after
    each block. Control: ReLU changes the stream 100 times as much."""
    tokens = torch.cat([sentences.pairs(20, seed).clean for seed in (0, 1)])

    def run():
        streams, hooks = [], []
        for block in model.blocks:
            hooks.append(block.register_forward_hook(lambda part, given, result: streams.append(result)))
        logits = model(tokens)
        for hook in hooks:
            hook.remove()
        return streams, logits.argmax(-1)

    def distances(curve):
        monkeypatch.setattr(lesson, "gelu", curve)
        changed, answers = run()
        return [((x - y).norm() / y.norm()).item() for x, y in zip(changed, streams)], answers

    streams, answers = run()
    exact, exact_answers = distances(F.gelu)
    assert all(1 / 10_000 < distance < 1 / 4_000 for distance in exact), exact
    assert torch.equal(exact_answers, answers)
    assert min(distances(F.relu)[0]) > 50 * max(exact)


@torch.no_grad()
def _chances_with_mlp(model, block, change, tokens, right):
    """Return the probability of the correct name in each text if `change` replaces the result of one block's MLP."""
    hook = model.blocks[block].mlp.register_forward_hook(lambda part, given, result: change(result))
    try:
        with sentences.last_positions(model):
            return model(tokens)[:, -1].softmax(-1)[range(len(tokens)), right]
    finally:
        hook.remove()


@pytest.mark.claim("If you remove any one MLP except the first, the small model still gives the correct name")
def test_only_the_first_mlp_is_necessary(model, prompt):
    """Remove each MLP in turn: without a later MLP, the correct name has a probability over 0.5 on the prompt, and in
    97 to 99 % of a thousand sentences (measured); without the first MLP, hardly ever."""
    mary = gpt2.load_tokenizer().encode(" Mary")
    for many in (sentences.pairs(100, seed=seed) for seed in (0, 1)):
        for tokens, right, least in ((prompt, torch.tensor(mary), 1.0), (many.clean, many.right, 0.9)):
            chances = [_chances_with_mlp(model, i, torch.zeros_like, tokens, right) for i in range(4)]
            shares = [(each > 0.5).float().mean().item() for each in chances]
            assert shares[0] < 0.02 and min(shares[1:]) >= least


@pytest.mark.claim(
    "If every position gets the output that the first MLP gives for that token *alone*, without the tokens before it,"
    " the probability of the correct name falls to 0.1%"
)
@torch.no_grad()
def test_the_first_mlp_needs_what_attention_has_brought(model):
    """Give the later blocks the first MLP's output for a text of one token (at its place): the probability of the
    correct name falls from 0.998 to 0.001. Control: at a place that the answer does not need, it stays."""
    many, block = sentences.pairs(20), model.blocks[0]
    single = (model.wte(many.clean) + model.wpe.weight[:14]).reshape(-1, 1, 192)
    middle = single + block.attn(block.ln_1(single))
    alone = block.mlp(block.ln_2(middle)).reshape(20, 14, 192)

    def at_place(position):
        return lambda result: torch.cat(
            (result[:, :position], alone[:, position : position + 1], result[:, position + 1 :]), 1
        )

    def mean(change):
        return _chances_with_mlp(model, 0, change, many.clean, many.right).mean().item()

    assert round(mean(lambda result: alone), 3) == 0.001 and mean(lambda result: result) > 0.99
    assert mean(at_place(13)) < 0.05 and mean(at_place(10)) > 0.95


@pytest.mark.claim("Without a nonlinear function in between, the two linear maps would be equal to a single linear map")
@pytest.mark.parametrize("seed", range(3))
@torch.no_grad()
def test_an_mlp_without_gelu_is_one_linear_map(seed, monkeypatch):
    """Without gelu, one matrix and one bias give the MLP's output; with gelu, they do not."""
    torch.manual_seed(seed)
    mlp, x = lesson.MLP(5, 20), torch.randn(7, 5)

    def distance_from_one_map():
        bias = mlp(torch.zeros(5))
        return (mlp(x) - (x @ (mlp(torch.eye(5)) - bias) + bias)).abs().max()

    assert distance_from_one_map() > 1e-2
    monkeypatch.setattr(lesson, "gelu", lambda x: x)
    assert distance_from_one_map() < 1e-5


@pytest.mark.claim("With post-norm, every norm rescales everything that earlier layers wrote")
@pytest.mark.claim("With pre-norm, no norm inside the blocks rescales the stream")
@pytest.mark.parametrize("seed", range(3))
@torch.no_grad()
def test_only_post_norm_rescales_the_stream(seed):
    """Put a marker into one entry of the stream and silence both halves: pre-norm returns it; post-norm does not."""
    torch.manual_seed(seed)
    block = lesson.Block(CONFIG)
    for part in (block.attn.out_proj, block.mlp.c_proj):
        part.weight.zero_(), part.bias.zero_()
    x = torch.randn(2, 3, 6)
    x[0, 0, 0] = 100.0

    def post_norm(x):
        x = block.ln_1(x + block.attn(x))
        return block.ln_2(x + block.mlp(x))

    assert torch.equal(block(x), x)
    assert post_norm(x)[0, 0, 0] < 10


@pytest.mark.claim("later tokens never change the results of earlier positions")
@pytest.mark.claim("Later tokens cannot change what an earlier position computed, in any block")
@pytest.mark.parametrize("seed", range(3))
@torch.no_grad()
def test_only_with_a_mask_may_keys_be_kept(seed):
    """Change the last token: the earlier keys stay the same in each block. Without the mask, they change in block 1."""
    torch.manual_seed(seed)
    model = lesson.GPT(CONFIG)
    tokens = torch.randint(11, (2, 6))
    changed = tokens.clone()
    changed[:, -1] = (tokens[:, -1] + 1) % 11

    def keys(tokens):
        found, hooks = [], []
        for block in model.blocks:
            layer = block.attn.W_key
            hooks.append(layer.register_forward_hook(lambda part, given, result: found.append(result[:, :-1])))
        model(tokens)
        for hook in hooks:
            hook.remove()
        return found

    assert all(torch.equal(a, b) for a, b in zip(keys(tokens), keys(changed)))
    for block in model.blocks:
        for name, mask in block.attn.named_buffers():
            mask.fill_(name == "mask")  # True: may attend
    assert [torch.allclose(a, b) for a, b in zip(keys(tokens), keys(changed))] == [True, False]


@pytest.mark.claim("With a cache, the work hardly grows at these lengths")
@pytest.mark.claim("A new token still attends to all kept tokens, so in long texts the work grows too")
def test_the_work_for_a_new_token_grows_slowly_with_a_cache():
    """Count the operations for one more token. From 16 to 40 tokens, they grow by less than 1 % in the lesson's model.

    In a narrow model with a small vocabulary, where little other work remains, 1,000 kept tokens cost 5 times as much
    as 16. Without a cache, the operations grow in proportion to the length (the control).
    """

    def operations(model, length, generate):
        with torch.no_grad():
            counts = [FlopCounterMode(display=False) for _ in range(2)]
            for n, count in enumerate(counts, 1):
                with count:
                    generate(model, torch.zeros(1, length, dtype=torch.long), n)
        return counts[1].get_total_flops() - counts[0].get_total_flops()

    page = lesson.GPT(parts.checkpoint()[1])
    narrow = lesson.GPT(GPTConfig(vocab_size=50, n_positions=1001, d_model=24, n_layers=2, n_heads=2, eps=1e-5))
    cached, plain = lesson.generate_cached, lesson.generate_plain
    assert 1 < operations(page, 40, cached) / operations(page, 16, cached) < 1.01
    assert operations(narrow, 1000, cached) / operations(narrow, 16, cached) > 5
    assert operations(page, 40, plain) / operations(page, 16, plain) > 2


@pytest.mark.claim("8 + 9 + … + 107 = 5,750. If keys and values are kept, the number is 8 + 99 = 107")
@pytest.mark.claim("Keeping keys and values saves much work. Apart from rounding, the logits stay the same")
@torch.no_grad()
def test_a_cache_saves_positions_and_changes_no_token():
    """Count the positions that pass through the first norm, with kept keys and without, for three seeds."""
    config = GPTConfig(vocab_size=11, n_positions=108, d_model=6, n_layers=2, n_heads=3)

    def run(write, seed):
        torch.manual_seed(seed)
        model, prompt, counts = lesson.GPT(config), torch.randint(11, (2, 8)), []
        with model.blocks[0].ln_1.register_forward_pre_hook(lambda part, given: counts.append(given[0].shape[1])):
            return write(model, prompt, 100), sum(counts)

    for seed in range(3):
        (cached, n_cached), (plain, n_plain) = run(lesson.generate_cached, seed), run(lesson.generate_plain, seed)
        assert torch.equal(cached, plain) and (n_cached, n_plain) == (107, 5750)


@pytest.mark.claim("A square matrix keeps its shape in a transpose, so there is no error")
def test_only_a_square_matrix_that_is_not_transposed_loads_without_an_error():
    """The quiz asks about this."""
    state = lesson.gpt2_state(zero_checkpoint(CONFIG), CONFIG)
    name = "blocks.0.attn.out_proj.weight"
    parts.load(lesson.GPT(CONFIG), state | {name: state[name].T})
    name = "blocks.0.mlp.c_fc.weight"
    with pytest.raises(ValueError, match=re.escape(name)):
        parts.load(lesson.GPT(CONFIG), state | {name: state[name].T})


def test_the_check_of_gpt_includes_the_mistakes_of_a_block():
    assert set(checks._BLOCK_MISTAKES) < {m.id for m in find_exercise("GPT").misconceptions}


# --- perplexity ------------------------------------------------------------------------------------------


@pytest.fixture
def perplexity(monkeypatch):
    monkeypatch.setattr(lesson, "tokenizer", gpt2.load_tokenizer(), raising=False)
    return lesson.perplexity


def test_the_perplexity_of_known_probabilities(perplexity):
    """A model that knows nothing, and a model that gives each next token of this text the probability 1/4."""
    tokens = gpt2.load_tokenizer()("Mary met Tom.", return_tensors="pt").input_ids
    quarter = torch.full((*tokens.shape, 50257), -math.inf)
    quarter[..., :3] = 0.0
    quarter[0, range(tokens.shape[1] - 1), tokens[0, 1:]] = 0.0
    assert perplexity(lambda tokens: torch.zeros(*tokens.shape, 50257), ["Mary met Tom."]) == pytest.approx(50257)
    assert perplexity(lambda tokens: quarter, ["Mary met Tom."] * 2) == pytest.approx(4)


@pytest.mark.observed("Training texts and held-out texts surprise the small model about equally")
@pytest.mark.observed("On a sentence from this page, the small model's perplexity is far above 50,257")
@torch.no_grad()
def test_the_small_model_has_not_overfitted(model, perplexity):
    """20 training texts, three times 20 held-out texts, and three sentences of this lesson."""
    texts = lambda seed: list(itertools.islice(corpus.sentences(seed), 20))
    seen = perplexity(model, texts(0))
    assert 2 < seen < 3 and all(0.8 < perplexity(model, texts(seed)) / seen < 1.25 for seed in (1, 3, 4))
    prose = lessons.find_lesson("12").read_text(encoding="utf-8")
    sentence = "One file holds everything it has learned, as named tensors without code."
    assert prose.count(sentence) == 2 and perplexity(model, [sentence]) > 10 * 50257


@pytest.mark.observed("Some of them, mostly short ones, also occur among the training texts")
def test_some_texts_occur_for_both_seeds():
    """Of 5,000 texts for each seed, about 200 occur for seed 0 or 2 and for seed 1; most have fewer than 50 characters,
    fewer than a typical text.
    """
    texts = {seed: list(itertools.islice(corpus.sentences(seed), 5000)) for seed in (0, 1, 2)}
    typical = statistics.median(map(len, texts[1]))
    for seed in (0, 2):
        both = set(texts[seed]) & set(texts[1])
        assert 50 < len(both) < 500 and statistics.median(map(len, both)) < 50 < typical
