"""Field report B25: names that differ in a number or letter only, through the real write path.

Belongs here: what must never become one thing, however near. Does not: the rules one by one
(stages/test_resolve).
"""

import pytest

from memory_pipeline_tests.cases.reported import PEOPLE, live, of_report, offered, shortfall
from memory_pipeline_tests.field_reports import needs_reports, report

OWNED = {"subject": "user", "predicate": "owns"}


def kept_apart(
    url: str, known: str, extracted: str, cosine: float, kind: str = "PRODUCT"
) -> list[str]:
    """What is wrong after a known thing's near namesake was named."""
    return shortfall(
        url,
        {"entities_present": [known, extracted], "entity_count": {known: 1, extracted: 1}},
        known_entities=[{"name": known, "type": kind}],
        extracted_entities=[*PEOPLE, {"name": extracted, "type": kind}],
        candidates=[
            {
                "ref": "c1",
                "array": "relationships",
                "subject": "user",
                "predicate": "owns",
                "object": extracted,
                "confidence": 0.9,
            }
        ],
        entity_similarity={f"{extracted}~{known}": cosine},
    )


@needs_reports
def test_b25_another_model_is_another_thing_whatever_its_cosine(database_url: str) -> None:
    case = report("B25")
    given = case["input"]
    name = given["extracted"][0]["name"]
    candidate = {
        "ref": "c1",
        "array": "relationships",
        "subject": "user",
        "predicate": "owns",
        "object": name,
        "confidence": 0.9,
        "sourceQuote": given["messages"][0]["content"],
    }
    expected = {
        "entities_present": case["expected"]["entities"],
        "entity_count": dict.fromkeys(case["expected"]["entities"], 1),
        "rows": [{"id": "c1", "live": True, "object": name}],
    }
    assert (
        shortfall(
            database_url,
            expected,
            known_entities=given["known_entities"],
            extracted_entities=[*PEOPLE, *given["extracted"]],
            entity_similarity=given["entity_similarity"],
            messages=given["messages"],
            candidates=[candidate],
        )
        == []
    )


APART = [
    ("canon r6", "canon r6 mark ii"),
    ("canon r6 mark ii", "canon r6 mark iii"),
    ("canon r6 mark 2", "canon r6 mark 3"),
    ("canon eos r", "canon eos rp"),
    ("sony a7 iii", "sony a7 iiia"),
    ("rocky iii", "rocky iv"),
    ("henry vii", "henry viii"),
    ("iphone 15", "iphone 15 plus"),
    ("mavic", "mavic air"),
    ("python 2.7", "python 27"),
    ("vitamin a", "vitamin d"),
    ("tesla model s", "tesla model y"),
    ("m5 stick", "m5 stick c"),
    ("boeing 737", "boeing 737 max"),
    ("c", "c++"),
    ("c++", "c#"),
    ("galaxy s23", "galaxy s23+"),
    ("canon r6", "canon r6 mark two"),
    ("season one", "season two"),
    ("first street", "second street"),
    ("gtx 1080", "gtx 1080 ti"),
    ("rx 6800", "rx 6800 xt"),
    ("gpt-4", "gpt-4 turbo"),
    ("bmw m3", "bmw m3 touring"),
    ("iphone xs", "iphone xr"),
    ("golf gti", "golf gtd"),
    ("windows xp", "windows me"),
]


@pytest.mark.parametrize(("known", "extracted"), APART)
def test_b25_models_versions_and_numbers_are_kept_apart(
    database_url: str, known: str, extracted: str
) -> None:
    assert kept_apart(database_url, known, extracted, 0.97) == []


def test_b25_two_models_new_in_one_breath_are_kept_apart(database_url: str) -> None:
    names = ["canon r6", "canon r8"]
    assert (
        shortfall(
            database_url,
            {"entity_count": dict.fromkeys(names, 1), "count": 2},
            extracted_entities=[*PEOPLE, *({"name": n, "type": "PRODUCT"} for n in names)],
            candidates=[
                offered(OWNED | {"id": f"c{n}", "object": name}, "edge")
                for n, name in enumerate(names, start=1)
            ],
            entity_similarity={"canon r6~canon r8": 0.99},
        )
        == []
    )


def test_b25_a_value_with_another_number_is_no_duplicate(database_url: str) -> None:
    given = {
        "live": [{"id": "f1", "subject": "user", "predicate": "owns", "object": "a canon r6"}],
        "candidates": [
            {"id": "c1", "subject": "user", "predicate": "bought", "object": "a canon r8"}
        ],
        "similarity": {"c1~f1": 0.99},
    }
    assert shortfall(database_url, {"rows": live("f1", "c1")}, **of_report(given, "literal")) == []
