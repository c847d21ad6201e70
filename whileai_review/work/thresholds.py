"""Give a judge that scores 1 to 5, or 0 to 1, a threshold, and say on which labels it was chosen."""

from __future__ import annotations

import math
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import orjson

from whileai_review.report import count
from whileai_review.score._columns import NO_VERDICT, TrustColumns
from whileai_review.score._trust import is_even
from whileai_review.score.certificate import canonical
from whileai_review.score.thresholds import (
    ThresholdReport,
    cut,
    score_words,
    thresholds_from_columns,
)
from whileai_review.store import RefusedError, Store
from whileai_review.work import judged
from whileai_review.work.measuring import Key, kept_beside, measured_as

REPORT = "thresholds"

UNWEIGHTED = (
    "labels were drawn with unequal chances: these shares are of the labelled rows, not weighted "
    "for the run"
)


def score_thresholds(
    store: Store,
    run: int | str,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
) -> ThresholdReport:
    """What a judge's score is worth at each threshold, on two halves of the tasks.

    Parameters
    ----------
    run, grader, gold, criterion
        As for `trust`.

    Returns
    -------
    ThresholdReport
        With ``grader grader_id criterion gold declared`` (the thresholds that were declared: name,
        threshold, declared_by, created_at).

    Raises
    ------
    NotFoundError
        No such run, grader, gold or criterion.
    """
    key = measured_as(store, run, grader, gold, criterion)
    run_id, grader_id, gold_name, criterion = key
    report = ThresholdReport(kept_beside(store, REPORT, key, measure))
    lines = {g["id"]: g for g in store.run(run_id)["graders"]}
    report |= {
        "grader": lines[grader_id]["name"] if grader_id in lines else None,
        "grader_id": grader_id,
        "criterion": criterion,
        "gold": gold_name or None,
        "declared": [
            {k: line[k] for k in ("id", "name", "threshold", "declared_by", "created_at")}
            for line in store.thresholds_of(run_id, grader_id, criterion)
        ],
    }
    return report


def declare_threshold(
    store: Store,
    run: int | str,
    threshold: float,
    by: str,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
    in_advance: bool = False,
) -> dict[str, Any]:
    """Declare from which score on a row passes: a grader of its own, dated and signed.

    The rows of half a that have a label are marked as shown to it, since the threshold was chosen
    with their labels in view: their tasks leave what Trust says of it.

    Parameters
    ----------
    threshold : float
        A row passes from this score on.
    by : str
        Who declares it.
    in_advance : bool
        It was named before anybody looked at labels, so all of them measure it.

    Returns
    -------
    dict
        ``id name threshold declared_by created_at n_pass n_fail n_tuned``: the grader, its
        verdicts, and the labelled rows that were looked at to choose it. The same threshold again
        is the one that was declared first.

    Raises
    ------
    RefusedError
        No number; no name; the judge gives verdicts and no scores, or is a threshold itself; all
        rows would pass, or none.
    """
    key = measured_as(store, run, grader, gold, criterion)
    run_id, grader_id, gold_name, criterion = key
    line = next((g for g in store.run(run_id)["graders"] if g["id"] == grader_id), None)
    if line is None:
        raise RefusedError("This run has no judge: load its scores first.")
    if line["scores_of"] is not None:
        raise RefusedError(f"{line['name']} is a threshold already. Name the judge that it cuts.")
    if not store.has_scores(grader_id, criterion):
        raise RefusedError(
            f"{line['name']} has no score other than 0 and 1 on {criterion}: its verdicts are "
            "measured as they are."
        )
    if not math.isfinite(threshold):
        raise RefusedError(f"A threshold is a number, not {threshold}.")
    by = " ".join(by.split())
    if not by:
        raise RefusedError("Say who declares it: a threshold is dated and signed.")
    ids, columns, labels = judged.measured_rows(store, key, keep=False)
    scores = scores_of(columns)
    verdicts = cut(scores, threshold)
    n_pass, n_fail = int((verdicts == 1).sum()), int((verdicts == 0).sum())
    if not n_pass or not n_fail:
        known = scores[np.isfinite(scores)]
        raise RefusedError(
            f"At {score_words(threshold)} {'every' if n_pass else 'no'} row passes: the scores go "
            f"from {score_words(float(known.min()))} to {score_words(float(known.max()))}."
        )
    tuned: list[int] = []
    if not in_advance:
        even = np.array(is_even(columns.tasks), dtype=bool)[columns.task]
        tuned = [i for i, a in zip(ids, even, strict=True) if a and i in labels.records]
    content = {"pass": "score >= threshold", "scores_of": line["name"], "threshold": threshold}
    number = store.add_threshold(
        run_id,
        grader_id,
        criterion,
        float(threshold),
        threshold_name(line["name"], threshold),
        sha256(canonical(content).encode("ascii")).hexdigest(),
        by,
        tuned,
    )
    made = next(g for g in store.run(run_id)["graders"] if g["id"] == number)
    return {k: made[k] for k in ("id", "name", "threshold", "declared_by", "created_at")} | {
        "n_pass": n_pass,
        "n_fail": n_fail,
        "n_tuned": len(store.shown_rows(run_id, number)),
    }


def threshold_name(grader: str, threshold: float) -> str:
    """The name of a declared threshold.

    Examples
    --------
    >>> threshold_name("helpfulness", 4.0)
    'helpfulness ≥ 4'
    """
    return f"{grader} ≥ {score_words(threshold)}"


def declared_words(declared: dict[str, Any]) -> str:
    """What was declared, for a line of text."""
    words = (
        f"{declared['name']}: {count(declared['n_pass'])} rows pass, {count(declared['n_fail'])} "
        f"fail; declared by {declared['declared_by']} on {declared['created_at'][:10]}"
    )
    if declared["n_tuned"]:
        words += (
            f"; {count(declared['n_tuned'])} labelled rows were looked at to choose it, their "
            "tasks leave its estimates"
        )
    return words


def scores_of(columns: TrustColumns) -> np.ndarray:
    """The scores of a judge, verdicts among them; NaN where there is none."""
    return np.where(columns.judge == NO_VERDICT, columns.fraction, columns.judge).astype(float)


def measure(store: Store, key: Key, revision: str) -> None:
    """Measure a judge's score at every threshold and keep the report."""
    run_id, grader_id, gold, criterion = key
    ids, cols, _ = judged.measured_rows(store, key, keep=False)
    shown = store.shown_rows(run_id, grader_id)
    if shown:  # what the judge was tuned on tells nothing of it, by task
        rows = np.array([row_id in shown for row_id in ids], dtype=bool)
        seen = np.isin(cols.task, np.unique(cols.task[rows]))
        cols = replace(cols, gold=np.where(seen, NO_VERDICT, cols.gold).astype(np.int8))
    report = thresholds_from_columns(cols, scores_of(cols))
    weights = store.report(run_id, "weights", grader_id, gold, criterion)
    if weights is not None and orjson.loads(weights["body"]) is not None:
        report["warnings"].append(UNWEIGHTED)
    store.put_report(run_id, REPORT, grader_id, gold, criterion, revision, orjson.dumps(report))
