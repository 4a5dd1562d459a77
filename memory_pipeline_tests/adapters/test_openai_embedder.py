"""The embedding client over real HTTP: order, batches, number forms, width."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memory_pipeline.adapters import openai_embedder
from memory_pipeline.adapters.models.budget import Budget
from memory_pipeline.adapters.models.endpoint import ModelConfigurationError
from memory_pipeline.adapters.openai_embedder import OpenAiEmbedder
from memory_pipeline.domain.model import BudgetExhaustedError
from memory_pipeline_tests.adapters.models.endpoints import endpoint_of
from memory_pipeline_tests.scripted_server import Fault, FaultKind, ScriptedServer
from memory_pipeline_tests.scripted_server.replies import Reply, json_reply
from memory_pipeline_tests.scripted_server.vectors import vector_of

TEXTS = [f"fact number {number}" for number in range(7)]
MODEL = "text-embedding-3-small"


@contextmanager
def embedder_at(server: ScriptedServer, **settings: Any) -> Iterator[OpenAiEmbedder]:
    embedder = OpenAiEmbedder(endpoint_of(server), MODEL, **settings)
    try:
        yield embedder
    finally:
        embedder.close()


def near(vectors: list[list[float]], texts: list[str]) -> None:
    """The vectors are those of the texts, in this order."""
    expected = [vector_of(text, 384).tolist() for text in texts]
    assert [pytest.approx(vector, abs=1e-6) for vector in expected] == vectors


def test_the_profile_names_model_and_width() -> None:
    with ScriptedServer() as server, embedder_at(server) as embedder:
        assert embedder.profile_id == "text-embedding-3-small/384"
        assert embedder.dimensions == 384


def test_vectors_come_in_the_order_of_the_texts_in_one_request_asking_for_the_width() -> None:
    with ScriptedServer(width=1_536) as server, embedder_at(server) as embedder:
        near(embedder.embed(TEXTS), TEXTS)
    assert len(server.requests) == 1
    body = server.requests[0].body
    assert (body["dimensions"], body["encoding_format"]) == (384, "base64")


def test_a_server_that_gives_plain_numbers_gives_the_same_vectors() -> None:
    with ScriptedServer() as packed, embedder_at(packed) as embedder:
        from_base64 = embedder.embed(TEXTS)
    with ScriptedServer(refuses=["encoding_format"]) as plain, embedder_at(plain) as embedder:
        assert embedder.embed(TEXTS) == from_base64
        embedder.embed(["another text"])
    assert [request.status for request in plain.requests] == [400, 200, 200]


def test_vectors_have_unit_length() -> None:
    with ScriptedServer() as server, embedder_at(server) as embedder:
        lengths = [math.hypot(*vector) for vector in embedder.embed([*TEXTS, "", "?!"])]
    assert lengths == pytest.approx([1.0] * len(lengths), abs=1e-6)


def test_no_texts_make_no_request() -> None:
    with ScriptedServer() as server, embedder_at(server) as embedder:
        assert embedder.embed([]) == []
    assert server.requests == []


def test_equal_texts_are_sent_once() -> None:
    with ScriptedServer() as server, embedder_at(server) as embedder:
        vectors = embedder.embed(["a heron", "an owl", "a heron"])
    assert server.requests[0].body["input"] == ["a heron", "an owl"]
    assert vectors[0] == vectors[2] != vectors[1]


def test_many_texts_go_out_in_batches_and_come_back_in_order() -> None:
    texts = [f"text {number}" for number in range(2_050)]
    with ScriptedServer() as server, embedder_at(server) as embedder:
        near(embedder.embed(texts)[2_045:], texts[2_045:])
    assert sorted(len(request.body["input"]) for request in server.requests) == [2, 2_048]


def test_a_batch_holds_no_more_tokens_than_one_request_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_embedder, "MAX_TOKENS_PER_CALL", 12)
    with ScriptedServer() as server, embedder_at(server) as embedder:
        near(embedder.embed(TEXTS), TEXTS)
    assert {len(request.body["input"]) for request in server.requests} == {3, 1}


def test_a_batch_too_large_for_the_server_is_halved_and_the_size_remembered() -> None:
    with ScriptedServer(max_inputs=2) as server, embedder_at(server) as embedder:
        near(embedder.embed(TEXTS), TEXTS)
        before = len(server.requests)
        near(embedder.embed(TEXTS[:4]), TEXTS[:4])
    assert [request.status for request in server.requests[before:]] == [200, 200]


def test_a_text_beyond_the_models_limit_is_cut() -> None:
    with ScriptedServer() as server, embedder_at(server) as embedder:
        embedder.embed(["heron " * 5_000])
    assert len(server.requests[0].body["input"][0]) == openai_embedder.MAX_TEXT_CHARS


def test_a_model_of_another_width_is_refused_with_both_numbers() -> None:
    with (
        ScriptedServer(width=768, refuses=["dimensions"]) as server,
        embedder_at(server) as embedder,
        pytest.raises(ModelConfigurationError, match=r"768.*384.*MEMORY_EMBEDDING_MODEL"),
    ):
        embedder.embed(["a heron"])


@pytest.mark.parametrize("kind", [FaultKind.RATE_LIMIT, FaultKind.CUT_REPLY, FaultKind.DROP])
def test_a_passing_fault_is_tried_again(kind: FaultKind) -> None:
    fault = Fault(kind, seconds=0.02)
    with ScriptedServer(faults=[fault]) as server, embedder_at(server) as embedder:
        near(embedder.embed(TEXTS), TEXTS)
    assert len(server.requests) == 2


def test_embeddings_are_held_to_the_budget_and_priced() -> None:
    budget = Budget(usd=1e-6)
    with ScriptedServer() as server, embedder_at(server, budget=budget) as embedder:
        embedder.embed(["a heron in the reeds"])
        assert 0 < budget.spent.usd < 1e-6
        with pytest.raises(BudgetExhaustedError, match="MEMORY_BUDGET_USD"):
            embedder.embed(["long " * 1_000])
    assert len(server.requests) == 1


class RefusingServer(ScriptedServer):
    """Refuses texts with the word `poison` for what they say."""

    def _reply(self, path: str, body: dict[str, Any], key: str, fault: Fault | None) -> Reply:
        if any("poison" in text for text in body["input"]):
            return json_reply(400, {"error": {"message": "x", "code": "data_inspection_failed"}})
        return super()._reply(path, body, key, fault)


def test_a_refused_text_gets_a_vector_like_no_other_and_spoils_no_neighbour() -> None:
    with RefusingServer() as server, embedder_at(server) as embedder:
        poisoned, healthy, other = embedder.embed(["poison a", "a heron", "poison b"])
        assert embedder.embed(["poison a"]) == [poisoned]
    near([healthy], ["a heron"])
    assert math.hypot(*poisoned) == pytest.approx(1.0, abs=1e-6)
    assert abs(sum(x * y for x, y in zip(poisoned, other, strict=True))) < 0.3
