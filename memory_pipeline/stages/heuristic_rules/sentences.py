"""Cuts a message into sentences for the parser and keeps the way back to the exact words.

What belongs here: chat spelling made parseable, sentence ends, verbatim quotes.
What does not: whether a sentence may say anything (gates).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_pipeline.stages.heuristic_rules.elisions import with_subject
from memory_pipeline.stages.heuristic_rules.relations import is_belonging, is_relation

QUOTE_LIMIT = 200
SENTENCE_LIMIT = 600

_SPELLINGS = {
    "i": "I",
    "im": "I'm",
    "i'm": "I'm",
    "i've": "I've",
    "i'd": "I'd",
    "i'll": "I'll",
    "ive": "I've",
    "dont": "don't",
    "doesnt": "doesn't",
    "didnt": "didn't",
    "cant": "can't",
    "isnt": "isn't",
    "wasnt": "wasn't",
    "havent": "haven't",
    "wont": "won't",
    "thats": "that's",
    "shes": "she's",
    "hes": "he's",
    "gonna": "going to",
    "wanna": "want to",
    "u": "you",
    "ur": "your",
    "bf": "boyfriend",
    "gf": "girlfriend",
    "hubby": "husband",
    "cuz": "because",
    "bc": "because",
    "favorite": "favourite",
    "fave": "favourite",
    "fav": "favourite",
    "bday": "birthday",
    "anymore": "any more",
    "w/": "with",
    "w": "with",
    "thru": "through",
    "thx": "thanks",
    "pls": "please",
    "hasnt": "hasn't",
    "arent": "aren't",
    "theyre": "they're",
    "weve": "we've",
    "theyve": "they've",
    "neice": "niece",
    "&": "and",
    "name's": "name is",
    "fave's": "favourite is",
    "birthday's": "birthday is",
}
# Words that are one to the parser only with a hyphen; the space is as long as the hyphen.
_COMPOUND = re.compile(
    r"\b(?:(?:left|right)[ ]handed|(?:short|long|near|far)[ ]sighted|(?:colou?r)[ ]blind|"
    r"self[ ]employed|(?:lactose|gluten)[ ]intolerant|(?:part|full)[ ]time|team[ ]lead|tech[ ]lead|"
    r"stay[ ]at[ ]home(?=[ ]\w)|ex[ ](?:husband|wife|boyfriend|girlfriend|partner)|"
    r"go[ ]to(?=[ ](?:lunch|dinner|breakfast|snack|drink|meal|order|recipe|karaoke|coffee))|"
    r"(?:mother|father|sister|brother|son|daughter)[ ]in[ ]law|half[ ](?:brother|sister)|"
    r"maid[ ]of[ ]honou?r|best[ ]man|(?:night|day)[ ]shift)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"w/|(?<=[a-z] )&(?= [a-z])|[A-Za-z]+(?:['\u2019][A-Za-z]+)?")
_PICTURE = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d]+|(?<!\\S)[:;]-?[)(DPp/](?!\\S)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|prof|vs|etc|e\.g|i\.e|approx|no|jr|sr|a\.m|p\.m|u\.s|[A-Z]))\.$",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?…]+[\"')\]”]*(?=\s|$)|\n+|;\s|\s[-\u2013\u2014]+\s|\u2014|\x00")
_QUESTION_TAIL = re.compile(
    r"(?:,|\s(?:so|and|but)|\s-)\s+(?=(?:(?:so|and|but)\s+)?(?:what|where|how|which|who|why|when|"
    r"any (?:ideas?|tips|suggestions?|recommendations?|advice)|do|does|did|can|could|should|would|"
    r"will|is|are|am|have)\s+(?:you|I|we|it|there|that|this|the|a|my|should|can|would|are|is|do|"
    r"kind|else|of|on|about)\b[^?]*\?)",
    re.IGNORECASE,
)
_OPENER = re.compile(
    r"^(?:(?:hey|hi|hello|yeah|yep|yup|yes|no|nope|nah|oh|ah|wow|well|so|btw|by the way|ok|okay|"
    r"haha+|lol|hmm+|um+|uh|anyway|also|plus|and|but|fun fact|fyi|tbh|to be honest|honestly|"
    r"good to know|sure|right|true|thanks|thank you|ugh|aw+|sorry|wait|correction|edit|update|"
    r"quick update|quick background|some background|a bit of background|"
    r"big news|news|good news|guess what|context|for context|background|"
    r"quick note|note|remember|reminder|just so you know|for the record|for reference|in fact|"
    r"as you know|as i said|of course|actually|basically|you know|i mean|"
    r"funny enough|turns out|my bad|scratch that|oops)"
    r"(?:,?\s+(?:there|all|everyone|so much|a lot|claude|assistant|[A-Z][a-z]+(?=[,!])))?"
    r"\s*(?:[,:!.]+|-|\u2013|\u2014|\s(?=(?:I|I'm|my|we|our|it's|that|so|and|quick|well|btw|just)\b))\s*)",
    re.IGNORECASE,
)
_CUE_ONLY = re.compile(
    r"^\W*(?:(?:oh|wait|no|hmm|ah|so|and|ok|okay)\W+)*(?:(?:actually|sorry|correction|scratch that|"
    r"my bad|oops|typo|i meant|i misspoke|edit|that's wrong|that was wrong|let me correct that|"
    r"i was wrong|about that|my mistake|wrong)\W*)+$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Sentence:
    """A sentence as it is parsed (`text`), the way back, and the verbatim words (`verbatim`)."""

    text: str
    verbatim: str
    origins: tuple[int, ...]
    source: str

    def as_said(self, value: str) -> str:
        """The value with hyphens only where the user wrote them."""
        said, spaced = self.verbatim.lower(), value.replace("-", " ")
        return spaced if value not in said and spaced in said else value

    def quote(self, start: int, end: int) -> str:
        """Verbatim words of at most 200 characters that hold `text[start:end]`."""
        if len(self.verbatim) <= QUOTE_LIMIT:
            return self.verbatim
        first = self.origins[start]
        last = self.origins[max(start, end - 1)] + 1
        return self.source[first : min(last, first + QUOTE_LIMIT)].strip()


@dataclass(frozen=True)
class _Spelled:
    text: str
    origins: tuple[int, ...]
    source: str


def _respell(source: str) -> _Spelled:
    shouted = sum(c.isupper() for c in source) > 0.6 * max(1, sum(c.isalpha() for c in source))
    read = source.lower() if shouted and len(source) > 12 else source
    if len(read) != len(source):  # some capitals change their length when lowered
        read = source
    read = _COMPOUND.sub(lambda m: m.group().replace(" ", "-"), read)
    letters: list[str] = []
    origins: list[int] = []

    def put(piece: str, start: int, end: int) -> None:
        letters.append(piece)
        origins.extend(min(start + i, end - 1) for i in range(len(piece)))

    at = 0
    for match in re.finditer(f"{_PICTURE.pattern}|{_WORD.pattern}", read):
        put(read[at : match.start()], at, max(at + 1, match.start()))
        word = match.group().replace("\u2019", "'")
        if _PICTURE.fullmatch(match.group()):
            word = "\x00"
        base = word.lower().removesuffix("'s")
        if base != word.lower() and (is_relation(base) or is_belonging(base)):
            word = _unclipped(word, read[match.end() :])
        put(_SPELLINGS.get(word.lower(), word), match.start(), match.end())
        at = match.end()
    put(read[at:], at, len(read) + 1)
    return _Spelled("".join(letters).replace("\u2019", "'"), tuple(origins), source)


def _unclipped(word: str, rest: str) -> str:
    """`my sister's called Ana`: no possession, which is what the parser takes it for."""
    if re.match(
        r" (?:called|named|getting|having|working|living|moving|going|coming|turning|studying|"
        r"learning|expecting|training|planning|starting|an?|at|from|allergic|not)\b",
        rest,
    ):
        return f"{word[:-2]} is"
    return f"{word[:-2]} has" if re.match(r" (?:got|been)\b", rest) else word


def _ends(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of `text`."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if match.group().startswith(".") and _ABBREVIATION.search(text[start : match.end()]):
            continue
        spans.append((start, match.end()))
        start = match.end()
    spans.append((start, len(text)))
    return spans


def _without_question_tail(text: str, span: tuple[int, int]) -> list[tuple[int, int]]:
    """A statement with a question hung on to it is two sentences."""
    start, end = span
    tail = _QUESTION_TAIL.search(text, start, end)
    if tail is None or tail.start() - start < 6:
        return [span]
    return [(start, tail.start()), (tail.end(), end)]


def _merged_cues(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """A sentence that is only a correction cue belongs to the one after it."""
    merged: list[tuple[int, int]] = []
    cue_start: int | None = None
    for start, end in spans:
        if _CUE_ONLY.match(text[start:end]):
            cue_start = start if cue_start is None else cue_start
            continue
        merged.append((start if cue_start is None else cue_start, end))
        cue_start = None
    return merged


def _body_start(text: str, start: int, end: int) -> int:
    """Where the sentence starts once greetings, interjections and cues are passed."""
    at = start
    for _ in range(4):
        while at < end and not (text[at].isalnum() or text[at] in "\"'“$£€("):
            at += 1
        opener = _OPENER.match(text[at:end])
        if opener is None or at + opener.end() > end - 2:
            break
        at += opener.end()
    return at


def word_end_before(text: str, limit: int) -> int:
    """Where the last whole word within `limit` characters ends; `limit` when there is none."""
    if len(text) <= limit:
        return len(text)
    at = next((i for i in range(limit, 0, -1) if text[i].isspace()), limit)
    return len(text[:at].rstrip()) or limit


def sentence_end_before(text: str, limit: int) -> int:
    """Where the last whole sentence within `limit` characters ends.

    The last word's end when that sentence would be longer than any that is read.
    """
    if len(text) <= limit:
        return len(text)
    last = next((end for _, end in reversed(_ends(text[: limit + 1])) if end <= limit), 0)
    return last if last > limit - SENTENCE_LIMIT else word_end_before(text, limit)


def split_sentences(source: str, verbatim_of: str | None = None) -> tuple[Sentence, ...]:
    """The sentences of a message, in order; nothing is lost but emoji and openers.

    `verbatim_of` is the text that quotes come from, when `source` has parts blanked out.
    """
    spelled = _respell(source)
    original = source if verbatim_of is None else verbatim_of
    spans = [s for span in _ends(spelled.text) for s in _without_question_tail(spelled.text, span)]
    sentences = []
    for start, end in _merged_cues(spelled.text, spans):
        body = _body_start(spelled.text, start, end)
        text = spelled.text[body:end].replace("\x00", " ").rstrip()
        if not text.strip(" .!-"):
            continue
        text = text[: word_end_before(text, SENTENCE_LIMIT)]
        origins = spelled.origins[body : body + len(text)]
        text, origins = with_subject(text, origins)
        first, last = spelled.origins[start], origins[-1]
        sentences.append(
            Sentence(
                text=text,
                verbatim=original[first : last + 1].strip(),
                origins=origins,
                source=original,
            )
        )
    return tuple(sentences)
