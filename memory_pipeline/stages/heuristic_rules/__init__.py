"""Rules of the keyless extraction tier: from the parse of a sentence to candidates.

What belongs here: sentence gates, clause readings, word tables, all in English and deterministic.
What does not: the entry point (stages/heuristics), guards, dates of phrases (stages/temporal).
"""
