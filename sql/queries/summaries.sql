-- name: open_summaries
-- Episodes of the given ordinals without a summary, and earlier failures of the tenant under the cap.
select e.episode_id, e.ordinal, e.thread_id, e.started_at, e.ended_at, e.summary,
    e.summary_attempts
from memory.episodes e
where e.tenant_id = %(tenant_id)s and (
    (e.summary_status = 'pending' and e.ordinal = any(%(ordinals)s))
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
