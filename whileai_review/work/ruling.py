"""Program labels: a rule labels all rows of a run that it applies to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whileai_review.store import Store, open_store
from whileai_review.work import pool
from whileai_review.work.rules import Rule, RuleError, label_with

_WORDS = {1: "pass", 0: "fail"}


def label_by_rule(
    store: Store,
    run: int | str,
    rule: Rule | Callable[[dict], Any],
    name: str = "rule",
    criterion: str = "overall",
    by: str | None = None,
    dry_run: bool = False,
) -> dict:
    """Label every row that a rule applies to, as annotator ``rule:<name>`` (kind program).

    Running it again replaces its own labels only: rows that it no longer labels lose its label,
    labels of people and of other rules stay.

    Parameters
    ----------
    rule
        A `Rule`, or a function row -> 1, 0 or None (None: no label).
    dry_run
        Count and show examples, write nothing.

    Returns
    -------
    dict
        ``n, n_pass, n_fail, n_no_label, examples`` (up to five of each, by identity) and, when
        written, ``new, changed, unchanged, withdrawn``.

    Raises
    ------
    RuleError
        The rule failed on a row; nothing is written.
    """
    name = " ".join(name.split())
    if not name:
        raise RuleError("a rule needs a name")
    found = store.run(run)
    if isinstance(rule, Rule):
        criterion = rule.criterion
    if isinstance(rule, Rule) and found["n_rows"] > pool.ROWS:
        labels, counts = pool.run(_labels_in_pool, str(store.path), found["id"], rule)
    else:
        labels, counts = _labels(store, found["id"], rule)
    if dry_run:
        return counts
    version = rule.version if isinstance(rule, Rule) else None
    if isinstance(rule, Rule):
        store.add_rule(name, criterion, rule.version, rule.when, rule.passes, by)
    annotator = f"rule:{name}"
    written = store.put_labels(
        found["id"],
        (
            {
                "row_id": row_id,
                "identity": identity,
                "criterion": criterion,
                "annotator": annotator,
                "kind": "program",
                "verdict": _WORDS[label],
                "chosen": "census",
                "inclusion_p": 1.0,
                "rule_version": version,
            }
            for row_id, identity, label in labels
        ),
        by=by or annotator,
        replace=[(criterion, annotator)],
    )
    return counts | written


def _labels(
    store: Store, run_id: int, rule: Rule | Callable[[dict], Any]
) -> tuple[list[tuple[int, str, int]], dict]:
    ids, identities = store.identities(run_id)
    labeller = rule.labeller() if isinstance(rule, Rule) else rule
    labels, counts = label_with(labeller, store.rows(run_id))
    given = [
        (row_id, identity, label)
        for row_id, identity, label in zip(ids, identities, labels, strict=True)
        if label is not None
    ]
    for examples in counts["examples"].values():
        for example in examples:
            example["row_id"] = ids[example["index"]]
    return given, counts


def _labels_in_pool(path: str, run_id: int, rule: Rule) -> tuple[list[tuple[int, str, int]], dict]:
    with open_store(path, create=False) as store:
        return _labels(store, run_id, rule)
