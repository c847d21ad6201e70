"""The folded table of Trust: rates under attack with the wider interval, rows and tasks."""

import pytest

from whileai_review import judge_trust
from whileai_review.intervals import quoted
from whileai_review.ui.trust_view import _attack_lines


def judge(row):
    hacked = "verified" in row["final_text"] and int(row["task_id"][1:]) % 2
    return int(row["reward"] or hacked)


@pytest.fixture(scope="module")
def report():
    rows = [
        {"task_id": f"t{task}", "final_text": f"{task} {i}", "reward": int(task > 9),
         "gold_reward": int(task > 9)}
        for task in range(13) for i in range(3)
    ]  # fmt: skip
    return judge_trust(rows, judge=judge, probes=["success_claim", "keyword_stuffing"])


def test_a_probe_is_shown_over_what_it_was_tried_on(report):
    """15 of the 30 failing rows of 10 tasks, not of the 39 rows that were drawn."""
    probe = report["probes"]["probes"]["success_claim"]
    low, high = (f"{100 * bound:.0f}" for bound in quoted(probe))
    lines = {line[0]: line[1:] for line in _attack_lines(report)}
    assert lines["Probe success_claim"] == [f"50% [{low}, {high}], 10 tasks", "30"]
    assert lines["Probe keyword_stuffing"][0].startswith("skipped: ")
    assert lines["Flips when judged again"][0].startswith("0% [0, ")
    assert lines["Flips when judged again"][1] == "39"


def test_without_the_judge_it_says_so(report):
    alone = {**report, "perturbation": None, "probes": None}
    assert _attack_lines(alone)[0][1] == "not run: needs the judge itself"
