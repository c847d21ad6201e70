"""What is loaded, one line a run: can anything here be quoted?"""

from __future__ import annotations

from typing import Any

from whileai_review.intervals import wilson
from whileai_review.store import Store
from whileai_review.work.measuring import settings, trust


def overview(store: Store, archived: bool = False) -> list[dict]:
    """Every run with what a lead asks first.

    Each is the run's line in the store with ``grader`` (name), ``graders``, ``pass_rate`` by the
    judge and ``gold_pass`` (``value ci95 n``), ``n_labelled``, ``coverage``, ``state``,
    ``state_reason`` and ``headline`` of its trust report.
    """
    return [_line(store, run) for run in store.runs(archived)]


def _line(store: Store, run: dict) -> dict:
    found, grader, gold, criterion = settings(store, run["id"])
    report = trust(store, run["id"])
    return found | {
        "tags": run["tags"],
        "grader": grader["name"] if grader else None,
        "gold": report["gold"],
        "criterion": criterion,
        "pass_rate": _rate(*report["judge_passes"]),
        "gold_pass": _gold_pass(report),
        "n_labelled": report["n_rows"] - report["coverage"]["none"],
        "coverage": report["coverage"],
        "state": report["state"],
        "state_reason": report["state_reason"],
        "headline": report["headline"],
        "gold_audit": report["gold_audit"],
    }


def _gold_pass(report: dict) -> dict[str, Any]:
    agreement, weighted = report["agreement"], report["weighted"]
    if weighted:
        return {key: weighted["gold_pass_rate"][key] for key in ("value", "ci95", "n")}
    return _rate(agreement["n_gold_pass"], agreement["n"])


def _rate(k: int, n: int) -> dict[str, Any]:
    return {"value": k / n if n else None, "ci95": wilson(k, n), "n": n}
