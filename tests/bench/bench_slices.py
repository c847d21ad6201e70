"""What the search for slices costs on a loaded run, after trust was measured.

    python tests/bench/bench_slices.py [--rows 100000] [--fields 20] [--repeat 3]

Every row has a verdict and a rule's label; field j has 3 to 50 values. Found is the
search with no kept report, as a worker of the pool makes it; again reads the one that is kept.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from whileai_review import work
from whileai_review.load import Mapping
from whileai_review.store import open_store
from whileai_review.work import measuring, slicing


def write_rows(path: Path, n: int, fields: int) -> None:
    """n rows of four rollouts a task; the judge passes two of three."""
    with path.open("w") as out:
        for i in range(n):
            row = {"scenario_id": f"t{i // 4}", "rollout_index": i % 4, "prompt": "a"}
            row |= {"final_text": "word " * (i % 7), "reward": int(i % 3 > 0)}
            for j in range(fields):
                n_values = 3 + j * 47 // max(fields - 1, 1)
                row[f"field{j:02}"] = f"value {hash((i * 31 + 7) * (j + 3)) // 11 % n_values}"
            out.write(json.dumps(row) + "\n")


def seconds(function: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def busy_seconds(function: Callable[[], object]) -> float:
    """Processor time of one call, which other work on the machine does not lengthen as much."""
    start = time.process_time()
    function()
    return time.process_time() - start


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--fields", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "a.db") as store:
        path = Path(folder) / "base.jsonl"
        write_rows(path, asked.rows, asked.fields)
        mapping = Mapping({"reward": "reward"})
        run = work.load_file(store, path, mapping=mapping)["runs"][0]["id"]
        work.label_by_rule(store, run, lambda row: int(len(row["final_text"]) % 3 > 0), "r")
        work.trust(store, run)
        key = slicing.measured_as(store, run)
        revision = store.report(run, "cells", *key[1:])["revision"]
        found = work.found_slices(store, run)
        given = (str(store.path), key, revision, slicing.search)
        cold = [seconds(lambda: measuring.make_beside(*given)) for _ in range(asked.repeat)]
        busy = [busy_seconds(lambda: measuring.make_beside(*given)) for _ in range(asked.repeat)]
        warm = [seconds(lambda: work.found_slices(store, run)) for _ in range(asked.repeat)]
    print("| rows | fields | slices | found | processor time | found again |")
    print("|---|---|---|---|---|---|")
    times = " | ".join(f"{1000 * statistics.median(t):,.0f} ms" for t in (cold, busy, warm))
    print(f"| {asked.rows:,} | {len(found['fields'])} | {found['k']:,} | {times} |")


if __name__ == "__main__":
    main()
