import gzip
import io
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from whileai_review import load, work
from whileai_review.load import Mapping
from whileai_review.store import RefusedError, open_store
from whileai_review.work import loading, pool

REAL = Path(__file__).parents[3] / "shared" / "real"
DEEPAGENTS = REAL / "whileai-sdk" / "deepagents-review.base.holdout.jsonl"
HUMAN = {"gold_reward": {"kind": "human", "annotator": "ana"}}
GOLD = Mapping({"reward": "reward", "gold_reward": "gold_reward"})


def left_behind(store):
    """Lines of a load that should have left none, whatever its state."""
    import sqlite3  # noqa: TID251  (the store's own reads show ready runs only)

    with sqlite3.connect(store.path) as conn:
        tables = ("runs", "rows", "bodies", "scores", "labels", "refusals", "graders")
        counts = {t: conn.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables}
    return {table: n for table, n in counts.items() if n}


# Where a file may come from


@pytest.mark.parametrize("kind", ["path", "text", "file", "gzip", "misnamed gzip", "stdin"])
def test_the_same_rows_come_in_however_the_file_is_given(
    store, judged, lines, tmp_path, monkeypatch, kind
):
    path = lines(judged(5))
    source = {"path": path, "text": str(path), "file": io.BytesIO(path.read_bytes())}.get(kind)
    if "gzip" in kind:
        source = tmp_path / ("base.jsonl.gz" if kind == "gzip" else "packed.jsonl")
        source.write_bytes(gzip.compress(path.read_bytes()))
    if kind == "stdin":
        source = "-"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    result = work.load_file(store, source)
    assert result["n_rows"] == 5
    assert [row["final_text"] for row in store.rows(result["runs"][0]["id"])] == [
        f"reply {i}" for i in range(5)
    ]


@pytest.mark.parametrize(
    ("name", "run"),
    [("base.jsonl", "base"), ("a.b.jsonl.gz", "a.b"), ("BASE.CSV", "BASE"), (".jsonl", "run")],
)
def test_a_run_is_named_after_its_file_without_the_ending(name, run):
    assert loading._stem(name) == run


def test_a_folder_is_a_batch_with_one_summary(store, judged, lines, tmp_path):
    lines(judged(3), "one.jsonl")
    lines(judged(6), "two.jsonl")
    (tmp_path / "broken.jsonl").write_bytes(b"\x00\x01\x02binary\xff" * 20)
    result = work.load_folder(store, tmp_path)
    assert {run["name"]: run["n_rows"] for run in result["runs"]} == {"one": 3, "two": 6}
    assert result["n_rows"] == 9
    assert [Path(f["file"]).name for f in result["failed"]] == ["broken.jsonl"]


def test_a_folder_without_rows_is_one_line(store, tmp_path):
    (tmp_path / "notes.jsonl").write_text("[1, 2]\n")
    with pytest.raises(load.UnreadableError, match="no file with rows"):
        work.load_folder(store, tmp_path)


# Splitting, duplicates, the same content again


def test_a_column_splits_a_file_into_runs(store, judged, lines):
    result = work.load_file(store, lines(judged(8)), split="regime")
    assert {run["name"]: run["n_rows"] for run in result["runs"]} == {
        "base/BIG": 2,
        "base/SMALL": 6,
    }
    assert [(r["split_column"], r["split_value"]) for r in result["runs"]] == [
        ("regime", "BIG"),
        ("regime", "SMALL"),
    ]


@pytest.mark.parametrize(
    ("policy", "replies", "dropped"),
    [
        ("keep", ["a", "a", "b", "c"], 0),
        ("collapse", ["a", "b", "c"], 1),
        ("last", ["b", "c"], 2),
    ],
)
def test_rows_of_equal_identity(store, lines, policy, replies, dropped):
    # r1: the same line twice, then another reply.
    rows = [{"rollout_id": i, "prompt": "p", "final_text": t} for i, t in
            [("r1", "a"), ("r1", "a"), ("r1", "b"), ("r2", "c")]]  # fmt: skip
    result = work.load_file(store, lines(rows), duplicates=policy)
    assert [row["final_text"] for row in store.rows(result["runs"][0]["id"])] == replies
    assert (result["n_dropped"], result["n_exact"]) == (dropped, 1)
    assert result["n_duplicates"] == len(replies) - 2


@pytest.mark.skipif(not DEEPAGENTS.exists(), reason="the real files are not here")
def test_retried_tasks_kept_last_give_the_published_accuracy(store):
    # published.json of whileai-sdk: 246 tasks, accuracy .7033 (173 of 246).
    result = work.load_file(store, DEEPAGENTS, duplicates="last")
    line = next(r for r in work.overview(store) if r["id"] == result["runs"][0]["id"])
    assert (result["n_rows"], line["pass_rate"]["n"]) == (246, 246)
    assert round(line["pass_rate"]["value"], 4) == 0.7033


def test_the_same_content_again_is_the_same_run(store, judged, lines, tmp_path):
    path = lines(judged(4))
    first = work.load_file(store, path)["runs"][0]
    packed = tmp_path / "other.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for source, name in [(path, None), (packed, None), (path, "base"), (path, "other")]:
        again = work.load_file(store, source, name=name)
        assert (again["same_as"]["id"], again["n_rows"]) == (first["id"], 0)
        assert "--as" in again["notes"][0]
    assert len(store.runs()) == 1


def test_again_makes_a_second_run_on_purpose(store, judged, lines):
    path = lines(judged(4))
    work.load_file(store, path)
    second = work.load_file(store, path, name="twin", again=True)
    assert second["same_as"] is None
    assert [run["name"] for run in store.runs()] == ["twin", "base"]


def test_a_name_that_is_taken_by_other_content_is_refused(store, judged, lines):
    work.load_file(store, lines(judged(4)))
    before = left_behind(store)
    with pytest.raises(RefusedError, match="'base' is there already.*--as NAME"):
        work.load_file(store, lines(judged(5), "longer.jsonl"), name="base")
    assert left_behind(store) == before


def test_another_file_of_the_same_name_gets_a_free_one(store, judged, lines):
    work.load_file(store, lines(judged(4)))
    assert work.load_file(store, lines(judged(5)))["runs"][0]["name"] == "base-2"


# What was refused, and what must leave nothing


def test_refused_lines_are_counted_and_kept_with_their_reason(store, judged, lines):
    path = lines(judged(3))
    text = path.read_text().splitlines()
    path.write_text("\n".join([text[0], '{"prompt": ', text[1], "[1]", text[2]]))
    result = work.load_file(store, path)
    assert (result["n_rows"], result["n_refused"]) == (3, 2)
    kept = store.refusals(result["runs"][0]["id"])
    assert [line["line"] for line in kept] == [2, 4]
    assert [r[1] for r in result["refused"]] == [2, 4]
    assert all(line["reason"] for line in kept) and kept[1]["text"] == "[1]"


@pytest.mark.parametrize("large", [False, True])
def test_half_a_gzip_leaves_nothing(store, judged, tmp_path, monkeypatch, large):
    monkeypatch.setattr(loading, "FORK_BYTES", 0 if large else 10**9)
    noise = [row | {"note": os.urandom(60).hex()} for row in judged(6_000)]
    whole = gzip.compress("".join(json.dumps(row) + "\n" for row in noise).encode())
    path = tmp_path / "half.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(load.UnreadableError, match="ends early"):
        work.load_file(store, path)
    assert left_behind(store) == {}


def test_a_load_that_raises_in_the_middle_leaves_nothing(store, judged, lines):
    def stop(n):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work.load_file(store, lines(judged(30)), progress=stop)
    assert left_behind(store) == {}


def test_labels_that_cannot_be_written_take_the_run_with_them_or_leave_it_whole(
    store, judged, lines, monkeypatch
):
    def fail(*args, **kwargs):
        raise RefusedError("disk full")

    monkeypatch.setattr(type(store), "put_labels", fail)
    rows = [row | {"gold_reward": 1} for row in judged(4)]
    with pytest.raises(RefusedError, match="disk full"):
        work.load_file(store, lines(rows), mapping=GOLD, origins=HUMAN)
    assert store.runs() == []
    assert left_behind(store) == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"7\n", "not a row"),
        (b"\x7fELF\x00\x00\x01\xff" * 9, "is a program"),
    ],
    ids=["empty", "a JSON scalar", "binary"],
)
def test_what_is_no_file_of_rows_is_one_line(store, tmp_path, content, said):
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    with pytest.raises(load.UnreadableError, match=f"(?i){said}") as error:
        work.load_file(store, path)
    assert "\n" not in str(error.value)
    assert left_behind(store) == {}


# A large file: read in a process of its own


def test_a_file_read_ahead_gives_the_same_run(store, judged, lines, monkeypatch):
    path = lines([row | {"gold_reward": n % 2} for n, row in enumerate(judged(5_000))])
    options = {"mapping": GOLD, "origins": HUMAN}
    here = work.load_file(store, path, name="here", **options)["runs"][0]
    monkeypatch.setattr(loading, "FORK_BYTES", 0)
    monkeypatch.setattr(pool, "_may_fork", lambda: True)
    seen = []
    there = work.load_file(store, path, "there", again=True, progress=seen.append, **options)
    there = there["runs"][0]
    same = ("n_rows", "n_tasks", "content_hash", "n_bytes", "n_duplicates", "gold")
    assert {k: here[k] for k in same} == {k: there[k] for k in same}
    assert seen == [2_000, 4_000, 5_000]
    columns = [store.columns(r["id"], r["grader_id"], "overall") for r in (here, there)]
    for column in columns:
        column.pop("id")
    assert columns[0] == columns[1]


def _raise_in_the_middle(*args):
    yield from _first_batch(*args)
    raise load.UnreadableError("base.jsonl, line 7: ends early.")


def _killed_in_the_middle(*args):
    yield from _first_batch(*args)
    os.kill(os.getpid(), signal.SIGKILL)


def _first_batch(*args):
    from whileai_review.work._columns import Batch, read_columns

    yield next(b for b in read_columns(*args) if isinstance(b, Batch))


@pytest.mark.parametrize(
    ("reader", "error", "said"),
    [
        (_raise_in_the_middle, load.UnreadableError, "line 7: ends early"),
        (_killed_in_the_middle, pool.KilledError, "was killed .* Nothing was kept"),
    ],
)
def test_what_stops_the_reading_process_is_one_line_and_leaves_nothing(
    store, judged, lines, monkeypatch, reader, error, said
):
    monkeypatch.setattr(loading, "FORK_BYTES", 0)
    monkeypatch.setattr(pool, "_may_fork", lambda: True)  # never in this process: it would die
    monkeypatch.setattr(loading, "read_columns", reader)
    with pytest.raises(error, match=said) as caught:
        work.load_file(store, lines(judged(10)))
    assert "\n" not in str(caught.value)
    assert left_behind(store) == {}


# Label columns


def test_a_label_column_without_an_origin_is_no_gold(store, judged, lines):
    result = work.load_file(store, lines([row | {"gold_reward": 1} for row in judged(4)]))
    assert result["label_columns"] == ["gold_reward"]
    assert store.labels(result["runs"][0]["id"]) == []
    assert result["runs"][0]["gold"] is None
    assert next(iter(store.rows("base")))["gold_reward"] == 1


def test_label_columns_become_labels_of_their_kind_and_annotator(store, judged, lines):
    rows = [row | {"gold_reward": 1, "unit": n % 2} for n, row in enumerate(judged(4))]
    rows[3]["gold_reward"] = 0.5
    mapping = Mapping(
        {"reward": "reward", "gold_reward": "gold_reward", "gold_reward:tests": "unit"}
    )
    origins = HUMAN | {"gold_reward:tests": {"kind": "program"}}
    result = work.load_file(store, lines(rows), mapping=mapping, origins=origins)
    labels = store.labels("base")
    by = [(x["criterion"], x["annotator"], x["kind"], x["verdict"], x["chosen"]) for x in labels]
    assert sorted(by) == sorted(
        [("overall", "ana", "human", "pass", "imported")] * 3
        + [("tests", "file:base.jsonl", "program", v, "imported") for v in ["fail", "pass"] * 2]
    )
    assert result["labels"]["new"] == 7
    assert result["notes"] == ["1 label values are neither 0 nor 1 and were not taken"]
    assert result["label_columns"] == []


def test_the_origin_may_name_the_column_as_the_file_does(store, judged, lines):
    rows = [row | {"human_says": 1} for row in judged(2)]
    mapping = Mapping({"reward": "reward", "gold_reward": "human_says"})
    work.load_file(store, lines(rows), mapping=mapping, origins={"human_says": {"kind": "human"}})
    assert {x["annotator"] for x in store.labels("base")} == {"file:base.jsonl"}


@pytest.mark.parametrize(
    ("origins", "said"),
    [
        ({"gold_reward": {"kind": "robot"}}, "human, a program or a model, not 'robot'"),
        ({"nosuch": {"kind": "human"}}, "No label column 'nosuch'.*--map gold_reward=nosuch"),
    ],
)
def test_an_origin_that_makes_no_sense_is_refused(store, judged, lines, origins, said):
    rows = [row | {"gold_reward": 1} for row in judged(2)]
    with pytest.raises(RefusedError, match=said):
        work.load_file(store, lines(rows), mapping=GOLD, origins=origins)
    assert left_behind(store) == {}


def test_the_first_gold_is_the_default_and_later_labels_never_switch_it(
    store, judged, lines, press
):
    rows = [row | {"gold_reward": 1} for row in judged(6)]
    run = work.load_file(
        store, lines(rows), mapping=GOLD, origins={"gold_reward": {"kind": "program"}}
    )["runs"][0]
    assert run["gold"] == "file:base.jsonl"
    queue = work.draw_queue(store, run["id"], "census")
    for row_id in store.tasks_of(run["id"])[0]:
        press(queue, row_id, "fail")
    work.label_by_rule(store, run["id"], lambda row: 0, name="strict")
    assert store.run(run["id"])["gold"] == "file:base.jsonl"
    assert work.trust(store, run["id"])["gold"] == "file:base.jsonl"


def test_several_readings_of_a_verdict_ask_instead_of_guessing(store, lines):
    rows = [{"prompt": f"p{i}", "final_text": "x", "verdict": "approve", "passed": 1} for i in
            range(3)]  # fmt: skip
    rows = [{k: v for k, v in row.items() if k != "passed"} for row in rows]
    with pytest.raises(work.NeedsMappingError, match="--map") as error:
        work.load_file(store, lines(rows))
    assert error.value.sniff.columns == ["prompt", "final_text", "verdict"]
    assert left_behind(store) == {}


def test_an_origin_that_is_said_on_a_second_load_is_taken(store, judged, lines):
    path = lines([row | {"gold_reward": n % 2} for n, row in enumerate(judged(4))])
    run = work.load_file(store, path)["runs"][0]
    options = {"mapping": GOLD, "origins": HUMAN}
    second = work.load_file(store, path, **options)
    assert second["same_as"]["id"] == run["id"]
    assert second["labels"]["new"] == 4 and "4 labels new" in second["notes"][1]
    with open_store(store.path.with_name("once.db")) as other:
        work.load_file(other, path, **options)
        strip = ("row_id", "identity", "annotator", "verdict", "kind", "criterion", "chosen")
        one, two = ([[x[k] for k in strip] for x in s.labels("base")] for s in (store, other))
        assert one == two
    third = work.load_file(store, path, name="base", **options)
    assert third["labels"] == {"new": 0, "changed": 0, "unchanged": 4, "withdrawn": 0}
    assert len(third["notes"]) == 1


# Verdicts onto a loaded run


def verdicts_of(store, run, grader):
    number = next(g["id"] for g in store.run(run)["graders"] if g["name"] == grader)
    return store.columns(run, number, "overall")["verdict"]


def test_verdicts_join_by_identity_with_every_line_accounted_for(store, put, judged, lines):
    run = put(judged(4))
    given = [
        {"rollout_id": "t0#0", "reward": 0},
        {"scenario_id": "t0", "rollout_index": 1, "reward": 1},
        {"rollout_id": "t0#2", "reward": 1},
        {"rollout_id": "t0#2", "reward": 0},  # against the line before
        {"rollout_id": "t9#0", "reward": 1},  # no such row
        {"rollout_id": "t1#0", "reward": None},
    ]
    result = work.join_verdicts(store, run["id"], "literal", lines(given, "v.jsonl"))
    counts = ("n_rows", "matched", "unmatched", "conflicting", "no_verdict")
    assert [result[k] for k in counts] == [6, 2, 1, 1, 1]
    assert result["unmatched_keys"] == ["t9#0"]
    assert verdicts_of(store, run["id"], "literal") == [0, 1, None, None]


def test_a_verdict_for_a_name_that_two_rows_share_is_not_taken(store, put, judged, lines):
    twins = judged(2) + [judged(2)[1] | {"final_text": "another"}]
    run = put(twins)
    given = [{"rollout_id": "t0#0", "reward": 1}, {"rollout_id": "t0#1", "reward": 1}]
    result = work.join_verdicts(store, run["id"], "literal", lines(given, "v.jsonl"))
    assert (result["matched"], result["conflicting"]) == (1, 1)
    assert verdicts_of(store, run["id"], "literal") == [1, None, None]


def test_joined_again_the_new_verdicts_count_and_trust_is_measured_anew(store, recipe, lines):
    ids = store.identities(recipe["id"])[1]
    for value, passes in [(1, 222), (0, 0)]:
        given = [{"rollout_id": i, "reward": value} for i in ids]
        work.join_verdicts(store, recipe["id"], "constant", lines(given, "v.jsonl"))
        report = work.trust(store, recipe["id"], grader="constant")
        assert report["judge_passes"] == [passes, 222]
    # 148 of 221 gold passes: what a judge that always passes scores is 67% (statistics.md 2).
    assert report["n_cells"] == {"tp": 0, "fp": 0, "fn": 148, "tn": 73}
    assert len(store.run(recipe["id"])["graders"]) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([{"rollout_id": "x", "reward": 1}], "none of its 1 rows is a rollout of base.*x"),
        ([{"rollout_id": "t0#0", "note": "fine"}], "no verdict column"),
        ([{"rollout_id": "t0#0", "reward": None}], "no verdict in reward"),
    ],
)
def test_a_file_that_joins_nothing_is_one_line(store, put, judged, lines, given, said):
    run = put(judged(3))
    mapping = Mapping({"reward": "reward"}) if "reward" in given[0] else None
    with pytest.raises(load.UnreadableError, match=said):
        work.join_verdicts(store, run["id"], "literal", lines(given, "v.jsonl"), mapping)
    assert [g["name"] for g in store.run(run["id"])["graders"]] == ["reward"]


# The demo


def test_loading_the_demo_again_changes_nothing(tmp_path):
    folder = Path(__file__).parents[2] / "data" / "demo"
    with open_store(tmp_path / "demo.db") as store:
        work.load_demo(store, folder)
        store.rename_run("before", "my before")

        def state():
            return [(r["id"], r["name"], store.verdict_revision(r["id"])) for r in store.runs()]

        there = state()
        work.load_demo(store, folder)
        assert state() == there
        assert len(store.run("my before")["graders"]) == 2
