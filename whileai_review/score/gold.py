"""What gold is worth: an audit of a program's labels by a person, and rows that nobody could tell.

Program gold is a grader too. A person who labels 30 of its rows blind, drawn at random, shows how
far it can be believed: none wrong of 30 may still be 11% (Wilson). And a row on which the answer
was "can't tell" is no missing row: left out it keeps the easy rows, so every rate has bounds
between the best and the worst that these rows may be.

References
----------
Manski (1989), Journal of Human Resources 24, 343-360 (bounds with missing outcomes). Wilson (1927),
JASA 22, 209-212.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from whileai_review.intervals import quoted
from whileai_review.report import count, interval_percent, number2, percent, plural
from whileai_review.score.agreement import task_share

UNCLEAR_FLAG = 0.05
"""Share of "can't tell" above which the bounds are flagged (statistics.md 10)."""

NOT_AUDITED: dict[str, Any] = {"planned": 0, "answered": 0, "read": 0, "n": 0}
"""Of program gold that no person has looked at."""

RATE_NAMES = {
    "agreement": "agreement",
    "tpr": "TPR",
    "tnr": "TNR",
    "j": "J",
    "reward_in_error": "reward in error",
    "judge_fail_right": "a “fail” is right",
    "gold_pass_rate": "gold pass rate",
}
"""What `unclear_bounds` bounds, as it is printed."""


def audit_measures(task: np.ndarray, person: np.ndarray, program: np.ndarray) -> dict[str, Any]:
    """How often a person who labels blind agrees with a program's labels.

    Parameters
    ----------
    task, person, program : (n,) int array
        Of the rows that were drawn at random and answered; labels 0 or 1, and -1 of a person who
        can't tell.

    Returns
    -------
    dict
        ``agree`` of ``n`` rows with ``value ci95 ci95_tasks n_tasks deff`` as
        :func:`~whileai_review.score.agreement.task_share` has them; ``n_unclear`` rows beside
        these; ``passed_wrong``, ``failed_wrong``: rows that only the program passed, failed.

    Examples
    --------
    >>> person, program = np.repeat([1, 0], [28, 2]), np.ones(30, int)
    >>> found = audit_measures(np.arange(30), person, program)
    >>> found["agree"], found["n"], [round(bound, 2) for bound in found["ci95"]]
    (28, 30, [0.79, 0.98])
    """
    told = person >= 0
    codes = np.unique(task[told], return_inverse=True)[1]
    right = (person == program)[told]
    agree, sizes = np.bincount(codes, right).astype(int), np.bincount(codes)
    return {
        "agree": int(right.sum()),
        **task_share(agree, sizes),
        "n_unclear": int((~told).sum()),
        "passed_wrong": int(((person == 0) & (program == 1)).sum()),
        "failed_wrong": int(((person == 1) & (program == 0)).sum()),
    }


def audit_words(audit: Mapping[str, Any] | None) -> str:
    """``program gold audited: 28 of 30 agree [79, 98]``; empty for gold of another kind.

    Before the last row of an audit there is no figure of it: whoever reads on would know it.

    Examples
    --------
    >>> audit_words(NOT_AUDITED)
    'program gold not audited'
    >>> audit_words({"planned": 30, "answered": 12, "read": 0, "n": 0})
    'audit of program gold under way, 12 of 30 rows read'
    """
    if audit is None:
        return ""
    if not audit["planned"]:
        return "program gold not audited"
    answered, planned = audit["answered"], plural(audit["planned"], "row")
    if not audit["read"]:
        return f"audit of program gold under way, {count(answered)} of {planned} read"
    more = f", {count(audit['n_unclear'])} can't tell" if audit["n_unclear"] else ""
    if audit["read"] < audit["planned"]:
        more += f"; another is under way, {count(answered)} of {planned} read"
    if not audit["n"]:
        return f"program gold audited: no row could be told{more}"
    interval = interval_percent(quoted(audit), audit["n"])
    agree = f"{count(audit['agree'])} of {count(audit['n'])} agree {interval}"
    return f"program gold audited: {agree}{more}"


def unclear_bounds(
    cells: np.ndarray, judge_passed: float, judge_failed: float
) -> dict[str, tuple[float, float] | None]:
    """The least and the most that each rate can be, whatever the rows are that nobody could tell.

    Parameters
    ----------
    cells : (4,) array
        Rows tp, fp, fn, tn, or their weights.
    judge_passed, judge_failed : float
        Rows (or their weight) that nobody could tell, by the judge's verdict.

    Returns
    -------
    dict
        For each of `RATE_NAMES` (low, high), sharp; None where there may be nothing to divide by.

    Examples
    --------
    139 of 221 agree, 12 more nobody could tell (statistics.md 10): .60 to .65.

    >>> found = unclear_bounds(np.array([124, 58, 24, 15]), 8, 4)
    >>> [round(bound, 2) for bound in found["agreement"]]
    [0.6, 0.65]
    """
    tp, fp, fn, tn = (float(each) for each in cells)
    up, uf = float(judge_passed), float(judge_failed)
    n = tp + fp + fn + tn + up + uf
    found = {
        "agreement": (_ratio(tp + tn, n), _ratio(tp + tn + up + uf, n)),
        # A rate falls when a row joins what it divides by, and rises when it joins both.
        "tpr": (_ratio(tp, tp + fn + uf), _ratio(tp + up, tp + up + fn)),
        "tnr": (_ratio(tn, tn + fp + up), _ratio(tn + uf, tn + uf + fp)),
        "reward_in_error": (_ratio(fp, tp + fp + up), _ratio(fp + up, tp + fp + up)),
        "judge_fail_right": (_ratio(tn, tn + fn + uf), _ratio(tn + uf, tn + fn + uf)),
        "gold_pass_rate": (_ratio(tp + fn, n), _ratio(tp + fn + up + uf, n)),
    }
    if None not in (*found["tpr"], *found["tnr"]):  # the same rows make both least, and most
        low, high = (found["tpr"][i] + found["tnr"][i] - 1 for i in (0, 1))  # type: ignore[operator]
        found["j"] = (low, high)
    else:
        found["j"] = (None, None)
    return {
        name: None if None in found[name] else found[name]  # type: ignore[misc]
        for name in RATE_NAMES
    }


def unclear_measures(
    cells: np.ndarray, judge: np.ndarray, weight: np.ndarray | None = None
) -> dict[str, Any]:
    """What "can't tell" leaves open.

    Parameters
    ----------
    cells : (4,) array
        Rows tp, fp, fn, tn, or with `weight` their weights.
    judge : (n,) int array
        The judge's verdicts on the rows that nobody could tell, 0 or 1.
    weight : (n,) float array, optional
        Rows that each of these stands for.

    Returns
    -------
    dict
        ``n`` rows; ``share`` of these among all answered rows, by weight where ``weighted``;
        ``flagged``: it is over `UNCLEAR_FLAG`; ``judge_passed``, ``judge_failed``, the rows by verdict; ``bounds`` of
        `unclear_bounds`.
    """
    own = np.ones(len(judge)) if weight is None else weight
    passed, failed = float(own[judge == 1].sum()), float(own[judge == 0].sum())
    whole = float(np.sum(cells)) + passed + failed
    share = (passed + failed) / whole if whole else 0.0
    return {
        "n": len(judge),
        "share": share,
        "flagged": share > UNCLEAR_FLAG,
        "weighted": weight is not None,
        "judge_passed": int((judge == 1).sum()),
        "judge_failed": int((judge == 0).sum()),
        "bounds": unclear_bounds(cells, passed, failed) if len(judge) else {},
    }


def unclear_words(found: Mapping[str, Any] | None) -> str:
    """``can't tell on 12 rows (5%): whatever they are, agreement 60% to 65%, ...``; else empty.

    A line that is flagged begins as warnings do.
    """
    if not found or not found["n"]:
        return ""
    rates = [
        f"{RATE_NAMES[name]} {_bounds_words(name, bounds)}"
        for name, bounds in found["bounds"].items()
        if bounds is not None
    ]
    rows, flag = plural(found["n"], "row"), ", over 5%" if found["flagged"] else ""
    verdicts = (
        f"the judge passed {count(found['judge_passed'])} of them and failed "
        f"{count(found['judge_failed'])}"
    )
    words = "! " if found["flagged"] else ""
    words += f"can't tell on {rows} ({unclear_share(found)}{flag}; {verdicts})"
    return f"{words}: whatever they are, {', '.join(rates)}" if rates else words


def unclear_share(found: Mapping[str, Any]) -> str:
    """Say ``5% of the answers``; with weights the rows are no longer counted alike."""
    of = "of the run by weight" if found["weighted"] else "of the answers"
    return f"{percent(found['share'])} {of}"


def _bounds_words(name: str, bounds: tuple[float, float]) -> str:
    low, high = bounds
    if name == "j":
        return f"{number2(low)} to {number2(high)}"
    return f"{percent(low)} to {percent(high)}"


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
