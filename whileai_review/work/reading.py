"""What the rows of a cell say together, and what came of a review queue."""

from __future__ import annotations

from typing import Any

import orjson

from whileai_review.intervals import wilson
from whileai_review.score._claims import claimed_actions
from whileai_review.score._columns import NO_VERDICT
from whileai_review.store import Store, open_store
from whileai_review.work import pool
from whileai_review.work.gold import gold_labels, gold_of_labels
from whileai_review.work.measuring import cell_rows, measured_as
from whileai_review.work.rereading import Answers

MOST_ROWS = 2_000
"""Rows of a cell whose replies are read for what they name; 0.3 ms each."""

PATTERNS = ("announced", "wrong_tool", "silent")


def claims(store: Store, run: int | str, cell: str = "fp", **choices: Any) -> dict:
    """Of the rows in a cell, how many name an action that they never took?

    Parameters
    ----------
    cell
        As in `cell_rows`.
    **choices
        ``grader``, ``gold`` and ``criterion``; what is picked on the run where not given.

    Returns
    -------
    dict
        ``n`` rows read, ``n_cell`` rows in the cell (more than `n` only over 2,000), and for
        ``announced``, ``wrong_tool`` and ``silent`` (see `claimed_actions`) ``value, ci95, k``.
    """
    key = measured_as(store, run, **choices)
    kept = store.report(key[0], "claims", *key[1:], params=cell)
    ids = cell_rows(store, *key[:1], key[1] or None, key[2] or None, key[3], cell)
    revision = f"{len(ids)}/{hash(tuple(ids))}"
    if kept is None or kept["revision"] != revision:
        pool.run(_compute_claims, str(store.path), key, cell, ids, revision)
        kept = store.report(key[0], "claims", *key[1:], params=cell)
    return orjson.loads(kept["body"]) if kept else {"n": 0, "n_cell": 0}


def review_result(store: Store, queue_id: int) -> dict:
    """What the answers to a review queue say of judge and gold.

    Every answered row counts once, by the majority of the answers on it. Where the answer sides
    with the gold the judge was wrong, where it sides with the judge the gold was; where judge
    and gold agree, an answer against both is ``both_wrong``. Answers that were given with the judge
    in view count here too.

    Returns ``n`` rows of the queue, ``n_answered``, and the counts ``judge_wrong, gold_wrong,
    both_right, both_wrong, unclear``. No estimate: the rows were picked.
    """
    queue = store.queue(queue_id)
    run_id, criterion = queue["run_id"], queue["criterion"]
    rows = store.queue_row_ids(queue_id)
    answers = Answers(store, run_id, criterion, [queue_id], rows)
    truth = gold_of_labels(gold_labels(store, run_id, queue["gold"], criterion))
    columns = store.columns(run_id, queue["grader_id"], criterion)
    judged = dict(zip(columns["id"], columns["verdict"], strict=True))
    counts = dict.fromkeys(("judge_wrong", "gold_wrong", "both_right", "both_wrong", "unclear"), 0)
    for row_id in rows:
        if row_id in answers.given:
            gold = truth.get(row_id, {}).get("gold_reward")
            counts[_who_was_wrong(answers.any_of(row_id), judged.get(row_id), gold)] += 1
    return {"n": len(rows), "n_answered": sum(counts.values()), **counts}


def _who_was_wrong(answer: int, judge: int | None, gold: int | None) -> str:
    if answer == NO_VERDICT or judge is None or gold is None:
        return "unclear"
    if judge == gold:
        return "both_right" if answer == judge else "both_wrong"
    return "judge_wrong" if answer == gold else "gold_wrong"


def _compute_claims(
    path: str, key: tuple[int, int, str, str], cell: str, ids: list[int], revision: str
) -> None:
    counts = dict.fromkeys(PATTERNS, 0)
    with open_store(path, create=False) as store:
        tools = store.run(key[0])["tools"]
        read = ids[:MOST_ROWS]
        for start in range(0, len(read), 500):
            for brief in store.briefs(read[start : start + 500], key[1] or None, key[3]):
                pattern = claimed_actions(brief["row"], tools or None)["pattern"]
                if pattern in counts:
                    counts[pattern] += 1
        n = len(read)
        found: dict[str, Any] = {"n": n, "n_cell": len(ids)}
        for name, k in counts.items():
            interval = wilson(k, n)
            found[name] = {
                "value": k / n if n else None,
                "ci95": list(interval) if interval else None,
                "k": k,
            }
        store.put_report(key[0], "claims", *key[1:], revision, orjson.dumps(found), params=cell)
