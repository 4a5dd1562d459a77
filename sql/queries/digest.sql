-- name: read_in_utc
-- Instants are written in UTC until the end of this transaction, whatever the server's zone.
select set_config('TimeZone', 'UTC', true);

-- name: digest_lines
-- The live memory as sorted lines of content: no id, no tenant, no time of any database clock.
with generation as (
    select g.generation_id from memory.generations g
    where g.tenant_id = %(tenant_id)s and g.status = 'live'
), fold as (
    select f.episode_id, f.fold_number, f.status, f.known_at, e.thread_id, e.first_seq, e.last_seq
    from memory.folds f
    join memory.episodes e on e.tenant_id = f.tenant_id and e.episode_id = f.episode_id
    where f.tenant_id = %(tenant_id)s and f.generation_id = (select generation_id from generation)
), entity as (
    select e.entity_id, e.name, e.type, e.memory_category, e.redirect_to, e.known_from,
        e.last_linked_at, json_build_array(e.name, e.type, o.fold_number) as content
    from memory.entities e
    left join fold o on o.episode_id = e.opened_by
    where e.tenant_id = %(tenant_id)s and e.generation_id = (select generation_id from generation)
), version as (
    select f.fact_id, f.version, f.subject_id, f.predicate, f.object_id, f.object_text,
        f.statement, f.valid_time, f.known_time, f.confidence, f.memory_category, f.tier,
        f.attributes, f.opened_by, f.ended_by, f.ended_reason, f.successor_id, f.dropped_by,
        f.dropped_reason, f.dropped_for
    from memory.facts f
    where f.tenant_id = %(tenant_id)s and f.generation_id = (select generation_id from generation)
), fact as (
    select v.fact_id,
        json_build_array(v.statement, lower(v.valid_time), o.fold_number) as content
    from version v
    left join fold o on o.episode_id = v.opened_by
    where v.version = 1
), said as (
    select m.message_id, json_build_array(m.thread_id, m.seq) as content
    from memory.messages m
    where m.tenant_id = %(tenant_id)s
), lines (kind, content) as (
    select 'fold', json_build_array(fold_number, thread_id, first_seq, last_seq, status, known_at)
    from fold
    union all
    select 'entity', json_build_array(e.content, e.memory_category, e.known_from,
        e.last_linked_at, w.content)
    from entity e
    left join entity w on w.entity_id = e.redirect_to
    union all
    select 'alias', json_build_array(a.alias, e.content, a.reason, a.known_from)
    from memory.entity_aliases a
    join entity e using (entity_id)
    where a.tenant_id = %(tenant_id)s and a.generation_id = (select generation_id from generation)
    union all
    select 'fact', json_build_array(v.version, v.statement, s.content, v.predicate, o.content,
        v.object_text, lower(v.valid_time), upper(v.valid_time), lower(v.known_time),
        upper(v.known_time), round(v.confidence::numeric, 4)::text, v.memory_category, v.tier,
        v.attributes, opener.fold_number, ender.fold_number, v.ended_reason, successor.content,
        dropper.fold_number, v.dropped_reason, instead.content)
    from version v
    join entity s on s.entity_id = v.subject_id
    left join entity o on o.entity_id = v.object_id
    left join fold opener on opener.episode_id = v.opened_by
    left join fold ender on ender.episode_id = v.ended_by
    left join fact successor on successor.fact_id = v.successor_id
    left join fold dropper on dropper.episode_id = v.dropped_by
    left join fact instead on instead.fact_id = v.dropped_for
    union all
    select 'evidence', json_build_array(f.content, o.fold_number, v.claim_ref, v.kind, v.quote,
        v.span_start, v.span_end, m.content)
    from memory.fact_evidence v
    join fact f using (fact_id)
    left join fold o on o.episode_id = v.episode_id
    left join said m on m.message_id = v.message_id
    where v.tenant_id = %(tenant_id)s and v.generation_id = (select generation_id from generation)
    union all
    select 'instruction', json_build_array(i.label, i.description, i.version, i.is_active,
        lower(i.known_time), upper(i.known_time), o.fold_number, m.content)
    from memory.instructions i
    left join fold o on o.episode_id = i.opened_by
    left join said m on m.message_id = i.message_id
    where i.tenant_id = %(tenant_id)s and i.generation_id = (select generation_id from generation)
    union all
    select 'uncertainty', json_build_array(u.about, u.reason, u.subject, u.predicate, u.candidate,
        u.known_from, u.resolved_at, opener.fold_number, settler.fold_number, m.content)
    from memory.uncertainties u
    left join fold opener on opener.episode_id = u.opened_by
    left join fold settler on settler.episode_id = u.resolved_by
    left join said m on m.message_id = u.message_id
    where u.tenant_id = %(tenant_id)s and u.generation_id = (select generation_id from generation)
    union all
    select 'verdict', json_build_array(o.fold_number, j.claim_ref, f.content, j.judge, j.verdict,
        j.is_correction, j.reason, j.why)
    from memory.judged_pairs j
    left join fold o on o.episode_id = j.episode_id
    left join fact f on f.fact_id = j.fact_id
    where j.tenant_id = %(tenant_id)s and j.generation_id = (select generation_id from generation)
    union all
    select 'candidate', json_build_array(o.fold_number, c.ref, c.outcome, c.subject, c.predicate,
        c.object, c.detail, c.quote, f.content, m.content)
    from memory.claim_outcomes c
    left join fold o on o.episode_id = c.episode_id
    left join fact f on f.fact_id = c.fact_id
    left join said m on m.message_id = c.message_id
    where c.tenant_id = %(tenant_id)s and c.generation_id = (select generation_id from generation)
    union all
    select 'silence', json_build_array(o.fold_number, s.reason, m.content)
    from memory.message_outcomes s
    left join fold o on o.episode_id = s.episode_id
    left join said m on m.message_id = s.message_id
    where s.tenant_id = %(tenant_id)s and s.generation_id = (select generation_id from generation)
)
select kind || ' ' || content::text as line
from lines
order by (kind || ' ' || content::text) collate "C";
