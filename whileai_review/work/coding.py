"""What the codes of a run say: how common each is, where, and whether reading brings new ones.

A row counts once for a code, however many notes on it have it. Shares are of reviewed rows,
with an interval that knows tasks; of rows that were picked to be read they say nothing about
the run, and are marked so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from whileai_review import __version__
from whileai_review.score._columns import codes as numbered
from whileai_review.score.agreement import task_share
from whileai_review.store import ESTIMATING, Note, Store, open_store
from whileai_review.work import pool
from whileai_review.work.columns import column_of

LAST_ROWS = 20
"""Coded rows at the end of which new codes are counted: reading may stop when they bring none."""


def code_counts(store: Store, run: int | str, drawn: bool = False) -> dict:
    """How common is each code among the rows of a run that people reviewed?

    Parameters
    ----------
    drawn
        Only rows that were drawn (at random, one a task, of a group, all) and answered blind:
        of them a share is an estimate. Rows that were only read were picked to be read.

    Returns
    -------
    dict
        ``n`` reviewed rows and ``n_tasks``, ``n_drawn`` of all reviewed ones; ``n_notes`` and
        ``n_open``, the notes without a code and rows with one of these (``n_open_rows``);
        ``codes``, most rows first, each with ``id, name, k`` and ``value ci95 ci95_tasks n
        n_tasks deff`` of `task_share`; and ``saturation`` (see `saturation`).
    """
    run_id = store.run(run)["id"]
    return orjson.loads(_stored(store, run_id, drawn, None, None))


def code_slices(
    store: Store, run: int | str, code_id: int, field: str, drawn: bool = False
) -> list[dict]:
    """One code by the values of a field that was named in advance, most rows with it first.

    Each is a dict with the field's ``value``, ``k`` rows with the code and ``share, ci95,
    ci95_tasks, n, n_tasks`` of its reviewed rows.
    """
    run_id = store.run(run)["id"]
    return orjson.loads(_stored(store, run_id, drawn, code_id, field))


def saturation(found: Sequence[Iterable[int]], tasks: Sequence[Any], last: int = LAST_ROWS) -> dict:
    """How many codes that no row before had did the last rows bring?

    Parameters
    ----------
    found
        The codes of each coded row, in the order in which the rows were reviewed.
    tasks
        The task of each.

    Returns
    -------
    dict
        ``n_rows`` coded rows, ``n_codes``, ``last`` (rows looked at, fewer when there are no
        more), ``new`` codes in them, ``once`` (codes that one row has), and ``bringing``: the
        share of these last rows that brought one, as `task_share` gives it. None of 20 still
        allows for 16%.

    References
    ----------
    Guest, Bunce & Johnson (2006), Field Methods 18, 59-82: saturation as the codes that the
    last interviews add.
    """
    seen: set[int] = set()
    new: list[int] = []
    rows_with: dict[int, int] = {}
    for codes in found:
        mine = set(codes)
        new.append(len(mine - seen))
        seen |= mine
        for code in mine:
            rows_with[code] = rows_with.get(code, 0) + 1
    at_end = new[-last:] if last else []
    _, task = numbered(list(tasks[-last:] if last else []))
    n_tasks = int(task.max()) + 1 if len(task) else 0
    brought = np.array(at_end, dtype=np.int64) > 0
    return {
        "n_rows": len(new),
        "n_codes": len(seen),
        "last": len(at_end),
        "new": sum(at_end),
        "once": sum(n == 1 for n in rows_with.values()),
        "bringing": {"k": int(brought.sum())}
        | task_share(
            np.bincount(task[brought], minlength=n_tasks), np.bincount(task, minlength=n_tasks)
        ),
    }


def note_list(
    store: Store,
    run: int | str,
    code: int | str | None = None,
    text: str | None = None,
    field: str | None = None,
    value: str | None = None,
) -> list[dict]:
    """The notes of a run that meet all of this, oldest first; as `Store.notes` gives them.

    Parameters
    ----------
    code
        A code's id, or ``"none"`` for notes without a code; None for all.
    text
        Contained in the note, in whatever case (letters beyond ASCII as they are written).
    field, value
        Only rows whose short field reads as this.
    """
    found = store.notes(run, text)
    if code == "none":
        found = [each for each in found if not each["code_ids"]]
    elif code is not None:
        found = [each for each in found if code in each["code_ids"]]
    return _of_group(store, run, found, field, value)


def reason_list(
    store: Store, run: int | str, field: str | None = None, value: str | None = None
) -> list[dict]:
    """Reviewed rows that nobody noted anything on, oldest first, as notes of their rows.

    What the judge gave as its reason can be read there, and a code given to the row.
    """
    notes = store.notes(run)
    noted = {each["row_id"] for each in notes if each["note"][0] == "label"}
    by_row = {each["row_id"]: each for each in notes if each["note"][0] == "row"}
    rows = sorted(store.reviewed_rows(run), key=lambda line: (line[1], line[0]))
    found = [
        by_row.get(row_id)
        or {"note": ("row", row_id), "row_id": row_id, "at": at, "code_ids": list[int]()}
        for row_id, at, _ in rows
        if row_id not in noted
    ]
    return _of_group(store, run, found, field, value)


def _of_group(
    store: Store, run: int | str, found: list[dict], field: str | None, value: str | None
) -> list[dict]:
    if field is None or value is None or not found:
        return found
    run_id = store.run(run)["id"]
    column = column_of(store, run_id, "field", field)
    if value not in column["names"]:
        return []
    at = _places(store, run_id, [each["row_id"] for each in found])
    kept = column["codes"][at] == column["names"].index(value)
    return [each for each, keep in zip(found, kept, strict=True) if keep]


def note_key(note: Note) -> str:
    """A note as text, for the key of a widget.

    Examples
    --------
    >>> note_key(("label", 12)), note_of("label12")
    ('label12', ('label', 12))
    """
    return f"{note[0]}{note[1]}"


def note_of(key: str) -> Note:
    """The note that :func:`note_key` wrote."""
    kind = "label" if key.startswith("label") else "row"
    return kind, int(key.removeprefix(kind))


def _stored(
    store: Store, run_id: int, drawn: bool, code_id: int | None, field: str | None
) -> bytes:
    revision = f"{store.code_revision(run_id)} {__version__}"
    kind = "codes" if field is None else "code slices"
    params = orjson.dumps([drawn, code_id, field]).decode()
    at = (run_id, kind, 0, "", "")
    kept = store.report(*at, params=params)
    if kept is not None and kept["revision"] == revision:
        return kept["body"]
    asked = (str(store.path), revision, run_id, drawn, code_id, field)
    if store.run(run_id)["n_rows"] > pool.ROWS:
        return pool.run(_compute, *asked)
    return _computed(store, *asked[1:])


def _compute(path: str, *asked: Any) -> bytes:
    with open_store(path, create=False) as store:
        return _computed(store, *asked)


def _computed(
    store: Store,
    revision: str,
    run_id: int,
    drawn: bool,
    code_id: int | None,
    field: str | None,
) -> bytes:
    found = (
        _counts(store, run_id, drawn)
        if code_id is None or field is None
        else _slices(store, run_id, drawn, code_id, field)
    )
    body = orjson.dumps(found)
    kind = "codes" if field is None else "code slices"
    params = orjson.dumps([drawn, code_id, field]).decode()
    store.put_report(run_id, kind, 0, "", "", revision, body, params=params)
    return body


def _counts(store: Store, run_id: int, drawn: bool) -> dict:
    reviewed = store.reviewed_rows(run_id)
    counted = [line[0] for line in reviewed if not drawn or line[2] in ESTIMATING]
    place = {row_id: n for n, row_id in enumerate(counted)}
    task, n_tasks = _tasks(store, run_id, counted)
    sizes = np.bincount(task, minlength=n_tasks)
    by_code: dict[int, list[int]] = {}
    by_row: dict[int, list[int]] = {}
    notes = store.notes(run_id)
    for row_id, code in sorted({(e["row_id"], code) for e in notes for code in e["code_ids"]}):
        by_row.setdefault(row_id, []).append(code)
        rows = by_code.setdefault(code, [])
        if row_id in place:
            rows.append(place[row_id])
    names = {code["id"]: code["name"] for code in store.codes()}
    lines = [
        {"id": code, "name": names[code], "k": len(rows)}
        | task_share(np.bincount(task[rows], minlength=n_tasks), sizes)
        for code, rows in by_code.items()
    ]
    lines.sort(key=lambda line: (-line["k"], line["name"]))
    open_rows = {each["row_id"] for each in notes if not each["code_ids"]}
    when = {row_id: at for row_id, at, _ in reviewed}
    order = sorted(by_row, key=lambda row_id: (when.get(row_id, ""), row_id))
    return {
        "n": len(counted),
        "n_tasks": n_tasks,
        "n_reviewed": len(reviewed),
        "n_drawn": sum(how in ESTIMATING for _, _, how in reviewed),
        "n_notes": len(notes),
        "n_open": sum(not each["code_ids"] for each in notes),
        "n_open_rows": len(open_rows & place.keys()),
        "codes": lines,
        "saturation": saturation(
            [by_row[row_id] for row_id in order], _tasks(store, run_id, order)[0].tolist()
        ),
    }


def _slices(store: Store, run_id: int, drawn: bool, code_id: int, field: str) -> list[dict]:
    reviewed = store.reviewed_rows(run_id)
    counted = [line[0] for line in reviewed if not drawn or line[2] in ESTIMATING]
    column = column_of(store, run_id, "field", field)
    value_of = column["codes"][_places(store, run_id, counted)]
    task, _ = _tasks(store, run_id, counted)
    having = {row_id for row_id, code in store.coded_rows(run_id) if code == code_id}
    has = np.array([row_id in having for row_id in counted], dtype=bool)
    lines = []
    for value in np.unique(value_of):
        mine = value_of == value
        there, of = np.unique(task[mine], return_inverse=True)
        with_it = np.bincount(of[has[mine]], minlength=len(there))
        share = task_share(with_it, np.bincount(of))
        lines.append(
            {"value": column["names"][value], "k": int((has & mine).sum()), "share": share["value"]}
            | _rest(share)
        )
    return sorted(lines, key=lambda line: (-line["k"], line["value"]))


def _rest(share: Mapping[str, Any]) -> dict[str, Any]:
    return {name: share[name] for name in ("ci95", "ci95_tasks", "n", "n_tasks")}


def _places(store: Store, run_id: int, row_ids: Sequence[int]) -> np.ndarray:
    """Where these rows stand in the columns of their run."""
    ids = column_of(store, run_id, "ids")["ids"]
    return np.searchsorted(ids, np.asarray(row_ids, dtype=np.int64))


def _tasks(store: Store, run_id: int, row_ids: Sequence[int]) -> tuple[np.ndarray, int]:
    """The task of each row, from 0, and how many there are."""
    task = column_of(store, run_id, "task")["codes"][_places(store, run_id, row_ids)]
    found, number = np.unique(task, return_inverse=True)
    return number, len(found)
