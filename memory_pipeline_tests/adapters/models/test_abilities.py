"""Which lesser request follows a refusal."""

from memory_pipeline.adapters.models.abilities import (
    Abilities,
    AnswerForm,
    learn,
    learned,
    lesser,
    reasoning_switch,
)
from memory_pipeline.adapters.models.endpoint import Endpoint
from memory_pipeline.adapters.models.failures import Failure, FailureKind

ENDPOINT = Endpoint(base_url="http://models.example/v1")


def refusal(parameter: str | None = None, accepted: tuple[str, ...] = ()) -> Failure:
    return Failure(FailureKind.UNSUPPORTED, "no", parameter=parameter, accepted=accepted)


def test_a_refused_effort_is_replaced_by_the_least_that_is_accepted() -> None:
    next_try = lesser(
        Abilities(), refusal("reasoning_effort", ("low", "none")), {"reasoning_effort": "minimal"}
    )
    assert next_try is not None
    assert reasoning_switch(ENDPOINT, "gpt-5-mini", next_try) == {"reasoning_effort": "none"}


def test_an_effort_that_is_refused_again_is_left_out() -> None:
    sent = {"reasoning_effort": "none"}
    abilities = lesser(Abilities(), refusal("reasoning_effort", ("none",)), sent)
    assert abilities is not None
    abilities = lesser(abilities, refusal("reasoning_effort", ("none",)), sent)
    assert abilities is not None
    assert reasoning_switch(ENDPOINT, "gpt-5.4", abilities) == {}


def test_a_refusal_that_names_nothing_drops_switch_then_form_then_temperature() -> None:
    sent = {"reasoning_effort", "response_format", "temperature"}
    abilities = lesser(Abilities(), refusal(), sent)
    assert abilities == Abilities(dropped=frozenset({"reasoning_effort"}))
    abilities = lesser(abilities, refusal(), sent - {"reasoning_effort"})
    assert abilities is not None
    assert abilities.form is AnswerForm.JSON_OBJECT
    abilities = lesser(abilities, refusal(), {"temperature"})
    assert abilities is not None
    assert "temperature" in abilities.dropped
    assert lesser(abilities, refusal(), set()) is None


def test_a_refusal_of_something_that_was_not_sent_counts_as_unnamed() -> None:
    assert lesser(Abilities(), refusal("dimensions"), {"temperature"}) == Abilities(
        dropped=frozenset({"temperature"})
    )


def test_what_two_requests_learned_is_joined() -> None:
    learn(ENDPOINT, "joined", Abilities(form=AnswerForm.TEXT))
    learn(ENDPOINT, "joined", Abilities(dropped=frozenset({"temperature"}), inputs_per_call=32))
    assert learned(ENDPOINT, "joined") == Abilities(
        form=AnswerForm.TEXT, dropped=frozenset({"temperature"}), inputs_per_call=32
    )
    assert learned(ENDPOINT, "another") == Abilities()


def test_public_gateways_get_no_switch_of_ones_own_server() -> None:
    gateway = Endpoint(base_url="https://openrouter.ai/api/v1")
    assert reasoning_switch(gateway, "qwen/qwen3-8b", Abilities()) == {}
