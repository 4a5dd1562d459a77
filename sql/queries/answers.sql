-- Model answers by the content of their request, one tenant each. At most one answer of a request
-- is valid; refused ones stay for inspection under their attempt.

-- name: stored_answers
-- The valid answers of some requests, the earliest of each if there should be more.
select distinct on (a.request_digest) a.request_digest, a.attempt, a.raw_answer, a.answer, a.usage,
    a.latency_ms
from memory.model_answers a
where a.tenant_id = %(tenant_id)s and a.request_digest = any(%(request_digests)s) and a.is_valid
order by a.request_digest, a.attempt;

-- name: refused_answer
-- The answer that was refused in an attempt; a later one stands for earlier attempts too.
select a.attempt, a.raw_answer, a.answer, a.usage, a.latency_ms
from memory.model_answers a
where a.tenant_id = %(tenant_id)s and a.request_digest = %(request_digest)s
    and not a.is_valid and a.attempt >= %(attempt)s
order by a.attempt
limit 1;

-- name: lock_answer
-- Answers of one request are kept one after the other, until the end of the transaction.
select pg_advisory_xact_lock(
    hashtextextended('memory answer:' || %(tenant_id)s || ' ' || %(request_digest)s, 0));

-- name: keep_answer
-- Keeps an answer, unless a valid one is there already; returns the one that counts.
with winner as (
    select a.attempt, a.raw_answer, a.answer, a.usage, a.latency_ms
    from memory.model_answers a
    where a.tenant_id = %(tenant_id)s and a.request_digest = %(request_digest)s
        and a.is_valid and %(is_valid)s
    order by a.attempt
    limit 1
), kept as (
    insert into memory.model_answers (tenant_id, request_digest, attempt, purpose, model,
        prompt_digest, schema_digest, request, answer, raw_answer, is_valid, usage, latency_ms)
    select %(tenant_id)s, %(request_digest)s, greatest(%(attempt)s, (
            select coalesce(max(b.attempt), 0) + 1 from memory.model_answers b
            where b.tenant_id = %(tenant_id)s and b.request_digest = %(request_digest)s)),
        %(purpose)s, %(model)s, %(prompt_digest)s, %(schema_digest)s, %(request)s, %(answer)s,
        %(raw_answer)s, %(is_valid)s, %(usage)s, %(latency_ms)s
    where not exists (select from winner)
    returning attempt, raw_answer, answer, usage, latency_ms
)
select attempt, raw_answer, answer, usage, latency_ms, false as is_new from winner
union all
select attempt, raw_answer, answer, usage, latency_ms, true from kept;

-- name: refuse_stored_answer
-- A stored answer that the present parser can't use is no longer reused.
update memory.model_answers
set is_valid = false, answer = answer || jsonb_build_object('problem', %(problem)s::text)
where tenant_id = %(tenant_id)s and request_digest = %(request_digest)s
    and attempt = %(attempt)s;

-- name: stored_vectors
-- Vectors of texts that were embedded before, by digest of model and text.
select a.request_digest, a.raw_answer
from memory.model_answers a
where a.tenant_id = %(tenant_id)s and a.request_digest = any(%(request_digests)s) and a.is_valid;

-- name: keep_vector
-- Keeps the vector of one text; whoever came first wins.
insert into memory.model_answers (tenant_id, request_digest, attempt, purpose, model,
    prompt_digest, schema_digest, request, answer, raw_answer, is_valid, usage, latency_ms)
values (%(tenant_id)s, %(request_digest)s, 1, 'embed', %(model)s, '', '', %(request)s, null,
    %(raw_answer)s, true, '{}', 0)
on conflict do nothing;

-- name: pair_verdicts
-- Verdicts on pairs; none when the request for all of them was answered and gave no verdict.
select v.pair_digest, v.verdict, v.is_correction, v.reason
from memory.pair_verdicts v
where v.tenant_id = %(tenant_id)s and v.pair_digest = any(%(pair_digests)s)
    and (not exists (
            select from memory.model_answers a
            where a.tenant_id = %(tenant_id)s and a.request_digest = %(request_digest)s)
        or exists (
            select from memory.pair_verdicts o
            where o.tenant_id = %(tenant_id)s and o.pair_digest = any(%(pair_digests)s)
                and o.request_digest = %(request_digest)s));

-- name: keep_pair_verdicts
-- Keeps the verdicts of one answer; whoever came first wins. Sorted, so that nobody waits in a ring.
insert into memory.pair_verdicts (tenant_id, pair_digest, verdict, is_correction, reason,
    request_digest, pair_number)
select %(tenant_id)s, p.pair_digest, p.verdict, p.is_correction, p.reason, %(request_digest)s,
    p.pair_number
from unnest(%(pair_digests)s::text[], %(verdicts)s::text[], %(corrections)s::boolean[],
    %(reasons)s::text[]) with ordinality
    as p (pair_digest, verdict, is_correction, reason, pair_number)
order by p.pair_digest
on conflict do nothing;

-- name: kept_pair_verdicts
-- The verdicts that count, whoever kept them.
select v.pair_digest, v.verdict, v.is_correction, v.reason
from memory.pair_verdicts v
where v.tenant_id = %(tenant_id)s and v.pair_digest = any(%(pair_digests)s);
