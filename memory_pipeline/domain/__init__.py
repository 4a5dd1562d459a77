"""Vocabulary and rules of memory: values and pure functions, standard library and pydantic only.

What belongs here: what things mean (episode, claim, fact, period, policy, recipe, change set).
What does not: steps (stages), the outside world (adapters), when things run (defs).
"""
