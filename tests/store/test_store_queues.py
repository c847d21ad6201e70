"""Queues: the order, the chance of being drawn, and each annotator's own way through."""

import pytest

from whileai_review.store import NotFoundError, RefusedError


@pytest.fixture
def run(fresh_db, make):
    return make.run(fresh_db)


def test_each_annotator_walks_the_order_of_the_queue(fresh_db, run, make):
    ids = make.ids(fresh_db, run)
    order = [ids[3], ids[0], ids[7]]
    queue = fresh_db.add_queue(run["id"], "q", "random", [(i, 0.15, None) for i in order])
    seen = []
    for n in range(3):
        seen.append(fresh_db.next_row(queue["id"], "anna")["row_id"])
        fresh_db.add_label(seen[-1], "anna", "pass", f"n{n}", queue_id=queue["id"])
    assert seen == order
    assert fresh_db.next_row(queue["id"], "anna") is None
    assert fresh_db.next_row(queue["id"], "ben")["row_id"] == order[0]


def test_later_puts_a_row_at_the_end_and_longest_ago_comes_first(fresh_db, run, make):
    queue = make.queue(fresh_db, run, 3)["id"]
    a, b, c = make.ids(fresh_db, run)[:3]
    fresh_db.defer(queue, "anna", b)
    fresh_db.defer(queue, "anna", a)
    assert fresh_db.next_row(queue, "anna") == {"row_id": c, "position": 2, "deferred": 0}
    fresh_db.add_label(c, "anna", "pass", "n1", queue_id=queue)
    assert fresh_db.next_row(queue, "anna") == {"row_id": b, "position": 1, "deferred": 1}
    fresh_db.defer(queue, "anna", b)
    assert fresh_db.next_row(queue, "anna")["row_id"] == a
    assert fresh_db.progress(queue, "anna")["later"] == 2
    assert fresh_db.next_row(queue, "ben")["row_id"] == a


def test_a_row_put_off_and_answered_through_another_queue_is_not_later(fresh_db, run, make):
    queue = make.queue(fresh_db, run, 3)["id"]
    other = make.queue(fresh_db, run, 3, name="other")["id"]
    row = make.ids(fresh_db, run)[0]
    fresh_db.defer(queue, "anna", row)
    fresh_db.add_label(row, "anna", "pass", "n1", queue_id=other)
    progress = fresh_db.progress(queue, "anna")
    assert (progress["done"], progress["later"], progress["n"]) == (1, 0, 3)


def test_only_a_row_of_the_queue_is_put_off(fresh_db, run, make):
    queue = make.queue(fresh_db, run, 3)["id"]
    with pytest.raises(NotFoundError, match="not in this queue"):
        fresh_db.defer(queue, "anna", make.ids(fresh_db, run)[5])


def test_the_same_queue_again_is_the_same_queue(fresh_db, run, make):
    first = make.queue(fresh_db, run, 5, seed=3, planned_n=5)
    assert make.queue(fresh_db, run, 5, seed=3, planned_n=5)["id"] == first["id"]
    assert make.queue(fresh_db, run, 5, seed=4, planned_n=5)["id"] != first["id"]


def test_a_row_given_twice_is_in_the_queue_once(fresh_db, run, make):
    ids = make.ids(fresh_db, run)
    rows = [(i, 0.1, None) for i in (ids[2], ids[2], ids[1])]
    queue = fresh_db.add_queue(run["id"], "q", "random", rows)
    assert fresh_db.queue(queue["id"])["n"] == fresh_db.progress(queue["id"], "anna")["n"] == 2


def test_a_queue_larger_than_a_batch_is_whole_or_not_there(fresh_db, make):
    run = make.run(fresh_db, n=4_500)
    queue = make.queue(fresh_db, run, how="census", p=1.0)
    assert fresh_db.queue(queue["id"])["n"] == 4_500
    assert [q["id"] for q in fresh_db.queues(run["id"])] == [queue["id"]]
    assert make.queue(fresh_db, run, how="census", p=1.0)["id"] == queue["id"]
    rows = [(i, 1.0, None) for i in [*make.ids(fresh_db, run), 99_999]]
    with pytest.raises(RefusedError, match="Row 99999 is not of this run"):
        fresh_db.add_queue(run["id"], "bad", "census", rows)
    assert [q["name"] for q in fresh_db.queues(run["id"])] == ["all"]


@pytest.mark.parametrize("how, p", [("random", 0.0), ("random", 1.1), ("whim", 0.5)])
def test_a_chance_or_a_way_of_drawing_that_cannot_be_is_refused(fresh_db, run, make, how, p):
    with pytest.raises(RefusedError):
        make.queue(fresh_db, run, how=how, p=p)


def test_pace_leaves_pauses_out(fresh_db, run, make, monkeypatch):
    queue = make.queue(fresh_db, run)["id"]
    # three gaps of 30 s and one of an hour: 120 an hour
    times = ["10:00:00", "10:00:30", "10:01:00", "11:01:00", "11:01:30"]
    for n, row in enumerate(make.ids(fresh_db, run)[:5]):
        stamp = f"2026-01-01T{times[n]}.000+00:00"
        monkeypatch.setattr("whileai_review.store.labels.now", lambda stamp=stamp: stamp)
        fresh_db.add_label(row, "anna", "pass", f"n{n}", queue_id=queue)
    assert fresh_db.progress(queue, "anna")["per_hour"] == pytest.approx(120, rel=1e-3)


def test_a_closed_queue_leaves_the_lists_and_its_labels_stay(fresh_db, run, make):
    queue = make.queue(fresh_db, run)["id"]
    fresh_db.add_label(make.ids(fresh_db, run)[0], "anna", "pass", "n1", queue_id=queue)
    fresh_db.close_queue(queue, "lead")
    assert fresh_db.queues() == []
    assert len(fresh_db.labels(run["id"])) == 1
