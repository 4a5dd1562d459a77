-- What keeps the reads of a fold from growing with what a tenant holds.
-- Row security lets an index serve a condition only where its operators are leakproof: those on
-- plain columns are, functions of ranges and texts are not. So what is looked up is a column.

-- Signs of a vector's parts: near vectors share most of them. Comparing 48 bytes out of an index
-- sorts a subject's facts well enough to leave a thousand for the exact comparison; and unlike a
-- graph index it gives the same rows whatever was inserted when, so that a rebuild finds what the
-- live memory found (spec G1).
alter table memory.facts
    add column known_from timestamptz generated always as (lower(known_time)) stored,
    add column known_until timestamptz generated always as (upper(known_time)) stored,
    add column valid_until timestamptz generated always as (upper(valid_time)) stored,
    add column object_key uuid generated always as (md5(object_text)::uuid) stored,
    add column embedding_signs bit(384) generated always as (binary_quantize(embedding)) stored;
comment on column memory.facts.object_key is
    'Stands for the text of an object, which may be longer than an index takes.';
alter table memory.entities
    add column embedding_signs bit(384) generated always as (binary_quantize(embedding)) stored,
    add column initials text generated always as (
        regexp_replace(name, '(\w)\w*\W*', '\1', 'g')) stored,
    add column main_initials text generated always as (
        regexp_replace(name, '\m(?:of|the|and|for|in|on)\M\W*|(\w)\w*\W*', '\1', 'g')) stored;
comment on column memory.entities.main_initials is 'Those of its words that carry meaning.';
-- Never packed, so that it is compared where it lies.
alter table memory.facts alter column embedding_signs set storage plain;
alter table memory.entities alter column embedding_signs set storage plain;

-- Read without the table: what is asked of many facts before a few are fetched. It takes
-- the place of one with the same keys: of two the server may choose the one that lacks the rest.
drop index memory.facts_slot;
create index facts_slot on memory.facts (tenant_id, generation_id, subject_id, predicate)
    include (fact_id, known_from, valid_until, embedding_signs) where upper_inf(known_time);
-- Few ends lie ahead.
create index facts_ending on memory.facts (tenant_id, generation_id, valid_until)
    include (fact_id, subject_id) where upper_inf(known_time) and valid_until is not null;
drop index memory.facts_object;
create index facts_object on memory.facts (tenant_id, generation_id, object_id, subject_id)
    include (fact_id, known_from, valid_until, embedding_signs)
    where upper_inf(known_time) and object_id is not null;
create index facts_text on memory.facts (tenant_id, generation_id, object_key, subject_id)
    where upper_inf(known_time) and object_key is not null;
create index facts_names on memory.facts (tenant_id, generation_id, subject_id)
    where upper_inf(known_time) and predicate = 'has name';
-- What was believed at an earlier fold and is no more: little lies behind the fold of a stride.
create index facts_closed on memory.facts (tenant_id, generation_id, known_until)
    where known_until is not null;
create index entities_near on memory.entities (tenant_id, generation_id)
    include (entity_id, known_from, embedding_signs) where redirect_to is null;
create index entities_initials on memory.entities (tenant_id, generation_id, initials);
create index entities_main_initials on memory.entities (tenant_id, generation_id, main_initials);
create index entity_aliases_of on memory.entity_aliases (tenant_id, generation_id, entity_id);
create index uncertainties_open on memory.uncertainties
    (tenant_id, generation_id, subject, predicate) where resolved_at is null;

-- An index stands in for its table only where vacuum has been since the rows came.
alter table memory.facts set (autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
alter table memory.entities set (autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Which of some things no open-ended link holds to the user, those of `ending` not counted. What
-- such a link holds is reachable whatever else ends. As text, the user is looked up in no index: all
-- that is known of the user would be read.
create function memory.loosely_linked(
    a_tenant text, a_generation uuid, a_user uuid, ending uuid[], things uuid[])
    returns uuid[] language sql stable set search_path = memory, pg_temp
    return (
        select coalesce(array_agg(distinct t.thing), '{}')
        from unnest(things) as t (thing)
        where t.thing <> a_user and not exists (
            select from memory.facts f
            where f.tenant_id = a_tenant and f.generation_id = a_generation
                and upper_inf(f.known_time)
                and f.object_id = t.thing and f.subject_id::text = a_user::text
                and f.valid_until is null and f.fact_id <> all (ending))
        and not exists (
            select from memory.facts f
            where f.tenant_id = a_tenant and f.generation_id = a_generation
                and upper_inf(f.known_time)
                and f.object_id = a_user and f.subject_id = t.thing
                and f.valid_until is null and f.fact_id <> all (ending)));

-- The part of the links that decides the cascade (spec W3) when the links `ending` may end and
-- links from the things `named` may begin: all facts about what may lose its way to the user, and
-- every way there is to those things.
create function memory.links_at_stake(
    a_tenant text, a_generation uuid, a_user uuid, ending uuid[], named uuid[])
    returns table (fact_id uuid) language plpgsql stable rows 50 set search_path = memory, pg_temp as $$
declare
    lost uuid[];
    led uuid[];
    loose uuid[];
    frontier uuid[];
begin
    -- Downwards: what hangs on the far ends, as far as nothing else holds it.
    select array_agg(case when f.object_id = a_user then f.subject_id else f.object_id end)
        into frontier from memory.facts f
        where f.tenant_id = a_tenant and f.generation_id = a_generation
            and upper_inf(f.known_time) and f.fact_id = any (ending) and f.object_id is not null;
    frontier := memory.loosely_linked(a_tenant, a_generation, a_user, ending, frontier);
    lost := frontier;
    while cardinality(frontier) > 0 loop
        select array_agg(distinct f.object_id) into frontier from memory.facts f
            where f.tenant_id = a_tenant and f.generation_id = a_generation
                and upper_inf(f.known_time) and f.subject_id = any (frontier)
                and f.object_id is not null and f.object_id <> all (lost);
        frontier := memory.loosely_linked(a_tenant, a_generation, a_user, ending, frontier);
        lost := lost || frontier;
    end loop;
    -- Upwards: every way to them and to where new links begin.
    led := lost || array(select n from unnest(named) n where n <> a_user and n <> all (lost));
    loose := lost || memory.loosely_linked(
        a_tenant, a_generation, a_user, ending, led[cardinality(lost) + 1:]);
    frontier := loose;
    while cardinality(frontier) > 0 loop
        select array_agg(distinct f.subject_id) into frontier from memory.facts f
            where f.tenant_id = a_tenant and f.generation_id = a_generation
                and upper_inf(f.known_time) and f.object_id = any (frontier)
                and f.subject_id <> a_user and f.subject_id <> all (led);
        led := led || frontier;
        frontier := memory.loosely_linked(a_tenant, a_generation, a_user, ending, frontier);
        loose := loose || frontier;
    end loop;
    return query
        select f.fact_id from memory.facts f
        where f.tenant_id = a_tenant and f.generation_id = a_generation
            and upper_inf(f.known_time) and f.subject_id = any (lost)
        union select f.fact_id from memory.facts f
        where f.tenant_id = a_tenant and f.generation_id = a_generation
            and upper_inf(f.known_time) and f.object_id = any (loose)
        union select f.fact_id from unnest(led) l (thing)
        join memory.facts f on f.tenant_id = a_tenant and f.generation_id = a_generation
            and upper_inf(f.known_time)
            and f.object_id = l.thing and f.subject_id::text = a_user::text
        union select f.fact_id from unnest(led) l (thing)
        join memory.facts f on f.tenant_id = a_tenant and f.generation_id = a_generation
            and upper_inf(f.known_time)
            and f.object_id = a_user and f.subject_id = l.thing;
end
$$;
-- About as many as are taken at once.
alter function memory.next_episodes(text, uuid, integer, integer) rows 32;
revoke all on function memory.loosely_linked, memory.links_at_stake from public;
grant execute on function memory.loosely_linked, memory.links_at_stake to memory_app;
