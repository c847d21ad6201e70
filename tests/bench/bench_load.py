"""Load a 100,000-row JSONL file (about 140 MB) into the store, against the plainest way.

The plainest way: parse each line with orjson, `executemany` the raw lines into one table with the
same index and pragmas. Run by hand: ``python tests/bench/bench_load.py [rows]``.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sqlite3
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import orjson

WORDS = "Thanks for waiting while I looked at invoice number and the amount on your account today "


def write_rows(path: Path, n: int) -> None:
    """Rows of about 1.4 kB, four rollouts a task, as an agent run would log them."""
    with path.open("w", encoding="utf-8") as file:
        for i in range(n):
            row = {
                "scenario_id": f"task-{i // 4}",
                "rollout_index": i % 4,
                "regime": ("BIG", "SMALL")[i // 4 % 2],
                "prompt": f"Please remove the late fee on INV-{i}. " + WORDS,
                "tools": ["lookup_invoice", "issue_credit", "escalate_to_human"],
                "steps": [
                    {
                        "tool": "lookup_invoice",
                        "arguments": {"id": f"INV-{i}"},
                        "result": {"amount": i / 7},
                    }
                ],
                "final_text": WORDS * 9 + str(i),
                "reward": i % 2,
                "reason": "It looked the invoice up and did what the amount asks for. " * 2,
                "judge_name": "rubric_judge",
                "latency_s": 1.5,
            }
            file.write(json.dumps(row) + "\n")


def plainest(source: str, db: str) -> float:
    """Seconds of the plainest way."""
    start = time.perf_counter()
    conn = sqlite3.connect(db, isolation_level=None)
    conn.execute("PRAGMA journal_mode=WAL")
    conn.execute("PRAGMA synchronous=FULL")
    conn.execute("PRAGMA cache_size=-65536")
    conn.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, run_id INT, identity TEXT, raw TEXT)")
    conn.execute("CREATE INDEX i ON t (run_id, identity)")
    with open(source, "rb") as file:
        batch = []
        for line in file:
            row = orjson.loads(line)
            batch.append((1, f"{row['scenario_id']}#{row['rollout_index']}", line.decode()))
            if len(batch) == 2_000:
                _put(conn, batch)
                batch = []
        _put(conn, batch)
    conn.close()
    return time.perf_counter() - start


def _put(conn: sqlite3.Connection, batch: list) -> None:
    conn.execute("BEGIN IMMEDIATE")
    conn.executemany("INSERT INTO t (run_id, identity, raw) VALUES (?, ?, ?)", batch)
    conn.execute("COMMIT")


def ours(source: str, db: str) -> tuple[float, float]:
    """Seconds and peak memory (MB) of the store's way, imports apart (`plainest` has none)."""
    from whileai_review import work
    from whileai_review.store import open_store

    with open_store(db + ".first"):  # imports what opening a store needs
        pass
    start = time.perf_counter()
    with open_store(db) as store:
        work.load_file(store, source)
    peak = sum(
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return time.perf_counter() - start, peak


def main(n: int) -> None:
    """Print the table's line."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rows.jsonl"
        write_rows(source, n)
        size = source.stat().st_size / 1e6
        context = multiprocessing.get_context("spawn")
        best_plain, best_ours, peak = float("inf"), float("inf"), 0.0
        for turn in range(3):
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                plain = pool.submit(plainest, str(source), f"{folder}/plain{turn}.db").result()
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                took, memory = pool.submit(ours, str(source), f"{folder}/o{turn}.db").result()
            best_plain, best_ours = min(best_plain, plain), min(best_ours, took)
            peak = max(peak, memory)
        ratio = best_ours / best_plain
        print(
            f"load {n:,} rows, {size:.0f} MB: {best_ours:.2f} s against {best_plain:.2f} s, "
            f"ratio {ratio:.2f} (bar 2), peak {peak:.0f} MB (bar 500)"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
