"""What agreement and trust need of the rows, as arrays: one pass, then numbers only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from whileai_review import rows as read
from whileai_review.resample import bootstrap_totals, task_cells
from whileai_review.rows import _bulk
from whileai_review.rows._bulk import BOTH_TRUSTED, NO_VERDICT

TRUSTED = frozenset({*read.TRUSTED_KINDS, BOTH_TRUSTED})
"""Kinds of gold that measure a judge."""


UNMATCHED = "\0unmatched"
"""Kind of a row without a twin in a second pass; no file spells a kind like that."""


@dataclass(frozen=True, eq=False)
class TrustColumns:
    """The columns of `n` rows that a trust report is computed from.

    Build them with :meth:`from_rows`, or straight from a database.

    Attributes
    ----------
    task : (n,) int array
        Position of the row's task in `tasks`.
    tasks : sequence of str
        Task keys, as :func:`whileai_review.task_key` gives them.
    judge, gold : (n,) int8 array
        Verdict 0 or 1; -1 where there is none.
    fraction : (n,) float array
        The judge's reward where it is a number other than 0 and 1, else NaN.
    kind : (n,) int array
        Position of the gold's kind in `kinds`; only read where gold is 0 or 1.
    kinds : sequence of str
        ``"human"``, ``"program"``, ``"model"``, ``"unknown"``, ``"mixed"``, and
        ``"human+program"`` for a row with labels of both trusted kinds.
    chars : (n,) int array
        Characters of the reply.
    judge_name : (n,) int array
        Position in `judge_names` of who gave the reward; -1 where nobody signed.
    judge_names : sequence of str
    person_and_rule : int
        Rows labelled by a person and by a rule.
    conflicts : sequence of str
        Identities of those rows on which the person and the rule differ.
    conflicts_without_gold : int
        Conflicts that left the row without a 0/1 gold label.
    people : sequence of (int, int, int)
        Of each row that two people labelled: its task, people who passed it, who failed it.
    """

    task: np.ndarray
    tasks: Sequence[str]
    judge: np.ndarray
    fraction: np.ndarray
    gold: np.ndarray
    kind: np.ndarray
    kinds: Sequence[str]
    chars: np.ndarray
    judge_name: np.ndarray
    judge_names: Sequence[str] = ()
    person_and_rule: int = 0
    conflicts: Sequence[str] = ()
    conflicts_without_gold: int = 0
    people: Sequence[tuple[int, int, int]] = ()

    def __len__(self) -> int:
        return len(self.judge)

    @cached_property
    def compared(self) -> np.ndarray:
        """Rows with 0/1 on both sides, as a boolean array."""
        return (self.judge >= 0) & (self.gold >= 0)

    @cached_property
    def per_task(self) -> np.ndarray:
        """``(n_tasks, 4)`` counts of each task's compared rows: tp fp fn tn, positive = passed."""
        used = self.compared
        cell = 3 - 2 * self.judge[used].astype(np.intp) - self.gold[used]
        return task_cells(self.task[used], cell, 4, len(self.tasks))

    @cached_property
    def draws(self) -> np.ndarray:
        """``(n_boot, 4)`` totals of `per_task` over tasks drawn anew."""
        return bootstrap_totals(self.per_task[self.per_task.any(axis=1)])

    @classmethod
    def from_rows(
        cls, rows: Iterable[dict], gold: str = "gold_reward", reward: str = "reward"
    ) -> TrustColumns:
        """Read the columns off rows. Entries that are no dicts are passed over."""
        return cls.from_dicts([row for row in rows if isinstance(row, dict)], gold, reward)

    @classmethod
    def from_dicts(cls, own: Sequence[dict], gold: str, reward: str = "reward") -> TrustColumns:
        """:meth:`from_rows` for rows that are known to be dicts."""
        raw = _bulk.raw_columns(own, reward, gold)
        tasks, task = codes(raw.task_keys)
        judge, fraction = _bulk.verdict_codes(raw.rewards)
        golds, _ = _bulk.verdict_codes(raw.golds)
        kinds, kind = codes(raw.kinds)
        names, name = codes(raw.signatures)
        labels, people = _LabelWatch(), []
        place = {key: number for number, key in enumerate(tasks)} if raw.labelled else {}
        for row in raw.labelled:
            labels.see(row, read.verdict(row.get(gold)) is not None)
            votes = people_votes(row)
            if votes is not None:
                people.append((place[read.task_key(row)], *votes))
        return cls(
            task=task,
            tasks=tasks,
            judge=judge,
            fraction=fraction,
            gold=golds,
            kind=kind,
            kinds=kinds,
            chars=np.array(raw.lengths, dtype=np.int64),
            judge_name=_unsigned(names, name),
            judge_names=names,
            person_and_rule=labels.both,
            conflicts=labels.conflicts,
            conflicts_without_gold=labels.without_gold,
            people=people,
        )

    def with_twins(self, own: Sequence[dict], twins: Iterable[dict], reward: str) -> TrustColumns:
        """The same rows with the verdicts of a second pass as (model) gold.

        A row's twin is the first one of the same identity; a row without one keeps no
        gold and is told apart by its kind, `UNMATCHED`.
        """
        verdicts: dict[str, int | None] = {}
        for twin in twins:
            if isinstance(twin, dict):
                verdicts.setdefault(read.identity(twin), read.verdict(twin.get(reward)))
        gold = np.full(len(self), NO_VERDICT, dtype=np.int8)
        kind = np.zeros(len(self), dtype=np.intp)
        for i, row in enumerate(own):
            key = read.identity(row)
            kind[i] = key not in verdicts
            truth = verdicts.get(key)
            gold[i] = NO_VERDICT if truth is None else truth
        return replace(
            self,
            gold=gold,
            kind=kind,
            kinds=["model", UNMATCHED],
            person_and_rule=0,
            conflicts=(),
            conflicts_without_gold=0,
            people=(),
        )


class _LabelWatch:
    """Counts rows on which a person's labels and a rule's stand against each other."""

    def __init__(self) -> None:
        self.both = 0
        self.conflicts: list[str] = []
        self.without_gold = 0

    def see(self, row: dict, has_gold: bool) -> None:
        person = _majority(row, "human")
        rule = _majority(row, "program")
        if person is None or rule is None:
            return
        self.both += 1
        if person != rule:
            self.conflicts.append(read.identity(row))
            self.without_gold += not has_gold


def codes(values: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
    """Distinct values in order of appearance, and each value's position among them."""
    numbers: defaultdict[Any, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(numbers.__getitem__, values), dtype=np.intp, count=len(values))
    return list(numbers), codes


def _unsigned(names: list[str], codes: np.ndarray) -> np.ndarray:
    if "" not in names:
        return codes
    return np.where(codes == names.index(""), -1, codes)


def people_votes(row: dict) -> tuple[int, int] | None:
    """People who passed a row and who failed it, each by their last label; None under two."""
    records = row.get("gold_labels")
    if not isinstance(records, list | tuple) or len(records) < 2:
        return None
    latest: dict[str, int] = {}
    for record in sorted(read.gold_labels(row), key=_when):  # of equal times the later entry
        if read.label_kind(record) == "human":
            said = read.verdict(record["label"])
            latest[read.as_text(record.get("annotator"))] = 0 if said is None else said
    latest.pop("", None)  # labels that nobody signed may be one person's
    passed = sum(latest.values())
    return (passed, len(latest) - passed) if len(latest) > 1 else None


def _when(record: dict) -> float:
    return float(record["ts"]) if read.is_number(record.get("ts")) else 0.0


def _majority(row: dict, kind: str) -> int | None:
    """What most labels of one kind say; None without any, and on a tie."""
    votes = [
        read.verdict(record["label"])
        for record in read.gold_labels(row)
        if read.label_kind(record) == kind
    ]
    ones = sum(vote == 1 for vote in votes)
    return None if 2 * ones == len(votes) else int(2 * ones > len(votes))
