"""What share of the run really passes, when all rows are judged and some are labelled?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whileai_review.defaults import LEVEL
from whileai_review.intervals import Interval, newcombe_sum, quoted, t_quantile, wider, wilson
from whileai_review.report import (
    Report,
    count,
    interval2,
    interval_percent,
    number2,
    percent,
    plural,
)
from whileai_review.rows import is_number, verdict
from whileai_review.score._columns import TRUSTED, TrustColumns
from whileai_review.score.agreement import task_share

MIN_LABELLED_TASKS = 2
"""Tasks with a label under which there is no interval."""

_NOISE = 1e-12
"""What rounding leaves where a share or a standard error is 0; a million rows give 1e-6."""


class CorrectedPassRate(Report):
    """The pass rate by all verdicts, corrected by the labels.

    Keys
    ----
    value, ci95 : float or None, tuple or None
        The corrected rate (PPI++), its interval by task.
    lam : float or None
        Weight of the judge's verdicts, 0 to 1, where the variance is least; None where
        the labels are of one task, which cannot show it.
    helps : float or None
        Share of the variance that the judge takes away: 0.3 is worth 43% more labels. None as `lam`.
    n_labels, n_rows, n_tasks : int
        Labelled rows, judged rows, tasks among these.
    labels_only : dict
        ``value ci95 n ci95_tasks n_tasks deff`` of the labels alone.
    judge : dict
        The same of the judge's verdicts on all rows, and ``counts``: whether J is above 0; a rate
        by a judge whose verdict does not depend on the truth says nothing about it.
    j : dict
        ``value ci95`` of TPR + TNR - 1 on the labelled rows.
    n_skipped : int
        Rows without a 0/1 verdict of the judge; they are in none of the figures.
    gold_kind : str or None
    ok : bool
        There is a corrected rate with an interval, from labels of a trusted kind.
    warnings : list of str
    """

    def as_text(self) -> str:
        """The corrected rate, what it rests on, then the raw one."""
        own, raw = self["labels_only"], self["judge"]
        basis = ", ".join(
            (
                plural(self["n_labels"], "label"),
                plural(self["n_rows"], "judged row"),
                plural(self["n_tasks"], "task"),
            )
        )
        lines = [
            f"pass rate, corrected: {percent(self['value'])} {interval_percent(self['ci95'])} "
            f"({basis})",
            f"labels only:          {percent(own['value'])} {interval_percent(quoted(own))} "
            f"(n={count(own['n'])}); {helps_words(self['helps'])}",
            f"judge, raw:           {percent(raw['value'])} {interval_percent(quoted(raw))} "
            f"(n={count(raw['n'])})",
        ]
        if not raw["counts"]:
            j = "J is not known"
            if self["j"]["value"] is not None:
                j = f"J {number2(self['j']['value'])} {interval2(self['j']['ci95'])} "
                j += "is not above 0"
            lines[-1] += f"; do not quote it: {j}"
        return "\n".join(lines + [f"! {line}" for line in self["warnings"]])


def helps_words(helps: float | None) -> str:
    """How much the judge's verdicts are worth, in labels.

    Examples
    --------
    >>> helps_words(0.3), helps_words(0.0004)
    ('the judge helps: as if there were 43% more labels', 'the judge helps 0%')
    """
    if helps is None:
        return "how much the judge helps is not known"
    more = helps / (1 - helps) if helps < 1 else float("inf")
    if more < 0.005:
        return "the judge helps 0%"
    return f"the judge helps: as if there were {percent(more)} more labels"


def corrected_pass_rate(
    rows: Sequence[dict],
    gold: str = "gold_reward",
    reward: str = "reward",
    inclusion: str | None = None,
    allow_model_gold: bool = False,
) -> CorrectedPassRate:
    """Estimate the pass rate from all of a judge's verdicts and the labels of some rows.

    The labels must be those of rows drawn at random; rows that somebody picked bias it, and
    nothing here can see that. Power-tuned prediction-powered inference: the judge's rate on all
    rows plus the mean error on the labelled ones, the judge weighted so that the interval is
    never wider than that of the labels alone by more than chance; clustered by task.

    Parameters
    ----------
    rows : sequence of dict
        Entries that are no dicts are passed over, and a warning counts them. Nothing is changed.
    gold, reward : str
        Keys of label and verdict; only exact 0/1 count, warnings count the rest.
    inclusion : str, optional
        Key of the chance with which a labelled row was drawn; equal chances when None.
    allow_model_gold : bool
        Let labels of an untrusted kind count.

    Raises
    ------
    ValueError
        A labelled row's chance is no number over 0 and up to 1.

    Notes
    -----
    The interval is too narrow where the labels show hardly any error of the judge: by simulation
    it covers 94% to 96% at a pass rate of 65%, but 90% with 50 labels at a pass rate of 95% or when
    rows that the judge passed were drawn at a third of the chance. Labels alone cover 95% to 97% there.

    References
    ----------
    Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453. Clustered by linearisation over
    tasks: Binder (1983), International Statistical Review 51, 279-292.

    Examples
    --------
    >>> rows = [{"task_id": str(i), "reward": i % 2} for i in range(400)]
    >>> for i, row in enumerate(rows[:100]):
    ...     row |= {"gold_reward": row["reward"] if i % 10 else 1, "gold_kind": "human"}
    >>> found = corrected_pass_rate(rows)
    >>> round(found["value"], 2), round(found["labels_only"]["value"], 2)
    (0.6, 0.6)
    """
    own = [row for row in rows if isinstance(row, dict)]
    columns = TrustColumns.from_rows(own, gold=gold, reward=reward)
    chance = None
    if inclusion is not None:
        chance = np.ones(len(own))
        for place in np.flatnonzero(columns.compared).tolist():
            chance[place] = _chance(own[place].get(inclusion), inclusion)
    report = corrected_from_columns(columns, chance, allow_model_gold)
    odd = sum(row.get(gold) is not None and verdict(row[gold]) is None for row in own)
    if odd:
        report["warnings"].append(f"{plural(odd, 'label')} not 0/1: left out")
    if len(own) < len(rows):
        passed_over = plural(len(rows) - len(own), "entry", "entries")
        report["warnings"].append(f"{passed_over} no dict: passed over")
    return report


def corrected_from_columns(
    columns: TrustColumns,
    chance: np.ndarray | None = None,
    allow_model_gold: bool = False,
) -> CorrectedPassRate:
    """The array layer of :func:`corrected_pass_rate`.

    Parameters
    ----------
    columns : TrustColumns
    chance : (n,) float array, optional
        Inclusion probability of each row; only that of labelled rows is read.

    Raises
    ------
    ValueError
        A labelled row's chance is not over 0 and up to 1.
    """
    judged, labelled = columns.judge >= 0, columns.compared
    kinds = {columns.kinds[kind] for kind in np.unique(columns.kind[labelled])}
    trusted = allow_model_gold or kinds <= TRUSTED
    task = columns.task[judged]
    _, task = np.unique(task, return_inverse=True)
    n_tasks = int(task.max(initial=-1)) + 1
    verdicts = columns.judge[judged].astype(float)
    own = labelled[judged]
    truth = columns.gold[judged][own].astype(float)
    weight = np.ones(int(own.sum()))
    if chance is not None:
        drawn = chance[judged][own]
        if not np.all((drawn > 0) & (drawn <= 1)):  # NaN is neither
            raise ValueError("the chance of a labelled row is not over 0 and up to 1")
        weight = 1 / drawn

    def by_task(values: np.ndarray, of: np.ndarray) -> np.ndarray:
        return np.bincount(of, weights=values, minlength=n_tasks)

    raw = task_share(by_task(verdicts, task).astype(int), np.bincount(task, minlength=n_tasks))
    if not len(truth) or not trusted:
        return _without(columns, raw, n_tasks, kinds, trusted)
    of = task[own]
    shares = weight / weight.sum()
    labels = task_share(by_task(truth, of).astype(int), np.bincount(of, minlength=n_tasks))
    labels["value"] = _share(float(shares @ truth))
    # What each task adds to the labels' mean, and to the judge's mean beside the labelled rows'.
    from_labels = by_task(shares * (truth - labels["value"]), of)
    judge_mean, judge_own = float(verdicts.mean()), float(shares @ verdicts[own])
    from_judge = by_task(verdicts - judge_mean, task) / len(verdicts)
    from_judge -= by_task(shares * (verdicts[own] - judge_own), of)
    lam = _tuned(from_labels, from_judge)
    value = _share(labels["value"] + lam * (judge_mean - judge_own))
    labelled_tasks = labels["n_tasks"]
    alone = _variance(from_labels, labelled_tasks)
    variance = _variance(from_labels + lam * from_judge, labelled_tasks)
    if chance is None:  # as `cluster_wilson`: no row is worth more than an independent one
        least = labels["value"] * (1 - labels["value"]) / len(truth)
        variance += max(least - alone, 0.0)
        alone = max(alone, least)
    interval = None
    if labelled_tasks >= MIN_LABELLED_TASKS:
        interval = _interval(value, variance, labelled_tasks)
        if chance is not None:
            own_interval = _interval(labels["value"], alone, labelled_tasks)
            labels["ci95"] = labels["ci95_tasks"] = tuple(own_interval)
    j = _youden(columns)
    raw["counts"] = j["ci95"] is not None and j["ci95"][0] > 0
    report = CorrectedPassRate(
        value=value,
        ci95=None if interval is None else tuple(interval),
        lam=None if interval is None else lam,
        helps=None if interval is None else max(0.0, 1 - variance / alone) if alone else 0.0,
        n_labels=len(truth),
        n_rows=len(verdicts),
        n_tasks=n_tasks,
        labels_only=labels,
        judge=raw,
        j=j,
        n_skipped=int((~judged).sum()),
        gold_kind=next(iter(kinds)) if len(kinds) == 1 else "mixed",
        ok=interval is not None,
        warnings=[],
    )
    if interval is None:
        report["warnings"].append("all labels are of one task: nothing says how others differ")
    if report["n_skipped"]:
        report["warnings"].append(f"{plural(report['n_skipped'], 'row')} without a 0/1 verdict")
    return report


def rogan_gladen(judge_rate: float, tpr: float, tnr: float) -> float:
    """The pass rate that a judge with these rates would call `judge_rate`, between 0 and 1.

    For Python only: it has no interval of its own, and explodes for a judge near chance.

    Raises
    ------
    ValueError
        A share outside 0 to 1, or ``tpr + tnr`` not above 1: such a judge says nothing.

    References
    ----------
    Rogan & Gladen (1978), American Journal of Epidemiology 107, 71-76.

    Examples
    --------
    >>> round(rogan_gladen(0.66, 0.9, 0.8), 2)
    0.66
    """
    for share in (judge_rate, tpr, tnr):
        if not 0 <= share <= 1:
            raise ValueError(f"a share lies between 0 and 1, got {share!r}")
    if tpr + tnr <= 1:
        raise ValueError("TPR + TNR is not above 1: the verdict does not depend on the truth")
    return min(max((judge_rate + tnr - 1) / (tpr + tnr - 1), 0.0), 1.0)


def _share(value: float) -> float:
    """Within 0 to 1, and exactly there where only rounding keeps it off."""
    return 0.0 if value < _NOISE else 1.0 if value > 1 - _NOISE else value


def _tuned(from_labels: np.ndarray, from_judge: np.ndarray) -> float:
    """The weight of the judge at which the variance is least, within 0 and 1."""
    spread = float(from_judge @ from_judge)
    if spread < _NOISE**2:  # all rows labelled, a constant judge, or one task: nothing to weigh
        return 0.0
    return min(max(0.0, -float(from_labels @ from_judge) / spread), 1.0)


def _variance(per_task: np.ndarray, labelled_tasks: int) -> float:
    """Of a mean to which each task adds its part; 0 where only rounding is left."""
    total = float(per_task @ per_task)
    if labelled_tasks < MIN_LABELLED_TASKS or total < _NOISE**2:
        return 0.0
    return labelled_tasks / (labelled_tasks - 1) * total


def _interval(value: float, variance: float, tasks: int) -> Interval:
    """Wilson at the rows that independent labels of this variance would be.

    The t of the labelled tasks: they alone say how far off the judge is.
    """
    z = t_quantile(LEVEL, tasks - 1)
    rows = float(tasks)  # no variation to measure: a task counts once
    if variance and 0 < value < 1:
        rows = value * (1 - value) / variance
    bounds = wilson(value * rows, rows, z=z)
    return bounds if bounds is not None else Interval(0.0, 1.0)


def _youden(columns: TrustColumns) -> dict[str, Any]:
    tp, fp, fn, tn = columns.per_task.T
    tpr, tnr = task_share(tp, tp + fn), task_share(tn, tn + fp)
    if not tpr["n"] or not tnr["n"]:
        return {"value": None, "ci95": None}
    pair = [wider(share["ci95"], share["ci95_tasks"]) for share in (tpr, tnr)]
    low, high = newcombe_sum(tpr["value"], pair[0], tnr["value"], pair[1])  # type: ignore[arg-type]
    return {"value": tpr["value"] + tnr["value"] - 1, "ci95": (low - 1, high - 1)}


def _without(
    columns: TrustColumns, raw: dict[str, Any], n_tasks: int, kinds: set[str], trusted: bool
) -> CorrectedPassRate:
    """No label that counts: the judge's rate alone, and that it is not to be quoted."""
    n = int(columns.compared.sum())
    why = "no judged row has a label by a person or a program"
    if n and not trusted:
        why = f"labels are of kind {', '.join(sorted(kinds - TRUSTED))}, by no person or program"
    nothing = np.zeros(0, dtype=int)
    return CorrectedPassRate(
        value=None,
        ci95=None,
        lam=None,
        helps=None,
        n_labels=0,
        n_rows=raw["n"],
        n_tasks=n_tasks,
        labels_only=task_share(nothing, nothing),
        judge=raw | {"counts": False},
        j={"value": None, "ci95": None},
        n_skipped=int((columns.judge < 0).sum()),
        gold_kind=next(iter(kinds)) if len(kinds) == 1 else "mixed" if kinds else None,
        ok=False,
        warnings=[why],
    )


def _chance(value: object, key: str) -> float:
    if not is_number(value) or not 0 < float(value) <= 1:  # type: ignore[arg-type]
        raise ValueError(
            f"{key}: the chance of a labelled row is over 0 and up to 1, not {value!r}"
        )
    return float(value)  # type: ignore[arg-type]
