-- Forgetting what nobody reads; the database's clock alone decides.

-- name: archive_decayed
-- Facts that faded below the floor are believed no more from now on; each is an event by content.
with generation as (
    select g.generation_id, g.folded_count from memory.generations g
    where g.tenant_id = %(tenant_id)s and g.status = 'live'
), due as materialized (
    select f.fact_id, f.version
    from memory.facts f
    left join memory.fact_access a on a.tenant_id = f.tenant_id and a.content_key = f.content_key
    where f.tenant_id = %(tenant_id)s and f.generation_id = (select generation_id from generation)
        and upper_inf(f.known_time) and f.valid_time @> statement_timestamp()
        and memory.half_lives_left(
            statement_timestamp()
                - coalesce(a.last_accessed_at, a.first_recorded_at, f.recorded_at),
            coalesce(a.access_count, 0), %(half_life_days)s, %(floor)s) < 0
), event as materialized (
    select memory.claim_event(%(tenant_id)s, g.generation_id, null) as known_at, g.folded_count
    from generation g
    where exists (select from due)
), archived as (
    update memory.facts f
    set known_time = tstzrange(lower(f.known_time), e.known_at), dropped_reason = 'decayed'
    from due d, event e
    where f.tenant_id = %(tenant_id)s and f.generation_id = (select generation_id from generation)
        and f.fact_id = d.fact_id and f.version = d.version and upper_inf(f.known_time)
    returning f.fact_id, f.content_key, f.statement, f.subject_id, f.object_id, e.known_at,
        e.folded_count
), events as (
    insert into memory.corrections (tenant_id, correction_id, kind, content, known_at, after_fold,
        made_by)
    select %(tenant_id)s, gen_random_uuid(), 'archive',
        jsonb_build_object('content_key', a.content_key, 'statement', a.statement,
            'fact_id', a.fact_id),
        a.known_at, a.folded_count, 'decay'
    from archived a
), dirty as (
    insert into memory.dirty_entities as d (tenant_id, generation_id, entity_id, bumps)
    select distinct %(tenant_id)s, (select generation_id from generation), used.entity_id, 1
    from archived a
    cross join lateral (
        select a.subject_id union select a.object_id where a.object_id is not null
    ) as used (entity_id)
    on conflict (tenant_id, generation_id, entity_id) do update
    set bumps = d.bumps + 1,
        first_bumped_at = case when d.bumps = 0 then now() else d.first_bumped_at end
)
select fact_id, statement, known_at from archived order by statement, fact_id;

-- name: read_decaying
-- Facts that hold now by the instant at which they will be archived if nobody reads them.
with generation as (
    select g.generation_id from memory.generations g
    where g.tenant_id = %(tenant_id)s and g.status = 'live'
), aged as (
    select f.fact_id, f.statement, coalesce(a.access_count, 0) as access_count,
        a.last_accessed_at,
        coalesce(a.last_accessed_at, a.first_recorded_at, f.recorded_at) as counted_from
    from memory.facts f
    left join memory.fact_access a on a.tenant_id = f.tenant_id and a.content_key = f.content_key
    where f.tenant_id = %(tenant_id)s and f.generation_id = (select generation_id from generation)
        and upper_inf(f.known_time) and f.valid_time @> statement_timestamp()
), rated as (
    select aged.*, memory.half_lives_left(statement_timestamp() - counted_from, access_count,
        %(half_life_days)s, %(floor)s) as half_lives_left
    from aged
)
select fact_id, statement, access_count, last_accessed_at, counted_from,
    -- Cut at 300 half-lives, since no smaller number can be told from nothing.
    (1 + access_count) * power(0.5, least(300, extract(epoch from
        statement_timestamp() - counted_from) / 86400 / %(half_life_days)s)::double precision)
        as relevance,
    coalesce(half_lives_left < 0, false) as is_due,
    case when half_lives_left * %(half_life_days)s < 365000 then statement_timestamp()
        + make_interval(secs => (half_lives_left * %(half_life_days)s * 86400)::double precision)
    end as archived_from
from rated
order by half_lives_left nulls last, statement, fact_id
limit %(limit)s::bigint;
