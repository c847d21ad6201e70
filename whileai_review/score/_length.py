"""Does the judge pass long replies more often, gold being equal?"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from whileai_review.defaults import ALPHA, LENGTH_GAP_FLAG, LENGTH_MIN_N, LEVEL
from whileai_review.intervals import newcombe_difference, t_quantile, two_proportion_p
from whileai_review.resample import MIN_CI_TASKS, task_cells


def length_sensitivity(
    chars: np.ndarray,
    judge: np.ndarray,
    gold: np.ndarray,
    length_gap_flag: float = LENGTH_GAP_FLAG,
    task: np.ndarray | None = None,
) -> dict[str, Any]:
    """Pass rates of short and long replies, for gold 1 and gold 0 apart.

    Within one gold class length says nothing about quality that the gold does not, so a
    gap there is the judge's own. A gap is flagged when it reaches `length_gap_flag` and
    a two-proportion test at half the usual level (two classes are looked at) rejects too.

    Parameters
    ----------
    chars, judge, gold : (n,) int array
        Reply length and both verdicts of the compared rows.
    task : (n,) int array, optional
        Their tasks, for the interval of each gap; a task each when None.

    Returns
    -------
    dict
        ``gold_1``, ``gold_0`` (``n median_chars judge_pass_short judge_pass_long
        gap_long_minus_short gap_ci95 p_value``, or ``n`` and ``note``), ``max_gap``,
        ``flagged``.
    """
    of = np.arange(len(chars)) if task is None else task
    parts = {f"gold_{c}": _split(chars[gold == c], judge[gold == c], of[gold == c]) for c in (1, 0)}
    gaps = [
        (abs(part["gap_long_minus_short"]), part["p_value"])
        for part in parts.values()
        if "p_value" in part
    ]
    return {
        **parts,
        "max_gap": max((gap for gap, _ in gaps), default=0.0),
        # The last bits of a difference of shares must not decide at the floor.
        "flagged": any(gap >= length_gap_flag - 1e-12 and p < ALPHA / 2 for gap, p in gaps),
    }


def _split(chars: np.ndarray, judge: np.ndarray, task: np.ndarray) -> dict[str, Any]:
    n = len(chars)
    if n < LENGTH_MIN_N:
        return {"n": n, "note": f"too few rows: {LENGTH_MIN_N} are needed"}
    median = int(np.partition(chars, n // 2)[n // 2])
    short = chars < median
    n_short = int(short.sum())
    if n_short == 0:
        return {"n": n, "note": "no reply is shorter than the median, so there is no short half"}
    passed_short, passed_long = int(judge[short].sum()), int(judge[~short].sum())
    n_long = n - n_short
    return {
        "n": n,
        "median_chars": median,
        "judge_pass_short": passed_short / n_short,
        "judge_pass_long": passed_long / n_long,
        "gap_long_minus_short": passed_long / n_long - passed_short / n_short,
        "gap_ci95": _gap_interval(~short, judge, task),
        "p_value": two_proportion_p(passed_long, n_long, passed_short, n_short),
    }


def _gap_interval(long: np.ndarray, judge: np.ndarray, task: np.ndarray) -> tuple | None:
    """Interval of the gap at this median by task, linearised; Newcombe's where nothing varies.

    None under three tasks. Binder (1983), International Statistical Review 51, 279-292.
    """
    # short and failed, short and passed, long and failed, long and passed
    cells = task_cells(task, 2 * long + judge, 4, int(task.max()) + 1)
    cells = cells[cells.any(axis=1)]
    tasks = len(cells)
    if tasks < MIN_CI_TASKS:
        return None
    of_short, of_long = cells[:, :2].sum(axis=1), cells[:, 2:].sum(axis=1)
    short, long_ = int(of_short.sum()), int(of_long.sum())
    passed_short, passed_long = int(cells[:, 1].sum()), int(cells[:, 3].sum())
    share_short, share_long = passed_short / short, passed_long / long_
    gap = share_long - share_short
    each = (cells[:, 3] - share_long * of_long) / long_
    each -= (cells[:, 1] - share_short * of_short) / short
    spread = sqrt(tasks / (tasks - 1) * float(each @ each))
    if spread < 1e-12:
        found = newcombe_difference(passed_long, long_, passed_short, short)
        return None if found is None else tuple(found)
    half = t_quantile(LEVEL, tasks - 1) * spread
    return (max(gap - half, -1.0), min(gap + half, 1.0))
