"""Text that UTF-8 can carry: on the wire and in the database. Nothing else belongs here."""


def encodable(text: str) -> str:
    """The text with halves of surrogate pairs joined, and lone ones replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
