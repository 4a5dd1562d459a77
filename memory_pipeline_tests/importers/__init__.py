"""Tests of the importers. Sample exports made for them lie in data/."""
