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
set known_time = tstzrange(lower(known_time), %(known_at)s),
    ended_reason = coalesce(%(ended_reason)s, ended_reason),
    successor_id = coalesce(%(successor_id)s, successor_id),
    ended_by = case when %(ended_reason)s::text is null then ended_by else %(episode_id)s end
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s and fact_id = %(fact_id)s
    and version = %(version)s and upper_inf(known_time);

-- name: insert_version
-- A new version of a fact; a second open-ended one of a triple is refused without an error.
insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id, predicate,
    object_id, object_text, statement, valid_time, known_time, confidence, memory_category, tier,
    attributes, opened_by, ended_by, ended_reason, successor_id, recipe_id, embedding)
values (%(tenant_id)s, %(generation_id)s, %(fact_id)s, %(version)s, %(subject_id)s, %(predicate)s,
    %(object_id)s, %(object_text)s, %(statement)s, tstzrange(%(valid_from)s, %(valid_until)s),
    tstzrange(%(known_from)s, null), %(confidence)s, %(memory_category)s, %(tier)s,
    %(attributes)s, %(opened_by)s, %(ended_by)s, %(ended_reason)s, %(successor_id)s,
    %(recipe_id)s, coalesce(%(embedding)s, (
        select embedding from memory.facts
        where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
            and fact_id = %(fact_id)s and version = %(version)s - 1)))
on conflict do nothing;

-- name: insert_evidence
-- Which message says a fact.
insert into memory.fact_evidence (tenant_id, generation_id, fact_id, episode_id, claim_ref, kind,
    message_id, span_start, span_end, quote)
values (%(tenant_id)s, %(generation_id)s, %(fact_id)s, %(episode_id)s, %(claim_ref)s, %(kind)s,
    %(message_id)s, %(span_start)s, %(span_end)s, %(quote)s)
on conflict do nothing;

-- name: insert_outcome
-- Where a candidate ended.
insert into memory.claim_outcomes (tenant_id, generation_id, episode_id, ref, outcome, subject,
    predicate, object, detail, fact_id, message_id, quote)
values (%(tenant_id)s, %(generation_id)s, %(episode_id)s, %(ref)s, %(outcome)s, %(subject)s,
    %(predicate)s, %(object)s, %(detail)s, %(fact_id)s, %(message_id)s, %(quote)s)
on conflict do nothing;

-- name: insert_message_outcome
-- Why a message gave no candidate.
insert into memory.message_outcomes (tenant_id, generation_id, message_id, episode_id, reason)
values (%(tenant_id)s, %(generation_id)s, %(message_id)s, %(episode_id)s, %(reason)s)
on conflict do nothing;

-- name: insert_judgement
-- What the judge said of one pair.
insert into memory.judged_pairs (tenant_id, generation_id, episode_id, claim_ref, fact_id, judge,
    verdict, is_correction, reason, why)
values (%(tenant_id)s, %(generation_id)s, %(episode_id)s, %(claim_ref)s, %(fact_id)s, %(judge)s,
    %(verdict)s, %(is_correction)s, %(reason)s, %(why)s)
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
    and opened_by <> %(episode_id)s and subject = %(subject)s and predicate = %(predicate)s;

-- name: bump_dirty
-- The entity's profile is out of date once more.
insert into memory.dirty_entities as d (tenant_id, generation_id, entity_id, bumps)
values (%(tenant_id)s, %(generation_id)s, %(entity_id)s, 1)
on conflict (tenant_id, generation_id, entity_id) do update
set bumps = d.bumps + 1,
    first_bumped_at = case when d.bumps = 0 then now() else d.first_bumped_at end;

-- name: touch_entity
-- The entity was linked by an episode known at this instant.
update memory.entities set last_linked_at = greatest(last_linked_at, %(known_at)s)
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
    and entity_id = any(%(entity_ids)s);

-- name: upsert_stage_output
-- What a stage made of an episode, with the digest of what it was made from.
insert into memory.stage_outputs (tenant_id, generation_id, episode_id, stage, input_digest,
    payload)
values (%(tenant_id)s, %(generation_id)s, %(episode_id)s, %(stage)s, %(input_digest)s, %(payload)s)
on conflict (tenant_id, generation_id, episode_id, stage) do update
set input_digest = excluded.input_digest, payload = excluded.payload, recorded_at = now()
where stage_outputs.input_digest <> excluded.input_digest;
