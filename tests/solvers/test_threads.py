from threadpoolctl import threadpool_info, threadpool_limits

from rankwise.solvers.threads import in_one_thread


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_has_one_thread_inside_and_what_it_had_outside():
    with threadpool_limits(3, user_api="blas"):
        outside = blas_threads()
        assert set(in_one_thread(blas_threads)()) == {1}
        assert blas_threads() == outside
