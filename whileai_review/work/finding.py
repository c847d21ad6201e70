"""Find rows: by what is said in them, what is known about them, and both."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from whileai_review.store import RefusedError, Store, field_text, open_store
from whileai_review.store.search import match_words
from whileai_review.work import pool
from whileai_review.work.measuring import BOTH, CELLS, cell_rows, measured_as
from whileai_review.work.searching import index_text

PAGE = 100
"""Rows of a page."""

HITS = 20_000
"""Hits of a search that are counted; of more, "at least" is said."""

NOTE_HITS = 100_000
"""Notes and reasons of files that a search looks at."""

KEPT_BYTES = 256 * 1024 * 1024
"""Of columns kept between two questions."""

VERDICTS = ("pass", "fail", "none")
LABELS = ("any", "none", "pass", "fail", "unclear")
FLAGS = ("read", "unread", "bad_data", "note")

_WHERE = re.compile(r"(.*?)(>=|<=|=)(.*)", re.DOTALL)


class Filters(NamedTuple):
    """What a row must be; every part that is given holds at once."""

    text: str = ""
    """A search, see `store.search.match_words`."""
    cell: str | None = None
    """Of the confusion: tp, fp, fn, tn, disagree, agree."""
    where: tuple[str, ...] = ()
    """``field=value``, ``field>=number``, ``field<=number``."""
    verdict: str | None = None
    """Of the picked judge: pass, fail, none."""
    label: str | None = None
    """By people, on the picked criterion: any, none, pass, fail, unclear."""
    flag: str | None = None
    """read, unread, bad_data, note."""
    cause: str | None = None
    """A code that was given to the row."""
    task: str | None = None


class Found(NamedTuple):
    """A page of the rows that were found."""

    ids: list[int]
    total: int
    exact: bool
    """False: there are more than `total`, not counted."""
    left_out: int = 0
    """Rows that wait for the reader's own label, kept out of a list that would tell them apart."""


def find_rows(
    store: Store,
    run: int | str,
    filters: Filters = Filters(),  # noqa: B008 - it can't change
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
    page: int = 1,
    size: int = PAGE,
    by_task: bool = False,
    reader: str | None = None,
) -> Found:
    """Find the rows of a run that meet every filter, a page at a time, in the order of the file.

    Parameters
    ----------
    run, grader, gold, criterion
        As in `trust`; judge and gold say what a cell is.
    by_task
        Rollouts of a task together, tasks in the order of their first row.
    reader
        Who looks: rows that wait for their own label are left out where a filter gives away
        what the judge or others say of it.

    Raises
    ------
    RefusedError
        A filter that says nothing: an unknown word, a field that the run lacks, a search
        without a word in it.
    """
    key = measured_as(store, run, grader, gold, criterion)
    run_id = key[0]
    ids = _column(store, run_id, "ids", "")["ids"]
    mask = _mask(store, key, filters, ids)
    waiting: set[int] = set()
    if reader is not None and any((filters.cell, filters.verdict, filters.label, filters.cause)):
        waiting = store.still_to_label(reader, run_id)
        if waiting and mask is not None:
            mask &= ~_of(ids, waiting)
    if not filters.text.strip():
        places = np.arange(len(ids)) if mask is None else np.flatnonzero(mask)
        exact = True
    else:
        wanted = None if by_task else page * size
        places, exact = _hits(store, run_id, filters.text, ids, mask, wanted)
    if by_task:
        task = _column(store, run_id, "task", "")["codes"]
        places = places[np.argsort(task[places], kind="stable")]
    last = max(1, -(-len(places) // size))  # a page behind the last one is the last one
    start = (min(max(1, page), last) - 1) * size
    return Found(ids[places[start : start + size]].tolist(), len(places), exact, len(waiting))


def task_rows(store: Store, row_id: int, limit: int = 100) -> list[int]:
    """The rollouts of a row's task in its run, this row among them, in the order of the file."""
    row = store.row(row_id)
    ids = _column(store, row["run_id"], "ids", "")["ids"]
    task = _column(store, row["run_id"], "task", "")["codes"]
    of = task[np.searchsorted(ids, row_id)]
    return ids[np.flatnonzero(task == of)[:limit]].tolist()


def columns_of(store: Store, run: int | str) -> dict[str, dict]:
    """The columns that a row can be filtered by: name -> ``kind``, ``values`` or ``low, high``.

    ``values`` are (text, rows), most frequent first.
    """
    found = store.run(run)
    known: dict[str, dict] = {}
    for field in found["fields"]:
        column = _column(store, found["id"], "field", field["name"])
        if field["kind"] == "group":
            counts = np.bincount(column["codes"], minlength=len(column["names"]))
            order = np.argsort(-counts, kind="stable")
            values = [(column["names"][i], int(counts[i])) for i in order]
            known[field["name"]] = {"kind": "group", "values": values}
        else:
            number = column["number"][np.isfinite(column["number"])]
            if len(number):
                low, high = float(number.min()), float(number.max())
                known[field["name"]] = {"kind": "metric", "low": low, "high": high}
    return known


def _mask(store: Store, key: tuple, filters: Filters, ids: np.ndarray) -> np.ndarray | None:
    run_id, grader, gold, criterion = key
    masks = []
    if filters.cell is not None:
        if filters.cell not in (*CELLS, *BOTH):
            raise RefusedError(f"No cell {filters.cell!r}: there are {', '.join([*CELLS, *BOTH])}.")
        masks.append(
            _of(
                ids, cell_rows(store, run_id, grader or None, gold or None, criterion, filters.cell)
            )
        )
    for said in filters.where:
        masks.append(_where(store, run_id, said))
    if filters.verdict is not None:
        _known("verdict", filters.verdict, VERDICTS)
        verdicts = _column(store, run_id, "verdict", f"{grader}/{criterion}")["codes"]
        masks.append(verdicts == VERDICTS.index(filters.verdict))
    if filters.label is not None:
        _known("label", filters.label, LABELS)
        labels = _column(store, run_id, "label", criterion)
        if filters.label in ("any", "none"):
            masks.append(_of(ids, labels["any"]) == (filters.label == "any"))
        else:
            masks.append(_of(ids, labels[filters.label]))
    if filters.flag is not None:
        masks.append(_flag(store, run_id, filters.flag, ids))
    if filters.cause is not None:
        rows = [f["row_id"] for f in store.findings(run_id) if f["code"] == filters.cause]
        masks.append(_of(ids, rows))
    if filters.task is not None:
        column = _column(store, run_id, "task", "")
        masks.append(column["codes"] == column["number"].get(filters.task, -1))
    return np.logical_and.reduce(masks) if masks else None


def _known(what: str, said: str, there: tuple[str, ...]) -> None:
    if said not in there:
        raise RefusedError(f"No {what} {said!r}: there are {', '.join(there)}.")


def _of(ids: np.ndarray, rows: Any) -> np.ndarray:
    mask = np.zeros(len(ids), dtype=bool)
    if len(rows) and len(ids):
        number = np.asarray(list(rows), dtype=np.int64)
        places = np.minimum(np.searchsorted(ids, number), len(ids) - 1)
        mask[places[ids[places] == number]] = True
    return mask


def _where(store: Store, run_id: int, said: str) -> np.ndarray:
    match = _WHERE.fullmatch(said)
    if match is None:
        raise RefusedError(f"{said!r} is no filter: write field=value, field>=3 or field<=3.")
    field, sign, value = match.groups()
    there = [f["name"] for f in store.run(run_id)["fields"]]
    if field not in there:
        raise RefusedError(
            f"No field {field!r} on this run. Fields: {', '.join(there[:20]) or 'none'}."
        )
    column = _column(store, run_id, "field", field)
    if sign == "=":
        at = column["names"].index(value) if value in column["names"] else -1
        return column["codes"] == at
    try:
        bound = float(value)
    except ValueError:
        raise RefusedError(f"{value!r} is no number, so {said!r} can't be held.") from None
    with np.errstate(invalid="ignore"):
        return column["number"] >= bound if sign == ">=" else column["number"] <= bound


def _flag(store: Store, run_id: int, flag: str, ids: np.ndarray) -> np.ndarray:
    _known("flag", flag, FLAGS)
    if flag == "note":
        return _of(ids, store.rows_with_notes(run_id))
    kind = "bad_data" if flag == "bad_data" else "read"
    mask = _of(ids, [f["row_id"] for f in store.findings(run_id, kind)])
    return ~mask if flag == "unread" else mask


def _hits(
    store: Store,
    run_id: int,
    text: str,
    ids: np.ndarray,
    mask: np.ndarray | None,
    wanted: int | None,
) -> tuple[np.ndarray, bool]:
    """Places of the rows whose text, or a note on them, matches; whether these are all.

    It goes on until `wanted` rows are there and `HITS` were looked at, to the end for None.
    """
    match = match_words(text)
    index_text(store, run_id)
    noted = np.flatnonzero(_of(ids, store.search_notes(run_id, match, NOTE_HITS)))
    if mask is not None and not mask.any():
        return np.zeros(0, dtype=np.intp), True
    parts: list[np.ndarray] = []
    n = last = 0
    bite = HITS
    done = False
    while not done and (wanted is None or n < max(wanted, HITS)):
        rows = store.search_rows(run_id, match, last, bite)
        done = len(rows) < bite
        if not len(rows):
            break
        last = int(rows[-1])
        bite *= 10  # a search of word beginnings walks to `last` anew each time
        places = np.searchsorted(ids, rows)
        if mask is not None:
            places = places[mask[places]]
        parts.append(places)
        n += len(places)
    if mask is not None:
        noted = noted[mask[noted]]
    # Of notes behind the last row looked at nothing is said yet: their rows come in their order.
    if not done:
        noted = noted[ids[noted] <= last]
    places = np.unique(np.concatenate([*parts, noted])) if parts else noted
    return places.astype(np.intp), done


# ---- columns of a run, kept: rows never change, and what is said of them has a revision ----

_kept: OrderedDict[tuple, dict[str, Any]] = OrderedDict()
_lock = threading.Lock()


def _column(store: Store, run_id: int, kind: str, of: str) -> dict[str, Any]:
    revision = {
        "verdict": lambda: store.verdict_revision(run_id),
        "label": lambda: store.label_revision(run_id, of),
    }.get(kind, lambda: 0)()
    key = (str(store.path), run_id, kind, of, revision)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    if store.run(run_id)["n_rows"] > pool.ROWS:
        column = pool.run(compute_column, str(store.path), run_id, kind, of, revision)
    else:
        column = _computed(store, run_id, kind, of)
    with _lock:
        _kept[key] = column
        while len(_kept) > 1 and sum(map(_bytes, _kept.values())) > KEPT_BYTES:
            _kept.popitem(last=False)
    return column


def _bytes(column: dict[str, Any]) -> int:
    return sum(
        part.nbytes if isinstance(part, np.ndarray) else 100 * len(part) for part in column.values()
    )


def compute_column(path: str, run_id: int, kind: str, of: str, revision: int) -> dict[str, Any]:
    """One column of a run as arrays, in the pool; `revision` tells two calls apart."""
    with open_store(path, create=False) as store:
        return _computed(store, run_id, kind, of)


def _computed(store: Store, run_id: int, kind: str, of: str) -> dict[str, Any]:
    if kind == "ids":
        return {"ids": np.asarray(store.tasks_of(run_id)[0], dtype=np.int64)}
    if kind == "task":
        codes, numbers = _codes(store.tasks_of(run_id)[1])
        return {"codes": codes, "number": numbers}
    if kind == "field":
        values = store.field_values(run_id, of)[1]
        codes, numbers = _codes([field_text(value) for value in values])
        number = np.array([v if type(v) in (int, float) else np.nan for v in values], dtype=float)
        return {"codes": codes, "names": list(numbers), "number": number}
    if kind == "verdict":
        grader, criterion = of.split("/", 1)
        column = store.columns(run_id, int(grader), criterion)["verdict"]
        names = {1: 0, 0: 1, None: 2}
        return {"codes": np.array([names[v] for v in column], dtype=np.int8)}
    labels = store.rows_by_label(run_id, of)
    said = {name: np.array(sorted(rows), dtype=np.int64) for name, rows in labels.items()}
    return {**said, "any": np.unique(np.concatenate([*said.values()]))}


def _codes(values: list[str]) -> tuple[np.ndarray, dict[str, int]]:
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return np.array(codes, dtype=np.int32), numbers
