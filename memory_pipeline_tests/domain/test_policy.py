"""Settings in layers, their ranges and sides, and the closed lists of the rules (spec J8)."""

import pytest

from memory_pipeline.domain.policy import (
    Policy,
    PolicyError,
    is_single_valued,
    make_policy,
    setting_names,
)


def test_a_later_layer_wins_and_text_is_read_as_a_number() -> None:
    policy = make_policy({"context_stride": "20", "min_confidence": 0.6}, {"context_stride": 5})
    assert (policy.context_stride, policy.min_confidence) == (5, 0.6)


@pytest.mark.parametrize(
    ("layer", "named"),
    [
        ({"min_confidence": 1.5}, "min_confidence"),
        ({"pairs_per_claim": 0}, "pairs_per_claim"),
        ({"context_stride": "many"}, "context_stride"),
        ({"min_confidense": 0.5}, "min_confidense"),
    ],
)
def test_a_setting_out_of_range_or_unknown_is_refused_by_name(
    layer: dict[str, object], named: str
) -> None:
    with pytest.raises(PolicyError, match=named):
        make_policy(layer)


def test_every_setting_has_a_side_a_default_and_a_description() -> None:
    sides = {*setting_names("write"), *setting_names("read")}
    assert sides == set(Policy.model_fields)
    assert all(f.description and not f.is_required() for f in Policy.model_fields.values())


def test_only_write_side_settings_belong_to_the_recipe() -> None:
    assert set(make_policy().write_side()) == set(setting_names("write"))
    assert "lease_minutes" not in make_policy().write_side()


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("episode_max_messages", 100),
        ("episode_max_tokens", 8_000),
        ("episode_idle_minutes", 30),
        ("max_facts_per_episode", 12),
        ("min_confidence", 0.5),
        ("pairs_per_claim", 10),
        ("pairs_per_call", 60),
        ("context_stride", 1),
        ("extraction_attempts", 3),
    ],
)
def test_defaults_are_those_of_the_specification(name: str, default: float) -> None:
    assert getattr(make_policy(), name) == default


@pytest.mark.parametrize(
    ("predicate", "is_single"),
    [
        ("works at", True),
        ("lives in", True),
        ("has job title", True),
        ("is married to", True),
        ("weighs", True),
        ("has favourite film", True),
        ("has car budget of", True),
        ("likes", False),
        ("owns", False),
        ("has sister", False),
        ("visits", False),
    ],
)
def test_j8_single_valued_predicates_are_a_closed_list(predicate: str, is_single: bool) -> None:
    assert is_single_valued(predicate) is is_single
