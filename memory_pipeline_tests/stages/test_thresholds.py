"""Thresholds of an embedding model, measured on labelled pairs (spec R5).

Belongs here: reading pairs, what is proposed and why. Does not: the command (cli/test_calibrate).
"""

import math
from collections.abc import Sequence

import pytest

from memory_pipeline.domain.embedding import EmbeddingProfile, find_profile
from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.thresholds import (
    Calibration,
    LabelledPair,
    PairError,
    Threshold,
    calibrate,
    read_pairs,
)

CURRENT = find_profile("some/model", 2)


def _measured(
    *pairs: tuple[str, str, str, float], kind: EntityType = EntityType.ORG
) -> Calibration:
    """Calibrates on (label, one, other, cosine); each pair has a plane of its own."""
    angles: dict[str, list[float]] = {}
    for place, (_, one, other, cosine) in enumerate(pairs):
        empty = [0.0] * (2 * len(pairs))
        first, second = empty.copy(), empty.copy()
        first[2 * place] = 1.0
        second[2 * place : 2 * place + 2] = [cosine, math.sqrt(1 - cosine**2)]
        angles |= {_text(one): first, _text(other): second}

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [angles[text] for text in texts]

    labelled = [
        LabelledPair.model_validate({"label": label, "one": one, "other": other, "type": kind})
        for label, one, other, _ in pairs
    ]
    return calibrate(labelled, embed, CURRENT)


def _text(statement: str) -> str:
    return " ".join(statement.replace("|", " ").split())


def _threshold(found: Calibration, name: str) -> Threshold:
    return next(t for t in found.thresholds if t.name == name)


def test_r5_the_merge_threshold_lies_above_every_pair_of_different_names() -> None:
    found = _measured(
        ("different", "halden", "brightwell", 0.91), ("same", "halden works", "brightly", 0.95)
    )
    assert found.proposed.entity_merge == 0.92
    merge = _threshold(found, "entity_merge")
    assert (merge.wrong, merge.wrong_proposed, merge.right_proposed) == (1, 0, 1)


def test_r5_a_pair_at_the_very_threshold_counts_as_reaching_it() -> None:
    assert _measured(("different", "halden", "brightwell", 0.9)).proposed.entity_merge == 0.91


def test_r5_names_that_a_rule_keeps_apart_do_not_raise_the_merge_threshold() -> None:
    found = _measured(("different", "iphone 14", "iphone 15", 0.99), kind=EntityType.PRODUCT)
    assert found.proposed.entity_merge == CURRENT.entity_merge
    assert _threshold(found, "entity_merge").could_be_wrong == 0


def test_r5_the_duplicate_threshold_lies_above_every_pair_that_says_two_things() -> None:
    found = _measured(
        ("related", "user | likes | film music", "user | loves | films with music", 0.97),
        ("duplicate", "user | likes | hiking", "user | enjoys | hikes", 0.99),
    )
    assert found.proposed.duplicate == 0.98
    assert _threshold(found, "duplicate").right_proposed == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("user | likes | cats", "user | does not like | cats"),
        ("user | has | 2 cats", "user | owns | 3 cats"),
        ("user | works at | halden", "user | works at | brightwell"),
        ("user | likes | cats", "tom | loves | cats"),
    ],
)
def test_r5_statements_that_a_guard_keeps_apart_do_not_raise_the_duplicate_threshold(
    one: str, other: str
) -> None:
    found = _measured(("related", one, other, 0.999))
    assert found.proposed.duplicate == CURRENT.duplicate


def test_r5_the_band_keeps_nineteen_of_twenty_related_pairs() -> None:
    pairs = [
        ("related", f"user | does | thing {n}", f"user | did | matter {n}", 0.3 + n / 50)
        for n in range(20)
    ]
    assert _measured(*pairs).proposed.band_low == 0.32


def test_r5_a_shared_slot_is_judged_whatever_the_band() -> None:
    slot = ("related", "user | lives in | lisbon", "user | lives in | porto", 0.1)
    near = ("related", "user | lives in | cork", "user | moved to | oslo", 0.7)
    assert _measured(slot, near).proposed.band_low == 0.7


def test_r5_the_band_never_begins_above_the_duplicate_threshold() -> None:
    found = _measured(
        ("related", "user | likes | cats", "user | adores | felines", 0.99),
        ("unrelated", "user | likes | tea", "user | drives | trucks", 0.3),
    )
    assert found.proposed.band_low <= found.proposed.duplicate


def test_r5_a_threshold_that_no_cosine_may_reach_is_switched_off() -> None:
    found = _measured(("unrelated", "user likes tea", "user drives trucks", 1.0))
    assert found.proposed.duplicate > 1


def test_r5_what_no_pair_speaks_for_stays_as_it_is() -> None:
    assert _measured().proposed == CURRENT


def test_r5_thresholds_hold_when_nothing_is_wrong_and_little_is_missed() -> None:
    good = ("related", "user | likes | cats", "user | adores | felines", 0.85)
    assert _measured(good).holds()
    assert not _measured(good, ("different", "halden", "brightwell", 0.9)).holds()
    assert not _measured(("related", "user | likes | tea", "user | adores | cups", 0.5)).holds()


def test_every_text_is_embedded_once_in_one_call() -> None:
    asked: list[Sequence[str]] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.append(texts)
        return [[1.0] for _ in texts]

    one = LabelledPair(label="same", one="halden", other="brightwell")
    calibrate([one, one], embed, CURRENT)
    assert asked == [["halden", "brightwell"]]


def test_pairs_are_read_from_csv_and_from_json_lines() -> None:
    expected = (
        LabelledPair(label="same", one="a, b", other="c", type=EntityType.ORG),
        LabelledPair(label="related", one="user | is | ill", other="user | is | well"),
    )
    csv_text = (
        'label,type,one,other\nsame,ORG,"a, b",c\nrelated,,user | is | ill,user | is | well\n'
    )
    json_text = "\n".join(pair.model_dump_json() for pair in expected)
    assert read_pairs(csv_text) == read_pairs(json_text, is_json=True) == expected


@pytest.mark.parametrize(
    ("text", "is_json", "message"),
    [
        ("label,one,other\nequal,a,b\n", False, "line 2: label: "),
        ("label,one\nsame,a\n", False, "line 2: other: Field required"),
        ('label,one,other\nsame,"a,b\n', False, "line 2: unexpected end of data"),
        ('{"label": "same", "one": "a", "other": "b"}\nnonsense\n', True, "line 2: the line: "),
    ],
)
def test_a_list_that_cant_be_read_names_the_line(text: str, is_json: bool, message: str) -> None:
    with pytest.raises(PairError, match=message):
        read_pairs(text, is_json=is_json)


def test_a_profile_holds_the_proposed_numbers_under_the_models_own_id() -> None:
    proposed = _measured(("different", "halden", "brightwell", 0.91)).proposed
    assert isinstance(proposed, EmbeddingProfile)
    assert (proposed.profile_id, proposed.dimensions) == ("some/model", 2)
