"""Find rows: by what is said in them, what is known about them, and both."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from whileai_review.store import RefusedError, Store
from whileai_review.store.search import match_own, match_words
from whileai_review.work.columns import column_of
from whileai_review.work.measuring import BOTH, CELLS, cell_rows, measured_as
from whileai_review.work.searching import index_text

PAGE = 100
"""Rows of a page."""

HITS = 20_000
"""Hits of a search that are counted; of more, "at least" is said."""

LOOKED = 5 * HITS
"""Hits that are looked at for the sake of the count; further ones only to fill the page."""

NOTE_HITS = 100_000
"""Notes and reasons of files that a search looks at."""

VERDICTS = ("pass", "fail", "none")
LABELS = ("any", "none", "pass", "fail", "unclear")
FLAGS = ("read", "unread", "bad_data", "note")

_WHERE = re.compile(r"(.*?)(>=|<=|=)(.*)", re.DOTALL)

TELLING = frozenset(
    "accept accepted annotation annotator approved correct gold grade grader human judge "
    "judgement judgment label labels pass passed rating reward score success verdict".split()
)
"""Words in the name of a column that may hold a judge's or a person's opinion of the row."""


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
    own_words: int = 0
    """Such rows in which a search looked at what the rollout itself says, at no reason or note."""


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
        what the judge or others say of it, and a search finds them by their own words alone.

    Raises
    ------
    RefusedError
        A filter that says nothing: an unknown word, a field that the run lacks, a search
        without a word in it.
    """
    key = measured_as(store, run, grader, gold, criterion)
    run_id = key[0]
    ids = column_of(store, run_id, "ids")["ids"]
    mask = _mask(store, key, filters, ids)
    waiting: set[int] = set()
    telling = any((filters.cell, filters.verdict, filters.label, filters.cause))
    telling = telling or any(map(_tells, filters.where))
    searches = bool(filters.text.strip())
    if reader is not None and (telling or searches):
        waiting = store.still_to_label(reader, run_id)
        if telling and waiting and mask is not None:
            mask &= ~_of(ids, waiting)
    hidden = _of(ids, waiting) if waiting else None
    if not searches:
        places = np.arange(len(ids)) if mask is None else np.flatnonzero(mask)
        exact = True
    else:
        wanted = None if by_task else page * size
        places, exact = _hits(store, run_id, filters.text, ids, mask, wanted, hidden)
    if by_task:
        task = column_of(store, run_id, "task")["codes"]
        places = places[np.argsort(task[places], kind="stable")]
    last = max(1, -(-len(places) // size))  # a page behind the last one is the last one
    start = (min(max(1, page), last) - 1) * size
    return Found(
        ids[places[start : start + size]].tolist(),
        len(places),
        exact,
        len(waiting) if telling else 0,
        len(waiting) if searches and not telling else 0,
    )


def task_rows(store: Store, row_id: int, limit: int = 100) -> list[int]:
    """The rollouts of a row's task in its run, this row among them, in the order of the file."""
    row = store.row(row_id)
    ids = column_of(store, row["run_id"], "ids")["ids"]
    task = column_of(store, row["run_id"], "task")["codes"]
    of = task[np.searchsorted(ids, row_id)]
    return ids[np.flatnonzero(task == of)[:limit]].tolist()


def columns_of(store: Store, run: int | str) -> dict[str, dict]:
    """The columns that a row can be filtered by: name -> ``kind``, ``values`` or ``low, high``.

    ``values`` are (text, rows), most frequent first.
    """
    found = store.run(run)
    known: dict[str, dict] = {}
    for field in found["fields"]:
        column = column_of(store, found["id"], "field", field["name"])
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
        if not grader or not gold:  # an empty list would read as a judge without a fault
            lacks = "judge" if not grader else f"gold on {criterion!r}"
            raise RefusedError(f"This run has no {lacks}, so no row is in a cell of the confusion.")
        masks.append(
            _of(
                ids, cell_rows(store, run_id, grader or None, gold or None, criterion, filters.cell)
            )
        )
    for said in filters.where:
        masks.append(_where(store, run_id, said))
    if filters.verdict is not None:
        _known("verdict", filters.verdict, VERDICTS)
        if not grader:
            raise RefusedError("This run has no judge, so no row has a verdict.")
        verdicts = column_of(store, run_id, "verdict", f"{grader}/{criterion}")["codes"]
        masks.append(verdicts == VERDICTS.index(filters.verdict))
    if filters.label is not None:
        _known("label", filters.label, LABELS)
        labels = column_of(store, run_id, "label", criterion)
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
        column = column_of(store, run_id, "task")
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
    there = [f["name"] for f in store.run(run_id)["fields"]]
    match = _read_where(said, there)
    if match is None:
        raise RefusedError(f"{said!r} is no filter: write field=value, field>=3 or field<=3.")
    field, sign, value = match.groups()
    if field not in there:
        raise RefusedError(
            f"No field {field!r} on this run. Fields: {', '.join(there[:20]) or 'none'}."
        )
    column = column_of(store, run_id, "field", field)
    if sign == "=":
        at = column["names"].index(value) if value in column["names"] else -1
        return column["codes"] == at
    try:
        bound = float(value)
    except ValueError:
        raise RefusedError(f"{value!r} is no number, so {said!r} can't be held.") from None
    with np.errstate(invalid="ignore"):
        return column["number"] >= bound if sign == ">=" else column["number"] <= bound


def _read_where(said: str, fields: list[str]) -> re.Match[str] | None:
    """Field, sign and value; a column's name may have a sign in it, so known names come first."""
    for field in sorted(fields, key=len, reverse=True):
        if said.startswith(field):
            match = re.compile(f"({re.escape(field)})(>=|<=|=)(.*)", re.DOTALL).fullmatch(said)
            if match is not None:
                return match
    return _WHERE.fullmatch(said)


def _tells(said: str) -> bool:
    """Whether the name of a filter's column says that it may hold somebody's verdict."""
    name = re.split("[<>=]", said, maxsplit=1)[0]
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+", name)
    return not TELLING.isdisjoint(part.lower() for part in parts)


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
    hidden: np.ndarray | None = None,
) -> tuple[np.ndarray, bool]:
    """Places of the rows whose text, or a note on them, matches; whether these are all.

    Of rows that are `hidden`, only what the rollout itself says is looked at: what a judge or a
    person wrote of them can't be found out word by word.

    It goes on until `wanted` rows are there, and `HITS` of them or `LOOKED` hits were looked at;
    to the end for None.
    """
    match = match_words(text)
    index_text(store, run_id)
    noted = np.flatnonzero(_of(ids, store.search_notes(run_id, match, NOTE_HITS)))
    if hidden is not None:
        own = store.search_rows(run_id, match_own(match), 0, len(ids))
        own_places = np.flatnonzero(_of(ids, own) & hidden)
        noted = np.union1d(noted[~hidden[noted]], own_places)
    if mask is not None and not mask.any():
        return np.zeros(0, dtype=np.intp), True
    parts: list[np.ndarray] = []
    n = last = looked = 0
    bite = HITS
    done = False
    while not done and (wanted is None or n < wanted or (n < HITS and looked < LOOKED)):
        rows = store.search_rows(run_id, match, last, bite)
        done = len(rows) < bite
        if not len(rows):
            break
        last = int(rows[-1])
        looked += len(rows)
        bite *= 4  # a search of word beginnings walks to `last` anew each time
        places = np.searchsorted(ids, rows)
        if hidden is not None:
            places = places[~hidden[places]]
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
