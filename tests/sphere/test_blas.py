"""The limit of BLAS threads: the same within a piece of work, and given back after it."""

import os
import sys
import threading
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vish.sphere.blas import blas_threads_for, undisturbed

SMALL, LARGE = 10, 5000


def limits():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_threads():
    limiter = threadpool_limits(2, user_api="blas")  # entered, it would belong to this thread
    yield
    limiter.restore_original_limits()


def test_small_work_has_one_thread_and_large_work_all():
    with blas_threads_for(SMALL):
        assert set(limits()) == {1}
    with blas_threads_for(LARGE):
        assert set(limits()) == {2}
    assert set(limits()) == {2}


def test_work_turns_to_the_other_kind_and_back():
    with blas_threads_for(SMALL):
        with blas_threads_for(LARGE):
            assert set(limits()) == {2}
            with blas_threads_for(SMALL):
                assert set(limits()) == {1}
            assert set(limits()) == {2}
        assert set(limits()) == {1}
    assert set(limits()) == {2}


def test_an_error_gives_the_limit_back():
    @undisturbed
    def fail():
        assert set(limits()) == {1}
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert set(limits()) == {2}


def test_work_that_ends_in_any_order_leaves_no_limit():
    """Each enters before the one before it leaves: the last to leave entered at a limit of 1."""
    entered, leave = [threading.Event() for _ in range(4)], [threading.Event() for _ in range(4)]

    def work(i):
        with blas_threads_for(SMALL):
            entered[i].set()
            leave[i].wait(10)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for i, thread in enumerate(threads):
        thread.start()
        assert entered[i].wait(10)
    for i in range(4):
        leave[i].set()
        threads[i].join(10)
        assert set(limits()) == ({2} if i == 3 else {1})


def test_kinds_never_meet():
    seen, lock = [], threading.Lock()

    def work(i):
        for rows in (SMALL, LARGE, SMALL) if i % 2 else (LARGE, SMALL, LARGE):
            with blas_threads_for(rows):
                for _ in range(3):
                    time.sleep(0.001)
                    with lock:
                        seen.append((rows, *set(limits())))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert set(seen) == {(SMALL, 1), (LARGE, 2)}
    assert set(limits()) == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_process_made_by_fork_starts_outside():
    inside, leave = threading.Event(), threading.Event()

    def work():
        with blas_threads_for(SMALL):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(10)
    child = os.fork()
    if child == 0:
        ok = set(limits()) == {2}
        with blas_threads_for(LARGE):
            ok = ok and set(limits()) == {2}
        os._exit(0 if ok else 1)
    leave.set()
    thread.join(10)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, sys.platform
