-- Fills one tenant with a large memory, as many folds would have left it.
-- Belongs here: rows made from numbers, statement by statement. Does not: vectors' raw material,
-- which comes in `filled_topics` and `filled_noise` (filled_memory.py).

-- name: fill_tenant
insert into memory.tenants (tenant_id) values (%(tenant)s);
insert into memory.embedding_profiles values (%(profile)s, 384, 0.9, 0.92, 0.57, 0.6)
on conflict do nothing;
insert into memory.recipes (tenant_id, recipe_id, content) values (%(tenant)s, %(recipe)s, '{}');
insert into memory.generations (tenant_id, generation_id, number, recipe_id, profile_id, status,
    version, folded_count, folded_ended_at, folded_thread_id, folded_first_seq, last_known_at)
select %(tenant)s, %(generation)s, 1, %(recipe)s, %(profile)s, 'live', %(episodes)s, %(episodes)s,
    last_at, 'fill:' || to_char(%(episodes)s, 'FM000000'), 1, last_at
from (select %(start)s::timestamptz + %(episodes)s * interval '1 hour' as last_at);

-- name: fill_conversations
insert into memory.threads (tenant_id, thread_id, format, title)
select %(tenant)s, 'fill:' || to_char(i, 'FM000000'), 'fill', 'thread ' || i
from generate_series(1, %(episodes)s) i;
insert into memory.messages (tenant_id, message_id, thread_id, seq, source_id, role, is_own, text,
    said_at, token_count)
select %(tenant)s, md5(%(tenant)s || 'm' || i)::uuid, 'fill:' || to_char(i, 'FM000000'), 1, '1',
    'user', true, 'I said something in message ' || i, %(start)s::timestamptz + i * interval '1 hour', 8
from generate_series(1, %(episodes)s) i;
insert into memory.episodes (tenant_id, episode_id, ordinal, thread_id, first_seq, last_seq,
    started_at, ended_at, message_count, own_message_count, token_count, ingest_seq,
    extraction_status, summary_status)
select %(tenant)s, md5(%(tenant)s || 'e' || i)::uuid, i, 'fill:' || to_char(i, 'FM000000'), 1, 1,
    at, at, 1, 1, 8, nextval('memory.episode_ingest_seq'), 'done', 'done'
from generate_series(1, %(episodes)s) i,
    lateral (select %(start)s::timestamptz + i * interval '1 hour' as at);
insert into memory.folds (tenant_id, generation_id, episode_id, fold_number, status, known_at,
    recipe_id)
select %(tenant)s, %(generation)s, md5(%(tenant)s || 'e' || i)::uuid, i, 'folded',
    %(start)s::timestamptz + i * interval '1 hour', %(recipe)s
from generate_series(1, %(episodes)s) i;
insert into memory.stage_outputs (tenant_id, generation_id, episode_id, stage, input_digest, payload)
select %(tenant)s, %(generation)s, md5(%(tenant)s || 'e' || i)::uuid, 'extracted_graphs', 'x', '{}'
from generate_series(1, %(episodes)s) i;

-- name: fill_entities
-- Seven in ten things hang on the user, the others on one of those: a chain of up to three.
insert into memory.entities (tenant_id, generation_id, entity_id, name, type, memory_category,
    known_from, last_linked_at)
values (%(tenant)s, %(generation)s, %(user)s, 'user', 'PERSON', 'identity', %(start)s, %(start)s);
insert into memory.entities (tenant_id, generation_id, entity_id, name, type, memory_category,
    known_from, last_linked_at, embedding)
select %(tenant)s, %(generation)s, md5(%(tenant)s || 'n' || i)::uuid, filled_name(i),
    (array['ORG', 'PLACE', 'PERSON', 'PRODUCT', 'TOPIC'])[1 + i %% 5], 'context', at, at,
    filled_vector(i)
from generate_series(1, %(entities)s) i,
    lateral (select %(start)s::timestamptz
        + (i * %(episodes)s::bigint / (%(entities)s + 1) + 1) * interval '1 hour' as at);
insert into memory.entity_aliases (tenant_id, generation_id, alias, entity_id, reason, known_from)
select %(tenant)s, %(generation)s, 'old ' || filled_name(i), md5(%(tenant)s || 'n' || i)::uuid,
    'stated', %(start)s
from generate_series(1, %(entities)s) i where i %% 3 = 0;

-- name: fill_facts
-- `kind` by the hundred: 14 links of the user, 6 links of things, 10 cross links, 30 texts about
-- things, 40 texts about the user; on top a fifth that ended and a tenth believed no more.
create temporary table filled_facts as
select i, i %% 100 as kind, md5(%(tenant)s || 'f' || i)::uuid as fact_id,
    i > %(facts)s and i <= %(facts)s * 12 / 10 as is_ended, i > %(facts)s * 12 / 10 as is_closed,
    case when i <= %(entities)s then i else 1 + (i * 7919::bigint) %% %(entities)s end as thing,
    %(start)s::timestamptz + (i * 37::bigint %% %(episodes)s + 1) * interval '1 hour' as known_at,
    1 + i * 37::bigint %% %(episodes)s as episode
from generate_series(1, %(facts)s * 13 / 10) i;
insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id, predicate,
    object_id, object_text, statement, valid_time, known_time, confidence, memory_category, tier,
    opened_by, ended_reason, recipe_id, embedding)
select %(tenant)s, %(generation)s, f.fact_id, 1,
    case when s.subject is null then %(user)s else md5(%(tenant)s || 'n' || s.subject)::uuid end,
    s.predicate, md5(%(tenant)s || 'n' || s.object)::uuid, s.text,
    coalesce(filled_name(s.subject), 'user') || ' ' || s.predicate || ' '
        || coalesce(s.text, filled_name(s.object)),
    tstzrange(f.known_at, case when f.is_ended then f.known_at + interval '30 minutes' end),
    tstzrange(f.known_at, case when f.is_closed then f.known_at + interval '20 minutes' end),
    0.9, 'context', 'fast', md5(%(tenant)s || 'e' || f.episode)::uuid,
    case when f.is_ended then 'ended' when f.is_closed then 'invalidated' end,
    %(recipe)s, filled_vector(f.i + 7)
from filled_facts f, lateral (
    select case when f.i <= %(entities)s then case when f.i %% 10 >= 7 then f.i - 1 end
            when f.kind < 50 then f.thing end as subject,
        case when f.i <= %(entities)s then f.i
            when f.kind < 12 then 1 + (f.i * 104729::bigint) %% %(entities)s end as object,
        case when f.i <= %(entities)s then
                (array['owns', 'knows', 'visited', 'uses', 'works with', 'reads'])[1 + f.i %% 6]
            when f.kind < 12 then 'is near'
            when f.kind < 50 then 'has ' || filled_word(f.i %% 50)
            when f.kind < 60 then 'likes'
            else filled_word(f.i %% 8) || ' ' || filled_word((f.i / 8) %% 300) end as predicate,
        case when f.i > %(entities)s and f.kind >= 12 then
            filled_word(f.i %% 400) || ' ' || filled_word((f.i / 400) %% 400) || ' ' || f.i end as text
    ) s
on conflict do nothing;
insert into memory.fact_evidence (tenant_id, generation_id, fact_id, episode_id, claim_ref, kind,
    message_id, span_start, span_end, quote)
select %(tenant)s, %(generation)s, f.fact_id, md5(%(tenant)s || 'e' || f.episode)::uuid, 'c' || f.i,
    'asserted', md5(%(tenant)s || 'm' || f.episode)::uuid, 0, 10, 'said so'
from filled_facts f;
insert into memory.claim_outcomes (tenant_id, generation_id, episode_id, ref, outcome, subject,
    predicate, object, fact_id)
select %(tenant)s, %(generation)s, md5(%(tenant)s || 'e' || f.episode)::uuid, 'c' || f.i,
    'inserted', 'user', 'said', f.i, f.fact_id
from filled_facts f;
insert into memory.uncertainties (tenant_id, generation_id, uncertainty_id, about, reason, subject,
    predicate, known_from)
select %(tenant)s, %(generation)s, f.fact_id, 'something', 'unsure', filled_name(f.thing), 'likes',
    f.known_at
from filled_facts f where f.i %% 20 = 0;
drop table filled_facts;
