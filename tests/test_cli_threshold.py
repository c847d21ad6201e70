"""`whileai-review threshold`: the table, a declaration, and what is refused."""

import json

import pytest
from click.testing import CliRunner

from whileai_review.cli import main


@pytest.fixture
def say(tmp_path, monkeypatch):
    """Run a command in a folder with a loaded run of scores 1 to 4; (status, output, error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHILEAI_REVIEW_DB", raising=False)
    rows = [
        {"scenario_id": f"t{i // 2}", "rollout_index": i % 2, "prompt": "a", "final_text": f"r{i}",
         "score": 1 + i % 4 // 2 + 2 * (i % 2), "gold": i % 2}
        for i in range(80)
    ]  # fmt: skip
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def say(*words):
        done = CliRunner().invoke(main, list(words))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    code, _, error = say("load", "run.jsonl", "--map", "reward=score", "--gold", "gold=human",
                         "--grader", "judge")  # fmt: skip
    assert code == 0, error
    return say


def test_the_table_is_printed_and_a_choice_declared(say):
    code, said, _ = say("threshold", "run")
    assert code == 0
    assert "scores 1 to 4, 80 labelled rows, 40 tasks" in said
    assert ">= 3: passes passed 100%" in said and "chosen on half a: >= 3; on half b:" in said
    code, said, _ = say("threshold", "run", "--declare", "--by", "lea")
    assert code == 0
    assert said.startswith("judge ≥ 3: 40 rows pass, 40 fail; declared by lea on 20")
    assert "labelled rows were looked at to choose it" in said
    code, said, _ = say("trust", "run", "--grader", "judge ≥ 3", "--json")
    assert json.loads(said)["agreement"]["agreement"] == 1.0


def test_json_is_one_object(say):
    found = json.loads(say("threshold", "run", "--json")[1])
    assert (found["chosen"], found["reason"]) == (3.0, "")
    made = json.loads(
        say("threshold", "run", "--at", "2", "--in-advance", "--by", "x", "--json")[1]
    )
    assert (made["threshold"], made["n_pass"], made["n_tuned"]) == (2.0, 60, 0)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--declare", "--at", "3", "--by", "x"], "Give --declare or --at, not both."),
        (["--in-advance"], "--in-advance needs --at SCORE"),
        (["--at", "3"], "--by NAME is missing"),
        (["--at", "9", "--by", "x"], "At 9 no row passes: the scores go from 1 to 4"),
        (["--at", "nan", "--by", "x"], "A threshold is a number"),
        (["--grader", "nosuch"], "No grader 'nosuch'"),
    ],
)
def test_what_is_refused_is_one_line(say, words, error):
    code, said, err = say("threshold", "run", *words)
    assert code == 2 and not said
    assert error in err and err.count("\n") == 1
