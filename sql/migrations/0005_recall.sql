-- What recall searches (spec Q1): words of facts and messages, facts of an entity, the newest.
-- The operators of full text are not leakproof, so under row security they lose their index; the
-- functions below run as a role that may read every row, and check the tenant themselves.

do $$
begin
    if not exists (select from pg_roles where rolname = 'memory_search') then
        create role memory_search nologin nosuperuser nobypassrls;
    end if;
exception when duplicate_object or unique_violation then
    null;  -- another database of this server is making it just now
end
$$;
-- Functions can be given away only to a role that one belongs to.
do $$
begin
    if not (select rolsuper from pg_roles where rolname = current_user) then
        grant memory_search to current_user;
    end if;
end
$$;

-- ---------------------------------------------------------------- words

-- Stems, but keeps every word: in another language, or as a name, a stop word means something.
create text search dictionary memory.stem (template = pg_catalog.snowball, language = english);
create text search configuration memory.words (copy = pg_catalog.simple);
alter text search configuration memory.words
    alter mapping for asciiword, word with memory.stem;

-- Text as words that the parser takes for nothing else (hosts, paths, tags, signed numbers), without
-- accents, and each letter of a script that is written without spaces a word of its own. Spelled
-- out by code points, so that it does not depend on the database's locale; plain text, which most
-- is, takes the short way. Cut, since a tsvector holds a megabyte at most.
create function memory.plain_words(a_text text) returns text
    language sql immutable parallel safe
    return regexp_replace(
        case when octet_length(a_text) = char_length(a_text) then left(a_text, 50000)
        else regexp_replace(
            regexp_replace(
                normalize(
                    regexp_replace(
                        normalize(left(a_text, 50000), NFKD), '[\u0300-\u036f]', '', 'g'),
                    NFKC),
                '[\u0080-\u00bf\u00d7\u00f7\u2000-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u30fb]',
                ' ', 'g'),
            '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])',
            ' \1 ', 'g')
        end,
        '[-./@<&:~_+]+', ' ', 'g');

-- The scope among the words makes one index serve all tenants: a search in a small one does not
-- walk the matches of the others.
alter table memory.facts
    add column words tsvector not null generated always as (
        to_tsvector('memory.words'::regconfig, memory.plain_words(statement))
        || array_to_tsvector(array[generation_id::text])) stored;
alter table memory.messages
    add column words tsvector not null generated always as (
        to_tsvector('memory.words'::regconfig, memory.plain_words(text))
        || array_to_tsvector(array[md5(tenant_id)])) stored;
-- Without the list of pending entries, which every search would read through.
create index facts_words on memory.facts using gin (words) with (fastupdate = off);
create index messages_words on memory.messages using gin (words);
create index messages_newest on memory.messages (tenant_id, said_at desc, message_id);

-- Newest first, past versions too, so that a read of another time is served as well.
create index facts_newest
    on memory.facts (tenant_id, generation_id, (lower(known_time)) desc, fact_id);
create index facts_of_subject
    on memory.facts (tenant_id, generation_id, subject_id, (lower(known_time)) desc, fact_id);
create index facts_of_object
    on memory.facts (tenant_id, generation_id, object_id, (lower(known_time)) desc, fact_id)
    where object_id is not null;
create index entities_merged on memory.entities (tenant_id, generation_id, redirect_to)
    where redirect_to is not null;

-- ---------------------------------------------------------------- the search

grant usage on schema memory to memory_search;
grant select on memory.facts, memory.entities, memory.entity_aliases, memory.messages
    to memory_search;
grant select (tenant_id, user_names) on memory.tenants to memory_search;
create policy search_reads on memory.facts for select to memory_search using (true);
create policy search_reads on memory.entities for select to memory_search using (true);
create policy search_reads on memory.entity_aliases for select to memory_search using (true);
create policy search_reads on memory.messages for select to memory_search using (true);
create policy search_reads on memory.tenants for select to memory_search using (true);

-- Refuses a search in any tenant but that of this transaction.
create function memory.require_tenant(a_tenant text) returns void
    language plpgsql stable set search_path = memory, pg_temp as $$
begin
    if a_tenant is distinct from memory.current_tenant() then
        raise exception 'this transaction may not search tenant %', a_tenant
            using errcode = 'insufficient_privilege';
    end if;
end
$$;

-- The words of a query that tell facts apart, at most 64, as they are stored. A query of nothing
-- but stop words is taken at its word; the longest stay, since they are the rarest.
create function memory.telling_words(a_query text) returns text[]
    language sql immutable parallel safe
    return (
        with spoken as (
            select tsvector_to_array(to_tsvector(
                'pg_catalog.english'::regconfig, memory.plain_words(a_query))) as telling,
                tsvector_to_array(to_tsvector(
                    'memory.words'::regconfig, memory.plain_words(a_query))) as every
        )
        select array_agg(w.word order by w.word collate "C")
        from (
            select word from spoken, unnest(
                case when telling = '{}' then every
                    -- Nearly every statement begins with it.
                    when telling = '{user}' then telling
                    else array_remove(telling, 'user') end) as word
            order by char_length(word) desc, word collate "C"
            limit 64) as w);

-- Whether a version is believed at a known instant (null: the latest), holds at a valid one and is
-- sure enough.
create function memory.is_held(
    a_known_time tstzrange, a_valid_time tstzrange, a_confidence real, valid_at timestamptz,
    known_at timestamptz, min_confidence real)
    returns boolean language sql immutable parallel safe
    return (known_at is null or lower(a_known_time) <= known_at)
        and (a_known_time @> known_at or (known_at is null and upper_inf(a_known_time)))
        and a_valid_time @> valid_at and a_confidence >= min_confidence;

create function memory.facts_held(
    a_tenant text, a_generation uuid, a_valid_at timestamptz, a_known_at timestamptz,
    a_confidence real)
    returns setof memory.facts language sql stable
    begin atomic
        select f.* from memory.facts f
        where f.tenant_id = a_tenant and f.generation_id = a_generation
            and memory.is_held(f.known_time, f.valid_time, f.confidence, a_valid_at, a_known_at,
                a_confidence);
    end;

-- The entity that a merged one became; itself when it was not merged.
create function memory.winner_of(a_tenant text, a_generation uuid, an_entity uuid) returns uuid
    language sql stable set search_path = memory, pg_temp
    return (
        with recursive chain (entity_id, redirect_to) as (
            select e.entity_id, e.redirect_to from memory.entities e
            where e.tenant_id = a_tenant and e.generation_id = a_generation
                and e.entity_id = an_entity
            union
            select e.entity_id, e.redirect_to from chain c
            join memory.entities e on e.tenant_id = a_tenant and e.generation_id = a_generation
                and e.entity_id = c.redirect_to
        )
        select c.entity_id from chain c where c.redirect_to is null);

-- An entity with all that were merged into it: versions of another time still name those.
create function memory.merged_into(a_tenant text, a_generation uuid, an_entity uuid)
    returns uuid[] language sql stable set search_path = memory, pg_temp
    return (
        with recursive parts (entity_id) as (
            select an_entity
            union
            select e.entity_id from parts p
            join memory.entities e on e.tenant_id = a_tenant and e.generation_id = a_generation
                and e.redirect_to = p.entity_id
        )
        select array_agg(p.entity_id) from parts p);

-- Row security hides the statistics of most columns from the planner, so that its guesses are far
-- off. Each list below therefore says by its settings which way is meant: along an index in the
-- order of the list where there is one.

-- Facts nearest to a vector: along the tenant's own index of vectors, else all of them compared.
create function memory.nearest_facts(
    a_tenant text, a_generation uuid, a_valid_at timestamptz, a_known_at timestamptz,
    a_confidence real, a_vector halfvec, a_count integer)
    returns table (fact_id uuid, version integer, known_from timestamptz, place bigint)
    language plpgsql stable rows 100 set search_path = memory, pg_temp
    -- An index of one tenant serves only a plan that knows the tenant.
    set plan_cache_mode = force_custom_plan
    set enable_sort = off set jit = off as $$
begin
    -- Not settings of the function: they are known only once the extension was loaded.
    perform set_config('hnsw.ef_search', '100', true),
        set_config('hnsw.iterative_scan', 'strict_order', true);
    return query
    select n.fact_id, n.version, n.known_from, row_number() over (order by n.distance, n.fact_id)
    from (
        select f.fact_id, f.version, lower(f.known_time) as known_from,
            f.embedding <=> a_vector as distance
        from memory.facts_held(a_tenant, a_generation, a_valid_at, a_known_at, a_confidence) f
        where f.embedding is not null
        order by f.embedding <=> a_vector, f.fact_id
        limit a_count) as n;
end
$$;

-- The newest facts.
create function memory.newest_facts(
    a_tenant text, a_generation uuid, a_valid_at timestamptz, a_known_at timestamptz,
    a_confidence real, a_count integer)
    returns table (fact_id uuid, version integer, known_from timestamptz, place bigint)
    language plpgsql stable rows 100 set search_path = memory, pg_temp
    set plan_cache_mode = force_generic_plan
    set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set jit = off as $$
begin
    return query
    select f.fact_id, f.version, lower(f.known_time),
        row_number() over (order by lower(f.known_time) desc, f.fact_id)
    from memory.facts_held(a_tenant, a_generation, a_valid_at, a_known_at, a_confidence) f
    order by lower(f.known_time) desc, f.fact_id
    limit a_count;
end
$$;

-- Facts about or toward some entities, the nearest to a vector first: of each entity the newest
-- 500 on either side.
create function memory.linked_facts(
    a_tenant text, a_generation uuid, a_valid_at timestamptz, a_known_at timestamptz,
    a_confidence real, a_vector halfvec, some_entities uuid[])
    returns table (fact_id uuid, version integer, known_from timestamptz, place bigint)
    language plpgsql stable rows 100 set search_path = memory, pg_temp
    set plan_cache_mode = force_generic_plan
    set enable_bitmapscan = off set enable_seqscan = off set jit = off as $$
begin
    return query
    select l.fact_id, l.version, l.known_from, row_number() over (
        order by l.distance nulls last, l.known_from desc, l.fact_id)
    from (
        select distinct on (f.fact_id) f.fact_id, f.version, f.known_from, f.distance
        from unnest(some_entities) as a (entity_id)
        cross join lateral (
            (select s.fact_id, s.version, lower(s.known_time) as known_from,
                s.embedding <=> a_vector as distance
            from memory.facts_held(
                a_tenant, a_generation, a_valid_at, a_known_at, a_confidence) s
            where s.subject_id = a.entity_id
            order by lower(s.known_time) desc, s.fact_id
            limit 500)
            union all
            (select o.fact_id, o.version, lower(o.known_time), o.embedding <=> a_vector
            from memory.facts_held(
                a_tenant, a_generation, a_valid_at, a_known_at, a_confidence) o
            where o.object_id = a.entity_id
            order by lower(o.known_time) desc, o.fact_id
            limit 500)) as f
        order by f.fact_id) as l;
end
$$;

-- Facts that say words of a query: all words first, then a rare one, then the densest, then the
-- newest. Common words find only among the newest 1,000 facts: what many facts say tells none
-- apart, and to rank them all takes longer than the rest of the search. A word is common when more
-- than ten of those say it; a memory of up to 1,000 facts is read whole.
create function memory.saying_facts(
    a_tenant text, a_generation uuid, a_valid_at timestamptz, a_known_at timestamptz,
    a_confidence real, a_query text)
    returns table (fact_id uuid, version integer, known_from timestamptz, place bigint)
    language plpgsql stable rows 100 set search_path = memory, pg_temp
    set plan_cache_mode = force_generic_plan
    set enable_sort = off set enable_seqscan = off set jit = off as $$
declare
    telling text[] := memory.telling_words(a_query);
    scope tsquery := quote_literal(a_generation)::tsquery;
    all_words tsquery := (select string_agg(quote_literal(w), ' & ') from unnest(telling) as w);
    any_words tsquery := (select string_agg(quote_literal(w), ' | ') from unnest(telling) as w);
begin
    if telling is null then
        return;
    end if;
    return query
    with recent as materialized (
        select n.fact_id, n.version, n.known_from, n.words
        from (
            select f.fact_id, f.version, lower(f.known_time) as known_from, f.words
            from memory.facts_held(
                a_tenant, a_generation, a_valid_at, a_known_at, a_confidence) f
            order by lower(f.known_time) desc, f.fact_id
            limit 1000) as n
        where n.words @@ any_words
    ), rare (words) as materialized (
        select string_agg(quote_literal(w), ' | ')::tsquery
        from unnest(telling) as w
        where (
            select count(*) from recent r where r.words @@ quote_literal(w)::tsquery) <= 10
    ), saying as (
        select r.fact_id, r.version, r.known_from, r.words @@ all_words as has_all,
            r.words @@ q.words as has_rare, ts_rank_cd(r.words, any_words) as weight
        from recent r
        cross join rare q
        union all
        (select f.fact_id, f.version, lower(f.known_time), f.words @@ all_words, true,
            ts_rank_cd(f.words, any_words)
        from memory.facts f
        where f.words @@ (select scope && r.words from rare r)
            -- Compared so that no index but that of the words can serve.
            and f.tenant_id is not distinct from a_tenant
            and f.generation_id is not distinct from a_generation
            and memory.is_held(f.known_time, f.valid_time, f.confidence, a_valid_at, a_known_at,
                a_confidence)
        order by lower(f.known_time) desc, f.fact_id
        limit 500)
    )
    select s.fact_id, s.version, s.known_from, row_number() over (
        order by s.has_all desc, s.has_rare desc nulls last, s.weight desc, s.known_from desc,
            s.fact_id)
    from (
        select distinct on (d.fact_id) d.fact_id, d.version, d.known_from, d.has_all, d.has_rare,
            d.weight
        from saying d
        order by d.fact_id) as s;
end
$$;

-- Entities nearest to a vector. The signs of its parts, read out of an index, leave 64 for the exact
-- comparison: far more than can be as near as an anchor must be.
create function memory.nearest_entities(
    a_tenant text, a_generation uuid, a_known_at timestamptz, a_vector halfvec, a_count integer)
    returns table (entity_id uuid, distance double precision)
    language plpgsql stable rows 3 set search_path = memory, pg_temp
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
begin
    return query
    select l.entity_id, l.distance
    from (
        select s.entity_id, (
            select e.embedding <=> a_vector from memory.entities e
            where e.tenant_id = a_tenant and e.generation_id = a_generation
                and e.entity_id = s.entity_id) as distance
        from (
            select e.entity_id from memory.entities e
            where e.tenant_id = a_tenant and e.generation_id = a_generation
                and e.redirect_to is null and (a_known_at is null or e.known_from <= a_known_at)
                and e.embedding_signs is not null
            order by e.embedding_signs <~> binary_quantize(a_vector), e.entity_id
            limit 64) as s) as l
    order by l.distance, l.entity_id
    limit a_count;
end
$$;

-- The entity of the user, if one of the user's own names is among the spans: those are no aliases,
-- they stand with the tenant or were stated.
create function memory.user_named(
    a_tenant text, a_generation uuid, a_known_at timestamptz, a_spans text[]) returns uuid
    language plpgsql stable set search_path = memory, pg_temp
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off as $$
declare
    user_id uuid := (
        select e.entity_id from memory.entities e
        where e.tenant_id = a_tenant and e.generation_id = a_generation and e.name = 'user'
        order by e.entity_id
        limit 1);
begin
    if exists (
        select from memory.tenants t, unnest(t.user_names) as n (name)
        where t.tenant_id = a_tenant and lower(n.name) = any(a_spans)) or exists (
        select from memory.facts f
        where f.tenant_id = a_tenant and f.generation_id = a_generation
            and f.subject_id = user_id and f.predicate = 'has name'
            and upper_inf(f.known_time) and lower(f.object_text) = any(a_spans)
            and (a_known_at is null or lower(f.known_time) <= a_known_at)) then
        return user_id;
    end if;
    return null;
end
$$;

-- Entities that a query names (its spans hold every run of its words) or is similar to, the best
-- first: named before similar, then the longest name, then the most similar.
create function memory.recall_anchors(
    a_tenant text, a_generation uuid, a_spans text[], a_vector halfvec, a_known_at timestamptz,
    a_similarity double precision, a_count integer)
    returns table (entity_id uuid, place integer)
    language plpgsql stable rows 3 security definer set search_path = memory, pg_temp
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set jit = off as $$
begin
    perform memory.require_tenant(a_tenant);
    return query
    with named (entity_id, size) as materialized (
        select e.entity_id, char_length(e.name) from memory.entities e
        where e.tenant_id = a_tenant and e.generation_id = a_generation and e.name = any(a_spans)
            and (a_known_at is null or e.known_from <= a_known_at)
        union all
        select a.entity_id, char_length(a.alias) from memory.entity_aliases a
        where a.tenant_id = a_tenant and a.generation_id = a_generation
            and a.alias = any(a_spans)
            and (a_known_at is null or a.known_from <= a_known_at)
        union all
        select u.entity_id, 0
        from memory.user_named(a_tenant, a_generation, a_known_at, a_spans) as u (entity_id)
        where u.entity_id is not null
    ), found (entity_id, size, distance) as (
        select n.entity_id, n.size, (
            select e.embedding <=> a_vector from memory.entities e
            where e.tenant_id = a_tenant and e.generation_id = a_generation
                and e.entity_id = n.entity_id)
        from named n
        union all
        select n.entity_id, -1, n.distance
        from memory.nearest_entities(a_tenant, a_generation, a_known_at, a_vector, a_count) n
        where a_vector is not null and 1 - n.distance >= a_similarity
    ), won (entity_id, size, distance) as (
        select coalesce((
            select memory.winner_of(a_tenant, a_generation, e.redirect_to) from memory.entities e
            where e.tenant_id = a_tenant and e.generation_id = a_generation
                and e.entity_id = f.entity_id and e.redirect_to is not null), f.entity_id),
            max(f.size), min(f.distance)
        from found f
        group by 1
    )
    select w.entity_id, (row_number() over (
        order by w.size desc, w.distance nulls last, w.entity_id))::integer
    from won w
    order by 2
    limit a_count;
end
$$;

-- The best facts for a query: the ranks in three lists, fused. Without a query the newest.
-- A list holds a_depth facts at most; the score is the sum of 1 / (a_k + rank) over the lists.
create function memory.recall_facts(
    a_tenant text, a_generation uuid, a_query text, a_vector halfvec, an_anchors uuid[],
    a_valid_at timestamptz, a_known_at timestamptz, a_confidence real, a_k integer,
    a_depth integer, a_limit integer)
    returns table (place bigint, fact_id uuid, version integer, score double precision,
        vector_rank bigint, anchor_rank bigint, text_rank bigint, newest_rank bigint)
    language plpgsql stable rows 10 security definer set search_path = memory, pg_temp
    set plan_cache_mode = force_generic_plan
    set jit = off as $$
begin
    perform memory.require_tenant(a_tenant);
    return query
    with placed (list, fact_id, version, known_from, place) as (
        select 'vector', n.fact_id, n.version, n.known_from, n.place
        from memory.nearest_facts(a_tenant, a_generation, a_valid_at, a_known_at, a_confidence,
            a_vector, a_depth) n
        where a_vector is not null
        union all
        select 'anchor', l.fact_id, l.version, l.known_from, l.place
        from memory.linked_facts(a_tenant, a_generation, a_valid_at, a_known_at, a_confidence,
            a_vector, an_anchors) l
        where an_anchors <> '{}'
        union all
        select 'text', s.fact_id, s.version, s.known_from, s.place
        from memory.saying_facts(a_tenant, a_generation, a_valid_at, a_known_at, a_confidence,
            a_query) s
        where a_query <> ''
        union all
        select 'newest', n.fact_id, n.version, n.known_from, n.place
        from memory.newest_facts(a_tenant, a_generation, a_valid_at, a_known_at, a_confidence,
            a_depth) n
        where a_query = ''
    ), fused as (
        select p.fact_id, p.version, p.known_from,
            max(p.place) filter (where p.list = 'vector') as vector_place,
            max(p.place) filter (where p.list = 'anchor') as anchor_place,
            max(p.place) filter (where p.list = 'text') as text_place,
            max(p.place) filter (where p.list = 'newest') as newest_place
        from placed p
        where p.place <= a_depth
        group by p.fact_id, p.version, p.known_from
    )
    select row_number() over (order by s.fused_score desc, s.known_from desc, s.fact_id),
        s.fact_id, s.version, s.fused_score, s.vector_place, s.anchor_place, s.text_place,
        s.newest_place
    from (
        select f.fact_id, f.version, f.known_from, f.vector_place, f.anchor_place, f.text_place,
            f.newest_place,
            -- Added in one order, so that equal ranks give equal sums.
            coalesce(1 / (a_k + f.vector_place)::double precision, 0)
                + coalesce(1 / (a_k + f.anchor_place)::double precision, 0)
                + coalesce(1 / (a_k + f.text_place)::double precision, 0)
                + coalesce(1 / (a_k + f.newest_place)::double precision, 0) as fused_score
        from fused f) as s
    order by 1
    limit a_limit;
end
$$;

-- The newest messages.
create function memory.newest_messages(a_tenant text, a_count integer)
    returns table (message_id uuid, place integer)
    language plpgsql stable set search_path = memory, pg_temp
    set plan_cache_mode = force_generic_plan
    set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set jit = off as $$
begin
    return query
    select m.message_id, (row_number() over (order by m.said_at desc, m.message_id))::integer
    from memory.messages m
    where m.tenant_id = a_tenant
    order by m.said_at desc, m.message_id
    limit a_count;
end
$$;

-- Messages that say all words of a query, then those that say some, the best first; without a
-- query the newest. Needs no memory: what is not extracted yet is found as well.
create function memory.search_messages(a_tenant text, a_query text, a_limit integer)
    returns table (message_id uuid, place integer)
    language plpgsql stable security definer set search_path = memory, pg_temp
    set plan_cache_mode = force_generic_plan
    set enable_indexscan = off set enable_seqscan = off set jit = off as $$
declare
    telling text[] := memory.telling_words(a_query);
    scope tsquery := quote_literal(md5(a_tenant))::tsquery;
    all_words tsquery := (select string_agg(quote_literal(w), ' & ') from unnest(telling) as w);
    any_words tsquery := (select string_agg(quote_literal(w), ' | ') from unnest(telling) as w);
begin
    perform memory.require_tenant(a_tenant);
    if a_query = '' then
        return query select n.message_id, n.place from memory.newest_messages(a_tenant, a_limit) n;
        return;
    end if;
    return query
    with saying_all as materialized (
        select m.message_id, m.said_at, true as has_all, ts_rank_cd(m.words, any_words) as weight
        from memory.messages m
        -- Compared so that no index but that of the words can serve.
        where m.words @@ (scope && all_words) and m.tenant_id is not distinct from a_tenant
        order by m.said_at desc, m.message_id
        limit 500
    ), saying_any as (
        select m.message_id, m.said_at, m.words @@ all_words as has_all,
            ts_rank_cd(m.words, any_words) as weight
        from memory.messages m
        where m.words @@ (scope && any_words) and m.tenant_id is not distinct from a_tenant
            and (select count(*) from saying_all) < a_limit
        order by m.said_at desc, m.message_id
        limit 500
    )
    select s.message_id, (row_number() over (
        order by s.has_all desc, s.weight desc, s.said_at desc, s.message_id))::integer
    from (
        select distinct on (d.message_id) d.message_id, d.said_at, d.has_all, d.weight
        from (select a.message_id, a.said_at, a.has_all, a.weight from saying_all a
            union all
            select a.message_id, a.said_at, a.has_all, a.weight from saying_any a) as d
        order by d.message_id) as s
    order by 2
    limit a_limit;
end
$$;

revoke all on function memory.require_tenant, memory.facts_held, memory.winner_of,
    memory.merged_into, memory.nearest_facts, memory.newest_facts, memory.linked_facts,
    memory.saying_facts, memory.nearest_entities, memory.user_named, memory.recall_anchors,
    memory.recall_facts, memory.newest_messages, memory.search_messages from public;
grant execute on function memory.require_tenant, memory.facts_held, memory.winner_of,
    memory.nearest_facts, memory.newest_facts, memory.linked_facts, memory.saying_facts,
    memory.nearest_entities, memory.user_named, memory.newest_messages to memory_search;
grant execute on function memory.winner_of, memory.merged_into, memory.recall_anchors,
    memory.recall_facts, memory.search_messages to memory_app;

-- The operators of vectors lie where the extension was put.
do $$
declare
    vectors text := (
        select quote_ident(n.nspname) from pg_extension x
        join pg_namespace n on n.oid = x.extnamespace
        where x.extname = 'vector');
    search text;
begin
    foreach search in array array[
        'nearest_facts', 'linked_facts', 'nearest_entities', 'recall_anchors'] loop
        execute format('alter function memory.%I set search_path = memory, %s, pg_temp',
            search, vectors);
    end loop;
end
$$;

grant create on schema memory to memory_search;
alter function memory.recall_anchors owner to memory_search;
alter function memory.recall_facts owner to memory_search;
alter function memory.search_messages owner to memory_search;
revoke create on schema memory from memory_search;
do $$
begin
    if not (select rolsuper from pg_roles where rolname = current_user) then
        revoke memory_search from current_user;
    end if;
end
$$;
