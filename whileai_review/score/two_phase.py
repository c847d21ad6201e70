"""The judge's measures after its disagreements, and a share of its agreements, were read again.

Reading disagreements only can but raise the agreement, since only they may change: a judge that is
a coin reaches .68, and .81 with a reader who sides with it (statistics.md 1). Here the first
labels are a first phase and the rows that were read again a second one, drawn within two strata:
where judge and first label differ, and where they agree. What was read again counts for the rows
of its stratum.

References
----------
Hadgu (1999), Statistics in Medicine 18, 2001-2016 (discrepant analysis). Begg & Greenes (1983),
Biometrics 39, 207-215 (verification by strata). Särndal, Swensson & Wretman (1992), Model
Assisted Survey Sampling, section 9.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whileai_review.score.weighted import weighted_measures


def two_phase_measures(
    task: np.ndarray,
    judge: np.ndarray,
    gold: np.ndarray,
    again: np.ndarray,
    weight: np.ndarray | None = None,
) -> dict[str, Any]:
    """Agreement, rates, J and kappa against the second reading.

    Parameters
    ----------
    task, judge, gold : (n,) int array
        Of the rows that the first estimate rests on: task, verdict and first label, both 0 or 1.
    again : (n,) int array
        What the second reading says, 0 or 1; -1 where it says nothing.
    weight : (n,) float array, optional
        Rows that each stands for, where the first phase was drawn with unequal chances.

    Returns
    -------
    dict
        As :func:`~whileai_review.score.weighted.weighted_measures`, and ``n_first`` rows of the
        first phase, ``agreeing``, ``disagreeing``: of each ``n`` rows, ``read`` again, ``agree``
        of these, now.

    Raises
    ------
    ValueError
        None of the agreeing or of the disagreeing rows was read again: nothing speaks for them.

    Examples
    --------
    139 agreements, 28 read again, 25 still agree; all 82 disagreements read, 8 do now:
    (139 x 25/28 + 8) / 221.

    >>> judge = np.ones(221, int)
    >>> gold = np.repeat([1, 0], [139, 82])
    >>> again = np.repeat([1, 0, -1, 1, 0], [25, 3, 111, 8, 74])
    >>> found = two_phase_measures(np.arange(221), judge, gold, again)
    >>> round(found["agreement"]["value"], 3)
    0.598
    """
    stratum = (judge == gold).astype(np.intp)
    read = again >= 0
    first = np.ones(len(judge)) if weight is None else np.asarray(weight, dtype=float)
    size, said = (np.bincount(stratum[m], first[m], minlength=2) for m in (first > 0, read))
    for n, name in enumerate(("disagreeing", "agreeing")):
        if size[n] and not said[n]:
            raise ValueError(f"no {name} row was read again: nothing speaks for these rows")
    own = (first * (size / np.where(said, said, 1.0))[stratum])[read]
    cell = (3 - 2 * judge - again)[read]
    # The frame counts rows: with unequal weights the rows read again stand for themselves alone.
    frame = (task, stratum) if weight is None else (None, None)
    found = weighted_measures(task[read], cell, own, stratum[read], *frame)
    found["n_first"] = len(judge)
    for n, name in enumerate(("disagreeing", "agreeing")):
        mine = stratum == n
        agree = int((mine & read & (again == judge)).sum())
        found[name] = {"n": int(mine.sum()), "read": int((mine & read).sum()), "agree": agree}
    return found
