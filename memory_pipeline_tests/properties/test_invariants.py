"""What holds after every episode of every history, read from the tables as they are."""

from uuid import UUID

from hypothesis import given

from memory_pipeline.adapters.postgres import Database, Row
from memory_pipeline.reading.ledger import read_ledger
from memory_pipeline_tests.properties.effort import examples
from memory_pipeline_tests.properties.histories import Candidate, Episode, History, histories
from memory_pipeline_tests.properties.observing import (
    assert_only_grew,
    assert_sound,
    checksums,
    stored_rows,
    unlinked,
    versions,
)
from memory_pipeline_tests.properties.running import Tenant, folded_tenant, new_tenant


@examples(80)
@given(history=histories())
def test_every_episode_only_adds_rows_and_leaves_sound_ones(
    memory: Database, bystander: Tenant, history: History
) -> None:
    others = checksums(bystander)
    tenant = new_tenant(memory, history)
    tenant.import_episodes(history.episodes)
    before, astray = stored_rows(tenant), set[UUID]()
    for _ in tenant.walk():
        after = stored_rows(tenant)
        assert_only_grew(before, after)
        before = after
        rows = versions(tenant)
        assert_sound(tenant, rows)
        lost = {row["fact_id"] for row in unlinked(rows)}
        assert lost <= astray | _born_last(rows), "a fact outlives the user's last link"
        astray |= lost
    assert read_ledger(memory, tenant.tenant_id).problems == ()
    assert checksums(bystander) == others


def _born_last(rows: list[Row]) -> set[UUID]:
    """Facts of the latest episode: what such a fact may be about is another question."""
    latest = max((row["known_from"] for row in rows), default=None)
    return {r["fact_id"] for r in rows if r["version"] == 1 and r["known_from"] == latest}


def test_both_messages_of_a_claim_and_its_later_ending_are_accounted_for(memory: Database) -> None:
    said = Candidate("user", "likes", "acme")
    ended = Candidate("user", "likes", "acme", valid_until="2024-06-10")
    tenant = folded_tenant(memory, History((Episode(0, 0, (said, ended)),)))
    assert read_ledger(memory, tenant.tenant_id).problems == ()
