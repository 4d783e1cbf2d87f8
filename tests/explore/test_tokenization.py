"""The explorer of tokens in a browser: its ids equal the tokenizer's."""

import re
from itertools import pairwise

from tokenizers import Tokenizer, models, pre_tokenizers

from utils import explore
from utils.explore.tokenization import packed_merges
from utils.show.tokenization import chip_text, decode_token

TEXTS = [
    "",
    " ",
    "a",
    "Ralph ralph RALPH  ralph",
    "I'll say it's they're WE'VE 'twas don''t 's",
    "   three spaces, \t a tab,\r\n\r\n two lines \n ",
    "56873+3184623=123456789 ½ ²x ٣٤ Ⅷ 1.000,50",
    "antidisestablishmentarianism hjksdfiu",
    "😀 👩‍👩‍👧‍👦 🇩🇪 👋🏽 é e\u0301 ñ n\u0303 한글 漢字かな汉字 नमस्ते ไทย العربية עברית",
    "no-break\u00a0space\u3000ideographic\u2003em\u0085next\ufeffbom\u200bzero\u202eturned\u2028line",
    "\x00\x01\x1c\x1f\x7f control",
    "<|endoftext|>a <|endoftext|><|endoftext|> <|endof",
    "<b>&amp;</b> {x: [1, 2]}; `code` $x_1$ \\n",
    "ß ﬁ İ ŉ Σς ǅ",
    "x" * 700 + " " * 700 + "ab" * 300,
]


def words(number):
    return int(number.replace(",", ""))


def shown_chips(page):
    """Return [(text, id, tint)] of the chips."""
    return page.page.evaluate(
        """() => [...document.querySelectorAll('.chip')].map(chip =>
            [chip.firstChild.data, Number(chip.querySelector('small').textContent), chip.dataset.tint])"""
    )


def test_its_ids_are_the_tokenizers_for_awkward_texts(show_widget, tokenizer):
    page = show_widget(explore.tokens(tokenizer))
    for text, ids in zip(
        TEXTS, page.page.evaluate("texts => document.querySelector('.coginst').coginst.encode(texts)", TEXTS)
    ):
        assert ids == tokenizer.encode(text), text[:60]


def test_half_a_surrogate_pair_becomes_the_replacement_character(show_widget, tokenizer):
    page = show_widget(explore.tokens(tokenizer))
    halves = page.page.evaluate(
        "() => document.querySelector('.coginst').coginst.encode(['a\\ud83d', '\\ude00 b', 'x\\ud83dy'])"
    )
    assert halves == [tokenizer.encode(text) for text in ("a\ufffd", "\ufffd b", "x\ufffdy")]


def test_chips_are_the_tokens_of_what_is_typed(show_widget, tokenizer, snapshot):
    page = show_widget(explore.tokens(tokenizer, "Ralph ralph"))
    assert page.facts()["characters"] == "11"
    box = page.root.get_by_role("textbox", name="The text to split into tokens")
    for text in ("I am 56873+3184623, <b>you</b> & antidisestablishmentarianism", *TEXTS[8:12]):
        box.fill(text)
        ids = tokenizer.encode(box.input_value())
        found = shown_chips(page)
        assert [number for _, number, _ in found] == ids
        assert [chip for chip, *_ in found] == [chip_text(decode_token(tokenizer, number)) for number in ids]
        assert all(a != b for (*_, a), (*_, b) in pairwise(found))
    text = "I like it"
    box.fill(text)
    assert page.facts() == {"tokens": "3", "characters": "9", "characters per token": "3.0"}
    assert page.remark() == snapshot(name="a space")


def test_chips_that_stay_are_kept_and_neighbours_differ_after_any_edit(show_widget, tokenizer):
    page = show_widget(explore.tokens(tokenizer, "one two three four five six seven"))
    box = page.root.get_by_role("textbox")
    page.page.evaluate("() => { document.querySelectorAll('.chip')[1].kept = true; }")
    for text in (
        "one two three four five six seven eight",
        "one two red three four five six seven eight",
        "one two red four five six eight",
        "one two",
        "zero one two three two",
    ):
        box.fill(text)
        found = shown_chips(page)
        assert [number for _, number, _ in found] == tokenizer.encode(text)
        assert all(a != b for (*_, a), (*_, b) in pairwise(found))
        if text.startswith("one"):
            assert page.page.evaluate("() => document.querySelectorAll('.chip')[1].kept")


def test_it_works_by_keyboard_without_a_kernel_and_keeps_its_text(show_widget, tokenizer, snapshot):
    page = show_widget(explore.tokens(tokenizer, ""))
    assert page.facts() == {"tokens": "0", "characters": "0"} and page.remark() == snapshot(name="empty")
    page.page.evaluate("() => { window.gone = true; }")
    box = page.root.get_by_role("textbox")
    box.press_sequentially("a 😀")
    assert [chip for chip, *_ in shown_chips(page)] == ["a", "·\\xf0\\x9f\\x98", "\\x80"]
    assert page.remark() == snapshot(name="parts")
    box.blur()
    assert page.state()["text"] == "a 😀" and page.sent_messages() == []


def test_a_long_text_is_cut_and_the_page_says_so(show_widget, tokenizer, snapshot):
    page = show_widget(explore.tokens(tokenizer, "a b " * 500))
    assert "first 2,000" not in page.remark() and page.facts()["characters"] == "2,000"
    page.set_control("text", "😀" * 2431)
    assert page.remark() == snapshot(name="many characters and tokens")
    assert page.numbers()["ids"] == tokenizer.encode("😀" * 2000) and len(shown_chips(page)) == 500
    assert words(page.facts()["tokens"]) == len(tokenizer.encode("😀" * 2000))
    page.set_control("text", "😀" * 300)
    assert page.remark() == snapshot(name="many tokens") and page.facts()["tokens"] == "600"
    page.set_control("text", "antidisestablishmentarianism " * 100)
    assert page.remark() == snapshot(name="many characters")
    assert len(shown_chips(page)) == len(page.numbers()["ids"]) < 500


def test_hidden_characters_are_shown_as_escapes(show_widget, tokenizer):
    page = show_widget(explore.tokens(tokenizer, "\x00\n\r\t\u00ad \u00a0"))
    assert "".join(chip for chip, *_ in shown_chips(page)) == "\\x00\\n\\r\\t\\xad··"


def test_gpt2s_tokenizer_also_works_in_the_book(show_widget, tokenizer):
    page = show_widget(explore.tokens(tokenizer, "a"), reading=True)
    page.root.get_by_role("textbox").fill("a b")
    assert len(shown_chips(page)) == 2 and "JupyterLab" not in page.root.inner_text()


def test_the_notebook_stays_small():
    assert len(packed_merges()) < 170_000


def test_another_tokenizer_runs_in_the_kernel(show_widget, snapshot):
    plain = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    widget = explore.tokens(plain, "a b c")
    page = show_widget(widget)
    assert [chip[:2] for chip in shown_chips(page)] == [["a", 0], ["b", 1], ["?", 2]]
    box = page.root.get_by_role("textbox")
    box.fill("b")
    assert page.sent_messages() == [{"text": "b"}] and page.remark() == snapshot(name="waiting")
    box.fill("b a")
    assert page.sent_messages() == [{"text": "b"}], "the page must wait for the answer before it asks again"
    page.reply_from_kernel(answer(widget, page.sent_messages()[0]))
    assert page.sent_messages()[1:] == [{"text": "b a"}]
    page.reply_from_kernel(answer(widget, page.sent_messages()[1]))
    assert [number for _, number, _ in shown_chips(page)] == [1, 0] and page.facts()["tokens"] == "2"
    page.page.evaluate("() => { window.gone = true; }")
    box.fill("b a a")
    assert page.remark() == snapshot(name="no kernel") and len(shown_chips(page)) == 2
    read = show_widget(widget, reading=True)
    assert not read.root.get_by_role("textbox").is_editable()
    assert read.root.locator(".legend").inner_text() == snapshot(name="book")


def test_a_tokenizer_with_gpt2s_vocabulary_but_other_ids_runs_in_the_kernel(tokenizer):
    class Spaced:
        get_vocab, decode = tokenizer.get_vocab, tokenizer.decode

        def encode(self, text, **options):
            return tokenizer.encode(" " + text)

    assert explore.tokens(Spaced(), "a").start["found"]["tokens"][0]["text"] == "·a"
    assert explore.tokens(tokenizer, "a").start == {}


def answer(widget, message):
    """Return the kernel's answer."""
    sent = []
    widget.send = lambda content, buffers=None: sent.append(content)
    widget._handle_custom_msg(message, [])
    return sent[0]


def test_the_text_of_a_chip_is_that_of_the_static_version(show_widget, tokenizer):
    text = "Say: café — naïve\u200d🙂 x\u00a0y"
    page = show_widget(explore.tokens(tokenizer, text))
    assert re.sub(r"\\x[0-9a-f]{2}", "", "".join(chip for chip, *_ in shown_chips(page))).startswith("Say:·café·—")
    assert [chip for chip, *_ in shown_chips(page)] == [
        chip_text(decode_token(tokenizer, number)) for number in tokenizer.encode(text)
    ]
