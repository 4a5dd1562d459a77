"""Chat exports: one file per format, and the registry that finds the right one.

What belongs here: turning an export into threads and messages, and counting what is left out.
What does not: storing them (adapters) and cutting episodes (stages/windows).
"""
