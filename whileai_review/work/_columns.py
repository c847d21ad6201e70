"""A file as columns for the store, batch by batch: read and taken apart, nothing written.

This half of a load knows no store, so it can run in a process of its own while the other half
writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

import orjson

from whileai_review import load, rows
from whileai_review.work._fields import Fields

SNIFFED = 1_000
"""Rows from which the keys of a file are recognised."""

BATCH = 2_000
"""Rows in one transaction: a label given meanwhile waits for one batch (ui.md 2.5)."""


@dataclass(frozen=True)
class Plan:
    """What to read and how; can be pickled."""

    mapping: load.Mapping
    gold_keys: tuple[tuple[str, str], ...]
    """(criterion, key of the row) of the label columns whose origin is known."""
    split: str | None = None
    duplicates: Any = "keep"

    def verdict_keys(self) -> list[tuple[str, str]]:
        """(criterion, key of the row) of the verdict columns."""
        return list(self.mapping.verdict_keys("reward").items())


class Batch(NamedTuple):
    """Rows of one part (a value of the split column, else None) as columns.

    `verdicts` are (row of the batch, criterion, 0/1/None, value, judge_name); `golds` are
    (row of the batch, criterion, key, value).
    """

    part: str | None
    lines: list[int]
    raws: list[str]
    identities: list[str]
    tasks: list[str]
    chars: list[int]
    fields: list[str | None]
    contents: list[int]
    verdicts: list[tuple[int, str, int | None, float, str | None]]
    golds: list[tuple[int, str, str, Any]]


class End(NamedTuple):
    """What is known when the whole file was read."""

    content_hash: str
    n_bytes: int
    duplicates: dict
    refused: list[load.Refusal]
    notes: list[str]
    fields: dict[str | None, list[tuple[str, str, int | None, str, str]]]
    tools: dict[str | None, list[str]]


def read_columns(source: Any, name: str | None, plan: Plan) -> Iterator[Batch | End]:
    """Every batch of a file, then one `End`.

    Raises
    ------
    UnreadableError
        What came before it is half a file.
    """
    opened = load.open_source(source, name)
    judge = opened.duplicates(plan.mapping, plan.duplicates)
    admit, identity_of = judge.admit, rows.identity
    parts: dict[str | None, _Part] = {}
    split = plan.split
    split_seen = split is None
    # One row at a time: thousands of parsed rows held at once cost more in garbage collection
    # than all the rest.
    for line, raw, row in opened.records(plan.mapping):
        identity = identity_of(row)
        if not admit(identity, raw, line):
            continue
        value = rows.as_text(row.get(split)) if split else None
        split_seen = split_seen or split in row
        part = parts.get(value)
        if part is None:
            part = parts[value] = _Part(value, plan)
        if part.take(line, raw, identity, row) == BATCH:
            yield part.batch()
    if not split_seen:
        raise load.UnreadableError(f"{opened.name}: no row has a column {split!r} to split by.")
    for part in parts.values():
        if part.lines:
            yield part.batch()
    yield End(
        opened.content_hash or "",
        opened.n_bytes,
        judge.report(),
        opened.refused,
        opened.notes,
        {value: part.fields.described() for value, part in parts.items()},
        {value: list(part.tools) for value, part in parts.items()},
    )


def content(row: dict) -> int:
    """A checksum of what was said and done: two runs share task and repeat, not the rollout.

    Reply, conversation and steps; not the judge's words, so a re-judged rollout is the same.
    """
    total = crc32(rows.as_text(row.get("final_text")).encode("utf-8", "surrogatepass"))
    for key in ("messages", "steps", "tool_trace"):
        part = row.get(key)
        if part:
            try:
                data = orjson.dumps(part)
            except TypeError:  # an integer over 64 bits
                data = rows.as_text(part).encode("utf-8", "surrogatepass")
            total = crc32(data, total)
    return total


@dataclass
class _Part:
    value: str | None
    plan: Plan
    tools: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mapping = self.plan.mapping
        self.verdict_keys = self.plan.verdict_keys()
        verdicts = {key for _, key in self.verdict_keys}
        verdicts |= set(mapping.verdict_keys("gold_reward").values())
        self.fields = Fields(mapping.metrics, verdicts | {mapping.keys[key] for key in verdicts})
        self._last_tools: Any = None
        self._clear()

    def _clear(self) -> None:
        self.lines: list[int] = []
        self.raws: list[str] = []
        self.identities: list[str] = []
        self.tasks: list[str] = []
        self.chars: list[int] = []
        self.shorts: list[str | None] = []
        self.contents: list[int] = []
        self.verdicts: list[tuple[int, str, int | None, float, str | None]] = []
        self.golds: list[tuple[int, str, str, Any]] = []

    def take(self, line: int, raw: str, identity: str, row: dict) -> int:
        """Read one row into the columns; how many rows there are now."""
        at = len(self.lines)
        self.lines.append(line)
        self.raws.append(raw)
        self.identities.append(identity)
        self.tasks.append(rows.task_key(row))
        self.chars.append(rows.reply_chars(row))
        self.shorts.append(self.fields.of(row))
        self.contents.append(content(row))
        get = row.get
        for criterion, key in self.verdict_keys:
            value = get(key)
            if value is not None and rows.is_number(value):
                name = get("judge_name")
                signed = name if name is None or type(name) is str else rows.as_text(name)
                self.verdicts.append((at, criterion, rows.verdict(value), float(value), signed))
        for criterion, key in self.plan.gold_keys:
            if (value := get(key)) is not None:
                self.golds.append((at, criterion, key, value))
        tools = get("tools")
        if tools is not None and tools != self._last_tools:
            self._last_tools = tools
            self.tools |= dict.fromkeys(rows.declared_tools(row))
        return at + 1

    def batch(self) -> Batch:
        """What was taken since the last batch."""
        found = Batch(
            self.value, self.lines, self.raws, self.identities, self.tasks, self.chars,
            self.shorts, self.contents, self.verdicts, self.golds,
        )  # fmt: skip
        self._clear()
        return found
