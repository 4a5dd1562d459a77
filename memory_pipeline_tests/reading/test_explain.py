"""One fact in depth, and what became of words that are no fact."""

from uuid import UUID

import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.domain.ids import FactId
from memory_pipeline.reading.explain import Explanation, explain, find_fact
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading.scope import NotFoundError, UnreadableError
from memory_pipeline_tests.reading.histories import (
    ANN,
    BOB,
    HISTORY,
    Fact,
    Line,
    day,
    remember,
)


def _explain(database: Database, name: str) -> Explanation:
    rows = read_facts(database, ANN, with_history=True)
    fact_id = next(row.fact_id for row in rows if row.object == name)
    return explain(database, ANN, FactId(fact_id))


def test_a_superseded_fact_is_explained_by_its_versions_and_its_successor(
    database: Database,
) -> None:
    remember(database, ANN, *HISTORY)
    found = _explain(database, "berlin")
    assert (found.statement, found.status) == ("user lives in berlin", FactStatus.SUPERSEDED)
    first, second = found.versions
    assert (first.opened_by, first.ended_by, first.valid_until) == (1, None, None)
    assert (second.ended_by, second.ended_reason) == (4, "superseded")
    assert second.valid_until == first.known_until == day("2024-06-01")
    (successor,) = found.related
    assert (successor.relation, successor.statement) == ("successor", "user lives in porto")


def test_evidence_selects_the_quote_in_its_message(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    (line,) = _explain(database, "hiking").evidence
    assert line.message_text is not None
    assert line.message_text[line.span_start : line.span_end] == line.quote == "I like hiking"
    assert (line.kind, line.role, line.thread_id, line.seq) == (
        "asserted",
        "user",
        "openai/2024-02-01",
        1,
    )
    assert line.said_at == day("2024-02-01")


def test_a_verdict_is_shown_on_both_sides_of_its_pair(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    (old_side,) = _explain(database, "berlin").verdicts
    (new_side,) = _explain(database, "porto").verdicts
    assert (old_side.side, new_side.side) == ("believed", "newcomer")
    assert (old_side.verdict, old_side.judge, old_side.episode) == ("old", "rules", 4)
    assert new_side.believed == "user lives in berlin"
    assert old_side.newcomer == "user lives in porto"


def test_a_successor_names_what_it_replaced(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    (related,) = _explain(database, "porto").related
    assert (related.relation, related.statement) == ("predecessor", "user lives in berlin")
    assert related.valid_until == day("2024-06-01")


def test_the_candidates_of_a_fact_are_listed_in_time(database: Database) -> None:
    again = Line("2024-01-15", "I live in Berlin, as you know.", HISTORY[0].facts)
    remember(database, ANN, HISTORY[0], again)
    outcomes = [(line.episode, line.outcome) for line in _explain(database, "berlin").candidates]
    assert outcomes == [(1, "inserted"), (2, "reinforced")]


def test_a_fact_is_found_among_all_tenants_by_the_first_digits_of_its_id(
    database: Database,
) -> None:
    remember(database, ANN, *HISTORY[:1])
    remember(database, BOB, *HISTORY[:1])
    (row,) = read_facts(database, BOB)
    for given in (str(row.fact_id), str(row.fact_id).upper(), str(row.fact_id)[:13]):
        assert find_fact(database, given) == (BOB, row.fact_id)
    assert find_fact(database, str(row.fact_id), BOB) == (BOB, row.fact_id)


def test_a_fact_of_another_tenant_is_not_found(database: Database) -> None:
    remember(database, ANN, *HISTORY[:1])
    remember(database, BOB, *HISTORY[:1])
    (row,) = read_facts(database, BOB)
    with pytest.raises(NotFoundError, match="live memory of tenant 'acme/ann'"):
        find_fact(database, str(row.fact_id), ANN)
    with pytest.raises(NotFoundError, match="has no fact"):
        explain(database, ANN, FactId(row.fact_id))


def test_digits_that_fit_several_facts_ask_for_more(database: Database) -> None:
    texts = [f"I like number {n}." for n in range(17)]
    lines = [Line(f"2024-01-{n + 1:02}", t, (Fact("likes", t[7:-1]),)) for n, t in enumerate(texts)]
    remember(database, ANN, *lines)
    digits = [str(row.fact_id)[0] for row in read_facts(database, ANN)]
    shared = next(digit for digit in digits if digits.count(digit) > 1)
    with pytest.raises(NotFoundError, match="give more of the id"):
        find_fact(database, shared, ANN)


@pytest.mark.parametrize("given", ["", "xyz", "1' or true", "0" * 33])
def test_what_is_no_id_is_refused(database: Database, given: str) -> None:
    with pytest.raises(UnreadableError, match="is no fact id"):
        find_fact(database, given)


def test_an_id_nobody_has_says_how_to_list_ids(database: Database) -> None:
    with pytest.raises(NotFoundError, match="facts --tenant NAME --history"):
        find_fact(database, str(UUID(int=7)))
