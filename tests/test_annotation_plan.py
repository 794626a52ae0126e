"""check_plan: Definition 8, told, refuted or left open."""

import numpy as np
import pytest

from rankwise.annotation import check_plan


def _verdicts(report):
    return [condition.holds for condition in report.conditions]


def test_a_plan_of_probabilities():
    good = check_plan([[0.5, 0.2], [0.3, 0.9]], label_probabilities=np.full((2, 4), 0.25))
    assert good.holds is True
    assert _verdicts(good) == [True, True, True]
    assert _verdicts(check_plan([[0.5, 0.0]])) == [False, True, None]
    assert _verdicts(check_plan([[0.5, 0.05]], rho=0.1)) == [False, True, None]
    assert check_plan([[0.5, 0.5]]).holds is None
    assert _verdicts(check_plan([[0.5]], label_probabilities=[0.999, 0.001]))[2] is False


def test_a_part_that_is_never_annotated(rng):
    z = rng.random((1000, 3)) < 0.4
    assert _verdicts(check_plan(z))[0] is True
    z[:, 1] = False
    report = check_plan(z)
    assert report.holds is False
    assert "part 1 in 0 of 1000 examples" in report.conditions[0].reason
    # A hundredth of twenty examples may well be none of them.
    assert _verdicts(check_plan(z[:20]))[0] is None


def test_a_part_that_one_group_never_annotates(rng):
    z = rng.random((2000, 2)) < 0.5
    group = np.repeat(["day", "night"], 1000)
    z[group == "night", 1] = False
    assert _verdicts(check_plan(z))[0] is True
    report = check_plan(z, groups=group)
    assert _verdicts(report)[0] is False
    assert "part 1 in 0 of 1000 examples of group 1" in report.conditions[0].reason


def test_independence_is_asked_within_groups(rng):
    group = rng.integers(2, size=3000)
    y = (rng.random((3000, 2)) < np.where(group, 0.8, 0.2)[:, None]).astype(int)
    z = rng.random((3000, 2)) < np.where(group, 0.7, 0.3)[:, None]  # depends on x, and so on y, but not given x
    assert _verdicts(check_plan(z, labels=y, random_state=0))[1] is False
    assert _verdicts(check_plan(z, labels=y, groups=group, random_state=0))[1] is True
    ones_only = z & (y == 1)
    report = check_plan(ones_only, labels=y, groups=group, random_state=0)
    assert _verdicts(report)[1] is False
    assert "permutation test p = 0.001" in report.conditions[1].reason


def test_the_test_keeps_its_level(rng):
    rejected = 0
    for i in range(200):
        y, z = rng.integers(3, size=(60, 2)), rng.random((60, 2)) < 0.5
        rejected += _verdicts(check_plan(z, labels=y, level=0.1, n_permutations=99, random_state=i))[1] is False
    assert 5 <= rejected <= 40  # 20 expected


def test_labels_of_any_type_and_what_cannot_be_told(rng):
    y = rng.choice(["cat", "dog"], size=(400, 1))
    assert _verdicts(check_plan(y == "cat", labels=y, random_state=0))[1] is False
    assert _verdicts(check_plan(np.ones((10, 1)), labels=y[:10]))[1] is None
    assert "?" in str(check_plan(np.ones((10, 1))))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(annotated=[0.5, 0.5]), r"annotated must be a table.*\(2,\)"),
        (dict(annotated=[[0.5, 1.5]]), r"row 0, part 1: a probability.* Got 1.5"),
        (dict(annotated=[[0.5, np.nan]]), r"row 0, part 1: .* Got nan"),
        (dict(annotated=[[1, 0]], labels=[[1]]), r"labels must have the shape of annotated, \(1, 2\)"),
        (dict(annotated=[[1, 0]], groups=[1, 2]), r"groups must have one value for each of the 1 examples"),
        (dict(annotated=[[1, 0]], label_probabilities=[[0.5, 0.4]]), r"label_probabilities must be probabilities"),
        (dict(annotated=[[1, 0]], rho=0.0), r"rho and level must lie in"),
        (dict(annotated=[[1, 0]], n_permutations=-1), r"n_permutations must be a number >= 1. Got -1"),
    ],
)
def test_bad_plans(arguments, message):
    with pytest.raises(ValueError, match=message):
        check_plan(**arguments)
