"""Check that a picture has text that says the same, for every input type and every style of the reader."""

import re

import pytest
import torch

from tests.show.figure_checks import INPUTS, TOKENS, WEIGHTS, random_patterns, text_strings
from utils import show


def test_mime_bundle_is_text_and_an_image_with_the_same_words():
    picture = show.weights(WEIGHTS, ['<b>&"', *TOKENS[1:]])
    bundle = picture._repr_mimebundle_()
    assert bundle["text/plain"] == picture.alt == repr(picture)
    image = bundle["text/html"]
    assert image.startswith('<svg class="course-figure" role="img" aria-label="') and image.endswith("</svg>")
    assert "&lt;b&gt;&amp;&quot; 0.21" in image and "<b>" not in image and "script" not in image
    assert int(re.search(r' width="(\d+)"', image)[1]) == round(picture.figure.get_figwidth() * 100)


def test_no_title_is_longer_than_a_phone_shows_of_the_picture():
    figure = show.grid([f"token{i}" for i in range(12)], title="a title of many words " * 5).figure
    (title,) = [text for text in figure.texts if text.get_weight() == "bold"]
    wide = title.get_window_extent(figure.canvas.get_renderer()).width / figure.dpi
    assert 3 < wide < 4.4 < figure.get_figwidth() - 1


def test_the_png_has_twice_the_pixels_of_its_width():
    picture = show.grid(TOKENS)
    width = int.from_bytes(picture.png()[16:20], "big")
    assert abs(width - 200 * picture.figure.get_figwidth()) <= 1


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_save_writes_the_same_bytes_each_time(tmp_path, suffix):
    first, second = (show.steps(INPUTS, TOKENS, 1).save(tmp_path / f"{k}.{suffix}").read_bytes() for k in "ab")
    assert first == second and len(first) > 1000


def test_save_refuses_other_suffixes(tmp_path):
    with pytest.raises(ValueError, match=r"'a\.bmp'.*\.png, \.svg or \.pdf"):
        show.grid(["a"]).save(tmp_path / "a.bmp")


def test_the_readers_style_neither_changes_a_figure_nor_is_changed():
    import matplotlib

    before, page = show.weights(WEIGHTS, TOKENS).png(), show.weights(WEIGHTS, TOKENS).html()
    with matplotlib.rc_context(
        {"font.size": 30, "axes.labelweight": "bold", "savefig.bbox": "tight", "text.parse_math": True}
    ):
        assert show.weights(WEIGHTS, TOKENS).png() == before
        assert show.weights(WEIGHTS, TOKENS).html() == page
        assert matplotlib.rcParams["font.size"] == 30


def test_showing_a_figure_leaves_it_as_it_was():
    picture = show.weights(WEIGHTS, TOKENS)
    before, page = picture.png(), picture.html()
    assert picture.png() == before and picture.html() == page and picture.figure.patch.get_visible()
    assert picture.figure.dpi == 100


@pytest.mark.parametrize(
    "token, drawn",
    [
        (" the", "·the"),
        ("  ", "··"),
        ("a b", "a b"),
        ("\n", "\\n"),
        ("", "''"),
        ("汉", "\\u6c49"),
        ("$a$", "$a$"),
        ("a" * 20, "a" * 11 + "…"),
    ],
)
def test_tokens_on_axes(token, drawn):
    assert text_strings(show.weights([[1.0]], [token])).count(drawn) == 2


def test_alt_text_keeps_letters_that_the_font_lacks():
    assert "汉字" in show.weights([[1.0]], ["汉字"]).alt.split("\n")[1]


# ---------------------------------------------------------------- accepted inputs


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.clone().requires_grad_(),
        lambda x: x.double().numpy(),
        lambda x: x.tolist(),
        lambda x: list(x.requires_grad_()),
        lambda x: [tuple(row) for row in x],
    ],
)
def test_tensors_arrays_and_lists_give_the_same_figure(make):
    assert show.weights(make(WEIGHTS.clone()), TOKENS).alt == show.weights(WEIGHTS, TOKENS).alt


@pytest.mark.parametrize("draw", [lambda x: show.weights(x[0], TOKENS[:4]), lambda x: show.attention(TOKENS[:4], x)])
def test_gradients_and_half_precision_are_drawn_and_left_alone(draw):
    weights = random_patterns(2, 4)
    given = weights.clone().requires_grad_()
    assert draw(given).alt == draw(weights).alt
    assert given.requires_grad and torch.equal(given, weights)
    assert "0.24" in show.weights(WEIGHTS.bfloat16(), TOKENS).alt
    draw(weights.bfloat16())


def test_the_given_tensors_stay_as_they_were():
    given = WEIGHTS.clone().requires_grad_()
    show.weights(given, TOKENS), show.mixing(given[1], INPUTS, TOKENS)
    assert given.requires_grad and torch.equal(given, WEIGHTS)
