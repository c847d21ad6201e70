"""How far do people agree with each other? What a judge can be shown to reach at most."""

from __future__ import annotations

from math import lcm
from typing import Any

import numpy as np

from whileai_review.intervals import cluster_wilson, quoted, wilson
from whileai_review.report import interval2, interval_percent, number2, percent, plural
from whileai_review.resample import bootstrap_totals
from whileai_review.score.agreement import kappa_of, task_kappa_interval


def people_agreement(votes: np.ndarray) -> dict[str, Any] | None:
    """Agreement of the people who labelled the same rows.

    A row's share is that of its pairs of people who gave the same verdict, so a row counts once
    however many labelled it. People are exchangeable: kappa's chance level is that of one pass
    rate, theirs together (Scott's pi for two, Fleiss' kappa for more).

    Parameters
    ----------
    votes : (n, 3) int array
        Of each row with two people or more: its task, people who passed it, who failed it.

    Returns
    -------
    dict or None
        ``value ci95 n ci95_tasks n_tasks deff`` as `task_share`, ``kappa``, ``kappa_ci95`` (task
        bootstrap). None without such a row: then nobody knows.

    References
    ----------
    Scott (1955), Public Opinion Quarterly 19, 321-325. Fleiss (1971), Psychological Bulletin 76,
    378-382.
    """
    if not len(votes):
        return None
    _, task = np.unique(votes[:, 0], return_inverse=True)
    passed, failed = votes[:, 1].astype(np.int64), votes[:, 2].astype(np.int64)
    people = passed + failed
    # Ordered pairs of a row: both pass, one of each (twice), both fail. In whole numbers, each
    # row worth `unit`, so that no order of rows changes a sum.
    ordered = people * (people - 1)
    unit = lcm(*(int(n) for n in np.unique(ordered)))
    weight = unit // ordered
    both_pass, both_fail = passed * (passed - 1) * weight, failed * (failed - 1) * weight
    split = passed * failed * weight
    per_task = np.zeros((int(task.max()) + 1, 4), dtype=np.int64)
    np.add.at(per_task, task, np.stack([both_pass, split, split, both_fail], axis=1))
    agreeing, sizes = per_task[:, 0] + per_task[:, 3], per_task.sum(axis=1)
    k, n = int(agreeing.sum()) / unit, len(votes)
    by_task = cluster_wilson(agreeing, sizes, unit=unit)
    total = per_task.sum(axis=0)
    kappa = float(kappa_of(total))
    bounds = wilson(k, n)
    return {
        "value": k / n,
        "ci95": None if bounds is None else tuple(bounds),
        "n": n,
        "ci95_tasks": None if by_task is None else (by_task.low, by_task.high),
        "n_tasks": len(per_task),
        "deff": 1.0 if by_task is None else by_task.deff,
        "kappa": 1.0 if np.isnan(kappa) else kappa,  # one class: all pairs agree
        "kappa_ci95": task_kappa_interval(len(per_task), total, bootstrap_totals(per_task)),
    }


def people_words(people: dict[str, Any] | None, floor: float) -> str:
    """People's agreement in a line, and what it means for the floor; ``""`` where nobody knows."""
    if people is None:
        return ""
    bounds, n = quoted(people), people["n"]
    words = f"people agree {percent(people['value'], n)}"
    words += f" {interval_percent(bounds, n)}, kappa {number2(people['kappa'])}"
    if people["kappa_ci95"] is not None:
        words += f" {interval2(people['kappa_ci95'])}"
    words += f", n={plural(n, 'row')}, {plural(people['n_tasks'], 'task')}"
    if bounds is not None and bounds.high < floor:
        return f"{words}: under the floor of {percent(floor)}"
    return f"{words}: a judge’s ceiling"
