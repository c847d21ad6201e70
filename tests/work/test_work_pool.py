"""Processes that work for another one end with it, however it ends."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

READER = """
import itertools, os, signal
from whileai_review.work import pool
def numbers():
    yield os.getpid()
    yield from itertools.repeat(b"x" * 1_000_000)
items = pool.ahead(numbers)
print(next(items), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

WORKER = """
import os, signal
from whileai_review.work import pool
pool.enable()
print(pool.run(os.getpid), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks /proc who is alive")
@pytest.mark.parametrize("script", [READER, WORKER], ids=["reader of a file", "worker of a pool"])
def test_no_process_stays_behind_a_killed_one(script):
    done = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        text=True,
    )
    child = int(done.stdout.readline())
    assert child != done.pid
    assert done.wait(20) == -9
    assert _ends(child), "the process works on for nobody"


def _ends(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    os.kill(pid, 9)
    return False
