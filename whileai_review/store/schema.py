"""The tables, and the steps that bring an older file to them.

A step that has landed is never edited: a change is a new step below it.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from .connection import OPENING, Connections, connect, explain, is_open, patiently
from .errors import NewerStoreError, NotOursError

if TYPE_CHECKING:
    import sqlite3

APPLICATION_ID = 0x77726576
"""Marks a file as ours ("wrev"), see sqlite.org/pragma.html#pragma_application_id."""

M001 = """
CREATE TABLE mappings (
    id INTEGER PRIMARY KEY,
    name TEXT,                      -- a mapping that somebody named, to use again
    content TEXT NOT NULL,          -- load.Mapping as JSON; never edited
    created_at TEXT NOT NULL
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,           -- file name as given, for people
    format TEXT NOT NULL,
    content_hash TEXT,              -- sha256 of the decompressed bytes
    split_column TEXT,              -- the column that split one file into runs, and its value
    split_value TEXT,
    policy_hash TEXT,               -- agent or checkpoint, where the rows say it
    step INTEGER,                   -- place in an order of checkpoints
    state TEXT NOT NULL CHECK (state IN ('loading', 'ready', 'failed')),
    loader TEXT,                    -- process that loads it, to sweep what a killed one left
    mapping_id INTEGER REFERENCES mappings(id),
    n_rows INTEGER NOT NULL DEFAULT 0,
    n_tasks INTEGER NOT NULL DEFAULT 0,
    n_refused INTEGER NOT NULL DEFAULT 0,
    n_duplicates INTEGER NOT NULL DEFAULT 0,
    n_bytes INTEGER NOT NULL DEFAULT 0,
    first_id INTEGER,               -- its rows have ids in this range, others may too
    last_id INTEGER,
    grader_id INTEGER,              -- what is measured: grader, criterion, gold; only a
    criterion TEXT NOT NULL DEFAULT 'overall',  -- person changes them
    gold TEXT,                      -- human, program, model, or an annotator's name (an import)
    archived_at TEXT,
    created_at TEXT NOT NULL
);
CREATE INDEX runs_content ON runs (content_hash);
CREATE TABLE run_tags (
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run_id, tag)
) WITHOUT ROWID;
CREATE TABLE run_tools (            -- declared tools, in declared order
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    tool TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) WITHOUT ROWID;
CREATE TABLE run_fields (           -- fields of the rows that can group or measure
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('group', 'metric')),
    n_values INTEGER,
    unit TEXT,
    direction TEXT,
    PRIMARY KEY (run_id, name)
) WITHOUT ROWID;
CREATE TABLE rows (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- an id never comes again: a page may still show it
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    line INTEGER NOT NULL,
    identity TEXT NOT NULL,
    task TEXT NOT NULL,
    reply_chars INTEGER NOT NULL,
    content INTEGER,                -- checksum of what was said and done: the same rollout?
    fields TEXT                     -- short values of the row, copied for filters and slices
);
CREATE INDEX rows_identity ON rows (run_id, identity);
CREATE TABLE bodies (
    row_id INTEGER PRIMARY KEY REFERENCES rows(id) ON DELETE CASCADE,
    raw TEXT NOT NULL               -- the line as it came
);
CREATE TABLE refusals (
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    line INTEGER NOT NULL,
    reason TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX refusals_run ON refusals (run_id, line);
CREATE TABLE graders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,             -- column (came with the rows), verdicts (a file), judge, rule
    judge_hash TEXT,
    rubric_hash TEXT,
    threshold REAL,
    threshold_hash TEXT,
    created_at TEXT NOT NULL,
    UNIQUE (run_id, name)
);
CREATE TABLE scores (
    grader_id INTEGER NOT NULL REFERENCES graders(id) ON DELETE CASCADE,
    criterion TEXT NOT NULL,
    row_id INTEGER NOT NULL,        -- no reference: it goes with its grader
    verdict INTEGER,                -- 0 or 1; NULL when the value is no verdict
    value REAL,                     -- the score as given, when it is a number
    reason TEXT,                    -- NULL: the reason stands in the row itself
    judge_name TEXT,                -- the scorer that the row names, when not the grader
    shown INTEGER NOT NULL DEFAULT 0,  -- 1: the judge was tuned on, or shown, this row
    PRIMARY KEY (grader_id, criterion, row_id)
) WITHOUT ROWID;
CREATE TABLE queues (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    how TEXT NOT NULL,              -- random, one_per_task, group, census, picked, imported
    purpose TEXT NOT NULL,          -- label, review, audit
    criterion TEXT NOT NULL,
    seed INTEGER NOT NULL,
    planned_n INTEGER,
    grader_id INTEGER,              -- of a review queue: whose disagreements
    gold TEXT,
    cell TEXT,
    field TEXT,                     -- rows with this value of this field only
    value TEXT,
    agreeing_share REAL,            -- share of agreeing rows that is mixed in
    guideline_version TEXT,
    created_by TEXT,
    created_at TEXT NOT NULL,
    closed_at TEXT
);
CREATE TABLE queue_rows (
    queue_id INTEGER NOT NULL REFERENCES queues(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    row_id INTEGER NOT NULL REFERENCES rows(id) ON DELETE CASCADE,
    inclusion_p REAL,               -- chance that this row was drawn; NULL when picked
    stratum TEXT,
    PRIMARY KEY (queue_id, position)
) WITHOUT ROWID;
CREATE UNIQUE INDEX queue_rows_once ON queue_rows (queue_id, row_id);
CREATE INDEX queue_rows_row ON queue_rows (row_id);
CREATE TABLE deferrals (            -- "later": to the end of one's own order
    queue_id INTEGER NOT NULL REFERENCES queues(id) ON DELETE CASCADE,
    annotator TEXT NOT NULL,
    row_id INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (queue_id, annotator, row_id)
) WITHOUT ROWID;
CREATE TABLE labels (               -- append-only: a change or an undo is a line of its own
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL,        -- no reference: labels outlive their run
    row_id INTEGER NOT NULL,
    identity TEXT NOT NULL,
    content INTEGER,                -- of the row, as it was labelled
    criterion TEXT NOT NULL,
    annotator TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('human', 'program', 'model')),
    verdict TEXT CHECK (verdict IN ('pass', 'fail', 'unclear')),  -- NULL: an undo
    supersedes INTEGER,
    note TEXT,
    step INTEGER,
    tags TEXT,
    seconds REAL,                   -- on screen, measured in the browser
    queue_id INTEGER,
    chosen TEXT NOT NULL,           -- how the row was chosen: as in queues.how
    inclusion_p REAL,
    draw_order INTEGER,             -- place of the row in its queue
    rule_version TEXT,
    guideline_version TEXT,
    unblinded_at TEXT,              -- saw the judge or another label before answering
    carried_from INTEGER,           -- label of another run with the same rollout
    nonce TEXT UNIQUE,
    ts TEXT NOT NULL,               -- UTC
    ts_original TEXT                -- as an import wrote it, zone included
);
CREATE INDEX labels_run ON labels (run_id, criterion, id);
CREATE INDEX labels_supersedes ON labels (supersedes) WHERE supersedes IS NOT NULL;
CREATE INDEX labels_identity ON labels (identity);
CREATE INDEX labels_annotator ON labels (annotator, queue_id, id);
CREATE TABLE current_labels (       -- the one label that counts, by row, criterion, annotator
    row_id INTEGER NOT NULL,
    criterion TEXT NOT NULL,
    annotator TEXT NOT NULL,
    label_id INTEGER NOT NULL REFERENCES labels(id),
    PRIMARY KEY (row_id, criterion, annotator)
) WITHOUT ROWID;
CREATE INDEX current_by_annotator ON current_labels (annotator, criterion, row_id);
CREATE TABLE rules (                -- program labels: a rule in versions
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    criterion TEXT NOT NULL,
    version TEXT NOT NULL,          -- hash of what it says
    when_text TEXT,
    pass_text TEXT,
    created_by TEXT,
    created_at TEXT NOT NULL,
    UNIQUE (name, version)
);
CREATE TABLE codes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL
);
CREATE TABLE findings (             -- append-only: what a reader found on a row
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    kind TEXT NOT NULL,             -- read, cause, bad_data
    code_id INTEGER REFERENCES codes(id),
    note TEXT,
    by TEXT NOT NULL,
    withdraws INTEGER,
    created_at TEXT NOT NULL
);
CREATE INDEX findings_row ON findings (row_id, by);
CREATE INDEX findings_run ON findings (run_id, kind, row_id);
CREATE TABLE reports (
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    grader_id INTEGER NOT NULL,
    gold TEXT NOT NULL,
    criterion TEXT NOT NULL,
    params TEXT NOT NULL,
    revision TEXT NOT NULL,         -- label revision and version of the code that made it
    body BLOB NOT NULL,
    made_at TEXT NOT NULL,
    PRIMARY KEY (run_id, kind, grader_id, gold, criterion, params)
);
CREATE TABLE people (
    name TEXT PRIMARY KEY,
    created_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    what TEXT NOT NULL,
    run_id INTEGER,
    detail TEXT
);
CREATE INDEX events_run ON events (run_id, what);
"""

M002 = """
CREATE TABLE views (                -- filters of the Rows page that somebody named
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    query TEXT NOT NULL,            -- the page's address, from the question mark on
    created_by TEXT,
    created_at TEXT NOT NULL
);
CREATE TABLE searches (             -- how far a run's text is in its index (store/search.py)
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    what TEXT NOT NULL,             -- rows, labels, findings, reasons
    upto INTEGER NOT NULL,
    PRIMARY KEY (run_id, what)
) WITHOUT ROWID;
CREATE TABLE looks (                -- an interim figure of a queue that somebody saw
    queue_id INTEGER NOT NULL REFERENCES queues(id) ON DELETE CASCADE,
    grader_id INTEGER NOT NULL,
    gold TEXT NOT NULL,
    n_labels INTEGER NOT NULL,      -- the same number of labels is the same look
    by TEXT,
    at TEXT NOT NULL,
    PRIMARY KEY (queue_id, grader_id, gold, n_labels)
) WITHOUT ROWID;
CREATE TABLE extensions (           -- a planned number of labels that was raised
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue_id INTEGER NOT NULL REFERENCES queues(id) ON DELETE CASCADE,
    from_n INTEGER NOT NULL,
    to_n INTEGER NOT NULL,
    by TEXT,
    at TEXT NOT NULL
);
CREATE TABLE verdicts (             -- set once when a plan is complete; never edited
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue_id INTEGER NOT NULL REFERENCES queues(id) ON DELETE CASCADE,
    grader_id INTEGER NOT NULL,
    gold TEXT NOT NULL,
    planned_n INTEGER NOT NULL,     -- an extended plan gets a verdict of its own
    state TEXT NOT NULL,
    headline TEXT NOT NULL,
    n INTEGER NOT NULL,
    n_tasks INTEGER NOT NULL,
    n_looks INTEGER NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (queue_id, grader_id, gold, planned_n)
);
CREATE TABLE certificates (         -- what was measured, by hashes; never edited
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL,        -- no reference: it outlives its run
    content TEXT NOT NULL,          -- JSON, its own hash included
    hash TEXT NOT NULL UNIQUE,
    created_by TEXT,
    created_at TEXT NOT NULL
);
CREATE TABLE sign_offs (            -- a lead's decision on a certificate; the last one counts
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    certificate_hash TEXT NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('accept', 'hold')),
    reason TEXT NOT NULL,
    by TEXT NOT NULL,
    at TEXT NOT NULL
);
ALTER TABLE graders ADD COLUMN scores_of INTEGER;  -- a threshold's: the grader whose scores it cuts
ALTER TABLE graders ADD COLUMN declared_by TEXT;
ALTER TABLE codes ADD COLUMN merged_into INTEGER;
ALTER TABLE findings ADD COLUMN label_id INTEGER;  -- a code given to the note of this label
CREATE INDEX findings_code ON findings (code_id) WHERE code_id IS NOT NULL;
CREATE INDEX labels_note ON labels (run_id, id) WHERE note IS NOT NULL;
CREATE INDEX queues_run ON queues (run_id, criterion)
"""

STEPS = [("m001_initial", M001), ("m002_a_verdict_that_can_be_defended", M002)]


def prepare(path: Path, connections: Connections) -> None:
    """Make, check or bring up to date the file at `path`.

    Raises
    ------
    NotOursError, NewerStoreError, DamagedStoreError, NotSavedError
        The file is left as it was.
    """
    import sqlite3

    try:
        with OPENING:
            if not is_open(path):
                _check_header(path)
            with closing(connect(str(path))) as conn:
                done = _check(conn, path)
                if conn.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    patiently(lambda: conn.execute("PRAGMA journal_mode=WAL").fetchone())
                connections.hold()
    except sqlite3.Error as error:
        raise explain(error, str(path)) from error
    if done < len(STEPS):
        with connections.write() as conn:
            if _check(conn, path) < len(STEPS):  # another process may have been quicker
                _migrate(conn)


def _check_header(path: Path) -> None:
    """Turn away what the first bytes show not to be for us.

    SQLite would recover it, lay files beside it, or take a file of one byte for an empty one.
    The offsets are those of sqlite.org/fileformat2.html, section 1.3.
    """
    if path.is_dir():
        raise NotOursError(f"{path} is a folder. Name a file in it with --db.")
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise NotOursError(f"{path} can't be read ({error.strerror}).") from error
    if not head:
        return
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        raise NotOursError(
            f"{path} is not a database; it was left as it is. Name another file with --db."
        )
    pages, version, application = (int.from_bytes(head[at : at + 4], "big") for at in (28, 60, 68))
    # One page: a new file whose first step is on its way, perhaps in another process.
    _refuse(path, application, version, used=pages > 1)


def _check(conn: sqlite3.Connection, path: Path) -> int:
    """The number of steps that the file has; raises when it is not for us."""
    application = conn.execute("PRAGMA application_id").fetchone()[0]
    version = conn.execute("PRAGMA user_version").fetchone()[0]
    tables = conn.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    _refuse(path, application, version, used=bool(tables))
    return version


def _refuse(path: Path, application: int, version: int, used: bool) -> None:
    if application != APPLICATION_ID and (used or application or version):
        raise NotOursError(
            f"{path} is a database of another program; it was left as it is. "
            "Name another file with --db."
        )
    if version > len(STEPS):
        raise NewerStoreError(
            f"{path} was written by a newer whileai-review (schema {version}, this one knows "
            f"{len(STEPS)}); it was left as it is. Install the newer version."
        )


def _migrate(conn: sqlite3.Connection) -> None:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    steps = Migrations("whileai-review")
    for name, script in STEPS:
        steps(name=name)(_runner(script))
    steps.apply(Database(conn))
    conn.execute(f"PRAGMA application_id={APPLICATION_ID}")
    conn.execute(f"PRAGMA user_version={len(STEPS)}")


def _runner(script: str):
    def step(db) -> None:
        # executescript() would commit the transaction that this runs in.
        for statement in _statements(script):
            db.execute(statement)

    return step


def _statements(script: str) -> list[str]:
    lines = [line.split("--")[0].rstrip() for line in script.splitlines()]
    return [s.strip() for s in "\n".join(lines).split(";") if s.strip()]
