"""Insights: what several facts show together, found by a language model (spec I1, I2).

Belongs here: the request over live facts, its answer, which proposals are kept. Does not: storing
them and what was ever claimed before (adapters/insight_store).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from memory_pipeline.domain.ids import FactId
from memory_pipeline.domain.model import ModelRequest, Purpose, Usage
from memory_pipeline.domain.policy import Policy
from memory_pipeline.prompts.library import DERIVE_INSIGHTS, load_prompt
from memory_pipeline.stages.answer_items import (
    BadAnswerError,
    ItemReader,
    fields_of,
    read_number,
    read_object,
    read_text,
    required_text,
)
from memory_pipeline.stages.answer_models import InsightsAnswer, strict_schema
from memory_pipeline.stages.answers import Asker, listed, read_document, unwrapped
from memory_pipeline.stages.asking import ask_twice
from memory_pipeline.stages.fields import clean_text
from memory_pipeline.stages.injection import DOUBTFUL_SCORE, score_injection
from memory_pipeline.stages.length_limit import read_within_length
from memory_pipeline.stages.profile_lines import field_text, period_words
from memory_pipeline.stages.transcript import derive_fence

SCHEMA_NAME = "insights"
LEAST_FACTS = 2
"""Fewer facts show nothing together: no call is made."""

_STATEMENT_CHARS = 300


@dataclass(frozen=True, slots=True)
class ShownFact:
    """A live fact as a prompt shows it; periods are half-open, None = unbounded."""

    fact_id: FactId
    statement: str
    valid_from: datetime | None
    valid_until: datetime | None
    has_stated_start: bool


@dataclass(frozen=True, slots=True)
class Proposal:
    """One insight of an answer: what it stands on, and how much it matters in [0, 1]."""

    statement: str
    significance: float
    fact_ids: tuple[FactId, ...]


@dataclass(frozen=True, slots=True)
class Proposals:
    """Kept proposals, most significant first; `refused` holds the others with the reason."""

    kept: tuple[Proposal, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    request_digest: str = ""
    usage: Usage = field(default_factory=Usage)


class InsightFinder:
    """Asks one language model for insights."""

    def __init__(self, asker: Asker, model: str, tenant_secret: bytes, policy: Policy) -> None:
        self._asker = asker
        self._model = model
        self._secret = tenant_secret
        self._policy = policy

    def find(self, facts: Sequence[ShownFact], today: date) -> Proposals:
        """What the facts show together; fewer than two make no call.

        Raises `BadAnswerError` when two answers in a row are bad, and what the model raises.
        """
        if len(facts) < LEAST_FACTS:
            return Proposals()
        request = self.request(facts, today)
        asked = ask_twice(self._asker, request, _parse, self._secret)
        labels = {label: fact.fact_id for label, fact in _labelled(facts)}
        kept, refused = _choose(asked.value, labels, self._policy)
        return Proposals(kept, refused, asked.request_digests[-1], asked.usage)

    def request(self, facts: Sequence[ShownFact], today: date) -> ModelRequest:
        """The request over the facts, in their order; equal facts on one day, equal request."""
        prompt = load_prompt(DERIVE_INSIGHTS)
        lines = "\n".join(render_fact(label, fact, today) for label, fact in _labelled(facts))
        return ModelRequest(
            purpose=Purpose.INSIGHT,
            model=self._model,
            system=prompt.system,
            user=prompt.fill(
                {
                    "today": f"{today:%Y-%m-%d}",
                    "limit": str(self._policy.insight_chars),
                    "fence": derive_fence(self._secret, lines),
                    "facts": lines,
                }
            ),
            schema_name=SCHEMA_NAME,
            json_schema=strict_schema(InsightsAnswer),
            prompt_digest=prompt.citation,
        )


def render_fact(label: str, fact: ShownFact, today: date) -> str:
    """`[f3] user works at acme | since 2024-09-01`; a start nobody stated is left out."""
    is_planned = fact.valid_from is not None and fact.valid_from.date() > today
    start = fact.valid_from if is_planned or fact.has_stated_start else None
    period = period_words(start, fact.valid_until, is_planned=is_planned)
    statement = field_text(fact.statement, _STATEMENT_CHARS)
    return f"[{label}] {statement} | {period}".rstrip()


def _labelled(facts: Sequence[ShownFact]) -> list[tuple[str, ShownFact]]:
    return [(f"f{number}", fact) for number, fact in enumerate(facts, start=1)]


@dataclass(frozen=True, slots=True)
class _Said:
    statement: str
    significance: float | None
    labels: tuple[str, ...]


def _parse(text: str) -> tuple[_Said, ...]:
    """The items of an answer, bad ones left out; none at all where the list is empty."""
    return read_within_length(text, _read)


def _read(text: str) -> tuple[_Said, ...]:
    document, _, _ = read_document(text, _recognise)
    items = ItemReader(text)
    said = tuple(items.read(document, "insights", _read_item))
    if items.dropped and not said:
        raise BadAnswerError(items.dropped[0].reason, items.dropped[0].place, text)
    return said


def _recognise(value: object) -> dict[str, Any] | None:
    for inner in unwrapped(value):
        if isinstance(inner, dict):
            fields = fields_of(inner)
            if "insights" in fields:
                return {"insights": listed(fields["insights"])}
            if {"statement", "significance"} <= set(fields):
                return {"insights": [inner]}
        # An empty list says that there is nothing only where it is the answer itself.
        if (
            isinstance(inner, list)
            and (inner or inner is value)
            and all(isinstance(item, dict) and "statement" in fields_of(item) for item in inner)
        ):
            return {"insights": inner}
    return None


def _read_item(item: object) -> Iterator[_Said]:
    fields = read_object(item)
    cited = (read_text(label) for label in listed(fields.get("facts")))
    labels = tuple(dict.fromkeys(c.strip().strip("[]").lower() for c in cited if c))
    yield _Said(required_text(fields, "statement"), read_number(fields.get("significance")), labels)


def _choose(
    said: Sequence[_Said], labels: dict[str, FactId], policy: Policy
) -> tuple[tuple[Proposal, ...], tuple[tuple[str, str], ...]]:
    """The most significant few that stand on facts that were shown."""
    proposals: dict[str, Proposal] = {}
    refused: list[tuple[str, str]] = []
    for item in said:
        statement = clean_text(item.statement, policy.insight_chars)
        significance = item.significance if item.significance is not None else -1.0
        unknown = [label for label in item.labels if label not in labels]
        if not statement:
            refused.append((item.statement[: policy.insight_chars], "empty statement"))
        elif len(clean_text(item.statement, 10 * policy.insight_chars)) > policy.insight_chars:
            refused.append((statement, f"longer than {policy.insight_chars} characters"))
        elif score_injection(statement).score >= DOUBTFUL_SCORE:
            refused.append((statement, "it gives orders"))
        elif unknown or not item.labels:
            shown = ", ".join(unknown) or "nothing"
            refused.append((statement, f"cites {shown}, which was not shown"))
        elif not policy.insight_min_significance <= significance <= 1:
            refused.append((statement, f"significance {item.significance}"))
        elif normalise_statement(statement) in proposals:
            refused.append((statement, "said twice"))
        else:
            cited = tuple(dict.fromkeys(labels[label] for label in item.labels))
            proposals[normalise_statement(statement)] = Proposal(statement, significance, cited)
    ranked = sorted(proposals.values(), key=lambda p: (-p.significance, p.statement))
    kept = ranked[: policy.insights_per_run]
    refused += [(p.statement, "more than are kept") for p in ranked[policy.insights_per_run :]]
    return tuple(kept), tuple(refused)


def normalise_statement(statement: str) -> str:
    """A statement as repeats are compared: case, spacing and the final stop folded."""
    return " ".join(statement.casefold().split()).rstrip(".")
