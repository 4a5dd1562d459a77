"""The scripted server itself: its answers for the shared history, its faults, its command."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from memory_pipeline_tests.scripted_server import Asked, Fault, FaultKind, ScriptedServer
from memory_pipeline_tests.scripted_server.expected_answers import ExpectedAnswers
from memory_pipeline_tests.scripted_server.vectors import vector_of

HISTORY = [
    "My sister Vera lives in Cork. I run in Zephyr shoes.",
    "I run in Borealis shoes now.",
    "Nothing new.",
]
EXPECTED: dict[str, Any] = {
    "facts_per_episode": [
        [
            ["user", "has sister", "vera"],
            ["vera", "lives in", "cork"],
            ["user", "runs in", "zephyr"],
        ],
        [["user", "runs in", "borealis"]],
        [],
    ],
    "superseded": [["user", "runs in", "zephyr", "borealis"]],
}


@pytest.fixture
def expected_file(tmp_path: Path) -> Path:
    lines = [{"messages": [{"role": "user", "content": text}]} for text in HISTORY]
    (tmp_path / "history.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    expected = tmp_path / "expected.json"
    expected.write_text(json.dumps(EXPECTED))
    return expected


def asked(user: str, schema_name: str = "extracted_graph") -> Asked:
    shape = {"json_schema": {"name": schema_name, "schema": {}}}
    return Asked("scripted-fast", "rules", user, schema_name, {"response_format": shape})


def answers_of(expected: Path, question: Asked) -> Any:
    return json.loads(ExpectedAnswers(expected, expected.with_name("history.jsonl"))(question))


def post(server: ScriptedServer, path: str, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(f"{server.base_url}{path}", json=body, timeout=10)


def chat(server: ScriptedServer, user: str = "hello") -> httpx.Response:
    message = {"role": "user", "content": user}
    return post(server, "/chat/completions", {"model": "m", "messages": [message]})


def test_an_extraction_gives_the_facts_of_the_messages_in_the_prompt(expected_file: Path) -> None:
    graph = answers_of(expected_file, asked(f"known: none\n[1] user: {HISTORY[0]}"))
    found = [(f["subject"], f["predicate"], f["object"]) for f in graph["relationships"]]
    assert found == [tuple(triple) for triple in EXPECTED["facts_per_episode"][0]]
    assert all(f["source_quote"] in HISTORY[0] for f in graph["relationships"])
    assert {entity["name"] for entity in graph["entities"]} == {"user", "vera", "cork", "zephyr"}
    assert sorted(graph) == [
        "entities", "instructions", "literal_facts", "relationships", "uncertainties",
    ]  # fmt: skip


def test_an_extraction_of_unknown_messages_is_empty(expected_file: Path) -> None:
    graph = answers_of(expected_file, asked("[1] user: Hello there"))
    assert not any(graph.values())


def test_a_judge_calls_the_superseded_fact_old_and_nothing_else(expected_file: Path) -> None:
    pairs = (
        "# Pairs to judge: 3\n"
        "pair 1\nold: user runs in zephyr\n  holds: from 2025\nnew: user runs in borealis\n"
        "pair 2\nold: vera lives in cork\nnew: user runs in borealis\n"
        "pair 3\nold: user runs in borealis\nnew: user runs in zephyr\n"
    )
    verdicts = answers_of(expected_file, asked(pairs, "judge_contradictions"))["verdicts"]
    assert [(item["index"], item["verdict"]) for item in verdicts] == [
        (1, "old"),
        (2, "neither"),
        (3, "neither"),
    ]
    assert list(verdicts[0]) == ["index", "reason", "verdict", "is_correction"]


def test_a_profile_says_each_shown_fact_and_cites_it(expected_file: Path) -> None:
    shown = '<<<F\n[f1] user likes tea | | "tea!"\n[f2] user lives in cork | since 2024-01-01\nF>>>'
    profile = answers_of(expected_file, asked(shown, "entity_profile"))
    assert profile["sentences"] == [
        {"facts": ["f1"], "text": "User likes tea."},
        {"facts": ["f2"], "text": "User lives in cork."},
    ]


def test_vectors_are_equal_for_equal_texts_and_apart_for_others() -> None:
    slot = [vector_of(f"user runs in {shoe}", 384) for shoe in ("zephyr", "zephyr", "borealis")]
    assert np.array_equal(slot[0], slot[1])
    assert 0.5 < float(slot[0] @ slot[2]) < 0.9
    assert abs(float(vector_of("cork", 384) @ vector_of("porto", 384))) < 0.3


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        (FaultKind.RATE_LIMIT, 429, "rate_limit_exceeded"),
        (FaultKind.QUOTA, 429, "insufficient_quota"),
        (FaultKind.SERVER_ERROR, 500, "server_error"),
        (FaultKind.TOO_LONG, 400, "context_length_exceeded"),
        (FaultKind.NOT_FOUND, 404, "model_not_found"),
    ],
)
def test_a_fault_strikes_as_often_as_planned(kind: FaultKind, status: int, code: str) -> None:
    with ScriptedServer(faults=[Fault(kind, times=2, path="/chat/completions")]) as server:
        assert httpx.get(f"{server.base_url}/models").status_code == 200
        failed = [chat(server), chat(server)]
        assert chat(server).status_code == 200
    assert {response.status_code for response in failed} == {status}
    assert {response.json()["error"]["code"] for response in failed} == {code}
    assert [request.fault for request in server.requests] == [None, kind, kind, None]


def test_faults_in_turn_go_round_for_ever() -> None:
    turn = [Fault(FaultKind.NOTHING), Fault(FaultKind.GARBAGE), Fault(FaultKind.REFUSAL)]
    with ScriptedServer(in_turn=turn) as server:
        messages = [chat(server).json()["choices"][0]["message"] for _ in range(6)]
    assert messages[:3] == messages[3:]
    assert messages[0]["content"] == ""
    assert "refusal" in messages[2]


def test_the_log_holds_whole_requests_and_their_tokens() -> None:
    with ScriptedServer() as server:
        chat(server, "a question")
        post(server, "/embeddings", {"model": "e", "input": ["one", "two"]})
    first, second = server.requests
    assert first.body["messages"][0]["content"] == "a question"
    assert first.usage["prompt_tokens"] > 0
    assert (second.path, second.body["input"]) == ("/v1/embeddings", ["one", "two"])


def test_the_command_prints_its_address_first_serves_and_ends_on_a_signal(
    expected_file: Path, tmp_path: Path
) -> None:
    log = tmp_path / "requests.jsonl"
    command = [sys.executable, "-m", "memory_pipeline_tests.scripted_server"]
    options = ["--answers", str(expected_file), "--log", str(log), "--fault", "quota:1"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        body = {"model": "m", "messages": [{"role": "user", "content": HISTORY[1]}]}
        answers = [httpx.post(f"{base_url}/chat/completions", json=body) for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
    assert [answer.status_code for answer in answers] == [429, 200]
    assert "borealis" in answers[1].json()["choices"][0]["message"]["content"]
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["fault"] for line in logged] == ["quota", None]
