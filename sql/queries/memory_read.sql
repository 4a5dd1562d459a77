-- name: names_held
-- Entities that hold one of the names, as name or alias, redirects followed.
select k.name as key, e.entity_id, e.name, e.type, e.memory_category, e.last_linked_at
from unnest(%(keys)s::text[]) as k (name)
join memory.entities e on e.tenant_id = %(tenant_id)s and e.generation_id = %(generation_id)s
    and e.redirect_to is null
    and (e.name = k.name or exists (
        select from memory.entity_aliases a
        where a.tenant_id = e.tenant_id and a.generation_id = e.generation_id
            and a.entity_id = e.entity_id and a.alias = k.name))
order by k.name, e.entity_id;

-- name: nearest_entities
-- The entities nearest to one name.
select e.entity_id, e.name, e.type, e.memory_category, e.last_linked_at,
    1 - (e.embedding <=> %(vector)s) as similarity
from memory.entities e
where e.tenant_id = %(tenant_id)s and e.generation_id = %(generation_id)s
    and e.redirect_to is null and e.embedding is not null
order by e.embedding <=> %(vector)s, e.entity_id
limit 10;

-- name: facts_of_objects
-- Believed facts that share subject and object with a claim, whatever the verb, ended ones too.
select distinct on (f.fact_id) f.fact_id, f.version, f.subject_id, f.predicate, f.object_id, f.object_text,
    f.statement, lower(f.valid_time) as valid_from, upper(f.valid_time) as valid_until,
    lower(f.known_time) as known_from, f.confidence, f.memory_category, f.tier,
    (f.attributes ->> 'has_stated_start')::boolean as has_stated_start, f.opened_by, f.ended_by,
    f.ended_reason, f.successor_id, (
        select q.quote from memory.fact_evidence q
        where q.tenant_id = f.tenant_id and q.generation_id = f.generation_id
            and q.fact_id = f.fact_id and q.kind = 'asserted'
        order by q.episode_id, q.claim_ref limit 1) as quote
from unnest(%(subjects)s::uuid[], %(objects)s::uuid[], %(texts)s::text[])
    as c (subject_id, object_id, object_text)
join memory.facts f on f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
    and upper_inf(f.known_time) and f.subject_id = c.subject_id
    and (f.object_id = c.object_id or f.object_text = c.object_text)
order by f.fact_id;

-- name: nearby_facts
-- Facts about the claim's subject that have not ended and share its predicate or are near to it:
-- those of its slot first, more than are judged for one claim, so that the rest can be told.
select f.fact_id, f.version, f.subject_id, f.predicate, f.object_id, f.object_text,
    f.statement, lower(f.valid_time) as valid_from, upper(f.valid_time) as valid_until,
    lower(f.known_time) as known_from, f.confidence, f.memory_category, f.tier,
    (f.attributes ->> 'has_stated_start')::boolean as has_stated_start, f.opened_by, f.ended_by,
    f.ended_reason, f.successor_id, (
        select q.quote from memory.fact_evidence q
        where q.tenant_id = f.tenant_id and q.generation_id = f.generation_id
            and q.fact_id = f.fact_id and q.kind = 'asserted'
        order by q.episode_id, q.claim_ref limit 1) as quote, 1 - (f.embedding <=> %(vector)s) as similarity
from memory.facts f
where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
    and upper_inf(f.known_time) and f.subject_id = %(subject_id)s
    and (upper_inf(f.valid_time) or upper(f.valid_time) > %(said_at)s)
    and (f.predicate = %(predicate)s or 1 - (f.embedding <=> %(vector)s) >= %(minimum)s)
order by f.predicate = %(predicate)s desc, f.embedding <=> %(vector)s, f.fact_id
limit %(limit)s;

-- name: linked_facts
-- Every believed edge, and every believed fact about something other than the user.
select f.fact_id, f.version, f.subject_id, f.predicate, f.object_id, f.object_text,
    f.statement, lower(f.valid_time) as valid_from, upper(f.valid_time) as valid_until,
    lower(f.known_time) as known_from, f.confidence, f.memory_category, f.tier,
    (f.attributes ->> 'has_stated_start')::boolean as has_stated_start, f.opened_by, f.ended_by,
    f.ended_reason, f.successor_id
from memory.facts f
join memory.entities e using (tenant_id, generation_id)
where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
    and e.entity_id = f.subject_id and upper_inf(f.known_time)
    and (f.object_id is not null or f.subject_id <> %(user_id)s) and e.name <> %(exempt)s;

-- name: known_entities
-- Entity names shown to extraction, as of the last fold before the stride: those named in the
-- window, then those nearest to it (where its vector is given), then the latest.
select e.entity_id, e.name, e.type,
    coalesce(array_agg(a.alias order by a.alias) filter (where a.alias is not null), '{}')
        as aliases
from memory.entities e
left join memory.entity_aliases a on a.tenant_id = e.tenant_id
    and a.generation_id = e.generation_id and a.entity_id = e.entity_id
    and a.known_from <= (
        select memory.known_after(%(tenant_id)s, %(generation_id)s, %(boundary)s))
where e.tenant_id = %(tenant_id)s and e.generation_id = %(generation_id)s
    and e.redirect_to is null and e.name <> 'user' and e.known_from <= (
        select memory.known_after(%(tenant_id)s, %(generation_id)s, %(boundary)s))
group by e.tenant_id, e.generation_id, e.entity_id
order by bool_or(position(e.name in %(transcript)s) > 0
        or position(a.alias in %(transcript)s) > 0) desc,
    e.embedding <=> %(vector)s::halfvec, e.known_from desc, e.name, e.entity_id
limit %(limit)s;

-- name: known_facts
-- Facts believed then that had not ended: those about something named in the window, then those
-- nearest to it (where its vector is given), then the latest.
select f.fact_id, s.name as subject, f.predicate, coalesce(o.name, f.object_text) as object,
    f.object_id is not null as object_is_entity
from memory.facts f
join memory.entities s on s.tenant_id = f.tenant_id and s.generation_id = f.generation_id
    and s.entity_id = f.subject_id
left join memory.entities o on o.tenant_id = f.tenant_id and o.generation_id = f.generation_id
    and o.entity_id = f.object_id
where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
    and f.known_time @> (
        select memory.known_after(%(tenant_id)s, %(generation_id)s, %(boundary)s))
    and (upper_inf(f.valid_time) or upper(f.valid_time) > %(at)s)
    and (f.object_id is not null or f.object_text is not null)
order by (position(coalesce(o.name, f.object_text) in %(transcript)s) > 0
        or (s.name <> 'user' and position(s.name in %(transcript)s) > 0)) desc,
    f.embedding <=> %(vector)s::halfvec, lower(f.known_time) desc, f.statement, f.fact_id
limit %(limit)s;

-- name: stored_extractions
-- Extractions of some episodes that are stored already.
select episode_id, input_digest, payload from memory.stage_outputs
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
    and episode_id = any(%(episode_ids)s) and stage = 'extracted_graphs';

-- name: known_names_of_user
-- Names by which the user is known: given at import or stated.
select t.user_names || coalesce((
    select array_agg(distinct f.object_text)
    from memory.facts f
    where f.tenant_id = t.tenant_id and f.generation_id = %(generation_id)s
        and f.known_time @> (
        select memory.known_after(%(tenant_id)s, %(generation_id)s, %(boundary)s)) and f.subject_id = %(user_id)s
        and f.predicate = 'has name'
        and f.object_text is not null), '{}') as names
from memory.tenants t
where t.tenant_id = %(tenant_id)s;
