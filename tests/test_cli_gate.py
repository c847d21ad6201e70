"""The gate as a job meets it: exit status, what it prints, certificates that it takes and refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from whileai_review import load, work
from whileai_review.cli import main
from whileai_review.score.certificate import certificate_hash
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent
PASSES, FAILS, UNUSABLE, UNKNOWN = 0, 1, 2, 3

MAPPING = load.Mapping({"reward": "reward", "gold_reward": "gold_reward"})

GOOD = [(1, 1)] * 60 + [(0, 0)] * 60
BAD = [(1, 1)] * 60 + [(1, 0)] * 40 + [(0, 1)] * 20 + [(0, 0)] * 10
FEW = [(1, 1)] * 14 + [(1, 0)] + [(0, 1)] + [(0, 0)] * 14


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHILEAI_REVIEW_DB", raising=False)
    monkeypatch.delenv("WHILEAI_REVIEW_DEBUG", raising=False)
    return tmp_path


@pytest.fixture
def run(place):
    def run(*arguments, stdin=None):
        given = CliRunner().invoke(main, [str(a) for a in arguments], input=stdin)
        assert given.exception is None or isinstance(given.exception, SystemExit), given.exception
        return given

    return run


def judged(pairs, mark=""):
    return [
        {"scenario_id": f"t{n}", "rollout_index": 0, "prompt": f"ask {n}", "reward": judge,
         "final_text": f"done {mark}"} | ({} if gold is None else {"gold_reward": gold})
        for n, (judge, gold) in enumerate(pairs)
    ]  # fmt: skip


def write(place, pairs, name, mark=""):
    path = place / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in judged(pairs, mark)))
    return path


@pytest.fixture
def loaded(place):
    """A database of a run that passes, one that fails, one not shown, one without labels."""
    with open_store(place / "review.db") as store:
        runs = [("good", GOOD), ("bad", BAD), ("few", FEW), ("after", [(1, None)] * 60)]
        for name, pairs in runs:
            origins = {"gold_reward": {"kind": "human"}} if pairs[0][1] is not None else None
            path = write(place, pairs, name, name)
            mapping = MAPPING if origins else load.Mapping({"reward": "reward"})
            work.load_file(store, path, grader="rubric_judge", mapping=mapping, origins=origins)
    return place


@pytest.fixture
def certified(loaded, run):
    """The same, with an exported certificate of each that has one."""
    for name in ("good", "bad", "few"):
        assert run("certificate", name, "--by", "lea", "-o", f"{name}.json").exit_code == PASSES
    return loaded


@pytest.mark.parametrize(
    ("name", "status", "word"),
    [("good", PASSES, "PASSES"), ("bad", FAILS, "FAILS"), ("few", UNKNOWN, "NOT SHOWN"),
     ("after", UNKNOWN, "NOT MEASURED")],
)  # fmt: skip
def test_a_run_is_measured_and_gated(loaded, run, name, status, word):
    given = run("gate", name)
    assert given.exit_code == status, given.output
    assert given.stdout.startswith(f"{word}. ")
    assert run("gate", name, "--json").exit_code == status
    assert run("gate", name, "--markdown").exit_code == status


@pytest.mark.parametrize(("name", "status"), [("good", PASSES), ("bad", FAILS), ("few", UNKNOWN)])
def test_a_certificate_says_the_same_without_the_database(certified, run, name, status):
    (certified / "review.db").rename(certified / "elsewhere.db")
    given = run("gate", f"{name}.json", "--json")
    assert given.exit_code == status
    said = json.loads(given.stdout)
    assert said["exit"] == status and said["issued"]
    assert said["certificate"]["hash"] == json.loads(Path(f"{name}.json").read_text())["hash"]


@pytest.mark.parametrize(
    ("pairs", "status"), [(GOOD, PASSES), (BAD, FAILS), (FEW, UNKNOWN), ([(1, None)] * 9, UNKNOWN)]
)
def test_a_file_of_rows_is_measured(place, run, pairs, status):
    path = write(place, pairs, "rows")
    assert run("gate", path, "--gold", "gold_reward=human").exit_code == (
        status if pairs[0][1] is not None else UNUSABLE
    )
    if pairs[0][1] is None:
        assert run("gate", path).exit_code == status


def test_standard_input_is_measured(place, run):
    text = "".join(json.dumps(row | {"gold_kind": "human"}) + "\n" for row in judged(GOOD))
    assert run("gate", "-", stdin=text).exit_code == PASSES
    assert run("gate", "-", stdin="").exit_code in (UNUSABLE, UNKNOWN)


def test_another_policy_is_three_and_says_what_to_label(certified, run):
    for call in (("good.json", "--on", "after"), ("after", "--certificate", "good.json"),
                 ("good", "--on", "after")):  # fmt: skip
        given = run("gate", *call)
        assert given.exit_code == UNKNOWN, call
        said = "Measured on good; this run is after: label 40 random rows of after"
        assert said in given.stdout
    assert run("gate", "good.json", "--on", "good").exit_code == PASSES
    assert run("gate", "good", "--certificate", "good.json").exit_code == PASSES


def test_a_file_of_rows_is_held_against_a_certificate(certified, run):
    assert run("gate", "good.jsonl", "--certificate", "good.json").exit_code == PASSES
    assert run("gate", "after.jsonl", "--certificate", "good.json").exit_code == UNKNOWN


def test_rows_of_one_policy_are_certified_by_a_measurement_of_another_run(loaded, run):
    """Where the rows say who wrote them, a second run of that agent is covered."""
    with open_store(loaded / "review.db") as store, store._connections.write() as conn:
        conn.execute("UPDATE runs SET policy_hash='p1' WHERE name IN ('good', 'after')")
    assert run("gate", "good", "--on", "after").exit_code == PASSES
    with open_store(loaded / "review.db") as store, store._connections.write() as conn:
        conn.execute("UPDATE runs SET policy_hash='p2' WHERE name='after'")
    assert run("gate", "good", "--on", "after").exit_code == UNKNOWN


def test_two_arms_of_one_file_are_two_policies(place, run):
    rows = judged(GOOD) + judged([(1, None)] * 20, "b")
    for n, row in enumerate(rows):
        row["arm"] = "a" if n < len(GOOD) else "b"
        row["scenario_id"] = f"{row['arm']}{n}"
    (place / "both.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(place / "review.db") as store:
        work.load_file(store, place / "both.jsonl", split="arm", grader="j", mapping=MAPPING,
                       origins={"gold_reward": {"kind": "human"}})  # fmt: skip
        names = sorted(r["name"] for r in store.runs())
    assert run("gate", names[0]).exit_code == PASSES
    assert run("gate", names[0], "--on", names[1]).exit_code == UNKNOWN


def test_another_judge_is_three(certified, run):
    with open_store(certified / "review.db") as store:
        ids = store.tasks_of("good")[0]
        store.add_verdicts("good", "literal", [(i, "overall", 1, None, None) for i in ids])
        grader = next(g for g in store.run("good")["graders"] if g["name"] == "literal")
        store.choose("after", gold="human")
        store.choose("good", grader=grader["id"])
    # The run still has the certified judge's verdicts: it is found by its name.
    assert run("gate", "good.json", "--on", "good").exit_code == PASSES
    with open_store(certified / "review.db") as store, store._connections.write() as conn:
        conn.execute("UPDATE graders SET name='renamed' WHERE name='rubric_judge'")
    given = run("gate", "good.json", "--on", "good")
    assert given.exit_code == UNKNOWN
    assert "measured for the judge rubric_judge" in given.stdout.lower()


def test_an_interim_queue_is_three_and_gets_no_certificate(loaded, run):
    with open_store(loaded / "review.db") as store:
        queue = work.draw_queue(store, "after", "random", 30)["id"]
        for row_id in store.queue_row_ids(queue)[:12]:
            store.add_label(row_id, "ana", "pass", f"n{row_id}", queue_id=queue)
        store.choose("after", gold="human")
    given = run("gate", "after")
    assert given.exit_code == UNKNOWN
    assert given.stdout.startswith("INTERIM. 12 of 30 planned labels")
    assert run("trust", "after").exit_code == UNKNOWN
    with open_store(loaded / "review.db") as store:  # what was printed is one look, not two
        looks = work.trust(store, "after")["plan_history"]["looks"]
    assert [(look["n_labels"], look["by"]) for look in looks] == [(12, "command line")]
    refused = run("certificate", "after")
    assert refused.exit_code == UNUSABLE
    assert "No certificate yet: 12 of 30 planned labels" in refused.stderr


def test_nothing_measured_gets_no_certificate(loaded, run):
    given = run("certificate", "after")
    assert given.exit_code == UNUSABLE
    assert "Nothing to certify" in given.stderr


def test_a_certificate_edited_by_hand_is_refused(certified, run):
    text = Path("bad.json").read_text()
    for edited in (text.replace('"state":"fails"', '"state":"passes"'), text[:-20], text + "}"):
        assert edited != text
        Path("edited.json").write_text(edited)
        for call in (("edited.json",), ("bad", "--certificate", "edited.json")):
            given = run("gate", *call)
            assert given.exit_code == UNUSABLE, given.output
            assert given.stderr.startswith("Error: edited.json: ")
    Path("edited.json").write_text(text.replace('"state":"fails"', '"state":"passes"'))
    assert "this certificate was changed after it was issued" in run("gate", "edited.json").stderr


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("nowhere",), "No run 'nowhere' here"),
        (("good", "--certificate", "nowhere.json"), "nowhere.json is not there"),
        (("good", "--certificate", "good.jsonl"), "not JSON"),
        (("good.json", "--certificate", "good.json"), "is a certificate itself"),
        (("good", "--certificate", "good.json", "--on", "after"), "once"),
        (("good.json", "--grader", "literal"), "of the grader 'rubric_judge', not 'literal'"),
        (("good.json", "--criterion", "action"), "of the criterion 'overall', not 'action'"),
        (("good.json", "--on", "nowhere"), "No run 'nowhere' here"),
        (("good", "--grader", "nobody"), "No grader 'nobody'"),
        (("good", "--json", "--markdown"), "not both"),
    ],
)
def test_unusable_input_is_one_line_and_two(certified, run, call, said):
    given = run("gate", *call)
    assert given.exit_code == UNUSABLE, given.output
    assert given.stdout == ""
    assert len(given.stderr.splitlines()) == 1 and said in given.stderr, given.stderr


def test_no_database_is_two(place, run):
    given = run("gate", "before")
    assert given.exit_code == UNUSABLE
    assert "No database at" in given.stderr


def test_the_same_measurement_is_the_same_certificate(certified, run):
    again = run("certificate", "good")
    assert json.loads(again.stdout) == json.loads(Path("good.json").read_text())
    with open_store(certified / "review.db") as store:
        row = store.tasks_of("good")[0][0]
        store.add_label(row, "ana", "fail", "n1")
        # An import is a gold of its own: a person's label does not move what was measured on it.
        assert len(store.certificates(store.run("good")["id"])) == 1


def test_sign_offs_are_kept_exported_and_change_no_exit_status(certified, run):
    hash_ = json.loads(Path("bad.json").read_text())["hash"]
    given = run("sign-off", hash_[:8], "accept", "--reason", "we ship anyway", "--by", "lea")
    assert given.exit_code == PASSES
    assert "(the gate goes by the numbers: FAILS)" in given.stdout
    run("sign-off", hash_, "hold", "--reason", "read 20 more first", "--by", "lea")
    given = run("gate", "bad")
    assert given.exit_code == FAILS
    assert "put on hold by lea" in given.stdout
    exported = json.loads(run("certificate", "bad").stdout)
    assert [s["decision"] for s in exported["sign_offs"]] == ["accept", "hold"]
    Path("signed.json").write_text(json.dumps(exported))
    given = run("gate", "signed.json", "--json")
    assert given.exit_code == FAILS
    assert json.loads(given.stdout)["sign_off"]["reason"] == "read 20 more first"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("zzzzzzzz", "accept", "--reason", "r", "--by", "b"), "No certificate zzzzzzzz"),
        (("ab", "accept", "--reason", "r", "--by", "b"), "at least 6 characters"),
        (("zzzzzzzz", "maybe", "--reason", "r", "--by", "b"), "maybe"),
    ],
)
def test_a_sign_off_of_nothing_is_refused(certified, run, call, said):
    given = run("sign-off", *call)
    assert given.exit_code == UNUSABLE
    assert said in given.stderr


def test_a_sign_off_needs_a_reason_and_a_name(certified, run):
    hash_ = json.loads(Path("bad.json").read_text())["hash"]
    for reason, by in ((" ", "lea"), ("r", " "), ("r" * 2_001, "lea")):
        given = run("sign-off", hash_, "accept", "--reason", reason, "--by", by)
        assert given.exit_code == UNUSABLE


def test_markdown_for_a_job_has_headline_table_and_hash(certified, run):
    text = run("gate", "good.json", "--markdown").stdout
    hash_ = json.loads(Path("good.json").read_text())["hash"]
    assert text.startswith("### PASSES: may rubric\\_judge be used?\n")
    assert "| Agreement | 100% |" in text and f"sha256 {hash_}" in text


def test_the_exit_status_reaches_a_shell(loaded):
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    for name, status in (("good", 0), ("bad", 1), ("nowhere", 2), ("few", 3)):
        done = subprocess.run(
            [sys.executable, "-m", "whileai_review", "gate", name, "--db", "review.db"],
            cwd=loaded, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr


def test_the_store_never_forgets_a_certificate_of_a_deleted_run(certified):
    with open_store(certified / "review.db") as store:
        hash_ = json.loads(Path("good.json").read_text())["hash"]
        store.delete_run("good")
        assert store.certificate(hash_)["certificate"]["hash"] == hash_


def test_a_certificate_that_this_database_does_not_know_is_said(certified, run):
    """A hash is no signature: who can compute one can write a certificate of their own."""
    found = json.loads(Path("good.json").read_text())
    found["headline"]["bold"] = "All is well."
    found["hash"] = certificate_hash(found)
    Path("forged.json").write_text(json.dumps(found))
    for call in (("forged.json", "--on", "good"), ("good", "--certificate", "forged.json")):
        given = run("gate", *call)
        assert given.exit_code == PASSES and "not issued in this database" in given.stdout
        said = json.loads(run("gate", *call, "--json").stdout)
        assert said["issued"] and not said["issued_here"]
    known = run("gate", "good.json", "--on", "good")
    assert known.exit_code == PASSES and "not issued" not in known.stdout
