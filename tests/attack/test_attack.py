"""The attack: hostile inputs against what the package promises. A small part of each runs with the ordinary tests.

`make attack` runs all of it and prints the counts that docs/safety.md shows.
"""

import numpy as np
import pytest

from tests.attack.harness import attack

CASES = {"forge": 20_000, "labels": 20_000, "tables": 2_000, "interrupts": 2_000, "threads": 300, "kills": 60}
SMALL = {"forge_few": 25, "labels": 40, "tables": 10, "interrupts": 60, "threads": 3, "kills": 1}


@pytest.mark.attack
@pytest.mark.parametrize(("name", "n_cases"), CASES.items(), ids=CASES)
def test_attack(name, n_cases, record_attack):
    found = attack(name, n_cases)
    record_attack(found)
    assert found.faults == []


@pytest.mark.parametrize(("name", "n_cases"), SMALL.items(), ids=SMALL)
def test_a_small_part(name, n_cases):
    found = attack(name, n_cases, seed=1)
    assert found.faults == []
    assert found.cases == n_cases
    assert found.counts["answer"] > 0


def test_crashes_foreign_errors_and_endless_cases_are_faults():
    kinds = [int(np.random.default_rng((17, case)).integers(4)) for case in range(5)]
    assert set(kinds) == {0, 1, 2, 3}
    found = attack("weak", len(kinds), seed=17)
    assert found.cases == len(kinds)
    assert found.counts == {"answer": kinds.count(3)}
    for kind, words in enumerate(("the process ended with -11", "IndexError", "does not end")):
        assert sum(words in fault for fault in found.faults) == kinds.count(kind)
