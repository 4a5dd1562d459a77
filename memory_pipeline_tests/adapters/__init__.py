"""Tests of the adapters, on real servers, files and processes."""
