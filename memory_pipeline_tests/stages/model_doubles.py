"""A model's port for tests: answers from a script, and windows to ask about.

Belongs here: doubles of the ports of stages that ask models. Does not: HTTP (scripted_server).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from memory_pipeline.domain.conversation import Message, Role, Window
from memory_pipeline.domain.extraction import EntityType, KnownEntity, KnownFact, KnownLists
from memory_pipeline.domain.ids import EntityId, EpisodeId, FactId, MessageId, TenantId, ThreadId
from memory_pipeline.domain.model import ModelAnswer, ModelRequest, Usage

Value = TypeVar("Value")

FRIDAY = datetime(2024, 5, 3, 18, 20, tzinfo=UTC)
SECRET = b"a secret of the tenant"
USAGE = Usage(prompt_tokens=100, cached_tokens=80, completion_tokens=10, price_usd=0.5)


class ScriptedAsker:
    """Gives the scripted texts or errors in turn; `requests` are those it was asked."""

    def __init__(self, *answers: str | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.attempts: list[int | None] = []

    def ask(
        self, request: ModelRequest, parse: Callable[[str], Value], *, attempt: int | None = None
    ) -> tuple[Value, ModelAnswer]:
        self.requests.append(request)
        self.attempts.append(attempt)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return parse(answer), ModelAnswer(text=answer, usage=USAGE)


def message(
    seq: int, text: str, role: Role = Role.USER, speaker: str | None = None, *, is_own: bool = True
) -> Message:
    """A message on a Friday evening in May 2024, one minute after the one before."""
    return Message(
        message_id=MessageId(UUID(int=seq + 1)),
        seq=seq,
        role=role,
        text=text,
        said_at=FRIDAY + timedelta(minutes=seq),
        speaker=speaker,
        is_own=is_own and role is Role.USER,
    )


def window(*messages: Message | str) -> Window:
    """A window of messages; a text is one of the user's own."""
    made = tuple(
        message(seq, item) if isinstance(item, str) else item for seq, item in enumerate(messages)
    )
    return Window(
        tenant_id=TenantId("acme/user_42"),
        episode_id=EpisodeId(UUID(int=7)),
        thread_id=ThreadId("thread"),
        ordinal=1,
        started_at=FRIDAY,
        ended_at=made[-1].said_at,
        messages=made,
    )


def known(
    *facts: str, entities: Mapping[str, str] | None = None, names: Sequence[str] = ()
) -> KnownLists:
    """What memory holds: facts as `subject | predicate | object`, entities by type."""
    types = entities or {}
    read = [fact.split(" | ") for fact in facts]
    return KnownLists(
        entities=tuple(
            KnownEntity(entity_id=EntityId(UUID(int=number)), name=name, type=EntityType(kind))
            for number, (name, kind) in enumerate(types.items())
        ),
        facts=tuple(
            KnownFact(
                fact_id=FactId(UUID(int=number)),
                subject=subject,
                predicate=predicate,
                object=value,
                object_is_entity=value in types,
            )
            for number, (subject, predicate, value) in enumerate(read)
        ),
        user_names=tuple(names),
    )


def answer(*facts: Mapping[str, Any], **arrays: Sequence[Mapping[str, Any]]) -> str:
    """An extraction answer with the given facts as relationships."""
    complete = [
        {
            "source_quote": "",
            "valid_from": None,
            "valid_until": None,
            "confidence": 0.9,
            "memory_category": "context",
            **fact,
        }
        for fact in facts
    ]
    empty: dict[str, Any] = {"entities": [], "literal_facts": []}
    empty |= {"instructions": [], "uncertainties": []}
    return json.dumps({**empty, "relationships": complete, **arrays})


def fact(statement: str, quote: str = "", **fields: object) -> dict[str, Any]:
    """One fact of an answer, stated as `subject | predicate | object`."""
    subject, predicate, value = statement.split(" | ")
    return {
        "source_quote": quote,
        "subject": subject,
        "predicate": predicate,
        "object": value,
        **fields,
    }
