-- Insights: what they are drawn from, what was claimed before, and how they become facts.

-- name: insight_grounding
-- The newest facts that have not ended, insights themselves left out before the cut.
select f.fact_id, f.statement, lower(f.valid_time) as valid_from, upper(f.valid_time) as valid_until,
    coalesce((f.attributes ->> 'has_stated_start')::boolean, false) as has_stated_start
from memory.facts f
join memory.generations g on g.tenant_id = f.tenant_id and g.generation_id = f.generation_id
    and g.status = 'live'
where f.tenant_id = %(tenant_id)s and upper_inf(f.known_time) and f.predicate <> 'observes'
    and (upper_inf(f.valid_time) or upper(f.valid_time) > now())
order by lower(f.known_time) desc, f.statement, f.fact_id
limit %(limit)s;

-- name: claimed_insights
-- Every statement claimed in this generation or one before it, archived ones too, by nearness.
select f.statement, max(1 - (f.embedding <=> %(vector)s)) as similarity
from memory.facts f
join memory.generations g on g.tenant_id = f.tenant_id and g.generation_id = f.generation_id
where f.tenant_id = %(tenant_id)s and f.predicate = 'observes'
    and f.object_id is null and f.object_text is null
    and g.number <= (select l.number from memory.generations l
        where l.tenant_id = %(tenant_id)s and l.status = 'live')
group by f.statement
order by similarity desc nulls last, f.statement;

-- name: insert_insight
-- An insight as a fact of the observer, if all it stands on is still believed; its id if so.
insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id, predicate,
    statement, valid_time, known_time, confidence, memory_category, tier, attributes, recipe_id,
    embedding)
select %(tenant_id)s, g.generation_id, %(fact_id)s, 1, %(subject_id)s, 'observes', %(statement)s,
    tstzrange(%(known_at)s, null), tstzrange(%(known_at)s, null), %(significance)s, 'context',
    %(tier)s, %(attributes)s, g.recipe_id, %(embedding)s
from memory.generations g
where g.tenant_id = %(tenant_id)s and g.generation_id = %(generation_id)s
    and (select count(*) from memory.facts f
        where f.tenant_id = g.tenant_id and f.generation_id = g.generation_id
            and f.fact_id = any(%(fact_ids)s) and upper_inf(f.known_time)
            and (upper_inf(f.valid_time) or upper(f.valid_time) > %(known_at)s))
        = cardinality(%(fact_ids)s::uuid[])
on conflict do nothing
returning fact_id;

-- name: insight_of_id
-- Whether an insight was ever claimed under this id.
select f.fact_id from memory.facts f
where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
    and f.fact_id = %(fact_id)s
limit 1;

-- name: insert_insight_run
-- The account of one search for insights.
insert into memory.insight_runs (tenant_id, generation_id, run_at, request_digest, facts, outcomes)
values (%(tenant_id)s, %(generation_id)s, %(run_at)s, %(request_digest)s, %(facts)s,
    %(outcomes)s);

-- name: read_insights
-- Insights, the latest first; with history also those that are not believed any more.
select f.fact_id, f.statement, (f.attributes ->> 'significance')::real as significance,
    f.attributes -> 'derived_from' as derived_from, lower(f.known_time) as known_from,
    upper(f.known_time) as known_until,
    coalesce(f.dropped_reason, f.ended_reason) as ended_reason
from memory.facts f
join memory.generations g on g.tenant_id = f.tenant_id and g.generation_id = f.generation_id
    and g.status = 'live'
where f.tenant_id = %(tenant_id)s and f.predicate = 'observes'
    and f.object_id is null and f.object_text is null
    and (%(with_history)s or upper_inf(f.known_time))
order by lower(f.known_time) desc, significance desc, f.statement, f.version desc;

-- name: read_insight_runs
-- The latest searches for insights and what became of each proposal.
select r.run_at, r.facts, r.request_digest, r.outcomes
from memory.insight_runs r
join memory.generations g on g.tenant_id = r.tenant_id and g.generation_id = r.generation_id
    and g.status = 'live'
where r.tenant_id = %(tenant_id)s
order by r.run_at desc
limit %(limit)s;
