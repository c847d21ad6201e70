"""The store: one SQLite file that holds runs, labels, queues and reports. All SQL is here.

    store = open_store("review.db")
    for run in store.runs():
        for row in store.rows(run["id"], keys=("prompt", "final_text")):
            ...
        labels = store.labels(run["id"])

Every write is one transaction and durable when the call returns. Several processes may use one
file at once.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from ._time import utc
from .certificates import Certificates
from .codes import Codes
from .connection import Connections, explain
from .errors import (
    DamagedStoreError,
    NewerStoreError,
    NotFoundError,
    NotOursError,
    NotSavedError,
    RefusedError,
    StoreError,
)
from .fields import ShortFields
from .findings import Findings
from .labels import ESTIMATING, Labels
from .loading import Load
from .notes import Note, Notes
from .plans import Plans
from .queues import Queues
from .reports import Reports
from .rows import Rows, field_text
from .runs import Runs
from .schema import prepare
from .search import Search
from .thresholds import Thresholds
from .views import Views

__all__ = [
    "ESTIMATING",
    "DamagedStoreError",
    "Load",
    "NewerStoreError",
    "NotFoundError",
    "NotOursError",
    "NotSavedError",
    "Note",
    "RefusedError",
    "Store",
    "StoreError",
    "field_text",
    "open_store",
    "utc",
]


class Store(
    Runs,
    Rows,
    ShortFields,
    Labels,
    Queues,
    Plans,
    Reports,
    Certificates,
    Findings,
    Notes,
    Codes,
    Search,
    Views,
    Thresholds,
):
    """An open store; made by `open_store`."""

    def __init__(self, path: Path, connections: Connections) -> None:
        self.path = path
        self._connections = connections

    def close(self) -> None:
        """Close the file."""
        self._connections.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def backup(self, target: str | Path) -> Path:
        """A whole copy of the file as it is now, while others go on writing.

        Raises
        ------
        RefusedError
            When `target` is there already: a backup overwrites nothing.
        """
        target = Path(target)
        if target.exists():
            raise RefusedError(f"{target} is there already. Name a file that is not.")
        if not target.parent.is_dir():
            raise NotFoundError(f"The folder {target.parent} is not there.")
        # Under another name until it is whole: a copy that was cut short must not look like one.
        part = target.with_name(f"{target.name}.part-{os.getpid()}")
        try:
            with self._connections.read() as conn, closing(sqlite3.connect(part)) as copy:
                conn.backup(copy, pages=-1)
                if copy.execute("PRAGMA quick_check").fetchone()[0] != "ok":
                    raise DamagedStoreError(
                        f"{self.path} is damaged: its copy does not check, and was not kept. "
                        "Recover the file with `sqlite3 FILE .recover`."
                    )
            os.rename(part, target)
        except sqlite3.Error as error:
            raise explain(error, str(target)) from error
        finally:
            part.unlink(missing_ok=True)
        return target

    def size(self) -> int:
        """Bytes on disk, write-ahead log included."""
        files = (self.path, Path(f"{self.path}-wal"))
        return sum(f.stat().st_size for f in files if f.exists())


def open_store(path: str | Path, create: bool = True) -> Store:
    """Open the store at `path`, making or upgrading the file where that is needed.

    Parameters
    ----------
    path
        The SQLite file.
    create
        False: a file that is not there is an error.

    Raises
    ------
    NotFoundError
        With ``create=False``, or when the folder is not there.
    NotOursError, NewerStoreError, DamagedStoreError
        The file is of another program, of a newer version, or damaged; it is left as it is.
    """
    path = Path(path)
    if not path.exists() and not create:
        raise NotFoundError(f"No database at {path}.")
    if not path.parent.is_dir():
        raise NotFoundError(f"The folder {path.parent} is not there.")
    connections = Connections(path)
    prepare(path, connections)
    return Store(path, connections)
