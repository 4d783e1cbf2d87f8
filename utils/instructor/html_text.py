"""What stands in an HTML page, for the checks that look for answers in it."""

from __future__ import annotations

from html.parser import HTMLParser

# What stands within a word or a line of code; every other tag begins a new one.
WITHIN = {"a", "b", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "sub", "sup"}


def extract_text(page: str) -> str:
    """Everything in a page that a reader or a program can read: its text as it stands there, whatever tags are in it,
    its attributes, and its scripts."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return "".join(reader.text) + "\n" + "\n".join(reader.attributes)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self.attributes: list[str] = []

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.text.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [value for _, value in attrs if value]
        self._mark(tag)

    def handle_endtag(self, tag: str) -> None:
        self._mark(tag)

    def _mark(self, tag: str) -> None:
        """What a tag means for the text: inline code is as its author wrote it, between backticks."""
        if tag == "code":
            self.text.append("`")
        elif tag not in WITHIN:
            self.text.append("\n")
