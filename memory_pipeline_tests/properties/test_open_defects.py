"""Where the product and the specification part: one smallest history each, until it is mended."""

from dataclasses import replace

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.changes import Verdict
from memory_pipeline.reading.facts import read_facts
from memory_pipeline_tests.properties.histories import (
    Answer,
    Candidate,
    Episode,
    History,
    noon,
)
from memory_pipeline_tests.properties.observing import unlinked, versions
from memory_pipeline_tests.properties.running import folded_tenant, new_tenant

_NEW = Answer(Verdict.NEW)
_CHANGED, _CORRECTED = Answer(Verdict.OLD), Answer(Verdict.OLD, is_correction=True)


def test_a_fact_told_behind_a_link_that_will_end_ends_with_it(memory: Database) -> None:
    link = Candidate("user", "works at", "acme", valid_until="2024-06-10")
    behind = Candidate("acme", "likes", "red")
    tenant = folded_tenant(memory, History((Episode(0, 0, (link,)), Episode(1, 0, (behind,)))))
    assert unlinked(versions(tenant)) == []


def test_a_fact_goes_with_the_refuted_claim_that_links_its_subject(memory: Database) -> None:
    held = Candidate("user", "likes", "red")
    link, behind = Candidate("user", "likes", "carla"), Candidate("carla", "likes", "acme")
    episodes = (Episode(0, 0, (held,)), Episode(1, 0, (link, behind)))
    tenant = folded_tenant(memory, History(episodes, (_NEW,)))
    assert unlinked(versions(tenant)) == []


def test_a_read_of_the_past_names_the_successor_that_was_believed_then(memory: Database) -> None:
    ends = Candidate("user", "likes", "acme", valid_until="2024-11-10")
    heir = Candidate("user", "likes", "carla", valid_from="2024-03-10")
    wrong = Candidate("user", "likes", "oslo", valid_from="2024-02-10")
    episodes = (Episode(0, 0, (ends,)), Episode(2, 0, (heir,)), Episode(5, 0, (wrong,)))
    history = History(episodes, (_CHANGED,))
    tenant = new_tenant(memory, history)
    tenant.import_episodes(episodes[:2])
    tenant.fold()
    before = read_facts(memory, tenant.tenant_id, valid_at=noon(4), known_at=noon(3))
    corrected = replace(tenant, history=replace(history, answers=(_CORRECTED,)))
    corrected.import_episodes(episodes[2:])
    corrected.fold()
    after = read_facts(memory, tenant.tenant_id, valid_at=noon(4), known_at=noon(3))
    assert [row.superseded_by for row in after] == [row.superseded_by for row in before]
