"""What Trust costs on a loaded run: after a new label, and again.

    python tests/bench/bench_trust_run.py [--rows 100000] [--repeat 5]

Every row has a verdict and a rule's label. Cold is `work.trust` after one new label by the rule
(its report is stale); warm reads the report that is kept. `judge_trust` on the same rows as
dicts, already in memory, stands beside them for scale.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from whileai_review import judge_trust, work
from whileai_review.load import Mapping
from whileai_review.store import open_store

JUDGED = Mapping({"reward": "reward"})


def write_rows(path: Path, n: int) -> None:
    """n rows of three rollouts a task; the judge passes four of five."""
    with path.open("w") as out:
        for i in range(n):
            row = {
                "scenario_id": f"t{i // 3}",
                "rollout_index": i % 3,
                "prompt": f"ask {i // 3}",
                "final_text": "word " * (20 + i % 60),
                "regime": "BIG" if i % 7 < 3 else "SMALL",
                "reward": int(i % 5 > 0),
            }
            out.write(json.dumps(row) + "\n")


def rule(row: dict) -> int:
    """Gold that the judge meets in some two of three rows."""
    return int(len(row["final_text"]) % 3 > 0)


def seconds(function: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "a.db") as store:
        path = Path(folder) / "base.jsonl"
        write_rows(path, asked.rows)
        run = work.load_file(store, path, mapping=JUDGED)["runs"][0]["id"]
        work.label_by_rule(store, run, rule, "r")
        ids = store.tasks_of(run)[0]
        report = work.trust(store, run)
        cold, cells, warm = [], [], []
        for n in range(asked.repeat):
            label = {"row_id": ids[n], "identity": f"t{n // 3}#{n % 3}", "criterion": "overall",
                     "annotator": f"rule:{n}", "kind": "program", "verdict": "pass",
                     "chosen": "census"}  # fmt: skip
            store.put_labels(run, [label])
            cold.append(seconds(lambda: work.trust(store, run)))
            warm.append(seconds(lambda: work.trust(store, run)))
            cells.append(seconds(lambda: work.slices(store, run, "regime")))
        rows = list(work.export_labels(store, run, for_estimate=True))
        direct = [seconds(lambda: judge_trust(rows)) for _ in range(asked.repeat)]
    middle = [statistics.median(times) for times in (cold, warm, cells, direct)]
    print("| rows | disagreements | trust, one new label | trust again | slices | judge_trust |")
    print("|---|---|---|---|---|---|")
    times = " | ".join(f"{1000 * t:,.1f} ms" for t in middle)
    print(f"| {asked.rows:,} | {report['n_disagreements']:,} | {times} |")


if __name__ == "__main__":
    main()
