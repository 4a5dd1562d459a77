"""Labelled pairs of names and statements, by which an embedding model's thresholds are measured.

Belongs here: the shipped lists, as files. Does not: reading and measuring them
(stages/thresholds, cli/calibrate).
"""
