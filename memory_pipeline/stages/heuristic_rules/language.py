"""Tells English from everything else, by script and stop words.

What belongs here: one closed test. What does not: which other language it is.
"""

import re
import unicodedata

_ENGLISH = frozenset(
    """a about actually all also always am an and any are as at be been but by can can't did didn't
    do does doesn't don't for from get got had has have haven't he her hers him his how i i'd i'll
    i'm i've if in into is isn't it it's its just last like live love me mine more my never new next
    no not now of off old on only or our out over please really she since so some still than that
    that's the their them then there they this to too two until up us used very want was we we're
    we've were what when where which who why will with won't work would year years yes you your
    hate favourite favorite prefer moved sold bought started named called""".split()
)
_FOREIGN = frozenset(
    """der die das und ich nicht ist ein eine mit für auf von zu wir sie habe bin mein meine seit
    el los las una que con por para pero es en mi soy tengo vivo trabajo muy desde yo
    le les des une je suis et est dans avec pour mon ma mes pas depuis chez nous j'ai c'est j'habite
    il lo gli sono che di non per mio mia ho da il della
    ik het een niet met voor mijn ben heb woon
    o os um uma não com meu minha eu sou tenho moro
    jag och är inte som har bor jeg ikke og er på
    jestem nie się mam że ben bir ve için""".split()
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def is_english(text: str) -> bool:
    """True for English; text without letters is not English, one of few words needs one cue."""
    words = [w.replace("’", "'").lower() for w in _WORD.findall(text)]
    letters = [c for c in text if c.isalpha()]
    if not letters or not words:
        return False
    latin = sum("LATIN" in unicodedata.name(c, "") for c in letters)
    if latin < 0.8 * len(letters):
        return False
    english = sum(w in _ENGLISH for w in words)
    foreign = sum(w in _FOREIGN and w not in _ENGLISH for w in words)
    if foreign >= max(1, english):
        return False
    # Names and nouns alone ("Lisbon, not Porto") carry few stop words; long text carries many.
    return len(words) <= 4 or english >= 0.12 * len(words)
