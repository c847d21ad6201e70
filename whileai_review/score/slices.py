"""The worst of many slices: what is left of it once the search is paid for.

Some slice is always the worst. Of 14 slices with 8 failures each, all with a true false-pass
rate of .50, the worst shows .79 on average, and in 39% of studies the plain Wilson interval of
some slice lies above .50. So a slice that was found by sorting gets an interval that holds for
all slices at once, a rate that is pulled towards the run's, and is sorted by how many hits it
has beyond what the run's rate predicts: a rate is highest where there is least data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from whileai_review.defaults import LEVEL, SEED
from whileai_review.intervals import Interval, cluster_wilson, wider, wilson
from whileai_review.report import SMALL_N, Report, count, interval_percent, percent, plural
from whileai_review.resample import task_cells

__all__ = [
    "FoundSlices",
    "Spread",
    "bonferroni_level",
    "find_slices",
    "found_shares",
    "quoted_worst",
    "shrunken",
    "spread_of",
    "worst_words",
]

Counts = tuple[np.ndarray, np.ndarray]
"""Hits and rows of a slice, each by task."""

CELLS = ("tp", "fp", "fn", "tn")

MEASURES = {
    "false_pass": ("false passes", "gold failures"),
    "error": ("reward given in error", "passes of the judge"),
}
"""Measure -> its name, and what it is a share of. The hits of both are false passes."""

AFTERWARDS = " Every row of it is a false pass: was this field written from the outcome?"

MOST_LINES = 200
"""Slices that a report keeps: those with most hits beyond what is expected."""

FEW_VALUES = 5
"""Values up to which a field that splits the verdicts (or labels) without a rest repeats them."""

TEXT_LINES = 8


class Spread(NamedTuple):
    """How slices differ: a beta distribution by its mean and its intraclass correlation."""

    mean: float
    rho: float
    """Var(rate) / (mean (1 - mean)): 0 when the slices differ by chance alone, at most 1."""


class FoundSlices(Report):
    """Slices found by a search over every short field.

    Keys
    ----
    n, n_tasks : int
        Rows with a verdict and a label, and their tasks.
    k : int
        Slices searched; slices of the same rows under several names are one.
    fields : list of str
        Fields searched.
    left_out : list of dict
        ``field why`` of those that were not.
    named : str or None
        The field that was named in advance: it is not searched, its intervals are plain ones.
    overall : dict
        ``false_pass error``: the rates of all rows.
    n_lines : int
        Length of `slices`, the at most 200 with most hits beyond what is expected.
    slices : list of dict
        ``field value same_as n n_tasks false_passes false_pass error``; the last two are lines of
        `found_shares`. Most false passes beyond the expected ones first.
    worst : dict
        ``false_pass error``: position in `slices` of the worst by each, None without one.
    warnings : list of str
        What else a reader has to know.
    """

    def as_text(self) -> str:
        """The worst by each measure, then the first slices."""
        lines = [worst_words(self, name) for name in MEASURES]
        for line in self["slices"][:TEXT_LINES]:
            lines.append(f"  {line['field']} = {line['value']}  n={count(line['n'])}")
            for name, (words, of) in MEASURES.items():
                found = line[name]
                if not found["n"]:
                    continue
                text = f"    {words} {count(found['hits'])} of {plural_of(found['n'], of)}"
                if found["n"] >= SMALL_N:
                    text += (
                        f" ({percent(found['value'])}, {_bounds(found)} for all {self['k']}), "
                        f"expect about {percent(found['expect_again'])} again"
                    )
                lines.append(f"{text}, {excess_words(found['excess'])}")
        lines += [f"  not searched: {each['field']} ({each['why']})" for each in self["left_out"]]
        lines += [f"! {warning}" for warning in self["warnings"]]
        return "\n".join(lines)


def plural_of(n: int, many: str) -> str:
    """A count with a noun that is given in the plural.

    Examples
    --------
    >>> plural_of(1, "gold failures"), plural_of(3, "passes of the judge")
    ('1 gold failure', '3 passes of the judge')
    """
    one = many.replace("passes", "pass", 1) if many.startswith("passes") else many.rstrip("s")
    return plural(n, one, many)


def excess_words(excess: float) -> str:
    """How far the hits lie from what the rate of all rows predicts.

    Examples
    --------
    >>> excess_words(4.21), excess_words(-0.6), excess_words(0.04)
    ('4.2 more than expected', '0.6 fewer than expected', 'as expected')
    """
    text = f"{abs(excess):.1f}"
    if text == "0.0":
        return "as expected"
    return f"{text} {'more' if excess > 0 else 'fewer'} than expected"


def worst_words(report: Mapping[str, Any], measure: str) -> str:
    """One sentence on the worst slice by a measure: what it shows, what of it is left."""
    words, of = MEASURES[measure]
    k, place = report["k"], report["worst"][measure]
    if place is None:
        if not k:
            return f"No slice to search by {words}: {_nothing(report)}."
        return f"None of {plural(k, 'slice')} has more {words} than expected."
    line = report["slices"][place]
    found, overall = line[measure], percent(report["overall"][measure])
    return (
        f"Worst of {k} by {words}: {line['field']} = {line['value']}, {count(found['hits'])} of "
        f"{plural_of(found['n'], of)}, {excess_words(found['excess'])}. {left_words(found, k, overall)}"
        + (AFTERWARDS if line["false_passes"] == line["n"] >= SMALL_N else "")
    )


def left_words(found: Mapping[str, Any], k: int, overall: str) -> str:
    """What is left of a slice's rate once the search over `k` is paid for."""
    if found["n"] < SMALL_N:
        return f"Under {SMALL_N} rows: a count, no rate."
    text = (
        f"{percent(found['value'])}, corrected for {k}: {_bounds(found)}; expect about "
        f"{percent(found['expect_again'])} again. "
    )
    if found["stands_out"]:
        return text + f"It stands out: the corrected interval lies above the {overall} of all rows."
    if found["n_tasks"] < 2:
        return text + "All of one task: it says nothing of others."
    return text + f"Not shown to differ from the {overall} of all rows: the worst of {k} looks so."


def quoted_worst(found: Mapping[str, Any]) -> Interval | None:
    """The corrected interval to quote: the wider of that of rows and that of tasks."""
    return wider(found["ci_worst"], found["ci_worst_tasks"])


def bonferroni_level(k: int, level: float = LEVEL) -> float:
    """Coverage that each of `k` intervals needs, so that all of them hold together at `level`.

    Holds however the slices overlap (Dunn 1961, JASA 56, 52-64). Each bound of an interval has
    half of what is left, so the lower bounds of two measures of the same slices hold too.

    Examples
    --------
    >>> round(bonferroni_level(14), 4), bonferroni_level(1)
    (0.9964, 0.95)
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k!r}")
    return level if k == 1 else 1 - (1 - level) / k


def spread_of(
    hits: Sequence[float], sizes: Sequence[float], field: Sequence[int] | None = None
) -> Spread | None:
    """How much the rates of slices differ beyond chance, by the method of moments.

    Parameters
    ----------
    hits, sizes : (k,) sequence of float
        Of each slice; effective sizes are fractions. Slices without a row are left out.
    field : (k,) sequence of int, optional
        Which slices part the same rows: those of one field. All are of one where None.

    Returns
    -------
    Spread or None
        None without a row. `rho` is 0 where the rates differ by less than chance would have them.

    References
    ----------
    Kleinman (1973), Proportions with extraneous variance, JASA 68, 46-54, with weights n.

    Examples
    --------
    >>> found = spread_of([1, 9, 2, 8], [10, 10, 10, 10])
    >>> found.mean, round(found.rho, 2)
    (0.5, 0.63)
    """
    x, n = np.asarray(hits, dtype=float), np.asarray(sizes, dtype=float)
    of = np.zeros(len(n), dtype=np.intp) if field is None else np.asarray(field, dtype=np.intp)
    x, n, of = x[n > 0], n[n > 0], of[n > 0]
    if not len(n):
        return None
    mean = float(x.sum() / n.sum())
    chance = mean * (1 - mean)
    total = np.bincount(of, n)
    there = total > 0
    own = np.bincount(of, x)[there] / total[there]
    k, squares_of_n = np.bincount(of)[there], np.bincount(of, n * n)[there]
    squares = float(n @ (x / n - own[np.cumsum(there)[of] - 1]) ** 2)
    by_chance = chance * float((k - 1).sum())
    room = float((total[there] - squares_of_n / total[there] - (k - 1)).sum())
    if chance <= 0 or room <= 0:
        return Spread(mean, 0.0)
    return Spread(mean, min(max((squares - by_chance) / (chance * room), 0.0), 1.0))


def shrunken(hits: float, size: float, spread: Spread) -> float:
    """The rate to expect of a slice: its own, pulled towards the mean of all (beta-binomial).

    Mean of the posterior under a beta prior of this `spread`; the mean itself for no row.

    References
    ----------
    Empirical Bayes: Morris (1983), JASA 78, 47-55; Efron (2011), Tweedie's formula and selection
    bias, JASA 106, 1602-1614: it corrects for having picked the largest.

    Examples
    --------
    >>> shrunken(8, 8, Spread(0.5, 0.0)), shrunken(8, 8, Spread(0.5, 0.125))
    (0.5, 0.7666666666666666)
    """
    if size <= 0:
        return spread.mean
    weight = size * spread.rho / (1 + (size - 1) * spread.rho)
    return weight * hits / size + (1 - weight) * spread.mean


def found_shares(
    slices: Sequence[Counts],
    overall: float,
    correlation: float = 0.0,
    k: int | None = None,
    field: Sequence[int] | None = None,
    level: float = LEVEL,
) -> list[dict[str, Any]]:
    """The share of each slice of a search, with the interval that the worst of them needs.

    Parameters
    ----------
    slices
        Of every slice that was searched: ``(hits, rows)`` by task. Slices may overlap, as those
        of two fields do.
    overall : float
        The rate of all rows.
    correlation : float
        Of two rows of one task, see `row_correlation`. The shrunken rate counts a slice's rows at
        what they are worth; its own rows are too few to tell.
    k : int, optional
        Slices searched, where they are not as many as are given.
    field : sequence of int, optional
        Which slices part the same rows, see `spread_of`.

    Returns
    -------
    list of dict
        For each slice ``hits n n_tasks value expected excess ci_worst ci_worst_tasks expect_again
        stands_out``: hits that the overall rate predicts and those beyond them; Bonferroni
        intervals of rows and of tasks (`wilson`, `cluster_wilson`), of which the wider counts;
        the shrunken rate; and whether the interval, of at least 10 rows, lies above the overall
        rate.

    Examples
    --------
    >>> one_each = [(np.ones(12, int), np.ones(12, int)), (np.zeros(12, int), np.ones(12, int))]
    >>> [round(line["excess"], 1) for line in found_shares(one_each, 0.5)]
    [6.0, -6.0]
    """
    each = bonferroni_level(max(len(slices) if k is None else k, 1), level)
    lines: list[dict[str, Any]] = []
    worth: list[tuple[float, float]] = []
    for hits, sizes in slices:
        x, n = int(np.sum(hits)), int(np.sum(sizes))
        by_row, by_task = wilson(x, n, each), cluster_wilson(hits, sizes, each)
        worth.append((x, n) if not n else _worth(x, n, int(sizes @ sizes), correlation))
        hull = wider(by_row, by_task[:2] if by_task else None)
        lines.append(
            {
                "hits": x,
                "n": n,
                "n_tasks": int(np.count_nonzero(sizes)),
                "value": x / n if n else None,
                "expected": n * overall,
                "excess": x - n * overall,
                "ci_worst": None if by_row is None else tuple(by_row),
                "ci_worst_tasks": None if by_task is None else tuple(by_task[:2]),
                # One task says nothing of others, whatever the interval of its rows.
                "stands_out": bool(n >= SMALL_N and by_task and hull and hull.low > overall),
            }
        )
    spread = spread_of([w[0] for w in worth], [w[1] for w in worth], field)
    prior = spread._replace(mean=overall) if spread else None
    for line, at_worth in zip(lines, worth, strict=True):
        line["expect_again"] = shrunken(*at_worth, prior) if prior and line["n"] else None
    return lines


def row_correlation(hits: np.ndarray, sizes: np.ndarray) -> float:
    """Correlation of two rows of one task, from the design effect of all rows; 0 to 1.

    References
    ----------
    deff = 1 + (m - 1) rho with m = sum(sizes^2) / sum(sizes): Kish (1965), chapter 5.
    """
    found = cluster_wilson(hits, sizes)
    n = int(np.sum(sizes))
    rows_a_task = float(np.asarray(sizes) @ np.asarray(sizes)) / n if n else 0.0
    if found is None or rows_a_task <= 1 or int(np.sum(hits)) in (0, n):
        return 0.0
    return min((found.deff - 1) / (rows_a_task - 1), 1.0)


def find_slices(
    cell: np.ndarray,
    task: np.ndarray,
    fields: Mapping[str, tuple[Sequence[str], np.ndarray]],
    named: str | None = None,
) -> FoundSlices:
    """Search every slice of every field for the worst, and correct for the search.

    Parameters
    ----------
    cell : (n,) int array
        Of each row: 0 right pass, 1 false pass, 2 false alarm, 3 right fail.
    task : (n,) int array
        Its task.
    fields : mapping
        Field -> (values, (n,) position of each row's value among them).
    named : str, optional
        A field that was named in advance: it is not searched.

    Returns
    -------
    FoundSlices
    """
    n_tasks = int(task.max()) + 1 if len(task) else 0
    whole = task_cells(task, cell, len(CELLS), n_tasks)
    looked_at = {name: each for name, each in fields.items() if name != named}
    slices, counts, of, left_out = _distinct(cell, task, looked_at, whole)
    gone = {each["field"] for each in left_out}
    overall: dict[str, float | None] = {}
    for measure, rest in (("false_pass", 3), ("error", 0)):
        hits, sizes = whole[:, 1], whole[:, 1] + whole[:, rest]
        n = int(sizes.sum())
        overall[measure] = int(hits.sum()) / n if n else None
        found = found_shares(
            [(each[:, 1], each[:, 1] + each[:, rest]) for each in counts],
            overall[measure] or 0.0,
            row_correlation(hits, sizes),
            field=of,
        )
        for line, share in zip(slices, found, strict=True):
            line[measure] = share
    for line, each in zip(slices, counts, strict=True):
        line |= {"n": int(each.sum()), "n_tasks": len(each), "false_passes": int(each[:, 1].sum())}
    k = len(slices)
    slices.sort(
        key=lambda line: (
            -max(line[measure]["excess"] for measure in MEASURES),
            line["field"],
            line["value"],
        )
    )
    del slices[MOST_LINES:]
    slices.sort(key=lambda line: (-line["false_pass"]["excess"], line["field"], line["value"]))
    return FoundSlices(
        warnings=[],
        n=len(cell),
        n_tasks=int(whole.any(axis=1).sum()),
        k=k,
        fields=[name for name in looked_at if name not in gone],
        left_out=left_out,
        named=named,
        overall=overall,
        n_lines=len(slices),
        slices=slices,
        worst={measure: _worst(slices, measure) for measure in MEASURES},
    )


def _distinct(
    cell: np.ndarray,
    task: np.ndarray,
    fields: Mapping[str, tuple[Sequence[str], np.ndarray]],
    whole: np.ndarray,
) -> tuple[list[dict[str, Any]], list[np.ndarray], list[int], list[dict[str, str]]]:
    """Every set of rows that a value of a field names, once.

    Returns the slices, their counts by task, the number of each one's field, and the fields that
    are left out.
    """
    slices: list[dict[str, Any]] = []
    counts: list[np.ndarray] = []
    of: list[int] = []
    left_out: list[dict[str, str]] = []
    known: dict[int, dict[str, Any]] = {}
    # A sum of random numbers says which rows a slice has, whatever it is called.
    mark = np.random.default_rng(SEED).integers(0, 2**64, len(cell), dtype=np.uint64)
    by_task = np.argsort(task, kind="stable")
    task, cell, mark = task[by_task], cell[by_task], mark[by_task]
    for number, (name, (values, given)) in enumerate(fields.items()):
        value_of = given[by_task]
        parts = _by_value(value_of, task, cell, len(values))
        there = [place for place, found in enumerate(parts) if len(found)]
        why = _left_out([parts[place].sum(axis=0) for place in there], whole.sum(axis=0))
        if why:
            left_out.append({"field": name, "why": why})
            continue
        marks = np.zeros(len(values), dtype=np.uint64)
        np.add.at(marks, value_of, mark)
        for place in there:
            twin = known.get(int(marks[place]))
            if twin is not None:
                twin["same_as"].append([name, values[place]])
                continue
            known[int(marks[place])] = {"field": name, "value": values[place], "same_as": []}
            slices.append(known[int(marks[place])])
            counts.append(parts[place])
            of.append(number)
    return slices, counts, of, left_out


def _by_value(
    value_of: np.ndarray, task: np.ndarray, cell: np.ndarray, n_values: int
) -> list[np.ndarray]:
    """Counts of the cells by task, of the tasks that a value has, for each value.

    Rows lie in the order of their tasks.
    """
    # A stable sort of small numbers is one pass, and leaves a value's tasks together.
    small = np.uint16 if n_values <= 2**16 else np.intp
    order = np.argsort(value_of.astype(small), kind="stable")
    sorted_values, sorted_tasks = value_of[order], task[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(sorted_values) != 0) | (np.diff(sorted_tasks) != 0)
    counts = task_cells(np.cumsum(new) - 1, cell[order], len(CELLS), int(new.sum()))
    ends = np.searchsorted(sorted_values[new], np.arange(n_values + 1))
    return [counts[start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]


def _left_out(by_value: Sequence[np.ndarray], totals: np.ndarray) -> str:
    """Why a field is no part of the search; ``""`` when it is."""
    if len(by_value) < 2:
        return "one value among the labelled rows"
    if len(by_value) > FEW_VALUES:
        return ""
    tp, fp, fn, tn = totals
    judged = [(c[0] + c[1], c[2] + c[3]) for c in by_value]
    gold = [(c[0] + c[2], c[1] + c[3]) for c in by_value]
    if tp + fp and fn + tn and not any(a and b for a, b in judged):
        return "repeats the judge’s verdict"
    if tp + fn and fp + tn and not any(a and b for a, b in gold):
        return "repeats the label"
    return ""


def _worst(slices: Sequence[Mapping[str, Any]], measure: str) -> int | None:
    best = max(range(len(slices)), key=lambda place: slices[place][measure]["excess"], default=None)
    return None if best is None or slices[best][measure]["excess"] <= 0 else best


def _worth(x: int, n: int, squares: int, correlation: float) -> tuple[float, float]:
    """Hits and rows at what rows of a task are worth that resemble each other."""
    deff = 1 + (squares / n - 1) * correlation
    return x / deff, n / deff


def _bounds(found: Mapping[str, Any]) -> str:
    return interval_percent(quoted_worst(found), found["n"])


def _nothing(report: Mapping[str, Any]) -> str:
    if not report["n"]:
        return "no row has both a verdict and a label"
    return "no field of 2 to 50 values divides the labelled rows"
