"""A store of one's own, files to load into it, and the rebuilt study."""

import json
from pathlib import Path

import pytest

from whileai_review import work
from whileai_review.load import Mapping
from whileai_review.store import open_store

DATA = Path(__file__).parents[2] / "data"
JUDGED = Mapping({"reward": "reward"})


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "review.db") as opened:
        yield opened


@pytest.fixture
def lines(tmp_path):
    """Write rows as JSON lines; the path."""

    def write(rows, name="base.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.fixture
def recipe(store):
    """The rebuilt study as a run: 222 rows, 221 with the rule's gold."""
    return work.load_demo(store, DATA / "recipe")[0]["runs"][0]


@pytest.fixture
def put(store, lines):
    """Load rows as a run of this name; the run."""

    def load(rows, name="base", **options):
        options.setdefault("mapping", JUDGED)
        return work.load_file(store, lines(rows, f"{name}.jsonl"), **options)["runs"][0]

    return load


@pytest.fixture
def judged():
    """n rows in tasks of three; the judge passes the even ones."""

    def rows(n=12):
        return [
            {
                "scenario_id": f"t{i // 3}",
                "rollout_index": i % 3,
                "prompt": f"ask {i // 3}",
                "final_text": f"reply {i}",
                "regime": "BIG" if i % 4 == 0 else "SMALL",
                "reward": 1 - i % 2,
            }
            for i in range(n)
        ]

    return rows


@pytest.fixture
def press(store):
    """One press on the label bar for a row of a queue."""
    count = iter(range(10**6))

    def press(queue, row_id, action, annotator="ana", **about):
        about.setdefault("nonce", f"press {next(count)}")
        about.setdefault("shown_ms", 900)
        return work.answer(store, queue["id"], annotator, row_id, action, **about)

    return press
