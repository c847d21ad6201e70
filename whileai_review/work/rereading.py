"""What people say of gold when they read it again, blind: second readings and audits.

Neither enters an estimate of the judge as a label. A second reading of all disagreements and a
known share of the agreements is an estimate of its own; an audit tells how far a program's labels
can be believed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from whileai_review.report import plural
from whileai_review.score._columns import NO_VERDICT, TrustColumns
from whileai_review.score.gold import NOT_AUDITED, audit_measures
from whileai_review.score.two_phase import two_phase_measures
from whileai_review.score.weighted import Weights
from whileai_review.store import Store
from whileai_review.work.gold import IMPORT

_VALUE = {"pass": 1, "fail": -1}

ONLY_DISAGREEMENTS = (
    "queue decisions are not part of this estimate: no agreeing row was read again, and the "
    "disagreements alone can but raise the agreement"
)


class Answers:
    """The answers of people in some queues on these rows, by row.

    With `anywhere`, a row without a blind answer in the queues has those that people gave
    elsewhere: nobody is asked the same row twice.
    """

    def __init__(
        self,
        store: Store,
        run: int,
        criterion: str,
        queues: Iterable[int],
        rows: Collection[int],
        anywhere: bool = False,
    ) -> None:
        self.given: set[int] = set()
        """Rows that anybody answered."""
        self._blind: dict[int, list[int]] = {}
        self._all: dict[int, list[int]] = {}
        elsewhere: dict[int, list[int]] = {}
        of = set(queues)
        for label in store.gold_labels(run, criterion, rows=rows):
            row_id, verdict, annotator, kind = label[:4]
            blind, vote = label[6] is None, _VALUE.get(verdict, 0)
            if label[9] in of:
                self.given.add(row_id)
                self._all.setdefault(row_id, []).append(vote)
                if blind:
                    self._blind.setdefault(row_id, []).append(vote)
            elif anywhere and blind and kind == "human" and not annotator.startswith(IMPORT):
                elsewhere.setdefault(row_id, []).append(vote)
        for row_id in elsewhere.keys() - self._blind.keys():
            self.given.add(row_id)
            self._blind[row_id] = elsewhere[row_id]

    @property
    def seen_first(self) -> set[int]:
        """Rows that nobody answered before the judge's verdict was in view."""
        return self.given - set(self._blind)

    def of(self, row_id: int) -> int:
        """Majority of the blind answers on a row, 0 or 1; -1 for none, can't tell or a tie."""
        return _majority(self._blind.get(row_id, ()))

    def any_of(self, row_id: int) -> int:
        """The same of all answers, blind or not."""
        return _majority(self._all.get(row_id, ()))


def _majority(votes: Iterable[int]) -> int:
    total = sum(votes)
    return NO_VERDICT if not total else int(total > 0)


def reread(
    store: Store,
    key: tuple[int, int, str, str],
    ids: Sequence[int],
    cols: TrustColumns,
    weights: Weights,
) -> dict[str, Any] | None:
    """The estimate after the newest review queue that was read to its end.

    Parameters
    ----------
    key
        Run, grader, gold and criterion, as `measured_as` gives them.
    ids, cols, weights
        Of the first estimate.

    Returns
    -------
    dict or None
        ``queue``, ``name`` and as `two_phase_measures`, with ``n_unclear`` rows that the second
        reading could not tell; or ``reason``, why there is no estimate. None without such a queue.
    """
    run_id, grader_id, gold, criterion = key
    queues = [
        queue
        for queue in store.queues(run_id, "review", closed=True)
        if (queue["grader_id"], queue["gold"], queue["criterion"]) == (grader_id, gold, criterion)
        and queue["cell"] == "disagree"
        and queue["field"] is None
    ]
    for queue in queues:
        rows = store.queue_row_ids(queue["id"])
        # People's first labels are no second reading of themselves.
        answers = Answers(store, run_id, criterion, [queue["id"]], rows, gold != "human")
        if rows and answers.given.issuperset(rows):
            said = {"queue": queue["id"], "name": queue["name"]}
            return said | _estimate(rows, answers, ids, cols, weights)
    return None


def _estimate(
    rows: list[int],
    answers: Answers,
    ids: Sequence[int],
    cols: TrustColumns,
    weights: Weights,
) -> dict[str, Any]:
    used = cols.compared
    number = np.asarray(ids, dtype=np.int64)[used]
    task, judge, gold = cols.task[used], cols.judge[used], cols.gold[used]
    drawn = np.isin(number, rows)
    if ((judge != gold) & ~drawn).any():
        return {"reason": "labels came after this queue was drawn: draw and read a new one"}
    if answers.seen_first:
        late = plural(len(answers.seen_first), "row was", "rows were")
        return {
            "reason": f"{late} answered after the judge's verdict was seen: no estimate. Have "
            "somebody else answer the queue"
        }
    if (judge == gold).any() and not ((judge == gold) & drawn).any():
        return {"reason": ONLY_DISAGREEMENTS}
    again = np.full(len(number), NO_VERDICT, dtype=np.intp)
    again[drawn] = [answers.of(int(row_id)) for row_id in number[drawn]]
    try:
        found = two_phase_measures(
            task, judge, gold, again, None if weights.equal else weights.weight[used]
        )
    except ValueError as error:
        return {"reason": str(error)}
    return found | {"n_unclear": int((again[drawn] == NO_VERDICT).sum())}


def gold_audit(
    store: Store, key: tuple[int, int, str, str], ids: Sequence[int], cols: TrustColumns
) -> dict[str, Any]:
    """What people who labelled program-labelled rows blind say of these labels.

    Returns
    -------
    dict
        ``planned`` rows of the audits, ``answered`` of these, ``read``, rows of the audits that
        were read to their end, and of these `audit_measures`. Every audit is a random draw of the
        rows that had gold, so they are pooled. ``n_seen_first`` answers that were given with the
        judge's verdict in view are left out.
    """
    run_id, _, gold, criterion = key
    queues = [queue["id"] for queue in store.audits(run_id, gold, criterion)]
    if not queues:
        return dict(NOT_AUDITED)
    drawn = [store.queue_row_ids(queue) for queue in queues]
    planned = {row_id for rows in drawn for row_id in rows}
    answers = Answers(store, run_id, criterion, queues, planned, anywhere=True)
    read = {row_id for rows in drawn if answers.given.issuperset(rows) for row_id in rows}
    number = np.asarray(ids, dtype=np.int64)
    at = np.flatnonzero(np.isin(number, sorted(read - answers.seen_first)) & (cols.gold >= 0))
    person = np.array([answers.of(int(row_id)) for row_id in number[at]], dtype=np.intp)
    found = audit_measures(cols.task[at], person, cols.gold[at].astype(np.intp))
    return found | {
        "planned": len(planned),
        "answered": len(planned & answers.given),
        "read": len(read),
        "n_seen_first": len(read & answers.seen_first),
    }
