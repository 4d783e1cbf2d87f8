"""Lesson 08: a word and a command in, the word again out. Data, tokenizer, training, and the trained model that ships.

``minecraft echo`` is continued by `` minecraft.`` and ``minecraft upper`` by `` MINECRAFT.``; then comes token 0, which
means *stop* and, at the end of shorter texts of a batch, *nothing here*.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from utils.explore.training_display import WritingSample, open_training_display
from utils.lessons.files import ROOT
from utils.models.lesson_models import load_from_lesson, load_parameters
from utils.training.loop import History, one_cycle_schedule, one_thread, train

ASSET = ROOT / "utils" / "assets" / "cogmodel"
STOP = 0
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ALPHABET = " ." + LETTERS + LETTERS.upper()
VOCAB_SIZE = 1 + len(ALPHABET)
COMMANDS = {"echo": str, "upper": str.upper}
SAMPLE = "minecraft upper"  # what a model is asked while it is trained
SHORTEST, LONGEST = 5, 10  # letters of a word
CONTEXT = LONGEST + len(" upper ") + LONGEST + len(".") + 1  # the longest text, with its stop
REAL_WORDS = (  # a few of these join each batch, so that real words are no strangers; minecraft is kept back
    "language gradient position encoder matrix vector tensor python notebook learner teacher letter sentence question"
    " answer kitchen garden window mountain river island winter summer morning evening yellow purple orange animal"
    " elephant monkey rabbit turtle penguin dolphin banana cherry potato tomato cabbage pepper butter coffee bottle"
    " basket pencil paper ruler carpet blanket pillow candle mirror hammer ladder engine bicycle airplane station"
    " harbor bridge castle temple village country planet galaxy rocket thunder lightning rainbow shadow silence whisper"
    " laughter friend brother sister mother father doctor painter singer dancer writer farmer baker butcher tailor"
    " soldier captain sailor wizard dragon monster treasure "
).split()


class CharTokenizer:
    """Ids of characters, through the tokenizers library: 0 is stop and padding, then space, full stop, a–z, A–Z.

    `encode`, `decode` and `batch_decode` are called as GPT-2's are.
    """

    def __init__(self) -> None:
        from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

        vocab = {"": STOP, **{character: i for i, character in enumerate(ALPHABET, 1)}}
        self._tokenizer = Tokenizer(models.WordLevel(vocab, unk_token=""))
        self._tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
        self._tokenizer.decoder = decoders.Fuse()
        self.pad_token_id = self.eos_token_id = STOP
        self.vocab_size = VOCAB_SIZE

    def __len__(self) -> int:
        return self.vocab_size

    def encode(self, text: str, return_tensors: str | None = None) -> list[int] | Tensor:
        """The ids of a text's characters; with ``return_tensors="pt"`` an int64 tensor [1, seq].

        Raises:
            ValueError: a character that is not in the alphabet, no character at all, or more than the model was trained
                on.
        """
        if not isinstance(text, str):
            raise ValueError(f"a text is needed; got {type(text).__name__}.")
        if not text:
            raise ValueError("the text is empty; a prompt is a word and a command, as in 'minecraft echo'.")
        if len(text) > CONTEXT:
            raise ValueError(
                f"the text has {len(text)} characters; the longest one that this model was trained on has {CONTEXT}."
            )
        odd = sorted(set(text) - set(ALPHABET))
        if odd:
            raise ValueError(
                "this model knows the letters a–z and A–Z, the space and the full stop; not"
                f" {', '.join(map(repr, odd))}."
            )
        ids = self._tokenizer.encode(text).ids
        return torch.tensor([ids]) if return_tensors == "pt" else ids

    def decode(self, ids: int | Iterable[int] | Tensor) -> str:
        """The characters of some ids in a row; stops and padding are nothing."""
        flat = ids.tolist() if isinstance(ids, Tensor) else ids
        return self._tokenizer.decode([flat] if isinstance(flat, int) else list(flat))

    def batch_decode(self, rows: Iterable) -> list[str]:
        """`decode` of each row; of a row of single ids, each character."""
        return [self.decode(row) for row in rows]


def expected_text(prompt: str) -> str:
    """What should become of a prompt: ``completed("minecraft upper")`` is ``"minecraft upper MINECRAFT."``."""
    word, _, command = prompt.partition(" ")
    if command not in COMMANDS:
        raise ValueError(
            f"a prompt is a word and one of {', '.join(COMMANDS)}, as in 'minecraft echo'; got {prompt!r}."
        )
    return f"{prompt} {COMMANDS[command](word)}."


def random_words(n: int, generator: torch.Generator, length: int | None = None) -> list[str]:
    """`n` words of random letters, of 5 to 10 letters each unless a `length` is given."""
    lengths = (
        torch.randint(SHORTEST, LONGEST + 1, (n,), generator=generator).tolist() if length is None else [length] * n
    )
    letters = torch.randint(0, 26, (n, max(LONGEST, length or 0)), generator=generator).tolist()
    return ["".join(LETTERS[i] for i in row[:size]) for row, size in zip(letters, lengths)]


def draw_batch(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """`n` completed texts of random words with random commands, in bulk.

    Returns:
        tokens, int64 [n, CONTEXT]: the text, then zeros; the first of these is the stop.
        asked, bool [n, CONTEXT]: True on what the model has to say: the space before the answer, the answer, its full
        stop, and the stop.
    """
    size = torch.randint(SHORTEST, LONGEST + 1, (n, 1), generator=generator)
    shout = torch.randint(0, 2, (n, 1), generator=generator)
    word = torch.randint(0, 26, (n, LONGEST), generator=generator) + ALPHABET.index("a") + 1
    commands = torch.tensor([_encode_text(" echo  "), _encode_text(" upper ")])
    place = torch.arange(CONTEXT).expand(n, -1)
    start = size + 6 + shout  # where the answer begins: after word, space, command, space
    end = start + size  # where its full stop stands
    tokens = torch.zeros(n, CONTEXT, dtype=torch.int64)
    in_word, in_answer = place < size, (place >= start) & (place < end)
    tokens = torch.where(in_word, word.gather(1, place.clamp_max(LONGEST - 1)), tokens)
    in_command = (place >= size) & (place < start)
    tokens = torch.where(in_command, commands[shout[:, 0]].gather(1, (place - size).clamp(0, 6)), tokens)
    answer = word.gather(1, (place - start).clamp(0, LONGEST - 1)) + 26 * shout
    tokens = torch.where(in_answer, answer, tokens)
    tokens = torch.where(place == end, ALPHABET.index(".") + 1, tokens)
    return tokens, (place >= start - 1) & (place <= end + 1)


def _encode_text(text: str) -> list[int]:
    return [ALPHABET.index(character) + 1 for character in text]


def tokens_of(prompts: Iterable[str]) -> tuple[Tensor, Tensor]:
    """As `draw_batch`, for given prompts; wider than CONTEXT where a word is longer than those of the training."""
    pairs = [(prompt, expected_text(prompt)) for prompt in prompts]
    width = max([CONTEXT, *(len(text) + 1 for _, text in pairs)])
    rows = [_encode_text(text) + [STOP] * (width - len(text)) for _, text in pairs]
    asked = [[len(prompt) <= i <= len(text) for i in range(width)] for prompt, text in pairs]
    return torch.tensor(rows), torch.tensor(asked)


def batches(
    steps: int,
    size: int,
    seed: int = 0,
    progress: bool = True,
    model: nn.Module | None = None,
    losses: Sequence[float] = (),
) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches to train on, each `draw_batch` of fresh words, with a picture of how far the training is.

    Until the last one has been used torch keeps to one thread, as in `utils.training.loop`: so small a model trains
    faster.

    Args:
        model: the model that is trained, to see what it writes after SAMPLE on the way.
        losses: the list that the caller appends each step's loss to, to see these too.
        progress: False for silence; else a live page in a notebook, and a bar in a terminal.
    """
    generator = torch.Generator().manual_seed(seed)
    right = expected_text(SAMPLE)[len(SAMPLE) + 1 :]
    sample = model and WritingSample(SAMPLE, right, lambda: generate_greedily(model, SAMPLE, len(right) + 3))
    shown = open_training_display(steps, sample=sample) if progress else None
    try:
        with one_thread():
            for step in range(steps):
                yield draw_batch(size, generator)
                if shown:
                    shown.update(step + 1, losses[-1] if losses else None)
    finally:
        if shown:
            shown.close()


@torch.no_grad()
def generate_greedily(model: nn.Module, prompt: str, max_new_tokens: int) -> str:
    """At most `most` characters that a model writes after a prompt, greedily, until it says token 0."""
    ids = torch.tensor([_encode_text(prompt)], device=next(model.parameters()).device)
    for _ in range(max_new_tokens):
        new = model(ids)[:, -1].argmax(-1)
        if new == STOP:
            break
        ids = torch.cat([ids, new[:, None]], dim=1)
    return "".join(ALPHABET[i - 1] for i in ids[0, len(prompt) :].tolist() if i)


@torch.no_grad()
def exact_match(model: nn.Module, tokens: Tensor, asked: Tensor) -> float:
    """The share of texts that come out right to the last letter and then stop.

    Every token is tried after the right ones before it. Greedy writing is right exactly where each of these is.
    """
    said = model(tokens[:, :-1]).argmax(-1)
    return float(((said == tokens[:, 1:]) | ~asked[:, 1:]).all(-1).float().mean())


@torch.no_grad()
def tokens_right(model: nn.Module, tokens: Tensor, asked: Tensor) -> float:
    """The share of the asked tokens that come out right, each tried after the right ones before it."""
    said = model(tokens[:, :-1]).argmax(-1)
    return float((said == tokens[:, 1:])[asked[:, 1:]].float().mean())


def train_cogmodel(
    model: nn.Module,
    steps: int = 1000,
    batch: int = 128,
    rate: float = 4e-3,
    seed: int = 0,
    words: Iterable[str] = (),
    progress: bool = True,
    log_every: int = 10,
) -> History:
    """Train on fresh random words at each step, with AdamW and a rate that climbs and falls once.

    Args:
        words: real words of which a few join each batch, if there are any.
    """
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(seed)
    real = [tokens_of([f"{word} {command}" for command in COMMANDS]) for word in words]
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, fused=True)
    answer_loss = lesson_loss_function()

    def loss(step: int) -> Tensor:
        tokens, asked = draw_batch(batch, generator)
        if real:
            some = torch.randint(0, len(real), (batch // 32,), generator=generator).tolist()
            tokens = torch.cat([tokens, *(real[i][0] for i in some)])
            asked = torch.cat([asked, *(real[i][1] for i in some)])
        tokens, asked = tokens.to(device), asked.to(device)
        return answer_loss(model(tokens), tokens, asked)

    model.train()
    history = train(
        loss,
        optimiser,
        steps,
        schedule=functools.partial(one_cycle_schedule, warmup=0.15),
        clip=1.0,
        log_every=log_every,
        progress=progress,
    )
    model.eval()
    return history


def load_cogmodel(path: Path | str = ASSET, build: Callable | None = None) -> tuple[nn.Module, CharTokenizer]:
    """The trained model that ships with the course, in eval mode, and its tokenizer.

    Args:
        path: a folder with config.json and model.safetensors, as `coginst train cogmodel` writes it.
        build: what makes the model from vocab_size, embed_dim and num_layers; by default the lesson's `CogModel`.

    Raises:
        ValueError: the files are missing, damaged or do not fit the model; the message says what to do.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    folder = Path(path)
    if build is None:
        build = lesson_model_class()
    cure = "`git checkout -- utils/assets/cogmodel` restores it, and `coginst train cogmodel --replace` makes it anew."
    try:
        sizes = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        sizes = [sizes[name] for name in ("vocab_size", "embed_dim", "num_layers")]
        state = {key: value.float() for key, value in load_file(folder / "model.safetensors").items()}
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"the toy model in {folder} cannot be read ({type(error).__name__}: {reason}). {cure}"
        ) from None
    model = build(*sizes)
    try:
        load_parameters(model, state)
    except ValueError as error:
        raise ValueError(
            f"the weights in {folder} do not fit this model: {error}. If the model is right, {cure}"
        ) from None
    return model.eval(), CharTokenizer()


def lesson_model_class() -> Callable:
    """The lesson's own CogModel."""
    return load_from_lesson("toy_transformer", "CogModel", "load_cogmodel(build=CogModel)")


def lesson_loss_function() -> Callable:
    """The lesson's own answer_loss."""
    return load_from_lesson("toy_transformer", "answer_loss", "the lesson's own cells")


@torch.no_grad()
def attention_patterns(model: nn.Module, tokens: Tensor) -> Tensor:
    """Where every layer of a `CogModel` looks: weights [layers, batch, seq, seq] for ids [batch, seq]."""
    seq = tokens.shape[-1]
    mask = torch.ones(seq, seq, dtype=torch.bool, device=tokens.device).tril()
    x, patterns = model.pos_encoder(model.embed(tokens)), []
    for layer in model.layers:
        patterns.append(layer.self_attn(x, mask, return_weights=True)[1])
        x = layer(x, mask)
    return torch.stack(patterns)


def copying_weights(model: nn.Module, prompt: str) -> tuple[Tensor, list[str], list[str]]:
    """Where each layer looks while the right answer to `prompt` is written.

    Returns:
        weights [layers, letters, seq]: a row for each letter of the answer, seen from the place where it is decided on;
        the letters, as row labels; the characters of the text so far, as column labels.
    """
    text = expected_text(prompt)
    rows = range(len(prompt), len(text) - 2)  # from the space before the answer, where its first letter is decided on
    weights = attention_patterns(model, torch.tensor([_encode_text(text)]))[:, 0, rows.start : rows.stop]
    return weights, [f"→ {text[i + 1]}" for i in rows], list(text)


def weight_on_copied_letter(model: nn.Module, words: Iterable[str]) -> Tensor:
    """The mean weight that each layer puts on the letter to be copied, [layers], over words of one or several lengths,
    echoed and shouted."""
    return _mean_weight(model, words, lambda weights, start: weights.diagonal(dim1=1, dim2=2))


def weight_on_space(model: nn.Module, words: Iterable[str]) -> Tensor:
    """As `weight_on_copied_letter`: the mean weight on the space before the answer."""
    return _mean_weight(model, words, lambda weights, start: weights[:, :, start])


def _mean_weight(model: nn.Module, words: Iterable[str], pick: Callable) -> Tensor:
    prompts = [f"{word} {command}" for word in words for command in COMMANDS]
    found = [pick(copying_weights(model, prompt)[0], len(prompt)).mean(1) for prompt in prompts]
    return torch.stack(found).mean(0)


@torch.no_grad()
def after_a_wrong_letter(model: nn.Module, n: int = 200, seed: int = 5) -> dict[str, float]:
    """Which letter a model writes next when the last one of an unfinished echo was exchanged for another one of the
    word: the share of `n` cases in which it is the next one by place, and the one that follows the wrong letter.

    The words have 8 letters, all different.
    """
    generator = torch.Generator().manual_seed(seed)
    words = [word for word in random_words(8 * n, generator, 8) if len(set(word)) == 8][:n]
    by_place = by_letter = 0
    for i, word in enumerate(words):
        last = 1 + i % 5  # the place of the letter that is exchanged
        other = (last + 3) % 7
        said = model(torch.tensor([_encode_text(f"{word} echo {word[:last]}{word[other]}")]))[0, -1].argmax()
        by_place += int(said == _encode_text(word[last + 1])[0])
        by_letter += int(said == _encode_text(word[other + 1])[0])
    return {"by its place": by_place / len(words), "by the letter before": by_letter / len(words)}


def depth_study() -> dict[str, list]:
    """What `bench/toy_transformer.py` measured last: exact match for 1 to 4 layers, with positions and without."""
    return json.loads((ASSET / "depth.json").read_text(encoding="utf-8"))


copying, lookup = copying_weights, weight_on_copied_letter  # as notebooks from before call them
