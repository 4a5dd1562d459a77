"""Behaviour cases: one episode's write described in JSON, run through the real stages.

Belongs here: reading cases, setting memory up, running, observing rows, comparing.
Does not: the rules themselves, and unit tests of single stages.
"""
