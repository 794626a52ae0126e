"""The simulated round: right where it can be counted by hand, and near the formula on paper elsewhere."""

from dataclasses import replace

import pytest

from benchmarks.scaling_simulation import Cluster, fit_seconds, formula, simulated


def test_one_block_takes_what_its_parts_take():
    one = Cluster(1, 1, work=1.0, schedule=0.1, overhead=0.01, latency=0.001, size=10.0, bandwidth=1000.0)
    # sent, on its way, overhead and work, back, done, on its way to the client
    assert simulated(one) == pytest.approx(0.1 + 0.001 + 1.01 + 0.001 + 0.1 + 0.001 + 0.01)


def test_two_workers_halve_the_work_and_nothing_else():
    free = {"schedule": 0.0, "overhead": 0.0, "latency": 0.0, "size": 0.0}
    assert simulated(Cluster(1, 8, 1.0, **free)) == pytest.approx(8.0)
    assert simulated(Cluster(2, 4, 1.0, **free)) == pytest.approx(4.0)


def test_many_workers_wait_for_the_scheduler():
    busy = Cluster(1000, 1, work=0.01)
    assert simulated(busy) >= 2 * 1000 * busy.schedule
    assert simulated(replace(busy, schedule=0.0)) < 0.1


@pytest.mark.parametrize("n_workers", [1, 2, 10, 100, 1000])
@pytest.mark.parametrize("blocks_per_worker", [1, 10])
def test_the_formula_is_near(n_workers, blocks_per_worker):
    cluster = Cluster(n_workers, blocks_per_worker, work=0.08)
    assert formula(cluster) == pytest.approx(simulated(cluster), rel=0.3)


def test_a_fit_is_rounds_and_passes():
    cluster = Cluster(2, 4, work=0.5)
    empty = simulated(replace(cluster, work=0.0))
    assert fit_seconds(cluster, 10, 0.0) == pytest.approx(10 * empty)
    assert fit_seconds(cluster, 10, 2.0) == pytest.approx(8 * empty + 2 * simulated(cluster))
