"""Search and filters over a large run: building the index against loading; first 100 rows.

Run by hand: ``python tests/bench/bench_search.py [rows] [rounds]``, 1,000,000 rows where not said.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from bench_load import write_rows

from whileai_review import load, work
from whileai_review.store import open_store
from whileai_review.work import Filters
from whileai_review.work.searching import index_text

QUESTIONS = {
    "a word of every row": Filters(text="invoice"),
    "two words": Filters(text="late waiting"),
    "one row": Filters(text="INV-777"),
    "a phrase": Filters(text='"amount on your account"'),
    "in one place": Filters(text="reply:waiting"),
    "what begins with INV-12": Filters(text="INV-12"),
    "nothing": Filters(text="zebra"),
    "without a word": Filters(text="invoice -777"),
    "a field": Filters(where=("regime=BIG",)),
    "a number": Filters(where=("latency_s>=1",)),
    "false passes": Filters(cell="fp"),
    "disagreements of a slice": Filters(cell="disagree", where=("regime=BIG",)),
    "a judge's fail": Filters(verdict="fail"),
    "not read": Filters(flag="unread"),
    "a task": Filters(task="task-77"),
    "a word among false passes": Filters(text="late", cell="fp"),
    "a rare word among false passes": Filters(text="INV-778", cell="fp"),
}


def rule(row: dict) -> int | None:
    """Gold of every tenth row; the judge meets it in two of three."""
    return int(row["rollout_index"] > 1) if int(row["scenario_id"][5:]) % 10 == 0 else None


def main(n: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, db = Path(folder) / "rows.jsonl", Path(folder) / "review.db"
        write_rows(file, n)
        with open_store(db) as store:
            start = time.perf_counter()
            work.load_file(store, file, mapping=load.Mapping({"reward": "reward"}))
            loading = time.perf_counter() - start
            run = store.runs()[0]["id"]
            work.label_by_rule(store, run, rule, "bench")
            start = time.perf_counter()
            index_text(store, run)
            indexing = time.perf_counter() - start
            print(
                f"{n:,} rows: load {loading:.1f} s, index {indexing:.1f} s, {indexing / loading:.2f}"
            )
            print(f"store {db.stat().st_size / 1e6:,.0f} MB")
            for name, question in QUESTIONS.items():
                times = []
                for page in range(rounds + 1):
                    start = time.perf_counter()
                    found = work.find_rows(store, run, question, page=1 + page % 3)
                    times.append(1000 * (time.perf_counter() - start))
                warm = sorted(times[1:])
                print(
                    f"| {name} | {found.total:,}{'' if found.exact else '+'} | {times[0]:.0f} ms | "
                    f"{np.percentile(warm, 50):.0f} ms | {np.percentile(warm, 95):.0f} ms |"
                )


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    main(*given, *(1_000_000, 20)[len(given) :])
