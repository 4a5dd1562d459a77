"""Malformed extraction answers: every fault at every place, with what must be kept of each.

Belongs here: the good answer and its faults. Does not: the checks (test_bad_output).
"""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]
Triple = tuple[str, str, str]

FACT_ARRAYS = ("relationships", "literal_facts")


@dataclass(frozen=True)
class BadAnswer:
    """A malformed answer. `kept` are the facts that must be read; None: it must be refused.

    `lost` counts the items that must be named as dropped.
    """

    name: str
    text: str
    kept: frozenset[Triple] | None
    lost: int = 0


def _fact(
    subject: str, predicate: str, value: str, quote: str, **other: str | None
) -> dict[str, Any]:
    return {
        "source_quote": quote,
        "subject": subject,
        "predicate": predicate,
        "object": value,
        "valid_from": None,
        "valid_until": None,
        "confidence": 0.9,
        "memory_category": "identity",
    } | other


def good_answer() -> Document:
    """An answer without fault: five facts and one item of each other kind."""
    return {
        "entities": [
            {"name": "cello", "type": "SKILL", "memory_category": "context"},
            {"name": "porto", "type": "PLACE", "memory_category": "identity"},
            {"name": "nora", "type": "PERSON", "memory_category": "identity"},
        ],
        "relationships": [
            _fact("user", "plays", "cello", "I play the cello, well, I try"),
            _fact("user", "lives in", "porto", "I live in Porto", valid_from="2021-03-01"),
            _fact("user", "has sister", "nora", "my sister Nora"),
        ],
        "literal_facts": [
            _fact("user", "has age", "34", "I'm 34"),
            _fact("nora", "has age", "29", "Nora is 29 \U0001f382", valid_until="2025-06-01"),
        ],
        "instructions": [
            {
                "source_quote": "no emojis",
                "label": "emojis",
                "description": "Use no emojis.",
                "action": "set",
            }
        ],
        "uncertainties": [
            {"about": "Who Tim is.", "reason": "unclear", "subject": None, "predicate": None}
        ],
    }


def triples_of(document: Document) -> frozenset[Triple]:
    """The facts of a document as triples."""
    return frozenset(
        (fact["subject"], fact["predicate"], fact["object"])
        for array in FACT_ARRAYS
        for fact in document[array]
    )


GOOD = good_answer()
ALL = triples_of(GOOD)
TEXT = json.dumps(GOOD, ensure_ascii=False)
PRETTY = json.dumps(GOOD, ensure_ascii=False, indent=2)


def whole_faults() -> Iterator[BadAnswer]:
    """Faults of the whole answer that lose nothing."""
    around = {
        "prose before": f"Here are the facts:\n{TEXT}",
        "prose after": f"{TEXT}\nHope this helps!",
        "prose with braces": f"As {{asked}}, the [JSON]:\n{TEXT}\nDone {{:-)}}.",
        "code fence": f"```\n{TEXT}\n```",
        "named code fence": f"```json\n{PRETTY}\n```",
        "prose and code fence": f"Sure!\n```json\n{PRETTY}\n```\nLet me know.",
        "open code fence": f"```json\n{PRETTY}",
        "byte order mark": f"\ufeff{TEXT}",
        "reasoning": f"<think>The user plays {{an instrument}}. [m3] says so.</think>{TEXT}",
        "reasoning with a draft": f'<think>{{"relationships": []}}</think>\n{TEXT}',
        "encoded twice": json.dumps(TEXT),
        "the same answer twice": f"{TEXT}\n\n{TEXT}",
        "windows lines": PRETTY.replace("\n", "\r\n"),
        "in an array": f"[{TEXT}]",
        "in a wrapper": json.dumps({"result": GOOD}),
        "in two wrappers": json.dumps({"output": {"graph": GOOD}}),
        "an object for each array": "\n".join(json.dumps({k: v}) for k, v in GOOD.items()),
        "python words": repr(GOOD),
        "python words in prose": f"graph = {GOOD!r}",
        "camel case": _renamed(_camel),
        "pascal case": _renamed(lambda key: _camel(key)[0].upper() + _camel(key)[1:]),
        "kebab case": _renamed(lambda key: key.replace("_", "-")),
        "names with spaces": _renamed(lambda key: key.replace("_", " ")),
        "upper case": _renamed(str.upper),
        "names without quotes": _bare_names(),
        "typographic quotes": re.sub(r'"([^"]*)"', "\u201c\\1\u201d", TEXT),
        "trailing commas": TEXT.replace("}]", "},]").replace("}}", "},}"),
        "doubled commas": TEXT.replace("}, {", "},, {"),
        "missing commas between items": TEXT.replace("}, {", "} {"),
        "missing commas between arrays": TEXT.replace("], ", "] "),
        "missing commas between fields": PRETTY.replace('",\n', '"\n'),
        "comments": PRETTY.replace("[\n", "[ // the items\n").replace("{\n", "{ /* one */\n"),
        "missing end of the object": TEXT[:-1],
        "missing end of an array": TEXT[:-2] + "}",
        "extra end": TEXT + "}]}",
        "half a character": TEXT.replace("cello, well", "cello\\ud83d, well"),
        "both halves of a character": json.dumps(GOOD),
        "zero bytes": TEXT.replace("I live in Porto", "I live\\u0000 in Porto"),
        "raw line breaks": TEXT.replace("I live in Porto", "I live\nin Porto"),
        "raw tabs": TEXT.replace("I live in Porto", "I live\tin Porto"),
        "unknown escapes": TEXT.replace("I'm 34", "I\\'m 34"),
        "broken escapes": TEXT.replace("I live in Porto", "I live\\u12 in Porto"),
        "quotes inside a text": TEXT.replace("I live in Porto", 'I live in "Porto" now'),
    }
    for name, text in around.items():
        yield BadAnswer(name, text, ALL)
    yield from _array_faults()


def _array_faults() -> Iterator[BadAnswer]:
    """Each array missing, null, or a single item."""
    for array in GOOD:
        for name, value in (("null", None), ("missing", ...), ("an empty object", {})):
            document = good_answer()
            if value is ...:
                del document[array]
            else:
                document[array] = value
            kept = triples_of(good_answer() | ({array: []} if array in FACT_ARRAYS else {}))
            yield BadAnswer(f"{array} {name}", json.dumps(document), kept)
        document = good_answer()
        document[array] = document[array][0]
        kept = triples_of({key: document[key] for key in FACT_ARRAYS} | _one_item(document, array))
        yield BadAnswer(f"{array} as a single object", json.dumps(document), kept)
    document = good_answer()
    facts = document.pop("relationships") + document.pop("literal_facts")
    yield BadAnswer("all facts in one array", json.dumps(document | {"facts": facts}), ALL)
    yield BadAnswer("nothing but the facts", json.dumps(facts), ALL)
    first, *others = json.dumps(good_answer())[1:-1].partition('"literal_facts"')
    doubled = "{" + first + '"relationships": [], ' + "".join(others) + "}"
    yield BadAnswer("an array said twice", doubled, ALL)


def _one_item(document: Document, array: str) -> Document:
    return {array: [document[array]]} if array in FACT_ARRAYS else {}


def refused_answers() -> Iterator[BadAnswer]:
    """Answers without anything that could be read: never an empty graph."""
    texts = {
        "empty": "",
        "blank": " \n\t ",
        "a refusal": "I'm sorry, but I can't help with that.",
        "a long refusal": "I cannot assist with storing personal data. As an AI, I must decline.",
        "a refusal as JSON": '{"refusal": "I cannot process this conversation."}',
        "an error as JSON": '{"error": {"code": 500, "message": "overloaded"}}',
        "prose": "The user plays the cello and lives in Porto.",
        "a list in prose": "- plays cello\n- lives in Porto",
        "an HTML page": "<html><body><h1>502 Bad Gateway</h1></body></html>",
        "null": "null",
        "a number": "42",
        "a text": '"ok"',
        "an empty object": "{}",
        "an empty array": "[]",
        "another object": '{"answer": "ok", "status": "done"}',
        "the schema": '{"type": "object", "properties": {"entities": {"type": "array"}}}',
        "only entities": json.dumps({"entities": GOOD["entities"]}),
        "only a name": '{"relationships"',
        "nothing but a brace": "{",
        "two answers that differ": TEXT + "\n" + TEXT.replace("porto", "lisbon"),
        "facts as a text": '{"relationships": "user plays cello", "literal_facts": []}',
        "facts as numbers": '{"relationships": [1, 2], "literal_facts": [3]}',
        "facts as texts": '{"relationships": ["user plays cello"], "literal_facts": []}',
        "empty facts": '{"relationships": [{}, {}], "literal_facts": []}',
        "deep nesting": "[" * 5_000 + "]" * 5_000,
        "deep objects": '{"a":' * 5_000 + "1" + "}" * 5_000,
        "many braces": "{" * 5_000,
        "ellipsis": '{"entities": [...], "relationships": [...], "literal_facts": [...]}',
    }
    for name, text in texts.items():
        yield BadAnswer(name, text, None)


def truncated_answers(every: int = 37) -> Iterator[BadAnswer]:
    """The answer cut off at many places: the items before the cut are kept."""
    for end in range(1, len(TEXT), every):
        text = TEXT[:end]
        kept = frozenset(
            (fact["subject"], fact["predicate"], fact["object"])
            for array in FACT_ARRAYS
            for fact in GOOD[array]
            if json.dumps(fact, ensure_ascii=False) in text
        )
        yield BadAnswer(f"cut off at {end}", text, kept or None)


RAW_FAULTS: dict[str, tuple[Callable[[str], str], bool]] = {
    "a missing end quote": (lambda item: item.replace('", "predicate"', ', "predicate"', 1), False),
    "a missing brace": (lambda item: item[:-1], False),
    "a missing colon": (lambda item: item.replace('"subject": ', '"subject" ', 1), False),
    "a missing value": (lambda item: item.replace('"confidence": 0.9', '"confidence": ', 1), False),
    "a bare word": (lambda item: item.replace("0.9", "high", 1), False),
    "an ellipsis": (lambda item: item[:40] + "...}", False),
    "a field said twice": (lambda item: item[:-1] + ', "subject": "somebody"}', False),
    "a bracket for a brace": (lambda item: item[:-1] + "]", False),
    "a comment": (lambda item: item[:1] + "/* sure */" + item[1:], True),
    "a doubled comma": (lambda item: item.replace(", ", ",, ", 1), True),
    "quotes inside the quote": (
        lambda item: item.replace('"source_quote": "', '"source_quote": "so "well" ', 1),
        True,
    ),
    "a raw line break": (lambda item: item.replace('"subject"', '\n\n"subject"', 1), True),
}
"""Faults in the form of one item, and whether the item must be kept all the same."""

VALUE_FAULTS: dict[str, tuple[Callable[[Document], Any], bool]] = {
    "null": (lambda item: None, False),
    "a text": (lambda item: "user plays cello", False),
    "a number": (lambda item: 7, False),
    "an array": (lambda item: [item, item], False),
    "in an array": (lambda item: [item], True),
    "an empty object": (lambda item: {}, False),
    "no subject": (lambda item: _without(item, "subject"), False),
    "no predicate": (lambda item: _without(item, "predicate"), False),
    "no object": (lambda item: _without(item, "object"), False),
    "a null object": (lambda item: item | {"object": None}, False),
    "an object of objects": (lambda item: item | {"object": {"a": {"b": 1}}}, False),
    "no confidence": (lambda item: _without(item, "confidence"), True),
    "confidence as a text": (lambda item: item | {"confidence": "0.9"}, True),
    "confidence as a word": (lambda item: item | {"confidence": "high"}, True),
    "confidence not finite": (lambda item: item | {"confidence": float("nan")}, True),
    "confidence null": (lambda item: item | {"confidence": None}, True),
    "no quote": (lambda item: _without(item, "source_quote"), True),
    "a quote as an array": (lambda item: item | {"source_quote": [item["source_quote"]]}, True),
    "a date as a number": (lambda item: item | {"valid_from": 2021}, True),
    "a date as an object": (lambda item: item | {"valid_until": {"year": 2021}}, True),
    "a junk date": (lambda item: item | {"valid_from": "soon"}, True),
    "an unknown category": (lambda item: item | {"memory_category": "banana"}, True),
    "no category": (lambda item: _without(item, "memory_category"), True),
    "more fields": (lambda item: item | {"id": 4, "note": {"why": ["x"]}}, True),
    "an object in an array": (lambda item: item | {"object": [item["object"]]}, True),
    "an object with a name": (lambda item: item | {"object": {"name": item["object"]}}, True),
    "a field in camel case": (
        lambda item: _without(item, "source_quote") | {"sourceQuote": item["source_quote"]},
        True,
    ),
}
"""Faults in the values of one item, and whether the item must be kept all the same."""


def item_faults() -> Iterator[BadAnswer]:
    """Every fault of an item in every fact: its neighbours are kept, and it where it can be."""
    for array in FACT_ARRAYS:
        for number, fact in enumerate(GOOD[array]):
            triple = (fact["subject"], fact["predicate"], fact["object"])
            for name, (change, is_kept) in VALUE_FAULTS.items():
                document = good_answer()
                document[array][number] = change(deepcopy(fact))
                kept = ALL if is_kept else ALL - {triple}
                text = json.dumps(document, ensure_ascii=False)
                yield BadAnswer(f"{array}[{number}]: {name}", text, kept, int(not is_kept))
            for name, (damage, is_kept) in RAW_FAULTS.items():
                good = json.dumps(fact, ensure_ascii=False)
                text = TEXT.replace(good, damage(good), 1)
                kept = ALL if is_kept else ALL - {triple}
                yield BadAnswer(f"{array}[{number}]: {name}", text, kept, int(not is_kept))


def corpus() -> list[BadAnswer]:
    """All of them."""
    return [*whole_faults(), *refused_answers(), *truncated_answers(), *item_faults()]


def _renamed(rename: Callable[[str], str]) -> str:
    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {rename(key): renamed(held) for key, held in value.items()}
        return [renamed(held) for held in value] if isinstance(value, list) else value

    return json.dumps(renamed(GOOD), ensure_ascii=False)


def _camel(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(word.capitalize() for word in others)


def _bare_names() -> str:
    text = PRETTY
    for name in ("entities", "relationships", "literal_facts", "subject", "predicate", "object"):
        text = text.replace(f'"{name}":', f"{name}:")
    return text


def _without(item: Document, name: str) -> Document:
    return {key: value for key, value in item.items() if key != name}
