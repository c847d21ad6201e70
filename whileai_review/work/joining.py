"""Verdicts of another judge, from a file, onto a run that is loaded."""

from __future__ import annotations

from typing import Any

from whileai_review import load, rows
from whileai_review.store import Store
from whileai_review.work._columns import SNIFFED


def join_verdicts(
    store: Store, run: int | str, grader: str, source: Any, mapping: load.Mapping | None = None
) -> dict:
    """Put the verdicts of a file on a loaded run, by identity, as those of `grader`.

    Returns ``n_rows, matched, unmatched, conflicting`` (the same rollout twice with different
    verdicts, or a name that several rows of the run share: neither is taken), ``no_verdict``,
    ``unmatched_keys`` (the first ten) and ``grader_id``.

    Raises
    ------
    UnreadableError
        The file holds no verdict column, or no rollout of this run.
    """
    opened = load.open_source(source)
    mapping = mapping or opened.sniff(SNIFFED).mapping
    keys = mapping.verdict_keys("reward")
    if not keys:
        raise load.UnreadableError(
            f"{opened.name}: no verdict column; name it with --map reward=COLUMN."
        )
    ids = store.ids_by_identity(run)
    by_task: dict[str, list[int]] = {}
    for row_id, task in zip(*store.tasks_of(run), strict=True):
        by_task.setdefault(task, []).append(row_id)
    found: dict[tuple[int, str], tuple] = {}
    conflicts: set[str] = set()
    unmatched: list[str] = []
    n = no_verdict = 0
    for record in opened.records(mapping):
        n += 1
        identity = load.key_of(record.row) or rows.identity(record.row)
        there = ids.get(identity) or by_task.get(identity, [])
        if len(there) != 1:
            (conflicts.add if there else unmatched.append)(identity)
            continue
        for criterion, key in keys.items():
            value = record.row.get(key)
            if value is None or not rows.is_number(value):
                no_verdict += 1
                continue
            reason = record.row.get("reason")
            line = (there[0], criterion, rows.verdict(value), float(value),
                    None if reason is None else rows.as_text(reason))  # fmt: skip
            if found.setdefault((there[0], criterion), line)[2:4] != line[2:4]:
                conflicts.add(identity)
    if not found and no_verdict:
        raise load.UnreadableError(
            f"{opened.name}: no verdict in {', '.join(mapping.keys[k] for k in keys.values())}; "
            "say what its values mean with --map reward=COLUMN:WORD=1,WORD=0."
        )
    if not found and len(unmatched) == n:
        raise load.UnreadableError(
            f"{opened.name}: none of its {n} rows is a rollout of {store.run(run)['name']}. "
            f"Its first key: {unmatched[0] if unmatched else '-'}; the run's: {next(iter(ids), '-')}."
        )
    bad = {there[0] for i in conflicts if len(there := ids.get(i) or by_task[i]) == 1}
    kept = [line for (row_id, _), line in found.items() if row_id not in bad]
    number = store.add_verdicts(run, grader, kept)
    matched = len({line[0] for line in kept})
    return {
        "n_rows": n,
        "matched": matched,
        "unmatched": len(unmatched),
        "conflicting": len(conflicts),
        "no_verdict": no_verdict,
        "unmatched_keys": unmatched[:10],
        "n_refused": len(opened.refused),
        "grader_id": number,
    }
