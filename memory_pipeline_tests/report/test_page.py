"""What a page holds, what it leaves out, and that its parts fit together."""

import re
from datetime import timedelta
from itertools import pairwise

import pytest

from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.reading.ledger import Ledger
from memory_pipeline.report.page import MAX_BYTES, render_page
from memory_pipeline.report.shown import MAX_FACTS
from memory_pipeline_tests.report.markup import Page
from memory_pipeline_tests.report.memories import (
    NOW,
    fact,
    fact_id,
    head,
    instruction,
    profile,
    report,
    uncertainty,
    whole_report,
)

NOTHING = Ledger(messages={}, reasons={}, candidates={}, episodes={}, adds_up=True, problems=())


@pytest.fixture(scope="module")
def page() -> Page:
    """A page with something in every section."""
    return Page(render_page(whole_report()))


def test_the_head_names_tenant_generation_recipe_and_the_newest_episode(page: Page) -> None:
    (header,) = page.all("header")
    text = " ".join(header.text.split())
    assert "acme/ann 4 facts hold now, 2 are planned, 6 are history." in text
    assert "The newest episode ended on 20 Oct 2024" in text
    assert "Generation 1, recipe 0123456789abcdef" in text
    assert "Seen as of 30 Nov 2024" in text


def test_every_fact_is_a_row_with_its_status_in_words(page: Page) -> None:
    rows = {
        " ".join(row.children[0].children[0].children[0].text.split()): [
            " ".join(cell.text.split()) for cell in row.children[2:]
        ]
        for row in page.all("tr", "fact")
    }
    dash = "\N{EN DASH}"
    assert rows["lives in berlin"] == [f"1 Feb 2024 {dash} 1 Jun 2024", "superseded"]
    assert rows["lives in porto"] == ["since 1 Jun 2024", "live"]
    assert rows["visits japan"] == ["from 1 Mar 2025", "future"]
    assert {cells[1] for cells in rows.values()} == {status.value for status in FactStatus}


def test_a_superseded_fact_links_to_its_successor_and_tells_what_was_believed(page: Page) -> None:
    (row,) = [row for row in page.all("tr", "superseded")]
    text = " ".join(row.text.split())
    assert "Superseded by user lives in porto" in text
    assert "1 Feb 2024 \N{EN DASH} 1 Jun 2024: valid since 1 Feb 2024" in text
    (successor,) = [row for row in page.all("tr", "live") if "porto" in row.text]
    link = next(e for e in page.all("a") if e.text == "user lives in porto" and _within(e, row))
    assert link.attributes["href"] == f"#{successor.attributes['id']}"


def _within(element: object, ancestor: object) -> bool:
    while element is not None and element is not ancestor:
        element = getattr(element, "parent", None)
    return element is not None


def test_profiles_name_the_facts_they_stand_on(page: Page) -> None:
    text = page.section("profiles")
    assert "The user lives in Porto. They will visit Japan in March." in text
    assert "Stands on 3 facts user lives in porto user visits japan" in text
    assert "1 fact of these is not on this page" in text


def test_insights_instructions_open_points_and_recipe_have_their_sections(page: Page) -> None:
    assert "The user moves when work changes." in page.section("insights")
    assert "Units active Use metric units" in page.section("instructions")
    assert "Tone revoked Be brief" in page.section("instructions")
    assert "where the user works Why it is open: hedged · episode 3" in page.section("open")
    assert "an old doubt" not in page.section("open")
    assert "1 other point has been settled" in page.section("open")
    assert "Extractor scripted/1" in page.section("recipe")


def test_the_ledger_shows_its_sums(page: Page) -> None:
    text = page.section("ledger")
    assert "It adds up." in text
    assert "evidence of facts 4 nothing durable 3 question 2 small talk 1 Total 7" in text


def test_a_ledger_that_does_not_add_up_says_where() -> None:
    broken = NOTHING.model_copy(update={"adds_up": False, "problems": ("episode 3: lost",)})
    text = Page(render_page(report(ledger=broken))).section("ledger")
    assert "does not add up: episode 3: lost" in text
    assert "It adds up" not in text


def test_an_empty_memory_says_what_to_do_next() -> None:
    untouched = head(
        generation=None, recipe_id=None, folded=0, episodes=0, newest_at=None, first_at=None
    )
    page = Page(render_page(report(head=untouched, recipe=None, ledger=NOTHING)))
    assert "memory-pipeline import" in page.section("facts")
    assert page.all("form") == []
    assert all(page.section(name) for name in ("profiles", "insights", "instructions", "open"))


def test_episodes_that_wait_and_episodes_that_gave_nothing_are_told_apart() -> None:
    waiting = Page(render_page(report(head=head(folded=0, generation=None, recipe_id=None))))
    assert "7 episodes wait to be processed: memory-pipeline run" in waiting.section("facts")
    silent = Page(render_page(report()))
    assert "7 episodes were read, and nothing durable was found" in silent.section("facts")


def test_a_memory_that_moved_while_it_was_read_carries_a_warning() -> None:
    assert "Memory was changing" in render_page(report(is_settled=False))
    assert "Memory was changing" not in render_page(report())


def test_equal_memories_give_equal_bytes_apart_from_the_stated_date() -> None:
    stated = re.compile(r'<time id="seen".*?</time>')
    pages = [render_page(report([fact(1, "likes", "tea")])) for _ in range(2)]
    later = render_page(report([fact(1, "likes", "tea")], valid_at=NOW + timedelta(hours=30)))
    assert pages[0] == pages[1] != later
    assert stated.sub("", pages[0]) == stated.sub("", later)


def test_a_large_memory_is_cut_with_a_plain_statement() -> None:
    rows = [
        fact(n, "relates to", f"thing {n}", status=FactStatus.ENDED if n % 2 else FactStatus.LIVE)
        for n in range(10_000)
    ]
    text = render_page(report(rows))
    page = Page(text)
    assert len(page.all("tr", "fact")) == MAX_FACTS
    assert "room for 1,200 of 10,000 facts" in page.section("facts")
    assert "Left out: 5,000 ended, 3,800 live." in page.section("facts")
    assert len(text.encode()) < 2_000_000


def test_no_memory_makes_a_page_larger_than_it_states() -> None:
    worst = '"' * 1600
    count = MAX_FACTS + 1
    rows = [
        fact(n, worst + str(n), worst, subject=f"{n}{worst}", source_quote=worst,
             memory_category=worst, superseded_by=fact_id(n - 1), status=FactStatus.SUPERSEDED,
             known_from=NOW + timedelta(days=version))
        for n in range(count) for version in range(6)
    ]  # fmt: skip
    orders = [instruction(worst, worst, is_active=n % 2 == 0, quote=worst) for n in range(199)]
    text = render_page(
        report(
            rows,
            profiles=tuple(profile(worst, worst, *range(30)) for _ in range(99)),
            instructions=tuple(orders),
            uncertainties=tuple(uncertainty(worst, worst) for _ in range(199)),
        )
    )
    assert len(text.encode()) < MAX_BYTES
    assert f"never grows beyond {MAX_BYTES // 10**6} MB" in text


def test_headings_go_down_one_step_at_a_time_and_every_table_has_a_caption(page: Page) -> None:
    levels = [int(e.tag[1]) for e in page.elements if re.fullmatch("h[1-6]", e.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(next_one - one <= 1 for one, next_one in pairwise(levels))
    assert all(table.children[0].tag == "caption" for table in page.all("table"))
    assert all(cell.attributes.get("scope") for cell in page.all("th"))


def test_every_bar_has_a_title_and_every_field_a_label(page: Page) -> None:
    assert all(bar.children[0].tag == "title" for bar in page.all("svg", "bar"))
    assert all(field.parent and field.parent.tag == "label" for field in page.all("input"))


def test_controls_that_need_scripts_stay_hidden_without_them(page: Page) -> None:
    (form,) = page.all("form")
    assert "hidden" in form.attributes
    assert all(_within(control, form) for control in [*page.all("input"), *page.all("button")])
    assert [e for e in page.elements if "hidden" in e.attributes] == [form]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_paper(scheme: str) -> None:
    css = Page(render_page(report())).all("style")[0].text
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[0]))
    if scheme == "dark":
        colours |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[1]))
    texts = ["ink", "soft", "link", "good", *(f"{status.value}-text" for status in FactStatus)]
    for paper in ("paper", "sheet"):
        for text in texts:
            assert contrast(colours[text], colours[paper]) >= 4.5, (scheme, text, paper)
    assert contrast(colours["warn-ink"], colours["warn-paper"]) >= 4.5
    for bar in (status.value for status in FactStatus):
        assert contrast(colours[bar], colours["paper"]) >= 3, (scheme, bar)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` (WCAG 2)."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
