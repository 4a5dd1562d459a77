"""Verdicts of a fact lead to the request they came from, whichever episode asked (spec J2, Q2)."""

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.workshop import open_workshop
from memory_pipeline.domain.ids import FactId
from memory_pipeline.domain.model import Purpose
from memory_pipeline.reading.explain import Explanation, explain
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading.requests import RequestShown
from memory_pipeline_tests.defs.model_walks import JUDGING, chats, configure, spoken
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    TENANT,
    ScriptedExtractor,
    fold_all,
    import_history,
    scripted_workshop,
    thread,
)
from memory_pipeline_tests.scripted_server import Asked, ScriptedServer

CLAIM = "works at: apex"


class Stubborn:
    """Extracts what is spelled out; to the judge's pairs it always says the same."""

    def __init__(self, verdict: str = "new") -> None:
        self.verdict = verdict

    def __call__(self, asked: Asked) -> str:
        """An answer to one request."""
        if asked.schema_name != JUDGING:
            return spoken(asked)
        if not self.verdict:
            return "Who knows."
        verdicts = json.loads(spoken(asked))["verdicts"]
        return json.dumps({"verdicts": [item | {"verdict": self.verdict} for item in verdicts]})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """The configured model, for which the user never changes jobs."""
    with ScriptedServer(Stubborn()) as server:
        configure(monkeypatch, server, strong=False)
        yield server


def tell(database: Database) -> None:
    """A job; another one said on one day in two threads; the same again on the day after."""
    hour = timedelta(hours=1)
    said = (
        ("works at: acme", START),
        (CLAIM, START + DAY),
        (f"{CLAIM}; owns: xylophone", START + DAY + hour),
        (CLAIM, START + 2 * DAY),
    )
    import_history(database, [thread(f"t{n}", line) for n, line in enumerate(said)])


def explained(database: Database, *, with_requests: bool = False) -> Explanation:
    rows = read_facts(database, TENANT, with_history=True)
    (fact_id,) = {row.fact_id for row in rows if row.object == "acme"}
    return explain(database, TENANT, FactId(fact_id), with_requests=with_requests)


def judge_requests(found: Explanation) -> list[RequestShown]:
    return [request for request in found.requests if request.purpose is Purpose.JUDGE]


def test_a_verdict_from_an_earlier_episodes_call_leads_to_that_request(
    database: Database, server: ScriptedServer
) -> None:
    tell(database)
    fold_all(open_workshop(database, TENANT, {}))
    assert len(chats(server, JUDGING)) == 2
    found = explained(database, with_requests=True)
    second, third, fourth = found.verdicts
    assert (second.episode, third.episode, fourth.episode) == (2, 3, 4)
    assert second.request_digest == third.request_digest
    first_request, last_request = judge_requests(found)
    assert (second.request_digest, second.pair_number) == (first_request.digest, 1)
    assert (fourth.request_digest, fourth.pair_number) == (last_request.digest, 1)
    assert "said on 2024-01-02 Tue" in first_request.rendered
    assert "said on 2024-01-03 Wed" in last_request.rendered
    (answer,) = first_request.answers
    assert json.loads(answer.text)["verdicts"][0]["verdict"] == "new"


def test_a_verdict_names_its_request_without_the_requests_being_shown(
    database: Database, server: ScriptedServer
) -> None:
    tell(database)
    fold_all(open_workshop(database, TENANT, {}))
    found = explained(database)
    assert found.requests == ()
    assert None not in {line.request_digest for line in found.verdicts}


def test_a_pair_that_got_no_verdict_shows_the_request_whose_answer_was_refused(
    database: Database, server: ScriptedServer
) -> None:
    server.answer = Stubborn("")
    tell(database)
    fold_all(open_workshop(database, TENANT, {}), ordinals=(1, 2))
    found = explained(database, with_requests=True)
    (line,) = found.verdicts
    assert (line.verdict, line.request_digest, line.pair_number) == ("neither", None, None)
    (request,) = judge_requests(found)
    assert [(a.text, a.is_valid) for a in request.answers] == [("Who knows.", False)]


def test_a_verdict_by_rules_names_no_request(database: Database) -> None:
    tell(database)
    fold_all(scripted_workshop(database, ScriptedExtractor()))
    lines = explained(database).verdicts
    assert {(line.judge, line.request_digest) for line in lines} == {("rules", None)}
