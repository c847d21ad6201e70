"""How common a code is and whether reading brings new ones, against numbers made by hand."""

import json

import pytest

from whileai_review import work
from whileai_review.store import open_store
from whileai_review.work import coding, pool


@pytest.fixture
def store(tmp_path):
    """12 rows of 4 tasks, three rollouts each; tasks 0 and 1 are BIG, 2 and 3 SMALL."""
    rows = [
        {
            "scenario_id": f"t{i // 3}", "rollout_index": i % 3, "prompt": f"ask {i // 3}",
            "final_text": f"reply {i}", "reward": 1, "regime": "BIG" if i < 6 else "SMALL",
        }
        for i in range(12)
    ]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(tmp_path / "review.db") as opened:
        work.load_file(opened, path)
        yield opened


@pytest.fixture
def ids(store):
    return store.tasks_of(1)[0]


def label(store, row, note=None, queue=None, who="ana", **about):
    receipt = store.add_label(row, who, "fail", f"{who} {row}", queue_id=queue, note=note, **about)
    return ("label", receipt["label_id"])


def test_a_share_is_of_reviewed_rows_with_the_interval_of_tasks(store, ids):
    # Ten rows reviewed, tasks of 3, 3, 3, 1; "a" on all of the first task and one of the second.
    notes = [label(store, row, note=f"n{row}") for row in ids[:10]]
    store.give_code(1, notes[:4], "a", "ben")
    found = work.code_counts(store, 1)
    (a,) = found["codes"]
    assert (a["name"], a["k"], a["n"], a["n_tasks"], a["value"]) == ("a", 4, 10, 4, 0.4)
    # statistics.md 5 by hand: s = (3, 1, 0, 0), m = (3, 3, 3, 1), p = .4,
    # sum (s - m p)^2 = 1.8^2 + .2^2 + 1.2^2 + .4^2 = 4.88; V = 4/3 * 4.88 / 100 = .0650667;
    # deff = V / (.24 / 10) = 2.71111.
    assert a["deff"] == pytest.approx(2.71111, abs=1e-5)
    # Wilson of 4/2.7111 in 10/2.7111 with t(3) = 3.182446.
    t, n = 3.182446305, 10 / 2.7111111
    centre = (0.4 + t * t / (2 * n)) / (1 + t * t / n)
    half = t / (1 + t * t / n) * (0.24 / n + t * t / (4 * n * n)) ** 0.5
    assert a["ci95_tasks"] == pytest.approx([centre - half, centre + half], abs=1e-6)
    # statsmodels: proportion_confint(4, 10, method="wilson")
    assert a["ci95"] == pytest.approx([0.16818, 0.68733], abs=1e-5)
    assert (found["n_notes"], found["n_open"], found["n_open_rows"]) == (10, 6, 6)


def test_a_row_counts_once_for_a_code_whoever_noted_it(store, ids):
    notes = [label(store, ids[0], "x"), label(store, ids[0], "y", who="ben")]
    store.give_code(1, notes, "a", "ana")
    store.add_finding(ids[0], "cause", "carl", code="a")
    (a,) = work.code_counts(store, 1)["codes"]
    assert (a["k"], a["n"]) == (1, 1)


def test_drawn_rows_stand_apart_from_rows_that_were_picked_to_be_read(store, ids):
    queue = store.add_queue(1, "q", "random", [(row, 0.5, None) for row in ids[:4]])["id"]
    notes = [label(store, row, "n", queue=queue) for row in ids[:2]]
    notes.append(label(store, ids[2], "n", queue=queue, unblinded_at="2026-01-01"))
    for row in ids[6:9]:
        store.add_finding(row, "read", "ana")
        store.add_finding(row, "cause", "ana", code="a")
    store.give_code(1, [notes[0]], "a", "ana")
    everything, drawn = work.code_counts(store, 1), work.code_counts(store, 1, drawn=True)
    assert (everything["n"], everything["n_drawn"], drawn["n"]) == (6, 2, 2)
    assert (everything["codes"][0]["k"], drawn["codes"][0]["k"]) == (4, 1)
    assert (everything["n_open_rows"], drawn["n_open_rows"]) == (2, 1)


def test_slices_of_a_code_have_their_own_rows_and_tasks(store, ids):
    notes = [label(store, row, "n") for row in ids[:8]]
    store.give_code(1, [notes[i] for i in (0, 1, 6)], "a", "ana")
    code = store.codes()[0]["id"]
    big, small = work.code_slices(store, 1, code, "regime")
    assert (big["value"], big["k"], big["n"], big["n_tasks"]) == ("BIG", 2, 6, 2)
    assert (small["value"], small["k"], small["n"], small["n_tasks"]) == ("SMALL", 1, 2, 1)
    assert small["ci95_tasks"] is None  # one task says nothing about others
    assert big["share"] == pytest.approx(1 / 3)


def test_a_merge_and_an_undone_one_are_counted_anew(store, ids):
    notes = [label(store, row, "n") for row in ids[:3]]
    store.give_code(1, notes[:2], "a", "ana")
    store.give_code(1, notes[1:], "b", "ana")
    ks = lambda: {c["name"]: c["k"] for c in work.code_counts(store, 1)["codes"]}  # noqa: E731
    assert ks() == {"a": 2, "b": 2}
    a, b = (c["id"] for c in store.codes())
    store.merge_codes([b], a, "ana")
    assert ks() == {"a": 3}
    store.undo_code_change(store.code_changes(1)[0]["id"], "ben")
    assert ks() == {"a": 2, "b": 2}


def test_saturation_counts_codes_that_no_row_before_had():
    # Rows: A, A, AB, -, C and then 19 times A: the last twenty bring C alone.
    found = [{1}, {1}, {1, 2}, {1}, {3}, *[{1}] * 19]
    said = coding.saturation(found, [f"t{i}" for i in range(24)])
    assert (said["n_rows"], said["n_codes"], said["last"], said["new"], said["once"]) == (
        24, 3, 20, 1, 2,
    )  # fmt: skip
    assert said["bringing"]["k"] == 1
    # statsmodels: proportion_confint(1, 20, method="wilson")
    assert said["bringing"]["ci95"] == pytest.approx([0.00888, 0.23613], abs=1e-5)


def test_saturation_of_nothing_of_few_and_of_one_task():
    assert coding.saturation([], [])["bringing"]["value"] is None
    few = coding.saturation([{1, 2}, {2}], ["t", "t"])
    assert (few["last"], few["new"], few["bringing"]["k"], few["once"]) == (2, 2, 1, 1)
    none = coding.saturation([{1}] * 21, ["t"] * 21)["bringing"]
    assert none["ci95"][1] == pytest.approx(0.16113, abs=1e-5)  # 0 of 20, Wilson
    assert none["ci95_tasks"] is None


def test_rows_are_looked_at_in_the_order_of_their_review_not_of_coding(store, ids):
    for row in ids:
        label(store, row, "n")
    notes = {each["row_id"]: each["note"] for each in store.notes(1)}
    store.give_code(1, [notes[ids[11]]], "late", "ana")  # coded first, reviewed last
    store.give_code(1, [notes[row] for row in ids[:11]], "early", "ana")
    assert work.code_counts(store, 1)["saturation"]["new"] == 2
    assert coding.saturation([{1}] * 11 + [{2}], [0] * 12, last=1)["new"] == 1


def test_lists_are_filtered_by_code_text_and_field(store, ids):
    notes = [label(store, row, f"Note {n}") for n, row in enumerate(ids)]
    store.give_code(1, notes[:2], "a", "ana")
    code = store.codes()[0]["id"]
    listed = lambda **how: [n["row_id"] for n in work.note_list(store, 1, **how)]  # noqa: E731
    assert listed() == ids
    assert listed(code=code) == ids[:2]
    assert listed(code="none") == ids[2:]
    assert listed(text="note 1") == [ids[1], ids[10], ids[11]]
    assert listed(code="none", field="regime", value="BIG") == ids[2:6]
    assert listed(field="regime", value="nothing") == []


def test_reviewed_rows_without_a_note_are_coded_by_what_the_judge_said(store, ids):
    label(store, ids[0], "noted")
    label(store, ids[1])
    store.add_finding(ids[2], "read", "ana")
    assert [each["note"] for each in work.reason_list(store, 1)] == [
        ("row", ids[1]), ("row", ids[2]),
    ]  # fmt: skip
    store.give_code(1, [("row", ids[1])], "a", "ana")
    assert work.reason_list(store, 1)[0]["code_ids"] == [store.codes()[0]["id"]]


def test_a_run_without_notes_has_no_codes_and_no_error(store):
    found = work.code_counts(store, 1)
    assert (found["n"], found["codes"], found["n_notes"]) == (0, [], 0)
    assert found["saturation"]["last"] == 0
    assert work.note_list(store, 1) == work.reason_list(store, 1) == []


def test_what_was_counted_is_kept_until_something_changes(store, ids, monkeypatch):
    note = label(store, ids[0], "n")
    store.give_code(1, [note], "a", "ana")
    first = work.code_counts(store, 1)
    monkeypatch.setattr(coding, "_computed", None)
    store.mark_seen(ids[3:6], "carl")  # who only looked has changed nothing
    assert work.code_counts(store, 1) == first
    assert first["n"] < pool.ROWS
