"""Load a file into the store: whole or not at all, with everything that was refused."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from whileai_review import load
from whileai_review.store import Load, RefusedError, Store, open_store
from whileai_review.work import pool
from whileai_review.work._columns import SNIFFED, Batch, End, Plan, read_columns
from whileai_review.work._label_columns import checked_origins, label_loaded, label_of
from whileai_review.work.joining import join_verdicts

FORK_BYTES = 10_000_000
"""Size from which a file is read in one process and written by another."""

SHOWN_REFUSALS = 100

NO_JUDGE = "no column holds a judge's verdicts: a run to label, with no judge to measure"

Progress = Callable[[int], None]


class NeedsMappingError(load.UnreadableError):
    """The keys of a file leave more than one reading; `sniff` says which."""

    def __init__(self, sniff: Any) -> None:
        self.sniff = sniff
        asked = " ".join(q.why for q in sniff.questions if q.blocks)
        super().__init__(f"Say what the columns are, with --map or the form. {asked}")

    def __reduce__(self) -> tuple:
        return NeedsMappingError, (self.sniff,)


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
        ``n_exact`` (exact copies among them), ``n_dropped``, ``notes``, ``questions`` (readings left open), ``label_columns`` (not taken, origin unknown), ``labels``,
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
    if pool.is_enabled() and isinstance(source, str | os.PathLike) and source != "-":
        if Path(source).is_file() and Path(source).stat().st_size > FORK_BYTES:
            options = (name, mapping, origins, split, duplicates, grader, again)
            return pool.run(_load_elsewhere, str(store.path), str(source), options)
    asked_for = mapping is not None
    with _as_path(source) as (path, label):
        opened = load.open_source(path, label)
        sniff = opened.sniff(SNIFFED)
        if mapping is None:
            if any(question.blocks for question in sniff.questions):
                raise NeedsMappingError(sniff)
            mapping = sniff.mapping
        origins = checked_origins(origins, mapping)
        golds = tuple(
            (criterion, key)
            for criterion, key in mapping.verdict_keys("gold_reward").items()
            if key in origins
        )
        plan = Plan(mapping, golds, split, duplicates)
        if name is not None and not again and (there := _held(store, name, opened, mapping)):
            return _nothing_new(store, there, plan, origins, opened.name)
        job = _Job(store, opened, plan, origins, grader, name)
        large = path.stat().st_size > FORK_BYTES
        reading = (path, label, plan)
        batches = pool.ahead(read_columns, *reading) if large else read_columns(*reading)
        try:
            job.write(batches, progress)
            same = None if again else job.same_content()
            if same is not None:
                job.fail()
                return _nothing_new(store, same, plan, origins, opened.name)
            result = job.finish()
        except BaseException:
            job.fail()
            raise
    taken = set(origins) | {mapping.keys.get(key) for key in origins}
    result["questions"] = [] if asked_for else [q.why for q in sniff.questions]
    result["label_columns"] = [c for c in sniff.label_columns if c not in taken]
    if not plan.verdict_keys() and not any(q.key == "reward" for q in sniff.questions):
        result["notes"].append(NO_JUDGE)
    return result


def _load_elsewhere(db: str, source: str, options: tuple) -> dict:
    with open_store(db, create=False) as store:
        return load_file(store, source, *options)


class _Job:
    """One file on its way into the store."""

    def __init__(
        self,
        store: Store,
        source: load.Source,
        plan: Plan,
        origins: dict[str, dict[str, str]],
        grader: str | None,
        name: str | None,
    ) -> None:
        self.store, self.source, self.plan, self.origins = store, source, plan, origins
        self.grader, self.name = grader, name
        self.parts: dict[str | None, _Part] = {}
        self.end: End | None = None
        self.finished: list[int] = []

    def write(self, batches: Iterator[Batch | End], progress: Progress | None) -> None:
        n = 0
        for batch in batches:
            if isinstance(batch, End):
                self.end = batch
                continue
            part = self.parts.get(batch.part) or self._part(batch)
            part.write(batch)
            n += len(batch.lines)
            if progress is not None:
                progress(n)
        if not self.parts:
            raise load.UnreadableError(f"{self.source.name}: no row could be read.")

    def _part(self, batch: Batch) -> _Part:
        name = self.name or _stem(self.source.name)
        if batch.part is not None:
            name = f"{name}/{batch.part or '(none)'}"
        if self.name is None or batch.part is not None:
            name = self.store.free_name(name)
        self.parts[batch.part] = _Part(self, name, batch)
        return self.parts[batch.part]

    def same_content(self) -> dict | None:
        """The run that holds this content already."""
        return self.store.run_by_content(self._end().content_hash, next(iter(self.parts)))

    def _end(self) -> End:
        if self.end is None:
            raise load.UnreadableError(f"{self.source.name}: reading it broke off.")
        return self.end

    def finish(self) -> dict:
        end = self._end()
        counts = dict.fromkeys(("new", "changed", "unchanged", "withdrawn"), 0)
        runs = []
        for n, (value, part) in enumerate(self.parts.items()):
            run = part.load.finish(
                end.content_hash,
                n_bytes=end.n_bytes,
                refusals=((r.line, r.reason, r.text) for r in (end.refused if n == 0 else [])),
                tools=end.tools[value],
                fields=end.fields[value],
                grader_id=part.grader_id,
            )
            self.finished.append(run["id"])
            got = self.store.put_labels(run["id"], part.labels) if part.labels else {}
            counts = {k: counts[k] + got.get(k, 0) for k in counts}
            runs.append(self.store.run(run["id"]))
        odd = sum(part.odd_gold for part in self.parts.values())
        notes = [f"{odd} label values are neither 0 nor 1 and were not taken"] if odd else []
        return {
            "runs": runs,
            "n_rows": sum(run["n_rows"] for run in runs),
            "n_refused": len(end.refused),
            "refused": [tuple(r) for r in end.refused[:SHOWN_REFUSALS]],
            "n_duplicates": sum(run["n_duplicates"] for run in runs),
            "n_exact": end.duplicates["n_exact"],
            "n_dropped": end.duplicates["n_dropped"],
            "notes": end.notes + notes,
            "labels": counts,
            "offers": [
                offer | {"to": run["name"]}
                for run in runs
                for offer in self.store.label_offers(run["id"])
            ],
            "same_as": None,
        }

    def fail(self) -> None:
        for part in self.parts.values():
            part.load.fail()
        for run_id in self.finished:  # its labels could not be put: no run without its gold
            self.store.delete_run(run_id)
        self.parts, self.finished = {}, []


class _Part:
    """The rows of one run of the file."""

    def __init__(self, job: _Job, name: str, first: Batch) -> None:
        self.job = job
        split = None if first.part is None else (job.plan.split or "", first.part)
        self.load: Load = job.store.begin_run(
            name, job.source.name, job.source.format, job.plan.mapping.to_json(), split=split
        )
        keys = job.plan.verdict_keys()
        signed = first.verdicts[0][4] if first.verdicts else None
        column = job.plan.mapping.keys[keys[0][1]] if keys else ""
        self.grader_name = job.grader or signed or column
        self.grader_id = self.load.add_grader(self.grader_name) if keys else None
        self.labels: list[dict] = []
        self.odd_gold = 0

    def write(self, batch: Batch) -> None:
        grader, name = self.grader_id or 0, self.grader_name
        first = self.load.add(
            batch.lines,
            batch.raws,
            batch.identities,
            batch.tasks,
            batch.chars,
            batch.fields,
            batch.contents,
            [
                (n, grader, criterion, verdict, value, None if signed == name else signed)
                for n, criterion, verdict, value, signed in batch.verdicts
            ],
        )
        origins, source = self.job.origins, self.job.source.name
        for n, criterion, key, value in batch.golds:
            label = label_of(first + n, batch.identities[n], criterion, value, origins[key], source)
            if label is None:
                self.odd_gold += 1
            else:
                self.labels.append(label)


def _held(store: Store, name: str, source: load.Source, mapping: load.Mapping) -> dict | None:
    """The run that holds this file, when the name that it asks for is taken."""
    if all(run["name"] != name for run in store.runs(archived=True)):
        return None
    for _ in source.records(mapping):  # the hash is known at the end
        pass
    return store.run_by_content(source.content_hash or "")


@contextmanager
def _as_path(source: Any) -> Iterator[tuple[Path, str | None]]:
    """A path that can be read twice and in another process, and the name for people."""
    if source == "-":
        source = sys.stdin.buffer
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        load.open_source(path)  # says what is wrong with it
        yield path, None
        return
    name = getattr(source, "name", None)
    name = name if isinstance(name, str) and name not in ("", "<stdin>") else "standard input"
    with tempfile.NamedTemporaryFile(prefix="whileai-review-") as copy:
        shutil.copyfileobj(source, copy)
        copy.flush()
        yield Path(copy.name), name


def _stem(name: str) -> str:
    """A file's name without the ending that says its format: the name of a run."""
    stem = re.sub(r"(?i)(\.(jsonl|ndjson|json|csv|tsv|parquet))?(\.gz)?$", "", Path(name).name)
    return stem or "run"


def _nothing_new(
    store: Store, same: dict, plan: Plan, origins: dict[str, dict[str, str]], source: str
) -> dict:
    """The content is here; labels whose origin is said only now are taken all the same."""
    runs = [r for r in store.runs(archived=True) if r["content_hash"] == same["content_hash"]]
    if same["split_column"] is None:
        runs = [r for r in runs if r["id"] == same["id"]]
    labels = label_loaded(store, runs, plan.gold_keys, plan.mapping, origins, source)
    notes = [f"this content is the run {same['name']!r} already (--as NAME loads it again)"]
    if labels["new"] or labels["changed"]:
        notes.append(f"{labels['new']:,} labels new, {labels['changed']:,} changed")
    return {
        "runs": [store.run(same["id"])],
        "n_rows": 0,
        "n_refused": 0,
        "refused": [],
        "n_duplicates": 0,
        "n_exact": 0,
        "n_dropped": 0,
        "notes": notes,
        "label_columns": [],
        "questions": [],
        "labels": labels,
        "offers": [],
        "same_as": same,
    }


def load_folder(
    store: Store, folder: str | Path, mapping: load.Mapping | None = None, **options: Any
) -> dict:
    """Load every readable file of a folder, one run each; what failed is listed by its reason.

    A `mapping` is said on top of what is recognised in each file.
    """
    files = load.find_files(folder)
    loaded, failed = [], []
    for path in files:
        try:
            known = mapping and load.open_source(path).sniff(SNIFFED).mapping.merged(mapping)
            loaded.append(load_file(store, path, mapping=known, **options))
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
    """Load the runs of a folder by its ``manifest.json``; what is there is left alone.

    A run that was renamed since is known by its content.
    """
    manifest = orjson.loads((folder / "manifest.json").read_bytes())
    done = []
    ids = {}
    for run in reversed(manifest["runs"]):  # pages open on the run that came last
        result = load_file(
            store,
            folder / run["file"],
            name=run["name"],
            mapping=load.Mapping(**run["mapping"]),
            origins=run["label_origin"],
            grader=run.get("grader"),
        )
        done.append(result)
        ids[run["name"]] = result["runs"][0]["id"]
    for verdicts in manifest.get("verdicts", []):
        onto = ids.get(verdicts["onto"], verdicts["onto"])
        if any(g["name"] == verdicts["grader"] for g in store.run(onto)["graders"]):
            continue
        join_verdicts(
            store,
            onto,
            verdicts["grader"],
            folder / verdicts["file"],
            load.Mapping(**verdicts["mapping"]) if "mapping" in verdicts else None,
        )
    return done
