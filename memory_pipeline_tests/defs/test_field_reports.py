"""Faults reported of other systems, by their ids, in real runs: Dagster, PostgreSQL, sensors.

Belongs here: reports on automation, and histories that go from a file to facts. Does not: what a
single stage (stages), importer (importers) or write (cases) makes of a report.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.defs.partitions import (
    register_partitions,
)
from memory_pipeline.defs.runs import RunOptions, WalkFailedError, run_walk
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.importers.registry import read_export
from memory_pipeline.reading.facts import FactRow, read_facts
from memory_pipeline.reading.ledger import read_ledger
from memory_pipeline_tests.defs.model_walks import (
    EMBEDDER,
    EXTRACTING,
    AimedServer,
)
from memory_pipeline_tests.field_reports import needs_reports, report
from memory_pipeline_tests.scripted import START, daily, import_history, scalar
from memory_pipeline_tests.scripted_server import Asked
from memory_pipeline_tests.scripted_server.answers import EMPTY_GRAPH, nothing_found

ANN = TenantId("ann")
NUL = "\x00"


@pytest.fixture
def database(database: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setenv(environment.EMBEDDING_MODEL, EMBEDDER)
    for name in (environment.FAST_MODEL, environment.STRONG_MODEL):
        monkeypatch.delenv(name, raising=False)
    return database


def import_export(
    database: Database, instance: dg.DagsterInstance, path: Path, user: str | None = None
) -> int:
    """Import a file as the command does; how many episodes there are."""
    store = ConversationStore(database)
    store.import_threads(ANN, "openai", read_export(path, "openai", user))
    count = store.register_episodes(ANN, Policy())
    register_partitions(instance, ANN, count)
    return count


def write_export(folder: Path, *texts: str, **more: object) -> Path:
    """A file of one conversation for each text, a day apart."""
    conversations = [
        {
            "id": f"chat-{number}",
            "messages": [
                {"role": "user", "content": text, "timestamp": START.timestamp() + number * 86_400}
            ],
            **more,
        }
        for number, text in enumerate(texts, start=1)
    ]
    path = folder / "history.json"
    path.write_text(json.dumps(conversations), encoding="utf-8")
    return path


def remembered(database: Database) -> list[FactRow]:
    """All facts ever, after a ledger that adds up."""
    ledger = read_ledger(database, ANN)
    assert ledger.adds_up, ledger.problems
    return list(read_facts(database, ANN, with_history=True))


# --- B13a: a wrapped answer in a real run -----------------------------------------------------


@needs_reports
def test_b13a_a_wrapped_answer_becomes_a_fact(
    instance: dg.DagsterInstance, database: Database, server: AimedServer
) -> None:
    case = report("B13a")
    wrapped = case["input"]["model_returns"]
    server.answer = lambda asked: (
        wrapped if asked.schema_name == EXTRACTING else nothing_found(asked)
    )
    import_history(database, daily("These days I play cello in the evenings."), ANN)
    register_partitions(instance, ANN, 1)
    run_walk(instance, ANN, 1, 1)
    assert [(f.predicate, f.object) for f in remembered(database)] == [("plays", "cello")]
    assert ConversationStore(database).statuses(ANN, [1]) == {1: "done"}


def test_b13a_an_answer_without_json_is_a_failure_that_is_tried_again(
    instance: dg.DagsterInstance, database: Database, server: AimedServer
) -> None:
    server.answer = lambda asked: "Nothing to report today."
    import_history(database, daily("These days I play cello in the evenings."), ANN)
    register_partitions(instance, ANN, 1)
    with pytest.raises(WalkFailedError):
        run_walk(instance, ANN, 1, 1)
    assert ConversationStore(database).statuses(ANN, [1]) == {1: "failed"}
    server.answer = spoken_cello
    run_walk(instance, ANN, 1, 1)
    assert [(f.predicate, f.object) for f in remembered(database)] == [("plays", "cello")]


def spoken_cello(asked: Asked) -> str:
    """A good answer for the window above."""
    if asked.schema_name != EXTRACTING:
        return nothing_found(asked)
    return graph_of(fact("plays", "cello", "I play cello"))


def fact(predicate: str, value: str, quote: str) -> dict[str, Any]:
    """A value of the user as a model answers it."""
    return {
        "source_quote": quote,
        "subject": "user",
        "predicate": predicate,
        "object": value,
        "valid_from": None,
        "valid_until": None,
        "confidence": 0.9,
        "memory_category": "context",
    }


def graph_of(*facts: dict[str, Any], **more: object) -> str:
    return json.dumps(EMPTY_GRAPH | {"literal_facts": list(facts)} | more)


# --- B21: what is said again is not written again ---------------------------------------------


@needs_reports
def test_b21_a_name_said_in_five_episodes_is_one_row(
    instance: dg.DagsterInstance, database: Database, tmp_path: Path
) -> None:
    expected = report("B21")["expected"]
    path = write_export(tmp_path, *["My name is Tjalling."] * 5)
    count = import_export(database, instance, path)
    run_walk(instance, ANN, 1, count)
    facts = remembered(database)
    assert (count, len(facts)) == (5, expected["rows"])
    assert facts[0].object == expected["object"]


def test_b21_a_value_said_in_five_episodes_is_one_row(
    instance: dg.DagsterInstance, database: Database, tmp_path: Path
) -> None:
    texts = ["My name is Jurre.", "my name is Jurre", "My name's Jurre!", "Call me Jurre."]
    count = import_export(database, instance, write_export(tmp_path, *texts, texts[0]))
    run_walk(instance, ANN, 1, count)
    assert (count, [f.object for f in remembered(database)]) == (5, ["jurre"])


@pytest.mark.parametrize("stride", [1, 5])
def test_b21_other_spellings_of_the_name_are_one_row_too(
    instance: dg.DagsterInstance, database: Database, server: AimedServer, stride: int
) -> None:
    names = ["Tjalling", "tjalling", "TJALLING", " Tjalling ", "\u201cTjalling\u201d"]

    def answered(asked: Asked) -> str:
        if asked.schema_name != EXTRACTING:
            return nothing_found(asked)
        said = asked.user.partition("<<<")[2]
        name = next(n for i, n in enumerate(names) if f"Time {i}:" in said)
        return graph_of(fact("has name", name, "my name is"))

    server.answer = answered
    import_history(
        database, daily(*(f"Time {i}: my name is Tjalling, again" for i in range(5))), ANN
    )
    register_partitions(instance, ANN, 5)
    run_walk(instance, ANN, 1, 5, RunOptions(context_stride=stride))
    assert [f.object for f in remembered(database)] == ["tjalling"]


# --- B28: NUL is nowhere stored ---------------------------------------------------------------


@needs_reports
def test_b28_a_message_with_nul_is_imported_read_and_remembered(
    instance: dg.DagsterInstance, database: Database, tmp_path: Path
) -> None:
    case = report("B28")
    path = write_export(tmp_path, *(m["content"] for m in case["input"]["messages"]))
    run_walk(instance, ANN, 1, import_export(database, instance, path))
    assert len(remembered(database)) == case["expected"]["facts"]


def test_b28_nul_in_titles_ids_names_and_attachments_is_left_out(
    instance: dg.DagsterInstance, database: Database, database_url: str, tmp_path: Path
) -> None:
    path = write_export(
        tmp_path, f"I own{NUL} a kayak.", title=f"{NUL}a{NUL}", id=f"chat{NUL}", name=f"{NUL}"
    )
    run_walk(instance, ANN, 1, import_export(database, instance, path, user=f"Ann{NUL}"))
    assert [f.object for f in remembered(database)] == ["kayak"]
    assert scalar(database_url, "select count(*) from memory.messages where text = %s", [KAYAK])


KAYAK = "I own a kayak."


def test_b28_nul_in_a_summary_fails_no_run(
    instance: dg.DagsterInstance, database: Database, server: AimedServer
) -> None:
    server.answer = lambda asked: (
        spoken_cello(asked) if asked.schema_name == EXTRACTING else _with_nul(asked)
    )
    import_history(database, daily("These days I play cello in the evenings."), ANN)
    register_partitions(instance, ANN, 1)
    run_walk(instance, ANN, 1, 1)
    assert [f.object for f in remembered(database)] == ["cello"]


@needs_reports
def test_b28_nul_in_every_place_of_a_models_answers_is_survived(
    instance: dg.DagsterInstance, database: Database, server: AimedServer
) -> None:
    case = report("B28")
    server.answer = _extracted_with_nul
    texts = [m["content"].replace(NUL, "") for m in case["input"]["messages"]]
    import_history(database, daily(*texts, *texts), ANN)
    register_partitions(instance, ANN, 2)
    run_walk(instance, ANN, 1, 2)
    facts = remembered(database)
    assert {(f.subject, f.predicate, f.object) for f in facts} == {
        ("user", "owns", "kayak"),
        ("user", "keeps", "notes"),
    }
    assert not [f for f in facts if NUL in f.model_dump_json()]
    assert ConversationStore(database).statuses(ANN, [1, 2]) == {1: "done", 2: "done"}


def _extracted_with_nul(asked: Asked) -> str:
    return _with_nul(asked) if asked.schema_name == EXTRACTING else nothing_found(asked)


def _with_nul(asked: Asked) -> str:
    """Answers that hold NUL in each text, as JSON may."""
    if asked.schema_name != EXTRACTING:
        answered = json.loads(nothing_found(asked))
        return json.dumps({k: f"a{NUL}b" if isinstance(v, str) else v for k, v in answered.items()})
    owned = fact(f"ow{NUL}ns", f"kay{NUL}ak", f"I own{NUL} a kayak")
    kept = fact("keeps", f"not{NUL}es", f"My {NUL}notes")
    return graph_of(
        kept,
        relationships=[owned | {"subject": f"us{NUL}er"}],
        entities=[{"name": f"kay{NUL}ak", "type": f"PRO{NUL}DUCT", "memory_category": NUL}],
        instructions=[
            {
                "source_quote": "My notes",
                "label": f"not{NUL}es",
                "description": f"{NUL}read notes",
                "action": "set",
            }
        ],
        uncertainties=[
            {"about": f"the {NUL}kayak", "reason": NUL, "subject": f"{NUL}a", "predicate": NUL}
        ],
    )


@pytest.mark.parametrize("answered", [f"no{NUL} JSON", NUL, f'{{"literal_facts": [{NUL}'])
def test_b28_nul_in_an_answer_that_can_not_be_read_is_a_failure_that_is_stored(
    instance: dg.DagsterInstance,
    database: Database,
    database_url: str,
    server: AimedServer,
    answered: str,
) -> None:
    server.answer = lambda asked: answered
    import_history(database, daily("My notes say that I own a kayak."), ANN)
    register_partitions(instance, ANN, 1)
    with pytest.raises(WalkFailedError):
        run_walk(instance, ANN, 1, 1)
    assert ConversationStore(database).statuses(ANN, [1]) == {1: "failed"}
    assert scalar(database_url, "select extraction_error from memory.episodes")


@pytest.mark.parametrize("junk", [NUL, "\ud83d"])
def test_b28_nul_in_an_error_is_no_reason_to_lose_the_failure(
    database: Database, database_url: str, junk: str
) -> None:
    import_history(database, daily("boom"), ANN)
    store = ConversationStore(database)
    (episode,) = store.walk_episodes(ANN)
    assert store.record_failure(ANN, episode["episode_id"], f"the model said {junk}") == 1
    error = scalar(database_url, "select extraction_error from memory.episodes")
    assert str(error).startswith("the model said")
