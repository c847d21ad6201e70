"""Does the judge pass long replies more often, gold being equal?"""

from __future__ import annotations

from typing import Any

import numpy as np

from whileai_review.defaults import ALPHA, LENGTH_GAP_FLAG, LENGTH_MIN_N
from whileai_review.intervals import two_proportion_p


def length_sensitivity(
    chars: np.ndarray,
    judge: np.ndarray,
    gold: np.ndarray,
    length_gap_flag: float = LENGTH_GAP_FLAG,
) -> dict[str, Any]:
    """Pass rates of short and long replies, for gold 1 and gold 0 apart.

    Within one gold class length says nothing about quality that the gold does not, so a
    gap there is the judge's own. A gap is flagged when it reaches `length_gap_flag` and
    a two-proportion test at half the usual level (two classes are looked at) rejects too.

    Parameters
    ----------
    chars, judge, gold : (n,) int array
        Reply length and both verdicts of the compared rows.

    Returns
    -------
    dict
        ``gold_1``, ``gold_0`` (``n median_chars judge_pass_short judge_pass_long
        gap_long_minus_short p_value``, or ``n`` and ``note``), ``max_gap``, ``flagged``.
    """
    parts = {f"gold_{c}": _split(chars[gold == c], judge[gold == c]) for c in (1, 0)}
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


def _split(chars: np.ndarray, judge: np.ndarray) -> dict[str, Any]:
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
        "p_value": two_proportion_p(passed_long, n_long, passed_short, n_short),
    }
