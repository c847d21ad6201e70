"""Files that other people wrote; skipped where they are not beside the project."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from whileai_review import load, rows
from whileai_review.load import UnreadableError

REAL = Path(__file__).parents[3] / "shared" / "real"
pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the real files are not here")


def files(*patterns: str) -> list[str]:
    if not REAL.is_dir():
        return []
    return sorted(str(p.relative_to(REAL)) for pattern in patterns for p in REAL.glob(pattern))


READABLE = [
    f
    for f in files(
        "whileai-sdk/*.jsonl", "tau-bench/*.jsonl", "tau-bench/*.csv", "prodigy/*.jsonl",
        "doccano/*.jsonl", "doccano/*.json", "doccano/*.csv", "pandalm/*.json",
        "llmbar/*.dataset.json", "llmbar/*.result.json", "refchecker/*.json", "ragas/*.json",
        "label-studio/*.csv", "label-studio/*qa_pairs.json",
    )
]  # fmt: skip

# The only bad line among them: three fields under a header of two.
REFUSED = {"doccano/import.text_classification.example.invalid.2.csv": 1}


@pytest.mark.parametrize("name", READABLE)
def test_every_row_of_a_readable_file_loads(name):
    found, report = load.read(REAL / name)
    assert found
    assert report["n_refused"] == REFUSED.get(name, 0)
    assert report["duplicates"]["n_dropped"] == 0
    if name.endswith(".jsonl"):
        assert len(found) == sum(bool(line.strip()) for line in (REAL / name).open("rb"))
    if name.endswith(".json"):
        whole = json.loads((REAL / name).read_text())
        whole = whole if isinstance(whole, list) else next(iter(whole.values()))
        assert len(found) == len(whole)
        assert all(row.items() >= obj.items() for row, obj in zip(found, whole, strict=True))


@pytest.mark.parametrize("name", READABLE)
def test_no_open_question_keeps_a_file_from_loading(name):
    assert not any(q.blocks for q in load.open_source(REAL / name).sniff().questions)


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("inspect_ai/*.json", "an Inspect log"),
        ("inspect_ai/*.eval", "an Inspect log"),
        ("agbenchmark/*/*.json", "an agbenchmark report"),
        ("swe-agent/*.traj", "a SWE-agent trajectory"),
        ("trulens/*.json", "a TruLens alignment report"),
        ("label-studio/s*.json", "a Label Studio"),
        ("label-studio/*multi-turn*.json", "a Label Studio"),
        ("judge-bench/*s.json", "JSON object with no list|several lists"),
        ("llmbar/*.statistics.json", "no list of rows"),
        ("whileai-sdk/published.json", "no list of rows"),
    ],
)
def test_a_container_of_another_tool_is_refused_by_its_name(pattern, what):
    names = files(pattern)
    assert names
    for name in names:
        with pytest.raises(UnreadableError, match=what) as error:
            load.read(REAL / name)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arm", "n", "accuracy", "no_verdict"),
    # published.json of whileai-sdk: n, accuracy, rows without a verdict
    [
        ("base", 246, 0.7033, 5),
        ("srv-base-r2", 246, 0.2724, 154),
        ("srv-sft-with", 246, 0.6138, 14),
        ("srv-sft-without", 246, 0.6382, 23),
    ],
)
def test_the_last_line_of_each_task_gives_the_published_numbers(arm, n, accuracy, no_verdict):
    name = f"whileai-sdk/deepagents-review.{arm}.holdout.jsonl"
    found, _ = load.read(REAL / name, duplicates="last")
    assert len(found) == n
    assert round(sum(row["reward"] for row in found) / n, 4) == accuracy
    assert sum(row["verdict"] is None for row in found) == no_verdict


def test_the_retried_rows_are_reported_as_conflicting():
    # README of the files: 313 lines, 246 tasks, 67 network errors were retried later.
    _, report = load.read(REAL / "whileai-sdk/deepagents-review.base.holdout.jsonl")
    assert report["n_rows"] == 313
    assert report["duplicates"]["n_exact"] + report["duplicates"]["n_conflicting"] == 313 - 246


def test_calls_are_a_metric_and_the_label_waits_for_its_origin():
    sniffed = load.open_source(REAL / "whileai-sdk/deepagents-review.base.holdout.jsonl").sniff()
    assert set(sniffed.mapping.metrics) == {"model_calls", "tool_calls"}
    assert sniffed.label_columns == ["label"]
    assert sniffed.split_columns == ["arm"]
    assert sniffed.mapping.keys == {"reward": "correct", "scenario_id": "task_id"}


def test_tau_bench_rollouts_have_repeats_and_steps():
    found, _ = load.read(REAL / "tau-bench/gpt-4o-airline.tasks00-33.jsonl")
    assert len({rows.identity(row) for row in found}) == 136
    assert len({rows.task_key(row) for row in found}) == 34
    assert rows.identity(found[0]) == f"{found[0]['task_id']}#{found[0]['trial']}"
    calls = sum(len(turn.get("tool_calls") or []) for row in found for turn in row["traj"])
    steps = [step for row in found for step in rows.steps(row)]
    assert len(steps) == calls > 0
    assert all(isinstance(step.arguments, dict) for step in steps)


def test_tau_bench_rewards_give_the_published_pass_rate():
    # sierra-research/tau-bench: pass^1 of gpt-4o on airline is .420 (50 tasks x 4)
    found, _ = load.read(REAL / "tau-bench/gpt-4o-airline.rewards.csv")
    assert len(found) == 200
    assert sum(rows.verdict(row["reward"]) for row in found) / 200 == 0.42


def test_ids_of_19_digits_stay_what_they_are():
    name = "refchecker/nq_gpt4_answers.json"
    found, _ = load.read(REAL / name)
    ids = [entry["id"] for entry in json.loads((REAL / name).read_text())]
    assert [row["scenario_id"] for row in found] == ids
    assert len({rows.identity(row) for row in found}) == 100


def test_negative_hashes_name_the_rows_of_prodigy():
    found, report = load.read(REAL / "prodigy/docs_issues_eval.jsonl")
    assert len({rows.identity(row) for row in found}) == 500
    assert any(rows.identity(row).startswith("-") for row in found)
    assert Counter(row["answer"] for row in found) == {"accept": 165, "reject": 335}
    assert "answer" in report["label_columns"]


def test_a_utf16_table_reads_as_text():
    found, _ = load.read(REAL / "doccano/import.data.example.utf16.csv")
    assert [row["text"] for row in found] == ["AAA", "BBB", "CCC"]
