-- Profiles: who is due, what a builder sees, what it stores. Every claim, store and failure counts
-- only for whoever claimed the entity last, so that nothing observed is taken off twice.

-- name: tenants_with_due_profiles
-- Tenants with entities to profile now, the one that waits longest first, without any text.
select w.tenant_id, count(*)::integer as entities
from (
    select d.tenant_id, d.entity_id, d.first_bumped_at as since
    from memory.dirty_entities d
    join memory.generations g on g.tenant_id = d.tenant_id and g.generation_id = d.generation_id
        and g.status = 'live'
    where d.bumps > 0 and d.held_at is null
        and (d.next_try_at is null or d.next_try_at <= statement_timestamp())
        and (d.claimed_until is null or d.claimed_until <= statement_timestamp())
    union all
    select p.tenant_id, p.entity_id, p.holds_until
    from memory.profiles p
    join memory.generations g on g.tenant_id = p.tenant_id and g.generation_id = p.generation_id
        and g.status = 'live'
    where p.retired_at is null and p.holds_until <= statement_timestamp()
) as w
group by w.tenant_id
order by min(w.since), w.tenant_id
limit %(limit)s;

-- name: tenants_with_memory
-- Every tenant that has a live memory, as the operator sees them.
select g.tenant_id from memory.generations g where g.status = 'live' order by g.tenant_id;

-- name: lock_profiles
-- One writer of the tenant until the end of the transaction: counters are read and lowered alone.
select memory.lock_tenant(%(tenant_id)s);

-- name: bump_outlived_profiles
-- A fact of the profile began or ended by itself: that is a change like any other.
with outlived as materialized (
    select p.generation_id, p.entity_id, p.holds_until
    from memory.profiles p
    join memory.generations g on g.tenant_id = p.tenant_id and g.generation_id = p.generation_id
        and g.status = 'live'
    where p.tenant_id = %(tenant_id)s and p.retired_at is null
        and p.holds_until <= statement_timestamp()
), noted as (
    update memory.profiles p set holds_until = null
    from outlived o
    where p.tenant_id = %(tenant_id)s and p.generation_id = o.generation_id
        and p.entity_id = o.entity_id
)
insert into memory.dirty_entities as d
    (tenant_id, generation_id, entity_id, bumps, first_bumped_at)
select %(tenant_id)s, o.generation_id, o.entity_id, 1, o.holds_until from outlived o
on conflict (tenant_id, generation_id, entity_id) do update
set bumps = d.bumps + 1,
    first_bumped_at = case when d.bumps = 0 then excluded.first_bumped_at
        else least(d.first_bumped_at, excluded.first_bumped_at) end;

-- name: claim_due_profiles
-- The entities that wait longest, of those that may be tried now, are the caller's for a while.
with due as (
    select d.generation_id, d.entity_id
    from memory.dirty_entities d
    where d.tenant_id = %(tenant_id)s and d.generation_id = (
            select g.generation_id from memory.generations g
            where g.tenant_id = %(tenant_id)s and g.status = 'live')
        and d.bumps > 0 and d.held_at is null
        and (d.next_try_at is null or d.next_try_at <= statement_timestamp())
        and (d.claimed_until is null or d.claimed_until <= statement_timestamp())
    order by d.first_bumped_at, d.entity_id
    limit %(batch_size)s
)
update memory.dirty_entities d
set claimed_by = %(claim_id)s,
    claimed_until = statement_timestamp() + make_interval(mins => %(lease_minutes)s)
from due
where d.tenant_id = %(tenant_id)s and d.generation_id = due.generation_id
    and d.entity_id = due.entity_id
returning d.generation_id, d.entity_id;

-- name: claim_next_profiles
-- The next entities by id, dirty or not; of these, held, resting and claimed ones are passed by.
insert into memory.dirty_entities as d
    (tenant_id, generation_id, entity_id, bumps, claimed_by, claimed_until)
select e.tenant_id, e.generation_id, e.entity_id, 0, %(claim_id)s,
    statement_timestamp() + make_interval(mins => %(lease_minutes)s)
from (
    select e.tenant_id, e.generation_id, e.entity_id
    from memory.entities e
    where e.tenant_id = %(tenant_id)s and e.generation_id = (
            select g.generation_id from memory.generations g
            where g.tenant_id = %(tenant_id)s and g.status = 'live')
        and e.entity_id > %(after)s and e.redirect_to is null and e.retired_at is null
    order by e.entity_id
    limit %(batch_size)s
) as e
left join memory.dirty_entities w on w.tenant_id = e.tenant_id
    and w.generation_id = e.generation_id and w.entity_id = e.entity_id
where w.held_at is null and coalesce(w.next_try_at <= statement_timestamp(), true)
    and coalesce(w.claimed_until <= statement_timestamp(), true)
on conflict (tenant_id, generation_id, entity_id) do update
set claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until
returning d.generation_id, d.entity_id;

-- name: last_of_next_entities
-- Where the next entities by id end; no row when there are none.
select e.entity_id
from (
    select e.entity_id
    from memory.entities e
    where e.tenant_id = %(tenant_id)s and e.generation_id = (
            select g.generation_id from memory.generations g
            where g.tenant_id = %(tenant_id)s and g.status = 'live')
        and e.entity_id > %(after)s and e.redirect_to is null and e.retired_at is null
    order by e.entity_id
    limit %(batch_size)s
) as e
order by e.entity_id desc
limit 1;

-- name: claim_profile
-- One entity is the caller's, whoever had it before.
insert into memory.dirty_entities as d
    (tenant_id, generation_id, entity_id, bumps, claimed_by, claimed_until)
select e.tenant_id, e.generation_id, e.entity_id, 0, %(claim_id)s,
    statement_timestamp() + make_interval(mins => %(lease_minutes)s)
from memory.entities e
join memory.generations g on g.tenant_id = e.tenant_id and g.generation_id = e.generation_id
    and g.status = 'live'
where e.tenant_id = %(tenant_id)s and e.entity_id = %(entity_id)s
on conflict (tenant_id, generation_id, entity_id) do update
set claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until
returning d.generation_id, d.entity_id;

-- name: claimed_groundings
-- Claimed entities with their newest facts that have not ended, oldest first, and their profiles.
with claimed as materialized (
    select d.generation_id, d.entity_id, d.bumps, d.failed_tries, d.first_bumped_at
    from memory.dirty_entities d
    where d.tenant_id = %(tenant_id)s and d.generation_id = %(generation_id)s
        and d.entity_id = any(%(entity_ids)s) and d.claimed_by = %(claim_id)s
), ends as (
    -- By ids given and not joined: so the server knows how many facts they have.
    select f.subject_id as entity_id, f.fact_id, f.known_from
    from memory.facts f
    where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
        and f.subject_id = any(%(entity_ids)s) and upper_inf(f.known_time)
        and (f.valid_until is null or f.valid_until > statement_timestamp())
    union all
    select f.object_id, f.fact_id, f.known_from
    from memory.facts f
    where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
        and f.object_id = any(%(entity_ids)s) and f.object_id is not null
        and f.object_id <> f.subject_id and upper_inf(f.known_time)
        and (f.valid_until is null or f.valid_until > statement_timestamp())
), newest as (
    select n.entity_id, n.fact_id
    from (
        select e.entity_id, e.fact_id, row_number() over (
            partition by e.entity_id order by e.known_from desc, e.fact_id) as place
        from ends e) as n
    where n.place <= %(facts_k)s
)
select d.generation_id, g.profile_id, d.entity_id, d.bumps, d.failed_tries, e.name, e.type,
    e.redirect_to is not null or e.retired_at is not null or e.name = %(exempt)s as is_out_of_use,
    statement_timestamp() as observed_at,
    array(select a.alias from memory.entity_aliases a
        where a.tenant_id = %(tenant_id)s and a.generation_id = d.generation_id
            and a.entity_id = d.entity_id
        order by a.alias collate "C") as aliases,
    p.grounding, p.facts_digest, coalesce(p.is_extractive, false) as is_extractive,
    f.fact_id, s.name as subject, f.predicate,
    coalesce(o.name, f.object_text, f.statement) as object, lower(f.valid_time) as valid_from,
    f.valid_until, f.known_from,
    coalesce((f.attributes ->> 'has_stated_start')::boolean, false) as has_stated_start,
    f.memory_category, coalesce(v.quote, '') as quote
from claimed d
join memory.generations g on g.tenant_id = %(tenant_id)s and g.generation_id = d.generation_id
join memory.entities e on e.tenant_id = %(tenant_id)s and e.generation_id = d.generation_id
    and e.entity_id = d.entity_id
left join memory.profiles p on p.tenant_id = %(tenant_id)s and p.generation_id = d.generation_id
    and p.entity_id = d.entity_id
left join newest n on n.entity_id = d.entity_id
left join memory.facts f on f.tenant_id = %(tenant_id)s and f.generation_id = d.generation_id
    and f.fact_id = n.fact_id and upper_inf(f.known_time)
left join memory.entities s on s.tenant_id = %(tenant_id)s and s.generation_id = d.generation_id
    and s.entity_id = f.subject_id
left join memory.entities o on o.tenant_id = %(tenant_id)s and o.generation_id = d.generation_id
    and o.entity_id = f.object_id
left join lateral (
    select w.quote from memory.fact_evidence w
    where w.tenant_id = %(tenant_id)s and w.generation_id = d.generation_id
        and w.fact_id = f.fact_id and w.kind in ('asserted', 'corrected')
    order by w.kind, w.claim_ref, w.episode_id
    limit 1
) as v on true
order by d.first_bumped_at, d.entity_id, f.known_from, f.fact_id;

-- name: names_of_user
-- What means the user: names given at import, and aliases of the user's entity.
select t.user_names || array(
    select a.alias from memory.entity_aliases a
    join memory.generations g on g.tenant_id = a.tenant_id and g.generation_id = a.generation_id
        and g.status = 'live'
    where a.tenant_id = t.tenant_id and a.entity_id = %(user_id)s) as names
from memory.tenants t
where t.tenant_id = %(tenant_id)s;

-- name: store_profile
-- The profile takes the place of the one before, unless somebody else claimed the entity.
insert into memory.profiles as p (tenant_id, generation_id, entity_id, text, citations, grounding,
    embedding, is_extractive, facts_digest, model, prompt_digest, request_digest, dropped,
    cited_facts, holds_until)
select %(tenant_id)s, %(generation_id)s, %(entity_id)s, %(text)s, %(citations)s, %(grounding)s,
    %(embedding)s, %(is_extractive)s, %(facts_digest)s, %(model)s, %(prompt_digest)s,
    %(request_digest)s, %(dropped)s, %(cited_facts)s, %(holds_until)s
where memory.serve_entity(%(tenant_id)s, %(generation_id)s, %(entity_id)s, %(claim_id)s,
    %(observed)s, %(observed_at)s)
on conflict (tenant_id, generation_id, entity_id) do update
set text = excluded.text, citations = excluded.citations, grounding = excluded.grounding,
    embedding = excluded.embedding, is_extractive = excluded.is_extractive,
    facts_digest = excluded.facts_digest, model = excluded.model,
    prompt_digest = excluded.prompt_digest, request_digest = excluded.request_digest,
    dropped = excluded.dropped, cited_facts = excluded.cited_facts,
    holds_until = excluded.holds_until, retired_at = null, recorded_at = now()
returning true as is_served;

-- name: keep_profile
-- Nothing that the profile was made from has changed: it stands, or stands again.
with served as materialized (
    select memory.serve_entity(%(tenant_id)s, %(generation_id)s, %(entity_id)s, %(claim_id)s,
        %(observed)s, %(observed_at)s) as is_served
), kept as (
    update memory.profiles p set retired_at = null, holds_until = %(holds_until)s
    from served
    where served.is_served and p.tenant_id = %(tenant_id)s
        and p.generation_id = %(generation_id)s and p.entity_id = %(entity_id)s
)
select is_served from served where is_served;

-- name: retire_profile
-- The entity has no fact that holds or lies ahead: its profile, if it has one, is out of use.
with served as materialized (
    select memory.serve_entity(%(tenant_id)s, %(generation_id)s, %(entity_id)s, %(claim_id)s,
        %(observed)s, %(observed_at)s) as is_served
), retired as (
    update memory.profiles p set retired_at = now(), holds_until = null
    from served
    where served.is_served and p.tenant_id = %(tenant_id)s
        and p.generation_id = %(generation_id)s and p.entity_id = %(entity_id)s
        and p.retired_at is null
)
select is_served from served where is_served;

-- name: fail_profile
-- One more failed try: the next one after a longer and longer while, none after the last.
update memory.dirty_entities d
set attempts = d.attempts + 1, failed_tries = d.failed_tries + 1, held_reason = %(reason)s,
    held_at = case when d.attempts + 1 >= %(most_attempts)s then statement_timestamp() end,
    next_try_at = statement_timestamp()
        + make_interval(mins => least(60, power(2, least(d.attempts, 10)))::integer),
    -- What was never written at all must be tried again as well.
    bumps = greatest(d.bumps, 1), claimed_by = null, claimed_until = null
where d.tenant_id = %(tenant_id)s and d.generation_id = %(generation_id)s
    and d.entity_id = %(entity_id)s and d.claimed_by = %(claim_id)s
returning d.held_at is not null as is_held;

-- name: release_profiles
-- Claimed entities are anybody's again, at once or after a while; no try is counted.
update memory.dirty_entities d
set claimed_by = null, claimed_until = null,
    next_try_at = case when %(rest_minutes)s = 0 then d.next_try_at
        else statement_timestamp() + make_interval(mins => %(rest_minutes)s) end
where d.tenant_id = %(tenant_id)s and d.claimed_by = %(claim_id)s
    and d.entity_id = any(%(entity_ids)s);

-- name: retry_held_profiles
-- Held entities, and those that rest after a failure, are due again at once.
update memory.dirty_entities d
set attempts = 0, next_try_at = null, held_at = null, held_reason = null
from memory.generations g
where g.tenant_id = d.tenant_id and g.generation_id = d.generation_id and g.status = 'live'
    and d.tenant_id = %(tenant_id)s and (d.held_at is not null or d.attempts > 0)
    and (%(entity_id)s::uuid is null or d.entity_id = %(entity_id)s)
returning d.entity_id;

-- name: read_profiles
-- Profiles in use, the user's first, with what has changed since they were written.
select e.entity_id, e.name as entity, e.type, p.text, p.is_extractive, p.model,
    p.citations, p.dropped,
    coalesce(d.bumps > 0, false) or coalesce(p.holds_until <= now(), false) as is_stale,
    d.held_at is not null as is_held, p.recorded_at as written_at
from memory.profiles p
join memory.generations g on g.tenant_id = p.tenant_id and g.generation_id = p.generation_id
    and g.status = 'live'
join memory.entities e on e.tenant_id = p.tenant_id and e.generation_id = p.generation_id
    and e.entity_id = p.entity_id
left join memory.dirty_entities d on d.tenant_id = p.tenant_id
    and d.generation_id = p.generation_id and d.entity_id = p.entity_id
where p.tenant_id = %(tenant_id)s and p.retired_at is null
    and (%(entity_id)s::uuid is null or p.entity_id = %(entity_id)s)
order by e.name <> 'user', e.name collate "C", e.type, e.entity_id;

-- name: read_cited_facts
-- Facts that profiles in use cite, as they stand now.
select distinct f.fact_id, s.name as subject, f.predicate,
    coalesce(o.name, f.object_text, f.statement) as object, lower(f.valid_time) as valid_from,
    upper(f.valid_time) as valid_until
from memory.profiles p
join memory.generations g on g.tenant_id = p.tenant_id and g.generation_id = p.generation_id
    and g.status = 'live'
join memory.facts f on f.tenant_id = p.tenant_id and f.generation_id = p.generation_id
    and f.fact_id = any(p.cited_facts) and upper_inf(f.known_time)
join memory.entities s on s.tenant_id = f.tenant_id and s.generation_id = f.generation_id
    and s.entity_id = f.subject_id
left join memory.entities o on o.tenant_id = f.tenant_id and o.generation_id = f.generation_id
    and o.entity_id = f.object_id
where p.tenant_id = %(tenant_id)s and p.retired_at is null and p.entity_id = %(entity_id)s;

-- name: read_held_profiles
-- Entities whose profile failed, held ones first, with the reason of the last try.
select e.entity_id, e.name as entity, e.type, d.attempts, d.held_reason as reason,
    d.held_at is not null as is_held, d.held_at, d.next_try_at, d.first_bumped_at as dirty_since
from memory.dirty_entities d
join memory.generations g on g.tenant_id = d.tenant_id and g.generation_id = d.generation_id
    and g.status = 'live'
join memory.entities e on e.tenant_id = d.tenant_id and e.generation_id = d.generation_id
    and e.entity_id = d.entity_id
where d.tenant_id = %(tenant_id)s and d.attempts > 0
order by d.held_at is null, e.name collate "C", e.entity_id;

-- name: entities_named
-- Entities in use of this name or alias or, written so, of this id, merged ones by what they mean.
select e.entity_id, e.name, e.type
from (
    select distinct memory.winner_of(n.tenant_id, n.generation_id, n.entity_id) as entity_id,
        n.generation_id
    from memory.entities n
    join memory.generations g on g.tenant_id = n.tenant_id and g.generation_id = n.generation_id
        and g.status = 'live'
    where n.tenant_id = %(tenant_id)s
        and (n.name = %(name)s
            or (length(%(text)s) >= 8 and starts_with(n.entity_id::text, %(text)s))
            or exists (
                select from memory.entity_aliases a
                where a.tenant_id = n.tenant_id and a.generation_id = n.generation_id
                    and a.entity_id = n.entity_id and a.alias = %(name)s))
) as named
join memory.entities e on e.tenant_id = %(tenant_id)s
    and e.generation_id = named.generation_id and e.entity_id = named.entity_id
    and e.retired_at is null
order by e.name <> %(name)s, e.name collate "C", e.type, e.entity_id;
