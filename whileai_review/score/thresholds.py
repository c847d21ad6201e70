"""Where should a judge's score be cut? Chosen on one half of the tasks, reported on the other.

A judge that scores 1 to 5 gives no verdict until somebody says from which score on a reply
passes. The best of several cuts looks better than it is on the labels that it was chosen on, so
the tasks are parted by their hash: a threshold is chosen on half a and reported on half b.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log10
from typing import Any

import numpy as np

from whileai_review.intervals import quoted
from whileai_review.report import (
    NONE,
    SMALL_N,
    Report,
    count,
    interval2,
    interval_percent,
    number2,
    percent,
    plural,
)
from whileai_review.score._columns import NO_VERDICT, TrustColumns
from whileai_review.score._trust import error_rates, is_even

__all__ = [
    "ThresholdReport",
    "candidates",
    "cut",
    "score_words",
    "thresholds_from_columns",
]

MOST_VALUES = 20
"""Distinct scores up to which each of them is a threshold and a place of the figure."""

MOST_CUTS = 19
"""Thresholds of a score with more values: its quantiles 5%, 10%, ... 95%."""

BINS = 30
"""Places of the figure for a score with more values."""

MOST_DECIMALS = 12

RATES = (
    ("tpr", "passes passed"),
    ("tnr", "failures caught"),
    ("j", "J"),
    ("reward_in_error", "reward in error"),
)


class ThresholdReport(Report):
    """What a judge's score is worth at each threshold.

    Keys
    ----
    n_rows, n_scored, n_labeled, n_unscored : int
        Rows; with a finite score; of these with a label; labelled without a finite score.
    n_tasks, n_gold_pass, n_gold_fail : int
        Of the scored and labelled rows.
    low, high : float or None
        Smallest and largest score.
    n_values : int
        Distinct scores.
    halves : dict
        ``a b``: ``n n_tasks n_gold_pass n_gold_fail`` of each half of the tasks.
    thresholds : list of dict
        ``threshold pass_rate a b``: share of the scored rows that pass; and for each half
        ``n tpr tnr j reward_in_error`` as in a trust report.
    chosen : float or None
        The threshold with the largest J on half a; of equal ones the strictest.
    reason : str
        Why none is chosen.
    bins : list of dict
        ``score pass fail``: labelled rows of half a by score, for a figure.
    warnings : list of str
    """

    def as_text(self) -> str:
        """The table of half a, then the chosen threshold on half b."""
        if not self["thresholds"]:
            return f"no threshold: {self['reason']}"
        a, b = self["halves"]["a"], self["halves"]["b"]
        lines = [
            f"scores {score_words(self['low'])} to {score_words(self['high'])}, "
            f"{plural(self['n_labeled'], 'labelled row')}, {plural(self['n_tasks'], 'task')}; "
            f"half a {plural(a['n'], 'row')} of {plural(a['n_tasks'], 'task')}, "
            f"half b {plural(b['n'], 'row')} of {plural(b['n_tasks'], 'task')} (by task hash)",
            "  on half a:",
        ]
        for line in self["thresholds"]:
            lines.append(f"  >= {score_words(line['threshold'])}: {rates_words(line['a'])}")
        chosen = next((x for x in self["thresholds"] if x["threshold"] == self["chosen"]), None)
        if chosen is None:
            lines.append(f"none chosen: {self['reason']}")
        else:
            lines.append(
                f"chosen on half a: >= {score_words(self['chosen'])}; on half b: "
                f"{rates_words(chosen['b'])}"
            )
        return "\n".join([*lines, *(f"! {warning}" for warning in self["warnings"])])


def score_words(score: float | None) -> str:
    """A score as people write it.

    Examples
    --------
    >>> score_words(4.0), score_words(0.85), score_words(None)
    ('4', '0.85', '–')
    """
    return NONE if score is None else f"{score:.12g}"


def rates_words(rates: Mapping[str, Any]) -> str:
    """The four figures of a threshold with their intervals."""
    parts = []
    for key, words in RATES:
        share = rates[key]
        if key == "j":
            bounds = quoted(share) if share["ci95"] is not None else None
            text = f"J {number2(share['value'])} {interval2(bounds)}"
        else:
            text = f"{words} {percent(share['value'], share['n'])}"
            if share["n"] >= SMALL_N:
                text += f" {interval_percent(quoted(share), share['n'])} n={count(share['n'])}"
        parts.append(text)
    return ", ".join(parts)


def candidates(scores: np.ndarray) -> list[float]:
    """Scores from which on a row may be said to pass, smallest first.

    Parameters
    ----------
    scores : (n,) float array
        What is not finite is passed over.

    Returns
    -------
    list of float
        Every distinct score but the smallest, which would pass all rows. Of more than 20, the
        quantiles 5%, 10%, ... 95%, rounded to about a hundredth of the range.

    Examples
    --------
    >>> candidates(np.array([1, 3, 2, 3, np.nan])), candidates(np.array([4.0, 4.0]))
    ([2.0, 3.0], [])
    """
    values = np.unique(scores[np.isfinite(scores)])
    if len(values) < 2:
        return []
    if len(values) <= MOST_VALUES:
        return [float(v) for v in values[1:]]
    known = scores[np.isfinite(scores)]
    cuts = np.quantile(known, np.arange(1, MOST_CUTS + 1) / (MOST_CUTS + 1))
    low, high = values[0], values[-1]
    step = float(high / 100 - low / 100)
    decimals = max(0, round(-log10(step))) if step > 0 else MOST_DECIMALS
    if decimals < MOST_DECIMALS:  # finer ones are not what a person would name anyway
        cuts = np.round(cuts, decimals)
    return [float(c) for c in np.unique(cuts) if low < c <= high]


def cut(scores: np.ndarray, threshold: float) -> np.ndarray:
    """Verdicts: 1 from the threshold on, 0 below, -1 where there is no finite score.

    Examples
    --------
    >>> cut(np.array([1.0, 4.0, np.nan, np.inf]), 4).tolist()
    [0, 1, -1, -1]
    """
    known = np.isfinite(scores)
    with np.errstate(invalid="ignore"):
        return np.where(known, scores >= threshold, NO_VERDICT).astype(np.int8)


def thresholds_from_columns(columns: TrustColumns, scores: np.ndarray) -> ThresholdReport:
    """Measure a score at each of its thresholds.

    Parameters
    ----------
    columns : TrustColumns
        Gold and tasks are read; the verdicts are not.
    scores : (n,) float array
        NaN where the judge gave none.

    Returns
    -------
    ThresholdReport
        With `reason` in place of a choice where the labels or the scores allow none.

    References
    ----------
    Youden (1950), Index for rating diagnostic tests, Cancer 3, 32-35. That the best cut looks
    better than it is where it was chosen: Ewald (2006), J Clin Epidemiol 59, 798-801.
    """
    known = np.isfinite(scores)
    used = known & (columns.gold >= 0)
    in_a = np.array(is_even(columns.tasks), dtype=bool)[columns.task]
    values = np.unique(scores[known])
    of_half = {"a": used & in_a, "b": used & ~in_a}
    # Each half once as columns, so that its tasks are drawn anew the same way at every threshold.
    lines = []
    for threshold in candidates(scores):
        verdicts = cut(scores, threshold)
        line: dict[str, Any] = {
            "threshold": threshold,
            "pass_rate": float((verdicts[known] == 1).mean()),
        }
        for name, rows in of_half.items():
            judge = np.where(rows, verdicts, NO_VERDICT).astype(np.int8)
            found = error_rates(replace(columns, judge=judge))
            line[name] = {"n": int(rows.sum())} | {key: found[key] for key, _ in RATES}
        lines.append(line)
    halves = {name: _described(columns, rows) for name, rows in of_half.items()}
    chosen, reason = _choice(lines, halves, values)
    return ThresholdReport(
        n_rows=len(scores),
        n_scored=int(known.sum()),
        n_labeled=int(used.sum()),
        n_unscored=int(((columns.gold >= 0) & ~known).sum()),
        **{k: halves["a"][k] + halves["b"][k] for k in ("n_tasks", "n_gold_pass", "n_gold_fail")},
        low=float(values[0]) if len(values) else None,
        high=float(values[-1]) if len(values) else None,
        n_values=len(values),
        halves=halves,
        thresholds=lines,
        chosen=chosen,
        reason=reason,
        bins=_bins(scores, columns.gold, of_half["a"], values),
        warnings=_warnings(columns, known),
    )


def _described(columns: TrustColumns, rows: np.ndarray) -> dict[str, int]:
    return {
        "n": int(rows.sum()),
        "n_tasks": len(np.unique(columns.task[rows])),
        "n_gold_pass": int((columns.gold[rows] == 1).sum()),
        "n_gold_fail": int((columns.gold[rows] == 0).sum()),
    }


def _choice(
    lines: Sequence[Mapping[str, Any]], halves: Mapping[str, Mapping], values: np.ndarray
) -> tuple[float | None, str]:
    """The threshold with the largest J on half a, or why there is none."""
    if not len(values):
        return None, "no row has a score that is a finite number"
    if not lines:
        return None, f"every score is {score_words(float(values[0]))}: no threshold parts the rows"
    n = {key: halves["a"][key] + halves["b"][key] for key in halves["a"]}
    if not n["n"]:
        return None, "no row has both a score and a label: label rows, or name one in advance"
    for key, words in (("n_gold_pass", "passes"), ("n_gold_fail", "fails")):
        other = "fails" if words == "passes" else "passes"
        if not n[key]:
            return None, (
                f"{_all(n['n'])} {other}: a threshold is told by labels of both classes; label "
                f"rows that {'pass' if words == 'passes' else 'fail'}"
            )
        for half in "ab":
            if not halves[half][key]:
                return None, (
                    f"half {half} of the tasks has no label that {words}: label rows of more tasks"
                )
    best = max(lines, key=lambda line: (line["a"]["j"]["value"], line["threshold"]))
    if best["a"]["j"]["value"] <= 0:
        return None, (
            f"no threshold tells passes from failures on half a (J at best "
            f"{number2(best['a']['j']['value'])}); does a high score mean a fail?"
        )
    return best["threshold"], ""


def _all(n: int) -> str:
    return "the only labelled row" if n == 1 else f"each of the {count(n)} labelled rows"


def _bins(
    scores: np.ndarray, gold: np.ndarray, rows: np.ndarray, values: np.ndarray
) -> list[dict[str, Any]]:
    if not rows.any():
        return []
    if len(values) <= MOST_VALUES:
        centres, of = values, np.searchsorted(values, scores[rows])
    else:
        edges = np.linspace(values[0], values[-1], BINS + 1)
        centres = (edges[:-1] + edges[1:]) / 2
        of = np.clip(np.searchsorted(edges, scores[rows], side="right") - 1, 0, BINS - 1)
    passed = gold[rows] == 1
    counts = [np.bincount(of[part], minlength=len(centres)) for part in (passed, ~passed)]
    return [
        {"score": float(centre), "pass": int(p), "fail": int(f)}
        for centre, p, f in zip(centres, *counts, strict=True)
    ]


def _warnings(columns: TrustColumns, known: np.ndarray) -> list[str]:
    missing = int(((columns.gold >= 0) & ~known).sum())
    if not missing:
        return []
    return [f"{plural(missing, 'labelled row')} without a score that is a finite number, left out"]
