"""Make the text of a run searchable, once, and keep it so."""

from __future__ import annotations

from collections.abc import Iterator

from whileai_review import rows
from whileai_review.store import NotFoundError, Store, open_store
from whileai_review.store.search import FINDING, GRADER, LABEL, REASON
from whileai_review.work import pool

BATCH = 2_000
"""Texts in one transaction, some 40 ms: a label given meanwhile waits for one of them."""


Text = tuple[int, str, str, str, str, str]
"""Number in the index, ask, reply, calls, reason, note."""


def index_text(store: Store, run: int | str) -> None:
    """Bring the index of a run up to date: its rows once, then only what was said since.

    Of many rows this runs in the pool. A build that was killed goes on where it was.
    """
    found = store.run(run)
    done = store.indexed(found["id"])
    revision = store.verdict_revision(found["id"])
    if 0 < done.get("reasons", 0) != revision:
        store.forget_index(found["id"])  # reasons may have been replaced
        done = {}
    if done.get("rows", 0) < (found["last_id"] or 0) or done.get("reasons", 0) != revision:
        if found["n_rows"] > pool.ROWS:
            pool.run(build, str(store.path), found["id"], revision)
        else:
            _build(store, found["id"], revision)
        done = store.indexed(found["id"])
    for what, notes in store.new_notes(found["id"], done).items():
        if notes:
            at = LABEL if what == "labels" else FINDING
            texts: list[Text] = [(at + number, "", "", "", "", note) for number, note in notes]
            store.index_texts(found["id"], what, done.get(what, 0), notes[-1][0], texts)


def begin_index(store: Store, run: int | str) -> bool:
    """Begin to index a run of many rows while nobody waits; whether its rows are all indexed."""
    found = store.run(run)
    if store.indexed(found["id"]).get("rows", 0) >= (found["last_id"] or 0):
        return True
    if found["n_rows"] > pool.ROWS:
        pool.begin(build, str(store.path), found["id"], store.verdict_revision(found["id"]))
    return False


def build(path: str, run_id: int, revision: int) -> None:
    """Build an index in the pool; `revision` tells two calls apart."""
    with open_store(path, create=False) as store:
        _build(store, run_id, revision)


def _build(store: Store, run_id: int, revision: int) -> None:
    last = store.run(run_id)["last_id"] or 0
    while (since := store.indexed(run_id).get("rows", 0)) < last:
        for upto, texts in pool.ahead(_texts, str(store.path), run_id, since):
            if not store.index_texts(run_id, "rows", since, upto, texts):
                break  # another process builds it too: go on behind what it did
            since = upto
    _build_reasons(store, run_id, revision)
    first = True
    while store.merge_index(run_id, first):
        first = False


def _texts(path: str, run_id: int, since: int) -> Iterator[tuple[int, list[Text]]]:
    """The texts of the rows above an id, in batches, each with the id that it ends at."""
    texts: list[Text] = []
    with open_store(path, create=False) as store:
        for row_id, row in store.numbered_rows(run_id, after=since):
            texts.append((row_id, *rows.searchable(row), ""))
            if len(texts) == BATCH:
                yield row_id, texts
                texts = []
        yield store.run(run_id)["last_id"], texts


def _build_reasons(store: Store, run_id: int, revision: int) -> None:
    while (since := store.indexed(run_id).get("reasons", 0)) != revision:
        if since > 0:
            raise NotFoundError("Verdicts were put on this run while it was indexed. Search again.")
        # While it is built, how far it is stands below zero.
        found = store.reasons(run_id, -since, BATCH)
        texts = [
            (REASON + (key // GRADER % (1 << 15)) * GRADER + key % GRADER, "", "", "", text, "")
            for key, text in found
        ]
        upto = -found[-1][0] if len(found) == BATCH else revision
        store.index_texts(run_id, "reasons", since, upto, texts)
