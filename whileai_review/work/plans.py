"""A plan of labels: its verdict, set once and dated, the looks before it, and what it still needs.

Before the last planned label there is no verdict. Who looks again and again and stops when the
judge passes finds one that passes in the end, so looks are counted and stand under the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from whileai_review.report import count, percent, plural
from whileai_review.score.planning import chance_with_looks
from whileai_review.store import Store
from whileai_review.work.headlines import ANOTHER_CHECK, WORDS, interim_headline, interim_words

STATES_WITHOUT = ("not_measured",)
"""States that are no verdict: there is nothing to be held to."""


def attach_plan(
    store: Store, report: dict[str, Any], plan: dict | None, key: tuple[int, int, str, str]
) -> None:
    """Put the plan of a report into it, and set the verdict where its time has come.

    Adds ``interim`` (of `Store.begun_plan`; None when the plan is complete or ended),
    ``plan_history`` (of `Store.plan_history`, and the ``plan`` itself; empty lists and None
    where no queue was begun) and
    ``verdict_lines`` (what a reader is to know of both, in words). Before the last planned label
    ``state`` and ``headline`` say so.

    Parameters
    ----------
    plan
        As it was before `report` was measured, so that the report has every label it counts.
    key
        Of `measured_as`.
    """
    run_id, grader_id, gold, criterion = key
    unfinished = plan is not None and plan["labelled"] < plan["planned"]
    report["interim"] = plan if plan and unfinished and not plan["closed_at"] else None
    report["plan_history"] = {"plan": plan, "looks": [], "extensions": [], "verdicts": []}
    report["verdict_lines"] = []
    if plan is None:
        return
    if report["interim"] is None and report["state"] not in STATES_WITHOUT and grader_id:
        agreement = report["agreement"]
        found = {
            "state": report["state"],
            "headline": said_of(report),
            "n": agreement["n"],
            "n_tasks": agreement["n_tasks"],
        }
        store.set_verdict(plan["queue"], grader_id, gold, plan["planned"], found)
    if unfinished and plan["closed_at"]:  # whoever reads the verdict is to know it came early
        ended = f"ended at {interim_words(plan)}"
        report["headline"]["grey"] += f" · {ended}" if report["headline"]["grey"] else ended
    report["plan_history"] |= store.plan_history(run_id, criterion, grader_id, gold)
    report["verdict_lines"] = verdict_lines(report)
    if report["interim"]:
        report["state"], report["state_reason"] = "not_shown", interim_words(report["interim"])
        report["headline"] = interim_headline(report)


def note_look(store: Store, report: Mapping[str, Any], by: str | None = None) -> bool:
    """Write down that the figures of an interim report were seen; once for each n of labels."""
    plan = report.get("interim")
    if not plan or not report["agreement"]["n"] or not report["grader_id"]:
        return False
    return store.add_look(plan["queue"], report["grader_id"], report["gold"], plan["labelled"], by)


def verdict_lines(report: Mapping[str, Any], figures: bool = True) -> list[str]:
    """The verdicts and extensions of a report in words, oldest first, and what came since.

    With ``figures=False`` the lines have no measured number, for who is labelling.
    """
    history = report["plan_history"]
    lines = [(v["at"], _verdict_words(v, figures)) for v in history["verdicts"]]
    told = {f"{WORDS[v['state']]}. {v['headline']}" for v in history["verdicts"]}
    lines += [(e["at"], _extension_words(e, figures, told)) for e in history["extensions"]]
    words = [text for _, text in sorted(lines)]
    if history["verdicts"] and not report["interim"]:
        words += _since(report, history["verdicts"][-1])
    return words


def looks_words(report: Mapping[str, Any]) -> str:
    """What the looks before the end do to the verdict; empty where nobody looked."""
    history, plan = report["plan_history"], report["interim"]
    verdicts = history["verdicts"]
    if not plan and not verdicts:
        return ""
    n_looks = len(history["looks"]) + len(verdicts) if plan else verdicts[-1]["n_looks"]
    if not n_looks:
        return ""
    queue, end = (
        (plan["queue"], plan["planned"]) if plan
        else (verdicts[-1]["queue"], verdicts[-1]["planned"])
    )  # fmt: skip
    floor = report["floors"]["min_agreement"]
    seen = [look["n_labels"] for look in history["looks"] if look["queue"] == queue]
    seen += [v["planned"] for v in verdicts if v["queue"] == queue]
    # Labels of earlier queues are in the same estimate.
    before = max(report["agreement"]["n"] - history["plan"]["labelled"], 0)
    alone = chance_with_looks([], before + end, floor)
    once = percent(alone, 1_001)
    ever = percent(chance_with_looks([before + n for n in seen], before + end, floor), 1_001)
    words = f"{_times(n_looks)} before the last of {plural(end, 'label')}. "
    if not alone:
        return f"{words}{plural(before + end, 'label')} are too few for any judge to clear {percent(floor)}."
    words += f"A judge exactly at the floor of {percent(floor)} passes one planned look in {once} of studies. "
    if ever == once:
        return words + "Looking more often, and stopping when it passes, makes that more."
    return words + f"Stopping at the first of these looks that passes, it would pass in {ever}."


def planner_words(report: Mapping[str, Any]) -> str:
    """How many labels of how many tasks are missing until the bound can clear its floor."""
    plan, agreement = report["plan"], report["agreement"]
    floor = percent(report["floors"]["min_agreement"])
    here = plan["here"]
    if plan["hopeless"]:
        return f"No number of labels will pass this judge: its upper bound is under {floor}."
    if not agreement["n"]:
        return "Without a label there is nothing to plan by. 30 labels tell a hopeless judge."
    if report.get("weighted"):
        return "A plan is for rows drawn with equal chances; these were not."
    if agreement["agreement"] <= report["floors"]["min_agreement"] and plan["if_it_holds"] is None:
        return (
            f"So far it agrees no more than {floor}: if that holds, no number of labels is enough."
        )
    if here is not None and here["if_it_holds"] == 0 or here is None and plan["if_it_holds"] == 0:
        if report["interim"]:
            return f"The fixed plan’s lower bound clears {floor} so far. It counts after the last label."
        if report["state"] == "not_shown":
            return (
                f"The lower bound of agreement clears {floor}; what is not shown is another check."
            )
        return f"The lower bound of agreement clears {floor}: it needs no more labels."
    if here is not None and here["if_it_holds"] is not None:
        words = f"The lower bound can clear {floor} after {_more(here, 'if_it_holds')} if the rate holds"
        if here["for_power"] is None:
            return words + ", and for an 80% chance all rows of this run are not enough."
        return f"{words}, {_more(here, 'for_power', short=True)} for an 80% chance."
    words = f"All {plural(here['left'], 'row')} left here are not enough. " if here else ""
    if plan["if_it_holds"] is None:
        return words + f"To clear {floor} it would take too many labels to plan."
    total = agreement["n"] + plan["if_it_holds"]
    words += (
        f"If the rate holds, it takes {plural(total, 'label')} of about "
        f"{plural(plan['tasks_if_it_holds'], 'task')} in all"
    )
    if plan["for_power"] is not None:
        total = agreement["n"] + plan["for_power"]
        words += f", {count(total)} of {count(plan['tasks_for_power'])} for an 80% chance"
    return words + "."


def repeats_words(report: Mapping[str, Any]) -> str:
    """What a further label is worth once every task has one; empty where that is far."""
    here = report["plan"]["here"]
    if here is None or not here["n_labelled_tasks"] or here["if_it_holds"] in (None, 0):
        return ""
    wanted = here["for_power"] if here["for_power"] is not None else here["if_it_holds"]
    if here["n_labelled_tasks"] + wanted <= here["n_tasks"]:
        return ""
    alike = "as in these labels" if here["icc_seen"] else "as elsewhere, since few tasks repeat"
    return (
        f"A rollout of {count(here['n_labelled_tasks'])} of {plural(here['n_tasks'], 'task')} has a "
        f"label. After one of each, a label more tells less: about {percent(worth_of_second(here['icc']))}"
        f" of a first one (rollouts of a task resemble each other, {here['icc']:.2f}, {alike})."
    )


def worth_of_second(icc: float) -> float:
    """What a second label of a task is worth, in first labels.

    Examples
    --------
    >>> round(worth_of_second(0.3), 2)  # statistics.md 5: 74 labels more are worth 40
    0.54
    """
    return 2 / (1 + icc) - 1


def _more(here: Mapping[str, Any], name: str, short: bool = False) -> str:
    n, tasks = here[name], here[f"tasks_{name}"]
    labels = count(n) if short else plural(n, "more label", "more labels")
    return f"{labels} (then {count(tasks)} of {plural(here['n_tasks'], 'task')})"


def _verdict_words(verdict: Mapping[str, Any], figures: bool) -> str:
    said = f"{WORDS[verdict['state']]} "
    if figures:
        said = f"{WORDS[verdict['state']]}. {verdict['headline'].rstrip('.')} "
    n, tasks = plural(verdict["n"], "label"), plural(verdict["n_tasks"], "task")
    looked = "no look before it" if not verdict["n_looks"] else _times(verdict["n_looks"]).lower()
    return (
        f"Verdict of {day(verdict['at'])}: {said}({n}, {tasks}), {looked}"
        f"{' before' if verdict['n_looks'] else ''}."
    )


def _extension_words(extension: Mapping[str, Any], figures: bool, told: set[str]) -> str:
    """Who extended it, and what they had seen; what a verdict says is not said twice."""
    by = f" by {extension['by']}" if extension["by"] else ""
    words = (
        f"Extended on {day(extension['at'])}{by} from {count(extension['from_n'])} to "
        f"{plural(extension['to_n'], 'label')}"
    )
    if extension["seen"] in told:
        words += ", after that verdict"
    elif figures and extension["seen"]:
        words += f", when the page said: {extension['seen'].rstrip('.')}"
    return words + "."


def _since(report: Mapping[str, Any], verdict: Mapping[str, Any]) -> list[str]:
    """What to say when the numbers are no longer those of the newest verdict."""
    state, said, n = report["headline"]["state"], said_of(report), report["agreement"]["n"]
    if (state, said, n) == (verdict["state"], verdict["headline"], verdict["n"]):
        return []
    return [
        f"Labels changed after that verdict: now {WORDS[state]}. {said.rstrip('.')} "
        f"({plural(n, 'label')}, {plural(report['agreement']['n_tasks'], 'task')})."
    ]


def said_of(report: Mapping[str, Any]) -> str:
    """The headline's sentence, so that it can be read away from the page: with the reason."""
    bold = report["headline"]["bold"]
    if report["state"] == "not_shown" and bold.endswith(f"{ANOTHER_CHECK}."):
        return bold.removesuffix(f"{ANOTHER_CHECK}.") + report["state_reason"]
    return bold


def _times(n: int) -> str:
    return {1: "Looked at once", 2: "Looked at twice"}.get(n, f"Looked at {count(n)} times")


def day(at: str) -> str:
    """The day of an instant of the store, in UTC.

    Examples
    --------
    >>> day("2026-12-02T10:00:00.000+00:00")
    '2 Dec 2026'
    """
    when = datetime.fromisoformat(at)
    return f"{when.day} {when:%b %Y}"
