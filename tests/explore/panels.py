"""How tests read what an explorer has sent to the browser, and drive it as a reader does."""

import html
import re


def plain(widget):
    """What an HTML widget says."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", widget.value)).split())


def facts(panel):
    """{name: number} of what an explorer shows."""
    pairs = re.findall(r"([a-z][a-z0-9 %]*?) <b>([^<]+)</b>", html.unescape(panel.readout.value))
    return {name.strip(): value for name, value in pairs}


def alt(panel):
    """The words of an explorer's picture."""
    return html.unescape(re.search(r'alt="([^"]*)"', panel.picture.value)[1])


def everything_said(widget):
    """All text that the browser has been given."""
    said = [str(getattr(widget, name, "")) for name in ("value", "description", "placeholder", "tooltip")]
    return " ".join(said + [everything_said(child) for child in getattr(widget, "children", ())])


def press_enter(text):
    text._handle_custom_msg({"event": "submit"}, [])  # what the browser sends


def within(widget):
    """A widget and all that it holds."""
    return [widget, *(part for child in getattr(widget, "children", ()) for part in within(child))]
