"""Verdicts by rules, and the reading of whatever a judge answers (spec J2, J3, J8)."""

import json
import logging

import pytest

from memory_pipeline.domain.changes import Judgement, Pair, PairReason, Verdict
from memory_pipeline.domain.claim import ResolvedClaim
from memory_pipeline.domain.extraction import Tier
from memory_pipeline.domain.fact import FactVersion
from memory_pipeline.stages.judge import (
    Question,
    RulesJudge,
    complete_judgements,
    read_verdicts,
)
from memory_pipeline_tests.domain.memory_builders import claim, fact, judged

HALDEN = fact("f1", "works at", "halden")


def _question(
    claimed: ResolvedClaim, known: FactVersion = HALDEN, why: PairReason = PairReason.SLOT
) -> Question:
    pair = Pair(ref=claimed.claim.ref, fact_id=known.fact_id, reason=why)
    return Question(pair=pair, claim=claimed.claim, fact=known)


QUESTIONS = (
    _question(claim("c1", "works at", "brightwell")),
    _question(claim("c2", "lives in", "leiden"), fact("f2", "lives in", "porto")),
)


def _verdicts(raw: object) -> list[Verdict]:
    text = raw if isinstance(raw, str) else json.dumps(raw)
    return [j.verdict for j in read_verdicts(text, QUESTIONS, judge="model")]


def _by_rules(question: Question) -> Judgement:
    (judgement,) = RulesJudge().judge([question])
    return judgement


@pytest.mark.parametrize(
    ("predicate", "verdict"),
    [
        ("works at", Verdict.OLD),
        ("lives in", Verdict.OLD),
        ("has favourite colour", Verdict.OLD),
        ("has car budget of", Verdict.OLD),
        ("likes", Verdict.NEITHER),
        ("owns", Verdict.NEITHER),
    ],
)
def test_j8_rules_replace_what_has_one_value_at_a_time(predicate: str, verdict: Verdict) -> None:
    judgement = _by_rules(_question(claim("c1", predicate, "new"), fact("f1", predicate, "old")))
    assert (judgement.verdict, judgement.judge) == (verdict, "rules")
    assert not judgement.is_correction


@pytest.mark.parametrize("tier", [Tier.FAST, Tier.STRONG])
def test_j8_rules_never_overrule_a_fact_that_a_model_extracted(tier: Tier) -> None:
    known = fact("f1", "works at", "halden", tier=tier)
    quote = "Actually, I meant Brightwell, not Halden"
    question = _question(claim("c1", "works at", "brightwell", quote=quote), known)
    assert _by_rules(question).verdict is Verdict.NEITHER


@pytest.mark.parametrize(
    ("quote", "verdict"),
    [
        ("I no longer play the cello, I play viola", Verdict.OLD),
        ("I no longer have time, but I play viola", Verdict.NEITHER),
        ("factually, cello and viola are alike", Verdict.NEITHER),
        ("the celloist actually plays viola", Verdict.NEITHER),
    ],
)
def test_j8_a_correction_cue_counts_where_it_names_the_very_fact(
    quote: str, verdict: Verdict
) -> None:
    question = _question(claim("c1", "plays", "viola", quote=quote), fact("f1", "plays", "cello"))
    assert _by_rules(question).verdict is verdict


@pytest.mark.parametrize(
    ("quote", "is_correction"),
    [
        ("I meant leiden, not porto", True),
        ("actually I live in leiden, not in porto", True),
        ("I no longer live in porto, I live in leiden", False),
        ("I live in leiden", False),
    ],
)
def test_j6_a_correction_is_told_from_a_change(quote: str, is_correction: bool) -> None:
    question = _question(
        claim("c1", "lives in", "leiden", quote=quote), fact("f1", "lives in", "porto")
    )
    judgement = _by_rules(question)
    assert (judgement.verdict, judgement.is_correction) == (Verdict.OLD, is_correction)


def test_d5_without_a_correction_cue_another_start_stays_as_it_was() -> None:
    known = fact("f1", "lives in", "porto")
    quiet = claim("c1", "lives in", "porto", since="2024-04-01", quote="porto since april")
    plain = claim("c1", "lives in", "porto", since="2024-04-01", quote="I meant april, not march")
    assert _by_rules(_question(quiet, known, PairReason.REDATED)).verdict is Verdict.NEITHER
    assert _by_rules(_question(plain, known, PairReason.REDATED)).verdict is Verdict.OLD


def test_j3_verdicts_are_read_by_index() -> None:
    answer = {
        "verdicts": [
            {"index": 1, "reason": "moved", "verdict": "old", "is_correction": True},
            {"index": 0, "reason": "adds nothing", "verdict": "new"},
        ]
    }
    first, second = read_verdicts(json.dumps(answer), QUESTIONS, judge="model/2")
    assert (first.verdict, first.ref, first.reason) == (Verdict.NEW, "c1", "adds nothing")
    assert (second.verdict, second.ref, second.is_correction) == (Verdict.OLD, "c2", True)
    assert {first.judge, second.judge} == {"model/2"}


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "Sorry, the service is overloaded",
        'Sorry, the service is overloaded {"verdicts": [{"index": 0, "inv',
        "null",
        "[]",
        "{}",
        {"verdicts": None},
        {"verdicts": {"0": "old"}},
        {"verdicts": [None, 3, "old", [0, "old"]]},
        {"verdicts": [{"index": -1, "verdict": "old"}, {"index": 2, "verdict": "old"}]},
        {"verdicts": [{"index": True, "verdict": "old"}, {"index": 0.0, "verdict": "old"}]},
        {"verdicts": [{"index": 0, "verdict": "both"}, {"index": 1, "verdict": ["old"]}]},
        {"verdicts": [{"index": 0}, {"verdict": "old"}]},
        {"verdicts": [{"index": 0, "verdict": "not_judged"}]},
        {"verdicts": [{"index": 0, "verdict": "old"}, {"index": 0, "verdict": "new"}]},
    ],
)
def test_j3_whatever_can_not_be_read_leaves_neither(raw: object) -> None:
    assert _verdicts(raw) == [Verdict.NEITHER, Verdict.NEITHER]


def test_j3_one_bad_item_never_loses_its_good_neighbours() -> None:
    raw = {"verdicts": [{"index": 0, "verdict": "both"}, {"index": 1, "verdict": "old"}]}
    assert _verdicts(raw) == [Verdict.NEITHER, Verdict.OLD]


def test_x11_prose_and_fences_around_the_answer_and_other_spellings_do_no_harm() -> None:
    raw = 'Here you are:\n```json\n{"verdicts": [{"index": "0", "invalidate": "old"}]}\n```\nBye!'
    assert _verdicts(raw) == [Verdict.OLD, Verdict.NEITHER]


def test_b14_a_made_up_index_is_skipped_with_a_readable_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        verdicts = _verdicts({"verdicts": [{"index": "12", "invalidate": "old"}]})
    assert verdicts == [Verdict.NEITHER, Verdict.NEITHER]
    assert "a pair that was not asked: {'index': '12', 'invalidate': 'old'}" in caplog.text


def test_j3_a_question_without_an_answer_counts_as_neither_and_strangers_are_left_out() -> None:
    answers = [judged("c2", "f2"), judged("c7", "f1")]
    judgements = complete_judgements(QUESTIONS, answers)
    assert [(j.ref, j.verdict) for j in judgements] == [
        ("c1", Verdict.NEITHER),
        ("c2", Verdict.OLD),
    ]
