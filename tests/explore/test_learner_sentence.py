"""The learner's own sentence is kept on this machine for later lessons, unless its length does not fit the pictures."""

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
    assert explore.my_sentence("default") == "default"


def test_a_sentence_is_kept_and_removed(place, snapshot):
    assert save_sentence(f"  {SENTENCE}\n") == snapshot(name="kept")
    assert explore.my_sentence("default") == SENTENCE and explore.sentence().state["text"] == SENTENCE
    assert [path.name for path in place.iterdir()] == [".progress.json.sentence"]
    assert save_sentence("   ") == snapshot(name="removed") and not list(place.iterdir())
    assert explore.my_sentence("default") == "default"


def test_a_sentence_of_another_length_is_not_kept(snapshot):
    save_sentence(SENTENCE)
    assert save_sentence("a") == snapshot(name="too short")
    assert save_sentence("a " * 17) == snapshot(name="too long")
    assert explore.my_sentence("") == SENTENCE
    assert save_sentence("a " * 16).startswith("Kept: 16") and save_sentence("a b").startswith("Kept: 2")
    assert explore.my_sentence("") == "a b"


def test_tokens_that_the_small_gpt2_does_not_know_are_named(snapshot):
    assert "small GPT-2" not in save_sentence(SENTENCE)
    assert save_sentence("Mary likes the cat but Tom likes the dog") == snapshot(name="a word")
    assert save_sentence("the cat∑") == snapshot(name="parts of a character")


def test_half_an_emoji_and_a_damaged_file_do_no_harm(place):
    assert save_sentence("Mary \ud83d is here").startswith("Kept")
    (place / ".progress.json.sentence").write_bytes(b"\xff\xfe\x00")
    assert explore.my_sentence("default") == "default"
    (place / ".progress.json.sentence").write_text("word " * 400, encoding="utf-8")
    assert explore.my_sentence("default") == "default"


def test_off_keeps_nothing(place, monkeypatch, snapshot):
    save_sentence(SENTENCE)
    monkeypatch.setenv("COURSE_PROGRESS", "off")
    assert explore.my_sentence("default") == "default" and explore.sentence().state["text"] == ""
    assert save_sentence("Another sentence") == snapshot


def test_a_file_that_cannot_be_written_is_reported(place):
    place.write_text("This file has the name of the folder.", encoding="utf-8")
    message = save_sentence(SENTENCE)
    assert message.startswith("Not kept: ") and ".progress.json.sentence" in message


def test_the_page_sends_the_sentence_and_shows_the_answer(show_widget, snapshot):
    widget = explore.sentence()
    page = show_widget(widget)
    box = page.root.get_by_role("textbox", name="Your sentence")
    note = page.root.locator(".note")
    box.press_sequentially(SENTENCE)
    assert note.inner_text() == snapshot(name="typed") and page.sent_messages() == []
    box.press("Enter")
    assert page.sent_messages() == [{"text": SENTENCE}]
    sent = []
    widget.send = lambda content, buffers=None: sent.append(content)
    widget._handle_custom_msg(page.sent_messages()[0], [])
    page.reply_from_kernel(sent[0])
    assert note.inner_text() == sent[0]["told"].replace("`", "") and explore.my_sentence("") == SENTENCE
    assert page.state()["told"] == sent[0]["told"]
    box.fill("Tom")
    page.root.get_by_role("button", name="Keep").click()
    page.reply_from_kernel(sent[0])  # the answer to the previous sentence
    assert note.inner_text() == snapshot(name="sent")


def test_a_page_of_the_book_has_no_text_box(show_widget, snapshot):
    page = show_widget(explore.sentence(), reading=True)
    assert page.root.inner_text() == snapshot
    assert page.root.get_by_role("textbox").count() == page.root.get_by_role("button").count() == 0


def test_a_kernel_that_is_gone_or_busy_is_reported(show_widget, snapshot):
    page = show_widget(explore.sentence(), width=360)
    page.page.clock.install()
    keep_it, note = page.root.get_by_role("button", name="Keep"), page.root.locator(".note")
    keep_it.click()
    page.page.clock.run_for(3500)
    assert note.inner_text() == snapshot(name="busy")
    page.page.evaluate("() => { window.gone = true; }")
    keep_it.press("Enter")
    assert note.inner_text() == snapshot(name="gone")
    assert page.page.evaluate("() => document.documentElement.scrollWidth") == 360
