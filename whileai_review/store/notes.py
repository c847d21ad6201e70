"""Notes of a run in one list, what is said of their rows, and which codes they have."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ._base import Family, ready_run
from ._names import code_roots
from .findings import STANDS, in_batches

HEAD_CHARS = 600
"""Characters of a note that a list is given; it may have ten million."""

Note = tuple[str, int]
"""What a code is given to: ("label", id of a label with a note) or ("row", id of a row)."""

CURRENT = (
    "JOIN current_labels c ON c.row_id=l.row_id AND c.criterion=l.criterion "
    "AND c.annotator=l.annotator AND c.label_id=l.id"
)

SAME_NOTE = (
    "JOIN labels k ON k.id=f.label_id JOIN current_labels c ON c.row_id=k.row_id "
    "AND c.criterion=k.criterion AND c.annotator=k.annotator "
    "JOIN labels l ON l.id=c.label_id AND (l.id=k.id OR l.note=k.note)"
)
"""The label `l` that has the note now: a verdict changed under an unchanged note keeps its codes."""


class Notes(Family):
    """The notes of labels and of the Queue."""

    def notes(self, run: int | str, text: str | None = None) -> list[dict]:
        """Every note of a run, oldest first, without its text: ``note`` (to give codes to),
        ``row_id``, ``at`` and ``code_ids`` (none merged away).

        The notes of current labels, and each row on which somebody noted something or gave a
        cause in the Queue. With `text` only the notes that contain it.
        """
        like = None if not text else f"%{_escaped(text)}%"
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            given = _given(conn, run_id)
            labels = conn.execute(
                f"SELECT l.id, l.row_id, l.ts FROM labels l {CURRENT} WHERE l.run_id=? "
                "AND l.note IS NOT NULL AND (? IS NULL OR l.note LIKE ? ESCAPE '\\')",
                (run_id, like, like),
            ).fetchall()
            rows = conn.execute(
                "SELECT f.row_id, f.row_id, min(f.created_at) FROM findings f WHERE f.run_id=? "
                f"AND {STANDS} AND (f.note IS NOT NULL OR (f.code_id IS NOT NULL AND "
                "f.label_id IS NULL)) AND (? IS NULL OR f.note LIKE ? ESCAPE '\\') "
                "GROUP BY f.row_id",
                (run_id, like, like),
            ).fetchall()
        found = [
            {"note": (kind, line[0]), "row_id": line[1], "at": line[2]}
            | {"code_ids": given.get((kind, line[0]), [])}
            for kind, lines in (("label", labels), ("row", rows))
            for line in lines
        ]
        return sorted(found, key=lambda each: (each["at"], each["note"]))

    def note_texts(self, notes: Sequence[Note]) -> dict[Note, list[dict]]:
        """The texts of notes: each a list of ``text`` (its first `HEAD_CHARS`), ``chars``
        (of the whole), ``by``, ``at``, and of a label its ``verdict`` and ``criterion``.
        """
        found: dict[Note, list[dict]] = {note: [] for note in notes}
        labels = [i for kind, i in notes if kind == "label"]
        rows = [i for kind, i in notes if kind == "row"]
        head = f"substr(note, 1, {HEAD_CHARS}) AS text, length(note) AS chars"
        with self._connections.read() as conn:
            for line in in_batches(
                conn,
                f"SELECT id, {head}, annotator AS by, ts AS at, verdict, criterion FROM labels "
                "WHERE id IN ({})",
                labels,
            ):
                found["label", line.pop("id")].append(line)
            for line in in_batches(
                conn,
                f"SELECT f.row_id, {head}, f.by, f.created_at AS at FROM findings f "
                f"WHERE f.row_id IN ({{}}) AND f.note IS NOT NULL AND {STANDS} ORDER BY f.id",
                rows,
            ):
                found["row", line.pop("row_id")].append(line)
        return found

    def whole_note(self, note: Note) -> list[str]:
        """The texts of one note, whole."""
        kind, number = note
        sql = (
            "SELECT note FROM labels WHERE id=? AND note IS NOT NULL"
            if kind == "label"
            else f"SELECT f.note FROM findings f WHERE f.row_id=? AND f.note IS NOT NULL AND {STANDS}"
        )
        with self._connections.read() as conn:
            return [line[0] for line in conn.execute(sql, (number,))]

    def coded_rows(self, run: int | str) -> list[tuple[int, int]]:
        """(row id, id of a code that is not merged away), each pair once."""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            roots = code_roots(conn)
            rows = conn.execute(
                f"SELECT f.row_id, f.code_id FROM findings f WHERE f.run_id=? AND {STANDS} "
                "AND f.code_id IS NOT NULL AND f.label_id IS NULL",
                (run_id,),
            ).fetchall()
            labels = conn.execute(
                f"SELECT f.row_id, f.code_id FROM findings f {SAME_NOTE} WHERE f.run_id=? "
                f"AND {STANDS} AND f.code_id IS NOT NULL",
                (run_id,),
            ).fetchall()
        return sorted({(line[0], roots[line[1]]) for line in (*rows, *labels)})

    def reviewed_rows(self, run: int | str) -> list[tuple[int, str, str | None]]:
        """Rows that a person answered or read: (row id, when first, how the row was chosen).

        How is that of a blind answer (random, census, ...); None for a row that was only read,
        or answered after the judge or another label was seen.
        """
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            answered = conn.execute(
                f"SELECT l.row_id, l.ts, CASE WHEN l.unblinded_at IS NULL THEN l.chosen END "
                f"FROM labels l {CURRENT} WHERE l.run_id=? AND l.kind='human'",
                (run_id,),
            ).fetchall()
            read = conn.execute(
                "SELECT f.row_id, min(f.created_at), NULL FROM findings f WHERE f.run_id=? "
                f"AND f.kind<>'seen' AND {STANDS} GROUP BY f.row_id",
                (run_id,),
            ).fetchall()
        found: dict[int, tuple[int, str, str | None]] = {}
        for row_id, at, how in (*answered, *read):
            before = found.get(row_id)
            if before is not None:
                at, how = min(at, before[1]), before[2] or how
            found[row_id] = (row_id, at, how)
        return [found[row_id] for row_id in sorted(found)]

    def code_revision(self, run: int | str) -> str:
        """Changes with every label and finding of the run and every change of a code."""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            return "/".join(
                str(conn.execute(sql, values).fetchone()[0] or 0)
                for sql, values in (
                    ("SELECT max(id) FROM labels WHERE run_id=?", (run_id,)),
                    ("SELECT max(id) FROM findings WHERE run_id=? AND kind<>'seen'", (run_id,)),
                    ("SELECT max(id) FROM events WHERE what LIKE 'code %'", ()),
                )
            )


def _given(conn: sqlite3.Connection, run_id: int) -> dict[Note, list[int]]:
    """Note -> the codes that stand on it."""
    roots = code_roots(conn)
    rows = conn.execute(
        f"SELECT 'row', f.row_id, f.code_id FROM findings f WHERE f.run_id=? AND {STANDS} "
        "AND f.code_id IS NOT NULL AND f.label_id IS NULL ORDER BY f.id",
        (run_id,),
    ).fetchall()
    labels = conn.execute(
        f"SELECT 'label', l.id, f.code_id FROM findings f {SAME_NOTE} WHERE f.run_id=? "
        f"AND {STANDS} AND f.code_id IS NOT NULL ORDER BY f.id",
        (run_id,),
    ).fetchall()
    found: dict[Note, dict[int, None]] = {}
    for kind, number, code_id in (*rows, *labels):
        found.setdefault((kind, number), {})[roots[code_id]] = None
    return {note: [*ids] for note, ids in found.items()}


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
