"""How much faster is `judge_trust` than the reference on 100,000 labelled rows?

    WHILEAI_REFERENCE_PYTHON=<interpreter with whileai 0.131> python tests/bench/bench_judge_trust.py

Both run in processes of their own on the same rows (25,000 tasks of four rollouts,
replies of about 1,000 characters, no judge), the fastest of five calls counts. Two shapes:
the reply as `final_text` alone, and beside it the conversation that ends with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

N_ROWS = int(os.environ.get("BENCH_ROWS", "100000"))
REFERENCE = "WHILEAI_REFERENCE_PYTHON"
BAR = 5.0

CHILD = """
import json, random, sys, time, warnings
warnings.simplefilter("ignore")
module, n, shape = sys.argv[1], int(sys.argv[2]), sys.argv[3]
judge_trust = __import__(module, fromlist=["judge_trust"]).judge_trust
draw = random.Random(7)
words = "order parcel invoice credit refund plan seat depot line amount".split()
rows = []
for i in range(n):
    task = i // 4
    gold = int(draw.random() < 0.65)
    judge = gold if draw.random() < 0.85 else 1 - gold
    text = " ".join(draw.choices(words, k=draw.randint(130, 180)))
    rows.append({
        "scenario_id": f"task-{task}", "rollout_index": i % 4, "prompt": f"Ask {task}",
        "final_text": text,
        "reward": judge, "reason": "as the rule says", "gold_reward": gold,
        "gold_kind": "program", "judge_name": "bench",
    })
    if shape == "conversation":
        rows[-1]["messages"] = [{"role": "user", "content": f"Ask {task}"},
                                {"role": "assistant", "content": text}]
best, report = float("inf"), None
for _ in range(5):
    start = time.perf_counter()
    report = judge_trust(rows)
    best = min(best, time.perf_counter() - start)
print(json.dumps({"seconds": best, "n": report["agreement"]["n"],
                  "kappa": report["agreement"]["kappa"]}))
"""


def measure(python: str, module: str, shape: str) -> dict:
    """Seconds of the fastest call in a process of its own."""
    command = [python, "-c", CHILD, module, str(N_ROWS), shape]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    """Print times and ratios; the exit status says whether the bar is met."""
    python = os.environ.get(REFERENCE)
    worst = float("inf")
    for shape in ("reply", "conversation"):
        ours = measure(sys.executable, "whileai_review", shape)
        line = f"{shape:13s} n={ours['n']:,}  whileai_review {ours['seconds']:.3f} s"
        if python:
            theirs = measure(python, "whileai.simulations", shape)
            ratio = theirs["seconds"] / ours["seconds"]
            worst = min(worst, ratio)
            line += f"  whileai 0.131 {theirs['seconds']:.3f} s  ratio {ratio:.1f} (bar {BAR:.0f})"
        print(line)
    if not python:
        print(f"set {REFERENCE} to an interpreter with whileai 0.131 for the ratio")
        return 2
    return 0 if worst >= BAR else 1


if __name__ == "__main__":
    raise SystemExit(main())
