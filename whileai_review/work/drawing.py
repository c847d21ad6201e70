"""Which rows are to be labelled: samples with a known chance for every row.

`random` draws rows, `one_per_task` draws a rollout of every task before a second one of any,
`group` does `random` within one value of a field, `census` takes all rows in random order. A
review queue holds disagreeing rows and a known share of agreeing ones, shuffled together, so
that who answers can't tell which is which (adjudicating disagreements only makes any judge
look better: a coin reaches .81, see statistics.md 1).
"""

from __future__ import annotations

import math

import numpy as np

from whileai_review.store import RefusedError, Store
from whileai_review.work.measuring import cell_rows, measured_as, settings

WAYS = ("random", "one_per_task", "group", "census")

DEFAULT_N = 150
"""Rows of a queue when nothing else is said: at an agreement of .90 the lower bound then
clears .80 in more than 9 of 10 studies (ui.md 3.2)."""


def draw_queue(
    store: Store,
    run: int | str,
    how: str = "random",
    n: int | None = None,
    seed: int = 0,
    criterion: str | None = None,
    field: str | None = None,
    value: str | None = None,
    by: str | None = None,
) -> dict:
    """Draw rows of a run to label and keep them as a queue; the same draw is the same queue.

    Parameters
    ----------
    how
        ``random``, ``one_per_task``, ``group`` (needs `field` and `value`) or ``census``.
    n
        Rows to draw, `DEFAULT_N` when None; no more than there are.
    seed
        Of the draw and the order.

    Returns
    -------
    dict
        The queue, as `Store.queue` gives it.

    Raises
    ------
    RefusedError
        Nothing to draw from, or an unknown way to draw.
    """
    if how not in WAYS:
        raise RefusedError(f"A queue is drawn {', '.join(WAYS)}; not {how!r}.")
    found, _, _, chosen_criterion = settings(store, run)
    criterion = criterion or chosen_criterion
    ids, tasks = store.tasks_of(found["id"])
    if how == "group":
        if field is None or value is None:
            raise RefusedError("A queue by group needs a field and one of its values.")
        members = store.rows_with(found["id"], field, value)
        kept = [i for i, row_id in enumerate(ids) if row_id in members]
        ids, tasks = [ids[i] for i in kept], [tasks[i] for i in kept]
    if not ids:
        raise RefusedError("There is no row to draw from.")
    size = len(ids) if how == "census" else min(DEFAULT_N if n is None else n, len(ids))
    if size < 1:
        raise RefusedError("A queue has at least one row.")
    rng = np.random.default_rng([seed, found["id"]])
    if how == "one_per_task":
        order, chance = _one_per_task(tasks, size, rng)
    else:
        order = rng.permutation(len(ids))[:size]
        chance = np.full(size, size / len(ids))
    rows = [(ids[i], float(p), None) for i, p in zip(order, chance, strict=True)]
    queue = store.add_queue(
        found["id"],
        _name(how, size, len(ids), value),
        how,
        rows,
        criterion=criterion,
        seed=seed,
        by=by,
        planned_n=size,
        field=field,
        value=value,
    )
    return store.queue(queue["id"])


def review_queue(
    store: Store,
    run: int | str,
    cell: str = "disagree",
    agreeing_share: float = 0.2,
    seed: int = 0,
    field: str | None = None,
    value: str | None = None,
    by: str | None = None,
) -> dict:
    """The rows where judge and gold differ and a share of the agreeing ones, in one blind order.

    Every disagreeing row is in (chance 1); of the agreeing rows `agreeing_share` are drawn.
    What is answered here was picked and enters no estimate unsaid.
    """
    run_id, grader, gold, criterion = measured_as(store, run)
    if not grader or not gold:
        raise RefusedError("A review queue needs a judge's verdicts and gold to hold against them.")
    if not 0 <= agreeing_share <= 1:
        raise RefusedError("The share of agreeing rows lies between 0 and 1.")
    at = (store, run_id, grader, gold, criterion)
    apart = cell_rows(*at, cell, field, value)
    if not apart:
        raise RefusedError("No row disagrees here: there is nothing to review.")
    agreeing = cell_rows(*at, "agree", field, value)
    rng = np.random.default_rng([seed, run_id])
    size = min(len(agreeing), math.ceil(agreeing_share * len(agreeing)))
    mixed = [agreeing[i] for i in rng.permutation(len(agreeing))[:size]]
    rows = [(i, 1.0, "disagree") for i in apart]
    rows += [(i, size / len(agreeing), "agree") for i in mixed]
    queue = store.add_queue(
        run_id,
        f"review of {cell}" + (f", {value}" if value else ""),
        "picked",
        [rows[i] for i in rng.permutation(len(rows))],
        purpose="review",
        criterion=criterion,
        seed=seed,
        by=by,
        grader_id=grader,
        gold=gold,
        cell=cell,
        field=field,
        value=value,
        agreeing_share=agreeing_share,
        planned_n=len(rows),
    )
    return store.queue(queue["id"])


def _one_per_task(
    tasks: list[str], size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rounds over the tasks in random order, a random new rollout of each in every round.

    The chance of a row: the rounds that are complete take all tasks, the last one a part.
    """
    codes = np.unique(np.asarray(tasks, dtype=object), return_inverse=True)[1]
    shuffled = rng.permutation(len(codes))
    by_task = shuffled[np.argsort(codes[shuffled], kind="stable")]
    sorted_codes = codes[by_task]
    starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
    sizes = np.diff(np.r_[starts, len(codes)])
    turn = np.arange(len(codes)) - np.repeat(starts, sizes)
    place = rng.permutation(len(starts))[np.repeat(np.arange(len(starts)), sizes)]
    order = by_task[np.lexsort((place, turn))][:size]
    # Row j of a task with m rollouts is drawn in round r with chance 1/m, if the round is taken.
    drawn_in_round = np.bincount(np.sort(turn)[:size])
    tasks_in_round = np.bincount(turn)[: len(drawn_in_round)]
    rounds = (drawn_in_round / tasks_in_round).cumsum()
    of_task = sizes[codes[order]]
    taken = rounds[np.minimum(of_task, len(rounds)) - 1]
    return order, np.minimum(1.0, taken / of_task)


def _name(how: str, size: int, of: int, value: str | None) -> str:
    if how == "census":
        return f"all {of} rows, in random order"
    words = {"random": "random", "one_per_task": "random, one a task", "group": f"random, {value}"}
    return f"{words[how]}: {size} of {of}"
