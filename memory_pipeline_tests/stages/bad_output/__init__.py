"""Malformed answers of language models, made systematically, and what must be read of them."""
