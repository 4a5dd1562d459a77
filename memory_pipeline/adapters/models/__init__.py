"""Talking to OpenAI-compatible endpoints: the parts that chat and embeddings share.

Belongs here: endpoint, pacing, retries, abilities of servers, prices, budget.
Does not: the ports themselves (adapters/openai_models, adapters/openai_embedder), storing answers.
"""
