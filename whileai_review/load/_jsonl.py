"""JSON lines: one pass, a block in memory at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

import orjson

from whileai_review.load._bytes import Stream, utf8_blocks
from whileai_review.load._parse import (
    NotARowError,
    block_has_long_number,
    block_has_same_quotes,
    has_long_number,
    parse_exactly,
    same_quotes,
)
from whileai_review.load._types import Ledger, Parsed, UnreadableError

COLUMNS_NAMED = 12
"""Columns of a row that an error lists."""

TOGETHER = 32
"""Lines parsed before the first of them is handed on. More hold so many new objects at
once that Python's garbage collector costs more than the parsing."""

GIVE_UP = 1_000
"""Refused lines, with no row among them, after which a file is taken for something else."""


def read_jsonl(stream: Stream, ledger: Ledger) -> Iterator[Parsed]:
    """Rows of JSON lines; blank lines are passed over, bad ones refused one by one."""
    n_rows = 0
    for lines in line_batches(utf8_blocks(stream)):
        for start in range(0, len(lines), TOGETHER):
            n_rows += yield from _read_batch(lines[start : start + TOGETHER], ledger)
            if n_rows == 0 and len(ledger.refused) >= GIVE_UP:
                raise nothing_readable(ledger)


def nothing_readable(ledger: Ledger) -> UnreadableError:
    """The error for a file without a single row."""
    if not ledger.refused:
        return UnreadableError(f"{ledger.source} holds no rows.")
    first = ledger.refused[0]
    n = len(ledger.refused)
    what = "Its only line" if n == 1 else f"None of its first {n:,} lines"
    ending = "is not a row" if n == 1 else "is a row"
    return UnreadableError(
        f"{ledger.source}: {what} {ending}; line {first.line:,} is {first.reason}."
    )


def no_column(source: str, column: str, obj: dict) -> UnreadableError:
    """The error for a column that was named and that no row has; `obj` is one of the rows."""
    there = ", ".join(str(name)[:40] for name in list(obj)[:COLUMNS_NAMED])
    more = ", ..." if len(obj) > COLUMNS_NAMED else ""
    return UnreadableError(f"{source}: no row has a column {column!r}. Columns: {there}{more}.")


def line_batches(blocks: Iterable[bytes]) -> Iterator[list[bytes]]:
    r"""Whole lines of each block, cut at ``\n``, ``\r\n`` or ``\r``.

    None of them can stand inside a JSON text, so no row is torn.
    """
    open_parts: list[bytes] = []
    for block in blocks:
        # A \r at the end may be half of a \r\n: it waits for the next block.
        end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1))
        if open_parts and open_parts[-1].endswith(b"\r"):
            end = max(end, 0)
        if end < 0:
            open_parts.append(block)
            continue
        head = b"".join((*open_parts, block[: end + 1]))
        open_parts = [block[end + 1 :]] if end + 1 < len(block) else []
        lines = head.splitlines()
        if not head.endswith((b"\n", b"\r")):
            open_parts.insert(0, lines.pop())
        yield lines
    if open_parts:
        yield b"".join(open_parts).splitlines()


def _read_batch(lines: list[bytes], ledger: Ledger) -> Generator[Parsed, None, int]:
    """The rows of a few lines; returns how many there were."""
    start = ledger.n_lines
    n_refused = len(ledger.refused)
    n_blank = 0
    ledger.n_lines += len(lines)
    objects: list = []
    odd = False
    loads = orjson.loads
    for line in lines:
        try:
            objects.append(loads(line))
        except ValueError:
            objects.append(None)
            odd = odd or not line.isspace() and line != b""
    joined = b"\n".join(lines)
    odd = odd or not block_has_same_quotes(joined, objects)
    odd = odd or block_has_long_number(joined)
    del joined
    number = start
    for line, obj in zip(lines, objects, strict=True):
        number += 1
        if type(obj) is dict and not odd:
            yield Parsed(number, line.decode(), obj)
            continue
        if not line or line.isspace():
            n_blank += 1
            continue
        try:
            obj = _read_odd(line, obj, ledger)
        except NotARowError as reason:
            ledger.refuse(number, str(reason), line)
            continue
        yield Parsed(number, line.removeprefix(b"\xef\xbb\xbf").decode(), obj)
    return len(lines) - n_blank - (len(ledger.refused) - n_refused)


def _read_odd(line: bytes, obj: object, ledger: Ledger) -> dict:
    if type(obj) is dict and not has_long_number(line) and same_quotes(line, obj):
        return obj
    return parse_exactly(line, ledger)
