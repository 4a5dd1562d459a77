"""Guards: from what an extractor returned to claims that are tidy, evidenced and the user's own.

Belongs here: the order of the guards (spec X6) and the account of every candidate they drop.
Does not: the tidying of a field (stages/fields), evidence search (stages/evidence), reachability
(stages/links), merging of equal claims and unsure closures (stages/deduplicate).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC

from memory_pipeline.domain.claim import USER, Claim, GuardedGraph, Mention, Outcome
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import ExtractedFact, ExtractedGraph, KnownLists, Tier
from memory_pipeline.stages.candidates import Account, Candidate
from memory_pipeline.stages.evidence import FoldedMessages
from memory_pipeline.stages.fields import (
    clamp_confidence,
    clean_text,
    normalise_name,
    normalise_predicate,
    normalise_value,
    read_category,
)
from memory_pipeline.stages.links import Edge, Ranked, choose_within, linked_names
from memory_pipeline.stages.name_book import USER_SUBJECTS, NameBook
from memory_pipeline.stages.quote_doubts import PASTED, QuoteDoubts
from memory_pipeline.stages.remarks import (
    account_for_silence,
    distinct_uncertainties,
    guard_instructions,
    guard_uncertainties,
)
from memory_pipeline.stages.temporal import parse_bound

GUARD_VERSION = "guard/3"
"""Part of the recipe: changes with every change of what the guards let through."""

_DATE_CHARS = 40

_NO_DATE = frozenset(
    {"", "null", "none", "nil", "n/a", "na", "unknown", "undefined", "unspecified", "yyyy-mm-dd"}
    | {"present", "now", "ongoing", "current", "open", "-", "?"}
)


@dataclass(frozen=True, slots=True)
class GuardLimits:
    """The numbers the guards work with; without `requires_evidence` a missing quote is let by."""

    max_facts: int = 12
    object_chars: int = 500
    quote_chars: int = 200
    default_confidence: float = 0.49
    requires_evidence: bool = True


DEFAULT_LIMITS = GuardLimits()


def guard(
    graph: ExtractedGraph,
    window: Window,
    known: KnownLists,
    *,
    tier: Tier,
    tier_reason: str = "",
    limits: GuardLimits = DEFAULT_LIMITS,
) -> GuardedGraph:
    """Claims of one window, and where every other candidate went.

    Order: tidy the fields and find the quote, drop what has an empty one, doubt what
    has no evidence or a quote that does not carry it, read the dates (against the quoted message's
    time), learn the user's names, tell edges from values, drop self-loops, drop what nothing links
    to the user, keep the best `max_facts`, prune mentions.
    `candidate_count == len(claims) + len(dropped)` whatever the extractor returned.
    """
    messages = FoldedMessages(window.messages, limits.quote_chars)
    names = NameBook(graph, known)
    account = Account()
    doubts = QuoteDoubts(window, known, messages)
    candidates = _candidates(graph, window, names, doubts, limits)
    kept = _kept(candidates, names, known, limits, account)
    instructions = guard_instructions(
        graph, messages, account, requires_evidence=limits.requires_evidence
    )
    uncertainties = distinct_uncertainties(
        [*account.uncertainties, *guard_uncertainties(graph, names, messages)]
    )
    heard = {candidate.message_id for candidate in candidates}
    heard |= {instruction.message_id for instruction in instructions}
    return GuardedGraph(
        mentions=_mentions(kept, names),
        claims=tuple(_claim(candidate, tier) for candidate in kept),
        instructions=instructions,
        uncertainties=uncertainties,
        dropped=tuple(sorted(account.dropped, key=lambda outcome: int(outcome.ref[1:]))),
        nothing_said=account_for_silence(graph, window, heard),
        tier=tier,
        tier_reason=tier_reason,
        candidate_count=len(candidates),
    )


def _kept(
    candidates: Iterable[Candidate],
    names: NameBook,
    known: KnownLists,
    limits: GuardLimits,
    account: Account,
) -> list[Candidate]:
    """The candidates that pass every guard, in order; the account has the others."""
    dated = _dated(_evidenced(_complete(candidates, account), limits, account), account)
    names.learn(candidate.fact.object for candidate in dated if candidate.names_the_user())
    typed = _typed(dated, names, limits, account)
    kept = _within_limit(_linked(typed, names, known, account), names, known, limits, account)
    for candidate in kept:
        if candidate.unread_dates:
            unread = " and ".join(candidate.unread_dates)
            account.note(candidate, f"no day can be read from {unread}")
    return kept


def _candidates(
    graph: ExtractedGraph,
    window: Window,
    names: NameBook,
    doubts: QuoteDoubts,
    limits: GuardLimits,
) -> list[Candidate]:
    """All candidates, tidy, each with the place that says it: relationships, then values."""
    own = window.own_messages()
    fallback = own[-1].said_at if own else window.ended_at
    candidates = []
    raw_facts = (*graph.relationships, *graph.literal_facts)
    for number, raw in enumerate(raw_facts, start=1):
        fact = _tidy(raw, names, limits)
        evidence, doubt = doubts.place(fact, raw.source_quote)
        candidates.append(
            Candidate(
                ref=f"c{number}",
                fact=fact,
                confidence=clamp_confidence(raw.confidence, limits.default_confidence),
                said_at=evidence.said_at if evidence else fallback,
                evidence=evidence,
                doubt=doubt,
                is_echo=doubt == PASTED or (evidence is None and doubts.is_echo(fact)),
            )
        )
    return candidates


def _tidy(raw: ExtractedFact, names: NameBook, limits: GuardLimits) -> ExtractedFact:
    return ExtractedFact(
        subject=names.canonical(raw.subject, USER_SUBJECTS),
        predicate=normalise_predicate(raw.predicate),
        object=clean_text(raw.object, limits.object_chars),
        confidence=clamp_confidence(raw.confidence, limits.default_confidence),
        source_quote=clean_text(raw.source_quote, limits.quote_chars),
        valid_from=None if raw.valid_from is None else clean_text(raw.valid_from, _DATE_CHARS),
        valid_until=None if raw.valid_until is None else clean_text(raw.valid_until, _DATE_CHARS),
        memory_category=read_category(raw.memory_category),
    )


def _complete(candidates: Iterable[Candidate], account: Account) -> Iterator[Candidate]:
    for candidate in candidates:
        if not candidate.fact.predicate:
            account.drop(candidate, Outcome.EMPTY_PREDICATE, "no word is left of the predicate")
        elif not normalise_name(candidate.fact.object):
            account.drop(candidate, Outcome.EMPTY_OBJECT, "nothing is left of the object")
        elif not candidate.fact.subject:
            account.drop(candidate, Outcome.NOT_LINKED, "nothing is left of the subject")
        else:
            yield candidate


def _evidenced(
    candidates: Iterable[Candidate], limits: GuardLimits, account: Account
) -> Iterator[Candidate]:
    for candidate in candidates:
        if candidate.is_echo and limits.requires_evidence:
            account.drop(
                candidate, Outcome.NOT_LINKED, "it comes out of the prompt, not from the user"
            )
        elif candidate.evidence is None and limits.requires_evidence:
            account.doubt(candidate, "no message of the user says the quote")
        elif candidate.doubt:
            account.doubt(candidate, candidate.doubt)
        else:
            yield candidate


def _dated(candidates: Iterable[Candidate], account: Account) -> list[Candidate]:
    dated = []
    for candidate in map(_with_dates, candidates):
        start, end = candidate.valid_from, candidate.valid_until
        if start is not None and end is not None and end <= start:
            account.doubt(candidate, "it would end before it begins")
        else:
            dated.append(candidate)
    return dated


def _with_dates(candidate: Candidate) -> Candidate:
    """Reads both bounds by spec X7: what is absent, and what falls on the message's day."""
    said_at = candidate.said_at
    written = {"valid_from": candidate.fact.valid_from, "valid_until": candidate.fact.valid_until}
    read = {bound: parse_bound(value, said_at) for bound, value in written.items()}
    start, end = read["valid_from"], read["valid_until"]
    has_stated_start = start is not None
    if start is None:
        start = None if end is not None and end <= said_at else said_at
    elif start.date() == said_at.astimezone(UTC).date():
        start = said_at
    return replace(
        candidate,
        valid_from=start,
        valid_until=end,
        has_stated_start=has_stated_start,
        unread_dates=tuple(
            f"{bound} {value!r}"
            for bound, value in written.items()
            if read[bound] is None and value is not None and value.casefold() not in _NO_DATE
        ),
    )


def _typed(
    candidates: Iterable[Candidate], names: NameBook, limits: GuardLimits, account: Account
) -> list[Candidate]:
    """Edges and values told apart by what the object names; self-loops dropped."""
    typed = []
    for candidate in candidates:
        typed_candidate = _with_object(candidate, names, limits)
        fact = typed_candidate.fact
        if typed_candidate.object_is_entity and names.key(fact.subject) == names.key(fact.object):
            account.drop(typed_candidate, Outcome.SELF_LOOP, "subject and object are the same")
        else:
            typed.append(typed_candidate)
    return typed


def _with_object(candidate: Candidate, names: NameBook, limits: GuardLimits) -> Candidate:
    fact = candidate.fact
    subject = names.canonical(fact.subject)
    name = names.canonical(fact.object)
    # The user's own name stays a value: as an entity it would be the user twice.
    is_entity = not candidate.names_the_user() and names.is_entity(name)
    if is_entity:
        value = name
    elif candidate.names_the_user():
        value = normalise_name(fact.object)
    else:
        value = normalise_value(fact.object, limits.object_chars)
    return replace(
        candidate,
        fact=fact.model_copy(update={"subject": subject, "object": value}),
        object_is_entity=is_entity,
    )


def _linked(
    candidates: Sequence[Candidate], names: NameBook, known: KnownLists, account: Account
) -> list[Candidate]:
    """The candidates whose subject is the user or linked to the user (spec X3, rule 1)."""
    if all(names.key(candidate.fact.subject) == USER for candidate in candidates):
        return list(candidates)
    linked = linked_names(
        [*_known_edges(known, names), *(_edge(candidate, names) for candidate in candidates)]
    )
    kept = []
    for candidate in candidates:
        if names.key(candidate.fact.subject) in linked:
            kept.append(candidate)
        else:
            detail = f"nothing links {candidate.fact.subject} to the user"
            account.drop(candidate, Outcome.NOT_LINKED, detail)
    return kept


def _within_limit(
    candidates: Sequence[Candidate],
    names: NameBook,
    known: KnownLists,
    limits: GuardLimits,
    account: Account,
) -> list[Candidate]:
    """The best `max_facts` by confidence, then order; endings of known facts are not counted."""
    if len(candidates) <= limits.max_facts:
        return list(candidates)
    exempt = _known_endings(candidates, names, known)
    ranked = [Ranked(c.order, _edge(c, names), c.confidence, c.order in exempt) for c in candidates]
    chosen = choose_within(limits.max_facts, ranked, _known_edges(known, names))
    for candidate in candidates:
        if candidate.order not in chosen:
            account.drop(candidate, Outcome.OVER_LIMIT, f"over {limits.max_facts} facts")
    return [candidate for candidate in candidates if candidate.order in chosen]


def _known_endings(
    candidates: Sequence[Candidate], names: NameBook, known: KnownLists
) -> frozenset[int]:
    """The `order` of the candidates that end what memory holds, one for each known triple.

    An ending of something else may be invented, so it asks for a place like any fact.
    """
    held = {(names.key(f.subject), names.key(f.object)) for f in known.facts}
    endings: dict[tuple[str, str, str], int] = {}
    for candidate in candidates:
        fact = candidate.fact
        pair = (names.key(fact.subject), names.key(fact.object))
        if candidate.valid_until is not None and pair in held:
            endings.setdefault((*pair, fact.predicate), candidate.order)
    predicates = {(names.key(f.subject), names.key(f.object), f.predicate) for f in known.facts}
    by_pair: dict[tuple[str, str], int] = {}
    for (subject, value, predicate), order in endings.items():
        if (subject, value, predicate) not in predicates:
            by_pair.setdefault((subject, value), order)
    exact = {order for triple, order in endings.items() if triple in predicates}
    return frozenset(exact | set(by_pair.values()))


def _edge(candidate: Candidate, names: NameBook) -> Edge:
    fact = candidate.fact
    return Edge(
        names.key(fact.subject), names.key(fact.object) if candidate.object_is_entity else None
    )


def _known_edges(known: KnownLists, names: NameBook) -> list[Edge]:
    """Edges that memory may hold: of the facts shown, and to every thing known.

    Facts are shown in part and only while they last; the plan, which reads all links, withdraws
    what none of them leads to.
    """
    shown = [
        Edge(names.key(names.canonical(fact.subject)), names.key(names.canonical(fact.object)))
        for fact in known.facts
        if fact.object_is_entity
    ]
    return shown + [Edge(USER, names.key(entity.name)) for entity in known.entities]


def _mentions(kept: Iterable[Candidate], names: NameBook) -> tuple[Mention, ...]:
    """The user, and every entity that a claim still names, in the order of first use."""
    used = {USER: names.mention(USER)}
    for candidate in kept:
        fact = candidate.fact
        for name in (fact.subject, *([fact.object] if candidate.object_is_entity else [])):
            used.setdefault(name, names.mention(name))
    return tuple(used.values())


def _claim(candidate: Candidate, tier: Tier) -> Claim:
    fact = candidate.fact
    return Claim(
        ref=candidate.ref,
        order=candidate.order,
        subject=fact.subject,
        predicate=fact.predicate,
        object=fact.object,
        object_is_entity=candidate.object_is_entity,
        confidence=candidate.confidence,
        memory_category=read_category(fact.memory_category),
        said_at=candidate.said_at,
        valid_from=candidate.valid_from,
        valid_until=candidate.valid_until,
        has_stated_start=candidate.has_stated_start,
        evidence=candidate.evidence,
        tier=tier,
    )
