"""The command line in the hands of somebody who holds it wrong: one line, and nothing lost."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from whileai_review import cli
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent


def line(i, **more):
    return {"scenario_id": f"t{i}", "prompt": f"ask {i}", "final_text": f"reply {i}",
            "reward": i % 2, **more}  # fmt: skip


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(line(i)) + "\n" for i in range(6)))
    return path


@pytest.fixture
def db(tmp_path):
    return tmp_path / "review.db"


@pytest.fixture
def run(db):
    def run(*arguments, **how):
        return CliRunner().invoke(cli.main, [*map(str, arguments), "--db", str(db)], **how)

    return run


def process(*arguments, **how):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "whileai_review", *map(str, arguments)]
    return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, **how)


@pytest.mark.parametrize(
    ("options", "column"),
    [
        (["--map", "reward=verdikt"], "verdikt"),
        (["--map", "metric=latency:unit=s"], "latency"),
        (["--gold", "golden=human"], "golden"),
        (["--split", "arm"], "arm"),
    ],
)
def test_a_column_that_no_row_has_is_named_and_nothing_is_loaded(run, rows, db, options, column):
    result = run("load", rows, *options)
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert f"rows.jsonl: no row has a column '{column}'" in result.output
    with open_store(db) as store:
        assert store.runs() == []


def test_a_map_for_a_folder_comes_on_top_of_what_is_recognised(run, tmp_path, db):
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in "ab":
        row = {"question": "q", "answer": f"reply {name}", "verdict_by_x": "yes"}
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    (folder / "c.jsonl").write_text(json.dumps(line(1)) + "\n")
    result = run("load", folder, "--map", "reward=verdict_by_x:yes=1,no=0")
    assert result.exit_code == 0
    assert "not loaded: c.jsonl: no row has a column 'verdict_by_x'" in result.output
    with open_store(db) as store:
        assert sorted(each["name"] for each in store.runs()) == ["a", "b"]
        assert next(iter(store.rows("a")))["prompt"] == "q"


def test_a_column_that_comes_late_is_taken(run, tmp_path, db):
    # More rows without it than are looked at to recognise the columns (1,000).
    path = tmp_path / "late.jsonl"
    lines = [line(i) for i in range(1_500)] + [line(1_500, other=1)]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    assert run("load", path, "--map", "reward:other=other").exit_code == 0
    with open_store(db) as store:
        assert store.criteria("late") == ["overall", "other"]


def test_verdicts_that_are_missing_are_said(run, tmp_path):
    path = tmp_path / "plain.jsonl"
    path.write_text(json.dumps({"prompt": "a", "final_text": "b"}) + "\n")
    assert "no column holds a judge's verdicts" in run("load", path).output


def test_a_criterion_or_gold_that_is_not_there_is_unusable_not_unmeasured(run, rows):
    run("load", rows)
    for option, there in (("criterion", "Criteria: overall"), ("gold", "Golds: none yet")):
        result = run("trust", "rows", f"--{option}", "zzz")
        assert result.exit_code == 2, result.output
        assert there in result.output
    # A kind of gold that may still come is not measured yet.
    assert run("trust", "rows", "--gold", "human").exit_code == 3


def test_an_export_that_fails_leaves_the_file_from_before(run, rows, tmp_path):
    run("load", rows)
    kept = tmp_path / "labels.jsonl"
    kept.write_text("precious")
    assert run("label", "export", "nosuch", "-o", kept).exit_code == 2
    assert kept.read_text() == "precious"
    assert run("label", "export", "rows", "--for-estimate", "-o", kept).exit_code == 0
    assert len(kept.read_text().splitlines()) == 6
    assert sorted(p.name for p in tmp_path.iterdir() if "part" in p.name) == []


def test_an_export_never_writes_over_the_database(run, rows, db):
    run("load", rows)
    result = run("label", "export", "rows", "-o", db)
    assert result.exit_code == 2
    assert "is the database itself" in result.output
    with open_store(db) as store:
        assert store.run("rows")["n_rows"] == 6


def test_errors_of_the_system_come_without_its_numbers(run, rows, tmp_path):
    run("load", rows)
    result = run("label", "export", "rows", "-o", tmp_path / "no" / "x.jsonl")
    assert result.output == f"Error: The folder {tmp_path / 'no'} is not there.\n"
    binary = tmp_path / "rule"
    binary.write_bytes(b"\xff\xfe\x00\xd3")
    result = run("label", "program", "rows", "--name", "x", "--rule", binary)
    assert result.exit_code == 2
    assert "no text in UTF-8" in result.output


def test_a_closed_standard_input_is_one_line():
    command = f"{sys.executable} -m whileai_review trust - <&-"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=env)
    assert done.returncode == 2
    assert done.stderr == "Error: standard input is closed.\n"


def test_a_pipe_that_is_closed_early_is_quiet_and_is_no_verdict(run, tmp_path, db):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(line(i)) + "\n" for i in range(5_000)))
    run("load", path)
    export = process("label", "export", "many", "--for-estimate", "--db", db,
                     stdout=subprocess.PIPE)  # fmt: skip
    assert json.loads(export.stdout.readline())["scenario_id"] == "t0"
    export.stdout.close()
    assert export.wait(30) == 141  # 128 + SIGPIPE, as a shell has it
    assert export.stderr.read() == b""


def test_ctrl_c_in_the_middle_of_a_load_leaves_nothing_and_is_no_verdict(tmp_path, db):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(line(i)) + "\n" for i in range(150_000)))
    load = process("load", path, "--db", db, start_new_session=True)
    while not db.exists() or db.stat().st_size < 100_000:  # rows are coming in
        assert load.poll() is None
        time.sleep(0.05)
    os.killpg(load.pid, signal.SIGINT)
    assert load.wait(60) == 130  # 128 + SIGINT
    assert b"Traceback" not in load.stderr.read()
    with open_store(db) as store:
        assert store.runs() == []
        assert store.sweep() == 0
