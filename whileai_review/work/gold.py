"""Which labels are the gold of a run, and what they make of each row.

Gold is one kind (human, program, model) or one named import, on one criterion. It is derived
by `attach_labels` wherever labels are read, so that file, page and Python agree by
construction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from whileai_review.score.labels import attach_labels
from whileai_review.store import ESTIMATING, Store

IMPORT = "file:"
"""Start of the annotator's name under which a column or file of labels is kept."""

_ZERO_ONE = {"pass": 1, "fail": 0}
_ENTRY = ("label", "annotator", "kind", "ts")
"""Keys of an entry of ``gold_labels``, in the order of `attach_labels`."""


class GoldLabels(NamedTuple):
    """The labels that one gold is made of, and what stays out of it.

    Attributes
    ----------
    records : dict
        Row id -> records for `attach_labels`: key (the row's id in the store), label,
        annotator, kind, ts.
    chosen : dict
        Row id -> how the row was chosen, of the rows in `records`.
    chances : dict
        Row id -> the chance with which it was drawn; None where nobody knows. Of unclear rows too.
    queues : dict
        Row id -> the queue that its label was given in; None for a label from elsewhere. Of
        unclear rows too.
    unclear : dict
        Row id -> how it was chosen, of drawn rows that were answered "can't tell".
    picked, unblinded : set of int
        Rows picked because something looked wrong, or drawn with a chance that nobody knows;
        answered after the judge or another label was seen, whatever the answer. Neither these
        nor the unclear ones are in `records`.
    """

    records: dict[int, list[dict]]
    chosen: dict[int, str]
    chances: dict[int, float | None]
    queues: dict[int, int | None]
    unclear: dict[int, str]
    picked: set[int]
    unblinded: set[int]


def belongs(gold: str, annotator: str, kind: str) -> bool:
    """Whether a label is part of this gold. An import is a gold of its own, by name.

    Examples
    --------
    >>> belongs("human", "ana", "human"), belongs("human", "file:old.csv", "human")
    (True, False)
    """
    if annotator.startswith(IMPORT):
        return gold == annotator
    return gold == kind


def golds(store: Store, run: int | str, criterion: str) -> list[str]:
    """The golds that a run has on a criterion, most labels first."""
    counts: dict[str, int] = {}
    for line in store.label_counts(run, criterion):
        annotator = line["annotator"]
        name = annotator if annotator.startswith(IMPORT) else line["kind"]
        counts[name] = counts.get(name, 0) + line["n"]
    return sorted(counts, key=lambda name: (-counts[name], name))


def gold_labels(store: Store, run: int | str, gold: str | None, criterion: str) -> GoldLabels:
    """The labels of one gold that may enter an estimate, and those that may not."""
    found = GoldLabels({}, {}, {}, {}, {}, set(), set())
    if gold is not None:
        sort_labels(found, store.gold_labels(run, criterion), gold)
    return found


def sort_labels(found: GoldLabels, labels: Iterable[tuple[Any, ...]], gold: str) -> None:
    """Put labels, as `Store.gold_labels` has them, where they belong in `found`."""
    for label in labels:
        row_id, verdict, annotator, kind, ts, chosen, unblinded_at, _, chance, queue = label
        if not belongs(gold, annotator, kind):
            continue
        if unblinded_at is not None:
            found.unblinded.add(row_id)
        elif chosen not in ESTIMATING or _unweighable(chosen, chance, queue):
            found.picked.add(row_id)
        elif verdict not in _ZERO_ONE:
            found.unclear[row_id] = chosen
            found.chances.setdefault(row_id, chance)
            found.queues.setdefault(row_id, queue)
        else:
            found.chosen[row_id], found.chances[row_id] = chosen, chance
            found.queues[row_id] = queue
            found.records.setdefault(row_id, []).append(
                {
                    "key": str(row_id),
                    "label": _ZERO_ONE[verdict],
                    "annotator": annotator,
                    "kind": kind,
                    "ts": ts,
                }
            )


def forget_rows(found: GoldLabels, rows: Iterable[int]) -> None:
    """Take the labels of these rows out of `found`."""
    for row_id in rows:
        for by_row in (found.records, found.chosen, found.chances, found.queues, found.unclear):
            by_row.pop(row_id, None)  # type: ignore[attr-defined]
        for some in (found.picked, found.unblinded):
            some.discard(row_id)


def _unweighable(chosen: str, chance: float | None, queue: int | None) -> bool:
    """Whether a label was drawn with unequal chances and nobody here knows which.

    A label from a file or another run may say how its row was drawn; without the draw itself
    only its chance can weigh it, and rows of one group stand for no others.
    """
    if queue is not None:
        return False
    known = chance is not None and 0 < chance <= 1
    return chosen == "group" or (chosen == "stratified" and not known)


def attach(rows: Sequence[dict], records: Iterable[dict]) -> dict[str, Any]:
    """Attach gold to rows that carry their store id as ``rollout_id``; the spec's report."""
    return attach_labels(rows, list(records))[1]


def gold_of_labels(labels: GoldLabels) -> dict[int, dict]:
    """Row id -> its gold, of every row in `labels`."""
    return gold_by_row([record for of_row in labels.records.values() for record in of_row])


def gold_by_row(records: Sequence[dict]) -> dict[int, dict]:
    """Row id -> a dict with gold_reward, gold_kind and gold_labels, as `attach_labels` has it.

    A row with one label, as most have, has that one as its gold; only the others need a vote.
    """
    counts = Counter(record["key"] for record in records)
    found: dict[int, dict] = {}
    shared = []
    for record in records:
        if counts[key := record["key"]] > 1:
            shared.append(record)
            continue
        label = {name: record[name] for name in _ENTRY}
        found[int(key)] = {
            "rollout_id": key,
            "gold_labels": [label],
            "gold_reward": label["label"],
            "gold_kind": label["kind"],
        }
    rows = [{"rollout_id": key} for key, n in counts.items() if n > 1]
    if rows:
        attach(rows, shared)
    return found | {int(row["rollout_id"]): row for row in rows}


def gold_of_row(store: Store, row_id: int, gold: str | None, criterion: str) -> dict:
    """The gold of one row and who gave it: ``label`` (0, 1, None) and ``by`` (its labels).

    Picked and unblinded labels are shown too, since a reader wants to see them.
    """
    by = [
        line
        for line in store.labels_of(row_id, criterion)
        if gold is not None and belongs(gold, line["annotator"], line["kind"])
    ]
    records = [
        {
            "key": str(row_id),
            "label": _ZERO_ONE[line["verdict"]],
            "annotator": line["annotator"],
            "kind": line["kind"],
            "ts": line["ts"],
        }
        for line in by
        if line["verdict"] in _ZERO_ONE
    ]
    derived = gold_by_row(records).get(row_id, {})
    return {"label": derived.get("gold_reward"), "by": by}


def person_against_rule(store: Store, run: int | str, criterion: str) -> dict:
    """People's labels against the rule's on the rows that both labelled.

    Returns ``n`` (rows with both), ``table`` ((person, rule) -> rows, both 0 or 1), ``differ``
    (ids of the rows where they differ). People's labels count however their rows were chosen:
    this is no estimate of the judge.
    """
    people, rules = [], []
    for row_id, verdict, annotator, kind, ts, *_ in store.gold_labels(
        run, criterion, with_people=True
    ):
        if verdict in _ZERO_ONE and not annotator.startswith(IMPORT):
            record = {
                "key": str(row_id),
                "label": _ZERO_ONE[verdict],
                "annotator": annotator,
                "kind": kind,
                "ts": ts,
            }
            if kind == "human":
                people.append(record)
            elif kind == "program":
                rules.append(record)
    shared = {r["key"] for r in people} & {r["key"] for r in rules}
    person = gold_by_row([r for r in people if r["key"] in shared])
    rule = gold_by_row([r for r in rules if r["key"] in shared])
    table = {(p, r): 0 for p in (1, 0) for r in (1, 0)}
    differ = []
    for row_id, row in person.items():
        said, ruled = row.get("gold_reward"), rule[row_id].get("gold_reward")
        if said is None or ruled is None:
            continue
        table[said, ruled] += 1
        if said != ruled:
            differ.append(row_id)
    return {"n": sum(table.values()), "table": table, "differ": sorted(differ)}
