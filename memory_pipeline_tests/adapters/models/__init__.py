"""Tests of the parts that chat and embeddings share."""
