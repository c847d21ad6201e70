"""How far off can a share, a difference or a test be? Numbers in, numbers out, no rows.

References
----------
Wilson (1927), JASA 22, 209-212.
Newcombe (1998), Statistics in Medicine 17, 873-890 (two samples, method 10) and
2635-2650 (paired, method 8).
Zou & Donner (2008), Statistics in Medicine 27, 1693-1702 (MOVER).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import comb, erfc, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from whileai_review.defaults import LEVEL

FLIP_EXACT = 4_000
"""Differing rows up to which :func:`sign_flip_p` is exact."""


class Interval(NamedTuple):
    """Bounds of an interval; still equal to a tuple."""

    low: float
    high: float


class ClusterInterval(NamedTuple):
    """Bounds that know tasks, the tasks they rest on, and what a row is worth less for it."""

    low: float
    high: float
    n_tasks: int
    deff: float
    """Design effect: variance over that of independent rows, at least 1."""


@lru_cache(maxsize=64)
def z_quantile(level: float = LEVEL) -> float:
    """Half width, in standard errors, of a two-sided normal interval.

    Examples
    --------
    >>> round(z_quantile(0.95), 4)
    1.96
    """
    _check_level(level)
    return NormalDist().inv_cdf((1 + level) / 2)


@lru_cache(maxsize=1024)
def t_quantile(level: float, df: float) -> float:
    """Half width, in standard errors, of a two-sided Student interval.

    Examples
    --------
    >>> round(t_quantile(0.95, 2), 2)
    4.3
    """
    _check_level(level)
    if not df > 0:
        raise ValueError(f"df must be above 0, got {df!r}")
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + level) / 2))


def wilson(k: float, n: float, level: float = LEVEL, z: float | None = None) -> Interval | None:
    """Interval of a share ``k / n``.

    Parameters
    ----------
    k, n : float
        Successes and trials, ``0 <= k <= n``. Fractions are allowed: an effective
        sample size is one.
    level : float
        Coverage.
    z : float, optional
        Another quantile than the normal one of ``level``, as a cluster interval needs.

    Returns
    -------
    Interval or None
        Within [0, 1] and around ``k / n``; None for 0 of 0, which is no data.

    Examples
    --------
    >>> low, high = wilson(139, 221)
    >>> round(low, 2), round(high, 2)
    (0.56, 0.69)
    >>> wilson(0, 0) is None
    True
    """
    if not 0 <= k <= n:
        raise ValueError(f"need 0 <= k <= n, got k={k!r}, n={n!r}")
    if n == 0:
        return None
    q = z_quantile(level) if z is None else z
    p, q2 = k / n, q * q
    centre = (p + q2 / (2 * n)) / (1 + q2 / n)
    half = q / (1 + q2 / n) * sqrt(p * (1 - p) / n + q2 / (4 * n * n))
    # Rounding puts a bound at -1e-17 or past the share itself (statsmodels #2742).
    low = 0.0 if k == 0 else min(max(centre - half, 0.0), p)
    high = 1.0 if k == n else max(min(centre + half, 1.0), p)
    return Interval(low, high)


def cluster_wilson(
    successes: np.ndarray, sizes: np.ndarray, level: float = LEVEL, unit: int = 1
) -> ClusterInterval | None:
    """Interval of a share over rows that come in tasks: :func:`wilson` at ``n / deff`` rows.

    Rollouts of a task resemble each other. At a true share of .80, 25 tasks of 8 rows and an
    intraclass correlation of .6, the lower bound of the row-level interval lies above .80 in 19%
    of studies; that of this one in 2.4%.

    Parameters
    ----------
    successes, sizes : (n_tasks,) int array
        Of each task; tasks without a row are left out.
    level : float
        Coverage; the quantile is Student's with ``n_tasks - 1`` degrees of freedom.
    unit : int
        What one row counts in the arrays, where rows have shares and not verdicts.

    Returns
    -------
    ClusterInterval or None
        None for fewer than two tasks: one says nothing about others.

    References
    ----------
    Design effect from the ratio estimator's variance: Kish (1965), Survey Sampling, chapter 6;
    effective sample size inside Wilson's interval: Korn & Graubard (1998), Survey Methodology
    24, 193-201, and Dean & Pagano (2015), Journal of Survey Statistics and Methodology 3, 484-503.

    Examples
    --------
    >>> found = cluster_wilson([3, 0, 3, 3], [3, 3, 3, 3])  # a task agrees as a whole, or not
    >>> round(found.deff, 2), round(found.low, 2)
    (4.0, 0.13)
    """
    s, m = np.asarray(successes, dtype=np.int64), np.asarray(sizes, dtype=np.int64)
    tasks, k, n = int(np.count_nonzero(m)), int(s.sum()), int(m.sum())
    if tasks < 2:
        return None
    if k in (0, n):  # no variation to measure: a task counts once
        deff = n / tasks
    else:
        # n^2 times the sum of (s - m k / n)^2, in whole numbers: no order of rows changes it.
        squares = n * n * int(s @ s) - 2 * k * n * int(s @ m) + k * k * int(m @ m)
        variance = tasks / (tasks - 1) * squares / n**4
        deff = max(float(unit), variance * n**3 / (k * (n - k)))
    bounds = wilson(k / deff, n / deff, z=t_quantile(level, tasks - 1))
    return None if bounds is None else ClusterInterval(bounds.low, bounds.high, tasks, deff / unit)


def cluster_difference(
    differences: np.ndarray, sizes: np.ndarray, level: float = LEVEL
) -> Interval | None:
    """Interval of a mean difference per row over rows that come in tasks; None under two tasks.

    Parameters
    ----------
    differences, sizes : (n_tasks,) int array
        Sum of the rows' differences of each task, and its rows.

    References
    ----------
    Cluster-robust variance of a ratio, Student's t over tasks: Miller (2024), arXiv:2411.00640.
    """
    d, m = np.asarray(differences, dtype=np.int64), np.asarray(sizes, dtype=np.int64)
    tasks, total, n = int(np.count_nonzero(m)), int(d.sum()), int(m.sum())
    if tasks < 2:
        return None
    squares = n * n * int(d @ d) - 2 * total * n * int(d @ m) + total * total * int(m @ m)
    half = t_quantile(level, tasks - 1) * sqrt(tasks / (tasks - 1) * squares / n**4)
    return Interval(max(total / n - half, -1.0), min(total / n + half, 1.0))


def wider(*intervals: tuple | None) -> Interval | None:
    """The hull of intervals of one figure; what is None does not count."""
    known = [each for each in intervals if each is not None]
    if not known:
        return None
    return Interval(min(each[0] for each in known), max(each[1] for each in known))


def quoted(share: Mapping[str, Any]) -> Interval | None:
    """The interval of a share to quote: the wider of that of rows and that of tasks."""
    return wider(share["ci95"], share.get("ci95_tasks"))


def quoted_p(test: Mapping[str, Any]) -> float | None:
    """The p to quote: the larger of that of rows and that of tasks."""
    known = [p for p in (test["p_value"], test.get("p_value_tasks")) if p is not None]
    return max(known, default=None)


def newcombe_sum(p1: float, ci1: tuple, p2: float, ci2: tuple) -> Interval:
    """Interval of ``p1 + p2`` of independent samples, from the interval of each (MOVER).

    Squares and adds the distances to each side's own bound, so it leans where the
    parts lean.
    """
    total = p1 + p2
    low = total - sqrt((p1 - ci1[0]) ** 2 + (p2 - ci2[0]) ** 2)
    high = total + sqrt((ci1[1] - p1) ** 2 + (ci2[1] - p2) ** 2)
    return Interval(low, high)


def newcombe_difference(k1: int, n1: int, k2: int, n2: int) -> Interval | None:
    """Interval of ``k1/n1 - k2/n2`` of independent samples (Newcombe 1998, method 10)."""
    ci1, ci2 = wilson(k1, n1), wilson(k2, n2)
    if ci1 is None or ci2 is None:
        return None
    p2 = k2 / n2
    return newcombe_sum(k1 / n1, ci1, -p2, (-ci2.high, -ci2.low))


def paired_difference(
    both: int, only_first: int, only_second: int, neither: int
) -> Interval | None:
    """Interval of the difference of two shares seen on the same rows.

    Newcombe (1998, paired, method 8): Wilson intervals of both shares, joined with
    their correlation. Share of the first minus share of the second.
    """
    n = both + only_first + only_second + neither
    first, second = wilson(both + only_first, n), wilson(both + only_second, n)
    if first is None or second is None:
        return None
    p1, p2 = (both + only_first) / n, (both + only_second) / n
    margins = (
        (both + only_first)
        * (only_second + neither)
        * (both + only_second)
        * (only_first + neither)
    )
    cross = both * neither - only_first * only_second
    phi = cross / sqrt(margins) if margins else 0.0
    below, above = p1 - first.low, first.high - p1
    below2, above2 = p2 - second.low, second.high - p2
    low = p1 - p2 - _joined(below, above2, phi)
    high = p1 - p2 + _joined(above, below2, phi)
    return Interval(max(low, -1.0), min(high, 1.0))


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Two-sided exact p of McNemar's test on the discordant pairs; 1.0 without any.

    Examples
    --------
    >>> round(mcnemar_p(24, 15), 2)
    0.2
    """
    n, k = only_first + only_second, min(only_first, only_second)
    return binomial_two_sided(k, n)


def binomial_two_sided(k: int, n: int) -> float:
    """Two-sided exact p of ``k`` of ``n`` against one half; the sign test."""
    if n == 0:
        return 1.0
    k = min(k, n - k)
    if n > 2000:  # the normal value with continuity correction: exact to 1e-4 there
        return min(1.0, erfc(max(0.0, abs(n / 2 - k) - 0.5) / sqrt(n / 2)))
    tail = sum(comb(n, i) for i in range(k + 1))
    return min(1.0, 2 * tail / 2**n)


def two_proportion_p(k1: int, n1: int, k2: int, n2: int) -> float:
    """Two-sided p of the pooled z test of two shares; 1.0 when it says nothing."""
    if not n1 or not n2:
        return 1.0
    pooled = (k1 + k2) / (n1 + n2)
    spread = sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    if spread == 0:
        return 1.0
    return erfc(abs(k1 / n1 - k2 / n2) / spread / sqrt(2))


def _joined(a: float, b: float, phi: float) -> float:
    return sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")


def sign_flip_p(differences: np.ndarray) -> float:
    """Two-sided p of "no difference" when rollouts come in tasks: whole tasks change sign.

    Under the null a task's difference is as likely to be of the other sign. The sum over all
    sign patterns has an exact distribution, found by convolution; from `FLIP_EXACT` rows on it
    is normal. With one row a task this is exact McNemar (:func:`mcnemar_p`).

    Parameters
    ----------
    differences : (n_tasks,) int array
        Of each task: rows on which only the first is right, minus those of the second.

    References
    ----------
    Good (2005), Permutation, Parametric and Bootstrap Tests of Hypotheses, chapter 3.

    Examples
    --------
    >>> sign_flip_p(np.array([1, 1, 1, 1, 1]))
    0.0625
    >>> sign_flip_p(np.array([5]))  # one task proves nothing, however many rows
    1.0
    """
    sizes = np.abs(np.asarray(differences, dtype=np.int64))
    seen, most = abs(int(np.sum(differences))), int(sizes.sum())
    if seen == 0:
        return 1.0
    if most > FLIP_EXACT:
        spread = sqrt(float(sizes @ sizes))
        return erfc(max(0.0, seen - 0.5) / spread / sqrt(2))
    # Chance of each sum of the tasks that count for one of the signs, of 0 to `most`.
    chances = np.ones(1)
    for size, tasks in zip(*np.unique(sizes[sizes > 0], return_counts=True), strict=True):
        steps = np.zeros(int(size) * int(tasks) + 1)
        steps[:: int(size)] = _coin(int(tasks))
        chances = np.convolve(chances, steps)
    sums = 2 * np.arange(most + 1) - most
    return min(1.0, float(chances[np.abs(sums) >= seen].sum()))


def _coin(n: int) -> np.ndarray:
    """Chances of 0 to n heads."""
    logs = np.array([lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) for i in range(n + 1)])
    return np.exp(logs - n * log(2))


def confidence_sequence(k: float, n: float, alpha: float = 1 - LEVEL) -> Interval | None:
    """Bounds of a share that may be looked at after every label, as long as one likes.

    Holds with a chance of at least ``1 - alpha`` at all n together: a fixed interval that is
    looked at again and again reaches any floor in the end. Wider for that: 71 of 82 gives
    [.71, .96] where Wilson has [.78, .92]. Valid for one row a task.

    Parameters
    ----------
    k, n : float
        Successes and trials so far, ``0 <= k <= n``; None for no trial. Not whole where rows
        count as fewer (`whileai_review.score.planning.always_valid`).

    References
    ----------
    Robbins (1970), Annals of Mathematical Statistics 41, 1397-1409, with a uniform mixture;
    Howard et al. (2021), Annals of Statistics 49, 1055-1080.

    Examples
    --------
    >>> low, high = confidence_sequence(71, 82)
    >>> round(low, 2), round(high, 2)
    (0.71, 0.96)
    """
    if not 0 <= k <= n:
        raise ValueError(f"need 0 <= k <= n, got k={k!r}, n={n!r}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
    if n == 0:
        return None
    limit = lgamma(k + 1) + lgamma(n - k + 1) - lgamma(n + 2) - log(1 / alpha)

    def outside(p: float) -> bool:  # a share whose chance of these labels is too small
        chance = (k * log(p) if k else 0.0) + ((n - k) * log1p(-p) if k < n else 0.0)
        return chance <= limit

    low = 0.0 if k == 0 else _edge(outside, 0.0, k / n)
    high = 1.0 if k == n else _edge(outside, 1.0, k / n)
    return Interval(low, high)


def _edge(outside: Callable[[float], bool], far: float, near: float) -> float:
    """Where `outside` ends between two shares, by bisection; on the far side of it."""
    for _ in range(60):
        middle = (far + near) / 2
        if middle in (far, near):  # no number lies between: 0 and 1 themselves have no logarithm
            break
        far, near = (middle, near) if outside(middle) else (far, middle)
    return far
