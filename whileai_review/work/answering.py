"""One press on the label bar becomes one call into the store."""

from __future__ import annotations

from whileai_review.store import RefusedError, Store

MIN_SHOWN_MS = 250
"""Second lock behind the browser's own dwell of 300 ms or more (ui.md 2.2)."""


def answer(
    store: Store,
    queue_id: int,
    annotator: str,
    row_id: int,
    action: str,
    nonce: str,
    note: str = "",
    step: int | None = None,
    shown_ms: int = 0,
    last_label: int | None = None,
) -> dict | None:
    """Store what one press says: pass, fail, unclear, later or undo.

    `last_label` is the label that an undo takes back, as the screen had it; one's last label of
    the queue when None. An answer on a row that the same person has read before, with the judge's verdict in view,
    is kept as such and enters no estimate.

    Returns the receipt of a label or the label that an undo took back; None for `later` and
    for an undo with nothing to take back.

    Raises
    ------
    StoreError
        Nothing was kept; the message is for the annotator.
    """
    if action == "undo":
        return store.undo_label(annotator, nonce, queue_id, last_label)
    if action == "later":
        store.defer(queue_id, annotator, row_id)
        return None
    if shown_ms < MIN_SHOWN_MS:
        raise RefusedError("Not saved: too fast, this row could not be read yet.")
    return store.add_label(
        row_id,
        annotator,
        action,
        nonce,
        criterion=store.queue(queue_id)["criterion"],
        queue_id=queue_id,
        note=note.strip() or None,
        step=step,
        seconds=shown_ms / 1000,
        unblinded_at=store.read_at(row_id, annotator),
    )
