-- name: open_summaries
-- Episodes without a summary: those of the given ordinals, and what earlier runs left of the tenant.
-- `tier` and `tier_reason` are those of the stored extraction, null when there is none yet.
select e.episode_id, e.ordinal, e.thread_id, e.started_at, e.ended_at, e.summary,
    e.summary_attempts, o.payload ->> 'tier' as tier, o.payload ->> 'tier_reason' as tier_reason
from memory.episodes e
left join memory.generations g on g.tenant_id = e.tenant_id and g.status = 'live'
left join memory.stage_outputs o on o.tenant_id = e.tenant_id
    and o.generation_id = g.generation_id and o.episode_id = e.episode_id
    and o.stage = 'extracted_graphs'
where e.tenant_id = %(tenant_id)s and (
    (e.summary_status = 'pending'
        and (e.ordinal = any(%(ordinals)s) or e.extraction_status in ('done', 'given_up')))
    or (e.summary_status = 'failed' and e.summary_attempts < %(attempts)s))
order by e.ended_at, e.thread_id, e.first_seq;

-- name: store_summary
-- What became of an episode's summary; a kept text is not written again (spec E5).
update memory.episodes
set summary_status = %(status)s, summary = coalesce(%(summary)s, summary),
    summary_embedding = coalesce(%(embedding)s, summary_embedding),
    summary_error = %(error)s,
    summary_attempts = summary_attempts + (%(status)s = 'failed')::integer
where tenant_id = %(tenant_id)s and episode_id = %(episode_id)s;
