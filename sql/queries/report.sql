-- name: report_head
-- How far the live memory reaches, its recipe, and how much conversation there is; one row.
select g.number as generation, coalesce(g.version, 0) as version, g.recipe_id,
    coalesce(g.folded_count, 0) as folded, e.episodes, e.first_at, e.newest_at, m.messages, m.threads
from memory.tenants t
left join memory.generations g on g.tenant_id = t.tenant_id and g.status = 'live'
cross join lateral (
    select count(*) as episodes, min(x.started_at) as first_at, max(x.ended_at) as newest_at
    from memory.episodes x
    where x.tenant_id = t.tenant_id) e
cross join lateral (
    select count(*) as messages, count(distinct x.thread_id) as threads
    from memory.messages x
    where x.tenant_id = t.tenant_id) m
where t.tenant_id = %(tenant_id)s;

-- name: report_profiles
-- Paragraphs about entities that are in use, the user's first, with what they cite.
select e.name as entity, e.type, p.text, p.citations
from memory.profiles p
join memory.generations g on g.tenant_id = p.tenant_id and g.generation_id = p.generation_id
    and g.status = 'live'
join memory.entities e on e.tenant_id = p.tenant_id and e.generation_id = p.generation_id
    and e.entity_id = p.entity_id and e.redirect_to is null and e.retired_at is null
where p.tenant_id = %(tenant_id)s and p.retired_at is null
order by e.name <> 'user', e.name collate "C", e.type, e.known_from, e.entity_id;
