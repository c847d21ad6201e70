"""What a shell and a script get: output, exit status, one line for what is wrong."""

import json
import os
import sqlite3  # noqa: TID251  (makes a database of another program)
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from whileai_review import __version__
from whileai_review.cli import main
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent
RECIPE = ROOT / "data" / "recipe" / "recipe-run-1.jsonl"
RECIPE_RUN = "recipe-run-1 (rebuilt)"
DEEPAGENTS = ROOT.parent / "shared/real/whileai-sdk/deepagents-review.base.holdout.jsonl"

PASSES, FAILS, UNUSABLE, UNKNOWN = 0, 1, 2, 3
"""Exit status: it holds, it does not, the input is unusable, not shown."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHILEAI_REVIEW_DB", raising=False)
    monkeypatch.delenv("WHILEAI_REVIEW_DEBUG", raising=False)
    return tmp_path


@pytest.fixture
def run(place):
    """Run the command line in this process; what it gave."""

    def run(*arguments, stdin=None):
        given = CliRunner().invoke(main, [str(a) for a in arguments], input=stdin)
        assert given.exception is None or isinstance(given.exception, SystemExit), given.exception
        return given

    return run


@pytest.fixture
def write(place):
    """Write rows as JSON lines; the path."""

    def write(rows, name="base.jsonl"):
        path = place / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def judged(pairs):
    """Rows of these (judge, gold), a task each."""
    return [
        {"scenario_id": f"t{n}", "rollout_index": 0, "prompt": f"ask {n}", "final_text": "done",
         "reward": judge}
        | ({} if gold is None else {"gold_reward": gold, "gold_kind": "human"})
        for n, (judge, gold) in enumerate(pairs)
    ]  # fmt: skip


def strict_json(text):
    """The value of a text that any JSON reader takes: no NaN, no Infinity."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def one_line(given, said):
    """Exit status 2 and one line of error that holds `said`."""
    assert given.exit_code == UNUSABLE, given.output
    assert given.stdout == ""
    lines = given.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("Error: "), given.stderr
    assert said in lines[0]


# Help


def commands(group=main, path=()):
    yield path, group
    if isinstance(group, click.Group):
        for name, command in group.commands.items():
            yield from commands(command, (*path, name))


def test_the_commands_are_those_of_the_design():
    assert {" ".join(path) for path, _ in commands()} == {
        "", "serve", "load", "trust", "gate", "certificate", "sign-off", "threshold", "shown", "label", "label import", "label export", "label program",
        "backup", "demo",
    }  # fmt: skip


@pytest.mark.parametrize("path", [path for path, _ in commands()], ids=" ".join)
def test_every_command_has_help_with_an_example(run, path):
    given = run(*path, "--help")
    assert given.exit_code == 0
    example = given.stdout.partition("Example:\n")[2].splitlines()
    assert example[0].strip().startswith("whileai-review " + " ".join(path))
    assert run(*path, "-h").stdout == given.stdout


def parse(line):
    """A command line of the help as click takes it; raises when an option is not there."""
    import shlex

    for part in line.split(" | "):
        words = shlex.split(part.partition(" > ")[0])
        assert words.pop(0) == "whileai-review"
        command, context = main, click.Context(main)
        while isinstance(command, click.Group):
            name, command, words = command.resolve_command(context, words)
        command.make_context(name, words)


@pytest.mark.parametrize("path", [path for path, _ in commands()], ids=" ".join)
def test_the_examples_of_the_help_are_taken(path, place):
    command = dict(commands())[path]
    text = command.help.partition("Example:")[2].replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    assert lines
    for line in lines:
        parse(line)


# Exit status of trust


def test_the_published_study_fails_with_its_numbers(run):
    # The recipe: 63% [56, 69] of 221 rows, tp 124 fp 58 fn 24 tn 15, 58 of 73 failures missed.
    given = run("trust", RECIPE)
    assert given.exit_code == FAILS
    for part in (
        "FAIL",
        "agreement 63% (95% 56%..69%, n=221), kappa 0.05",
        "tp=124 fp=58 fn=24 tn=15",
        "58 of 73 gold failures (79%)",
    ):
        assert part in given.stdout


@pytest.mark.parametrize(
    ("pairs", "status", "state"),
    [
        # Wilson, 95%: 240 of 245 [.953, .991] clears the floor of .80; 5 of 5 [.57, 1] does not.
        ([(1, 1)] * 140 + [(0, 0)] * 100 + [(1, 0)] * 5, PASSES, "passes"),
        ([(1, 1)] * 3 + [(0, 0)] * 2, UNKNOWN, "not_shown"),
        ([(1, None)] * 40, UNKNOWN, "not_measured"),
        ([(1, 1)] * 40 + [(1, 0)] * 50 + [(0, 0)] * 5, FAILS, "fails"),
    ],
)
def test_the_exit_status_is_the_state(run, write, pairs, status, state):
    path = write(judged(pairs))
    assert run("trust", path).exit_code == status
    as_json = run("trust", path, "--json")
    assert as_json.exit_code == status
    assert strict_json(as_json.stdout)["state"] == state


def test_a_loaded_run_is_measured_as_its_file(run):
    assert run("demo", "--db", "d.db").exit_code == 0
    by_name = run("trust", RECIPE_RUN, "--db", "d.db")
    assert by_name.exit_code == FAILS
    assert by_name.stdout.startswith("FAILS. Misses 79% of failures [69, 87]; ")
    assert by_name.stdout.endswith(run("trust", RECIPE).stdout)
    report = strict_json(run("trust", RECIPE_RUN, "--db", "d.db", "--json").stdout)
    assert report["n_cells"] == {"tp": 124, "fp": 58, "fn": 24, "tn": 15}
    action = run("trust", RECIPE_RUN, "--db", "d.db", "--criterion", "action", "--json")
    assert strict_json(action.stdout)["agreement"]["n"] == 222


def test_a_column_is_gold_when_it_is_named_only(run, write):
    pairs = [(1, 1)] * 140 + [(0, 0)] * 105
    path = write([{k: v for k, v in row.items() if not k.startswith("gold")} | {"human_label": g}
                  for row, (_, g) in zip(judged(pairs), pairs, strict=True)])  # fmt: skip
    unsaid = run("trust", path)
    assert unsaid.exit_code == UNKNOWN
    assert "human_label" in unsaid.stderr and "--gold" in unsaid.stderr
    no_origin = run("trust", path, "--gold", "human_label")
    assert no_origin.exit_code == UNKNOWN and "no recorded origin" in no_origin.stdout
    assert run("trust", path, "--gold", "human_label=human").exit_code == PASSES
    assert run("trust", path, "--gold", "human_label=model").exit_code == UNKNOWN
    one_line(run("trust", path, "--gold", "human_label=robot"), "'robot'")
    deeper = write([{**row, "by": {"ana": g}} for row, (_, g) in
                    zip(judged([(j, None) for j, _ in pairs]), pairs, strict=True)], "deeper.jsonl")  # fmt: skip
    assert run("trust", deeper, "--gold", "by.ana=human").exit_code == PASSES
    one_line(run("trust", path, "--gold", "nosuch"), "human_label")


# What is wrong is one line


def test_what_is_not_there_is_one_line(run, write):
    base = write(judged([(1, None)] * 4))
    one_line(run("load", "nosuch.jsonl"), "nosuch.jsonl")
    one_line(run("trust", "before", "--db", "none.db"), "none.db")
    one_line(run("trust", "before", "--db", "no/folder/none.db"), "none.db")
    onto = ("load", base, "--onto", "x", "--grader", "g")
    one_line(run(*onto, "--db", "none.db"), "none.db")
    assert not Path("none.db").exists()
    run("load", base, "--db", "a.db")
    for asked in (
        ("trust", "before"),
        ("label", "export", "before"),
        ("label", "import", "before", base, "--kind", "human"),
        ("label", "program", "before", "--name", "r", "--pass", "called(x)"),
        ("load", base, "--onto", "before", "--grader", "g"),
    ):
        given = run(*asked, "--db", "a.db")
        one_line(given, "before")
        assert "base" in given.stderr  # what there is
    one_line(run("trust", "base", "--db", "a.db", "--grader", "nobody"), "nobody")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("load", "base.jsonl", "--map", "reward"), "--map 'reward'"),
        (("load", "base.jsonl", "--map", "rewrad=x"), "Did you mean reward?"),
        (("load", "base.jsonl", "--map", "reward=x:yes=2"), "'yes'"),
        (("trust", "base.jsonl", "--map", "reward"), "--map 'reward'"),
        (("load", "base.jsonl", "--gold", "x"), "--gold x"),
        (("load", "base.jsonl", "--gold", "reward=robot"), "robot"),
        (("load", "base.jsonl", "--onto", "base"), "--grader"),
        (("label", "program", "base", "--name", "r"), "--pass"),
        (("label", "program", "base", "--name", "r", "--pass", "called("), "never closed"),
        (("label", "program", "base", "--name", "r", "--pass", "nosuch(x)"), "nosuch"),
        (("label", "program", "base", "--name", " ", "--pass", "called(x)"), "name"),
        (("label", "import", "base", "base.jsonl", "--kind", "human"), "base.jsonl"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_writes_nothing(run, write, arguments, said):
    write(judged([(1, None)] * 4))
    run("load", "base.jsonl", "--db", "a.db")
    if arguments[:2] == ("label", "import"):
        Path("base.jsonl").write_text('{"key": "t9#9", "label": 1}\n')
        said = "t9#9"
    # `trust` of a file opens no database.
    db = () if arguments[0] == "trust" else ("--db", "a.db")
    one_line(run(*arguments, *db), said)
    with open_store("a.db") as store:
        assert [r["name"] for r in store.runs()] == ["base"]
        assert store.labels("base", history=True) == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.jsonl", b"", "empty"),
        ("half.jsonl.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\x56", "half.jsonl.gz"),
        ("scalar.json", b"7", "scalar.json"),
        ("photo.jsonl", b"\x89PNG\r\n\x1a\n" + bytes(50), "an image"),
        (
            "tasks.json",
            b'[{"id": 1, "data": {"text": "a"}, "annotations": [{"result": []}]}]',
            "Label Studio",
        ),
        ("log.json", b'{"eval": {}, "plan": {}, "samples": []}', "Inspect log"),
    ],
)
@pytest.mark.parametrize("verb", ["load", "trust"])
def test_a_file_without_rows_is_one_line_that_says_what_it_is(
    run, place, name, content, said, verb
):
    (place / name).write_bytes(content)
    one_line(run(verb, name), said)


def test_a_folder_without_rows_is_one_line(run, place):
    (place / "runs").mkdir()
    one_line(run("load", "runs"), "runs")


@pytest.mark.parametrize("kind", ["another program's", "no database", "damaged"])
def test_a_database_that_is_not_ours_is_left_as_it_is(run, write, place, kind):
    path = place / "other.db"
    if kind == "another program's":
        with sqlite3.connect(path) as conn:
            conn.execute("CREATE TABLE songs (name TEXT)")
        conn.close()
    elif kind == "damaged":
        run("demo", "--db", path)
        whole = path.read_bytes()
        path.write_bytes(whole[:100] + bytes(4000) + whole[4100:])
    else:
        path.write_text("not a database, and longer than its header would be " * 9)
    before = path.read_bytes()
    base = write(judged([(1, None)] * 4))
    for arguments in (("load", base), ("trust", "base"), ("backup", "copy.db"), ("demo",)):
        one_line(run(*arguments, "--db", path), "other.db")
    assert path.read_bytes() == before
    assert not (place / "copy.db").exists()


def test_the_traceback_is_for_who_asks_for_it(place, monkeypatch):
    monkeypatch.setenv("WHILEAI_REVIEW_DEBUG", "1")
    given = CliRunner().invoke(main, ["load", "nosuch.jsonl"])
    assert isinstance(given.exception, ValueError)


# Load


def test_a_file_may_come_from_standard_input(run, write):
    text = write(judged([(1, 1)] * 140 + [(0, 0)] * 105)).read_bytes()
    loaded = strict_json(run("load", "-", "--as", "piped", "--json", stdin=text).stdout)
    assert (loaded["n_rows"], [r["name"] for r in loaded["runs"]]) == (245, ["piped"])
    assert run("trust", "-", stdin=text).exit_code == PASSES
    one_line(run("load", "-", stdin=b""), "standard input")


def test_what_was_not_loaded_is_said(run, place):
    lines = [json.dumps(row) for row in judged([(1, 1), (0, 0), (1, 0)])]
    (place / "base.jsonl").write_text("\n".join([lines[0], "{", *lines[1:], lines[0]]))
    given = run("load", "base.jsonl")
    assert given.exit_code == 0
    assert "base: 4 rows, 3 tasks" in given.stdout
    assert "line 2 refused" in given.stdout
    assert "1 rows share an identity" in given.stdout and "--duplicates" in given.stdout
    assert "looks like gold, not taken: gold_reward" in given.stdout
    again = run("load", "base.jsonl")
    assert again.exit_code == 0 and "--as NAME" in again.stdout


def test_a_folder_is_loaded_with_what_failed(run, write, place):
    write(judged([(1, None)] * 3), "one.jsonl")
    write(judged([(1, None)] * 4), "two.jsonl")
    (place / "three.jsonl").write_bytes(b"")
    given = run("load", place, "--db", "a.db")
    assert given.exit_code == 0
    assert "one: 3 rows" in given.stdout and "two: 4 rows" in given.stdout
    assert "not loaded: three.jsonl" in given.stdout


@pytest.mark.skipif(not DEEPAGENTS.exists(), reason="the real files are not here")
def test_retried_tasks_kept_last_give_the_published_accuracy(run):
    # published.json of whileai-sdk: 246 tasks, accuracy .7033 (173 of 246).
    loaded = run(
        "load", DEEPAGENTS, "--gold", "label=human", "--map", "reward=correct",
        "--map", "gold_reward=label:approve=1,reject=0", "--duplicates", "last", "--json",
    )  # fmt: skip
    assert loaded.exit_code == 0, loaded.output
    result = strict_json(loaded.stdout)
    assert (result["n_rows"], result["n_dropped"]) == (246, 67)
    rows = [json.loads(line) for line in DEEPAGENTS.read_text().splitlines()]
    last = {row["task_id"]: row for row in rows}.values()
    report = strict_json(run("trust", result["runs"][0]["name"], "--json").stdout)
    assert report["agreement"]["n"] == 246
    assert report["judge_passes"] == [173, 246]
    assert report["agreement"]["n_gold_pass"] == sum(row["label"] == "approve" for row in last)


@pytest.mark.skipif(not DEEPAGENTS.exists(), reason="the real files are not here")
def test_words_that_were_not_explained_become_no_label(run):
    given = run("load", DEEPAGENTS, "--gold", "label=human", "--map", "reward=correct",
                "--duplicates", "last")  # fmt: skip
    assert "246 rows" in given.stdout
    assert "gold_reward = 'reject'" in given.stdout and "gold_reward = 'approve'" in given.stdout
    with open_store("review.db") as store:
        assert store.labels(store.runs()[0]["id"]) == []


def test_a_second_judge_is_joined(run, write):
    write(judged([(1, 1)] * 6))
    run("load", "base.jsonl", "--gold", "gold_reward=human:ana", "--grader", "first")
    write(
        [{"scenario_id": f"t{n}", "rollout_index": 0, "reward": n % 2} for n in range(9)], "v.jsonl"
    )
    given = run("load", "v.jsonl", "--onto", "base", "--grader", "second")
    assert given.exit_code == 0
    assert "6 of 9 rows matched, 3 unmatched" in given.stdout
    report = strict_json(run("trust", "base", "--grader", "second", "--json").stdout)
    assert (report["grader"], report["judge_passes"]) == ("second", [3, 6])


# Labels


@pytest.fixture
def loaded(run, write):
    """A run of six rows with a label by ana on each."""
    write(judged([(1, 1), (1, 0), (0, 0), (1, 1), (0, 1), (1, 1)]))
    run("load", "base.jsonl", "--gold", "gold_reward=human:ana", "--db", "a.db")


COUNTS = ("matched", "new", "changed", "unchanged", "unmatched", "invalid")


def test_labels_go_out_and_come_into_a_fresh_store_once(run, loaded):
    out = run("label", "export", "base", "--db", "a.db")
    lines = [strict_json(line) for line in out.stdout.splitlines()]
    assert [line["label"] for line in lines] == [1, 0, 0, 1, 1, 1]
    assert {line["annotator"] for line in lines} == {"ana"}
    run("load", "base.jsonl", "--db", "b.db")
    arguments = ("label", "import", "base", "-", "--kind", "human", "--db", "b.db")
    first = strict_json(run(*arguments, "--json", stdin=out.stdout_bytes).stdout)
    assert [first[k] for k in COUNTS] == [6, 6, 0, 0, 0, 0]
    second = strict_json(run(*arguments, "--json", stdin=out.stdout_bytes).stdout)
    assert [second[k] for k in COUNTS] == [6, 0, 0, 6, 0, 0]
    assert "6 of 6 labels matched, 0 new, 0 changed, 6 unchanged" in (
        run(*arguments, stdin=out.stdout_bytes).stdout
    )
    back = [
        json.loads(x) for x in run("label", "export", "base", "--db", "b.db").stdout.splitlines()
    ]
    for line in (*lines, *back):
        line.pop("ts_original", None)
    assert back == lines


def test_an_export_for_an_estimate_gives_trust_its_numbers(run, loaded):
    out = run("label", "export", "base", "--for-estimate", "--db", "a.db", "-o", "gold.jsonl")
    assert (out.exit_code, out.stdout) == (0, "")
    of_file = run("trust", "gold.jsonl", "--json")
    of_run = run("trust", "base", "--db", "a.db", "--json")
    piped = run("trust", "-", "--json", stdin=Path("gold.jsonl").read_bytes())
    reports = [strict_json(given.stdout) for given in (of_file, of_run, piped)]
    # By hand: tp 3, fp 1, fn 1, tn 1; agreement 4 of 6.
    for report in reports:
        assert report["agreement"]["n"] == 6
        assert report["agreement"]["agreement"] == pytest.approx(4 / 6)
        assert report["agreement"] == reports[0]["agreement"]
    assert {g.exit_code for g in (of_file, of_run, piped)} == {UNKNOWN}


RULE = ("--name", "credit", "--when", "completed(lookup_invoice)", "--pass", "called(issue_credit)")


def test_a_rule_previews_and_then_writes_once(run):
    run("demo", "--db", "d.db")
    arguments = ("label", "program", RECIPE_RUN, "--db", "d.db", *RULE)
    with open_store("d.db") as store:
        before = store.labels(RECIPE_RUN, history=True)
    # By hand from the file: of the rows that completed a lookup, those that called the tool.
    rows = [json.loads(line) for line in RECIPE.read_text().splitlines()]
    called = [{step["tool"] for step in row["steps"]} for row in rows]
    looked = [c for c in called if "lookup_invoice" in c]
    n_pass = sum("issue_credit" in c for c in looked)
    seen = strict_json(run(*arguments, "--preview", "--json").stdout)
    assert (seen["n"], seen["n_pass"]) == (222, n_pass)
    assert seen["n_pass"] + seen["n_fail"] + seen["n_no_label"] == 222
    text = run(*arguments, "--preview").stdout
    assert text.startswith(f"{n_pass:,} pass, ") and "pass: " in text
    with open_store("d.db") as store:
        assert store.labels(RECIPE_RUN, history=True) == before
    first = strict_json(run(*arguments, "--json").stdout)
    assert first["new"] == seen["n_pass"] + seen["n_fail"]
    assert "0 new, 0 changed" in run(*arguments).stdout


def test_a_rule_may_stand_in_a_file(run, place):
    run("demo", "--db", "d.db")
    (place / "rule.txt").write_text("when: completed(lookup_invoice)\npass: called(issue_credit)\n")
    arguments = ("label", "program", RECIPE_RUN, "--db", "d.db", "--preview")
    by_file = run(*arguments, "--name", "credit", "--rule", "rule.txt")
    assert by_file.exit_code == 0
    assert by_file.stdout == run(*arguments, *RULE).stdout
    one_line(run(*arguments, *RULE, "--rule", "rule.txt"), "--rule")


# Backup, demo


def test_a_backup_is_a_whole_store_and_overwrites_nothing(run, loaded, place):
    given = run("backup", "copy.db", "--db", "a.db", "--json")
    assert given.exit_code == 0
    assert strict_json(given.stdout) == {
        "path": "copy.db",
        "bytes": (place / "copy.db").stat().st_size,
    }
    assert (
        run("label", "export", "base", "--db", "copy.db").stdout
        == run("label", "export", "base", "--db", "a.db").stdout
        != ""
    )
    (place / "mine.db").write_text("mine")
    one_line(run("backup", "mine.db", "--db", "a.db"), "mine.db")
    assert (place / "mine.db").read_text() == "mine"
    one_line(run("backup", "no/such/copy.db", "--db", "a.db"), "no/such")
    one_line(run("backup", "c.db", "--db", "none.db"), "none.db")


def test_the_demo_twice_is_the_demo_once(run):
    first = strict_json(run("demo", "--db", "d.db", "--json").stdout)

    def held():
        with open_store("d.db") as store:
            return [
                (r["id"], r["name"], r["n_rows"], len(store.run(r["id"])["graders"]),
                 len(store.labels(r["id"], history=True)))
                for r in store.runs()
            ]  # fmt: skip

    before = held()
    assert {r[1] for r in before} == set(first["runs"]) >= {RECIPE_RUN, "before", "after"}
    assert strict_json(run("demo", "--db", "d.db", "--json").stdout) == first
    assert held() == before


def test_the_database_may_be_named_in_the_environment(run, monkeypatch, place):
    monkeypatch.setenv("WHILEAI_REVIEW_DB", str(place / "named.db"))
    assert "named.db" in run("demo").stdout
    assert (place / "named.db").exists() and not (place / "review.db").exists()


# As a process of its own


def shell(*arguments, stdin=b""):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "whileai_review", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        timeout=60,
        env=environment,
    )


def test_python_m_is_the_command(place):
    done = shell("--version")
    assert (done.returncode, done.stdout.decode().split()) == (
        0,
        ["whileai-review,", "version", __version__],
    )


def test_a_pipe_carries_rows_and_status_and_no_progress_bar(place):
    loaded = shell("load", "-", "--as", "piped", "--json", stdin=RECIPE.read_bytes())
    assert (loaded.returncode, loaded.stderr) == (0, b"")
    assert json.loads(loaded.stdout)["n_rows"] == 222
    failed = shell("trust", "-", stdin=RECIPE.read_bytes())
    assert (failed.returncode, failed.stderr) == (FAILS, b"")
    wrong = shell("trust", "nosuch")
    assert wrong.returncode == UNUSABLE and b"Traceback" not in wrong.stderr
