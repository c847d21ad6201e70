"""The array layer of the trust report: columns in, numbers and findings out."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from math import ceil
from typing import Any

import numpy as np

from whileai_review.defaults import (
    FLIP_FLAG,
    HALVES_MIN_N,
    HALVES_WARN,
    LENGTH_GAP_FLAG,
    MAX_SKIPPED_SHARE,
    MIN_AGREEMENT,
    MIN_KAPPA,
)
from whileai_review.intervals import (
    cluster_difference,
    mcnemar_p,
    newcombe_sum,
    paired_difference,
    sign_flip_p,
    wilson,
)
from whileai_review.report import number2, percent, plural
from whileai_review.resample import MIN_CI_TASKS, percentile_interval
from whileai_review.score._columns import TrustColumns
from whileai_review.score._length import length_sensitivity
from whileai_review.score._state import trust_state
from whileai_review.score.agreement import (
    agreement_from_columns,
    kappa_at,
    leak_warning,
    missing_half,
    one_class_line,
    task_share,
)
from whileai_review.score.gold import NOT_AUDITED
from whileai_review.score.people import people_agreement
from whileai_review.score.planning import Plan, always_valid, plan_from_tasks, plan_in_run
from whileai_review.score.weighted import OUTSIDE, Weights, weighted_measures, with_weights

EXAMPLES = 5
"""Fractional rewards a report repeats."""

MOST_LABELS = 200
"""Labels up to which a report says how many would do."""


def trust_numbers(
    columns: TrustColumns,
    *,
    min_agreement: float = MIN_AGREEMENT,
    min_kappa: float = MIN_KAPPA,
    allow_model_gold: bool = False,
    length_gap_flag: float = LENGTH_GAP_FLAG,
    flip_flag: float = FLIP_FLAG,
    max_skipped_share: float = MAX_SKIPPED_SHARE,
    judge_name: str | None = None,
    perturbation: dict | None = None,
    probes: dict | None = None,
    weights: Weights | None = None,
    listed: bool = True,
    audit: dict | None = None,
    unclear: dict | None = None,
) -> dict[str, Any]:
    """Every key of a trust report, its queue as row positions without texts.

    `listed`: False leaves the queue empty, for who keeps the disagreements otherwise.

    With `weights` that differ shares, flags and state are those of the weighted estimates. See
    :func:`whileai_review.score.judge_trust.trust_from_columns`.
    """
    used = columns.compared
    agreement = agreement_from_columns(columns, allow_model_gold=allow_model_gold)
    found: dict[str, Any] = {
        "ok": False,
        "n_rows": len(columns),
        "n_labeled": agreement["n"],
        "n_tasks": agreement["n_tasks"],
        "gold_kind": agreement["gold_kind"],
        "gold_degenerate": bool(one_class_line(agreement)),
        "floors": {
            "min_agreement": min_agreement,
            "min_kappa": min_kappa,
            "max_skipped_share": max_skipped_share,
            "length_gap_flag": length_gap_flag,
            "flip_flag": flip_flag,
        },
        "skipped": _skipped(columns, max_skipped_share),
        "agreement": agreement,
        **error_rates(columns),
        "baseline": _baseline(columns.per_task),
        "plan": _plan(columns, min_agreement),
        "always_valid": _always_valid(columns.per_task),
        "kappa_of_a_good_judge": kappa_at(agreement["gold_pass_rate"]),
        "person_against_rule": agreement["person_against_rule"],
        "people": people_agreement(np.array(columns.people, dtype=np.int64).reshape(-1, 3)),
        "held_out_halves": _halves(columns, allow_model_gold),
        "length_sensitivity": length_sensitivity(
            columns.chars[used],
            columns.judge[used],
            columns.gold[used],
            length_gap_flag,
            columns.task[used],
        ),
        "foreign_rewards": _foreign(columns, judge_name),
        "perturbation": perturbation,
        "probes": probes,
        "exploitable_by": list(probes["exploitable_by"]) if probes else [],
        "disagreements": _queue(columns) if listed else [],
        "gold_audit": (audit or dict(NOT_AUDITED)) if agreement["gold_kind"] == "program" else None,
        "unclear": unclear,
        "weighted": _weighted(columns, weights, min_agreement),
    }
    if found["weighted"]:
        found = with_weights(found, found["weighted"])
        found["always_valid"] |= {"value": None, "ci95": None}  # for rows of equal chances only
        agreement = found["agreement"]
    flagged = _flag_lines(found)
    found["warnings"] = [*agreement["warnings"], *flagged, *_notice_lines(found)]
    found["flagged"] = bool(leak_warning(agreement)) or bool(flagged)
    found["ok"] = agreement["ok"] and not found["flagged"]
    if not found["n_labeled"] and not found["flagged"]:
        halves = (bool((columns.judge >= 0).any()), bool((columns.gold >= 0).any()))
        found["warnings"] = [f"the judge is unmeasured, not failed: {missing_half(*halves)}"]
    found["state"], found["state_reason"] = trust_state(found)
    return found


def _weighted(
    columns: TrustColumns, weights: Weights | None, floor: float
) -> dict[str, Any] | None:
    """The measures by weight; None where every labelled row counts the same."""
    if weights is None or weights.equal or not columns.compared.any():
        return None
    used, frame = weights.weight > 0, weights.stratum != OUTSIDE
    cell = 3 - 2 * columns.judge[used].astype(np.intp) - columns.gold[used]
    task, stratum = columns.task, weights.stratum
    found = weighted_measures(
        task[used], cell, weights.weight[used], stratum[used], task[frame], stratum[frame]
    )
    agreement = found["agreement"]
    hopeless = agreement["ci95"] is not None and agreement["ci95"][1] < floor
    # A plan is for labels of rows drawn with equal chances: of these it knows nothing.
    plan = Plan(None, None, hopeless)._asdict() | dict.fromkeys(_PLAN_OF_RUN)
    return found | {"n_outside": weights.n_outside, "plan": plan}


def error_rates(columns: TrustColumns) -> dict[str, Any]:
    """TPR, TNR, J and what a verdict of the judge is worth."""
    per_task = columns.per_task
    tp, fp, fn, tn = per_task.T
    tpr, tnr = task_share(tp, tp + fn), task_share(tn, tn + fp)
    n_tasks = int(per_task.any(axis=1).sum())
    youden: dict[str, Any] = {"value": None, "ci95": None, "n": int(per_task.sum())}
    youden |= {"ci95_tasks": None, "n_tasks": n_tasks}
    if tpr["n"] and tnr["n"]:
        youden["value"] = tpr["value"] + tnr["value"] - 1
        low, high = newcombe_sum(tpr["value"], tpr["ci95"], tnr["value"], tnr["ci95"])
        youden["ci95"] = (low - 1, high - 1)
        if n_tasks >= MIN_CI_TASKS:
            found = percentile_interval(_j_of(columns.draws))
            youden["ci95_tasks"] = None if found is None else tuple(found)
    return {
        "tpr": tpr,
        "tnr": tnr,
        "j": youden,
        "reward_in_error": task_share(fp, tp + fp),
        "judge_fail_right": task_share(tn, tn + fn),
    }


def _j_of(cells: np.ndarray) -> np.ndarray:
    """TPR + TNR - 1 of ``(..., 4)`` counts tp fp fn tn; NaN without one of the classes."""
    tp, fp, fn, tn = (cells[..., i] for i in range(4))
    with np.errstate(invalid="ignore", divide="ignore"):
        return tp / (tp + fn) + tn / (tn + fp) - 1


def _baseline(per_task: np.ndarray) -> dict[str, Any]:
    """The judge that always answers the gold majority, on the same rows ("pass" on a tie)."""
    tp, fp, fn, tn = per_task.T
    passes = int((tp + fn).sum()) >= int((fp + tn).sum())
    # Rows on which only the baseline is right, only the judge, both, neither.
    cells = (fn, tn, tp, fp) if passes else (fp, tp, tn, fn)
    only_baseline, only_judge, both, neither = (int(cell.sum()) for cell in cells)
    right = task_share(cells[0] + cells[2], per_task.sum(axis=1))
    n = right["n"]
    interval = paired_difference(both, only_baseline, only_judge, neither)
    by_task = cluster_difference(cells[0] - cells[1], per_task.sum(axis=1))
    return {
        "verdict": ("pass" if passes else "fail") if n else None,
        "agreement": right.pop("value"),
        **right,
        "difference": (only_baseline - only_judge) / n if n else None,
        "difference_ci95": None if interval is None else tuple(interval),
        "difference_ci95_tasks": None if by_task is None else tuple(by_task),
        "p_value": mcnemar_p(only_baseline, only_judge) if n else None,
        "p_value_tasks": sign_flip_p(cells[0] - cells[1]) if n else None,
        "discordant": [only_baseline, only_judge],
    }


def _plan(columns: TrustColumns, floor: float) -> dict[str, Any]:
    """Labels and tasks that are missing until the agreement can reach its floor.

    ``here``: what this run's own rows can still give (`RunPlan`); None when none is left.
    """
    per_task = columns.per_task
    right, sizes = per_task[:, 0] + per_task[:, 3], per_task.sum(axis=1)
    plan = plan_from_tasks(right, sizes, floor)
    n, tasks = int(sizes.sum()), int(np.count_nonzero(sizes))
    found: dict[str, Any] = plan._asdict()
    for name in ("if_it_holds", "for_power"):  # tasks grow as rows do
        more = found[name]
        found[f"tasks_{name}"] = None if more is None else ceil(tasks * (n + more) / n)
    left = (columns.judge >= 0) & (columns.gold < 0)
    found["here"] = None
    if left.any():
        there = np.zeros(len(per_task), dtype=bool)
        there[columns.task[left]] = True
        there |= sizes > 0
        here = plan_in_run(right[there], sizes[there], int(left.sum()), floor)
        found["here"] = here._asdict()
    return found


_PLAN_OF_RUN = ("tasks_if_it_holds", "tasks_for_power", "here")


def _always_valid(per_task: np.ndarray) -> dict[str, Any]:
    """The agreement's bounds that hold at every look, however often somebody looks."""
    right, sizes = per_task[:, 0] + per_task[:, 3], per_task.sum(axis=1)
    found = always_valid(right, sizes)
    n = int(sizes.sum())
    return {
        "value": int(right.sum()) / n if n else None,
        "ci95": None if found is None else tuple(found),
        "n": n,
        "n_tasks": int(np.count_nonzero(sizes)),
    }


def _skipped(columns: TrustColumns, floor: float) -> dict[str, Any]:
    labelled = columns.gold >= 0
    fractional = labelled & ~np.isnan(columns.fraction)
    n_gold, n_fractional = int(labelled.sum()), int(fractional.sum())
    n_used = int(columns.compared.sum())
    share = n_fractional / n_gold if n_gold else 0.0
    return {
        "n_gold": n_gold,
        "n_used": n_used,
        "fractional": n_fractional,
        "unscored": n_gold - n_used - n_fractional,
        "share": share,
        "floor": floor,
        "over_floor": n_fractional > 0 and share > floor,
        "examples": [float(x) for x in columns.fraction[fractional][:EXAMPLES]],
    }


def _halves(columns: TrustColumns, allow_model_gold: bool) -> dict[str, Any]:
    """Agreement on two halves of the tasks; a task lies in one, whatever else is in the run."""
    in_a = np.array(is_even(columns.tasks), dtype=bool)
    return {
        "a": agreement_from_columns(columns, in_a, allow_model_gold),
        "b": agreement_from_columns(columns, ~in_a, allow_model_gold),
    }


def is_even(tasks: Sequence[str]) -> list[bool]:
    """Parity of the first 8 hex digits of each key's SHA-256, as the reference halves tasks."""
    try:
        return [found.digest()[3] % 2 == 0 for found in map(sha256, map(str.encode, tasks))]
    except UnicodeEncodeError:  # a lone surrogate, as broken logs hold
        encoded = (task.encode("utf-8", "surrogatepass") for task in tasks)
        return [sha256(text).digest()[3] % 2 == 0 for text in encoded]


def _foreign(columns: TrustColumns, judge_name: str | None) -> dict[str, Any]:
    """Labelled rows whose reward another scorer signed than the judge under audit."""
    names: Sequence[str] = columns.judge_names
    if judge_name is None:
        return {"n": 0, "names": []}
    signed = columns.compared & (columns.judge_name >= 0)
    counts = np.bincount(columns.judge_name[signed], minlength=len(names))
    others = {n: int(c) for n, c in zip(names, counts, strict=True) if c and n != judge_name}
    return {"n": sum(others.values()), "names": sorted(others)}


def _queue(columns: TrustColumns) -> list[dict[str, Any]]:
    places = np.flatnonzero(columns.compared & (columns.judge != columns.gold))
    return [
        {"row": row, "task": columns.tasks[task], "gold": gold, "judge": judge}
        for row, task, gold, judge in zip(
            places.tolist(),
            columns.task[places].tolist(),
            columns.gold[places].tolist(),
            columns.judge[places].tolist(),
            strict=True,
        )
    ]


def _flag_lines(found: dict) -> list[str]:
    """One line for everything, beside the leak, that makes `ok` false."""
    lines = _floor_lines(found) if found["agreement"]["ok"] else []
    skipped, length = found["skipped"], found["length_sensitivity"]
    if skipped["over_floor"]:
        lines.append(
            f"{_fractional(skipped)}: over the {number2(skipped['floor'])} floor, so the rows left "
            "are those the judge was sure of; give its rubric hard criteria (kind='hard')"
        )
    foreign = found["foreign_rewards"]
    if foreign["n"]:
        lines.append(
            f"{plural(foreign['n'], 'labelled row')} carry a reward by {', '.join(foreign['names'])}"
            ", so this is that scorer's agreement, not the judge's: score the rows with the judge"
        )
    if length["flagged"] and not found["gold_degenerate"]:
        lines.append(
            f"judge pass rate differs by {percent(length['max_gap'])} between short and long "
            "replies with the same gold label: it reads length"
        )
    lines += _flip_lines(found["perturbation"] or {})
    if found["probes"]:
        lines += found["probes"]["warnings"]
    return lines


def _floor_lines(found: dict) -> list[str]:
    agreement, floors = found["agreement"], found["floors"]
    floor, lines = floors["min_agreement"], []
    low = agreement["ci95"][0]
    if low < floor:
        cure = "change the judge's prompt or model and measure again"
        if agreement["agreement"] >= floor:
            cure = _more_labels(agreement["agreement"], floor)
        lines.append(
            f"Judge agreement with {found['gold_kind']} gold is {number2(low)} (lower bound), "
            f"under the {number2(floor)} floor: {cure}"
        )
    kappa = agreement["kappa"]
    if kappa < floors["min_kappa"] and not found["gold_degenerate"]:
        lines.append(
            f"Judge agreement beyond chance (kappa) is {number2(kappa)}, under the "
            f"{number2(floors['min_kappa'])} floor"
        )
    return lines


def _more_labels(rate: float, floor: float) -> str:
    for n in range(1, MOST_LABELS + 1):
        interval = wilson(rate * n, n)
        if interval is not None and interval.low >= floor:
            return f"the sample is short, label {n} rows in all if the rate holds"
    return f"more than {MOST_LABELS} labels would be needed at this rate"


def _flip_lines(passes: dict) -> list[str]:
    lines = []
    if passes.get("flagged_consistency"):
        lines.append(
            f"{percent(passes['consistency_flip_rate'])} of verdicts flip when the same row is "
            "judged again: lower the judge's temperature"
        )
    if passes.get("flagged_length"):
        lines.append(
            f"{percent(passes['filler_flip_rate'])} of verdicts flip when neutral filler is added "
            f"({passes['filler_flips_up']} up, {passes['filler_flips_down']} down): it reads length"
        )
    return lines


def _notice_lines(found: dict) -> list[str]:
    """What is told and leaves `ok` alone."""
    lines, skipped = [], found["skipped"]
    if skipped["fractional"] and not skipped["over_floor"]:
        lines.append(f"{_fractional(skipped)} and are not counted (kind='hard' avoids them)")
    if found["gold_degenerate"]:
        lines.append(
            f"all gold is of one class, {one_class_line(found['agreement'])}: kappa and the length "
            "check say nothing until rows of the other class are labelled"
        )
    a, b = (found["held_out_halves"][half] for half in "ab")
    if min(a["n"], b["n"]) >= HALVES_MIN_N:
        gap = abs(a["agreement"] - b["agreement"])
        if gap >= HALVES_WARN:
            lines.append(
                f"agreement is {percent(a['agreement'])} on one half of the tasks and "
                f"{percent(b['agreement'])} on the other: was the rubric fitted to one of them?"
            )
    return lines


def _fractional(skipped: dict) -> str:
    return (
        f"{skipped['fractional']} of {plural(skipped['n_gold'], 'labelled row')} got a fractional "
        "reward"
    )
