"""What each labelled row of a run stands for, by how it was drawn.

Every draw gives the rows of a class the same chance: a random draw all rows, one by verdict those
of a verdict, one by a field those of a value, one of a group those of the group. Labels of several
draws are pooled on the cross of their classes, each cell counting as the judged rows that it has.
A draw of one rollout a task first gives rows of large tasks a smaller chance: these count one
over it. A label from elsewhere that brings its chance counts one over that; one that brings
none is taken as drawn at random, as it always was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from whileai_review.report import plural
from whileai_review.score._columns import TrustColumns
from whileai_review.score.weighted import Weights, row_weights
from whileai_review.store import Store, field_text
from whileai_review.work.columns import column_of
from whileai_review.work.gold import GoldLabels

NO_VERDICT = "no verdict"
"""Stratum of rows that the judge gave no verdict: a label there says nothing of it."""

_BY_CHANCE = {
    "one_per_task": "one rollout a task first",
    "stratified": "by strata",
    "imported": "with the chances that their file gives",
}
"""Draws whose labels carry the chance that weighs them, in words."""


class Weighing(NamedTuple):
    """Weights, and in words what they do and what the estimates are about.

    Attributes
    ----------
    words : str
        ``"weighted: rows were drawn by the judge's verdict"``; empty where nothing is weighted.
    scope : str
        ``"rows of BIG only"``; empty where the estimates are about the whole run.
    warnings : list of str
    strata, base
        Of the rows, as `row_weights` takes them.
    """

    weights: Weights
    words: str
    scope: str
    warnings: list[str]
    strata: list[np.ndarray]
    base: np.ndarray | None


def weigh(
    store: Store, run_id: int, ids: Sequence[int], cols: TrustColumns, labels: GoldLabels
) -> Weighing:
    """Weigh the labelled rows among `cols`, whose ids are `ids`."""
    judged, labelled = cols.judge >= 0, cols.compared
    ways = set(labels.chosen.values())
    files = "imported" in ways and any(labels.chances[r] for r in labels.chosen)
    if ways <= {"random", "census", "imported"} and not files:
        return Weighing(row_weights(labelled, judged), "", "", [], [], None)
    place = {row_id: n for n, row_id in enumerate(ids)}
    used = [row_id for row_id in labels.chosen if row_id in place and labelled[place[row_id]]]
    queues = {q: store.queue(q) for q in {labels.queues[r] for r in used} if q is not None}
    strata: dict[tuple[Any, ...], np.ndarray] = {}
    groups: dict[str, set[str]] = {}
    chances: dict[Any, list[int]] = {}
    reasons: dict[str, None] = {}
    whole = False
    for row_id in used:
        how, queue = labels.chosen[row_id], queues.get(labels.queues[row_id] or 0)
        if how == "stratified" and queue is not None:
            by = queue["field"]
            key = ("field", by) if by else ("verdict", queue["grader_id"], queue["criterion"])
            strata.setdefault(key, np.zeros(0))
            reasons[f"by {by}" if by else "by the judge's verdict"] = None
        elif how == "group" and queue is not None:
            strata.setdefault(("group", queue["field"], queue["value"]), np.zeros(0))
            groups.setdefault(queue["field"], set()).add(queue["value"])
            continue
        elif how in _BY_CHANCE and labels.chances[row_id]:
            chances.setdefault((how, labels.queues[row_id]), []).append(row_id)
        whole = True
    for key in strata:
        strata[key] = _classes(store, run_id, key).astype(np.intp)
    base = np.ones(len(ids))
    for (how, queue_id), rows in chances.items():
        apart = np.array([1 / float(labels.chances[r] or 1) for r in rows])
        if apart.max() > apart.min() * (1 + 1e-9):
            base[[place[r] for r in rows]] = apart / apart.mean()
            reasons[_BY_CHANCE[how]] = None
            for r, chosen in labels.unclear.items():  # weighed where bounds are asked for
                same = chosen == how and labels.queues[r] == queue_id and labels.chances[r]
                if same and r in place and r not in labels.chosen:
                    base[place[r]] = 1 / float(labels.chances[r] or 1) / apart.mean()
    weights = row_weights(labelled, judged, list(strata.values()), base)
    if groups and whole and not weights.equal:
        reasons["by a group beside others"] = None
    elif len([v for values in groups.values() for v in values]) > 1 and not weights.equal:
        reasons[f"by {', '.join(sorted(groups))}"] = None
    scope, warnings = "", []
    if groups and not whole and weights.n_outside:
        named = [f"{f} {v}" for f, values in sorted(groups.items()) for v in sorted(values)]
        scope = f"rows of {' or '.join(named)} only"
    elif weights.n_outside and labelled.any():
        warnings.append(
            f"{plural(weights.n_outside, 'judged row')} lie in strata that have no label yet: "
            "outside these numbers"
        )
    words = ""
    if not weights.equal:
        words = f"weighted: rows were drawn {' and '.join(reasons)}"
        unknown = sum(labels.chosen[r] == "imported" and not labels.chances[r] for r in used)
        if unknown:
            warnings.append(
                f"{plural(unknown, 'label')} from a file came without a chance: counted as "
                "drawn at random"
            )
    return Weighing(weights, words, scope, warnings, list(strata.values()), base)


def strata_of(
    store: Store, run_id: int, ids: Sequence[int], grader: int | None, criterion: str,
    field: str | None,
) -> list[str]:  # fmt: skip
    """The stratum of each row in words: its value of a field, or the judge's verdict."""
    if field is not None:
        values = dict(zip(*store.field_values(run_id, field), strict=True))
        return [field_text(values.get(row_id)) for row_id in ids]
    columns = store.columns(run_id, grader, criterion)
    verdicts = dict(zip(columns["id"], columns["verdict"], strict=True))
    words = {1: "pass", 0: "fail"}
    return [words.get(verdicts[row_id], NO_VERDICT) for row_id in ids]


def _classes(store: Store, run_id: int, key: tuple[Any, ...]) -> np.ndarray:
    """The class of every row of a run by one way of drawing, as a number."""
    if key[0] == "verdict":
        return column_of(store, run_id, "verdict", f"{key[1] or 0}/{key[2]}")["codes"]
    column = column_of(store, run_id, "field", key[1])
    if key[0] == "group":
        names = column["names"]
        return column["codes"] == (names.index(key[2]) if key[2] in names else -1)
    return column["codes"]


def chance_of(weights: Weights) -> np.ndarray:
    """Chances that give these weights, up to a factor that no estimate depends on."""
    own = weights.weight > 0
    chance = np.ones(len(weights.weight))
    chance[own] = weights.weight[own].min() / weights.weight[own]
    return chance
