"""That the measure of contrast finds what cannot be read, in whatever way it came to be so."""

import pytest

from tests.browser.contrast import faint

# What WCAG's formula gives, by hand: #777 on white 4.48, #767676 4.54, half of black 3.98.
PARTS = {
    "<p style='color:#777'>grey</p>": '4.48: "grey" #777777 on #ffffff',
    "<p style='color:#767676'>grey</p>": None,
    "<div style='opacity:0.5'><p>half</p></div>": '3.98: "half" #808080 on #ffffff',
    "<p style='background:#000;color:#222'>night</p>": '1.32: "night" #222222 on #000000',
    "<svg><rect width='99' height='40' fill='#333'/><text x='9' y='25'>bar</text></svg>": "1.66: ",
    "<svg><rect width='99' height='40' fill='#333'/><text x='9' y='25' fill='#fff'>bar</text></svg>": None,
    "<svg><g opacity='0.4'><text x='9' y='25'>dim</text></g></svg>": "2.85: ",
    "<input type='text' value='typed' style='color:#aaa'>": '2.32: "typed" #aaaaaa on #ffffff',
    "<p style='visibility:hidden;color:#eee'>nobody sees it</p>": None,
}


@pytest.fixture(scope="module")
def page(chromium):
    page = chromium.new_page()
    yield page
    page.close()


@pytest.mark.parametrize("html, found", PARTS.items())
def test_what_is_faint_is_found(page, html, found):
    page.set_content(f"<body style='background:#fff'>{html}</body>")
    said = faint(page.locator("body"))
    assert (said == []) if found is None else (len(said) == 1 and said[0].startswith(found))
