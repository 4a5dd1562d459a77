-- name: ledger_messages
-- How many messages share the same end; own messages of folded episodes without one by episode.
with generation as (
    select g.generation_id from memory.generations g
    where g.tenant_id = %(tenant_id)s and g.status = 'live'
), covered as (
    select m.message_id, e.episode_id, e.ordinal, e.extraction_status
    from memory.episodes e
    cross join lateral (
        select w.message_id from memory.messages w
        where w.tenant_id = e.tenant_id and w.thread_id = e.thread_id
            and w.seq between e.first_seq and e.last_seq
        offset 0) as m
    where e.tenant_id = %(tenant_id)s
), candidates as (
    select c.message_id, bool_or(c.outcome = 'uncertain') as is_doubted,
        bool_or(c.fact_id is not null
            or c.outcome in ('inserted', 'reinforced', 'closed', 'renewed')) as is_accepted
    from memory.claim_outcomes c
    where c.tenant_id = %(tenant_id)s and c.generation_id = (select generation_id from generation)
        and c.message_id is not null
    group by c.message_id
), cited as (
    select distinct v.message_id from memory.fact_evidence v
    where v.tenant_id = %(tenant_id)s and v.generation_id = (select generation_id from generation)
), instructions as (
    select i.message_id from memory.instructions i
    where i.tenant_id = %(tenant_id)s and i.generation_id = (select generation_id from generation)
    union
    select (found.instruction ->> 'message_id')::uuid
    from memory.stage_outputs s
    cross join lateral jsonb_array_elements(s.payload -> 'instructions') as found (instruction)
    where s.tenant_id = %(tenant_id)s and s.generation_id = (select generation_id from generation)
        and s.stage = 'extracted_graphs'
), doubts as (
    select distinct u.message_id from memory.uncertainties u
    where u.tenant_id = %(tenant_id)s and u.generation_id = (select generation_id from generation)
), ends as (
    select m.is_own, w.ordinal, w.extraction_status as status, f.status as fold_status, o.reason,
        v.message_id is not null or coalesce(c.is_accepted, false) as is_cited,
        i.message_id is not null as is_instruction,
        u.message_id is not null or coalesce(c.is_doubted, false) as is_doubted,
        c.message_id is not null as is_dropped
    from memory.messages m
    left join covered w using (message_id)
    left join memory.folds f on f.tenant_id = m.tenant_id and f.episode_id = w.episode_id
        and f.generation_id = (select generation_id from generation)
    left join memory.message_outcomes o on o.tenant_id = m.tenant_id
        and o.message_id = m.message_id
        and o.generation_id = (select generation_id from generation)
    left join candidates c on c.message_id = m.message_id
    left join cited v on v.message_id = m.message_id
    left join instructions i on i.message_id = m.message_id
    left join doubts u on u.message_id = m.message_id
    where m.tenant_id = %(tenant_id)s
)
select is_own, status, fold_status, reason, is_cited, is_instruction, is_doubted, is_dropped,
    case when is_own and fold_status is not null and reason is null
        and not (is_cited or is_instruction or is_doubted or is_dropped) then ordinal
    end as episode,
    count(*) as messages
from ends
group by is_own, status, fold_status, reason, is_cited, is_instruction, is_doubted, is_dropped,
    episode
order by episode nulls first, messages desc;

-- name: ledger_candidates
-- Candidates by outcome.
select c.outcome, count(*) as candidates
from memory.claim_outcomes c
join memory.generations g using (tenant_id, generation_id)
where c.tenant_id = %(tenant_id)s and g.status = 'live'
group by c.outcome
order by c.outcome;

-- name: ledger_episodes
-- Episodes by status.
select e.extraction_status as status, count(*) as episodes
from memory.episodes e
where e.tenant_id = %(tenant_id)s
group by e.extraction_status
order by e.extraction_status;

-- name: ledger_uneven_episodes
-- Episodes whose status, fold and candidates do not agree.
with generation as (
    select g.generation_id from memory.generations g
    where g.tenant_id = %(tenant_id)s and g.status = 'live'
), ended as (
    select c.episode_id, count(*) as candidates from memory.claim_outcomes c
    where c.tenant_id = %(tenant_id)s and c.generation_id = (select generation_id from generation)
    group by c.episode_id
), account as (
    select e.ordinal, e.extraction_status as status, f.status as fold_status,
        (f.counts #>> '{extracted_graphs,candidates}')::integer as extracted,
        coalesce(c.candidates, 0) as ended
    from memory.episodes e
    left join memory.folds f on f.tenant_id = e.tenant_id and f.episode_id = e.episode_id
        and f.generation_id = (select generation_id from generation)
    left join ended c on c.episode_id = e.episode_id
    where e.tenant_id = %(tenant_id)s
)
select ordinal, status, fold_status, extracted, ended
from account
where (fold_status is null) <> (status in ('pending', 'failed', 'late'))
    or case when fold_status is null then 0 else extracted end is distinct from ended
order by ordinal;
