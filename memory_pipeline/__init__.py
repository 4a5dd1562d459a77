"""Memory of AI agents, built and rebuilt from conversation history.

Layers, imports going one way: definitions -> cli, defs -> importers, reading, adapters -> stages
-> prompts -> domain. Each package says at its top what belongs in it.
"""
