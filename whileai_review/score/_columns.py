"""What agreement and trust need of the rows, as arrays: one pass, then numbers only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whileai_review import rows as read

NO_VERDICT = -1
"""Code of "no 0/1 here" in the verdict columns."""

BOTH_TRUSTED = "human+program"
"""Kind of a row whose several labels are all of trusted kinds; it prints as ``mixed``."""

TRUSTED = frozenset({*read.TRUSTED_KINDS, BOTH_TRUSTED})
"""Kinds of gold that measure a judge."""


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

    def __len__(self) -> int:
        return len(self.judge)

    @property
    def compared(self) -> np.ndarray:
        """Rows with 0/1 on both sides, as a boolean array."""
        return (self.judge >= 0) & (self.gold >= 0)

    @classmethod
    def from_rows(
        cls, rows: Iterable[dict], gold: str = "gold_reward", reward: str = "reward"
    ) -> TrustColumns:
        """Read the columns off rows, in one pass. Entries that are no dicts are passed over."""
        tasks: dict[str, int] = {}
        kinds: dict[str, int] = {}
        names: dict[str, int] = {}
        task: list[int] = []
        judge: list[int] = []
        golds: list[int] = []
        kind: list[int] = []
        chars: list[int] = []
        name: list[int] = []
        fractions: dict[int, float] = {}
        labels = _LabelWatch()
        task_key, verdict, reply_chars = read.task_key, read.verdict, read.reply_chars
        for row in rows:
            if not isinstance(row, dict):
                continue
            task.append(tasks.setdefault(task_key(row), len(tasks)))
            score = row.get(reward)
            judged = verdict(score)
            if judged is None and score is not None and read.is_number(score):
                fractions[len(judge)] = float(score)
            judge.append(NO_VERDICT if judged is None else judged)
            truth = verdict(row.get(gold))
            golds.append(NO_VERDICT if truth is None else truth)
            kind.append(0 if truth is None else kinds.setdefault(_kind(row), len(kinds)))
            chars.append(reply_chars(row))
            signed = row.get("judge_name")
            name.append(-1 if not signed else names.setdefault(read.as_text(signed), len(names)))
            if row.get("gold_labels"):
                labels.see(row, truth is not None)
        fraction = np.full(len(judge), np.nan)
        if fractions:
            fraction[list(fractions)] = list(fractions.values())
        return cls(
            task=np.array(task, dtype=np.intp),
            tasks=list(tasks),
            judge=np.array(judge, dtype=np.int8),
            fraction=fraction,
            gold=np.array(golds, dtype=np.int8),
            kind=np.array(kind, dtype=np.intp),
            kinds=list(kinds),
            chars=np.array(chars, dtype=np.int64),
            judge_name=np.array(name, dtype=np.intp),
            judge_names=list(names),
            person_and_rule=labels.both,
            conflicts=labels.conflicts,
            conflicts_without_gold=labels.without_gold,
        )

    def with_twins(self, own: Sequence[dict], twins: Iterable[dict], reward: str) -> TrustColumns:
        """The same rows with the verdicts of a second pass as (model) gold.

        A row's twin is the first one of the same identity; a row without one keeps no
        gold and is told apart by its kind ``"unmatched"``.
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
            kinds=["model", "unmatched"],
            person_and_rule=0,
            conflicts=(),
            conflicts_without_gold=0,
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


def _kind(row: dict) -> str:
    kind = read.gold_kind(row)
    if kind == "mixed" and read.mixed_is_trusted(row):
        return BOTH_TRUSTED
    return kind


def _majority(row: dict, kind: str) -> int | None:
    """What most labels of one kind say; None without any, and on a tie."""
    votes = [
        read.verdict(record["label"])
        for record in read.gold_labels(row)
        if read.label_kind(record) == kind
    ]
    ones = sum(vote == 1 for vote in votes)
    return None if 2 * ones == len(votes) else int(2 * ones > len(votes))
