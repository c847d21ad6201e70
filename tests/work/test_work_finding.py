"""Rows found by words, by filters and by both, against a plain loop over the rows."""

import json
import os
import re
import signal
import time
from multiprocessing import get_context

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_review import work
from whileai_review.load import Mapping
from whileai_review.store import RefusedError, open_store
from whileai_review.work import Filters, finding, searching

WORDS = ["invoice", "late fee", "escalate", "refund", "waived", "naïve café", "用户"]
REGIMES = ["BIG", "SMALL", "a=b", ""]
GOLD = {"gold_reward": {"kind": "program", "annotator": "rule:r"}}
MAPPING = Mapping({"reward": "reward", "gold_reward": "gold_reward"})


def a_row(i):
    row = {
        "scenario_id": f"t{i % 17}",
        "rollout_index": i // 17,
        "prompt": f"ask about {WORDS[i % 3]}",
        "final_text": f"{WORDS[i % 7]} and {WORDS[(i * i) % 5]} {i}",
        "steps": [{"tool": "look_up", "arguments": {"id": f"INV-{i}"}, "result": "ok"}],
        "reason": f"reason{i % 4}",
        "regime": REGIMES[i % 4],
        "latency": i / 10,
        "reward": 1 if i % 3 else 0,
    }
    if i % 5:
        row["gold_reward"] = 1 if i % 2 else 0
    return row


ROWS = [a_row(i) for i in range(120)]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finding")
    path = folder / "base.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    with open_store(folder / "review.db") as store:
        run = work.load_file(store, path, mapping=MAPPING, origins=GOLD)["runs"][0]
        yield store, run["id"], store.tasks_of(run["id"])[0]


def texts(row, place=None):
    parts = {
        "ask": row["prompt"],
        "reply": row["final_text"],
        "calls": f"look_up id {row['steps'][0]['arguments']['id']} ok",
        "reason": row["reason"],
    }
    return parts.values() if place is None else [parts[place]]


def tokens(text):
    return re.findall(r"[^\W_]+", text.lower())


def says(row, word, place=None):
    """Whether the words of `word` stand together in one text, the last of 3 letters as a start."""
    wanted = tokens(word)
    for text in texts(row, place):
        there = tokens(text)
        for n in range(len(there) - len(wanted) + 1):
            part = there[n : n + len(wanted)]
            whole = part == wanted
            begun = part[:-1] == wanted[:-1] and part[-1].startswith(wanted[-1])
            if whole or (begun and len(wanted[-1]) >= 3):
                return True
    return False


def holds(row, asked):
    judge, gold = row["reward"], row.get("gold_reward")
    cells = {
        "tp": (1, 1), "fp": (1, 0), "fn": (0, 1), "tn": (0, 0),
    }  # fmt: skip
    if asked.cell in cells and (judge, gold) != cells[asked.cell]:
        return False
    if asked.cell == "disagree" and (gold is None or judge == gold):
        return False
    if asked.cell == "agree" and (gold is None or judge != gold):
        return False
    if asked.verdict and {"pass": 1, "fail": 0, "none": None}[asked.verdict] != judge:
        return False
    if asked.task and row["scenario_id"] != asked.task:
        return False
    for each in asked.where:
        if each.startswith("regime=") and row["regime"] != each[7:]:
            return False
        if each.startswith("latency>=") and not row["latency"] >= float(each[9:]):
            return False
        if each.startswith("latency<=") and not row["latency"] <= float(each[9:]):
            return False
    return all(says(row, *part.split("@")) for part in asked.text.split("+") if part)


def maybe(strategy):
    return st.one_of(st.none(), strategy)


WHERE = st.one_of(
    st.sampled_from([f"regime={r}" for r in REGIMES] + ["regime=none such"]),
    st.integers(-1, 13).map(lambda n: f"latency>={n}"),
    st.integers(-1, 13).map(lambda n: f"latency<={n}"),
)
WORD = st.sampled_from(
    ["invoice", "escal", "late", "fee", "refund", "INV", "12", "cafe"[:3], "reason2", "zebra"]
)
ASKED = st.builds(
    Filters,
    text=st.lists(WORD, max_size=2).map("+".join),
    cell=maybe(st.sampled_from(["tp", "fp", "fn", "tn", "agree", "disagree"])),
    where=st.lists(WHERE, max_size=2).map(tuple),
    verdict=maybe(st.sampled_from(["pass", "fail", "none"])),
    label=st.none(),
    flag=st.none(),
    cause=st.none(),
    task=maybe(st.integers(0, 18).map("t{}".format)),
)


@settings(max_examples=200, deadline=None)
@given(asked=ASKED, page=st.integers(1, 3), size=st.sampled_from([1, 7, 500]))
def test_filters_and_words_find_what_a_loop_finds(loaded, asked, page, size):
    store, run, ids = loaded
    expected = [i for i, row in zip(ids, ROWS, strict=True) if holds(row, asked)]
    asked = asked._replace(text=asked.text.replace("+", " "))
    found = work.find_rows(store, run, asked, page=page, size=size)
    page = min(page, max(1, -(-len(expected) // size)))  # behind the last page: the last one
    assert found.ids == expected[(page - 1) * size : page * size]
    assert (found.total, found.exact) == (len(expected), True)


@settings(max_examples=30, deadline=None)
@given(asked=ASKED)
def test_rollouts_of_a_task_stand_together(loaded, asked):
    store, run, ids = loaded
    task = {i: row["scenario_id"] for i, row in zip(ids, ROWS, strict=True)}
    asked = asked._replace(text=asked.text.replace("+", " "))
    found = work.find_rows(store, run, asked, by_task=True, size=500).ids
    assert sorted(found) == work.find_rows(store, run, asked, size=500).ids
    order = list(dict.fromkeys(task.values()))
    assert found == sorted(found, key=lambda i: (order.index(task[i]), i))


def test_many_hits_are_counted_up_to_a_limit(loaded, monkeypatch):
    store, run, ids = loaded
    monkeypatch.setattr(finding, "HITS", 10)
    monkeypatch.setattr(finding, "LOOKED", 50)
    found = work.find_rows(store, run, Filters(text="ask"), size=3)
    assert found.ids == ids[:3] and not found.exact and 10 <= found.total < 120
    deep = work.find_rows(store, run, Filters(text="ask"), page=12, size=10)
    assert deep.ids == ids[110:120]
    among = work.find_rows(store, run, Filters(text="ask", task="t3"), size=3)
    mates = [i for i, r in zip(ids, ROWS, strict=True) if r["scenario_id"] == "t3"]
    assert among.ids == mates[:3] and 3 <= among.total <= len(mates)
    last = work.find_rows(store, run, Filters(text="ask", task="t3"), size=len(mates))
    assert last.ids == mates  # hits are looked at until the page is full


def test_rollouts_of_one_row(loaded):
    store, _, ids = loaded
    mates = [i for i, r in zip(ids, ROWS, strict=True) if r["scenario_id"] == "t3"]
    assert work.task_rows(store, mates[2]) == mates
    assert work.task_rows(store, mates[2], limit=2) == mates[:2]


def test_columns_say_what_there_is(loaded):
    store, run, _ = loaded
    known = work.columns_of(store, run)
    assert known["latency"] == {"kind": "metric", "low": 0.0, "high": 11.9}
    assert dict(known["regime"]["values"]) == dict.fromkeys(REGIMES, 30)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (Filters(cell="xx"), "No cell 'xx'"),
        (Filters(verdict="maybe"), "No verdict 'maybe'"),
        (Filters(label="good"), "No label 'good'"),
        (Filters(flag="red"), "No flag 'red'"),
        (Filters(where=("regime",)), "is no filter: write field=value"),
        (Filters(where=("colour=red",)), "No field 'colour'"),
        (Filters(where=("latency>=soon",)), "'soon' is no number"),
        (Filters(text="🙂"), "no letter and no digit"),
    ],
)
def test_a_filter_that_says_nothing_is_refused_by_name(loaded, asked, why):
    store, run, _ = loaded
    with pytest.raises(RefusedError, match=re.escape(why)):
        work.find_rows(store, run, asked)


# What people said of rows


def test_labels_notes_and_causes_can_be_found(store, put, judged, press):
    run = put(judged(12))
    ids = store.tasks_of(run["id"])[0]
    queue = work.draw_queue(store, run["id"], "census")
    order = store.queue_row_ids(queue["id"])
    press(queue, order[0], "pass", note="a zebra in it")
    press(queue, order[1], "fail")
    press(queue, order[2], "unclear")

    def find(**asked):
        return work.find_rows(store, run["id"], Filters(**asked)).ids

    assert find(label="pass") == [order[0]]
    assert find(label="fail") == [order[1]]
    assert find(label="unclear") == [order[2]]
    assert find(label="any") == sorted(order[:3])
    assert find(label="none") == sorted(order[3:])
    assert find(text="zebra") == find(text="note:zebra") == find(flag="note") == [order[0]]
    store.undo_label("ana", "back", label_id=None, queue_id=queue["id"])
    assert find(label="unclear") == []
    store.add_finding(ids[4], "cause", "bo", code="promises", note="an okapi")
    assert find(cause="promises") == find(text="okapi") == [ids[4]]
    store.add_finding(ids[5], "read", "bo")
    assert find(flag="read") == [ids[5]]
    assert find(flag="unread") == [i for i in ids if i != ids[5]]


def test_what_a_reader_has_still_to_label_is_not_given_away(store, put, judged, press):
    run = put(judged(12))
    queue = work.draw_queue(store, run["id"], "census")
    order = store.queue_row_ids(queue["id"])
    press(queue, order[0], "pass")

    def find(reader, **asked):
        return work.find_rows(store, run["id"], Filters(**asked), reader=reader)

    passed = work.find_rows(store, run["id"], Filters(verdict="pass")).ids
    assert len(passed) == 6
    seen = find("ana", verdict="pass")
    assert set(seen.ids) == set(passed) & {order[0]} and seen.left_out == 11
    assert find("bo", verdict="pass").ids == passed  # who labels nothing here sees all
    assert find("ana", text="reply").total == 12  # words of the row give nothing away


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("okapi", []),  # in the judge's reason alone
        ("reason:okapi", []),
        ("zebra", []),  # in another person's note alone
        ("note:zebra", []),
        ("reply -okapi", "all"),  # what is not there tells as much
        ("reply -note:zebra", "all"),
        ("reply okapi", []),
        ("reply", "all"),
    ],
)
@pytest.mark.parametrize("filters", [{}, {"where": ("regime=BIG",)}, {"flag": "unread"}])
def test_no_search_tells_what_the_judge_or_others_wrote_of_a_row_to_be_labelled(
    store, put, judged, press, text, found, filters
):
    rows = [row | {"regime": "BIG", "reason": "an okapi"} for row in judged(12)]
    run = put(rows)
    queue = work.draw_queue(store, run["id"], "census")
    order = store.queue_row_ids(queue["id"])
    press(queue, order[0], "pass")
    for row in order:
        store.add_label(row, "bo", "fail", f"n{row}", note="a zebra")

    def find(reader):
        return work.find_rows(store, run["id"], Filters(text=text, **filters), reader=reader)

    left = set(find("ana").ids) - {order[0]}
    assert left == (set(order[1:]) if found == "all" else set())
    assert find("ana").own_words == 11 and find("ana").left_out == 0
    if " -" not in text:
        assert find("bo").total == 12  # who labels nothing here sees all
    assert find("bo").own_words == 0


@pytest.mark.parametrize("name", ["gpt4_score", "isCorrect", "human verdict", "AnswerGrade"])
def test_a_column_named_like_a_verdict_gives_nothing_away(store, put, judged, press, name):
    run = put([row | {name: i % 2, "regime": "BIG"} for i, row in enumerate(judged(12))])
    queue = work.draw_queue(store, run["id"], "census")
    order = store.queue_row_ids(queue["id"])
    press(queue, order[0], "pass")
    for said in (f"{name}=1", f"{name}>=1"):
        seen = work.find_rows(store, run["id"], Filters(where=(said,)), reader="ana")
        assert set(seen.ids) <= {order[0]} and seen.left_out == 11
    assert (
        work.find_rows(store, run["id"], Filters(where=("regime=BIG",)), reader="ana").total == 12
    )


def test_a_column_whose_name_holds_a_sign_can_be_filtered_by(store, put, judged):
    names = ["a=b", "n>=2", "a", "<"]
    run = put([row | {n: f"{n}{i % 3}" for n in names} for i, row in enumerate(judged(12))])
    ids = store.tasks_of(run["id"])[0]
    for name in names:
        found = work.find_rows(store, run["id"], Filters(where=(f"{name}={name}1",)))
        assert found.ids == ids[1::3], name


@pytest.mark.parametrize("asked", [Filters(cell="fp"), Filters(verdict="pass")])
def test_a_cell_without_a_judge_is_refused_not_empty(store, lines, judged, asked):
    rows = [{k: v for k, v in row.items() if k != "reward"} for row in judged(4)]
    run = work.load_file(store, lines(rows, "bare.jsonl"))["runs"][0]["id"]
    with pytest.raises(RefusedError, match="This run has no judge"):
        work.find_rows(store, run, asked)


def test_a_cell_without_gold_is_refused_not_empty(store, put, judged):
    run = put(judged(4))
    with pytest.raises(RefusedError, match="This run has no gold on 'overall'"):
        work.find_rows(store, run["id"], Filters(cell="fp"))


def test_a_picked_queue_enters_no_estimate(store, put, judged, press):
    run = put(judged(12))
    ids = store.tasks_of(run["id"])[0]
    queue = work.picked_queue(store, run["id"], ids[:3], "picked", "overall", "ana")
    for row in store.queue_row_ids(queue["id"]):
        press(queue, row, "fail")
    report = work.trust(store, run["id"])
    assert report["coverage"]["picked"] == 3 and report["agreement"]["n"] == 0


# The index, kept up


def test_new_notes_reach_the_index_and_old_text_is_not_indexed_twice(store, put, judged):
    run = put(judged(6))
    assert work.find_rows(store, run["id"], Filters(text="zebra")).ids == []
    row = store.tasks_of(run["id"])[0][2]
    store.add_label(row, "ana", "fail", "n", note="zebra")
    assert work.find_rows(store, run["id"], Filters(text="zebra")).ids == [row]
    assert work.find_rows(store, run["id"], Filters(text="reply")).total == 6


def test_reasons_of_verdicts_put_on_later_are_found(store, put, judged, lines):
    run = put(judged(6))
    assert work.find_rows(store, run["id"], Filters(text="okapi")).ids == []
    again = [row | {"reward": 1, "reason": "an okapi"} for row in judged(6)[:2]]
    work.join_verdicts(store, run["id"], "second", lines(again, "v.jsonl"))
    ids = store.tasks_of(run["id"])[0]
    assert work.find_rows(store, run["id"], Filters(text="okapi")).ids == ids[:2]


def _build_forever(path, run):
    searching.BATCH = 5
    with open_store(path, create=False) as store:
        insert = type(store).index_texts

        def slow(self, *arguments):
            time.sleep(0.05)
            return insert(self, *arguments)

        type(store).index_texts = slow
        searching.index_text(store, run)


def test_a_build_that_was_killed_goes_on_where_it_was(store, put, judged):
    run = put(judged(300))
    build = get_context("fork").Process(target=_build_forever, args=(store.path, run["id"]))
    build.start()
    ids = store.tasks_of(run["id"])[0]
    end = time.monotonic() + 20
    while store.indexed(run["id"]).get("rows", 0) < ids[40] and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(build.pid, signal.SIGKILL)
    build.join()
    assert ids[0] <= store.indexed(run["id"])["rows"] < ids[-1]
    assert work.find_rows(store, run["id"], Filters(text="reply"), size=500).ids == ids


def test_a_column_of_many_numbers_can_be_filtered_by_though_nobody_declared_it(store, put, judged):
    rows = [row | {"tokens": 3 * i, "trace": f"trace {i}"} for i, row in enumerate(judged(2_500))]
    run = put(rows)
    known = work.columns_of(store, run["id"])
    assert known["tokens"] == {"kind": "metric", "low": 0.0, "high": 7_497.0}
    assert "trace" not in known  # text of its own on every row: that is searched
    found = work.find_rows(store, run["id"], Filters(where=("tokens>=7494",)))
    assert found.ids == store.tasks_of(run["id"])[0][-2:]
