-- Statements that read a tenant's tables as they stand, for what must hold of every row.

-- name: stored_rows
-- Every row of the tables that a fold writes or reads: table, key, content without vectors.
select 'threads' as place, t.thread_id as key, to_jsonb(t) as content
from memory.threads t where t.tenant_id = %(tenant_id)s
union all
select 'messages', m.message_id::text, to_jsonb(m)
from memory.messages m where m.tenant_id = %(tenant_id)s
union all
select 'folds', d.episode_id::text, to_jsonb(d)
from memory.folds d where d.tenant_id = %(tenant_id)s
union all
select 'entities', e.entity_id::text, to_jsonb(e) - 'embedding'
from memory.entities e where e.tenant_id = %(tenant_id)s
union all
select 'facts', f.fact_id || ' ' || f.version, to_jsonb(f) - 'embedding'
from memory.facts f where f.tenant_id = %(tenant_id)s
union all
select 'evidence', concat_ws(' ', v.fact_id, v.episode_id, v.claim_ref, v.kind), to_jsonb(v)
from memory.fact_evidence v where v.tenant_id = %(tenant_id)s
union all
select 'uncertainties', u.uncertainty_id::text, to_jsonb(u)
from memory.uncertainties u where u.tenant_id = %(tenant_id)s
union all
select 'outcomes', o.episode_id || ' ' || o.ref, to_jsonb(o)
from memory.claim_outcomes o where o.tenant_id = %(tenant_id)s
union all
select 'silences', s.message_id::text, to_jsonb(s)
from memory.message_outcomes s where s.tenant_id = %(tenant_id)s
union all
select 'verdicts', concat_ws(' ', j.episode_id, j.claim_ref, j.fact_id), to_jsonb(j)
from memory.judged_pairs j where j.tenant_id = %(tenant_id)s;

-- name: fact_versions
-- Versions with their bounds, oldest first within a fact.
select f.fact_id, f.version, s.name as subject, f.subject_id, f.object_id,
    f.triple_key, f.statement, f.object_id is not null as is_edge,
    lower(f.valid_time) as valid_from, upper(f.valid_time) as valid_until,
    lower(f.known_time) as known_from, upper(f.known_time) as known_until,
    isempty(f.valid_time) or isempty(f.known_time) as is_empty
from memory.facts f
join memory.entities s on s.tenant_id = f.tenant_id and s.generation_id = f.generation_id
    and s.entity_id = f.subject_id
where f.tenant_id = %(tenant_id)s
order by f.fact_id, f.version;

-- name: known_instants
-- Known instants of the folded episodes, in the order of the folds.
select d.known_at from memory.folds d where d.tenant_id = %(tenant_id)s order by d.fold_number;

-- name: tenant_checksums
-- How many rows a tenant has in each table, and a checksum over all their columns.
select 'tenants' as place, count(*) as row_count,
    md5(string_agg(t::text, '|' order by t::text)) as checksum
from memory.tenants t where t.tenant_id = %(tenant_id)s
union all
select 'messages', count(*), md5(string_agg(m::text, '|' order by m::text))
from memory.messages m where m.tenant_id = %(tenant_id)s
union all
select 'episodes', count(*), md5(string_agg(e::text, '|' order by e::text))
from memory.episodes e where e.tenant_id = %(tenant_id)s
union all
select 'generations', count(*), md5(string_agg(g::text, '|' order by g::text))
from memory.generations g where g.tenant_id = %(tenant_id)s
union all
select 'folds', count(*), md5(string_agg(d::text, '|' order by d::text))
from memory.folds d where d.tenant_id = %(tenant_id)s
union all
select 'entities', count(*), md5(string_agg(e::text, '|' order by e::text))
from memory.entities e where e.tenant_id = %(tenant_id)s
union all
select 'entity_aliases', count(*), md5(string_agg(a::text, '|' order by a::text))
from memory.entity_aliases a where a.tenant_id = %(tenant_id)s
union all
select 'facts', count(*), md5(string_agg(f::text, '|' order by f::text))
from memory.facts f where f.tenant_id = %(tenant_id)s
union all
select 'fact_evidence', count(*), md5(string_agg(v::text, '|' order by v::text))
from memory.fact_evidence v where v.tenant_id = %(tenant_id)s
union all
select 'uncertainties', count(*), md5(string_agg(u::text, '|' order by u::text))
from memory.uncertainties u where u.tenant_id = %(tenant_id)s
union all
select 'stage_outputs', count(*), md5(string_agg(s::text, '|' order by s::text))
from memory.stage_outputs s where s.tenant_id = %(tenant_id)s
union all
select 'claim_outcomes', count(*), md5(string_agg(o::text, '|' order by o::text))
from memory.claim_outcomes o where o.tenant_id = %(tenant_id)s
union all
select 'message_outcomes', count(*), md5(string_agg(o::text, '|' order by o::text))
from memory.message_outcomes o where o.tenant_id = %(tenant_id)s
union all
select 'judged_pairs', count(*), md5(string_agg(j::text, '|' order by j::text))
from memory.judged_pairs j where j.tenant_id = %(tenant_id)s
union all
select 'dirty_entities', count(*), md5(string_agg(d::text, '|' order by d::text))
from memory.dirty_entities d where d.tenant_id = %(tenant_id)s;
