"""Walks with language models: a server whose faults can be aimed, answers read off transcripts.

Belongs here: what tests of model runs in this process and in others share. Does not: fixtures
and assertions.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psycopg
import pytest

from memory_pipeline.adapters import environment, workshop
from memory_pipeline_tests.scripted_server import Asked, Fault, LoggedRequest, ScriptedServer
from memory_pipeline_tests.scripted_server.answers import EMPTY_GRAPH, nothing_found
from memory_pipeline_tests.scripted_server.replies import Reply

KEY = "sk-secret-0123456789abcdef"
EMBEDDER = "hashed-ngrams/384/1"
FAST, STRONG = "scripted-fast", "scripted-strong"
EXTRACTING, JUDGING = "extracted_graph", "verdicts"

_SAID = re.compile(r"^\[m\d+\] user[^|\n]*\| (.*)$", re.MULTILINE)
_PAIR = re.compile(r"^pair (\d+)\nold: (.*)$", re.MULTILINE)
# Memory as it was before the first fold; the conversation and the model answers stay.
_DERIVED = (
    "folds", "facts", "fact_evidence", "entities", "entity_aliases", "instructions",
    "uncertainties", "stage_outputs", "claim_outcomes", "message_outcomes", "judged_pairs",
    "dirty_entities", "profiles", "publications", "generations",
)  # fmt: skip


class AimedServer(ScriptedServer):
    """A scripted server whose `aim` picks the fault of a request by its content."""

    aim: Callable[[dict[str, Any]], Fault | None] = staticmethod(lambda _body: None)

    def _reply(self, path: str, body: dict[str, Any], key: str, fault: Fault | None) -> Reply:
        return super()._reply(path, body, key, fault or self.aim(body))


def at_text(fault: Fault, *texts: str) -> Callable[[dict[str, Any]], Fault | None]:
    """An aim at extraction requests whose transcript holds one of the texts; none = all."""

    def aim(body: dict[str, Any]) -> Fault | None:
        is_meant = schema_of(body) == EXTRACTING and (
            not texts or any(text in transcript_of(body) for text in texts)
        )
        return fault if is_meant else None

    return aim


def configure(monkeypatch: pytest.MonkeyPatch, server: ScriptedServer, *, strong: bool) -> None:
    """Name the server's models in the environment, and forget the clients of tests before."""
    for name, value in variables(server.base_url, strong=strong).items():
        monkeypatch.setenv(name, value)
    workshop._chat_model.cache_clear()
    workshop.run_budget.cache_clear()


def variables(base_url: str, *, strong: bool = False) -> dict[str, str]:
    """The environment of a run with the scripted models and an embedder of its own."""
    models = {environment.FAST_MODEL: FAST} | ({environment.STRONG_MODEL: STRONG} if strong else {})
    return models | {
        environment.BASE_URL: base_url,
        environment.API_KEY: KEY,
        environment.EMBEDDING_MODEL: EMBEDDER,
    }


def spoken(asked: Asked) -> str:
    """What the user's lines spell out (`works at: acme; likes: tea`); jobs replace each other."""
    if asked.schema_name == JUDGING:
        return json.dumps({"verdicts": list(_verdicts(asked.user))})
    if asked.schema_name != EXTRACTING:
        return nothing_found(asked)
    said = _SAID.findall(asked.user.partition("<<<")[2])
    return graph([fact for text in said for fact in _facts(text)])


def graph(facts: Iterable[dict[str, Any]], **more: Any) -> str:
    """An extraction answer with these relationships."""
    listed = list(facts)
    entities = [
        {"name": fact["object"], "type": "ORG", "memory_category": "context"} for fact in listed
    ]
    return json.dumps(EMPTY_GRAPH | {"entities": entities, "relationships": listed} | more)


def fact_of(predicate: str, thing: str, quote: str, confidence: float = 0.9) -> dict[str, Any]:
    """One relationship of the user as a model answers it."""
    return {
        "source_quote": quote,
        "subject": "user",
        "predicate": predicate,
        "object": thing,
        "valid_from": None,
        "valid_until": None,
        "confidence": confidence,
        "memory_category": "context",
    }


def _facts(text: str) -> Iterator[dict[str, Any]]:
    for part in text.split("; "):
        predicate, separator, thing = part.partition(": ")
        if separator:
            yield fact_of(predicate, thing, part)


def _verdicts(user: str) -> Iterator[dict[str, Any]]:
    for number, old in _PAIR.findall(user.partition("<<<")[2]):
        verdict = "old" if " works at " in old else "neither"
        yield {
            "pair": int(number),
            "reason": "one job at a time",
            "verdict": verdict,
            "is_correction": False,
        }


def schema_of(body: dict[str, Any]) -> str:
    """The name of the wanted answer, which tells what the request is for."""
    return str(body.get("response_format", {}).get("json_schema", {}).get("name", ""))


def transcript_of(body: dict[str, Any]) -> str:
    """What follows the first fence of a request: the transcript, in a repair the bad answer too."""
    return str(body["messages"][-1]["content"]).partition("<<<")[2]


def chats(server: ScriptedServer, schema: str = "") -> list[LoggedRequest]:
    """The chat requests so far, of one purpose if it is given."""
    return [
        request
        for request in server.to("/chat/completions")
        if not schema or schema_of(request.body) == schema
    ]


def contents(requests: Iterable[LoggedRequest]) -> list[str]:
    """Model and messages of answered requests, for comparing: equal requests, equal texts."""
    return [
        json.dumps([request.body["model"], request.body["messages"]])
        for request in requests
        if request.status == 200
    ]


def drop_memory(url: str) -> None:
    """Empty everything derived, as the owner may; conversation and model answers stay."""
    with psycopg.connect(url, autocommit=True) as owner:
        tables = ", ".join(f"memory.{table}" for table in _DERIVED)
        owner.execute(f"truncate {tables} cascade".encode())
        owner.execute(
            "update memory.episodes set extraction_status = 'pending', extraction_attempts = 0, "
            "extraction_error = null, leased_by = null, leased_until = null"
        )
