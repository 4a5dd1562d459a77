-- What upkeep and people change in a memory is an event of the tenant, kept by content, so that it
-- survives every rebuild; so are the counters of what was read.

comment on table memory.corrections is
    'What upkeep and people changed, by content, in the order it happened; replayed by rebuilds.';
alter table memory.corrections
    add column after_fold integer not null default 0,
    add column made_by text not null default 'person'
        check (made_by in ('person', 'decay', 'repair')),
    add column undone_at timestamptz;
comment on column memory.corrections.after_fold is 'How many episodes were folded before it.';
comment on column memory.corrections.known_at is
    'max(its time, last known instant + 1 microsecond): its place on the conversation''s clock.';
create index corrections_order on memory.corrections (tenant_id, known_at);

-- A fact's content without its generation, so that what was read is remembered across rebuilds.
alter table memory.facts
    add column content_key uuid not null
        generated always as (md5(lower(statement))::uuid) stored;
create index facts_content on memory.facts (tenant_id, generation_id, content_key)
    where upper_inf(known_time);

alter table memory.fact_access add column first_recorded_at timestamptz not null default now();
insert into memory.fact_access (tenant_id, content_key, first_recorded_at)
select f.tenant_id, f.content_key, min(f.recorded_at)
from memory.facts f
group by f.tenant_id, f.content_key
on conflict do nothing;

-- A change by upkeep: fails unless the generation stands where its plan saw it, and gives the
-- known instant of the event. The raised state is MP001 (stale plan: make another).
create function memory.claim_event(a_tenant text, a_generation uuid, a_version bigint)
    returns timestamptz language plpgsql set search_path = memory, pg_temp as $$
declare
    head memory.generations;
    event_at timestamptz;
begin
    perform memory.lock_tenant(a_tenant);
    select * into head from memory.generations g
        where g.tenant_id = a_tenant and g.generation_id = a_generation for update;
    if a_version is not null and head.version is distinct from a_version then
        raise exception 'generation is at version %, the plan was made at %', head.version, a_version
            using errcode = 'MP001';
    end if;
    event_at := greatest(statement_timestamp(), head.last_known_at + interval '1 microsecond');
    update memory.generations g
    set version = g.version + 1, last_known_at = event_at
    where g.tenant_id = a_tenant and g.generation_id = a_generation;
    return event_at;
end
$$;
revoke all on function memory.claim_event from public;
grant execute on function memory.claim_event to memory_app;

-- A name that means nothing any more: the entity is out of use, with its facts.
alter table memory.entities add column retired_at timestamptz;
comment on column memory.entities.retired_at is 'Known instant from which the entity is out of use.';

-- For how many half-lives more a fact stays at or above the floor; negative when it is below, null
-- with a floor of 0. Of `0.5 ^ (age / half_life) * (1 + reads)` the exponents are compared, so that
-- no age underflows.
create function memory.half_lives_left(
    age interval, reads bigint, half_life_days numeric, floor numeric)
    returns numeric language sql immutable parallel safe
    return log(2, (1 + reads) / nullif(floor, 0))
        - extract(epoch from age) / 86400 / half_life_days;
grant execute on function memory.half_lives_left to memory_app;

-- Why a fact is not believed any more stands beside why its period ended, so that reads of the
-- time before it was dropped say what they said then.
alter table memory.facts
    add column dropped_reason text check (dropped_reason in ('invalidated', 'cascade', 'decayed',
                                                             'merged')),
    add column dropped_by uuid,
    add column dropped_for uuid;
comment on column memory.facts.dropped_reason is
    'Why the known time of a fact''s last version ended: no version follows.';
comment on column memory.facts.dropped_for is 'The fact that is believed instead, where there is one.';
update memory.facts f
set dropped_reason = f.ended_reason, dropped_by = f.ended_by, dropped_for = f.successor_id,
    ended_reason = null, ended_by = null, successor_id = null
where not upper_inf(f.known_time) and f.ended_reason in ('invalidated', 'cascade')
    and not exists (
        select from memory.facts n
        where n.tenant_id = f.tenant_id and n.generation_id = f.generation_id
            and n.fact_id = f.fact_id and n.version > f.version);

-- Whether, as known at an instant (null: by now), a version had been dropped.
create function memory.is_dropped(a_reason text, a_known_time tstzrange, a_known_at timestamptz)
    returns boolean language sql immutable parallel safe
    return a_reason is not null and (a_known_at is null or upper(a_known_time) <= a_known_at);
grant execute on function memory.is_dropped to memory_app;

-- What two facts share that say the same; as in the column of that name.
create function memory.triple_key(
    subject_id uuid, predicate text, object_id uuid, object_text text, statement text)
    returns uuid language sql immutable parallel safe
    return md5(subject_id::text || chr(31) || predicate || chr(31)
        || coalesce(object_id::text, 't' || chr(31) || coalesce(object_text, statement)))::uuid;
grant execute on function memory.triple_key to memory_app;
