"""Parquet, through pyarrow, a batch at a time."""

from __future__ import annotations

import datetime
import decimal
import io
import math
from collections.abc import Iterator
from typing import Any

from whileai_review.load._bytes import Stream
from whileai_review.load._parse import NO_VALUE, dumps
from whileai_review.load._types import Ledger, Parsed, UnreadableError

BATCH = 1_000
"""Rows turned into dicts at a time."""


def read_parquet(stream: Stream, ledger: Ledger) -> Iterator[Parsed]:
    """Rows of a Parquet file; times become ISO text, decimals exact numbers or text."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UnreadableError(
            f"{stream.name} is Parquet, which needs pyarrow: pip install pyarrow."
        ) from error
    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(stream.everything()))
        for batch in file.iter_batches(batch_size=BATCH):
            for row in batch.to_pylist():
                ledger.n_lines += 1
                plain = {key: _plain(value, ledger) for key, value in row.items()}
                yield Parsed(ledger.n_lines, dumps(plain), plain)
    except (pyarrow.ArrowException, OSError) as error:
        first = str(error).split("\n")[0].rstrip(".")
        raise UnreadableError(f"{stream.name} is no readable Parquet file: {first}.") from error


def _plain(value: Any, ledger: Ledger) -> Any:
    """The value as JSON has it."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        ledger.note(NO_VALUE)
        return None
    if isinstance(value, dict):
        return {str(key): _plain(inner, ledger) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, ledger) for inner in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        exact = value.is_finite() and value == value.to_integral_value()
        return int(value) if exact else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)
