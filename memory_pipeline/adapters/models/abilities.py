"""What an endpoint's model understands, learned from its refusals and kept for the process.

Belongs here: answer forms, optional parameters, reasoning switches, the next lesser request.
Does not: sending (calls) and the texts of a request (openai_models).
"""

import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final

from memory_pipeline.adapters.models.endpoint import Endpoint
from memory_pipeline.adapters.models.failures import Failure

REASONING_PARAMETERS: Final = ("reasoning_effort", "chat_template_kwargs", "enable_thinking")
_LEAST_EFFORT_FIRST: Final = ("none", "minimal", "low", "medium")
MAX_INPUTS: Final = 2_048
"""Texts in one embeddings request at most, as the protocol's first server allows."""


class AnswerForm(IntEnum):
    """How the answer's shape is asked for; each server takes the first it knows."""

    JSON_SCHEMA = 0
    JSON_OBJECT = 1
    TEXT = 2


@dataclass(frozen=True)
class Abilities:
    """What to leave out for one model at one endpoint; the default asks for everything."""

    form: AnswerForm = AnswerForm.JSON_SCHEMA
    dropped: frozenset[str] = frozenset()
    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    inputs_per_call: int = MAX_INPUTS

    def joined(self, other: "Abilities") -> "Abilities":
        """What both have learned."""
        return Abilities(
            form=max(self.form, other.form),
            dropped=self.dropped | other.dropped,
            values=MappingProxyType({**self.values, **other.values}),
            inputs_per_call=min(self.inputs_per_call, other.inputs_per_call),
        )


_learned: Final[dict[tuple[str, str], Abilities]] = {}
_lock: Final = threading.Lock()


def learned(endpoint: Endpoint, model: str) -> Abilities:
    """What is known of this model by now."""
    with _lock:
        return _learned.get((endpoint.base_url, model), Abilities())


def learn(endpoint: Endpoint, model: str, abilities: Abilities) -> None:
    """Keep what a request that went through has shown."""
    with _lock:
        known = _learned.get((endpoint.base_url, model), Abilities())
        _learned[endpoint.base_url, model] = known.joined(abilities)


def lesser(abilities: Abilities, failure: Failure, sent: Collection[str]) -> Abilities | None:
    """The next request to try after a refusal, or None when there is nothing left to leave out.

    `sent` names the parameters of the refused request. Where the refusal names none of them,
    switches go first, then the answer's form, then the temperature.
    """
    named = failure.parameter
    if named is not None and named in sent:
        return _without(abilities, named, failure)
    for switch in REASONING_PARAMETERS:
        if switch in sent:
            return _without(abilities, switch, failure)
    for parameter in ("response_format", "encoding_format", "temperature"):
        if parameter in sent:
            return _without(abilities, parameter, failure)
    return None


def _without(abilities: Abilities, parameter: str, failure: Failure) -> Abilities:
    if parameter == "response_format":
        return replace(abilities, form=AnswerForm(abilities.form + 1))
    if parameter == "reasoning_effort":
        tried = abilities.values.get(parameter)
        for effort in _LEAST_EFFORT_FIRST:
            if effort in failure.accepted and effort != tried:
                values = {**abilities.values, parameter: effort}
                return replace(abilities, values=MappingProxyType(values))
    return replace(abilities, dropped=abilities.dropped | {parameter})


@dataclass(frozen=True)
class _Switch:
    """A parameter that turns reasoning off, for the hosts and models that know it."""

    hosts: str
    models: str
    parameter: str
    value: Any


# Gateways of many providers refuse what they don't know, so servers' own switches stay away.
_OWN_SERVERS: Final = (
    r"(?!api\.openai\.com|.*\.openai\.azure\.com|openrouter\.ai|.*googleapis\.com|.*dashscope)"
)
_THINKING_OFF: Final = MappingProxyType({"enable_thinking": False})
_SWITCHES: Final = (
    _Switch(r".*googleapis\.com", r"gemini-2\.5-flash", "reasoning_effort", "none"),
    _Switch(r".*googleapis\.com", r"gemini-", "reasoning_effort", "low"),
    _Switch(r".*dashscope", r"qwen", "enable_thinking", False),
    _Switch("", r"gpt-5(?:-mini|-nano)?(?:-\d{4}.*)?$", "reasoning_effort", "minimal"),
    _Switch("", r"gpt-(?:5\.\d|[6-9])", "reasoning_effort", "none"),
    _Switch("", r"o[1-9](?:-|$)|gpt-oss", "reasoning_effort", "low"),
    _Switch(
        _OWN_SERVERS, r"qwen-?3|glm-[45]|nemotron|gemma-?4", "chat_template_kwargs", _THINKING_OFF
    ),
    _Switch(
        _OWN_SERVERS,
        r"deepseek-v3|granite",
        "chat_template_kwargs",
        MappingProxyType({"thinking": False}),
    ),
)


def reasoning_switch(endpoint: Endpoint, model: str, abilities: Abilities) -> dict[str, Any]:
    """The parameter that turns this model's reasoning off or low; nothing for unknown models."""
    bare = model.rpartition("/")[2].lower()
    for switch in _SWITCHES:
        if re.match(switch.hosts, endpoint.host) and re.match(switch.models, bare):
            if switch.parameter in abilities.dropped:
                return {}
            value = abilities.values.get(switch.parameter, switch.value)
            return {switch.parameter: dict(value) if isinstance(value, Mapping) else value}
    return {}
