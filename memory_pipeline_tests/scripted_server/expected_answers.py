"""Answers of a perfect model over a known history: who said what, and what replaces what.

Belongs here: reading the two files of a shared history, extraction and judge answers from them.
Does not: the protocol.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_pipeline_tests.scripted_server.answers import EMPTY_GRAPH, Asked, nothing_found

Triple = tuple[str, str, str]

_SENTENCE = re.compile(r"[^.!?]+[.!?]?")
_PAIR_HEAD = re.compile(
    r"^\W*(?:(?:pair|question|index|item|no)\W*)?(\d+)(?=\W|$)", re.IGNORECASE | re.MULTILINE
)
_PLACES = ("lives in",)
_PEOPLE = ("has sister", "has manager")
_PETS = ("has dog",)
_EMPLOYERS = ("works at",)


@dataclass(frozen=True)
class Line:
    """One message of the history and what it says."""

    text: str
    facts: tuple[Triple, ...]


class ExpectedAnswers:
    """Answers extraction and judging from `expected.json` beside its `history.jsonl`."""

    def __init__(self, expected: Path, history: Path) -> None:
        content = json.loads(expected.read_text(encoding="utf-8"))
        texts = [
            message["content"]
            for row in history.read_text(encoding="utf-8").splitlines()
            if row.strip()
            for message in json.loads(row)["messages"]
        ]
        facts = content["facts_per_episode"]
        self._lines = [
            Line(text, tuple((s, p, o) for s, p, o in triples))
            for text, triples in zip(texts, facts, strict=True)
        ]
        self._superseded: list[tuple[str, str, str, str]] = [
            (s, p, old, new) for s, p, old, new in content["superseded"]
        ]

    def __call__(self, asked: Asked) -> str:
        """The answer in the shape that is asked for."""
        if asked.is_judging:
            key = "pair" if asked.wants("pair") else "index"
            return json.dumps({"verdicts": list(self._verdicts(asked.user, key))})
        if asked.is_summary or asked.is_profile:
            return nothing_found(asked)
        said = _folded(asked.user)
        lines = [line for line in self._lines if _folded(line.text) in said]
        return json.dumps(_graph(lines))

    def _verdicts(self, user: str, key: str) -> Iterator[dict[str, object]]:
        heads = list(_PAIR_HEAD.finditer(user))
        ends = [head.start() for head in heads[1:]] + [len(user)]
        for head, end in zip(heads, ends, strict=True):
            is_over = self._is_over(_folded(user[head.end() : end]))
            yield {
                key: int(head.group(1)),
                "reason": "one takes the place of the other" if is_over else "both can hold",
                "verdict": "old" if is_over else "neither",
                "is_correction": False,
            }

    def _is_over(self, pair: str) -> bool:
        """Whether the first fact shown gives way to the second."""
        old_side, labelled, new_side = pair.partition("new:")
        return any(
            old in old_side and new in (new_side if labelled else pair) and predicate in old_side
            for _, predicate, old, new in self._superseded
        )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _graph(lines: Sequence[Line]) -> dict[str, object]:
    entities: dict[str, str] = {}
    relationships = []
    literals = []
    for line in lines:
        for subject, predicate, item in line.facts:
            entity_type = _type_of(predicate)
            entities.setdefault(subject, "PERSON")
            fact = {
                "subject": subject,
                "predicate": predicate,
                "object": item,
                "confidence": 0.95,
                "source_quote": _quote(line.text, item),
                "valid_from": None,
                "valid_until": None,
                "memory_category": "knowledge",
            }
            if entity_type is None:
                literals.append(fact)
            else:
                entities[item] = entity_type
                relationships.append(fact)
    return EMPTY_GRAPH | {
        "entities": [
            {"name": name, "type": kind, "memory_category": "identity"}
            for name, kind in entities.items()
        ],
        "relationships": relationships,
        "literal_facts": literals,
    }


def _type_of(predicate: str) -> str | None:
    """The type of an object that is an entity, or None for a plain value."""
    for predicates, entity_type in (
        (_PLACES, "PLACE"),
        (_PEOPLE, "PERSON"),
        (_PETS, "THING"),
        (_EMPLOYERS, "ORG"),
    ):
        if predicate in predicates:
            return entity_type
    return "PRODUCT" if predicate in ("drives", "runs in") else None


def _quote(text: str, item: str) -> str:
    """The sentence that names the object, word for word."""
    for sentence in _SENTENCE.finditer(text):
        if item in sentence.group().casefold():
            return sentence.group().strip()
    return text
