import pytest
from scipy.stats import binomtest

from whileai_review import work
from whileai_review.work.headlines import claim_words, review_words


def wilson(k, n):
    return list(binomtest(k, n).proportion_ci(method="wilson"))


# What the false passes name and never call


def test_claims_of_the_recipe_read_as_published(store, recipe):
    # Recipe: announced, never called: 15 of 18 in BIG and 26 of 39 in SMALL.
    found = work.claims(store, recipe["id"], criterion="action")
    assert (found["announced"]["k"], found["n"], found["n_cell"]) == (15 + 26, 57, 57)
    assert found["announced"]["ci95"] == pytest.approx(wilson(41, 57))
    assert claim_words(found).startswith("41 of 57 false passes name the tool and never call it")


def test_claims_follow_the_labels_of_the_cell(store, put, press):
    rows = [
        {"scenario_id": f"t{n}", "rollout_index": 0, "prompt": "refund me", "reward": 1,
         "final_text": "I issued the credit.", "tools": ["issue_credit"],
         "steps": [{"tool": "issue_credit", "arguments": {}, "result": {}}] if n % 2 else []}
        for n in range(4)
    ]  # fmt: skip
    run = put(rows)
    assert work.claims(store, run["id"])["n"] == 0
    work.label_by_rule(store, run["id"], lambda row: int(bool(row["steps"])), "done")
    found = work.claims(store, run["id"])
    assert (found["n"], found["announced"]["k"]) == (2, 2)
    passes = work.claims(store, run["id"], "tp")
    assert (passes["n"], passes["announced"]["k"]) == (2, 0)
    # As many rows in the cell, but others.
    work.label_by_rule(store, run["id"], lambda row: int(not row["steps"]), "done")
    other = work.claims(store, run["id"])
    assert (other["n"], other["announced"]["k"]) == (2, 0)
    work.label_by_rule(store, run["id"], lambda row: 1, "done")
    assert work.claims(store, run["id"])["n"] == 0


# Who was wrong


def test_the_answers_to_a_review_say_who_was_wrong(store, put, press):
    # (judge, gold, answer) -> who was wrong, by hand.
    cases = [
        (1, 0, "fail", "judge_wrong"),
        (1, 0, "fail", "judge_wrong"),
        (1, 0, "pass", "gold_wrong"),
        (0, 1, "pass", "judge_wrong"),
        (0, 1, "unclear", "unclear"),
        (1, 1, "pass", "both_right"),
        (0, 0, "fail", "both_right"),
        (1, 1, "fail", "both_wrong"),
        (0, 1, None, None),
    ]
    rows = [
        {"scenario_id": f"t{n}", "rollout_index": 0, "prompt": f"p{n}", "final_text": "x",
         "reward": judge, "truth": gold}
        for n, (judge, gold, _, _) in enumerate(cases)
    ]  # fmt: skip
    run = put(rows)
    work.label_by_rule(store, run["id"], lambda row: row["truth"], "r")
    queue = work.review_queue(store, run["id"], agreeing_share=1)
    ids = store.tasks_of(run["id"])[0]
    for row_id, (_, _, said, _) in zip(ids, cases, strict=True):
        if said is not None:
            press(queue, row_id, said)
    outside = work.draw_queue(store, run["id"], "census")
    press(outside, ids[8], "pass", annotator="bo")  # not said in the review
    found = work.review_result(store, queue["id"])
    expected = {
        who: sum(case[3] == who for case in cases)
        for who in ("judge_wrong", "gold_wrong", "both_right", "both_wrong", "unclear")
    }
    assert found == {"n": 9, "n_answered": 8, **expected}
    assert review_words(found).startswith("8 of 9 rows answered: 3 the judge was wrong, 1 the gold")
    # A second and a third reader: the majority counts, the row counts once; a tie is unclear.
    for annotator, said in (("bo", "pass"), ("cy", "pass")):
        press(queue, ids[0], said, annotator=annotator)
    press(queue, ids[1], "pass", annotator="bo")
    again = work.review_result(store, queue["id"])
    assert (again["n_answered"], again["judge_wrong"], again["gold_wrong"]) == (8, 1, 2)
    assert again["unclear"] == 2


# A second judge


def test_a_second_judge_has_a_report_of_its_own_and_a_second_join_replaces_the_first(
    store, put, judged, lines
):
    run = put(judged(12), grader="first")
    work.label_by_rule(store, run["id"], lambda row: row["reward"], "same")

    def joined(verdict):
        given = [{"key": key, "reward": verdict} for key in store.identities(run["id"])[1]]
        work.join_verdicts(store, run["id"], "second", lines(given, "v.jsonl"))
        return work.trust(store, run["id"], grader="second")

    first = work.trust(store, run["id"], grader="first")
    assert first["n_cells"] == {"tp": 6, "fp": 0, "fn": 0, "tn": 6}
    assert joined(1)["n_cells"] == {"tp": 6, "fp": 6, "fn": 0, "tn": 0}
    assert joined(0)["n_cells"] == {"tp": 0, "fp": 0, "fn": 6, "tn": 6}
    assert [g["name"] for g in store.run(run["id"])["graders"]] == ["first", "second"]
    assert work.trust(store, run["id"])["n_cells"] == first["n_cells"]


# Labels of one run on the same rollouts of another


def test_labels_are_carried_only_to_rollouts_of_the_same_content(store, put, judged, press):
    old = put(judged(6), "old")
    queue = work.draw_queue(store, old["id"], "census")
    for row_id in store.tasks_of(old["id"])[0][:4]:
        press(queue, row_id, "fail", note="seen")
    rows = judged(7)
    rows[1]["final_text"] = "another reply"
    rows[2]["reward"] = 1 - rows[2]["reward"]  # judged anew, the same rollout
    new = put(rows, "new")
    assert [(o["run"], o["n"]) for o in store.label_offers(new["id"])] == [("old", 3)]
    counts = work.carry_labels(store, new["id"], old["id"])
    assert (counts["new"], counts["changed"]) == (3, 0)
    carried = store.labels(new["id"])
    assert [x["identity"] for x in carried] == ["t0#0", "t0#2", "t1#0"]
    assert {(x["annotator"], x["verdict"], x["note"], x["chosen"]) for x in carried} == {
        ("ana", "fail", "seen", "census")
    }
    assert [x["carried_from"] for x in carried] == [
        x["id"] for x in store.labels(old["id"]) if x["identity"] != "t0#1"
    ]
    assert [x["ts"] for x in carried] == [
        x["ts"] for x in store.labels(old["id"]) if x["identity"] != "t0#1"
    ]
    again = work.carry_labels(store, new["id"], old["id"])
    assert (again["new"], again["changed"], again["unchanged"]) == (0, 0, 3)
    assert store.label_offers(new["id"]) == []
    assert len(store.labels(old["id"])) == 4


def test_labels_of_a_deleted_run_are_carried_to_the_run_that_takes_its_place(
    store, put, judged, press
):
    old = put(judged(3), "old")
    queue = work.draw_queue(store, old["id"], "census")
    press(queue, store.tasks_of(old["id"])[0][0], "pass")
    store.delete_run(old["id"])
    new = put(judged(3), "new")
    offer = store.label_offers(new["id"])[0]
    assert (offer["run"], offer["n"]) == (None, 1)
    assert work.carry_labels(store, new["id"], offer["run_id"])["new"] == 1
    assert [x["verdict"] for x in store.labels(new["id"])] == ["pass"]


def test_an_undo_takes_back_the_label_that_the_screen_named(store, put, judged, press):
    run = put(judged(3))
    queue = work.draw_queue(store, run["id"], "census")
    ids = store.queue_row_ids(queue["id"])
    first, second = (press(queue, row_id, "pass") for row_id in ids[:2])
    undone = press(queue, ids[0], "undo", last_label=first["label_id"])
    assert undone["row_id"] == ids[0]
    assert [x["row_id"] for x in store.labels(run["id"])] == [ids[1]]
    # Of somebody else's label an undo is nothing.
    assert press(queue, ids[1], "undo", annotator="bo", last_label=second["label_id"]) is None
    assert len(store.labels(run["id"])) == 1
