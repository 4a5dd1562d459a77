"""Properties of the write path on a real PostgreSQL, over histories that hypothesis makes up.

Belongs here: made-up histories, an independent model of the rules, what must hold of every tenant.
Does not: named cases (cases, domain) and the stages in isolation (stages).
"""
