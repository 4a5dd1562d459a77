"""The scripted model server: chat completions, embeddings, models, and its request log.

Belongs here: the protocol. Does not: answers, faults, vectors and sockets (beside it).
"""

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from memory_pipeline_tests.scripted_server.answers import Asked, Scripted, nothing_found
from memory_pipeline_tests.scripted_server.faults import (
    Fault,
    FaultPlan,
    error_body,
    refused_parameter,
)
from memory_pipeline_tests.scripted_server.replies import (
    Reply,
    damaged,
    failed_reply,
    json_reply,
    message_of,
)
from memory_pipeline_tests.scripted_server.usage import PrefixCache, count_tokens
from memory_pipeline_tests.scripted_server.vectors import encoded, vector_of
from memory_pipeline_tests.scripted_server.wire import HttpSide

MODELS = ("scripted-fast", "scripted-strong", "scripted-embedding")


@dataclass(frozen=True)
class LoggedRequest:
    """One request as it came in, and what it got. `at` is seconds of the monotonic clock."""

    path: str
    body: dict[str, Any]
    at: float
    has_key: bool
    status: int
    fault: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)


class ScriptedServer:
    """Serves on loopback while its context is open. `latency_s` passes before each reply.

    `refuses` names parameters and response formats that get a 400, `width` is the native length
    of embeddings; `requests` holds the log, `most_open` the most requests served at once.
    """

    def __init__(
        self,
        answer: Scripted = nothing_found,
        *,
        latency_s: float = 0.0,
        faults: Iterable[Fault] = (),
        in_turn: Iterable[Fault] = (),
        refuses: Iterable[str] = (),
        width: int = 384,
        max_inputs: int = 2_048,
        port: int = 0,
        log_file: Path | None = None,
    ) -> None:
        self.answer = answer
        self.latency_s = latency_s
        self.faults = FaultPlan(faults, in_turn=in_turn)
        self.refuses = frozenset(refuses)
        self.width = width
        self.max_inputs = max_inputs
        self.requests: list[LoggedRequest] = []
        self.most_open = 0
        self._open = 0
        self._log_file = log_file
        self._lock = threading.Lock()
        self._prefixes = PrefixCache()
        self._http = HttpSide(("127.0.0.1", port), self.handle)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def base_url(self) -> str:
        """What to give as the endpoint's address."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def to(self, path: str) -> list[LoggedRequest]:
        """The requests so far whose path ends so."""
        with self._lock:
            return [request for request in self.requests if request.path.endswith(path)]

    def handle(self, path: str, body: dict[str, Any], key: str) -> Reply:
        """The reply to one request, logged."""
        with self._lock:
            self._open += 1
            self.most_open = max(self.most_open, self._open)
        arrived = time.monotonic()
        fault = self.faults.next_for(path)
        time.sleep(self.latency_s)
        reply = self._reply(path, body, key, fault)
        logged = LoggedRequest(
            path=path,
            body=body,
            at=arrived,
            has_key=bool(key),
            status=reply.status,
            fault=fault.kind.value if fault else None,
            usage=reply.usage,
        )
        with self._lock:
            self._open -= 1
            self.requests.append(logged)
            if self._log_file is not None:
                with self._log_file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(asdict(logged)) + "\n")
        return reply

    def _reply(self, path: str, body: dict[str, Any], key: str, fault: Fault | None) -> Reply:
        if fault is not None:
            failed = failed_reply(fault, key, str(body.get("model")))
            if failed is not None:
                return failed
        refused = refused_parameter(body, self.refuses)
        if refused is not None:
            return json_reply(400, refused)
        if path.endswith("/chat/completions"):
            reply = self._chat(body, fault)
        elif path.endswith("/embeddings"):
            reply = self._embeddings(body)
        elif path.endswith("/models"):
            listed = [{"id": model, "object": "model"} for model in MODELS]
            reply = json_reply(200, {"object": "list", "data": listed})
        else:
            reply = json_reply(404, error_body("no such path", kind="x", code=None, param=None))
        return damaged(reply, fault)

    def _chat(self, body: dict[str, Any], fault: Fault | None) -> Reply:
        messages = body["messages"]
        schema = body.get("response_format", {}).get("json_schema", {})
        asked = Asked(
            model=body["model"],
            system="\n".join(m["content"] for m in messages if m["role"] == "system"),
            user=next((m["content"] for m in reversed(messages) if m["role"] == "user"), ""),
            schema_name=schema.get("name", ""),
            body=body,
        )
        message, finish_reason = message_of(self.answer(asked), fault)
        prompt = json.dumps(schema) + json.dumps(messages, ensure_ascii=False)
        usage = {
            "prompt_tokens": count_tokens(prompt),
            "completion_tokens": count_tokens(message["content"] or ""),
            "prompt_tokens_details": {
                "cached_tokens": self._prefixes.cached_tokens(asked.model, prompt)
            },
        }
        choice = {"index": 0, "message": message, "finish_reason": finish_reason}
        content = {
            "id": "chatcmpl-scripted",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": asked.model,
            "choices": [choice],
            "usage": usage,
        }
        return json_reply(200, content, usage)

    def _embeddings(self, body: dict[str, Any]) -> Reply:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        if len(texts) > self.max_inputs or not all(texts):
            message = f"'input' must hold 1 to {self.max_inputs} texts, none of them empty"
            kind = "invalid_request_error"
            return json_reply(400, error_body(message, kind=kind, code=None, param="input"))
        width = body.get("dimensions", self.width)
        encoding = body.get("encoding_format", "float")
        data = [
            {"object": "embedding", "index": i, "embedding": encoded(vector_of(t, width), encoding)}
            for i, t in enumerate(texts)
        ]
        tokens = sum(count_tokens(text) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        # Backwards, because the protocol orders by index and not by place.
        content = {"object": "list", "model": body["model"], "data": data[::-1], "usage": usage}
        return json_reply(200, content, usage)
