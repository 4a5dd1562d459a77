-- name: names_held
-- Entities that hold one of the names, as name or alias, redirects followed.
select distinct on (k.name, e.entity_id) k.name as key, e.entity_id, e.name, e.type,
    e.memory_category, e.last_linked_at, array(
        select a.alias from memory.entity_aliases a
        where a.tenant_id = %(tenant_id)s and a.generation_id = %(generation_id)s
            and a.entity_id = e.entity_id order by a.alias) as aliases
from unnest(%(keys)s::text[]) as k (name)
cross join lateral (
    select n.entity_id from memory.entities n
    where n.tenant_id = %(tenant_id)s and n.generation_id = %(generation_id)s and n.name = k.name
    union
    select a.entity_id from memory.entity_aliases a
    where a.tenant_id = %(tenant_id)s and a.generation_id = %(generation_id)s
        and a.alias = k.name) as h
cross join lateral (
    select coalesce(m.redirect_to, m.entity_id) as entity_id from memory.entities m
    where m.tenant_id = %(tenant_id)s and m.generation_id = %(generation_id)s
        and m.entity_id = h.entity_id
    limit 1) as meant
cross join lateral (
    select w.entity_id, w.name, w.type, w.memory_category, w.last_linked_at
    from memory.entities w
    where w.tenant_id = %(tenant_id)s and w.generation_id = %(generation_id)s
        and w.entity_id = meant.entity_id and w.redirect_to is null and w.retired_at is null
    limit 1) as e
order by k.name, e.entity_id;

-- name: generation_signs
-- What ranks the facts and the entities of a generation by nearness, packed into one row: a
-- hundred thousand rows would cost more than all that is in them. Versions are those without an
-- end that are believed, or were after the last fold before the stride (`boundary`, if any);
-- insights are never shown to an extraction and no claim is about their subject.
select g.version, f.fact_count, f.fact_ids, f.fact_subjects, f.fact_known_from, f.fact_known_until,
    f.fact_signs, f.predicates, e.entity_count, e.entity_ids, e.entity_known_from, e.entity_signs
from memory.generations g
cross join lateral (
    select count(*)::integer as fact_count,
        coalesce(string_agg(uuid_send(v.fact_id), ''::bytea), '') as fact_ids,
        coalesce(string_agg(uuid_send(v.subject_id), ''::bytea), '') as fact_subjects,
        coalesce(string_agg(timestamptz_send(v.known_from), ''::bytea), '') as fact_known_from,
        coalesce(string_agg(timestamptz_send(v.known_until), ''::bytea), '') as fact_known_until,
        coalesce(string_agg(bit_send(coalesce(v.embedding_signs, 0::bit(384))), ''::bytea), '')
            as fact_signs,
        coalesce(string_agg(v.predicate, chr(31)), '') as predicates
    from (
        select n.fact_id, n.subject_id, n.predicate, n.known_from,
            'infinity'::timestamptz as known_until, n.embedding_signs
        from memory.facts n
        where n.tenant_id = g.tenant_id and n.generation_id = g.generation_id
            and upper_inf(n.known_time) and n.valid_until is null
        union all
        select n.fact_id, n.subject_id, n.predicate, n.known_from, n.known_until, n.embedding_signs
        from memory.facts n
        where n.tenant_id = g.tenant_id and n.generation_id = g.generation_id
            and n.valid_until is null and n.known_until < 'infinity' and n.known_until > (
                select case when %(boundary)s::integer is null then 'infinity'
                    else memory.known_after(g.tenant_id, g.generation_id, %(boundary)s) end)) v
    where v.subject_id <> all (array(
        select o.entity_id from memory.entities o
        where o.tenant_id = g.tenant_id and o.generation_id = g.generation_id
            and o.name = 'graph observations'))) f
cross join lateral (
    select count(*)::integer as entity_count,
        coalesce(string_agg(uuid_send(n.entity_id), ''::bytea), '') as entity_ids,
        coalesce(string_agg(timestamptz_send(n.known_from), ''::bytea), '') as entity_known_from,
        coalesce(string_agg(bit_send(n.embedding_signs), ''::bytea), '') as entity_signs
    from memory.entities n
    where n.tenant_id = g.tenant_id and n.generation_id = g.generation_id
        and n.redirect_to is null and n.embedding_signs is not null) e
where g.tenant_id = %(tenant_id)s and g.generation_id = %(generation_id)s;

-- name: nearest_entities
-- The entities nearest to one name, out of those that share most signs with it (`near`); what
-- shares its initials comes first, however far it is.
with alike as materialized (
    select i.entity_id from memory.entities i
    where i.tenant_id = %(tenant_id)s and i.generation_id = %(generation_id)s
        and i.name = any(%(initials)s)
    union
    select i.entity_id from memory.entities i
    where i.tenant_id = %(tenant_id)s and i.generation_id = %(generation_id)s
        and i.initials = %(acronym)s
    union
    select i.entity_id from memory.entities i
    where i.tenant_id = %(tenant_id)s and i.generation_id = %(generation_id)s
        and i.main_initials = %(acronym)s
)
select e.entity_id, e.name, e.type, e.memory_category, e.last_linked_at, array(
        select a.alias from memory.entity_aliases a
        where a.tenant_id = %(tenant_id)s and a.generation_id = %(generation_id)s
            and a.entity_id = e.entity_id order by a.alias) as aliases,
    1 - (e.embedding <=> %(vector)s) as similarity
from (select entity_id from alike union select unnest(%(near)s::uuid[])) c
cross join lateral (
    select m.entity_id, m.name, m.type, m.memory_category, m.last_linked_at, m.embedding
    from memory.entities m
    where m.tenant_id = %(tenant_id)s and m.generation_id = %(generation_id)s
        and m.entity_id = c.entity_id and m.redirect_to is null
    limit 1) e
where e.embedding is not null
order by e.entity_id in (select entity_id from alike) desc, similarity desc, e.entity_id
limit %(limit)s;

-- name: facts_of_objects
-- Believed facts that share subject and object with a claim, whatever the verb, ended ones too.
-- Subjects are compared as text, so that no index is used for them: all that is known of the user
-- would be read.
with claimed as (
    select c.subject_id, c.object_id, c.object_text, md5(c.object_text)::uuid as object_key
    from unnest(%(subjects)s::uuid[], %(objects)s::uuid[], %(texts)s::text[])
        as c (subject_id, object_id, object_text)
), same as materialized (
    select s.fact_id from claimed c
    join memory.facts s on s.tenant_id = %(tenant_id)s and s.generation_id = %(generation_id)s
        and upper_inf(s.known_time)
        and s.object_id = c.object_id and s.subject_id::text = c.subject_id::text
    union
    select s.fact_id from claimed c
    join memory.facts s on s.tenant_id = %(tenant_id)s and s.generation_id = %(generation_id)s
        and upper_inf(s.known_time) and s.object_text = c.object_text
        and s.object_key = c.object_key and s.subject_id::text = c.subject_id::text
)
select f.fact_id, f.version, f.subject_id, f.predicate, f.object_id, f.object_text,
    f.statement, lower(f.valid_time) as valid_from, f.valid_until, f.known_from, f.confidence,
    f.memory_category, f.tier, (f.attributes ->> 'has_stated_start')::boolean as has_stated_start,
    f.opened_by, f.ended_by, f.ended_reason, f.successor_id, (
        select q.quote from memory.fact_evidence q
        where q.tenant_id = f.tenant_id and q.generation_id = f.generation_id
            and q.fact_id = f.fact_id and q.kind = 'asserted'
        order by q.episode_id, q.claim_ref limit 1) as quote
from same s
join memory.facts f on f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
    and f.fact_id = s.fact_id and upper_inf(f.known_time)
order by f.fact_id;

-- name: nearby_facts
-- For each claim (the n-th of each array), facts about its subject that have not ended and share
-- its predicate (its slot) or are near to it. `near` are those of the slot and of the others that
-- share most signs with the claim. Of slot and neighbours the best `considered` each come whole; of the
-- rest, up to `counted`, only the ids, so that it can be told that they were not judged. Ends that
-- lie ahead are few, so they are looked up for all subjects: as text, a subject is looked up in no
-- index.
with claimed as materialized (
    select c.claim, c.subject_id, c.predicate, c.said_at, c.vector, c.near
    from unnest(%(subject_ids)s::uuid[], %(predicates)s::text[], %(said_at)s::timestamptz[],
        %(vectors)b::halfvec[], %(near)s::text[])
        with ordinality as c (subject_id, predicate, said_at, vector, near, claim)
), near as (
    select c.claim, n.fact_id
    from claimed c cross join lateral unnest(c.near::uuid[]) as n (fact_id)
    union
    select c.claim, n.fact_id from claimed c
    join memory.facts n on n.tenant_id = %(tenant_id)s and n.generation_id = %(generation_id)s
        and upper_inf(n.known_time) and n.subject_id::text = c.subject_id::text
        and n.valid_until > %(first_said_at)s and n.valid_until < 'infinity'
    where n.valid_until > c.said_at
), compared as (
    select c.claim, f.fact_id, f.predicate = c.predicate as is_slot,
        1 - (f.embedding <=> c.vector) as similarity
    from near n
    join claimed c on c.claim = n.claim
    cross join lateral (
        select b.fact_id, b.predicate, b.embedding from memory.facts b
        where b.tenant_id = %(tenant_id)s and b.generation_id = %(generation_id)s
            and b.fact_id = n.fact_id and upper_inf(b.known_time)
        limit 1) f
), ranked as (
    select c.claim, c.fact_id, c.is_slot, c.similarity, row_number() over (
        partition by c.claim, c.is_slot order by c.similarity desc nulls last, c.fact_id) as place
    from compared c
    where c.is_slot or c.similarity >= %(minimum)s
), chosen as (
    select r.fact_id, case when bool_or(r.place <= %(considered)s) then r.fact_id end
            as considered_id,
        array_agg(r.claim order by r.claim) as claims,
        array_agg(r.is_slot order by r.claim) as slots,
        array_agg(r.similarity order by r.claim) as similarities
    from ranked r
    where r.place <= %(counted)s
    group by r.fact_id
)
select c.fact_id, f.version, f.subject_id, f.predicate, f.object_id, f.object_text, f.statement,
    lower(f.valid_time) as valid_from, f.valid_until, f.known_from, f.confidence,
    f.memory_category, f.tier, (f.attributes ->> 'has_stated_start')::boolean as has_stated_start,
    f.opened_by, f.ended_by, f.ended_reason, f.successor_id, (
        select q.quote from memory.fact_evidence q
        where q.tenant_id = %(tenant_id)s and q.generation_id = %(generation_id)s
            and q.fact_id = c.considered_id and q.kind = 'asserted'
        order by q.episode_id, q.claim_ref limit 1) as quote,
    c.claims, c.slots, c.similarities
from chosen c
left join lateral (
    select b.version, b.subject_id, b.predicate, b.object_id, b.object_text, b.statement,
        b.valid_time, b.valid_until, b.known_from, b.confidence, b.memory_category, b.tier,
        b.attributes, b.opened_by, b.ended_by, b.ended_reason, b.successor_id
    from memory.facts b
    where b.tenant_id = %(tenant_id)s and b.generation_id = %(generation_id)s
        and b.fact_id = c.considered_id and upper_inf(b.known_time)
    limit 1) f on true
order by c.fact_id;

-- name: links_at_stake
-- The believed facts that decide what ends with some links: what hangs on them and what else
-- leads there.
select f.fact_id, f.version, f.subject_id, f.predicate, f.object_id, f.object_text,
    f.statement, lower(f.valid_time) as valid_from, f.valid_until, f.known_from, f.confidence,
    f.memory_category, f.tier, (f.attributes ->> 'has_stated_start')::boolean as has_stated_start,
    f.opened_by, f.ended_by, f.ended_reason, f.successor_id
from memory.links_at_stake(%(tenant_id)s, %(generation_id)s, %(user_id)s, %(ending)s, %(named)s) s
cross join lateral (
    select b.fact_id, b.version, b.subject_id, b.predicate, b.object_id, b.object_text, b.statement,
        b.valid_time, b.valid_until, b.known_from, b.confidence, b.memory_category, b.tier,
        b.attributes, b.opened_by, b.ended_by, b.ended_reason, b.successor_id
    from memory.facts b
    where b.tenant_id = %(tenant_id)s and b.generation_id = %(generation_id)s
        and b.fact_id = s.fact_id and upper_inf(b.known_time)
    limit 1) f
where not exists (
    select from memory.entities e
    where e.tenant_id = %(tenant_id)s and e.generation_id = %(generation_id)s
        and e.entity_id = f.subject_id and e.name = %(exempt)s);

-- name: boundary_instant
-- The known instant of the last fold before a stride; none before the first fold.
select nullif(memory.known_after(%(tenant_id)s, %(generation_id)s, %(boundary)s), '-infinity')
    as at;

-- name: known_entities
-- Entity names as of the last fold before the stride, in no order: all that there are, or so many
-- that a choice must be made.
select e.entity_id, e.name, e.type, coalesce((
    select array_agg(a.alias order by a.alias) from memory.entity_aliases a
    where a.tenant_id = e.tenant_id and a.generation_id = e.generation_id
        and a.entity_id = e.entity_id and a.known_from <= (
            select memory.known_after(%(tenant_id)s, %(generation_id)s, %(boundary)s))), '{}')
        as aliases
from memory.entities e
where e.tenant_id = %(tenant_id)s and e.generation_id = %(generation_id)s
    and e.redirect_to is null and e.retired_at is null
    and e.name not in ('user', 'graph observations') and e.known_from <= (
        select memory.known_after(%(tenant_id)s, %(generation_id)s, %(boundary)s))
order by e.entity_id
limit %(limit)s;

-- name: relevant_entities
-- Entity names shown to extraction where there are too many: those the window names, then those
-- nearest to it (out of `near`, which share most signs with it), then the latest.
with known as materialized (
    select memory.known_after(%(tenant_id)s, %(generation_id)s, %(boundary)s) as at
), spoken as (
    select s.name from unnest(%(spoken)s::text[]) as s (name)
), named as materialized (
    select e.entity_id from spoken s
    join memory.entities e on e.tenant_id = %(tenant_id)s
        and e.generation_id = %(generation_id)s and e.name = s.name
    union
    select a.entity_id from spoken s
    join memory.entity_aliases a on a.tenant_id = %(tenant_id)s
        and a.generation_id = %(generation_id)s and a.alias = s.name
        and a.known_from <= (select at from known)
)
select e.entity_id, e.name, e.type, coalesce((
    select array_agg(a.alias order by a.alias) from memory.entity_aliases a
    where a.tenant_id = %(tenant_id)s and a.generation_id = %(generation_id)s
        and a.entity_id = e.entity_id and a.known_from <= (select at from known)), '{}') as aliases
from (select entity_id from named union select unnest(%(near)s::uuid[])) c
cross join lateral (
    select m.entity_id, m.name, m.type, m.redirect_to, m.retired_at, m.known_from, m.embedding
    from memory.entities m
    where m.tenant_id = %(tenant_id)s and m.generation_id = %(generation_id)s
        and m.entity_id = c.entity_id
    limit 1) e
where e.redirect_to is null and e.retired_at is null
    and e.name not in ('user', 'graph observations') and e.known_from <= (select at from known)
order by e.entity_id in (select entity_id from named) desc,
    1 - (e.embedding <=> %(vector)s) desc nulls last, e.known_from desc, e.name, e.entity_id
limit %(limit)s;

-- name: known_facts
-- Facts believed then that had not ended, in no order: all that there are, or so many that a
-- choice must be made.
with known as materialized (
    select memory.known_after(%(tenant_id)s, %(generation_id)s, %(boundary)s) as at
), then_believed as materialized (
    (select f.fact_id from memory.facts f
    where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
        and upper_inf(f.known_time) and f.valid_until is null
        and f.known_from <= (select at from known)
        and (f.object_id is not null or f.object_text is not null)
    order by f.subject_id
    limit %(limit)s)
    union
    select f.fact_id from memory.facts f
    where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
        and upper_inf(f.known_time) and f.valid_until > %(at)s and f.valid_until < 'infinity'
    union
    select f.fact_id from memory.facts f
    where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
        and f.known_until > (select at from known) and f.known_until < 'infinity'
)
select f.fact_id, s.name as subject, f.predicate, coalesce(o.name, f.object_text) as object,
    f.object_id is not null as object_is_entity
from then_believed b
join memory.facts f on f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
    and f.fact_id = b.fact_id
join memory.entities s on s.tenant_id = f.tenant_id and s.generation_id = f.generation_id
    and s.entity_id = f.subject_id
left join memory.entities o on o.tenant_id = f.tenant_id and o.generation_id = f.generation_id
    and o.entity_id = f.object_id
where f.known_from <= (select at from known)
    and (f.known_until is null or f.known_until > (select at from known))
    and (f.valid_until is null or f.valid_until > %(at)s)
    and (f.object_id is not null or f.object_text is not null)
limit %(limit)s;

-- name: relevant_facts
-- Facts shown to extraction where there are too many: those about something the window names, then
-- those nearest to it (out of `near`, which share most signs with it), then the latest.
with known as materialized (
    select memory.known_after(%(tenant_id)s, %(generation_id)s, %(boundary)s) as at
), spoken as materialized (
    select s.name, md5(s.name)::uuid as object_key from unnest(%(spoken)s::text[]) as s (name)
), named as materialized (
    select e.entity_id from spoken s
    join memory.entities e on e.tenant_id = %(tenant_id)s
        and e.generation_id = %(generation_id)s and e.name = s.name
    where s.name <> 'user'
), candidates as materialized (
    select unnest(%(near)s::uuid[]) as fact_id
    union
    (select n.fact_id from named e
    join memory.facts n on n.tenant_id = %(tenant_id)s and n.generation_id = %(generation_id)s
        and upper_inf(n.known_time) and n.valid_until is null and n.subject_id = e.entity_id
        and n.known_from <= (select at from known)
    order by n.embedding_signs <~> (select binary_quantize(%(vector)s::halfvec)), n.fact_id
    limit %(compared)s)
    union
    (select n.fact_id from named e
    join memory.facts n on n.tenant_id = %(tenant_id)s and n.generation_id = %(generation_id)s
        and upper_inf(n.known_time) and n.object_id = e.entity_id
        and n.known_from <= (select at from known) and n.valid_until is null
    order by n.embedding_signs <~> (select binary_quantize(%(vector)s::halfvec)), n.fact_id
    limit %(compared)s)
    union
    select n.fact_id from memory.facts n
    where n.tenant_id = %(tenant_id)s and n.generation_id = %(generation_id)s
        and upper_inf(n.known_time) and n.valid_until > %(at)s and n.valid_until < 'infinity'
    union
    select n.fact_id from spoken s
    join memory.facts n on n.tenant_id = %(tenant_id)s and n.generation_id = %(generation_id)s
        and upper_inf(n.known_time) and n.object_key = s.object_key
    union
    select n.fact_id from memory.facts n
    where n.tenant_id = %(tenant_id)s and n.generation_id = %(generation_id)s
        and n.known_until > (select at from known) and n.known_until < 'infinity'
        and (n.valid_until is not null or n.object_key in (select object_key from spoken)
            or n.subject_id in (select entity_id from named)
            or n.object_id in (select entity_id from named))
)
select f.fact_id, s.name as subject, f.predicate, coalesce(o.name, f.object_text) as object,
    f.object_id is not null as object_is_entity
from candidates c
cross join lateral (
    select v.fact_id, v.subject_id, v.predicate, v.object_id, v.object_text, v.object_key,
        v.known_from, v.statement, v.embedding
    from memory.facts v
    where v.tenant_id = %(tenant_id)s and v.generation_id = %(generation_id)s
        and v.fact_id = c.fact_id and v.known_from <= (select at from known)
        and (v.known_until is null or v.known_until > (select at from known))
        and (v.valid_until is null or v.valid_until > %(at)s)
        and (v.object_id is not null or v.object_text is not null)
    limit 1) f
cross join lateral (
    select e.name from memory.entities e
    where e.tenant_id = %(tenant_id)s and e.generation_id = %(generation_id)s
        and e.entity_id = f.subject_id
    limit 1) s
left join lateral (
    select e.name from memory.entities e
    where e.tenant_id = %(tenant_id)s and e.generation_id = %(generation_id)s
        and e.entity_id = f.object_id
    limit 1) o on true
order by (f.object_id in (select entity_id from named)
        or f.subject_id in (select entity_id from named)
        or f.object_key in (select object_key from spoken)) is true desc,
    1 - (f.embedding <=> %(vector)s) desc nulls last, f.known_from desc, f.statement, f.fact_id
limit %(limit)s;

-- name: stored_extractions
-- Extractions of some episodes that are stored already.
select episode_id, input_digest, payload from memory.stage_outputs
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
    and episode_id = any(%(episode_ids)s) and stage = 'extracted_graphs';

-- name: known_names_of_user
-- Names by which the user is known: given at import or stated.
with known as materialized (
    select memory.known_after(%(tenant_id)s, %(generation_id)s, %(boundary)s) as at
)
select t.user_names || coalesce((
    select array_agg(distinct f.object_text)
    from (
        select n.object_text from memory.facts n
        where n.tenant_id = %(tenant_id)s and n.generation_id = %(generation_id)s
            and upper_inf(n.known_time) and n.known_from <= (select at from known)
            and n.subject_id = %(user_id)s and n.predicate = 'has name'
        union
        select n.object_text from memory.facts n
        where n.tenant_id = %(tenant_id)s and n.generation_id = %(generation_id)s
            and n.known_until > (select at from known) and n.known_until < 'infinity'
            and n.known_from <= (select at from known)
            and n.subject_id::text = %(user_id)s::text and n.predicate = 'has name') f
    where f.object_text is not null), '{}') as names
from memory.tenants t
where t.tenant_id = %(tenant_id)s;
