"""Tests of the reading layer."""
