"""The table of a judge's checks: value, interval, floor, n and what follows, as text.

A shape says on which side of its floor a whole interval lies: ▲ it holds, ▼ it does not,
○ not shown. A number without a floor has no shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from whileai_review.charts.slices import direction
from whileai_review.defaults import GOOD_TNR, GOOD_TPR, LEAK_WARN
from whileai_review.intervals import quoted, quoted_p, wider
from whileai_review.report import (
    NONE,
    SMALL_N,
    count,
    interval2,
    interval_percent,
    interval_points,
    number2,
    p_value,
    percent,
    points,
)
from whileai_review.score.gold import audit_words
from whileai_review.score.people import people_words

SHAPE = {"up": "▲", "down": "▼", "unclear": "○"}
ALPHA = 0.05
"""Level of the paired test against the constant judge."""


class Check(NamedTuple):
    """One line of the table."""

    name: str
    value: str
    interval: str
    floor: str
    n: str
    way: str
    """``up``, ``down``, ``unclear``, or empty where there is no floor."""
    state: str
    help: str
    note: str = ""
    """A line under the table."""
    tasks: str = ""
    cell: str = ""
    """Rows that keep it from being better, as the Queue names them; empty where none do."""


def trust_checks(report: Mapping[str, Any]) -> list[Check]:
    """Return the lines for a trust report, in the order in which they are read."""
    agreement = report["agreement"]
    lines = [
        (_agreement(report), agreement, "disagree"),
        (_kappa(report), agreement, "disagree"),
        (_tnr(report), report["tnr"], "fp"),
        (_tpr(report), report["tpr"], "fn"),
        (_youden(report), report["j"], "disagree"),
        (_error(report), report["reward_in_error"], "fp"),
        (_baseline(report), report["baseline"], ""),
        (_length(report), {}, ""),
    ]
    return [
        check._replace(tasks=count(about["n_tasks"]) if about.get("n") else "", cell=cell)
        for check, about, cell in lines
    ]


def _agreement(report: Mapping[str, Any]) -> Check:
    agreement, floor = report["agreement"], report["floors"]["min_agreement"]
    way = direction(quoted(agreement), floor, True)
    return Check(
        "Agreement",
        _percent(agreement, agreement["agreement"]),
        interval_percent(quoted(agreement), agreement["n"]),
        f"≥ {percent(floor)}",
        count(agreement["n"]),
        *_state(way, agreement["n"]),
        "Share of labelled rows on which judge and gold give the same verdict. Floor: people "
        "agreed with people on 80% of MT-Bench (Zheng et al. 2023). A judge that always says "
        "“pass” reaches it where 80% pass, so read it beside the lines below.",
    )


def _kappa(report: Mapping[str, Any]) -> Check:
    agreement, floor = report["agreement"], report["floors"]["min_kappa"]
    way = direction(agreement["kappa_ci95"], floor, True)
    return Check(
        "Kappa",
        number2(agreement["kappa"]),
        interval2(agreement["kappa_ci95"]),
        f"≥ {number2(floor)}",
        count(agreement["n"]),
        *_state(way, agreement["n"]),
        "Agreement beyond what two graders with these pass rates reach by chance: 0 is chance, "
        "1 is perfect (Cohen 1960). Floor .60: “substantial” (Landis & Koch 1977). It falls "
        "when nearly all rows pass, even for a good judge.",
        note=_good_kappa(report),
    )


def check_notes(report: Mapping[str, Any], checks: Sequence[Check]) -> list[str]:
    """The lines under the table; what people agree with each other follows the judge's kappa."""
    notes = []
    for check in checks:
        if check.note:
            notes.append(f"{check.name}: {check.note}")
        if check.name == "Kappa":
            words = people_words(report.get("people"), report["floors"]["min_agreement"])
            notes += [f"{words[:1].upper()}{words[1:]}"] if words else []
    return [*notes, *gold_notes(report)]


def gold_notes(report: Mapping[str, Any]) -> list[str]:
    """What stands beside every number that rests on program gold: its audit."""
    words = audit_words(report.get("gold_audit"))
    return [f"{words[0].upper()}{words[1:]}."] if words else []


def _good_kappa(report: Mapping[str, Any]) -> str:
    good = report["kappa_of_a_good_judge"]
    if good is None:
        return ""
    tpr, tnr = percent(GOOD_TPR), percent(GOOD_TNR)
    return f"a judge with TPR {tpr} and TNR {tnr} would get {number2(good)} at this base rate"


def _tnr(report: Mapping[str, Any]) -> Check:
    return _rate(
        report["tnr"],
        "Catches failures (TNR)",
        1 - LEAK_WARN,
        "Share of gold failures that the judge fails too; the rest are false passes, which a "
        "policy trained on this judge learns to produce. Under 90% a report warns.",
    )


def _tpr(report: Mapping[str, Any]) -> Check:
    return _rate(
        report["tpr"],
        "Passes passes (TPR)",
        None,
        "Share of gold passes that the judge passes too; the rest are false alarms. A judge "
        "that passes everything has 100%, so it has no floor of its own.",
    )


def _youden(report: Mapping[str, Any]) -> Check:
    j = report["j"]
    interval = quoted(j)
    way = direction(interval, 0, True) if interval is not None else "unclear"
    if interval is not None and way == "up" and interval.low <= 0:
        way = "unclear"
    return Check(
        "J = TPR + TNR − 1",
        number2(j["value"]),
        interval2(interval),
        "> 0",
        count(j["n"]),
        *_state(way, j["n"] if interval is not None else 0),
        "Youden’s J: 0 for a judge whose verdict does not depend on the truth (a coin, or one "
        "that always passes), 1 for a perfect one. It does not move with the share that passes.",
    )


def _error(report: Mapping[str, Any]) -> Check:
    return _rate(
        report["reward_in_error"],
        "Reward given in error",
        None,
        "Of the replies that the judge passed, the share that gold fails: what part of the "
        "reward pays for failing.",
    )


def _baseline(report: Mapping[str, Any]) -> Check:
    baseline = report["baseline"]
    verdict = baseline["verdict"] or "pass"
    p, difference = quoted_p(baseline), baseline["difference"]
    way, words = "unclear", "no different"
    if p is not None and p < ALPHA and difference:
        way, words = ("up", "judge is better") if difference < 0 else ("down", "judge is worse")
    note = ""
    bounds = wider(baseline["difference_ci95"], baseline["difference_ci95_tasks"])
    if difference is not None:
        note = (
            f"{points(difference)} points {interval_points(bounds)} against the judge, {p_value(p)}"
        )
    return Check(
        f"Always “{verdict}”",
        _percent(baseline, baseline["agreement"]),
        interval_percent(quoted(baseline), baseline["n"]),
        "",
        count(baseline["n"]),
        way if baseline["n"] else "",
        words if baseline["n"] else "",
        "What a judge would agree that always gives the more frequent verdict, on the same "
        "rows. The difference is the constant’s agreement minus the judge’s; the p-value is the "
        "larger of an exact McNemar test on the rows on which only one of the two is right, and of "
        "the same by task.",
        note,
    )


def _length(report: Mapping[str, Any]) -> Check:
    length, floor = report["length_sensitivity"], report["floors"]["length_gap_flag"]
    parts = [length[key] for key in ("gold_1", "gold_0") if "p_value" in length[key]]
    checked = bool(parts)
    way = ("down" if length["flagged"] else "unclear") if checked else ""
    return Check(
        "Length gap",
        percent(length["max_gap"]) if checked else NONE,
        _gap_interval(parts, length["max_gap"]),
        f"< {percent(floor)}",
        count(sum(part["n"] for part in parts)) if checked and "n" in parts[0] else "",
        way,
        ("flag" if length["flagged"] else "no flag") if checked else "not checked",
        "Difference of the judge’s pass rate between the longer and the shorter half of replies "
        "with the same gold label; the larger of the two classes. A judge that reads length "
        "pays for length.",
    )


def _gap_interval(parts: Sequence[Mapping[str, Any]], gap: float) -> str:
    """The interval of the largest gap, which is shown without its sign."""
    for part in parts:
        bounds, signed = part["gap_ci95"], part["gap_long_minus_short"]
        if bounds is not None and abs(signed) == gap:
            low, high = bounds if signed >= 0 else (-bounds[1], -bounds[0])
            return interval_percent((low, high))
    return ""


def _rate(rate: Mapping[str, Any], name: str, floor: float | None, text: str) -> Check:
    way = direction(quoted(rate), floor, True) if floor is not None else ""
    state = _state(way, rate["n"]) if way else ("", "")
    return Check(
        name,
        _percent(rate, rate["value"]),
        interval_percent(quoted(rate), rate["n"]),
        f"≥ {percent(floor)}" if floor is not None else "",
        count(rate["n"]),
        *state,
        text,
    )


def _percent(share: Mapping[str, Any], value: float | None) -> str:
    """A share of its rows; a weighted one is not its hits over its rows, however few."""
    return percent(value, max(share["n"], SMALL_N) if share.get("weighted") else share["n"])


def _state(way: str, n: int) -> tuple[str, str]:
    if not n:
        return "", "not measured"
    return way, {"up": "holds", "down": "fails", "unclear": "not shown"}[way]
