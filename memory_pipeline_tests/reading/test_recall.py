"""Recall: three lists fused by rank, at any instant, in any language, of one tenant alone (Q1, S1).

Belongs here: what is found and in which order. Does not: the block for a prompt
(test_context_block), spans of a query (test_query_spans).
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from pgvector import HalfVector

from memory_pipeline.adapters.access_counter import access_counter
from memory_pipeline.adapters.generation_store import VectorWidthError
from memory_pipeline.adapters.hashed_embedder import HashedNgramEmbedder
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.recall import recall, recall_messages
from memory_pipeline.reading.recalled import Recalled, RecalledFact
from memory_pipeline.reading.scope import NotFoundError, UnreadableError
from memory_pipeline_tests.reading.histories import (
    ANN,
    BOB,
    HISTORY,
    Fact,
    Line,
    as_owner,
    day,
    fold,
    remember,
    store,
)
from memory_pipeline_tests.reading.test_lists import METRIC, REVOKED

EMBEDDER = HashedNgramEmbedder()

HOME = (
    Line(
        "2024-01-01",
        "My sister Ann lives with me, she drinks tea and has a boat.",
        (
            Fact("has sister", "ann", entity_type="PERSON"),
            Fact("drinks", "green tea", subject="ann"),
            Fact("has", "a small boat", subject="ann"),
        ),
    ),
    Line("2024-01-02", "I drink tea.", (Fact("drinks", "black tea"),)),
    Line("2024-01-03", "I have a boat and a garden.", (Fact("has", "a boat in the garden"),)),
    Line("2024-01-04", "I fill in my annual report.", (Fact("writes", "an annual report"),)),
    Line(
        "2024-01-05",
        "I live in Porto.",
        (Fact("lives in", "porto", entity_type="PLACE"),),
    ),
    Line("2024-01-06", "I want to sell the boat.", (Fact("wants to sell", "the boat"),)),
    Line("2024-01-07", "I water the garden at night.", (Fact("waters", "the garden at night"),)),
    Line("2024-01-08", "Porto has good tea.", (Fact("buys tea in", "porto", entity_type="PLACE"),)),
)
"""A sister with facts of her own, a town, and words that several facts share."""


@pytest.fixture(autouse=True)
def no_counts_left(database: Database) -> Iterator[None]:
    """Counts that wait would be written to a database that is gone."""
    yield
    access_counter(database).forget()


def ask(
    database: Database, query: str, tenant_id: TenantId = ANN, **wanted: Any
) -> tuple[RecalledFact, ...]:
    """The facts recalled."""
    return recall(database, tenant_id, query, EMBEDDER, **wanted).facts


def says(facts: Sequence[RecalledFact]) -> list[str]:
    """Each fact as a sentence."""
    return [f"{fact.subject} {fact.predicate} {fact.object}" for fact in facts]


def found_by(facts: Sequence[RecalledFact], words: str) -> tuple[str, ...]:
    """The lists that found the one fact with these words."""
    (fact,) = [fact for fact in facts if words in f"{fact.subject} {fact.predicate} {fact.object}"]
    return fact.ranks.lists()


# --- ranking --------------------------------------------------------------------------------------


def _reference(url: str, query: str, words: list[str], anchors: set[str]) -> dict[UUID, float]:
    """Scores by the definition: each list sorted by hand, then the sum of 1 / (60 + rank)."""
    any_words = " | ".join(words)
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "select f.fact_id, lower(f.known_time), f.embedding <=> %s::text::halfvec, s.name,"
            " o.name, f.statement, ts_rank_cd(to_tsvector('simple', f.statement), %s::tsquery)"
            " from memory.facts f join memory.entities s on s.entity_id = f.subject_id"
            " left join memory.entities o on o.entity_id = f.object_id"
            " where upper_inf(f.known_time) and upper_inf(f.valid_time)",
            [HalfVector(EMBEDDER.embed([query])[0]).to_text(), any_words],
        ).fetchall()
    rows.sort(key=lambda row: row[0])
    newest_first = sorted(rows, key=lambda row: row[1], reverse=True)
    by_vector = sorted(rows, key=lambda row: row[2])
    by_anchor = sorted(
        [row for row in newest_first if anchors & {row[3], row[4]}], key=lambda row: row[2]
    )
    spoken = {row[0]: set(row[5].split()) & set(words) for row in rows}
    by_text = sorted(
        [row for row in newest_first if spoken[row[0]]],
        key=lambda row: (len(spoken[row[0]]) < len(words), -row[6]),
    )
    scores: dict[UUID, float] = {}
    for ranked in (by_vector, by_anchor, by_text):
        for rank, row in enumerate(ranked, start=1):
            scores[row[0]] = scores.get(row[0], 0.0) + 1 / (60 + rank)
    return scores


@pytest.mark.parametrize(
    ("query", "words", "anchors"),
    [
        ("boat garden", ["boat", "garden"], set[str]()),
        ("the boat of ann", ["boat", "ann"], {"ann"}),
        ("tea in porto with ann", ["tea", "porto", "ann"], {"ann", "porto"}),
        ("porto", ["porto"], {"porto"}),
        ("nothing of that", ["noth"], set[str]()),
    ],
)
def test_the_score_is_the_sum_of_reciprocal_ranks_over_the_lists(
    database: Database, database_url: str, query: str, words: list[str], anchors: set[str]
) -> None:
    remember(database, ANN, *HOME)
    scores = _reference(database_url, query, words, anchors)
    facts = ask(database, query, limit=100)
    assert {fact.fact_id: fact.score for fact in facts} == scores
    known = {fact.fact_id: fact.known_from for fact in facts}
    assert [fact.fact_id for fact in facts] == sorted(
        sorted(scores), key=lambda fact_id: (scores[fact_id], known[fact_id]), reverse=True
    )


def test_fewer_facts_are_the_first_of_more(database: Database) -> None:
    remember(database, ANN, *HOME)
    every = ask(database, "boat in the garden", limit=100)
    assert len(every) > 3
    for limit in (1, 3):
        assert ask(database, "boat in the garden", limit=limit) == every[:limit]


def test_the_same_query_gives_the_same_answer(database: Database) -> None:
    remember(database, ANN, *HOME)
    at = day("2025-01-01")
    first = recall(database, ANN, "tea", EMBEDDER, valid_at=at)
    assert recall(database, ANN, "tea", EMBEDDER, valid_at=at) == first


def test_without_a_query_the_newest_come_first(database: Database) -> None:
    remember(database, ANN, *HOME)
    for query in ("", " \n\t ", "\u200b"):
        facts = ask(database, query, limit=3)
        assert [fact.episode for fact in facts] == [8, 7, 6]
        assert [fact.ranks.lists() for fact in facts] == [("newest",)] * 3


def test_without_an_embedder_words_and_names_still_find(database: Database) -> None:
    remember(database, ANN, *HOME)
    facts = recall(database, ANN, "what does ann drink?", None).facts
    ranks = {words: fact.ranks for words, fact in zip(says(facts), facts, strict=True)}
    assert ranks["ann drinks green tea"].lists() == ("anchor", "text")
    assert ranks["ann drinks green tea"].text == 1
    assert all(fact.ranks.vector is None for fact in facts)


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_a_limit_out_of_range_is_refused_with_the_range(database: Database, limit: int) -> None:
    with pytest.raises(UnreadableError, match=f"limit must lie between 1 and 100, not {limit}"):
        ask(database, "tea", limit=limit)


@pytest.mark.parametrize("confidence", [-0.1, 1.5, float("nan")])
def test_a_confidence_out_of_range_is_refused_with_the_range(
    database: Database, confidence: float
) -> None:
    with pytest.raises(UnreadableError, match="min_confidence must lie between 0 and 1"):
        ask(database, "tea", min_confidence=confidence)


def test_an_instant_without_an_offset_is_refused(database: Database) -> None:
    naive = datetime(2024, 1, 1)  # noqa: DTZ001 -- what is refused
    with pytest.raises(UnreadableError, match="valid_at must name its offset from UTC"):
        ask(database, "tea", valid_at=naive)


def test_an_unknown_tenant_is_named(database: Database) -> None:
    with pytest.raises(NotFoundError, match="no tenant 'nobody'"):
        ask(database, "tea", TenantId("nobody"))


def test_a_tenant_that_was_only_imported_has_nothing_to_recall(database: Database) -> None:
    store(database, ANN, HOME)
    found = recall(database, ANN, "tea", EMBEDDER)
    assert (found.facts, found.profiles, found.instructions, found.context) == ((), (), (), "")


def test_facts_below_the_confidence_are_left_out_and_those_at_it_stay(database: Database) -> None:
    remember(
        database,
        ANN,
        Line("2024-01-01", "tea is nice", (Fact("likes", "tea", confidence=0.7),)),
        Line("2024-01-02", "more tea", (Fact("hates", "cold tea", confidence=0.49),)),
    )
    assert says(ask(database, "tea")) == ["user likes tea"]
    assert says(ask(database, "tea", min_confidence=0.7)) == ["user likes tea"]
    assert says(ask(database, "tea", min_confidence=0.71)) == []
    assert len(ask(database, "tea", min_confidence=0)) == 2


def test_a_query_embedded_by_another_model_is_refused(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HOME)
    as_owner(
        database_url,
        "insert into memory.embedding_profiles values ('another', 384, 1, 1, 1, 1)",
    )
    as_owner(database_url, "update memory.generations set profile_id = 'another'")
    with pytest.raises(VectorWidthError, match="holds vectors of another"):
        ask(database, "tea")
    assert recall(database, ANN, "tea", None).facts


# --- time -----------------------------------------------------------------------------------------


def _shape(found: Recalled) -> list[tuple[object, ...]]:
    return [
        (f.subject, f.predicate, f.object, f.status, f.valid_from, f.score, f.ranks)
        for f in found.facts
    ]


@pytest.mark.parametrize("query", ["where do I live?", "work in porto", "berlin", "hiking"])
@pytest.mark.parametrize("known", range(1, len(HISTORY) + 1))
def test_a_read_of_the_past_is_what_was_read_then(
    database: Database, query: str, known: int
) -> None:
    # One tenant goes on, the other stopped there: nothing learnt later may shine through.
    remember(database, ANN, *HISTORY)
    remember(database, BOB, *HISTORY[:known])
    known_at = day(HISTORY[known - 1].at)
    for valid_at in (known_at, day("2024-03-01"), day("2025-01-01")):
        past = recall(database, ANN, query, EMBEDDER, valid_at=valid_at, known_at=known_at)
        then = recall(database, BOB, query, EMBEDDER, valid_at=valid_at)
        assert _shape(past) == _shape(then)


def test_the_newest_of_a_past_instant_come_first_too(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    facts = ask(database, "", known_at=day("2024-06-15"), valid_at=day("2024-06-15"))
    assert next(fact.object for fact in facts) == "porto"
    assert {fact.object for fact in facts} == {"porto", "acme", "hiking"}


def test_what_was_superseded_is_found_only_at_its_own_time(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    now = ask(database, "lives in berlin")
    assert "user lives in berlin" not in says(now)
    assert {fact.status for fact in now} == {FactStatus.LIVE}
    assert "user lives in berlin" in says(ask(database, "berlin", valid_at=day("2024-03-01")))


def test_a_fact_holds_from_its_start_until_just_before_its_end(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    assert "user rents a boat" in says(ask(database, "boat", valid_at=day("2024-08-31T23:59:59")))
    assert "user rents a boat" not in says(ask(database, "boat", valid_at=day("2024-09-01")))


# --- names ----------------------------------------------------------------------------------------


def test_a_name_is_found_on_word_boundaries_only(database: Database) -> None:
    remember(database, ANN, *HOME)
    assert "anchor" in found_by(ask(database, "Is Ann's boat small?"), "ann has a small boat")
    facts = ask(database, "annual planning", limit=100)
    assert all(fact.ranks.anchor is None for fact in facts)


def test_facts_toward_a_named_entity_are_found_as_well(database: Database) -> None:
    remember(database, ANN, *HOME)
    assert "anchor" in found_by(ask(database, "tell me of PORTO!"), "user lives in porto")


def test_an_entity_is_found_by_another_name_without_accents(
    database: Database, database_url: str
) -> None:
    remember(
        database,
        ANN,
        Line(
            "2024-01-01",
            "I study at the Société Générale School.",
            (Fact("studies at", "the société générale school", entity_type="ORG"),),
        ),
    )
    for query in ("societe generale school", "what of SOCIÉTÉ GÉNÉRALE SCHOOL?"):
        assert "anchor" in found_by(ask(database, query), "studies at")


def test_a_name_nearly_spelled_right_is_similar_enough(database: Database) -> None:
    remember(
        database,
        ANN,
        Line(
            "2024-01-01",
            "I love Constantinople.",
            (Fact("loves", "constantinople", entity_type="PLACE"),),
        ),
    )
    assert "anchor" in found_by(ask(database, "constantinopel"), "loves constantinople")
    assert "anchor" not in found_by(ask(database, "constance lake"), "loves constantinople")


def test_three_entities_are_taken_the_longest_names_first(database: Database) -> None:
    towns = ("rom", "graz", "turin", "bergen")
    lines = [
        Line(f"2024-01-0{n}", f"I saw {town}.", (Fact("saw", town, entity_type="PLACE"),))
        for n, town in enumerate(towns, start=1)
    ]
    remember(database, ANN, *lines)
    facts = ask(database, "rom graz turin bergen")
    assert {f.object for f in facts if f.ranks.anchor} == {"graz", "turin", "bergen"}


def test_the_name_of_the_user_means_the_user(database: Database, database_url: str) -> None:
    remember(database, ANN, *HOME)
    as_owner(database_url, "update memory.tenants set user_names = '{Ilse Kern}'")
    facts = ask(database, "Ilse Kern", limit=100)
    assert {f.subject for f in facts if f.ranks.anchor} == {"user"}


def test_a_merged_entity_is_found_by_its_old_name_at_any_time(
    database: Database, database_url: str
) -> None:
    remember(
        database,
        ANN,
        Line("2024-01-01", "I like Oporto.", (Fact("likes", "oporto", entity_type="PLACE"),)),
        Line("2024-02-01", "I live in Porto.", (Fact("lives in", "porto", entity_type="PLACE"),)),
    )
    as_owner(
        database_url,
        "update memory.entities e set redirect_to = w.entity_id from memory.entities w"
        " where e.name = 'oporto' and w.name = 'porto'",
    )
    facts = ask(database, "oporto")
    assert {(f.object, "anchor" in f.ranks.lists()) for f in facts} == {("porto", True)}
    assert len(facts) == 2


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("prefers running shoes", "run"),
        ("wohnt in der altstadt", "Altstadt?"),
        ("mag müllers kuchen", "mullers"),
        ("живёт в москве", "Москве"),
        ("住在东京的公寓", "东京"),
        ("東京でラーメンを食べる", "ラーメン"),
        ("서울에서 일한다", "서울에서"),
        ("writes c++", "C++ code"),
        ("owns domain example.org/shop", "shop"),
        ("is married to will", "will"),
        ("listens to the who", "who"),
    ],
)
def test_words_are_found_in_any_language(database: Database, told: str, asked: str) -> None:
    remember(
        database,
        ANN,
        Line("2024-01-01", told, (Fact("says", told),)),
        Line("2024-01-02", "x", (Fact("keeps", "bees"),)),
    )
    facts = recall(database, ANN, asked, None).facts
    assert [fact.object for fact in facts if fact.ranks.text] == [told]


def test_facts_that_say_all_words_come_before_those_that_say_some(database: Database) -> None:
    remember(database, ANN, *HOME)
    facts = recall(database, ANN, "boat garden", None).facts
    assert says(facts)[0] == "user has a boat in the garden"
    assert len(facts) > 1


@pytest.mark.parametrize(
    "query",
    [
        "porto'; drop table memory.facts; --",
        "a & b | !c <-> 'd':* \\ porto",
        "(((' || porto:AB*",
        "%s %(tenant_id)s {0} porto $1",
        "\x00\x01\x1b[31m porto\x7f\u202e",
        "porto \ud800 lone half",
        "porto\n\n\r\u2028porto",
        "<b>porto</b> http://porto/porto",
        "porto " * 1_700,
        "\u0301\u0301 porto",
    ],
)
def test_an_awkward_query_is_only_words(database: Database, query: str) -> None:
    remember(database, ANN, *HOME)
    assert "text" in found_by(ask(database, query, limit=100), "user lives in porto")


@pytest.mark.parametrize(
    "query", ["'", "&|!()", "?!", "🎂", "x" * 10_000, "x " * 5_000, "\\", "東" * 3_000]
)
def test_a_query_without_any_known_word_gives_what_is_near(database: Database, query: str) -> None:
    remember(database, ANN, *HOME)
    facts = ask(database, query)
    assert {fact.ranks.lists() for fact in facts} == {("vector",)}


def test_a_page_of_text_is_searched_to_its_end(database: Database) -> None:
    remember(database, ANN, *HOME)
    page = " ".join(f"word{number}" for number in range(1_000)) + " porto"
    assert len(page) < 10_000
    assert "anchor" in found_by(ask(database, page, limit=100), "user lives in porto")


def test_an_insight_is_found_like_any_fact(database: Database, database_url: str) -> None:
    remember(database, ANN, *HOME)
    text = "Spends most evenings on the water."
    observer = uuid4()
    as_owner(
        database_url,
        "insert into memory.entities (tenant_id, generation_id, entity_id, name, type,"
        " memory_category, known_from, last_linked_at) select tenant_id, generation_id, %s,"
        " 'graph observations', 'CONCEPT', 'context', now(), now() from memory.generations",
        observer,
    )
    as_owner(
        database_url,
        "insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id,"
        " predicate, statement, valid_time, known_time, confidence, memory_category, tier,"
        " recipe_id, embedding) select tenant_id, generation_id, gen_random_uuid(), 1, %s,"
        " 'observes', %s, tstzrange(now(), null), tstzrange(now(), null), 0.8, 'context', 'fast',"
        " recipe_id, %s::text::halfvec from memory.generations",
        observer,
        text,
        HalfVector(EMBEDDER.embed([text])[0]).to_text(),
    )
    best = recall(database, ANN, "evenings on the water", EMBEDDER)
    assert (best.facts[0].subject, best.facts[0].object) == ("graph observations", text)
    assert f"- {text} (concluded from several facts, not said)" in best.context


# --- profiles and instructions --------------------------------------------------------------------

_PROFILE = """
insert into memory.profiles (tenant_id, generation_id, entity_id, text, citations, grounding)
select tenant_id, generation_id, entity_id, 'About ' || name || '.', '[]', ''
from memory.entities where name = any(%s)
"""


def test_profiles_of_what_is_named_come_first_then_those_of_the_facts(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HOME)
    as_owner(database_url, "update memory.dirty_entities set bumps = 0")
    as_owner(database_url, _PROFILE, ["user", "ann", "porto"])
    found = recall(database, ANN, "what does ann drink?", EMBEDDER, limit=2)
    assert next(profile.entity for profile in found.profiles) == "ann"
    assert {profile.entity for profile in found.profiles} <= {"ann", "user"}
    assert "- ann: About ann." in found.context


def test_a_retired_profile_is_not_shown_and_a_stale_one_is_kept_out_of_the_block(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HOME)
    as_owner(database_url, "update memory.dirty_entities set bumps = 0")
    as_owner(database_url, _PROFILE, ["user", "porto"])
    as_owner(
        database_url,
        "update memory.profiles p set retired_at = now() from memory.entities e"
        " where e.entity_id = p.entity_id and e.name = 'user'",
    )
    assert "- porto: About porto." in recall(database, ANN, "porto", EMBEDDER).context
    as_owner(database_url, "update memory.dirty_entities set bumps = 1")
    stale = recall(database, ANN, "porto", EMBEDDER)
    assert [(p.entity, p.is_stale) for p in stale.profiles] == [("porto", True)]
    assert "About porto" not in stale.context


def test_a_read_of_another_time_shows_no_profile_of_now(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HOME)
    as_owner(database_url, _PROFILE, ["porto"])
    known = recall(database, ANN, "porto", EMBEDDER, known_at=day("2024-01-06"))
    held = recall(database, ANN, "porto", EMBEDDER, valid_at=day("2024-01-06"))
    latest = recall(database, ANN, "porto", EMBEDDER, known_at=day("2024-01-08"))
    assert (known.profiles, held.profiles) == ((), ())
    assert [profile.entity for profile in latest.profiles] == ["porto"]


def test_instructions_are_those_that_were_active_then(database: Database) -> None:
    remember(database, ANN, METRIC, REVOKED)
    assert recall(database, ANN, "units", EMBEDDER).instructions == ()
    then = recall(database, ANN, "units", EMBEDDER, known_at=day("2024-01-15"))
    assert [order.label for order in then.instructions] == ["Units"]
    assert "- Units: Use metric units (since 2024-01-01)" in then.context


# --- tenants --------------------------------------------------------------------------------------


def test_interleaved_searches_never_find_another_tenants_rows(database: Database) -> None:
    remember(database, ANN, *HOME)
    remember(
        database, BOB, Line("2024-01-01", "Bob has a boat.", (Fact("has", "bob's boat in porto"),))
    )
    own = {ANN: {f.fact_id for f in ask(database, "boat", ANN, limit=100)}}
    own[BOB] = {f.fact_id for f in ask(database, "boat", BOB, limit=100)}
    assert not own[ANN] & own[BOB]

    def look(number: int) -> bool:
        tenant_id = ANN if number % 2 else BOB
        query = ("boat", "porto", "", "ann bob")[number // 2 % 4]
        facts = recall(database, tenant_id, query, EMBEDDER, limit=100, is_counted=False).facts
        messages = recall_messages(database, tenant_id, query, limit=100)
        return {f.fact_id for f in facts} <= own[tenant_id] and all(
            ("Bob" in m.text) is (tenant_id == BOB) for m in messages
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(look, range(48)))


@pytest.mark.parametrize(
    "call",
    [
        "memory.recall_facts('acme/ann', gen_random_uuid(), '', null, '{}', now(), null, 0, 60,"
        " 100, 8)",
        "memory.recall_anchors('acme/ann', gen_random_uuid(), '{a}', null, null, 0.75, 3)",
        "memory.search_messages('acme/ann', 'tea', 8)",
    ],
)
def test_a_search_in_another_tenant_is_refused(database: Database, call: str) -> None:
    remember(database, ANN, *HOME)
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="may not search tenant acme/ann"),
        database.tenant(BOB) as connection,
    ):
        connection.execute(f"select 1 from {call}".encode())  # noqa: S608 -- from above


@pytest.mark.parametrize("function", ["newest_facts", "facts_held", "saying_facts"])
def test_the_lists_behind_the_search_are_not_for_the_application(
    database: Database, database_url: str, function: str
) -> None:
    with psycopg.connect(database_url) as connection:
        row = connection.execute(
            "select has_function_privilege('memory_app', oid, 'execute') from pg_proc"
            " where proname = %s and pronamespace = 'memory'::regnamespace",
            [function],
        ).fetchone()
    assert row == (False,)


def test_the_role_that_searches_may_only_read(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "select distinct privilege_type from information_schema.role_table_grants"
            " where grantee = 'memory_search'"
        ).fetchall()
        attributes = connection.execute(
            "select rolsuper or rolbypassrls or rolcanlogin or rolcreaterole from pg_roles"
            " where rolname = 'memory_search'"
        ).fetchone()
    assert rows == [("SELECT",)]
    assert attributes == (False,)


# --- indexes --------------------------------------------------------------------------------------

_MANY_FACTS = """
insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id, predicate,
    object_text, statement, valid_time, known_time, confidence, memory_category, tier, recipe_id)
select e.tenant_id, e.generation_id, gen_random_uuid(), 1, e.entity_id, 'keeps',
    'thing ' || n, 'user keeps thing ' || n, tstzrange(null, null),
    tstzrange(timestamptz '2024-02-01Z' + n * interval '1 minute', null), 0.9, 'context', 'fast', ''
from memory.entities e, generate_series(1, 3000) n where e.name = 'user'
"""


def _scans(url: str, index: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "select idx_scan from pg_stat_user_indexes where indexrelname = %s", [index]
        ).fetchone()
    return int(row[0]) if row else -1


def test_full_text_in_a_larger_memory_goes_through_the_index_under_the_production_role(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HOME)
    as_owner(database_url, _MANY_FACTS)
    before = _scans(database_url, "facts_words")
    facts = recall(database, ANN, "thing garden", None, limit=100).facts
    database.close()  # a backend tells its counts at the latest when it ends
    assert _scans(database_url, "facts_words") > before
    # A rare word is found however old the fact is, a common one among the newest.
    assert "user waters the garden at night" in says(facts)
    assert {fact.object for fact in facts if "thing" in fact.object} <= {
        f"thing {number}" for number in range(2_000, 3_001)
    }


def test_full_text_without_the_search_function_loses_the_index(
    database: Database, database_url: str
) -> None:
    # Why the function is there; when this fails, the function can go.
    remember(database, ANN, *HOME)
    as_owner(database_url, _MANY_FACTS)
    as_owner(database_url, "analyze memory.facts")
    with database.tenant(ANN) as connection:
        rows = connection.execute(
            "explain select fact_id from memory.facts where tenant_id = 'acme/ann'"
            " and words @@ 'garden'::tsquery"
        ).fetchall()
    assert not any("facts_words" in row["QUERY PLAN"] for row in rows)


# --- messages -------------------------------------------------------------------------------------


def test_messages_are_found_before_and_after_their_episode_was_extracted(
    database: Database, database_url: str
) -> None:
    store(database, ANN, HOME)
    assert {(m.status, m.episode) for m in recall_messages(database, ANN, "porto")} == {
        ("pending", 5),
        ("pending", 8),
    }
    fold(database, ANN, HOME)
    as_owner(
        database_url, "update memory.episodes set extraction_status = 'failed' where ordinal = 8"
    )
    found = {m.text: m.status for m in recall_messages(database, ANN, "porto")}
    assert found == {"I live in Porto.": "done", "Porto has good tea.": "failed"}


def test_messages_that_say_all_words_come_first_then_the_newest(database: Database) -> None:
    store(database, ANN, HOME)
    found = recall_messages(database, ANN, "the boats and gardens", limit=2)
    assert next(m.text for m in found) == "I have a boat and a garden."
    assert [m.seq for m in recall_messages(database, ANN, "", limit=3)] == [1, 1, 1]
    assert recall_messages(database, ANN, "", limit=1)[0].text == "Porto has good tea."


def test_an_overlong_message_is_stored_and_found_by_its_beginning(database: Database) -> None:
    text = "porto " + " ".join(f"w{number}" for number in range(300_000))
    store(database, ANN, (Line("2024-01-01", text),))
    assert len(recall_messages(database, ANN, "porto")) == 1
