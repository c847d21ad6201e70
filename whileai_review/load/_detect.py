"""Which format is this? By content first, by the file's extension where content leaves it open."""

from __future__ import annotations

from pathlib import PurePath

import orjson

from whileai_review.load._bytes import BLOCK, Origin, Stream, encoding_of, not_in
from whileai_review.load._foreign import foreign_bytes, foreign_json
from whileai_review.load._json import PARTS_OF_A_ROW
from whileai_review.load._names import OURS, PROMPT, REPLY, plain
from whileai_review.load._parse import kind_name
from whileai_review.load._types import UnreadableError

LINES = frozenset({".jsonl", ".ndjson"})
TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
EXTENSIONS = LINES | frozenset(TABLES) | {".json", ".parquet"}
"""Extensions of files that are read, also with .gz behind them."""

LONGEST_FIRST_LINE = 64 * BLOCK
"""Bytes looked through for the end of the first line."""


def extension(name: str) -> str:
    """The extension in small letters, without .gz."""
    path = PurePath(name.lower())
    if path.suffix in (".gz", ".gzip"):
        path = path.with_suffix("")
    return path.suffix


def detect(origin: Origin) -> tuple[str, str]:
    """Format (jsonl, json, csv, tsv, parquet) and, for tables, the delimiter.

    Raises
    ------
    UnreadableError
        The source is empty, binary, a scalar, or a file of another tool.
    """
    stream = origin.stream()
    try:
        head = stream.take(64 * 1024)
        while 0 < len(head) < 64 and (more := stream.take(64 * 1024)):
            head += more
        if not head:
            raise UnreadableError(f"{origin.name} is empty.")
        if head.startswith(b"PAR1"):
            return "parquet", ""
        if what := foreign_bytes(head, origin.name, lambda: head + stream.everything()):
            raise UnreadableError(f"{origin.name} is {what}")
        return _detect_text(head, stream)
    finally:
        stream.close()


def _detect_text(head: bytes, stream: Stream) -> tuple[str, str]:
    name, ending = stream.name, extension(stream.name)
    encoding, skip = encoding_of(head, name)
    text = _decode(head[skip:], encoding, name)
    while not _has_line_end(text.lstrip()) and len(head) < LONGEST_FIRST_LINE:
        more = stream.take(BLOCK)
        if not more:
            break
        head += more
        text = _decode(head[skip:], encoding, name)
    body = text.lstrip()
    if not body:
        if not stream.take(1):
            raise UnreadableError(f"{name} is empty.")
        raise UnreadableError(f"{name} starts with more than 64 KB of blanks.")
    lines = body.split("\n", 1) if "\n" in body else body.split("\r", 1)
    first, rest = lines[0].rstrip("\r"), lines[1] if len(lines) > 1 else ""
    if ending in LINES and not body.startswith("["):
        return "jsonl", ""
    if body[0] in "[{":
        found = _detect_json(body, first, rest.strip(), ending)
        if found:
            return found, ""
    if ending in TABLES:
        return _table(first, TABLES[ending])
    if ending == ".json" or not rest.strip():
        _refuse_scalar(body, name)
    if ending == ".json":
        return "json", ""  # its reader says what is wrong with it
    for delimiter in ("\t", ","):
        if delimiter in first and ending not in (".md", ".py", ".html", ".log"):
            return _table(first, delimiter)
    raise UnreadableError(
        f"{name} is no format that is read: it is neither JSON lines, JSON, CSV, TSV nor Parquet."
    )


def _decode(data: bytes, encoding: str, name: str) -> str:
    """The start of the text; a letter that is cut in two at the end is no error."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if len(data) - error.start < 4:
            return data[: error.start].decode(encoding)
        if extension(name) in LINES:
            return data.decode(encoding, "replace")  # bad lines are refused one by one
        line = data[: error.start].count(b"\n") + 1
        raise not_in(encoding, name, line) from error


def _has_line_end(text: str) -> bool:
    return "\n" in text or "\r" in text


def _detect_json(body: str, first: str, rest: str, ending: str) -> str | None:
    """``jsonl`` or ``json``; None when a table merely starts with a bracket."""
    line = _loads(first)
    if ending in TABLES:
        return "jsonl" if isinstance(line, dict) else None
    if body[0] == "[":
        return "json"
    if not isinstance(line, dict):
        return "json"
    if rest:
        return "jsonl"
    return "jsonl" if _is_row(line, ending) else "json"


def _is_row(value: dict, ending: str) -> bool:
    """Whether a file of one object on one line is a row rather than a container."""
    lists = [
        key
        for key, inner in value.items()
        if isinstance(inner, list) and inner and isinstance(inner[0], dict)
    ]
    if foreign_json(value) or any(key not in PARTS_OF_A_ROW for key in lists):
        return False
    known = {*OURS, *PROMPT, *REPLY}
    return ending != ".json" or any(plain(key) in known for key in value)


def _refuse_scalar(body: str, name: str) -> None:
    try:
        value = orjson.loads(body)
    except ValueError:
        return
    if not isinstance(value, (dict, list)):
        raise UnreadableError(
            f"{name} is a JSON scalar ({kind_name(value)}), not rows. "
            "Give a list of objects, or one object a line."
        )


def _table(first: str, delimiter: str) -> tuple[str, str]:
    if delimiter == ",":
        others = [d for d in (",", ";", "\t") if d in first]
        delimiter = others[0] if others else ","
    return ("tsv" if delimiter == "\t" else "csv"), delimiter


def _loads(text: str) -> object:
    try:
        return orjson.loads(text)
    except ValueError:
        return None
