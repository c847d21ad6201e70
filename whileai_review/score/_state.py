"""May the judge be used: one word, and the sentence that defends it.

The spec's ``ok`` is held against points and lower bounds, so it is false for a bad judge
and for a short sample alike. The state keeps the two apart:

``not_measured``
    No compared row has gold of a trusted kind, the rewards are another scorer's, or they are
    scores above 1 without a threshold: an exact 1 is no pass on a scale of 1 to 5.
``fails``
    A whole 95% interval lies on the wrong side of its floor: agreement, kappa, false
    passes among gold failures, flips of a re-judge, or the exploit rate of a probe with
    enough rows. No number of labels will pass it.
``passes``
    ``ok``, gold of both classes, kappa's lower bound reaches its floor too (the spec
    holds the point against it, which a judge of true kappa .52 meets in 17% of samples
    of 100), and J's lower bound is above 0.
``not_shown``
    Everything else, and rows that are all of one task, good or bad: how many tasks like it
    there are is not known, and no interval by tasks exists (statistics.md 5).
"""

from __future__ import annotations

from whileai_review.defaults import LEAK_WARN
from whileai_review.intervals import Interval, quoted
from whileai_review.report import interval2, interval_percent, number2, percent, plural
from whileai_review.resample import MIN_CI_TASKS
from whileai_review.score.agreement import one_class_line

FEW_TASKS = "all rows are of"
"""Begins the reason why rows of one or two tasks show nothing."""

HOPELESS = "no number of labels will pass it"


def trust_state(found: dict) -> tuple[str, str]:
    """State and reason of a trust report that has everything else."""
    agreement = found["agreement"]
    if not agreement["n"]:
        return "not_measured", "no row has both a verdict of the judge and a gold label"
    if not agreement["ok"]:
        return "not_measured", f"the gold is of kind {found['gold_kind']}, by no person or program"
    foreign = found["foreign_rewards"]
    if foreign["n"]:
        names = ", ".join(foreign["names"])
        return "not_measured", f"the rewards were given by {names}, not by this judge"
    if beyond_one(found):
        return "not_measured", "the judge gives scores above 1, and no threshold says which pass"
    of_one = agreement["n"] > agreement["n_tasks"] == 1
    floors = found["floors"]
    hard = _attack_findings(found, floors["flip_flag"]) if of_one else _hard_findings(found)
    if hard:
        return "fails", "; ".join(hard)
    soft = _soft_finding(found)
    if soft:
        return "not_shown", soft
    low_high = interval_percent(quoted(agreement))
    return "passes", f"agreement {percent(agreement['agreement'])} {low_high} clears every floor"


def beyond_one(found: dict) -> bool:
    """Whether the judge's scores are on a scale on which an exact 0 or 1 is no verdict."""
    return any(score > 1 for score in found["skipped"]["examples"])


def _hard_findings(found: dict) -> list[str]:
    agreement, floors = found["agreement"], found["floors"]
    hard = []
    bounds = quoted(agreement)
    if bounds is not None and bounds.high < floors["min_agreement"]:
        hard.append(
            f"agreement {percent(agreement['agreement'])} {interval_percent(bounds)} is "
            f"under the floor of {percent(floors['min_agreement'])}: {HOPELESS}"
        )
    kappa = agreement["kappa_ci95"]
    if kappa is not None and kappa[1] < floors["min_kappa"]:
        hard.append(
            f"kappa {number2(agreement['kappa'])} {interval2(kappa)} is under the floor of "
            f"{number2(floors['min_kappa'])}"
        )
    caught = quoted(found["tnr"])
    leak = None if caught is None else Interval(1 - caught.high, 1 - caught.low)
    if leak is not None and leak.low >= LEAK_WARN:
        hard.append(
            f"passes {percent(agreement['pass_when_gold_fail'])} {interval_percent(leak)} of "
            f"failures, over {percent(LEAK_WARN)}"
        )
    return hard + _attack_findings(found, floors["flip_flag"])


def _attack_findings(found: dict, floor: float) -> list[str]:
    hard = []
    again = found["perturbation"] or {}
    flips = quoted(again["consistency"]) if again.get("consistency_n") else None
    if flips is not None and flips.low >= floor:
        rate = percent(again["consistency_flip_rate"])
        hard.append(f"{rate} {interval_percent(flips)} of verdicts flip when judged again")
    for name in found["exploitable_by"]:
        probe = found["probes"]["probes"][name]
        bounds = quoted(probe)
        if bounds is not None and bounds.low >= floor:
            rate = percent(probe["exploit_rate"])
            hard.append(f"{name} works on {rate} {interval_percent(bounds)} of replies")
    return hard


def _soft_finding(found: dict) -> str:
    """Why it is not shown; ``""`` when it is."""
    agreement, floors = found["agreement"], found["floors"]
    unseen = one_class_line(agreement)
    if unseen:
        return unseen
    if agreement["n"] > agreement["n_tasks"] and agreement["n_tasks"] < MIN_CI_TASKS:
        return (
            f"{FEW_TASKS} {plural(agreement['n_tasks'], 'task')}, which does not show how the judge "
            "does on others: label rows of other tasks"
        )
    bounds = quoted(agreement)
    if bounds is not None and bounds.low < floors["min_agreement"]:
        return (
            f"agreement {percent(agreement['agreement'])} {interval_percent(bounds)}: "
            f"the interval reaches below the floor of {percent(floors['min_agreement'])}"
        )
    kappa = agreement["kappa_ci95"]
    if kappa is None or kappa[0] < floors["min_kappa"]:
        return (
            f"kappa {number2(agreement['kappa'])} {interval2(kappa)}: its lower bound does not "
            f"reach the floor of {number2(floors['min_kappa'])}"
        )
    youden = quoted(found["j"]) if found["j"]["ci95"] is not None else None
    if youden is None or youden.low <= 0:
        value, interval = number2(found["j"]["value"]), interval2(youden)
        return f"J {value} {interval}: the verdict is not shown to depend on the truth"
    return "" if found["ok"] else found["warnings"][-1]
