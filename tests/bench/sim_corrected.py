"""Does the interval of `corrected_pass_rate` cover, and is it ever wider than labels alone?

    python tests/bench/sim_corrected.py [--draws 600] [--seed 0]

Prints the table that stands in README.md. A study has 2,000 judged rows, some of them labelled at
random. `size` rollouts make a task and share its difficulty; `drawn` says how: with equal chances,
or with three times the chance where the judge said fail.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from whileai_review.intervals import quoted
from whileai_review.score._columns import TrustColumns
from whileai_review.score.corrected import corrected_from_columns

N_ROWS = 2_000


class Setting(NamedTuple):
    """One line of the table."""

    tpr: float
    tnr: float
    n: int
    base: float = 0.65
    size: int = 1
    drawn: str = "equal"


JUDGES = ((0.838, 0.205), (0.90, 0.80), (0.95, 0.92))
SETTINGS = [Setting(*judge, n, size=size) for size in (1, 4) for judge in JUDGES for n in (50, 200)]
SETTINGS += [Setting(*judge, n, drawn="by verdict") for judge in JUDGES for n in (50, 200)]
SETTINGS += [Setting(*judge, n, base=base) for base in (0.05, 0.95) for judge in JUDGES[1:]
             for n in (50, 200)]  # fmt: skip


def study(rng: np.random.Generator, s: Setting) -> tuple[TrustColumns, np.ndarray | None]:
    """The columns of a run, and the chances with which its labels were drawn."""
    n_tasks = N_ROWS // s.size
    task = np.repeat(np.arange(n_tasks), s.size)
    # Beta(1.5 p, 1.5 (1 - p)): the outcomes of a task have an ICC of .40, as tau-bench's.
    hard = rng.beta(1.5 * s.base, 1.5 * (1 - s.base), n_tasks)[task] if s.size > 1 else s.base
    truth = rng.random(N_ROWS) < hard
    says = np.where(truth, rng.random(N_ROWS) < s.tpr, rng.random(N_ROWS) >= s.tnr)
    own = np.zeros(N_ROWS, dtype=bool)
    chance = None
    if s.drawn == "equal":
        own[rng.choice(N_ROWS, s.n, replace=False)] = True
    else:
        odds = np.where(says, 1.0, 3.0)
        chance = s.n * odds / odds.sum()
        own = rng.random(N_ROWS) < chance
    columns = TrustColumns(
        task=task,
        tasks=list(map(str, range(n_tasks))),
        judge=says.astype(np.int8),
        fraction=np.full(N_ROWS, np.nan),
        gold=np.where(own, truth, -1).astype(np.int8),
        kind=np.zeros(N_ROWS, dtype=np.intp),
        kinds=["human"],
        chars=np.zeros(N_ROWS, dtype=np.int64),
        judge_name=np.full(N_ROWS, -1),
    )
    return columns, chance


def line(s: Setting, draws: int, seed: int) -> str:
    """Coverage, bias and widths of one setting as a line of the table."""
    rng = np.random.default_rng([seed, SETTINGS.index(s)])
    found = [corrected_from_columns(*study(rng, s)) for _ in range(draws)]
    low, high = np.array([r["ci95"] for r in found]).T
    alone = np.array([quoted(r["labels_only"]) for r in found])
    covered = np.mean((low <= s.base) & (s.base <= high))
    covered_alone = np.mean((alone[:, 0] <= s.base) & (s.base <= alone[:, 1]))
    ratio = (high - low) / (alone[:, 1] - alone[:, 0])
    cells = [
        f"{s.tpr:g}/{s.tnr:g}",
        f"{s.base:g}",
        f"{s.size}",
        s.drawn,
        f"{s.n}",
        f"{100 * covered:.1f}%",
        f"{100 * covered_alone:.1f}%",
        f"{np.mean([r['value'] for r in found]) - s.base:+.4f}",
        f"{np.median(high - low):.3f}",
        f"{np.median(alone[:, 1] - alone[:, 0]):.3f}",
        f"{np.median(ratio):.2f}",
        f"{np.quantile(ratio, 0.99):.2f}",
        f"{np.mean([r['lam'] for r in found]):.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    heads = ["judge TPR/TNR", "base", "size", "drawn", "labels", "covers", "labels alone cover"]
    heads += ["bias", "width", "labels alone", "ratio, median", "ratio, 99%", "mean lambda"]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for setting in SETTINGS:
        print(line(setting, args.draws, args.seed), flush=True)


if __name__ == "__main__":
    main()
