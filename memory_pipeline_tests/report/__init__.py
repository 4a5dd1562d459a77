"""Tests of the page: what it holds, that stored text stays text, how it looks in a browser."""
