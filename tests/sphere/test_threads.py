"""Chunks and threads: order, bounded work, errors."""

import threading

import pytest

from vish.sphere.threads import CHUNK_ROWS, map_in_order, row_chunks, thread_count


def test_chunks_cover_the_rows_once():
    for n in (0, 1, CHUNK_ROWS, CHUNK_ROWS + 1, 5 * CHUNK_ROWS - 1):
        covered = [row for chunk in row_chunks(n) for row in range(n)[chunk]]
        assert covered == list(range(n))


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_results_come_in_order(n_jobs):
    assert list(map_in_order(lambda i: i * i, range(100), n_jobs)) == [i * i for i in range(100)]


def test_work_under_way_is_bounded():
    drawn = []
    results = map_in_order(lambda i: i, (drawn.append(i) or i for i in range(1000)), 2)
    next(results)
    assert len(drawn) <= 5
    results.close()


def test_an_error_stops_the_work():
    started, lock = [], threading.Lock()

    def fail(i):
        with lock:
            started.append(i)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        list(map_in_order(fail, range(1000), 2))
    assert len(started) <= 8


def test_thread_count(monkeypatch):
    monkeypatch.setenv("VISH_NUM_THREADS", "3")
    assert [thread_count(n) for n in (None, -1, -2, -9, 1, 7)] == [3, 3, 2, 1, 1, 7]
    with pytest.raises(ValueError, match="n_jobs is 0"):
        thread_count(0)
