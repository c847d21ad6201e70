"""CSV and TSV: every cell is text, and only an empty one is missing."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from typing import Any

from whileai_review.load._bytes import Stream, encoding_of, not_in
from whileai_review.load._parse import dumps
from whileai_review.load._types import Ledger, Parsed, UnreadableError

MAX_FIELD = 2**31 - 1
"""Characters a cell may have; the csv module's own limit is 131,072."""


def read_csv(stream: Stream, ledger: Ledger, delimiter: str) -> Iterator[Parsed]:
    """Rows of a CSV file as dicts of text; a line of another width is refused."""
    if csv.field_size_limit() < MAX_FIELD:
        csv.field_size_limit(MAX_FIELD)
    text, first = _text(stream)
    reader = csv.reader(text, delimiter=_delimiter(first, delimiter), strict=True)
    try:
        header = _header(reader, stream.name)
        yield from _rows(reader, header, ledger)
    except UnicodeDecodeError as error:
        raise not_in(error.encoding, stream.name, reader.line_num + 1) from error


def _text(stream: Stream) -> tuple[io.TextIOWrapper, str]:
    """The text, and its first line (or what the first 4,096 bytes hold of it)."""
    buffered = io.BufferedReader(stream, 1 << 18)
    head = buffered.peek(4096)
    encoding, skip = encoding_of(head, stream.name)
    buffered.read(skip)
    first = head[skip:].decode(encoding, "ignore").lstrip("\r\n").splitlines()[:1]
    text = io.TextIOWrapper(buffered, encoding=encoding, errors="strict", newline="")
    return text, "".join(first)


def _delimiter(first: str, usual: str) -> str:
    """What separates the cells: where the comma is the decimal sign, tables have semicolons."""
    if usual in first:
        return usual
    return next((other for other in (";", "\t") if other in first), usual)


def _header(reader: Any, name: str) -> list[str]:
    try:
        first = next((cells for cells in reader if any(cells)), None)
    except csv.Error as error:
        raise UnreadableError(f"{name} is no CSV: {error} in line {reader.line_num}.") from error
    if first is None:
        raise UnreadableError(f"{name} is empty.")
    header = [cell.strip() or f"column_{n}" for n, cell in enumerate(first, start=1)]
    twins = sorted({column for column in header if header.count(column) > 1})
    if twins:
        raise UnreadableError(f"{name} has two columns named {twins[0]!r}. Rename one of them.")
    return header


def _rows(reader: Any, header: list[str], ledger: Ledger) -> Iterator[Parsed]:
    width = len(header)
    for _ in itertools.count():
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            ledger.n_lines += 1
            _refuse_broken(error, line, ledger)
            continue
        if not cells:
            continue
        ledger.n_lines += 1
        if len(cells) != width:
            reason = f"{len(cells)} fields where the header has {width}"
            ledger.refuse(line, reason, ",".join(cells))
            continue
        row = {
            column: None if cell == "" else cell for column, cell in zip(header, cells, strict=True)
        }
        yield Parsed(line, dumps(row), row)


def _refuse_broken(error: csv.Error, line: int, ledger: Ledger) -> None:
    if "end of data" in str(error):
        raise UnreadableError(
            f"{ledger.source}: the quote opened in line {line:,} is never closed, so the rest of "
            "the file is one cell. Nothing was kept."
        ) from error
    ledger.refuse(line, f"not CSV: {error}")
