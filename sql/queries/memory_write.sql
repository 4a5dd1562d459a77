-- name: claim_version
-- Move the generation on, or fail when it is not where the plan saw it (SQLSTATE MP001).
select memory.claim_version(%(tenant_id)s, %(generation_id)s, %(version)s, %(episode_id)s,
    %(known_at)s);

-- name: insert_fold
-- The generation has taken this episode in.
insert into memory.folds (tenant_id, generation_id, episode_id, fold_number, status, known_at,
    recipe_id, counts)
values (%(tenant_id)s, %(generation_id)s, %(episode_id)s, %(fold_number)s, %(status)s,
    %(known_at)s, %(recipe_id)s, %(counts)s);

-- name: finish_episode
-- The episode's status follows its fold.
update memory.episodes
set extraction_status = %(extraction_status)s, leased_by = null, leased_until = null,
    extraction_error = case when %(extraction_status)s = 'done' then null else extraction_error end
where tenant_id = %(tenant_id)s and episode_id = %(episode_id)s;

-- name: insert_entity
-- A new thing; a name that another worker just made is left to it.
insert into memory.entities (tenant_id, generation_id, entity_id, name, type, memory_category,
    opened_by, known_from, last_linked_at, embedding)
values (%(tenant_id)s, %(generation_id)s, %(entity_id)s, %(name)s, %(type)s, %(memory_category)s,
    %(opened_by)s, %(known_at)s, %(known_at)s, %(embedding)s)
on conflict do nothing;

-- name: insert_alias
-- Another name of an entity, with the rule that found it.
insert into memory.entity_aliases (tenant_id, generation_id, alias, entity_id, reason, opened_by,
    known_from)
values (%(tenant_id)s, %(generation_id)s, %(alias)s, %(entity_id)s, %(reason)s, %(opened_by)s,
    %(known_at)s)
on conflict do nothing;

-- name: close_version
-- A version is not believed any more from this known instant on.
update memory.facts
set known_time = tstzrange(lower(known_time), %(known_at)s), dropped_reason = %(dropped_reason)s,
    dropped_for = %(dropped_for)s,
    dropped_by = case when %(dropped_reason)s::text is not null then %(episode_id)s::uuid end
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s and fact_id = %(fact_id)s
    and version = %(version)s and upper_inf(known_time);

-- name: insert_fact
-- The first version of a fact; a second open-ended one of a triple is kept out without an error.
insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id, predicate,
    object_id, object_text, statement, valid_time, known_time, confidence, memory_category, tier,
    attributes, opened_by, ended_by, ended_reason, successor_id, recipe_id, embedding)
values (%(tenant_id)s, %(generation_id)s, %(fact_id)s, %(version)s, %(subject_id)s, %(predicate)s,
    %(object_id)s, %(object_text)s, %(statement)s, tstzrange(%(valid_from)s, %(valid_until)s),
    tstzrange(%(known_from)s, null), %(confidence)s, %(memory_category)s, %(tier)s,
    %(attributes)s, %(opened_by)s, %(ended_by)s, %(ended_reason)s, %(successor_id)s,
    %(recipe_id)s, %(embedding)s)
on conflict do nothing;

-- name: insert_version
-- A later version of a fact, with the vector of the one before; it fails where there is no room.
insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id, predicate,
    object_id, object_text, statement, valid_time, known_time, confidence, memory_category, tier,
    attributes, opened_by, ended_by, ended_reason, successor_id, recipe_id, embedding)
values (%(tenant_id)s, %(generation_id)s, %(fact_id)s, %(version)s, %(subject_id)s, %(predicate)s,
    %(object_id)s, %(object_text)s, %(statement)s, tstzrange(%(valid_from)s, %(valid_until)s),
    tstzrange(%(known_from)s, null), %(confidence)s, %(memory_category)s, %(tier)s,
    %(attributes)s, %(opened_by)s, %(ended_by)s, %(ended_reason)s, %(successor_id)s,
    %(recipe_id)s, (
        select embedding from memory.facts
        where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
            and fact_id = %(fact_id)s and version = %(version)s - 1));

-- name: note_contents
-- Since when each content is known, whatever generation holds it: forgetting counts from there, or
-- from when it was said anew after it was forgotten.
insert into memory.fact_access as a (tenant_id, content_key)
select %(tenant_id)s, md5(lower(s.statement))::uuid from unnest(%(statements)s::text[]) as s (statement)
on conflict (tenant_id, content_key) do update
set first_recorded_at = excluded.first_recorded_at, last_accessed_at = null, access_count = 0
where exists (
    select from memory.corrections c
    join memory.generations g on g.tenant_id = c.tenant_id and g.status = 'live'
    where c.tenant_id = a.tenant_id and c.kind = 'archive' and c.undone_at is null
        and c.content ->> 'content_key' = a.content_key::text
        and c.recorded_at > a.first_recorded_at and g.generation_id = %(generation_id)s);

-- name: yield_to_twins
-- New facts that were kept out end as `race`: what pointed at them points at the believed twin.
with twin as (
    select n.fact_id, f.fact_id as twin_id
    from unnest(%(fact_ids)s::uuid[], %(subject_ids)s::uuid[], %(predicates)s::text[],
        %(objects)s::uuid[], %(texts)s::text[], %(statements)s::text[])
        as n (fact_id, subject_id, predicate, object_id, object_text, statement)
    cross join lateral (
        select t.fact_id from memory.facts t
        where t.tenant_id = %(tenant_id)s and t.generation_id = %(generation_id)s
            and t.triple_key = memory.triple_key(n.subject_id, n.predicate, n.object_id,
                n.object_text, n.statement)
            and upper_inf(t.known_time) and upper_inf(t.valid_time)
        limit 1) f
    where not exists (
        select from memory.facts o
        where o.tenant_id = %(tenant_id)s and o.generation_id = %(generation_id)s
            and o.fact_id = n.fact_id)
), cited as (
    update memory.fact_evidence e
    set fact_id = twin.twin_id, kind = 'reinforced'
    from twin
    where e.tenant_id = %(tenant_id)s and e.generation_id = %(generation_id)s
        and e.fact_id = twin.fact_id and e.episode_id = %(episode_id)s
), succeeded as (
    update memory.facts f
    set successor_id = case when f.successor_id = twin.fact_id then twin.twin_id
            else f.successor_id end,
        dropped_for = case when f.dropped_for = twin.fact_id then twin.twin_id
            else f.dropped_for end
    from twin
    where f.tenant_id = %(tenant_id)s and f.generation_id = %(generation_id)s
        and f.fact_id = any(%(changed_ids)s) and twin.fact_id in (f.successor_id, f.dropped_for)
)
update memory.claim_outcomes c
set fact_id = twin.twin_id,
    outcome = case when c.outcome in ('inserted', 'renewed') then 'race' else c.outcome end
from twin
where c.tenant_id = %(tenant_id)s and c.generation_id = %(generation_id)s
    and c.episode_id = %(episode_id)s and c.fact_id = twin.fact_id;

-- name: insert_evidence
-- Which messages say a fact.
insert into memory.fact_evidence (tenant_id, generation_id, fact_id, episode_id, claim_ref, kind,
    message_id, span_start, span_end, quote)
select %(tenant_id)s, %(generation_id)s, r.fact_id, %(episode_id)s, r.claim_ref, r.kind,
    r.message_id, r.span_start, r.span_end, r.quote
from jsonb_to_recordset(%(rows)s) as r (fact_id uuid, claim_ref text, kind text, message_id uuid,
    span_start integer, span_end integer, quote text)
on conflict do nothing;

-- name: insert_outcome
-- Where candidates ended.
insert into memory.claim_outcomes (tenant_id, generation_id, episode_id, ref, outcome, subject,
    predicate, object, detail, fact_id, message_id, quote)
select %(tenant_id)s, %(generation_id)s, %(episode_id)s, r.ref, r.outcome, r.subject, r.predicate,
    r.object, r.detail, r.fact_id, r.message_id, r.quote
from jsonb_to_recordset(%(rows)s) as r (ref text, outcome text, subject text, predicate text,
    object text, detail text, fact_id uuid, message_id uuid, quote text)
on conflict do nothing;

-- name: insert_message_outcome
-- Why messages gave no candidate.
insert into memory.message_outcomes (tenant_id, generation_id, message_id, episode_id, reason)
select %(tenant_id)s, %(generation_id)s, r.message_id, %(episode_id)s, r.reason
from jsonb_to_recordset(%(rows)s) as r (message_id uuid, reason text)
on conflict do nothing;

-- name: insert_judgement
-- What the judge said of pairs.
insert into memory.judged_pairs (tenant_id, generation_id, episode_id, claim_ref, fact_id, judge,
    verdict, is_correction, reason, why)
select %(tenant_id)s, %(generation_id)s, %(episode_id)s, r.claim_ref, r.fact_id, r.judge,
    r.verdict, r.is_correction, r.reason, r.why
from jsonb_to_recordset(%(rows)s) as r (claim_ref text, fact_id uuid, judge text, verdict text,
    is_correction boolean, reason text, why text)
on conflict do nothing;

-- name: close_instruction
-- A believed instruction whose state changes ends here.
update memory.instructions
set known_time = tstzrange(lower(known_time), %(known_at)s)
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
    and instruction_id = %(instruction_id)s and upper_inf(known_time)
    and (is_active <> %(is_active)s
        or (is_active and lower(description) <> lower(%(description)s)))
    and lower(known_time) < %(known_at)s;

-- name: insert_instruction
-- A new state of an instruction; a restated one changes nothing, and only a known one is revoked.
insert into memory.instructions (tenant_id, generation_id, instruction_id, version, label,
    description, is_active, known_time, opened_by, message_id)
select %(tenant_id)s, %(generation_id)s, %(instruction_id)s, coalesce(max(i.version), 0) + 1,
    %(label)s, %(description)s, %(is_active)s, tstzrange(%(known_at)s, null), %(opened_by)s,
    %(message_id)s
from memory.instructions i
where i.tenant_id = %(tenant_id)s and i.generation_id = %(generation_id)s
    and i.instruction_id = %(instruction_id)s
having not coalesce(bool_or(upper_inf(i.known_time)), false)
    and (%(is_active)s or count(*) > 0);

-- name: insert_uncertainty
-- An open point, kept so that nothing is lost.
insert into memory.uncertainties (tenant_id, generation_id, uncertainty_id, about, reason, subject,
    predicate, candidate, message_id, opened_by, known_from)
values (%(tenant_id)s, %(generation_id)s, %(uncertainty_id)s, %(about)s, %(reason)s, %(subject)s,
    %(predicate)s, %(candidate)s, %(message_id)s, %(opened_by)s, %(known_at)s)
on conflict do nothing;

-- name: resolve_uncertainties
-- A later episode stated a confident value for the slot of an open point (spec X8).
update memory.uncertainties
set resolved_by = %(episode_id)s, resolved_at = %(known_at)s
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s and resolved_at is null
    and opened_by <> %(episode_id)s and (subject, predicate) in (
        select subject, predicate
        from unnest(%(subjects)s::text[], %(predicates)s::text[]) as slot (subject, predicate));

-- name: bump_dirty
-- The profiles of these entities are out of date once more.
insert into memory.dirty_entities as d (tenant_id, generation_id, entity_id, bumps)
select %(tenant_id)s, %(generation_id)s, unnest(%(entity_ids)s::uuid[]), 1
on conflict (tenant_id, generation_id, entity_id) do update
set bumps = d.bumps + 1,
    first_bumped_at = case when d.bumps = 0 then now() else d.first_bumped_at end;

-- name: touch_entity
-- The entity was linked by an episode known at this instant.
update memory.entities set last_linked_at = greatest(last_linked_at, %(known_at)s)
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
    and entity_id = any(%(entity_ids)s);

-- name: upsert_stage_outputs
-- What stages made of episodes, with the digest of what it was made from.
insert into memory.stage_outputs (tenant_id, generation_id, episode_id, stage, input_digest,
    payload)
select %(tenant_id)s, %(generation_id)s, r.episode_id, r.stage, r.input_digest, r.payload::jsonb
from unnest(%(episode_ids)s::uuid[], %(stages)s::text[], %(input_digests)s::text[],
    %(payloads)b::text[]) as r (episode_id, stage, input_digest, payload)
on conflict (tenant_id, generation_id, episode_id, stage) do update
set input_digest = excluded.input_digest, payload = excluded.payload, recorded_at = now()
where stage_outputs.input_digest <> excluded.input_digest;
