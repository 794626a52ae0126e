"""Prints the counts of the attacks."""

import pytest

_outcomes = pytest.StashKey[list]()


@pytest.fixture
def record_attack(pytestconfig):
    return pytestconfig.stash.setdefault(_outcomes, []).append


def pytest_terminal_summary(terminalreporter, config):
    outcomes = config.stash.get(_outcomes, [])
    if outcomes:
        terminalreporter.section("attacks")
        terminalreporter.write_line(f"{'attack':12}{'cases':>9}{'answers':>9}{'refused':>9}{'faults':>9}{'seconds':>9}")
    for found in outcomes:
        counts = found.counts["answer"], found.counts["refused"], len(found.faults), round(found.seconds)
        terminalreporter.write_line(f"{found.name:12}{found.cases:>9}" + "".join(f"{count:>9}" for count in counts))
        for fault in found.faults[:20]:
            terminalreporter.write_line(f"    {fault[:300]}")
