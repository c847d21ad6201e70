"""`whileai-review shown`: rows that a judge was given leave its estimates, by task."""

import json

import pytest
from click.testing import CliRunner

from whileai_review.cli import main


@pytest.fixture
def say(tmp_path, monkeypatch):
    """Run a command in a folder with a loaded run of 20 tasks of two; (status, output, error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHILEAI_REVIEW_DB", raising=False)
    rows = [
        {"scenario_id": f"t{i // 2}", "rollout_index": i % 2, "prompt": "a", "final_text": f"r{i}",
         "reward": i % 2, "gold": i // 2 % 2}
        for i in range(40)
    ]  # fmt: skip
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def say(*words):
        done = CliRunner().invoke(main, list(words))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    code, _, error = say("load", "run.jsonl", "--gold", "gold=human", "--grader", "judge")
    assert code == 0, error
    return say


def given(tmp_path, *rows):
    path = tmp_path / "fewshot.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def n_labeled(say):
    return json.loads(say("trust", "run", "--json")[1])["n_labeled"]


def test_rows_and_tasks_leave_and_come_back(say, tmp_path):
    assert n_labeled(say) == 40
    # A rollout takes its twin along; a task is named without a rollout.
    path = given(tmp_path, {"key": "t0#1"}, {"scenario_id": "t5"}, {"key": "nobody"})
    code, said, error = say("shown", "run", path, "--grader", "judge", "--by", "lea")
    assert code == 0, error
    assert said.strip() == (
        "judge: 3 rows changed. 4 rows of 2 tasks are outside its estimates. 1 of 3 name no row of "
        "this run."
    )
    assert n_labeled(say) == 36
    assert (
        "the judge was shown rows of 2 tasks: all 4 rows of these, 4 labelled"
        in say("trust", "run")[1]
    )
    found = json.loads(say("shown", "run", path, "--undo", "--json")[1])
    assert (found["changed"], found["n_shown"], found["unmatched_keys"]) == (3, 0, ["nobody"])
    assert n_labeled(say) == 40


@pytest.mark.parametrize(
    ("rows", "words", "said"),
    [
        ([{"key": "x"}], [], "none of its 1 rows is a rollout or a task of run"),
        ([{"key": "t0#0"}], ["--grader", "another"], "No judge another on run. Judges: judge."),
    ],
)
def test_what_can_not_be_marked_is_refused_by_name(say, tmp_path, rows, words, said):
    code, _, error = say("shown", "run", given(tmp_path, *rows), *words)
    assert code == 2 and said in error
    assert n_labeled(say) == 40
