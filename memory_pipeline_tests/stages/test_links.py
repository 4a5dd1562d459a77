"""Who is linked to the user, and which claims stay within the limit.

Belongs here: edges of bare names. Does not: claims (test_guard).
"""

from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.stages.links import Edge, Ranked, choose_within, linked_names

NAMES = st.sampled_from(["user", "a", "b", "c", "d"])
EDGES = st.builds(Edge, NAMES, st.one_of(st.none(), NAMES))


def test_x3_a_chain_of_edges_links_in_whatever_order_it_comes() -> None:
    edges = [Edge("c", "d"), Edge("b", "c"), Edge("user", "b")]

    assert linked_names(edges) == {"user", "b", "c", "d"}


def test_x3_an_edge_that_ends_at_the_user_links_its_subject() -> None:
    assert linked_names([Edge("marta", "user")]) == {"user", "marta"}


def test_x3_a_shared_place_links_nobody() -> None:
    assert linked_names([Edge("user", "porto"), Edge("stranger", "porto")]) == {"user", "porto"}


def test_a_value_leads_nowhere() -> None:
    assert linked_names([Edge("user", None)]) == {"user"}


def test_a_claim_waits_for_the_one_that_links_its_subject() -> None:
    claims = [
        Ranked(1, Edge("marta", None), 0.9, False),
        Ranked(2, Edge("user", "marta"), 0.5, False),
        Ranked(3, Edge("user", None), 0.6, False),
    ]

    assert choose_within(1, claims) == {3}
    assert choose_within(3, claims) == {1, 2, 3}


def test_a_claim_that_ends_at_the_user_waits_for_nobody() -> None:
    assert choose_within(1, [Ranked(1, Edge("marta", "user"), 0.9, False)]) == {1}


def test_known_edges_cost_no_place() -> None:
    claims = [Ranked(1, Edge("marta", None), 0.9, False)]

    assert choose_within(1, claims, [Edge("user", "marta")]) == {1}


@given(
    st.lists(st.tuples(EDGES, st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), max_size=12),
    st.lists(EDGES, max_size=3),
    st.integers(0, 4),
)
def test_what_stays_is_linked_without_what_goes(
    raw: list[tuple[Edge, float, bool]], known: list[Edge], limit: int
) -> None:
    claims = [Ranked(order, *parts) for order, parts in enumerate(raw)]

    chosen = choose_within(limit, claims, known)

    stay = [claim for claim in claims if claim.order in chosen]
    linked = linked_names([*known, *(claim.edge for claim in stay)])
    assert all(claim.edge.source in linked for claim in stay)
    assert sum(not claim.is_exempt for claim in stay) <= limit
    everything = linked_names([*known, *(claim.edge for claim in claims)])
    if limit >= 1 and any(claim.edge.source == "user" for claim in claims):
        assert chosen
    if limit >= len(claims):
        assert chosen == {c.order for c in claims if c.edge.source in everything}
