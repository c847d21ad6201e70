"""Open a file, see what it holds, read its rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any

from whileai_review import rows
from whileai_review.load._bytes import Origin, Stream
from whileai_review.load._csv import read_csv
from whileai_review.load._detect import EXTENSIONS, detect, extension
from whileai_review.load._json import read_json
from whileai_review.load._jsonl import no_column, nothing_readable, read_jsonl
from whileai_review.load._parquet import read_parquet
from whileai_review.load._types import (
    Ledger,
    Parsed,
    Record,
    Refusal,
    RowRefusedError,
    UnreadableError,
)
from whileai_review.load.duplicates import Duplicates, Policy
from whileai_review.load.mapping import Mapping, has
from whileai_review.load.sniff import Sniff, recognise
from whileai_review.report import Report


class Source:
    """A file that can be read, as often as needed; made by `open_source`.

    Attributes
    ----------
    name : str
    format : str
        ``jsonl``, ``json``, ``csv``, ``tsv`` or ``parquet``.
    content_hash : str or None
        Sha256 (hex) of the decompressed bytes, once `records` has come to the end.
    n_bytes : int
        Decompressed bytes read so far.
    n_lines : int
        Lines (entries of a list, rows of a table) seen so far.
    refused : list of Refusal
        Lines that are no rows.
    """

    def __init__(self, origin: Origin, format: str, delimiter: str) -> None:
        self.name, self.format = origin.name, format
        self.content_hash: str | None = None
        self._origin, self._delimiter = origin, delimiter
        self._ledger = Ledger(origin.name)
        self._stream: Stream | None = None

    @property
    def refused(self) -> list[Refusal]:
        """Lines that are no rows, of the pass that is running or was last."""
        return self._ledger.refused

    @property
    def n_lines(self) -> int:
        """Lines seen so far."""
        return self._ledger.n_lines

    @property
    def n_bytes(self) -> int:
        """Decompressed bytes read so far."""
        return self._stream.n_bytes if self._stream else 0

    @property
    def fraction(self) -> float | None:
        """Share of the file that was read, for a progress bar; None when its size is unknown."""
        return self._stream.fraction if self._stream else 0.0

    @property
    def notes(self) -> list[str]:
        """What was read as no value or mended, one line each with its count."""
        return self._ledger.lines()

    def sniff(self, n: int = 1000) -> Sniff:
        """What the columns mean, from the first `n` rows.

        Raises
        ------
        UnreadableError
            No row can be read.
        """
        ledger = Ledger(self.name)
        parsed = self._parse(ledger)
        try:
            found = [entry.obj for entry in itertools.islice(parsed, n)]
        finally:
            parsed.close()
        if not found:
            raise nothing_readable(ledger)
        sniffed = recognise(found, tabular=self.format in ("csv", "tsv"))
        sniffed.refused, sniffed.n_refused = ledger.refused, len(ledger.refused)
        return sniffed

    def records(self, mapping: Mapping | None = None) -> Iterator[Record]:
        """The rows, one at a time; fills `refused`, `n_lines`, `notes`, `content_hash`.

        Raises
        ------
        UnreadableError
            The file ends early, changes its encoding, holds no row, or no row has a column
            that the mapping names. Rows that came before it are half a file: keep none of
            them.
        """
        mapping = mapping or Mapping()
        apply = mapping.apply_noting
        unseen = {*mapping.keys.values(), *mapping.metrics}
        ledger = self._ledger = Ledger(self.name)
        self.content_hash = None
        obj: dict = {}
        for line, raw, obj in self._parse(ledger):
            if unseen:  # empty after the first row of most files
                unseen = {column for column in unseen if not has(obj, column)}
            try:
                row = apply(obj, ledger)
            except RowRefusedError as reason:
                ledger.refuse(line, str(reason), raw)
                continue
            ledger.n_rows += 1
            yield Record(line, raw, row)
        if ledger.n_rows == 0:
            raise nothing_readable(ledger)
        if unseen:
            raise no_column(self.name, min(unseen), obj)
        if self._stream is not None:
            self.content_hash = self._stream.content_hash()

    def duplicates(self, mapping: Mapping | None = None, policy: Policy = "keep") -> Duplicates:
        """A judge of duplicates for one pass of `records`.

        ``last`` reads the file once beforehand, to know the last line of each identity.
        """
        if policy != "last":
            return Duplicates(policy)
        last = {hash(rows.identity(found.row)): found.line for found in self.records(mapping)}
        return Duplicates(policy, last)

    def _parse(self, ledger: Ledger) -> Generator[Parsed, None, None]:
        stream = self._stream = self._origin.stream()
        try:
            yield from self._reader(stream, ledger)
        finally:
            stream.close()

    def _reader(self, stream: Stream, ledger: Ledger) -> Iterator[Parsed]:
        if self.format == "jsonl":
            return read_jsonl(stream, ledger)
        if self.format == "json":
            return read_json(stream, ledger)
        if self.format == "parquet":
            return read_parquet(stream, ledger)
        return read_csv(stream, ledger, self._delimiter)


def open_source(path_or_file: str | os.PathLike | IO, name: str | None = None) -> Source:
    """Open a path, an uploaded file, or standard input (``"-"``).

    Parameters
    ----------
    path_or_file : path or file object
        Plain or gzip, whatever its extension says. A pipe is copied to a temporary file.
    name : str, optional
        Shown in messages; its extension helps where the content leaves the format open.

    Raises
    ------
    UnreadableError
        One line: not there, empty, a folder, binary, or a file of another tool.
    """
    origin = Origin(path_or_file, name)
    return Source(origin, *detect(origin))


def read(
    path: str | os.PathLike | IO,
    mapping: Mapping | None = None,
    duplicates: Policy = "keep",
) -> tuple[list[dict], LoadReport]:
    """All rows of a file, and what happened to its lines.

    Parameters
    ----------
    path : path or file object
    mapping : Mapping, optional
        What the keys mean; what is recognised when None. What is not clear is not
        guessed: see ``report["questions"]``.
    duplicates : {"keep", "collapse", "last"}
        What becomes of rows of equal identity, see `Duplicates`.

    Raises
    ------
    UnreadableError
        The file holds no rows or ends early; no rows are returned then.
    """
    source = open_source(path)
    sniffed = source.sniff()
    if mapping is None:
        mapping = sniffed.mapping
    judge = source.duplicates(mapping, duplicates)
    kept = [
        found.row
        for found in source.records(mapping)
        if judge.admit(rows.identity(found.row), found.raw, found.line)
    ]
    return kept, LoadReport(
        source=source.name,
        format=source.format,
        content_hash=source.content_hash,
        n_lines=source.n_lines,
        n_rows=len(kept),
        n_refused=len(source.refused),
        refused=[refusal._asdict() for refusal in source.refused],
        duplicates=judge.report(),
        notes=source.notes,
        mapping=mapping.to_json(),
        questions=[question.why for question in sniffed.questions],
        label_columns=sniffed.label_columns,
    )


class LoadReport(Report):
    """What came in and what did not.

    Keys
    ----
    source, format, content_hash : str
    n_lines, n_rows, n_refused : int
    refused : list of dict
        source, line, reason, text of each refused line.
    duplicates : dict
        policy, n_exact, n_conflicting, n_dropped, examples.
    notes, questions, label_columns : list of str
    mapping : str
        The mapping in use, as JSON.
    """

    def as_text(self) -> str:
        """The counts, then what needs a person."""
        twins: Any = self["duplicates"]
        lines = [f"{self['source']}: {self['n_rows']:,} rows, {self['n_refused']:,} lines refused"]
        lines += [f"  line {r['line']:,}: {r['reason']}" for r in self["refused"][:5]]
        if twins["n_exact"] or twins["n_conflicting"]:
            lines.append(
                f"  equal identity: {twins['n_exact']:,} exact copies, "
                f"{twins['n_conflicting']:,} that differ; {twins['n_dropped']:,} dropped"
            )
        lines += [f"  {note}" for note in self["notes"]]
        lines += [f"  ? {question}" for question in self["questions"]]
        if self["label_columns"]:
            columns = ", ".join(self["label_columns"])
            lines.append(f"  label columns, not gold until their origin is said: {columns}")
        return "\n".join(lines)


def find_files(folder: str | os.PathLike) -> list[Path]:
    """Files under a folder whose names say that they hold rows, sorted; hidden ones left out.

    Raises
    ------
    UnreadableError
        There is no such folder, or no such file in it.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UnreadableError(f"There is no folder {root}.")
    found = sorted(
        path
        for path in root.rglob("*")
        if extension(path.name) in EXTENSIONS
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(root).parts)
    )
    if not found:
        raise UnreadableError(
            f"{root} holds no file of rows ({', '.join(sorted(EXTENSIONS))}, each also as .gz)."
        )
    return found
