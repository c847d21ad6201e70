"""Full-text search: an index (SQLite's FTS5) of each run's text, built once, kept up with notes.

The index of a run is a table of its own, ``search_<run id>``, which holds no text but where each
word stands; it goes with its run. Its lines are numbered by what they are the text of:

==============================  ===============================================
a row                           the row's id
the note of a label             `LABEL` + the label's id
the note of a finding           `FINDING` + the finding's id
a reason that came in a file    `REASON` + the grader's id * 2**36 + the row's id
==============================  ===============================================

Every batch is one short transaction that says how far the index is, so that a build that was
killed goes on where it was, and two builds at once do nothing twice.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

import numpy as np

from ._base import Family, every, ready_run
from .connection import Connections
from .errors import RefusedError

LABEL, FINDING, REASON = 1 << 50, 1 << 51, 1 << 52
GRADER = 1 << 36
"""Above every row id: a grader's number stands above it."""

COLUMNS = ("ask", "reply", "calls", "reason", "note")

MAX_CHARS = 1_000
"""Of a search; a longer one is a paste that went wrong."""

MIN_PREFIX = 3
"""A word of fewer letters is searched as it stands: half of all words begin with "a"."""

BITE = 200
"""Pages of an index that are merged or let go in one transaction."""

BUILDING = {"automerge": 0, "crisismerge": 1_900, "hashsize": 32 << 20}
"""FTS5's options while an index is built; at most 2,000 pieces are allowed."""

MERGED = {"automerge": 4, "crisismerge": 16, "hashsize": 1 << 20}
"""FTS5's own values, for what is added later."""

OWN = "ask reply calls"
"""Columns of what a rollout itself says; the others say what was thought of it."""

_ALONE = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"  # kana, Han, Hangul
    "\uf900-\ufaff\U00020000-\U0003ffff])"
)
"""Letters of scripts that put no blank between words, and Hangul, whose endings join the word."""

_TERM = re.compile(r'(-?)(?:(\w+):)?("[^"]*"?|\S+)')


def match_words(text: str) -> str:
    """Turn what a person typed into a question to FTS5.

    Words must all be there, in any order, and a word finds what begins with it (in Chinese,
    Japanese, Korean, Thai: what holds it); "words in
    quotes" stand together as they are; ``-word`` must not be there; ``reply:word`` (ask, reply,
    calls, reason, note) looks in one place. Nothing else has a meaning.

    Raises
    ------
    RefusedError
        Nothing to search for in it, only exclusions, or over 1,000 characters.

    Examples
    --------
    >>> match_words('escal "late fee" -waived reply:INV')
    '((("escal"*) AND ("late fee")) AND (reply : "INV"*)) NOT ("waived"*)'
    """
    if len(text) > MAX_CHARS:
        raise RefusedError(
            f"A search has at most {MAX_CHARS:,} characters; this one has {len(text):,}."
        )
    wanted: list[str] = []
    unwanted: list[str] = []
    for minus, column, word in _TERM.findall(text):
        if column and column.lower() not in COLUMNS:
            word, column = f"{column}:{word}", ""
        quoted = word.startswith('"')
        word = _spread(word.replace('"', " ").replace("\0", " ")).strip()
        words = re.findall(r"[^\W_]+", word)
        if not words:
            continue
        start = "" if quoted or len(words[-1]) < MIN_PREFIX else "*"
        term = f'"{word}"{start}'
        (unwanted if minus else wanted).append(f"{column.lower()} : {term}" if column else term)
    if not wanted:
        what = "only words to leave out" if unwanted else "no letter and no digit"
        raise RefusedError(f"There is {what} in this search. Type a word that is to be found.")
    said = f"({wanted[0]})"
    for term in wanted[1:]:
        said = f"({said} AND ({term}))"
    for term in unwanted:
        said = f"{said} NOT ({term})"
    return said


def match_own(match: str) -> str:
    """Narrow a question to what a rollout itself says: no reason, no note, not even as ``-word``.

    Examples
    --------
    >>> match_own('("late"*) NOT (reason : "wrong"*)')
    '{ask reply calls} : (("late"*) NOT (reason : "wrong"*))'
    """
    return f"{{{OWN}}} : ({match})"


class Search(Family):
    """The text of runs, to be found again."""

    def indexed(self, run: int | str) -> dict[str, int]:
        """How far the index of a run is: ``rows``, ``labels``, ``findings`` (ids), ``reasons``."""
        with self._connections.read() as conn:
            return _indexed(conn, ready_run(conn, run)["id"])

    def index_texts(
        self,
        run_id: int,
        what: str,
        since: int,
        upto: int,
        texts: Sequence[tuple[int, str, str, str, str, str]],
    ) -> bool:
        """Add (number, ask, reply, calls, reason, note) to the index; False if somebody was quicker.

        `since` is how far the index was (`indexed`) when the texts were read.
        """
        spread = [(number, *map(_spread, said)) for number, *said in texts]
        with self._connections.write(durable=False) as conn:
            ready_run(conn, run_id)
            if _indexed(conn, run_id).get(what, 0) != since:
                return False
            if texts and not _there(conn, run_id):
                conn.execute(
                    f"CREATE VIRTUAL TABLE {_table(run_id)} USING fts5("
                    f"{', '.join(COLUMNS)}, content='', columnsize=0, "
                    "tokenize='unicode61 remove_diacritics 2')"
                )
                # No merging while it is built: one merge at its end costs half as much.
                for option, value in BUILDING.items():
                    _tell(conn, run_id, option, value)
            if texts:
                conn.executemany(
                    f"INSERT INTO {_table(run_id)} (rowid, {', '.join(COLUMNS)}) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    spread,
                )
            conn.execute("INSERT OR REPLACE INTO searches VALUES (?, ?, ?)", (run_id, what, upto))
        return True

    def merge_index(self, run_id: int, first: bool = False) -> bool:
        """Merge one bite of what a build left in pieces; True while there is more to merge."""
        with self._connections.write(durable=False) as conn:
            if not _there(conn, run_id):
                return False
            before = conn.total_changes
            _tell(conn, run_id, "merge", -BITE if first else BITE)
            # As FTS5's text has it (6.8): below 2 there was nothing to do.
            if conn.total_changes - before >= 2:
                return True
            for option in BUILDING:
                _tell(conn, run_id, option, MERGED[option])
        return False

    def forget_index(self, run: int | str) -> None:
        """Take out the index of a run, to be built anew: a text in it has been replaced."""
        with self._connections.write() as conn:
            run_id = ready_run(conn, run)["id"]
            conn.execute(f"DROP TABLE IF EXISTS {_table(run_id)}")
            conn.execute("DELETE FROM searches WHERE run_id=?", (run_id,))

    def new_notes(self, run_id: int, since: dict[str, int]) -> dict[str, list[tuple[int, str]]]:
        """Notes of labels and findings that are not in the index yet: kind -> (id, text)."""
        with self._connections.read() as conn:
            return {
                what: [
                    (line["id"], line["note"])
                    for line in every(
                        conn,
                        f"SELECT id, note FROM {what} WHERE run_id=? AND note IS NOT NULL AND id>? "
                        "ORDER BY id",
                        (run_id, since.get(what, 0)),
                    )
                ]
                for what in ("labels", "findings")
            }

    def reasons(self, run_id: int, after: int, limit: int) -> list[tuple[int, str]]:
        """Reasons that came in files of verdicts: (`GRADER` * grader + row, text), in that order."""
        grader, row = divmod(after, GRADER)
        with self._connections.read() as conn:
            return [
                (line["grader_id"] * GRADER + line["row_id"], line["reason"])
                for line in every(
                    conn,
                    "SELECT s.grader_id, s.row_id, s.reason FROM graders g JOIN scores s "
                    "ON s.grader_id=g.id WHERE g.run_id=? AND s.reason IS NOT NULL "
                    "AND (s.grader_id, s.row_id)>(?, ?) ORDER BY s.grader_id, s.row_id LIMIT ?",
                    (run_id, grader, row, limit),
                )
            ]

    def search_rows(self, run_id: int, match: str, after: int, limit: int) -> np.ndarray:
        """Ids of rows whose own text matches, above `after`, in their order."""
        return self._search(run_id, match, after, LABEL, limit)

    def search_notes(self, run_id: int, match: str, limit: int) -> set[int]:
        """Ids of rows with a note or a reason from a file that matches; what was undone is out."""
        found = self._search(run_id, match, LABEL - 1, 1 << 62, limit).tolist()
        rows = {number % GRADER for number in found if number >= REASON}
        with self._connections.read() as conn:
            for start, end, question in (
                (
                    LABEL,
                    FINDING,
                    "SELECT l.row_id FROM labels l JOIN current_labels c ON c.row_id=l.row_id AND "
                    "c.criterion=l.criterion AND c.annotator=l.annotator AND c.label_id=l.id "
                    "WHERE l.id=?",
                ),
                (
                    FINDING,
                    REASON,
                    "SELECT row_id FROM findings f WHERE id=? AND NOT EXISTS "
                    "(SELECT 1 FROM findings w WHERE w.withdraws=f.id)",
                ),
            ):
                for number in found:
                    if start <= number < end:
                        rows.update(r[0] for r in conn.execute(question, (number - start,)))
        return rows

    def _search(self, run_id: int, match: str, after: int, end: int, limit: int) -> np.ndarray:
        try:
            with self._connections.read() as conn:
                ready_run(conn, run_id)
                if not _indexed(conn, run_id) or not _there(conn, run_id):
                    return np.zeros(0, dtype=np.int64)
                lines = conn.execute(
                    f"SELECT rowid FROM {_table(run_id)} WHERE {_table(run_id)} MATCH ? "
                    "AND rowid>? AND rowid<? ORDER BY rowid LIMIT ?",
                    (match, after, end, limit),
                )
                return np.fromiter((line[0] for line in lines), dtype=np.int64)
        except sqlite3.OperationalError as error:  # what no rule above foresaw
            raise RefusedError(f"This can't be searched for: {error}.") from error


def forget_texts(connections: Connections, run_id: int) -> None:
    """Take out the index of a run, in small bites so that no label waits for it."""
    with connections.read() as conn:
        if not _there(conn, run_id):
            return
    n = BITE
    while n == BITE:
        with connections.write(durable=False) as conn:
            # Its own table of pages; a DROP would do it in one go.
            n = conn.execute(
                f"DELETE FROM {_table(run_id)}_data WHERE id IN "
                f"(SELECT id FROM {_table(run_id)}_data WHERE id>10 LIMIT ?)",
                (BITE,),
            ).rowcount
    with connections.write(durable=False) as conn:
        conn.execute(f"DROP TABLE IF EXISTS {_table(run_id)}")


def _spread(text: str) -> str:
    """Set the letters that SQLite would take for one long word apart: each is a word."""
    return text if text.isascii() else _ALONE.sub(r" \1 ", text)


def _table(run_id: int) -> str:
    return f"search_{run_id:d}"


def _tell(conn: sqlite3.Connection, run_id: int, option: str, value: int) -> None:
    table = _table(run_id)
    conn.execute(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", (option, value))


def _there(conn: sqlite3.Connection, run_id: int) -> bool:
    found = conn.execute("SELECT 1 FROM sqlite_master WHERE name=?", (_table(run_id),))
    return found.fetchone() is not None


def _indexed(conn: sqlite3.Connection, run_id: int) -> dict[str, int]:
    lines = conn.execute("SELECT what, upto FROM searches WHERE run_id=?", (run_id,))
    return {line[0]: line[1] for line in lines}
