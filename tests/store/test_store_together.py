"""Several threads and processes at one file, and processes that are killed."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from whileai_review.store import RefusedError, open_store

TESTS = os.path.dirname(__file__)


def test_threads_label_while_a_load_and_reads_go_on(fresh_db, make):
    """Arize-ai/phoenix#3949: eight threads labelling, 50,000 rows coming in, reads in a loop."""
    run = make.run(fresh_db, n=400)
    queue = make.queue(fresh_db, run)["id"]
    acknowledged, failed, stop = [], [], threading.Event()

    def guarded(work):
        def go():
            try:
                work()
            except Exception as error:
                failed.append(error)

        return threading.Thread(target=go)

    def label(who):
        for n in range(50):
            row = fresh_db.next_row(queue, who)["row_id"]
            receipt = fresh_db.add_label(row, who, "pass", f"{who} {n}", queue_id=queue)
            acknowledged.append((receipt["label_id"], row, who))

    def read():
        while not stop.is_set():
            columns = fresh_db.columns(run["id"], 1, "overall")
            assert len(columns["id"]) == 400
            gold = fresh_db.gold_labels(run["id"], "overall")
            assert len({(g[0], g[2]) for g in gold}) == len(gold)

    load = guarded(lambda: make.run(fresh_db, "large", n=50_000))
    reader = guarded(read)
    people = [guarded(lambda who=f"person {n}": label(who)) for n in range(8)]
    for thread in (load, reader, *people):
        thread.start()
    for thread in (load, *people):
        thread.join()
    stop.set()
    reader.join()
    assert failed == []
    assert {(x["id"], x["row_id"], x["annotator"]) for x in fresh_db.labels(run["id"])} == set(
        acknowledged
    )
    assert len(acknowledged) == 400
    assert (
        fresh_db.run("large")["n_rows"] == len(make.ids(fresh_db, fresh_db.run("large"))) == 50_000
    )


def _label_in_a_process(path, who, queue, n, told):
    with open_store(path) as store:
        for i in range(n):
            row = store.next_row(queue, who)["row_id"]
            told.put((who, row, store.add_label(row, who, "fail", f"{who}{i}", queue_id=queue)))


def test_four_processes_label_the_same_rows_and_nothing_is_lost(fresh_db, make):
    run = make.run(fresh_db, n=40)
    queue = make.queue(fresh_db, run)["id"]
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    processes = [
        context.Process(target=_label_in_a_process, args=(fresh_db.path, f"p{n}", queue, 40, told))
        for n in range(4)
    ]
    for process in processes:
        process.start()
    receipts = [told.get(timeout=60) for _ in range(160)]
    for process in processes:
        process.join(60)
    assert [p.exitcode for p in processes] == [0] * 4
    kept = {(x["annotator"], x["row_id"], x["id"]) for x in fresh_db.labels(run["id"])}
    assert kept == {(who, row, receipt["label_id"]) for who, row, receipt in receipts}
    assert len(kept) == 160


def test_two_tabs_of_one_annotator_at_once_give_each_row_one_label(fresh_db, make):
    run = make.run(fresh_db, n=60)
    queue = make.queue(fresh_db, run)["id"]
    refused, saved = [], []

    def tab(name):
        while (line := fresh_db.next_row(queue, "anna")) is not None:
            nonce = f"{name} {line['row_id']}"
            try:
                saved.append(
                    fresh_db.add_label(line["row_id"], "anna", "pass", nonce, queue_id=queue)
                )
            except RefusedError as error:
                refused.append(str(error))

    tabs = [threading.Thread(target=tab, args=(n,)) for n in range(4)]
    for t in tabs:
        t.start()
    for t in tabs:
        t.join()
    assert len(saved) == len(fresh_db.labels(run["id"], history=True)) == 60
    assert set(refused) <= {"Not saved: you have answered this row already."}


def test_two_rules_at_once_do_not_double_a_label(fresh_db, make):
    run = make.run(fresh_db, n=3_000)
    labels = [
        {
            "row_id": i, "identity": f"r{n}", "criterion": "overall", "annotator": "rule:cap",
            "kind": "program", "verdict": "pass",
        }
        for n, i in enumerate(make.ids(fresh_db, run))
    ]  # fmt: skip
    counts = []
    both = [
        threading.Thread(target=lambda: counts.append(fresh_db.put_labels(run["id"], labels)))
        for _ in range(2)
    ]
    for t in both:
        t.start()
    for t in both:
        t.join()
    assert sum(c["new"] for c in counts) == 3_000
    assert len(fresh_db.labels(run["id"], history=True)) == 3_000


# Killed with SIGKILL


def python(code, *arguments):
    """A process of its own that runs this code; it says a line a step."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, TESTS])},
    )


LABELLER = """
    import sys
    from whileai_review.store import open_store
    store = open_store(sys.argv[1])
    queue = int(sys.argv[2])
    n = 0
    while (line := store.next_row(queue, "anna")) is not None:
        n += 1
        got = store.add_label(line["row_id"], "anna", "pass", f"n{n}", queue_id=queue)
        print(got["label_id"], flush=True)
"""

LOADER = """
    import sys
    from whileai_review.store import open_store
    store = open_store(sys.argv[1])
    load = store.begin_run("half", "half.jsonl", "jsonl")
    grader = load.add_grader("judge")
    n = 0
    while True:
        names = [f"h{n + i}" for i in range(500)]
        load.add(range(n, n + 500), ["{}"] * 500, names, ["t"] * 500, [0] * 500, [None] * 500)
        n += 500
        print(n, flush=True)
"""


def killed_after(process, lines):
    told = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    told += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    return [int(line) for line in told if line.endswith("\n")]


def test_after_a_kill_exactly_the_acknowledged_labels_are_there(fresh_db, make):
    run = make.run(fresh_db, n=20_000)
    queue = make.queue(fresh_db, run)["id"]
    acknowledged = killed_after(python(LABELLER, fresh_db.path, queue), 30)
    with open_store(fresh_db.path) as store:
        kept = [x["id"] for x in store.labels(run["id"])]
    # One more may be durable whose acknowledgement was on its way when the kill came.
    assert kept[: len(acknowledged)] == acknowledged
    assert len(kept) - len(acknowledged) in (0, 1)


def test_a_load_that_was_killed_leaves_nothing(fresh_db, make):
    base = make.run(fresh_db, n=10)
    assert len(killed_after(python(LOADER, fresh_db.path), 4)) >= 4
    assert [r["name"] for r in fresh_db.runs()] == ["base"]
    with fresh_db._connections.read() as conn:
        assert conn.execute("SELECT count(*) FROM rows").fetchone()[0] > 10
    assert fresh_db.sweep() == 1
    with fresh_db._connections.read() as conn:
        assert conn.execute("SELECT count(*) FROM rows").fetchone()[0] == 10
        assert conn.execute("SELECT count(*) FROM graders").fetchone()[0] == 1
    assert list(fresh_db.path.parent.glob("*-load-*")) == []
    assert len(list(fresh_db.rows(base["id"]))) == 10


def test_the_sweep_takes_a_killed_load_whose_process_number_lives_on(fresh_db, make):
    """In a container the server has the number of the one before it."""
    killed_after(python(LOADER, fresh_db.path), 1)
    with fresh_db._connections.write() as conn:
        conn.execute("UPDATE runs SET loader=?", (str(os.getpid()),))
    assert fresh_db.sweep() == 1


def test_the_sweep_leaves_a_living_load_alone_in_whatever_process(fresh_db, make):
    loader = python(LOADER, fresh_db.path)
    loader.stdout.readline()
    load = fresh_db.begin_run("mine", "mine.jsonl", "jsonl")
    load.add(*zip(*make.rows(5), strict=True))
    with fresh_db._connections.write() as conn:
        # as seen from another container: no such process here
        conn.execute("UPDATE runs SET loader='4999999' WHERE name='half'")
    assert fresh_db.sweep() == 0
    with open_store(fresh_db.path) as other:
        assert other.sweep() == 0
    assert loader.stdout.readline()  # it goes on
    assert load.finish("m")["n_rows"] == 5
    killed_after(loader, 1)
    assert fresh_db.sweep() == 1
    assert [r["name"] for r in fresh_db.runs()] == ["mine"]


def test_the_name_of_a_killed_load_is_free_again_and_of_a_living_one_is_not(fresh_db, make):
    killed_after(python(LOADER, fresh_db.path), 1)
    load = fresh_db.begin_run("half", "half.jsonl", "jsonl")
    with pytest.raises(RefusedError, match="is being loaded"):
        fresh_db.begin_run("half", "half.jsonl", "jsonl")
    load.fail()
    assert make.run(fresh_db, "half")["n_rows"] == 20


def test_a_failed_load_leaves_nothing_and_a_finished_one_stays(fresh_db, make):
    load = fresh_db.begin_run("a", "a", "jsonl")
    load.add_grader("judge")
    load.add(*zip(*make.rows(5), strict=True))
    load.fail()
    assert fresh_db.runs(archived=True) == []
    run = make.run(fresh_db, "b")
    assert make.run(fresh_db, "a")["name"] == "a"
    load.fail()
    assert fresh_db.run(run["id"])["n_rows"] == 20


def test_labels_wait_for_a_batch_of_a_long_write_not_for_all_of_it(fresh_db, make):
    """While 40,000 rows, verdicts and queue places come in and go, labels get in between."""
    run = make.run(fresh_db, n=2_000)
    ids = make.ids(fresh_db, run)
    done = threading.Event()
    trail = []

    def long_writes():
        large = make.run(fresh_db, "large", n=20_000)
        trail.append(len(labels))
        rows = make.ids(fresh_db, large)
        fresh_db.add_verdicts("large", "second", [(i, "overall", 1, 1.0, "why") for i in rows])
        trail.append(len(labels))
        make.queue(fresh_db, large, how="census", p=1.0)
        trail.append(len(labels))
        fresh_db.delete_run("large")
        trail.append(len(labels))
        done.set()

    labels = []
    thread = threading.Thread(target=long_writes)
    thread.start()
    while not done.is_set() and len(labels) < 2_000:
        labels.append(fresh_db.add_label(ids[len(labels)], "anna", "pass", f"n{len(labels)}"))
        time.sleep(0.002)
    thread.join()
    steps = [b - a for a, b in zip([0, *trail], trail, strict=False)]
    assert all(n >= 1 for n in steps), steps
    assert len(fresh_db.labels("base")) == len(labels)


def test_a_batch_keeps_consecutive_ids_while_others_load_and_label(fresh_db, make):
    """Labels and verdicts of a load are given by place in its batch."""
    run = make.run(fresh_db, n=300)
    ids = make.ids(fresh_db, run)
    done = threading.Event()

    def label():
        for n, row in enumerate(ids):
            fresh_db.add_label(row, "anna", "pass", f"n{n}")
            if done.wait(0.001):
                return

    loads = [
        threading.Thread(target=make.run, args=(fresh_db, name, 6_000), kwargs={"batch": 1_000})
        for name in ("one", "two")
    ]
    labeller = threading.Thread(target=label)
    for thread in (labeller, *loads):
        thread.start()
    for thread in loads:
        thread.join()
    done.set()
    labeller.join()
    for name in ("one", "two"):
        found, identities = fresh_db.identities(name)
        assert identities == [f"r{n}" for n in range(6_000)]
        batches = [found[n : n + 1_000] for n in range(0, 6_000, 1_000)]
        assert all(b == list(range(b[0], b[0] + 1_000)) for b in batches)
        verdicts = fresh_db.columns(name, fresh_db.run(name)["grader_id"], "overall")["verdict"]
        assert verdicts == [0, 1] * 3_000


def test_verdicts_in_batches_are_seen_whole_or_not_at_all(fresh_db, make):
    run = make.run(fresh_db, n=5_000)
    rows = make.ids(fresh_db, run)
    first = fresh_db.add_verdicts("base", "second", [(i, "overall", 1, 1.0, None) for i in rows])
    assert fresh_db.columns("base", first, "overall")["verdict"] == [1] * 5_000

    class CutError(Exception):
        pass

    def verdicts():
        yield from ((i, "overall", 0, 0.0, None) for i in rows[:4_500])
        raise CutError

    with pytest.raises(CutError):
        fresh_db.add_verdicts("base", "second", verdicts())
    assert set(fresh_db.columns("base", first, "overall")["verdict"]) == {1}
    again = fresh_db.add_verdicts("base", "second", [(i, "overall", 0, 0.0, "r") for i in rows])
    assert again == first
    assert set(fresh_db.columns("base", first, "overall")["verdict"]) == {0}
    assert [g["name"] for g in fresh_db.run("base")["graders"]] == ["judge", "second"]
    assert {v["grader"]: v["verdict"] for v in fresh_db.verdicts_of(rows[0])} == {
        "judge": 0,
        "second": 0,
    }
    assert list(fresh_db.path.parent.glob("*-load-*")) == []


def test_verdicts_that_fail_on_their_way_leave_the_ones_before(fresh_db, make, monkeypatch):
    from whileai_review.store import runs

    rows = make.ids(fresh_db, make.run(fresh_db, n=5_000))
    first = fresh_db.add_verdicts("base", "second", [(i, "overall", 1, 1.0, None) for i in rows])
    real, calls = runs._put_scores, []

    def full(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise RefusedError("the disk is full")
        real(*arguments)

    monkeypatch.setattr(runs, "_put_scores", full)
    with pytest.raises(RefusedError, match="full"):
        fresh_db.add_verdicts("base", "second", [(i, "overall", 0, 0.0, None) for i in rows])
    assert fresh_db.columns("base", first, "overall")["verdict"] == [1] * 5_000
    with fresh_db._connections.read() as conn:
        assert conn.execute("SELECT count(*) FROM scores").fetchone()[0] == 10_000


def test_verdicts_of_a_killed_process_are_swept(fresh_db, make):
    run = make.run(fresh_db, n=20)
    with fresh_db._connections.write() as conn:
        conn.execute(
            "INSERT INTO graders (run_id, name, kind, created_at) VALUES (?, 'x', 'coming', '')",
            (run["id"],),
        )
        conn.execute("INSERT INTO scores (grader_id, criterion, row_id) VALUES (2, 'new', 1)")
    assert [g["name"] for g in fresh_db.run("base")["graders"]] == ["judge"]
    assert fresh_db.criteria("base") == ["overall"]
    assert len(fresh_db.verdicts_of(1)) == 1
    assert fresh_db.sweep() == 1
    with fresh_db._connections.read() as conn:
        assert conn.execute("SELECT count(*) FROM scores").fetchone()[0] == 20


def test_opening_the_file_a_second_time_lets_go_of_no_lock(tmp_path):
    """sqlite.org/howtocorrupt.html 2.2: whoever closes the file beside SQLite drops its locks.

    Then another program that closes the file takes itself for the last one, removes the log, and
    all that is written from here on is lost.
    """
    path = tmp_path / "review.db"
    with open_store(path) as store:
        store.add_person("Ana")
        with open_store(path):  # as a page of the whole row or a measurement does
            pass
        program = (
            "import sys; from whileai_review.store import open_store\n"
            "with open_store(sys.argv[1]) as store:\n"
            "    store.add_person(sys.argv[2]); print(store.people())"
        )
        subprocess.run([sys.executable, "-c", program, path, "Bo"], check=True)
        store.add_person("Cy")
        assert sorted(store.people()) == ["Ana", "Bo", "Cy"]
        seen = subprocess.run(
            [sys.executable, "-c", program, path, "Di"], check=True, capture_output=True, text=True
        )
    assert all(repr(name) in seen.stdout for name in ("Ana", "Bo", "Cy", "Di"))
