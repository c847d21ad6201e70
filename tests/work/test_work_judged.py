"""What a process keeps between two reports is what it would read anew."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_review import work
from whileai_review.load import Mapping
from whileai_review.store import RefusedError, open_store
from whileai_review.work import judged, measuring

N = 12


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    path = folder / "base.jsonl"
    rows = [
        {"scenario_id": f"t{i // 3}", "rollout_index": i % 3, "prompt": "p", "final_text": f"r{i}",
         "reward": i % 2}
        for i in range(N)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(folder / "review.db") as store:
        run = work.load_file(store, path, mapping=Mapping({"reward": "reward"}))["runs"][0]["id"]
        drawn = work.draw_queue(store, run, "census")
        picked = work.picked_queue(store, run, store.tasks_of(run)[0][:4], "picked")
        yield store, run, [drawn["id"], picked["id"], None]


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["label", "label", "label", "undo", "import"]),
        st.integers(0, N - 1),
        st.sampled_from(["ana", "bo"]),
        st.sampled_from(["pass", "fail", "unclear"]),
        st.integers(0, 2),
        st.sampled_from([None, "2026-12-01T10:00:00Z"]),
    ),
    min_size=1,
    max_size=6,
)


def do(store, run, queues, act, nonce):
    what, place, who, verdict, queue, unblinded = act
    row_id = store.tasks_of(run)[0][place]
    try:
        if what == "undo":
            store.undo_label(who, nonce)
        elif what == "import":
            label = {"row_id": row_id, "identity": store.row(row_id)["identity"],
                     "criterion": "overall", "annotator": f"rule:{who}", "kind": "program",
                     "verdict": verdict, "chosen": "census"}  # fmt: skip
            store.put_labels(run, [label])
        else:
            store.add_label(row_id, who, verdict, nonce, queue_id=queues[queue],
                            unblinded_at=unblinded, change=True)  # fmt: skip
    except RefusedError:
        pass  # a row that this queue lacks, nothing to take back


def told(ids, cols, labels):
    """Everything that a report can see, with kinds by name."""
    kinds = [cols.kinds[k] if g >= 0 else None for k, g in zip(cols.kind, cols.gold, strict=True)]
    records = {row: given for row, given in labels.records.items() if given}
    return (
        list(ids), cols.gold.tolist(), kinds, cols.people, cols.judge.tolist(), records,
        labels.chosen, labels.chances, labels.queues, labels.unclear, labels.picked,
        labels.unblinded,
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(acts=ACTS)
def test_what_is_kept_is_what_would_be_read(opened, acts):
    store, run, queues = opened
    do.count = getattr(do, "count", 0)
    for act in acts:
        do.count += 1
        do(store, run, queues, act, f"press {do.count}")
    for gold in ("human", "program"):
        key = (*measuring.measured_as(store, run)[:2], gold, "overall")
        kept = told(*judged.measured_rows(store, key, keep=True))
        assert kept == told(*judged.measured_rows(store, key, keep=False))


def test_many_new_labels_are_read_all_at_once(opened, monkeypatch):
    store, run, _ = opened
    key = (*measuring.measured_as(store, run)[:2], "program", "overall")
    judged.measured_rows(store, key, keep=True)
    monkeypatch.setattr(judged, "AT_ONCE", 2)
    for place in range(5):
        do(store, run, [], ("import", place, "cy", "pass", 0, None), "")
    kept = told(*judged.measured_rows(store, key, keep=True))
    assert kept == told(*judged.measured_rows(store, key, keep=False))


def test_what_is_returned_is_the_callers_own(opened):
    store, run, _ = opened
    key = (*measuring.measured_as(store, run)[:2], "program", "overall")
    before = judged.measured_rows(store, key, keep=True)[1]
    before.gold[:] = 7
    before.people.append((0, 9, 9))
    again = judged.measured_rows(store, key, keep=True)[1]
    assert 7 not in again.gold and (0, 9, 9) not in again.people
    assert np.array_equal(again.gold, judged.measured_rows(store, key, keep=False)[1].gold)
