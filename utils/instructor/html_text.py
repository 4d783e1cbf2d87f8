"""Extract the text of an HTML page, so that checks can search it for answers."""

from __future__ import annotations

from html.parser import HTMLParser

# These tags can occur inside a word or a line of code. Every other tag starts a new line.
WITHIN = {"a", "b", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "sub", "sup"}


def extract_text(page: str) -> str:
    """Return everything in a page that a person or a program can read: text, comments, attributes and scripts.

    Tags in `WITHIN` do not split a line of text.
    """
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
        """Add a backtick for a tag that marks inline code, and a line break for a tag outside `WITHIN`."""
        if tag == "code":
            self.text.append("`")
        elif tag not in WITHIN:
            self.text.append("\n")
