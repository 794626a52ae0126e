import numpy as np
import pytest

from rankwise import PRIL, RowError
from rankwise.annotation import alpha_beta_intervals
from rankwise.datasets import make_ordinal
from rankwise.evaluation import annotation_tradeoff
from rankwise.metrics import mean_absolute_error


@pytest.fixture(scope="module")
def data():
    X, y = make_ordinal(600, 3, 5, noise=0.3, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]


def test_every_entry_is_the_error_of_a_model_of_such_labels(data):
    X, y, X_test, y_test = data
    found = annotation_tradeoff(PRIL(random_state=0), *data, widths=[1, 2], portions=[0, 0.5], random_state=3)
    assert [(kind.width, kind.portion) for kind in found] == [(1, 0), (1, 0.5), (2, 0), (2, 0.5)]
    said = alpha_beta_intervals(y, 0.5, 2, range(1, 6), random_state=3)
    model = PRIL(classes=range(1, 6), random_state=0).fit(X, said)
    assert found[3].error == mean_absolute_error(y_test, model.predict(X_test), classes=range(1, 6))
    assert all(kind.lower_limit <= kind.error <= kind.upper_limit for kind in found)
    assert found[0].error == found[2].error  # no intervals, whatever their width
    assert all(kind.cost is None for kind in found)


def test_cost_is_what_the_labels_cost(data):
    prices = {0: 1.0, 2: 0.25}
    found = annotation_tradeoff(PRIL(random_state=0), *data, widths=[2], portions=[0, 0.5, 1], prices=prices)
    assert [kind.cost for kind in found] == [300.0, 187.5, 75.0]


def test_names_keep_their_order(data):
    X, y, X_test, y_test = data
    names = np.array(["E", "D", "C", "B", "A"])
    by_name = annotation_tradeoff(
        PRIL(random_state=0), X, names[y - 1], X_test, names[y_test - 1], widths=[1], portions=[1], classes=names
    )
    by_number = annotation_tradeoff(PRIL(random_state=0), *data, widths=[1], portions=[1])
    assert by_name == by_number


def test_a_width_without_a_price_is_refused(data):
    with pytest.raises(ValueError, match=r"prices must name every width, and 0 for exact labels. Got none for \[0\]"):
        annotation_tradeoff(PRIL(), *data, widths=[2], prices={2: 0.5})


def test_labels_that_are_not_exact_are_refused(data):
    X, _, X_test, y_test = data
    with pytest.raises(RowError, match=r"^row 2: intervals are made from exact labels"):
        annotation_tradeoff(PRIL(), X[:4], [1, 5, (2, 3), None], X_test, y_test, classes=range(1, 6))
