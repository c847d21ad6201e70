"""Which rows a judge was shown: few-shot examples, rows it was tuned on, rows its rubric saw.

A judge is not measured on what it was given the answer to. Such rows leave its estimates, by
task, since the rollouts of a task resemble each other.
"""

from __future__ import annotations

from typing import Any

from whileai_review import load, rows
from whileai_review.store import NotFoundError, RefusedError, Store
from whileai_review.work._columns import SNIFFED


def mark_shown(
    store: Store,
    run: int | str,
    source: Any,
    grader: str | None = None,
    shown: bool = True,
    mapping: load.Mapping | None = None,
    by: str | None = None,
) -> dict[str, Any]:
    """Note that a judge was shown the rollouts, or the tasks, that a file names.

    Parameters
    ----------
    source
        Rows that name a rollout of the run by their identity or key, or a task of it.
    grader
        Name of the judge; the one that is picked on the run where None.
    shown
        False takes it back.

    Returns
    -------
    dict
        ``grader, n_rows`` (of the file), ``changed``, ``unmatched``, ``unmatched_keys`` (the
        first ten), ``n_shown`` rows and ``n_tasks`` that are now outside this judge's estimates.

    Raises
    ------
    NotFoundError
        No such run, or no such judge on it.
    RefusedError
        No row of the file is of this run; nothing was marked.
    """
    found = store.run(run)
    by_id = {each["id"]: each for each in found["graders"]}
    named = [each for each in found["graders"] if each["name"] == grader]
    picked = named[0] if named else by_id.get(found["grader_id"]) if grader is None else None
    if picked is None:
        names = ", ".join(each["name"] for each in found["graders"]) or "none"
        raise NotFoundError(
            f"No judge {grader or 'is picked'} on {found['name']}. Judges: {names}."
        )
    opened = load.open_source(source)
    mapping = mapping or opened.sniff(SNIFFED).mapping
    ids = store.ids_by_identity(run)
    tasks = dict(zip(*store.tasks_of(run), strict=True))
    by_task: dict[str, list[int]] = {}
    for row_id, task in tasks.items():
        by_task.setdefault(task, []).append(row_id)
    marked: dict[int, None] = {}
    unmatched, n = [], 0
    for record in opened.records(mapping):
        n += 1
        identity = load.key_of(record.row) or rows.identity(record.row)
        there = ids.get(identity) or by_task.get(identity) or by_task.get(rows.task_key(record.row))
        if there:
            marked.update(dict.fromkeys(there))
        else:
            unmatched.append(identity)
    if not marked:
        first = unmatched[0] if unmatched else "-"
        raise RefusedError(
            f"{opened.name}: none of its {n} rows is a rollout or a task of {found['name']}. Its "
            f"first key: {first}; the run's: {next(iter(ids), '-')}."
        )
    changed = store.mark_shown(run, picked["id"], list(marked), shown, by)
    out = {tasks[row_id] for row_id in store.shown_rows(run, picked["id"])}
    return {
        "grader": picked["name"],
        "n_rows": n,
        "changed": changed,
        "unmatched": len(unmatched),
        "unmatched_keys": unmatched[:10],
        "n_shown": sum(len(by_task[task]) for task in out),
        "n_tasks": len(out),
    }
