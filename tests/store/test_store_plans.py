"""Hot questions are answered through an index, with work that the size of the run does not set."""

import re
import sqlite3  # noqa: TID251
from contextlib import contextmanager

import pytest

CALLS = {
    "next row": lambda s, q, r: s.next_row(q, "anna"),
    "progress": lambda s, q, r: s.progress(q, "anna"),
    "label": lambda s, q, r: s.add_label(r, "anna", "pass", f"new {r}", queue_id=q),
    "undo": lambda s, q, r: s.undo_label("anna", "undo", q),
    "later": lambda s, q, r: s.defer(q, "ben", r),
    "my last": lambda s, q, r: s.my_last("anna", q),
    "one row": lambda s, q, r: s.row(r),
    "its verdicts": lambda s, q, r: s.verdicts_of(r),
    "its labels": lambda s, q, r: s.labels_of(r),
    "revision": lambda s, q, r: s.label_revision("base", "overall"),
    "criteria": lambda s, q, r: s.criteria("base"),
    "a page of rows": lambda s, q, r: s.briefs([r, r + 1], 1, "overall"),
}


def store_with(make, store, n):
    run = make.run(store, n=n)
    queue = make.queue(store, run)["id"]
    ids = make.ids(store, run)
    for i, row in enumerate(ids[:20]):
        store.add_label(row, "anna", "pass", f"n{i}", queue_id=queue)
    return queue, ids[30]


@contextmanager
def steps_counted(store):
    """Instructions of SQLite's virtual machine, in hundreds: the same on every machine."""
    counted = [0]
    connections = store._connections
    while not connections._idle.empty():
        connections._discard(connections._idle.get())
    conn = connections._take()
    conn.set_progress_handler(lambda: counted.__setitem__(0, counted[0] + 1) or 0, 100)
    connections._give(conn)
    yield counted
    conn.set_progress_handler(None, 0)


@pytest.fixture(scope="module")
def sizes(make_static, tmp_path_factory):
    from whileai_review.store import open_store

    found = {}
    for n in (300, 6_000):
        store = open_store(tmp_path_factory.mktemp("plans") / "review.db")
        found[n] = (store, *store_with(make_static, store, n))
    yield found
    for store, *_ in found.values():
        store.close()


@pytest.mark.parametrize("name", CALLS)
def test_work_does_not_grow_with_the_run(sizes, name):
    work = {}
    for n, (store, queue, row) in sizes.items():
        with steps_counted(store) as counted:
            CALLS[name](store, queue, row)
        work[n] = counted[0]
    assert work[6_000] <= work[300] * 1.5 + 3, work


def test_no_statement_of_a_hot_call_scans_a_table(sizes):
    """EXPLAIN QUERY PLAN of what SQLite was really asked, traced."""
    store, queue, row = sizes[300]
    asked: set[str] = set()
    conn = store._connections._take()
    conn.set_trace_callback(asked.add)
    store._connections._give(conn)
    for n, call in enumerate(CALLS.values()):
        call(store, queue, row + 10 + n)
    conn.set_trace_callback(None)
    plans = sqlite3.connect(store.path)
    scans = []
    for sql in asked:
        if re.match(r"\s*(SELECT|DELETE|UPDATE|INSERT)", sql):
            for line in plans.execute(f"EXPLAIN QUERY PLAN {sql}"):
                if re.match(r"SCAN (?!CONSTANT|sqlite_sequence)", line[3]):
                    scans.append((line[3], sql))
    plans.close()
    assert scans == []
