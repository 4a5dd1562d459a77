"""The closed list of greetings and acknowledgements that need no extraction at all.

What belongs here: the list and its test, English only. What does not: fleeting or social
sentences that say something (stages/heuristic_rules/gates).
"""

import re
import unicodedata

_PHRASES = frozenset(
    """hi|hello|hey|hiya|howdy|yo|hi there|hello there|hey there|good morning|good afternoon
    |good evening|good night|goodnight|morning|evening|night|bye|goodbye|bye bye|see you|see ya
    |see you later|see you soon|see you tomorrow|talk to you later|talk to you soon|talk soon
    |take care|later|cheers|ttyl|cya|thanks|thank you|thx|ty|tysm|thanks a lot|thanks so much
    |thank you so much|thank you very much|thanks very much|many thanks|thanks again
    |thank you again|thanks for your help|thank you for your help|thanks for the help
    |no thanks|no thank you|much appreciated|appreciate it|i appreciate it|ok|okay|k|kk|okey
    |alright|all right|sure|sure thing|of course|certainly|yes|yeah|yep|yup|yes please|no|nope|nah
    |no problem|no worries|np|you are welcome|you're welcome|youre welcome|welcome|great|good|nice
    |cool|awesome|perfect|excellent|amazing|wonderful|brilliant|fantastic|lovely|sweet|neat
    |sounds good|sounds great|sounds perfect|looks good|looks great|that works|works for me|got it
    |i see|i understand|understood|makes sense|that makes sense|right|exactly|absolutely
    |definitely|indeed|agreed|i agree|true|fair enough|wow|oh|ah|aha|haha|hahaha|lol|hmm|hm|well
    |please|go ahead|continue|please continue|go on|next|done|that is all|that's all|thats all
    |that is it|that's it|never mind|nevermind|nvm|how are you|how are you doing|how is it going
    |how's it going|what's up|whats up|sup|nice to meet you|nice to see you|good to see you
    |have a nice day|have a good day|have a great day|have a good one|good luck|congrats
    |congratulations|happy to help|will do|you too|same to you|same|me too|that is great
    |that's great|that is cool|that's cool|very good|very nice|so cool|so nice|how nice|good job
    |great job|well done|you rock|you're the best|you are the best|thanks you too""".replace(
        "\n", ""
    ).split("|")
)
_PHRASES_CLEAN = frozenset(" ".join(p.split()) for p in _PHRASES)
_LONGEST = max(len(p.split()) for p in _PHRASES_CLEAN)
_LIMIT = 120


def _words(text: str) -> list[str] | None:
    """Folded words, or None when a letter that no list member could hold stands in the text."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    kept = "".join(
        c if c.isalnum() or c == "'" else " "
        for c in folded
        if unicodedata.category(c) not in {"Mn", "Cf", "Me"}
    )
    if re.search(r"\d", kept) or not kept.isascii():
        return None
    return kept.split()


def is_small_talk(text: str) -> bool:
    """True when the whole message is made of members of the closed list, or of emoji alone.

    Case, punctuation and emoji are folded. Anything else, in whatever language, is False; so is
    empty text.
    """
    words = _words(text) if len(text) <= _LIMIT else None
    if words is None or not text.strip():
        return False
    at = 0
    while at < len(words):
        longest = next(
            (
                n
                for n in range(min(_LONGEST, len(words) - at), 0, -1)
                if " ".join(words[at : at + n]) in _PHRASES_CLEAN
            ),
            0,
        )
        if longest == 0:
            return False
        at += longest
    return True
