"""Test that the leak check finds an answer in every part of a site."""

import json

import pytest
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from utils import lessons
from utils.book.site_leaks import find_site_leaks
from utils.instructor.html_text import extract_text

PATH = lessons.find_lesson("02_simplified_attention")
ANSWER = lessons.definition_source(PATH, "softmax")
LINE = "powers = torch.exp(x - x.amax(dim=dim, keepdim=True))"
PAGE = "<!doctype html><title>x</title><main>{}</main>"
WAYS = {
    "highlighted": ("02.html", PAGE.format(highlight(ANSWER, PythonLexer(), HtmlFormatter()))),
    "words of an output": ("course/03.html", PAGE.format(f"<pre>{LINE}</pre>")),
    "an attribute": ("a.html", PAGE.format(f'<img alt="{LINE}">')),
    "a comment": ("a.html", PAGE.format(f"<!-- {LINE} -->")),
    "what a widget starts from": ("a.html", PAGE.format(f"<script>{json.dumps({'text': LINE})}</script>")),
    "a script": ("_static/explore.js", f"const source = `{LINE}`;"),
    "JSON": ("data.json", json.dumps([{"source": ANSWER}])),
    "the search index": ("searchindex.js", f"Search.setIndex({json.dumps({'titles': [LINE]})})"),
    "a notebook": ("_sources/02.ipynb", json.dumps({"cells": [{"source": [ANSWER]}]})),
}


def site(folder, name="index.html", text=PAGE):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_the_line_is_one_of_the_answer():
    assert LINE in ANSWER


@pytest.mark.parametrize("name, text", WAYS.values(), ids=WAYS)
def test_an_answer_is_found(tmp_path, name, text):
    faults = find_site_leaks(site(tmp_path, name, text))
    assert faults and all(fault.startswith(f"{name}:1:") for fault in faults), faults
    assert any("amax" in fault for fault in faults)


@pytest.mark.parametrize("name, text", WAYS.values(), ids=WAYS)
def test_a_lesson_that_is_shown_with_its_answers_may_hold_them(tmp_path, name, text):
    assert find_site_leaks(site(tmp_path, name, text), {PATH.stem}) == []


def test_a_site_without_answers_has_no_faults(tmp_path):
    gap = "def softmax(x, dim):\n    # YOUR CODE HERE\n    raise NotImplementedError('softmax')\n"
    assert find_site_leaks(site(tmp_path, text=PAGE.format(f"<pre>{gap}</pre>"))) == []


def test_a_marker_is_found_and_one_that_is_spoken_of_is_none(tmp_path):
    assert find_site_leaks(site(tmp_path, text=PAGE.format("<pre># &lt;COGINST&gt;</pre>")))
    assert find_site_leaks(site(tmp_path, text=PAGE.format("<p>between <code>&lt;COGNOTE&gt;</code> and</p>"))) == []


def test_the_text_of_a_page_is_as_it_was_written():
    assert "x = 1 < 2" in extract_text("<pre><span>x</span> <span>=</span> 1 &lt; <b>2</b></pre>")
