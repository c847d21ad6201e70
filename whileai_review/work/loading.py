"""Load a file into the store: whole or not at all, with everything that was refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from whileai_review import load, rows
from whileai_review.store import Load, NewRow, RefusedError, Store, Verdict
from whileai_review.work._fields import Fields
from whileai_review.work.gold import IMPORT

BATCH = 2_000
"""Rows in one transaction: a label given meanwhile waits for one batch (ui.md 2.5)."""

SNIFFED = 1_000
"""Rows from which the keys of a file are recognised."""

SHOWN_REFUSALS = 100

Progress = Callable[[int], None]


class NeedsMappingError(load.UnreadableError):
    """The keys of a file leave more than one reading; `sniff` says which."""

    def __init__(self, sniff: Any) -> None:
        self.sniff = sniff
        asked = "; ".join(f"{q.key}: {q.why}" for q in sniff.questions)
        super().__init__(f"Say what the columns are, with --map or the form. {asked}")


def load_file(
    store: Store,
    source: Any,
    name: str | None = None,
    mapping: load.Mapping | None = None,
    origins: dict[str, dict[str, str]] | None = None,
    split: str | None = None,
    duplicates: str = "keep",
    grader: str | None = None,
    again: bool = False,
    progress: Progress | None = None,
) -> dict:
    """Load one file as a run, or as one run for each value of a column.

    Parameters
    ----------
    source
        A path, ``"-"`` for standard input, or an open binary file.
    name
        Of the run; the file's name without its ending when None.
    mapping
        What the keys mean; recognised from the first rows when None.
    origins
        Who gave the labels of a column: ``{"gold_reward": {"kind": "human", "annotator": ...}}``.
        A label column without an origin stays what it is and is no gold.
    split
        A column whose values make a run each.
    duplicates
        ``keep`` rows of equal identity apart, ``collapse`` exact copies, or keep the ``last``.
    grader
        Name of the judge that gave the verdicts; else what the rows or the column say.
    again
        True: load content that is here already a second time.
    progress
        Called with the number of rows read so far.

    Returns
    -------
    dict
        ``runs``, ``n_rows``, ``n_refused``, ``refused`` (the first hundred), ``n_duplicates``,
        ``n_dropped``, ``notes``, ``label_columns`` (not taken, origin unknown), ``labels``,
        ``offers`` (labels of other runs for these rollouts) and ``same_as`` (the run that holds
        this content already; nothing was loaded then).

    Raises
    ------
    UnreadableError
        Nothing of the file could be read; names what it is and where.
    NeedsMappingError
        More than one reading is possible.
    RefusedError
        A run of this name is there.
    """
    opened = load.open_source(source)
    sniff = opened.sniff(SNIFFED)
    if mapping is None:
        if sniff.questions:
            raise NeedsMappingError(sniff)
        mapping = sniff.mapping
    origins = _checked_origins(origins, mapping)
    wanted = name or store.free_name(_stem(opened.name))
    job = _Job(store, opened, mapping, origins, split, duplicates, grader, wanted)
    try:
        job.read(progress)
        same = None if again else store.run_by_content(opened.content_hash or "", job.only_value())
        if same is not None:
            job.fail()
            return _nothing_new(same, store)
        result = job.finish()
    except BaseException:
        job.fail()
        raise
    taken = set(origins) | {mapping.keys.get(key) for key in origins}
    result["label_columns"] = [c for c in sniff.label_columns if c not in taken]
    return result


class _Job:
    """One file on its way in."""

    def __init__(
        self,
        store: Store,
        source: Any,
        mapping: load.Mapping,
        origins: dict[str, dict[str, str]],
        split: str | None,
        duplicates: str,
        grader: str | None,
        name: str,
    ) -> None:
        self.store, self.source, self.mapping, self.name = store, source, mapping, name
        self.origins, self.split, self.grader = origins, split, grader
        self.duplicates = source.duplicates(mapping, duplicates)
        self.verdict_keys = [
            (criterion, key) for criterion, key in mapping.verdict_keys("reward").items()
        ]
        self.gold_keys = [
            (criterion, key)
            for criterion, key in mapping.verdict_keys("gold_reward").items()
            if key in origins
        ]
        self.parts: dict[str | None, _Part] = {}

    def read(self, progress: Progress | None) -> None:
        records = self.source.records(self.mapping)
        n = 0
        while batch := list(islice(records, BATCH)):
            batch = self._admitted(batch)
            for value, members in self._by_value(batch):
                self._part(value, members[0].row).add(members)
            n += len(batch)
            if progress is not None:
                progress(n)
        if not self.parts:
            raise load.UnreadableError(self._no_rows())

    def _admitted(self, batch: list[load.Record]) -> list[load.Record]:
        if self.duplicates.policy == "keep":
            return batch  # counted by the store when the run is whole
        admit = self.duplicates.admit
        return [r for r in batch if admit(rows.identity(r.row), r.raw, r.line)]

    def _no_rows(self) -> str:
        refused = self.source.refused
        first = f" Line {refused[0].line}: {refused[0].reason}." if refused else ""
        return f"{self.source.name}: no row could be read, {len(refused)} refused.{first}"

    def _by_value(self, batch: list[load.Record]) -> Iterable[tuple[str | None, list]]:
        if self.split is None:
            return [(None, batch)]
        groups: dict[str | None, list[load.Record]] = {}
        for record in batch:
            groups.setdefault(rows.as_text(record.row.get(self.split)), []).append(record)
        return groups.items()

    def _part(self, value: str | None, first: dict) -> _Part:
        if value not in self.parts:
            self.parts[value] = _Part(self, value, first)
        return self.parts[value]

    def only_value(self) -> str | None:
        return next(iter(self.parts))

    def finish(self) -> dict:
        runs, counts = [], {"new": 0, "changed": 0, "unchanged": 0, "withdrawn": 0}
        refused = list(self.source.refused)
        for n, part in enumerate(self.parts.values()):
            runs.append(part.finish(refused if n == 0 else []))
            if part.labels:
                got = self.store.put_labels(runs[-1]["id"], part.labels)
                counts = {k: counts[k] + got[k] for k in counts}
        runs = [self.store.run(run["id"]) for run in runs]
        offers = [
            offer | {"to": r["name"]} for r in runs for offer in self.store.label_offers(r["id"])
        ]
        return {
            "runs": runs,
            "n_rows": sum(run["n_rows"] for run in runs),
            "n_refused": len(refused),
            "refused": [tuple(r) for r in refused[:SHOWN_REFUSALS]],
            "n_duplicates": sum(run["n_duplicates"] for run in runs),
            "n_dropped": self.duplicates.n_dropped,
            "notes": self.source.notes + self._gold_notes(),
            "labels": counts,
            "offers": offers,
            "same_as": None,
        }

    def _gold_notes(self) -> list[str]:
        odd = sum(part.odd_gold for part in self.parts.values())
        return [f"{odd} label values are neither 0 nor 1 and were not taken"] if odd else []

    def fail(self) -> None:
        for part in self.parts.values():
            part.load.fail()
        self.parts = {}


class _Part:
    """The rows of one run of the file."""

    def __init__(self, job: _Job, value: str | None, first: dict) -> None:
        self.job = job
        store = job.store
        wanted = job.name if value is None else f"{job.name}/{value or '(none)'}"
        self.load: Load = store.begin_run(
            wanted if value is None else store.free_name(wanted),
            job.source.name,
            job.source.format,
            job.mapping.to_json(),
            split=None if value is None else (job.split or "", value),
        )
        self.grader_name = job.grader or _grader_name(first, job.mapping)
        self.grader_id = self.load.add_grader(self.grader_name) if job.verdict_keys else None
        skip = {
            key for _, key in (*job.verdict_keys, *job.mapping.verdict_keys("gold_reward").items())
        }
        skip |= {job.mapping.keys[k] for k in list(skip) if k in job.mapping.keys}
        self.fields = Fields(job.mapping.metrics, skip)
        self.tools: dict[str, None] = {}
        self._last_tools: Any = None
        self.labels: list[dict] = []
        self.odd_gold = 0

    def add(self, batch: list[load.Record]) -> None:
        new: list[NewRow] = []
        verdicts: list[list[Verdict]] = []
        for record in batch:
            row = record.row
            new.append(
                NewRow(
                    record.line,
                    record.raw,
                    rows.identity(row),
                    rows.task_key(row),
                    rows.reply_chars(row),
                    self.fields.of(row),
                )
            )
            verdicts.append(self._verdicts(row) if self.grader_id is not None else [])
            tools = row.get("tools")
            if tools is not None and tools != self._last_tools:
                self._last_tools = tools
                self.tools |= dict.fromkeys(rows.declared_tools(row))
        first = self.load.add(new, verdicts)
        for n, record in enumerate(batch):
            for criterion, key in self.job.gold_keys:
                self._gold(first + n, new[n].identity, criterion, key, record.row.get(key))

    def _verdicts(self, row: dict) -> list[Verdict]:
        name = row.get("judge_name")
        signed = None if name is None or name == self.grader_name else rows.as_text(name)
        found = []
        for criterion, key in self.job.verdict_keys:
            value = row.get(key)
            if value is not None and rows.is_number(value):
                verdict = rows.verdict(value)
                found.append(Verdict(self.grader_id or 0, criterion, verdict, float(value), signed))
        return found

    def _gold(self, row_id: int, identity: str, criterion: str, key: str, value: Any) -> None:
        if value is None:
            return
        verdict = rows.verdict(value)
        if verdict is None:
            self.odd_gold += 1
            return
        origin = self.job.origins[key]
        self.labels.append(
            {
                "row_id": row_id,
                "identity": identity,
                "criterion": criterion,
                "annotator": origin.get("annotator")
                or f"{IMPORT}{Path(self.job.source.name).name}",
                "kind": origin["kind"],
                "verdict": "pass" if verdict else "fail",
                "chosen": "imported",
            }
        )

    def finish(self, refused: list[load.Refusal]) -> dict:
        source = self.job.source
        return self.load.finish(
            source.content_hash,
            n_bytes=source.n_bytes,
            refusals=((r.line, r.reason, r.text) for r in refused),
            tools=list(self.tools),
            fields=self.fields.described(),
            grader_id=self.grader_id,
        )


def _stem(name: str) -> str:
    """A file's name without the ending that says its format: the name of a run."""
    stem = re.sub(r"(?i)(\.(jsonl|ndjson|json|csv|tsv|parquet))?(\.gz)?$", "", Path(name).name)
    return stem or "run"


def _grader_name(first: dict, mapping: load.Mapping) -> str:
    if first.get("judge_name"):
        return rows.as_text(first["judge_name"])
    return next((mapping.keys[k] for k in mapping.verdict_keys().values()), "reward")


def _checked_origins(
    origins: dict[str, dict[str, str]] | None, mapping: load.Mapping
) -> dict[str, dict[str, str]]:
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


def _nothing_new(same: dict, store: Store) -> dict:
    return {
        "runs": [store.run(same["id"])],
        "n_rows": 0,
        "n_refused": 0,
        "refused": [],
        "n_duplicates": 0,
        "n_dropped": 0,
        "notes": [f"this content is the run {same['name']!r} already (--as NAME loads it again)"],
        "label_columns": [],
        "labels": {"new": 0, "changed": 0, "unchanged": 0, "withdrawn": 0},
        "offers": [],
        "same_as": same,
    }


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
    found: dict[tuple[int, str], tuple] = {}
    conflicts: set[str] = set()
    unmatched: list[str] = []
    n = no_verdict = 0
    for record in opened.records(mapping):
        n += 1
        identity = rows.identity(record.row)
        there = ids.get(identity, [])
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
    if not found and n:
        raise load.UnreadableError(
            f"{opened.name}: none of its {n} rows is a rollout of {store.run(run)['name']}. "
            f"Its first key: {unmatched[0] if unmatched else '-'}; the run's: {next(iter(ids), '-')}."
        )
    bad = {ids[i][0] for i in conflicts if len(ids[i]) == 1}
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


def load_folder(store: Store, folder: str | Path, **options: Any) -> dict:
    """Load every readable file of a folder, one run each; what failed is listed by its reason."""
    files = load.find_files(folder)
    loaded, failed = [], []
    for path in files:
        try:
            loaded.append(load_file(store, path, **options))
        except (load.UnreadableError, RefusedError) as error:
            failed.append({"file": str(path), "reason": str(error)})
    if not loaded:
        first = f" {failed[0]['reason']}" if failed else ""
        raise load.UnreadableError(f"{folder}: no file with rows in it.{first}")
    return {
        "runs": [run for result in loaded for run in result["runs"]],
        "n_rows": sum(result["n_rows"] for result in loaded),
        "n_refused": sum(result["n_refused"] for result in loaded),
        "files": loaded,
        "failed": failed,
    }


def load_demo(store: Store, folder: Path) -> list[dict]:
    """Load the runs of a folder by its ``manifest.json``; runs that are there are left alone."""
    manifest = orjson.loads((folder / "manifest.json").read_bytes())
    done = []
    for run in manifest["runs"]:
        result = load_file(
            store,
            folder / run["file"],
            name=run["name"],
            mapping=load.Mapping(**run["mapping"]),
            origins=run["label_origin"],
            grader=run.get("grader"),
        )
        done.append(result)
    for verdicts in manifest.get("verdicts", []):
        join_verdicts(
            store,
            verdicts["onto"],
            verdicts["grader"],
            folder / verdicts["file"],
            load.Mapping(**verdicts["mapping"]) if "mapping" in verdicts else None,
        )
    return done
