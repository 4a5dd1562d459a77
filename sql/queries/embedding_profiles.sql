-- name: stored_profile
-- The thresholds of an embedding model in this installation.
select profile_id, dimensions, entity_merge, duplicate, band_low, second_signal
from memory.embedding_profiles
where profile_id = %(profile_id)s;
