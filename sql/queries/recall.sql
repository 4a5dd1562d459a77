-- name: recall
-- The best facts for a query, profiles of what it names and they are about, active instructions.
with live as materialized (
    select g.generation_id, g.profile_id, g.last_known_at, t.secret
    from memory.tenants t
    left join memory.generations g on g.tenant_id = t.tenant_id and g.status = 'live'
    where t.tenant_id = %(tenant_id)s
), searched as materialized (
    select l.generation_id, l.last_known_at from live l
    where l.generation_id is not null
        and (%(profile_id)s::text is null or l.profile_id = %(profile_id)s)
), anchors as materialized (
    select a.entity_id, a.place
    from searched l
    cross join lateral memory.recall_anchors(
        %(tenant_id)s, l.generation_id, %(spans)s::text[], %(vector)s::halfvec,
        %(known_at)s::timestamptz, %(anchor_similarity)s, %(anchors)s) as a
), found as materialized (
    select r.place, r.score, r.vector_rank, r.anchor_rank, r.text_rank,
        r.newest_rank, f.fact_id, f.content_key, f.subject_id, f.object_id, f.predicate,
        f.object_text, f.statement, f.valid_time, f.known_time, f.ended_reason, f.successor_id,
        f.confidence, f.memory_category, f.opened_by
    from searched l
    cross join lateral memory.recall_facts(
        %(tenant_id)s, l.generation_id, %(query)s, %(vector)s::halfvec, array(
            select unnest(memory.merged_into(%(tenant_id)s, l.generation_id, a.entity_id))
            from anchors a),
        %(valid_at)s::timestamptz, %(known_at)s::timestamptz, %(min_confidence)s::real, %(k)s,
        %(depth)s, %(limit)s) as r
    join memory.facts f on f.tenant_id = %(tenant_id)s and f.generation_id = l.generation_id
        and f.fact_id = r.fact_id and f.version = r.version
), ends as materialized (
    select distinct e.entity_id as raw_id, case when e.redirect_to is null then e.entity_id
            else memory.winner_of(%(tenant_id)s, l.generation_id, e.entity_id) end as entity_id
    from searched l
    cross join found f
    join memory.entities e on e.tenant_id = %(tenant_id)s and e.generation_id = l.generation_id
        and e.entity_id in (f.subject_id, f.object_id)
), named as materialized (
    select n.raw_id, n.entity_id, e.name
    from searched l
    cross join ends n
    join memory.entities e on e.tenant_id = %(tenant_id)s and e.generation_id = l.generation_id
        and e.entity_id = n.entity_id
), about (entity_id, place) as (
    select m.entity_id, min(m.place)
    from (
        select a.entity_id, a.place from anchors a
        union all
        select n.entity_id, 1000 + f.place from found f
        join named n on n.raw_id in (f.subject_id, f.object_id)) as m
    group by m.entity_id
)
select 'generation' as kind, 0 as place,
    jsonb_build_object('profile_id', l.profile_id, 'secret', l.secret) as item
from live l
union all
select 'fact', f.place, jsonb_build_object(
    'score', f.score, 'ranks', jsonb_build_object('vector', f.vector_rank,
        'anchor', f.anchor_rank, 'text', f.text_rank, 'newest', f.newest_rank),
    'fact_id', f.fact_id, 'content_key', f.content_key, 'statement', f.statement,
    'subject', s.name, 'predicate', f.predicate,
    'object', coalesce(o.name, f.object_text, f.statement),
    'object_is_entity', f.object_id is not null,
    'valid_from', lower(f.valid_time), 'valid_until', upper(f.valid_time),
    'known_from', lower(f.known_time), 'known_until', upper(f.known_time),
    'ended_reason', f.ended_reason, 'successor_id', f.successor_id,
    'confidence', f.confidence, 'memory_category', f.memory_category,
    'source_quote', v.quote, 'message_id', v.message_id, 'span_start', v.span_start,
    'span_end', v.span_end, 'episode', e.ordinal)
from searched l
cross join found f
join named s on s.raw_id = f.subject_id
left join named o on o.raw_id = f.object_id
left join memory.episodes e on e.tenant_id = %(tenant_id)s and e.episode_id = f.opened_by
left join lateral (
    select w.quote, w.message_id, w.span_start, w.span_end from memory.fact_evidence w
    where w.tenant_id = %(tenant_id)s and w.generation_id = l.generation_id
        and w.fact_id = f.fact_id and w.kind in ('asserted', 'corrected')
    order by w.kind, w.claim_ref
    limit 1) as v on true
union all
select 'profile', b.place, jsonb_build_object(
    'entity', e.name, 'type', e.type, 'text', p.text, 'is_stale', exists (
        select from memory.dirty_entities d
        where d.tenant_id = %(tenant_id)s and d.generation_id = l.generation_id
            and d.entity_id = b.entity_id and d.bumps > 0))
from searched l
cross join about b
join memory.profiles p on p.tenant_id = %(tenant_id)s and p.generation_id = l.generation_id
    and p.entity_id = b.entity_id and p.retired_at is null
join memory.entities e on e.tenant_id = %(tenant_id)s and e.generation_id = l.generation_id
    and e.entity_id = b.entity_id
-- A profile tells what is known and holds now.
where %(is_present)s and (%(known_at)s::timestamptz is null or l.last_known_at <= %(known_at)s)
union all
select 'instruction', row_number() over (order by lower(i.label) collate "C", i.instruction_id),
    jsonb_build_object('label', i.label, 'description', i.description, 'is_active', i.is_active,
        'known_from', lower(i.known_time), 'known_until', upper(i.known_time),
        'message_id', i.message_id, 'quote', left(m.text, 200))
from live l
join memory.instructions i on i.tenant_id = %(tenant_id)s and i.generation_id = l.generation_id
    and i.is_active and (i.known_time @> %(known_at)s::timestamptz
        or (%(known_at)s::timestamptz is null and upper_inf(i.known_time)))
left join memory.messages m on m.tenant_id = i.tenant_id and m.message_id = i.message_id
order by kind, place;

-- name: recall_messages
-- Messages that say the words of a query, the best first, with what became of their episodes.
select m.message_id, m.thread_id, m.seq, m.role, m.speaker, m.is_own, m.said_at, m.text,
    e.ordinal as episode, e.extraction_status as status
from memory.search_messages(%(tenant_id)s, %(query)s, %(limit)s) as r
join memory.messages m on m.tenant_id = %(tenant_id)s and m.message_id = r.message_id
left join memory.episodes e on e.tenant_id = %(tenant_id)s and e.thread_id = m.thread_id
    and m.seq between e.first_seq and e.last_seq
order by r.place;

-- name: commit_lazily
-- What this transaction writes may be lost when the server crashes right after.
select set_config('synchronous_commit', 'off', true);

-- name: bump_access
-- Facts were returned to a reader so many times more, the last time then.
insert into memory.fact_access as a
    (tenant_id, content_key, access_count, last_accessed_at, first_recorded_at)
select %(tenant_id)s, r.content_key, r.reads, r.last_at, coalesce((
    select min(f.recorded_at) from memory.facts f
    where f.tenant_id = %(tenant_id)s and f.generation_id = (
            select g.generation_id from memory.generations g
            where g.tenant_id = %(tenant_id)s and g.status = 'live')
        and f.content_key = r.content_key and upper_inf(f.known_time)), now())
from unnest(%(content_keys)s::uuid[], %(reads)s::bigint[], %(last_at)s::timestamptz[])
    as r (content_key, reads, last_at)
-- A tenant that was erased meanwhile has nothing to count any more.
where exists (select from memory.tenants t where t.tenant_id = %(tenant_id)s)
-- In one order, so that two writers never wait for each other.
order by r.content_key
on conflict (tenant_id, content_key) do update
set access_count = a.access_count + excluded.access_count,
    last_accessed_at = greatest(a.last_accessed_at, excluded.last_accessed_at);
