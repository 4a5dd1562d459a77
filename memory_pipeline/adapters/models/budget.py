"""What one run may spend on models, in money and in tokens (spec X13).

Belongs here: limits, reservations, sums. Does not: prices (prices) and who is asked.
"""

import threading
from dataclasses import dataclass

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.models.prices import PriceTable, load_prices
from memory_pipeline.domain.model import BudgetExhaustedError, Usage

FIRST_ANSWER_TOKENS = 512
"""Completion tokens expected of a model that has not answered yet."""


class BudgetForbidsCallError(BudgetExhaustedError):
    """The limits allow not even the first call: they must change, another run is no use."""


@dataclass(frozen=True)
class Spending:
    """Sums so far. `usd` counts priced calls only; `unpriced_calls` says how many it leaves out.

    A try that was sent and gave nothing to read is a call with its estimated prompt.
    """

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    unpriced_calls: int = 0

    def __str__(self) -> str:
        unpriced = f", {self.unpriced_calls} calls unpriced" if self.unpriced_calls else ""
        return f"{self.calls} calls, {self.tokens} tokens, {self.usd:.4f} USD{unpriced}"


@dataclass(frozen=True)
class Reservation:
    """What a call that is under way is expected to cost."""

    model: str
    tokens: int
    usd: float | None
    prompt_tokens: int = 0


class Budget:
    """Limits shared by all threads of a run; a call is checked before it is sent, charged after.

    Open calls count with their estimate, so that parallel ones don't overshoot together.
    """

    def __init__(
        self,
        *,
        usd: float | None = None,
        tokens: int | None = None,
        prices: PriceTable | None = None,
    ) -> None:
        self.prices = load_prices() if prices is None else prices
        self._usd = usd
        self._tokens = tokens
        self._lock = threading.Lock()
        self._spent = Spending()
        self._open: list[Reservation] = []
        self._answers: dict[str, tuple[int, int]] = {}

    @property
    def spent(self) -> Spending:
        """What the calls cost so far, answered or lost."""
        with self._lock:
            return self._spent

    def reserve(self, model: str, prompt_tokens: int, max_tokens: int) -> Reservation:
        """Room for one call. Raises `BudgetExhaustedError` with what was spent when none is left.

        A model without a price can't be held to a limit in money, so such a limit refuses it.
        """
        with self._lock:
            answer = min(max_tokens, self._usual_answer(model)) if max_tokens else 0
            estimate = Usage(prompt_tokens=prompt_tokens, completion_tokens=answer)
            reservation = Reservation(
                model=model,
                tokens=prompt_tokens + answer,
                usd=self.prices.price(model, estimate),
                prompt_tokens=prompt_tokens,
            )
            self._check(reservation)
            self._open.append(reservation)
            return reservation

    def settle(self, reservation: Reservation, usage: Usage) -> Usage:
        """Charge what the call cost; the same usage with its price. No usage told: the estimate."""
        is_told = usage.prompt_tokens > 0 or usage.completion_tokens > 0
        price = self.prices.price(reservation.model, usage) if is_told else None
        with self._lock:
            self._open.remove(reservation)
            calls, sum_of_answers = self._answers.get(reservation.model, (0, 0))
            if is_told:
                self._answers[reservation.model] = (
                    calls + 1,
                    sum_of_answers + usage.completion_tokens,
                )
            tokens = usage.prompt_tokens + usage.completion_tokens
            usd = price if is_told else reservation.usd
            self._spent = Spending(
                calls=self._spent.calls + 1,
                tokens=self._spent.tokens + (tokens if is_told else reservation.tokens),
                usd=self._spent.usd + (usd or 0.0),
                unpriced_calls=self._spent.unpriced_calls + (usd is None),
            )
        return usage.model_copy(update={"price_usd": price})

    def charge_unread(self, reservation: Reservation) -> None:
        """Charge the prompt of a try that was sent and whose answer could not be read.

        Providers charge for those too. The reservation stays open for the next try; raises
        `BudgetExhaustedError` when that no longer fits.
        """
        prompt = Usage(prompt_tokens=reservation.prompt_tokens)
        with self._lock:
            usd = self.prices.price(reservation.model, prompt)
            self._spent = Spending(
                calls=self._spent.calls + 1,
                tokens=self._spent.tokens + reservation.prompt_tokens,
                usd=self._spent.usd + (usd or 0.0),
                unpriced_calls=self._spent.unpriced_calls + (usd is None),
            )
            self._open.remove(reservation)
            try:
                self._check(reservation)
            finally:
                self._open.append(reservation)

    def release(self, reservation: Reservation) -> None:
        """The call came to nothing and costs nothing."""
        with self._lock:
            self._open.remove(reservation)

    def _usual_answer(self, model: str) -> int:
        calls, tokens = self._answers.get(model, (0, 0))
        return tokens // calls if calls else FIRST_ANSWER_TOKENS

    def _check(self, wanted: Reservation) -> None:
        open_tokens = sum(item.tokens for item in self._open)
        open_usd = sum(item.usd or 0.0 for item in self._open)
        if self._tokens is not None:
            needed = self._spent.tokens + open_tokens + wanted.tokens
            if needed > self._tokens:
                raise self._refusal(wanted.tokens > self._tokens)(
                    f"the token budget is used up ({environment.BUDGET_TOKENS}={self._tokens}): "
                    f"spent {self._spent}; the next call needs about {wanted.tokens} tokens"
                )
        if self._usd is None:
            return
        if wanted.usd is None:
            raise BudgetForbidsCallError(
                f"{environment.BUDGET_USD} is set but no price is known for {wanted.model}: add "
                f"it to a file named by {environment.PRICES_FILE}, or limit tokens with "
                f"{environment.BUDGET_TOKENS}; spent so far: {self._spent}"
            )
        if self._spent.usd + open_usd + wanted.usd > self._usd:
            raise self._refusal(wanted.usd > self._usd)(
                f"the budget is used up ({environment.BUDGET_USD}={self._usd:g}): spent "
                f"{self._spent}; the next call needs about {wanted.usd:.4f} USD"
            )

    @staticmethod
    def _refusal(is_beyond_any_run: bool) -> type[BudgetExhaustedError]:
        return BudgetForbidsCallError if is_beyond_any_run else BudgetExhaustedError


def configured_budget() -> Budget:
    """The budget of the environment; without limits it only counts."""
    return Budget(
        usd=environment.budget_usd(),
        tokens=environment.budget_tokens(),
        prices=load_prices(environment.prices_file()),
    )
