"""Files that are not ours, newer, damaged, read-only, full, moved; migrations and backups.

Tests may run as root, whom no file mode stops: a read-only file is played by ``PRAGMA
query_only``, a full disk by ``PRAGMA max_page_count`` (SQLite's own SQLITE_READONLY and
SQLITE_FULL), set on every connection that the store opens.
"""

import hashlib
import random
import shutil
import sqlite3  # noqa: TID251
import subprocess
import sys
import threading

import pytest

from whileai_review.store import (
    DamagedStoreError,
    NewerStoreError,
    NotFoundError,
    NotOursError,
    NotSavedError,
    RefusedError,
    StoreError,
    connection,
    open_store,
    schema,
)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def foreign(path, application=0, wal=False):
    with sqlite3.connect(path) as conn:
        if wal:
            conn.execute("PRAGMA journal_mode=WAL")
        conn.execute("CREATE TABLE songs (name TEXT)")
        conn.execute(f"PRAGMA application_id={application}")
    conn.close()


@pytest.mark.parametrize(
    "make_file",
    [
        lambda p: foreign(p),
        lambda p: foreign(p, application=0x0F055112),  # Fossil's, sqlite.org/src magic.txt
        lambda p: foreign(p, wal=True),
        lambda p: p.write_text("prompt,reply\n" * 500),
        lambda p: p.write_bytes(random.Random(0).randbytes(50_000)),
        lambda p: p.write_bytes(b"SQLite format 3\0"),
        lambda p: p.write_text("x"),
    ],
    ids=["tables", "application", "wal", "text", "bytes", "half a header", "one byte"],
)
def test_a_file_of_another_program_is_refused_and_left_as_it_is(tmp_path, make_file):
    path = tmp_path / "theirs.db"
    make_file(path)
    before = digest(path)
    with pytest.raises(NotOursError) as told:
        open_store(path)
    assert str(path) in str(told.value)
    assert "left as it is" in str(told.value)
    assert "\n" not in str(told.value)
    assert digest(path) == before
    assert [p.name for p in tmp_path.iterdir()] == ["theirs.db"]


def test_a_crashed_database_of_another_program_is_not_recovered_by_us(tmp_path):
    """Its log is still to be folded in, by the program that knows what it is."""
    foreign(tmp_path / "first.db", application=7, wal=True)
    conn = sqlite3.connect(tmp_path / "first.db")
    conn.execute("INSERT INTO songs VALUES ('x')")
    conn.commit()
    for end in ("", "-wal"):  # as a kill would have left it
        shutil.copy(tmp_path / f"first.db{end}", tmp_path / f"theirs.db{end}")
    conn.close()
    before = {p.name: digest(p) for p in tmp_path.glob("theirs.db*")}
    assert len(before) == 2
    with pytest.raises(NotOursError):
        open_store(tmp_path / "theirs.db")
    assert {p.name: digest(p) for p in tmp_path.glob("theirs.db*")} == before


def test_an_empty_file_becomes_ours(tmp_path):
    (tmp_path / "review.db").touch()
    with open_store(tmp_path / "review.db") as store:
        assert store.runs() == []


def test_a_folder_or_a_missing_folder_is_named(tmp_path):
    with pytest.raises(NotOursError, match="is a folder"):
        open_store(tmp_path)
    with pytest.raises(NotFoundError, match="folder .*nowhere is not there"):
        open_store(tmp_path / "nowhere" / "review.db")
    with pytest.raises(NotFoundError, match="No database at"):
        open_store(tmp_path / "review.db", create=False)


def test_a_newer_file_is_refused_byte_for_byte_unharmed(fresh_db, make):
    make.run(fresh_db)
    fresh_db.close()
    with sqlite3.connect(fresh_db.path) as conn:
        conn.execute("PRAGMA user_version=99")
        conn.execute("CREATE TABLE later (x)")
    conn.close()
    before = digest(fresh_db.path)
    with pytest.raises(NewerStoreError, match="schema 99, this one knows") as told:
        open_store(fresh_db.path)
    assert "\n" not in str(told.value)
    assert digest(fresh_db.path) == before
    assert [p.name for p in fresh_db.path.parent.iterdir()] == ["review.db"]


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_file_says_so_and_never_shows_a_traceback_of_sqlite(fresh_db, make, seed):
    run = make.run(fresh_db, n=500, chars=200)
    fresh_db.close()
    data = bytearray(fresh_db.path.read_bytes())
    draw = random.Random(seed)
    for page in range(2, len(data) // 4096):
        at = page * 4096
        data[at : at + 100] = draw.randbytes(100)
    fresh_db.path.write_bytes(data)
    told = []
    for act in (
        lambda s: s.runs(),
        lambda s: s.columns("base", 1, "overall"),
        lambda s: list(s.numbered_rows(run["id"])),
        lambda s: s.add_label(7, "anna", "pass", "n"),
        lambda s: make.queue(s, run),
    ):
        try:
            with open_store(fresh_db.path) as store:
                act(store)
        except StoreError as error:
            told.append(error)
            assert "\n" not in str(error)
    assert any(isinstance(e, DamagedStoreError) for e in told)


def limited(monkeypatch, *pragmas):
    real = connection.connect

    def connect(path):
        conn = real(path)
        for pragma in pragmas:
            conn.execute(pragma)
        return conn

    monkeypatch.setattr(connection, "connect", connect)


def everything(store):
    with store._connections.read() as conn:
        return list(map(tuple, conn.execute("SELECT * FROM labels"))), [
            conn.execute(f"SELECT count(*) FROM {t}").fetchone()[0]
            for t in ("current_labels", "runs", "rows", "queues", "queue_rows", "deferrals")
        ]


@pytest.mark.parametrize(
    "pragma, says",
    [("PRAGMA query_only=1", "can't be written"), ("PRAGMA max_page_count=1", "is full")],
    ids=["read-only", "full"],
)
def test_nothing_of_a_label_is_kept_when_it_cannot_be(fresh_db, make, monkeypatch, pragma, says):
    run = make.run(fresh_db)
    row = make.ids(fresh_db, run)[0]
    queue = make.queue(fresh_db, run)["id"]
    before = everything(fresh_db)
    limited(monkeypatch, pragma)
    with open_store(fresh_db.path) as store:
        filler = "x" * 100_000  # more than the free space of the last page
        refused = [
            lambda: store.add_label(row, "anna", "pass", "n", queue_id=queue, note=filler),
            lambda: store.add_person(filler[:60]),
        ]
        if "full" in says:  # a line of a run still fits, its rows do not
            load = store.begin_run("other", "other", "jsonl")
            refused[1] = lambda: load.add(*zip(*make.rows(500, chars=2_000), strict=True))
        for act in refused:
            with pytest.raises(NotSavedError, match=f"^Not saved: .*{says}") as told:
                act()
            assert "\n" not in str(told.value)
        if "full" in says:
            load.fail()
        assert store.next_row(queue, "anna")["row_id"] == row  # reading goes on
    assert everything(fresh_db) == before
    monkeypatch.undo()
    # with space again, the same press is saved, once
    assert fresh_db.add_label(row, "anna", "pass", "n", queue_id=queue)["repeated"] is False


def test_a_label_that_waited_too_long_says_what_to_do(fresh_db, make, monkeypatch):
    run = make.run(fresh_db)
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(fresh_db.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(NotSavedError, match="^Not saved: .* was busy .* Press again"):
        fresh_db.add_label(make.ids(fresh_db, run)[0], "anna", "pass", "n")
    other.execute("ROLLBACK")
    other.close()
    assert fresh_db.labels("base") == []
    fresh_db.add_label(make.ids(fresh_db, run)[0], "anna", "pass", "n")


def test_a_file_that_was_moved_away_takes_no_label(fresh_db, make):
    row = make.ids(fresh_db, make.run(fresh_db))[0]
    moved = fresh_db.path.with_name("moved.db")
    fresh_db.path.rename(moved)
    with pytest.raises(NotSavedError, match="removed or replaced"):
        fresh_db.add_label(row, "anna", "pass", "n")
    assert not fresh_db.path.exists()  # nor is an empty one made in its place
    moved.rename(fresh_db.path)
    fresh_db.add_label(row, "anna", "pass", "n")


def test_a_closed_store_says_so(fresh_db):
    fresh_db.close()
    with pytest.raises(StoreError, match="closed"):
        fresh_db.runs()


def test_two_servers_on_one_file_see_each_others_work(fresh_db, make):
    run = make.run(fresh_db)
    a, b = make.ids(fresh_db, run)[:2]
    with open_store(fresh_db.path) as other:
        fresh_db.add_label(a, "anna", "pass", "n1")
        other.add_label(b, "anna", "fail", "n2")
        with pytest.raises(RefusedError, match="already"):
            other.add_label(a, "anna", "fail", "n3")
        assert fresh_db.labels("base") == other.labels("base")
        assert len(other.labels("base")) == 2


# Migrations


def test_a_new_file_has_every_step_and_our_mark(fresh_db):
    with sqlite3.connect(fresh_db.path) as conn:
        steps = [r[0] for r in conn.execute("SELECT name FROM _sqlite_migrations ORDER BY id")]
        assert steps == [name for name, _ in schema.STEPS]
        assert conn.execute("PRAGMA user_version").fetchone()[0] == len(schema.STEPS)
        assert conn.execute("PRAGMA application_id").fetchone()[0] == schema.APPLICATION_ID
        assert conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    conn.close()


def test_a_file_of_an_earlier_step_comes_to_the_present_one_with_its_rows(
    fresh_db, make, monkeypatch
):
    run = make.run(fresh_db)
    fresh_db.add_label(make.ids(fresh_db, run)[0], "anna", "pass", "n")
    labels = fresh_db.labels("base")
    fresh_db.close()
    step = ("next", "ALTER TABLE runs ADD COLUMN colour TEXT; -- a comment; and more\n")
    monkeypatch.setattr(schema, "STEPS", [*schema.STEPS, step])
    with open_store(fresh_db.path) as store:
        assert store.labels("base") == labels
        assert store.run("base")["colour"] is None
    test_a_new_file_has_every_step_and_our_mark(fresh_db)


def test_a_step_that_fails_leaves_the_file_at_the_step_before(fresh_db, make, monkeypatch):
    make.run(fresh_db)
    fresh_db.close()
    bad = ("bad", "ALTER TABLE runs ADD COLUMN colour TEXT; INSERT INTO nowhere VALUES (1);")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", [*schema.STEPS, bad])
        with pytest.raises(StoreError, match="nowhere"):
            open_store(fresh_db.path)
    with open_store(fresh_db.path) as store:
        assert "colour" not in store.run("base")
    test_a_new_file_has_every_step_and_our_mark(fresh_db)


def test_processes_that_open_a_new_file_at_once_all_succeed(tmp_path):
    code = (
        "import sys, time; from whileai_review.store import open_store; sys.stdin.readline();"
        "store = open_store(sys.argv[1]); store.add_person(sys.argv[2]); print(store.people())"
    )
    path = tmp_path / "review.db"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), f"p{n}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
    assert [p.returncode for p in processes] == [0] * 4
    with open_store(path) as store:
        assert sorted(store.people()) == ["p0", "p1", "p2", "p3"]


def test_opening_an_up_to_date_file_loads_no_sqlite_utils(fresh_db):
    code = (
        "import sys; from whileai_review.store import open_store; open_store(sys.argv[1]).runs();"
        "sys.exit('sqlite_utils' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(fresh_db.path)], check=False)
    assert done.returncode == 0


def test_a_file_in_another_journal_mode_is_brought_back_to_wal(fresh_db):
    fresh_db.close()
    with sqlite3.connect(fresh_db.path) as conn:
        conn.execute("PRAGMA journal_mode=DELETE")
    conn.close()
    open_store(fresh_db.path).close()
    with sqlite3.connect(fresh_db.path) as conn:
        assert conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    conn.close()


# Backup


def test_a_backup_made_while_writers_write_holds_a_consistent_state(fresh_db, make):
    run = make.run(fresh_db, n=3_000)
    ids = make.ids(fresh_db, run)
    stop, labelled = threading.Event(), []

    def label():
        for n, row in enumerate(ids):
            if stop.is_set():
                return
            labelled.append(fresh_db.add_label(row, "anna", "pass", f"n{n}")["label_id"])

    thread = threading.Thread(target=label)
    thread.start()
    copies = []
    for n in range(3):
        least = len(labelled)
        copies.append((fresh_db.backup(fresh_db.path.with_name(f"copy{n}.db")), least))
    stop.set()
    thread.join()
    for path, least in copies:
        with open_store(path) as copy:
            kept = [x["id"] for x in copy.labels("base")]
            assert kept == labelled[: len(kept)]
            assert len(kept) >= least
            assert len(copy.labels("base", history=True)) == len(kept)
            assert copy.run("base")["n_rows"] == len(make.ids(copy, run)) == 3_000


def test_a_backup_overwrites_nothing_and_half_a_one_has_no_name(fresh_db, make, monkeypatch):
    make.run(fresh_db)
    target = fresh_db.path.with_name("copy.db")
    target.write_text("mine")
    with pytest.raises(RefusedError, match="is there already"):
        fresh_db.backup(target)
    assert target.read_text() == "mine"
    with pytest.raises(NotFoundError, match="folder"):
        fresh_db.backup(fresh_db.path.parent / "nowhere" / "copy.db")
    real = sqlite3.connect

    def full(path, *args, **kwargs):
        conn = real(path, *args, **kwargs)
        conn.execute("PRAGMA max_page_count=3")
        return conn

    monkeypatch.setattr(sqlite3, "connect", full)
    monkeypatch.setattr("whileai_review.store.os.rename", shutil.move)
    try:
        fresh_db.backup(fresh_db.path.with_name("full.db"))
    except NotSavedError as error:
        assert "full" in str(error)
        assert not fresh_db.path.with_name("full.db").exists()
    assert list(fresh_db.path.parent.glob("*.part-*")) == []


def test_a_file_of_the_first_schema_is_brought_up_to_date_with_all_it_holds(tmp_path, monkeypatch):
    path = tmp_path / "old.db"
    with monkeypatch.context() as older:
        older.setattr(schema, "STEPS", schema.STEPS[:1])
        with open_store(path) as store:
            load = store.begin_run("a", "a.jsonl", "jsonl")
            load.add([1], ["{}"], ["x"], ["t"], [0], [None])
            load.finish("hash")
    with open_store(path) as store:
        assert [run["name"] for run in store.runs()] == ["a"]
        with store._connections.read() as conn:
            assert conn.execute("PRAGMA user_version").fetchone()[0] == len(schema.STEPS)
            assert conn.execute("SELECT count(*) FROM views").fetchone()[0] == 0
