"""Key pressed to next row on screen, and first opening of Trust and Queue, in headless Chromium.

``python tests/bench/bench_pages.py [rows]`` makes runs of `rows` (100,000) and of 1,000 rows, a
fifth of them disagreeing, starts the server as a user would, and prints the lines of the table in
README.md. With `--sessions N` (30) other browser sessions label the same run, each a key every
three seconds, while the run's report is computed again and again by another process, as the pool does.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "browser"))

from conftest import CHROMIUM, FLAGS, Server, free_port  # noqa: E402
from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

from whileai_review import load, work  # noqa: E402
from whileai_review.store import open_store  # noqa: E402

KEYS = 40
MAPPING = load.Mapping({"reward": "reward", "gold_reward": "gold_reward"})
ORIGIN = {"gold_reward": {"kind": "program", "annotator": "rule:bench"}}
REPORTS = """
import os, sys
from whileai_review import work
from whileai_review.store import open_store
os.nice(10)  # as the pool's processes are
store = open_store(sys.argv[1])
while True:
    work.trust(store, int(sys.argv[2]))
"""
WATCH = """
(() => {
  const root = document.documentElement;
  window.__times = []; let down = null;
  window.addEventListener('keydown', () => { down ??= performance.now(); }, true);
  new MutationObserver(() => {
    if (down !== null && root.dataset.wrReady && root.dataset.wrReady !== window.__last) {
      window.__times.push(performance.now() - down); down = null;
    }
    if (root.dataset.wrReady) window.__last = root.dataset.wrReady;
  }).observe(root, {attributes: true, attributeFilter: ['data-wr-ready']});
  window.__last = root.dataset.wrReady;
})()
"""


def write_rows(path: Path, n: int) -> None:
    """Rows of about 1.2 kB; gold passes two thirds, the judge differs on a fifth."""
    draw = random.Random(0)
    words = "Thanks for waiting while I looked at the invoice and the amount on your account. "
    with path.open("w", encoding="utf-8") as file:
        for i in range(n):
            gold = int(draw.random() < 0.65)
            row = {
                "scenario_id": f"task-{i // 4}",
                "rollout_index": i % 4,
                "regime": ("BIG", "SMALL")[i // 4 % 2],
                "prompt": f"Please remove the late fee on INV-{i}.",
                "tools": ["lookup_invoice", "issue_credit", "escalate_to_human"],
                "steps": [
                    {"tool": "lookup_invoice", "arguments": {"id": f"INV-{i}"}, "result": {"a": i}}
                ],
                "final_text": words * draw.randint(5, 15),
                "reward": gold if draw.random() < 0.8 else 1 - gold,
                "reason": "It looked the invoice up.",
                "gold_reward": gold,
            }
            file.write(json.dumps(row) + "\n")


def prepare(db: Path, folder: Path, sizes: list[int]) -> dict[int, tuple[int, int]]:
    """Rows -> (run, queue of all rows)."""
    made = {}
    with open_store(db) as store:
        for n in sizes:
            path = folder / f"{n}.jsonl"
            write_rows(path, n)
            loaded = work.load_file(store, path, mapping=MAPPING, origins=ORIGIN)
            run = loaded["runs"][0]["id"]
            work.trust(store, run)
            made[n] = run, work.draw_queue(store, run, "census")["id"]
    return made


def page_for(browser: Browser, base: str, name: str, small: bool = False) -> Page:
    """A page in a profile of its own, whose annotator is known; a small one paints little."""
    size = {"width": 500, "height": 400} if small else {"width": 1440, "height": 900}
    context = browser.new_context(viewport=size)
    context.add_cookies([{"name": "wr_annotator", "value": name, "url": base}])
    context.set_default_timeout(60_000)
    return context.new_page()


def open_queue(page: Page, base: str, queue: int) -> None:
    """Wait until a row may be answered."""
    page.goto(f"{base}/label?queue={queue}")
    page.wait_for_function("() => !!document.documentElement.dataset.wrReady")


def press(page: Page) -> None:
    """Answer the row on the screen once it may be answered, and wait for the next one."""
    row = page.evaluate("document.documentElement.dataset.wrReady")
    page.wait_for_timeout(700)
    page.keyboard.press("1")
    page.wait_for_function(
        "last => (document.documentElement.dataset.wrReady ?? last) !== last", arg=row
    )


def quantile(times: list[float], q: float) -> float:
    """The q-th of the sorted times."""
    return sorted(times)[min(len(times) - 1, int(q * len(times)))]


def keys(page: Page, base: str, queue: int, what: str, others=lambda: None) -> float:
    """Print and return p95 of key to next row, in ms, measured in the page."""
    open_queue(page, base, queue)
    page.evaluate(WATCH)
    for _ in range(KEYS):
        others()
        press(page)
    times = page.evaluate("window.__times")[3:]
    p50, p95 = quantile(times, 0.5), quantile(times, 0.95)
    print(f"key to next row, {what}: p50 {p50:.0f} ms, p95 {p95:.0f} ms, n={len(times)}")
    return p95


def opening(page: Page, url: str, selector: str) -> float:
    """Seconds from the address to the content, the app's files in the browser's cache."""
    start = time.perf_counter()
    page.goto(url)
    # By frames: wait_for_selector looks every half second and adds that much.
    page.wait_for_function("name => document.querySelector(name)?.offsetHeight", arg=selector)
    return time.perf_counter() - start


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=100_000)
    parser.add_argument("--sessions", type=int, default=30)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder, port = Path(name), free_port()
        made = prepare(folder / "b.db", folder, [1_000, asked.rows])
        command = [sys.executable, "-m", "whileai_review", "serve", "--no-browser"]
        command += ["--db", str(folder / "b.db"), "--port", str(port)]
        db = folder / "b.db"
        server = Server(command, db, port, {"PYTHONPATH": str(ROOT)}, cwd=ROOT).start()
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            measure(browser, server.url, str(db), made, asked.rows, asked.sessions)
            browser.close()
        finally:
            server.stop()


def measure(browser: Browser, base: str, db: str, made: dict, rows: int, sessions: int) -> None:
    """All lines of this bench."""
    run, queue = made[rows]
    warm = page_for(browser, base, "reader")
    warm.goto(f"{base}/trust?run={made[1_000][0]}")
    warm.wait_for_selector(".js-plotly-plot")
    for path, selector in (("trust", ".js-plotly-plot"), ("queue", "[data-wr-row]")):
        address = f"{base}/{path}?run={run}" + ("&cell=disagree" if path == "queue" else "")
        took = [opening(warm, address, selector) for _ in range(4)]
        print(f"{path}, {rows:,} rows: first {took[0]:.2f} s, then {min(took[1:]):.2f} s (bar 1.5)")
    small = keys(page_for(browser, base, "ana"), base, made[1_000][1], "1,000 rows")
    large = keys(page_for(browser, base, "ana"), base, queue, f"{rows:,} rows")
    print(f"  ratio of the p95: {large / small:.2f} (bar 1.2), bar 200 ms")
    others = [page_for(browser, base, f"other {n}", small=True) for n in range(sessions)]
    for page in others:
        open_queue(page, base, queue)
    due = [time.monotonic() + 3 * n / max(1, sessions) for n in range(sessions)]

    def everybody() -> None:
        for n, page in enumerate(others):
            if time.monotonic() > due[n]:
                page.keyboard.press("1")
                due[n] = time.monotonic() + 3

    what = f"{rows:,} rows, {sessions} other sessions, reports computed"
    reporter = subprocess.Popen([sys.executable, "-c", REPORTS, db, str(run)], cwd=ROOT)
    try:
        keys(page_for(browser, base, "ana"), base, queue, what, everybody)
    finally:
        reporter.kill()
    print("  bar 400 ms")


if __name__ == "__main__":
    main()
