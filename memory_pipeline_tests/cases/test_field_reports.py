"""Faults reported of other systems, by their ids, through the real write path.

Belongs here: reports that become a case of the runner, and other faults of their kind. Does not:
names (test_field_reports_names), extraction (stages), whole histories and Dagster (defs).
"""

from typing import Any

import pytest

from memory_pipeline_tests.cases.reported import KINDS, live, of_report, shortfall
from memory_pipeline_tests.field_reports import needs_reports, report

# --- B01: a mention is no contradiction -------------------------------------------------------


@needs_reports
@pytest.mark.parametrize("kind", KINDS)
def test_b01_mentioning_a_related_thing_retires_nothing(database_url: str, kind: str) -> None:
    case = report("B01")
    expected = {
        "judge_pairs": case["expected"]["judge_pairs"],
        "rows": live(*case["expected"]["live_after"]),
    }
    assert shortfall(database_url, expected, **of_report(case["input"], kind)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_b01_in_the_band_a_mention_is_judged_and_without_a_verdict_both_stand(
    database_url: str, kind: str
) -> None:
    given = {
        "live": [{"id": "f1", "subject": "user", "predicate": "works at", "object": "halden"}],
        "candidates": [
            {"id": "c1", "subject": "user", "predicate": "administers", "object": "halden wiki"}
        ],
        "similarity": {"c1~f1": 0.88},
    }
    expected = {"judge_pairs": [["c1", "f1"]], "rows": live("f1", "c1")}
    assert shortfall(database_url, expected, **of_report(given, kind)) == []


@pytest.mark.parametrize(
    ("subject", "predicate", "thing"),
    [
        ("user", "no longer administers", "halden wiki"),
        ("user", "visited", "halden"),
        ("halden", "is based in", "leiden"),
    ],
)
def test_b01_another_statement_about_the_same_thing_leaves_the_fact(
    database_url: str, subject: str, predicate: str, thing: str
) -> None:
    given = {
        "live": [{"id": "f1", "subject": "user", "predicate": "works at", "object": "halden"}],
        "candidates": [{"id": "c1", "subject": subject, "predicate": predicate, "object": thing}],
        "similarity": {"c1~f1": 0.79},
        "verdicts": {"c1~f1": "old"},
    }
    expected = {"judge_pairs": [], "rows": live("f1", "c1")}
    assert shortfall(database_url, expected, **of_report(given, "edge")) == []


# --- B04: two stays in one place --------------------------------------------------------------


@needs_reports
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("similarity", [{}, {"c1~f1": 1.0}])
def test_b04_same_words_in_disjoint_periods_are_two_stays(
    database_url: str, kind: str, similarity: dict[str, float]
) -> None:
    case = report("B04")
    given = case["input"] | {"live": case["input"]["stored"], "similarity": similarity}
    (first,) = case["input"]["stored"]
    ended = {"id": "f1", "live": False, "superseded": False}
    ended |= {bound: first[bound] for bound in ("valid_from", "valid_until")}
    begun = {"id": "c1", "live": True, "valid_from": case["input"]["candidates"][0]["valid_from"]}
    expected = {"rows": [ended, begun], "count": case["expected"]["rows"], "judge_pairs": []}
    assert shortfall(database_url, expected, **of_report(given, kind)) == []


TEAM = {"subject": "user", "predicate": "is assigned to", "object": "billing team"}


def stay(name: str, valid_from: str | None, valid_until: str | None) -> dict[str, Any]:
    return TEAM | {"id": name, "valid_from": valid_from, "valid_until": valid_until}


@pytest.mark.parametrize(
    ("valid_from", "valid_until"),
    [
        ("2023-06-30", None),
        ("2025-01-01", "2025-03-01"),
        ("2020-01-01", "2021-01-01"),
        ("2022-06-01", "2023-01-01"),
        (None, None),
    ],
)
def test_b04_periods_that_touch_or_lie_before_are_stays_of_their_own(
    database_url: str, valid_from: str | None, valid_until: str | None
) -> None:
    given = {
        "live": [stay("f1", "2023-01-01", "2023-06-30")],
        "candidates": [stay("c1", valid_from, valid_until)],
    }
    kept = {"id": "f1", "valid_from": "2023-01-01", "valid_until": "2023-06-30"}
    expected = {"rows": [kept, {"id": "c1", "valid_until": valid_until}], "judge_pairs": []}
    assert shortfall(database_url, expected, **of_report(given, "literal")) == []


@pytest.mark.parametrize("kind", KINDS)
def test_b04_a_stay_that_begins_after_the_end_ahead_is_no_rewording_of_it(
    database_url: str, kind: str
) -> None:
    given = {
        "live": [stay("f1", "2024-01-01", "2026-01-01")],
        "candidates": [stay("c1", "2027-01-01", None)],
        "similarity": {"c1~f1": 1.0},
    }
    kept = {"id": "f1", "live": True, "valid_until": "2026-01-01"}
    expected = {"rows": [kept, {"id": "c1", "live": True, "valid_from": "2027-01-01"}]}
    assert shortfall(database_url, expected, **of_report(given, kind)) == []


def test_b04_two_stays_told_in_one_breath_are_two_rows(database_url: str) -> None:
    given = {
        "live": [],
        "candidates": [
            stay("c1", "2023-01-01", "2023-06-30"),
            stay("c2", "2025-01-01", None),
        ],
    }
    expected = {
        "rows": [
            {"id": "c1", "live": False, "valid_from": "2023-01-01", "valid_until": "2023-06-30"},
            {"id": "c2", "live": True, "valid_from": "2025-01-01", "valid_until": None},
        ]
    }
    assert shortfall(database_url, expected, **of_report(given, "literal")) == []


# --- B14: verdicts on pairs that nobody asked about -------------------------------------------

JOBS: dict[str, Any] = {
    "live": [{"id": "f1", "subject": "user", "predicate": "works at", "object": "halden"}],
    "candidates": [
        {"id": "c1", "subject": "user", "predicate": "works at", "object": "brightwell"}
    ],
}


@needs_reports
def test_b14_a_verdict_on_a_pair_that_nobody_asked_about_supersedes_nothing(
    database_url: str,
) -> None:
    case = report("B14")
    expected = {"judge_pairs": case["input"]["pairs"], "rows": live("f1", "c1")}
    given = of_report(JOBS, "edge") | {"judge_response_raw": case["input"]["judge_returns"]}
    assert shortfall(database_url, expected | {"episode": "completed"}, **given) == []


@pytest.mark.parametrize(
    "raw",
    [
        {"verdicts": [{"index": -1, "verdict": "old"}]},
        {"verdicts": [{"index": "f1", "verdict": "old"}]},
        {"verdicts": [{"verdict": "old"}]},
        {"verdicts": {"0": "old"}},
        [{"index": 0, "verdict": "old"}],
        "old",
        "",
        None,
    ],
)
def test_b14_whatever_else_a_judge_makes_up_the_pipeline_goes_on(
    database_url: str, raw: object
) -> None:
    given = of_report(JOBS, "edge") | {"judge_response_raw": raw}
    expected = {"rows": live("f1", "c1"), "episode": "completed"}
    assert shortfall(database_url, expected, **given) == []


# --- B41: a slot with another object is judged ------------------------------------------------


@needs_reports
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("likeness", [None, 0.0, 0.3, 1.0])
def test_b41_the_same_slot_with_another_object_is_judged_whatever_the_likeness(
    database_url: str, kind: str, likeness: float | None
) -> None:
    case = report("B41")
    given = of_report(case["input"], kind)
    if likeness is not None:
        given["similarity"] = {"c1~f1": likeness}
    gone = [{"id": n, "live": False, "superseded": True} for n in case["expected"]["superseded"]]
    expected = {
        "judge_pairs": case["expected"]["judge_pairs"],
        "rows": gone + live(*case["expected"]["live_after"]),
    }
    assert shortfall(database_url, expected, **given) == []


@pytest.mark.parametrize(
    "predicate", ["Works At", "works-at", "works_at", "works at.", "  works   at "]
)
def test_b41_a_slot_is_the_same_however_its_predicate_is_spelled(
    database_url: str, predicate: str
) -> None:
    given = JOBS | {"candidates": [JOBS["candidates"][0] | {"predicate": predicate}]}
    given |= {"similarity": {"c1~f1": 0.96}, "verdicts": {"c1~f1": "old"}}
    expected = {
        "judge_pairs": [["c1", "f1"]],
        "rows": [{"id": "f1", "live": False, "superseded": True}, *live("c1")],
    }
    assert shortfall(database_url, expected, **of_report(given, "edge")) == []


def test_b41_the_others_of_a_crowded_slot_are_judged_too(database_url: str) -> None:
    teams = [f"team {letter}" for letter in "abcdefgh"]
    given = {
        "live": [
            {"id": f"f{n}", "subject": "user", "predicate": "works at", "object": team}
            for n, team in enumerate(teams, start=1)
        ],
        "candidates": JOBS["candidates"],
        "similarity": {f"c1~f{n}": 0.96 for n in range(1, 9)},
    }
    expected = {"judge_pairs": [["c1", f"f{n}"] for n in range(1, 9)]}
    assert shortfall(database_url, expected, **of_report(given, "literal")) == []


# --- B45: another worker has made the same thing ----------------------------------------------


def test_b45_a_thing_that_another_worker_has_just_made_is_used_and_the_write_goes_on(
    database_url: str,
) -> None:
    given = of_report(JOBS, "edge") | {
        "facts": [],
        "committed_by_other_job_after_snapshot": [
            {
                "id": "x1",
                "subject": "user",
                "predicate": "owns shares of",
                "object": "brightwell",
                "kind": "edge",
                "valid_from": "2024-01-01",
            }
        ],
    }
    expected = {
        "rows": live("x1", "c1"),
        "entity_count": {"brightwell": 1, "user": 1},
        "episode": "completed",
    }
    assert shortfall(database_url, expected, **given) == []


def test_b45_workers_that_make_the_same_things_at_once_all_come_through(database_url: str) -> None:
    given = of_report(JOBS, "edge") | {"facts": [], "concurrency": 4}
    expected = {
        "rows": live("c1"),
        "entity_count": {"brightwell": 1, "user": 1},
        "episode": "completed",
    }
    assert shortfall(database_url, expected, **given) == []
