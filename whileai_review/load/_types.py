"""What reading a file gives: rows, refusals, and the one error."""

from __future__ import annotations

from typing import NamedTuple

EXCERPT = 200
"""Characters of a refused line that are kept to show."""


class UnreadableError(ValueError):
    """A source that cannot be read at all; its message is the one line for the user."""


class RowRefusedError(ValueError):
    """A row that the mapping cannot take; its message is the reason."""


class Record(NamedTuple):
    """One row and where it came from.

    Attributes
    ----------
    line : int
        Line of the file (JSON lines, CSV), or the number of the entry (JSON list, Parquet),
        from 1.
    raw : str
        The line as it came; for CSV, Parquet and JSON lists the JSON of the object.
        ``mapping.apply(parse_line(raw))`` gives `row` again.
    row : dict
        The row with our keys.
    """

    line: int
    raw: str
    row: dict


class Refusal(NamedTuple):
    """One line that is no row, and why; `text` is cut at 200 characters."""

    source: str
    line: int
    reason: str
    text: str


class Parsed(NamedTuple):
    """One object of a file, before the mapping."""

    line: int
    raw: str
    obj: dict


class Ledger:
    """What a pass over a source counts: refused lines, notes, lines seen."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.n_lines = 0
        self.n_rows = 0
        self.refused: list[Refusal] = []
        self.notes: dict[tuple[str, str], int] = {}

    def refuse(self, line: int, reason: str, text: str | bytes = "") -> None:
        """Keep a line that is no row."""
        if isinstance(text, bytes):
            text = text[: 4 * EXCERPT].decode("utf-8", "replace")
        text = text[:EXCERPT].encode("utf-8", "replace").decode()
        self.refused.append(Refusal(self.source, line, reason, text))

    def note(self, what: str, where: str = "", count: int = 1) -> None:
        """Count something that was read as no value, or mended."""
        self.notes[what, where] = self.notes.get((what, where), 0) + count

    def lines(self) -> list[str]:
        """The notes as lines for a person."""
        return [
            f"{what}{f' ({where})' if where else ''}: {count:,} times"
            for (what, where), count in self.notes.items()
        ]
