-- Conversation history (append-only source of truth) and memory (derived, one set per generation).
-- tenant_id leads every key, so that row security, hash partitions or sharding stay possible.
-- All ids are made by the client and are deterministic.

-- Roles: the application owns nothing; the operator sees ids, counts and status, never text.
do $$
begin
    if not exists (select from pg_roles where rolname = 'memory_app') then
        create role memory_app nologin nosuperuser nobypassrls;
    end if;
    if not exists (select from pg_roles where rolname = 'memory_operator') then
        create role memory_operator nologin nosuperuser nobypassrls;
    end if;
exception when duplicate_object or unique_violation then
    null;  -- roles belong to the whole server: another database may be creating them just now
end
$$;
grant memory_app, memory_operator to current_user;
grant usage on schema memory to memory_app, memory_operator;

-- The tenant of this transaction; null when unset, so that nothing is visible by default.
create function memory.current_tenant() returns text
    language sql stable parallel safe
    return nullif(current_setting('memory.tenant_id', true), '');

-- ---------------------------------------------------------------- conversation history

create table memory.tenants (
    tenant_id       text primary key check (tenant_id <> ''),
    settings        jsonb not null default '{}',
    user_names      text[] not null default '{}',
    stale_from      timestamptz,
    secret          uuid not null default gen_random_uuid(),
    created_at      timestamptz not null default now()
);
comment on column memory.tenants.secret is 'What the fences around its transcripts are derived from.';
comment on column memory.tenants.user_names is 'Names that mean the user, given at import (--user).';
comment on column memory.tenants.stale_from is 'Earliest late episode: a replay starts here.';

create table memory.threads (
    tenant_id       text not null references memory.tenants,
    thread_id       text collate "C" not null,
    format          text not null,
    title           text not null,
    own_speaker     text,
    started_at      timestamptz,
    ended_at        timestamptz,
    created_at      timestamptz not null default now(),
    primary key (tenant_id, thread_id)
);
comment on column memory.threads.thread_id is
    'Format and the export''s own id: equal on every import. Positions sort by it, so its order must not depend on the database.';
comment on column memory.threads.own_speaker is 'The speaker who is the user, where speakers are named.';

create table memory.messages (
    tenant_id       text not null,
    message_id      uuid not null,
    thread_id       text collate "C" not null,
    seq             integer not null check (seq > 0),
    source_id       text not null,
    role            text not null,
    speaker         text,
    is_own          boolean not null,
    text            text not null,
    said_at         timestamptz not null,
    token_count     integer not null,
    ingest_seq      bigint generated always as identity,
    created_at      timestamptz not null default now(),
    primary key (tenant_id, message_id),
    unique (tenant_id, thread_id, seq),
    unique (tenant_id, thread_id, source_id),
    foreign key (tenant_id, thread_id) references memory.threads
);

create table memory.episodes (
    tenant_id           text not null,
    episode_id          uuid not null,
    ordinal             integer not null check (ordinal > 0),
    thread_id           text collate "C" not null,
    first_seq           integer not null,
    last_seq            integer not null check (last_seq >= first_seq),
    started_at          timestamptz not null,
    ended_at            timestamptz not null check (ended_at >= started_at),
    message_count       integer not null,
    own_message_count   integer not null,
    token_count         integer not null,
    ingest_seq          bigint not null,
    extraction_status   text not null default 'pending'
        check (extraction_status in ('pending', 'done', 'failed', 'given_up', 'skipped', 'late')),
    extraction_attempts integer not null default 0,
    extraction_error    text,
    summary_status      text not null default 'pending'
        check (summary_status in ('pending', 'done', 'failed', 'skipped')),
    summary_attempts    integer not null default 0,
    summary             jsonb,
    summary_embedding   halfvec(384),
    summary_error       text,
    leased_by           text,
    leased_until        timestamptz,
    created_at          timestamptz not null default now(),
    primary key (tenant_id, episode_id),
    unique (tenant_id, ordinal),
    unique (tenant_id, thread_id, first_seq),
    foreign key (tenant_id, thread_id) references memory.threads
);
comment on column memory.episodes.ordinal is 'Arrival number in the tenant; the partition key; never changes.';
comment on column memory.episodes.ingest_seq is 'Where the sensor''s cursor stands after this episode.';
create index episodes_position on memory.episodes (tenant_id, ended_at, thread_id, first_seq);
create index episodes_ingest on memory.episodes (ingest_seq);
create index episodes_open on memory.episodes (tenant_id, ended_at, thread_id, first_seq)
    where extraction_status in ('pending', 'failed');
create sequence memory.episode_ingest_seq;

-- ---------------------------------------------------------------- recipes and generations

create table memory.embedding_profiles (
    profile_id      text primary key,
    dimensions      integer not null,
    entity_merge    real not null,
    duplicate       real not null,
    band_low        real not null,
    second_signal   real not null,
    created_at      timestamptz not null default now()
);

create table memory.recipes (
    tenant_id       text not null references memory.tenants,
    recipe_id       text not null,
    content         jsonb not null,
    created_at      timestamptz not null default now(),
    primary key (tenant_id, recipe_id)
);

create table memory.generations (
    tenant_id           text not null references memory.tenants,
    generation_id       uuid not null,
    number              integer not null,
    recipe_id           text not null,
    profile_id          text not null references memory.embedding_profiles,
    status              text not null check (status in ('candidate', 'live', 'retired')),
    version             bigint not null default 0,
    folded_count        integer not null default 0,
    folded_ended_at     timestamptz,
    folded_thread_id    text collate "C",
    folded_first_seq    integer,
    last_known_at       timestamptz,
    created_at          timestamptz not null default now(),
    primary key (tenant_id, generation_id),
    unique (tenant_id, number),
    foreign key (tenant_id, recipe_id) references memory.recipes
);
create unique index one_live_generation on memory.generations (tenant_id) where status = 'live';
comment on column memory.generations.version is 'Bumped by every change: a plan made on another version is remade.';

create table memory.publications (
    tenant_id       text not null,
    published_at    timestamptz not null default now(),
    generation_id   uuid not null,
    replaced_id     uuid,
    reason          text not null,
    primary key (tenant_id, published_at),
    foreign key (tenant_id, generation_id) references memory.generations
);

create table memory.folds (
    tenant_id       text not null,
    generation_id   uuid not null,
    episode_id      uuid not null,
    fold_number     integer not null,
    status          text not null check (status in ('folded', 'given_up', 'skipped')),
    known_at        timestamptz not null,
    recipe_id       text not null,
    counts          jsonb not null default '{}',
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, generation_id, episode_id),
    unique (tenant_id, generation_id, fold_number),
    foreign key (tenant_id, generation_id) references memory.generations,
    foreign key (tenant_id, episode_id) references memory.episodes
);
comment on table memory.folds is 'Which episodes a generation has taken in, in what order, known since when.';

-- ---------------------------------------------------------------- memory

create table memory.entities (
    tenant_id       text not null,
    generation_id   uuid not null,
    entity_id       uuid not null,
    name            text not null,
    type            text not null,
    memory_category text not null,
    redirect_to     uuid,
    opened_by       uuid,
    known_from      timestamptz not null,
    last_linked_at  timestamptz not null,
    embedding       halfvec(384),
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, generation_id, entity_id),
    foreign key (tenant_id, generation_id) references memory.generations
);
create index entities_name on memory.entities (tenant_id, generation_id, name);

create table memory.entity_aliases (
    tenant_id       text not null,
    generation_id   uuid not null,
    alias           text not null,
    entity_id       uuid not null,
    reason          text not null,
    opened_by       uuid,
    known_from      timestamptz not null,
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, generation_id, alias, entity_id),
    foreign key (tenant_id, generation_id, entity_id) references memory.entities
);

create table memory.facts (
    tenant_id       text not null,
    generation_id   uuid not null,
    fact_id         uuid not null,
    version         integer not null check (version > 0),
    subject_id      uuid not null,
    predicate       text not null,
    object_id       uuid,
    object_text     text,
    statement       text not null,
    valid_time      tstzrange not null check (not isempty(valid_time)),
    known_time      tstzrange not null check (not isempty(known_time) and lower(known_time) is not null),
    confidence      real not null check (confidence between 0 and 1),
    memory_category text not null,
    tier            text not null,
    attributes      jsonb not null default '{}',
    opened_by       uuid,
    ended_by        uuid,
    ended_reason    text check (ended_reason in ('ended', 'superseded', 'cascade', 'invalidated',
                                                 'redated', 'reopened', 'decayed', 'merged')),
    successor_id    uuid,
    recipe_id       text not null,
    embedding       halfvec(384),
    recorded_at     timestamptz not null default now(),
    triple_key      uuid not null generated always as (md5(
        subject_id::text || chr(31) || predicate || chr(31)
        || coalesce(object_id::text, 't' || chr(31) || coalesce(object_text, statement)))::uuid) stored,
    primary key (tenant_id, generation_id, fact_id, version),
    check (object_id is null or object_text is null),
    foreign key (tenant_id, generation_id, subject_id) references memory.entities,
    foreign key (tenant_id, generation_id, object_id) references memory.entities
);
create unique index one_believed_version on memory.facts (tenant_id, generation_id, fact_id)
    where upper_inf(known_time);
create unique index one_open_ended_fact on memory.facts (tenant_id, generation_id, triple_key)
    where upper_inf(known_time) and upper_inf(valid_time);
create index facts_slot on memory.facts (tenant_id, generation_id, subject_id, predicate)
    where upper_inf(known_time);
create index facts_object on memory.facts (tenant_id, generation_id, object_id)
    where upper_inf(known_time) and object_id is not null;

create table memory.fact_evidence (
    tenant_id       text not null,
    generation_id   uuid not null,
    fact_id         uuid not null,
    episode_id      uuid not null,
    claim_ref       text not null,
    kind            text not null check (kind in ('asserted', 'reinforced', 'closed', 'corrected')),
    message_id      uuid,
    span_start      integer,
    span_end        integer,
    quote           text not null,
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, generation_id, fact_id, episode_id, claim_ref, kind),
    foreign key (tenant_id, message_id) references memory.messages
);
create index fact_evidence_message on memory.fact_evidence (tenant_id, generation_id, message_id);

create table memory.instructions (
    tenant_id       text not null,
    generation_id   uuid not null,
    instruction_id  uuid not null,
    version         integer not null,
    label           text not null,
    description     text not null,
    is_active       boolean not null,
    known_time      tstzrange not null,
    opened_by       uuid,
    message_id      uuid,
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, generation_id, instruction_id, version)
);
create unique index one_believed_instruction
    on memory.instructions (tenant_id, generation_id, instruction_id) where upper_inf(known_time);

create table memory.uncertainties (
    tenant_id       text not null,
    generation_id   uuid not null,
    uncertainty_id  uuid not null,
    about           text not null,
    reason          text not null,
    subject         text,
    predicate       text,
    candidate       text,
    message_id      uuid,
    opened_by       uuid,
    known_from      timestamptz not null,
    resolved_by     uuid,
    resolved_at     timestamptz,
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, generation_id, uncertainty_id)
);

-- ---------------------------------------------------------------- accounts

create table memory.stage_outputs (
    tenant_id       text not null,
    generation_id   uuid not null,
    episode_id      uuid not null,
    stage           text not null,
    input_digest    text not null,
    payload         jsonb not null,
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, generation_id, episode_id, stage)
);

create table memory.claim_outcomes (
    tenant_id       text not null,
    generation_id   uuid not null,
    episode_id      uuid not null,
    ref             text not null,
    outcome         text not null,
    subject         text not null,
    predicate       text not null,
    object          text not null,
    detail          text not null default '',
    fact_id         uuid,
    message_id      uuid,
    quote           text not null default '',
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, generation_id, episode_id, ref)
);

create table memory.message_outcomes (
    tenant_id       text not null,
    generation_id   uuid not null,
    message_id      uuid not null,
    episode_id      uuid not null,
    reason          text not null,
    primary key (tenant_id, generation_id, message_id)
);
comment on table memory.message_outcomes is 'Messages that gave no candidate, with the reason.';

create table memory.judged_pairs (
    tenant_id       text not null,
    generation_id   uuid not null,
    episode_id      uuid not null,
    claim_ref       text not null,
    fact_id         uuid not null,
    judge           text not null,
    verdict         text not null check (verdict in ('old', 'new', 'neither', 'not_judged')),
    is_correction   boolean not null,
    reason          text not null,
    why             text not null,
    primary key (tenant_id, generation_id, episode_id, claim_ref, fact_id)
);

create table memory.model_answers (
    tenant_id       text not null,
    request_digest  text not null,
    attempt         integer not null,
    purpose         text not null,
    model           text not null,
    prompt_digest   text not null,
    schema_digest   text not null,
    request         jsonb not null,
    answer          jsonb,
    raw_answer      text not null,
    is_valid        boolean not null,
    usage           jsonb not null default '{}',
    latency_ms      integer not null,
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, request_digest, attempt)
);

create table memory.corrections (
    tenant_id       text not null references memory.tenants,
    correction_id   uuid not null,
    kind            text not null,
    content         jsonb not null,
    known_at        timestamptz not null,
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, correction_id)
);

create table memory.profiles (
    tenant_id       text not null,
    generation_id   uuid not null,
    entity_id       uuid not null,
    text            text not null,
    citations       jsonb not null,
    grounding       text not null,
    embedding       halfvec(384),
    retired_at      timestamptz,
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, generation_id, entity_id)
);

create table memory.dirty_entities (
    tenant_id       text not null,
    generation_id   uuid not null,
    entity_id       uuid not null,
    bumps           integer not null check (bumps >= 0),
    first_bumped_at timestamptz not null default now(),
    attempts        integer not null default 0,
    held_reason     text,
    primary key (tenant_id, generation_id, entity_id)
);

create table memory.fact_access (
    tenant_id        text not null references memory.tenants,
    content_key      uuid not null,
    access_count     bigint not null default 0,
    last_accessed_at timestamptz,
    primary key (tenant_id, content_key)
);

-- ---------------------------------------------------------------- row security

do $$
declare
    table_name text;
begin
    foreach table_name in array array[
        'tenants', 'threads', 'messages', 'episodes', 'recipes', 'generations', 'publications',
        'folds', 'entities', 'entity_aliases', 'facts', 'fact_evidence', 'instructions',
        'uncertainties', 'stage_outputs', 'claim_outcomes', 'message_outcomes', 'judged_pairs',
        'model_answers', 'corrections', 'profiles', 'dirty_entities', 'fact_access']
    loop
        execute format('alter table memory.%I enable row level security', table_name);
        execute format('alter table memory.%I force row level security', table_name);
        execute format(
            'create policy tenant_only on memory.%I to memory_app
                using (tenant_id = (select memory.current_tenant()))
                with check (tenant_id = (select memory.current_tenant()))', table_name);
        execute format('grant select, insert, update on memory.%I to memory_app', table_name);
    end loop;
end
$$;
grant select, insert on memory.embedding_profiles to memory_app;
grant usage on sequence memory.episode_ingest_seq to memory_app;

-- The operator: columns without text, all tenants.
grant select (tenant_id, stale_from, created_at) on memory.tenants to memory_operator;
grant select (tenant_id, episode_id, ordinal, thread_id, first_seq, last_seq, started_at, ended_at,
    message_count, own_message_count, token_count, ingest_seq, extraction_status,
    extraction_attempts, summary_status, summary_attempts, leased_by, leased_until, created_at)
    on memory.episodes to memory_operator;
grant select on memory.generations, memory.publications, memory.folds to memory_operator;
grant select (tenant_id, generation_id, fact_id, version, subject_id, object_id, known_time,
    valid_time, opened_by, ended_reason, recorded_at) on memory.facts to memory_operator;
grant select (tenant_id, generation_id, fact_id, episode_id, kind)
    on memory.fact_evidence to memory_operator;
grant select (tenant_id, generation_id, episode_id, ref, outcome)
    on memory.claim_outcomes to memory_operator;
create policy operator_reads on memory.fact_evidence for select to memory_operator using (true);
create policy operator_reads on memory.claim_outcomes for select to memory_operator using (true);
create policy operator_reads on memory.tenants for select to memory_operator using (true);
create policy operator_reads on memory.episodes for select to memory_operator using (true);
create policy operator_reads on memory.generations for select to memory_operator using (true);
create policy operator_reads on memory.publications for select to memory_operator using (true);
create policy operator_reads on memory.folds for select to memory_operator using (true);
create policy operator_reads on memory.facts for select to memory_operator using (true);

-- ---------------------------------------------------------------- the one way forward

-- One writer per tenant until the end of the transaction; the only place that says how.
create function memory.lock_tenant(a_tenant text) returns void language sql
    set search_path = memory, pg_temp
    return (select pg_advisory_xact_lock(hashtextextended('memory:' || a_tenant, 0)));

-- Known instant after so many folds of a generation; before the first, nothing is known.
create function memory.known_after(a_tenant text, a_generation uuid, a_fold integer)
    returns timestamptz language sql stable set search_path = memory, pg_temp
    return (select coalesce(max(d.known_at), '-infinity') from memory.folds d
        where d.tenant_id = a_tenant and d.generation_id = a_generation
            and d.fold_number = a_fold);

-- The next open episodes in position order, with the number of folds their stride begins behind.
-- Bounded below by the last folded one, so that the index is not read over all that was folded.
create function memory.next_episodes(
    a_tenant text, a_generation uuid, a_stride integer, a_count integer)
    returns table (episode_id uuid, boundary integer) language plpgsql stable
    set search_path = memory, pg_temp as $$
declare
    head memory.generations;
begin
    select * into head from memory.generations g
        where g.tenant_id = a_tenant and g.generation_id = a_generation;
    return query
        select e.episode_id, n.place - mod(n.place, a_stride)
        from (
            select o.episode_id, head.folded_count - 1 + (row_number() over (
                order by o.ended_at, o.thread_id, o.first_seq))::integer as place
            from memory.episodes o
            where o.tenant_id = a_tenant and o.extraction_status in ('pending', 'failed')
                and (o.ended_at, o.thread_id, o.first_seq)
                    > (coalesce(head.folded_ended_at, '-infinity'),
                       coalesce(head.folded_thread_id, ''), coalesce(head.folded_first_seq, 0))
            order by o.ended_at, o.thread_id, o.first_seq
            -- Whole strides only: about a_count episodes, one stride at least.
            limit greatest(1, (a_count + mod(head.folded_count, a_stride)) / a_stride) * a_stride
                - mod(head.folded_count, a_stride)) n
        join memory.episodes e on e.tenant_id = a_tenant and e.episode_id = n.episode_id;
end
$$;

-- Takes an episode into a generation: fails unless the generation stands where the plan saw it,
-- the episode lies behind the last folded one and none before it is still open. The raised state
-- is MP001 (stale plan: make another), MP002 (out of order: refuse) or MP003 (taken in already).
create function memory.claim_version(
    a_tenant text, a_generation uuid, a_version bigint, an_episode uuid, a_known_at timestamptz)
    returns void language plpgsql set search_path = memory, pg_temp as $$
declare
    head memory.generations;
    episode memory.episodes;
begin
    perform memory.lock_tenant(a_tenant);
    if exists (
        select from memory.folds f
        where f.tenant_id = a_tenant and f.generation_id = a_generation
            and f.episode_id = an_episode) then
        raise exception 'episode % is in this generation already', an_episode
            using errcode = 'MP003';
    end if;
    select * into head from memory.generations g
        where g.tenant_id = a_tenant and g.generation_id = a_generation for update;
    if head.version is distinct from a_version then
        raise exception 'generation is at version %, the plan was made at %', head.version, a_version
            using errcode = 'MP001';
    end if;
    select * into episode from memory.episodes e
        where e.tenant_id = a_tenant and e.episode_id = an_episode;
    if head.folded_ended_at is not null
        and (episode.ended_at, episode.thread_id, episode.first_seq)
            <= (head.folded_ended_at, head.folded_thread_id, head.folded_first_seq) then
        raise exception 'episode % lies before the last folded one', episode.ordinal
            using errcode = 'MP002';
    end if;
    -- Bounded below, so that the index is not read over the entries of all that was folded.
    if exists (
        select from memory.episodes e
        where e.tenant_id = a_tenant and e.extraction_status in ('pending', 'failed')
            and (e.ended_at, e.thread_id, e.first_seq)
                > (coalesce(head.folded_ended_at, '-infinity'),
                   coalesce(head.folded_thread_id, ''), coalesce(head.folded_first_seq, 0))
            and (e.ended_at, e.thread_id, e.first_seq)
                < (episode.ended_at, episode.thread_id, episode.first_seq)) then
        raise exception 'an episode before % is still open', episode.ordinal
            using errcode = 'MP002';
    end if;
    update memory.generations g
    set version = a_version + 1, folded_count = g.folded_count + 1,
        folded_ended_at = episode.ended_at, folded_thread_id = episode.thread_id,
        folded_first_seq = episode.first_seq, last_known_at = a_known_at
    where g.tenant_id = a_tenant and g.generation_id = a_generation;
end
$$;
revoke all on function memory.claim_version, memory.lock_tenant, memory.known_after,
    memory.next_episodes from public;
grant execute on function memory.claim_version, memory.lock_tenant, memory.known_after,
    memory.next_episodes to memory_app;
