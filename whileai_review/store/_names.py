"""Names of codes: how they are kept, and which code goes by which name by now."""

from __future__ import annotations

import sqlite3
import unicodedata

from ._base import every, now
from .errors import RefusedError

NAME_CHARS = 120
"""Characters of the name of a code."""


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


def code_roots(conn: sqlite3.Connection) -> dict[int | None, int]:
    """Every code's id -> the id of the code that it counts as by now."""
    into = dict(conn.execute("SELECT id, merged_into FROM codes").fetchall())
    found: dict[int | None, int] = {}
    for start in into:
        at = start
        while into.get(at) is not None:
            at = into[at]
        found[start] = at
    return found


def code_names(conn: sqlite3.Connection) -> dict[int | None, str]:
    """Every code's id -> the name that it goes by now."""
    names = dict(conn.execute("SELECT id, name FROM codes").fetchall())
    return {each: names[root] for each, root in code_roots(conn).items()}


def same_name(conn: sqlite3.Connection, name: str) -> list[dict]:
    """Codes of this name, merged ones too; the one that is written alike first."""
    key = code_key(name)
    lines = [
        c for c in every(conn, "SELECT * FROM codes ORDER BY id") if code_key(c["name"]) == key
    ]
    return sorted(lines, key=lambda c: (c["name"] != name, c["merged_into"] is not None, c["id"]))


def found_or_made(conn: sqlite3.Connection, name: str) -> int:
    """The code of this name, or the one that it was merged into; a new one where none has it."""
    there = same_name(conn, name)
    if there:
        return code_roots(conn)[there[0]["id"]]
    sql = "INSERT INTO codes (name, created_at) VALUES (?, ?)"
    return int(conn.execute(sql, (name, now())).lastrowid or 0)
