"""A page taken apart: a strict reader of HTML for the tests of the page.

Belongs here: parsing, well-formedness, text of elements. Does not: what a page should hold.
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "input", "br", "link", "img", "base", "hr", "source", "embed", "track", "wbr"}


class MalformedError(AssertionError):
    """The page is no well-formed HTML; the message says where."""


@dataclass
class Element:
    """An element with its attributes; its text is that of its piece of the page's data."""

    tag: str
    attributes: dict[str, str]
    parent: "Element | None"
    data: list[str] = field(repr=False)
    start: int
    end: int
    children: list["Element"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text inside it."""
        return "".join(self.data[self.start : self.end])

    def classes(self) -> set[str]:
        """The words of its class."""
        return set(self.attributes.get("class", "").split())


class Page(HTMLParser):
    """All elements of a page in order; raises `MalformedError` for tags that don't match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._data: list[str] = []
        self._open: list[Element] = []
        self.feed(text)
        self.close()
        if self._open:
            raise MalformedError(f"never closed: {[element.tag for element in self._open]}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            raise MalformedError(f"line {self.getpos()[0]}: an attribute twice in <{tag}>")
        parent = self._open[-1] if self._open else None
        attributes = {name: value or "" for name, value in attrs}
        start = len(self._data)
        element = Element(tag, attributes, parent, self._data, start, start)
        if parent is not None:
            parent.children.append(element)
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1].tag != tag:
            raise MalformedError(f"line {self.getpos()[0]}: </{tag}> closes nothing")
        self._open.pop().end = len(self._data)

    def handle_data(self, data: str) -> None:
        self._data.append(data)

    def handle_comment(self, data: str) -> None:
        raise MalformedError(f"line {self.getpos()[0]}: a comment")

    def unknown_decl(self, data: str) -> None:
        raise MalformedError(f"line {self.getpos()[0]}: <![{data}")

    def handle_pi(self, data: str) -> None:
        raise MalformedError(f"line {self.getpos()[0]}: <?{data}")

    def all(self, tag: str, css_class: str | None = None) -> list[Element]:
        """Elements of a tag, and of a class where one is given."""
        return [
            element
            for element in self.elements
            if element.tag == tag and (css_class is None or css_class in element.classes())
        ]

    def section(self, name: str) -> str:
        """The text of one section, white space folded."""
        (found,) = [e for e in self.elements if e.attributes.get("id") == name]
        return " ".join(found.text.split())
