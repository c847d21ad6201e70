"""A store in a file of its own, and runs to put into it."""

import json

import pytest

from whileai_review.store import open_store


@pytest.fixture
def fresh_db(tmp_path):
    with open_store(tmp_path / "review.db") as store:
        yield store


def new_rows(n, start=0, chars=20):
    """n rows of five rollouts a task: line, raw, identity, task, characters, fields."""
    return [
        (
            i + 1,
            json.dumps(
                {"prompt": f"ask {i // 5}", "final_text": "x" * chars, "rollout_id": f"r{i}"}
            ),
            f"r{i}",
            f"ask {i // 5}",
            chars,
            json.dumps({"regime": "BIG" if i % 3 else "SMALL"}),
        )
        for i in range(start, start + n)
    ]


def put_run(store, name="base", n=20, verdicts=True, batch=2_000, chars=20):
    """A ready run of n rows; the judge passes every second one."""
    load = store.begin_run(name, f"{name}.jsonl", "jsonl")
    grader = load.add_grader("judge") if verdicts else None
    for start in range(0, n, batch):
        rows = new_rows(min(batch, n - start), start, chars)
        scores = [
            (i, grader, "overall", i % 2, float(i % 2), None)
            for i in range(len(rows) if verdicts else 0)
        ]
        load.add(*zip(*rows, strict=True), verdicts=scores)
    return load.finish(f"hash of {name}", n_bytes=n * 100, grader_id=grader)


def ids_of(store, run):
    return store.tasks_of(run["id"])[0]


def put_queue(store, run, n=None, name="all", how="random", p=0.5, **about):
    return store.add_queue(
        run["id"], name, how, [(i, p, None) for i in ids_of(store, run)[:n]], **about
    )


@pytest.fixture
def make():
    """The helpers above, so that no test module imports this one by name."""

    class Make:
        run = staticmethod(put_run)
        rows = staticmethod(new_rows)
        ids = staticmethod(ids_of)
        queue = staticmethod(put_queue)

    return Make


@pytest.fixture(scope="session")
def make_static():
    """As `make`, for property tests, which take no fixture of a single test."""

    class Make:
        run = staticmethod(put_run)
        ids = staticmethod(ids_of)
        queue = staticmethod(put_queue)

    return Make
