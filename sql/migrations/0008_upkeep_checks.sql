-- What the operator needs for the invariants of upkeep: ids, hashes and instants, no text.

-- Which content an archive is about, as a hash.
alter table memory.corrections
    add column content_key uuid generated always as ((content ->> 'content_key')::uuid) stored;

grant select (triple_key, content_key) on memory.facts to memory_operator;
grant select (tenant_id, generation_id, entity_id, redirect_to, retired_at)
    on memory.entities to memory_operator;
grant select (tenant_id, correction_id, kind, known_at, undone_at, content_key)
    on memory.corrections to memory_operator;
create policy operator_reads on memory.entities for select to memory_operator using (true);
create policy operator_reads on memory.corrections for select to memory_operator using (true);
