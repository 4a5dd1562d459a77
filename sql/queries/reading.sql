-- name: reading_tenant
-- Whether the tenant exists; one row if so.
select tenant_id from memory.tenants where tenant_id = %(tenant_id)s;

-- name: prefer_hash_joins
-- A tenant just imported has no statistics yet: nested loops over all of it would take hours.
select set_config('enable_nestloop', 'off', true);

-- name: read_facts
-- Versions believed at a known instant and not over at a valid one, or with history all known by then.
with recursive generation as (
    select g.generation_id from memory.generations g
    where g.tenant_id = %(tenant_id)s and g.status = 'live'
), merged (entity_id, target_id) as (
    select e.entity_id, e.redirect_to from memory.entities e
    where e.tenant_id = %(tenant_id)s and e.generation_id = (select generation_id from generation)
        and e.redirect_to is not null
    union
    select m.entity_id, e.redirect_to from merged m
    join memory.entities e on e.tenant_id = %(tenant_id)s and e.entity_id = m.target_id
        and e.generation_id = (select generation_id from generation) and e.redirect_to is not null
), named as (
    select e.entity_id, e.name from memory.entities e
    where e.tenant_id = %(tenant_id)s and e.generation_id = (select generation_id from generation)
        and e.redirect_to is null
    union all
    select m.entity_id, e.name from merged m
    join memory.entities e on e.tenant_id = %(tenant_id)s and e.entity_id = m.target_id
        and e.generation_id = (select generation_id from generation) and e.redirect_to is null
), said as (
    select distinct on (v.fact_id) v.fact_id, v.quote, v.message_id, v.span_start, v.span_end
    from memory.fact_evidence v
    where v.tenant_id = %(tenant_id)s and v.generation_id = (select generation_id from generation)
        and v.kind in ('asserted', 'corrected')
    order by v.fact_id, v.kind, v.claim_ref
)
select f.fact_id, f.version, s.name as subject, f.predicate,
    coalesce(o.name, f.object_text, f.statement) as object,
    f.object_id is not null as object_is_entity,
    lower(f.valid_time) as valid_from, upper(f.valid_time) as valid_until,
    lower(f.known_time) as known_from, upper(f.known_time) as known_until,
    case when memory.is_dropped(f.dropped_reason, f.known_time, %(known_at)s) then f.dropped_reason
        else f.ended_reason end as ended_reason,
    case when memory.is_dropped(f.dropped_reason, f.known_time, %(known_at)s) then f.dropped_for
        else f.successor_id end as successor_id,
    f.confidence, f.memory_category,
    f.version = max(f.version) over (partition by f.fact_id) as is_last,
    said.quote as source_quote, said.message_id, said.span_start, said.span_end,
    e.ordinal as episode
from memory.facts f
join named s on s.entity_id = f.subject_id
left join named o on o.entity_id = f.object_id
left join memory.episodes e on e.tenant_id = f.tenant_id and e.episode_id = f.opened_by
left join said on said.fact_id = f.fact_id
where f.tenant_id = %(tenant_id)s and f.generation_id = (select generation_id from generation)
    and (%(known_at)s::timestamptz is null or lower(f.known_time) <= %(known_at)s)
    and (%(with_history)s or upper_inf(f.known_time) or upper(f.known_time) > %(known_at)s)
    and (%(with_history)s or upper_inf(f.valid_time) or upper(f.valid_time) > %(valid_at)s)
order by s.name <> 'user', s.name collate "C", f.predicate collate "C",
    lower(f.valid_time) nulls first, coalesce(o.name, f.object_text, f.statement) collate "C",
    lower(f.known_time), f.fact_id;

-- name: read_entities
-- Things that memory knows, merged ones under the winner's name, with their believed facts counted.
with generation as (
    select g.generation_id from memory.generations g
    where g.tenant_id = %(tenant_id)s and g.status = 'live'
), uses as (
    select used.entity_id, count(*) as facts
    from memory.facts f
    cross join lateral (
        select f.subject_id union select f.object_id where f.object_id is not null
    ) as used (entity_id)
    where f.tenant_id = %(tenant_id)s and f.generation_id = (select generation_id from generation)
        and upper_inf(f.known_time)
    group by used.entity_id
), other_names as (
    select a.entity_id, array_agg(distinct a.alias order by a.alias) as aliases
    from memory.entity_aliases a
    where a.tenant_id = %(tenant_id)s and a.generation_id = (select generation_id from generation)
    group by a.entity_id
)
select e.entity_id, e.name, e.type, e.memory_category, coalesce(n.aliases, '{}') as aliases,
    coalesce(u.facts, 0) as facts, e.last_linked_at
from memory.entities e
left join uses u using (entity_id)
left join other_names n using (entity_id)
where e.tenant_id = %(tenant_id)s and e.generation_id = (select generation_id from generation)
    and e.redirect_to is null and e.retired_at is null
order by e.name <> 'user', e.name collate "C", e.type, e.known_from, e.entity_id;

-- name: read_episodes
-- Episodes in position order, all or those of one status.
select ordinal, position, thread_id, first_seq, last_seq, started_at, ended_at, messages, status,
    attempts, error, summary_status
from (
    select e.ordinal, e.thread_id, e.first_seq, e.last_seq, e.started_at, e.ended_at,
        e.message_count as messages, e.extraction_status as status,
        e.extraction_attempts as attempts, e.extraction_error as error, e.summary_status,
        row_number() over (order by e.ended_at, e.thread_id, e.first_seq) as position
    from memory.episodes e
    where e.tenant_id = %(tenant_id)s) as placed
where %(statuses)s::text[] is null or status = any(%(statuses)s)
order by position;

-- name: read_instructions
-- Standing orders in their present state, or with history in every state they had.
select i.label, i.description, i.is_active, lower(i.known_time) as known_from,
    upper(i.known_time) as known_until, i.message_id, left(m.text, 200) as quote
from memory.instructions i
join memory.generations g on g.tenant_id = i.tenant_id and g.generation_id = i.generation_id
    and g.status = 'live'
left join memory.messages m on m.tenant_id = i.tenant_id and m.message_id = i.message_id
where i.tenant_id = %(tenant_id)s and (%(with_history)s or upper_inf(i.known_time))
order by lower(i.label) collate "C", lower(i.known_time), i.instruction_id;

-- name: read_uncertainties
-- Open points, or with the settled ones.
select u.about, u.reason, u.subject, u.predicate, u.candidate, u.message_id,
    opener.ordinal as opened_by, settler.ordinal as resolved_by, u.resolved_at
from memory.uncertainties u
join memory.generations g on g.tenant_id = u.tenant_id and g.generation_id = u.generation_id
    and g.status = 'live'
left join memory.episodes opener on opener.tenant_id = u.tenant_id
    and opener.episode_id = u.opened_by
left join memory.episodes settler on settler.tenant_id = u.tenant_id
    and settler.episode_id = u.resolved_by
where u.tenant_id = %(tenant_id)s and (%(with_resolved)s or u.resolved_at is null)
order by u.known_from, u.about collate "C", u.reason collate "C", u.uncertainty_id;

-- name: find_facts
-- Facts whose id lies in a range, of one tenant or of all: at most two, enough to tell one from many.
select g.tenant_id, found.fact_id
from memory.generations g
cross join lateral (
    select distinct f.fact_id from memory.facts f
    where f.tenant_id = g.tenant_id and f.generation_id = g.generation_id
        and f.fact_id between %(first_id)s and %(last_id)s
    limit 2) as found
where g.status = 'live' and (%(tenant_id)s::text is null or g.tenant_id = %(tenant_id)s)
limit 2;

-- name: explain_versions
-- All versions of a fact with what made and what ended each.
select f.version, f.statement, s.name as subject, f.predicate,
    coalesce(o.name, f.object_text, f.statement) as object,
    f.object_id is not null as object_is_entity,
    lower(f.valid_time) as valid_from, upper(f.valid_time) as valid_until,
    lower(f.known_time) as known_from, upper(f.known_time) as known_until,
    f.version = max(f.version) over () as is_last,
    coalesce(f.dropped_reason, f.ended_reason) as ended_reason,
    coalesce(f.dropped_for, f.successor_id) as successor_id,
    f.confidence, f.memory_category, f.tier, f.recipe_id,
    opener.ordinal as opened_by, ender.ordinal as ended_by, f.recorded_at
from memory.facts f
join memory.entities s on s.tenant_id = f.tenant_id and s.generation_id = f.generation_id
    and s.entity_id = f.subject_id
left join memory.entities o on o.tenant_id = f.tenant_id and o.generation_id = f.generation_id
    and o.entity_id = f.object_id
left join memory.episodes opener on opener.tenant_id = f.tenant_id
    and opener.episode_id = f.opened_by
left join memory.episodes ender on ender.tenant_id = f.tenant_id
    and ender.episode_id = coalesce(f.dropped_by, f.ended_by)
where f.tenant_id = %(tenant_id)s and f.generation_id = (
        select g.generation_id from memory.generations g
        where g.tenant_id = %(tenant_id)s and g.status = 'live') and f.fact_id = %(fact_id)s
order by f.version;

-- name: explain_evidence
-- Who said a fact, where and when.
select v.kind, v.claim_ref, e.ordinal as episode, v.quote, v.message_id, v.span_start, v.span_end,
    m.role, m.said_at, m.thread_id, m.seq, m.text as message_text
from memory.fact_evidence v
left join memory.episodes e on e.tenant_id = v.tenant_id and e.episode_id = v.episode_id
left join memory.messages m on m.tenant_id = v.tenant_id and m.message_id = v.message_id
where v.tenant_id = %(tenant_id)s and v.generation_id = (
        select g.generation_id from memory.generations g
        where g.tenant_id = %(tenant_id)s and g.status = 'live') and v.fact_id = %(fact_id)s
order by m.said_at nulls last, v.kind, v.claim_ref;

-- name: explain_candidates
-- The candidates that led to a fact, with what was decided about each.
select e.ordinal as episode, c.ref, c.outcome, c.subject, c.predicate, c.object, c.detail, c.quote
from memory.claim_outcomes c
left join memory.episodes e on e.tenant_id = c.tenant_id and e.episode_id = c.episode_id
where c.tenant_id = %(tenant_id)s and c.generation_id = (
        select g.generation_id from memory.generations g
        where g.tenant_id = %(tenant_id)s and g.status = 'live') and c.fact_id = %(fact_id)s
order by e.ended_at, e.thread_id, e.first_seq, c.ref;

-- name: explain_verdicts
-- Verdicts on pairs of a fact: as the one believed so far, or as the newcomer.
select case when j.fact_id = %(fact_id)s then 'believed' else 'newcomer' end as side,
    e.ordinal as episode, j.claim_ref, j.fact_id as believed_id,
    believed.statement as believed, c.fact_id as newcomer_id,
    c.subject || ' ' || c.predicate || ' ' || c.object as newcomer,
    j.verdict, j.is_correction, j.judge, j.reason, j.why,
    c.quote as newcomer_quote, m.said_at as newcomer_said_at,
    coalesce(r.content ->> 'judge', '') as judge_version
from memory.judged_pairs j
left join memory.claim_outcomes c on c.tenant_id = j.tenant_id
    and c.generation_id = j.generation_id and c.episode_id = j.episode_id and c.ref = j.claim_ref
left join memory.messages m on m.tenant_id = c.tenant_id and m.message_id = c.message_id
left join memory.folds o on o.tenant_id = j.tenant_id and o.generation_id = j.generation_id
    and o.episode_id = j.episode_id
left join memory.recipes r on r.tenant_id = o.tenant_id and r.recipe_id = o.recipe_id
left join memory.facts believed on believed.tenant_id = j.tenant_id
    and believed.generation_id = j.generation_id and believed.fact_id = j.fact_id
    and believed.version = 1
left join memory.episodes e on e.tenant_id = j.tenant_id and e.episode_id = j.episode_id
where j.tenant_id = %(tenant_id)s and j.generation_id = (
        select g.generation_id from memory.generations g
        where g.tenant_id = %(tenant_id)s and g.status = 'live')
    and (j.fact_id = %(fact_id)s or c.fact_id = %(fact_id)s)
order by e.ended_at, e.thread_id, e.first_seq, j.claim_ref, believed.statement;

-- name: explain_related
-- The facts that a fact replaced and the one that replaced it.
with generation as (
    select g.generation_id from memory.generations g
    where g.tenant_id = %(tenant_id)s and g.status = 'live'
), related (relation, fact_id) as (
    select 'successor', coalesce(n.dropped_for, n.successor_id) from memory.facts n
    where n.tenant_id = %(tenant_id)s and n.generation_id = (select generation_id from generation)
        and n.fact_id = %(fact_id)s
    union
    select 'predecessor', n.fact_id from memory.facts n
    where n.tenant_id = %(tenant_id)s and n.generation_id = (select generation_id from generation)
        and %(fact_id)s in (n.successor_id, n.dropped_for)
)
select r.relation, f.fact_id, f.statement, f.valid_from, f.valid_until
from related r
cross join lateral (
    select f.fact_id, f.statement, lower(f.valid_time) as valid_from,
        upper(f.valid_time) as valid_until
    from memory.facts f
    where f.tenant_id = %(tenant_id)s and f.generation_id = (select generation_id from generation)
        and f.fact_id = r.fact_id
    order by f.version desc
    limit 1) f
order by r.relation, f.valid_from nulls first, f.fact_id;

-- name: explain_extractions
-- What extracted a fact, in each episode that said it: tier, why, requests, models and cost.
with generation as (
    select g.generation_id from memory.generations g
    where g.tenant_id = %(tenant_id)s and g.status = 'live'
), said_by (episode_id) as (
    select v.episode_id from memory.fact_evidence v
    where v.tenant_id = %(tenant_id)s and v.generation_id = (select generation_id from generation)
        and v.fact_id = %(fact_id)s
    union
    select c.episode_id from memory.claim_outcomes c
    where c.tenant_id = %(tenant_id)s and c.generation_id = (select generation_id from generation)
        and c.fact_id = %(fact_id)s
)
select e.ordinal as episode, s.payload ->> 'tier' as tier,
    coalesce(s.payload ->> 'tier_reason', '') as tier_reason,
    coalesce(s.payload -> 'request_digests', '[]') as request_digests,
    coalesce(s.payload -> 'usage', '{}') as usage, coalesce((
        select array_agg(distinct a.model order by a.model) from memory.model_answers a
        where a.tenant_id = %(tenant_id)s and a.request_digest in (
            select jsonb_array_elements_text(s.payload -> 'request_digests'))), '{}') as models
from said_by b
join memory.stage_outputs s on s.tenant_id = %(tenant_id)s
    and s.generation_id = (select generation_id from generation)
    and s.episode_id = b.episode_id and s.stage = 'extracted_graphs'
join memory.episodes e on e.tenant_id = s.tenant_id and e.episode_id = s.episode_id
order by e.ended_at, e.thread_id, e.first_seq;

-- name: requests_with_answers
-- Model requests with every answer they got, refused ones too.
select a.request_digest, a.request, a.attempt, a.is_valid, a.raw_answer,
    coalesce(a.answer ->> 'finish_reason', '') as finish_reason,
    coalesce(a.answer ->> 'problem', '') as problem, a.usage, a.latency_ms, a.recorded_at
from memory.model_answers a
where a.tenant_id = %(tenant_id)s and a.request_digest = any(%(request_digests)s)
order by a.request_digest, a.attempt;

-- name: requests_of_verdicts
-- Where stored verdicts came from: the request of whichever episode asked first, the pair's number.
-- Of pairs that read alike the one by the same judge, then the one said in the same words.
select distinct on (p.place) p.place::integer as place, v.request_digest, v.pair_number
from unnest(%(old_lines)s::text[], %(new_lines)s::text[], %(said_lines)s::text[],
    %(judges)s::text[], %(verdicts)s::text[], %(corrections)s::boolean[], %(reasons)s::text[])
    with ordinality
    as p (old_line, new_line, said_line, judge, verdict, is_correction, reason, place)
join memory.pair_verdicts v on v.tenant_id = %(tenant_id)s and v.verdict = p.verdict
    and v.is_correction = p.is_correction and v.reason = p.reason
join memory.model_answers a on a.tenant_id = v.tenant_id and a.request_digest = v.request_digest
    and a.is_valid
cross join lateral (
    select split_part(split_part(a.request ->> 'user',
        E'\npair ' || v.pair_number || E'\n', 2), E'\npair ', 1) as shown) s
where starts_with(s.shown, p.old_line) and strpos(s.shown, E'\n' || p.new_line) > 0
order by p.place,
    strpos(p.judge || ' ', ' ' || a.model || ' ' || a.prompt_digest || ' ') > 0 desc,
    strpos(s.shown, p.said_line) > 0 desc, v.recorded_at, v.pair_digest;

-- name: judge_requests_of_pairs
-- Judge requests that show both sides of one of the pairs, the earliest first.
select a.request_digest
from memory.model_answers a
where a.tenant_id = %(tenant_id)s and a.purpose = 'judge' and exists (
    select from unnest(%(old_lines)s::text[], %(new_lines)s::text[]) as p (old_line, new_line)
    where strpos(a.request ->> 'user', p.old_line) > 0
        and strpos(a.request ->> 'user', p.new_line) > 0)
group by a.request_digest
order by min(a.recorded_at), a.request_digest;

-- name: episode_to_extract
-- One episode with its place among those folded or open, what extracted it and with which settings.
with live as (
    select g.generation_id, g.folded_count from memory.generations g
    where g.tenant_id = %(tenant_id)s and g.status = 'live'
)
select e.episode_id, e.ordinal, e.thread_id, e.started_at, e.ended_at,
    e.extraction_status as status, e.extraction_error as error, l.generation_id, l.folded_count,
    r.content -> 'settings' as settings, s.payload ->> 'tier' as tier,
    coalesce(s.payload ->> 'tier_reason', '') as tier_reason,
    coalesce(s.payload -> 'request_digests', '[]') as request_digests, t.secret, t.user_names, (
        select count(*) from memory.episodes b
        where b.tenant_id = e.tenant_id
            and (b.ended_at, b.thread_id, b.first_seq) < (e.ended_at, e.thread_id, e.first_seq)
            and (b.extraction_status in ('pending', 'failed') or exists (
                select from memory.folds d
                where d.tenant_id = b.tenant_id and d.generation_id = l.generation_id
                    and d.episode_id = b.episode_id))) as place
from memory.episodes e
join memory.tenants t on t.tenant_id = e.tenant_id
left join live l on true
left join memory.folds f on f.tenant_id = e.tenant_id and f.generation_id = l.generation_id
    and f.episode_id = e.episode_id
left join memory.recipes r on r.tenant_id = f.tenant_id and r.recipe_id = f.recipe_id
left join memory.stage_outputs s on s.tenant_id = e.tenant_id
    and s.generation_id = l.generation_id and s.episode_id = e.episode_id
    and s.stage = 'extracted_graphs'
where e.tenant_id = %(tenant_id)s and e.ordinal = %(ordinal)s;

-- name: read_recipes
-- Recipes of a tenant, the oldest first, with the episodes of the live memory that each built.
select r.recipe_id, r.content, r.created_at as since, count(f.episode_id) as folds,
    coalesce(r.recipe_id = g.recipe_id, false) as is_live
from memory.recipes r
left join memory.generations g on g.tenant_id = r.tenant_id and g.status = 'live'
left join memory.folds f on f.tenant_id = r.tenant_id and f.generation_id = g.generation_id
    and f.recipe_id = r.recipe_id
where r.tenant_id = %(tenant_id)s
group by r.tenant_id, r.recipe_id, r.content, r.created_at, g.recipe_id
order by r.created_at, r.recipe_id;

-- name: matching_candidates
-- Candidates that hold the most of some words, at least half of them.
with scored as (
    select c.outcome, c.subject, c.predicate, c.object, c.detail, c.quote, c.fact_id,
        c.message_id, c.ref, c.generation_id, c.episode_id, e.ordinal as episode,
        (select count(*) from unnest(%(words)s::text[]) as word
         where strpos(lower(concat_ws(' ', c.subject, c.predicate, c.object, c.quote)), word) > 0)
            as hits
    from memory.claim_outcomes c
    left join memory.episodes e on e.tenant_id = c.tenant_id and e.episode_id = c.episode_id
    where c.tenant_id = %(tenant_id)s and c.generation_id = (
        select g.generation_id from memory.generations g
        where g.tenant_id = %(tenant_id)s and g.status = 'live')
)
select outcome, subject, predicate, object, detail, quote, fact_id, message_id, episode, hits, (
        select s.payload ->> 'tier' from memory.stage_outputs s
        where s.tenant_id = %(tenant_id)s and s.generation_id = scored.generation_id
            and s.episode_id = scored.episode_id and s.stage = 'extracted_graphs') as tier
from scored
where hits * 2 >= cardinality(%(words)s::text[])
order by hits desc, episode desc, ref
limit %(limit)s;

-- name: matching_uncertainties
-- Open points, settled ones too, that hold the most of some words, at least half of them.
with scored as (
    select u.about, u.reason, u.candidate, u.message_id, opener.ordinal as episode,
        settler.ordinal as resolved_by,
        (select count(*) from unnest(%(words)s::text[]) as word
         where strpos(lower(concat_ws(' ', u.about, u.subject, u.predicate)), word) > 0) as hits
    from memory.uncertainties u
    left join memory.episodes opener on opener.tenant_id = u.tenant_id
        and opener.episode_id = u.opened_by
    left join memory.episodes settler on settler.tenant_id = u.tenant_id
        and settler.episode_id = u.resolved_by
    where u.tenant_id = %(tenant_id)s and u.generation_id = (
        select g.generation_id from memory.generations g
        where g.tenant_id = %(tenant_id)s and g.status = 'live')
)
select about, reason, candidate, message_id, episode, resolved_by, hits
from scored
where hits * 2 >= cardinality(%(words)s::text[])
order by hits desc, episode desc, about collate "C"
limit %(limit)s;

-- name: matching_messages
-- Messages that hold the most of some words, at least half of them, with what became of each.
with generation as (
    select g.generation_id from memory.generations g
    where g.tenant_id = %(tenant_id)s and g.status = 'live'
), scored as (
    select m.message_id, m.thread_id, m.seq, m.text, m.is_own, m.said_at,
        (select count(*) from unnest(%(words)s::text[]) as word
         where strpos(lower(m.text), word) > 0) as hits
    from memory.messages m
    where m.tenant_id = %(tenant_id)s
), best as (
    select s.message_id, s.thread_id, s.seq, s.text, s.is_own, s.said_at, s.hits from scored s
    where s.hits * 2 >= cardinality(%(words)s::text[])
    order by s.hits desc, s.said_at desc, s.thread_id, s.seq desc
    limit %(limit)s
)
select b.message_id, b.text, b.is_own, b.hits, e.ordinal as episode, e.extraction_status as status,
    e.extraction_error as error, f.status as fold_status, o.reason,
    exists (
        select from memory.fact_evidence v
        where v.tenant_id = %(tenant_id)s and v.message_id = b.message_id
            and v.generation_id = (select generation_id from generation)
    ) or coalesce(c.is_accepted, false) as is_cited,
    exists (
        select from memory.instructions i
        where i.tenant_id = %(tenant_id)s and i.message_id = b.message_id
            and i.generation_id = (select generation_id from generation)
    ) or exists (
        select from memory.stage_outputs s
        where s.tenant_id = %(tenant_id)s and s.episode_id = e.episode_id
            and s.generation_id = (select generation_id from generation)
            and s.stage = 'extracted_graphs'
            and s.payload -> 'instructions'
                @> jsonb_build_array(jsonb_build_object('message_id', b.message_id))
    ) as is_instruction,
    exists (
        select from memory.uncertainties u
        where u.tenant_id = %(tenant_id)s and u.message_id = b.message_id
            and u.generation_id = (select generation_id from generation)
    ) or coalesce(c.is_doubted, false) as is_doubted,
    c.message_id is not null as is_dropped, (
        select x.payload ->> 'tier' from memory.stage_outputs x
        where x.tenant_id = %(tenant_id)s and x.episode_id = e.episode_id
            and x.generation_id = (select generation_id from generation)
            and x.stage = 'extracted_graphs') as tier
from best b
left join memory.episodes e on e.tenant_id = %(tenant_id)s and e.thread_id = b.thread_id
    and b.seq between e.first_seq and e.last_seq
left join memory.folds f on f.tenant_id = %(tenant_id)s and f.episode_id = e.episode_id
    and f.generation_id = (select generation_id from generation)
left join memory.message_outcomes o on o.tenant_id = %(tenant_id)s
    and o.message_id = b.message_id and o.generation_id = (select generation_id from generation)
left join lateral (
    select min(x.message_id::text) as message_id, bool_or(x.outcome = 'uncertain') as is_doubted,
        bool_or(x.fact_id is not null
            or x.outcome in ('inserted', 'reinforced', 'closed', 'renewed')) as is_accepted
    from memory.claim_outcomes x
    where x.tenant_id = %(tenant_id)s and x.episode_id = e.episode_id
        and x.generation_id = (select generation_id from generation)
        and x.message_id = b.message_id) c on true
order by b.hits desc, b.said_at desc, b.thread_id, b.seq desc;
