"""Reports that were computed once, and rules."""

from __future__ import annotations

from ._base import Family, every, now, one


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
