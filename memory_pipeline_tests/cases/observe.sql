-- name: observed_facts
-- Every fact of a tenant as its last version has it.
select distinct on (f.fact_id) f.fact_id, f.version, s.name as subject, f.predicate,
    coalesce(o.name, f.object_text, '') as object, f.object_id is not null as is_edge,
    f.confidence, lower(f.valid_time) as valid_from, upper(f.valid_time) as valid_until,
    upper_inf(f.known_time) as is_believed, coalesce(f.dropped_reason, f.ended_reason) as ended_reason,
    coalesce(f.dropped_for, f.successor_id) as successor_id,
    coalesce((
        select max(length(e.quote)) from memory.fact_evidence e
        where e.tenant_id = f.tenant_id and e.generation_id = f.generation_id
            and e.fact_id = f.fact_id), 0) as quote_length
from memory.facts f
join memory.entities s on s.tenant_id = f.tenant_id and s.generation_id = f.generation_id
    and s.entity_id = f.subject_id
left join memory.entities o on o.tenant_id = f.tenant_id and o.generation_id = f.generation_id
    and o.entity_id = f.object_id
where f.tenant_id = %(tenant_id)s
order by f.fact_id, f.version desc;

-- name: observed_entities
-- Names and types of a tenant's entities, redirects apart.
select name, type from memory.entities
where tenant_id = %(tenant_id)s and redirect_to is null
order by name, type;

-- name: observed_outcomes
-- Where every candidate of an episode ended.
select ref, outcome, fact_id, object, length(quote) as quote_length from memory.claim_outcomes
where tenant_id = %(tenant_id)s and episode_id = %(episode_id)s
order by ref;

-- name: observed_episode
-- How far an episode got.
select episode_id, extraction_status, extraction_attempts from memory.episodes
where tenant_id = %(tenant_id)s and thread_id = %(thread_id)s;
