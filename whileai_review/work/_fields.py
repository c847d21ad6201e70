"""The short values of a row by which people filter, group and measure."""

from __future__ import annotations

import math
from typing import Any

import orjson

MAX_TEXT = 80
"""Characters of a value that can still name a group."""

MAX_GROUPS = 50
"""Values from which a text field is no grouping any more."""

TRIAL = 2_000
"""Rows after which a field with too many values is no longer copied."""

MAX_SHAPES = 100
"""Combinations of keys that are remembered; rows of one file have few."""

NOT_FIELDS = frozenset(
    "prompt final_text messages steps tool_trace tools reason reward gold_reward gold_kind "
    "gold_labels judge_name markers lineage privileged scenario_id task_id rollout_id "
    "rollout_index system_prompt line".split()
)
"""Keys that the store or the pages read elsewhere."""


class Fields:
    """Watches rows go by and says which of their keys group or measure them."""

    def __init__(self, metrics: dict[str, dict[str, str]], skip: set[str]) -> None:
        self.metrics = metrics
        self.skip = NOT_FIELDS | skip
        self.values: dict[str, set[Any]] = {}
        self.dropped: set[str] = set()
        self.numbers: set[str] = set()
        self.n = 0
        self._shapes: dict[tuple[str, ...], list[str]] = {}

    def of(self, row: dict) -> str | None:
        """The row's short values as JSON, None when it has none."""
        self.n += 1
        shape = tuple(row)
        keys = self._shapes.get(shape)
        if keys is None:
            keys = [key for key in shape if key not in self.skip and key not in self.dropped]
            if len(self._shapes) < MAX_SHAPES:
                self._shapes[shape] = keys
        found = {key: value for key in keys if _is_short(value := row[key])}
        if not found:
            return None
        for key, value in found.items():
            seen = self.values.get(key)
            if seen is None:
                self.values[key] = {value}
            elif len(seen) <= MAX_GROUPS:
                seen.add(value)
            elif self.n > TRIAL and key not in self.metrics and key not in self.numbers:
                if _all_numbers(seen):
                    self.numbers.add(key)
                else:
                    self.dropped.add(key)
                    self._shapes.clear()
        return orjson.dumps(found).decode()

    def described(self) -> list[tuple[str, str, int | None, str, str]]:
        """(name, group or metric, number of values, unit, direction) of each field kept."""
        lines: list[tuple[str, str, int | None, str, str]] = []
        for key, seen in self.values.items():
            if key in self.metrics:
                said = self.metrics[key]
                unit, direction = said.get("unit", ""), said.get("direction", "")
                lines.append((key, "metric", None, unit, direction))
            elif len(seen) <= MAX_GROUPS and key not in self.dropped:
                lines.append((key, "group", len(seen), "", ""))
            elif key not in self.dropped and _all_numbers(seen):
                lines.append((key, "metric", None, "", ""))  # to filter by; nobody declared it
        return lines


def _all_numbers(values: set[Any]) -> bool:
    return all(type(value) in (int, float) for value in values)


def _is_short(value: Any) -> bool:
    kind = type(value)
    if kind is str:
        return len(value) <= MAX_TEXT and value.isprintable()
    if kind is int:
        return -(2**53) < value < 2**53
    return kind is bool or (kind is float and math.isfinite(value))
