"""Codes: names that are given to notes, and can be changed without losing one.

A code is given to a note: to the note of one's label, or to what was found on a row in the
Queue. Nothing is ever overwritten: giving and taking add lines to ``findings``, a merged code
points at the other one, and every change is an event that says who, when and what, so that it
can be undone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import orjson

from ._base import Family, event, every, one, ready_run
from ._names import code_name, code_names, code_roots, found_or_made, same_name
from .errors import NotFoundError, RefusedError
from .findings import STANDS, in_batches, insert, restore, withdraw
from .notes import CURRENT, Note


class Codes(Family):
    """Codes, the notes that they are given to, and the history of both."""

    def codes(self) -> list[dict]:
        """Every code that is not merged into another: id, name, created_at, and ``also``, the
        names that were merged into it.
        """
        with self._connections.read() as conn:
            lines = every(conn, "SELECT * FROM codes ORDER BY id")
            roots = code_roots(conn)
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
            code_id = found_or_made(conn, name)
            roots = code_roots(conn)
            new = [p for p in places if code_id not in _roots_on(conn, p, roots)]
            gave = [
                insert(conn, run_id, p["row_id"], "cause", code_id, None, by, p["label_id"])
                for p in new
            ]
            name = code_names(conn)[code_id]
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
            having, took = _standing_of(conn, _places(conn, run_id, notes), code)
            withdraw(conn, took, by)
            _write_down(conn, by, "take", run_id, name=code["name"], gave=[], took=took)
        return len(having)

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
            into = found_or_made(conn, name)
            if into == code_id:
                raise RefusedError(f"“{code['name']}” is the code that they have. Name another.")
            roots = code_roots(conn)
            gave = [
                insert(conn, run_id, p["row_id"], "cause", into, None, by, p["label_id"])
                for p in having
                if into not in _roots_on(conn, p, roots)
            ]
            withdraw(conn, took, by)
            name = code_names(conn)[into]
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
            took = _take_name(conn, code, name)
            _write_down(conn, by, "rename", None, id=code_id, name=code["name"], to=name, **took)
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
            roots = code_roots(conn)
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


def _code(conn: sqlite3.Connection, code_id: int) -> dict:
    line = one(conn, "SELECT * FROM codes WHERE id=?", (code_id,))
    if line is None:
        raise NotFoundError("This code is not here.")
    return line


def _live(conn: sqlite3.Connection, code_id: int) -> dict:
    """A code that was not merged away."""
    line = _code(conn, code_id)
    if line["merged_into"] is not None:
        into, by = code_names(conn)[code_id], _merged_by(conn, code_id)
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


def _take_name(conn: sqlite3.Connection, code: dict, name: str) -> dict[str, Any]:
    """Give a code this name, where no other code that is in use has it.

    A code that was merged into this one, or that nobody uses, changes names with it: so two that
    were merged the wrong way round can be renamed. Returns ``alias``, the code that did, and
    ``absorbed``, the unused ones that count as this code from now on.
    """
    roots, alias, absorbed = code_roots(conn), None, []
    for other in same_name(conn, name):
        if other["id"] == code["id"]:
            continue
        if roots[other["id"]] != code["id"]:
            if other["merged_into"] is not None or _in_use(conn, other["id"]):
                held = code_names(conn)[other["id"]]
                known = "" if held == other["name"] else f" as “{other['name']}”"
                raise RefusedError(
                    f"There is a code “{held}”{known} already. Merge the two, or take another name."
                )
            absorbed.append(other["id"])
        if other["name"] == name:
            alias = other["id"]
    conn.executemany(
        "UPDATE codes SET merged_into=? WHERE id=?", [(code["id"], each) for each in absorbed]
    )
    rename = "UPDATE codes SET name=? WHERE id=?"
    if alias is not None:
        conn.execute(rename, (f"\x00{alias}", alias))  # names are unique
    conn.execute(rename, (name, code["id"]))
    if alias is not None:
        conn.execute(rename, (code["name"], alias))
    return {"alias": alias, "absorbed": absorbed}


def _in_use(conn: sqlite3.Connection, code_id: int) -> bool:
    """Whether a note has the code, or another one was merged into it."""
    sql = (
        f"SELECT 1 FROM findings f WHERE f.code_id=? AND {STANDS} "
        "UNION ALL SELECT 1 FROM codes WHERE merged_into=? LIMIT 1"
    )
    return conn.execute(sql, (code_id, code_id)).fetchone() is not None


def _places(conn: sqlite3.Connection, run_id: int, notes: Sequence[Note]) -> list[dict]:
    """Where each note is: its row and, of a label, the label that has it now."""
    if not notes:
        raise RefusedError("Nothing is selected: tick notes first.")
    found, gone = [], 0
    for kind, number in dict.fromkeys(notes):
        line = (
            one(
                conn,
                f"SELECT l.row_id, l.id AS label_id FROM labels l {CURRENT} "
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
            f"AND f.code_id IS NOT NULL AND {STANDS}",
            (place["row_id"],),
        )
    return every(
        conn,
        "SELECT f.id, f.code_id FROM findings f JOIN labels k ON k.id=f.label_id "
        "JOIN labels l ON l.id=? AND l.criterion=k.criterion AND l.annotator=k.annotator "
        "AND (l.id=k.id OR l.note=k.note) "
        f"WHERE f.row_id=? AND f.code_id IS NOT NULL AND {STANDS}",
        (place["label_id"], place["row_id"]),
    )


def _roots_on(conn: sqlite3.Connection, place: dict, roots: dict[int | None, int]) -> set[int]:
    return {roots[line["code_id"]] for line in _on(conn, place)}


def _standing_of(
    conn: sqlite3.Connection, places: Sequence[dict], code: dict
) -> tuple[list[dict], list[int]]:
    """Of these notes those that have the code, and the findings that give it to them."""
    roots = code_roots(conn)
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
    back = {*withdraw(conn, said["gave"], by)}
    undone = {_place(line) for line in gave if line["id"] in back}
    # A note whose move was changed since keeps what it has now.
    kept = {_place(line) for line in gave} - undone
    for line in took:
        if _place(line) not in kept:
            undone.add(_place(line))
            restore(conn, line, by)
    if not undone:
        raise RefusedError("Nothing is left to undo: all of it was changed since.")
    return len(undone), len(kept)


def _place(line: dict) -> tuple[int, int | None]:
    return line["row_id"], line["label_id"]


def _undo_rename(conn: sqlite3.Connection, said: dict, by: str) -> tuple[int, int]:
    code = _code(conn, said["id"])
    if code["name"] != said["to"]:
        raise RefusedError(f"“{said['to']}” was renamed “{code['name']}” since. Undo that first.")
    _take_name(conn, code, said["name"])
    conn.executemany(
        "UPDATE codes SET merged_into=NULL WHERE id=?", [(each,) for each in said["absorbed"]]
    )
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
    return in_batches(conn, "SELECT * FROM findings WHERE id IN ({}) ORDER BY id", ids)
