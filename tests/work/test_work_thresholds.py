"""A declared threshold is a grader of its own: dated, signed, and honest about its labels."""

import json
from hashlib import sha256

import pytest

from whileai_review import work
from whileai_review.load import Mapping
from whileai_review.store import NotFoundError, RefusedError
from whileai_review.work import measuring, pool

SCORED = Mapping({"reward": "score", "gold_reward": "gold"})
HUMAN = {"gold_reward": {"kind": "human"}}


def in_a(task):
    return int(sha256(task.encode()).hexdigest()[:8], 16) % 2 == 0


def rows(n=80, score=lambda i, gold: 1 + (i * 7 % 5 + 2 * gold) % 5, **more):
    return [
        {"scenario_id": f"t{i // 2}", "rollout_index": i % 2, "prompt": "a", "final_text": f"r{i}",
         "score": score(i, i % 2), "gold": i % 2, "reason": f"because {i}", **more}
        for i in range(n)
    ]  # fmt: skip


@pytest.fixture
def scored(put):
    """80 rows of 40 tasks, scores 1 to 5: higher for the better half of each task."""

    def load(given=None, **options):
        given = (
            rows(score=lambda i, gold: min(5, 1 + i % 4 // 2 + 2 * gold))
            if given is None
            else given
        )
        options = {"mapping": SCORED, "origins": HUMAN} | options
        return put(given, **options)

    return load


def test_a_declared_threshold_is_a_grader_with_a_date_and_a_name(store, scored):
    run = scored()
    judge = store.run(run["id"])["graders"][0]
    found = work.score_thresholds(store, run["id"])
    # Passes score 3 or 4, failures 1 or 2: from 3 on everything is right.
    assert (found["chosen"], found["low"], found["high"]) == (3, 1, 4)
    made = work.declare_threshold(store, run["id"], 3, by="  Lea ")
    assert (made["name"], made["declared_by"], made["n_pass"], made["n_fail"]) == (
        f"{judge['name']} ≥ 3", "Lea", 40, 40,
    )  # fmt: skip
    line = next(g for g in store.run(run["id"])["graders"] if g["id"] == made["id"])
    assert (line["kind"], line["threshold"], line["scores_of"]) == ("threshold", 3.0, judge["id"])
    assert len(line["threshold_hash"]) == 64 and line["created_at"][:4] >= "2024"
    verdicts = {v["grader_id"]: v for v in store.verdicts_of(store.tasks_of(run["id"])[0][1])}
    assert (verdicts[made["id"]]["verdict"], verdicts[made["id"]]["value"]) == (1, 3.0)
    assert verdicts[judge["id"]]["verdict"] is None
    again = work.declare_threshold(store, run["id"], 3.0, by="Max")
    assert again == made
    assert len(work.score_thresholds(store, run["id"])["declared"]) == 1


def test_labels_that_chose_it_leave_its_estimate_by_task(store, scored):
    run = scored()
    made = work.declare_threshold(store, run["id"], 3, by="Lea")
    held_out = sum(not in_a(f"t{i // 2}") for i in range(80))
    assert made["n_tuned"] == 80 - held_out
    report = work.trust(store, run["id"], made["id"])
    assert report["agreement"]["n"] == held_out
    assert report["agreement"]["agreement"] == 1.0
    assert report["weighting"]["n_shown"] == made["n_tuned"]
    # Half b is what the threshold was reported on.
    line = work.score_thresholds(store, run["id"])["thresholds"][1]
    assert line["threshold"] == 3 and line["b"]["n"] == held_out


def test_a_threshold_named_in_advance_is_measured_on_every_label(store, scored):
    run = scored()
    made = work.declare_threshold(store, run["id"], 3, by="Lea", in_advance=True)
    assert made["n_tuned"] == 0
    assert work.trust(store, run["id"], made["id"])["agreement"]["n"] == 80


def test_the_undeclared_grader_still_leaves_every_fraction_out(store, scored):
    run = scored()
    before = work.trust(store, run["id"])
    work.declare_threshold(store, run["id"], 3, by="Lea")
    after = work.trust(store, run["id"])
    assert after["skipped"] == before["skipped"]
    # 1 is a verdict in the spec, whatever the scale: 20 rows; 60 are fractions to it.
    assert (after["skipped"]["n_used"], after["skipped"]["fractional"]) == (20, 60)
    assert after["state"] != "passes" and after["skipped"]["over_floor"]


def test_scores_that_come_later_are_cut_too(store, scored, lines):
    run = scored()
    judge = store.run(run["id"])["graders"][0]["name"]
    made = work.declare_threshold(store, run["id"], 3, by="Lea")
    first = store.identities(run["id"])[1][0]
    path = lines([{"key": first, "score": 5}], "later.jsonl")
    work.join_verdicts(store, run["id"], judge, path, Mapping({"reward": "score"}))
    row_id = store.identities(run["id"])[0][0]
    said = {v["grader_id"]: v for v in store.verdicts_of(row_id)}[made["id"]]
    assert (said["verdict"], said["value"]) == (1, 5.0)
    assert row_id in store.shown_rows(run["id"], made["id"]) or not in_a("t0")
    assert work.declare_threshold(store, run["id"], 3, by="Lea")["n_pass"] == 41


@pytest.mark.parametrize(
    ("threshold", "by", "said"),
    [
        (float("nan"), "Lea", "A threshold is a number, not nan"),
        (float("inf"), "Lea", "A threshold is a number"),
        (1, "Lea", "At 1 every row passes: the scores go from 1 to 4"),
        (9, "Lea", "At 9 no row passes"),
        (3, "  ", "Say who declares it"),
    ],
)
def test_odd_thresholds_are_refused_by_name(store, scored, threshold, by, said):
    run = scored()
    with pytest.raises(RefusedError, match=said):
        work.declare_threshold(store, run["id"], threshold, by=by)
    assert len(store.run(run["id"])["graders"]) == 1


def test_what_has_no_scores_is_refused_by_name(store, scored, put):
    run = scored()
    made = work.declare_threshold(store, run["id"], 3, by="Lea")
    with pytest.raises(RefusedError, match="is a threshold already"):
        work.declare_threshold(store, run["id"], 2, by="Lea", grader=made["id"])
    plain = put(rows(score=lambda i, gold: gold), "plain", mapping=SCORED, origins=HUMAN)
    with pytest.raises(RefusedError, match="no score other than 0 and 1 on overall"):
        work.declare_threshold(store, plain["id"], 0.5, by="Lea")
    bare = put(
        [{"prompt": "a", "final_text": "b", "scenario_id": "t"}], "bare", mapping=Mapping({})
    )
    with pytest.raises(RefusedError, match="no judge"):
        work.declare_threshold(store, bare["id"], 0.5, by="Lea")
    assert "no row has a score" in str(work.score_thresholds(store, bare["id"]))
    with pytest.raises(NotFoundError, match="No grader 'x'"):
        work.score_thresholds(store, run["id"], "x")


def test_a_name_that_is_taken_is_refused_and_leaves_nothing(store, scored, lines):
    run = scored()
    judge = store.run(run["id"])["graders"][0]["name"]
    key = store.identities(run["id"])[1][0]
    work.join_verdicts(
        store, run["id"], f"{judge} ≥ 3", lines([{"key": key, "reward": 1}], "v.jsonl")
    )
    with pytest.raises(RefusedError, match="is on this run already"):
        work.declare_threshold(store, run["id"], 3, by="Lea")
    assert len(store.run(run["id"])["graders"]) == 2


def test_without_labels_it_can_be_named_and_is_said(store, scored):
    run = scored(origins=None, mapping=Mapping({"reward": "score"}))
    assert "label rows, or name one in advance" in work.score_thresholds(store, run["id"])["reason"]
    assert work.declare_threshold(store, run["id"], 3, by="Lea")["n_tuned"] == 0


def test_text_and_nothing_for_a_score_are_no_scores(store, scored):
    given = rows()
    given[0]["score"] = None
    del given[1]["score"]
    run = scored(given)
    found = work.score_thresholds(store, run["id"])
    assert (found["n_rows"], found["n_scored"], found["n_unscored"]) == (80, 78, 2)


def test_a_large_run_is_measured_in_the_pool_and_declared_in_batches(store, scored, monkeypatch):
    run = scored(rows(5_000))
    asked = []
    monkeypatch.setattr(pool, "run", lambda function, *a: asked.append(function) or function(*a))
    found = work.score_thresholds(store, run["id"])
    assert asked[-1] is measuring.make_beside and found["n_labeled"] == 5_000
    n = len(asked)
    assert work.score_thresholds(store, run["id"]) == found and len(asked) == n
    made = work.declare_threshold(store, run["id"], 4, by="Lea", in_advance=True)
    assert made["n_pass"] + made["n_fail"] == 5_000
    assert made["n_pass"] == sum(row["score"] >= 4 for row in rows(5_000))
    assert work.trust(store, run["id"], made["id"])["n_labeled"] == 5_000


def test_a_certificate_is_bound_to_the_threshold(store, scored):
    run = scored()
    made = work.declare_threshold(store, run["id"], 3, by="Lea")
    bound = work.certificate_of(store, run["id"], made["id"])["judge"]
    assert bound["threshold"] == 3.0 and len(bound["threshold_sha256"]) == 64
    json.dumps(bound)


def test_a_second_criterion_is_cut_under_the_same_name(store, put):
    given = [row | {"tone": 5 - row["score"] + 1} for row in rows()]
    both = Mapping({"reward": "score", "reward:tone": "tone"})
    run = put(given, mapping=both)
    one = work.declare_threshold(store, run["id"], 3, by="Lea", in_advance=True)
    two = work.declare_threshold(store, run["id"], 3, by="Max", criterion="tone", in_advance=True)
    assert two["id"] == one["id"] and two["declared_by"] == "Lea"
    assert two["n_pass"] == sum(row["tone"] >= 3 for row in given)
    columns = store.columns(run["id"], one["id"], "tone")
    assert sum(v == 1 for v in columns["verdict"]) == two["n_pass"]
