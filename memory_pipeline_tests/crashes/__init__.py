"""The transactional write under kills, races and stale plans (spec W1, W2, W4, W5).

Belongs here: processes that are killed or compete, and what memory holds afterwards. Does not:
whole commands (cli/test_run_killed) and what a plan decides (domain, cases).
"""
