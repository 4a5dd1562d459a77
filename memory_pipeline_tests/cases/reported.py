"""Cases made of field reports: their facts, candidates and nearness in the runner's words.

Belongs here: what several modules of field reports share. Does not: reports and expectations.
"""

import json
from typing import Any

from memory_pipeline_tests.cases.case_file import read_case
from memory_pipeline_tests.cases.comparing import differences
from memory_pipeline_tests.cases.running import run_case

NOW = "2025-09-15T12:00:00Z"
PEOPLE = [{"name": "user", "type": "PERSON"}]
KINDS = ("edge", "literal")
ARRAYS = {"edge": "relationships", "literal": "literalFacts"}


def shortfall(url: str, expected: dict[str, Any], **given: Any) -> list[str]:
    """Run a case in a database; what is not as expected."""
    content = {"now": NOW, "extracted_entities": PEOPLE} | given
    case = read_case(json.dumps({"id": "R", "given": content, "expected": expected}))
    return differences(case, run_case(case, url, "test"))


def stored(fact: dict[str, Any], kind: str) -> dict[str, Any]:
    """A fact that memory holds."""
    return {"kind": kind, "valid_from": "2024-01-01"} | fact


def offered(item: dict[str, Any], kind: str) -> dict[str, Any]:
    """A candidate as a model returns it."""
    fields = {"id": "ref", "valid_from": "validFrom", "valid_until": "validUntil"}
    renamed = {fields.get(name, name): value for name, value in item.items()}
    return {"array": ARRAYS[kind], "confidence": 0.9} | renamed


def of_report(given: dict[str, Any], kind: str) -> dict[str, Any]:
    """The part of a case that a report's facts, candidates and nearness make."""
    candidates = [offered(item, kind) for item in given["candidates"]]
    objects = [{"name": c["object"], "type": "ORG"} for c in candidates if kind == "edge"]
    return {
        "facts": [stored(fact, kind) for fact in given["live"]],
        "candidates": candidates,
        "extracted_entities": PEOPLE + objects,
        "similarity": given.get("similarity", {}),
        "verdicts": given.get("verdicts", {}),
    }


def live(*names: str) -> list[dict[str, Any]]:
    return [{"id": name, "live": True} for name in names]
