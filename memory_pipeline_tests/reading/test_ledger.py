"""The ledger: every end of a message, and what makes the account fail."""

import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.conversation import Role
from memory_pipeline.reading.ledger import Ledger, read_ledger
from memory_pipeline.stages.ports import ExtractionError
from memory_pipeline_tests.reading.histories import (
    ANN,
    BOB,
    HISTORY,
    Fact,
    Line,
    as_owner,
    fold,
    remember,
    store,
)
from memory_pipeline_tests.reading.test_lists import METRIC, UNSURE


def test_a_processed_history_adds_up(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    assert read_ledger(database, ANN) == Ledger(
        messages={"evidence": 5, "nothing_durable": 1},
        reasons={"question": 1},
        candidates={"inserted": 6},
        episodes={"done": 6},
        adds_up=True,
        problems=(),
    )


def test_what_others_say_is_not_the_users_even_before_it_is_processed(database: Database) -> None:
    store(database, ANN, [Line("2024-01-01", "How can I help?", role=Role.ASSISTANT), HISTORY[1]])
    account = read_ledger(database, ANN)
    assert account.messages == {"not_the_user": 1, "pending": 1}
    assert account.adds_up


def test_messages_without_an_episode_are_pending(database: Database, database_url: str) -> None:
    store(database, ANN, HISTORY[:1])
    as_owner(database_url, "delete from memory.episodes")
    assert read_ledger(database, ANN).messages == {"pending": 1}


def test_instructions_count_as_an_end_also_when_restated(database: Database) -> None:
    again = Line("2024-01-05", "As I said, use metric units.", instructions=METRIC.instructions)
    remember(database, ANN, METRIC, again)
    account = read_ledger(database, ANN)
    assert (account.messages, account.adds_up) == ({"instruction": 2}, True)


def test_small_talk_and_silence_are_nothing_durable_with_their_reasons(database: Database) -> None:
    remember(database, ANN, Line("2024-01-01", "Thanks!"), HISTORY[2], UNSURE)
    account = read_ledger(database, ANN)
    assert account.messages == {"nothing_durable": 3}
    assert account.reasons == {"small_talk": 1, "question": 1, "nothing_durable": 1}


def test_a_message_read_in_part_stands_apart_unless_it_became_evidence(database: Database) -> None:
    tea = (Fact("likes", "tea", quote="I like tea"),)
    silent = Line("2024-01-01", "A very long story.", silence="truncated")
    heard = Line("2024-01-02", "I like tea. And so on.", tea, silence="truncated")
    doubted = Line(
        "2024-01-03", "Another.", uncertainties=UNSURE.uncertainties, silence="truncated"
    )
    remember(database, ANN, silent, heard, doubted)
    account = read_ledger(database, ANN)
    assert account.messages == {"evidence": 1, "truncated": 2}
    assert (account.reasons, account.adds_up) == ({}, True)


def test_a_doubted_candidate_leaves_its_message_uncertain(database: Database) -> None:
    backwards = Fact("rents", "a boat", "2024-05-01", "2024-04-01")
    remember(database, ANN, Line("2024-01-01", "I rent a boat, oddly.", (backwards,)))
    account = read_ledger(database, ANN)
    assert account.messages == {"uncertain": 1}
    assert account.candidates == {"uncertain": 1}
    assert account.adds_up


def test_a_message_whose_candidates_were_all_dropped_says_so(database: Database) -> None:
    unlinked = Fact("lives in", "Zug", entity_type="PLACE", subject="Anna")
    remember(database, ANN, Line("2024-01-01", "Anna lives in Zug.", (unlinked,)))
    account = read_ledger(database, ANN)
    assert account.messages == {"dropped": 1}
    assert account.candidates == {"not_linked": 1}


def test_reinforcing_a_fact_is_evidence(database: Database) -> None:
    again = Line("2024-01-15", "I live in Berlin, as you know.", HISTORY[0].facts)
    remember(database, ANN, HISTORY[0], again)
    account = read_ledger(database, ANN)
    assert account.messages == {"evidence": 2}
    assert account.candidates == {"inserted": 1, "reinforced": 1}


def test_late_messages_are_counted_apart(database: Database) -> None:
    remember(database, ANN, *HISTORY[1:2])
    store(database, ANN, HISTORY[:1])
    account = read_ledger(database, ANN)
    assert account.messages == {"late": 1, "evidence": 1}
    assert account.episodes == {"done": 1, "late": 1}
    assert account.adds_up


def test_an_episode_given_up_takes_its_messages_with_it(database: Database) -> None:
    broken = Line("2024-01-01", "I wrote this in a cipher of my own.", fails=True)
    store(database, ANN, [broken])
    for _ in range(2):
        with pytest.raises(ExtractionError):
            fold(database, ANN, [broken])
    assert read_ledger(database, ANN).messages == {"pending": 1}
    fold(database, ANN, [broken])
    account = read_ledger(database, ANN)
    assert account.messages == {"given_up": 1}
    assert (account.episodes, account.adds_up) == ({"given_up": 1}, True)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (
            "delete from memory.message_outcomes",
            "episode 3: 1 message(s) of the user without an account",
        ),
        (
            "delete from memory.claim_outcomes where predicate = 'likes'",
            "episode 2: 2 candidate(s) extracted, 1 accounted for",
        ),
        (
            "delete from memory.folds where fold_number = 6",
            "episode 6: is done, but memory has not taken it in",
        ),
        (
            "update memory.episodes set extraction_status = 'failed' where ordinal = 4",
            "episode 4: is failed, but memory has taken it in",
        ),
        (
            "update memory.folds set counts = '{}' where fold_number = 1",
            "episode 1: nobody wrote down how many candidates it had",
        ),
    ],
)
def test_a_missing_line_breaks_the_account_and_names_the_episode(
    database: Database, database_url: str, damage: str, problem: str
) -> None:
    remember(database, ANN, *HISTORY)
    assert as_owner(database_url, damage) == 1
    account = read_ledger(database, ANN)
    assert not account.adds_up
    assert account.problems == (problem,)


def test_every_message_stands_in_exactly_one_place(database: Database) -> None:
    lines = [*HISTORY, METRIC, Line("2024-05-01", "Sure!", role=Role.ASSISTANT)]
    remember(database, ANN, *sorted(lines, key=lambda line: line.at))
    remember(database, BOB, HISTORY[0])
    assert sum(read_ledger(database, ANN).messages.values()) == len(lines)
