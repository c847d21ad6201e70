"""The billing world of the demo: tasks, what an agent does on one, what a judge makes of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

from whileai_review import _demo_texts as texts

TOOLS = ("lookup_invoice", "issue_credit", "escalate_to_human")
"""Tools that the agent can call, in declared order."""

LIMIT = 200
"""Dollars: above it a human decides, up to it the agent credits."""

N_TASKS = 120
N_ROLLOUTS = 3


@dataclass(frozen=True)
class Agent:
    """How often an agent does what; shares between 0 and 1."""

    skips_lookup: float
    lookup_fails: float
    fails_big: float
    fails_small: float
    announces: float
    """Of the rollouts with the wrong action: announced, never called."""
    wrong_tool: float
    wrong_figure: float
    chatty: float
    """Chance of each closing sentence."""


AGENT_A = Agent(0.23, 0.06, 0.17, 0.49, 0.66, 0.13, 0.03, 0.30)
"""Says more than it does: half of the small invoices are announced, not credited."""

AGENT_B = Agent(0.23, 0.06, 0.18, 0.51, 0.12, 0.10, 0.04, 0.06)
"""Terse, and announces little."""


@dataclass(frozen=True)
class Task:
    scenario_id: str
    regime: str
    invoice: str
    amount: float
    ask: str
    names_invoice: bool
    hardness: float


# Tasks


def tasks(seed: int) -> list[Task]:
    rng = Random(f"{seed}/tasks")
    invoices = rng.sample(range(2000, 9999), N_TASKS)
    regimes = ["BIG", "SMALL"] * (N_TASKS // 2)
    return [_task(n, regimes[n], invoices[n], rng) for n in range(N_TASKS)]


def _task(n: int, regime: str, number: int, rng: Random) -> Task:
    invoice = f"INV-{number}"
    low, high = (LIMIT + 1, 1400) if regime == "BIG" else (12, LIMIT)
    amount = round(rng.uniform(low, high), 2)
    names_invoice = rng.random() < 0.85
    ask = rng.choice(texts.ASKS if names_invoice else texts.ASKS_WITHOUT_NUMBER).format(
        inv=invoice,
        co=rng.choice(texts.COMPANIES),
        month=rng.choice(texts.MONTHS),
        n=rng.randint(2, 40),
    )
    return Task(
        f"billing-{n + 1:03d}", regime, invoice, amount, ask, names_invoice, rng.gauss(0, 1)
    )


# One rollout: what the agent does, what it says, what the judge makes of it


def rollout(task: Task, index: int, agent: Agent, rng: Random) -> dict:
    steps, deed = _act(task, agent, rng)
    reply = _say(task, deed, agent, rng)
    seconds = sum(rng.uniform(0.2, 0.9) for _ in steps) + 0.8 + len(reply) / rng.uniform(60, 110)
    row = {
        "scenario_id": task.scenario_id,
        "rollout_index": index,
        "regime": task.regime,
        "system_prompt": texts.POLICY,
        "tools": list(TOOLS),
        "prompt": task.ask,
        "final_text": reply,
        "steps": steps,
        "latency_s": round(seconds, 2),
        "cost_usd": round(0.0004 + 0.0002 * len(steps) + len(reply) * 1.2e-6, 5),
    }
    if rng.random() < 0.2:
        row["messages"] = _messages(row)
    return row | _judge(task, deed, reply, rng)


def _act(task: Task, agent: Agent, rng: Random) -> tuple[list[dict], str]:
    """The tool calls, and one word for what was done."""
    if not task.names_invoice:
        return [], "number wanted"
    if rng.random() < agent.skips_lookup:
        return [], "no lookup"
    asked = {"id": task.invoice}
    broken = {
        "tool": "lookup_invoice",
        "arguments": asked,
        "result": {"error": "upstream timeout"},
        "status": "error",
    }
    works = {
        "tool": "lookup_invoice",
        "arguments": asked,
        "result": {"amount": task.amount, "currency": "USD"},
    }
    if rng.random() < agent.lookup_fails:
        return [broken] * rng.randint(1, 2), "lookup failed"
    steps = [broken, works] if rng.random() < 0.04 else [works] * rng.choice((1, 1, 1, 1, 2))
    deed = _deed(task, agent, rng)
    if deed in ("right", "wrong tool", "cut off"):
        escalates = (task.regime == "BIG") is (deed != "wrong tool")
        steps = [*steps, _escalation(task, rng) if escalates else _credit(task, rng)]
    return steps, deed


def _deed(task: Task, agent: Agent, rng: Random) -> str:
    share = agent.fails_big if task.regime == "BIG" else agent.fails_small
    odds = share / (1 - share) * 2.0**task.hardness  # some tasks are harder than others
    if rng.random() >= odds / (1 + odds):
        return "cut off" if rng.random() < 0.01 else "right"
    draw = rng.random()
    if draw < agent.announces:
        return "announced"
    return "wrong tool" if draw < agent.announces + agent.wrong_tool else "silent"


def _escalation(task: Task, rng: Random) -> dict:
    return {
        "tool": "escalate_to_human",
        "arguments": {"id": task.invoice, "reason": "customer disputes the charge"},
        "result": {"queued": True, "ticket": f"T-{rng.randint(10000, 99999)}"},
    }


def _credit(task: Task, rng: Random) -> dict:
    return {
        "tool": "issue_credit",
        "arguments": {"id": task.invoice, "amount": task.amount},
        "result": {"ok": True, "credit_id": f"CR-{rng.randint(1000, 9999)}"},
    }


def _say(task: Task, deed: str, agent: Agent, rng: Random) -> str:
    if deed == "cut off":
        return ""
    big = task.regime == "BIG"
    phrases = {
        "right": texts.ESCALATED if big else texts.CREDITED,
        "wrong tool": texts.CREDITED if big else texts.ESCALATED,
        "announced": texts.ESCALATION_ANNOUNCED if big else texts.CREDIT_ANNOUNCED,
        "silent": texts.SILENT,
        "number wanted": texts.NUMBER_WANTED,
        "no lookup": texts.NO_LOOKUP,
        "lookup failed": texts.LOOKUP_FAILED,
    }[deed]
    if deed == "wrong tool" and not big:  # it does not claim a limit that its own figure is under
        phrases = tuple(phrase for phrase in phrases if "$200" not in phrase)
    parts = [rng.choice(texts.OPENINGS)] if rng.random() < agent.chatty else []
    if deed in ("right", "wrong tool", "announced", "silent"):
        parts.append(rng.choice(texts.FOUND))
    parts.append(rng.choice(phrases))
    parts += [closing for closing in rng.sample(texts.CLOSINGS, 4) if rng.random() < agent.chatty]
    figure = _figure(task.amount, agent.wrong_figure, rng)
    return " ".join(filter(None, parts)).format(inv=task.invoice, fig=figure)


def _figure(amount: float, wrong: float, rng: Random) -> str:
    if rng.random() < wrong:
        amount += rng.choice((-11.5, 18.25, 31.5))
    return rng.choice((f"${amount:,.2f}", f"${amount:.2f}", f"${amount:,.2f}", f"${amount:,.0f}"))


def _messages(row: dict) -> list[dict]:
    """The same rollout as an OpenAI-style conversation."""
    found: list[dict] = [
        {"role": "system", "content": row["system_prompt"]},
        {"role": "user", "content": row["prompt"]},
    ]
    for n, step in enumerate(row["steps"]):
        call = {"name": step["tool"], "arguments": json.dumps(step["arguments"])}
        calls = [{"id": f"call_{n}", "type": "function", "function": call}]
        found.append({"role": "assistant", "content": None, "tool_calls": calls})
        result = json.dumps(step["result"])
        found.append({"role": "tool", "tool_call_id": f"call_{n}", "content": result})
    if row["final_text"]:
        found.append({"role": "assistant", "content": row["final_text"]})
    return found


# The judge


def _judge(task: Task, deed: str, reply: str, rng: Random) -> dict:
    """A lenient judge: it believes announcements, and the more so the longer the reply."""
    terse = len(reply) < 160
    big = task.regime == "BIG"
    believes = {
        "right": 0.95 if big else 1.0,
        "cut off": 1.0,
        "announced": 0.99 if big else 0.9,
        "wrong tool": 0.9 if big else 0.7,
        "silent": (0.7 if big else 0.5) - 0.15 * terse,
        "number wanted": 0.9,
        "no lookup": 0.85,
        "lookup failed": 0.9,
    }[deed]
    action = rng.random() < believes
    looked_up = rng.random() >= (0.09 if terse else 0.01)
    figures = rng.random() >= (0.15 if terse else 0.01)
    markers = {"lookup": looked_up, "action": action, "amounts": figures}
    return {
        "reward": int(all(markers.values())),
        "reason": _reason(task, deed, markers, rng),
        "judge_name": "rubric_judge",
        "markers": {f"rubric:{name}": float(met) for name, met in markers.items()},
        "judge_action": int(action),
    }


def _reason(task: Task, deed: str, markers: dict[str, bool], rng: Random) -> str:
    if not markers["action"]:
        return rng.choice(texts.JUDGE_NO_ACTION)
    if not markers["lookup"]:
        return rng.choice(texts.JUDGE_NO_LOOKUP)
    if not markers["amounts"]:
        return rng.choice(texts.JUDGE_FIGURE)
    if deed in ("number wanted", "no lookup", "lookup failed"):
        return rng.choice(texts.JUDGE_HANDLED)
    return rng.choice(texts.JUDGE_ESCALATED if task.regime == "BIG" else texts.JUDGE_CREDITED)


def second_verdict(row: dict, rng: Random) -> dict:
    met, reason = row["judge_action"], row["reason"]
    if rng.random() < 0.07:  # changed verdicts lean to "met": the wording does not help
        met = int(rng.random() < 0.75)
    others = [row["markers"]["rubric:lookup"], row["markers"]["rubric:amounts"]]
    if met != row["judge_action"]:
        done = texts.JUDGE_ESCALATED if row["regime"] == "BIG" else texts.JUDGE_CREDITED
        reason = rng.choice(done if met and all(others) else texts.JUDGE_NO_ACTION)
    return {
        "scenario_id": row["scenario_id"],
        "rollout_index": row["rollout_index"],
        "reward": int(met and all(others)),
        "judge_action": met,
        "reason": reason,
        "judge_name": "rubric_judge_literal",
    }
