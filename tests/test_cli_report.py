"""``trust --html``: the report as a file, of a run and of rows, and what it refuses to write over."""

import json

import pytest
from click.testing import CliRunner

from whileai_review.cli import main

PAIRS = [(1, 1)] * 60 + [(1, 0)] * 40 + [(0, 1)] * 20 + [(0, 0)] * 10
FAILS, UNUSABLE = 1, 2


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHILEAI_REVIEW_DB", raising=False)
    rows = [
        {"scenario_id": f"t{n}", "prompt": f"ask {n}", "final_text": "r", "reward": judge,
         "gold_reward": gold}
        for n, (judge, gold) in enumerate(PAIRS)
    ]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*arguments, stdin=None):
        given = CliRunner().invoke(main, [str(a) for a in arguments], input=stdin)
        assert given.exception is None or isinstance(given.exception, SystemExit), given.exception
        return given

    return run


MAPS = ("--map", "reward=reward", "--map", "gold_reward=gold_reward", "--gold", "gold_reward=human")


def test_of_a_file_and_of_a_run(run, tmp_path):
    given = run("trust", "rows.jsonl", *MAPS, "--html", "file.html")
    assert given.exit_code == FAILS, given.output
    page = (tmp_path / "file.html").read_text("utf-8")
    assert page.startswith("<!doctype html>") and "rows.jsonl" in page and ">FAILS<" in page
    assert run("load", "rows.jsonl", *MAPS, "--grader", "judge").exit_code == 0
    given = run("trust", "rows", "--html", "run.html")
    assert given.exit_code == FAILS and "agreement 54%" in given.output
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "rows · judge · overall" in page and "Misses 80% of failures [" in page


def test_of_standard_input(run, tmp_path):
    stdin = (tmp_path / "rows.jsonl").read_bytes()
    given = run("trust", "-", *MAPS, "--html", "page.html", "--json", stdin=stdin)
    assert given.exit_code == FAILS and json.loads(given.stdout)["state"] == "fails"
    assert ">FAILS<" in (tmp_path / "page.html").read_text("utf-8")


def test_neither_the_database_nor_what_is_read_is_written_over(run, tmp_path):
    run("load", "rows.jsonl", *MAPS)
    for target, what in (("review.db", "the database itself"), ("rows.jsonl", "what is read")):
        before = (tmp_path / target).read_bytes()
        given = run("trust", "rows.jsonl", *MAPS, "--html", target)
        assert given.exit_code == UNUSABLE and f"{target} is {what}" in given.output
        assert (tmp_path / target).read_bytes() == before
    given = run("trust", "rows", "--html", "no/such/folder/a.html")
    assert given.exit_code == UNUSABLE and "is not there" in given.output
    given = run("trust", "nothing", "--html", "a.html")
    assert given.exit_code == UNUSABLE and not (tmp_path / "a.html").exists()
