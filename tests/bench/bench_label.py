"""One label, function call to durable, while 8 threads label and an import runs; and paging.

    python tests/bench/bench_label.py [--rows 100000] [--labels 3000] [--large 1000000]

Bar (issue 2): p95 of a label at most 10 ms on a 100,000-row run with ``synchronous=FULL``, no
error; "disk" is the time of 16 KB and an fsync in the same minute. The import is `work.load_file` in a process of its own, as the app and the command line
run it. The second table is the cost of the calls behind a key press and a page of rows on a run
of `--large` rows, as a ratio to the same calls on 1,000 rows.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from whileai_review.store import Store, open_store

IMPORT = """
import sys
from whileai_review.store import open_store
from whileai_review.work import load_file
store = open_store(sys.argv[1])
n = 0
print("started", flush=True)
while True:
    n += 1
    load_file(store, sys.argv[2], name=f"import {n}", again=True)
    print("loaded", flush=True)
"""
BODY = 1_200
PAUSE = 0.02
"""Seconds between two labels of one thread: eight of them give some 300 labels a second."""


def row(n: int) -> tuple:
    raw = {"rollout_id": f"r{n}", "prompt": f"ask {n // 5}", "final_text": "word " * (BODY // 5)}
    return (n + 1, json.dumps(raw), f"r{n}", f"ask {n // 5}", BODY, '{"regime": "BIG"}')


def put(store: Store, name: str, n: int) -> dict:
    load = store.begin_run(name, name, "jsonl")
    grader = load.add_grader("judge")
    for start in range(0, n, 2_000):
        rows = [row(i) for i in range(start, min(n, start + 2_000))]
        scores = [(i, grader, "overall", i % 2, 1.0, None) for i in range(len(rows))]
        load.add(*zip(*rows, strict=True), verdicts=scores)
    return load.finish(name, grader_id=grader)


def queue_of(store: Store, run: dict, n: int) -> int:
    ids = store.tasks_of(run["id"])[0]
    step = max(1, len(ids) // n)
    drawn = [(i, n / len(ids), None) for i in ids[::step][:n]]
    return store.add_queue(run["id"], "q", "random", drawn)["id"]


def quantiles(seconds: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(seconds, n=100)
    return {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "max": max(seconds)}


def disk(folder: Path, took: list, stop: threading.Event) -> None:
    """The yardstick: 16 KB made durable, in the same minute on the same disk."""
    with (folder / "yardstick").open("wb") as file:
        while not stop.wait(PAUSE):
            file.write(b"x" * 16_384)
            file.flush()
            start = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - start)


def label(store: Store, queue: int, who: str, n: int, took: list, errors: list) -> None:
    for i in range(n):
        line = store.next_row(queue, who)
        if line is None:
            return
        start = time.perf_counter()
        try:
            store.add_label(line["row_id"], who, "pass", f"{who} {i}", queue_id=queue)
        except Exception as error:
            errors.append(error)
        took.append(time.perf_counter() - start)
        time.sleep(PAUSE)


def labels(folder: Path, n_labels: int, importing: bool) -> tuple[dict, dict, list]:
    took: list[float] = []
    synced: list[float] = []
    stop = threading.Event()
    errors: list[Exception] = []
    with open_store(folder / "review.db") as store:
        queue = queue_of(store, store.run("base"), n_labels)
        importer = None
        if importing:
            importer = subprocess.Popen(
                [sys.executable, "-c", IMPORT, store.path, folder / "import.jsonl"],
                stdout=subprocess.PIPE,
            )
            importer.stdout.readline()
            time.sleep(1)
        prefix = "beside" if importing else "alone"
        people = [
            threading.Thread(
                target=label, args=(store, queue, f"{prefix} {p}", n_labels // 8, took, errors)
            )
            for p in range(8)
        ]
        yardstick = threading.Thread(target=disk, args=(folder, synced, stop))
        for p in (yardstick, *people):
            p.start()
        for p in people:
            p.join()
        stop.set()
        yardstick.join()
        if importer is not None:
            if importer.poll() is not None:
                errors.append(RuntimeError(f"the import ended: {importer.returncode}"))
            importer.kill()
            importer.wait()
            importer.stdout.close()
            store.sweep()
    return quantiles(took), quantiles(synced), errors


def write_import(path: Path, n: int) -> None:
    with path.open("w") as out:
        for i in range(n):
            line = {
                "rollout_id": f"i{i}", "scenario_id": f"s{i // 5}", "prompt": f"ask {i // 5}",
                "final_text": "word " * (BODY // 5), "reward": i % 2,
            }  # fmt: skip
            out.write(json.dumps(line) + "\n")


def median_ms(call, n: int = 50) -> float:
    took = []
    for i in range(n):
        start = time.perf_counter()
        call(i)
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1000


def paging(folder: Path, n: int) -> dict[str, float]:
    with open_store(folder / f"paging{n}.db") as store:
        run = put(store, "run", n)
        ids = store.tasks_of(run["id"])[0]
        queue = queue_of(store, run, 1_000)
        for i, (row_id, *_) in enumerate(zip(ids, range(100), strict=False)):
            store.add_label(row_id, "anna", "pass", f"n{i}", queue_id=queue)
        middle = len(ids) // 2
        os.sync()  # what the load left to the disk is no part of a label
        return {
            "next row": median_ms(lambda i: store.next_row(queue, "anna")),
            "progress": median_ms(lambda i: store.progress(queue, "anna")),
            "label": median_ms(
                lambda i: store.add_label(ids[middle + i], "anna", "pass", f"m{i}", queue_id=queue)
            ),
            "one row": median_ms(lambda i: store.row(ids[middle + i])),
            "its verdicts": median_ms(lambda i: store.verdicts_of(ids[middle + i])),
            "50 rows of a list": median_ms(
                lambda i: store.briefs(ids[middle : middle + 50], run["grader_id"], "overall")
            ),
            "first 50 of a walk": median_ms(
                lambda i: [r for r, _ in zip(store.rows("run"), range(50), strict=False)]
            ),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=3_200)
    parser.add_argument("--large", type=int, default=1_000_000)
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_store(folder / "review.db") as store:
            put(store, "base", options.rows)
        write_import(folder / "import.jsonl", options.rows)
        print(
            f"| one label, {options.rows:,} rows, 8 threads | p50 | p95 | p99 | max | errors | disk p95 |"
        )
        print("|---|---|---|---|---|---|---|")
        for importing in (False, True):
            got, synced, errors = labels(folder, options.labels, importing)
            cells = " | ".join(f"{v * 1000:.2f} ms" for v in got.values())
            name = "beside an import" if importing else "alone"
            print(f"| {name} | {cells} | {len(errors)} | {synced['p95'] * 1000:.2f} ms |")
            failed |= bool(errors) or got["p95"] > 0.010
            for error in errors[:3]:
                print(f"  {error!r}")
    if options.large:
        with tempfile.TemporaryDirectory() as name:
            small = paging(Path(name), 1_000)
            large = paging(Path(name), options.large)
        print(f"\n| call | 1,000 rows | {options.large:,} rows | ratio |")
        print("|---|---|---|---|")
        for call, ms in large.items():
            print(f"| {call} | {small[call]:.3f} ms | {ms:.3f} ms | {ms / small[call]:.2f} |")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
