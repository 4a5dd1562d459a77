-- name: overlapping_versions
-- Facts of which two versions were believed at one instant.
select a.tenant_id, count(*) as problems
from memory.facts a
join memory.facts b on b.tenant_id = a.tenant_id and b.generation_id = a.generation_id
    and b.fact_id = a.fact_id and b.version > a.version and b.known_time && a.known_time
group by a.tenant_id order by a.tenant_id;

-- name: facts_without_evidence
-- Facts opened by an episode that nothing is cited for.
select f.tenant_id, count(*) as problems
from memory.facts f
where f.version = 1 and f.opened_by is not null
    and not exists (
        select from memory.fact_evidence e
        where e.tenant_id = f.tenant_id and e.generation_id = f.generation_id
            and e.fact_id = f.fact_id and e.kind = 'asserted')
group by f.tenant_id order by f.tenant_id;

-- name: uneven_episodes
-- Folded episodes whose candidates have not all ended somewhere.
select fold.tenant_id, count(*) as problems
from memory.folds fold
where (fold.counts -> 'extracted_graphs' ->> 'candidates')::integer is distinct from (
        select count(*)::integer from memory.claim_outcomes o
        where o.tenant_id = fold.tenant_id and o.generation_id = fold.generation_id
            and o.episode_id = fold.episode_id)
group by fold.tenant_id order by fold.tenant_id;

-- name: tenants_without_one_live_generation
-- Tenants with folded episodes and not exactly one live generation.
select g.tenant_id, 1 as problems
from memory.generations g
group by g.tenant_id
having count(*) filter (where g.status = 'live') <> 1
order by g.tenant_id;

-- name: profiles_citing_dead_facts
-- Profiles that nothing is about to renew and that cite a fact not believed any more, or over.
select p.tenant_id, count(*) as problems
from memory.profiles p
join memory.generations g on g.tenant_id = p.tenant_id and g.generation_id = p.generation_id
    and g.status = 'live'
where p.retired_at is null and (p.holds_until is null or p.holds_until > now())
    and not exists (
        select from memory.dirty_entities d
        where d.tenant_id = p.tenant_id and d.generation_id = p.generation_id
            and d.entity_id = p.entity_id and d.bumps > 0)
    and exists (
        select from unnest(p.cited_facts) as cited (fact_id)
        where not exists (
            select from memory.facts f
            where f.tenant_id = p.tenant_id and f.generation_id = p.generation_id
                and f.fact_id = cited.fact_id and upper_inf(f.known_time)
                and (upper_inf(f.valid_time) or upper(f.valid_time) > now())))
group by p.tenant_id order by p.tenant_id;

-- name: archived_facts_believed
-- Facts known before their content was archived, holding then, and believed all the same.
select f.tenant_id, count(*) as problems
from memory.facts f
join memory.generations g on g.tenant_id = f.tenant_id and g.generation_id = f.generation_id
    and g.status = 'live'
where upper_inf(f.known_time) and exists (
    select from memory.corrections c
    where c.tenant_id = f.tenant_id and c.kind = 'archive' and c.undone_at is null
        and c.content_key = f.content_key and f.valid_time @> c.known_at
        and c.known_at > (
            select min(lower(v.known_time)) from memory.facts v
            where v.tenant_id = f.tenant_id and v.generation_id = f.generation_id
                and v.fact_id = f.fact_id))
group by f.tenant_id order by f.tenant_id;

-- name: facts_of_merged_entities
-- Believed facts that point to an entity which means another one or is out of use.
select f.tenant_id, count(distinct f.fact_id) as problems
from memory.facts f
join memory.generations g on g.tenant_id = f.tenant_id and g.generation_id = f.generation_id
    and g.status = 'live'
join memory.entities e on e.tenant_id = f.tenant_id and e.generation_id = f.generation_id
    and e.entity_id in (f.subject_id, f.object_id)
where upper_inf(f.known_time) and (e.redirect_to is not null or e.retired_at is not null)
group by f.tenant_id order by f.tenant_id;

-- name: doubled_stays
-- Believed facts that say the same as another one of the same period.
select f.tenant_id, count(*) as problems
from memory.facts f
join memory.generations g on g.tenant_id = f.tenant_id and g.generation_id = f.generation_id
    and g.status = 'live'
where upper_inf(f.known_time) and exists (
    select from memory.facts o
    where o.tenant_id = f.tenant_id and o.generation_id = f.generation_id
        and o.triple_key = f.triple_key and o.fact_id <> f.fact_id and upper_inf(o.known_time)
        and o.valid_time = f.valid_time and o.fact_id < f.fact_id)
group by f.tenant_id order by f.tenant_id;
