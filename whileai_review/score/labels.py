"""Labels on rows: who said what, and do they agree?"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from whileai_review import rows as read
from whileai_review.report import Report, number2, percent, plural
from whileai_review.score.agreement import kappa_of

ALIASES = {"verifier": "program"}
"""Other spellings of a kind."""

SHAPES = (
    "a JSONL path, a {key: label} mapping, or a list of dicts such as "
    "{'rollout_id': ..., 'label': 0 or 1}"
)
"""What ``labels`` may be."""

KEY_FORM = "a row's rollout_id, else '<scenario_id>#<rollout_index>'"
"""How a label spells the row it belongs to."""

SHOWN_KEYS = 10
SHOWN_SPLITS = 20
PROMPT_CHARS = 160


class AttachReport(Report):
    """What :func:`attach_labels` did.

    Keys
    ----
    labels, matched, unmatched, invalid : int
        Records read; that named a row; that named none; without a 0/1 label.
    unmatched_keys : list of str
        The first ten.
    rows_labeled, ties : int
        Rows touched; of these, left without gold since their labels split evenly.
    annotators : list of str
        Sorted names on the touched rows.
    warnings : list of str
        Absent when there is nothing to warn of.
    """

    def as_text(self) -> str:
        """The block a person reads."""
        lines = [
            f"{self['matched']} of {plural(self['labels'], 'label')} attached to "
            f"{plural(self['rows_labeled'], 'row')}, {self['unmatched']} named no row, "
            f"{self['invalid']} not 0 or 1, {plural(self['ties'], 'tie')}"
        ]
        return "\n".join(lines + [f"! {line}" for line in self.get("warnings", [])])


class AnnotatorReport(Report):
    """How annotators agree.

    Keys
    ----
    per_annotator : dict
        ``{name: {"labels": n, "pass_share": share}}`` over every label.
    multi_labeled : int
        Rows with two or more annotators; an annotator's latest label counts.
    unanimous : float or None
        Share of those on which all agree.
    kappa, pair : float or None, list or None
        Cohen's kappa of the two annotators who share most rows, and their names.
    disagreements : list of dict
        ``prompt`` (cut) and ``labels`` by name of split rows, at most 20.
    """

    def as_text(self) -> str:
        """The block a person reads."""
        lines = [
            f"{plural(self['multi_labeled'], 'row')} with two or more annotators, "
            f"unanimous {percent(self['unanimous'])}, kappa {number2(self['kappa'])}"
        ]
        for name, given in self["per_annotator"].items():
            share = percent(given["pass_share"])
            lines.append(f"  {name}: {plural(given['labels'], 'label')}, pass {share}")
        return "\n".join(lines)


def attach_labels(
    rows: Sequence[dict],
    labels: Any,
    annotator: str | None = None,
    kind: str = "human",
    replace: bool = False,
) -> tuple[list[dict], AttachReport]:
    """Write labels onto rows, in place.

    Each touched row gains ``gold_labels`` (all of them), ``gold_reward`` (their
    majority; a tie leaves none) and ``gold_kind`` (their one kind, else ``"mixed"``).

    Parameters
    ----------
    rows : sequence of dict
        Rows, changed in place; not changed at all when the call raises.
    labels : path, mapping, or sequence of dict
        Each names its row by ``key``, ``rollout_id``, ``scenario_id`` with
        ``rollout_index``, or ``prompt`` with ``final_text``.
    annotator : str, optional
        Name of labels that carry none.
    kind : {"human", "program", "model"}
        Origin of labels that carry none; ``"verifier"`` is stored as ``"program"``.
    replace : bool
        Drop the labels a row had before this call.

    Raises
    ------
    ValueError
        An unknown kind; a label that is no dict; a key that names several rows; no
        label that names a row.

    Examples
    --------
    >>> rows = [{"rollout_id": "r1", "reward": 1}]
    >>> rows, report = attach_labels(rows, {"r1": 0}, annotator="ana")
    >>> rows[0]["gold_reward"], rows[0]["gold_kind"], report["matched"]
    (0, 'human', 1)
    """
    default_kind = _checked_kind(kind)
    records = _records(labels)
    own = [row for row in rows if isinstance(row, dict)]
    index = _index(own)
    now = time.time()
    given, unmatched, invalid, ambiguous = [], [], 0, []
    for record in records:
        label = read.verdict(_first(record, "label", "reward", "gold_reward"))
        if label is None:
            invalid += 1
            continue
        key = _record_key(record)
        places = index.get(key, [])
        if len(places) > 1:
            ambiguous.append(key)
            continue
        if not places:
            unmatched.append(key)
            continue
        entry = _entry(record, label, annotator, default_kind, now)
        given.append((places[0], entry))
    if ambiguous:
        raise ValueError(_ambiguous(ambiguous[0], own, index[ambiguous[0]]))
    if unmatched and not given:
        raise ValueError(_nothing_matched(unmatched, own))
    touched = _write(own, given, replace)
    return own, _attach_report(own, touched, len(records), len(given), unmatched, invalid)


def annotator_agreement(rows: Sequence[dict]) -> AnnotatorReport:
    """Say how the annotators on ``gold_labels`` agree with each other.

    References
    ----------
    Cohen (1960), Educational and Psychological Measurement 20, 37-46.

    Examples
    --------
    >>> labels = [{"label": 1, "annotator": "ana"}, {"label": 0, "annotator": "bo"}]
    >>> annotator_agreement([{"prompt": "p", "gold_labels": labels}])["unanimous"]
    0.0
    """
    given: dict[str, list[int]] = defaultdict(list)
    multi: list[tuple[dict, dict[str, int]]] = []
    for row in rows:
        records = read.gold_labels(row)
        latest: dict[str, int] = {}
        for record in records:
            name = _name(record)
            label = read.verdict(record["label"])
            if label is not None:
                given[name].append(label)
        for record in sorted(records, key=_when):  # stable: of equal times the later entry
            latest[_name(record)] = int(record["label"])
        if len(latest) > 1:
            multi.append((row, latest))
    split = [(row, votes) for row, votes in multi if len(set(votes.values())) > 1]
    kappa, pair = _closest_pair([votes for _, votes in multi])
    return AnnotatorReport(
        per_annotator={
            name: {"labels": len(votes), "pass_share": sum(votes) / len(votes)}
            for name, votes in sorted(given.items())
        },
        multi_labeled=len(multi),
        unanimous=1 - len(split) / len(multi) if multi else None,
        kappa=kappa,
        pair=pair,
        disagreements=[
            {"prompt": read.as_text(row.get("prompt"))[:PROMPT_CHARS], "labels": votes}
            for row, votes in split[:SHOWN_SPLITS]
        ],
    )


def _first(record: dict, *keys: str) -> Any:
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _checked_kind(kind: object) -> str:
    known = ALIASES.get(kind, kind) if isinstance(kind, str) else kind
    if known not in read.KINDS:
        accepted = ", ".join(repr(k) for k in (*read.KINDS, *ALIASES))
        raise ValueError(f"unknown kind {kind!r}: use one of {accepted}")
    return str(known)


def _records(labels: Any) -> list[dict]:
    if isinstance(labels, (str, os.PathLike)):
        labels = _read_lines(Path(labels))
    elif isinstance(labels, Mapping):
        return [{"key": key, "label": label} for key, label in labels.items()]
    if not isinstance(labels, Iterable):
        raise ValueError(f"labels is a {type(labels).__name__}: give {SHAPES}")
    records = list(labels)
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise ValueError(
                f"label {number} is a {type(record).__name__} ({str(record)[:60]!r}), which names "
                f"no row: give {SHAPES}"
            )
    return records


def _read_lines(path: Path) -> list[Any]:
    found = []
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: not JSON ({error})") from None
    return found


def _record_key(record: dict) -> str:
    if record.get("key") is not None:
        return read.as_text(record["key"])
    named = any(record.get(key) not in (None, "") for key in ("rollout_id", "prompt", "final_text"))
    if named or record.get("rollout_index") is not None:
        return read.identity(record)
    return read.as_text(record.get("scenario_id"))


def _index(own: list[dict]) -> dict[str, list[int]]:
    """Key -> positions of the rows that answer to it."""
    index: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(own):
        for key in read.identity_keys(row):
            index[key].append(place)
    return index


def _entry(record: dict, label: int, annotator: str | None, kind: str, now: float) -> dict:
    own_kind = record.get("kind")
    entry = {
        "label": label,
        "annotator": read.as_text(record.get("annotator")) or annotator or "unknown",
        "kind": _checked_kind(own_kind) if own_kind else kind,
        "ts": record["ts"] if record.get("ts") is not None else now,
    }
    if record.get("note"):
        entry["note"] = read.as_text(record["note"])
    return entry


def _write(own: list[dict], given: list[tuple[int, dict]], replace: bool) -> list[int]:
    touched: dict[int, None] = {}
    for place, entry in given:
        row = own[place]
        fresh = replace and place not in touched
        before = row.get("gold_labels")
        kept = list(before) if isinstance(before, (list, tuple)) and not fresh else []
        row["gold_labels"] = [*kept, entry]
        touched[place] = None
    for place in touched:
        _set_gold(own[place])
    return list(touched)


def _set_gold(row: dict) -> None:
    """Majority and origin of all labels on the row; a tie takes both away."""
    records = read.gold_labels(row)
    ones = sum(read.verdict(record["label"]) == 1 for record in records)
    if 2 * ones == len(records):
        row.pop("gold_reward", None)
        row.pop("gold_kind", None)
        return
    kinds = {read.label_kind(record) for record in records}
    row["gold_reward"] = int(2 * ones > len(records))
    row["gold_kind"] = kinds.pop() if len(kinds) == 1 else "mixed"


def _attach_report(
    own: list[dict],
    touched: list[int],
    n_records: int,
    matched: int,
    unmatched: list[str],
    invalid: int,
) -> AttachReport:
    ties = sum("gold_reward" not in own[place] for place in touched)
    names = {_name(record) for place in touched for record in read.gold_labels(own[place])}
    report = AttachReport(
        labels=n_records,
        matched=matched,
        unmatched=len(unmatched),
        unmatched_keys=unmatched[:SHOWN_KEYS],
        invalid=invalid,
        rows_labeled=len(touched),
        ties=ties,
        annotators=sorted(names),
    )
    warnings = []
    if unmatched:
        warnings.append(
            f"{plural(len(unmatched), 'label')} named no row, such as "
            f"{', '.join(map(repr, unmatched[:3]))}: a key is {KEY_FORM}"
        )
    if ties:
        warnings.append(
            f"{plural(ties, 'row')} without gold, since the labels on it split evenly: add a label"
        )
    if warnings:
        report["warnings"] = warnings
    return report


def _ambiguous(key: str, own: list[dict], places: list[int]) -> str:
    identities = [read.identity(own[place]) for place in places]
    if len(set(identities)) > 1:
        examples = ", ".join(map(repr, identities[:3]))
        return (
            f"key {key!r} names {len(places)} rows ({examples}); nothing was attached: "
            "use '<scenario_id>#<rollout_index>' or the rollout_id of the row you mean"
        )
    return (
        f"key {key!r} names {len(places)} rows of one identity, as pooled runs have; nothing was "
        "attached: give each row its own rollout_id"
    )


def _nothing_matched(unmatched: list[str], own: list[dict]) -> str:
    wanted = ", ".join(map(repr, unmatched[:3]))
    there = ", ".join(repr(read.identity(row)) for row in own[:3]) or "no rows at all"
    return (
        f"no label names a row: the labels say {wanted}, the rows are {there}; a key is {KEY_FORM}"
    )


def _name(record: dict) -> str:
    return read.as_text(record.get("annotator")) or "unknown"


def _when(record: dict) -> float:
    return float(record["ts"]) if read.is_number(record.get("ts")) else 0.0


def _closest_pair(votes: list[dict[str, int]]) -> tuple[float | None, list[str] | None]:
    """Kappa of the two annotators who share most rows; the first by name of several."""
    shared = Counter(pair for given in votes for pair in combinations(sorted(given), 2))
    if not shared:
        return None, None
    pair = min(shared, key=lambda names: (-shared[names], names))
    both = [(given[pair[0]], given[pair[1]]) for given in votes if set(pair) <= set(given)]
    cells = [both.count(cell) for cell in ((1, 1), (1, 0), (0, 1), (0, 0))]
    kappa = float(kappa_of(np.array(cells)))
    if kappa != kappa:  # one class only: no chance level
        kappa = 1.0 if cells[1] == cells[2] == 0 else 0.0
    return kappa, list(pair)
