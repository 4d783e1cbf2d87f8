"""Check words and numbers for figures."""

import pytest

from utils.show.text_format import count_text


@pytest.mark.parametrize("text", ["1 query", "2 queries", "1 key", "3 keys", "0 tokens", "1,200 rows"])
def test_a_noun_has_the_form_that_its_number_needs(text):
    number, noun = text.split()
    singular = {"queries": "query"}.get(noun, noun.removesuffix("s"))
    assert count_text(int(number.replace(",", "")), singular) == text
