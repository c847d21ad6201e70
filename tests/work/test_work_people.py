"""People's own agreement from the store: blind labels of drawn rows, one a person."""

import pytest

from whileai_review import work
from whileai_review.charts.checks import check_notes, trust_checks
from whileai_review.work.trust_report import trust_html


def people_line(report):
    """The line under the judge's kappa."""
    notes = check_notes(report, trust_checks(report))
    found = [(n, note) for n, note in enumerate(notes) if note.startswith("People")]
    assert all(notes[n - 1].startswith("Kappa: ") for n, _ in found)
    return found[0][1] if found else ""


@pytest.fixture
def twice(store, put, judged):
    """30 rows of 10 tasks labelled by ana and bo, who differ on every fifth."""
    run = put(judged(30))
    queue = work.draw_queue(store, run["id"], "census")["id"]
    store.choose(run["id"], gold="human")
    for i, row_id in enumerate(store.queue_row_ids(queue)):
        said = ("pass", "fail")[i % 2]
        other = ("fail", "pass")[i % 2]
        store.add_label(row_id, "ana", said, f"a{i}", queue_id=queue)
        store.add_label(row_id, "bo", other if i % 5 == 0 else said, f"b{i}", queue_id=queue)
    return run["id"], queue


def test_two_people_on_the_same_rows(store, twice):
    people = work.trust(store, twice[0])["people"]
    assert people["value"] == 24 / 30 and (people["n"], people["n_tasks"]) == (30, 10)


def test_it_is_that_of_the_same_rows_in_a_file(store, twice):
    from whileai_review import judge_trust

    rows = []
    for row_id in store.queue_row_ids(twice[1]):
        labels = [
            {
                "label": int(each["verdict"] == "pass"),
                "annotator": each["annotator"],
                "kind": "human",
            }
            for each in store.labels_of(row_id)
        ]
        task = store.briefs([row_id], None, "")[0]["task"]
        rows.append({"task_id": task, "reward": 1, "gold_labels": labels})
    assert judge_trust(rows)["people"] == {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in work.trust(store, twice[0])["people"].items()
    }


def test_the_line_stands_beside_the_judges_kappa(store, twice):
    line = people_line(work.trust(store, twice[0]))
    assert line.startswith("People agree 80% [")
    assert "n=30 rows, 10 tasks" in line
    assert line in trust_html(store, twice[0])


def test_a_changed_mind_counts_once(store, twice):
    run, queue = twice
    row = store.queue_row_ids(queue)[0]
    now = {each["annotator"]: each["verdict"] for each in store.labels_of(row)}
    store.add_label(row, "bo", now["ana"], "again", queue_id=queue, change=True)
    assert work.trust(store, run)["people"]["value"] == 25 / 30


def test_one_person_a_row_says_nothing(store, put, judged):
    run = put(judged(30))["id"]
    queue = work.draw_queue(store, run, "census")["id"]
    store.choose(run, gold="human")
    for i, row_id in enumerate(store.queue_row_ids(queue)):
        store.add_label(row_id, ("ana", "bo")[i % 2], "pass", f"a{i}", queue_id=queue)
    report = work.trust(store, run)
    assert report["people"] is None and people_line(report) == ""
    assert "People agree" not in trust_html(store, run)


def test_labels_of_picked_rows_are_no_estimate_of_people_either(store, put, judged):
    run = put(judged(30))["id"]
    store.choose(run, gold="human")
    census = work.draw_queue(store, run, "census")["id"]
    rows = store.queue_row_ids(census)
    picked = store.add_queue(run, "hard", "picked", [(r, None, None) for r in rows[:6]])["id"]
    for i, row_id in enumerate(rows[:6]):
        store.add_label(row_id, "ana", "pass", f"a{i}", queue_id=picked)
        store.add_label(row_id, "bo", "fail", f"b{i}", queue_id=picked)
    assert work.trust(store, run)["people"] is None
