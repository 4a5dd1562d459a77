"""How conversation and memory are written into a prompt, so that no text can pass for another.

Belongs here: lines, fences, known lists, what is kept out of prompts (spec X1, X2, X12).
Does not: wording (prompts) and what is asked (stages/extract, stages/summarise).
"""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory_pipeline.domain.conversation import Message, Role, Window
from memory_pipeline.domain.extraction import KnownLists
from memory_pipeline.stages.fields import NAME_CHARS
from memory_pipeline.stages.injection import DOUBTFUL_SCORE, HOSTILE_SCORE, score_injection
from memory_pipeline.stages.sanitise import sanitise_line

MESSAGE_CHARS = 32_000
"""Characters of one message that are shown; as much as an episode holds by default."""

LINE_BREAK = " / "
"""How a line break inside a message is shown."""

WITHHELD = "(withheld: this message gives orders to whoever reads it)"
NONE = "(none)"

_OTHER_ROLES = {
    Role.USER: "other speaker",
    Role.ASSISTANT: "assistant",
    Role.SYSTEM: "system",
    Role.TOOL: "tool",
    Role.ATTACHMENT: "attachment",
}
_SPEAKER_CHARS = 60
_STATEMENT_CHARS = 300


@dataclass(frozen=True, slots=True)
class Transcript:
    """A window as lines, one for each message, and the fence that can't occur in them.

    `withheld`, `doubted` and `truncated` are `seq` numbers of messages.
    """

    text: str
    fence: str
    withheld: tuple[int, ...] = ()
    doubted: tuple[int, ...] = ()
    truncated: tuple[int, ...] = ()


def write_transcript(window: Window, tenant_secret: bytes) -> Transcript:
    """The transcript of a window; equal windows of a tenant give equal transcripts.

    A message that the injection scanner scores as hostile stands there without its text.
    """
    scores = {m.seq: score_injection(m.text).score for m in window.messages}
    withheld = tuple(seq for seq, score in scores.items() if score >= HOSTILE_SCORE)
    text = "\n".join(_line(m, is_withheld=m.seq in withheld) for m in window.messages)
    return Transcript(
        text=text,
        fence=derive_fence(tenant_secret, text),
        withheld=withheld,
        doubted=tuple(
            seq for seq, score in scores.items() if DOUBTFUL_SCORE <= score < HOSTILE_SCORE
        ),
        truncated=tuple(m.seq for m in window.messages if len(m.text) > MESSAGE_CHARS),
    )


def derive_fence(tenant_secret: bytes, text: str) -> str:
    """A word that marks the borders of `text` and does not occur in it, ever the same for both.

    Nobody who writes into `text` can know it without the secret.
    """
    content = text.encode("utf-8", "surrogatepass")
    for attempt in range(1_000):
        mac = hmac.new(tenant_secret, b"%d\x1f%s" % (attempt, content), hashlib.sha256)
        fence = f"DATA-{mac.hexdigest()[:16]}"
        if fence not in text:
            return fence
    raise ValueError("no fence was found that the text does not contain")


def _line(message: Message, *, is_withheld: bool) -> str:
    text = WITHHELD if is_withheld else flatten(message.text, MESSAGE_CHARS)
    return f"[m{message.seq}] {_speaker(message)} {message.said_at:%Y-%m-%d %a %H:%M} | {text}"


def _speaker(message: Message) -> str:
    who = "user" if message.is_own else _OTHER_ROLES[message.role]
    name = sanitise_line(message.speaker or "", _SPEAKER_CHARS)
    name = "".join(char for char in name if char not in "()[]|")
    return f"{who} ({name})" if name.strip() else who


def flatten(text: str, limit: int) -> str:
    """`text` on one line, its line breaks shown, without invisible characters, cut at `limit`."""
    lines = (sanitise_line(line, limit) for line in text[:limit].splitlines())
    flat = LINE_BREAK.join(line for line in lines if line)
    return f"{flat} [...]" if len(text) > limit else flat


def unflatten_quote(quote: str, texts: Sequence[str]) -> str:
    """A quote as the message says it: without the head of its line, line breaks restored."""
    head, bar, rest = quote.partition(" | ")
    if bar and head.lstrip().startswith("[m"):
        quote = rest
    if LINE_BREAK not in quote or any(quote in text for text in texts):
        return quote
    return quote.replace(LINE_BREAK, "\n")


def list_user_names(known: KnownLists) -> str:
    """What means the user, as a sentence."""
    names = sorted({sanitise_line(name, NAME_CHARS) for name in known.user_names} - {""})
    if not names:
        return "`user`. No name is known yet."
    return f"`user`, also called: {', '.join(names)}"


def list_known_entities(known: KnownLists) -> str:
    """Known names, a line each, sorted, so that equal sets give equal prompts."""
    lines = set()
    for entity in known.entities:
        parts = [sanitise_line(entity.name, NAME_CHARS), entity.type.value]
        aliases = sorted({sanitise_line(alias, NAME_CHARS) for alias in entity.aliases} - {""})
        if aliases:
            parts.append(", ".join(aliases))
        lines.add("- " + " | ".join(parts))
    return _lines(lines)


def list_known_facts(known: KnownLists) -> str:
    """Known facts, a line each, sorted."""
    return _lines(
        "- " + sanitise_line(f"{fact.subject} {fact.predicate} {fact.object}", _STATEMENT_CHARS)
        for fact in known.facts
    )


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(sorted(set(lines))) or NONE
