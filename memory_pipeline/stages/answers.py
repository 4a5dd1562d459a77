"""From the text of an answer to values, whatever the model returned (spec X11, J3).

Belongs here: names, types and items repaired where the meaning is plain, the rest named.
Does not: the form of the JSON (stages/repair_json), asking again (stages/extract).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from memory_pipeline.domain.changes import Verdict
from memory_pipeline.domain.extraction import ExtractedGraph, ExtractedUncertainty
from memory_pipeline.domain.model import ModelAnswer, ModelRequest
from memory_pipeline.stages.answer_items import (
    BadAnswerError,
    DroppedItem,
    ItemReader,
    PairVerdict,
    fields_of,
    read_entity,
    read_fact,
    read_instruction,
    read_learning,
    read_text,
    read_uncertainty,
    read_verdict,
    snake_case,
)
from memory_pipeline.stages.length_limit import read_within_length
from memory_pipeline.stages.repair_json import Found, find_values

__all__ = [
    "Asker",
    "BadAnswerError",
    "DroppedItem",
    "EpisodeSummary",
    "PairVerdict",
    "ReadAnswer",
    "parse_extraction",
    "parse_summary",
    "parse_verdicts",
    "read_extraction",
    "read_verdicts",
]

Value = TypeVar("Value")

LEARNINGS = 20
SUMMARY_CHARS = 4_000

_REFUSAL = re.compile(
    r"\b(?:I(?:'m| am)? (?:sorry|unable|not able|can(?:'|no)t|cannot|won't|must decline)|"
    r"as an AI|cannot (?:assist|help|comply)|can't (?:assist|help|comply))",
    re.IGNORECASE,
)
_ARRAYS = {
    "entities": "entities", "entity": "entities",
    "relationships": "relationships", "relationship": "relationships", "relations": "relationships",
    "edges": "relationships", "facts": "relationships", "triples": "relationships",
    "literal_facts": "literal_facts", "literal_fact": "literal_facts", "literals": "literal_facts",
    "attributes": "literal_facts",
    "instructions": "instructions", "instruction": "instructions",
    "uncertainties": "uncertainties", "uncertainty": "uncertainties",
}  # fmt: skip


class Asker(Protocol):
    """Asks a model and reads its answer; equal requests are answered from store (spec G3)."""

    def ask(
        self, request: ModelRequest, parse: Callable[[str], Value], *, attempt: int | None = None
    ) -> tuple[Value, ModelAnswer]:
        """What `parse` makes of the answer, and the answer.

        Lets the `BadAnswerError` of `parse` through after the answer was kept as bad. What was
        refused in the same `attempt` of an episode is refused again without a call. Raises
        `ModelUnavailableError` and `BudgetExhaustedError` as a chat model does.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReadAnswer(Generic[Value]):
    """What an answer says, what was lost of it, and what had to be repaired."""

    value: Value
    dropped: tuple[DroppedItem, ...] = ()
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """A summary and at most 20 learnings of at most 500 characters each (spec E4)."""

    summary: str
    key_learnings: tuple[str, ...] = ()


def parse_extraction(text: str) -> ExtractedGraph:
    """The graph of an answer; items lost on the way become uncertainties of it.

    Raises `BadAnswerError` for an answer without recognisable structure, and for one that says
    something of which nothing could be read: an empty graph always comes from an empty answer.
    It is a `TooLongError` where a limit in length is the cause.
    """
    read = read_extraction(text)
    lost = tuple(
        ExtractedUncertainty(about=item.content, reason=f"bad output: {item.reason}")
        for item in read.dropped
    )
    return read.value.model_copy(update={"uncertainties": (*read.value.uncertainties, *lost)})


def read_extraction(text: str) -> ReadAnswer[ExtractedGraph]:
    """As `parse_extraction`, with the lost items and the repairs apart."""
    return read_within_length(text, _read_extraction)


def _read_extraction(text: str) -> ReadAnswer[ExtractedGraph]:
    document, repairs, is_cut = read_document(text, _as_extraction)
    items = ItemReader(text)
    graph = ExtractedGraph(
        entities=tuple(items.read(document, "entities", read_entity)),
        relationships=tuple(items.read(document, "relationships", read_fact)),
        literal_facts=tuple(items.read(document, "literal_facts", read_fact)),
        instructions=tuple(items.read(document, "instructions", read_instruction)),
        uncertainties=tuple(items.read(document, "uncertainties", read_uncertainty)),
    )
    facts = (*graph.relationships, *graph.literal_facts)
    said = (*facts, *graph.instructions, *graph.uncertainties)
    if items.dropped and not said:
        first = items.dropped[0]
        raise BadAnswerError(first.reason, first.place, text)
    if not said and is_cut:
        raise BadAnswerError("the answer is cut off before any fact", "end", text)
    if not facts and not ("relationships" in document or "literal_facts" in document):
        missing = "neither relationships nor literal_facts is there"
        raise BadAnswerError(missing, "$", text)
    if is_cut and not any(item.reason == "is cut off" for item in items.dropped):
        items.drop("end", "is cut off", text[-80:])
    return ReadAnswer(graph, tuple(items.dropped), repairs)


def parse_verdicts(text: str, count: int) -> tuple[PairVerdict, ...]:
    """One verdict for each of `count` pairs, in order; `neither` wherever none can be read.

    Never raises: garbage is `neither` for all, with the reason.
    """
    try:
        return read_verdicts(text, count).value
    except BadAnswerError as error:
        reason = f"the judge's answer could not be read: {error.message}"
        return (PairVerdict(Verdict.NEITHER, reason=reason, is_given=False),) * count


def read_verdicts(text: str, count: int) -> ReadAnswer[tuple[PairVerdict, ...]]:
    """Verdicts on pairs 1 to `count`; unknown pairs and invalid verdicts are dropped.

    A pair without a verdict, or with two that differ, is `neither`. Raises `BadAnswerError` when
    there is no list of verdicts at all.
    """
    return read_within_length(text, lambda said: _read_verdicts(said, count))


def _read_verdicts(text: str, count: int) -> ReadAnswer[tuple[PairVerdict, ...]]:
    document, repairs, _ = read_document(text, _as_verdicts)
    items = ItemReader(text)
    given: dict[int, PairVerdict] = {}
    doubted: set[int] = set()
    for pair, verdict in items.read(document, "verdicts", read_verdict):
        if not 1 <= pair <= count:
            items.drop("verdicts", f"there is no pair {pair}", str(pair))
        elif given.setdefault(pair, verdict).verdict is not verdict.verdict:
            doubted.add(pair)
    unsaid = PairVerdict(Verdict.NEITHER, reason="the judge gave no valid verdict", is_given=False)
    twice = PairVerdict(
        Verdict.NEITHER, reason="the judge gave two verdicts that differ", is_given=False
    )
    verdicts = tuple(
        twice if pair in doubted else given.get(pair, unsaid) for pair in range(1, count + 1)
    )
    return ReadAnswer(verdicts, tuple(items.dropped), repairs)


def parse_summary(text: str) -> EpisodeSummary:
    """Summary and learnings of an answer; raises `BadAnswerError` when it holds no summary."""
    return read_within_length(text, _read_summary)


def _read_summary(text: str) -> EpisodeSummary:
    document, _, _ = read_document(text, _as_summary)
    summary = read_text(document.get("summary"))
    if not summary or not summary.strip():
        raise BadAnswerError("the summary is missing or empty", "summary", text)
    learnings = ItemReader(text).read(document, "key_learnings", read_learning)
    kept = tuple(dict.fromkeys(learning for learning in learnings if learning))
    return EpisodeSummary(summary.strip()[:SUMMARY_CHARS], kept[:LEARNINGS])


# The document: which of the values in a text is the answer.


def read_document(
    text: str, recognise: Callable[[object], dict[str, Any] | None]
) -> tuple[dict[str, Any], tuple[str, ...], bool]:
    """The one answer in a text, its repairs, and whether its end is missing."""
    if not text.strip():
        raise BadAnswerError("the answer is empty", "$", text)
    found = find_values(text)
    read = [(recognised, f) for f in found if (recognised := recognise(f.value)) is not None]
    if not read:
        raise BadAnswerError(_why_nothing(text, found), "$", text)
    document = read[0][0]
    for other, _ in read[1:]:
        if repr(other) == repr(document):
            continue
        if set(other) & set(document):
            raise BadAnswerError("there are two answers that differ", "$", text)
        document = {**document, **other}
    repairs = tuple(dict.fromkeys(repair for _, f in read for repair in f.repairs))
    return document, repairs, any(f.is_cut for _, f in read)


def _why_nothing(text: str, found: Sequence[Found]) -> str:
    if _REFUSAL.search(text) and len(text) < 2_000:
        return "the model refused"
    if not found:
        return "there is no JSON object"
    return "the JSON has none of the fields that were asked for"


def unwrapped(value: object) -> Iterator[object]:
    """The value, and what it holds when it is a wrapper of one thing."""
    yield value
    for _ in range(2):
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        elif isinstance(value, dict) and len(value) == 1:
            value = next(iter(value.values()))
        else:
            return
        yield value


def _as_extraction(value: object) -> dict[str, Any] | None:
    for inner in unwrapped(value):
        if isinstance(inner, dict):
            arrays = _arrays(inner)
            if arrays:
                return arrays
            if {"subject", "predicate", "object"} <= set(fields_of(inner)):
                return {"relationships": [inner]}
        if isinstance(inner, list):
            facts = [item for item in inner if isinstance(item, dict)]
            if facts and all({"subject", "predicate"} <= set(fields_of(item)) for item in facts):
                return {"relationships": inner}
    return None


def _arrays(value: Mapping[str, object]) -> dict[str, Any]:
    """The known arrays of an object, those of several spellings joined."""
    arrays: dict[str, Any] = {}
    for raw_key, held in value.items():
        key = _ARRAYS.get(snake_case(raw_key))
        if key is not None:
            arrays[key] = [*arrays.get(key, ()), *listed(held)]
    return arrays


def _as_verdicts(value: object) -> dict[str, Any] | None:
    for inner in unwrapped(value):
        if isinstance(inner, dict):
            fields = fields_of(inner)
            for name in ("verdicts", "judgements", "judgments", "results"):
                if name in fields:
                    return {"verdicts": listed(fields[name])}
            if {"pair", "verdict"} <= set(fields):
                return {"verdicts": [inner]}
        if isinstance(inner, list) and any(
            isinstance(item, dict) and "verdict" in fields_of(item) for item in inner
        ):
            return {"verdicts": inner}
    return None


def _as_summary(value: object) -> dict[str, Any] | None:
    for inner in unwrapped(value):
        if isinstance(inner, dict) and "summary" in (fields := fields_of(inner)):
            return {
                "summary": fields["summary"],
                "key_learnings": listed(fields.get("key_learnings")),
            }
    return None


def listed(value: object) -> list[object]:
    """An array, the single item that stands for one, or nothing for null."""
    if value is None or value == {}:
        return []
    return list(value) if isinstance(value, list) else [value]
