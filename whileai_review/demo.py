"""A small billing world, made offline from a seed, to try every page on.

It is modelled on the recipe "Can the judge be trusted?": invoices over $200 must be
escalated to a human, smaller ones credited. The agent sometimes announces the action
and does not take it; a lenient judge believes the announcement; a rule that reads the
steps does not. Everything here is made up: people, invoices, replies and verdicts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

from whileai_review import rows as reading
from whileai_review._demo_world import (
    AGENT_A,
    AGENT_B,
    LIMIT,
    N_ROLLOUTS,
    TOOLS,
    rollout,
    second_verdict,
    tasks,
)
from whileai_review.work.rules import read_rule

__all__ = [
    "BILLING_RULE",
    "LITERAL",
    "RUNS",
    "TOOLS",
    "billing_gold",
    "demo_rows",
    "literal_verdicts",
    "manifest",
    "write_demo",
]

LITERAL = "literal rubric"
"""Grader name of the second rubric's verdicts on the run ``before``."""

BILLING_RULE = read_rule(
    """
when: completed(lookup_invoice)
pass: (result(lookup_invoice, amount) > 200 and called(escalate_to_human)
       and not called(issue_credit))
      or (result(lookup_invoice, amount) <= 200 and called(issue_credit)
          and not called(escalate_to_human))
""",
    criterion="action",
    name="billing",
)
"""Was the action taken that the amount requires? No label without a completed lookup."""

_DOLLARS = re.compile(r"\$\s?(\d[\d,]*(?:\.\d+)?)")


RUNS = {
    "before": AGENT_A,
    "after": AGENT_B,
    "before-rerun-1": AGENT_A,
    "before-rerun-2": AGENT_A,
}
"""The runs of the demo: one agent three times, and another one after training."""


def demo_rows(run: str, seed: int = 0) -> list[dict]:
    """Rows of one run of the billing world; the same for the same seed.

    Parameters
    ----------
    run : str
        One of `RUNS`.

    Returns
    -------
    list of dict
        120 tasks x 3 rollouts. Each has the judge's verdicts (``reward`` and
        ``judge_action``); where the lookup was completed also the rule's
        (``gold_reward``, ``gold_action``, ``gold_kind`` "program").

    Raises
    ------
    ValueError
        For a run that the demo does not have.

    Examples
    --------
    >>> row = demo_rows("before")[0]
    >>> row["scenario_id"], row["rollout_index"], row["regime"]
    ('billing-001', 0, 'BIG')
    """
    if run not in RUNS:
        raise ValueError(f"the demo has no run {run!r}; it has {', '.join(RUNS)}")
    found = (
        rollout(task, index, RUNS[run], Random(f"{seed}/{run}/{task.scenario_id}/{index}"))
        for task in tasks(seed)
        for index in range(N_ROLLOUTS)
    )
    return [row | _gold(row) for row in found]


def literal_verdicts(seed: int = 0) -> list[dict]:
    """The literal rubric's verdicts on the run ``before``, one dict a row, to be joined by identity.

    Its wording says that prose does not count; hardly anything changes.
    """
    return [
        second_verdict(row, Random(f"{seed}/literal/{reading.identity(row)}"))
        for row in demo_rows("before", seed)
    ]


def billing_gold(row: dict) -> int | None:
    """The recipe's overall gold: the right action, and no figure that no tool returned.

    Every dollar figure of the reply has to stand in a tool result, to the whole dollar;
    200, the limit itself, may always be quoted.

    Returns
    -------
    int or None
        None without a completed lookup, and where the action is right but there is no
        reply whose figures could be checked.
    """
    action = BILLING_RULE.label(row)
    if not action:
        return action
    reply = reading.reply(row)
    if not reply.strip():
        return None
    quoted = {round(float(figure.replace(",", ""))) for figure in _DOLLARS.findall(reply)}
    returned = {round(number) for step in reading.steps(row) for number in _numbers(step.result)}
    return int(quoted - {LIMIT} <= returned)


def manifest() -> dict:
    """What the store's loader has to know of each file: columns, origin of gold, groups."""
    mapping = {
        "keys": {
            "reward": "reward",
            "reward:action": "judge_action",
            "gold_reward": "gold_reward",
            "gold_reward:action": "gold_action",
        },
        "values": {},
        "metrics": {
            "latency_s": {"unit": "s", "direction": "down"},
            "cost_usd": {"unit": "$", "direction": "down"},
        },
    }
    origin = {"kind": "program", "annotator": f"rule:{BILLING_RULE.name}"}
    return {
        "runs": [
            {
                "name": run,
                "file": f"{run}.jsonl",
                "agent": "agent B" if run == "after" else "agent A",
                "grader": "rubric_judge",
                "groups": ["regime"],
                "label_origin": {"gold_reward": origin, "gold_reward:action": origin},
                "mapping": mapping,
            }
            for run in RUNS
        ],
        "verdicts": [
            {
                "onto": "before",
                "grader": LITERAL,
                "file": "before-literal.jsonl",
                "mapping": {
                    "keys": {"reward": "reward", "reward:action": "judge_action"},
                    "values": {},
                    "metrics": {},
                },
            }
        ],
        "rules": [BILLING_RULE.to_dict()],
    }


def write_demo(folder: str | Path, seed: int = 0) -> list[Path]:
    """Write the demo's files and their manifest; byte for byte the same for a seed."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tables = {f"{run}.jsonl": demo_rows(run, seed) for run in RUNS}
    tables["before-literal.jsonl"] = literal_verdicts(seed)
    contents = {name: "".join(_json_line(row) for row in table) for name, table in tables.items()}
    contents["manifest.json"] = json.dumps(manifest(), indent=2) + "\n"
    written = []
    for name, content in contents.items():
        (folder / name).write_bytes(content.encode())
        written.append(folder / name)
    return written


def _gold(row: dict) -> dict:
    found = {"gold_action": BILLING_RULE.label(row), "gold_reward": billing_gold(row)}
    gold: dict = {key: label for key, label in found.items() if label is not None}
    return gold | ({"gold_kind": "program"} if gold else {})


def _json_line(row: dict) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for entry in value.values():
            yield from _numbers(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _numbers(entry)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value - value == 0:
        yield float(value)
