import numpy as np
import pytest

from rankwise.evaluation import error_range, interval_confusion
from rankwise.metrics import confusion_matrix

CLASSES = ["a", "b", "c", "d", "e"]


def random_labels(rng, n=300):
    kinds = rng.integers(4, size=n)
    ends = np.sort(rng.integers(5, size=(n, 2)), axis=1)
    labels = []
    for kind, (low, high) in zip(kinds, ends, strict=True):
        options = (
            CLASSES[low],
            (CLASSES[low], CLASSES[high]),
            {CLASSES[low], CLASSES[high], CLASSES[(low + 2) % 5]},
            None,
        )
        labels.append(options[kind])
    return labels, np.array(CLASSES)[rng.integers(5, size=n)], rng.random(n)


def test_exact_labels_give_the_plain_matrix(rng):
    truth, predicted = rng.integers(1, 6, size=(2, 100))
    expected = confusion_matrix(truth, predicted)
    for counting in ("nearest", "shared", "farthest"):
        np.testing.assert_array_equal(interval_confusion(truth, predicted, counting=counting), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_distances_add_up_to_the_ends_of_the_error_range(rng, weighted):
    labels, predicted, weight = random_labels(rng)
    options = {"classes": CLASSES, "sample_weight": weight if weighted else None}
    found = error_range(labels, predicted, **options)
    distance = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    for counting, expected in (("nearest", found.lower), ("farthest", found.upper)):
        table = interval_confusion(labels, predicted, counting=counting, **options)
        assert (table * distance).sum() / table.sum() == pytest.approx(expected, rel=1e-12)


def test_every_way_of_counting_has_the_same_columns(rng):
    labels, predicted, weight = random_labels(rng)
    options = {"classes": CLASSES, "sample_weight": weight}
    near, shared, far = (
        interval_confusion(labels, predicted, counting=counting, **options)
        for counting in ("nearest", "shared", "farthest")
    )
    np.testing.assert_allclose(near.sum(axis=0), far.sum(axis=0))
    np.testing.assert_allclose(near.sum(axis=0), shared.sum(axis=0))


def test_a_set_with_a_hole_counts_for_none_of_the_hole():
    for counting, column in (("nearest", [1, 0, 0]), ("shared", [0.5, 0, 0.5]), ("farthest", [1, 0, 0])):
        table = interval_confusion([{1, 3}, 2], [2, 1], classes=[1, 2, 3, 4], counting=counting)
        assert table[:3, 1].tolist() == column


def test_unknown_counting_is_refused():
    with pytest.raises(ValueError, match=r"counting must be 'nearest', 'shared' or 'farthest'. Got 'best' instead"):
        interval_confusion([1, 2], [1, 2], counting="best")
