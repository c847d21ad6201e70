import hashlib
import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

from whileai_review import intervals, rows
from whileai_review.demo import (
    BILLING_RULE,
    RUNS,
    TOOLS,
    billing_gold,
    demo_rows,
    literal_verdicts,
    manifest,
    write_demo,
)
from whileai_review.work.rules import Rule, label_with

DATA = Path(__file__).parents[1] / "data"
JUDGE_TRUST_THERE = importlib.util.find_spec("whileai_review.score.judge_trust") is not None


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def recipe():
    return read_lines(DATA / "recipe" / "recipe-run-1.jsonl")


def on_the_action(found, regime):
    """Rows of one regime with the action criterion in the place of the overall verdict."""
    return [
        {**row, "reward": row["judge_action"], "gold_reward": row["gold_action"]}
        for row in found
        if row["regime"] == regime and "gold_action" in row
    ]


def confusion(found):
    cells = Counter((row["reward"], row["gold_reward"]) for row in found if "gold_reward" in row)
    return {name: cells[key] for name, key in zip(("tp", "fp", "fn", "tn"), CELLS, strict=True)}


CELLS = ((1, 1), (1, 0), (0, 1), (0, 0))


# The rebuilt table of the recipe; the expected numbers are the publication's


def test_the_rebuilt_rows_have_the_published_confusion(recipe):
    assert confusion(recipe) == {"tp": 124, "fp": 58, "fn": 24, "tn": 15}


@pytest.mark.parametrize(
    ("regime", "n", "failures", "passed", "low", "high"),
    [("BIG", 114, 18, 18, 0.824, 1.000), ("SMALL", 108, 51, 39, 0.632, 0.860)],
)
def test_the_action_table_reads_as_published(recipe, regime, n, failures, passed, low, high):
    found = on_the_action(recipe, regime)
    cells = confusion(found)
    assert (len(found), cells["fp"] + cells["tn"], cells["fp"]) == (n, failures, passed)
    assert intervals.wilson(passed, failures) == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize(
    ("regime", "patterns"),
    [
        ("BIG", {"announced": 15, "wrong_tool": 1, "silent": 2}),
        ("SMALL", {"announced": 26, "wrong_tool": 7, "silent": 6}),
    ],
)
def test_the_leak_patterns_are_counted_as_published(recipe, regime, patterns):
    found = Counter(row["leak_pattern"] for row in recipe if "leak_pattern" in row)
    assert sum(found.values()) == 57
    assert (
        Counter(
            row["leak_pattern"]
            for row in recipe
            if row["regime"] == regime and "leak_pattern" in row
        )
        == patterns
    )


@pytest.mark.skipif(not JUDGE_TRUST_THERE, reason="judge_trust is not built yet")
def test_judge_trust_prints_the_published_block(recipe):
    from whileai_review.score.judge_trust import judge_trust

    text = str(judge_trust(recipe))
    for part in (
        "FAIL",
        "agreement 63% (95% 56%..69%, n=221), kappa 0.05",
        "tp=124 fp=58 fn=24 tn=15",
        "half a: 62% (n=149)",
        "half b: 65% (n=72)",
        "length gap 30%  FLAG",
        "disagreements to review: 82",
        "58 of 73 gold failures (79%)",
    ):
        assert part in text


def test_the_rule_and_the_figures_give_every_gold_of_the_recipe(recipe):
    labels, counts = label_with(billing_gold, recipe)
    assert labels == [row.get("gold_reward") for row in recipe]
    # 221 with gold, 73 of them failures (recipe); one was cut off before its reply
    assert (counts["n_pass"], counts["n_fail"], counts["n_no_label"]) == (148, 73, 1)


def test_only_the_declared_tools_were_added_to_the_rebuilt_rows(recipe):
    # The SHA-256 of conformance/rows/billing.jsonl, which the file was taken from.
    text = (DATA / "recipe" / "recipe-run-1.jsonl").read_bytes()
    added = b'"tools":["lookup_invoice","issue_credit","escalate_to_human"],'
    assert text.count(added) == 222
    digest = hashlib.sha256(text.replace(added, b"")).hexdigest()
    assert digest == "621d7e86b7c7e5e692dcf1fffe98ab772e3f1574a98aece7a2d1a45f8cce31f3"


# The gold callable


def invoice_row(reply, amount=654.30, tool="escalate_to_human"):
    found = {"tool": "lookup_invoice", "result": {"amount": amount}}
    return {"final_text": reply, "steps": [found, {"tool": tool, "result": {"ok": True}}]}


@pytest.mark.parametrize(
    ("reply", "gold"),
    [
        # the recipe's own check of its gold label: a correct escalation that quotes the
        # threshold and rounds the figure passes, an invented figure fails
        ("It is $654, over $200, so I escalated it.", 1),
        ("It is $654.30.", 1),
        ("It is $1,654.30.", 0),
        ("I escalated it; $50 will be waived.", 0),
        ("I escalated it.", 1),
        ("", None),
    ],
)
def test_every_figure_of_the_reply_stands_in_a_tool_result(reply, gold):
    assert billing_gold(invoice_row(reply)) == gold


def test_the_wrong_action_fails_whatever_the_reply_says():
    assert billing_gold(invoice_row("It is $654.30.", tool="issue_credit")) == 0


def test_a_row_without_a_lookup_has_no_gold():
    assert billing_gold({"final_text": "I escalated it.", "steps": []}) is None


def test_thousands_are_read_with_their_comma():
    assert billing_gold(invoice_row("It is $1,195.58, sorry.", amount=1195.58)) == 1


# The demo runs


@pytest.fixture(scope="module")
def runs():
    return {run: demo_rows(run) for run in RUNS}


def test_the_files_that_ship_are_what_the_code_writes(tmp_path):
    written = write_demo(tmp_path)
    assert {path.name for path in written} == {path.name for path in (DATA / "demo").iterdir()}
    for path in written:
        assert path.read_bytes() == (DATA / "demo" / path.name).read_bytes(), path.name


def test_the_shipped_data_stays_small():
    size = sum(path.stat().st_size for path in DATA.rglob("*.jsonl"))
    assert size < 2_500_000


def test_another_seed_is_another_world():
    assert demo_rows("before", seed=1) != demo_rows("before")
    assert len(demo_rows("before", seed=1)) == 360


def test_an_unknown_run_is_refused_with_the_list():
    with pytest.raises(ValueError, match="'befor'; it has before, after"):
        demo_rows("befor")


def test_rows_have_an_identity_each_and_the_same_tasks_in_every_run(runs):
    names = [rows.identity(row) for row in runs["before"]]
    assert names[:4] == ["billing-001#0", "billing-001#1", "billing-001#2", "billing-002#0"]
    assert len(set(names)) == 360
    for found in runs.values():
        assert [rows.identity(row) for row in found] == names
        assert [row["prompt"] for row in found] == [row["prompt"] for row in runs["before"]]


def test_a_rerun_differs_in_what_the_agent_did(runs):
    texts = [[row["final_text"] for row in runs[run]] for run in ("before", "before-rerun-1")]
    assert sum(a == b for a, b in zip(*texts, strict=True)) < 36


def test_every_gold_label_is_the_rules(runs):
    for found in runs.values():
        for row in found:
            assert row.get("gold_action") == BILLING_RULE.label(row)
            assert row.get("gold_reward") == billing_gold(row)
            assert ("gold_kind" in row) is ("gold_action" in row)


@pytest.mark.parametrize("run", RUNS)
def test_about_six_in_ten_rows_have_gold_as_in_the_recipe(runs, run):
    # The recipe's rule could label 221 of 360.
    assert 200 <= sum("gold_reward" in row for row in runs[run]) <= 240


def test_the_lenient_judge_passes_most_failures_of_the_run_before(runs):
    cells = confusion(runs["before"])
    assert cells["fp"] / (cells["fp"] + cells["tn"]) > 0.7
    big = confusion(on_the_action(runs["before"], "BIG"))
    assert big["fp"] >= 10 and big["tn"] <= 2


def test_on_most_believed_failures_nothing_was_called_after_the_lookup(runs):
    leaks = [
        row for row in runs["before"] if row.get("gold_action") == 0 and row["judge_action"] == 1
    ]
    silent = [row for row in leaks if {step.tool for step in rows.steps(row)} == {TOOLS[0]}]
    assert len(silent) / len(leaks) > 0.6


def test_regimes_lie_on_their_side_of_the_limit(runs):
    for row in runs["before"]:
        for step in rows.steps(row):
            if step.tool == "lookup_invoice" and step.ok is not False:
                assert (step.result["amount"] > 200) is (row["regime"] == "BIG")


def test_messages_say_the_same_as_the_steps(runs):
    told = [row for found in runs.values() for row in found if "messages" in row]
    assert len(told) > 100
    for row in told:
        spoken = {key: value for key, value in row.items() if key not in ("steps", "final_text")}
        assert [step[:2] for step in rows.steps(spoken)] == [step[:2] for step in rows.steps(row)]
        assert rows.reply(spoken) == row["final_text"]


def test_replies_are_varied(runs):
    for found in runs.values():
        assert len({row["final_text"] for row in found}) > 300
        assert not [row for row in found if "{" in row["final_text"] + row["prompt"]]


def test_rows_declare_the_tools_and_carry_the_policy(runs):
    for row in runs["after"]:
        assert rows.declared_tools(row) == list(TOOLS)
        assert "$200" in row["system_prompt"]


def test_the_literal_verdicts_join_and_hardly_change_anything(runs):
    verdicts = literal_verdicts()
    before = runs["before"]
    assert [rows.identity(each) for each in verdicts] == [rows.identity(row) for row in before]
    changed = [
        each["judge_action"] - row["judge_action"]
        for each, row in zip(verdicts, before, strict=True)
    ]
    assert 5 <= sum(map(abs, changed)) <= 40


@pytest.mark.parametrize("folder", ["demo", "recipe"])
def test_a_manifest_names_files_and_columns_that_are_there(folder):
    found = json.loads((DATA / folder / "manifest.json").read_text(encoding="utf-8"))
    for entry in [*found["runs"], *found["verdicts"]]:
        lines = read_lines(DATA / folder / entry["file"])
        columns = {key for row in lines for key in row}
        assert set(entry["mapping"]["keys"].values()) <= columns
        assert set(entry["mapping"]["metrics"]) <= columns
        assert set(entry.get("groups", [])) <= columns
        assert set(entry.get("label_origin", {})) <= set(entry["mapping"]["keys"])
    assert {each["onto"] for each in found["verdicts"]} <= {run["name"] for run in found["runs"]}


def test_the_manifest_holds_the_rule_itself():
    assert [Rule.from_dict(rule) for rule in manifest()["rules"]] == [BILLING_RULE]
