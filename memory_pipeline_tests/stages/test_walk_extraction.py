"""Which windows cost an extraction, and what names one (spec X10, W6, G3)."""

from datetime import timedelta
from uuid import UUID

import pytest

from memory_pipeline.domain.conversation import Message, Role, Window
from memory_pipeline.domain.extraction import (
    EntityType,
    ExtractedFact,
    ExtractedGraph,
    KnownEntity,
    KnownLists,
    Tier,
)
from memory_pipeline.domain.ids import MessageId, ThreadId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.walk import extract_episode, extraction_digest
from memory_pipeline_tests.domain.memory_builders import EPISODE, NOW, TENANT, entity_id


class _Extractor:
    """Returns one fact and counts the calls."""

    version = "one fact"
    tier = Tier.FAST

    def __init__(self) -> None:
        self.calls = 0

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        self.calls += 1
        plays = ExtractedFact(
            subject="user", predicate="plays", object="cello", source_quote="I play cello"
        )
        return ExtractedGraph(literal_facts=(plays,))


def _window(*turns: tuple[Role, str]) -> Window:
    return Window(
        tenant_id=TENANT,
        episode_id=EPISODE,
        thread_id=ThreadId("t"),
        ordinal=1,
        started_at=NOW,
        ended_at=NOW + timedelta(minutes=1),
        messages=tuple(
            Message(
                message_id=MessageId(UUID(int=seq)),
                seq=seq,
                role=role,
                text=text,
                said_at=NOW,
                is_own=role is Role.USER,
            )
            for seq, (role, text) in enumerate(turns, start=1)
        ),
    )


@pytest.mark.parametrize(
    ("turns", "calls"),
    [
        ([(Role.ASSISTANT, "You play cello, don't you?")], 0),
        ([(Role.USER, "ok"), (Role.ASSISTANT, "Anything else?"), (Role.USER, "no thanks")], 0),
        ([(Role.USER, "ok"), (Role.USER, "I play cello")], 1),
    ],
    ids=["nobody speaks", "small talk", "a fact"],
)
def test_x10_and_b11_windows_that_say_nothing_cost_no_call(
    turns: list[tuple[Role, str]], calls: int
) -> None:
    extractor = _Extractor()
    graph = extract_episode(_window(*turns), KnownLists(), extractor, Policy())
    assert (extractor.calls, len(graph.claims)) == (calls, calls)


def test_w6_every_own_message_of_small_talk_is_accounted_for() -> None:
    window = _window((Role.USER, "hello"), (Role.ASSISTANT, "Hi!"), (Role.USER, "thanks"))
    graph = extract_episode(window, KnownLists(), _Extractor(), Policy())
    assert [n.message_id for n in graph.nothing_said] == [
        MessageId(UUID(int=1)),
        MessageId(UUID(int=3)),
    ]


def test_g3_an_extraction_is_named_by_all_it_depends_on() -> None:
    window, extractor = _window((Role.USER, "I play cello")), _Extractor()
    known = KnownLists(
        entities=(KnownEntity(entity_id=entity_id("x"), name="x", type=EntityType.ORG),)
    )
    digest = extraction_digest(window, KnownLists(), extractor)
    assert extraction_digest(window, KnownLists(), extractor) == digest
    others = {
        extraction_digest(window, known, extractor),
        extraction_digest(_window((Role.USER, "I play viola")), KnownLists(), extractor),
        extraction_digest(_window((Role.ASSISTANT, "I play cello")), KnownLists(), extractor),
    }
    assert len(others | {digest}) == 4
