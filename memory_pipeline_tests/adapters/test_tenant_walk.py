"""The walk over one tenant: order, strides, stored extractions, failures, and equal rows."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable

import psycopg
import pytest

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.generation_store import VectorWidthError, check_vector_width
from memory_pipeline.adapters.memory_writer import OutOfOrderError
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_settings import UnknownTenantError
from memory_pipeline.adapters.tenant_walk import MissingExtractionError, TenantWalk, Workshop
from memory_pipeline.defs.io_managers import fold_episode
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import ExtractedGraph, KnownLists
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.stages.ports import ExtractionError
from memory_pipeline.stages.walk import Folder
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    TENANT,
    ScriptedExtractor,
    daily,
    fold_all,
    forget_memory,
    import_history,
    memory_content,
    scalar,
    scripted_workshop,
    thread,
)

JOBS = tuple(f"works at: firm{n}" for n in range(1, 8))


@pytest.fixture
def extractor() -> ScriptedExtractor:
    return ScriptedExtractor()


def workshop(database: Database, extractor: ScriptedExtractor, stride: int = 1) -> Workshop:
    return scripted_workshop(database, extractor, settings={"context_stride": stride})


def shown_firms(extractor: ScriptedExtractor) -> dict[int, list[str]]:
    return {
        ordinal: [f.object for f in known.facts if f.predicate == "works at"]
        for ordinal, known in extractor.seen
    }


def statuses(database: Database, last: int) -> list[str]:
    found = ConversationStore(database).statuses(TENANT, range(1, last + 1))
    return [found[ordinal] for ordinal in range(1, last + 1)]


def test_episodes_are_folded_in_order_of_time_not_of_arrival(
    database: Database, extractor: ScriptedExtractor
) -> None:
    for day in (3, 1, 2):
        import_history(database, [thread(f"t{day}", (f"likes: tea{day}", START + day * DAY))])
    assert fold_all(workshop(database, extractor)) == [2, 3, 1]


def test_with_a_stride_of_one_each_episode_sees_the_one_before(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS[:4]))
    fold_all(workshop(database, extractor))
    assert shown_firms(extractor) == {1: [], 2: ["firm1"], 3: ["firm2"], 4: ["firm3"]}


def test_with_a_stride_of_three_episodes_see_memory_before_their_stride(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS))
    fold_all(workshop(database, extractor, 3))
    assert shown_firms(extractor) == {
        1: [], 2: [], 3: [], 4: ["firm3"], 5: ["firm3"], 6: ["firm3"], 7: ["firm6"],
    }  # fmt: skip


def test_strides_stand_at_the_same_positions_wherever_a_run_begins(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS))
    for part in ([1, 2], [3, 4], [5], [6, 7]):
        assert fold_all(workshop(database, extractor, 3), ordinals=part) == part
    assert shown_firms(extractor)[5] == ["firm3"]
    assert shown_firms(extractor)[6] == ["firm3"]
    assert shown_firms(extractor)[7] == ["firm6"]


def test_the_names_known_of_an_episode_are_those_before_its_stride(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS[:5]))
    fold_all(workshop(database, extractor, 3), ordinals=[1, 2, 3, 4])
    fold_all(workshop(database, extractor, 3), ordinals=[5])
    names = {ordinal: [e.name for e in known.entities] for ordinal, known in extractor.seen}
    assert names[5] == names[4] == ["firm1", "firm2", "firm3"]


def test_a_stored_extraction_is_used_again(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS[:2]))
    first = next(TenantWalk(workshop(database, extractor), TENANT).walk())
    again = next(TenantWalk(workshop(database, extractor), TENANT).walk())
    assert extractor.ordinals() == [1]
    assert (first.is_stored, again.is_stored) == (False, True)
    assert first.guarded == again.guarded


def test_another_version_of_the_extractor_extracts_again(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS[:2]))
    next(TenantWalk(workshop(database, extractor), TENANT).walk())
    newer = ScriptedExtractor("scripted/2")
    assert fold_all(workshop(database, newer)) == [1, 2]
    assert newer.ordinals() == [1, 2]


def test_a_walk_that_may_not_extract_uses_what_is_stored_whatever_has_changed(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS[:2]))
    next(TenantWalk(workshop(database, extractor), TENANT).walk())
    newer = ScriptedExtractor("scripted/2")
    walk = TenantWalk(workshop(database, newer), TENANT).walk(may_extract=False)
    walked = next(walk)
    assert walked.is_stored
    assert fold_episode(database, walked) is not None
    with pytest.raises(MissingExtractionError, match=r"episode 2 .* start at extracted_graphs"):
        next(walk)
    assert newer.seen == []


def test_small_talk_needs_no_extractor(database: Database, extractor: ScriptedExtractor) -> None:
    import_history(database, daily("thanks!", "likes: tea"))
    fold_all(workshop(database, extractor))
    assert extractor.ordinals() == [2]
    assert statuses(database, 2) == ["skipped", "done"]


def test_a_failed_extraction_counts_an_attempt_and_defers_what_is_behind_it(
    database: Database, extractor: ScriptedExtractor, database_url: str
) -> None:
    import_history(database, daily("likes: tea", "boom", "likes: milk"))
    with pytest.raises(ExtractionError, match="no answer for episode 2"):
        fold_all(workshop(database, extractor))
    assert statuses(database, 3) == ["done", "failed", "pending"]
    attempts = "select extraction_attempts from memory.episodes where ordinal = 2"
    assert scalar(database_url, attempts) == 1
    extractor.is_broken = False
    assert fold_all(workshop(database, extractor)) == [2, 3]
    assert statuses(database, 3) == ["done", "done", "done"]


def test_at_the_cap_an_episode_is_given_up_and_the_next_goes_on(
    database: Database, extractor: ScriptedExtractor, database_url: str
) -> None:
    import_history(database, daily("likes: tea", "boom", "likes: milk"))
    for _ in range(2):
        with pytest.raises(ExtractionError):
            fold_all(workshop(database, extractor))
    assert fold_all(workshop(database, extractor)) == [2, 3]
    assert statuses(database, 3) == ["done", "given_up", "done"]
    assert scalar(database_url, "select status from memory.folds where fold_number = 2") == (
        "given_up"
    )
    error = "select extraction_error from memory.episodes where ordinal = 2"
    assert scalar(database_url, error) == "no answer for episode 2"


def test_an_episode_at_the_cap_is_not_asked_again(
    database: Database, extractor: ScriptedExtractor, database_url: str
) -> None:
    import_history(database, daily("boom", "likes: milk"))
    with psycopg.connect(database_url) as owner:
        owner.execute("update memory.episodes set extraction_attempts = 3 where ordinal = 1")
    assert fold_all(workshop(database, extractor)) == [1, 2]
    assert extractor.ordinals() == [2]


def leave_to_a_lost_worker(url: str, *, minutes_left: int) -> None:
    with psycopg.connect(url) as owner:
        owner.execute(
            "update memory.episodes set leased_by = 'gone',"
            " leased_until = now() + make_interval(mins => %s)"
            " where extraction_status = 'pending'",
            [minutes_left],
        )


def test_a_lost_lease_is_taken_over_and_counts_an_attempt_of_what_was_at_work(
    database: Database, extractor: ScriptedExtractor, database_url: str
) -> None:
    import_history(database, daily("likes: tea", "likes: milk"))
    leave_to_a_lost_worker(database_url, minutes_left=-1)
    assert fold_all(workshop(database, extractor)) == [1, 2]
    attempts = "select array_agg(extraction_attempts order by ordinal) from memory.episodes"
    assert scalar(database_url, attempts) == [1, 0]
    assert statuses(database, 2) == ["done", "done"]


def test_a_lease_that_is_not_over_is_inherited_with_the_time_it_has_left(
    database: Database, extractor: ScriptedExtractor, database_url: str
) -> None:
    import_history(database, daily("likes: tea"))
    leave_to_a_lost_worker(database_url, minutes_left=3)
    until = "select leased_until from memory.episodes"
    before = scalar(database_url, until)
    walk = TenantWalk(workshop(database, extractor), TENANT).walk()
    next(walk)
    assert scalar(database_url, until) == before
    assert scalar(database_url, "select extraction_attempts from memory.episodes") == 0


def test_an_episode_that_loses_its_worker_three_times_is_given_up(
    database: Database, extractor: ScriptedExtractor, database_url: str
) -> None:
    import_history(database, daily("likes: tea"))
    store = ConversationStore(database)
    parts = workshop(database, extractor)
    generation_id = TenantWalk(parts, TENANT).generation_id
    for attempt in (1, 2, 3):
        leave_to_a_lost_worker(database_url, minutes_left=-1)
        row = store.take_strides(TENANT, generation_id, parts.policy)[0].episodes[0]
        assert row["extraction_attempts"] == attempt
    assert fold_all(parts) == [1]
    assert statuses(database, 1) == ["given_up"]
    assert extractor.seen == []
    error = "select extraction_error from memory.episodes"
    assert scalar(database_url, error) == "its worker was lost"


def test_a_worker_lost_after_the_extraction_costs_the_episode_nothing(
    database: Database, extractor: ScriptedExtractor, database_url: str
) -> None:
    import_history(database, daily("likes: tea"))
    next(TenantWalk(workshop(database, extractor), TENANT).walk())
    leave_to_a_lost_worker(database_url, minutes_left=-1)
    assert fold_all(workshop(database, extractor)) == [1]
    assert scalar(database_url, "select extraction_attempts from memory.episodes") == 0


def test_a_failure_inside_a_stride_keeps_what_comes_before_it(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily("likes: tea", "boom", "likes: milk", "likes: beer"))
    with pytest.raises(ExtractionError):
        fold_all(workshop(database, extractor, 4))
    assert statuses(database, 4) == ["done", "failed", "pending", "pending"]
    extractor.is_broken = False
    assert fold_all(workshop(database, extractor, 4)) == [2, 3, 4]
    assert sorted(extractor.ordinals()) == [1, 2, 2, 3, 4]


def test_a_failure_of_an_episode_folded_meanwhile_changes_nothing(database: Database) -> None:
    import_history(database, daily("likes: tea"))
    fold_all(workshop(database, ScriptedExtractor()))
    store = ConversationStore(database)
    episode_id = store.episodes(TENANT)[0]["episode_id"]
    assert store.record_failure(TENANT, episode_id, "too late") == 0
    assert statuses(database, 1) == ["done"]


def test_j7_late_episodes_are_not_walked(database: Database, extractor: ScriptedExtractor) -> None:
    import_history(database, daily(*JOBS[:2]))
    fold_all(workshop(database, extractor))
    import_history(database, [thread("early", ("likes: tea", START + DAY / 2))])
    import_history(database, [thread("next", ("likes: milk", START + 9 * DAY))])
    assert fold_all(workshop(database, extractor)) == [4]
    assert statuses(database, 4) == ["done", "done", "late", "done"]


def test_ordinals_whose_turn_has_not_come_are_refused_before_any_work(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS[:3]))
    with pytest.raises(OutOfOrderError, match="episode 1 of tenant acme/user_1 is open"):
        fold_all(workshop(database, extractor), ordinals=[2, 3])
    assert extractor.seen == []


def test_ordinals_that_do_not_exist_or_are_done_are_nothing_to_do(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS[:2]))
    assert fold_all(workshop(database, extractor), ordinals=[1]) == [1]
    assert fold_all(workshop(database, extractor), ordinals=[1, 2, 3, 99]) == [2]
    assert fold_all(workshop(database, extractor), ordinals=[1, 2, 3, 99]) == []


def test_a_caller_that_does_not_fold_is_told_so(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS[:2]))
    walk = TenantWalk(workshop(database, extractor), TENANT).walk()
    next(walk)
    with pytest.raises(OutOfOrderError, match="episode 1 was not folded"):
        next(walk)


def test_a_changed_recipe_is_adopted_by_later_episodes(
    database: Database, extractor: ScriptedExtractor, database_url: str
) -> None:
    import_history(database, daily(*JOBS[:3]))
    fold_all(workshop(database, extractor), ordinals=[1])
    newer = workshop(database, ScriptedExtractor("scripted/2"))
    fold_all(newer)
    recipes = "select array_agg(recipe_id order by fold_number) from memory.folds"
    first = workshop(database, extractor).recipe.recipe_id()
    second = newer.recipe.recipe_id()
    assert first != second
    assert scalar(database_url, recipes) == [first, second, second]
    assert scalar(database_url, "select recipe_id from memory.generations") == second
    assert scalar(database_url, "select count(*) from memory.recipes") == 2


class _OtherEmbedder:
    profile_id = "other/384/1"
    dimensions = 384

    def embed(self, texts: Iterable[str]) -> list[list[float]]:
        return [[1.0, *([0.0] * 383)] for _ in texts]


class _WideEmbedder(_OtherEmbedder):
    profile_id = "wide/1024/1"
    dimensions = 1024


def test_a_generation_refuses_vectors_of_another_profile(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS[:2]))
    fold_all(workshop(database, extractor), ordinals=[1])
    other = scripted_workshop(database, extractor, embedder=_OtherEmbedder())
    with pytest.raises(VectorWidthError, match=r"hashed-ngrams/384/1.*other/384/1"):
        TenantWalk(other, TENANT)


def test_a_generation_that_holds_nothing_yet_takes_another_profile(
    database: Database, extractor: ScriptedExtractor
) -> None:
    import_history(database, daily(*JOBS[:2]))
    TenantWalk(workshop(database, extractor), TENANT)
    other = scripted_workshop(database, extractor, embedder=_OtherEmbedder())
    assert fold_all(other) == [1, 2]
    with pytest.raises(VectorWidthError, match=r"other/384/1.*hashed-ngrams/384/1"):
        TenantWalk(workshop(database, extractor), TENANT)


class _Stumbling(ScriptedExtractor):
    """Meets an error that nobody foresaw at the texts that begin with `stumble`."""

    error: Exception = RecursionError("too deep")

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        if any(message.text.startswith("stumble") for message in window.own_messages()):
            raise self.error
        return super().extract(window, known)


@pytest.mark.parametrize("error", [RecursionError("too deep"), KeyError("x"), psycopg.DataError()])
def test_an_error_that_nobody_foresaw_is_raised_and_counts_an_attempt_of_its_episode(
    database: Database, error: Exception
) -> None:
    import_history(database, daily("likes: tea", "stumble", "likes: milk"))
    extractor = _Stumbling()
    extractor.error = error
    for tried in (1, 2):
        with pytest.raises(type(error)):
            fold_all(workshop(database, extractor, 3))
        assert _attempts(database) == [0, tried, 0]
    assert fold_all(workshop(database, extractor, 3)) == [2, 3]
    assert statuses(database, 3) == ["done", "given_up", "done"]


@pytest.mark.parametrize("error", [psycopg.OperationalError("gone"), MemoryError(), OSError()])
def test_an_error_of_the_surroundings_counts_no_attempt(
    database: Database, error: Exception
) -> None:
    import_history(database, daily("stumble"))
    extractor = _Stumbling()
    extractor.error = error
    with pytest.raises(type(error)):
        fold_all(workshop(database, extractor))
    assert _attempts(database) == [0]


def test_an_error_in_a_plan_is_raised_and_counts_until_the_episode_is_given_up(
    database: Database, extractor: ScriptedExtractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_history(database, daily("likes: tea"))
    with monkeypatch.context() as broken:
        broken.setattr(Folder, "plan", _stumble)
        for tried in (1, 2, 3):
            with pytest.raises(ZeroDivisionError):
                fold_all(workshop(database, extractor))
            assert _attempts(database) == [tried]
    assert fold_all(workshop(database, extractor)) == [1]
    assert statuses(database, 1) == ["given_up"]


def _stumble(*_arguments: object) -> None:
    raise ZeroDivisionError


def _attempts(database: Database) -> list[int]:
    rows = ConversationStore(database).episodes(TENANT)
    return [row["extraction_attempts"] for row in rows]


def test_vectors_of_another_width_are_refused_before_any_work(database: Database) -> None:
    with pytest.raises(VectorWidthError, match=r"384 dimensions.*wide/1024/1 makes 1024"):
        check_vector_width(database, _WideEmbedder())


def test_a_tenant_without_history_is_unknown(database: Database) -> None:
    with pytest.raises(UnknownTenantError, match="no tenant 'nobody'"):
        scripted_workshop(database, ScriptedExtractor(), TenantId("nobody"))


HISTORY = (
    "works at: acme; likes: tea", "likes: tea", "thanks!", "works at: globex; likes: milk",
    "likes: coffee; likes: tea", "works at: acme", "drives: fiat", "drives: volvo; likes: milk",
)  # fmt: skip


_NOT_JUDGED = (
    "select count(*) from memory.judged_pairs p join memory.episodes e"
    " using (tenant_id, episode_id) where e.ordinal = 6 and p.verdict = 'not_judged'"
)


def _fold_in_process(url: str, stride: int) -> None:
    database = Database(url)
    fold_all(workshop(database, ScriptedExtractor(), stride))
    database.close()


@pytest.mark.parametrize("stride", [1, 3])
def test_rows_are_the_same_however_the_runs_were_cut(
    database: Database, database_url: str, stride: int
) -> None:
    import_history(database, daily(*HISTORY))
    fold_all(workshop(database, ScriptedExtractor(), stride))
    in_one_go = memory_content(database_url)
    assert len(in_one_go["folds"]) == len(HISTORY)
    forget_memory(database_url)
    for part in (range(1, 3), range(3, 4), range(4, 9)):
        fold_all(workshop(database, ScriptedExtractor(), stride), ordinals=part)
    assert memory_content(database_url) == in_one_go


@pytest.mark.parametrize("setting", ["enable_sort = off", "enable_nestloop = off"])
def test_rows_are_the_same_whatever_plans_the_server_makes(
    database: Database, database_url: str, setting: str
) -> None:
    likes = [f"{first}{last}" for first in "bcdfg" for last in ("ar", "el", "ins", "ont", "ump")]
    told = ["; ".join(f"likes: {thing}" for thing in likes[n::5]) for n in range(5)]
    import_history(database, daily(*told, "likes: zebra; likes: yak"))
    fold_all(workshop(database, ScriptedExtractor()))
    before = memory_content(database_url)
    assert scalar(database_url, _NOT_JUDGED) == 2 * (25 - 10)
    database.close()
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(f"alter database {owner.info.dbname} set {setting}".encode())
    forget_memory(database_url)
    fold_all(workshop(database, ScriptedExtractor()))
    assert memory_content(database_url) == before


@pytest.mark.parametrize("stride", [1, 3])
def test_rows_are_the_same_when_two_processes_race(
    database: Database, database_url: str, stride: int
) -> None:
    import_history(database, daily(*HISTORY))
    fold_all(workshop(database, ScriptedExtractor(), stride))
    alone = memory_content(database_url)
    forget_memory(database_url)
    database.close()  # A pool must not be carried over a fork.
    context = multiprocessing.get_context("fork")
    racers = [
        context.Process(target=_fold_in_process, args=[database_url, stride]) for _ in range(2)
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    assert [racer.exitcode for racer in racers] == [0, 0]
    assert memory_content(database_url) == alone


def test_a_walk_into_a_new_database_lets_the_server_look_at_what_has_grown(
    database: Database, database_url: str
) -> None:
    known = "select reltuples >= 60 from pg_class where oid = 'memory.facts'::regclass"
    import_history(database, daily(*(f"likes: thing {n}; owns: box {n}" for n in range(70))))
    assert scalar(database_url, known) is False
    fold_all(workshop(database, ScriptedExtractor()))
    assert scalar(database_url, known) is True


def test_x2_of_more_than_fits_the_nearest_to_the_window_are_shown(
    database: Database, extractor: ScriptedExtractor
) -> None:
    likes = [f"likes: {name}" for name in ("chess", "sailing boats", "jazz", "tea")]
    import_history(database, daily(*likes, "likes: sailing boat trips"))
    fold_all(scripted_workshop(database, extractor, settings={"known_facts": 2}))
    known = dict(extractor.seen)[5]
    assert sorted(fact.object for fact in known.facts) == ["sailing boats", "tea"]
