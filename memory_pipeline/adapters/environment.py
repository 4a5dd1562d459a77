"""Environment variables: each is named here once and read when asked for, never at import.

Belongs here: names, defaults, parsing. Does not: what the values are used for.
"""

import os
from pathlib import Path

from memory_pipeline.domain.policy import Policy

DATABASE_URL = "MEMORY_DATABASE_URL"
DAGSTER_URL = "MEMORY_DAGSTER_DATABASE_URL"
HOME = "MEMORY_HOME"
EMBEDDING_MODEL = "MEMORY_EMBEDDING_MODEL"
EVENT_TEXT = "MEMORY_EVENT_TEXT"
SETTING_PREFIX = "MEMORY_SETTING_"


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
    return os.environ.get(EVENT_TEXT) or "single"


def setting_overrides() -> dict[str, str]:
    """Settings from the environment: `MEMORY_SETTING_CONTEXT_STRIDE=20` and the like."""
    names = Policy.model_fields
    return {
        name: os.environ[SETTING_PREFIX + name.upper()]
        for name in names
        if SETTING_PREFIX + name.upper() in os.environ
    }
