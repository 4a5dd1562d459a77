"""Whose fault an error is that comes up while one episode is at work (spec E5).

Belongs here: which errors count an attempt of the episode. Does not: counting (conversation_store),
what becomes of the run (tenant_walk).
"""

from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

import psycopg

from memory_pipeline.adapters.memory_writer import OutOfOrderError
from memory_pipeline.adapters.models.endpoint import (
    ModelConfigurationError,
    UnansweredRequestError,
)
from memory_pipeline.adapters.postgres import DatabaseUnavailableError
from memory_pipeline.domain.model import BudgetExhaustedError, ModelUnavailableError
from memory_pipeline.stages.heuristic_rules.parser import ParserMissingError
from memory_pipeline.stages.ports import ExtractionError
from memory_pipeline.stages.walk import StalePlanError

STOPS: Final = (BudgetExhaustedError, ModelUnavailableError, ModelConfigurationError)
"""Ends of a run that are no episode's fault: no attempt is counted (spec E5, X13)."""

_SURROUNDINGS: Final = (
    *STOPS,
    OutOfOrderError,
    StalePlanError,
    DatabaseUnavailableError,
    ParserMissingError,
    ImportError,
    MemoryError,
    OSError,
)
_OF_THE_VALUES: Final = (psycopg.DataError, psycopg.IntegrityError)


def is_charged(error: Exception) -> bool:
    """Whether the error counts an attempt of the episode that was at work.

    All do but those of the surroundings: an unforeseen one would block the tenant, and be paid
    for, at every run for ever.
    """
    if isinstance(error, psycopg.Error):
        return isinstance(error, _OF_THE_VALUES)
    return isinstance(error, UnansweredRequestError) or not isinstance(error, _SURROUNDINGS)


def in_words(error: Exception) -> str:
    """An error as the episode keeps it; one that nobody foresaw with its class."""
    if isinstance(error, ExtractionError | UnansweredRequestError):
        return str(error)
    return f"{type(error).__name__}: {error}"


class Attempt:
    """One episode at work: an error that ends it and counts is given to `charge` and goes on.

    Without `charge` it is kept, for `take`. What does not count goes on at once, and so does a
    request to stop.
    """

    def __init__(self, charge: Callable[[Exception], None] | None = None) -> None:
        self._charge = charge
        self._error: Exception | None = None

    def take(self) -> Exception:
        """The error that was kept, once: whoever holds it holds all frames that it went through."""
        error, self._error = self._error, None
        return error or RuntimeError("an attempt ended without result and error")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception) or not is_charged(error):
            return False
        if self._charge is not None:
            self._charge(error)
            return False
        self._error = error
        return True
