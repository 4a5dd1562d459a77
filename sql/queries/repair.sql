-- Repair of a tenant's entities: what it reads, and what merging writes in one transaction.

-- name: repairable_entities
-- Entities in use, with the generation they belong to.
select g.generation_id, g.version, g.folded_count, e.entity_id, e.name, e.type
from memory.generations g
left join memory.entities e on e.tenant_id = g.tenant_id and e.generation_id = g.generation_id
    and e.redirect_to is null and e.retired_at is null
where g.tenant_id = %(tenant_id)s and g.status = 'live'
order by e.entity_id;

-- name: followers
-- Entities that mean one of these already.
select e.entity_id, e.redirect_to from memory.entities e
where e.tenant_id = %(tenant_id)s and e.generation_id = %(generation_id)s
    and e.redirect_to = any(%(entity_ids)s)
order by e.entity_id;

-- name: meaning
-- Which of these entities mean another one.
select e.entity_id from memory.entities e
where e.tenant_id = %(tenant_id)s and e.generation_id = %(generation_id)s
    and e.entity_id = any(%(entity_ids)s) and e.redirect_to = %(target_id)s
order by e.entity_id;

-- name: winners
-- What these entities mean now: themselves, or another one.
select e.entity_id, memory.winner_of(%(tenant_id)s, %(generation_id)s, e.entity_id) as winner_id
from memory.entities e
where e.tenant_id = %(tenant_id)s and e.generation_id = %(generation_id)s
    and e.entity_id = any(%(entity_ids)s);

-- name: undone_merges
-- Merges that somebody took apart again: they are not made a second time.
select (c.content -> 'loser' ->> 'entity_id')::uuid as loser_id,
    (c.content -> 'winner' ->> 'entity_id')::uuid as winner_id
from memory.corrections c
where c.tenant_id = %(tenant_id)s and c.kind = 'merge' and c.undone_at is not null;

-- name: facts_of_entities
-- Believed facts that have one of the entities at either end.
select f.fact_id, f.version, f.subject_id, f.predicate, f.object_id,
    coalesce(f.object_text, case when f.object_id is null then f.statement end) as object_text,
    lower(f.valid_time) as valid_from, upper(f.valid_time) as valid_until,
    lower(f.known_time) as known_from
from memory.facts f
where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
    and upper_inf(f.known_time)
    and (f.subject_id = any(%(entity_ids)s) or f.object_id = any(%(entity_ids)s))
order by f.fact_id;

-- name: claim_event
-- Move the generation on, or fail when it is not where the plan saw it (SQLSTATE MP001).
select memory.claim_event(%(tenant_id)s, %(generation_id)s, %(version)s) as known_at;

-- name: close_repaired
-- A version is believed no more; its endpoints are corrected in the next one, or it ends for good.
update memory.facts
set known_time = tstzrange(lower(known_time), %(known_at)s),
    dropped_reason = %(reason)s, dropped_for = %(successor_id)s
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s and fact_id = %(fact_id)s
    and version = %(version)s and upper_inf(known_time);

-- name: insert_repaired
-- The same fact as its last version, from now on between these entities.
insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id, predicate,
    object_id, object_text, statement, valid_time, known_time, confidence, memory_category, tier,
    attributes, opened_by, ended_by, ended_reason, successor_id, recipe_id, embedding)
select f.tenant_id, f.generation_id, f.fact_id, f.version + 1, %(subject_id)s, f.predicate,
    %(object_id)s, f.object_text, f.statement, f.valid_time, tstzrange(%(known_at)s, null),
    f.confidence, f.memory_category, f.tier, f.attributes, f.opened_by, f.ended_by,
    f.ended_reason, f.successor_id, f.recipe_id, f.embedding
from memory.facts f
where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
    and f.fact_id = %(fact_id)s and f.version = %(version)s;

-- name: redirect_entities
-- They mean another entity from now on, and so does whatever meant them; null sets them free.
with retired as (
    update memory.profiles set retired_at = now()
    where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
        and entity_id = any(%(entity_ids)s) and retired_at is null and %(target_id)s::uuid is not null
)
update memory.entities set redirect_to = %(target_id)s
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
    and entity_id = any(%(entity_ids)s);

-- name: retire_entity
-- An entity without a name is out of use, and so is its profile.
with retired as (
    update memory.profiles set retired_at = now()
    where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
        and entity_id = %(entity_id)s and retired_at is null
)
update memory.entities set retired_at = %(known_at)s, embedding = null
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
    and entity_id = %(entity_id)s;

-- name: insert_event
-- What upkeep or a person changed, by content.
insert into memory.corrections (tenant_id, correction_id, kind, content, known_at, after_fold,
    made_by)
values (%(tenant_id)s, %(correction_id)s, %(kind)s, %(content)s, %(known_at)s, %(after_fold)s,
    %(made_by)s);

-- name: merges
-- Merges of a tenant, the latest first, with those that were taken apart again.
select c.correction_id, c.content, c.known_at, c.undone_at
from memory.corrections c
where c.tenant_id = %(tenant_id)s and c.kind = 'merge'
order by c.known_at desc, c.correction_id;

-- name: undo_event
-- The event counts no more.
update memory.corrections set undone_at = %(known_at)s
where tenant_id = %(tenant_id)s and correction_id = %(correction_id)s and undone_at is null;

-- name: last_versions
-- The latest version of some facts, believed or not.
select distinct on (f.fact_id) f.fact_id, f.version, f.dropped_reason,
    upper_inf(f.known_time) as is_believed
from memory.facts f
where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
    and f.fact_id = any(%(fact_ids)s)
order by f.fact_id, f.version desc;
