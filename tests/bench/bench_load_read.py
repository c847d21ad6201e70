"""How long reading 100,000 rows (about 140 MB) takes, against orjson alone on the same lines.

Run by hand: ``python tests/bench/bench_load_read.py [rows]``. Both times are of one run on one
machine; the ratio is what counts.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from whileai_review import load

ROWS = 100_000
REPEATS = 3


def make_file(path: Path, n: int) -> None:
    """Rollouts with a conversation and a tool call, about 1.4 KB a line."""
    draw = random.Random(0)
    words = [f"word{k}" for k in range(500)]

    def text(k: int) -> str:
        return " ".join(draw.choices(words, k=k))

    with path.open("w", encoding="utf-8") as out:
        for i in range(n):
            call = {"id": "c1", "function": {"name": "lookup", "arguments": '{"id": "INV-7"}'}}
            row = {
                "scenario_id": f"task-{i // 4}",
                "rollout_index": i % 4,
                "prompt": text(25),
                "messages": [
                    {"role": "user", "content": text(25)},
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "c1", "content": '{"amount": 12.5}'},
                    {"role": "assistant", "content": text(45)},
                ],
                "final_text": text(45),
                "reward": i % 2,
                "reason": text(12),
                "latency": draw.random(),
            }
            out.write(json.dumps(row) + "\n")


def seconds(work: Callable[[], object]) -> float:
    """Best of a few runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def baseline(path: Path) -> None:
    """Parse each line, keep nothing."""
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)


def ours(path: Path) -> None:
    """Read each row through the mapping that the file suggests, keep nothing."""
    source = load.open_source(path)
    for _ in source.records(source.sniff().mapping):
        pass


def main() -> None:
    """Print both times, the ratio and the peak memory."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        make_file(path, n)
        size = path.stat().st_size / 1e6
        plain, read = seconds(lambda: baseline(path)), seconds(lambda: ours(path))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n:,} rows, {size:.0f} MB: orjson {plain:.2f} s, records() {read:.2f} s")
    print(f"ratio {read / plain:.2f}, peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
