"""Linear programmes with most of their pieces decided: the same optimum as with all of them."""

import numpy as np
import pytest

from rankwise import MORD, SVOR, VILMA, PiecewiseMORD
from rankwise.datasets import make_ordinal
from rankwise.solvers import linear_program

MODELS = [SVOR(), SVOR("explicit"), VILMA("zero_one"), MORD(), PiecewiseMORD(3)]


@pytest.fixture
def sizes(monkeypatch):
    """Number of rows of every programme that is solved."""
    rows = []

    def counted(*args, A_ub, **kwargs):
        rows.append(A_ub.shape[0])
        return linprog(*args, A_ub=A_ub, **kwargs)

    linprog = linear_program.linprog
    monkeypatch.setattr(linear_program, "linprog", counted)
    return rows


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_open_pieces_suffice(model, sizes, monkeypatch):
    X, y = make_ordinal(400, 3, 5, noise=1.0, random_state=0)
    model = model.set_params(regularize="none", tol=1e-9)
    few = model.fit(X, y).objective_
    assert model.gap_ < 1e-8
    n_few = max(sizes)
    monkeypatch.setattr(linear_program, "_OPEN", 10**6)
    everything = model.fit(X, y).objective_
    assert few == pytest.approx(everything, rel=1e-8)
    assert 3 * n_few < sizes[-1]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_too_few_open_pieces_are_joined_by_others(model, sizes, monkeypatch):
    X, y = make_ordinal(120, 3, 4, noise=1.0, random_state=1)
    model = model.set_params(regularize="none", tol=1e-9)
    expected = model.fit(X, y).objective_
    sizes.clear()
    monkeypatch.setattr(linear_program, "_OPEN", 1)
    monkeypatch.setattr(linear_program, "_NEAR", 0.5)
    assert model.fit(X, y).objective_ == pytest.approx(expected, rel=1e-8)
    assert model.gap_ < 1e-8
    assert len(sizes) > 1


def test_a_solution_at_which_all_classes_tie():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), rng.integers(1, 6, 60)
    model = MORD("zero_one", regularize="none", tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(1.0, abs=0.02)
    assert model.gap_ < 1e-8
