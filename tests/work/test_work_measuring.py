import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from whileai_review import attach_labels, corrected_pass_rate, judge_trust, work
from whileai_review.intervals import cluster_wilson
from whileai_review.load import Mapping
from whileai_review.store import NotFoundError, RefusedError
from whileai_review.work import drawing, measuring, pool
from whileai_review.work.gold import gold_by_row
from whileai_review.work.headlines import plan_words

RECIPE = Path(__file__).parents[2] / "data" / "recipe" / "recipe-run-1.jsonl"


def wilson(k, n):
    return list(binomtest(k, n).proportion_ci(method="wilson"))


# The published study, from the store


def test_trust_of_the_recipe_reads_as_published(store, recipe):
    # Recipe and statistics.md 2: agreement 63% [56, 69], n=221, kappa .05, tp 124 fp 58 fn 24
    # tn 15, always passing 67%, p=.20; halves 62% and 65%, length gap 30%.
    report = work.trust(store, recipe["id"])
    agreement = report["agreement"]
    assert report["n_cells"] == {"tp": 124, "fp": 58, "fn": 24, "tn": 15}
    assert (agreement["n"], report["n_tasks"], report["n_rows"]) == (221, 74, 222)
    assert round(agreement["kappa"], 2) == 0.05
    assert [round(x, 2) for x in agreement["ci95"]] == [0.56, 0.69]
    assert (report["grader"], report["gold"], report["criterion"]) == (
        "rubric_judge",
        "program",
        "overall",
    )
    assert (report["state"], report["headline"]["word"]) == ("fails", "FAILS")
    assert report["headline"]["bold"] == (
        "Misses 79% of failures [69, 87]; agrees no better than always answering “pass” "
        "(63% against 67%)."
    )
    assert "no number of labels will pass it" in report["headline"]["grey"]
    # By task (statistics.md 5), as the cluster variance of statsmodels has it; by row [26, 39].
    for part in ("n=221 rows, 74 tasks", "32% of its passes are wrong [25, 40]"):
        assert part in report["headline"]["grey"]
    text = report["text"]
    for line in (
        "FAIL",
        "agreement 63% (95% 56%..69%, n=221), kappa 0.05",
        "tp=124 fp=58 fn=24 tn=15",
        "half a: 62%",
        "half b: 65%",
        "length gap 30%",
        "disagreements to review: 82",
        "58 of 73 gold failures (79%)",
    ):
        assert line in text


def test_trust_of_the_store_prints_as_judge_trust_of_the_file(store, recipe):
    rows = [json.loads(line) for line in RECIPE.read_text().splitlines()]
    assert str(work.trust(store, recipe["id"])) == str(judge_trust(rows))


def test_slices_of_the_action_criterion_read_as_published(store, recipe):
    # Recipe: BIG 18 of 18 [0.824, 1.000], SMALL 39 of 51 [0.632, 0.860], n=222; statistics.md 7:
    # reward given in error BIG 18/108 [11, 25], SMALL 39/96 [31, 51].
    found = work.slices(store, recipe["id"], "regime", criterion="action")
    assert [line["value"] for line in found["rows"]] == ["SMALL", "BIG"]
    small, big = found["rows"]
    assert (small["false_passes"], small["n_gold_fail"], small["n"]) == (39, 51, 108)
    assert (big["false_passes"], big["n_gold_fail"], big["n"]) == (18, 18, 114)
    assert [round(x, 3) for x in small["false_pass_ci95"]] == [0.632, 0.860]
    assert [round(x, 3) for x in big["false_pass_ci95"]] == [0.824, 1.0]
    assert [round(100 * x) for x in big["error_ci95"]] == [11, 25]
    assert [round(100 * x) for x in small["error_ci95"]] == [31, 51]
    by_task = {}
    for row in map(json.loads, RECIPE.read_text().splitlines()):
        if row["regime"] == "SMALL" and row.get("gold_action") == 0:
            by_task.setdefault(row["scenario_id"], []).append(row["judge_action"] == 1)
    expected = cluster_wilson(*zip(*((sum(t), len(t)) for t in by_task.values()), strict=True))
    assert tuple(small["false_pass_ci95_tasks"]) == expected[:2]
    assert (found["all"]["n"], found["all"]["n_tasks"]) == (222, 74)
    assert [round(x, 3) for x in big["agreement_ci95"]] == [0.706, 0.854]
    assert list(small["agreement_ci95"]) == pytest.approx(wilson(69, 108))
    assert found["criterion"] == "action"


def test_cells_hold_the_rows_that_they_count(store, recipe):
    at = (store, recipe["id"], None, None, None)
    cells = {name: work.cell_rows(*at, name) for name in ("tp", "fp", "fn", "tn")}
    assert {k: len(v) for k, v in cells.items()} == {"tp": 124, "fp": 58, "fn": 24, "tn": 15}
    assert work.cell_rows(*at, "disagree") == sorted(cells["fp"] + cells["fn"])
    assert work.cell_rows(*at, "agree") == sorted(cells["tp"] + cells["tn"])
    for row_id in cells["fp"]:
        row = store.row(row_id)["row"]
        assert (row["reward"], row["gold_reward"]) == (1, 0)
    action = (store, recipe["id"], "rubric_judge", "program", "action")
    big = work.cell_rows(*action, "fp", "regime", "BIG")
    assert len(big) == 18
    assert {store.row(i)["row"]["regime"] for i in big} == {"BIG"}
    assert work.cell_rows(*action, "fp", "regime", "nosuch") == []
    with pytest.raises(NotFoundError, match="No cell 'wrong'"):
        work.cell_rows(*at, "wrong")


@pytest.mark.parametrize(
    ("asked", "said"),
    [({"grader": "nosuch"}, "No grader 'nosuch'.*rubric_judge"), ({"run": "x"}, "No run 'x'")],
)
def test_what_is_not_there_is_named_with_what_is(store, recipe, asked, said):
    with pytest.raises(NotFoundError, match=said):
        work.trust(store, **({"run": recipe["id"]} | asked))


# Reports are kept until a label or a verdict comes


@pytest.fixture
def computed(monkeypatch):
    """How often a report was computed."""
    calls = []
    real = measuring._compute
    monkeypatch.setattr(
        measuring, "_compute", lambda store, key: calls.append(key) or real(store, key)
    )
    return calls


def test_a_report_is_computed_once_and_again_after_a_label(store, recipe, press, computed, lines):
    for _ in range(3):
        work.trust(store, recipe["id"])
        work.slices(store, recipe["id"], "regime")
        work.overview(store)
    assert len(computed) == 1
    queue = work.draw_queue(store, recipe["id"], "census")
    press(queue, store.next_row(queue["id"], "ana")["row_id"], "pass")
    work.trust(store, recipe["id"])
    assert len(computed) == 2
    press(queue, 0, "undo")
    work.trust(store, recipe["id"])
    assert len(computed) == 3
    work.join_verdicts(store, recipe["id"], "other", lines([{"key": "big-106#0", "reward": 1}]))
    work.trust(store, recipe["id"])
    assert len(computed) == 4


def test_a_label_on_one_criterion_leaves_the_report_of_another(store, recipe, computed):
    work.trust(store, recipe["id"], criterion="action")
    work.label_by_rule(store, recipe["id"], lambda row: 1, "all")
    work.trust(store, recipe["id"], criterion="action")
    assert len(computed) == 1


def test_a_renamed_run_is_measured_under_its_new_name(store, recipe, computed):
    work.trust(store, recipe["id"])
    store.rename_run(recipe["id"], "first arm")
    assert work.trust(store, "first arm")["run"] == "first arm"
    assert len(computed) == 1


def test_a_large_run_goes_through_the_pool_with_the_same_numbers(store, put, judged, monkeypatch):
    rows = judged(5_000)
    run = put(rows)
    work.label_by_rule(store, run["id"], lambda row: int(row["rollout_index"] < 2), "r")
    asked = []
    monkeypatch.setattr(pool, "run", lambda function, *a: asked.append(function) or function(*a))
    report = work.trust(store, run["id"])
    assert asked == [measuring.compute]
    direct = judge_trust([r | {"gold_reward": int(r["rollout_index"] < 2),
                               "gold_kind": "program"} for r in rows])  # fmt: skip
    assert report["agreement"]["kappa"] == direct["agreement"]["kappa"]
    assert report["text"] == str(direct)


def test_the_pool_works_in_other_processes_and_makes_up_for_one_that_is_killed():
    """In a process of its own: once enabled, a pool stays."""
    import subprocess
    import sys

    code = (
        "import os, signal\n"
        "from whileai_review.work import pool\n"
        "pool.enable()\n"
        "there = pool.run(os.getpid)\n"
        "assert there != os.getpid()\n"
        "os.kill(there, signal.SIGKILL)\n"
        "assert pool.run(os.getcwd) == os.getcwd()\n"
        "try:\n"
        "    pool.run(os.kill, 0, 0), pool.run(os._exit, 3)\n"
        "except pool.KilledError as error:\n"
        "    print(error)\n"
        "print(pool.run(os.getpid) != os.getpid())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "was killed (out of memory?)" in done.stdout, done.stderr
    assert done.stdout.endswith("True\n")


# People against the rule


def test_labels_of_people_move_nothing_but_the_table_of_person_against_rule(store, recipe, press):
    before = work.trust(store, recipe["id"])
    slices = work.slices(store, recipe["id"], "regime")
    queue = work.draw_queue(store, recipe["id"], n=30)
    rows = {i: r for i, r in store.numbered_rows(recipe["id"])}
    said = []
    for n in range(30):
        row_id = store.next_row(queue["id"], "ana")["row_id"]
        press(queue, row_id, "pass" if n % 3 else "fail")
        said.append((int(bool(n % 3)), rows[row_id].get("gold_reward"), row_id))
    after = work.trust(store, recipe["id"])
    moved = {k for k in before if before[k] != after[k]}
    assert moved == {"revision"}
    assert work.slices(store, recipe["id"], "regime") == slices
    found = work.person_against_rule(store, recipe["id"], "overall")
    both = [x for x in said if x[1] is not None]
    assert found["n"] == len(both)
    for (person, rule), n in found["table"].items():
        assert n == sum(x[:2] == (person, rule) for x in both)
    assert found["differ"] == sorted(x[2] for x in both if x[0] != x[1])
    assert work.golds(store, recipe["id"], "overall") == ["program", "human"]


def test_imported_labels_are_a_gold_of_their_own(store, recipe, lines):
    given = [{"key": i, "label": 1} for i in store.identities(recipe["id"])[1][:9]]
    work.import_labels(store, recipe["id"], lines(given, "old.jsonl"))
    assert work.golds(store, recipe["id"], "overall") == ["program", "file:old.jsonl"]
    report = work.trust(store, recipe["id"], gold="file:old.jsonl")
    assert (report["agreement"]["n"], report["gold_kind"]) == (9, "human")
    assert work.person_against_rule(store, recipe["id"], "overall")["n"] == 0
    assert work.trust(store, recipe["id"])["gold"] == "program"


# Runs at a glance


def test_overview_has_what_a_lead_asks_first(store, recipe, put, judged):
    put(judged(9), "bare")
    bare, line = work.overview(store)
    assert (line["name"], line["grader"], line["gold"], line["state"]) == (
        "recipe-run-1 (rebuilt)",
        "rubric_judge",
        "program",
        "fails",
    )
    # Judge: 183 of 222 pass; rule: 148 of 221.
    assert (line["pass_rate"]["n"], line["gold_pass"]["n"]) == (222, 221)
    assert list(line["pass_rate"]["ci95"]) == pytest.approx(wilson(183, 222))
    assert list(line["gold_pass"]["ci95"]) == pytest.approx(wilson(148, 221))
    assert (line["n_labelled"], line["coverage"]["none"]) == (221, 1)
    assert (bare["state"], bare["n_labelled"], bare["gold"]) == ("not_measured", 0, None)
    assert bare["gold_pass"] == {"value": None, "ci95": None, "n": 0}
    store.archive_run(bare["id"])
    assert [r["name"] for r in work.overview(store)] == ["recipe-run-1 (rebuilt)"]
    assert len(work.overview(store, archived=True)) == 2


# The first sentence in each state


def measured(put, store, pairs, criterion="overall", name="base"):
    """A run of rows with these (judge, gold); gold by a rule."""
    rows = [
        {"scenario_id": f"t{n}", "rollout_index": 0, "prompt": f"p{n}", "final_text": "x" * 9,
         "reward": judge, "truth": gold}
        for n, (judge, gold) in enumerate(pairs)
    ]  # fmt: skip
    run = put(rows, name)
    if any(gold is not None for _, gold in pairs):
        work.label_by_rule(store, run["id"], lambda row: row["truth"], "r")
    return work.trust(store, run["id"])


PAIRS = {
    "passes": [(1, 1)] * 140 + [(0, 0)] * 100 + [(1, 0)] * 5,
    "fails": [(1, 1)] * 40 + [(1, 0)] * 50 + [(0, 0)] * 5,
    "not_shown": [(1, 1)] * 10 + [(0, 0)] * 6 + [(1, 0)],
    "not_measured": [(1, None)] * 10,
}


@pytest.mark.parametrize(
    ("state", "word", "starts"),
    [
        ("passes", "PASSES", "Agrees 98% [95, 99], kappa 0.96"),
        ("fails", "FAILS", "Misses 91% of failures [80, 96]; "),
        (
            "not_shown",
            "NOT SHOWN",
            "Agrees 94% [70, 99], n=17: the interval reaches below the floor of 80%",
        ),
        ("not_measured", "NOT MEASURED", "No label by a person or a program."),
    ],
)
def test_the_first_sentence_of_each_state(store, put, state, word, starts):
    # Wilson: 240/245 [.953, .991]; 50/55 [.804, .960]; 16/17 [.730, .990].
    report = measured(put, store, PAIRS[state])
    head = report["headline"]
    assert (report["state"], head["word"]) == (state, word)
    assert head["bold"].startswith(starts)
    assert head["grey"]


def test_one_class_of_gold_says_what_cannot_be_measured(store, put):
    only_passes = measured(put, store, [(1, 1)] * 30 + [(0, 1)] * 2, name="passes")
    assert only_passes["headline"]["bold"] == (
        "False passes not measurable: 0 gold failures among 32 rows."
    )
    one = measured(put, store, [(1, 1)], name="one")
    assert one["headline"]["bold"].endswith("0 gold failures among 1 row.")
    only_fails = measured(put, store, [(1, 0)] * 4 + [(0, 0)] * 28, name="fails")
    assert only_fails["headline"]["bold"] == (
        "False alarms not measurable: 0 gold passes among 32 rows."
    )
    assert (
        "not measurable"
        in only_passes["text"].splitlines()[0] + (only_passes["text"].splitlines()[1])
    )


def test_a_run_without_verdicts_says_so(store, lines):
    run = work.load_file(store, lines([{"prompt": "p", "final_text": "x"}]))["runs"][0]
    assert work.trust(store, run["id"])["headline"]["bold"] == "This run has no judge's verdicts."


def test_model_gold_measures_nothing(store, put, judged, lines):
    run = put(judged(12))
    given = [{"key": i, "label": 1} for i in store.identities(run["id"])[1]]
    work.import_labels(store, run["id"], lines(given, "gold.jsonl"), kind="model")
    report = work.trust(store, run["id"])
    assert (report["state"], report["gold_kind"]) == ("not_measured", "model")


def test_the_first_sentence_is_at_most_110_characters(store, put):
    rng = np.random.default_rng(0)
    longest = 0
    for n in (1, 2, 9, 40, 2_500):
        for wrong in (0, 0.02, 0.3, 0.9):
            gold = rng.integers(0, 2, n)
            judge = np.where(rng.random(n) < wrong, 1, gold)
            pairs = list(zip(judge.tolist(), gold.tolist(), strict=True))
            report = measured(put, store, pairs, name=f"{n} {wrong}")
            longest = max(longest, len(report["headline"]["bold"]))
    assert 60 < longest <= 110


# Queues


def chances(store, queue):
    """Row id -> the chance with which it was drawn."""
    import sqlite3  # noqa: TID251  (the store gives a row's chance with its label only)

    with sqlite3.connect(store.path) as conn:
        return dict(
            conn.execute(
                "SELECT row_id, inclusion_p FROM queue_rows WHERE queue_id=?", (queue["id"],)
            )
        )


UNEVEN = (1, 1, 2, 3, 5)
"""Rollouts of each task."""


@pytest.fixture
def uneven(put):
    rows = [
        {"scenario_id": f"t{t}", "rollout_index": i, "prompt": f"p{t}", "final_text": "x",
         "regime": "BIG" if t > 2 else "SMALL", "reward": 1}
        for t, m in enumerate(UNEVEN) for i in range(m)
    ]  # fmt: skip
    return put(rows)


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("how", "n"),
    [("random", 5), ("one_per_task", 3), ("one_per_task", 5), ("one_per_task", 7),
     ("one_per_task", 11), ("group", 4), ("census", None)],
)  # fmt: skip
def test_every_row_is_drawn_as_often_as_its_chance_says(store, uneven, monkeypatch, how, n):
    draws, said = [], {}
    monkeypatch.setattr(
        type(store), "add_queue", lambda self, run, name, how, rows, **k: draws.append(rows) or {"id": 0}
    )  # fmt: skip
    monkeypatch.setattr(type(store), "queue", lambda self, number: {})
    group = {"field": "regime", "value": "BIG"} if how == "group" else {}
    for seed in range(4_000):
        work.draw_queue(store, uneven["id"], how, n=n, seed=seed, **group)
    ids = store.tasks_of(uneven["id"])[0]
    drawn = dict.fromkeys(ids, 0)
    for rows in draws:
        assert len({r[0] for r in rows}) == len(rows) == (n or 12)
        for row_id, p, _ in rows:
            drawn[row_id] += 1
            assert said.setdefault(row_id, p) == p
    for row_id, times in drawn.items():
        # Five standard deviations of a share of 4,000 draws at p=.5 are .04.
        assert times / 4_000 == pytest.approx(said.get(row_id, 0), abs=0.04)
    assert sum(said.values()) == pytest.approx(n or 12)


@pytest.mark.simulation
def test_every_row_is_equally_often_the_first(store, uneven, monkeypatch):
    first = []
    monkeypatch.setattr(
        type(store), "add_queue", lambda self, run, name, how, rows, **k: first.append(rows[0][0]) or {"id": 0}
    )  # fmt: skip
    monkeypatch.setattr(type(store), "queue", lambda self, number: {})
    for seed in range(3_000):
        work.draw_queue(store, uneven["id"], "random", n=3, seed=seed)
    counts = np.unique(first, return_counts=True)[1]
    assert len(counts) == 12
    assert counts.max() - counts.min() < 100  # sd of a count is 15


def test_one_per_task_takes_every_task_before_a_second_rollout(store, uneven):
    tasks = dict(zip(*store.tasks_of(uneven["id"]), strict=True))
    for seed in range(20):
        queue = work.draw_queue(store, uneven["id"], "one_per_task", n=8, seed=seed)
        order = [tasks[i] for i in store.queue_row_ids(queue["id"])]
        assert len(set(order[:5])) == 5
        assert set(order[5:]) == {"t2", "t3", "t4"}


def test_the_same_draw_is_the_same_queue_and_another_seed_another(store, uneven):
    one = work.draw_queue(store, uneven["id"], n=6, seed=1)
    assert work.draw_queue(store, uneven["id"], n=6, seed=1) == one
    other = work.draw_queue(store, uneven["id"], n=6, seed=2)
    assert other["id"] != one["id"]
    assert store.queue_row_ids(other["id"]) != store.queue_row_ids(one["id"])


def test_a_queue_is_no_longer_than_its_rows(store, uneven):
    queue = work.draw_queue(store, uneven["id"], n=1_000)
    assert (queue["n"], queue["planned_n"]) == (12, 12)
    assert set(chances(store, queue).values()) == {1.0}
    assert work.draw_queue(store, uneven["id"])["n"] == min(12, drawing.DEFAULT_N)


def test_a_group_queue_holds_rows_of_the_group_only(store, uneven):
    queue = work.draw_queue(
        store, uneven["id"], "group", n=4, field="regime", value="BIG", criterion="action"
    )
    rows = dict(store.numbered_rows(uneven["id"]))
    assert {rows[i]["regime"] for i in store.queue_row_ids(queue["id"])} == {"BIG"}
    assert set(chances(store, queue).values()) == {0.5}
    assert (queue["field"], queue["value"], queue["criterion"]) == ("regime", "BIG", "action")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"how": "group"}, "needs a field"),
        ({"how": "group", "field": "regime", "value": "HUGE"}, "no row to draw"),
        ({"n": 0}, "at least one row"),
        ({"n": -3}, "at least one row"),
        ({"how": "alphabetical"}, "not 'alphabetical'"),
    ],
)
def test_a_queue_that_cannot_be_drawn_is_refused(store, uneven, asked, said):
    with pytest.raises(RefusedError, match=said):
        work.draw_queue(store, uneven["id"], **asked)
    assert store.queues(uneven["id"]) == []


def test_a_review_holds_all_disagreements_and_a_share_of_the_rest_shuffled(store, recipe):
    # 82 disagreements and .2 of 139 agreements: 28 (statistics.md 1).
    queue = work.review_queue(store, recipe["id"], seed=4)
    order = store.queue_row_ids(queue["id"])
    at = (store, recipe["id"], None, None, None)
    apart = set(work.cell_rows(*at, "disagree"))
    agreeing = set(work.cell_rows(*at, "agree"))
    assert queue["n"] == len(order) == 82 + 28
    assert apart <= set(order) and len(set(order) & agreeing) == 28
    p = chances(store, queue)
    assert {p[i] for i in apart} == {1.0}
    assert {round(p[i], 6) for i in set(order) & agreeing} == {round(28 / 139, 6)}
    assert (queue["purpose"], queue["how"], queue["gold"]) == ("review", "picked", "program")
    runs = sum((a in apart) != (b in apart) for a, b in zip(order, order[1:], strict=False))
    assert runs > 20  # two blocks would change once
    assert order != sorted(order)


def test_a_review_of_one_cell_in_one_group(store, recipe):
    store.choose(recipe["id"], criterion="action")
    queue = work.review_queue(
        store, recipe["id"], "fp", agreeing_share=0, field="regime", value="BIG"
    )
    assert set(store.queue_row_ids(queue["id"])) == set(
        work.cell_rows(store, recipe["id"], None, None, None, "fp", "regime", "BIG")
    )
    assert queue["n"] == 18


def test_answers_to_a_review_enter_no_estimate(store, recipe, press):
    before = work.trust(store, recipe["id"], gold="human")
    queue = work.review_queue(store, recipe["id"])
    for _ in range(10):
        press(queue, store.next_row(queue["id"], "ana")["row_id"], "pass")
    after = work.trust(store, recipe["id"], gold="human")
    assert after["agreement"]["n"] == before["agreement"]["n"] == 0
    assert after["coverage"]["picked"] == 10


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_review_needs_a_share_and_something_to_review(store, recipe, put, judged, share):
    with pytest.raises(RefusedError, match="between 0 and 1"):
        work.review_queue(store, recipe["id"], agreeing_share=share)
    run = put(judged(4))
    with pytest.raises(RefusedError, match="needs a judge's verdicts and gold"):
        work.review_queue(store, run["id"])
    work.label_by_rule(store, run["id"], lambda row: row["reward"], "same")
    with pytest.raises(RefusedError, match="No row disagrees"):
        work.review_queue(store, run["id"])


def test_the_corrected_rate_of_the_store_is_that_of_the_file(store, recipe):
    rows = [json.loads(line) for line in RECIPE.read_text().splitlines()]
    found = work.trust(store, recipe["id"])["corrected"]
    expected = corrected_pass_rate(rows)
    assert found["value"] == pytest.approx(expected["value"])
    assert found["ci95"] == pytest.approx(expected["ci95"])
    assert found["judge"]["counts"] is False


def test_one_rollout_a_task_is_weighted_by_the_size_of_its_task(store, put):
    # 40 tasks of one rollout pass, 10 of four fail: half of the 80 rows pass, 80% of the tasks.
    rows = [
        {"task_id": f"t{t}", "rollout_index": i, "prompt": "p", "final_text": "r", "reward": 1}
        for t in range(50)
        for i in range(1 if t < 40 else 4)
    ]
    run = put(rows)
    queue = work.draw_queue(store, run["id"], "one_per_task", 50)
    for row_id in store.queue_row_ids(queue["id"]):
        task = store.row(row_id)["task"]
        verdict = "pass" if int(task[1:]) < 40 else "fail"
        store.add_label(row_id, "ana", verdict, f"n{row_id}", queue_id=queue["id"])
    corrected = work.trust(store, run["id"], gold="human")["corrected"]
    assert corrected["labels_only"]["value"] == pytest.approx(0.5)


def test_labels_of_one_group_correct_no_rate_of_the_run(store, put):
    rows = [
        {"task_id": f"t{t}", "prompt": "p", "final_text": "r", "reward": 1, "regime": "AB"[t % 2]}
        for t in range(20)
    ]
    run = put(rows)
    queue = work.draw_queue(store, run["id"], "group", 5, field="regime", value="A")
    row_id = store.queue_row_ids(queue["id"])[0]
    store.add_label(row_id, "ana", "pass", "n1", queue_id=queue["id"])
    assert work.trust(store, run["id"], gold="human")["corrected"] is None


def test_what_is_not_shown_says_how_many_labels_are_missing(store, put):
    # look.md: 87% of 82 rows: 48 more if the rate holds, 142 for an 80% chance; by task (a row
    # each, Student's t of 81) a few more.
    pairs = [(1, 1)] * 46 + [(0, 0)] * 25 + [(1, 0)] * 2 + [(0, 1)] * 9
    report = measured(put, store, pairs)
    assert report["state"] == "not_shown"
    plan = report["plan"]
    assert plan["if_it_holds"] >= 48 and plan["for_power"] >= 142
    words = f"{plan['if_it_holds']} more labels if the rate holds, {plan['for_power']} for an 80%"
    assert words in report["headline"]["grey"]


def test_one_more_label_is_one_label():
    assert plan_words({"if_it_holds": 1, "for_power": None}) == "1 more label if the rate holds"
    assert plan_words({"if_it_holds": None, "for_power": None}) == ""


def test_before_the_last_planned_label_there_is_no_verdict(store, put):
    # 40 of 40 right would pass at once; a queue of 60 says nothing before the 60th label.
    rows = [
        {"task_id": f"t{n}", "prompt": f"ask {n}", "final_text": "reply", "reward": n % 2}
        for n in range(100)
    ]
    run = put(rows)["id"]
    queue = work.draw_queue(store, run, "random", 60)
    order = store.queue_row_ids(queue["id"])

    def label(row_ids):
        for row_id in row_ids:
            truth = store.row(row_id)["row"]["reward"]
            verdict = "pass" if truth else "fail"
            store.add_label(row_id, "ana", verdict, f"n{row_id}", queue_id=queue["id"])

    assert work.trust(store, run, gold="human")["interim"] is None  # nobody began
    label(order[:40])
    report = work.trust(store, run, gold="human")
    assert report["interim"] == {
        "queue": queue["id"],
        "name": queue["name"],
        "planned": 60,
        "labelled": 40,
        "closed_at": None,
    }
    assert (report["state"], report["state_reason"]) == ("not_shown", "40 of 60 planned labels")
    assert report["headline"]["word"] == "INTERIM"
    assert report["headline"]["bold"] == "40 of 60 planned labels: no verdict yet."
    assert "So far agrees 100%" in report["headline"]["grey"]
    label(order[40:])
    done = work.trust(store, run, gold="human")
    assert done["interim"] is None and done["state"] == "passes"
    # A queue that was ended early has a verdict, and says so.
    second = work.draw_queue(store, run, "random", 50, seed=5)
    row_id = next(r for r in store.queue_row_ids(second["id"]) if r not in order)
    store.add_label(row_id, "ana", "pass", "late", queue_id=second["id"])
    # Rows of the first queue are answered: nobody is asked for them again.
    n = 1 + len(set(order) & set(store.queue_row_ids(second["id"])))
    assert work.trust(store, run, gold="human")["interim"]["labelled"] == n
    store.close_queue(second["id"])
    ended = work.trust(store, run, gold="human")
    assert ended["interim"] is None and ended["state"] == "passes"
    assert ended["headline"]["grey"].endswith(f" · ended at {n} of 50 planned labels")


def test_values_that_read_alike_are_one_slice(store, put):
    fields = [None, "(none)", 1, 1.0, "1", "b"]
    rows = [
        {"task_id": f"t{n}", "prompt": "p", "final_text": "r", "reward": 1, "gold_reward": 0}
        | ({} if field is None else {"regime": field})
        for n, field in enumerate(fields)
    ]
    both = Mapping({"reward": "reward", "gold_reward": "gold_reward"})
    run = put(rows, mapping=both, origins={"gold_reward": {"kind": "program"}})
    found = work.slices(store, run["id"], "regime")
    lines = {line["value"]: (line["n"], line["n_tasks"]) for line in found["rows"]}
    assert lines == {"(none)": (2, 2), "1": (2, 2), "1.0": (1, 1), "b": (1, 1)}
    assert found["all"]["false_passes"] == 6


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 6), st.integers(0, 1), st.sampled_from("abc"),
            st.sampled_from(["human", "program", "model"]),
        ),
        max_size=14,
    )
)  # fmt: skip
def test_gold_of_rows_with_one_label_is_what_attach_labels_makes_of_it(given_labels):
    records = [
        {"key": str(row), "label": label, "annotator": who, "kind": kind, "ts": "2026-12-01"}
        for row, label, who, kind in given_labels
    ]
    rows = [{"rollout_id": key} for key in dict.fromkeys(r["key"] for r in records)]
    if rows:
        attach_labels(rows, records)
    assert gold_by_row(records) == {int(row["rollout_id"]): row for row in rows}
