"""Tests, mirroring the package. Fixtures shared by all live in conftest."""
