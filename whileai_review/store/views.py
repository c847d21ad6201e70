"""Saved views: filters of the Rows page that somebody gave a name."""

from __future__ import annotations

from ._base import Family, event, every, now, one
from .errors import NotFoundError, RefusedError

MAX_NAME = 80


class Views(Family):
    """Named filters; a name means one view, whatever its case."""

    def views(self) -> list[dict]:
        """Every view, by name: id, name, query, created_by, created_at."""
        with self._connections.read() as conn:
            return every(conn, "SELECT * FROM views ORDER BY name COLLATE NOCASE")

    def save_view(
        self, name: str, query: str, by: str | None = None, replace: bool = False
    ) -> dict:
        """Keep a filter, as the page's address has it, under a name.

        Raises
        ------
        RefusedError
            No name, one that is too long, or one that another filter has (without `replace`).
        """
        name = " ".join(name.split())
        if not name or len(name) > MAX_NAME:
            raise RefusedError(f"A view needs a name of 1 to {MAX_NAME} characters.")
        with self._connections.write() as conn:
            # SQLite's NOCASE knows ASCII alone.
            views = every(conn, "SELECT * FROM views")
            there = next((v for v in views if v["name"].casefold() == name.casefold()), None)
            if there is not None and there["query"] == query:
                return there
            if there is not None and not replace:
                raise RefusedError(
                    f"There is a view {there['name']!r} already, with other filters. Replace it, "
                    "or give this one another name."
                )
            if there is not None:
                conn.execute("DELETE FROM views WHERE id=?", (there["id"],))
            conn.execute(
                "INSERT INTO views (name, query, created_by, created_at) VALUES (?, ?, ?, ?)",
                (name, query, by, now()),
            )
            # What was replaced stands in the events: nothing that somebody made is lost.
            event(conn, by, "view", None, f"{name}: {query}")
            return one(conn, "SELECT * FROM views WHERE name=?", (name,)) or {}

    def delete_view(self, view_id: int, by: str | None = None) -> None:
        """Take a view out; the rows that it listed stay as they are."""
        with self._connections.write() as conn:
            found = one(conn, "SELECT * FROM views WHERE id=?", (view_id,))
            if found is None:
                raise NotFoundError("This view is no longer here.")
            conn.execute("DELETE FROM views WHERE id=?", (view_id,))
            event(conn, by, "delete view", None, f"{found['name']}: {found['query']}")
