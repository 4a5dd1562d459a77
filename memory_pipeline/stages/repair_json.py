"""Reads the JSON that models write: strictly where it can, tolerantly where the meaning is plain.

Belongs here: finding values in a text and repairing their form; what is cut off or unreadable is
marked, never guessed, which is why no general repair library is used. Does not: what the values
mean (stages/answers).
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

MAX_DEPTH = 24
MAX_STARTS = 200
"""Places tried as the start of a value; prose full of braces ends there."""
MAX_REREADS = 4
SPARE_CHARS = 1_000_000
"""A text may be read `MAX_REREADS` times and this far more; broken ones invite to far more."""

_SPACE = re.compile(r"(?:[\s\ufeff\u200b]+|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_BARE_KEY = re.compile(r"[A-Za-z_][\w-]*(?=\s*:)")
_NUMBER_CHARS = 40
_WORD = re.compile(r"[A-Za-z_]\w*")
_WORDS: dict[str, object] = {
    "true": True, "false": False, "null": None, "True": True, "False": False, "None": None,
    "undefined": None, "NaN": None, "Infinity": None, "nan": None,
}  # fmt: skip
_CLOSING = {'"': '"', "'": "'", "\u201c": "\u201d", "\u201e": "\u201c", "`": "`"}
_SPECIAL = {quote: re.compile(rf"[{quote}\\]") for quote in _CLOSING.values()}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ITEM_END = re.compile(
    r"\}(?=\s*(?:,|\]|\}|$))|(?=,\s*\{)|(?=\]\s*(?:,\s*[\"'][A-Za-z_]+[\"']\s*:|\}\s*$))"
)
_MORE_ITEMS = re.compile(r"\]\s*(?:,\s*\{|\])")
_KEY = re.compile(r"[A-Za-z_][\w -]{0,60}")
_MEMBER = re.compile(r"[\"'][A-Za-z_]+[\"']\s*:")
_NEXT_MEMBER = re.compile(r",\s*(?=[\"'][A-Za-z_]+[\"']\s*:)")
_SWALLOWED_MEMBER = re.compile(r"[\"']\s*:\s*(?:[\"'\[{\d]|null|true|false)")
# A leading block, or prose before the first brace; any later tag may be text of a quote.
_THOUGHTS = re.compile(r"(?is)\A\s*(?:<think(?:ing)?>.*?|[^{\[`]*?)</think(?:ing)?>")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BrokenObject(dict[str, object]):
    """An object of which a part is missing, unreadable or said twice; `fault` says what."""

    fault = "is broken"


class CutObject(BrokenObject):
    """An object whose end is missing."""

    fault = "is cut off"


@dataclass(frozen=True, slots=True)
class Unread:
    """An item of an array that can't be read, as it stands in the text."""

    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """A value found in a text. `is_cut`: the text ends inside it."""

    value: object
    repairs: tuple[str, ...] = ()
    is_cut: bool = False


class _UnreadableError(ValueError):
    """What stands at `at` is no value."""

    def __init__(self, at: int) -> None:
        super().__init__(f"unreadable at character {at}")
        self.at = at


class _TextEndError(ValueError):
    """The text ends where a value should go on."""


class _TooOftenError(ValueError):
    """The text was read over and over; what was found until then is all there is."""


@dataclass
class _Effort:
    """How many characters may still be read in all tries at one text."""

    left: int

    def spend(self, chars: int) -> None:
        self.left -= chars
        if self.left < 0:
            raise _TooOftenError


def find_values(text: str) -> list[Found]:
    """The objects and arrays of a text, outermost ones, in order; [] when it holds none.

    Strict JSON is taken as it is. Else prose, code fences and reasoning around it, wrong quotes,
    commas and escapes, Python's words and a missing end are read past, and named in `repairs`.
    """
    strict = _read_strictly(text)
    if strict is not None:
        return [Found(strict)]
    body = _THOUGHTS.sub("", text)
    repairs = ["reasoning before the answer"] if body != text else []
    found: list[Found] = []
    position, starts = 0, 0
    effort = _Effort(MAX_REREADS * len(body) + SPARE_CHARS)
    while (start := _next_start(body, position)) is not None and starts < MAX_STARTS:
        starts += 1
        reader = _Reader(body, effort)
        try:
            value = reader.value(start, 0, in_array=False)
        except _TooOftenError:
            break
        except (_UnreadableError, _TextEndError):
            position = start + 1
            continue
        found.append(Found(mend_text(value), (*repairs, *reader.repairs), reader.is_cut))
        position = max(reader.position, start + 1)
    if found and body.strip()[:1] not in "{[":
        found[0] = Found(found[0].value, ("text before it", *found[0].repairs), found[0].is_cut)
    return found


def _next_start(text: str, position: int) -> int | None:
    places = [at for at in (text.find("{", position), text.find("[", position)) if at >= 0]
    return min(places, default=None)


def _read_strictly(text: str) -> object | None:
    """The value of a text that is JSON; an answer encoded twice is decoded twice."""
    for _ in range(2):
        try:
            value: object = json.loads(text, object_pairs_hook=make_object, strict=False)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, str):
            return mend_text(value) if isinstance(value, dict | list) else None
        text = value
    return None


def make_object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """An object of its members. Arrays under one name are joined; other doubles break it."""
    made: dict[str, object] = {}
    is_broken = False
    for key, value in pairs:
        before = made.get(key, value)
        if isinstance(before, list) and isinstance(value, list) and before is not value:
            made[key] = [*before, *value]
        else:
            is_broken |= repr(before) != repr(value)
            made[key] = value
    return BrokenObject(made) if is_broken else made


def mend_text(value: object, depth: int = 0) -> object:
    """`value` without NUL and half characters (lone surrogates), which no database takes."""
    if isinstance(value, str):
        if not _UNSTORABLE.search(value):
            return value
        whole = value.replace("\x00", "").encode("utf-16", "surrogatepass")
        return whole.decode("utf-16", "ignore")
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [mend_text(item, depth + 1) for item in value]
    if isinstance(value, dict):
        mended = {str(mend_text(k)): mend_text(v, depth + 1) for k, v in value.items()}
        return type(value)(mended)
    if isinstance(value, Unread):
        return Unread(str(mend_text(value.text)))
    return value


@dataclass
class _Reader:
    """Reads one value by recursive descent; `position` is where it ended."""

    text: str
    effort: _Effort
    position: int = 0
    is_cut: bool = False
    repairs: list[str] = field(default_factory=list)

    def note(self, repair: str) -> None:
        if repair not in self.repairs:
            self.repairs.append(repair)

    def skip(self, at: int) -> int:
        if self.text[at : at + 1].isprintable() and self.text[at : at + 1] not in " /":
            return at
        match = _SPACE.match(self.text, at)
        if self.text[at : at + 1] == "/":
            self.effort.spend(len(self.text) - at)  # A comment without an end is read to the last.
        return match.end() if match else at

    def peek(self, at: int) -> str:
        if at >= len(self.text):
            raise _TextEndError
        return self.text[at]

    def value(self, at: int, depth: int, *, in_array: bool) -> object:
        """The value at `at`; sets `position` behind it."""
        at = self.skip(at)
        char = self.peek(at)
        if depth > MAX_DEPTH:
            raise _UnreadableError(at)
        if char == "{":
            return self.object(at, depth, in_array=in_array)
        if char == "[":
            return self.array(at, depth)
        if char in _CLOSING:
            return self.string(at, ",}]")
        return self.scalar(at)

    def scalar(self, at: int) -> object:
        if number := _NUMBER.match(self.text, at):
            if number.end() == len(self.text):
                raise _TextEndError  # The next digit may be missing.
            self.position = number.end()
            if len(number[0]) > _NUMBER_CHARS:
                return None
            return int(number[0]) if number[0].lstrip("+-").isdigit() else float(number[0])
        word = _WORD.match(self.text, at)
        if word is None or word[0] not in _WORDS:
            if word is not None and word.end() == len(self.text):
                raise _TextEndError
            raise _UnreadableError(at)
        self.position = word.end()
        if word[0] not in ("true", "false", "null"):
            self.note(f"the word {word[0]}")
        return _WORDS[word[0]]

    def string(self, at: int, enders: str) -> str:
        """The string at `at`; a quote inside counts as its end only before one of `enders`."""
        closing = _CLOSING[self.text[at]]
        if closing != '"' or self.text[at] != '"':
            self.note("wrong quotes")
        parts: list[str] = []
        inner_quotes = False
        start = at = at + 1
        special = _SPECIAL[closing]
        while match := special.search(self.text, at):
            self.effort.spend(match.end() - at)
            parts.append(self.text[at : match.start()])
            at = match.start()
            if self.text[at] == "\\":
                char, at = self.escaped(at)
                parts.append(char)
            elif self.ends_string(at + 1, enders):
                self.position = at + 1
                if inner_quotes and _SWALLOWED_MEMBER.search(self.text, start, at):
                    raise _UnreadableError(start)
                return "".join(parts)
            else:
                inner_quotes = True
                self.note("quotes inside a text")
                parts.append(closing)
                at += 1
        self.effort.spend(len(self.text) - at)
        if _ITEM_END.search(self.text, start):
            raise _UnreadableError(start)  # Its own end is missing, the text goes on.
        raise _TextEndError

    def ends_string(self, at: int, enders: str) -> bool:
        at = self.skip(at)
        if at >= len(self.text):
            return enders != ":"
        # A quote after it begins the next member where a comma was forgotten.
        return self.text[at] in enders or (enders != ":" and self.is_member(at))

    def is_member(self, at: int) -> bool:
        return _MEMBER.match(self.text, at) is not None

    def escaped(self, at: int) -> tuple[str, int]:
        if at + 1 >= len(self.text):
            raise _TextEndError
        char = self.text[at + 1]
        if char != "u":
            return _ESCAPES.get(char, char), at + 2
        code = self.text[at + 2 : at + 6]
        if re.fullmatch(r"[0-9a-fA-F]{4}", code):
            return chr(int(code, 16)), at + 6
        self.note("a broken escape")
        return "", at + 2

    def array(self, at: int, depth: int) -> list[object]:
        items: list[object] = []
        at += 1
        try:
            while True:
                at = self.skip(at)
                char = self.peek(at)
                if char == "]":
                    self.position = at + 1
                    return items
                if char == "}":
                    self.note("the end of an array is missing")
                    self.position = at
                    return items
                if char == ",":
                    at += 1
                    continue
                items.append(self.item(at, depth))
                at = self.after_item(self.position, "]}")
        except _TextEndError:
            self.cut()
            return items

    def item(self, at: int, depth: int) -> object:
        try:
            return self.value(at, depth + 1, in_array=True)
        except _UnreadableError as error:
            self.note("an unreadable item")
            end = _ITEM_END if self.text[at] == "{" else re.compile(r"(?=[,\]])")
            match = end.search(self.text, max(error.at, at))
            self.position = match.end() if match else len(self.text)
            if self.position <= at:
                self.position = at + 1
            return Unread(self.text[at : self.position])

    def after_item(self, at: int, closers: str) -> int:
        at = self.skip(at)
        char = self.peek(at)
        if char not in closers and char != ",":
            self.note("a missing comma")
        return at

    def cut(self) -> None:
        self.is_cut = True
        self.note("the end is missing")
        self.position = len(self.text)

    def object(self, at: int, depth: int, *, in_array: bool) -> dict[str, object]:
        pairs: list[tuple[str, object]] = []
        at += 1
        is_broken, last_end = False, at
        try:
            while True:
                at = self.skip(at)
                char = self.peek(at)
                if char == "}":
                    self.position = at + 1
                    made = make_object(pairs)
                    return BrokenObject(made) if is_broken else made
                if char == "]":
                    self.note("the end of an object is missing")
                    is_mistyped = in_array and _MORE_ITEMS.match(self.text, at) is not None
                    self.position = at + 1 if is_mistyped else at
                    return CutObject(make_object(pairs))
                if char == ",":
                    at += 1
                    continue
                try:
                    key = self.key(at)
                    pairs.append((key, self.value(self.position, depth + 1, in_array=False)))
                except _UnreadableError as error:
                    if in_array or not pairs:
                        raise _UnreadableError(last_end) from error
                    at, is_broken = self.next_member(error), True
                    continue
                last_end = self.position
                at = self.after_item(last_end, "}]")
        except _TextEndError:
            self.cut()
            return CutObject(make_object(pairs))

    def next_member(self, error: _UnreadableError) -> int:
        self.note("an unreadable member")
        match = _NEXT_MEMBER.search(self.text, error.at)
        if match is None:
            raise _TextEndError
        return match.end()

    def key(self, at: int) -> str:
        """The name of a member; sets `position` behind its colon."""
        if bare := _BARE_KEY.match(self.text, at):
            self.note("names without quotes")
            key, self.position = bare[0], bare.end()
        elif self.text[at] in _CLOSING:
            key = self.string(at, ":").strip()
            if not _KEY.fullmatch(key):
                raise _UnreadableError(at)
        else:
            raise _UnreadableError(at)
        at = self.skip(self.position)
        if self.peek(at) != ":":
            raise _UnreadableError(at)
        self.position = at + 1
        return key
