"""Which rows are to be labelled: samples with a known chance for every row.

`random` draws rows, `one_per_task` draws a rollout of every task before a second one of any,
`stratified` draws from each stratum (the judge's verdict, or the values of a field) a number of
its own, so that what is rare is labelled often enough; the chance of a row is then that of its
stratum, and estimates are weighted. `group` does `random` within one value of a field, `census`
takes all rows in random order. A review queue holds disagreeing rows and a known share of agreeing ones, shuffled together, so
that who answers can't tell which is which (adjudicating disagreements only makes any judge
look better: a coin reaches .81, see statistics.md 1).
"""

from __future__ import annotations

import math
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whileai_review.report import count, plural
from whileai_review.store import RefusedError, Store
from whileai_review.work.measuring import cell_rows, measured_as, settings
from whileai_review.work.weighing import NO_VERDICT, strata_of

WAYS = ("random", "one_per_task", "stratified", "group", "census")

ALLOCATIONS = ("equal", "proportional")

MOST_STRATA = 50
"""Values of a field that are strata; with more, nearly every stratum would be a row or two."""

CRITERION_CHARS = 60
"""Characters of the name of a criterion."""

AUDIT_N = 30
"""Rows of an audit of gold: none wrong of 30 may still be 11% (statistics.md 11)."""

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
    allocation: str | Mapping[str, int] = "equal",
) -> dict:
    """Draw rows of a run to label and keep them as a queue; the same draw is the same queue.

    Parameters
    ----------
    how
        ``random``, ``one_per_task``, ``stratified`` (by `field`; without one by the judge's
        verdict), ``group`` (needs `field` and `value`) or ``census``.
    n
        Rows to draw, `DEFAULT_N` when None; no more than there are.
    seed
        Of the draw and the order.
    criterion
        What is answered: one of the run or a new one; what is picked on the run when None.
    allocation
        Of a stratified draw: ``equal``, ``proportional``, or rows for each stratum by name
        (``pass`` and ``fail`` of the judge, or a value of the field).

    Returns
    -------
    dict
        The queue, as `Store.queue` gives it; of a stratified draw with ``strata``, for each
        ``stratum, rows, drawn, chance``, and ``notes``: what could not be drawn as asked.

    Raises
    ------
    RefusedError
        Nothing to draw from, an unknown way to draw, or a stratum that cannot be drawn from
        (none of its rows is there, or its rows would have no chance).
    """
    if criterion is not None:
        criterion = criterion_name(store, run, criterion)
    if how == "stratified":
        return _draw_stratified(store, run, n, seed, criterion, field, by, allocation)
    if how not in WAYS:
        raise RefusedError(f"A queue is drawn {', '.join(WAYS)}; not {how!r}.")
    found, _, _, chosen_criterion = settings(store, run)
    criterion = criterion or chosen_criterion
    ids, tasks = population(store, found["id"], how, field, value)
    if not ids:
        raise RefusedError("There is no row to draw from.")
    size = len(ids) if how == "census" else min(DEFAULT_N if n is None else n, len(ids))
    if size < 1:
        raise RefusedError("A queue has at least one row.")
    rows = [
        (row_id, chance, None)
        for row_id, chance in drawn_order(how, ids, tasks, size, seed, found["id"])
    ]
    queue = store.add_queue(
        found["id"],
        draw_name(how, size, len(ids), value),
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


def criterion_name(store: Store, run: int | str, text: str) -> str:
    """The criterion that is meant: one of the run, in whatever case, or a new one.

    Raises
    ------
    RefusedError
        Nothing that can be seen, or too long.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name or len(name) > CRITERION_CHARS:
        raise RefusedError(
            f"A criterion has a name of 1 to {CRITERION_CHARS} characters, e.g. action."
        )
    there = store.criteria(run)
    if name in there:
        return name
    return next((each for each in there if each.casefold() == name.casefold()), name)


def population(
    store: Store, run_id: int, how: str, field: str | None, value: str | None
) -> tuple[list[int], list[str]]:
    """The rows that are drawn from, and the task of each."""
    ids, tasks = store.tasks_of(run_id)
    if how != "group":
        return ids, tasks
    if field is None or value is None:
        raise RefusedError("A queue by group needs a field and one of its values.")
    members = store.rows_with(run_id, field, value)
    kept = [i for i, row_id in enumerate(ids) if row_id in members]
    return [ids[i] for i in kept], [tasks[i] for i in kept]


def drawn_order(
    how: str, ids: list[int], tasks: list[str], size: int, seed: int, run_id: int
) -> list[tuple[int, float]]:
    """The rows of a draw in their order, each with its chance; a shorter draw is its beginning."""
    rng = np.random.default_rng([seed, run_id])
    if how == "one_per_task":
        order, chance = _one_per_task(tasks, size, rng)
    else:
        order = rng.permutation(len(ids))[:size]
        chance = np.full(size, size / len(ids))
    return [(ids[i], float(p)) for i, p in zip(order.tolist(), chance, strict=True)]


def _draw_stratified(
    store: Store,
    run: int | str,
    n: int | None,
    seed: int,
    criterion: str | None,
    field: str | None,
    by: str | None,
    allocation: str | Mapping[str, int],
) -> dict:
    found, grader, _, chosen_criterion = settings(store, run)
    criterion = criterion or chosen_criterion
    if field is None and grader is None:
        raise RefusedError("This run has no judge's verdicts to draw by. Draw random rows.")
    ids, _ = store.tasks_of(found["id"])
    grader_id = grader["id"] if grader and field is None else None
    of_row = strata_of(store, found["id"], ids, grader_id, criterion, field)
    members: dict[str, list[int]] = {}
    for row_id, stratum in zip(ids, of_row, strict=True):
        members.setdefault(stratum, []).append(row_id)
    notes = []
    if field is None and NO_VERDICT in members:
        left = len(members.pop(NO_VERDICT))
        notes.append(f"{plural(left, 'row')} without a verdict left out")
    what = f"{field!r}" if field is not None else "the judge's verdict"
    if len(members) < 2:
        raise RefusedError(f"All rows are of one kind by {what}. Draw random rows instead.")
    if len(members) > MOST_STRATA:
        raise RefusedError(
            f"{what} has {count(len(members))} values: draw by a field with at most {MOST_STRATA}."
        )
    sizes = {stratum: len(rows) for stratum, rows in sorted(members.items())}
    drawn, short = allocate(sizes, DEFAULT_N if n is None else n, allocation)
    notes += short
    rng = np.random.default_rng([seed, found["id"]])
    rows = []
    for stratum, size in drawn.items():
        own = members[stratum]
        chance = size / len(own)
        rows += [(own[i], chance, stratum) for i in rng.permutation(len(own))[:size].tolist()]
    rows = [rows[i] for i in rng.permutation(len(rows))]  # no stratum can be told by its place
    each = "equal" if allocation == "equal" else "in proportion"
    if not isinstance(allocation, str):
        each = ", ".join(f"{stratum} {size}" for stratum, size in drawn.items())
    kinds = field if field is not None else "verdict"
    queue = store.add_queue(
        found["id"],
        f"by {kinds}, {each}: {len(rows)} of {sum(sizes.values())}",
        "stratified",
        rows,
        criterion=criterion,
        seed=seed,
        by=by,
        planned_n=len(rows),
        grader_id=grader_id,
        field=field,
    )
    strata = [
        {"stratum": s, "rows": sizes[s], "drawn": drawn[s], "chance": drawn[s] / sizes[s]}
        for s in sizes
    ]
    return store.queue(queue["id"]) | {"strata": strata, "notes": notes}


def allocate(
    sizes: Mapping[str, int], n: int, allocation: str | Mapping[str, int] = "equal"
) -> tuple[dict[str, int], list[str]]:
    """How many rows to draw of each stratum, and what could not be as asked.

    Every stratum gets a row at least: rows without a chance would be in no estimate. What a
    small stratum cannot give goes to the others.

    Raises
    ------
    RefusedError
        Fewer rows than strata, an unknown allocation, a stratum that has no row, or one with
        rows and no number above 0.

    Examples
    --------
    >>> allocate({"fail": 40, "pass": 320}, 100)
    ({'fail': 40, 'pass': 60}, ['fail has 40 rows, 50 were asked for: all are taken'])
    >>> allocate({"fail": 40, "pass": 320}, 90, "proportional")
    ({'fail': 10, 'pass': 80}, [])
    """
    if not isinstance(allocation, str):
        return _given(sizes, allocation)
    if allocation not in ALLOCATIONS:
        raise RefusedError(f"Rows are allocated {' or '.join(ALLOCATIONS)}, not {allocation!r}.")
    if n < len(sizes):
        raise RefusedError(
            f"{plural(n, 'row')} for {len(sizes)} strata: ask for one of each at least."
        )
    shares = {s: 1.0 if allocation == "equal" else float(size) for s, size in sizes.items()}
    whole = sum(shares.values())
    asked = _rounded({s: n * share / whole for s, share in shares.items()}, n)
    drawn = {s: min(asked[s], sizes[s]) for s in sizes}
    notes = [
        f"{s} has {plural(sizes[s], 'row')}, {count(asked[s])} were asked for: all are taken"
        for s in sizes
        if sizes[s] < asked[s]
    ]
    while (left := min(n, sum(sizes.values())) - sum(drawn.values())) > 0:
        room = [s for s in sizes if drawn[s] < sizes[s]]
        for s in room[: max(left, 1)]:
            drawn[s] += min(max(left // len(room), 1), sizes[s] - drawn[s])
    return drawn, notes


def _rounded(exact: Mapping[str, float], n: int) -> dict[str, int]:
    """Whole numbers of the sum `n`, one at least each, by largest remainder."""
    found = {s: max(1, math.floor(share)) for s, share in exact.items()}
    by_rest = sorted(exact, key=lambda s: (found[s] - exact[s], s))
    for s in (by_rest * (1 + n // len(by_rest)))[: max(0, n - sum(found.values()))]:
        found[s] += 1
    while sum(found.values()) > n:
        found[max(found, key=lambda s: (found[s] - exact[s] if found[s] > 1 else -1, s))] -= 1
    return found


def _given(sizes: Mapping[str, int], asked: Mapping[str, int]) -> tuple[dict[str, int], list[str]]:
    unknown = [s for s in asked if s not in sizes]
    if unknown:
        raise RefusedError(f"No row is of {', '.join(unknown)}. There are {', '.join(sizes)}.")
    without = [s for s in sizes if not asked.get(s, 0) > 0]
    if without:
        raise RefusedError(
            f"Rows of {', '.join(without)} would have no chance to be drawn and be in no estimate: "
            "ask for 1 at least, or draw within a group."
        )
    notes = [
        f"{s} has {plural(sizes[s], 'row')}, {count(asked[s])} were asked for: all are taken"
        for s in sizes
        if sizes[s] < asked[s]
    ]
    return {s: min(int(asked[s]), sizes[s]) for s in sizes}, notes


def picked_queue(
    store: Store,
    run: int | str,
    rows: Sequence[int],
    name: str,
    criterion: str | None = None,
    by: str | None = None,
) -> dict:
    """Keep rows that somebody picked as a queue to label, in this order.

    They were not drawn: what is labelled from it enters no estimate of the judge.

    Raises
    ------
    RefusedError
        No row, or one that is not of this run.
    """
    if not rows:
        raise RefusedError("No row is chosen. Choose some in the list.")
    found, _, _, chosen_criterion = settings(store, run)
    queue = store.add_queue(
        found["id"],
        name,
        "picked",
        [(row_id, None, None) for row_id in rows],
        criterion=criterion or chosen_criterion,
        seed=zlib.crc32(np.asarray(rows, dtype=np.int64).tobytes()),  # other rows, another queue
        by=by,
        planned_n=len(rows),
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
    **choices: Any,
) -> dict:
    """The rows where judge and gold differ and a share of the agreeing ones, in one blind order.

    Every disagreeing row is in (chance 1); of the agreeing rows `agreeing_share` are drawn.
    What is answered here was picked and enters no estimate unsaid. `choices` are ``grader``,
    ``gold`` and ``criterion``; what is picked on the run where not given.
    """
    run_id, grader, gold, criterion = measured_as(store, run, **choices)
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


def audit_queue(
    store: Store,
    run: int | str,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
    n: int = AUDIT_N,
    seed: int = 0,
    by: str | None = None,
) -> dict:
    """Random rows that a program's gold was held against the judge on, for a person to label blind.

    The labels tell how far the gold can be believed. They are kept as picked, so they enter no
    estimate of the judge, and the gold that is picked stays. Rows of earlier audits are not drawn
    again.

    Raises
    ------
    RefusedError
        No row has a verdict and gold, or all are in an audit already.
    """
    run_id, grader_id, gold_name, criterion = measured_as(store, run, grader, gold, criterion)
    at = (store, run_id, grader_id or None, gold_name, criterion)
    rows = [*cell_rows(*at, "agree"), *cell_rows(*at, "disagree")] if gold_name else []
    if not rows or gold_name == "human":
        raise RefusedError("An audit is of a program's gold: there is none to look at here.")
    audits = store.audits(run_id, gold_name, criterion)
    earlier = {row_id for each in audits for row_id in store.queue_row_ids(each["id"])}
    seed += len(audits)
    left = sorted(set(rows) - earlier)
    size = min(n, len(left))
    if size < 1:
        raise RefusedError("All rows with gold are in an audit already.")
    rng = np.random.default_rng([seed, run_id])
    drawn = [left[i] for i in rng.permutation(len(left))[:size].tolist()]
    queue = store.add_queue(
        run_id,
        f"audit of {gold_name} gold: {count(size)} of {count(len(rows))}",
        "picked",
        [(row_id, size / len(left), None) for row_id in drawn],
        purpose="audit",
        criterion=criterion,
        seed=seed,
        by=by,
        gold=gold_name,
        planned_n=size,
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


def draw_name(how: str, size: int, of: int, value: str | None) -> str:
    """What a queue is called: how it was drawn, its rows, and of how many."""
    if how == "census":
        return f"all {of} rows, in random order"
    words = {"random": "random", "one_per_task": "random, one a task", "group": f"random, {value}"}
    return f"{words[how]}: {size} of {of}"
