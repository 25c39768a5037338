"""Parts of the tests: together all of them, and each with every function."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tools.sampling import pytest_collection_modifyitems

CASES = ["one", *(f"three[{i}]" for i in range(3)), *(f"ten[{i}]" for i in range(10))]


def part(number: str, of: int, long: str = "no") -> list[str]:
    """The names of the cases in one of so many parts."""
    options = {"--sample": of, "--part": number, "--chapter": 99}
    items = [SimpleNamespace(nodeid=name, iter_markers=lambda mark: (),
                             get_closest_marker=lambda mark, name=name: name.startswith(long))
             for name in CASES]
    pytest_collection_modifyitems(SimpleNamespace(getoption=options.get), items)
    return [item.nodeid for item in items]


@pytest.mark.parametrize("of", [1, 2, 3, 4, 20])
def test_the_parts_are_all_and_each_has_every_function(of):
    parts = [part(f"{number:x}", of) for number in range(of)]
    assert {name for names in parts for name in names} == set(CASES)
    for names in parts:
        assert {name.partition("[")[0] for name in names} == {"one", "three", "ten"}
        assert len(names) <= 1 + -(-3 // of) + -(-10 // of)


def test_without_a_part_the_first_case_is_kept():
    assert part("", 4) == ["one", "three[0]", "ten[0]", "ten[4]", "ten[8]"]


@pytest.mark.parametrize("of, functions", [(1, 2), (20, 2), (40, 1), (1000, 1)])
def test_a_large_sample_has_few_of_the_long_tests(of, functions):
    found = {name.partition("[")[0] for name in part("", of, long="t")} - {"one"}
    assert len(found) == functions
