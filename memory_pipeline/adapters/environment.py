"""Environment variables: each is named here once and read when asked for, never at import.

Belongs here: names, defaults, parsing. Does not: what the values are used for.
"""

import difflib
import math
import os
from pathlib import Path

from pydantic import ValidationError

from memory_pipeline.domain.policy import PolicyError, make_policy, setting_names

DATABASE_URL = "MEMORY_DATABASE_URL"
DAGSTER_URL = "MEMORY_DAGSTER_DATABASE_URL"
HOME = "MEMORY_HOME"
EMBEDDING_MODEL = "MEMORY_EMBEDDING_MODEL"
EVENT_TEXT = "MEMORY_EVENT_TEXT"
FAST_MODEL = "MEMORY_FAST_MODEL"
STRONG_MODEL = "MEMORY_STRONG_MODEL"
MODEL_CONCURRENCY = "MEMORY_MODEL_CONCURRENCY"
MODEL_TIMEOUT = "MEMORY_MODEL_TIMEOUT_SECONDS"
BUDGET_USD = "MEMORY_BUDGET_USD"
BUDGET_TOKENS = "MEMORY_BUDGET_TOKENS"
PRICES_FILE = "MEMORY_PRICES_FILE"
API_KEY = "OPENAI_API_KEY"
BASE_URL = "OPENAI_BASE_URL"
SETTING_PREFIX = "MEMORY_SETTING_"


class EnvironmentValueError(ValueError):
    """A variable holds something that can't be meant; the message names it and what is expected."""


def database_url() -> str | None:
    """The memory database that replaces the embedded server, if any."""
    return os.environ.get(DATABASE_URL) or None


def dagster_database_url() -> str | None:
    """Where Dagster keeps its own tables, if not beside the memory database."""
    return os.environ.get(DAGSTER_URL) or None


def memory_home() -> Path:
    """Where the embedded server keeps its data; `.memory_pipeline` in the working folder."""
    return Path(os.environ.get(HOME) or ".memory_pipeline").expanduser().absolute()


def embedding_model() -> str:
    """Which embedder to use: `local`, or the id of an embedding profile."""
    return os.environ.get(EMBEDDING_MODEL) or "local"


def event_text() -> str:
    """Whether conversation text may enter Dagster's event log: `single` or `off`."""
    choice = os.environ.get(EVENT_TEXT) or "single"
    if choice not in ("single", "off"):
        raise EnvironmentValueError(f"{EVENT_TEXT} must be `single` or `off`, not {choice!r}")
    return choice


def setting_overrides() -> dict[str, str]:
    """Settings from the environment: `MEMORY_SETTING_CONTEXT_STRIDE=20` and the like.

    Raises `EnvironmentValueError` naming the variable that is no setting or out of range.
    """
    variables = sorted(name for name in os.environ if name.startswith(SETTING_PREFIX))
    found = {name.removeprefix(SETTING_PREFIX).lower(): os.environ[name] for name in variables}
    faults = [
        f"{SETTING_PREFIX}{name.upper()}: {fault}"
        for name, value in found.items()
        if (fault := _fault_of(name, value))
    ]
    if faults:
        raise EnvironmentValueError("; ".join(faults))
    return found


def _fault_of(name: str, value: str) -> str:
    """What is wrong with a setting, "" when nothing is."""
    known = (*setting_names("write"), *setting_names("read"))
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        meant = f"; did you mean {SETTING_PREFIX}{near[0].upper()}?" if near else ""
        return f"no such setting{meant}"
    try:
        make_policy({name: value})
    except PolicyError as error:
        cause = error.__cause__
        said = cause.errors()[0]["msg"] if isinstance(cause, ValidationError) else str(error)
        return f"{said}, got {value!r}"
    return ""


def api_key() -> str | None:
    """The key of the model endpoint; local servers mostly want none."""
    return os.environ.get(API_KEY) or None


def base_url() -> str | None:
    """Where the model endpoint is, if not at OpenAI."""
    return os.environ.get(BASE_URL) or None


def fast_model() -> str | None:
    """The model that extracts and judges; without one the heuristics work alone."""
    return os.environ.get(FAST_MODEL) or None


def strong_model() -> str | None:
    """The model that is asked where the fast one is not enough."""
    return os.environ.get(STRONG_MODEL) or None


def model_concurrency() -> int:
    """Requests that may be open at one endpoint at once; 8 unless set."""
    return int(_number(MODEL_CONCURRENCY, least=1, is_whole=True) or 8)


def model_timeout_seconds() -> float:
    """How long one request may take; 120 s unless set."""
    return _number(MODEL_TIMEOUT, least=0.1) or 120.0


def budget_usd() -> float | None:
    """Money that one run may spend, if limited; 0 forbids every call."""
    return _number(BUDGET_USD, least=0)


def budget_tokens() -> int | None:
    """Tokens that one run may spend, if limited; 0 forbids every call."""
    tokens = _number(BUDGET_TOKENS, least=0, is_whole=True)
    return None if tokens is None else int(tokens)


def prices_file() -> Path | None:
    """A price table that goes before the shipped one, if any."""
    named = os.environ.get(PRICES_FILE)
    if not named:
        return None
    path = Path(named).expanduser()
    if not path.is_file():
        raise EnvironmentValueError(f"{PRICES_FILE} names no file: {path}")
    return path


def check_models() -> None:
    """Raise `EnvironmentValueError` for what can't be meant, before any work is begun."""
    if strong_model() and not fast_model():
        raise EnvironmentValueError(
            f"{STRONG_MODEL} is set and {FAST_MODEL} is not: name the model that is asked first"
        )
    if any(not char.isprintable() for char in api_key() or ""):
        raise EnvironmentValueError(f"{API_KEY} holds characters that no key has")
    for read in (model_concurrency, model_timeout_seconds, budget_usd, budget_tokens, prices_file):
        read()


def _number(name: str, least: float, *, is_whole: bool = False) -> float | None:
    """The number a variable holds; None when unset. Raises `EnvironmentValueError`."""
    text = os.environ.get(name)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < least or (is_whole and not number.is_integer()):
        kind = "whole number" if is_whole else "number"
        raise EnvironmentValueError(f"{name} must be a {kind} from {least:g} up, not {text!r}")
    return number
