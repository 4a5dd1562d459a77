"""Model answers by the content of their request (spec G3): found again, kept, never sent twice.

Belongs here: rows of memory.model_answers as values. Does not: calls (adapters/stored_models),
what makes an answer valid (the caller).
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from psycopg.types.json import Jsonb

from memory_pipeline.adapters.models.encodable import encodable
from memory_pipeline.adapters.postgres import Database, Row, execute, execute_many
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.model import ModelAnswer, ModelRequest, Usage


@dataclass(frozen=True)
class StoredAnswer:
    """An answer with its place in the store; `problem` is why it was refused, else empty."""

    answer: ModelAnswer
    attempt: int
    problem: str = ""


class AnswerStore:
    """The stored answers of one tenant; each call is one short transaction."""

    def __init__(self, database: Database, tenant_id: TenantId) -> None:
        self._database = database
        self._tenant_id = tenant_id

    def find(self, request: ModelRequest) -> ModelAnswer | None:
        """The valid answer to this very request, marked `is_stored`, if there is one."""
        return self.find_many([request])[0]

    def find_many(self, requests: Sequence[ModelRequest]) -> list[ModelAnswer | None]:
        """The valid answer to each request, in order, in one round trip."""
        digests = [request.digest() for request in requests]
        found = self.find_stored(digests)
        return [found[digest].answer if digest in found else None for digest in digests]

    def find_stored(self, digests: Sequence[str]) -> dict[str, StoredAnswer]:
        """Valid answers by request digest."""
        if not digests:
            return {}
        parameters = {"tenant_id": self._tenant_id, "request_digests": list(digests)}
        with self._database.tenant_pipeline(self._tenant_id) as connection:
            cursor = execute(connection, "stored_answers", parameters)
        return {row["request_digest"]: _stored(row) for row in cursor.fetchall()}

    def find_refused(self, digest: str, attempt: int) -> StoredAnswer | None:
        """The answer refused in this attempt or the nearest later one."""
        parameters = {
            "tenant_id": self._tenant_id,
            "request_digest": digest,
            "attempt": attempt,
        }
        with self._database.tenant_pipeline(self._tenant_id) as connection:
            cursor = execute(connection, "refused_answer", parameters)
        row = cursor.fetchone()
        return None if row is None else _stored(row)

    def keep(
        self,
        request: ModelRequest,
        answer: ModelAnswer,
        *,
        is_valid: bool,
        problem: str = "",
        attempt: int | None = None,
    ) -> ModelAnswer:
        """Keep an answer and say which one counts.

        When another process kept a valid answer to the same request meanwhile, that one counts
        and comes back as stored. A refused answer gets the attempt given, or the next free one.
        """
        row = {
            "tenant_id": self._tenant_id,
            "request_digest": request.digest(),
            "attempt": attempt or 1,
            "purpose": request.purpose.value,
            "model": storable(request.model),
            "prompt_digest": request.prompt_digest,
            "schema_digest": schema_digest(request.json_schema),
            "request": storable_json(request.model_dump(mode="json")),
            "answer": storable_json({"finish_reason": answer.finish_reason, "problem": problem}),
            "raw_answer": storable(answer.text),
            "is_valid": is_valid,
            "usage": Jsonb(answer.usage.model_dump(mode="json")),
            "latency_ms": answer.latency_ms,
        }
        with self._database.tenant_pipeline(self._tenant_id) as connection:
            execute(connection, "lock_answer", row)
            cursor = execute(connection, "keep_answer", row)
        kept = cursor.fetchone()
        if kept is None or kept["is_new"]:
            return answer
        return _stored(kept).answer

    def refuse(self, digest: str, attempt: int, problem: str) -> None:
        """Reuse a stored answer no more; it stays for inspection."""
        parameters = {
            "tenant_id": self._tenant_id,
            "request_digest": digest,
            "attempt": attempt,
            "problem": storable(problem),
        }
        with self._database.tenant_pipeline(self._tenant_id) as connection:
            execute(connection, "refuse_stored_answer", parameters)

    def find_vectors(self, profile_id: str, texts: Sequence[str]) -> dict[str, list[float]]:
        """Stored vectors by text, exactly as they were kept."""
        by_digest = {_vector_digest(profile_id, text): text for text in texts}
        if not by_digest:
            return {}
        parameters = {"tenant_id": self._tenant_id, "request_digests": list(by_digest)}
        with self._database.tenant_pipeline(self._tenant_id) as connection:
            cursor = execute(connection, "stored_vectors", parameters)
        return {
            by_digest[row["request_digest"]]: _unpack(row["raw_answer"])
            for row in cursor.fetchall()
        }

    def keep_vectors(self, profile_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        """Keep the vectors of texts, in single precision."""
        rows = [
            {
                "tenant_id": self._tenant_id,
                "request_digest": _vector_digest(profile_id, text),
                "model": profile_id,
                "request": storable_json({"input": text}),
                "raw_answer": _pack(vector),
            }
            # In one order everywhere, so that two processes never wait for each other.
            for text, vector in sorted(vectors.items())
        ]
        with self._database.tenant_pipeline(self._tenant_id) as connection:
            execute_many(connection, "keep_vector", rows)


def storable(text: str) -> str:
    """The text without what PostgreSQL can't hold: NUL and lone surrogates become U+FFFD."""
    return encodable(text).replace("\x00", "\ufffd")


def schema_digest(json_schema: Mapping[str, Any]) -> str:
    """Sixteen hex digits over the canonical JSON of an answer's shape."""
    content = json.dumps(json_schema, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def storable_json(content: Any) -> Jsonb:
    """The content as jsonb, each text of it without what PostgreSQL can't hold."""
    return Jsonb(_storable_values(content))


def _storable_values(content: Any) -> Any:
    if isinstance(content, str):
        return storable(content)
    if isinstance(content, dict):
        return {storable(key): _storable_values(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_storable_values(value) for value in content]
    return content


def _stored(row: Row) -> StoredAnswer:
    about = row["answer"] or {}
    return StoredAnswer(
        answer=ModelAnswer(
            text=row["raw_answer"],
            finish_reason=about.get("finish_reason", "stop"),
            usage=Usage.model_validate(row["usage"]),
            latency_ms=row["latency_ms"],
            is_stored=True,
        ),
        attempt=row["attempt"],
        problem=about.get("problem", ""),
    )


def _vector_digest(profile_id: str, text: str) -> str:
    content = json.dumps(["embed", profile_id, text])
    return hashlib.sha256(content.encode("ascii")).hexdigest()


def _pack(vector: Sequence[float]) -> str:
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode("ascii")


def _unpack(text: str) -> list[float]:
    numbers: list[float] = (
        np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float64).tolist()
    )
    return numbers
