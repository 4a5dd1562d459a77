-- Profiles: what they were made of and by, when they stop being true by themselves, and who works
-- on an entity just now. Failures are counted for each entity, so that one never blocks another.

alter table memory.profiles
    add column is_extractive boolean not null default false,
    add column facts_digest text not null default '',
    add column model text,
    add column prompt_digest text,
    add column request_digest text,
    add column dropped jsonb not null default '[]',
    add column cited_facts uuid[] not null default '{}',
    add column holds_until timestamptz;
comment on column memory.profiles.is_extractive is
    'Put together from the facts themselves: no model wrote it.';
comment on column memory.profiles.grounding is
    'Digest of what was shown, prompt and model: while it is equal there is nothing to ask.';
comment on column memory.profiles.citations is
    'Spans of the text with the facts that each stands on.';
comment on column memory.profiles.dropped is 'Sentences that were left out, with the reason.';
comment on column memory.profiles.holds_until is
    'When the first of its facts begins or ends by itself.';
create index profiles_outlived on memory.profiles (holds_until)
    where retired_at is null and holds_until is not null;

alter table memory.dirty_entities
    add column failed_tries integer not null default 0,
    add column next_try_at timestamptz,
    add column held_at timestamptz,
    add column claimed_by uuid,
    add column claimed_until timestamptz;
comment on column memory.dirty_entities.bumps is
    'Changes that no profile has taken in; lowered by what a stored one was made from.';
comment on column memory.dirty_entities.first_bumped_at is 'When the first of them came.';
comment on column memory.dirty_entities.attempts is
    'Failures since the last success or request to retry; enough of them and it is held.';
comment on column memory.dirty_entities.failed_tries is
    'All failures ever: a try of another number asks the model anew.';
comment on column memory.dirty_entities.held_reason is 'Why the last try failed.';
comment on column memory.dirty_entities.held_at is 'No more tries since then, until asked for.';
comment on column memory.dirty_entities.claimed_by is
    'Whoever builds the profile now: only its result is stored.';
create index dirty_entities_due on memory.dirty_entities
    (tenant_id, generation_id, first_bumped_at, entity_id) where bumps > 0 and held_at is null;
create index dirty_entities_claims on memory.dirty_entities (claimed_by)
    where claimed_by is not null;

-- Takes what a builder observed off an entity's counter; false when the claim is somebody else's
-- by now. What was bumped meanwhile stays, counted from the observation on.
create function memory.serve_entity(
    a_tenant text, a_generation uuid, an_entity uuid, a_claim uuid, observed integer,
    observed_at timestamptz)
    returns boolean language plpgsql set search_path = memory, pg_temp as $$
begin
    update memory.dirty_entities d
    set bumps = greatest(0, d.bumps - observed),
        first_bumped_at = greatest(d.first_bumped_at, observed_at), attempts = 0,
        next_try_at = null, held_at = null, held_reason = null, claimed_by = null,
        claimed_until = null
    where d.tenant_id = a_tenant and d.generation_id = a_generation and d.entity_id = an_entity
        and d.claimed_by = a_claim;
    return found;
end
$$;
revoke all on function memory.serve_entity from public;
grant execute on function memory.serve_entity to memory_app;

-- The operator: which tenants have work, and whether profiles still stand on what holds.
grant select (tenant_id, generation_id, entity_id, bumps, first_bumped_at, attempts,
    failed_tries, next_try_at, held_at, claimed_until) on memory.dirty_entities to memory_operator;
grant select (tenant_id, generation_id, entity_id, is_extractive, cited_facts, holds_until,
    retired_at, recorded_at) on memory.profiles to memory_operator;
create policy operator_reads on memory.dirty_entities for select to memory_operator using (true);
create policy operator_reads on memory.profiles for select to memory_operator using (true);
