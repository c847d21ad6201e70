"""Measure the judge of a run against its gold, once for each state of the labels.

A report is kept in the store by run, grader, gold, criterion and label revision; a page or a
command that asks again reads it. Runs of many rows are computed in the process pool.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import orjson

from whileai_review import __version__
from whileai_review.report import count, plural
from whileai_review.resample import task_cells
from whileai_review.score._columns import NO_VERDICT, TrustColumns
from whileai_review.score.agreement import task_share
from whileai_review.score.corrected import corrected_from_columns
from whileai_review.score.gold import unclear_measures
from whileai_review.score.judge_trust import JudgeTrustReport, trust_from_columns
from whileai_review.score.weighted import OUTSIDE, complement, row_weights, weighted_measures
from whileai_review.store import NotFoundError, Store, open_store
from whileai_review.work import judged, pool
from whileai_review.work.columns import column_of
from whileai_review.work.gold import GoldLabels, golds
from whileai_review.work.headlines import reread_words, trust_headline
from whileai_review.work.plans import attach_plan
from whileai_review.work.rereading import gold_audit, reread
from whileai_review.work.weighing import Weighing, chance_of, weigh

Key = tuple[int, int, str, str]
"""What a report is about: run id, grader id or 0, gold or "", criterion; of `measured_as`."""

NO_GRADER = 0

KINDS = ("human", "program", "model")
"""Golds that a run can be asked for before anybody gave a label of that kind."""

CELLS = {"tp": (1, 1), "fp": (1, 0), "fn": (0, 1), "tn": (0, 0)}
"""Cell -> (judge, gold)."""

CELL_ORDER = np.array([3 - 2 * judge - gold for judge, gold in CELLS.values()])
"""Cells in the order of `CELLS` as `weighted_measures` numbers them."""

BOTH = {"disagree": ("fp", "fn"), "agree": ("tp", "tn")}


class StoredTrustReport(JudgeTrustReport):
    """A trust report whose disagreements stay in the store; prints what was measured."""

    def as_text(self) -> str:
        """What ``print(judge_trust(rows))`` gives for the same rows."""
        return self["text"]


def settings(store: Store, run: int | str) -> tuple[dict, dict | None, str | None, str]:
    """What is measured on a run: (run, grader or None, gold or None, criterion)."""
    found = store.run(run)
    by_id = {g["id"]: g for g in found["graders"]}
    grader = by_id.get(found["grader_id"]) or next(iter(found["graders"]), None)
    return found, grader, found["gold"], found["criterion"]


def trust(
    store: Store,
    run: int | str,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
) -> StoredTrustReport:
    """Can this run's judge be trusted? `judge_trust`'s report of the store's rows.

    Parameters
    ----------
    run, grader, gold, criterion
        What is picked on the run where None. `grader` is a name or an id.

    Returns
    -------
    StoredTrustReport
        The keys of `judge_trust` (its ``disagreements`` stay in the store: `cell_rows`), and
        ``run, run_id, grader, grader_id, gold, criterion, revision, coverage, n_cells, text,
        corrected`` (of `corrected_pass_rate`; None where the labels are of one group) and
        ``weighting``: in ``words`` why shares are weighted, in ``scope`` what part of the run
        they are about, ``n_shown`` labelled rows left out since the judge was shown their task;
        ``reread``: what the newest review queue that was read to its end makes of it (`reread`);
        ``interim``: the queue whose planned labels are not all given (`Store.begun_plan`).
        Until they are there is no verdict, since looking again and again finds one in the end.
        The first whole report after that sets it, once: ``plan_history`` has it with its date,
        the looks before it and the extensions, ``verdict_lines`` says so in words.

    Raises
    ------
    NotFoundError
        No such run, or no such grader, criterion or import of labels on it.
    """
    key = measured_as(store, run, grader, gold, criterion)
    # A queue may be closed or drawn without a label given: so this is no part of what is kept.
    plan = store.begun_plan(key[0], key[3]) if key[2] == "human" else None
    report = StoredTrustReport(orjson.loads(_stored(store, "trust", key)))
    report["run"] = store.run(key[0])["name"]  # it may have been renamed since
    attach_plan(store, report, plan, key)
    return report


def cell_rows(
    store: Store,
    run: int | str,
    grader: int | str | None,
    gold: str | None,
    criterion: str | None,
    cell: str,
    field: str | None = None,
    value: str | None = None,
) -> list[int]:
    """Ids of the rows in a cell of the confusion, in row order.

    `cell` is ``tp``, ``fp`` (false pass), ``fn`` (false alarm), ``tn``, ``disagree`` or
    ``agree``; with `field` and `value` only the rows of that group.
    """
    names = BOTH.get(cell, (cell,))
    if any(name not in CELLS for name in names):
        raise NotFoundError(f"No cell {cell!r}: there are {', '.join([*CELLS, *BOTH])}.")
    key = measured_as(store, run, grader, gold, criterion)
    cells = orjson.loads(_stored(store, "cells", key))
    found = sorted(row_id for name in names for row_id in cells[name])
    if field is None or value is None:
        return found
    members = store.rows_with(key[0], field, value)
    return [row_id for row_id in found if row_id in members]


def slices(
    store: Store,
    run: int | str,
    field: str,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
) -> dict:
    """Where does the judge leak? Each value of a field that was named in advance.

    Returns ``{"field", "criterion", "all", "rows": [...]}``, most false passes first; `all` and
    each line have ``value, n, agreement, agreement_ci95, always_pass, n_gold_fail,
    false_passes, false_pass_rate, false_pass_ci95, n_judge_pass, wrong_passes, error_rate, error_ci95, n_tasks`` (Wilson, 95%)
    and each interval by task, ``*_ci95_tasks``. Quote the wider. Where rows were drawn with unequal
    chances the shares are weighted (``weighted: True``), the counts those of the labelled rows.
    """
    key = measured_as(store, run, grader, gold, criterion)
    cells = orjson.loads(_stored(store, "cells", key))
    of_field, of_task = column_of(store, key[0], "field", field), column_of(store, key[0], "task")
    names, value_of = of_field["names"], of_field["codes"].astype(np.intp)
    tasks, task_of = of_task["number"], of_task["codes"].astype(np.intp)
    ids = column_of(store, key[0], "ids")["ids"]
    places = [np.searchsorted(ids, cells[name]) for name in CELLS]
    cell = np.repeat(np.arange(len(CELLS)), [len(found) for found in places])
    at = np.concatenate(places)
    # A part is a task's rows of one value; a sorted list of them holds a value's tasks together.
    parts, part = np.unique(value_of[at] * len(tasks) + task_of[at], return_inverse=True)
    counts = task_cells(part, cell, len(CELLS), len(parts))
    ends = np.searchsorted(parts, np.arange(len(names) + 1) * len(tasks))
    lines = [
        _slice(value, counts[start:end])
        for value, start, end in zip(names, ends[:-1], ends[1:], strict=True)
        if start < end
    ]
    whole = _slice("all", task_cells(task_of[at], cell, len(CELLS), len(tasks)))
    weights = orjson.loads(_stored(store, "weights", key))
    if weights is not None:
        texts = {name: number for number, name in enumerate(names)}
        labelled = _Labelled(at, task_of, cell, value_of, *map(np.array, weights))
        lines = [labelled.weighted(line, texts[line["value"]]) for line in lines]
        whole = labelled.weighted(whole, None)
    lines.sort(key=lambda line: (-line["false_passes"], line["value"]))
    return {"field": field, "criterion": key[3], "all": whole, "rows": lines}


def compute(path: str, revision: str, key: Key) -> None:
    """Measure and keep both reports, in the pool; `revision` tells two calls apart."""
    gc.disable()  # no cycles here, and looking for them among a million parts costs a third
    try:
        with open_store(path, create=False) as store, judged.lock:
            _compute(store, key, keep=True)
    finally:
        gc.enable()


def _stored(store: Store, kind: str, key: Key) -> bytes:
    run_id, grader_id, gold, criterion = key
    revision = _revision(store, run_id, criterion)
    kept = store.report(run_id, kind, grader_id, gold, criterion)
    if kept is None or kept["revision"] != revision:
        if store.run(run_id)["n_rows"] > pool.ROWS:
            pool.run(compute, str(store.path), revision, key)
        else:
            _compute(store, key)
        kept = store.report(run_id, kind, grader_id, gold, criterion)
        if kept is None:
            raise NotFoundError("The run was deleted while it was measured.")
    return kept["body"]


def kept_beside(
    store: Store, kind: str, key: Key, make: Callable[[Store, Key, str], None]
) -> dict[str, Any]:
    """A report that rests on what Trust compared, made anew where that is newer.

    Parameters
    ----------
    make
        A function of a module; it puts the report into the store under the revision it is given.

    Raises
    ------
    NotFoundError
        The run was deleted meanwhile.
    """
    stored_cells(store, key)
    run_id, at = key[0], key[1:]
    cells, kept = store.report(run_id, "cells", *at), store.report(run_id, kind, *at)
    if cells is not None and (kept is None or kept["revision"] != cells["revision"]):
        if store.run(run_id)["n_rows"] > pool.ROWS:
            pool.run(make_beside, str(store.path), key, cells["revision"], make)
        else:
            make(store, key, cells["revision"])
        kept = store.report(run_id, kind, *at)
    if cells is None or kept is None:
        raise NotFoundError("The run was deleted while it was measured.")
    return orjson.loads(kept["body"])


def make_beside(
    path: str, key: Key, revision: str, make: Callable[[Store, Key, str], None]
) -> None:
    """Make a report of `kept_beside` in the pool."""
    gc.disable()  # as in `compute`
    try:
        with open_store(path, create=False) as store:
            make(store, key, revision)
    finally:
        gc.enable()


def measured_as(
    store: Store,
    run: int | str,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
) -> Key:
    """What a report of these choices is about: (run id, grader id or 0, gold or "", criterion).

    Where the picked gold has no label on the criterion, the gold with most labels there.
    """
    found, picked, picked_gold, picked_criterion = settings(store, run)
    criterion = criterion or picked_criterion
    if criterion != picked_criterion and criterion not in (there := store.criteria(found["id"])):
        raise NotFoundError(
            f"No criterion {criterion!r} on {found['name']}. Criteria: {', '.join(there)}."
        )
    if grader is not None:
        picked = next((g for g in found["graders"] if grader in (g["id"], g["name"])), None)
        if picked is None:
            names = ", ".join(g["name"] for g in found["graders"]) or "none"
            raise NotFoundError(f"No grader {grader!r} on {found['name']}. Graders: {names}.")
    if gold is None:
        gold = picked_gold
        if gold is None or not store.has_gold(found["id"], criterion, gold):
            gold = next(iter(golds(store, found["id"], criterion)), picked_gold)
    elif gold and gold not in KINDS and not store.has_gold(found["id"], criterion, gold):
        names = ", ".join(golds(store, found["id"], criterion)) or "none yet"
        raise NotFoundError(f"No gold {gold!r} on {found['name']}. Golds: {names}.")
    return found["id"], picked["id"] if picked else NO_GRADER, gold or "", criterion


def stored_cells(store: Store, key: Key) -> bytes:
    """Ids of the compared rows by cell, as JSON; `key` is of `measured_as`."""
    return _stored(store, "cells", key)


def _revision(store: Store, run_id: int, criterion: str) -> str:
    verdicts = store.verdict_revision(run_id)
    said = f"{__version__}/{store.label_revision(run_id, criterion)}/{verdicts}"
    extended = store.n_extensions(run_id)  # rows of a longer draw have other chances
    return f"{said}/{extended}" if extended else said


def _compute(store: Store, key: Key, keep: bool = False) -> None:
    run_id, grader_id, gold, criterion = key
    revision = _revision(store, run_id, criterion)
    ids, cols, labels = judged.measured_rows(store, key, keep)
    seen = _seen_tasks(store, run_id, grader_id, ids, cols)
    n_shown = int((seen & (cols.gold >= 0)).sum())
    measured = cols
    if seen.any():
        measured = replace(cols, gold=np.where(seen, NO_VERDICT, cols.gold).astype(np.int8))
    weighed = weigh(store, run_id, ids, measured, labels)
    report = trust_from_columns(
        measured,
        weights=weighed.weights,
        audit=gold_audit(store, key, ids, measured),
        unclear=_unclear(ids, measured, labels, weighed, seen),
        listed=False,
    )
    report["warnings"] += [*weighed.warnings, *_shown_words(seen, cols, n_shown)]
    found = store.run(run_id)
    grader = next((g["name"] for g in found["graders"] if g["id"] == grader_id), None)
    cells = _cells(ids, measured)
    weights = None
    if report["weighted"]:
        weights = [weighed.weights.weight.tolist(), weighed.weights.stratum.tolist()]
    report |= {
        "run": found["name"],
        "run_id": run_id,
        "grader": grader,
        "grader_id": grader_id,
        "gold": gold or None,
        "criterion": criterion,
        "revision": revision,
        "coverage": _coverage(ids, labels, seen, bool(weighed.scope)),
        "corrected": _corrected(ids, measured, labels, weighed, ~seen),
        "reread": reread(store, key, ids, measured, weighed.weights),
        "weighting": {"words": weighed.words, "scope": weighed.scope, "n_shown": n_shown},
        "n_cells": {name: len(rows) for name, rows in cells.items()},
        "judge_passes": [int((cols.judge == 1).sum()), int((cols.judge != NO_VERDICT).sum())],
        "n_disagreements": len(cells["fp"]) + len(cells["fn"]),
    }
    report["disagreements"] = range(report["n_disagreements"])  # to be counted in the text
    report["text"] = "\n".join(filter(None, [str(report), reread_words(report["reread"])]))
    report["headline"] = trust_headline(report)
    report["disagreements"] = []
    at = (grader_id, gold, criterion, revision)
    store.put_report(run_id, "cells", *at, orjson.dumps(cells))
    store.put_report(run_id, "weights", *at, orjson.dumps(weights))
    store.put_report(run_id, "trust", *at, orjson.dumps(report, option=orjson.OPT_NON_STR_KEYS))


def _corrected(
    ids: Sequence[int], cols: TrustColumns, labels: GoldLabels, weighed: Weighing, kept: np.ndarray
) -> dict | None:
    """The pass rate corrected by labels; None where they are of a part and not of the run.

    `kept` are the rows of tasks that the judge was not shown.
    """
    weights = weighed.weights
    if weighed.scope or (weights.n_outside and not weights.equal):
        return None
    chance = None
    if not weights.equal:
        chance = chance_of(weights)
    elif "one_per_task" in set(labels.chosen.values()) and all(
        labels.chances[row_id] for row_id in labels.chosen
    ):
        chance = np.array([labels.chances.get(row_id) or 1.0 for row_id in ids])
    if not kept.all():
        arrays = ("task", "judge", "fraction", "gold", "kind", "chars", "judge_name")
        cols = replace(cols, **{name: getattr(cols, name)[kept] for name in arrays})
        chance = None if chance is None else chance[kept]
    return corrected_from_columns(cols, chance)


def _unclear(
    ids: Sequence[int], cols: TrustColumns, labels: GoldLabels, weighed: Weighing, seen: np.ndarray
) -> dict[str, Any]:
    """What drawn rows that nobody could tell leave open."""
    open_ = set(labels.unclear) - set(labels.chosen) - labels.picked - labels.unblinded
    rows = np.isin(np.asarray(ids, dtype=np.int64), sorted(open_)) & (cols.judge >= 0) & ~seen
    used = cols.compared
    cell = 3 - 2 * cols.judge[used].astype(np.intp) - cols.gold[used]
    judge = cols.judge[rows]
    if weighed.weights.equal:
        return unclear_measures(np.bincount(cell, minlength=4), judge)
    answered = row_weights(used | rows, cols.judge >= 0, weighed.strata, weighed.base).weight
    return unclear_measures(np.bincount(cell, answered[used], minlength=4), judge, answered[rows])


def _seen_tasks(
    store: Store, run_id: int, grader_id: int, ids: Sequence[int], cols: TrustColumns
) -> np.ndarray:
    """Rows of tasks of which the judge was shown a row (few-shot, tuning), as a boolean array."""
    shown = store.shown_rows(run_id, grader_id) if grader_id != NO_GRADER else set()
    if not shown:
        return np.zeros(len(cols), dtype=bool)
    rows = np.fromiter((row_id in shown for row_id in ids), dtype=bool, count=len(cols))
    return np.isin(cols.task, np.unique(cols.task[rows]))


def _shown_words(seen: np.ndarray, cols: TrustColumns, n_labelled: int) -> list[str]:
    if not seen.any():
        return []
    n_tasks, n_rows = len(np.unique(cols.task[seen])), int(seen.sum())
    return [
        f"the judge was shown rows of {plural(n_tasks, 'task')}: all {plural(n_rows, 'row')} of "
        f"these, {count(n_labelled)} labelled, are outside these numbers"
    ]


def _cells(ids: Sequence[int], cols: TrustColumns) -> dict[str, list[int]]:
    number = np.asarray(ids, dtype=np.int64)
    return {
        name: number[(cols.judge == judge) & (cols.gold == gold)].tolist()
        for name, (judge, gold) in CELLS.items()
    }


def _coverage(
    ids: Sequence[int], labels: GoldLabels, seen: np.ndarray, of_group: bool
) -> dict[str, int]:
    """Rows by what is known of them; a row counts once, at the first that holds.

    `seen` are rows of tasks that the judge was shown; `of_group`: labels are of some groups only.
    """
    n_rows, counted = len(ids), set(labels.chosen)
    shown = counted & {ids[n] for n in np.flatnonzero(seen).tolist()} if seen.any() else set()
    usable = [how for row_id, how in labels.chosen.items() if row_id not in shown]
    imported = usable.count("imported")
    group = usable.count("group") if of_group else 0
    picked = (labels.picked | labels.unblinded) - counted
    unclear = set(labels.unclear) - counted - picked
    some = {"group": group, "shown": len(shown)}
    return {key: n for key, n in some.items() if n} | {
        "random": len(usable) - imported - group,
        "imported": imported,
        "picked": len(picked),
        "unblinded": len(labels.unblinded - counted),
        "unclear": len(unclear),
        "none": n_rows - len(counted) - len(picked) - len(unclear),
    }


class _Labelled(NamedTuple):
    """The labelled rows of a run and their weights, to be cut into slices."""

    at: np.ndarray
    """Place of each labelled row among the rows of the run."""
    task_of: np.ndarray
    cell: np.ndarray
    value_of: np.ndarray
    weight: np.ndarray
    stratum: np.ndarray

    def weighted(self, line: dict, value: int | None) -> dict:
        """A line of `slices` with the weighted shares in place of those of the labelled rows."""
        own = self.at if value is None else self.at[self.value_of[self.at] == value]
        of_run = self.stratum != OUTSIDE
        if value is not None:
            of_run = of_run & (self.value_of == value)
        cell = self.cell if value is None else self.cell[self.value_of[self.at] == value]
        found = weighted_measures(
            self.task_of[own], CELL_ORDER[cell], self.weight[own], self.stratum[own],
            self.task_of[of_run], self.stratum[of_run],
        )  # fmt: skip
        out = line | {"weighted": True, "always_pass": found["gold_pass_rate"]["value"]}
        for name, key, share in (
            ("agreement", "agreement", found["agreement"]),
            ("false_pass_rate", "false_pass", complement(found["tnr"])),
            ("error_rate", "error", found["reward_in_error"]),
        ):
            out |= {name: share["value"], f"{key}_ci95": share["ci95"]}
            out[f"{key}_ci95_tasks"] = share["ci95"]
        return out


def _slice(value: str, per_task: np.ndarray) -> dict:
    tp, fp, fn, tn = per_task.T
    agreeing = task_share(tp + tn, per_task.sum(axis=1))
    leaked, wrong = task_share(fp, fp + tn), task_share(fp, fp + tp)
    n = agreeing["n"]
    return {
        "value": value,
        "n": n,
        "n_tasks": agreeing["n_tasks"],
        "agreement": agreeing["value"],
        "agreement_ci95": agreeing["ci95"],
        "agreement_ci95_tasks": agreeing["ci95_tasks"],
        "always_pass": (n - leaked["n"]) / n if n else None,
        "n_gold_fail": leaked["n"],
        "false_passes": int(fp.sum()),
        "false_pass_rate": leaked["value"],
        "false_pass_ci95": leaked["ci95"],
        "false_pass_ci95_tasks": leaked["ci95_tasks"],
        "n_judge_pass": wrong["n"],
        "wrong_passes": int(fp.sum()),
        "error_rate": wrong["value"],
        "error_ci95": wrong["ci95"],
        "error_ci95_tasks": wrong["ci95_tasks"],
    }
