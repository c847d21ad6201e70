"""False passes of the gate, of looking early, of the always valid bounds; the planner's 80%.

    python tests/bench/sim_plan.py [--draws 2000] [--seed 0] [--only gate|ever|power]

Prints the tables that stand in sim_plan.md. Rollouts of a task agree with gold alike: shares of
tasks are beta distributed with the intraclass correlation (ICC) that is named.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from whileai_review.intervals import cluster_wilson, quoted, wilson
from whileai_review.score.agreement import task_share
from whileai_review.score.planning import always_valid, plan_in_run

FLOOR = 0.8
SHAPES = ((66, 3), (25, 8))
ICCS = (0.1, 0.3, 0.6)


def shares(rng: np.random.Generator, n_tasks: int, icc: float, share: float) -> np.ndarray:
    """The true agreement of each task."""
    if icc == 0:
        return np.full(n_tasks, share)
    spread = (1 - icc) / icc
    return rng.beta(share * spread, (1 - share) * spread, n_tasks)


def order_of(rng: np.random.Generator, n_tasks: int, size: int, how: str) -> np.ndarray:
    """The task of each row in the order of labelling: random, or one of each task and again."""
    if how == "random":
        return rng.permutation(np.repeat(np.arange(n_tasks), size))
    return np.concatenate([rng.permutation(n_tasks) for _ in range(size)])


def walk(task: np.ndarray, agrees: np.ndarray, n_tasks: int) -> Iterator[tuple]:
    """Successes and rows of each task after every label."""
    s, m = np.zeros(n_tasks, dtype=int), np.zeros(n_tasks, dtype=int)
    for each, right in zip(task, agrees, strict=True):
        s[each] += right
        m[each] += 1
        yield s, m


def gate_passes(s: np.ndarray, m: np.ndarray, floor: float = FLOOR) -> bool:
    """Whether the bound that page and gate quote clears the floor."""
    bounds = quoted(task_share(s, m))
    return bounds is not None and bounds.low >= floor


def false_passes(draws: int, n_tasks: int, size: int, icc: float, seed: int) -> tuple[float, float]:
    """Shares of studies of a judge on the floor that pass: by task as the gate has it, by row."""
    rng = np.random.default_rng([seed, n_tasks, int(100 * icc)])
    m = np.full(n_tasks, size)
    by_task = by_row = 0
    for _ in range(draws):
        s = rng.binomial(size, shares(rng, n_tasks, icc, FLOOR))
        by_task += gate_passes(s, m)
        by_row += wilson(int(s.sum()), n_tasks * size).low >= FLOOR
    return by_task / draws, by_row / draws


def ever_wrong(
    draws: int, n_tasks: int, size: int, icc: float, how: str, seed: int, share: float = FLOOR
) -> tuple[float, float]:
    """Shares of studies where a bound excludes the truth at some look: always valid, fixed n."""
    rng = np.random.default_rng([seed, n_tasks, int(100 * icc), len(how)])
    valid = fixed = 0
    for _ in range(draws):
        task = order_of(rng, n_tasks, size, how)
        agrees = (rng.random(len(task)) < shares(rng, n_tasks, icc, share)[task]).astype(int)
        out = out_fixed = False
        for s, m in walk(task, agrees, n_tasks):
            if not out:
                low, high = always_valid(s, m)
                out = not low <= share <= high
            if not out_fixed and m.sum() >= 20:
                low, high = cluster_wilson(s, m)[:2]
                out_fixed = not low <= share <= high
            if out and out_fixed:
                break
        valid, fixed = valid + out, fixed + out_fixed
    return valid / draws, fixed / draws


def power_of_plan(
    draws: int, n_tasks: int, size: int, icc: float, share: float, seed: int, pilot: int = 60
) -> tuple[float | None, int | None]:
    """How often a study of the planned size passes, and the labels of the plan.

    The plan is made from first labels whose share is the true one, so that the plan is tried and
    not their luck; the study goes on from them as it says, one row of each task first.
    """
    rng = np.random.default_rng([seed, n_tasks, int(100 * icc), int(100 * share)])
    s = np.zeros(n_tasks, dtype=int)
    m = np.zeros(n_tasks, dtype=int)
    if icc == 0:
        m[:pilot] = 1
        s[: round(share * pilot)] = 1
    else:  # a first part in pairs, agreeing within tasks as the ICC says
        pairs = pilot // 2
        m[:pairs] = 2
        mixed = round(2 * share * (1 - share) * (1 - icc) * pairs)
        right = round(share * pilot)
        both = (right - mixed) // 2
        s[:both] = 2
        s[both : both + right - 2 * both] = 1
    plan = plan_in_run(s, m, n_tasks * size - int(m.sum()), FLOOR)
    if plan.for_power is None:
        return None, None
    passed, icc = 0, plan.icc if icc else 0.0  # as alike as the first labels were
    for _ in range(draws):
        if icc:  # what the labels so far say of their tasks
            spread = (1 - icc) / icc
            true = rng.beta(share * spread + s, (1 - share) * spread + m - s)
        else:
            true = np.full(n_tasks, share)
        rows, left = m.copy(), plan.for_power
        while left:
            fewest = rng.permutation(np.flatnonzero(rows == rows[rows < size].min()))[:left]
            rows[fewest] += 1
            left -= len(fewest)
        passed += gate_passes(s + rng.binomial(rows - m, true), rows)
    return passed / draws, int(m.sum()) + plan.for_power


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("gate", "ever", "power"))
    asked = parser.parse_args()
    if asked.only in (None, "gate"):
        print("| tasks x rollouts | ICC | gate passes at the floor | by row alone |")
        print("|---|---|---|---|")
        for n_tasks, size in SHAPES:
            for icc in ICCS:
                ours, naive = false_passes(asked.draws, n_tasks, size, icc, asked.seed)
                print(f"| {n_tasks} x {size} | {icc} | {ours:.1%} | {naive:.1%} |", flush=True)
    if asked.only in (None, "ever"):
        print(
            "\n| tasks x rollouts | ICC | order | always valid, ever wrong | fixed n, ever wrong |"
        )
        print("|---|---|---|---|---|")
        for n_tasks, size in ((200, 1), *SHAPES):
            for icc in (0.0,) if size == 1 else ICCS:
                for how in ("rounds",) if size == 1 else ("random", "rounds"):
                    ours, naive = ever_wrong(
                        max(asked.draws // 5, 1), n_tasks, size, icc, how, asked.seed
                    )
                    print(
                        f"| {n_tasks} x {size} | {icc} | {how} | {ours:.1%} | {naive:.1%} |",
                        flush=True,
                    )
    if asked.only in (None, "power"):
        print("\n| run | ICC | true agreement | labels planned | passes |")
        print("|---|---|---|---|---|")
        for n_tasks, size in ((1_000, 1), (150, 3), (100, 8)):
            for icc in (0.0,) if size == 1 else ICCS:
                for share in (0.87, 0.9, 0.95):
                    chance, n = power_of_plan(asked.draws, n_tasks, size, icc, share, asked.seed)
                    words = "no plan: the run is too small" if chance is None else f"{chance:.1%}"
                    print(
                        f"| {n_tasks} x {size} | {icc} | {share} | {n or ''} | {words} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
