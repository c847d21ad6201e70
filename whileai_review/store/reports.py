"""Reports that were computed once, rules, and what readers found."""

from __future__ import annotations

from typing import Any

from ._base import Family, every, now, one, ready_run
from .errors import NotFoundError


class Reports(Family):
    """What came out of a measurement, by run, grader, gold, criterion and label revision."""

    def report(
        self, run_id: int, kind: str, grader_id: int, gold: str, criterion: str, params: str = ""
    ) -> dict | None:
        """The stored report, ``{"revision", "body", "made_at"}``; None when there is none."""
        with self._connections.read() as conn:
            return one(
                conn,
                "SELECT revision, body, made_at FROM reports WHERE run_id=? AND kind=? "
                "AND grader_id=? AND gold=? AND criterion=? AND params=?",
                (run_id, kind, grader_id, gold, criterion, params),
            )

    def put_report(
        self,
        run_id: int,
        kind: str,
        grader_id: int,
        gold: str,
        criterion: str,
        revision: str,
        body: bytes,
        params: str = "",
    ) -> None:
        """Keep a report in place of the one before it; a run deleted meanwhile keeps none."""
        with self._connections.write() as conn:
            if one(conn, "SELECT 1 FROM runs WHERE id=? AND state='ready'", (run_id,)) is None:
                return
            conn.execute(
                "INSERT OR REPLACE INTO reports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (run_id, kind, grader_id, gold, criterion, params, revision, body, now()),
            )

    def add_rule(
        self,
        name: str,
        criterion: str,
        version: str,
        when_text: str | None,
        pass_text: str | None,
        by: str | None = None,
    ) -> None:
        """Keep a version of a rule; the same version again is one."""
        with self._connections.write() as conn:
            conn.execute(
                "INSERT OR IGNORE INTO rules (name, criterion, version, when_text, pass_text, "
                "created_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (name, criterion, version, when_text, pass_text, by, now()),
            )

    def rules(self) -> list[dict]:
        """Every rule version, newest first."""
        with self._connections.read() as conn:
            return every(conn, "SELECT * FROM rules ORDER BY id DESC")

    def add_finding(
        self, row_id: int, kind: str, by: str, code: str | None = None, note: str | None = None
    ) -> None:
        """What a reader found on a row: that it was read, a cause, bad data."""
        with self._connections.write() as conn:
            row = one(conn, "SELECT run_id FROM rows WHERE id=?", (row_id,))
            if row is None:
                raise NotFoundError("Not saved: the run of this row was deleted.")
            code_id = None
            if code is not None:
                code = " ".join(code.split())[:120]
                conn.execute(
                    "INSERT OR IGNORE INTO codes (name, created_at) VALUES (?, ?)", (code, now())
                )
                code_id = conn.execute("SELECT id FROM codes WHERE name=?", (code,)).fetchone()[0]
            if one(
                conn,
                "SELECT 1 FROM findings f WHERE row_id=? AND kind=? AND by=? AND code_id IS ? AND "
                "withdraws IS NULL AND note IS ? AND NOT EXISTS "
                "(SELECT 1 FROM findings w WHERE w.withdraws=f.id)",
                (row_id, kind, by, code_id, note),
            ):
                return
            conn.execute(
                "INSERT INTO findings (run_id, row_id, kind, code_id, note, by, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (row["run_id"], row_id, kind, code_id, note, by, now()),
            )

    def withdraw_finding(self, finding_id: int, by: str) -> None:
        """Take a finding back; the line stays."""
        with self._connections.write() as conn:
            found = one(conn, "SELECT * FROM findings WHERE id=?", (finding_id,))
            if found is None:
                raise NotFoundError("This finding is not here.")
            conn.execute(
                "INSERT INTO findings (run_id, row_id, kind, by, withdraws, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (found["run_id"], found["row_id"], found["kind"], by, finding_id, now()),
            )

    def findings(self, run: int | str, kind: str | None = None) -> list[dict]:
        """Findings of a run that were not withdrawn: id, row_id, kind, code, note, by."""
        with self._connections.read() as conn:
            run_id = ready_run(conn, run)["id"]
            return every(
                conn,
                "SELECT f.id, f.row_id, f.kind, c.name AS code, f.note, f.by, f.created_at "
                "FROM findings f LEFT JOIN codes c ON c.id=f.code_id "
                "WHERE f.run_id=? AND (? IS NULL OR f.kind=?) AND f.withdraws IS NULL "
                "AND NOT EXISTS (SELECT 1 FROM findings w WHERE w.withdraws=f.id) ORDER BY f.id",
                (run_id, kind, kind),
            )

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
            found: list[Any] = conn.execute(
                "SELECT c.name FROM findings f JOIN codes c ON c.id=f.code_id WHERE f.run_id=? "
                "GROUP BY c.id ORDER BY max(f.id) DESC LIMIT ?",
                (run_id, n),
            ).fetchall()
        return [f[0] for f in found]
