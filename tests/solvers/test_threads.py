from threading import Barrier, Thread

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from rankwise.solvers import threads
from rankwise.solvers.threads import in_one_thread


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_has_one_thread_inside_and_what_it_had_outside():
    with threadpool_limits(3, user_api="blas"):  # more than one, also where there is one core
        three = blas_threads()
        assert set(in_one_thread(blas_threads)()) == {1}
        assert blas_threads() == three
        with pytest.raises(ZeroDivisionError):
            in_one_thread(lambda: 1 / 0)()
        assert blas_threads() == three
        assert set(in_one_thread(in_one_thread(blas_threads))()) == {1}
        assert blas_threads() == three


def test_of_functions_that_overlap_the_first_limits_and_the_last_restores(monkeypatch):
    events = []

    class Libraries:
        def limit(self, **what):
            events.append("limit")
            return self

        def restore_original_limits(self):
            events.append("restore")

    monkeypatch.setattr(threads, "ThreadpoolController", Libraries)
    monkeypatch.setattr(threads, "_limit", threads._Limit())
    both_inside, one_left = Barrier(2), Barrier(2)
    one = in_one_thread(lambda: both_inside.wait(10))
    other = in_one_thread(lambda: (both_inside.wait(10), one_left.wait(10), events.append("other")))
    thread = Thread(target=other)
    thread.start()
    one()
    one_left.wait(10)
    thread.join(10)
    assert events == ["limit", "other", "restore"]
