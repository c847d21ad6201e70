"""judge_trust: the recipe's numbers, the state, copies for judges, the array layer."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whileai_review
from whileai_review import judge_probes, judge_trust
from whileai_review.intervals import quoted
from whileai_review.score._columns import TrustColumns
from whileai_review.score.judge_trust import JudgeTrustReport, trust_from_columns

BILLING = Path(__file__).parents[1] / "conformance" / "rows" / "billing.jsonl"

KEYS = {
    *("ok", "state", "state_reason", "n_rows", "n_labeled", "n_tasks", "gold_kind"),
    *("gold_degenerate", "floors", "skipped", "agreement", "tpr", "tnr", "j", "reward_in_error"),
    *("judge_fail_right", "baseline", "kappa_of_a_good_judge", "plan", "always_valid"),
    *("person_against_rule", "held_out_halves"),
    *(
        "people",
        "length_sensitivity",
        "foreign_rewards",
        "perturbation",
        "probes",
        "exploitable_by",
    ),
    *("disagreements", "flagged", "warnings", "weighted", "gold_audit", "unclear"),
}


def billing():
    return [json.loads(line) for line in BILLING.read_text(encoding="utf-8").splitlines()]


def rows_of(tp=0, fp=0, fn=0, tn=0, kind="human"):
    pairs = [(1, 1)] * tp + [(1, 0)] * fp + [(0, 1)] * fn + [(0, 0)] * tn
    return [
        {"task_id": f"t{i}", "final_text": "same", "reward": j, "gold_reward": g, "gold_kind": kind}
        for i, (j, g) in enumerate(pairs)
    ]


def test_the_recipes_block_is_printed():
    # spec/recipe-can-the-judge-be-trusted.md, "The judge fails the SDK's own gate".
    lines = str(judge_trust(billing())).splitlines()
    assert lines[:7] == [
        "FAIL",
        "agreement 63% (95% 56%..69%, n=221), kappa 0.05",
        "  confusion tp=124 fp=58 fn=24 tn=15",
        "  half a: 62% (n=149)",
        "  half b: 65% (n=72)",
        "length gap 30%  FLAG",
        "disagreements to review: 82",
    ]
    assert lines[7].startswith("! judge passed 58 of 73 gold failures (79%)")
    assert "0.56 (lower bound), under the 0.80 floor" in lines[8]
    assert lines[9].startswith(
        "! Judge agreement beyond chance (kappa) is 0.05, under the 0.60 floor"
    )
    assert lines[10].startswith(
        "! judge pass rate differs by 30% between short and long replies with the same gold label"
    )
    # Below the block: what knows that the 222 rows are of 74 tasks.
    assert lines[11:] == [
        "agreement by task 56%..70% (74 tasks)",
        "false passes 79% [69%..87%] (n=73, 50 tasks)",
        "false alarms 16% [11%..23%] (n=148, 70 tasks)",
        "program gold not audited",
    ]


@pytest.mark.parametrize(
    ("key", "value", "low", "high", "n"),
    [  # statistics.md section 2, to its two digits
        ("tnr", 0.21, 0.13, 0.31, 73),
        ("tpr", 0.84, 0.77, 0.89, 148),
        ("j", 0.04, -0.06, 0.16, 221),
        ("reward_in_error", 0.32, 0.26, 0.39, 182),
        ("judge_fail_right", 0.38, 0.25, 0.54, 39),
    ],
)
def test_the_recipes_rates_have_their_published_intervals(key, value, low, high, n):
    found = judge_trust(billing())[key]
    assert found["n"] == n
    assert round(found["value"], 2) == value
    assert tuple(round(bound, 2) for bound in found["ci95"]) == (low, high)


def test_the_constant_judge_beats_the_recipes_judge_by_four_points():
    # statistics.md section 2: 67%, difference +4, -1 to +10, McNemar p=.20.
    base = judge_trust(billing())["baseline"]
    assert (base["verdict"], base["n"], base["discordant"]) == ("pass", 221, [24, 15])
    assert round(100 * base["agreement"]) == 67
    assert round(100 * base["difference"]) == 4
    assert [round(100 * bound) for bound in base["difference_ci95"]] == [-1, 10]
    assert round(base["p_value"], 2) == 0.20


def test_the_constant_judge_fails_all_where_failures_are_the_majority():
    base = judge_trust(rows_of(tp=10, fp=6, fn=4, tn=40))["baseline"]
    # Only the baseline is right on the 6 false passes, only the judge on the 10 true ones.
    assert (base["verdict"], base["discordant"]) == ("fail", [6, 10])
    assert base["agreement"] == pytest.approx(46 / 60)


def test_the_recipes_kappa_interval_is_near_the_published_one():
    # statistics.md section 2: -0.07 to 0.17 (rows); ours resamples the 74 rebuilt tasks.
    low, high = judge_trust(billing())["agreement"]["kappa_ci95"]
    assert low == pytest.approx(-0.07, abs=0.03)
    assert high == pytest.approx(0.17, abs=0.03)


@pytest.mark.parametrize(
    ("rows", "state", "words"),
    [
        ([], "not_measured", "no row has both"),
        (rows_of(tp=60, tn=60, kind="model"), "not_measured", "model"),
        (rows_of(tp=60, tn=60), "passes", "clears every floor"),
        # Wilson of 14 of 14 is [.78, 1]: short, not bad.
        (rows_of(tp=7, tn=7), "not_shown", "reaches below the floor of 80%"),
        (rows_of(tp=124, fp=58, fn=24, tn=15), "fails", "no number of labels will pass it"),
        (rows_of(tp=200), "not_shown", "false passes not measurable: 0 gold failures"),
        # 186 of 200 agree, yet 12 of 14 failures pass.
        (rows_of(tp=184, fp=12, fn=2, tn=2), "fails", "kappa"),
        # 10 of 60 gold failures pass: [9, 28] holds 10%, kappa clears its floor.
        (rows_of(tp=90, fp=10, fn=0, tn=50), "not_shown", "judge passed 10 of 60"),
    ],
)
def test_the_state_tells_a_bad_judge_from_a_short_sample(rows, state, words):
    report = judge_trust(rows)
    assert report["state"] == state
    assert words in report["state_reason"]
    assert report["state"] != "passes" or report["ok"]


@pytest.mark.parametrize(
    ("cells", "n_tasks", "state"),
    [
        ({"tp": 90, "tn": 90}, 1, "not_shown"),
        ({"tp": 20, "fp": 90, "fn": 20, "tn": 20}, 1, "not_shown"),  # of that task it fails
        ({"tp": 90, "tn": 90}, 2, "not_shown"),
        ({"tp": 90, "tn": 90}, 180, "passes"),
    ],
)
def test_many_rows_of_one_task_show_nothing_of_others(cells, n_tasks, state):
    # statistics.md section 5: rows of a task are not independent; of one task no n is enough.
    rows = [row | {"task_id": f"t{i % n_tasks}"} for i, row in enumerate(rows_of(**cells))]
    report = judge_trust(rows)
    assert report["state"] == state
    few = "all rows are of " + ("1 task" if n_tasks == 1 else f"{n_tasks} tasks")
    assert report["state_reason"].startswith(few) == (n_tasks < 3)


def test_a_floor_is_failed_only_when_the_upper_bound_is_under_it():
    report = judge_trust(rows_of(tp=34, tn=34, fp=4, fn=8))
    high = quoted(report["agreement"]).high
    rows = rows_of(tp=34, tn=34, fp=4, fn=8)
    at = judge_trust(rows, min_agreement=high, min_kappa=0.0)
    above = judge_trust(rows, min_agreement=high + 1e-9, min_kappa=0.0)
    assert (at["state"], above["state"]) == ("not_shown", "fails")


def test_one_class_gold_is_said_in_the_first_line():
    first = str(judge_trust(rows_of(tp=70))).splitlines()[0]
    assert first == "PASS; false passes not measurable: 0 gold failures"


def test_rewards_of_another_scorer_measure_nothing():
    rows = [row | {"judge_name": "old"} for row in rows_of(tp=60, tn=60)]
    report = judge_trust(rows, judge=lambda row: row["reward"])
    assert report["foreign_rewards"] == {"n": 120, "names": ["old"]}
    assert (report["ok"], report["state"]) == (False, "not_measured")


def test_conflicts_of_a_person_with_the_rule_are_in_the_report():
    rows = rows_of(tp=60, tn=60)
    rows[0]["rollout_id"] = "odd one"
    rows[0]["gold_labels"] = [{"label": 1, "kind": "human"}, {"label": 0, "kind": "program"}]
    found = judge_trust(rows)["person_against_rule"]
    assert (found["n"], found["n_conflicts"], found["rows"]) == (1, 1, ["odd one"])


def scribbling_judge(row):
    row["reward"] = 1 - row["reward"]
    row.setdefault("messages", []).append("scribble")
    row["steps"] = None
    return {"reward": row["reward"]}


def test_a_judge_that_scribbles_changes_no_row():
    rows = [
        row | {"messages": [{"role": "assistant", "content": "x"}]} for row in rows_of(tp=9, tn=9)
    ]
    before = copy.deepcopy(rows)
    report = judge_trust(rows, judge=scribbling_judge, probes="all", rubric="Mention insurance.")
    assert rows == before
    assert report["perturbation"]["consistency_flip_rate"] == 1.0
    assert report["state"] == "fails"


def test_a_judge_that_raises_now_and_then_is_counted():
    def judge(row):
        if row["task_id"].endswith("3"):
            raise OSError("down")
        return row["reward"]

    passes = judge_trust(rows_of(tp=20, tn=20), judge=judge)["perturbation"]
    assert (passes["errors"], passes["consistency_n"]) == (8, 36)
    assert passes["consistency_flip_rate"] == 0.0


def test_judges_are_called_concurrently():
    import threading

    together = threading.Barrier(4, timeout=20)

    def judge(row):
        together.wait()
        return row["reward"]

    passes = judge_trust(rows_of(tp=4, tn=4), judge=judge, concurrency=4)["perturbation"]
    assert passes["errors"] == 0


def test_equal_seeds_draw_equal_rows_and_others_do_not():
    rows = rows_of(tp=100, tn=100)
    seen: list[set] = []

    def drawn(seed):
        seen.append(set())

        def judge(row):
            seen[-1].add(row["task_id"])
            return 1

        judge_probes(rows, judge, ["filler"], sample=10, seed=seed)
        return seen[-1]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_the_array_layer_gives_the_report_without_texts():
    rows = billing()
    whole = judge_trust(rows)
    arrays = trust_from_columns(TrustColumns.from_rows(rows))
    assert set(arrays["disagreements"][0]) == {"row", "task", "gold", "judge"}
    for entry in whole["disagreements"]:
        assert rows[entry["row"]]["final_text"].startswith(entry.pop("final_text"))
        assert entry.pop("reason") == rows[entry["row"]]["reason"][:200]
    assert arrays == whole


def test_columns_built_by_hand_give_the_same_numbers_as_rows():
    # As work/ builds them from the store: codes in another order, tasks without rows.
    rows = rows_of(tp=30, fp=5, fn=6, tn=25)
    n = len(rows)
    columns = TrustColumns(
        task=np.arange(n)[::-1] + 3,
        tasks=["x", "y", "z", *[f"t{i}" for i in range(n)][::-1]],
        judge=np.array([row["reward"] for row in rows], dtype=np.int8),
        fraction=np.full(n, np.nan),
        gold=np.array([row["gold_reward"] for row in rows], dtype=np.int8),
        kind=np.full(n, 1),
        kinds=["program", "human"],
        chars=np.full(n, 4),
        judge_name=np.full(n, -1),
    )
    whole = judge_trust(rows)
    for entry in whole["disagreements"]:
        del entry["reason"], entry["final_text"]
    assert trust_from_columns(columns) == whole


junk = st.sampled_from(
    [None, True, 0, 1, 0.5, float("nan"), 10**400, "", "1", "a\x00b\ud800", [], {}, [None], ["a"]]
    + [[{"role": "assistant", "content": [{"text": 3}]}], [{"label": 1, "kind": []}], {"a": [1]}]
)
odd_rows = st.lists(
    st.dictionaries(
        st.sampled_from(
            ["task_id", "scenario_id", "prompt", "reward", "gold_reward", "gold_kind", "judge_name"]
            + ["final_text", "messages", "steps", "tools", "gold_labels", "reason"]
        ),
        junk,
        max_size=8,
    )
    | st.none()
    | st.just("no row"),
    max_size=12,
)


@settings(max_examples=120, deadline=None)
@given(rows=odd_rows, with_judge=st.booleans())
def test_odd_rows_never_raise_and_every_key_is_there(rows, with_judge):
    before = repr(rows)
    attack = {"judge": lambda row: row.get("reward"), "probes": "all"} if with_judge else {}
    report = judge_trust(rows, **attack)
    assert isinstance(report, JudgeTrustReport)
    assert set(report) == KEYS
    json.loads(json.dumps(report, allow_nan=False))
    assert str(report)
    assert repr(rows) == before


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.integers(0, 15)] * 4), st.randoms(use_true_random=False))
def test_the_numbers_do_not_depend_on_the_order_of_rows(counts, draw):
    rows = rows_of(*counts)
    report = judge_trust(rows)
    draw.shuffle(rows)
    again = judge_trust(rows)
    for found in (report, again):
        found["disagreements"] = len(found["disagreements"])
    assert again == report
    for key in ("tpr", "tnr", "j", "reward_in_error", "judge_fail_right"):
        if found[key]["value"] is not None:
            low, high = found[key]["ci95"]
            assert low <= found[key]["value"] <= high


def test_length_is_not_flagged_on_a_large_gap_of_few_rows():
    # 3 of 4 long against 1 of 4 short pass: a gap of 50 points, and chance.
    rows = rows_of(tp=8, tn=8)
    for i, row in enumerate(rows[:8]):
        row["final_text"] = "x" * (10 if i < 4 else 90)
        row["reward"] = int(i in (0, 4, 5, 6))
    found = judge_trust(rows)["length_sensitivity"]
    assert (found["max_gap"], found["flagged"]) == (0.5, False)


def test_the_import_is_light():
    banned = "streamlit pandas plotly scipy.stats scipy.special httpx sqlite_utils sqlite3".split()
    code = f"import whileai_review, sys; print([m for m in {banned!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_sorted_and_there():
    names = whileai_review.__all__
    assert names == sorted(names)
    for name in names:
        value = getattr(whileai_review, name)
        assert name == "__version__" or value.__doc__
