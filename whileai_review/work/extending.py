"""Raise the planned number of labels of a queue, drawn as the queue was and written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whileai_review.report import count, plural
from whileai_review.store import RefusedError, Store
from whileai_review.work.drawing import draw_name, draw_queue, drawn_order, population
from whileai_review.work.plans import said_of

EXTENDABLE = ("random", "one_per_task", "group")


def extend_queue(
    store: Store, queue_id: int, to_n: int, by: str | None = None, seen: str = ""
) -> dict:
    """Plan more labels on a queue: the longer draw of the same seed, of which it is the start.

    Every row then has the chance of the longer draw. Who, when, from how many to how many and
    what was seen is kept; the verdict that was set stays, and the longer plan gets its own.

    Parameters
    ----------
    to_n
        Planned labels in all.
    seen
        What the page said of the judge when this was decided.

    Returns
    -------
    dict
        The queue, as `Store.queue` gives it.

    Raises
    ------
    NotFoundError
        The queue or its run is gone.
    RefusedError
        `to_n` is not over what is planned, the queue has no plan or was not drawn at random, or
        there are not so many rows.
    """
    queue = store.queue(queue_id)
    planned, rows = _planned(store, queue)
    if to_n <= planned:
        raise RefusedError(
            f"“{queue['name']}” is planned for {plural(planned, 'label')} already: "
            f"{count(to_n)} is no extension. Ask for more than {count(planned)}."
        )
    if to_n > len(rows[0]):
        raise RefusedError(
            f"“{queue['name']}” is drawn from {plural(len(rows[0]), 'row')}: "
            f"it cannot have {count(to_n)} labels."
        )
    places = drawn_order(queue["how"], *rows, to_n, queue["seed"], queue["run_id"])
    if [row_id for row_id, _ in places[:planned]] != store.queue_row_ids(queue_id):
        raise RefusedError(
            f"“{queue['name']}” was not drawn as this version draws, so it cannot go on. "
            "Draw another queue."
        )
    name = queue["name"]
    if name == draw_name(queue["how"], planned, len(rows[0]), queue["value"]):
        name = draw_name(queue["how"], to_n, len(rows[0]), queue["value"])
    store.extend_queue(queue_id, planned, places, name, seen, by)
    return store.queue(queue_id)


def labels_to(store: Store, queue_id: int, more: int) -> int:
    """Planned labels in all of a queue that is to bring `more` that nobody has given yet.

    Rows that a person answered in another queue are passed over in the count: they bring none.
    Raises as `extend_queue`; fewer where the run has no more.
    """
    queue = store.queue(queue_id)
    planned, rows = _planned(store, queue)
    answered = store.labelled_rows(queue["run_id"], queue["criterion"])
    order = drawn_order(queue["how"], *rows, len(rows[0]), queue["seed"], queue["run_id"])
    total = planned
    for row_id, _ in order[planned:]:
        if more < 1:
            break
        total += 1
        more -= row_id not in answered
    return total


def longest_plan(store: Store, queue_id: int) -> int:
    """Rows that a queue is drawn from: it cannot be extended over that."""
    return len(_planned(store, store.queue(queue_id))[1][0])


def seen_words(report: Mapping[str, Any]) -> str:
    """What a page says of a judge, as it is kept with an extension that follows."""
    said = report["headline"]
    words = f"{said['word']}. {said_of(report)}"
    return f"{words} {said['grey']}" if report["interim"] and said["grey"] else words


def plan_more(store: Store, report: Mapping[str, Any], more: int, by: str | None = None) -> dict:
    """The queue that brings `more` labels to a trust report: the one that was begun, made longer.

    Labels that it still waits for are part of them. Where people have begun none, a new one of one
    rollout a task first.
    """
    run_id, criterion = report["run_id"], report["criterion"]
    if report["gold"] == "human":
        plan = store.begun_plan(run_id, criterion)
        if plan is not None and store.queue(plan["queue"])["how"] in EXTENDABLE:
            waiting = 0 if plan["closed_at"] else max(plan["planned"] - plan["labelled"], 0)
            if more <= waiting:
                return store.queue(plan["queue"])
            to_n = labels_to(store, plan["queue"], more - waiting)
            return extend_queue(store, plan["queue"], to_n, by, seen_words(report))
    return draw_queue(store, run_id, "one_per_task", more, criterion=criterion, by=by)


def _planned(store: Store, queue: Mapping[str, Any]) -> tuple[int, tuple[list[int], list[str]]]:
    """Planned labels, and the rows and tasks that the queue is drawn from."""
    if queue["planned_n"] is None or queue["how"] not in EXTENDABLE or queue["purpose"] != "label":
        how = {"census": "has every row in it", "stratified": "was drawn by strata"}
        why = how.get(queue["how"], "was not drawn at random")
        raise RefusedError(
            f"“{queue['name']}” {why}, so it cannot be extended. Draw another queue."
        )
    rows = population(store, queue["run_id"], queue["how"], queue["field"], queue["value"])
    return queue["planned_n"], rows
