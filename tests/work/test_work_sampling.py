"""Draws with unequal chances, through the store: what the estimates of a run are then."""

import json

import numpy as np
import pytest

from whileai_review import judge_trust, work
from whileai_review.store import NotFoundError, RefusedError
from whileai_review.work.drawing import allocate

PASSES, FAILS = 320, 80


@pytest.fixture
def run(put):
    """400 rows, two a task; the judge passes 320. BIG is every fourth row."""
    return put(
        [
            {
                "task_id": f"t{i // 2}",
                "rollout_index": i % 2,
                "prompt": f"ask {i // 2}",
                "final_text": f"reply {i}",
                "regime": "BIG" if i % 4 == 0 else "SMALL",
                "shop": f"shop {i // 2}",
                "reward": int(i < PASSES),
            }
            for i in range(PASSES + FAILS)
        ]
    )


def place(store, run):
    return {row_id: n for n, row_id in enumerate(store.tasks_of(run["id"])[0])}


def label(store, queue, verdict_of, annotator="ana", n=None):
    """Answer the first n rows of a queue by a function of the row's place in the run."""
    at = place(store, {"id": queue["run_id"]})
    rows = store.queue_row_ids(queue["id"])[:n]
    for row_id in rows:
        verdict = verdict_of(at[row_id])
        store.add_label(
            row_id, annotator, verdict, f"{annotator} {queue['id']} {row_id}", queue_id=queue["id"],
            criterion=queue["criterion"],
        )  # fmt: skip
    return [at[row_id] for row_id in rows]


def truth(i):
    """Right on passes but for every fifth; right on half of what it fails."""
    passes = i % 5 > 0 if i < PASSES else i % 2 == 0
    return "pass" if passes else "fail"


def test_by_verdict_the_estimates_are_those_of_the_run(store, run):
    queue = work.draw_queue(store, run["id"], "stratified", 60)
    assert {s["stratum"]: (s["rows"], s["drawn"]) for s in queue["strata"]} == {
        "fail": (80, 30),
        "pass": (320, 30),
    }
    drawn = label(store, queue, truth)
    report = work.trust(store, run["id"])
    right = {
        True: sum(truth(i) == "pass" for i in drawn if i < PASSES),
        False: sum(truth(i) == "fail" for i in drawn if i >= PASSES),
    }
    # By hand: the share right in each stratum of 30, times its rows.
    tp, tn = right[True] / 30 * PASSES, right[False] / 30 * FAILS
    assert report["agreement"]["agreement"] == pytest.approx((tp + tn) / 400)
    assert report["tpr"]["value"] == pytest.approx(tp / (tp + FAILS - tn))
    assert report["tnr"]["value"] == pytest.approx(tn / (tn + PASSES - tp))
    assert report["agreement"]["confusion"]["tp"] == right[True]
    assert report["agreement"]["n"] == 60 and report["weighted"]["n_outside"] == 0
    assert report["weighting"]["words"] == "weighted: rows were drawn by the judge's verdict"
    assert "drawn by the judge's verdict" in report["headline"]["grey"]
    # The corrected pass rate and the slices rest on the same weights.
    gold_pass = (tp + FAILS - tn) / 400
    assert report["corrected"]["labels_only"]["value"] == pytest.approx(gold_pass)
    found = work.slices(store, run["id"], "regime")
    assert found["all"]["agreement"] == pytest.approx((tp + tn) / 400)
    assert all(line["weighted"] for line in found["rows"])
    certificate = work.certificate_of(store, run["id"])
    assert certificate["bounds"]["agreement"]["value"] == pytest.approx((tp + tn) / 400, abs=1e-8)


def test_a_random_draw_gives_the_numbers_of_judge_trust(store, run):
    queue = work.draw_queue(store, run["id"], "random", 60)
    label(store, queue, truth)
    report = work.trust(store, run["id"])
    rows = list(work.export_labels(store, run["id"], for_estimate=True))
    assert report["weighted"] is None and report["weighting"]["words"] == ""
    plain = judge_trust(rows)
    # The rows of the file have their own order: what depends on the draws of the bootstrap is near.
    for key in ("tpr", "tnr", "reward_in_error", "baseline", "plan", "state", "n_tasks"):
        assert report[key] == json.loads(json.dumps(plain[key])), key
    for key in ("agreement", "kappa", "ci95", "ci95_tasks", "confusion"):
        assert report["agreement"][key] == json.loads(json.dumps(plain["agreement"][key])), key


def test_by_a_field_and_at_random_are_pooled_by_the_rows_of_each_kind(store, run):
    by_field = work.draw_queue(store, run["id"], "stratified", 40, field="regime")
    assert [s["stratum"] for s in by_field["strata"]] == ["BIG", "SMALL"]
    drawn = label(store, by_field, truth)
    more = work.draw_queue(store, run["id"], "random", 40)
    drawn += [i for i in label(store, more, truth, annotator="ana2") if i not in drawn]
    report = work.trust(store, run["id"])
    agrees = {i: (i < PASSES) == (truth(i) == "pass") for i in drawn}
    shares = {
        big: np.mean([agrees[i] for i in agrees if (i % 4 == 0) == big]) for big in (True, False)
    }
    assert report["agreement"]["agreement"] == pytest.approx(
        (shares[True] * 100 + shares[False] * 300) / 400
    )
    assert "by regime" in report["weighting"]["words"]


def test_labels_of_a_group_are_about_the_group_and_say_so(store, run):
    queue = work.draw_queue(store, run["id"], "group", 40, field="regime", value="BIG")
    drawn = label(store, queue, truth)
    report = work.trust(store, run["id"])
    assert report["weighted"] is None  # equal chances within the group
    agrees = [(i < PASSES) == (truth(i) == "pass") for i in drawn]
    assert report["agreement"]["agreement"] == pytest.approx(np.mean(agrees))
    assert report["weighting"]["scope"] == "rows of regime BIG only"
    assert "rows of regime BIG only" in report["headline"]["grey"]
    assert report["coverage"]["group"] == 40 and report["coverage"]["random"] == 0
    assert report["corrected"] is None


def test_picked_rows_are_in_no_estimate_and_are_said(store, run):
    first = store.tasks_of(run["id"])[0][0]
    store.add_label(first, "bo", "fail", "alone")  # no queue: picked
    queue = work.draw_queue(store, run["id"], "stratified", 20)
    rows = [r for r in store.queue_row_ids(queue["id"]) if r != first]
    for row_id in rows:
        store.add_label(row_id, "ana", "pass", f"n{row_id}", queue_id=queue["id"])
    report = work.trust(store, run["id"])
    assert report["agreement"]["n"] == len(rows)
    assert report["coverage"]["picked"] == 1
    assert "1 picked or seen first, kept out" in report["headline"]["grey"] or report["interim"]


def test_rows_that_the_judge_was_shown_leave_with_their_task(store, run):
    queue = work.draw_queue(store, run["id"], "census")
    label(store, queue, truth)
    before = work.trust(store, run["id"])
    assert before["agreement"]["n"] == 400 and before["weighting"]["n_shown"] == 0
    ids = store.tasks_of(run["id"])[0]
    grader = run["graders"][0]["id"]
    assert store.mark_shown(run["id"], grader, [ids[0], ids[5]]) == 2
    report = work.trust(store, run["id"])
    assert report["agreement"]["n"] == 396  # two tasks of two rollouts
    assert (report["weighting"]["n_shown"], report["coverage"]["shown"]) == (4, 4)
    assert any("the judge was shown rows of 2 tasks" in w for w in report["warnings"])
    assert report["corrected"]["n_rows"] == 396
    exported = list(work.export_labels(store, run["id"], for_estimate=True))
    assert judge_trust(exported)["agreement"]["n"] == 396
    assert store.mark_shown(run["id"], grader, [ids[0], ids[5]], shown=False) == 2
    again = work.trust(store, run["id"])
    assert again["agreement"] == before["agreement"]


def test_a_row_of_another_run_is_not_marked_as_shown(store, run):
    with pytest.raises(NotFoundError, match="nothing was marked"):
        store.mark_shown(run["id"], run["graders"][0]["id"], [10**6])
    with pytest.raises(NotFoundError, match="not of this run"):
        store.mark_shown(run["id"], 10**6, [])


# What can be asked of a draw


def test_a_stratum_too_small_gives_what_it_has_and_says_so(store, run):
    queue = work.draw_queue(store, run["id"], "stratified", 200)
    assert {s["stratum"]: s["drawn"] for s in queue["strata"]} == {"fail": 80, "pass": 120}
    assert queue["notes"] == ["fail has 80 rows, 100 were asked for: all are taken"]
    assert {s["stratum"]: s["chance"] for s in queue["strata"]} == {"fail": 1, "pass": 120 / 320}


def test_no_stratum_can_be_told_by_its_place(store, run):
    queue = work.draw_queue(store, run["id"], "stratified", 100)
    at = place(store, run)
    passes = [at[r] < PASSES for r in store.queue_row_ids(queue["id"])]
    assert 15 <= sum(passes[:50]) <= 35  # sd 2.5 of 25


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"n": 1}, "one of each at least"),
        ({"n": 20, "field": "shop"}, "has 200 values"),
        ({"n": 20, "allocation": {"pass": 20}}, "would have no chance"),
        ({"n": 20, "allocation": {"pass": 10, "fail": 0}}, "would have no chance"),
        ({"n": 20, "allocation": {"pass": 10, "fail": 5, "maybe": 5}}, "No row is of maybe"),
        ({"n": 20, "allocation": "clever"}, "not 'clever'"),
        ({"n": 20, "field": "colour"}, "All rows are of one kind"),
    ],
)
def test_a_draw_in_which_a_row_has_no_chance_is_refused(store, run, asked, said):
    with pytest.raises(RefusedError, match=said):
        work.draw_queue(store, run["id"], "stratified", **asked)
    assert store.queues(run["id"]) == []


@pytest.mark.parametrize("chance", [0, -0.1, 1.01, float("nan"), float("inf")])
def test_a_chance_of_0_or_above_1_is_refused_by_name(store, run, chance):
    ids = store.tasks_of(run["id"])[0]
    with pytest.raises(RefusedError, match="above 0 and up to 1"):
        store.add_queue(run["id"], "odd", "stratified", [(ids[0], chance, "a")])


@pytest.mark.parametrize("chance", [0, -1, 1.5])
def test_a_file_of_labels_with_such_a_chance_is_refused_by_name(store, run, lines, chance):
    rows = [{"task_id": "t0", "rollout_index": 0, "prompt": "ask 0", "final_text": "reply 0",
             "label": 1, "inclusion_p": chance, "chosen": "stratified"}]  # fmt: skip
    with pytest.raises(RefusedError, match="above 0 and up to 1"):
        work.import_labels(store, run["id"], lines(rows, "labels.jsonl"))
    assert store.labels(run["id"]) == []


@pytest.mark.parametrize(
    ("sizes", "n", "how", "expected"),
    [
        ({"a": 50, "b": 50}, 20, "equal", {"a": 10, "b": 10}),
        ({"a": 1, "b": 99}, 20, "equal", {"a": 1, "b": 19}),
        ({"a": 1, "b": 99}, 10, "proportional", {"a": 1, "b": 9}),
        ({"a": 5, "b": 5}, 500, "equal", {"a": 5, "b": 5}),
        ({"a": 1, "b": 1, "c": 900}, 3, "proportional", {"a": 1, "b": 1, "c": 1}),
    ],
)
def test_rows_are_shared_out_by_hand(sizes, n, how, expected):
    assert allocate(sizes, n, how)[0] == expected


# Second readings, audits, rows that nobody could tell


def ruled(store, run):
    """A rule's gold: what `truth` says, but wrong on every tenth row."""
    at = place(store, run)

    def says(row):
        i = int(row["final_text"].split()[1])
        return (truth(i) == "pass") != (i % 10 == 3)

    work.label_by_rule(store, run["id"], says, "r")
    return {row_id: int(says({"final_text": f"reply {i}"})) for row_id, i in at.items()}


def test_after_a_review_the_agreement_is_the_two_phase_estimate(store, run):
    gold = ruled(store, run)
    before = work.trust(store, run["id"])
    assert before["reread"] is None
    queue = work.review_queue(store, run["id"], agreeing_share=0.25)
    at = place(store, run)
    judge = {row_id: int(i < PASSES) for row_id, i in at.items()}
    rows = store.queue_row_ids(queue["id"])
    label(store, queue, truth, n=len(rows) - 1)
    assert work.trust(store, run["id"])["reread"] is None  # one row is not read yet
    label_last = rows[-1]
    store.add_label(label_last, "ana", truth(at[label_last]), "last", queue_id=queue["id"])
    report = work.trust(store, run["id"])
    # By hand: the agreements that still agree, as a share of those read, and the flips.
    right = {r: (truth(at[r]) == "pass") == judge[r] for r in rows}
    alike = [r for r in rows if judge[r] == gold[r]]
    apart = [r for r in rows if judge[r] != gold[r]]
    n_alike = 400 - len(apart)
    expected = (
        n_alike * sum(map(right.get, alike)) / len(alike) + sum(map(right.get, apart))
    ) / 400
    found = report["reread"]
    assert found["agreement"]["value"] == pytest.approx(expected)
    assert found["disagreeing"]["read"] == found["disagreeing"]["n"] == len(apart)
    assert found["agreeing"] == {
        "n": n_alike,
        "read": len(alike),
        "agree": sum(map(right.get, alike)),
    }
    # The judge's own numbers stay: no picked row is in them.
    assert report["agreement"] == before["agreement"] and report["gold"] == "program"
    words = f"blind reading of all {len(apart)} disagreements and {len(alike)} of {n_alike} agree"
    assert words in report["text"]
    assert f"the agreement is {round(100 * expected)}% [" in report["text"]


def test_disagreements_alone_are_no_estimate_and_it_says_so(store, run):
    ruled(store, run)
    queue = work.review_queue(store, run["id"], agreeing_share=0)
    label(store, queue, truth)
    report = work.trust(store, run["id"])
    assert "agreement" not in report["reread"]
    assert "queue decisions are not part of this estimate" in report["text"]


def test_answers_with_the_judge_in_view_are_no_second_reading(store, run):
    ruled(store, run)
    queue = work.review_queue(store, run["id"], agreeing_share=0.2)
    rows = store.queue_row_ids(queue["id"])
    for n, row_id in enumerate(rows):
        seen = "2026-01-01T00:00:00+00:00" if n == 0 else None
        store.add_label(row_id, "ana", "pass", f"x{n}", queue_id=queue["id"], unblinded_at=seen)
    assert "after the judge's verdict was seen" in work.trust(store, run["id"])["reread"]["reason"]
    store.add_label(rows[0], "bo", "pass", "again", queue_id=queue["id"])
    assert "agreement" in work.trust(store, run["id"])["reread"]


def test_an_audit_is_of_random_rows_and_enters_no_estimate(store, run):
    gold = ruled(store, run)
    before = work.trust(store, run["id"])
    assert "program gold not audited" in before["headline"]["grey"]
    assert "program gold not audited" in before["text"]
    queue = work.audit_queue(store, run["id"], by="ana")
    assert (queue["n"], queue["purpose"], queue["gold"]) == (30, "audit", "program")
    at = place(store, run)
    label(store, queue, truth, n=12)
    half = work.trust(store, run["id"])
    assert "audit of program gold under way, 12 of 30 rows read" in half["headline"]["grey"]
    rows = store.queue_row_ids(queue["id"])
    for row_id in rows[12:]:
        store.add_label(row_id, "bo", truth(at[row_id]), f"b{row_id}", queue_id=queue["id"])
    report = work.trust(store, run["id"])
    agree = sum((truth(at[r]) == "pass") == gold[r] for r in rows)
    audit = report["gold_audit"]
    assert (audit["agree"], audit["n"], audit["n_unclear"]) == (agree, 30, 0)
    assert f"program gold audited: {agree} of 30 agree [" in report["headline"]["grey"]
    assert f"program gold audited: {agree} of 30 agree [" in report["text"]
    # Nothing else moved: not the gold, not the estimate; nor is there an estimate of people's.
    assert (report["gold"], store.run(run["id"])["gold"]) == ("program", "program")
    assert report["interim"] is None
    for key in ("agreement", "tpr", "tnr", "state", "coverage", "corrected"):
        assert report[key] == before[key], key
    people = work.trust(store, run["id"], gold="human")
    assert people["agreement"]["n"] == 0 and people["coverage"]["picked"] == 30
    assert people["gold_audit"] is None
    # What somebody says of these rows elsewhere does not speak against who audited them.
    for row_id in rows[:5]:
        store.add_label(row_id, "cy", "fail" if gold[row_id] else "pass", f"cy{row_id}")
    assert work.trust(store, run["id"])["gold_audit"] == audit
    # The next audit draws other rows, and both are pooled.
    more = work.audit_queue(store, run["id"], by="ana")
    assert not set(rows) & set(store.queue_row_ids(more["id"]))
    store.add_label(store.queue_row_ids(more["id"])[0], "bo", "fail", "b", queue_id=more["id"])
    after = work.trust(store, run["id"])["gold_audit"]
    assert {k: after[k] for k in ("agree", "n", "planned", "answered", "read")} == {
        "agree": agree,
        "n": 30,
        "planned": 60,
        "answered": 31,
        "read": 30,
    }


@pytest.mark.simulation
def test_an_audit_draws_every_row_equally_often(store, run):
    ruled(store, run)
    draws = [
        store.queue_row_ids(work.audit_queue(store, run["id"], n=100, seed=s)["id"])
        for s in range(4)
    ]
    assert sorted(set().union(*draws)) == store.tasks_of(run["id"])[0]


def test_an_audit_of_nothing_is_refused(store, run):
    with pytest.raises(RefusedError, match="none to look at"):
        work.audit_queue(store, run["id"])
    ruled(store, run)
    work.audit_queue(store, run["id"], n=400)
    with pytest.raises(RefusedError, match="in an audit already"):
        work.audit_queue(store, run["id"])


def test_can_not_tell_bounds_every_rate(store, run):
    queue = work.draw_queue(store, run["id"], "random", 100)
    drawn = label(store, queue, lambda i: "unclear" if i % 8 == 0 else truth(i))
    report = work.trust(store, run["id"])
    told = [i for i in drawn if i % 8]
    open_ = [i for i in drawn if i % 8 == 0]
    agree = sum((truth(i) == "pass") == (i < PASSES) for i in told)
    found = report["unclear"]
    assert found["n"] == len(open_) and found["flagged"] is (len(open_) > 5)
    assert found["judge_passed"] == sum(i < PASSES for i in open_)
    assert found["bounds"]["agreement"] == pytest.approx([agree / 100, (agree + len(open_)) / 100])
    assert f"! can't tell on {len(open_)} rows" in report["text"]
    assert report["agreement"]["n"] == len(told)


def test_can_not_tell_counts_for_its_rows_where_chances_differ(store, run):
    queue = work.draw_queue(store, run["id"], "stratified", 60)
    drawn = label(store, queue, lambda i: "unclear" if i % 6 == 0 else truth(i))
    found = work.trust(store, run["id"])["unclear"]
    open_ = [i for i in drawn if i % 6 == 0]
    rows = [i for i in drawn if i % 6 and (truth(i) == "pass") == (i < PASSES)]
    # Each of 30 answered passes stands for 320/30 rows, each of 30 fails for 80/30.
    stands = {True: PASSES / 30, False: FAILS / 30}
    low = sum(stands[i < PASSES] for i in rows) / 400
    left = sum(stands[i < PASSES] for i in open_) / 400
    assert found["bounds"]["agreement"] == pytest.approx([low, low + left])
    assert found["share"] == pytest.approx(left) and found["weighted"]
