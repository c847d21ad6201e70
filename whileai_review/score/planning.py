"""How many more labels until the judge can be shown to reach its floor?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

import numpy as np

from whileai_review.defaults import LEVEL, POWER
from whileai_review.intervals import (
    Interval,
    cluster_wilson,
    confidence_sequence,
    t_quantile,
    wilson,
    z_quantile,
)

MOST_LABELS = 100_000
"""Labels over which a plan is no plan."""


EXACT_LABELS = 5_000
"""Labels up to which a chance is a binomial one; the normal value is as good from there."""


USUAL_ICC = 0.4
"""How much rollouts of a task resemble each other where a run does not tell: tau-bench's outcomes
(whileai-review, statistics 5)."""

FEW_REPEATED = 10
"""Tasks with several labels under which a run does not tell how alike its rollouts are."""


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


class RunPlan(NamedTuple):
    """Labels that are missing when they are to come from one run, which has only so many tasks."""

    if_it_holds: int | None
    """More labels until the lower bound reaches the floor if the share holds; None: all of the
    run's rows are not enough, or no number is."""
    for_power: int | None
    """More labels until it does so with a chance of 80%."""
    tasks_if_it_holds: int | None
    """Tasks that then have a label, of `n_tasks`."""
    tasks_for_power: int | None
    left: int
    """Rows without a label."""
    n_tasks: int
    """Tasks of the run."""
    n_labelled_tasks: int
    icc: float
    """How alike rollouts of a task are, as it was reckoned with."""
    icc_seen: bool
    """Whether the labels tell that; else it is :data:`USUAL_ICC`."""


def plan_in_run(
    successes: np.ndarray,
    sizes: np.ndarray,
    left: int,
    floor: float,
    power: float = POWER,
    level: float = LEVEL,
) -> RunPlan:
    """Plan the labels that a run can still give, tasks without a label first.

    After a rollout of every task a further label tells less, and in the end nothing new. So the
    plan follows the draw: one row of each task that has no label, then second rows of all. The
    bound is that of :func:`~whileai_review.intervals.cluster_wilson`, its design effect Kish's.

    Parameters
    ----------
    successes, sizes : (n_tasks,) int array
        Of every task of the run, the labelled rows that agree and the labelled rows; 0 of tasks
        without a label.
    left : int
        Rows that have no label yet.

    Raises
    ------
    ValueError
        As :func:`labels_needed`, and for a `left` under 0.

    References
    ----------
    Kish (1965), Survey Sampling, chapter 5; design effect of unequal tasks ``sum m^2 / sum m``.

    Examples
    --------
    >>> agreeing, rows = [1] * 55 + [0] * 5 + [0] * 14, [1] * 60 + [0] * 14
    >>> plan_in_run(agreeing, rows, 162, 0.80)[:4]  # 60 of 74 tasks have a label
    (0, 0, 60, 60)
    """
    s, m = np.asarray(successes, dtype=np.int64), np.asarray(sizes, dtype=np.int64)
    k, n, tasks, here = int(s.sum()), int(m.sum()), int(np.count_nonzero(m)), len(m)
    if left < 0:
        raise ValueError(f"rows that are left cannot be {left!r}")
    general = plan_from_tasks(s, m, floor)
    repeated = int(np.count_nonzero(m > 1))
    icc = intraclass_correlation(s, m) if repeated >= FEW_REPEATED else None
    seen = icc is not None
    if 0 < n and k == n:
        icc = 1.0  # nothing varies: a task counts once, as in its interval
    alike = USUAL_ICC if icc is None else icc
    share = k / n if n else 0.0
    nothing = RunPlan(None, None, None, None, left, here, tasks, alike, seen)
    if not n or general.hopeless or (share <= floor and not floor == share == 1.0):
        return nothing
    found = cluster_wilson(s, m, level)
    now = wilson(k, n, level)
    low = min(each.low for each in (now, found) if each is not None)
    squares = int(m @ m)

    def tasks_at(more: np.ndarray) -> np.ndarray:
        return np.minimum(here, tasks + more)

    def enough(more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Agreeing rows that clear the floor after so many more labels, and the design effect."""
        total, spread_over = n + more, tasks_at(more)
        second = more - (spread_over - tasks)  # labels of tasks that have one by then
        even, rest = np.divmod(total, spread_over)
        least = spread_over * even * even + rest * (2 * even + 1)
        mean_size = np.maximum(squares + more + 2 * second * (second > 0), least) / total
        correction = spread_over / np.maximum(spread_over - 1, 1)
        deff = np.maximum(1.0, correction * (1 + (np.maximum(mean_size, 1.0) - 1) * alike))
        sd = np.sqrt(deff * total * floor * (1 - floor))
        return np.ceil(total * floor + _quantiles(spread_over, level) * sd - 1e-9), deff

    def holds(more: np.ndarray) -> np.ndarray:
        return (np.rint(share * (n + more)) >= enough(more)[0]) & (tasks_at(more) > 1)

    def chance(more: np.ndarray) -> np.ndarray:
        needed, deff = enough(more)
        return (_chances(needed - k, more, share, deff) >= power) & (tasks_at(more) > 1)

    passed = low >= floor and tasks > 1  # the bound itself, whatever the model of it says
    most = min(left, MOST_LABELS)
    first = 0 if passed else _first_up_to(holds, most)
    second = 0 if passed else _first_up_to(chance, most)

    def task_count(more: int | None) -> int | None:
        return None if more is None else min(here, tasks + more)

    return nothing._replace(
        if_it_holds=first,
        for_power=second,
        tasks_if_it_holds=task_count(first),
        tasks_for_power=task_count(second),
    )


def _first_up_to(holds: Callable[[np.ndarray], np.ndarray], most: int) -> int | None:
    """The first number of labels from 0 to `most` that holds; in blocks, since it is early."""
    start, width = 0, 1_024
    if not holds(np.array([most])).any() and not holds(np.arange(max(0, most - 10), most)).any():
        return None  # what all rows cannot show, no part of them can
    while start <= most:
        found = _first(holds(np.arange(start, min(start + width, most + 1))), start)
        if found is not None:
            return found
        start, width = start + width, width * 2
    return None


def _quantiles(n_tasks: np.ndarray, level: float) -> np.ndarray:
    """Student's quantile for each number of tasks."""
    from scipy.special import stdtrit

    values, place = np.unique(np.maximum(n_tasks - 1, 1), return_inverse=True)
    return stdtrit(values, 0.5 + level / 2)[place]


def always_valid(successes: np.ndarray, sizes: np.ndarray) -> Interval | None:
    """Bounds of a share of rows in tasks that may be looked at after every label.

    :func:`~whileai_review.intervals.confidence_sequence` holds for one label a task. Where tasks
    have several, the rows count as many as they were worth if rollouts of a task always agreed,
    ``(sum m)^2 / sum m^2``: how alike they are is not known well enough at every look. None
    where nothing is labelled.

    Parameters
    ----------
    successes, sizes : (n_tasks,) int array

    References
    ----------
    Robbins (1970), Annals of Mathematical Statistics 41, 1397-1409; effective size: Kish (1965),
    Survey Sampling. Simulated in ``tests/bench/sim_plan.py``.

    Examples
    --------
    >>> low, high = always_valid([1] * 71 + [0] * 11, [1] * 82)
    >>> round(low, 2), round(high, 2)
    (0.71, 0.96)
    """
    s, m = np.asarray(successes, dtype=np.int64), np.asarray(sizes, dtype=np.int64)
    k, n = int(s.sum()), int(m.sum())
    if not n:
        return None
    worth = n * n / int(m @ m)
    return confidence_sequence(worth if k == n else k * worth / n, worth)


def chance_with_looks(
    looks: Sequence[int], n: int, floor: float, share: float | None = None, level: float = LEVEL
) -> float:
    """Chance that a judge passes at one of these looks or at the end, one label a task.

    At a true `share` on the floor every pass is a false one. A fixed interval holds for one look;
    who stops as soon as it passes has one chance more at every look.

    Parameters
    ----------
    looks : sequence of int
        Numbers of labels at which somebody looked; those that are not under `n` do not count.
    n : int
        Labels at the end.
    share : float, optional
        True share; the floor where None.

    References
    ----------
    Exact, by the recursion of Armitage, McPherson & Rowe (1969), JRSS A 132, 235-244.

    Examples
    --------
    >>> [round(chance_with_looks(looks, 200, 0.80), 3) for looks in ([], range(20, 200))]
    [0.018, 0.123]
    """
    from scipy.special import bdtr

    if not 0 < floor < 1:
        return 0.0
    true = floor if share is None else share
    z = z_quantile(level)
    chances, seen, passed = np.ones(1), 0, 0.0  # of each number of agreeing rows, not passed yet
    for look in [*sorted({each for each in looks if 0 < each < n}), n]:
        step = bdtr(np.arange(look - seen + 1), look - seen, true)
        chances = np.convolve(chances, np.diff(step, prepend=0.0))
        needed = ceil(look * floor + z * (look * floor * (1 - floor)) ** 0.5 - 1e-9)
        passed += float(chances[needed:].sum())
        chances, seen = chances[:needed], look
    return min(passed, 1.0)


def _quantile(n_tasks: int | None, n: int, total: int, level: float) -> float:
    if n_tasks is None or n_tasks < 2:
        return z_quantile(level)
    return t_quantile(level, max(1, ceil(n_tasks * total / n) - 1))


def _first(holds: np.ndarray, start: int) -> int | None:
    return start + int(np.argmax(holds)) if holds.any() else None


def _chances(
    missing: np.ndarray, more: np.ndarray, share: float, spread: float | np.ndarray
) -> np.ndarray:
    """Chance that at least `missing` of `more` new labels agree."""
    from scipy.special import bdtrc, ndtr

    if np.max(spread) > 1 or more[-1] > EXACT_LABELS:  # rollouts of a task agree together: wider
        sd = np.sqrt(np.maximum(spread * more * share * (1 - share), 1e-12))
        return ndtr((more * share - missing + 0.5) / sd)
    inside = bdtrc(np.clip(missing - 1, 0, more), more, share)
    return np.where(missing <= 0, 1.0, np.where(missing > more, 0.0, inside))
