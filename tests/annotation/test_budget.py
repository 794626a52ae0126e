import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.annotation import Purchase, plan_budget

positive = st.floats(0.01, 100)


def test_a_large_budget_buys_exact_labels_and_a_small_one_intervals():
    prices = {0: 1.0, 2: 0.1}
    assert plan_budget(100, prices, complexity=40)[0].beta == 2
    assert plan_budget(10_000, prices, complexity=40)[0].beta == 0


def test_options_say_what_is_bought_smallest_bound_first():
    options = plan_budget(0.3, {0: 0.3, 1: 0.1, 5: 0.31}, complexity=3)
    assert options == [Purchase(1, 3, 3 / math.sqrt(3)), Purchase(0, 1, 3.0)]
    assert [option.bound for option in options] == [pytest.approx(math.sqrt(3) + 1), 3.0]


def test_of_equal_bounds_the_narrower_comes_first():
    assert [option.beta for option in plan_budget(4, {1: 1.0, 0: 4.0}, complexity=2)] == [0, 1]


@given(budget=positive, prices=st.lists(positive, min_size=2, max_size=2), betas=st.lists(positive, min_size=2,
       max_size=2), complexity=positive, share=st.floats(0, 1))  # fmt: skip
def test_no_mixture_is_better_than_the_best_kind(budget, prices, betas, complexity, share):
    # As a sum over the kinds, before rounding to whole rows.
    def bound(first):
        price = first * prices[0] + (1 - first) * prices[1]
        return complexity / math.sqrt(budget / price) + first * betas[0] + (1 - first) * betas[1]

    assert min(bound(0.0), bound(1.0)) <= bound(share) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, {0: 1}, 1), r"budget must be a finite number > 0\. Got 0"),
        ((1, {0: 1}, math.inf), r"complexity must be a finite number > 0\. Got inf"),
        ((1, {-1: 1}, 1), r"widths >= 0 to prices > 0\. Got -1: 1"),
        ((1, {0: 1, 2: 0}, 1), r"widths >= 0 to prices > 0\. Got 2: 0"),
        ((1, {0: 2}, 1), r"must buy at least one label\. Got 1 and the prices {0: 2}"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        plan_budget(*arguments)


@pytest.mark.parametrize("budget", [0.5, math.nan])
def test_a_budget_must_reach_the_first_fit_of_a_simulation(budget):
    curve = SimpleNamespace(minutes=[1.0, 2.0], n_labels=[10, 20], error=[0.5, 0.4])
    with pytest.raises(ValueError, match="the budget must reach the first fit of the simulation 'exact'"):
        plan_budget(budget, curves={"exact": curve})
