"""Check tokens, merges, next tokens and the residual stream: read words, numbers and colours from the figures."""

import itertools
import re

import pytest
import torch
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Circle, FancyBboxPatch

from tests.show.figure_checks import (
    AWKWARD,
    artist_box,
    assert_no_overlap,
    assert_not_clipped,
    contrast_ratio,
    text_artists,
    text_strings,
)
from utils import show
from utils.gpt2 import load_tokenizer
from utils.show.colours import INK, MUTED, VERMILION
from utils.show.text_format import escape_undrawable
from utils.show.tokenization import CHIPS, chip_text, decode_token

TEXT = ["I", " like", " to", "ken", "s", "."]
WORDS = "low lower lowest"
STEPS = [
    ("16 bytes", list(WORDS)),
    ("l + o → lo", ["lo", "w", " ", "lo", "w", "e", "r", " ", "lo", "w", "e", "s", "t"]),
    ("lo + w → low", ["low", " ", "low", "e", "r", " ", "low", "e", "s", "t"]),
]


def chips(picture):
    return [patch for patch in picture.figure.axes[0].patches if isinstance(patch, FancyBboxPatch)]


# ---------------------------------------------------------------- tokens


def test_each_token_is_a_chip_with_its_id(snapshot):
    picture = show.tokens(TEXT, [40, 588, 284, 3464, 82, 13])
    assert text_strings(picture)[:12] == ["I", "40", "·like", "588", "·to", "284", "ken", "3464", "s", "82", ".", "13"]
    assert picture.alt == snapshot
    assert show.tokens(TEXT).alt == snapshot
    assert show.tokens(["a"]).alt == snapshot


def test_neighbours_differ_in_colour_and_ink_is_legible_on_all():
    colours = [to_hex(chip.get_facecolor()) for chip in chips(show.tokens(TEXT * 5))]
    assert all(a != b for a, b in itertools.pairwise(colours)) and set(colours) == set(CHIPS)
    for chip in CHIPS:
        assert contrast_ratio(to_rgb(INK), to_rgb(chip)) >= 7 and contrast_ratio(to_rgb(MUTED), to_rgb(chip)) >= 4.5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("n", [1, 12, 200])
def test_chips_wrap_and_hold_their_words(n, ids):
    given = list(itertools.islice(itertools.cycle([*AWKWARD, b"\xf0\x9f", "x" * 99]), n))
    picture = show.tokens(given, [50256] * n if ids else None)
    assert_not_clipped(picture)
    figure = picture.figure
    boxes = [chip.get_window_extent(figure.canvas.get_renderer()) for chip in chips(picture)]
    inside = [text for text in figure.axes[0].texts if text.get_text() != "50256"]
    for place, text in zip(boxes, inside, strict=True):
        written = artist_box(picture, text)
        assert place.x0 <= written.x0 and written.x1 <= place.x1
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))


@pytest.mark.parametrize(
    "token, drawn",
    [(" the", "·the"), ("a b ", "a·b·"), ("  ", "··"), ("\n", "\\n"), ("", "''"), (b"ab", "ab"), (b" \xe6", "·\\xe6"),
     ("é".encode(), "é"), (b"\xf0\x9f\x98", "\\xf0\\x9f\\x98"), (b"\n\x80", "\\n\\x80"), ("\u00a0", "·")],
)  # fmt: skip
def test_spaces_and_stray_bytes_are_visible(token, drawn):
    assert chip_text(token) == drawn and escape_undrawable(drawn) in text_strings(show.tokens([token]))


def test_a_token_of_gpt2_is_its_text_or_its_bytes():
    tokenizer = load_tokenizer()
    for text in ("Hello world", " 😀é汉字\n\t\x00", "<|endoftext|>", "\ufffd", "naïve"):
        pieces = [decode_token(tokenizer, number) for number in tokenizer.encode(text)]
        assert b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in pieces) == text.encode()
    assert decode_token(tokenizer, 220) == " " and decode_token(tokenizer, 50256) == "<|endoftext|>"
    assert [decode_token(tokenizer, number) for number in tokenizer.encode("😀")] == [b"\xf0\x9f\x98", b"\x80"]


# ---------------------------------------------------------------- merges


def test_merges_align_the_same_text_and_mark_what_is_new(snapshot):
    picture = show.merges(STEPS)
    rows = {}
    for chip in chips(picture):
        rows.setdefault(round(chip.get_y(), 3), []).append(chip)
    assert [len(row) for row in rows.values()] == [16, 13, 10]
    ends = [
        [round(chip.get_x(), 3) for chip in row] + [round(row[-1].get_x() + row[-1].get_width(), 3)]
        for row in rows.values()
    ]
    for row in ends[1:]:
        assert set(row) <= set(ends[0]), "a chip must start at the start of one of its letters"
    new = [
        [to_hex(chip.get_edgecolor()) == VERMILION and chip.get_edgecolor()[3] == 1 for chip in row]
        for row in rows.values()
    ]
    assert [sum(row) for row in new] == [0, 3, 3]
    assert "3 tokens" not in text_strings(picture) and {"16 tokens", "13 tokens", "10 tokens"} <= set(
        text_strings(picture)
    )
    assert picture.alt == snapshot
    assert_not_clipped(picture)


def test_equal_tokens_have_one_colour_and_neighbours_another():
    picture = show.merges(STEPS)
    letters = [text for text in picture.figure.axes[0].texts if text.get_ha() == "center"]
    of = {}
    rows = {}
    for chip, letter in zip(chips(picture), letters, strict=True):
        of.setdefault(letter.get_text(), set()).add(to_hex(chip.get_facecolor()))
        rows.setdefault(round(chip.get_y(), 3), []).append(to_hex(chip.get_facecolor()))
    assert all(len(colours) == 1 for colours in of.values())
    for row in rows.values():
        assert all(a != b for a, b in itertools.pairwise(row))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "steps",
    [
        {"bytes": [bytes([byte]) for byte in "naïve 😀".encode()], "merged": ["naïve".encode(), b" ", "😀".encode()]},
        [("a very long name of a step that cannot all be drawn here", ["W"] * 40)] * 24,
        [("汉", ["汉", "字", "$x$", "\n"]), ("", ["汉字", "$x$\n"])],
        {"one": ["a"]},
    ],
)
def test_merges_of_any_text_are_whole(steps):
    picture = show.merges(steps)
    assert_not_clipped(picture)
    letters = [text for text in picture.figure.axes[0].texts if text.get_ha() == "center"]
    for chip, letter in zip(chips(picture), letters, strict=True):
        place, written = chip.get_window_extent(picture.figure.canvas.get_renderer()), artist_box(picture, letter)
        assert place.x0 - 1 <= written.x0 and written.x1 <= place.x1 + 1, letter.get_text()


# ---------------------------------------------------------------- next tokens


def test_next_tokens_are_the_likeliest_in_order():
    tokenizer = load_tokenizer()
    logits = torch.full((50257,), -20.0)
    logits[tokenizer.encode(" Mary")[0]] = 3.0
    logits[tokenizer.encode(" John")[0]] = 2.0
    logits[tokenizer.encode("😀")[0]] = 1.0
    probs = logits.softmax(-1)
    picture = show.next_tokens(probs, tokenizer, k=3)
    top = probs.topk(3).values
    assert picture.alt.startswith(f"Most likely next: '·Mary', {top[0]:.2f}.")
    assert f"'·Mary' {top[0]:.2f}, '·John' {top[1]:.2f}, '\\xf0\\x9f\\x98' {top[2]:.2f}." in picture.alt
    assert [bar.get_width() for bar in picture.figure.axes[0].patches] == pytest.approx(top.tolist(), abs=1e-6)
    assert len(show.next_tokens(probs, tokenizer).figure.axes[0].patches) == 10
    assert_not_clipped(picture)


def test_the_global_generator_and_the_tensors_stay_as_they_were():
    state, probs = torch.get_rng_state(), torch.full((50257,), 1 / 50257, requires_grad=True)
    show.next_tokens(probs, load_tokenizer())
    assert torch.equal(torch.get_rng_state(), state) and probs.requires_grad


# ---------------------------------------------------------------- residual stream


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_residual_stream_has_its_states_and_layers(n, snapshot):
    picture = show.residual_stream() if n == 2 else show.residual_stream(n)
    said = text_strings(picture)
    assert [word for word in said if word.startswith("x") and len(word) == 2] == [f"x{k}" for k in range(n + 1)]
    assert said.count("attention") == said.count("MLP") == n
    assert said.count("reads") == said.count("adds") == said.count("+") == 2 * n
    assert (
        said.count("[batch, seq, d_model]") == n + 3
        and said.count("[batch, seq, vocab]") == 2
        and "[batch, seq]" in said
    )
    heights = {text.get_text(): text.get_position()[1] for text in text_artists(picture)}
    order = ["tokens", "embedding", "x0", f"x{n}", "final norm", "unembedding", "softmax"]
    assert sorted(order, key=heights.get) == order  # y grows downwards here
    assert_not_clipped(picture)
    assert picture.alt == snapshot
    circles = [patch for patch in picture.figure.axes[0].patches if isinstance(patch, Circle)]
    assert len(circles) == (n + 1) + 2 * n


def test_the_residual_stream_leaves_out_most_of_many_layers():
    picture = show.residual_stream(12)
    said = text_strings(picture)
    assert [word for word in said if re.fullmatch(r"x\d+", word)] == ["x0", "x1", "x2", "x11", "x12"]
    assert "9 layers like these" in said and "x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12." in picture.alt
    assert_not_clipped(picture)


@pytest.mark.parametrize("n", [2, 12])
def test_words_on_the_residual_stream_do_not_touch(n):
    assert_no_overlap(show.residual_stream(n))
