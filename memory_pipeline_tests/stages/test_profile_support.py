"""Which sentences their facts support, and which go too far (spec P2).

Belongs here: names, numbers, dates, polarity, shared words. Does not: answers as a whole
(test_profile).
"""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from memory_pipeline.domain.ids import FactId
from memory_pipeline.domain.profile import GroundFact
from memory_pipeline.stages.profile_support import Evidence, why_unsupported

AT = datetime(2025, 1, 1, tzinfo=UTC)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def fact(
    said: str, since: str | None = None, until: str | None = None, quote: str = ""
) -> GroundFact:
    subject, predicate, thing = said.split(" | ")
    return GroundFact(
        fact_id=FactId(UUID(int=1)),
        subject=subject,
        predicate=predicate,
        object=thing,
        valid_from=day(since) if since else None,
        valid_until=day(until) if until else None,
        known_from=AT,
        has_stated_start=since is not None,
        quote=quote,
    )


HOME = fact("user | lives in | turin", "2021-03-01", quote="I moved to Turin in March 2021")
JOB = fact("user | works at | quillon press", "2021-03-01")
VESPA = fact("vespa primavera | has mileage of | 12,400 km", "2024-05-02")
MILK = fact("user | dislikes | oat milk", quote="cant stand oat milk any more")
DIET = fact("user | does not eat | meat")
DOGS = fact("user | has | two dogs")
KIDS = fact("user | has number of children | 25")
TRIP = fact("user | plans to visit | madeira", "2025-04-01")
LEASE = fact("user | rents | a boat", until="2025-08-31")
BORN = fact("vera | was born on | 14 march 1990")
SHOP = fact("vera | owns | o'brien's café")


@pytest.mark.parametrize(
    ("sentence", "facts"),
    [
        ("The user has lived in Turin since March 2021.", [HOME]),
        ("Marta Oliveri has lived in Turin since 1 March 2021.", [HOME]),
        ("Since 2021 the user has lived in Turin and worked at Quillon Press.", [HOME, JOB]),
        ("Marta's employer is Quillon Press.", [JOB]),
        ("The Vespa Primavera had run 12,400 km by May 2024.", [VESPA]),
        ("By May 2, 2024 it had run 12400 km.", [VESPA]),
        ("On 2nd May 2024 it stood at 12,400 km.", [VESPA]),
        ("On Thursday 2 May 2024 it stood at 12,400 km.", [VESPA]),
        ("On 2024-05-02 it stood at 12,400 km.", [VESPA]),
        ("She dislikes oat milk.", [MILK]),
        ("She can't stand oat milk.", [MILK]),
        ("The user doesn't eat meat.", [DIET]),
        ("There are 2 dogs.", [DOGS]),
        ("The user has twenty-five children.", [KIDS]),
        ("A trip to Madeira is planned for April 2025.", [TRIP]),
        ("Trips to Madeira are planned.", [TRIP]),
        ("The user no longer rents the boat after 31 August 2025.", [LEASE]),
        ("Vera was born on March 14, 1990.", [BORN]),
        ("Her birthday is on the 14th of March; Vera was born in 1990.", [BORN]),
        ("Vera owns O'Brien's Cafe.", [SHOP]),
        ("One of her things is O\u2019Brien\u2019s Café.", [SHOP]),
    ],
)
def test_a_sentence_that_repeats_its_facts_is_supported(
    sentence: str, facts: list[GroundFact]
) -> None:
    assert why_unsupported(sentence, Evidence(facts, AT, ["marta oliveri"])) is None


@pytest.mark.parametrize(
    ("sentence", "facts", "reason"),
    [
        ("The user lives in Turin near Milan.", [HOME], "the name Milan"),
        ("Bruno lives in Turin.", [HOME], "the name Bruno"),
        ("The user lives in Turin. Bruno works there.", [HOME], "the name Bruno"),
        ("Anna Turin lives there.", [HOME], "the name Anna"),
        ("The user lives in Turin, ITALY.", [HOME], "the name ITALY"),
        ("The user has lived in Turin since 2020.", [HOME], "the number 2020"),
        ("The user has lived in Turin since April 2021.", [HOME], "the date April 2021"),
        ("The user has lived in Turin since 2 March 2021.", [HOME], "the date 2 March 2021"),
        ("The user moved to Turin in May.", [HOME], "the date May"),
        ("The user moved to Turin on a Tuesday.", [HOME], "the name Tuesday"),
        ("The user has lived in Turin for 4 years.", [HOME], "the number 4"),
        ("The user has lived in Turin for four years.", [HOME], "the number 4"),
        ("It has run 124,000 km.", [VESPA], "the number 124000"),
        ("It has run 12.4 thousand km.", [VESPA], "the number"),
        ("There are three dogs.", [DOGS], "the number 3"),
        ("The user likes oat milk.", [MILK], "it says what its facts deny"),
        ("The user eats meat.", [DIET], "it says what its facts deny"),
        ("The user does not live in Turin.", [HOME], "it denies what its facts say"),
        ("They are passionate about running.", [HOME], "it shares no word"),
        ("The user is so.", [HOME], "it shares no word"),
        ("Vera was born on 15 March 1990.", [BORN], "the date 15 March 1990"),
    ],
)
def test_a_sentence_that_says_more_than_its_facts_is_not(
    sentence: str, facts: list[GroundFact], reason: str
) -> None:
    found = why_unsupported(sentence, Evidence(facts, AT, ["marta oliveri"]))
    assert found is not None
    assert found.startswith(reason)


def test_a_start_that_nobody_stated_supports_no_date() -> None:
    unstated = fact("user | likes | tea")
    unstated = GroundFact(
        **{
            **{name: getattr(unstated, name) for name in unstated.__slots__},
            "valid_from": day("2024-02-01"),
        }
    )
    evidence = Evidence([unstated], AT, [])
    assert why_unsupported("The user has liked tea since February 2024.", evidence) is not None
    assert why_unsupported("The user likes tea.", evidence) is None


def test_only_the_cited_facts_count() -> None:
    sentence = "The user lives in Turin and works at Quillon Press."
    assert why_unsupported(sentence, Evidence([HOME, JOB], AT, [])) is None
    assert why_unsupported(sentence, Evidence([HOME], AT, [])) is not None


@pytest.mark.parametrize("sentence", ["", "...", "1", "\u5f20\u4f1f\u4f4f\u5728\u90fd\u7075"])
def test_any_text_gets_a_verdict(sentence: str) -> None:
    assert why_unsupported(sentence, Evidence([HOME], AT, [])) is not None
