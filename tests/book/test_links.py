"""Test the targets of links, for a public clone and for one that is not public."""

import re

import pytest

from utils import lessons
from utils.book.site import render_commands, resolve_links
from utils.instructor.online_links import UNSET

SITE_PAGES = {"docs/papers.md", "CONTRIBUTING.md", "course/02_simplified_attention.ipynb"}
LESSON = lessons.read_lesson(lessons.find_lesson("02"))


def resolve(text, public="me/course", name="docs/data.md"):
    return resolve_links(text, name, SITE_PAGES, public)


@pytest.mark.parametrize("public", [UNSET, "me/course"])
@pytest.mark.parametrize(
    "link",
    [
        "[a](papers.md)",
        "[a](papers.md#b)",
        "[a](../CONTRIBUTING.md)",
        "[a](https://x.org/y.md)",
        "[a](#b)",
        "![a](c.png)",
    ],
)
def test_what_the_site_holds_and_what_lies_elsewhere_stays(link, public):
    assert resolve(f"See {link}.", public) == f"See {link}."


def test_a_file_that_the_site_lacks_is_read_in_the_public_clone():
    there = "https://github.com/me/course/blob/main/utils/assets/gpt2/README.md"
    assert resolve("[the card](../utils/assets/gpt2/README.md)") == f"[the card]({there})"
    assert (
        resolve("[it](README.md#b)", name="CONTRIBUTING.md")
        == "[it](https://github.com/me/course/blob/main/README.md#b)"
    )


def test_without_a_public_clone_it_is_words():
    assert resolve("See [the card](../utils/x/README.md), [this](../LICENSE).", UNSET) == "See the card, this."


def test_a_lesson_that_is_not_in_the_book_is_words_and_one_that_is_stays():
    assert resolve("[3](03_self_attention.ipynb)", UNSET, "course/02.md") == "3"
    assert resolve("[2](02_simplified_attention.ipynb)", UNSET, "course/03.md") == "[2](02_simplified_attention.ipynb)"


def test_code_is_left_alone():
    code = "```python\nx = a[0](../b)\n```\n"
    assert resolve(f"{code}[b](../LICENSE)\n{code}", UNSET) == f"{code}b\n{code}"


def test_a_public_clone_is_fetched_and_opened_and_services_are_named():
    shown = render_commands("me/course", LESSON)
    copied = re.search(r'data-copy="(.*?)"', shown, re.DOTALL)[1]
    assert copied.splitlines() == ["git clone https://github.com/me/course &amp;&amp; cd course", "make lab"]
    assert "mybinder.org/v2/gh/me/course" in shown and "colab.research.google.com/github/me/course" in shown


def test_a_lesson_says_what_its_page_is_for_and_where_to_get_the_other():
    for name in ("me/course", UNSET):
        assert re.search(r'class="to-read".*href="\.\./index\.html#do-it-yourself"', render_commands(name, LESSON))
        assert "to-read" not in render_commands(name)


def test_a_clone_that_is_not_public_promises_neither():
    shown = render_commands(UNSET, LESSON)
    assert re.search(r'data-copy="(.*?)"', shown)[1] == "make lab" and "<p>In the course's folder" in shown
    assert "binder" not in shown and "colab" not in shown and "git clone" not in shown
