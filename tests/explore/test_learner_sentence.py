"""The learner's own sentence: kept on this machine, read by later lessons, and refused where it cannot be drawn."""

import pytest

from utils import explore
from utils.explore.learner_sentence import save_sentence

SENTENCE = "Mary likes the cat and Tom likes the dog"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "deep" / ".progress.json"))
    monkeypatch.setenv("COURSE_GPT2", "bundled")
    return tmp_path / "deep"


def test_nothing_kept_gives_the_default():
    assert explore.my_sentence("as it is") == "as it is"


def test_a_sentence_is_kept_and_forgotten(place):
    assert save_sentence(f"  {SENTENCE}\n").startswith("Kept: 9 tokens.")
    assert explore.my_sentence("as it is") == SENTENCE and explore.sentence().state["text"] == SENTENCE
    assert [path.name for path in place.iterdir()] == [".progress.json.sentence"]
    assert save_sentence("   ") == "No sentence is kept: the lessons show their own." and not list(place.iterdir())
    assert explore.my_sentence("as it is") == "as it is"


def test_what_cannot_be_drawn_is_not_kept():
    save_sentence(SENTENCE)
    assert "that makes 1 token, and the pictures hold 2 to 16" in save_sentence("a")
    assert "that makes 17 tokens" in save_sentence("a " * 17)
    assert save_sentence("a " * 16).startswith("Kept: 16") and save_sentence("a b").startswith("Kept: 2")
    assert explore.my_sentence("") == "a b"


def test_strangers_to_the_small_gpt2_are_named():
    assert "never met" not in save_sentence(SENTENCE)
    assert "never met '·but': it reads" in save_sentence("Mary likes the cat but Tom likes the dog")
    assert r"never met '\xe2\x88', '\x91': it reads" in save_sentence("the cat∑")


def test_half_an_emoji_and_a_damaged_file_do_no_harm(place):
    assert save_sentence("Mary \ud83d is here").startswith("Kept")
    (place / ".progress.json.sentence").write_bytes(b"\xff\xfe\x00")
    assert explore.my_sentence("as it is") == "as it is"
    (place / ".progress.json.sentence").write_text("word " * 400, encoding="utf-8")
    assert explore.my_sentence("as it is") == "as it is"


def test_off_keeps_nothing(place, monkeypatch):
    save_sentence(SENTENCE)
    monkeypatch.setenv("COURSE_PROGRESS", "off")
    assert explore.my_sentence("as it is") == "as it is" and explore.sentence().state["text"] == ""
    assert save_sentence("Another sentence") == "Nothing is kept here, because COURSE_PROGRESS is off."


def test_a_place_that_cannot_be_written_is_told(place):
    place.write_text("a file where a folder is wanted", encoding="utf-8")
    assert save_sentence(SENTENCE).startswith("Not kept: .progress.json.sentence cannot be written")


def test_the_page_sends_it_and_says_what_came_of_it(show_widget):
    widget = explore.sentence()
    page = show_widget(widget)
    box = page.root.get_by_role("textbox", name="Your sentence")
    note = page.root.locator(".note")
    box.press_sequentially(SENTENCE)
    assert "Press Keep" in note.inner_text() and page.sent() == []
    box.press("Enter")
    assert page.sent() == [{"text": SENTENCE}]
    sent = []
    widget.send = lambda content, buffers=None: sent.append(content)
    widget._handle_custom_msg(page.sent()[0], [])
    page.answer(sent[0])
    assert note.inner_text().startswith("Kept: 9 tokens.") and explore.my_sentence("") == SENTENCE
    assert page.state()["told"] == sent[0]["told"]
    box.fill("Tom")
    page.root.get_by_role("button", name="Keep").click()
    page.answer(sent[0])  # of the sentence before
    assert "Asked the kernel" in note.inner_text()


def test_a_page_to_read_offers_nothing_to_keep(show_widget):
    page = show_widget(explore.sentence(), reading=True)
    assert "In JupyterLab you write a sentence of your own" in page.root.inner_text()
    assert page.root.get_by_role("textbox").count() == page.root.get_by_role("button").count() == 0


def test_a_kernel_that_is_gone_or_busy_is_told(show_widget):
    page = show_widget(explore.sentence(), width=360)
    page.page.clock.install()
    keep_it, note = page.root.get_by_role("button", name="Keep"), page.root.locator(".note")
    keep_it.click()
    page.page.clock.run_for(3500)
    assert "The kernel has not answered yet" in note.inner_text()
    page.page.evaluate("() => { window.gone = true; }")
    keep_it.press("Enter")
    assert "Not kept: no kernel listens. Run this cell again" in note.inner_text()
    assert page.page.evaluate("() => document.documentElement.scrollWidth") == 360
