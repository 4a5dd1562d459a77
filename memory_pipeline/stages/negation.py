"""Words that negate, and whether the clause around a quote denies what the quote alone says.

Belongs here: closed lists of the languages most met, and the scope of a negation. Does not:
finding quotes (stages/evidence), what becomes of a denied fact (stages/guard).
"""

import re
from collections.abc import Sequence

from memory_pipeline.domain.claim import Evidence
from memory_pipeline.stages.folding import fold

# A word too many only makes the near search stricter.
_NEGATION_LIST = """
    no not never none nobody nothing nor neither without cannot hardly barely
    nicht kein keine keinen nie niemals ohne non ne pas jamais sans nunca sin nao sem mai
    niet geen nooit zonder ikke ingen aldrig inte nei nej bez не нет никогда без
"""
_MORE_NEGATIONS = """
    nowhere keinem keiner keines nirgends niemand rien aucun aucune nadie nada ningun ninguna
    nessuno niente niemand niets nulla nie никто ничего لا لم ليس hicbir degil
"""
NEGATION_WORDS = frozenset(_NEGATION_LIST.split())
# `ne Katze` is a cat in German and `seit Mai` a month; both languages negate with a second word.
_SCOPED_WORDS = (NEGATION_WORDS | frozenset(_MORE_NEGATIONS.split())) - {"ne", "mai"}
_NEGATED_VERB = re.compile(
    r"(?:do|does|did|is|are|was|were|has|have|had|ca|wo|could|should|would|must|need|ai)n'?t"
)
_LACKING_LIST = """
    without ohne sans sin sem zonder bez без no
"""
_LACKING = frozenset(_LACKING_LIST.split())
"""These deny the noun behind them, not the clause."""
_LACKING_REACH = 2
_PREPOSITIONS_LIST = """
    in at on for with to from near by bei mit aus nach zu auf a en con chez dans da di i op te
"""
_PREPOSITIONS = frozenset(_PREPOSITIONS_LIST.split())
_SPANISH_VERB = re.compile(r"(?:me|se|te|nos|le|lo|la|es|soy|\w+o|\w+mos)")

_PREDICATE = re.compile(
    r"\b(?:not|never|no|cannot|without|nothing|nobody|none|dislikes?|hates?|avoids?|detests|"
    r"allergic|intolerant|afraid|fears|quit|stopped|gave up|lacks?|refuses|declined|abstains|"
    r"free|former|formerly|wants to (?:leave|quit|sell|stop)|non\w*)\b"
)
_VALUE = re.compile(
    r"\b(?:no|not|non|never|none|without|free|alone|single|unemployed|teetotal\w*|vegan|"
    r"vegetarian|sober|allerg\w*|intoleran\w*)\b"
)

_SENTENCE_END = re.compile(r"[.!?;:\n\u2014\u2013(\u2026\u3002\uff01\uff1f\uff0c]|\s-+\s|,")
# The clause goes on behind a comma that opens what is said, or one more item of a list.
_GOES_ON = re.compile(
    r"\s*(?:that|dass|daß|que|qu'|che|dat|att|at|że|ze|hogy|что|or|nor|oder|ou|ni|ever)\b",
    re.IGNORECASE,
)
_MORE_ITEMS = re.compile(r"(?:,? ?[\w'-]+(?: [\w'-]+)?){0,3}?,? (?:or|nor|oder|ni)\b")
_LAST_ITEM = re.compile(r"\b(?:or|nor|oder|ni)\s+$", re.IGNORECASE)
_ITEM_WORDS = 3
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CONJUNCTIONS_LIST = """
    and but because since as while when where who which whose if though although so than yet
    whereas unless why how what und aber weil wenn als wo et mais parce quand car y pero porque
    cuando e ma perche quando en maar omdat toen og men fordi och fast и но потому когда
"""
_CONJUNCTIONS = frozenset(_CONJUNCTIONS_LIST.split())
_UNSURE = frozenset({"if", "whether", "ob", "ли"})
_THAT_LIST = """
    that dass daß que che dat att at ze hogy что
"""
_THAT = frozenset(_THAT_LIST.split())
_SUBJECTS_LIST = """
    i i'm i've i'd i'll im ive we we're we've he she they you he's she's you're they're ich wir
    er sie je j'ai nous yo io jeg jag ik wij eu я мы она он
"""
_SUBJECTS = frozenset(_SUBJECTS_LIST.split())
_POSSESSIVES_LIST = """
    my our his her their mein meine meinen meinem meiner unser unsere mon ma mes notre nos mi
    mis nuestro nuestra mio mia miei mie min mitt mina mijn ons onze meu minha moj moja мой моя
    мои мою
"""
_POSSESSIVES = frozenset(_POSSESSIVES_LIST.split())
_OWN_LIST = """
    own eigen eigenes eigene eigenen propre propio propia
"""
_OWN = frozenset(_OWN_LIST.split())
# What is not said, thought or true is denied; what is not known or regretted is so all the same.
_CLAIMS = re.compile(
    r"(?:say|said|says|saying|claim|claimed|think|thinks|thought|believe|believed|suppose|mean|"
    r"meant|state|stated|wrote|write|imply|implied|pretend|suggest\w*|true|case|sure|certain|"
    r"correct|right|fact|way|like|remember|gesagt|sage|behauptet?|glaub\w*|denk\w*|meine?|stimmt|"
    r"wahr|sicher|dit|dis|pense|crois|vrai|sur|dicho|dije|digo|creo|pienso|verdad|cierto|detto|"
    r"credo|penso|vero|gezegd|geloof|waar|zeker|disse|acho|sagt|tror|tycker|"
    r"говорил\w*|сказал\w*|думаю|правда)"
)
_HARMLESS_NEXT_LIST = """
    only just merely simply solely doubt wonder wait forget forgot forgotten matter problem
    worries worry help mind regret deny stop stopped miss missed skip fail failed secret
    surprise idea bad far long later sooner better beats hesitate less kidding joking lying
    mention nur bloß bloss alleen seulement solo solamente soltanto apenas bara bare только
"""
_HARMLESS_NEXT = frozenset(_HARMLESS_NEXT_LIST.split())
_HARMLESS_BETWEEN_LIST = """
    forget forgets forgetting forgot fail fails miss misses skip skips stop stops regret regrets
    deny doubt mind resist happier better prouder told tell tells telling know knows knew known
    realise realize realised realized mention mentioned care bothered
"""
_HARMLESS_BETWEEN = frozenset(_HARMLESS_BETWEEN_LIST.split())
_COPULAS_LIST = """
    is are was were am it's that's he's she's i'm isn't wasn't aren't
"""
_COPULAS = frozenset(_COPULAS_LIST.split())
_ASKED = re.compile(r"(?:do|does|did|is|are|was|were|has|have|had|ca|wo|could|would|should)n'?t")
_UNTIL = re.compile(r"\b(?:until|till|before|bis|hasta|jusqu\w*|tot)\b")
_NOT_LONG = re.compile(r"\b(?:(?:for|that|very|too) long|long|for (?:much )?more than \w+ \w+)$")
_BEHIND = re.compile(
    r"(?P<more>(?:[^\W_]+ ){0,3}?)(?P<not>[^\W_]+)(?: (?:more|longer|mehr|meer|lenger|langre|plus|"
    r"any ?more))?"
)
_ALTERNATIVE = re.compile(r"\b(?:or|oder|ou|o|of|eller|или|why|warum)\b")
_CHINESE_NOT = frozenset("不没沒别別未非無")
_NOT_BEHIND = re.compile(r"\s?\w{0,4}?(?:ません|ない|なかった)|\s?\w{0,3}지 ?(?:않|못)")
_CHARS_BEFORE = 300
_CHARS_AFTER = 120


def is_negation(word: str) -> bool:
    """Whether a folded word negates, in one of the languages most met."""
    return word in NEGATION_WORDS or _NEGATED_VERB.fullmatch(word) is not None


def is_denied(text: str, evidence: Evidence, predicate: str, value: str) -> bool:
    """Whether the clause around the quote takes back what `predicate` and `value` say.

    Of "I never said that I live in Rome" the quote "I live in Rome" is denied. A predicate or a
    value that carries the negation itself is not, unless the quote holds it as well: then the one
    around the quote is a second one.
    """
    quote = fold(evidence.quote).text
    words = _TOKEN.findall(quote)
    if (_PREDICATE.search(predicate) or _VALUE.search(value.lower())) and not any(
        map(_negates, words)
    ):
        return False
    after = text[evidence.span_end : evidence.span_end + _CHARS_AFTER]
    before = text[max(evidence.span_start - _CHARS_BEFORE, 0) : evidence.span_start]
    return _is_denied_behind(after) or _is_denied_before(before, words, quote, after)


def _negates(word: str) -> bool:
    return word in _SCOPED_WORDS or _NEGATED_VERB.fullmatch(word) is not None


def _is_denied_behind(after: str) -> bool:
    """`Ich mag Tee nicht`, `I live in Rome no more`: a negation that ends the clause."""
    if _NOT_BEHIND.match(after):
        return True
    end = _SENTENCE_END.search(after)
    if end is not None and end.group() in "?\uff1f":
        return False
    rest = fold(after[: end.start()] if end else after).text
    found = _BEHIND.fullmatch(rest)
    return found is not None and _negates(found["not"]) and not _ALTERNATIVE.search(rest)


def _is_denied_before(before: str, quote: Sequence[str], quoted: str, after: str) -> bool:
    if before.rstrip()[-1:] in _CHINESE_NOT and before:
        return True
    is_item = len(quote) <= _ITEM_WORDS and (
        _MORE_ITEMS.match(fold(after).text) or _LAST_ITEM.search(before)
    )
    clause = _TOKEN.findall(fold(before[_clause_start(before, is_item=bool(is_item)) :]).text)
    rest = fold(after).text
    if _UNTIL.search(quoted) or _UNTIL.match(rest) or _NOT_LONG.search(quoted):
        return False
    return any(
        _governs(clause, at, quote)
        for at, word in enumerate(clause)
        if _negates(word) and not _is_harmless(clause, at, quote)
    )


def _clause_start(before: str, *, is_item: bool) -> int:
    start = 0
    for end in _SENTENCE_END.finditer(before):
        rest = before[end.end() :]
        if end.group() == "," and (is_item or _GOES_ON.match(f"{rest} ")):
            continue
        start = end.end()
    return start


def _is_harmless(clause: Sequence[str], at: int, quote: Sequence[str]) -> bool:
    """`not only`, `no doubt`, `can't wait`, and `didn't I say`, which asserts."""
    following = [*clause[at + 1 :], *quote]
    if not following:
        return False
    if following[0] in _HARMLESS_NEXT:
        return True
    if following[0] == "believe" and clause[at].startswith("can"):
        return True
    return (
        _ASKED.fullmatch(clause[at]) is not None
        and following[0] in _SUBJECTS
        and (at == 0 or clause[at - 1] in _CONJUNCTIONS)
    )


def _governs(clause: Sequence[str], at: int, quote: Sequence[str]) -> bool:
    """Whether the negation at `at` reaches the quote behind the clause."""
    between = clause[at + 1 :]
    if clause[at] in ("nor", "neither") and not between:
        return True
    if _lacks_another_thing(clause[at], between, quote):
        return False
    if between and between[-1] in _UNSURE:
        return True
    if any(word in _HARMLESS_BETWEEN for word in between):
        return False
    conjunctions = [i for i, word in enumerate(between) if word in _CONJUNCTIONS]
    if conjunctions and not set(between[conjunctions[0] :]) & _UNSURE:
        return False
    has_subject = bool(set(between) & (_SUBJECTS | _THAT))
    if has_subject or (quote and quote[0] in _SUBJECTS):
        return any(_CLAIMS.fullmatch(word) for word in between)
    if quote and quote[0] in _POSSESSIVES and not set(quote[1:2]) & _OWN:
        copula = clause[at] in _COPULAS or (at > 0 and clause[at - 1] in _COPULAS)
        return copula and not between
    return True


def _lacks_another_thing(word: str, between: Sequence[str], quote: Sequence[str]) -> bool:
    """`I live without a dog in Rome` denies the dog, not Rome."""
    if word not in _LACKING or _is_spanish(word, between, quote) or set(between) & {"way", "one"}:
        return False
    is_place = bool(between) and bool(quote) and quote[0] in _PREPOSITIONS
    return is_place or len(between) > _LACKING_REACH


def _is_spanish(word: str, between: Sequence[str], quote: Sequence[str]) -> bool:
    """Whether `no` negates the verb behind it, as in Spanish, and not a noun."""
    following = [*between, *quote][:1]
    return word == "no" and bool(following) and _SPANISH_VERB.fullmatch(following[0]) is not None
