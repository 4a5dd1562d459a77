"""Entities, episodes, instructions and open points as lists."""

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.extraction import ExtractedInstruction, ExtractedUncertainty
from memory_pipeline.reading.lists import (
    read_entities,
    read_episodes,
    read_instructions,
    read_uncertainties,
)
from memory_pipeline_tests.reading.histories import (
    ANN,
    HISTORY,
    Fact,
    Line,
    as_owner,
    day,
    remember,
    store,
)

METRIC = Line(
    "2024-01-01",
    "Always use metric units.",
    instructions=(
        ExtractedInstruction(
            label="Units", description="Use metric units", source_quote="use metric units"
        ),
    ),
)
REVOKED = Line(
    "2024-02-01",
    "Forget about the units.",
    instructions=(
        ExtractedInstruction(
            label="Units", description="Use metric units", action="revoke", source_quote="units"
        ),
    ),
)
UNSURE = Line(
    "2024-03-01",
    "Maybe I work at Acme, who knows.",
    uncertainties=(
        ExtractedUncertainty(
            about="where the user works", reason="hedged", subject="user", predicate="works at"
        ),
    ),
)
SURE = Line("2024-04-01", "I do work at Acme.", (Fact("works at", "Acme", entity_type="ORG"),))


def test_entities_count_the_facts_that_are_believed(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    found = {row.name: row.facts for row in read_entities(database, ANN)}
    assert found == {"user": 5, "acme": 0, "apex": 1, "berlin": 1, "porto": 1}
    assert read_entities(database, ANN)[0].name == "user"


def test_entities_show_their_other_names_and_when_they_were_linked(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HISTORY)
    add_alias = """
        insert into memory.entity_aliases
            (tenant_id, generation_id, alias, entity_id, reason, known_from)
        select tenant_id, generation_id, 'oporto', entity_id, 'stated', '2024-06-02Z'
        from memory.entities where name = 'porto'"""
    as_owner(database_url, add_alias)
    porto = next(row for row in read_entities(database, ANN) if row.name == "porto")
    assert (porto.aliases, porto.type) == (("oporto",), "PLACE")
    assert porto.last_linked_at == day("2024-06-01")


def test_a_merged_entity_is_not_listed(database: Database, database_url: str) -> None:
    remember(database, ANN, *HISTORY)
    as_owner(
        database_url,
        """update memory.entities loser set redirect_to = winner.entity_id
        from memory.entities winner where loser.name = 'apex' and winner.name = 'acme'""",
    )
    assert "apex" not in {row.name for row in read_entities(database, ANN)}


def test_episodes_stand_in_the_order_of_time(database: Database) -> None:
    store(database, ANN, HISTORY[2:4])
    store(database, ANN, HISTORY[:2])
    rows = read_episodes(database, ANN)
    assert [(row.position, row.ordinal) for row in rows] == [(1, 3), (2, 4), (3, 1), (4, 2)]
    assert {row.status for row in rows} == {"pending"}


def test_late_episodes_are_listed_apart_with_their_true_position(database: Database) -> None:
    remember(database, ANN, *HISTORY[2:4])
    store(database, ANN, HISTORY[:1])
    (row,) = read_episodes(database, ANN, statuses=["late"])
    assert (row.ordinal, row.position, row.status) == (3, 1, "late")
    assert read_episodes(database, ANN, statuses=["given_up"]) == []


def test_a_restated_instruction_is_listed_once(database: Database) -> None:
    again = Line("2024-01-05", "As I said, use metric units.", instructions=METRIC.instructions)
    remember(database, ANN, METRIC, again)
    (row,) = read_instructions(database, ANN, with_history=True)
    assert (row.label, row.description, row.is_active) == ("Units", "Use metric units", True)
    assert (row.known_from, row.quote) == (day("2024-01-01"), "Always use metric units.")


def test_a_revoked_instruction_is_inactive_and_keeps_its_history(database: Database) -> None:
    remember(database, ANN, METRIC, REVOKED)
    assert [row.is_active for row in read_instructions(database, ANN)] == [False]
    active, revoked = read_instructions(database, ANN, with_history=True)
    assert (active.is_active, active.known_until) == (True, day("2024-02-01"))
    assert (revoked.is_active, revoked.known_until) == (False, None)


def test_an_open_point_is_listed_until_a_later_episode_settles_it(database: Database) -> None:
    remember(database, ANN, UNSURE)
    (row,) = read_uncertainties(database, ANN)
    assert (row.about, row.reason, row.opened_by) == ("where the user works", "hedged", 1)
    remember(database, ANN, SURE)
    assert read_uncertainties(database, ANN) == []
    (row,) = read_uncertainties(database, ANN, with_resolved=True)
    assert (row.resolved_by, row.resolved_at) == (2, day("2024-04-01"))


def test_a_candidate_without_evidence_is_kept_whole_as_an_open_point(database: Database) -> None:
    invented = Fact("likes", "tea", quote="I adore tea")
    remember(database, ANN, Line("2024-01-01", "What goes well with tea?", (invented,)))
    (row,) = read_uncertainties(database, ANN)
    assert row.candidate is not None
    assert '"tea"' in row.candidate
