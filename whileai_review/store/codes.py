"""Findings and codes: what readers found, under names that can be changed without losing a note.

A code is given to a note: to the note of one's label, or to what was found on a row in the
Queue. Nothing is ever overwritten: giving and taking add lines to ``findings``, a merged code
points at the other one, and every change is an event that says who, when and what, so that it
can be undone.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from ._base import Family, event, every, marks, now, one, ready_run
from .errors import NotFoundError, RefusedError

NAME_CHARS = 120
"""Characters of the name of a code."""

HEAD_CHARS = 600
"""Characters of a note that a list is given; it may have ten million."""

BATCH = 500
"""Ids in one question to SQLite."""

Note = tuple[str, int]
"""What a code is given to: ("label", id of a label with a note) or ("row", id of a row)."""

_STANDS = (
    "f.withdraws IS NULL AND NOT EXISTS (SELECT 1 FROM findings w WHERE w.row_id=f.row_id "
    "AND w.withdraws=f.id AND NOT EXISTS "
    "(SELECT 1 FROM findings v WHERE v.row_id=w.row_id AND v.withdraws=w.id))"
)
"""A finding that nobody took back, or whose withdrawal was undone, which withdraws that line.
The row is named so that an index finds the lines."""

_CURRENT = (
    "JOIN current_labels c ON c.row_id=l.row_id AND c.criterion=l.criterion "
    "AND c.annotator=l.annotator AND c.label_id=l.id"
)

_SAME_NOTE = (
    "JOIN labels k ON k.id=f.label_id JOIN current_labels c ON c.row_id=k.row_id "
    "AND c.criterion=k.criterion AND c.annotator=k.annotator "
    "JOIN labels l ON l.id=c.label_id AND (l.id=k.id OR l.note=k.note)"
)
"""The label `l` that has the note now: a verdict changed under an unchanged note keeps its codes."""


def code_name(text: str) -> str:
    """The name of a code as it is kept: one line, composed (NFC), blanks single.

    Raises
    ------
    RefusedError
        Nothing that can be seen, or too long.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not code_key(name):
        raise RefusedError("A code needs a name that can be seen.")
    if len(name) > NAME_CHARS:
        raise RefusedError(
            f"A code's name has at most {NAME_CHARS} characters, this one has {len(name):,}: "
            "the details belong in the note."
        )
    return name


def code_key(name: str) -> str:
    """What two names have in common that are one code: case, blanks, composition apart.

    Examples
    --------
    >>> code_key(" Never  CALLS ") == code_key("never calls")
    True
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    seen = "".join(c for c in folded if c in "\u200c\u200d" or unicodedata.category(c) != "Cf")
    return " ".join(seen.replace("\x00", " ").split()).strip("\u200c\u200d ")


class Codes(Family):
    """Findings on rows, the codes given to notes, and the history of both."""

    def add_finding(
        self, row_id: int, kind: str, by: str, code: str | None = None, note: str | None = None
    ) -> None:
        """What a reader found on a row: that it was read, a cause, a note, bad data.

        Raises
        ------
        NotFoundError
            The row's run was deleted.
        RefusedError
            A name that no code can have.
        """
        name = None if code is None else code_name(code)
        with self._connections.write() as conn:
            row = one(conn, "SELECT run_id FROM rows WHERE id=?", (row_id,))
            if row is None:
                raise NotFoundError("Not saved: the run of this row was deleted.")
            code_id = None if name is None else _found_or_made(conn, name)
            roots = _roots(conn)
            there = every(
                conn,
                f"SELECT f.code_id FROM findings f WHERE f.row_id=? AND f.kind=? AND f.by=? "
                f"AND f.note IS ? AND f.label_id IS NULL AND {_STANDS}",
                (row_id, kind, by, note),
            )
            if any(roots.get(line["code_id"]) == roots.get(code_id) for line in there):
                return
            _insert(conn, row["run_id"], row_id, kind, code_id, note, by, None)

    def mark_seen(self, row_ids: Iterable[int], by: str) -> None:
        """Write down that somebody saw what others noted on these rows, once for each row.

        An answer given afterwards is no blind one (`read_at`); the row was not read, though.
        """
        with self._connections.read() as conn:
            new = [r for r in dict.fromkeys(row_ids) if not _has_any(conn, r, by)]
        if not new:
            return
        with self._connections.write() as conn:
            conn.executemany(
                "INSERT INTO findings (run_id, row_id, kind, by, created_at) "
                "SELECT run_id, id, 'seen', ?, ? FROM rows WHERE id=?",
                [(by, now(), row_id) for row_id in new],
            )

    def withdraw_finding(self, finding_id: int, by: str) -> None:
        """Take a finding back; the line stays. One that is taken back already stays so."""
        with self._connections.write() as conn:
            found = one(conn, "SELECT * FROM findings WHERE id=?", (finding_id,))
            if found is None:
                raise NotFoundError("This finding is not here.")
            _withdraw(conn, [finding_id], by)

    def findings(self, run: int | str, kind: str | None = None) -> list[dict]:
        """Findings of a run that were not withdrawn: id, row_id, kind, code, note, by.

        ``code`` is the name that the code has by now, under whatever name it was given.
        """
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            names = _names(conn)
            found = every(
                conn,
                "SELECT f.id, f.row_id, f.kind, f.code_id AS code, f.note, f.by, f.created_at "
                f"FROM findings f WHERE f.run_id=? AND (? IS NULL OR f.kind=?) AND {_STANDS} "
                "ORDER BY f.id",
                (run_id, kind, kind),
            )
        for line in found:
            line["code"] = names.get(line["code"])
        return found

    def read_at(self, row_id: int, by: str) -> str | None:
        """When this person read the row with the judge's and the others' verdicts in view."""
        with self._connections.read() as conn:
            line = conn.execute(
                "SELECT min(created_at) FROM findings WHERE row_id=? AND by=?", (row_id, by)
            ).fetchone()
        return line[0]

    def last_codes(self, run: int | str, n: int = 5) -> list[str]:
        """The codes used last on a run, newest first."""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            names = _names(conn)
            found: list[Any] = conn.execute(
                "SELECT f.code_id FROM findings f WHERE f.run_id=? AND f.code_id IS NOT NULL "
                "GROUP BY f.code_id ORDER BY max(f.id) DESC",
                (run_id,),
            ).fetchall()
        return [*dict.fromkeys(names[f[0]] for f in found)][:n]

    def codes(self) -> list[dict]:
        """Every code that is not merged into another: id, name, created_at, and ``also``, the
        names that were merged into it.
        """
        with self._connections.read() as conn:
            lines = every(conn, "SELECT * FROM codes ORDER BY id")
            roots = _roots(conn)
        also: dict[int, list[str]] = {}
        for line in lines:
            if line["merged_into"] is not None:
                also.setdefault(roots[line["id"]], []).append(line["name"])
        return [
            {"id": c["id"], "name": c["name"], "created_at": c["created_at"]}
            | {"also": also.get(c["id"], [])}
            for c in lines
            if c["merged_into"] is None
        ]

    def give_code(self, run: int | str, notes: Sequence[Note], name: str, by: str) -> dict:
        """Give a code to notes of a run; a name that is new makes a new code.

        Returns ``code_id``, its ``name`` as kept, ``n`` notes that got it, ``had`` that had it.

        Raises
        ------
        RefusedError
            No note, no name, or a note that was taken back or changed meanwhile.
        """
        name = code_name(name)
        with self._connections.write() as conn:
            run_id = ready_run(conn, run)["id"]
            places = _places(conn, run_id, notes)
            code_id = _found_or_made(conn, name)
            roots = _roots(conn)
            new = [p for p in places if code_id not in _roots_on(conn, p, roots)]
            gave = [
                _insert(conn, run_id, p["row_id"], "cause", code_id, None, by, p["label_id"])
                for p in new
            ]
            name = _names(conn)[code_id]
            if gave:
                _write_down(conn, by, "give", run_id, name=name, gave=gave, took=[])
        return {"code_id": code_id, "name": name, "n": len(gave), "had": len(places) - len(new)}

    def take_code(self, run: int | str, notes: Sequence[Note], code_id: int, by: str) -> int:
        """Take a code off notes; how many had it.

        Raises
        ------
        RefusedError
            None of them has it (any more), or the code was merged meanwhile.
        """
        with self._connections.write() as conn:
            run_id = ready_run(conn, run)["id"]
            code = _live(conn, code_id)
            _, took = _standing_of(conn, _places(conn, run_id, notes), code)
            _withdraw(conn, took, by)
            _write_down(conn, by, "take", run_id, name=code["name"], gave=[], took=took)
        return len(took)

    def split_code(
        self, run: int | str, code_id: int, notes: Sequence[Note], name: str, by: str
    ) -> dict:
        """Move notes from a code to another one, a new one where the name is new.

        Returns ``code_id``, ``name`` and ``n`` as `give_code` does; the notes that are not
        named keep the code.

        Raises
        ------
        RefusedError
            None of the notes has the code (any more), the name is the code's own, or the code
            was merged meanwhile.
        """
        name = code_name(name)
        with self._connections.write() as conn:
            run_id = ready_run(conn, run)["id"]
            code = _live(conn, code_id)
            having, took = _standing_of(conn, _places(conn, run_id, notes), code)
            into = _found_or_made(conn, name)
            if into == code_id:
                raise RefusedError(f"“{code['name']}” is the code that they have. Name another.")
            roots = _roots(conn)
            gave = [
                _insert(conn, run_id, p["row_id"], "cause", into, None, by, p["label_id"])
                for p in having
                if into not in _roots_on(conn, p, roots)
            ]
            _withdraw(conn, took, by)
            name = _names(conn)[into]
            _write_down(
                conn, by, "split", run_id, name=code["name"], to=name, gave=gave, took=took,
                n=len(having),
            )  # fmt: skip
        return {"code_id": into, "name": name, "n": len(having)}

    def rename_code(self, code_id: int, name: str, by: str, seen: str | None = None) -> str:
        """Give a code another name, on every run; the name as kept.

        Parameters
        ----------
        seen
            The name that was on the screen: one that somebody else changed meanwhile is not
            overwritten.

        Raises
        ------
        RefusedError
            Another code has the name, or this one was renamed or merged meanwhile.
        """
        name = code_name(name)
        with self._connections.write() as conn:
            code = _live(conn, code_id)
            if name == code["name"]:
                return name
            if seen is not None and seen != code["name"]:
                raise RefusedError(
                    f"Not saved: “{seen}” was renamed “{code['name']}” meanwhile. Look again."
                )
            alias = _alias_or_free(conn, code, name)
            _set_name(conn, code, name, alias)
            _write_down(conn, by, "rename", None, id=code_id, name=code["name"], to=name,
                        alias=alias["id"] if alias else None)  # fmt: skip
        return name

    def merge_codes(self, code_ids: Sequence[int], into: int, by: str) -> int:
        """Make codes one, on every run: their notes count under `into`. How many were merged.

        Raises
        ------
        RefusedError
            One was merged elsewhere meanwhile, or there is nothing to merge.
        """
        with self._connections.write() as conn:
            target = _live(conn, into)
            sources = [each for each in dict.fromkeys(code_ids) if each != into]
            if not sources:
                raise RefusedError("A code is merged into another one: pick two.")
            # What somebody else merged into the same code meanwhile is as it was to be.
            lines = [_code(conn, each) for each in sources]
            roots = _roots(conn)
            todo = [line for line in lines if roots[line["id"]] != into]
            for line in todo:
                _live(conn, line["id"])
                conn.execute("UPDATE codes SET merged_into=? WHERE id=?", (into, line["id"]))
                _write_down(conn, by, "merge", None, id=line["id"], into=into,
                            name=line["name"], to=target["name"])  # fmt: skip
        return len(todo)

    def code_changes(self, run: int | str, limit: int = 20) -> list[dict]:
        """What was done to codes, newest first, on this run and on all.

        Each with ``id at by what`` (give, take, split, rename, merge), ``name``, ``to``, ``n``
        notes, and ``undone_by`` and ``undone_at``, None while it stands.
        """
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            undone = _undone(conn)
            lines = every(
                conn,
                "SELECT id, at, by, what, detail FROM events WHERE what IN ('code give', "
                "'code take', 'code split', 'code rename', 'code merge') "
                "AND (run_id IS NULL OR run_id=?) ORDER BY id DESC LIMIT ?",
                (run_id, limit),
            )
        for line in lines:
            said = orjson.loads(line.pop("detail"))
            line["what"] = line["what"].removeprefix("code ")
            line["name"], line["to"] = said["name"], said.get("to")
            line["n"] = said.get("n", max(len(said.get("gave", [])), len(said.get("took", []))))
            line["undone_by"], line["undone_at"] = undone.get(line["id"], (None, None))
        return lines

    def undo_code_change(self, change_id: int, by: str) -> dict:
        """Undo one change, and nothing that came after it.

        Returns ``what``, ``n`` notes (or 1) put back and ``changed``, the notes that were
        changed since and stay as they are.

        Raises
        ------
        NotFoundError
            No such change.
        RefusedError
            It is undone already, or what came after it does not let it be undone.
        """
        with self._connections.write() as conn:
            line = one(
                conn,
                "SELECT * FROM events WHERE id=? AND what LIKE 'code %' AND what<>'code undo'",
                (change_id,),
            )
            if line is None:
                raise NotFoundError("This change is not here.")
            before = _undone(conn).get(change_id)
            if before is not None:
                raise RefusedError(f"{before[0] or 'Somebody'} has undone this already.")
            what, said = line["what"].removeprefix("code "), orjson.loads(line["detail"])
            n, changed = _UNDO.get(what, _undo_notes)(conn, said, by)
            event(
                conn, by, "code undo", line["run_id"], orjson.dumps({"undoes": change_id}).decode()
            )
        return {"what": what, "n": n, "changed": changed}

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
                f"SELECT l.id, l.row_id, l.ts FROM labels l {_CURRENT} WHERE l.run_id=? "
                "AND l.note IS NOT NULL AND (? IS NULL OR l.note LIKE ? ESCAPE '\\')",
                (run_id, like, like),
            ).fetchall()
            rows = conn.execute(
                "SELECT f.row_id, f.row_id, min(f.created_at) FROM findings f WHERE f.run_id=? "
                f"AND {_STANDS} AND (f.note IS NOT NULL OR (f.code_id IS NOT NULL AND "
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
            for line in _in_batches(
                conn,
                f"SELECT id, {head}, annotator AS by, ts AS at, verdict, criterion FROM labels "
                "WHERE id IN ({})",
                labels,
            ):
                found["label", line.pop("id")].append(line)
            for line in _in_batches(
                conn,
                f"SELECT f.row_id, {head}, f.by, f.created_at AS at FROM findings f "
                f"WHERE f.row_id IN ({{}}) AND f.note IS NOT NULL AND {_STANDS} ORDER BY f.id",
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
            else f"SELECT f.note FROM findings f WHERE f.row_id=? AND f.note IS NOT NULL AND {_STANDS}"
        )
        with self._connections.read() as conn:
            return [line[0] for line in conn.execute(sql, (number,))]

    def coded_rows(self, run: int | str) -> list[tuple[int, int]]:
        """(row id, id of a code that is not merged away), each pair once."""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            roots = _roots(conn)
            rows = conn.execute(
                f"SELECT f.row_id, f.code_id FROM findings f WHERE f.run_id=? AND {_STANDS} "
                "AND f.code_id IS NOT NULL AND f.label_id IS NULL",
                (run_id,),
            ).fetchall()
            labels = conn.execute(
                f"SELECT f.row_id, f.code_id FROM findings f {_SAME_NOTE} WHERE f.run_id=? "
                f"AND {_STANDS} AND f.code_id IS NOT NULL",
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
                f"FROM labels l {_CURRENT} WHERE l.run_id=? AND l.kind='human'",
                (run_id,),
            ).fetchall()
            read = conn.execute(
                "SELECT f.row_id, min(f.created_at), NULL FROM findings f WHERE f.run_id=? "
                f"AND f.kind<>'seen' AND {_STANDS} GROUP BY f.row_id",
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
                    ("SELECT max(id) FROM findings WHERE run_id=?", (run_id,)),
                    ("SELECT max(id) FROM events WHERE what LIKE 'code %'", ()),
                )
            )


def _has_any(conn: sqlite3.Connection, row_id: int, by: str) -> bool:
    sql = "SELECT 1 FROM findings WHERE row_id=? AND by=? LIMIT 1"
    return conn.execute(sql, (row_id, by)).fetchone() is not None


def _insert(conn: sqlite3.Connection, *values: Any) -> int:
    """A finding of (run_id, row_id, kind, code_id, note, by, label_id); its id."""
    done = conn.execute(
        "INSERT INTO findings (run_id, row_id, kind, code_id, note, by, label_id, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*values, now()),
    )
    return int(done.lastrowid or 0)


def _withdraw(conn: sqlite3.Connection, ids: Sequence[int], by: str) -> list[int]:
    """Take back those of the findings that stand; which."""
    stood = [
        line
        for each in ids
        if (line := one(conn, f"SELECT f.* FROM findings f WHERE f.id=? AND {_STANDS}", (each,)))
    ]
    conn.executemany(
        "INSERT INTO findings (run_id, row_id, kind, by, withdraws, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [(f["run_id"], f["row_id"], f["kind"], by, f["id"], now()) for f in stood],
    )
    return [line["id"] for line in stood]


def _roots(conn: sqlite3.Connection) -> dict[int | None, int]:
    """Every code's id -> the id of the code that it counts as by now."""
    into = dict(conn.execute("SELECT id, merged_into FROM codes").fetchall())
    found: dict[int | None, int] = {}
    for start in into:
        at = start
        while into.get(at) is not None:
            at = into[at]
        found[start] = at
    return found


def _names(conn: sqlite3.Connection) -> dict[int | None, str]:
    """Every code's id -> the name that it goes by now."""
    names = dict(conn.execute("SELECT id, name FROM codes").fetchall())
    return {each: names[root] for each, root in _roots(conn).items()}


def _same_name(conn: sqlite3.Connection, name: str) -> list[dict]:
    """Codes of this name, merged ones too; the one that is written alike first."""
    key = code_key(name)
    lines = [
        c for c in every(conn, "SELECT * FROM codes ORDER BY id") if code_key(c["name"]) == key
    ]
    return sorted(lines, key=lambda c: (c["name"] != name, c["merged_into"] is not None, c["id"]))


def _found_or_made(conn: sqlite3.Connection, name: str) -> int:
    """The code of this name, or the one that it was merged into; a new one where none has it."""
    there = _same_name(conn, name)
    if there:
        return _roots(conn)[there[0]["id"]]
    sql = "INSERT INTO codes (name, created_at) VALUES (?, ?)"
    return int(conn.execute(sql, (name, now())).lastrowid or 0)


def _code(conn: sqlite3.Connection, code_id: int) -> dict:
    line = one(conn, "SELECT * FROM codes WHERE id=?", (code_id,))
    if line is None:
        raise NotFoundError("This code is not here.")
    return line


def _live(conn: sqlite3.Connection, code_id: int) -> dict:
    """A code that was not merged away."""
    line = _code(conn, code_id)
    if line["merged_into"] is not None:
        into, by = _names(conn)[code_id], _merged_by(conn, code_id)
        raise RefusedError(
            f"Not saved: “{line['name']}” was merged into “{into}”"
            f"{f' by {by}' if by else ''} meanwhile. Look again."
        )
    return line


def _merged_by(conn: sqlite3.Connection, code_id: int) -> str:
    for line in conn.execute(
        "SELECT by, detail FROM events WHERE what='code merge' ORDER BY id DESC"
    ):
        if orjson.loads(line["detail"])["id"] == code_id:
            return line["by"]
    return ""


def _alias_or_free(conn: sqlite3.Connection, code: dict, name: str) -> dict | None:
    """The code whose name is wanted and that was merged into this one; None when it is free.

    Two codes that were merged the wrong way round are renamed by changing names with each other.
    """
    roots, alias = _roots(conn), None
    for other in _same_name(conn, name):
        if other["id"] == code["id"]:
            continue
        if roots[other["id"]] != code["id"]:
            held = _names(conn)[other["id"]]
            known = "" if held == other["name"] else f" as “{other['name']}”"
            raise RefusedError(
                f"There is a code “{held}”{known} already. Merge the two, or take another name."
            )
        if other["name"] == name:
            alias = other
    return alias


def _set_name(conn: sqlite3.Connection, code: dict, name: str, alias: dict | None) -> None:
    rename = "UPDATE codes SET name=? WHERE id=?"
    if alias is not None:
        conn.execute(rename, (f"\x00{alias['id']}", alias["id"]))  # names are unique
    conn.execute(rename, (name, code["id"]))
    if alias is not None:
        conn.execute(rename, (code["name"], alias["id"]))


def _places(conn: sqlite3.Connection, run_id: int, notes: Sequence[Note]) -> list[dict]:
    """Where each note is: its row and, of a label, the label that has it now."""
    if not notes:
        raise RefusedError("Nothing is selected: tick notes first.")
    found, gone = [], 0
    for kind, number in dict.fromkeys(notes):
        line = (
            one(
                conn,
                f"SELECT l.row_id, l.id AS label_id FROM labels l {_CURRENT} "
                "WHERE l.id=? AND l.run_id=? AND l.note IS NOT NULL",
                (number, run_id),
            )
            if kind == "label"
            else one(
                conn,
                "SELECT id AS row_id, NULL AS label_id FROM rows WHERE id=? AND run_id=?",
                (number, run_id),
            )
        )
        if line is None:
            gone += 1
        else:
            found.append(line)
    if gone:
        raise RefusedError(
            f"Not saved: {gone:,} of these notes "
            f"{'was' if gone == 1 else 'were'} taken back or changed meanwhile. Look again."
        )
    return found


def _on(conn: sqlite3.Connection, place: dict) -> list[dict]:
    """Findings with a code that stand on a note: id, code_id."""
    if place["label_id"] is None:
        return every(
            conn,
            "SELECT f.id, f.code_id FROM findings f WHERE f.row_id=? AND f.label_id IS NULL "
            f"AND f.code_id IS NOT NULL AND {_STANDS}",
            (place["row_id"],),
        )
    return every(
        conn,
        "SELECT f.id, f.code_id FROM findings f JOIN labels k ON k.id=f.label_id "
        "JOIN labels l ON l.id=? AND l.criterion=k.criterion AND l.annotator=k.annotator "
        "AND (l.id=k.id OR l.note=k.note) "
        f"WHERE f.row_id=? AND f.code_id IS NOT NULL AND {_STANDS}",
        (place["label_id"], place["row_id"]),
    )


def _roots_on(conn: sqlite3.Connection, place: dict, roots: dict[int | None, int]) -> set[int]:
    return {roots[line["code_id"]] for line in _on(conn, place)}


def _standing_of(
    conn: sqlite3.Connection, places: Sequence[dict], code: dict
) -> tuple[list[dict], list[int]]:
    """Of these notes those that have the code, and the findings that give it to them."""
    roots = _roots(conn)
    having, ids = [], []
    for place in places:
        mine = [f["id"] for f in _on(conn, place) if roots[f["code_id"]] == code["id"]]
        if mine:
            having.append(place)
            ids += mine
    if not having:
        raise RefusedError(
            f"Not saved: none of the selected notes has the code “{code['name']}” (any more)."
        )
    return having, ids


def _given(conn: sqlite3.Connection, run_id: int) -> dict[Note, list[int]]:
    """Note -> the codes that stand on it."""
    roots = _roots(conn)
    rows = conn.execute(
        f"SELECT 'row', f.row_id, f.code_id FROM findings f WHERE f.run_id=? AND {_STANDS} "
        "AND f.code_id IS NOT NULL AND f.label_id IS NULL ORDER BY f.id",
        (run_id,),
    ).fetchall()
    labels = conn.execute(
        f"SELECT 'label', l.id, f.code_id FROM findings f {_SAME_NOTE} WHERE f.run_id=? "
        f"AND {_STANDS} AND f.code_id IS NOT NULL ORDER BY f.id",
        (run_id,),
    ).fetchall()
    found: dict[Note, dict[int, None]] = {}
    for kind, number, code_id in (*rows, *labels):
        found.setdefault((kind, number), {})[roots[code_id]] = None
    return {note: [*ids] for note, ids in found.items()}


def _write_down(
    conn: sqlite3.Connection, by: str, what: str, run_id: int | None, **detail: Any
) -> None:
    event(conn, by, f"code {what}", run_id, orjson.dumps(detail).decode())


def _undone(conn: sqlite3.Connection) -> dict[int, tuple[str, str]]:
    """Change -> who undid it, and when."""
    return {
        orjson.loads(line["detail"])["undoes"]: (line["by"], line["at"])
        for line in conn.execute("SELECT by, at, detail FROM events WHERE what='code undo'")
    }


def _undo_notes(conn: sqlite3.Connection, said: dict, by: str) -> tuple[int, int]:
    """Take back what was given and give again what was taken, where nothing was changed since."""
    gave, took = _lines(conn, said["gave"]), _lines(conn, said["took"])
    back = {*_withdraw(conn, said["gave"], by)}
    undone = {_place(line) for line in gave if line["id"] in back}
    # A note whose move was changed since keeps what it has now.
    kept = {_place(line) for line in gave} - undone
    for line in took:
        if _place(line) not in kept:
            undone.add(_place(line))
            _restore(conn, line, by)
    if not undone:
        raise RefusedError("Nothing is left to undo: all of it was changed since.")
    return len(undone), len(kept)


def _place(line: dict) -> tuple[int, int | None]:
    return line["row_id"], line["label_id"]


def _restore(conn: sqlite3.Connection, finding: dict, by: str) -> None:
    """Undo the withdrawal of a finding: it stands again as what its reader found."""
    conn.execute(
        "INSERT INTO findings (run_id, row_id, kind, by, withdraws, created_at) "
        "SELECT w.run_id, w.row_id, w.kind, ?, w.id, ? FROM findings w WHERE w.row_id=? "
        "AND w.withdraws=? AND NOT EXISTS "
        "(SELECT 1 FROM findings v WHERE v.row_id=w.row_id AND v.withdraws=w.id)",
        (by, now(), finding["row_id"], finding["id"]),
    )


def _undo_rename(conn: sqlite3.Connection, said: dict, by: str) -> tuple[int, int]:
    code = _code(conn, said["id"])
    if code["name"] != said["to"]:
        raise RefusedError(f"“{said['to']}” was renamed “{code['name']}” since. Undo that first.")
    alias = _alias_or_free(conn, code, said["name"])
    if said["alias"] != (alias["id"] if alias else None):
        raise RefusedError("What was merged into this code has changed since. Undo that first.")
    _set_name(conn, code, said["name"], alias)
    return 1, 0


def _undo_merge(conn: sqlite3.Connection, said: dict, by: str) -> tuple[int, int]:
    code = _code(conn, said["id"])
    if code["merged_into"] != said["into"]:
        raise RefusedError("These codes are not merged any more.")
    if code["name"] != said["name"]:
        raise RefusedError(f"“{said['name']}” gave its name away since. Undo that renaming first.")
    conn.execute("UPDATE codes SET merged_into=NULL WHERE id=?", (code["id"],))
    return 1, 0


_UNDO = {"rename": _undo_rename, "merge": _undo_merge}


def _lines(conn: sqlite3.Connection, ids: Sequence[int]) -> list[dict]:
    return _in_batches(conn, "SELECT * FROM findings WHERE id IN ({}) ORDER BY id", ids)


def _in_batches(conn: sqlite3.Connection, sql: str, ids: Sequence[int]) -> list[dict]:
    found = []
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        found += every(conn, sql.format(marks(batch)), batch)
    return found


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
