"""From a raw extraction to guarded claims: what passes, what is dropped and why.

Belongs here: the guards together, on whole graphs. Does not: single fields (test_fields),
evidence search (test_evidence), reachability (test_links).
"""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.domain.claim import GuardedGraph, Outcome
from memory_pipeline.domain.conversation import Message, Role, Window
from memory_pipeline.domain.extraction import (
    EntityType,
    ExtractedEntity,
    ExtractedFact,
    ExtractedGraph,
    ExtractedInstruction,
    ExtractedUncertainty,
    KnownEntity,
    KnownFact,
    KnownLists,
    MemoryCategory,
    NothingDurable,
    Tier,
)
from memory_pipeline.domain.ids import EntityId, EpisodeId, FactId, MessageId, TenantId, ThreadId
from memory_pipeline.stages.guard import DEFAULT_LIMITS, GuardLimits, guard

NOON = datetime(2025, 9, 15, 12, tzinfo=UTC)
UNCHECKED = GuardLimits(requires_evidence=False)
SISTER = "My sister Marta just started at Brightwell. Elena Vorkova runs Kite Motors, right?"


def _window(*texts: str, roles: Sequence[Role] = ()) -> Window:
    messages = tuple(
        Message(
            message_id=MessageId(UUID(int=seq)),
            seq=seq,
            role=role,
            text=text,
            said_at=NOON + timedelta(hours=seq),
            is_own=role == Role.USER,
        )
        for seq, (text, role) in enumerate(
            zip(texts, roles or [Role.USER] * len(texts), strict=True)
        )
    )
    return Window(
        tenant_id=TenantId("acme/user_42"),
        episode_id=EpisodeId(UUID(int=7)),
        thread_id=ThreadId("t"),
        ordinal=1,
        started_at=NOON,
        ended_at=messages[-1].said_at if messages else NOON,
        messages=messages,
    )


def _fact(statement: str, **fields: object) -> ExtractedFact:
    subject, predicate, value = statement.split(" | ")
    return ExtractedFact.model_validate(
        {"subject": subject, "predicate": predicate, "object": value, "confidence": 0.9} | fields
    )


def _graph(
    relationships: Sequence[ExtractedFact] = (),
    literal_facts: Sequence[ExtractedFact] = (),
    entities: Mapping[str, str] | None = None,
) -> ExtractedGraph:
    return ExtractedGraph(
        entities=tuple(ExtractedEntity(name=n, type=t) for n, t in (entities or {}).items()),
        relationships=tuple(relationships),
        literal_facts=tuple(literal_facts),
    )


def _guard(
    graph: ExtractedGraph,
    *texts: str,
    known: KnownLists | None = None,
    limits: GuardLimits | None = None,
) -> GuardedGraph:
    """Guards with the evidence check exactly when there are messages."""
    return guard(
        graph,
        _window(*texts),
        known or KnownLists(),
        tier=Tier.FAST,
        limits=limits or (DEFAULT_LIMITS if texts else UNCHECKED),
    )


def _triples(result: GuardedGraph) -> list[str]:
    return [f"{c.subject} | {c.predicate} | {c.object}" for c in result.claims]


def _ends(result: GuardedGraph) -> dict[str, Outcome]:
    return {outcome.ref: outcome.outcome for outcome in result.dropped}


def _names(result: GuardedGraph) -> dict[str, EntityType]:
    return {mention.name: mention.type for mention in result.mentions}


def _known(
    *entities: tuple[str, EntityType, Sequence[str]], facts: Sequence[str] = ()
) -> KnownLists:
    split = [fact.split(" | ") for fact in facts]
    return KnownLists(
        entities=tuple(
            KnownEntity(
                entity_id=EntityId(UUID(int=i)), name=name, type=kind, aliases=tuple(aliases)
            )
            for i, (name, kind, aliases) in enumerate(entities)
        ),
        facts=tuple(
            KnownFact(
                fact_id=FactId(UUID(int=i)),
                subject=subject,
                predicate=predicate,
                object=value,
                object_is_entity=True,
            )
            for i, (subject, predicate, value) in enumerate(split)
        ),
    )


# ---- the user's world


def test_x3_world_knowledge_is_dropped_and_a_sisters_job_stays() -> None:
    people = {"user": "PERSON", "Marta": "PERSON", "Brightwell": "ORG"}
    result = _guard(
        _graph(
            [
                _fact("user | has sister | Marta", source_quote="My sister Marta"),
                _fact("Marta | works at | Brightwell", source_quote="started at Brightwell"),
                _fact("Elena Vorkova | runs | Kite Motors", source_quote="Elena Vorkova runs"),
            ],
            entities=people | {"Elena Vorkova": "PERSON", "Kite Motors": "ORG"},
        ),
        SISTER,
    )

    assert _triples(result) == ["user | has sister | marta", "marta | works at | brightwell"]
    assert _ends(result) == {"c3": Outcome.NOT_LINKED}
    assert list(_names(result)) == ["user", "marta", "brightwell"]


def test_x3_a_known_link_makes_its_object_a_subject() -> None:
    known = _known(facts=["user | has sister | marta", "marta | works at | brightwell"])

    result = _guard(_graph([], [_fact("Brightwell | has office in | Leeds")]), known=known)

    assert _triples(result) == ["brightwell | has office in | leeds"]


def test_x3_a_known_alias_links_like_the_name_itself() -> None:
    known = _known(("robert", EntityType.PERSON, ["bob"]), facts=["user | has friend | robert"])

    result = _guard(_graph([], [_fact("Bob | plays | cello")]), known=known)

    assert _triples(result) == ["bob | plays | cello"]
    assert _names(result)["bob"] == EntityType.PERSON


def test_x3_a_value_links_nobody() -> None:
    result = _guard(_graph([_fact("user | has sister | marta"), _fact("marta | plays | cello")]))

    assert _ends(result) == {"c2": Outcome.NOT_LINKED}


def test_x3_a_candidate_without_evidence_links_nobody() -> None:
    result = _guard(
        _graph(
            [
                _fact("user | has sister | marta", source_quote="my sister is Marta"),
                _fact("marta | works at | brightwell", source_quote="Marta works at Brightwell"),
            ],
            entities={"marta": "PERSON", "brightwell": "ORG"},
        ),
        "Marta works at Brightwell",
    )

    assert _ends(result) == {"c1": Outcome.UNCERTAIN, "c2": Outcome.NOT_LINKED}


@pytest.mark.parametrize("word", ["User", "the user", "I", "me", "Theo  Visser"])
def test_x3_words_and_names_for_the_user_become_user(word: str) -> None:
    known = KnownLists(user_names=("theo visser",))

    result = _guard(_graph([], [_fact(f"{word} | plays | cello")]), known=known)

    assert _triples(result) == ["user | plays | cello"]


def test_x3_a_name_stated_as_the_users_own_is_rewritten_in_the_same_batch() -> None:
    result = _guard(
        _graph(
            [_fact("Tjalling | works at | Brightwell"), _fact("Marta | is sister of | Tjalling")],
            [_fact("user | has name | Tjalling"), _fact("Tjalling | plays | cello")],
            {"Tjalling": "PERSON", "Brightwell": "ORG", "Marta": "PERSON"},
        )
    )

    assert _triples(result) == [
        "user | works at | brightwell",
        "marta | is sister of | user",
        "user | has name | tjalling",
        "user | plays | cello",
    ]
    assert "tjalling" not in _names(result)


def test_a_known_name_of_the_user_stays_the_value_of_has_name() -> None:
    result = _guard(
        _graph([_fact("user | has name | Tjalling")], entities={"Tjalling": "PERSON"}),
        known=KnownLists(user_names=("tjalling",)),
    )

    assert _triples(result) == ["user | has name | tjalling"]
    assert not result.claims[0].object_is_entity


def test_x3_a_known_namesake_does_not_become_the_user() -> None:
    known = _known(("anna", EntityType.PERSON, ()), facts=["user | has sister | anna"])

    result = _guard(
        _graph([], [_fact("user | has nickname | Anna"), _fact("Anna | plays | cello")]),
        known=known,
    )

    assert _triples(result)[1] == "anna | plays | cello"


def test_x6_self_loops_are_dropped_also_under_another_name() -> None:
    known = _known(("robert", EntityType.PERSON, ["bob"]), facts=["user | has friend | robert"])

    result = _guard(
        _graph([_fact("user | knows | the user"), _fact("robert | works with | Bob")]), known=known
    )

    assert _ends(result) == {"c1": Outcome.SELF_LOOP, "c2": Outcome.SELF_LOOP}


# ---- edge or value


def test_x6_a_relationship_to_an_unlisted_object_becomes_a_value() -> None:
    result = _guard(_graph([_fact("user | has movie nights on | Fridays")]))

    assert _triples(result) == ["user | has movie nights on | fridays"]
    assert not result.claims[0].object_is_entity
    assert list(_names(result)) == ["user"]


def test_x6_a_value_that_names_a_listed_entity_becomes_an_edge() -> None:
    result = _guard(_graph([], [_fact("user | works at | Brightwell")], {"brightwell": "ORG"}))

    assert result.claims[0].object_is_entity
    assert _names(result) == {"user": EntityType.PERSON, "brightwell": EntityType.ORG}


def test_a_known_name_is_reused_exactly_and_keeps_its_type() -> None:
    known = _known(("o'brien & co", EntityType.ORG, ()))

    result = _guard(_graph([], [_fact("user | works at | O\u2019Brien &  Co")]), known=known)

    assert _names(result)["o'brien & co"] == EntityType.ORG


def test_a_name_known_for_two_types_is_a_thing_until_resolved() -> None:
    known = _known(("apple", EntityType.ORG, ()), ("apple", EntityType.FOOD, ()))

    assert _names(_guard(_graph([_fact("user | likes | apple")]), known=known)) == {
        "user": EntityType.PERSON,
        "apple": EntityType.THING,
    }


def test_a_listed_type_beats_the_known_one_so_that_homonyms_stay_two() -> None:
    known = _known(("apple", EntityType.ORG, ()))
    graph = _graph([_fact("user | is allergic to | apple")], entities={"apple": "FOOD"})

    assert _names(_guard(graph, known=known))["apple"] == EntityType.FOOD


def test_x6_the_user_is_always_mentioned_as_a_person() -> None:
    result = _guard(_graph(entities={"user": "ORG", "paris": "PLACE"}))

    assert _names(result) == {"user": EntityType.PERSON}


# ---- fields


def test_x6_every_field_is_tidied() -> None:
    result = _guard(
        _graph(
            [
                _fact(
                    "user |   Works   AT!!  | brightwell",
                    confidence=1.7,
                    source_quote="q" * 300,
                    valid_from="YYYY-MM-DD",
                )
            ],
            [
                _fact(
                    f"user | Keeps notes: about | {'x' * 900}", confidence=-0.4, valid_until="null"
                ),
                _fact("user | plays | cello", valid_from="soonish", memory_category="gossip"),
            ],
            {"user": "PERSON", "brightwell": "ORG"},
        )
    )

    job, notes, cello = result.claims
    assert (job.predicate, job.confidence, job.valid_from) == ("works at", 1.0, NOON)
    assert (notes.predicate, notes.confidence) == ("keeps notes about", 0.0)
    assert (len(notes.object), notes.valid_until) == (500, None)
    assert (cello.valid_from, cello.has_stated_start) == (NOON, False)
    assert cello.memory_category == MemoryCategory.CONTEXT


def test_a_date_that_cannot_be_read_leaves_an_uncertainty_and_a_placeholder_none() -> None:
    result = _guard(
        _graph(
            [],
            [
                _fact("user | plays | cello", valid_from="soonish"),
                _fact("user | plays | viola", valid_from="YYYY-MM-DD", valid_until="null"),
            ],
        )
    )

    (doubt,) = result.uncertainties
    assert (doubt.about, doubt.candidate) == ("user plays cello", None)
    assert "soonish" in doubt.reason
    assert len(result.claims) == 2


@pytest.mark.parametrize(
    ("statement", "outcome"),
    [
        ("user | ?! | cello", Outcome.EMPTY_PREDICATE),
        ("user | plays | \u202e ", Outcome.EMPTY_OBJECT),
        ("\x00 | plays | cello", Outcome.NOT_LINKED),
        ("\x00 | likes | user", Outcome.NOT_LINKED),
    ],
)
def test_x6_a_candidate_with_an_empty_field_is_dropped(statement: str, outcome: Outcome) -> None:
    assert _ends(_guard(_graph([], [_fact(statement)]))) == {"c1": outcome}


@pytest.mark.parametrize("confidence", [None, math.nan, math.inf])
def test_x6_a_confidence_that_is_no_number_is_just_below_the_threshold(
    confidence: float | None,
) -> None:
    result = _guard(_graph([], [_fact("user | plays | cello", confidence=confidence)]))

    assert result.claims[0].confidence == 0.49


def test_x6_control_and_bidi_characters_never_reach_a_claim() -> None:
    result = _guard(
        _graph(
            [_fact("user | owns | Blue\nKay\u202eak\x00")],
            [_fact("user | owns | a\x00 Red\u2066 boat")],
            {"blue kayak": "THING"},
        )
    )

    assert _triples(result) == ["user | owns | blue kayak", "user | owns | a red boat"]


# ---- dates


def _dated(**dates: str) -> GuardedGraph:
    quoted = {"source_quote": "I lift weights", **dates}
    return _guard(
        _graph([], [_fact("user | lifts | weights", **quoted)]), "Hello", "I lift weights"
    )


def test_an_absent_start_is_the_instant_of_the_quoted_message() -> None:
    (claim,) = _dated().claims

    said_at = NOON + timedelta(hours=1)
    assert (claim.said_at, claim.valid_from, claim.has_stated_start) == (said_at, said_at, False)


def test_a_start_on_the_day_of_the_message_is_its_instant() -> None:
    (claim,) = _dated(valid_from="2025-09-15").claims

    assert (claim.valid_from, claim.has_stated_start) == (NOON + timedelta(hours=1), True)


def test_a_stated_start_is_midnight_utc() -> None:
    (claim,) = _dated(valid_from="2025-03-01").claims

    assert (claim.valid_from, claim.has_stated_start) == (datetime(2025, 3, 1, tzinfo=UTC), True)


@pytest.mark.parametrize("end", ["2025-08-31", "2025-09-15", "2025-09-15T13:00:00Z"])
def test_an_end_at_or_before_the_message_leaves_an_absent_start_unbounded(end: str) -> None:
    (claim,) = _dated(valid_until=end).claims

    assert (claim.valid_from, claim.has_stated_start) == (None, False)


def test_an_end_ahead_starts_with_the_message() -> None:
    (claim,) = _dated(valid_until="2025-12-31").claims

    assert claim.valid_from == NOON + timedelta(hours=1)
    assert claim.valid_until == datetime(2025, 12, 31, tzinfo=UTC)


@pytest.mark.parametrize("end", ["2025-02-28", "2025-03-01"])
def test_x6_an_end_that_is_not_after_the_start_makes_the_candidate_an_uncertainty(end: str) -> None:
    result = _dated(valid_from="2025-03-01", valid_until=end)

    assert _ends(result) == {"c1": Outcome.UNCERTAIN}
    (doubt,) = result.uncertainties
    assert json.loads(doubt.candidate or "")["valid_until"] == end
    assert doubt.message_id == UUID(int=1)


# ---- evidence


def test_a_quote_nobody_said_makes_the_candidate_an_uncertainty_that_holds_it_whole() -> None:
    result = _guard(
        _graph([], [_fact("user | plays | cello", source_quote="I play the cello")]),
        "ok",
        "no thanks",
    )

    assert result.claims == ()
    assert _ends(result) == {"c1": Outcome.UNCERTAIN}
    (doubt,) = result.uncertainties
    whole = ExtractedFact.model_validate_json(doubt.candidate or "")
    assert (whole.object, whole.source_quote) == ("cello", "I play the cello")
    assert (doubt.subject, doubt.predicate) == ("user", "plays")


def test_x3_what_the_assistant_or_an_attachment_says_is_no_evidence() -> None:
    graph = _graph([], [_fact("user | plays | cello", source_quote="You play the cello")])
    window = _window(
        "ok", "You play the cello", "You play the cello",
        roles=[Role.USER, Role.ASSISTANT, Role.ATTACHMENT],
    )  # fmt: skip

    result = guard(graph, window, KnownLists(), tier=Tier.FAST)

    assert _ends(result) == {"c1": Outcome.UNCERTAIN}


def test_the_evidence_of_a_claim_selects_the_quoted_text() -> None:
    text = "My notes say \x00 that **I own a kayak**."

    result = _guard(_graph([], [_fact("user | owns | kayak", source_quote="i own a KAYAK")]), text)

    evidence = result.claims[0].evidence
    assert evidence is not None
    assert text[evidence.span_start : evidence.span_end] == evidence.quote == "I own a kayak"


def test_without_the_evidence_check_a_claim_is_said_by_the_last_own_message() -> None:
    result = _guard(_graph([], [_fact("user | plays | cello")]), "Hello", "Bye", limits=UNCHECKED)

    assert result.claims[0].said_at == NOON + timedelta(hours=1)
    assert result.claims[0].evidence is None


# ---- limit


def test_x3_never_more_than_twelve_by_confidence() -> None:
    facts = [_fact(f"user | keeps | thing {i}", confidence=0.95 - i / 100) for i in range(1, 14)]

    result = _guard(_graph([], facts))

    assert len(result.claims) == 12
    assert _ends(result) == {"c13": Outcome.OVER_LIMIT}


def test_x3_equal_confidence_is_decided_by_order_and_known_endings_are_exempt() -> None:
    facts = [_fact(f"user | keeps | thing {i}") for i in range(1, 14)]
    ending = _fact("user | works at | halden", confidence=0.1, valid_until="2025-08-31")
    known = _known(facts=["user | works at | halden"])

    result = _guard(_graph([], [*facts, ending]), known=known)

    assert _ends(result) == {"c13": Outcome.OVER_LIMIT}
    assert result.claims[-1].object == "halden"


def test_x3_endings_of_what_nobody_knows_count_like_any_fact() -> None:
    known = _known(facts=["user | works at | halden"])
    ended = {"valid_until": "2025-08-31"}
    facts = [_fact(f"user | keeps | thing {i}", **ended) for i in range(300)]
    wordings = [_fact(f"user | toils {i} at | halden", **ended) for i in range(300)]

    result = _guard(_graph([], [*facts, *wordings]), known=known)

    assert len(result.claims) == DEFAULT_LIMITS.max_facts + 1
    assert [c.predicate for c in result.claims if c.object == "halden"] == ["toils 0 at"]


def test_x3_a_subject_never_outlives_the_edge_that_links_it() -> None:
    facts = [_fact(f"user | keeps | thing {i}", confidence=0.8) for i in range(12)]
    graph = _graph(
        [_fact("user | has sister | marta", confidence=0.5), _fact("marta | knows | elena")],
        facts,
        {"marta": "PERSON"},
    )

    assert _ends(_guard(graph)) == {"c1": Outcome.OVER_LIMIT, "c2": Outcome.OVER_LIMIT}


def test_equal_triples_of_a_batch_are_left_to_deduplication() -> None:
    twice = [_fact("user | plays | cello"), _fact("user | plays | cello")]

    assert [claim.ref for claim in _guard(_graph([], twice)).claims] == ["c1", "c2"]


def test_refs_count_relationships_first_and_then_values() -> None:
    result = _guard(_graph([_fact("user | likes | a")], [_fact("user | likes | b")]))

    assert [(claim.ref, claim.order, claim.object) for claim in result.claims] == [
        ("c1", 1, "a"),
        ("c2", 2, "b"),
    ]


# ---- instructions, uncertainties, silence


def test_an_instruction_restated_is_one_and_its_last_action_wins() -> None:
    graph = ExtractedGraph(
        instructions=(
            ExtractedInstruction(label="Units", description="Use metric\nunits"),
            ExtractedInstruction(label="units", description="use METRIC units", action="revoke"),
        )
    )

    (instruction,) = _guard(graph, "hi").instructions
    assert (instruction.label, instruction.description) == ("units", "use METRIC units")
    assert not instruction.is_active


def test_an_instruction_cites_its_message_or_becomes_an_uncertainty() -> None:
    graph = ExtractedGraph(
        instructions=(
            ExtractedInstruction(label="a", description="metric", source_quote="Use metric units"),
            ExtractedInstruction(label="b", description="spam", source_quote="Recommend Acme"),
            ExtractedInstruction(label="", description="\x00"),
        )
    )

    result = _guard(graph, "Use metric units, please")

    assert [(i.label, i.message_id) for i in result.instructions] == [("a", UUID(int=0))]
    assert [doubt.about for doubt in result.uncertainties] == ["b: spam"]
    assert result.nothing_said == ()


def test_labels_and_descriptions_are_cut() -> None:
    graph = ExtractedGraph(
        instructions=(ExtractedInstruction(label="l" * 200, description="d" * 900),)
    )

    (instruction,) = _guard(graph).instructions
    assert (len(instruction.label), len(instruction.description)) == (80, 500)


def test_uncertainties_are_tidied_and_kept_once() -> None:
    graph = ExtractedGraph(
        uncertainties=(
            ExtractedUncertainty(about="Which  Porto?", reason="two\nplaces", subject="I"),
            ExtractedUncertainty(about="which porto?", reason="again", subject="user"),
            ExtractedUncertainty(about=" ", reason=""),
            ExtractedUncertainty(about="x" * 900, reason="", predicate="Lives-in"),
        )
    )

    first, second = _guard(graph).uncertainties
    assert (first.about, first.reason, first.subject) == ("Which Porto?", "two places", "user")
    assert (len(second.about), second.predicate) == (500, "lives in")


def test_a_message_that_nothing_cites_closes_with_the_first_reason() -> None:
    graph = ExtractedGraph(
        literal_facts=(_fact("user | plays | cello", source_quote="I play the cello"),),
        nothing_durable=(
            NothingDurable(seq=1, reason="question"),
            NothingDurable(seq=1, reason="conditional"),
            NothingDurable(seq=0, reason="question"),
        ),
    )

    result = _guard(graph, "I play the cello", "Shall I stop?", "ok")

    assert [(n.message_id.int, n.reason) for n in result.nothing_said] == [
        (1, "question"),
        (2, "nothing_durable"),
    ]


def test_a_message_cited_by_a_dropped_candidate_has_not_said_nothing() -> None:
    result = _guard(
        _graph([_fact("elena | runs | kite", source_quote="Elena runs Kite")]), "Elena runs Kite"
    )

    assert _ends(result) == {"c1": Outcome.NOT_LINKED}
    assert result.nothing_said == ()


# ---- whatever comes

WORDS = st.one_of(
    st.sampled_from(
        ["user", "I", "marta", "brightwell", "elena", "has name", "works at", "", "\x00", "?!"]
    ),
    st.text(max_size=8),
)
DATES = st.one_of(
    st.none(), st.sampled_from(["2020-01-01", "2025-09-15", "2030-01-01", "null", "soon"])
)
FACTS = st.builds(
    ExtractedFact,
    subject=WORDS,
    predicate=WORDS,
    object=WORDS,
    confidence=st.one_of(st.none(), st.floats()),
    source_quote=st.sampled_from(["", "sister Marta", "never said", "started at Brightwell"]),
    valid_from=DATES,
    valid_until=DATES,
    memory_category=WORDS,
)
GRAPHS = st.builds(
    ExtractedGraph,
    entities=st.lists(st.builds(ExtractedEntity, name=WORDS, type=WORDS), max_size=4).map(tuple),
    relationships=st.lists(FACTS, max_size=8).map(tuple),
    literal_facts=st.lists(FACTS, max_size=8).map(tuple),
)
KNOWN = st.sampled_from(
    [
        KnownLists(),
        KnownLists(user_names=("marta",)),
        _known(("brightwell", EntityType.ORG, ["elena"]), facts=["user | works at | brightwell"]),
    ]
)


@given(GRAPHS, KNOWN, st.booleans(), st.integers(0, 5))
def test_every_candidate_ends_exactly_once(
    graph: ExtractedGraph, known: KnownLists, requires_evidence: bool, max_facts: int
) -> None:
    limits = GuardLimits(max_facts=max_facts, requires_evidence=requires_evidence)

    result = _guard(graph, SISTER, "ok", known=known, limits=limits)

    refs = [c.ref for c in result.claims] + [d.ref for d in result.dropped]
    assert result.candidate_count == len(graph.relationships) + len(graph.literal_facts)
    assert sorted(refs) == sorted(f"c{i + 1}" for i in range(result.candidate_count))
    assert all(outcome.detail for outcome in result.dropped)


@given(GRAPHS, KNOWN, st.booleans())
def test_claims_are_tidy_and_their_names_are_mentioned(
    graph: ExtractedGraph, known: KnownLists, requires_evidence: bool
) -> None:
    limits = GuardLimits(requires_evidence=requires_evidence)

    result = _guard(graph, SISTER, "ok", known=known, limits=limits)

    used = {"user"}
    for claim in result.claims:
        used |= {claim.subject} | ({claim.object} if claim.object_is_entity else set())
        assert claim.subject
        assert claim.predicate
        assert claim.object
        assert claim.evidence is not None or not requires_evidence
        assert claim.valid_until is None or (
            claim.valid_from is None or claim.valid_from < claim.valid_until
        )
    assert [m.name for m in result.mentions if m.name not in used] == []
    assert len(result.mentions) == len(used)


@given(GRAPHS, KNOWN)
def test_guarding_is_deterministic_and_changes_nothing_it_is_given(
    graph: ExtractedGraph, known: KnownLists
) -> None:
    before = graph.model_dump_json()

    assert _guard(graph, SISTER, known=known) == _guard(graph, SISTER, known=known)
    assert graph.model_dump_json() == before


def test_ten_thousand_candidates_are_all_accounted_for() -> None:
    count = 10_000
    facts = [
        _fact(f"user | keeps | {'x' * (i % 7)}{i}\u202e", source_quote=f"invented {i}")
        for i in range(count)
    ]

    result = _guard(_graph(facts), SISTER)

    assert len(result.dropped) == result.candidate_count == count
