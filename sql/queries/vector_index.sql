-- name: lock_upkeep
-- Whether this session is the only one at some upkeep; until it ends.
select pg_try_advisory_lock(hashtextextended(%(name)s, 0));

-- name: live_facts_by_tenant
-- How many believed facts without an end each tenant's live generation holds.
select f.tenant_id, f.generation_id, count(*) as facts
from memory.facts f
join memory.generations g on g.tenant_id = f.tenant_id and g.generation_id = f.generation_id
    and g.status = 'live'
where upper_inf(f.known_time) and upper_inf(f.valid_time)
group by f.tenant_id, f.generation_id;

-- name: facts_graphs
-- Graph indexes over facts, complete or left half-made.
select c.relname, i.indisvalid
from pg_index i
join pg_class c on c.oid = i.indexrelid
where i.indrelid = 'memory.facts'::regclass and c.relname like %(like)s
order by c.relname;

-- name: create_facts_graph
-- One memory's facts in a graph of their own, while others read and write. The condition is what a
-- search must say for the server to use it.
create index concurrently {name} on memory.facts using hnsw (embedding halfvec_cosine_ops)
where tenant_id = {tenant} and generation_id = {generation} and upper_inf(known_time);

-- name: drop_facts_graph
-- A graph that is not needed any more, or was left half-made.
drop index concurrently if exists memory.{name};
