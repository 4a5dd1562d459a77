-- name: live_generation
-- The generation that serves and grows.
select generation_id, number, recipe_id, profile_id, version, folded_count, last_known_at,
    folded_ended_at
from memory.generations
where tenant_id = %(tenant_id)s and status = 'live';

-- name: generation_head
-- Where a generation stands.
select recipe_id, version, folded_count, last_known_at
from memory.generations
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s;

-- name: insert_recipe
-- Everything that shapes memory, by digest.
insert into memory.recipes (tenant_id, recipe_id, content)
values (%(tenant_id)s, %(recipe_id)s, %(content)s)
on conflict do nothing;

-- name: insert_profile
-- Thresholds of an embedding model, as they were when its vectors came in.
insert into memory.embedding_profiles
    (profile_id, dimensions, entity_merge, duplicate, band_low, second_signal)
values (%(profile_id)s, %(dimensions)s, %(entity_merge)s, %(duplicate)s, %(band_low)s,
    %(second_signal)s)
on conflict do nothing;

-- name: insert_first_generation
-- A tenant's first memory is live from the start.
insert into memory.generations (tenant_id, generation_id, number, recipe_id, profile_id, status)
values (%(tenant_id)s, %(generation_id)s, 1, %(recipe_id)s, %(profile_id)s, 'live')
on conflict do nothing;

-- name: adopt_recipe
-- Later episodes of the live generation are built with another recipe; what is built stays.
update memory.generations set recipe_id = %(recipe_id)s
where tenant_id = %(tenant_id)s and generation_id = %(generation_id)s
    and recipe_id <> %(recipe_id)s;

-- name: adopt_profile
-- A generation that nothing was folded into holds no vectors: another embedding model may begin it.
update memory.generations g set profile_id = %(profile_id)s
where g.tenant_id = %(tenant_id)s and g.generation_id = %(generation_id)s and g.folded_count = 0
    and not exists (
        select from memory.entities e
        where e.tenant_id = g.tenant_id and e.generation_id = g.generation_id)
    and not exists (
        select from memory.facts f
        where f.tenant_id = g.tenant_id and f.generation_id = g.generation_id);

-- name: stored_vector_width
-- Dimensions of the stored vectors, as declared in the schema.
select atttypmod as dimensions from pg_attribute
where attrelid = 'memory.facts'::regclass and attname = 'embedding';
