"""Label columns of a file: whose labels they are, and each value as a label of the store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from whileai_review import load, rows
from whileai_review.store import RefusedError, Store
from whileai_review.work.gold import IMPORT

Origins = dict[str, dict[str, str]]
GoldKeys = Iterable[tuple[str, str]]
"""(criterion, key of the row) of the label columns whose origin is known."""


def checked_origins(origins: Origins | None, mapping: load.Mapping) -> Origins:
    """Origins by our key; a column's own name is understood too."""
    ours = {theirs: key for key, theirs in mapping.keys.items() if key.startswith("gold_reward")}
    found = {}
    for key, origin in (origins or {}).items():
        if origin.get("kind") not in ("human", "program", "model"):
            raise RefusedError(
                f"Labels of {key!r} come from a human, a program or a model, "
                f"not {origin.get('kind')!r}."
            )
        key = key if key in mapping.keys else ours.get(key, key)
        if key not in mapping.keys:
            raise RefusedError(
                f"No label column {key!r} in the mapping: add --map gold_reward={key}."
            )
        found[key] = origin
    return found


def label_of(
    row_id: int, identity: str, criterion: str, value: Any, origin: dict[str, str], source: str
) -> dict | None:
    """One value as a label; None when it is neither 0 nor 1."""
    verdict = rows.verdict(value)
    if verdict is None:
        return None
    return {
        "row_id": row_id,
        "identity": identity,
        "criterion": criterion,
        "annotator": origin.get("annotator") or f"{IMPORT}{Path(source).name}",
        "kind": origin["kind"],
        "verdict": "pass" if verdict else "fail",
        "chosen": "imported",
    }


def label_loaded(
    store: Store,
    runs: Iterable[dict],
    golds: GoldKeys,
    mapping: load.Mapping,
    origins: Origins,
    source: str,
) -> dict[str, int]:
    """Label runs that were loaded before by their file's label columns; counts as `put_labels`."""
    golds = tuple(golds)
    counts = dict.fromkeys(("new", "changed", "unchanged", "withdrawn"), 0)
    keys = [key for _, key in golds]
    columns = load.Mapping(
        {key: mapping.keys[key] for key in keys},
        {key: mapping.values[key] for key in keys if key in mapping.values},
    )
    for run in runs if golds else ():
        labels = []
        for row_id, row in store.numbered_rows(run["id"]):
            read = columns.apply(row)
            for criterion, key in golds:
                if (value := read.get(key)) is not None:
                    labels.append(
                        label_of(row_id, rows.identity(row), criterion, value, origins[key], source)
                    )
        got = store.put_labels(run["id"], [label for label in labels if label])
        counts = {what: n + got[what] for what, n in counts.items()}
    return counts
