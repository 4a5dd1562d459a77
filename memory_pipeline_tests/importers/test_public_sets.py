"""The real conversations of LoCoMo and MemoryBank, which are not part of this project.

They are read where `MEMORY_TEST_DATA` says, or in `../shared/data` beside the checkout (folders
locomo/ and memorybank/), else left out.
"""

import os
from pathlib import Path

import pytest

from memory_pipeline.domain.conversation import Role
from memory_pipeline.importers.errors import UnknownUserError
from memory_pipeline_tests.importers.imported import import_file

_BESIDE = Path(__file__).parents[3] / "shared" / "data"
FOLDER = Path(os.environ.get("MEMORY_TEST_DATA", _BESIDE))
MEMORYBANK = FOLDER / "memorybank" / "memory_bank_en_3users.json"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"there is no folder {FOLDER}")


@pytest.mark.parametrize(
    ("name", "speakers", "turns", "captions"),
    [
        ("conv-26", ("Caroline", "Melanie"), 419, 116),
        ("conv-30", ("Jon", "Gina"), 369, 72),
    ],
)
def test_a_locomo_conversation_is_read_whole_for_either_speaker(
    name: str, speakers: tuple[str, str], turns: int, captions: int
) -> None:
    path = FOLDER / "locomo" / f"{name}.json"
    got = import_file(path, user=speakers[0])
    assert got == import_file(path, user=speakers[1])
    assert len(got.threads) == 19
    assert [got.roles.count(role) for role in (Role.USER, Role.ATTACHMENT)] == [turns, captions]
    assert {m.speaker for m in got.messages} == set(speakers)
    assert all(thread.started_at for thread in got.threads)
    assert len(set(got.ids)) == len(got.ids)
    with pytest.raises(UnknownUserError):
        import_file(path)


@pytest.mark.parametrize(("user", "messages"), [("Emily", 98), ("Frank", 104), ("Lucy", 66)])
def test_a_memorybank_user_is_read_whole(user: str, messages: int) -> None:
    got = import_file(MEMORYBANK, user=user)
    assert (len(got.threads), len(got.messages)) == (10, messages)
    assert got.skipped == {"other_user": 268 - messages}
    assert len(set(got.ids)) == len(got.ids)
