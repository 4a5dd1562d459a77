"""Model requests as they were sent or would be, with every answer they got (spec Q2, G3).

Belongs here: stored requests, the extraction request of an episode, judge requests by their pairs.
Does not: what a request says (stages, prompts), sending one.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.memory_store import MemoryStore
from memory_pipeline.adapters.postgres import Database, Row
from memory_pipeline.adapters.tenant_settings import tenant_policy
from memory_pipeline.adapters.workshop import open_embedder
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import KnownLists, Tier
from memory_pipeline.domain.ids import GenerationId, TenantId
from memory_pipeline.domain.model import ModelRequest, Purpose, Usage
from memory_pipeline.domain.policy import Policy, setting_names
from memory_pipeline.reading.scope import Instant, NotFoundError, Reading, read
from memory_pipeline.stages.extract import NO_MODEL as NO_MODEL_THEN
from memory_pipeline.stages.extract import build_request, render_request
from memory_pipeline.stages.sanitise import sanitise_line
from memory_pipeline.stages.transcript import write_transcript

NO_MODEL = "(no model configured)"
"""What a request that can't be sent names as its model."""

_STATEMENT_CHARS = 500
_SETTINGS = frozenset(setting_names("write"))
_MODEL_TIERS = {Tier.FAST.value, Tier.STRONG.value}


class AnswerShown(Reading):
    """One answer; a refused one has a `problem` and was never used."""

    attempt: int
    is_valid: bool
    problem: str
    finish_reason: str
    text: str
    usage: Usage
    latency_ms: int
    recorded_at: Instant


class RequestShown(Reading):
    """One request; `rendered` is all that the model is shown, as a person reads it."""

    digest: str
    purpose: Purpose
    model: str
    prompt: str
    rendered: str
    answers: tuple[AnswerShown, ...] = ()


class EpisodeRequests(Reading):
    """What a model was asked, or would be asked, to extract from an episode.

    `origin` is `built` when the request was made for this answer and never sent; `note` says in
    a sentence what became of the episode, `tier` which tier extracted it, None when none did yet.
    """

    tenant: str
    episode: int
    thread_id: str
    origin: Literal["stored", "built"]
    tier: str | None
    tier_reason: str
    note: str
    requests: tuple[RequestShown, ...]


def read_requests(
    database: Database, tenant_id: TenantId, digests: Sequence[str]
) -> tuple[RequestShown, ...]:
    """The stored requests of these digests, in this order; unknown ones are left out."""
    if not digests:
        return ()
    (rows,) = read(
        database, tenant_id, ("requests_with_answers", {"request_digests": list(digests)})
    )
    by_digest: dict[str, list[Row]] = {digest: [] for digest in digests}
    for row in rows:
        by_digest[row["request_digest"]].append(row)
    return tuple(_stored(found) for found in by_digest.values() if found)


def read_judge_requests(
    database: Database, tenant_id: TenantId, pairs: Iterable[tuple[str, str]]
) -> tuple[RequestShown, ...]:
    """The judge requests that show one of the pairs (old statement, new statement).

    They are found by what they say: a pair that was judged again later gives several.
    """
    lines = [(_line("old", old), _line("new", new)) for old, new in pairs]
    if not lines:
        return ()
    keys = {"old_lines": [old for old, _ in lines], "new_lines": [new for _, new in lines]}
    (rows,) = read(database, tenant_id, ("judge_requests_of_pairs", keys))
    return read_requests(database, tenant_id, [row["request_digest"] for row in rows])


def read_episode_requests(database: Database, tenant_id: TenantId, ordinal: int) -> EpisodeRequests:
    """The extraction requests of an episode: as stored, else one built as it would be sent.

    A built one shows memory as it was before the episode's stride, and names the configured
    model, or that there is none; nobody is asked. Raises `NotFoundError`.
    """
    (rows,) = read(database, tenant_id, ("episode_to_extract", {"ordinal": ordinal}))
    if not rows:
        raise NotFoundError(
            f"tenant {tenant_id!r} has no episode {ordinal}: "
            "`memory-pipeline episodes --tenant NAME` lists the ordinals"
        )
    (row,) = rows
    shown = read_requests(database, tenant_id, row["request_digests"])
    if shown:
        return _episode(tenant_id, row, shown, _note(row))
    request = _as_it_would_be_sent(database, tenant_id, row)
    # Answers of an episode that failed: the request was sent, and its answers were refused.
    sent = read_requests(database, tenant_id, [request.digest()])
    if sent:
        return _episode(tenant_id, row, sent, _note(row))
    return _episode(tenant_id, row, (_shown(request),), _note_on_built(row), is_built=True)


def _episode(
    tenant_id: TenantId,
    row: Row,
    requests: tuple[RequestShown, ...],
    note: str,
    *,
    is_built: bool = False,
) -> EpisodeRequests:
    return EpisodeRequests(
        tenant=tenant_id,
        episode=row["ordinal"],
        thread_id=row["thread_id"],
        origin="built" if is_built else "stored",
        tier=row["tier"],
        tier_reason=row["tier_reason"],
        note=note,
        requests=requests,
    )


def _as_it_would_be_sent(database: Database, tenant_id: TenantId, row: Row) -> ModelRequest:
    settings = {name: set_to for name, set_to in row["settings"] or () if name in _SETTINGS}
    policy = tenant_policy(database, tenant_id, settings)
    (window,) = ConversationStore(database).windows(tenant_id, [row])
    known = _known_lists(database, window, row, policy)
    transcript = write_transcript(window, bytes(row["secret"].bytes))
    return build_request(transcript, known, environment.fast_model() or NO_MODEL)


def _known_lists(database: Database, window: Window, row: Row, policy: Policy) -> KnownLists:
    if row["generation_id"] is None:
        return KnownLists(user_names=tuple(sorted({name.lower() for name in row["user_names"]})))
    store = MemoryStore(database, window.tenant_id, GenerationId(row["generation_id"]))
    stride_start = row["place"] - row["place"] % policy.context_stride
    boundary = min(stride_start, row["folded_count"])
    (known,), _ = store.stride_context(
        [window],
        policy,
        boundary,
        lambda texts: open_embedder(database, window.tenant_id).embed(texts),
    )
    return known


def _note(row: Row) -> str:
    if row["tier"] is None:
        return f"Sent, but no answer could be used: the episode is {_status(row)}."
    return f"Extracted by the {row['tier']} tier{_because(row)}."


def _note_on_built(row: Row) -> str:
    if row["tier"] in _MODEL_TIERS:
        return "What was sent is no longer stored. This is the request as it would be sent now."
    if row["tier_reason"] == NO_MODEL_THEN and environment.fast_model():
        return (
            "Never sent: when it was extracted, no model was configured. "
            "This is the request a model would get."
        )
    if row["tier"] is not None:
        return (
            f"Never sent: the {row['tier']} tier was enough{_because(row)}. "
            "This is the request a model would get."
        )
    missing = row["place"] - (row["folded_count"] or 0)
    if missing <= 0:
        return f"Not sent: the episode is {_status(row)}. This is the request a model would get."
    return (
        f"Not sent: the episode is {_status(row)}, and {missing} before it are still open. "
        "This is the request a model would get if memory stayed as it is."
    )


def _because(row: Row) -> str:
    return f" ({row['tier_reason']})" if row["tier_reason"] else ""


def _status(row: Row) -> str:
    status = str(row["status"]).replace("_", " ")
    return f"{status} ({row['error']})" if row["error"] else status


def _stored(rows: Sequence[Row]) -> RequestShown:
    request = ModelRequest.model_validate(rows[0]["request"])
    answers = [AnswerShown(**row, text=row["raw_answer"]) for row in rows]
    return _shown(request).model_copy(
        update={"digest": rows[0]["request_digest"], "answers": tuple(answers)}
    )


def _shown(request: ModelRequest) -> RequestShown:
    return RequestShown(
        digest=request.digest(),
        purpose=request.purpose,
        model=request.model,
        prompt=request.prompt_digest,
        rendered=render_request(request),
    )


def _line(side: str, statement: str) -> str:
    """How a judge request shows one side of a pair."""
    return f"{side}: {sanitise_line(statement, _STATEMENT_CHARS)}\n"
