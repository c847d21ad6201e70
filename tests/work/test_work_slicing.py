"""Slices found by a search over the short fields of a run in the store."""

import pytest

from whileai_review import work
from whileai_review.load import Mapping
from whileai_review.store import NotFoundError
from whileai_review.work import measuring, pool, slicing

GOLD = Mapping({"reward": "reward", "gold_reward": "gold"})
HUMAN = {"gold_reward": {"kind": "human"}}


@pytest.fixture
def leaky():
    """120 rows, a task each: the judge passes 18 of 20 failures where flag is 1, else 10 of 40."""

    def rows(**more):
        found = []
        for i in range(120):
            gold = int(i >= 60)
            judge = gold or int(i < 18 or 20 <= i < 30)
            found.append(
                {
                    "scenario_id": f"t{i}", "prompt": "a", "final_text": f"r{i}",
                    "reward": judge, "gold": gold,
                    "arm": "ab"[i % 2], "flag": i < 20 or i % 3 == 0, "size": 1.0 + i % 4,
                    "mix": [1, 1.0, "1", True][i // 3 % 4], **more,
                }
            )  # fmt: skip
        return found

    return rows


def test_the_worst_slice_is_found_and_its_rows_are_those_of_the_queue(store, put, leaky):
    run = put(leaky(), mapping=GOLD, origins=HUMAN)
    found = work.found_slices(store, run["id"])
    assert (found["named"], found["criterion"], found["n"], found["n_tasks"]) == (
        "arm", "overall", 120, 120,
    )  # fmt: skip
    # flag: 2 values, size: 4, mix: "1" and "1.0" (True is written 1, as the address has it).
    assert sorted(found["fields"]) == ["flag", "mix", "size"]
    assert found["k"] == 8
    worst = found["slices"][found["worst"]["false_pass"]]
    assert (worst["field"], worst["value"]) == ("flag", "1")
    share = worst["false_pass"]
    # By hand: flag holds for 0..19 and for 14 of 21, 24, ..., 57 among the failures: 33 of 60.
    failures = [i for i in range(60) if i < 20 or i % 3 == 0]
    passed = [i for i in failures if i < 18 or 20 <= i < 30]
    assert (share["hits"], share["n"]) == (len(passed), len(failures))
    assert share["excess"] == pytest.approx(len(passed) - len(failures) * 28 / 60)
    for line in found["slices"]:
        at = (store, run["id"], None, None, None, "fp", line["field"], line["value"])
        assert len(work.cell_rows(*at)) == line["false_passes"], line["value"]
    assert str(found).startswith("Worst of 8 by false passes: flag = 1, 21 of 33 gold failures")


def test_rows_without_the_field_are_a_slice_too(store, put, leaky):
    rows = leaky()
    for row in rows[:18]:
        del row["size"]
    run = put(rows, mapping=GOLD, origins=HUMAN)
    worst = work.found_slices(store, run["id"])["slices"][0]
    assert (worst["field"], worst["value"], worst["false_passes"]) == ("size", "(none)", 18)
    at = (store, run["id"], None, None, None, "fp", "size", "(none)")
    assert len(work.cell_rows(*at)) == 18


@pytest.mark.parametrize("value", [0.1 + 0.2, 1e22, 123456789.12345679])
def test_long_floats_are_named_as_the_queue_finds_them(store, put, leaky, value):
    rows = leaky()
    for i, row in enumerate(rows):
        row["size"] = value if i < 30 else 2.5
    run = put(rows, mapping=GOLD, origins=HUMAN)
    for line in work.found_slices(store, run["id"])["slices"]:
        at = (store, run["id"], None, None, None, "fp", line["field"], line["value"])
        assert len(work.cell_rows(*at)) == line["false_passes"]


def test_the_recipe_is_searched_by_criterion(store, recipe):
    found = work.found_slices(store, recipe["id"], criterion="action")
    assert (found["criterion"], found["named"], found["n"]) == ("action", "regime", 222)
    plain = work.slices(store, recipe["id"], found["fields"][0], criterion="action")
    named = {line["value"]: line for line in plain["rows"]}
    for line in found["slices"]:
        if line["field"] == found["fields"][0]:
            same = named[line["value"]]
            assert line["false_passes"] == same["false_passes"]
            low, high = line["false_pass"]["ci_worst"]
            assert low <= same["false_pass_ci95"][0] and same["false_pass_ci95"][1] <= high


@pytest.fixture
def computed(monkeypatch):
    """How often a search was made."""
    calls = []
    real = slicing.search
    monkeypatch.setattr(slicing, "search", lambda *a: calls.append(a) or real(*a))
    return calls


def test_a_search_is_kept_until_a_label_comes(store, recipe, computed):
    first = work.found_slices(store, recipe["id"])
    assert work.found_slices(store, recipe["id"]) == first and len(computed) == 1
    work.label_by_rule(store, recipe["id"], lambda row: int(row["rollout_index"] == 0), "other")
    second = work.found_slices(store, recipe["id"])
    assert len(computed) == 2 and second["overall"] != first["overall"]


def test_a_large_run_is_searched_in_the_pool(store, put, judged, monkeypatch):
    rows = [row | {"half": i % 2} for i, row in enumerate(judged(4_000))]
    run = put(rows)
    work.label_by_rule(store, run["id"], lambda row: int(row["rollout_index"] < 2), "r")
    asked = []
    monkeypatch.setattr(pool, "run", lambda function, *a: asked.append(function) or function(*a))
    found = work.found_slices(store, run["id"])
    assert asked[-1] is measuring.make_beside
    assert {e["field"]: e["why"] for e in found["left_out"]} == {
        "half": "repeats the judge’s verdict"
    }


def test_a_run_without_labels_or_fields_says_so(store, put, leaky):
    run = put(leaky())
    assert "no row has both a verdict and a label" in str(work.found_slices(store, run["id"]))
    bare = [{k: row[k] for k in ("scenario_id", "prompt", "final_text", "reward", "gold")}
            for row in leaky()]  # fmt: skip
    other = put(bare, "bare", mapping=GOLD, origins=HUMAN)
    found = work.found_slices(store, other["id"])
    assert (found["k"], found["slices"], found["named"]) == (0, [], None)
    assert "no field of 2 to 50 values divides the labelled rows" in str(found)
    with pytest.raises(NotFoundError, match="No grader 'x'"):
        work.found_slices(store, other["id"], "x")


def test_labels_of_unequal_chances_are_said_to_be_counted_unweighted(store, put, leaky, press):
    rows = leaky()
    run = put(rows)
    queue = work.draw_queue(store, run["id"], "stratified", 40, allocation="equal")
    assert not work.found_slices(store, run["id"])["warnings"]
    gold = dict(zip(store.tasks_of(run["id"])[0], [row["gold"] for row in rows], strict=True))
    for _ in range(40):
        row_id = store.next_row(queue["id"], "ana")["row_id"]
        press(queue, row_id, "pass" if gold[row_id] else "fail")
    assert "labels were drawn with unequal chances" in str(work.found_slices(store, run["id"]))
