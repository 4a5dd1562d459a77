"""Endpoints and requests that tests of models are made with."""

from typing import Any

from pydantic import SecretStr

from memory_pipeline.adapters.models.endpoint import Endpoint
from memory_pipeline.domain.model import ModelRequest, Purpose
from memory_pipeline_tests.scripted_server import ScriptedServer

KEY = "sk-secret-0123456789abcdef"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}


def endpoint_of(server: ScriptedServer, **settings: Any) -> Endpoint:
    """An impatient endpoint at a scripted server."""
    defaults: dict[str, Any] = {"backoff_s": 0.01, "timeout_s": 10.0}
    return Endpoint(base_url=server.base_url, api_key=SecretStr(KEY), **{**defaults, **settings})


def request_of(user: str = "Say a word.", **settings: Any) -> ModelRequest:
    """A request; equal arguments give an equal request."""
    defaults: dict[str, Any] = {
        "purpose": Purpose.EXTRACT,
        "model": "scripted-fast",
        "system": "You say words.",
        "user": user,
        "schema_name": "word",
        "json_schema": SCHEMA,
        "prompt_digest": "prompt/1",
    }
    return ModelRequest(**{**defaults, **settings})
