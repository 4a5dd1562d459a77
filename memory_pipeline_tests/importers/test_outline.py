"""Key paths of JSON that may be cut off."""

import pytest

from memory_pipeline.importers.outline import key_paths


@pytest.mark.parametrize(
    ("head", "paths"),
    [
        ('{"a": {"b": [{"c": 1}]}, "d": "e"}', {"a", "a.b", "a.b.c", "d"}),
        ('[{"a": 1}, {"b": 2', {"a", "b"}),
        ('{"a": 1}\n{"b": 2}', {"a", "b"}),
        ('{"a": "x \\"b\\": {", "c": 1', {"a", "c"}),
        ('{"a": "cut inside \\"b\\": 1', {"a"}),
        ('{"a":{"b":{"c":{"d":{"e":1}}}}}', {"a", "a.b", "a.b.c", "a.b.c.d"}),
        ("]} words", set()),
    ],
)
def test_keys_are_found_with_the_keys_around_them(head: str, paths: set[str]) -> None:
    assert {".".join(path) for path in key_paths(head)} == paths
