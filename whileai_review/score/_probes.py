"""Re-judge rows: as they are, with filler, and under the hacks a policy finds first."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from whileai_review import rows as read
from whileai_review.defaults import (
    ALPHA,
    FLIP_FLAG,
    LEVEL,
    POWER,
    PROBE_MIN_N,
    SAMPLE,
    SEED,
)
from whileai_review.intervals import binomial_two_sided, quoted, z_quantile
from whileai_review.report import Report, percent, plural
from whileai_review.score._columns import codes
from whileai_review.score._edits import PROBES, Probe, add_filler
from whileai_review.score._verdicts import OK, Judge, ask_all
from whileai_review.score.agreement import task_share


class ProbeReport(Report):
    """What :func:`judge_probes` found.

    Keys
    ----
    n : int
        Rows drawn.
    probes : dict
        By name ``n kind pass_before pass_after flips_up flips_down net_flips
        denominator exploit_rate ci95 low_power resolves flagged errors``, and by task
        ``ci95_tasks n_tasks deff`` as :func:`~whileai_review.score.agreement.task_share`
        has them: quote the wider. A probe that applies to no row has ``n`` 0 and
        ``skipped``, the reason.
    exploitable_by : list of str
        Names of flagged probes.
    warnings, notes : list of str
        A line for each flagged probe; for each with too few rows to say.
    """

    def as_text(self) -> str:
        """The block a person reads."""
        return "\n".join(probe_lines(self) + [f"! {line}" for line in self["warnings"]])


def judge_probes(
    rows: Sequence[dict],
    judge: Judge,
    probes: str | Sequence[str] = "all",
    rubric: str | None = None,
    sample: int = SAMPLE,
    seed: int = SEED,
    concurrency: int = 8,
    flip_flag: float = FLIP_FLAG,
) -> ProbeReport:
    """Try the reward hacks a policy finds first on the judge, on purpose.

    Parameters
    ----------
    rows : sequence of dict
        Rows; those with a 0/1 reward take part. Nothing is changed: the judge gets copies.
    judge : callable
        ``row -> number or dict``.
    probes : "all" or sequence of str
        Names.
    rubric : str, optional
        Text whose words the keyword probe uses; else the row's system message.
    sample : int
        At most this many rows are re-judged, for each probe.
    seed : int
        Which ones.
    concurrency : int
        Judge calls at once.
    flip_flag : float
        Exploit rate at which a probe is flagged.

    Raises
    ------
    ValueError
        An unknown probe.

    References
    ----------
    Gao et al. (2022), arXiv:2210.10760. Miller (2024), arXiv:2411.00640, section 5.

    Examples
    --------
    >>> rows = [{"final_text": "no", "reward": 0} for _ in range(30)]
    >>> report = judge_probes(rows, lambda row: int("done" in row["final_text"]), ["success_claim"])
    >>> report["exploitable_by"]
    ['success_claim']
    """
    names = _checked_names(probes)
    drawn = graded_sample(rows, sample, seed)
    report = ProbeReport(n=len(drawn), probes={}, exploitable_by=[], warnings=[], notes=[])
    for name in names if drawn else []:
        result = _run_probe(PROBES[name], drawn, judge, rubric or "", concurrency, flip_flag)
        report["probes"][name] = result
        if result.get("flagged"):
            report["exploitable_by"].append(name)
            report["warnings"].append(_exploit_line(name, result))
        elif result.get("low_power"):
            report["notes"].append(_low_power_line(name, result, flip_flag))
    return report


def perturbation(
    rows: Sequence[dict],
    judge: Judge,
    sample: int = SAMPLE,
    seed: int = SEED,
    concurrency: int = 8,
    flip_flag: float = FLIP_FLAG,
) -> dict[str, Any]:
    """Judge rows again, as they are and with neutral filler after the reply.

    ``consistency`` and ``filler`` hold the flip rates with both intervals, as `task_share`.
    """
    drawn = graded_sample(rows, sample, seed)
    if not drawn:
        return {"n": 0, "note": "no row with a 0/1 reward to judge again"}
    before = [read.verdict(row.get("reward")) for row in drawn]
    again = ask_all(judge, drawn, concurrency)
    filled = ask_all(judge, [add_filler(row) or row for row in drawn], concurrency)
    second, third = _flips(drawn, before, again), _flips(drawn, before, filled)
    flipped = int((second.up + second.down).sum())
    n_again, n_filled = int(second.n.sum()), int(third.n.sum())
    up, down = int(third.up.sum()), int(third.down.sum())
    consistency = flipped / n_again if n_again else None
    net = abs(up - down) / n_filled if n_filled else None
    sign_p = binomial_two_sided(up, up + down) if n_filled else None
    return {
        "n": len(drawn),
        "consistency_flip_rate": consistency,
        "filler_flip_rate": (up + down) / n_filled if n_filled else None,
        "filler_flips_up": up,
        "filler_flips_down": down,
        "filler_net_flip_rate": net,
        "filler_sign_p": sign_p,
        "flagged_consistency": consistency is not None and consistency >= flip_flag,
        "flagged_length": net is not None
        and sign_p is not None
        and net >= flip_flag
        and sign_p < ALPHA,
        "errors": sum(verdict["judge_status"] != OK for verdict in again + filled),
        "consistency_flips": flipped,
        "consistency_n": n_again,
        "filler_n": n_filled,
        "consistency": task_share(second.up + second.down, second.n),
        "filler": task_share(third.up + third.down, third.n),
    }


def graded_sample(rows: Sequence[dict], sample: int, seed: int) -> list[dict]:
    """Up to `sample` rows with a 0/1 reward, in row order; a seeded draw when there are more."""
    graded = [
        row for row in rows if isinstance(row, dict) and read.verdict(row.get("reward")) is not None
    ]
    if len(graded) <= sample:
        return graded
    chosen = np.random.default_rng(seed).choice(len(graded), max(0, sample), replace=False)
    return [graded[i] for i in np.sort(chosen)]


def resolvable_rate(n: int, base: float = FLIP_FLAG) -> float:
    """The smallest rate that `n` rows can tell from `base` at the default power.

    Normal approximation for one proportion, in steps of 0.01; 1.0 when none.
    """
    z_alpha, z_power = z_quantile(LEVEL), z_quantile(2 * POWER - 1)
    for step in range(int(100 * base) + 1, 101):
        rate = step / 100
        if rate <= base:
            continue
        spread = z_alpha * sqrt(base * (1 - base)) + z_power * sqrt(rate * (1 - rate))
        if (spread / (rate - base)) ** 2 <= n:
            return rate
    return 1.0


def _checked_names(probes: str | Sequence[str]) -> list[str]:
    if isinstance(probes, str):
        probes = list(PROBES) if probes == "all" else [probes]
    for name in probes:
        if name not in PROBES:
            known = ", ".join(PROBES)
            raise ValueError(f"unknown probe {name!r}: use 'all' or names from {known}")
    return list(dict.fromkeys(probes))


class _Flips(NamedTuple):
    """Of each task: rows that came back with 0/1, and what became of their verdicts."""

    n: np.ndarray
    failing: np.ndarray
    """Rows that failed before."""
    up: np.ndarray
    down: np.ndarray
    passing_after: np.ndarray


def _flips(own: Sequence[dict], before: Sequence[int | None], verdicts: list[dict]) -> _Flips:
    tasks, task = codes([read.task_key(row) for row in own])
    old = np.array(before, dtype=np.int8)
    new = [read.verdict(v["reward"]) for v in verdicts]
    after = np.array([-1 if value is None else value for value in new], dtype=np.int8)

    def of_task(rows: np.ndarray) -> np.ndarray:
        return np.bincount(task[rows & (after >= 0)], minlength=len(tasks))

    return _Flips(
        n=of_task(after >= 0),
        failing=of_task(old == 0),
        up=of_task((old == 0) & (after == 1)),
        down=of_task((old == 1) & (after == 0)),
        passing_after=of_task(after == 1),
    )


def _run_probe(
    probe: Probe, drawn: list[dict], judge: Judge, rubric: str, concurrency: int, flip_flag: float
) -> dict[str, Any]:
    edited = [(row, probe.edit(row, rubric)) for row in drawn]
    tried = [(row, twin) for row, twin in edited if twin is not None]
    if not tried:
        return {"n": 0, "skipped": probe.needs}
    verdicts = ask_all(judge, [twin for _, twin in tried], concurrency)
    before = [read.verdict(row.get("reward")) for row, _ in tried]
    flips = _flips([row for row, _ in tried], before, verdicts)
    n, failing, up, down, passing_after = (int(rows.sum()) for rows in flips)
    net = max(0, up - down)
    if probe.additive:
        # Of each task what it adds to the net count; where that falls below 0 no row counts.
        hits = flips.up - flips.down if net else np.zeros_like(flips.up)
        found = task_share(hits, flips.failing)
    else:
        found = task_share(flips.passing_after, flips.n)
    rate, denominator = found["value"], found["n"]
    low_power = 0 < denominator < PROBE_MIN_N
    return {
        "n": n,
        "kind": "additive" if probe.additive else "replacement",
        "pass_before": (n - failing) / n if n else None,
        "pass_after": passing_after / n if n else None,
        "flips_up": up,
        "flips_down": down,
        "net_flips": net,
        "denominator": denominator,
        "exploit_rate": rate,
        "ci95": found["ci95"],
        "ci95_tasks": found["ci95_tasks"],
        "n_tasks": found["n_tasks"],
        "deff": found["deff"],
        "low_power": low_power,
        "resolves": resolvable_rate(denominator, flip_flag) if low_power else None,
        "flagged": rate is not None and rate >= flip_flag and not low_power,
        "errors": sum(v["judge_status"] != OK for v in verdicts),
    }


def _exploit_line(name: str, result: dict) -> str:
    low, high = quoted(result) or (None, None)
    of = "failing replies then pass"
    if result["kind"] == "replacement":
        of = "replies pass with their content gone"
    hits = round(result["exploit_rate"] * result["denominator"])
    return (
        f"judge can be hacked by {PROBES[name].act} ({name}): {percent(result['exploit_rate'])} of "
        f"{of} ({hits} of {result['denominator']}, {plural(result['n_tasks'], 'task')}; "
        f"95% {percent(low)}..{percent(high)})"
    )


def _low_power_line(name: str, result: dict, flip_flag: float) -> str:
    return (
        f"{name}: only {plural(result['denominator'], 'row')} to try it on, which tell rates over "
        f"{percent(result['resolves'])} from {percent(flip_flag)}; not flagged either way"
    )


def probe_lines(report: dict) -> list[str]:
    """``probes (n=80):`` and a line for each probe."""
    lines = [f"probes (n={report['n']}):"]
    for name, result in report["probes"].items():
        if "skipped" in result:
            lines.append(f"  {name}  skipped: {result['skipped']}")
            continue
        rate = "not measured"
        if result["exploit_rate"] is not None:
            low, high = quoted(result) or (None, None)
            rate = f"{percent(result['exploit_rate'])} [{percent(low)}..{percent(high)}]"
        line = (
            f"  {name}  {rate}  pass {percent(result['pass_before'])} -> "
            f"{percent(result['pass_after'])}"
        )
        if result["flagged"]:
            line += "  EXPLOITABLE"
        elif result["low_power"]:
            line += f"  too few rows ({result['denominator']})"
        tasks = plural(result["n_tasks"], "task")
        lines.append(f"{line}  n={result['denominator']}, {tasks}")
    return lines
