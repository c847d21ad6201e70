"""Labels from files, labels to files, labels carried from run to run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whileai_review import load, rows
from whileai_review.score.labels import attach_labels
from whileai_review.store import NotFoundError, RefusedError, Store, utc
from whileai_review.work.gold import IMPORT, gold_labels, gold_of_labels
from whileai_review.work.measuring import measured_as

_WORDS = {"pass": 1, "fail": 0}
_ABOUT = (
    "annotator", "criterion", "note", "chosen", "rule_version", "guideline_version",
    "unblinded_at",
)  # fmt: skip
_NUMBERS = ("step", "seconds", "inclusion_p")
_ON_CRITERION = ("reward:", "gold_reward:")
_BY_TEXT = ("rollout_id", "scenario_id", "rollout_index", "prompt", "final_text")


def import_labels(
    store: Store,
    run: int | str,
    source: Any,
    kind: str = "human",
    annotator: str | None = None,
    criterion: str = "overall",
    mapping: load.Mapping | None = None,
    by: str | None = None,
) -> dict:
    """Put the labels of a file on a run; the same file again changes nothing.

    Parameters
    ----------
    source
        Label rows as `attach_labels` takes them, in any format that is read.
    kind
        Who gave labels that do not say it: a human, a program or a model.
    annotator
        Name for labels that carry none; ``file:<name>`` when None.
    criterion
        Of labels that name none.

    Returns
    -------
    dict
        The report of `attach_labels` (``labels, matched, unmatched, invalid, unmatched_keys``
        ...) with ``new, changed, unchanged, unclear`` and ``n_refused``.

    Raises
    ------
    ValueError
        As `attach_labels`: no label names a row, or one names several.
    UnreadableError
        The file holds no label rows.
    """
    opened = load.open_source(source)
    if mapping is None:
        mapping = load.Mapping()
    entries = [_entry(record.row) for record in opened.records(mapping)]
    ids, targets = _targets(store, run, entries)
    # The position of a label rides along as its note, to find the whole entry again.
    records = [
        {**e["names"], "label": e["label"], "kind": e["kind"] or kind, "note": str(n)}
        for n, e in enumerate(entries)
    ]
    _, report = attach_labels(targets, records, kind=kind)
    default = annotator or f"{IMPORT}{Path(opened.name).name}"
    labels = []
    for row_id, row in zip(ids, targets, strict=True):
        for given in row.get("gold_labels", []):
            entry = entries[int(given["note"])]
            labels.append(
                {
                    "row_id": row_id,
                    "identity": row["identity"],
                    "criterion": criterion,
                    "annotator": default,
                    "chosen": "imported",
                    **entry["about"],
                    "kind": given["kind"],
                    "verdict": entry["verdict"],
                    "ts": entry["ts"],
                    "ts_original": entry["ts_original"],
                }
            )
    counts = store.put_labels(run, labels, by=by)
    unclear = sum(label["verdict"] == "unclear" for label in labels)
    return {**report, **counts, "unclear": unclear, "n_refused": len(opened.refused)}


def export_labels(
    store: Store,
    run: int | str,
    for_estimate: bool = False,
    history: bool = False,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
) -> Iterator[dict]:
    """The labels of a run, one dict a line; or its rows as an estimate sees them.

    Plain, each line is a label that `attach_labels` and `label import` take again: ``key``,
    ``label`` (1, 0, or None for can't tell), ``verdict``, ``annotator``, ``kind``, ``ts`` and
    what else is known of it. With `for_estimate`, each line is a row with the picked judge's
    verdict as ``reward`` and, where it has one, its ``gold_reward``, ``gold_kind`` and
    ``gold_labels``: `judge_trust` of these rows gives the numbers of the Trust page. On another
    criterion than `overall` the two stand under ``reward:<criterion>`` and
    ``gold_reward:<criterion>`` too.

    Parameters
    ----------
    grader, gold
        Of an estimate; what is picked on the run where None.
    criterion
        Only labels on it, all where None; of an estimate what is picked on the run.

    Raises
    ------
    NotFoundError
        No such run, or no such grader or criterion on it.
    """
    if for_estimate:
        yield from _estimate_rows(store, run, grader, gold, criterion)
        return
    if criterion is not None and criterion not in (there := store.criteria(run)):
        raise NotFoundError(f"No criterion {criterion!r} here. Criteria: {', '.join(there)}.")
    for label in store.labels(run, criterion, history=history):
        yield {
            "key": label["identity"],
            "label": _WORDS.get(label["verdict"]),
            "verdict": label["verdict"],
            **{
                k: label[k]
                for k in (
                    "criterion",
                    "annotator",
                    "kind",
                    "note",
                    "step",
                    "seconds",
                    "chosen",
                    "inclusion_p",
                    "rule_version",
                    "guideline_version",
                    "unblinded_at",
                    "ts",
                    "ts_original",
                )
                if label[k] is not None
            },  # fmt: skip
            **({"undone": True} if label["verdict"] is None else {}),
        }


def carry_labels(store: Store, run: int | str, from_run: int, by: str | None = None) -> dict:
    """Take over the labels that another run holds on the same rollouts."""
    labels = [
        {
            **{
                k: label[k]
                for k in (
                    "identity", "criterion", "annotator", "kind", "verdict", "note", "step",
                    "tags", "seconds", "chosen", "inclusion_p", "rule_version", "unblinded_at",
                    "guideline_version", "ts", "ts_original",
                )
            },
            "row_id": label["to_row"],
            "carried_from": label["id"],
        }
        for label in store.labels_for(run, from_run)
    ]  # fmt: skip
    return store.put_labels(run, labels, by=by)


def _entry(row: dict) -> dict:
    """A label row in our words: how it names its row, the label, the verdict, the instant."""
    value = next((row[k] for k in ("label", "reward", "gold_reward") if k in row), None)
    verdict = rows.verdict(value)
    if verdict is None and isinstance(value, str) and value.strip() in ("0", "1"):
        verdict = int(value)  # a CSV has no numbers
    word = row.get("verdict")
    if verdict is None and word in ("unclear", *_WORDS):
        verdict = _WORDS.get(word, 1)
    else:
        word = None if verdict is None else ("fail", "pass")[verdict]
    names = {k: row[k] for k in ("key", *_BY_TEXT) if row.get(k) not in (None, "")}
    if str(names.get("rollout_id", "")).startswith("row:"):
        names.pop("rollout_id")  # made by the reader for an entry that has no name of its own
    ts = row.get("ts")
    try:
        instant = utc(ts)
    except (ValueError, OverflowError, OSError):
        instant = None
    about = {k: rows.as_text(row[k]) for k in _ABOUT if row.get(k) not in (None, "")}
    about |= {k: row[k] for k in _NUMBERS if rows.is_number(row.get(k))}
    return {
        "about": about,
        "kind": row.get("kind"),
        "names": names,
        "label": value if verdict is None else verdict,
        "verdict": word,
        "ts": instant,
        "ts_original": None if ts is None else rows.as_text(ts),
    }


def _targets(store: Store, run: int | str, entries: list[dict]) -> tuple[list[int], list[dict]]:
    """The run's rows with what labels may name them by, and their ids."""
    texts = any(not ({"key", "rollout_id", "scenario_id"} & set(e["names"])) for e in entries)
    keys = _BY_TEXT if texts else _BY_TEXT[:3]
    ids, targets = [], []
    for row_id, row in store.numbered_rows(run):
        identity = rows.identity(row)
        target = {k: row[k] for k in keys if k in row} | {"identity": identity}
        if not row.get("rollout_id"):
            target["rollout_id"] = identity
        ids.append(row_id)
        targets.append(target)
    if not targets:
        raise RefusedError("This run has no rows.")
    return ids, targets


def _estimate_rows(
    store: Store, run: int | str, judge: int | str | None, of: str | None, on: str | None
) -> Iterator[dict]:
    run_id, grader_id, gold, criterion = measured_as(store, run, judge, of, on)
    grader = next((g for g in store.run(run_id)["graders"] if g["id"] == grader_id), None)
    labels = gold_labels(store, run_id, gold or None, criterion)
    truth = gold_of_labels(labels)
    columns = store.columns(run_id, grader_id, criterion)
    verdicts = {
        row_id: (columns["value"][n], columns["verdict"][n], columns["judge_name"][n])
        for n, row_id in enumerate(columns["id"])
    }
    shown = store.shown_rows(run_id, grader_id)
    if shown:  # rows of these tasks are in no estimate of this judge
        tasks = dict(zip(columns["id"], columns["task"], strict=True))
        seen = {tasks[row_id] for row_id in shown if row_id in tasks}
        truth = {row_id: row for row_id, row in truth.items() if tasks[row_id] not in seen}
    drop = ("reward", "gold_reward", "gold_kind", "gold_labels", "judge_name")
    for row_id, row in store.numbered_rows(run_id):
        value, verdict, signed = verdicts[row_id]
        # What the file said on some criterion would be read for what is measured here.
        line = {k: v for k, v in row.items() if k not in drop and not k.startswith(_ON_CRITERION)}
        if value is not None:
            line["reward"] = value if verdict is None else verdict
        if grader is not None:
            line["judge_name"] = signed or grader["name"]
        gold_row = truth.get(row_id, {})
        for key in ("gold_reward", "gold_kind", "gold_labels"):
            if gold_row.get(key) is not None:
                line[key] = gold_row[key]
        if gold_row and labels.chances.get(row_id) is not None:
            line["inclusion_p"] = labels.chances[row_id]
        if criterion != "overall":
            line |= {f"{k}:{criterion}": line[k] for k in ("reward", "gold_reward") if k in line}
        yield line
