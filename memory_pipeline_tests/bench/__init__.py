"""Measurements that are run by hand, outside the test suite."""
