"""Certificates and what leads decided about them. Nothing here is ever edited or deleted."""

from __future__ import annotations

import json
from typing import Any

from ._base import Family, event, every, now, one
from .errors import NotFoundError, RefusedError

MOST_CHARS = 2_000
"""Of the reason of a sign-off."""

MIN_PREFIX = 6
"""Characters of a hash by which a certificate can be called."""


class Certificates(Family):
    """What was measured, by hashes, and the sign-offs on it."""

    def add_certificate(
        self, run_id: int, certificate: dict[str, Any], content: str, by: str | None = None
    ) -> str:
        """Keep a certificate; of the same measurement the one that is there. Its hash."""
        with self._connections.write() as conn:
            there = one(
                conn,
                "SELECT hash FROM certificates WHERE run_id=? AND "
                "json_extract(content, '$.measurement')=? ORDER BY id LIMIT 1",
                (run_id, certificate["measurement"]),
            )
            if there is not None:
                return there["hash"]
            conn.execute(
                "INSERT OR IGNORE INTO certificates (run_id, content, hash, created_by, created_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (run_id, content, certificate["hash"], by, now()),
            )
            event(conn, by, "certificate", run_id, certificate["hash"])
        return certificate["hash"]

    def certificates(self, run_id: int | None = None) -> list[dict]:
        """Certificates, newest first: id, run_id, hash, created_by, created_at, certificate."""
        with self._connections.read() as conn:
            found = every(
                conn,
                "SELECT * FROM certificates WHERE (? IS NULL OR run_id=?) ORDER BY id DESC",
                (run_id, run_id),
            )
        return [_read(line) for line in found]

    def certificate(self, hash_: str) -> dict:
        """The certificate whose hash begins so.

        Raises
        ------
        NotFoundError, RefusedError
            None begins so; several do, or too few characters were given.
        """
        hash_ = hash_.strip().lower()
        if len(hash_) < MIN_PREFIX or not hash_.isalnum():
            raise RefusedError(f"Give at least {MIN_PREFIX} characters of the certificate’s hash.")
        with self._connections.read() as conn:
            found = every(
                conn, "SELECT * FROM certificates WHERE substr(hash, 1, ?)=?", (len(hash_), hash_)
            )
        if not found:
            raise NotFoundError(f"No certificate {hash_} here.")
        if len(found) > 1:
            raise RefusedError(f"{len(found)} certificates begin with {hash_}: give more of it.")
        return _read(found[0])

    def sign_off(self, hash_: str, decision: str, reason: str, by: str) -> None:
        """Keep a lead's decision on a certificate; those before it stay.

        Raises
        ------
        RefusedError
            No reason, no name, or a decision that is neither accept nor hold.
        """
        reason, by = reason.strip(), " ".join(by.split())
        if decision not in ("accept", "hold"):
            raise RefusedError(f"A sign-off is accept or hold, not {decision!r}.")
        if not reason or len(reason) > MOST_CHARS:
            raise RefusedError(f"A sign-off needs a reason of at most {MOST_CHARS:,} characters.")
        if not by or len(by) > 60:
            raise RefusedError("A sign-off needs the name of who gives it, of 1 to 60 characters.")
        number = self.certificate(hash_)
        with self._connections.write() as conn:
            conn.execute(
                "INSERT INTO sign_offs (certificate_hash, decision, reason, by, at) "
                "VALUES (?, ?, ?, ?, ?)",
                (number["hash"], decision, reason, by, now()),
            )
            event(conn, by, f"sign off {decision}", number["run_id"], number["hash"])

    def sign_offs(self, hash_: str) -> list[dict]:
        """Every decision on a certificate, oldest first; the last one counts."""
        with self._connections.read() as conn:
            return every(
                conn,
                "SELECT certificate_hash AS certificate, decision, reason, by, at FROM sign_offs "
                "WHERE certificate_hash=? ORDER BY id",
                (hash_,),
            )

    def label_versions(self, run_id: int, criterion: str) -> list[dict]:
        """Under which guideline and rule the labels that count were given, by annotator."""
        with self._connections.read() as conn:
            return every(
                conn,
                "SELECT DISTINCT l.annotator, l.kind, l.guideline_version, l.rule_version "
                "FROM labels l JOIN current_labels c ON c.label_id=l.id "
                "WHERE l.run_id=? AND l.criterion=? AND l.verdict IS NOT NULL",
                (run_id, criterion),
            )


def _read(line: dict) -> dict:
    return {key: value for key, value in line.items() if key != "content"} | {
        "certificate": json.loads(line["content"])
    }
