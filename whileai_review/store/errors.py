"""What can go wrong with the store, by name; each message is the one line a person reads."""

from __future__ import annotations


class StoreError(Exception):
    """The store could not do what was asked; nothing of it was kept."""


class NotFoundError(StoreError, LookupError):
    """A run, row, queue, grader or label that is not (or no longer) there."""


class NotOursError(StoreError):
    """The file is a database of another program, or no database at all."""


class NewerStoreError(StoreError):
    """The file was written by a newer version; it is left as it is."""


class DamagedStoreError(StoreError):
    """SQLite says that the file is damaged."""


class NotSavedError(StoreError):
    """A write did not become durable: read-only file, full disk, lock held too long."""


class RefusedError(StoreError):
    """A write that the store's own rules refuse: stale row, name taken, bad value."""
