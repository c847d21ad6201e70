"""What a report of the judge reads: its verdicts and the gold, kept in the process between two.

A worker that measured a run holds its columns; after a new label only the rows that it touched
are read again. What is kept is told apart by the revisions of the store, never by time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from whileai_review.score._columns import NO_VERDICT, TrustColumns, people_votes
from whileai_review.store import Store
from whileai_review.work.columns import place_of
from whileai_review.work.gold import GoldLabels, forget_rows, gold_by_row, sort_labels

KEPT = 2
"""Runs whose columns a process holds, and as many golds."""

AT_ONCE = 5_000
"""Rows touched by new labels up to which only they are read again."""


lock = threading.Lock()
"""Held by whoever measures with what is kept here: a label on top would change it under them."""


class Judged(NamedTuple):
    """The rows of a run and what one grader says of them; it changes with the verdicts only."""

    ids: list[int]
    columns: TrustColumns
    """Without gold."""


class _Gold:
    """The labels of one gold on a run, and what they make of its rows, up to a label."""

    def __init__(self, judged: Judged) -> None:
        self.judged = judged
        self.place = np.asarray(judged.ids, dtype=np.int64)
        self.clear()

    def clear(self) -> None:
        """Forget every label."""
        self.upto = 0
        self.labels = GoldLabels({}, {}, {}, {}, {}, set(), set())
        self.gold = self.judged.columns.gold.copy()
        self.kind = self.judged.columns.kind.copy()
        self.kinds: dict[str, int] = {}
        self.people: dict[int, tuple[int, int, int]] = {}

    def set(self, truth: dict[int, dict], touched: set[int]) -> None:
        """Write the gold of the touched rows; one that `truth` lacks has none."""
        rows = np.array(sorted(touched), dtype=np.int64)
        rows = rows[np.isin(rows, self.place)]
        task, gold, kind = self.judged.columns.task, self.gold, self.kind
        places = np.searchsorted(self.place, rows)
        gold[places], kind[places] = NO_VERDICT, 0
        for place, row_id in zip(places.tolist(), rows.tolist(), strict=True):
            self.people.pop(place, None)
            row = truth.get(row_id)
            if row is None:
                continue
            votes = people_votes(row)
            if votes is not None:
                self.people[place] = (int(task[place]), *votes)
            if row.get("gold_reward") is not None:
                gold[place] = row["gold_reward"]
                kind[place] = self.kinds.setdefault(row["gold_kind"], len(self.kinds))

    def columns(self) -> TrustColumns:
        """The columns with this gold, the caller's own."""
        return replace(
            self.judged.columns,
            gold=self.gold.copy(),
            kind=self.kind.copy(),
            kinds=list(self.kinds),
            people=[self.people[place] for place in sorted(self.people)],
        )


_judged: OrderedDict[tuple[Any, ...], Judged] = OrderedDict()
_golds: OrderedDict[tuple[Any, ...], _Gold] = OrderedDict()


def measured_rows(
    store: Store, key: tuple[int, int, str, str], keep: bool
) -> tuple[list[int], TrustColumns, GoldLabels]:
    """Ids of the rows of a run, their columns with gold, and its labels, not to be changed.

    Parameters
    ----------
    key
        Of `measured_as`.
    keep
        For the next report of this process; who asks so holds `lock` till the report is made.
    """
    run_id, grader_id, gold, criterion = key
    verdicts = store.verdict_revision(run_id)
    revision = store.label_revision(run_id, criterion)  # before the labels are read
    where = (*place_of(store), run_id, grader_id, criterion, verdicts)
    judged = _kept(
        _judged if keep else OrderedDict(),
        where,
        lambda: _read(store.columns(run_id, grader_id, criterion)),
    )
    found = _kept(_golds if keep else OrderedDict(), (*where, gold), lambda: _Gold(judged))
    if gold and found.upto != revision:
        touched = store.rows_labelled_since(run_id, criterion, found.upto, AT_ONCE + 1)
        if not found.upto or len(touched) > AT_ONCE:
            found.clear()
            lines = store.gold_labels(run_id, criterion)
            touched = {line[0] for line in lines}
        else:
            lines = store.gold_labels(run_id, criterion, rows=touched)
            forget_rows(found.labels, touched)
        sort_labels(found.labels, lines, gold)
        records = found.labels.records
        truth = gold_by_row([r for row in touched for r in records.get(row, ())])
        found.set(truth, touched)
        found.upto = revision
    return judged.ids, found.columns(), found.labels


def _kept(kept: OrderedDict, key: tuple[Any, ...], make: Any) -> Any:
    if key not in kept:
        kept[key] = make()
        while len(kept) > KEPT:
            kept.popitem(last=False)
    kept.move_to_end(key)
    return kept[key]


def _read(columns: dict[str, list[Any]]) -> Judged:
    tasks: dict[str, int] = {}
    names: dict[str, int] = {}
    n = len(columns["id"])
    judge = np.array([NO_VERDICT if v is None else v for v in columns["verdict"]], dtype=np.int8)
    value = np.array([np.nan if v is None else v for v in columns["value"]], dtype=float)
    signed = [
        -1 if not name else names.setdefault(name, len(names)) for name in columns["judge_name"]
    ]
    return Judged(
        columns["id"],
        TrustColumns(
            task=np.array(
                [tasks.setdefault(t, len(tasks)) for t in columns["task"]], dtype=np.intp
            ),
            tasks=list(tasks),
            judge=judge,
            fraction=np.where(judge == NO_VERDICT, value, np.nan),
            gold=np.full(n, NO_VERDICT, dtype=np.int8),
            kind=np.zeros(n, dtype=np.intp),
            kinds=[],
            chars=np.array(columns["reply_chars"], dtype=np.int64),
            judge_name=np.array(signed, dtype=np.intp),
            judge_names=list(names),
            people=[],
        ),
    )
