"""The measure of contrast finds unreadable text, whatever makes it unreadable."""

import pytest

from tests.browser.contrast import faint

# Computed by hand with WCAG's formula: #777 on white 4.48, #767676 4.54, half of black 3.98.
PARTS = {
    "<p style='color:#777'>grey</p>": '4.48: "grey" #777777 on #ffffff',
    "<p style='color:#767676'>grey</p>": None,
    "<div style='opacity:0.5'><p>half</p></div>": '3.98: "half" #808080 on #ffffff',
    "<p style='background:#000;color:#222'>night</p>": '1.32: "night" #222222 on #000000',
    "<svg><rect width='99' height='40' fill='#333'/><text x='9' y='25'>bar</text></svg>": "1.66: ",
    "<svg><rect width='99' height='40' fill='#333'/><text x='9' y='25' fill='#fff'>bar</text></svg>": None,
    "<svg><g opacity='0.4'><text x='9' y='25'>dim</text></g></svg>": "2.85: ",
    "<input type='text' value='typed' style='color:#aaa'>": '2.32: "typed" #aaaaaa on #ffffff',
    "<div style='width:50px;overflow:auto;background:#333;color:#fff'><pre>a long line of code</pre></div>": None,
    "<div style='width:50px;overflow:auto;color:#777'><pre>a long line of code</pre></div>": "4.48: ",
    "<p style='visibility:hidden;color:#eee'>hidden</p>": None,
}


@pytest.fixture(scope="module")
def page(chromium):
    page = chromium.new_page()
    yield page
    page.close()


@pytest.mark.parametrize("html, finding", PARTS.items())
def test_faint_text_is_found(page, html, finding):
    page.set_content(f"<body style='background:#fff'>{html}</body>")
    lines = faint(page.locator("body"))
    assert (lines == []) if finding is None else (len(lines) == 1 and lines[0].startswith(finding))
