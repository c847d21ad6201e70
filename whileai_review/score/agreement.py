"""Does the judge agree with labels you trust?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whileai_review.defaults import GOOD_TNR, GOOD_TPR, LEAK_WARN, MIN_LABELS
from whileai_review.intervals import cluster_wilson, quoted, wilson
from whileai_review.report import Report, number2, percent, plural
from whileai_review.resample import (
    MIN_CI_TASKS,
    bootstrap_totals,
    percentile_interval,
)
from whileai_review.rows._bulk import BOTH_TRUSTED
from whileai_review.score._columns import TRUSTED, UNMATCHED, TrustColumns


class AgreementReport(Report):
    """How a judge's verdicts compare with gold.

    Keys
    ----
    n, n_skipped, n_unmatched : int
        Rows compared; without 0/1 on a side; without a twin in the second pass.
    n_tasks : int
        Tasks among the compared rows.
    agreement, judge_pass_rate, gold_pass_rate : float or None
        Shares of `n`.
    ci95 : tuple or None
        Wilson interval of the agreement.
    ci95_tasks, deff : tuple or None, float
        Its interval when rollouts of a task resemble each other, and by how much a row is
        worth less for it (:func:`whileai_review.intervals.cluster_wilson`). Quote the wider.
    kappa : float or None
        Cohen's. With one class on both sides 1.0 if everything agrees, else 0.0.
    kappa_ci95 : tuple or None
        Percentile task bootstrap. None with gold of one class and under three tasks.
        Where every row agrees there is nothing to resample: the low bound is then kappa
        at the Wilson low bound of the agreement, with each task counted once.
    confusion : dict
        ``tp fp fn tn``: first letter true = agree, positive = the judge passed.
    n_gold_pass, n_gold_fail : int
        Compared rows by their gold.
    pass_when_gold_fail, fail_when_gold_pass : float or None
        False passes among gold failures (the leak rate), false alarms among gold passes.
    false_pass, false_alarm : dict
        The same two shares with their intervals, as `task_share`; quote the wider.
    gold_kind : str or None
        The kind of all compared gold; of several the untrusted one, else ``"mixed"``.
    person_against_rule : dict
        ``n`` rows labelled by a person and by a rule, ``n_conflicts`` on which the two
        differ, ``n_without_gold`` of these that have no gold for it, ``rows``: their
        identities.
    ok : bool
        Rows were compared, and their gold is trusted (or allowed).
    warnings : list of str
    """

    def as_text(self) -> str:
        """The block a person reads."""
        return format_agreement(self)


def judge_agreement(
    rows: Sequence[dict],
    gold: str | Sequence[dict] = "gold_reward",
    reward: str = "reward",
    allow_model_gold: bool = False,
) -> AgreementReport:
    """Compare the judge's `reward` with a label you trust.

    Only exact 0/1 on both sides counts; everything else is counted as skipped.

    Parameters
    ----------
    rows : sequence of dict
        Rows; entries that are no dicts are passed over. Nothing is changed.
    gold : str or sequence of dict
        A key on the same rows, or the rows of a second pass, matched by identity:
        that is a consistency number and model gold.
    reward : str
        Key of the judge's verdict.
    allow_model_gold : bool
        Let gold of an untrusted kind count as a measurement.

    References
    ----------
    Cohen (1960), Educational and Psychological Measurement 20, 37-46.

    Examples
    --------
    >>> rows = [{"reward": 1, "gold_reward": i % 2, "gold_kind": "human"} for i in range(60)]
    >>> report = judge_agreement(rows)
    >>> report["agreement"], report["pass_when_gold_fail"]
    (0.5, 1.0)
    """
    own = [row for row in rows if isinstance(row, dict)]
    if isinstance(gold, str):
        columns = TrustColumns.from_rows(own, gold=gold, reward=reward)
        return agreement_from_columns(columns, allow_model_gold=allow_model_gold)
    columns = TrustColumns.from_rows(own, reward=reward).with_twins(own, gold, reward)
    return agreement_from_columns(columns, allow_model_gold=allow_model_gold)


def agreement_from_columns(
    columns: TrustColumns, within: np.ndarray | None = None, allow_model_gold: bool = False
) -> AgreementReport:
    """The array layer of :func:`judge_agreement`.

    Parameters
    ----------
    columns : TrustColumns
    within : (n_tasks,) bool array, optional
        Look at the rows of these tasks only.
    """
    used, per_task, total = columns.compared, columns.per_task, len(columns)
    if within is not None:
        rows = within[columns.task]
        used, per_task, total = used & rows, per_task[within], int(rows.sum())
    per_task = per_task[per_task.any(axis=1)]
    draws = columns.draws if within is None else bootstrap_totals(per_task)
    seen = np.bincount(columns.kind[used], minlength=len(columns.kinds))
    kinds = {kind for kind, n in zip(columns.kinds, seen, strict=True) if n}
    n_unmatched = 0
    if UNMATCHED in columns.kinds:
        n_unmatched = int((columns.kind == list(columns.kinds).index(UNMATCHED)).sum())
    trusted = allow_model_gold or kinds <= TRUSTED
    report = AgreementReport(
        n=int(used.sum()),
        n_skipped=total - n_unmatched - int(used.sum()),
        n_unmatched=n_unmatched,
        **_measures(per_task, draws),
        gold_kind=_one_kind(kinds),
        person_against_rule={
            "n": columns.person_and_rule if within is None else 0,
            "n_conflicts": len(columns.conflicts) if within is None else 0,
            "n_without_gold": columns.conflicts_without_gold if within is None else 0,
            "rows": list(columns.conflicts) if within is None else [],
        },
        ok=bool(used.any()) and trusted,
        warnings=[],
    )
    halves = (bool((columns.judge >= 0).any()), bool((columns.gold >= 0).any()))
    report["warnings"] = _warnings(report, trusted, *halves)
    return report


def kappa_of(cells: np.ndarray) -> np.ndarray:
    """Cohen's kappa of ``(..., 4)`` counts tp fp fn tn; NaN where one class leaves no chance level.

    ``(p_o - p_e) / (1 - p_e)``, p_e from the product of the margins.
    """
    cells = np.asarray(cells, dtype=float)
    tp, fp, fn, tn = (cells[..., i] for i in range(4))
    n = tp + fp + fn + tn
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (tp + tn) / n
        chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / (n * n)
        return np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)


def kappa_at(base_rate: float | None, tpr: float = GOOD_TPR, tnr: float = GOOD_TNR) -> float | None:
    """Kappa of a judge with these rates where this share passes; None without a class.

    Kappa falls when nearly all rows are of one class, for a good judge as well: this is what
    a measured one is to be read beside.

    Examples
    --------
    >>> [round(kappa_at(share), 2) for share in (0.65, 0.90, 0.95, 0.97, 0.99)]
    [0.87, 0.75, 0.62, 0.5, 0.26]
    """
    if base_rate is None or not 0 < base_rate < 1:
        return None
    fails = 1 - base_rate
    cells = [tpr * base_rate, (1 - tnr) * fails, (1 - tpr) * base_rate, tnr * fails]
    return float(kappa_of(np.array(cells)))


def _measures(per_task: np.ndarray, draws: np.ndarray) -> dict[str, Any]:
    cells = per_task.sum(axis=0)
    tp, fp, fn, tn = (int(c) for c in cells)
    n = tp + fp + fn + tn
    kappa = float(kappa_of(cells)) if n else None
    if kappa is not None and np.isnan(kappa):
        kappa = 1.0 if tp + tn == n else 0.0
    by_task = task_share(per_task[:, 0] + per_task[:, 3], per_task.sum(axis=1))
    return {
        "n_tasks": len(per_task),
        "agreement": _share(tp + tn, n),
        "ci95": _plain(wilson(tp + tn, n)),
        "ci95_tasks": by_task["ci95_tasks"],
        "deff": by_task["deff"],
        "kappa": kappa,
        "kappa_ci95": task_kappa_interval(len(per_task), cells, draws),
        "confusion": {"tp": tp, "fp": fp, "fn": fn, "tn": tn},
        "n_gold_pass": tp + fn,
        "n_gold_fail": fp + tn,
        "pass_when_gold_fail": _share(fp, fp + tn),
        "fail_when_gold_pass": _share(fn, fn + tp),
        "false_pass": task_share(per_task[:, 1], per_task[:, 1] + per_task[:, 3]),
        "false_alarm": task_share(per_task[:, 2], per_task[:, 2] + per_task[:, 0]),
        "judge_pass_rate": _share(tp + fp, n),
        "gold_pass_rate": _share(tp + fn, n),
    }


def task_kappa_interval(n_tasks: int, cells: np.ndarray, draws: np.ndarray) -> tuple | None:
    """Kappa's interval from ``(n_boot, 4)`` draws of the cells over tasks; None without chance."""
    tp, fp, fn, tn = (int(c) for c in cells)
    if not tp + fn or not fp + tn or n_tasks < MIN_CI_TASKS:
        return None
    if tp + tn in (0, tp + fp + fn + tn):
        return _kappa_without_variation(n_tasks, cells)
    return _plain(percentile_interval(kappa_of(draws)))


def _kappa_without_variation(n_tasks: int, cells: np.ndarray) -> tuple:
    """Bounds of kappa when all rows agree, or none does: no draw differs from the others."""
    tp, fp, fn, tn = (float(c) for c in cells)
    n = tp + fp + fn + tn
    chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / (n * n)
    bounds = wilson(n_tasks if tp + tn else 0, n_tasks) or (0.0, 1.0)
    low, high = ((share - chance) / (1 - chance) for share in bounds)
    return (low, high)


def task_share(successes: np.ndarray, sizes: np.ndarray) -> dict[str, Any]:
    """A share and both its intervals: of rows, and of rows that come in tasks.

    Parameters
    ----------
    successes, sizes : (n_tasks,) int array

    Returns
    -------
    dict
        ``value ci95 n`` (Wilson) and ``ci95_tasks n_tasks deff`` (`cluster_wilson`; None and 1.0
        with fewer than two tasks).
    """
    k, n = int(successes.sum()), int(sizes.sum())
    found = cluster_wilson(successes, sizes)
    return {
        "value": k / n if n else None,
        "ci95": _plain(wilson(k, n)),
        "n": n,
        "ci95_tasks": None if found is None else (found.low, found.high),
        "n_tasks": int((sizes > 0).sum()),
        "deff": 1.0 if found is None else found.deff,
    }


def _share(k: int, n: int) -> float | None:
    return k / n if n else None


def _plain(interval: tuple | None) -> tuple | None:
    return None if interval is None else tuple(interval)


def _one_kind(kinds: set[str]) -> str | None:
    if len(kinds) <= 1:
        only = next(iter(kinds), None)
        return "mixed" if only == BOTH_TRUSTED else only
    untrusted = sorted(kinds - TRUSTED)
    return untrusted[0] if len(untrusted) == 1 else "mixed"


def _warnings(report: dict, trusted: bool, any_reward: bool, any_gold: bool) -> list[str]:
    found = []
    if not report["n"]:
        return [f"nothing was compared: {missing_half(any_reward, any_gold)}"]
    if report["n"] < MIN_LABELS:
        found.append(
            f"only {plural(report['n'], 'row')} compared: under {MIN_LABELS} the numbers swing "
            "widely; label more"
        )
    leak = leak_warning(report)
    if leak:
        found.append(leak)
    if not trusted:
        found.append(_untrusted(str(report["gold_kind"])))
    against = report["person_against_rule"]
    if against["n_conflicts"]:
        found.append(
            f"a person's label and the rule's differ on {against['n_conflicts']} of "
            f"{plural(against['n'], 'row')} that carry both; {against['n_without_gold']} of these "
            "have no gold for it: read them, one of the two is wrong"
        )
    return found


def missing_half(any_reward: bool, any_gold: bool) -> str:
    """Say which half of a comparison is missing, and the call that adds it."""
    judge = "no row carries a 0/1 reward: score the rows with run_judge(rows, judge)"
    label = "no row carries a 0/1 gold label: label a sample with attach_labels(rows, labels)"
    if any_reward and any_gold:
        return (
            "there are rewards and there are labels, but never on one row: label rows that were "
            "scored with attach_labels(rows, labels)"
        )
    return "; ".join([judge] * (not any_reward) + [label] * (not any_gold))


def leak_warning(report: dict) -> str:
    """The line about false passes, ``""`` when the judge lets few through."""
    rate = report["pass_when_gold_fail"]
    if rate is None or rate < LEAK_WARN:
        return ""
    counts = (
        f"{report['confusion']['fp']} of {report['n_gold_fail']} gold failures ({percent(rate)})"
    )
    if report.get("weighted"):
        counts = f"{percent(rate)} of gold failures"
    return f"judge passed {counts}: used as a reward, these replies are what it teaches"


def _untrusted(kind: str) -> str:
    if kind == "unknown":
        return (
            "the gold has no recorded origin, so it does not measure the judge; if the labels are "
            "your own, attach them with attach_labels(rows, labels, kind='human')"
        )
    return (
        f"the gold is of kind '{kind}', which does not measure the judge: have a person label "
        "rows and attach them with attach_labels(rows, labels, kind='human')"
    )


def one_class_line(report: dict) -> str:
    """What one-class gold cannot show; ``""`` when there are both classes, or none."""
    if not report["n"]:
        return ""
    if not report["n_gold_fail"]:
        return "false passes not measurable: 0 gold failures"
    if not report["n_gold_pass"]:
        return "false alarms not measurable: 0 gold passes"
    return ""


def agreement_line(report: dict) -> str:
    """``agreement 63% (95% 56%..69%, n=221), kappa 0.05``."""
    low, high = report["ci95"]
    line = (
        f"agreement {percent(report['agreement'])} (95% {percent(low)}..{percent(high)}, "
        f"n={report['n']}), kappa {number2(report['kappa'])}"
    )
    unseen = one_class_line(report)
    return f"{line}; {unseen}" if unseen else line


def confusion_line(report: dict) -> str:
    """``confusion tp=124 fp=58 fn=24 tn=15``."""
    return "confusion " + " ".join(f"{k}={v}" for k, v in report["confusion"].items())


def by_task_lines(report: dict) -> list[str]:
    """The agreement by task, and both kinds of error with the wider of their intervals."""
    lines = []
    if report["ci95_tasks"] is not None:
        low, high = report["ci95_tasks"]
        tasks = plural(report["n_tasks"], "task")
        lines.append(f"agreement by task {percent(low)}..{percent(high)} ({tasks})")
    errors = (("false_pass", "false passes"), ("false_alarm", "false alarms"))
    lines += [f"{name} {rate_words(report[key])}" for key, name in errors if report[key]["n"]]
    return lines


def rate_words(rate: dict) -> str:
    """``79% [69%..87%] (n=73, 50 tasks)``: a share of `task_share` with the wider interval."""
    low, high = quoted(rate) or (None, None)
    about = f"n={rate['n']}, {plural(rate['n_tasks'], 'task')}"
    return f"{percent(rate['value'])} [{percent(low)}..{percent(high)}] ({about})"


def format_agreement(report: dict) -> str:
    """The block a person reads: the agreement, the confusion, then one line a warning."""
    if report["n"]:
        lines = [agreement_line(report), f"  {confusion_line(report)}"]
        lines += [f"  {line}" for line in by_task_lines(report)]
    else:
        lines = ["agreement not measured (n=0)"]
    lines += [f"! {warning}" for warning in report["warnings"]]
    return "\n".join(lines)
