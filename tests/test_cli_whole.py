"""What the command line promises of every command, and while others work on the same file."""

import json
import os
import signal
import threading
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from whileai_review.cli import main
from whileai_review.store import open_store

RECIPE = Path(__file__).parents[1] / "data" / "recipe" / "recipe-run-1.jsonl"
HOLDS, FAILS, UNUSABLE = 0, 1, 2


def commands(group=main, path=()):
    """(words of the command, command) of every command there is."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands())


@pytest.fixture
def say(tmp_path, monkeypatch):
    """Run a command in an empty folder; (exit status, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHILEAI_REVIEW_DB", raising=False)
    monkeypatch.delenv("WHILEAI_REVIEW_DEBUG", raising=False)

    def say(*words, stdin=None):
        done = CliRunner().invoke(main, [str(w) for w in words], input=stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    return say


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(n=12, **keys):
    return [
        {"rollout_id": f"r{i}", "prompt": f"ask {i // 3}", "final_text": f"reply {i}",
         "reward": 1 - i % 2, **keys}
        for i in range(n)
    ]  # fmt: skip


@pytest.fixture
def loaded(say, tmp_path):
    """A store with the recipe's run in it."""
    status, _, err = say(
        "load", RECIPE, "--as", "recipe", "--map", "reward=reward",
        "--map", "reward:action=judge_action", "--gold", "gold_reward=program:rule",
    )  # fmt: skip
    assert (status, err) == (HOLDS, "")
    return tmp_path / "review.db"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_says_what_it_does(words):
    for option in COMMANDS[words].params:
        if isinstance(option, click.Option) and option.name not in ("port", "criterion"):
            assert option.help, f"{option.name} of {' '.join(words)}"


def test_every_command_that_prints_a_result_has_json():
    without = {w for w, c in COMMANDS.items() if "as_json" not in {p.name for p in c.params}}
    # an export is JSON lines, and so is a certificate
    assert without == {("serve",), ("label", "export"), ("certificate",)}


@pytest.mark.parametrize(
    "words",
    [
        ("load", "again.jsonl"),
        ("load", "again.jsonl", "--as", "twin"),
        ("load", "v.jsonl", "--onto", "recipe", "--grader", "v"),
        ("load", "folder"),
        ("trust", "recipe"),
        ("trust", "again.jsonl"),
        ("label", "import", "recipe", "l.jsonl", "--kind", "human"),
        ("label", "program", "recipe", "--name", "n", "--pass", "called(x)"),
        ("label", "program", "recipe", "--name", "n", "--pass", "called(x)", "--preview"),
        ("backup", "copy.db"),
        ("demo", "--db", "demo.db"),
    ],
    ids=" ".join,
)
def test_json_is_one_object_and_nothing_else(say, loaded, tmp_path, words):
    write(tmp_path / "again.jsonl", rows_of())
    write(tmp_path / "v.jsonl", [{"rollout_id": "big-106#0", "reward": 1}])
    write(tmp_path / "l.jsonl", [{"key": "big-106#0", "label": 1}])
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "a.jsonl", rows_of(3))
    _, out, err = say(*words, "--json")
    assert isinstance(json.loads(out), dict)
    assert out.count("\n") == 1 and err == ""


def test_what_load_says_of_gold_can_be_done(say, tmp_path):
    path = write(tmp_path / "base.jsonl", rows_of(gold_reward=1))
    assert "say who labelled with --gold" in say("load", path)[1]
    status, out, _ = say("load", path, "--gold", "gold_reward=human:ana")
    assert status == HOLDS
    assert "already" in out and "12 labels new" in out
    with open_store(tmp_path / "review.db") as store:
        assert {x["annotator"] for x in store.labels("base")} == {"ana"}


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_a_map_goes_on_top_of_what_is_recognised(say, tmp_path, source):
    rows = [
        {"question": f"q{i}", "answer": "x", "verdict": ["approve", "reject"][i % 2]}
        for i in range(4)
    ]
    path = write(tmp_path / "base.jsonl", rows)
    given = ("load", path) if source == "file" else ("load", "-")
    stdin = None if source == "file" else path.read_bytes()
    status, out, _ = say(*given, "--map", "reward=verdict:approve=1,reject=0", stdin=stdin)
    assert status == HOLDS, out
    with open_store(tmp_path / "review.db") as store:
        run = store.runs()[0]
        assert run["name"] == ("base" if source == "file" else "standard input")
        assert [r["prompt"] for r in store.rows(run["id"])] == ["q0", "q1", "q2", "q3"]
        assert store.columns(run["id"], run["grader_id"], "overall")["verdict"] == [1, 0, 1, 0]


def test_integers_over_64_bits_leave_as_they_came(say, tmp_path):
    rows = [{"rollout_id": 2**64 + n, "prompt": "p", "final_text": "x"} for n in (0, 1)]
    say("load", write(tmp_path / "base.jsonl", rows))
    out = say("label", "export", "base", "--for-estimate")[1]
    assert '"rollout_id":18446744073709551616,' in out
    assert '"rollout_id":18446744073709551617,' in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("load", "base.jsonl", "--as", "recipe"), "'recipe' is there already"),
        (("trust", "words.jsonl"), "--map"),
        (("backup", "base.jsonl"), "base.jsonl is there already"),
        (("backup", "no/where.db"), "no"),
        (("trust", "recipe", "--db", "none.db"), "No database at none.db"),
        (("label", "import", "recipe", "base.jsonl", "--kind", "human", "--db", "none.db"),
         "No database at none.db"),
    ],
)  # fmt: skip
def test_what_is_refused_is_one_line_and_touches_no_file(say, loaded, tmp_path, words, said):
    write(tmp_path / "base.jsonl", rows_of())
    words_only = [
        {k: v for k, v in row.items() if k != "reward"} | {"verdict": "approve"}
        for row in rows_of()
    ]
    write(tmp_path / "words.jsonl", words_only)

    def files():
        return {p: p.read_bytes() for p in tmp_path.iterdir() if p.suffix != ".db"
                and not p.name.endswith(("-wal", "-shm"))}  # fmt: skip

    before = files()
    status, out, err = say(*words)
    assert (status, out, err.count("\n")) == (UNUSABLE, "", 1)
    assert said in err
    assert files() == before
    assert not (tmp_path / "none.db").exists()
    with open_store(loaded) as store:
        assert [r["name"] for r in store.runs()] == ["recipe"]


def test_a_reading_process_that_is_killed_is_one_line(say, tmp_path, monkeypatch):
    from whileai_review.work import loading, pool

    if not pool._may_fork():
        pytest.skip("no process of its own to kill: another test left a thread")

    def killed(*args):
        os.kill(os.getpid(), signal.SIGKILL)
        yield

    monkeypatch.setattr(loading, "FORK_BYTES", 0)
    monkeypatch.setattr(loading, "read_columns", killed)
    status, _, err = say("load", write(tmp_path / "base.jsonl", rows_of()))
    assert (status, err.count("\n")) == (UNUSABLE, 1)
    assert "was killed" in err
    with open_store(tmp_path / "review.db") as store:
        assert store.runs() == []


def test_a_backup_while_others_write_is_whole(say, loaded, tmp_path):
    stop, started = threading.Event(), threading.Event()
    given = []

    def annotate():
        with open_store(loaded) as store:
            for row_id in store.tasks_of("recipe")[0]:
                given.append(store.add_label(row_id, "ana", "pass", f"n{row_id}"))
                if len(given) == 5:
                    started.set()
                if stop.is_set():
                    return

    thread = threading.Thread(target=annotate)
    thread.start()
    try:
        assert started.wait(30)
        before = len(given)
        status, out, _ = say("backup", "copy.db")
        after = len(given)
    finally:
        stop.set()
        thread.join()
    assert status == HOLDS and "copy.db: " in out
    with open_store(tmp_path / "copy.db") as copy:
        mine = [x for x in copy.labels("recipe") if x["annotator"] == "ana"]
        assert before <= len(mine) <= after + 1
    assert say("trust", "recipe", "--db", "copy.db")[0] == FAILS
