"""What tokens cost: a table in a file, in US dollars per million tokens.

Belongs here: reading the table, the price of a usage. Does not: limits (budget), the numbers
themselves (prices.toml).
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory_pipeline.adapters.models.endpoint import ModelConfigurationError
from memory_pipeline.domain.model import Usage

_SHIPPED: Final = Path(__file__).with_name("prices.toml")
_DATED: Final = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")
_MILLION: Final = 1_000_000


class ModelPrice(BaseModel):
    """US dollars per million tokens; cached input costs as much as other input unless given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    output: float = Field(default=0.0, ge=0)

    def of(self, usage: Usage) -> float:
        """US dollars for this usage; `prompt_tokens` include the cached ones."""
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        cached_price = self.input if self.cached_input is None else self.cached_input
        fresh = usage.prompt_tokens - cached
        return (
            fresh * self.input + cached * cached_price + usage.completion_tokens * self.output
        ) / _MILLION


class _TableFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    collected: str = ""
    models: Mapping[str, ModelPrice]


@dataclass(frozen=True)
class PriceTable:
    """Prices by model id."""

    models: Mapping[str, ModelPrice]

    def find(self, model: str) -> ModelPrice | None:
        """The price of a model, with or without a provider's prefix and a snapshot's date."""
        bare = model.rpartition("/")[2]
        for name in (model, bare, _DATED.sub("", bare)):
            if name in self.models:
                return self.models[name]
        return None

    def price(self, model: str, usage: Usage) -> float | None:
        """US dollars for this usage, or None when the model is in no table."""
        found = self.find(model)
        return None if found is None else found.of(usage)


def load_prices(own_file: Path | None = None) -> PriceTable:
    """The shipped table with the entries of `own_file` before it.

    Raises `ModelConfigurationError` when a file can't be read as a price table.
    """
    own = {} if own_file is None else _read(own_file)
    return PriceTable({**_read(_SHIPPED), **own})


def _read(path: Path) -> Mapping[str, ModelPrice]:
    try:
        return _TableFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).models
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ModelConfigurationError(f"{path} is no price table: {reason}") from error
