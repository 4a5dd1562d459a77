"""Stored text stays text: nothing that anybody said can become a part of the page's markup."""

import base64
import hashlib

import pytest

from memory_pipeline.report.page import render_page
from memory_pipeline_tests.report.markup import MalformedError, Page
from memory_pipeline_tests.report.memories import HOSTILE, hostile_report, report, whole_report

_HARMLESS = {
    *("html", "head", "meta", "title", "style", "script", "body", "header", "main", "footer"),
    *("nav", "section", "article", "h1", "h2", "h3", "h4", "p", "a", "b", "small", "code", "bdi"),
    *("span", "div", "ul", "ol", "li", "dl", "dt", "dd", "time", "details", "summary", "form"),
    *("label", "input", "button", "output", "table", "caption", "thead", "tbody", "tfoot", "tr"),
    *("th", "td", "svg", "defs", "g", "use", "line", "text", "rect", "path", "pattern", "circle"),
}


@pytest.fixture(scope="module")
def text() -> str:
    """A page whose every text tries to break out."""
    return render_page(hostile_report())


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    """The same, taken apart as a browser would."""
    return Page(text)


def test_hostile_text_leaves_the_page_well_formed(page: Page) -> None:
    assert {element.tag for element in page.elements} <= _HARMLESS
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert len(page.all("body")) == len(page.all("main")) == 1


def test_hostile_text_is_shown_as_it_was_said(page: Page) -> None:
    body = page.all("body")[0].text
    for said in HOSTILE[:6]:
        assert said in body


def test_no_element_listens_or_carries_a_style_of_its_own(page: Page) -> None:
    names = {name for element in page.elements for name in element.attributes}
    assert {name for name in names if name.startswith("on")} == set()
    assert names & {"style", "src", "srcdoc", "action", "formaction", "xlink:href"} == set()


@pytest.mark.parametrize("make", [whole_report, hostile_report, report])
def test_links_lead_only_to_places_in_the_page(make: object) -> None:
    page = Page(render_page(make()))  # type: ignore[operator]
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    targets = [e.attributes["href"] for e in page.elements if "href" in e.attributes]
    assert {target[0] for target in targets} == {"#"}
    assert {target[1:] for target in targets} <= set(ids)
    labels = " ".join(e.attributes.get("aria-labelledby", "") for e in page.elements).split()
    assert set(labels) <= set(ids)


def test_nothing_outside_is_named_in_style_or_script(page: Page) -> None:
    for element in (page.all("style")[0], page.all("script")[0]):
        assert "//" not in element.text.replace("// Improves", "")
        assert "@import" not in element.text
        assert "url(" not in element.text.replace("url(#", "")
        assert "innerHTML" not in element.text


def test_the_policy_lets_only_the_pages_own_style_and_script_through(page: Page) -> None:
    (policy,) = [
        e.attributes["content"]
        for e in page.all("meta")
        if e.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for tag in ("style", "script"):
        digest = hashlib.sha256(page.all(tag)[0].text.encode()).digest()
        assert rules[f"{tag}-src"] == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"


def test_the_policy_stands_before_anything_that_it_must_hold_back(text: str) -> None:
    assert text.index("Content-Security-Policy") < min(
        text.index("<title"), text.index("<style"), text.index("<script")
    )


def test_characters_that_turn_the_line_or_control_a_terminal_are_gone(text: str) -> None:
    assert not set("\x00\x1b\x85\u202e\u2066") & set(text)


@pytest.mark.parametrize("broken", ["<p><b></p></b>", "<p>", "</p>", "<p><!-- x --></p>"])
def test_the_reader_of_these_tests_finds_broken_markup(broken: str) -> None:
    with pytest.raises(MalformedError):
        Page(broken)
