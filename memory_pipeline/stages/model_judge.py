"""The judge that asks a language model: one call for all pairs of an episode (spec J2, J3).

Belongs here: how a pair is shown and what becomes of a failure. Does not: which pairs are asked
(stages/deduplicate), wording (prompts), what a verdict does (domain/plan).
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from memory_pipeline.domain.changes import Judgement, PairReason, Verdict
from memory_pipeline.domain.extraction import Tier
from memory_pipeline.domain.model import ModelRequest, ModelUnavailableError, Purpose
from memory_pipeline.prompts.library import JUDGE_CONTRADICTIONS, Prompt, load_prompt
from memory_pipeline.stages.answer_models import JudgeAnswer, strict_schema
from memory_pipeline.stages.answers import (
    Asker,
    BadAnswerError,
    PairVerdict,
    ReadAnswer,
    read_verdicts,
)
from memory_pipeline.stages.heuristic_rules.corrections import read_correction
from memory_pipeline.stages.judge import Question
from memory_pipeline.stages.sanitise import sanitise_line
from memory_pipeline.stages.transcript import derive_fence

JUDGE_VERSION = "model-judge/1"
SCHEMA_NAME = "verdicts"

STATEMENT_CHARS = 500
"""A statement is shown to the judge up to this length."""
_QUOTE_CHARS = 300
_REASON_CHARS = 300


class VerdictStore(Protocol):
    """Verdicts on single pairs by content, where an installation keeps them (spec J2)."""

    def find(self, pair_digests: Sequence[str], request_digest: str) -> Mapping[str, PairVerdict]:
        """The verdicts that are there, by pair digest.

        None when the request named, the one for all of these pairs, was answered and gave none of
        them: a bad or partial answer has the same effect in every replay (spec G1).
        """
        ...

    def keep(
        self, verdicts: Mapping[str, PairVerdict], request_digest: str
    ) -> Mapping[str, PairVerdict]:
        """Keep what the answer to a request says of its pairs, in their order there.

        Gives what is stored after it, which is what counts: the first verdict kept on a pair.
        """
        ...


class ModelJudge:
    """Judges with a language model; what the heuristics corrected in so many words needs none."""

    def __init__(
        self,
        asker: Asker,
        model: str,
        tenant_secret: bytes,
        verdicts: VerdictStore | None = None,
    ) -> None:
        self._asker = asker
        self._model = model
        self._secret = tenant_secret
        self._verdicts = verdicts

    @property
    def version(self) -> str:
        """Names the model and the prompt by its content."""
        return f"{JUDGE_VERSION} {self._model} {load_prompt(JUDGE_CONTRADICTIONS).citation}"

    def judge(self, questions: Sequence[Question]) -> tuple[Judgement, ...]:
        """One judgement for each question, in order; any failure to answer is `neither`.

        Only `BudgetExhaustedError` is let through, since it stops the run (spec X13).
        """
        by_rule = [_corrected_in_words(question) for question in questions]
        asked = [q for q, rule in zip(questions, by_rule, strict=True) if rule is None]
        answered = iter(self._answer(asked))
        return tuple(
            _judgement(question, rule, "rules")
            if rule is not None
            else _judgement(question, next(answered), "model")
            for question, rule in zip(questions, by_rule, strict=True)
        )

    def request(self, questions: Sequence[Question]) -> ModelRequest:
        """The request for all of the questions, in their order."""
        return build_request(questions, self._model, self._secret)

    def _answer(self, questions: Sequence[Question]) -> list[PairVerdict]:
        if not questions:
            return []
        if self._verdicts is None:
            return self._ask(self.request(questions), len(questions))
        digests = [pair_digest(question, self._model) for question in questions]
        pairs: dict[str, Question] = {}
        for digest, question in zip(digests, questions, strict=True):
            pairs.setdefault(digest, question)  # pairs that read equally are one question
        answers = dict(self._verdicts.find(list(pairs), self.request([*pairs.values()]).digest()))
        new = {digest: pair for digest, pair in pairs.items() if digest not in answers}
        if new:
            request = self.request(list(new.values()))
            given = dict(zip(new, self._ask(request, len(new)), strict=True))
            # All or nothing, or a replay would ask anew for the pairs that got no verdict.
            if all(verdict.is_given for verdict in given.values()):
                given |= self._verdicts.keep(given, request.digest())
            answers |= given
        return [answers[digest] for digest in digests]

    def _ask(self, request: ModelRequest, count: int) -> list[PairVerdict]:
        def parse(text: str) -> ReadAnswer[tuple[PairVerdict, ...]]:
            return read_verdicts(text, count)

        try:
            read, _ = self._asker.ask(request, parse, attempt=1)
        except BadAnswerError as error:
            reason = f"the judge's answer could not be read: {error}"
        except ModelUnavailableError as error:
            reason = f"the judge could not be asked: {error}"
        else:
            return list(read.value)
        unjudged = PairVerdict(Verdict.NEITHER, False, reason[:_REASON_CHARS], is_given=False)
        return [unjudged] * count


def build_request(questions: Sequence[Question], model: str, tenant_secret: bytes) -> ModelRequest:
    """The request that asks about all pairs, numbered from 1; equal pairs, equal request."""
    prompt = load_prompt(JUDGE_CONTRADICTIONS)
    pairs = "\n".join(
        f"pair {number}\n{render_pair(question)}" for number, question in enumerate(questions, 1)
    )
    return ModelRequest(
        purpose=Purpose.JUDGE,
        model=model,
        system=prompt.system,
        user=prompt.fill(
            {
                "pair_count": str(len(questions)),
                "fence": derive_fence(tenant_secret, pairs),
                "pairs": pairs,
            }
        ),
        schema_name=SCHEMA_NAME,
        json_schema=strict_schema(JudgeAnswer),
        prompt_digest=prompt.citation,
    )


def pair_digest(question: Question, model: str) -> str:
    """Names a pair by what the judge sees of it, who judges and how it is asked."""
    prompt: Prompt = load_prompt(JUDGE_CONTRADICTIONS)
    content = "\x1f".join((JUDGE_VERSION, prompt.digest, model, render_pair(question)))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def render_pair(question: Question) -> str:
    """Both facts with their periods and quotes; no id, so that equal pairs read equally."""
    claim, fact = question.claim, question.fact
    statement = f"{claim.subject} {claim.predicate} {claim.object}"
    quote = claim.evidence.quote if claim.evidence else ""
    return "\n".join(
        (
            f"old: {sanitise_line(fact.statement, STATEMENT_CHARS)}",
            f"  holds: {_period(fact.valid_from, fact.valid_until, fact.has_stated_start)}",
            f'  said: "{sanitise_line(question.fact_quote, _QUOTE_CHARS)}"',
            f"new: {sanitise_line(statement, STATEMENT_CHARS)}",
            f"  holds: {_period(claim.valid_from, claim.valid_until, claim.has_stated_start)}",
            render_newcomer_quote(claim.said_at, quote),
        )
    )


def render_newcomer_quote(said_at: datetime, quote: str) -> str:
    """The line of a pair that says when and in which words the new fact was stated."""
    return f'  said on {said_at:%Y-%m-%d %a}: "{sanitise_line(quote, _QUOTE_CHARS)}"'


def _period(start: datetime | None, end: datetime | None, has_stated_start: bool) -> str:
    parts = []
    if start is not None:
        parts.append(f"from {start:%Y-%m-%d}" + ("" if has_stated_start else " (when it was said)"))
    parts.append("open" if end is None else f"until {end:%Y-%m-%d}")
    return ", ".join(parts)


def _corrected_in_words(question: Question) -> PairVerdict | None:
    """`Lisbon, not Porto`, as the heuristics read it: the sentence itself is the verdict."""
    claim = question.claim
    if claim.tier is not Tier.HEURISTICS or claim.evidence is None:
        return None
    correction = read_correction(claim.evidence.quote, claim.evidence.quote)
    if correction is None or question.pair.reason is not PairReason.SLOT:
        return None
    old_value = set(question.fact.statement.lower().split())
    if not set(correction.old.split()) <= old_value:
        return None
    return PairVerdict(Verdict.OLD, True, "the user corrects it in so many words")


def _judgement(question: Question, verdict: PairVerdict, judge: str) -> Judgement:
    return Judgement(
        ref=question.pair.ref,
        fact_id=question.pair.fact_id,
        verdict=verdict.verdict,
        is_correction=verdict.verdict is Verdict.OLD and verdict.is_correction,
        reason=verdict.reason,
        judge=judge,
        pair_reason=question.pair.reason,
    )
