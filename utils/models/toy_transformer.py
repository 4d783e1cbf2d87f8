"""Provide data, tokenizer, training and model for lesson 08.

The model repeats a word in the form that a command specifies. It continues ``minecraft echo`` with `` minecraft.``, and
``minecraft upper`` with `` MINECRAFT.``. Each text ends with token 0, which means *stop* and also pads the shorter
texts in a batch.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from utils.lessons.files import ROOT
from utils.models.lesson_models import LessonModule, load_from_lesson, load_parameters
from utils.training.loop import History, one_cycle_schedule, one_thread, train
from utils.training.training_display import WritingSample, open_training_display

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

ASSET = ROOT / "utils" / "assets" / "cogmodel"
STOP = 0
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ALPHABET = " ." + LETTERS + LETTERS.upper()
VOCAB_SIZE = 1 + len(ALPHABET)
COMMANDS = {"echo": str, "upper": str.upper}
SAMPLE = "minecraft upper"  # the prompt that shows a model's progress during training
SHORTEST, LONGEST = 5, 10  # number of letters in a word
CONTEXT = LONGEST + len(" upper ") + LONGEST + len(".") + 1  # length of the longest text, including its stop token
REAL_WORDS = (  # the training adds a few of these words to each batch; minecraft is held out
    "language gradient position encoder matrix vector tensor python notebook learner teacher letter sentence question"
    " answer kitchen garden window mountain river island winter summer morning evening yellow purple orange animal"
    " elephant monkey rabbit turtle penguin dolphin banana cherry potato tomato cabbage pepper butter coffee bottle"
    " basket pencil paper ruler carpet blanket pillow candle mirror hammer ladder engine bicycle airplane station"
    " harbor bridge castle temple village country planet galaxy rocket thunder lightning rainbow shadow silence whisper"
    " laughter friend brother sister mother father doctor painter singer dancer writer farmer baker butcher tailor"
    " soldier captain sailor wizard dragon monster treasure "
).split()


class CharTokenizer:
    """A character tokenizer based on the tokenizers library.

    Id 0 means stop or padding. The ids from 1 are the space, the full stop, a–z and A–Z, in this order. The methods
    `encode`, `decode` and `batch_decode` have the same interface as those of GPT-2's tokenizer.
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

    def encode(self, text: str, return_tensors: str | None = None) -> list[int] | Int[Tensor, "1 seq"]:
        """Encode the characters of a text as a list of ids, or as a tensor if ``return_tensors="pt"``.

        Raises:
            ValueError: the text contains a character outside the alphabet, is empty, or is longer than the training
                texts.
        """
        if not isinstance(text, str):
            raise ValueError(f"the text must be a string; got {type(text).__name__}.")
        if not text:
            raise ValueError("the text is empty; a prompt is a word and a command, for example 'minecraft echo'.")
        if len(text) > CONTEXT:
            raise ValueError(f"the text has {len(text)} characters, but this model has only {CONTEXT} positions.")
        _require_known(text)
        ids = self._tokenizer.encode(text).ids
        return torch.tensor([ids]) if return_tensors == "pt" else ids

    def decode(self, ids: int | Iterable[int] | Int[Tensor, "*seq"]) -> str:
        """Decode a sequence of ids, or a single id, to text. Token 0 is left out.

        Raises:
            ValueError: the ids are a batch of texts.
        """
        if isinstance(ids, Tensor) and ids.dim() > 1:
            raise ValueError(
                f"decode needs the ids of one text, of shape [seq]; got shape {list(ids.shape)}. "
                "Take a row, such as ids[0], or call batch_decode."
            )
        flat = ids.tolist() if isinstance(ids, Tensor) else ids
        return self._tokenizer.decode([flat] if isinstance(flat, int) else list(flat))

    def batch_decode(self, rows: Iterable[int | Iterable[int] | Tensor]) -> list[str]:
        """Decode each row. A row may also be a single id, which becomes one character."""
        return [self.decode(row) for row in rows]


def expected_text(prompt: str) -> str:
    """Complete a prompt correctly: ``expected_text("minecraft upper")`` is ``"minecraft upper MINECRAFT."``.

    Raises:
        ValueError: the prompt has no command.
    """
    word, _, command = prompt.partition(" ")
    if command not in COMMANDS:
        raise ValueError(
            f"a prompt is a word and one of {', '.join(COMMANDS)}, for example 'minecraft echo'; got {prompt!r}."
        )
    return f"{prompt} {COMMANDS[command](word)}."


def random_words(n: int, generator: torch.Generator, length: int | None = None) -> list[str]:
    """Sample `n` words of random letters, with 5 to 10 letters each unless `length` is given."""
    lengths = (
        torch.randint(SHORTEST, LONGEST + 1, (n,), generator=generator).tolist() if length is None else [length] * n
    )
    letters = torch.randint(0, 26, (n, max(LONGEST, length or 0)), generator=generator).tolist()
    return ["".join(LETTERS[i] for i in row[:size]) for row, size in zip(letters, lengths)]


def draw_batch(n: int, generator: torch.Generator) -> tuple[Int[Tensor, "n context"], Bool[Tensor, "n context"]]:
    """Sample `n` complete texts at once, each with a random word, a random command and the answer.

    Returns:
        tokens: the text, then zeros. The first zero is the stop token.
        asked: True at the tokens that the model has to predict: the space before the answer, the answer, its full stop,
        and the stop token.
    """
    size = torch.randint(SHORTEST, LONGEST + 1, (n, 1), generator=generator)
    shout = torch.randint(0, 2, (n, 1), generator=generator)
    word = torch.randint(0, 26, (n, LONGEST), generator=generator) + ALPHABET.index("a") + 1
    commands = torch.tensor([_encode_text(" echo  "), _encode_text(" upper ")])
    place = torch.arange(CONTEXT).expand(n, -1)
    start = size + 6 + shout  # the answer begins after word, space, command, space
    end = start + size  # the position of the answer's full stop
    command = commands[shout[:, 0]].gather(1, (place - size).clamp(0, 6))
    answer = word.gather(1, (place - start).clamp(0, LONGEST - 1)) + 26 * shout
    tokens = torch.where(place < end, answer, STOP)
    tokens = torch.where(place == end, ALPHABET.index(".") + 1, tokens)
    tokens = torch.where(place < start, command, tokens)
    tokens = torch.where(place < size, word.gather(1, place.clamp_max(LONGEST - 1)), tokens)
    return tokens, (place >= start - 1) & (place <= end + 1)


def _require_known(text: str) -> None:
    """Check that the alphabet has all characters of a text.

    Raises:
        ValueError: it does not.
    """
    if odd := sorted(set(text) - set(ALPHABET)):
        raise ValueError(
            "this model knows only the letters a–z and A–Z, the space and the full stop, not"
            f" {', '.join(map(repr, odd))}."
        )


def _encode_text(text: str) -> list[int]:
    _require_known(text)
    return [ALPHABET.index(character) + 1 for character in text]


def tokens_of(prompts: Iterable[str]) -> tuple[Int[Tensor, "n context"], Bool[Tensor, "n context"]]:
    """Encode given prompts with their answers, in the format of `draw_batch`.

    The tensors are wider than CONTEXT if a word has more than LONGEST letters.
    """
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
) -> Iterator[tuple[Int[Tensor, "n context"], Bool[Tensor, "n context"]]]:
    """Yield batches from `draw_batch` for a training run, and display its progress.

    Torch runs on one thread until the last batch has been used, because such a small model trains faster that way (see
    `utils.training.loop`).

    Args:
        model: the model in training; if given, the display shows its answer to SAMPLE.
        losses: a list to which the caller appends the loss of each step; if given, the display shows the last loss.
        progress: False shows nothing; True shows a live display in a notebook and a bar in a terminal.
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
    """Continue a prompt greedily with at most `max_new_tokens` characters. Stop at token 0."""
    ids = torch.tensor([_encode_text(prompt)], device=next(model.parameters()).device)
    for _ in range(max_new_tokens):
        new = model(ids)[:, -1].argmax(-1)
        if new == STOP:
            break
        ids = torch.cat([ids, new[:, None]], dim=1)
    return "".join(ALPHABET[i - 1] for i in ids[0, len(prompt) :].tolist() if i)


@torch.no_grad()
def exact_match(model: nn.Module, tokens: Int[Tensor, "n context"], asked: Bool[Tensor, "n context"]) -> float:
    """Return the share of texts in which every token of the answer, including the stop token, is predicted correctly.

    For each prediction, the input is the correct text before the predicted token. Greedy generation is correct if and
    only if all these predictions are correct.
    """
    predicted = model(tokens[:, :-1]).argmax(-1)
    return float(((predicted == tokens[:, 1:]) | ~asked[:, 1:]).all(-1).float().mean())


@torch.no_grad()
def tokens_right(model: nn.Module, tokens: Int[Tensor, "n context"], asked: Bool[Tensor, "n context"]) -> float:
    """Return the share of answer tokens that are predicted correctly, given the correct tokens before them."""
    predicted = model(tokens[:, :-1]).argmax(-1)
    return float((predicted == tokens[:, 1:])[asked[:, 1:]].float().mean())


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
    """Train with AdamW and a one-cycle learning rate, on new random words at each step.

    Args:
        words: real words. Each step adds a few of them to its batch.
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


def load_cogmodel(
    path: Path | str = ASSET, build: Callable[[int, int, int], nn.Module] | None = None
) -> tuple[nn.Module, CharTokenizer]:
    """Load the bundled trained model, in eval mode, and its tokenizer.

    Args:
        path: a folder with config.json and model.safetensors from `coginst train cogmodel`.
        build: a function of vocab_size, embed_dim and num_layers that returns the model; by default the lesson's
            `CogModel`.

    Raises:
        ValueError: the files are missing or damaged, or do not fit the model. The message says how to fix this.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    folder = Path(path)
    build = build or lesson_model_class()
    cure = (
        "`git checkout -- utils/assets/cogmodel` restores it, and `coginst train cogmodel --replace` trains it again."
    )
    try:
        sizes = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        sizes = [sizes[name] for name in ("vocab_size", "embed_dim", "num_layers")]
        state = {key: value.float() for key, value in load_file(folder / "model.safetensors").items()}
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:200]
        problem = f"the toy model in {folder} cannot be read ({type(error).__name__}: {reason})."
        raise ValueError(f"{problem} {cure}") from None
    model = build(*sizes)
    misfit = f"the weights in {folder} do not fit this model: {{}}. If the model is right, {cure}"
    load_parameters(model, state, misfit)
    return model.eval(), CharTokenizer()


def lesson_model_class() -> Callable[[int, int, int], nn.Module]:
    """Return the lesson's `CogModel`, a function of vocab_size, embed_dim and num_layers."""
    return load_from_lesson("toy_transformer", "CogModel", "load_cogmodel(build=CogModel)")


def lesson_loss_function() -> Callable[[Tensor, Tensor, Tensor], Float[Tensor, ""]]:
    """Return the lesson's `answer_loss`, a function of the logits, the tokens and the positions of the answer."""
    return load_from_lesson("toy_transformer", "answer_loss", "with the training loop of lesson 08")


@torch.no_grad()
def attention_patterns(model: LessonModule, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "layers batch seq seq"]:
    """Return the attention weights in every layer of a `CogModel`."""
    seq = tokens.shape[-1]
    mask = torch.ones(seq, seq, dtype=torch.bool, device=tokens.device).tril()
    x, patterns = model.pos_encoder(model.embed(tokens)), []
    for layer in model.layers:
        patterns.append(layer.self_attn(x, mask, return_weights=True)[1])
        x = layer(x, mask)
    return torch.stack(patterns)


def copying_weights(
    model: LessonModule, prompt: str
) -> tuple[Float[Tensor, "layers letters seq"], list[str], list[str]]:
    """Return each layer's attention weights at the positions that predict the correct answer to `prompt`.

    Returns:
        The weights, with one row for each letter in the answer (the row of the position that predicts it); the letters,
        as row labels; the characters of the text so far, as column labels.
    """
    text = expected_text(prompt)
    rows = range(len(prompt), len(text) - 2)  # the space before the answer predicts its first letter
    weights = attention_patterns(model, torch.tensor([_encode_text(text)]))[:, 0, rows.start : rows.stop]
    return weights, [f"→ {text[i + 1]}" for i in rows], list(text)


def weight_on_copied_letter(model: LessonModule, words: Iterable[str]) -> Float[Tensor, "layers"]:
    """Return each layer's mean weight on the letter to be copied.

    The mean is taken over all `words`, which may have different lengths, and over both commands.
    """
    return _mean_weight(model, words, lambda weights, start: weights.diagonal(dim1=1, dim2=2))


def weight_on_space(model: LessonModule, words: Iterable[str]) -> Float[Tensor, "layers"]:
    """Return each layer's mean weight on the space before the answer.

    The mean is taken over the same prompts as in `weight_on_copied_letter`.
    """
    return _mean_weight(model, words, lambda weights, start: weights[:, :, start])


def _mean_weight(model: LessonModule, words: Iterable[str], pick: Callable[[Tensor, int], Tensor]) -> Tensor:
    prompts = [f"{word} {command}" for word in words for command in COMMANDS]
    patterns = attention_patterns(model, tokens_of(prompts)[0])  # padding does not change the rows before it
    spans = [(len(prompt), len(expected_text(prompt)) - 2) for prompt in prompts]
    weights = [pick(patterns[:, i, start:end], start).mean(1) for i, (start, end) in enumerate(spans)]
    return torch.stack(weights).mean(0)


@torch.no_grad()
def after_a_wrong_letter(model: nn.Module, n: int = 200, seed: int = 5) -> dict[str, float]:
    """Measure which letter the model writes if the last letter of an unfinished `echo` answer is wrong.

    The wrong letter is another letter of the same word. Each word has 8 different letters.

    Returns:
        Two shares of the `n` cases: how often the model writes the letter for the next position, and how often it
        writes the letter that follows the wrong letter in the word.
    """
    generator = torch.Generator().manual_seed(seed)
    words = [word for word in random_words(8 * n, generator, 8) if len(set(word)) == 8][:n]
    cases = [(word, 1 + i % 5) for i, word in enumerate(words)]  # the position of the letter that is replaced
    others = [(last + 3) % 7 for _, last in cases]
    texts = [_encode_text(f"{word} echo {word[:last]}{word[other]}") for (word, last), other in zip(cases, others)]
    tokens = nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)
    logits = model(tokens)[range(len(texts)), [len(text) - 1 for text in texts]]
    predicted = [ALPHABET[i - 1] for i in logits.argmax(-1).tolist()]
    by_place = sum(letter == word[last + 1] for letter, (word, last) in zip(predicted, cases))
    by_letter = sum(letter == word[other + 1] for letter, (word, _), other in zip(predicted, cases, others))
    return {"by its place": by_place / len(words), "by the letter before": by_letter / len(words)}


def depth_study() -> dict[str, list[float]]:
    """Return the latest results of `bench/toy_transformer.py`.

    The results include the shares of exact matches for 1 to 4 layers, with and without a position encoding.
    """
    return json.loads((ASSET / "depth.json").read_text(encoding="utf-8"))
