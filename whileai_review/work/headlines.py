"""The first sentence of a page: state, one comparison, intervals, n, in words.

The words are here and not on the page so that command line and page say the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whileai_review.defaults import POWER
from whileai_review.intervals import quoted, quoted_p
from whileai_review.report import (
    SMALL_N,
    count,
    interval2,
    interval_percent,
    number2,
    percent,
    plural,
)
from whileai_review.score._state import FEW_TASKS, beyond_one
from whileai_review.score.gold import audit_words

WORDS = {
    "passes": "PASSES",
    "fails": "FAILS",
    "not_shown": "NOT SHOWN",
    "not_measured": "NOT MEASURED",
    "interim": "INTERIM",
}

ANOTHER_CHECK = "a check below is not passed"
"""Why a judge is not shown when it is neither agreement nor kappa."""

BASELINE_P = 0.05
"""Under this p the judge and the constant answer differ."""


def trust_headline(report: dict[str, Any]) -> dict[str, str]:
    """``state``, ``word``, ``bold`` (at most 110 characters) and ``grey`` of a trust report."""
    state = report["state"]
    agreement = report["agreement"]
    if state == "not_measured":
        bold, grey = _not_measured(report)
    elif not agreement["n_gold_fail"] or not agreement["n_gold_pass"]:
        bold, grey = _one_class(report), _grey(report)
    elif state == "passes":
        bold = (
            f"Agrees {_share(agreement['agreement'], quoted(agreement), agreement['n'])}, kappa "
            f"{number2(agreement['kappa'])} {interval2(agreement['kappa_ci95'])}; "
            f"misses {_missed_words(report)}."
        )
        grey = _grey(report)
    elif state == "fails":
        bold = f"Misses {_missed_words(report)}; {_against_constant(report)}"
        grey = _grey(report)
    else:
        bold = (
            f"Agrees {_share(agreement['agreement'], quoted(agreement), agreement['n'])}, "
            f"n={count(agreement['n'])}: {_why_not_shown(report)}."
        )
        grey = _grey(report)
    return {"state": state, "word": WORDS[state], "bold": bold, "grey": grey}


def has_figures(report: Mapping[str, Any]) -> bool:
    """Whether rows were compared, and what was read as a verdict is one."""
    return bool(report["agreement"]["n"]) and not beyond_one(dict(report))


def interim_words(plan: dict[str, Any]) -> str:
    """How far a planned queue is: "82 of 150 planned labels"."""
    return f"{count(plan['labelled'])} of {count(plan['planned'])} planned labels"


def interim_headline(report: dict[str, Any]) -> dict[str, str]:
    """The first sentence before the last planned label: how far it is, and no verdict."""
    agreement = report["agreement"]
    grey = ""
    if agreement["n"]:
        share = _share(agreement["agreement"], quoted(agreement), agreement["n"])
        grey = f"So far agrees {share}, n={count(agreement['n'])} rows, "
        about = [w for w in (_weighting(report)["words"], _weighting(report)["scope"]) if w]
        grey += f"{', '.join([plural(agreement['n_tasks'], 'task'), *about])}."
    bold = f"{interim_words(report['interim'])}: no verdict yet."
    return {"state": "interim", "word": WORDS["interim"], "bold": bold, "grey": grey}


def claim_words(found: dict[str, Any]) -> str:
    """How many of the false passes name an action and never take it; empty when none does."""
    named = found.get("announced")
    if not named or not named["k"]:
        return ""
    of = f"{count(named['k'])} of {count(found['n'])}"
    some = " of those looked at" if found["n_cell"] > found["n"] else ""
    # Beside the counts a bare interval would read as counts too.
    share = f" ({_share(named['value'], named['ci95'], found['n'])})" if found["n"] > 1 else ""
    return f"{of} false passes{some} name the tool and never call it{share}."


def review_words(found: dict[str, Any]) -> str:
    """What the answers to a review queue say: who was wrong, in counts, with n."""
    parts = [
        f"{count(found['judge_wrong'])} the judge was wrong",
        f"{count(found['gold_wrong'])} the gold was wrong",
        f"{count(found['unclear'])} unclear",
        f"{count(found['both_right'])} both right",
        f"{count(found['both_wrong'])} both wrong",
    ]
    return (
        f"{count(found['n_answered'])} of {plural(found['n'], 'row')} answered: "
        + ", ".join(parts)
        + "."
    )


def reread_words(found: dict[str, Any] | None) -> str:
    """What a second reading makes of the agreement; empty where there was none.

    ``after a second, blind reading of all 82 disagreements and 28 of 139 agreements the agreement
    is 60% [52, 67]``, or why there is no estimate.
    """
    if not found:
        return ""
    if "reason" in found:
        return f"second reading: {found['reason']}"
    agreement, apart, alike = found["agreement"], found["disagreeing"], found["agreeing"]
    parts = [
        f"all {count(part['n'])} {name}"
        if part["read"] == part["n"]
        else f"{count(part['read'])} of {count(part['n'])} {name}"
        for part, name in ((apart, "disagreements"), (alike, "agreements"))
        if part["n"]
    ]
    words = f"after a second, blind reading of {' and '.join(parts)} the agreement is "
    words += _share(agreement["value"], quoted(agreement), found["n_first"])
    words += f", n={plural(found['n_first'], 'row')}"
    if found["n_unclear"]:
        words += f" ({plural(found['n_unclear'], 'row')} nobody could tell left out)"
    return words


def gold_words(report: dict[str, Any]) -> str:
    """Where the gold is from and which rows have it: "program gold, all labelled rows"."""
    kind = {"human": "labels by people", "program": "program gold", "model": "model gold"}.get(
        report.get("gold_kind") or "", "gold"
    )
    coverage, weighting = report.get("coverage") or {}, _weighting(report)
    if weighting["scope"]:
        return f"{kind}, {weighting['words'] or 'drawn at random'}: {weighting['scope']}"
    if weighting["words"]:
        return f"{kind}, {weighting['words']}"
    if coverage.get("imported") and not coverage.get("random"):
        how = "all labelled rows"
    elif report.get("gold_kind") == "program":
        how = "all rows that the rule labels"
    else:
        how = "rows drawn at random"
    return f"{kind}, {how}"


def _grey(report: dict[str, Any]) -> str:
    agreement, wrong, j = report["agreement"], report["reward_in_error"], report["j"]
    parts = []
    if wrong["n"] and agreement["n_gold_fail"]:  # without a gold failure no pass can be wrong
        share = f"{percent(wrong['value'], max(wrong['n'], SMALL_N))} of its passes are wrong"
        parts.append(f"{share} {interval_percent(quoted(wrong), wrong['n'])}")
    if j["value"] is not None:
        parts.append(f"J {number2(j['value'])} {interval2(quoted(j))}")
    parts.append(
        f"n={count(agreement['n'])} rows, {plural(report['n_tasks'], 'task')}, {gold_words(report)}"
    )
    parts.append(audit_words(report.get("gold_audit")))
    parts.append(_left_out(report))
    parts.append(plan_words(report["plan"]) if report["state"] == "not_shown" else "")
    if report["state"] == "fails" and "no number of labels" in report["state_reason"]:
        parts.append("no number of labels will pass it")
    return " · ".join(p for p in parts if p)


def weighting_lines(report: Mapping[str, Any]) -> list[str]:
    """Why the shares of a report are weighted, and what part of the run they are about."""
    said, lines = _weighting(report), []
    if said["words"]:
        worth = count(round(report["weighted"]["n_effective"]))
        lines.append(
            f"{said['words'][0].upper()}{said['words'][1:]}. Each labelled row counts as the rows "
            f"of the run that it stands for; the labels are worth {worth} drawn with equal "
            "chances. n and counts are those of the labelled rows."
        )
    if said["scope"]:
        lines.append(f"About {said['scope']}: no other row had a chance to be drawn.")
    return lines


def plan_words(plan: dict[str, Any]) -> str:
    """How many labels are missing: "48 more labels if the rate holds, 142 for an 80% chance"."""
    here = plan.get("here")
    if here is not None and plan["if_it_holds"]:  # what this run's own rows can still give
        if here["if_it_holds"] is None:
            return "all rows of this run are not enough to show it"
        plan = here
    if not plan["if_it_holds"]:
        return ""
    words = f"{plural(plan['if_it_holds'], 'more label', 'more labels')} if the rate holds"
    if plan["for_power"]:
        words += f", {count(plan['for_power'])} for an {percent(POWER)} chance"
    return words


def _weighting(report: Mapping[str, Any]) -> dict[str, Any]:
    return report.get("weighting") or {"words": "", "scope": "", "n_shown": 0}


def _left_out(report: dict[str, Any]) -> str:
    coverage = report.get("coverage") or {}
    without = report["n_rows"] - report["agreement"]["n"]
    texts = []
    if without:
        texts.append(f"{count(without)} of {plural(report['n_rows'], 'row')} outside these numbers")
    if coverage.get("unclear"):
        texts.append(f"{coverage['unclear']} can't tell")
    if coverage.get("picked"):
        texts.append(f"{coverage['picked']} picked or seen first, kept out")
    if coverage.get("shown"):
        texts.append(f"{coverage['shown']} of tasks that the judge was shown")
    return ", ".join(texts)


def _not_measured(report: dict[str, Any]) -> tuple[str, str]:
    if report.get("grader") is None:
        return (
            "This run has no judge's verdicts.",
            "Load a file with verdicts onto it, or map the column that holds them.",
        )
    if not report["agreement"]["n"]:
        return _nothing_compared(report)
    reason = report["state_reason"]
    if beyond_one(report):
        return reason[:1].upper() + reason[1:] + ".", "Declare from which score on a reply passes."
    return (
        reason[:1].upper() + reason[1:] + ".",
        "Label 30 rows as a person, or state a rule, to measure the judge.",
    )


def _nothing_compared(report: dict[str, Any]) -> tuple[str, str]:
    """Which half is missing, and on which criterion."""
    criterion, coverage = report.get("criterion") or "overall", report.get("coverage")
    on = "" if criterion == "overall" else f" on the criterion “{_short(criterion)}”"
    if report.get("judge_passes", (0, 1))[1] == 0:
        return (
            f"The judge has no verdict{on}.",
            "Load a file with verdicts onto it, or map the column that holds them.",
        )
    if coverage and coverage["random"] + coverage["imported"]:
        return (
            f"No row has both a verdict and a label{on}.",
            "Label rows that the judge has judged.",
        )
    if coverage and coverage["picked"]:
        return (
            f"Every label{on} is on a row that was picked, or answered after the judge was seen.",
            "These enter no estimate: label 30 rows that are drawn.",
        )
    return (
        f"No label{on} by a person or a program.",
        "Label 30 rows to know whether it is hopeless.",
    )


def _short(name: str) -> str:
    return name if len(name) <= 30 else f"{name[:29]}…"


def _one_class(report: dict[str, Any]) -> str:
    agreement = report["agreement"]
    if not agreement["n_gold_fail"]:
        return (
            f"False passes not measurable: 0 gold failures among {plural(agreement['n'], 'row')}."
        )
    return f"False alarms not measurable: 0 gold passes among {plural(agreement['n'], 'row')}."


def _against_constant(report: dict[str, Any]) -> str:
    baseline, agreement = report["baseline"], report["agreement"]
    n = max(agreement["n"], SMALL_N)
    both = f"({percent(agreement['agreement'], n)} against {percent(baseline['agreement'], n)})"
    always = f"always answering “{baseline['verdict']}”"
    p = quoted_p(baseline)
    if p is not None and p < BASELINE_P and baseline["difference"] < 0:
        return f"agrees more than {always} would {both}."
    if p is not None and p < BASELINE_P:
        return f"agrees less than {always} would {both}."
    if (baseline["difference"] or 0) < 0:
        return f"not shown to beat {always} {both}."
    return f"agrees no better than {always} {both}."


def _why_not_shown(report: dict[str, Any]) -> str:
    reason = report["state_reason"]
    floors, agreement = report["floors"], report["agreement"]
    bounds = quoted(agreement)
    if reason.startswith(FEW_TASKS):
        return reason
    if bounds is not None and bounds.low < floors["min_agreement"]:
        return f"the interval reaches below the floor of {percent(floors['min_agreement'])}"
    if reason.startswith("kappa"):
        kappa = f"{number2(agreement['kappa'])} {interval2(agreement['kappa_ci95'])}"
        return f"kappa {kappa} may lie under {number2(floors['min_kappa'])}"
    return ANOTHER_CHECK


def _missed_words(report: dict[str, Any]) -> str:
    """Say ``79% of failures [69, 87]``; of under ten failures the counts stand first."""
    missed, n = report["agreement"]["pass_when_gold_fail"], report["agreement"]["n_gold_fail"]
    interval = interval_percent(_missed(report), n)
    if n >= SMALL_N or report["agreement"].get("weighted"):  # weighted: no longer hits over rows
        return f"{percent(missed, max(n, SMALL_N))} of failures {interval}"
    return f"{count(round(missed * n))} of {plural(n, 'failure')}, {percent(missed)} {interval}"


def _missed(report: dict[str, Any]) -> tuple[float, float] | None:
    interval = quoted(report["tnr"])
    return None if interval is None else (1 - interval[1], 1 - interval[0])


def _share(value: float | None, interval: Any, n: int) -> str:
    return f"{percent(value, max(n, SMALL_N))} {interval_percent(interval, n)}"
