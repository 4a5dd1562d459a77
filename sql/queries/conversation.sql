-- name: lock_tenant
-- One writer per tenant until the end of the transaction.
select memory.lock_tenant(%(tenant_id)s);

-- name: ensure_tenant
-- Make the tenant known, adding names that mean its user.
insert into memory.tenants as t (tenant_id, user_names)
values (%(tenant_id)s, %(user_names)s)
on conflict (tenant_id) do update
set user_names = (
    select coalesce(array_agg(distinct name order by name), '{}')
    from unnest(t.user_names || excluded.user_names) as name)
where not t.user_names @> excluded.user_names;

-- name: stage_messages
-- A place for COPY that ends with the transaction.
create temporary table staged_messages (
    thread_id text, message_id uuid, source_id text, role text, speaker text, is_own boolean,
    text text, said_at timestamptz, token_count integer, place integer
) on commit drop;

-- name: copy_messages
-- The bulk way in for messages.
copy staged_messages (
    thread_id, message_id, source_id, role, speaker, is_own, text, said_at, token_count, place
) from stdin (format binary);

-- name: insert_threads
-- New threads of an import; known ones keep what they have.
insert into memory.threads (tenant_id, thread_id, format, title, own_speaker, started_at)
values (%(tenant_id)s, %(thread_id)s, %(format)s, %(title)s, %(own_speaker)s, %(started_at)s)
on conflict (tenant_id, thread_id) do nothing;

-- name: insert_staged_messages
-- Staged messages that are not stored yet, numbered after the last one of their thread.
with fresh as (
    select s.thread_id, s.message_id, s.source_id, s.role, s.speaker, s.is_own, s.text, s.said_at,
        s.token_count, s.place
    from staged_messages s
    where not exists (
        select from memory.messages m
        where m.tenant_id = %(tenant_id)s and m.thread_id = s.thread_id
            and m.source_id = s.source_id)
), last as (
    select m.thread_id, max(m.seq) as seq
    from memory.messages m
    where m.tenant_id = %(tenant_id)s and m.thread_id in (select distinct thread_id from fresh)
    group by m.thread_id
)
insert into memory.messages (tenant_id, message_id, thread_id, seq, source_id, role, speaker,
    is_own, text, said_at, token_count)
select %(tenant_id)s, f.message_id, f.thread_id,
    coalesce(l.seq, 0) + row_number() over (partition by f.thread_id order by f.place),
    f.source_id, f.role, f.speaker, f.is_own, f.text, f.said_at, f.token_count
from fresh f
left join last l using (thread_id)
on conflict do nothing;

-- name: uncut_messages
-- Messages behind the last episode of their thread, with that episode's own where it may still grow.
with last_episode as (
    select distinct on (e.thread_id) e.thread_id, e.episode_id, e.first_seq, e.last_seq,
        (e.extraction_status in ('pending', 'late') and e.extraction_attempts = 0
         and e.leased_by is null) as may_grow
    from memory.episodes e
    where e.tenant_id = %(tenant_id)s
    order by e.thread_id, e.first_seq desc
), uncut as (
    select m.thread_id, min(m.seq) as first_uncut
    from memory.messages m
    left join last_episode l using (thread_id)
    where m.tenant_id = %(tenant_id)s and m.seq > coalesce(l.last_seq, 0)
    group by m.thread_id
)
select m.thread_id, m.seq, m.said_at, m.token_count, m.is_own,
    case when l.may_grow then l.episode_id end as grows, l.first_seq as grows_from
from uncut u
left join last_episode l using (thread_id)
join memory.messages m on m.tenant_id = %(tenant_id)s and m.thread_id = u.thread_id
    and m.seq >= case when l.may_grow then l.first_seq else u.first_uncut end
order by m.thread_id, m.seq;

-- name: last_ordinal
-- The highest arrival number of the tenant.
select coalesce(max(ordinal), 0) as ordinal from memory.episodes where tenant_id = %(tenant_id)s;

-- name: insert_episodes
-- Newly closed windows; one that lies before the last folded episode is set aside as late.
insert into memory.episodes (tenant_id, episode_id, ordinal, thread_id, first_seq, last_seq,
    started_at, ended_at, message_count, own_message_count, token_count, ingest_seq,
    extraction_status)
select %(tenant_id)s, %(episode_id)s, %(ordinal)s, %(thread_id)s, %(first_seq)s, %(last_seq)s,
    %(started_at)s, %(ended_at)s, %(message_count)s, %(own_message_count)s, %(token_count)s,
    nextval('memory.episode_ingest_seq'), 'pending';

-- name: grow_episode
-- A pending window takes in messages that arrived before anybody looked at it.
update memory.episodes
set last_seq = %(last_seq)s, started_at = %(started_at)s, ended_at = %(ended_at)s,
    message_count = %(message_count)s, own_message_count = %(own_message_count)s,
    token_count = %(token_count)s, ingest_seq = nextval('memory.episode_ingest_seq')
where tenant_id = %(tenant_id)s and episode_id = %(episode_id)s and last_seq <> %(last_seq)s;

-- name: set_aside_late
-- Pending episodes whose position lies before the last folded one wait for a replay (spec J7).
with late as (
    update memory.episodes e
    set extraction_status = 'late', leased_by = null, leased_until = null
    from memory.generations g
    where e.tenant_id = %(tenant_id)s and e.extraction_status in ('pending', 'failed')
        and g.tenant_id = e.tenant_id and g.status = 'live' and g.folded_ended_at is not null
        and (e.ended_at, e.thread_id, e.first_seq)
            < (g.folded_ended_at, g.folded_thread_id, g.folded_first_seq)
    returning e.ended_at
)
update memory.tenants
set stale_from = least(stale_from, (select min(ended_at) from late))
where tenant_id = %(tenant_id)s and exists (select from late);

-- name: list_episodes
-- All episodes of a tenant with their position.
select e.episode_id, e.ordinal, e.thread_id, e.first_seq, e.last_seq, e.started_at, e.ended_at,
    e.message_count, e.own_message_count, e.extraction_status, e.extraction_attempts,
    e.extraction_error, e.summary_status,
    row_number() over (order by e.ended_at, e.thread_id, e.first_seq) as position
from memory.episodes e
where e.tenant_id = %(tenant_id)s
order by position;

-- name: walk_episodes
-- Episodes not yet folded, in position order, with their status; late ones are not among them.
select e.episode_id, e.ordinal, e.thread_id, e.first_seq, e.last_seq, e.started_at, e.ended_at,
    e.own_message_count, e.extraction_status, e.extraction_attempts
from memory.episodes e
where e.tenant_id = %(tenant_id)s and e.extraction_status in ('pending', 'failed')
order by e.ended_at, e.thread_id, e.first_seq;

-- name: without_waiting_for_disk
-- A lease need not outlive a crash of the server: its commit waits for no disk.
select set_config('synchronous_commit', 'off', true);

-- name: analyse_grown
-- Let the server look at tables that have grown to several times what it knows of them.
select memory.analyse_grown();

-- name: take_episodes
-- The next open episodes, leased, so that no import grows them. One whose worker was lost while it
-- was at work on it counts an attempt (spec E5); a lease is not prolonged by who inherits it.
with next as (
    select e.episode_id, e.ordinal, n.boundary,
        e.leased_by <> %(worker)s and e.leased_until >= now() as is_inherited,
        n.boundary = min(n.boundary) over () and e.leased_by <> %(worker)s
            and e.leased_until < now() and not exists (
                select from memory.stage_outputs o
                where o.tenant_id = e.tenant_id and o.generation_id = %(generation_id)s
                    and o.episode_id = e.episode_id and o.stage = 'extracted_graphs') as is_lost
    from memory.next_episodes(%(tenant_id)s, %(generation_id)s, %(stride)s, %(count)s) n
    join memory.episodes e on e.tenant_id = %(tenant_id)s and e.episode_id = n.episode_id
), taken as (
    update memory.episodes e
    set leased_by = %(worker)s,
        leased_until = case when s.is_inherited then e.leased_until
            else now() + make_interval(mins => %(minutes)s) end,
        extraction_attempts = e.extraction_attempts + coalesce(s.is_lost, false)::int,
        extraction_error = case when s.is_lost then 'its worker was lost'
            else e.extraction_error end
    from next s
    where e.tenant_id = %(tenant_id)s and e.episode_id = s.episode_id
        and (%(ordinals)s::int[] is null or s.ordinal = any(%(ordinals)s::int[]))
    returning e.episode_id, e.ordinal, e.thread_id, e.first_seq, e.last_seq, e.started_at,
        e.ended_at, e.own_message_count, e.extraction_status, e.extraction_attempts, s.boundary
)
select t.* from taken t
order by t.ended_at, t.thread_id, t.first_seq;

-- name: renew_leases
-- The worker is alive: what it holds stays its own for another while.
update memory.episodes
set leased_until = now() + make_interval(mins => %(minutes)s)
where tenant_id = %(tenant_id)s and leased_by = %(worker)s
    and extraction_status in ('pending', 'failed');

-- name: release_leases
-- The worker stops in good order: what it holds and has not folded is free again.
update memory.episodes
set leased_by = null, leased_until = null
where tenant_id = %(tenant_id)s and leased_by = %(worker)s
    and extraction_status in ('pending', 'failed');

-- name: statuses_of_ordinals
-- How far some episodes of a tenant are.
select ordinal, extraction_status from memory.episodes
where tenant_id = %(tenant_id)s and ordinal = any(%(ordinals)s);

-- name: window_messages
-- The messages of some episodes.
select e.episode_id, m.message_id, m.seq, m.role, m.text, m.said_at, m.speaker, m.is_own
from memory.episodes e
join memory.messages m on m.tenant_id = e.tenant_id and m.thread_id = e.thread_id
    and m.seq between e.first_seq and e.last_seq
where e.tenant_id = %(tenant_id)s and e.episode_id = any(%(episode_ids)s)
order by e.episode_id, m.seq;

-- name: messages_of_next
-- The messages of the next open episodes.
select e.episode_id, m.message_id, m.seq, m.role, m.text, m.said_at, m.speaker, m.is_own
from memory.next_episodes(%(tenant_id)s, %(generation_id)s, %(stride)s, %(count)s) n
join memory.episodes e on e.tenant_id = %(tenant_id)s and e.episode_id = n.episode_id
join memory.messages m on m.tenant_id = e.tenant_id and m.thread_id = e.thread_id
    and m.seq between e.first_seq and e.last_seq
order by e.episode_id, m.seq;

-- name: record_failed_extraction
-- One more attempt of an episode went wrong (spec E5).
update memory.episodes
set extraction_status = 'failed', extraction_attempts = extraction_attempts + 1,
    extraction_error = %(error)s, leased_by = null, leased_until = null
where tenant_id = %(tenant_id)s and episode_id = %(episode_id)s
    and extraction_status in ('pending', 'failed')
returning extraction_attempts;

-- name: late_count
-- How many episodes wait for a replay.
select count(*) as late from memory.episodes
where tenant_id = %(tenant_id)s and extraction_status = 'late';

-- name: tenant_row
-- Settings and user names of a tenant.
select tenant_id, settings, user_names, stale_from, secret from memory.tenants
where tenant_id = %(tenant_id)s;

-- name: all_tenants
-- Ids of all tenants, for operators.
select tenant_id from memory.tenants order by tenant_id;

-- name: open_episodes_after
-- Open episodes of all tenants behind a cursor of the ingest sequence, for the sensor.
select e.tenant_id, e.ordinal, e.ingest_seq, e.extraction_attempts
from memory.episodes e
where e.ingest_seq > %(cursor)s and e.extraction_status = 'pending'
order by e.ingest_seq
limit %(limit)s;

-- name: tenants_with_open_episodes
-- Tenants with open episodes, failed ones too, for the sweep.
select e.tenant_id, max(e.extraction_attempts) as extraction_attempts
from memory.episodes e
where e.extraction_status in ('pending', 'failed')
group by e.tenant_id
order by e.tenant_id;

-- name: highest_ordinals
-- The highest arrival number of each tenant, for the partition grid.
select tenant_id, max(ordinal) as ordinal from memory.episodes
group by tenant_id order by tenant_id;

-- name: settle_session
-- A session that waits in silence stays, and one whose machine was lost is dropped soon.
select set_config('idle_session_timeout', '0', false),
    set_config('tcp_keepalives_idle', '30', false),
    set_config('tcp_keepalives_interval', '10', false),
    set_config('tcp_keepalives_count', '3', false),
    set_config('application_name', %(name)s, false);

-- name: try_work_lock
-- One process at a time for one work on one tenant, until its session ends.
select pg_try_advisory_lock(hashtextextended('memory work:' || %(work)s || ':' || %(tenant_id)s, 0))
    as is_held;

-- name: holder_of_work_lock
-- The session that is at work on the tenant.
select a.application_name as name, a.backend_start as since
from pg_locks l
join pg_stat_activity a on a.pid = l.pid
cross join (
    select hashtextextended('memory work:' || %(work)s || ':' || %(tenant_id)s, 0) as key) k
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
    and l.classid = (((k.key >> 32) & 4294967295)::bigint)::oid
    and l.objid = ((k.key & 4294967295)::bigint)::oid;
