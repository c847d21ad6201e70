"""Where does the judge leak, in any short field? Found by sorting, and corrected for it.

A slice that was named in advance is `slices`: it gets its plain interval. Here are those that
nobody named: the worst of many is bad by chance alone (`score.slices`).
"""

from __future__ import annotations

import numpy as np
import orjson

from whileai_review.score.slices import FoundSlices, find_slices
from whileai_review.store import Store
from whileai_review.work.certificates import first_field
from whileai_review.work.measuring import CELLS, Key, kept_beside, measured_as, stored_cells

FEWEST, MOST = 2, 50
"""Values of a field that is searched."""

KIND = "found_slices"

UNWEIGHTED = (
    "labels were drawn with unequal chances: these are counts and shares of the labelled rows, not "
    "weighted for the run; a slice named in advance has weighted ones"
)


def found_slices(
    store: Store,
    run: int | str,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
) -> FoundSlices:
    """Search every short field of the run that has 2 to 50 values for the worst slices.

    Parameters
    ----------
    run, grader, gold, criterion
        As for `trust`.

    Returns
    -------
    FoundSlices
        With ``criterion``. The field that Trust slices by first (`first_field`) is named in
        advance: it is not searched.

    Raises
    ------
    NotFoundError
        No such run, grader, gold or criterion.
    """
    key = measured_as(store, run, grader, gold, criterion)
    return FoundSlices(kept_beside(store, KIND, key, search))


def search(store: Store, key: Key, revision: str) -> None:
    """Search the slices of a run and keep the report."""
    run_id, grader_id, gold, criterion = key
    found = store.run(run_id)
    names = [
        each["name"]
        for each in found["fields"]
        if each["kind"] == "group" and FEWEST <= (each["n_values"] or 0) <= MOST
    ]
    ids, tasks, columns = store.field_columns(run_id, names)
    cells = orjson.loads(stored_cells(store, key))
    number = np.asarray(ids, dtype=np.int64)
    at = np.concatenate([np.searchsorted(number, cells[name]) for name in CELLS]).astype(np.intp)
    cell = np.repeat(np.arange(len(CELLS)), [len(cells[name]) for name in CELLS])
    order = np.argsort(at)  # the rows in the order of the file, whatever their cells
    at, cell = at[order], cell[order]
    report = find_slices(
        cell,
        np.asarray(tasks, dtype=np.intp)[at],
        {
            name: (values, np.asarray(value_of, dtype=np.intp)[at])
            for name, (values, value_of) in columns.items()
        },
        first_field(
            found,
            lambda name: columns[name][0] if name in columns else store.field_texts(run_id, name),
        ),
    )
    report["criterion"] = criterion
    weights = store.report(run_id, "weights", grader_id, gold, criterion)
    if weights is not None and orjson.loads(weights["body"]) is not None:
        report["warnings"].append(UNWEIGHTED)
    store.put_report(run_id, KIND, grader_id, gold, criterion, revision, orjson.dumps(report))
