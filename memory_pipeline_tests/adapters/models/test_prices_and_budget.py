"""Prices by model id, and budgets that hold them; both without HTTP."""

from pathlib import Path

import pytest

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.models.budget import Budget, BudgetForbidsCallError, configured_budget
from memory_pipeline.adapters.models.endpoint import (
    OPENAI_URL,
    ModelConfigurationError,
    configured_endpoint,
)
from memory_pipeline.adapters.models.prices import load_prices
from memory_pipeline.domain.model import BudgetExhaustedError, Usage

MILLION = Usage(prompt_tokens=1_000_000, cached_tokens=400_000, completion_tokens=1_000_000)


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in vars(environment).values():
        if isinstance(name, str) and name.startswith(("MEMORY_", "OPENAI_")):
            monkeypatch.delenv(name, raising=False)


def test_cached_tokens_cost_their_own_price() -> None:
    # 0.6 M at 0.40, 0.4 M cached at 0.10, 1 M out at 1.60.
    assert load_prices().price("gpt-4.1-mini", MILLION) == pytest.approx(0.24 + 0.04 + 1.60)


@pytest.mark.parametrize("model", ["openai/gpt-4.1-mini", "gpt-4.1-mini-2025-04-14"])
def test_a_model_is_priced_with_a_providers_prefix_and_with_a_date(model: str) -> None:
    assert load_prices().find(model) == load_prices().find("gpt-4.1-mini")


@pytest.mark.parametrize("model", ["llama3.2", "gpt-4.1-mini-of-mine", "gpt"])
def test_an_unknown_model_is_unpriced_and_not_free(model: str) -> None:
    assert load_prices().price(model, MILLION) is None


def test_own_prices_go_before_the_shipped_ones(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text('[models]\n"gpt-4.1" = { input = 9.0 }\n"llama3.2" = { input = 0 }\n')
    prices = load_prices(own)
    assert prices.price("llama3.2", MILLION) == 0.0
    assert prices.price("gpt-4.1", MILLION) == pytest.approx(9.0)
    assert prices.find("gpt-4o") == load_prices().find("gpt-4o")


def test_a_file_that_is_no_price_table_is_named(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text("[models]\nx = { input = -1 }\n")
    with pytest.raises(ModelConfigurationError, match=r"prices\.toml is no price table"):
        load_prices(own)


def test_a_budget_of_nothing_forbids_the_first_call() -> None:
    with pytest.raises(BudgetExhaustedError, match=r"MEMORY_BUDGET_USD=0\b.*spent 0 calls"):
        Budget(usd=0.0).reserve("gpt-4.1", 10, 10)
    with pytest.raises(BudgetExhaustedError, match="MEMORY_BUDGET_TOKENS=0"):
        Budget(tokens=0).reserve("gpt-4.1", 10, 10)


def test_money_is_not_promised_for_a_model_without_a_price() -> None:
    with pytest.raises(BudgetExhaustedError, match=r"no price is known for llama3\.2"):
        Budget(usd=5.0).reserve("llama3.2", 10, 10)


def test_a_server_that_tells_no_usage_is_charged_the_estimate() -> None:
    budget = Budget(tokens=1_000)
    usage = budget.settle(budget.reserve("gpt-4.1", 300, 100), Usage())
    assert usage.price_usd is None
    assert budget.spent.tokens == 400
    assert budget.spent.usd > 0


def test_later_estimates_follow_the_answers_seen() -> None:
    budget = Budget()
    budget.settle(
        budget.reserve("gpt-4.1", 100, 4_096), Usage(prompt_tokens=100, completion_tokens=40)
    )
    assert budget.reserve("gpt-4.1", 100, 4_096).tokens == 140


def test_a_released_reservation_leaves_room() -> None:
    budget = Budget(tokens=100)
    budget.release(budget.reserve("gpt-4.1", 90, 10))
    assert budget.reserve("gpt-4.1", 90, 10).tokens == 100


def test_budget_and_endpoint_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BUDGET_USD", "0.5")
    monkeypatch.setenv("MEMORY_BUDGET_TOKENS", "1e6")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")
    monkeypatch.setenv("MEMORY_MODEL_CONCURRENCY", "3")
    endpoint = configured_endpoint()
    assert endpoint is not None
    assert (endpoint.base_url, endpoint.concurrency) == (OPENAI_URL, 3)
    assert "sk-secret" not in repr(endpoint)
    with pytest.raises(BudgetExhaustedError, match="MEMORY_BUDGET_TOKENS=1000000"):
        configured_budget().reserve("gpt-4.1-nano", 2_000_000, 1)


def test_without_address_and_key_there_is_no_endpoint() -> None:
    assert configured_endpoint() is None


def test_a_variable_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BUDGET_USD", "five")
    with pytest.raises(environment.EnvironmentValueError, match=r"MEMORY_BUDGET_USD.*'five'"):
        configured_budget()


def test_a_limit_below_the_first_call_is_told_from_one_that_was_used_up() -> None:
    with pytest.raises(BudgetForbidsCallError):
        Budget(tokens=0).reserve("gpt-4.1", 10, 10)
    with pytest.raises(BudgetForbidsCallError, match="no price is known"):
        Budget(usd=5.0).reserve("llama3.2", 10, 10)
    budget = Budget(tokens=100)
    budget.settle(budget.reserve("gpt-4.1", 80, 10), Usage(prompt_tokens=90))
    with pytest.raises(BudgetExhaustedError) as raised:
        budget.reserve("gpt-4.1", 80, 10)
    assert not isinstance(raised.value, BudgetForbidsCallError)
