"""How many more labels until the judge can be shown to reach its floor?"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

from whileai_review.defaults import LEVEL, POWER
from whileai_review.intervals import cluster_wilson, t_quantile, wilson, z_quantile

MOST_LABELS = 1_000_000
"""Labels over which a plan is no plan."""


EXACT_LABELS = 5_000
"""Labels up to which a chance is a binomial one; the normal value is as good from there."""


class Plan(NamedTuple):
    """Labels that are missing, beyond those that are there; None where no number will do."""

    if_it_holds: int | None
    """Until the lower bound reaches the floor if the share stays what it is."""
    for_power: int | None
    """Until it does so with a chance of 80%, if the true share is what was seen."""
    hopeless: bool
    """The upper bound is under the floor: no number of labels will pass this judge."""


def labels_needed(
    k: int,
    n: int,
    floor: float,
    n_tasks: int | None = None,
    deff: float = 1.0,
    power: float = POWER,
    level: float = LEVEL,
) -> Plan:
    """Plan labels for a share that has to reach a floor with its lower bound.

    A lower bound of Wilson's reaches the floor where the share lies a normal quantile of standard
    errors *at the floor* above it, so each plan is one comparison a number of labels.

    Parameters
    ----------
    k, n : int
        Rows that agree, of the rows labelled so far.
    floor : float
    n_tasks : int, optional
        Tasks among them. Then the bound of :func:`~whileai_review.intervals.cluster_wilson` has
        to reach the floor too, at this `deff`, with tasks growing as rows do.
    deff : float
        Design effect seen so far.
    power : float
        Chance that a single look after ``for_power`` more labels passes.

    Raises
    ------
    ValueError
        ``k`` outside 0 to `n`, a floor outside 0 to 1, `deff` under 1.

    Examples
    --------
    >>> labels_needed(71, 82, 0.80)  # 87% [78, 92]
    Plan(if_it_holds=48, for_power=142, hopeless=False)
    >>> labels_needed(139, 221, 0.80)  # 63% [56, 69]
    Plan(if_it_holds=None, for_power=None, hopeless=True)
    """
    if not 0 <= k <= n:
        raise ValueError(f"need 0 <= k <= n, got k={k!r}, n={n!r}")
    if not 0 <= floor <= 1:
        raise ValueError(f"a floor lies between 0 and 1, got {floor!r}")
    if not deff >= 1:
        raise ValueError(f"a design effect is at least 1, got {deff!r}")
    now = wilson(k, n, level)
    if now is None:
        return Plan(None, None, False)
    # Rows that stand for the same sample by task: what the wider interval rests on.
    spread = deff if n_tasks is not None and n_tasks > 1 else 1.0
    by_task = wilson(k / spread, n / spread, z=_quantile(n_tasks, n, n, level))
    if max(now.high, by_task.high if by_task else 0.0) < floor:
        return Plan(None, None, True)
    share = k / n
    if share <= floor and not (floor == share == 1.0):
        return Plan(None, None, False)
    holds = chance = None
    start, width = 0, 1_024
    while start <= MOST_LABELS and (holds is None or chance is None):
        more = np.arange(start, start + width)
        total = n + more
        z = _quantile(n_tasks, n, start + n, level)
        # The last bits of a product must not ask for one more row.
        enough = np.ceil(total * floor + z * np.sqrt(spread * total * floor * (1 - floor)) - 1e-9)
        if holds is None:
            holds = _first(np.rint(share * total) >= enough, start)
        if chance is None:
            chance = _first(_chances(enough - k, more, share, spread) >= power, start)
        start, width = start + width, width * 2
    return Plan(holds, chance, False)


def labels_worth(n_tasks: int, n_labels: int, icc: float) -> float:
    """Independent labels that these are worth when they are spread evenly over tasks.

    After one rollout of every task, a further label tells less: rollouts of a task agree.

    Parameters
    ----------
    icc : float
        Intraclass correlation of "judge and gold agree", see :func:`intraclass_correlation`.

    References
    ----------
    Kish (1965), Survey Sampling, chapter 5: ``n / (1 + (rows a task - 1) icc)``.

    Examples
    --------
    >>> [round(labels_worth(74, n, 0.3)) for n in (74, 148, 222)]
    [74, 114, 139]
    """
    if n_tasks < 1 or n_labels <= n_tasks:
        return float(n_labels)
    return n_labels / (1 + (n_labels / n_tasks - 1) * icc)


def intraclass_correlation(successes: np.ndarray, sizes: np.ndarray) -> float | None:
    """How much rollouts of a task resemble each other, 0 to 1; None where nothing repeats.

    Parameters
    ----------
    successes, sizes : (n_tasks,) int array

    References
    ----------
    Analysis of variance estimator for 0/1 data: Ridout, Demetrio & Firth (1999), Biometrics 55,
    137-148.

    Examples
    --------
    >>> intraclass_correlation([3, 0, 3, 0], [3, 3, 3, 3])
    1.0
    """
    s, m = np.asarray(successes, dtype=float), np.asarray(sizes, dtype=float)
    s, m = s[m > 0], m[m > 0]
    tasks, n = len(m), float(m.sum())
    if tasks < 2 or n <= tasks:
        return None
    share = s / m
    between = float((m * (share - s.sum() / n) ** 2).sum()) / (tasks - 1)
    within = float((s * (1 - share)).sum()) / (n - tasks)
    usual = (n - float((m * m).sum()) / n) / (tasks - 1)
    total = between + (usual - 1) * within
    return min(max((between - within) / total, 0.0), 1.0) if total > 0 else None


def plan_from_tasks(successes: np.ndarray, sizes: np.ndarray, floor: float) -> Plan:
    """:func:`labels_needed` for rows that come in tasks, from the counts of each task."""
    k, n = int(np.sum(successes)), int(np.sum(sizes))
    found = cluster_wilson(successes, sizes)
    if found is None:
        return labels_needed(k, n, floor)
    return labels_needed(k, n, floor, found.n_tasks, found.deff)


def _quantile(n_tasks: int | None, n: int, total: int, level: float) -> float:
    if n_tasks is None or n_tasks < 2:
        return z_quantile(level)
    return t_quantile(level, max(1, ceil(n_tasks * total / n) - 1))


def _first(holds: np.ndarray, start: int) -> int | None:
    return start + int(np.argmax(holds)) if holds.any() else None


def _chances(missing: np.ndarray, more: np.ndarray, share: float, spread: float) -> np.ndarray:
    """Chance that at least `missing` of `more` new labels agree."""
    from scipy.special import bdtrc, ndtr

    if spread > 1 or more[-1] > EXACT_LABELS:  # rollouts of a task agree together: wider
        sd = np.sqrt(np.maximum(spread * more * share * (1 - share), 1e-12))
        return ndtr((more * share - missing + 0.5) / sd)
    inside = bdtrc(np.clip(missing - 1, 0, more), more, share)
    return np.where(missing <= 0, 1.0, np.where(missing > more, 0.0, inside))
