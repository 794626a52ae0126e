"""Changes as a whole, and readers that never meet half of one: one thread plays both, so nothing depends on timing."""

import pytest
from sklearn.base import BaseEstimator

from rankwise.base.transaction import AllOrNothing, reader


class Pair(AllOrNothing, BaseEstimator):
    """Two numbers that are always equal."""

    def fit(self, value):
        with self._afresh() as twin:
            twin.first_ = value
            if value < 0:
                raise ValueError("half-way")
            twin.second_ = value
        return self

    def fit_in_place(self, value):
        """As compiled passes do: the count is odd meanwhile."""
        self._gate.count += 1
        self.__dict__["first_"] = self.__dict__["second_"] = value
        self._gate.count += 1

    @reader
    def both(self, between=lambda: None):
        first = self.first_
        between()
        return first, self.second_


def test_a_reader_sees_the_model_before_a_change_that_comes_meanwhile():
    pair = Pair().fit(1)
    assert pair.both(lambda: pair.fit(2)) == (1, 1)
    assert pair.both() == (2, 2)


def test_a_change_that_fails_half_way_never_happened():
    pair = Pair().fit(1)
    with pytest.raises(ValueError, match="half-way"):
        pair.fit(-1)
    assert pair.both() == (1, 1)


def test_a_reader_that_a_change_in_place_disturbed_reads_again():
    pair, changes = Pair().fit(1), iter([2, 3])
    assert pair.both(lambda: [pair.fit_in_place(value) for value in changes]) == (3, 3)


def test_an_error_that_a_change_in_place_caused_is_not_the_readers():
    pair, changes = Pair().fit(1), iter([2])

    def disturb():
        for value in changes:
            pair.fit_in_place(value)
            raise ZeroDivisionError

    assert pair.both(disturb) == (2, 2)
    with pytest.raises(ZeroDivisionError):
        pair.both(lambda: 1 / 0)


def test_a_reader_gets_through_after_a_writer_that_was_interrupted_in_place():
    pair = Pair().fit(1)
    pair._gate.count += 1  # and nobody will make it even again
    assert pair.both() == (1, 1)
    assert pair._gate.count % 2 == 0


def test_a_reader_that_is_always_disturbed_waits_for_the_writer():
    pair = Pair().fit(1)
    values = iter(range(2, 100))
    first, _ = pair.both(lambda: pair.fit_in_place(next(values)))
    assert first == 6  # the sixth attempt, which holds the lock, is taken as it is


def test_a_view_that_a_slow_reader_left_behind_serves_nobody():
    pair = Pair().fit(1)
    old = pair._view()
    pair.fit(2)
    pair._gate.view = old  # made before the change, kept after it
    assert pair.both() == (2, 2)
