"""Steps of the pipeline: one file a stage, each a function from values to values.

What belongs here: how a window becomes claims and claims become a change set.
What does not: databases, model clients, Dagster, prompts' wording, and thresholds (domain/policy).
"""
