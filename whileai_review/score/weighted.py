"""The judge's measures from rows that were drawn with unequal, known chances.

Rows drawn by the judge's verdict or by a group are no mirror of the run: unweighted shares of
them are shares of the sample. Here every labelled row stands for the rows of its stratum,
``N_h / r_h`` of them (with a queue that is answered whole this is one over the chance to be drawn),
which is the Hájek estimator with post-stratified weights. Draws of several kinds are pooled on the
cross of their strata: within a cell of it every draw gives each row the same chance, so what
is labelled there is a random sample of the cell, whichever queue it came from (Holt & Smith 1979).

The variance is linearised (Taylor) and clustered by task, in two phases: the run's tasks are a
sample of tasks, the labelled rows one of the run's rows within strata. It is never taken as
smaller than that of independent rows with half a label of each gold class added to every
stratum: a stratum that happened to show one class only is not known for sure.

References
----------
Särndal, Swensson & Wretman (1992), Model Assisted Survey Sampling, sections 5.5 to 5.7 (ratios,
linearised), 7.6 (post-stratification) and 9.3 (two phases). Lohr (2022), Sampling: Design and
Analysis, chapters 3, 4 and 9. Holt & Smith (1979), JRSS A 142, 33-46. Clustered: Binder
(1983), International Statistical Review 51, 279-292. Joined bounds: Zou & Donner (2008),
Statistics in Medicine 27, 1693-1702.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from whileai_review.defaults import LEVEL
from whileai_review.intervals import t_quantile, wilson
from whileai_review.score.agreement import kappa_at, leak_warning

PSEUDO = 0.5
"""Labels of each gold class that are added to a stratum for the least variance (Jeffreys)."""

OUTSIDE = -1
"""Stratum of a row that no label stands for."""

_SAME = 1e-9
"""Relative difference of weights that rounding leaves."""

_SHARES = {
    # tp fp fn tn: what is counted, of what.
    "agreement": ((1, 0, 0, 1), (1, 1, 1, 1)),
    "judge_pass_rate": ((1, 1, 0, 0), (1, 1, 1, 1)),
    "gold_pass_rate": ((1, 0, 1, 0), (1, 1, 1, 1)),
    "tpr": ((1, 0, 0, 0), (1, 0, 1, 0)),
    "tnr": ((0, 0, 0, 1), (0, 1, 0, 1)),
    "reward_in_error": ((0, 1, 0, 0), (1, 1, 0, 0)),
    "judge_fail_right": ((0, 0, 0, 1), (0, 0, 1, 1)),
}


class Weights(NamedTuple):
    """What each row of a run counts.

    Attributes
    ----------
    weight : (n,) float array
        Rows of the run that a labelled row stands for; 0 for all others.
    stratum : (n,) int array
        Cell of the cross of all strata, of labelled and other rows; `OUTSIDE` where no label
        stands for the row.
    n_outside : int
        Judged rows that no label stands for.
    equal : bool
        All labelled rows count the same: unweighted shares are the estimates.
    """

    weight: np.ndarray
    stratum: np.ndarray
    n_outside: int
    equal: bool


def row_weights(
    labelled: np.ndarray,
    judged: np.ndarray,
    strata: list[np.ndarray] | None = None,
    base: np.ndarray | None = None,
) -> Weights:
    """How many judged rows each labelled row stands for.

    Parameters
    ----------
    labelled, judged : (n,) bool array
        Rows with verdict and gold; rows with a verdict.
    strata : list of (n,) int array, optional
        One classification of all rows for each kind of draw; within a cell of their cross
        every draw gave each row the same chance.
    base : (n,) float array, optional
        One over the chance, up to a factor, where it differs within cells; 1 where None.

    Raises
    ------
    ValueError
        A labelled row's `base` is not a number above 0.

    Examples
    --------
    >>> labelled, judged = np.array([1, 1, 1, 0, 0, 0], bool), np.ones(6, bool)
    >>> row_weights(labelled, judged, [np.array([0, 1, 1, 0, 0, 0])]).weight.tolist()
    [4.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    """
    own = labelled & judged
    cell = np.zeros(len(judged), dtype=np.intp)
    for each in strata or ():
        cell = np.unique(cell * (int(each.max(initial=0)) + 2) + each + 1, return_inverse=True)[1]
    raw = np.ones(len(judged)) if base is None else np.asarray(base, dtype=float)
    if not np.all(raw[own] > 0) or not np.all(np.isfinite(raw[own])):
        raise ValueError("the weight of a labelled row is not a number above 0")
    n_cells = int(cell.max(initial=-1)) + 1
    rows = np.bincount(cell[judged], minlength=n_cells)
    said = np.bincount(cell[own], weights=raw[own], minlength=n_cells)
    covered = judged & (said[cell] > 0) if n_cells else judged
    weight = np.zeros(len(judged))
    weight[own] = raw[own] * rows[cell[own]] / said[cell[own]]
    found = weight[own]
    spread = float(found.max() / found.min() - 1) if len(found) else 0.0
    return Weights(
        weight,
        np.where(covered, cell, OUTSIDE),
        int((judged & ~covered).sum()),
        spread < _SAME,
    )


def weighted_measures(
    task: np.ndarray,
    cell: np.ndarray,
    weight: np.ndarray,
    stratum: np.ndarray | None = None,
    frame_task: np.ndarray | None = None,
    frame_stratum: np.ndarray | None = None,
) -> dict[str, Any]:
    """Agreement, rates, J, kappa and the constant judge, each with one interval.

    Parameters
    ----------
    task, cell, weight : (n,) arrays
        Of the labelled rows: task (int), cell (0 to 3: tp fp fn tn), rows that it stands for.
    stratum : (n,) int array, optional
        Stratum of each; one where None.
    frame_task, frame_stratum : (n_rows,) int array, optional
        Of all rows that the labels stand for, labelled ones too.

    Returns
    -------
    dict
        ``agreement judge_pass_rate gold_pass_rate tpr tnr reward_in_error judge_fail_right``,
        each ``value ci95 ci95_tasks n n_tasks deff`` (both intervals are the one there is; `n`
        labelled rows; `deff` over independent rows of an equal draw); ``j`` and ``kappa``,
        ``value ci95 ci95_tasks n n_tasks``; ``baseline``, the judge that always gives the more
        frequent gold, with ``verdict difference difference_ci95 p_value``; ``confusion``, the
        rows of the run by cell as far as the labels say; ``n n_tasks n_effective``. None for
        a share of nothing.

    Examples
    --------
    Four of 5 rows agree in a stratum of 100, one of 5 in one of 300: (.8 + 3 x .2) / 4.

    >>> task, stratum = np.arange(10), np.repeat([0, 1], 5)
    >>> cell = np.array([0, 0, 0, 0, 1, 3, 2, 2, 2, 2])
    >>> weight = np.where(stratum == 0, 20.0, 60.0)
    >>> round(weighted_measures(task, cell, weight, stratum)["agreement"]["value"], 2)
    0.35
    """
    sample = _Sample(task, cell, weight, stratum, frame_task, frame_stratum)
    found: dict[str, Any] = {
        name: sample.share(np.array(part, float), np.array(whole, float))
        for name, (part, whole) in _SHARES.items()
    }
    n, n_tasks = len(sample.cell), sample.n_tasks
    size = float(sample.weight @ sample.weight)
    found |= {
        "n": n,
        "n_tasks": n_tasks,
        "n_effective": float(sample.total**2 / size) if size else 0.0,
        "j": sample.youden(found["tpr"], found["tnr"]),
        "kappa": sample.kappa(found["agreement"]),
        "baseline": sample.baseline(found["gold_pass_rate"]),
        "confusion": dict(
            zip(("tp", "fp", "fn", "tn"), (sample.shares * sample.total).tolist(), strict=True)
        ),
    }
    return found


def with_weights(report: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """A trust report whose shares are the weighted ones, `found` by `weighted_measures`.

    Counts stay those of the labelled rows. Each share that was replaced says ``weighted: True``,
    since it is no longer its hits over its rows.
    """
    said = {"weighted": True}
    before, baseline = report["agreement"], found["baseline"]
    missed, alarms = complement(found["tnr"]), complement(found["tpr"])
    agreement = type(before)(
        {
            **before,
            **said,
            **{key: found["agreement"][key] for key in ("ci95", "ci95_tasks", "deff")},
            "agreement": found["agreement"]["value"],
            "kappa": found["kappa"]["value"],
            "kappa_ci95": found["kappa"]["ci95"],
            "pass_when_gold_fail": missed["value"],
            "fail_when_gold_pass": alarms["value"],
            "false_pass": missed,
            "false_alarm": alarms,
            "judge_pass_rate": found["judge_pass_rate"]["value"],
            "gold_pass_rate": found["gold_pass_rate"]["value"],
        }
    )
    leaks = (leak_warning(before), leak_warning(agreement))
    kept = [line for line in before["warnings"] if line != leaks[0]]
    agreement["warnings"] = kept + [line for line in leaks[1:] if line]
    return {
        **report,
        "agreement": agreement,
        **{
            name: found[name] | said
            for name in ("tpr", "tnr", "j", "reward_in_error", "judge_fail_right")
        },
        "baseline": report["baseline"]
        | said
        | baseline
        | {
            "agreement": baseline["value"],
            "difference_ci95_tasks": baseline["difference_ci95"],
            "p_value_tasks": baseline["p_value"],
        },
        "kappa_of_a_good_judge": kappa_at(found["gold_pass_rate"]["value"]),
        "plan": found["plan"],
    }


def complement(share: Mapping[str, Any]) -> dict[str, Any]:
    """One minus a share, with its interval."""
    if share["value"] is None:
        return dict(share)
    low, high = share["ci95"]
    bounds = (1 - high, 1 - low)
    return {**share, "value": 1 - share["value"], "ci95": bounds, "ci95_tasks": bounds}


class _Sample:
    """The labelled rows, and the variance of any smooth function of their four shares."""

    def __init__(
        self,
        task: np.ndarray,
        cell: np.ndarray,
        weight: np.ndarray,
        stratum: np.ndarray | None,
        frame_task: np.ndarray | None,
        frame_stratum: np.ndarray | None,
    ) -> None:
        n = len(cell)
        self.cell = np.asarray(cell, dtype=np.intp)
        self.weight = np.asarray(weight, dtype=float)
        own = np.zeros(n, dtype=np.intp) if stratum is None else np.asarray(stratum)
        names, self.stratum = np.unique(own, return_inverse=True)
        keys = task if frame_task is None else np.concatenate([task, frame_task])
        codes = np.unique(keys, return_inverse=True)[1]
        self.task, self.all_tasks = codes[:n], int(codes.max(initial=-1)) + 1
        self.total = float(self.weight.sum())
        self.n_tasks = len(np.unique(self.task))
        n_strata = len(names)
        self.counts = np.bincount(self.stratum * 4 + self.cell, minlength=n_strata * 4)
        self.counts = self.counts.reshape(n_strata, 4).astype(float)
        weights = np.bincount(self.stratum * 4 + self.cell, self.weight, minlength=n_strata * 4)
        self.of_cell = weights.reshape(n_strata, 4)
        self.of_stratum = self.of_cell.sum(axis=1)
        self.shares = self.of_cell.sum(axis=0) / self.total if self.total else np.zeros(4)
        rows = self.counts.sum(axis=1)
        squares = np.bincount(self.stratum, self.weight**2, minlength=n_strata)
        self.rows = np.divide(
            self.of_stratum**2, squares, out=np.zeros(n_strata), where=squares > 0
        )
        # One row of a stratum has no variance to show: the smoothed one has to do.
        # With one stratum the T / (T - 1) of the tasks is enough.
        apart = (rows > 1) & (n_strata > 1)
        self.lift = np.sqrt(np.divide(rows, rows - 1, out=np.ones(n_strata), where=apart))
        self.frame: np.ndarray | None = None
        if frame_task is not None and frame_stratum is not None:
            at = np.searchsorted(names, frame_stratum)
            kept = (at < n_strata) & (names[np.minimum(at, n_strata - 1)] == frame_stratum)
            pairs = codes[n:][kept] * n_strata + at[kept]
            self.frame = np.bincount(pairs, minlength=self.all_tasks * n_strata)
            self.frame = self.frame.reshape(self.all_tasks, n_strata).astype(float)

    def influence(self, slope: np.ndarray) -> np.ndarray:
        """What each task adds to a function of the shares whose gradient is `slope`."""
        slope = slope - slope @ self.shares
        means = (self.of_cell @ slope) / self.of_stratum
        apart = self.weight * (slope[self.cell] - means[self.stratum]) * self.lift[self.stratum]
        per_task = np.bincount(self.task, apart, minlength=self.all_tasks) / self.total
        if self.frame is not None:
            per_task = per_task + (self.frame @ means) / self.frame.sum()
        else:  # nothing is known of the other rows: these are a sample of tasks by themselves
            own = self.weight * means[self.stratum]
            per_task = per_task + np.bincount(self.task, own, minlength=self.all_tasks) / self.total
        return per_task

    def variance(self, per_task: np.ndarray) -> float:
        n = self.n_tasks
        return n / (n - 1) * _product(per_task, per_task) if n > 1 else 0.0

    def smoothed(self) -> np.ndarray:
        """Shares within each stratum with `PSEUDO` labels of each gold class, by verdict."""
        passed = self.counts[:, :2].sum(axis=1, keepdims=True) > 0
        failed = self.counts[:, 2:].sum(axis=1, keepdims=True) > 0
        added = PSEUDO * np.concatenate([passed, passed, failed, failed], axis=1)
        # In labels of equal weight: added ones must not count more where rows weigh more.
        own = self.of_cell / self.of_stratum[:, None] * self.rows[:, None] + added
        return own / own.sum(axis=1, keepdims=True)

    def least(self, slope: np.ndarray, smooth: np.ndarray) -> float:
        """Variance of independent rows, given the smoothed shares of the strata."""
        stand = self.of_stratum / self.total
        means = smooth @ slope
        within = smooth @ slope**2 - means**2
        centre = float(stand @ means)
        size = self.total if self.frame is None else float(self.frame.sum())
        return float((stand**2 * within / self.rows).sum()) + (
            float(stand @ (means - centre) ** 2) / max(size, 1.0) if self.frame is not None else 0.0
        )

    def spread(self, slope: np.ndarray) -> float:
        """Standard error of a function whose gradient is `slope` at the estimate."""
        smooth = self.smoothed()
        return sqrt(max(self.variance(self.influence(slope)), self.least(slope, smooth)))

    def share(self, part: np.ndarray, whole: np.ndarray) -> dict[str, Any]:
        size = float(whole @ self.shares)
        rows = whole[self.cell] > 0
        n, tasks = int(rows.sum()), len(np.unique(self.task[rows]))
        nothing = {"value": None, "ci95": None, "ci95_tasks": None, "n": n, "n_tasks": tasks}
        if not n or not size:
            return nothing | {"deff": 1.0}
        value = _tidy(float(part @ self.shares) / size)
        by_task = np.bincount(self.task[rows], self.weight[rows], minlength=self.all_tasks)
        worth = float(by_task.sum() ** 2 / (by_task @ by_task))
        if 0 < value < 1:
            variance = self.variance(self.influence((part - value * whole) / size))
            if variance:
                worth = value * (1 - value) / variance
        smooth = self.smoothed()
        shares = self.of_stratum / self.total @ smooth
        near = float(part @ shares) / float(whole @ shares)
        least = self.least((part - near * whole) / float(whole @ shares), smooth)
        if 0 < near < 1 and least:
            worth = min(worth, near * (1 - near) / least)
        bounds = wilson(value * worth, worth, z=t_quantile(LEVEL, max(tasks - 1, 1)))
        pair = None if bounds is None else tuple(bounds)
        return nothing | {"value": value, "ci95": pair, "ci95_tasks": pair, "deff": n / worth}

    def youden(self, tpr: dict, tnr: dict) -> dict[str, Any]:
        """TPR + TNR - 1; bounds joined by how the two move together (MOVER)."""
        found: dict[str, Any] = {"value": None, "ci95": None, "ci95_tasks": None}
        found |= {"n": len(self.cell), "n_tasks": self.n_tasks}
        if tpr["value"] is None or tnr["value"] is None:
            return found
        moves = []
        for name, share in (("tpr", tpr), ("tnr", tnr)):
            part, whole = (np.array(each, float) for each in _SHARES[name])
            moves.append(
                self.influence((part - share["value"] * whole) / float(whole @ self.shares))
            )
        size = sqrt(_product(moves[0], moves[0]) * _product(moves[1], moves[1]))
        together = _product(moves[0], moves[1]) / size if size else 0.0
        total = tpr["value"] + tnr["value"] - 1
        (low1, high1), (low2, high2) = tpr["ci95"], tnr["ci95"]
        bounds = (
            max(total - _joined(tpr["value"] - low1, tnr["value"] - low2, together), -1.0),
            min(total + _joined(high1 - tpr["value"], high2 - tnr["value"], together), 1.0),
        )
        return found | {"value": total, "ci95": bounds, "ci95_tasks": bounds}

    def kappa(self, agreement: dict) -> dict[str, Any]:
        tp, fp, fn, tn = self.shares
        found: dict[str, Any] = {"value": None, "ci95": None, "ci95_tasks": None}
        found |= {"n": len(self.cell), "n_tasks": self.n_tasks}
        if agreement["value"] is None:
            return found
        observed, judge, gold = agreement["value"], tp + fp, tp + fn
        chance = judge * gold + (1 - judge) * (1 - gold)
        if chance >= 1 - _SAME:
            return found | {"value": 1.0 if observed == 1 else 0.0}
        value = float((observed - chance) / (1 - chance))
        if not _SAME < gold < 1 - _SAME:  # gold of one class: kappa says nothing
            return found | {"value": value}
        if observed in (0, 1):
            low, high = ((bound - chance) / (1 - chance) for bound in agreement["ci95"])
            bounds = (float(low), float(high))
        else:
            right = np.array([1.0, 0.0, 0.0, 1.0])
            passed, true = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 1, 0])
            of_chance = passed * (2 * gold - 1) + true * (2 * judge - 1)
            slope = right / (1 - chance) - (1 - observed) * of_chance / (1 - chance) ** 2
            half = t_quantile(LEVEL, max(self.n_tasks - 1, 1)) * self.spread(slope)
            bounds = (max(value - half, -1.0), min(value + half, 1.0))
        return found | {"value": value, "ci95": bounds, "ci95_tasks": bounds}

    def baseline(self, gold: dict) -> dict[str, Any]:
        nothing = {"verdict": None, "difference": None, "difference_ci95": None, "p_value": None}
        if gold["value"] is None:
            return {**gold, **nothing}
        passes = gold["value"] >= 0.5
        value = gold["value"] if passes else 1 - gold["value"]
        bounds = gold["ci95"] if passes else tuple(1 - bound for bound in reversed(gold["ci95"]))
        always = np.array([1.0, 0, 1, 0] if passes else [0.0, 1, 0, 1])
        slope = always - np.array([1.0, 0, 0, 1])
        difference = float(slope @ self.shares)
        if abs(difference) < _SAME:
            difference = 0.0
        error = self.spread(slope)
        df = max(self.n_tasks - 1, 1)
        half = t_quantile(LEVEL, df) * error
        found = {**gold, "value": value, "ci95": bounds, "ci95_tasks": bounds}
        return found | {
            "verdict": "pass" if passes else "fail",
            "difference": difference,
            "difference_ci95": (max(difference - half, -1.0), min(difference + half, 1.0)),
            "p_value": _two_sided(difference / error, df) if error else 1.0,
        }


def _product(a: np.ndarray, b: np.ndarray) -> float:
    """The inner product; no BLAS, whose threads wait for each other longer than this takes."""
    return float((a * b).sum())


def _two_sided(t: float, df: int) -> float:
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def _joined(a: float, b: float, together: float) -> float:
    return sqrt(max(a * a + b * b + 2 * together * a * b, 0.0))


def _tidy(value: float) -> float:
    """Within 0 to 1, and exactly there where only rounding keeps it off."""
    return 0.0 if value < _SAME else 1.0 if value > 1 - _SAME else value
