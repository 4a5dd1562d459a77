"""Reads the closed word lists (words.toml) and the tables of frequent verbs (rules.toml).

What belongs here: access by name. What does not: the words themselves, and what they mean.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

_PACKAGE = "memory_pipeline.stages.heuristic_rules"


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(_PACKAGE).joinpath(name).read_text("utf-8"))


def words(table: str, name: str) -> frozenset[str]:
    """The words of one list; raises KeyError for a list that is not in the file."""
    text: str = _read("words.toml")[table][name]
    return frozenset(text.split())


def rule_tables() -> dict[str, list[dict[str, str]]]:
    """The entries of rules.toml by kind (`rule`, `ending`)."""
    return _read("rules.toml")


def listed(text: str) -> tuple[str, ...]:
    """The members of a list whose members have several words, written with bars between."""
    return tuple(" ".join(part.split()) for part in text.split("|"))
