"""Who and what is linked to the user: `my sister Clara`, `her husband`, `our cats Milo and Otis`.

What belongs here: possession, names given to it, pronouns that mean it. What does not: clauses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_pipeline.domain.extraction import KnownLists
from memory_pipeline.stages.heuristic_rules import relations
from memory_pipeline.stages.heuristic_rules.naming import given_names
from memory_pipeline.stages.heuristic_rules.noun_phrases import is_name
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

USER = "user"
_ME = frozenset({"i", "me", "myself", "we", "us", "ourselves"})
_MINE = frozenset({"my", "our"})
_SOMEBODY = frozenset({"he", "she", "they", "him", "her", "them"})
_SEVERAL = frozenset({"they", "them", "their"})
_THEIRS = frozenset({"his", "her", "their"})
_BETWEEN = frozenset({"ADJ", "NOUN", "PROPN", "NUM", "ADV"})
_BARE_KIN = frozenset(
    {
        "mom",
        "mum",
        "dad",
        "grandma",
        "grandpa",
        "mama",
        "papa",
        "granddad",
        "grandad",
        "nan",
        "nana",
    }
)
_BREEDS = words("cast", "breeds")


@dataclass(frozen=True)
class Link:
    """Somebody or something of an owner; `name` is the relation word until a name is told."""

    owner: str
    noun: str
    name: str
    is_named: bool
    at: int

    @property
    def predicate(self) -> str:
        return f"has {relations.singular(self.noun)}"


class Cast:
    """Links of one window, growing as its sentences are read; knows memory's links too."""

    def __init__(self, known: KnownLists) -> None:
        self._links: list[Link] = []
        self._here: list[Link] = []
        self.renamed: dict[str, str] = {}
        self._known = {
            (f.subject, f.predicate.removeprefix("has ")): f.object
            for f in known.facts
            if f.predicate.startswith("has ") and f.object_is_entity
        }
        self._aliases = {a.lower(): e.name for e in known.entities for a in e.aliases}
        self._user_names = {n.lower() for n in known.user_names}
        self._known_people = {f.subject for f in known.facts} | {
            f.object for f in known.facts if f.object_is_entity and f.predicate.startswith("has ")
        }

    def read(self, doc: Doc) -> list[Link]:
        """Links that a sentence states or presupposes; they are remembered."""
        found: list[Link] = self._bare_kin(doc)
        self._links.extend(found)
        self._here = found
        for token in doc:
            owner = self._owner_at(token, found)
            if owner is not None:
                new = self._links_after(doc, token, owner)
                found.extend(new)
                self._links.extend(new)
        return found

    def _bare_kin(self, doc: Doc) -> list[Link]:
        """`Mom runs a flower shop`: kin that need no `my`."""
        return [
            Link(USER, token.lower_, relations.singular(token.lower_), False, token.i)
            for token in doc
            if token.lower_ in _BARE_KIN
            and token.dep_ in {"nsubj", "nsubjpass"}
            and not any(c.dep_ in {"poss", "det"} for c in token.children)
        ]

    def _owner_at(self, token: Token, here: list[Link]) -> str | None:
        if token.lower_ in _MINE and token.tag_ == "PRP$":
            return USER
        if token.lower_ in _THEIRS and token.tag_ == "PRP$":
            link = self.person_for(token.lower_, token.i)
            return link.name if link else None
        if token.tag_ == "POS" and token.i > 0:
            before = token.doc[token.i - 1]
            for link in here:
                if link.at <= before.i <= link.at + 3 and link.name.endswith(before.lower_):
                    return link.name
            return self.linked_name(before.lower_)
        return None

    def linked_name(self, name: str) -> str | None:
        """The full name of somebody who was linked to the user under this name or alias."""
        name = self._aliases.get(name, name)
        for link in reversed(self._links):
            if link.is_named and name == link.name:
                return link.name
        return name if name in self._known_people else None

    def _links_after(self, doc: Doc, token: Token, owner: str) -> list[Link]:
        noun = _relation_after(doc, token.i + 1)
        if noun is None:
            return []
        word = _relation_word(noun)
        names = _names_after(doc, noun)
        if not names:
            known = self._known.get((owner, relations.singular(word)))
            label = known or _unnamed(owner, relations.singular(word))
            return [Link(owner, word, label, known is not None, noun.i)]
        for before in self._links:
            if before.owner == owner and before.noun == word and not before.is_named:
                self.renamed[before.name] = names[0]
        return [Link(owner, word, name, True, noun.i) for name in names]

    def link_at(self, token: Token) -> Link | None:
        """The link whose noun or name stands at a token of the sentence read last."""
        owned = any(c.lower_ in _MINE | _THEIRS or _has_case(c) for c in token.children)
        owned = owned or token.lower_ in _BARE_KIN
        for link in reversed(self._links):
            if relations.is_relation(token.lower_) and owned and link.noun == _relation_word(token):
                return link
            if link.is_named and is_name(token) and token.lower_ in link.name.split():
                return link
        return None

    def person_for(self, pronoun: str, before: int = 10_000) -> Link | None:
        """Whom a pronoun of the third person means: the last linked person that fits.

        `before` is the pronoun's place in the sentence: nobody is meant who comes later in it.
        """
        for link in reversed(self._links):
            later = any(link is here and link.at >= before for here in self._here)
            fits = relations.is_relation(link.noun) and relations.fits_pronoun(link.noun, pronoun)
            if fits and not later and (pronoun not in _SEVERAL or self._may_be_several(link)):
                return link
        return None

    def _may_be_several(self, link: Link) -> bool:
        """Whether `they` can mean a link: one who is named, or `my parents` in the same sentence.

        `They` after a relation without a name means whoever the talk is about.
        """
        return link.is_named or (
            relations.is_plural(link.noun) and any(link is here for here in self._here)
        )

    def subject_for(self, token: Token) -> str | None:
        """What memory calls the subject at a token; None when it is nobody linked to the user."""
        word = token.lower_
        if word in _ME or word in self._user_names:
            return USER
        if word in _SOMEBODY:
            link = self.person_for(word, token.i)
            return link.name if link else None
        link = self.link_at(token) or self._described(token)
        if link is not None:
            return link.name
        is_said = is_name(token) or word in self._aliases
        return self.linked_name(word) if is_said else None

    def _described(self, token: Token) -> Link | None:
        """`a brother named Felix who is a chef`: the noun stands for who was just named."""
        if not any(c.dep_ == "relcl" for c in token.children):
            return None
        for name in given_names(token):
            if known := self.link_called(name):
                return known
        last = self._links[-1] if self._links else None
        return last if last and last.noun == relations.singular(token.lower_) else None

    def remember(self, link: Link) -> None:
        """Takes in a link that a clause stated; it names the one that had no name so far."""
        for before in self._links:
            same = before.owner == link.owner and before.noun == link.noun
            if same and link.is_named and not before.is_named:
                self.renamed[before.name] = link.name
        self._links.append(link)

    def add_alias(self, alias: str, name: str) -> None:
        """Another name of somebody, good from here on."""
        self._aliases[alias] = name

    def last_named(self, before: str) -> Link | None:
        """The named link whose name stands last in the words before a saying."""
        named = [k for k in self._links if k.is_named and k.name in before]
        return max(named, key=lambda k: before.rfind(k.name), default=None)

    def link_called(self, name: str) -> Link | None:
        """The link of a subject name."""
        return next((k for k in reversed(self._links) if k.name == name), None)


def _has_case(token: Token) -> bool:
    return any(c.dep_ == "case" for c in token.children)


def _unnamed(owner: str, noun: str) -> str:
    return noun if owner == USER else f"{owner}'s {noun}"


def _relation_word(noun: Token) -> str:
    return "dog" if noun.lower_ in _BREEDS else noun.lower_


def _relation_after(doc: Doc, start: int) -> Token | None:
    for token in doc[start : start + 5]:
        is_last = token.i + 1 >= len(doc) or not (
            doc[token.i + 1].pos_ == "NOUN" and token.dep_ in {"compound", "amod", "nmod"}
        )
        if relations.is_relation(token.lower_) and is_last:
            return token
        if token.pos_ not in _BETWEEN and token.tag_ not in {"VBN", "VBG", "HYPH"}:
            return None
    return None


def _is_called(token: Token) -> bool:
    """A capitalised word after a relation noun is a name, whatever the tagger says."""
    return is_name(token) or (
        token.text[:1].isupper()
        and token.text[1:].islower()
        and token.pos_ not in {"PRON", "DET", "ADP"}
    )


def _name_from(doc: Doc, start: int) -> tuple[str, int]:
    end = start
    while end < len(doc) and _is_called(doc[end]) and doc[end].lower_ not in {"i"}:
        end += 1
    return " ".join(t.lower_ for t in doc[start:end]), end


def _name_before(doc: Doc, noun: Token) -> str:
    """`Tom, my brother, ...` at the start of a sentence."""
    comma = noun.i - 2
    if comma < 1 or doc[comma].text != "," or doc[comma + 1].lower_ not in _MINE:
        return ""
    closed = noun.i + 1 < len(doc) and doc[noun.i + 1].text == ","
    return (
        " ".join(t.lower_ for t in doc[:comma]) if closed and all(map(is_name, doc[:comma])) else ""
    )


def _names_after(doc: Doc, noun: Token) -> list[str]:
    """Names told right after a relation noun; several for a plural noun."""
    at = noun.i + 1
    with_comma = at < len(doc) and doc[at].text in {",", ":", "-", "("}
    at += 1 if with_comma else 0
    if at < len(doc) and doc[at].lower_ in {"named", "called"}:
        at, with_comma = at + 1, False
    first, end = _name_from(doc, at)
    if not first:
        before = _name_before(doc, noun)
        if before:
            return [before]
        if noun.dep_ == "appos" and is_name(noun.head):
            return [noun.head.lower_]
        appos = [c for c in noun.children if c.dep_ == "appos" and is_name(c)]
        return [_name_from(doc, appos[0].i)[0]] if appos else []
    plural = noun.tag_ == "NNS"
    if (
        with_comma
        and not plural
        and end < len(doc)
        and doc[end].text not in {",", ".", ")", "!", "-"}
    ):
        return []
    names = [first]
    while plural and end < len(doc) and doc[end].lower_ in {",", "and", "&"}:
        following, end = _name_from(
            doc,
            end + (2 if doc[end : end + 2].text.endswith("and") and doc[end].text == "," else 1),
        )
        if not following:
            break
        names.append(following)
    return names
