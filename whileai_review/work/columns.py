"""Columns of a run as arrays, kept in the process: rows never change, and what is said of them
has a revision.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from whileai_review.store import Store, field_text, open_store
from whileai_review.work import pool

KEPT_BYTES = 256 * 1024 * 1024
"""Of columns kept between two questions."""


def place_of(store: Store) -> tuple[Any, ...]:
    """The file itself, so that a new one in its place is another."""
    stat = store.path.stat()
    return str(store.path), stat.st_dev, stat.st_ino


_kept: OrderedDict[tuple, dict[str, Any]] = OrderedDict()
_lock = threading.Lock()


def column_of(store: Store, run_id: int, kind: str, of: str = "") -> dict[str, Any]:
    """One column of a run as arrays in the order of the file, not to be changed.

    =========  =====================  ==============================================
    `kind`     `of`                   keys
    =========  =====================  ==============================================
    ids                               ``ids``
    task                              ``codes``, ``number`` (task -> code)
    field      its name               ``codes``, ``names``, ``number`` (NaN for none)
    verdict    grader id/criterion    ``codes``: 0 pass, 1 fail, 2 none
    label      criterion              row ids under ``pass fail unclear any``
    =========  =====================  ==============================================
    """
    revision = {
        "verdict": lambda: store.verdict_revision(run_id),
        "label": lambda: store.label_revision(run_id, of),
    }.get(kind, lambda: 0)()
    key = (*place_of(store), run_id, kind, of, revision)
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
