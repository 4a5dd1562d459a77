"""What models were asked or would be: requests and answers behind facts and episodes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.workshop import open_workshop
from memory_pipeline.domain.ids import FactId, TenantId
from memory_pipeline.domain.model import Purpose
from memory_pipeline.reading.explain import Explanation, explain
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading.requests import NO_MODEL, EpisodeRequests, read_episode_requests
from memory_pipeline.reading.scope import NotFoundError
from memory_pipeline.stages.ports import ExtractionError
from memory_pipeline_tests.defs.model_walks import EXTRACTING, FAST, chats, configure, spoken
from memory_pipeline_tests.reading.histories import as_owner
from memory_pipeline_tests.scripted import (
    TENANT,
    ScriptedExtractor,
    daily,
    fold_all,
    import_history,
    scripted_workshop,
)
from memory_pipeline_tests.scripted_server import Asked, ScriptedServer

MOVES = ("works at: acme", "works at: apex; likes: tea", "likes: rowing")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """The configured model, which reads `predicate: object` off the user's lines."""
    with ScriptedServer(spoken) as server:
        configure(monkeypatch, server, strong=False)
        yield server


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without any model."""
    monkeypatch.delenv(environment.FAST_MODEL, raising=False)


@dataclass
class BadAtFirst:
    """Answers every extraction with the given text as often as said, then as it should."""

    text: str
    times: int

    def __call__(self, asked: Asked) -> str:
        if asked.schema_name != EXTRACTING or self.times == 0:
            return spoken(asked)
        self.times -= 1
        return self.text


def remember_with_models(database: Database, *texts: str) -> None:
    import_history(database, daily(*texts))
    fold_all(open_workshop(database, TENANT, {}))


def remember_by_script(database: Database, *texts: str, stride: int = 1) -> None:
    import_history(database, daily(*texts))
    settings = {"context_stride": stride}
    fold_all(scripted_workshop(database, ScriptedExtractor(), settings=settings))


def explained(database: Database, thing: str, *, with_requests: bool = True) -> Explanation:
    rows = read_facts(database, TENANT, with_history=True)
    fact_id = next(row.fact_id for row in rows if row.object == thing)
    return explain(database, TENANT, FactId(fact_id), with_requests=with_requests)


def user_part(found: EpisodeRequests) -> str:
    """What the first request shows after its rules."""
    return found.requests[0].rendered.partition("===== user =====\n")[2]


def test_a_fact_tells_its_tier_why_the_lower_one_was_left_and_the_requests_made(
    database: Database, server: ScriptedServer
) -> None:
    remember_with_models(database, *MOVES[:1])
    found = explained(database, "acme", with_requests=False)
    (line,) = found.extractions
    assert (line.episode, line.tier, line.models) == (1, "fast", (FAST,))
    assert line.tier_reason.startswith("more than small talk")
    assert line.usage.prompt_tokens > 0
    assert len(line.request_digests) == 1
    assert found.requests == ()


def test_a_fact_shows_the_request_as_it_was_sent_and_the_answer_word_for_word(
    database: Database, server: ScriptedServer
) -> None:
    remember_with_models(database, *MOVES[:1])
    (request,) = explained(database, "acme").requests
    (sent,) = chats(server, EXTRACTING)
    for message in sent.body["messages"]:
        assert message["content"] in request.rendered
    (answer,) = request.answers
    assert (answer.is_valid, answer.problem, answer.attempt) == (True, "", 1)
    assert json.loads(answer.text)["relationships"][0]["object"] == "acme"


@pytest.mark.parametrize("thing", ["acme", "apex"])
def test_both_sides_of_a_judged_pair_show_what_the_judge_was_asked(
    database: Database, server: ScriptedServer, thing: str
) -> None:
    remember_with_models(database, *MOVES)
    *_, judged = explained(database, thing).requests
    assert judged.purpose is Purpose.JUDGE
    assert "old: user works at acme\n" in judged.rendered
    assert "new: user works at apex\n" in judged.rendered
    assert json.loads(judged.answers[0].text)["verdicts"][0]["verdict"] == "old"


def test_a_fact_that_no_judge_saw_shows_no_judge_request(
    database: Database, server: ScriptedServer
) -> None:
    remember_with_models(database, *MOVES[:2], "plays: xylophone")
    purposes = {request.purpose for request in explained(database, "xylophone").requests}
    assert purposes == {Purpose.EXTRACT}


def test_a_refused_answer_is_shown_with_its_fault_before_the_repair(
    database: Database, server: ScriptedServer
) -> None:
    server.answer = BadAtFirst("No JSON at all.", 1)
    remember_with_models(database, *MOVES[:1])
    first, repair = explained(database, "acme").requests
    assert (first.answers[0].is_valid, first.answers[0].text) == (False, "No JSON at all.")
    assert first.answers[0].problem != ""
    assert (repair.purpose, repair.answers[0].is_valid) == (Purpose.REPAIR, True)


def test_an_episode_that_a_model_extracted_shows_the_stored_request(
    database: Database, server: ScriptedServer
) -> None:
    remember_with_models(database, *MOVES)
    found = read_episode_requests(database, TENANT, 2)
    assert (found.origin, found.tier, found.requests[0].model) == ("stored", "fast", FAST)
    sent = chats(server, EXTRACTING)[1].body["messages"][-1]["content"]
    assert user_part(found) == sent
    assert found.note.startswith("Extracted by the fast tier (more than")


def test_a_built_request_is_the_one_that_was_sent(
    database: Database, server: ScriptedServer, database_url: str
) -> None:
    remember_with_models(database, *MOVES)
    stored = [read_episode_requests(database, TENANT, number) for number in (1, 2, 3)]
    as_owner(database_url, "delete from memory.model_answers")
    built = [read_episode_requests(database, TENANT, number) for number in (1, 2, 3)]
    assert {found.origin for found in built} == {"built"}
    assert [f.requests[0].digest for f in built] == [f.requests[0].digest for f in stored]
    assert "no longer stored" in built[0].note


@pytest.mark.usefixtures("no_model")
def test_an_episode_without_a_model_shows_what_one_would_be_asked(database: Database) -> None:
    remember_by_script(database, *MOVES)
    found = read_episode_requests(database, TENANT, 2)
    assert (found.origin, found.requests[0].model) == ("built", NO_MODEL)
    assert "- user works at acme\n" in user_part(found)
    assert "works at: apex; likes: tea" in user_part(found)
    assert "rowing" not in user_part(found)
    assert found.note.startswith("Never sent: the heuristics tier was enough")


def test_an_episode_extracted_before_a_model_was_configured_says_so(
    database: Database, server: ScriptedServer
) -> None:
    remember_by_script(database, *MOVES)
    found = read_episode_requests(database, TENANT, 2)
    assert found.requests[0].model == FAST
    assert found.note.startswith("Never sent: when it was extracted, no model was configured.")


@pytest.mark.usefixtures("no_model")
def test_a_built_request_shows_memory_as_it_was_before_the_stride(database: Database) -> None:
    remember_by_script(database, *MOVES, stride=2)
    second, third = (read_episode_requests(database, TENANT, number) for number in (2, 3))
    assert "Known facts:\n(none)" in user_part(second)
    assert "- user works at apex\n" in user_part(third)


@pytest.mark.usefixtures("no_model")
def test_an_episode_of_a_tenant_never_processed_shows_a_request_too(database: Database) -> None:
    import_history(database, daily(*MOVES))
    first, third = (read_episode_requests(database, TENANT, number) for number in (1, 3))
    assert first.note.startswith("Not sent: the episode is pending. This is")
    assert "and 2 before it are still open" in third.note
    assert "likes: rowing" in user_part(third)
    assert (third.tier, third.origin) == (None, "built")


def test_an_episode_that_failed_shows_the_answers_that_were_refused(
    database: Database, server: ScriptedServer
) -> None:
    server.answer = BadAtFirst("Sorry, no.", 2)
    with pytest.raises(ExtractionError):
        remember_with_models(database, *MOVES[:1])
    found = read_episode_requests(database, TENANT, 1)
    assert (found.origin, found.tier) == ("stored", None)
    assert [answer.text for answer in found.requests[0].answers] == ["Sorry, no."]
    assert found.note.startswith("Sent, but no answer could be used: the episode is failed (")


def test_an_episode_or_tenant_that_is_not_there_says_how_to_find_one(database: Database) -> None:
    import_history(database, daily(*MOVES))
    with pytest.raises(NotFoundError, match="lists the ordinals"):
        read_episode_requests(database, TENANT, 4)
    with pytest.raises(NotFoundError, match="no tenant 'nobody'"):
        read_episode_requests(database, TenantId("nobody"), 1)
