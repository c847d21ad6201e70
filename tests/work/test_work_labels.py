import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_review import judge_trust, load, work
from whileai_review.load import Mapping
from whileai_review.store import RefusedError, open_store

MEASURED = (
    "agreement", "tpr", "tnr", "j", "reward_in_error", "judge_fail_right", "baseline", "state",
    "state_reason", "held_out_halves", "length_sensitivity", "n_rows", "n_labeled", "n_tasks",
    "gold_kind", "gold_degenerate", "skipped", "flagged", "ok", "warnings", "floors",
    "person_against_rule", "foreign_rewards",
)  # fmt: skip


def plain(value):
    """As JSON has it: tuples are lists."""
    return json.loads(json.dumps(value, default=str))


def as_records(path, records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


# Labels in


def test_labels_come_in_under_every_name_of_a_row(store, put, judged, lines):
    run = put(judged(6))
    given = [
        {"key": "t0#0", "label": 1},
        {"rollout_id": "t0#1", "label": 0},
        {"scenario_id": "t0", "rollout_index": 2, "label": 1},
        {"prompt": "ask 1", "final_text": "reply 3", "label": 0},
        {"key": "t9#9", "label": 1},
        {"key": "t1#1", "label": 0.5},
        {"key": "t1#2", "verdict": "unclear", "label": None},
    ]
    result = work.import_labels(store, run["id"], lines(given, "gold.jsonl"), annotator="ana")
    counts = ("labels", "matched", "unmatched", "invalid", "new", "unclear")
    assert [result[k] for k in counts] == [7, 5, 1, 1, 5, 1]
    assert result["unmatched_keys"] == ["t9#9"]
    assert [(x["identity"], x["verdict"]) for x in store.labels(run["id"])] == [
        ("t0#0", "pass"),
        ("t0#1", "fail"),
        ("t0#2", "pass"),
        ("t1#0", "fail"),
        ("t1#2", "unclear"),
    ]
    assert {(x["annotator"], x["kind"], x["chosen"]) for x in store.labels(run["id"])} == {
        ("ana", "human", "imported")
    }


def test_the_same_file_again_changes_nothing_and_one_verdict_changed_is_a_revision(
    store, put, judged, lines
):
    run = put(judged(6))
    given = [{"key": f"t{i // 3}#{i % 3}", "label": 1, "annotator": "ana"} for i in range(6)]
    assert work.import_labels(store, run["id"], lines(given, "gold.jsonl"))["new"] == 6
    again = work.import_labels(store, run["id"], lines(given, "gold.jsonl"))
    assert (again["new"], again["changed"], again["unchanged"]) == (0, 0, 6)
    given[4]["label"] = 0
    third = work.import_labels(store, run["id"], lines(given, "gold.jsonl"))
    assert (third["new"], third["changed"], third["unchanged"]) == (0, 1, 5)
    of_row = [x for x in store.labels(run["id"], history=True) if x["identity"] == "t1#1"]
    assert [x["verdict"] for x in of_row] == ["pass", "fail"]
    assert of_row[1]["supersedes"] == of_row[0]["id"]
    assert len(store.labels(run["id"])) == 6


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([{"key": "t0#0", "label": 1}], "t0#0"),  # two rows answer to it
        ([{"key": "nosuch", "label": 1}], "nosuch"),
        ([{"key": "t1#0", "label": 1, "kind": "robot"}], "robot"),
    ],
)
def test_labels_that_cannot_be_placed_are_refused_whole(store, put, judged, lines, given, said):
    run = put([*judged(6), judged(1)[0] | {"final_text": "retried"}])
    fine = [] if said == "nosuch" else [{"key": "t1#2", "label": 1}]
    with pytest.raises(ValueError, match=said):
        work.import_labels(store, run["id"], lines([*fine, *given], "gold.jsonl"))
    assert store.labels(run["id"], history=True) == []


def test_a_bare_list_of_verdicts_names_no_row(store, put, judged, tmp_path):
    run = put(judged(4))
    path = tmp_path / "bare.json"
    path.write_text("[0, 1, 1, 0]")
    with pytest.raises(ValueError) as error:  # whilehq/whileai-sdk#685
        work.import_labels(store, run["id"], path)
    assert "\n" not in str(error.value)
    assert store.labels(run["id"]) == []


def test_ids_are_text_so_7_is_7_and_007_is_another(store, put, lines):
    rows = [{"rollout_id": i, "prompt": "p", "final_text": str(i)} for i in (7, "007", "1e5")]
    run = put(rows, mapping=Mapping())
    given = [
        {"rollout_id": "7", "label": 1},
        {"rollout_id": "007", "label": 0},
        {"key": 7, "label": 0, "annotator": "bo"},
    ]
    work.import_labels(store, run["id"], lines(given, "gold.jsonl"), annotator="ana")
    got = [(x["identity"], x["verdict"], x["annotator"]) for x in store.labels(run["id"])]
    assert sorted(got) == [("007", "fail", "ana"), ("7", "fail", "bo"), ("7", "pass", "ana")]


def test_labels_of_a_spreadsheet(store, put, judged, tmp_path):
    run = put(judged(4))
    path = tmp_path / "gold.csv"
    text = "rollout_id,label,annotator,note\nt0#0,1,ana,fine\nt0#1,0,ana,\nt0#2,None,ana,\n"
    path.write_text(text)
    result = work.import_labels(store, run["id"], path)
    assert (result["matched"], result["invalid"]) == (2, 1)
    assert [(x["verdict"], x["note"]) for x in store.labels(run["id"])] == [
        ("pass", "fine"),
        ("fail", None),
    ]


def test_keys_of_other_names_need_a_mapping(store, put, judged, lines):
    run = put(judged(2))
    given = [{"rollout_id": "t0#0", "says": "approve"}, {"rollout_id": "t0#1", "says": "reject"}]
    mapping = Mapping({"reward": "says"}, {"reward": {"approve": 1, "reject": 0}})
    work.import_labels(store, run["id"], lines(given, "gold.jsonl"), mapping=mapping)
    assert [x["verdict"] for x in store.labels(run["id"])] == ["pass", "fail"]
    assert store.labels(run["id"])[0]["annotator"] == "file:gold.jsonl"


@pytest.mark.parametrize("odd", [{"annotator": 7}, {"note": ["a", 1]}, {"criterion": 3},
                                 {"seconds": "long"}, {"step": {}}, {"ts": "yesterday"},
                                 {"ts": [1]}, {"chosen": 1}])  # fmt: skip
def test_odd_values_beside_a_label_neither_raise_nor_lose_it(store, put, judged, lines, odd):
    run = put(judged(2))
    path = lines([{"key": "t0#0", "label": 1} | odd], "gold.jsonl")
    for new in (1, 0):
        assert work.import_labels(store, run["id"], path)["new"] == new
    assert [x["verdict"] for x in store.labels(run["id"])] == ["pass"]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/St_Johns"])
def test_instants_are_kept_as_written_and_in_utc_whatever_the_zone_of_the_server(
    store, put, judged, lines, monkeypatch, zone
):
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        run = put(judged(4))
        # 2023-03-01T12:00+05:45 is 06:15 UTC; the clock of St. John's jumps on 12 March.
        given = [
            ("2023-03-01T12:00:00+05:45", "2023-03-01T06:15:00.000+00:00"),
            ("2023-03-12T05:31:00", "2023-03-12T05:31:00.000+00:00"),
            (1678600000000, "2023-03-12T05:46:40.000+00:00"),
        ]
        labels = [{"key": f"t0#{n}", "label": 1, "ts": ts} for n, (ts, _) in enumerate(given)]
        work.import_labels(store, run["id"], lines(labels, "gold.jsonl"))
        out = list(work.export_labels(store, run["id"]))
        assert [x["ts"] for x in out] == [instant for _, instant in given]
        assert [x["ts_original"] for x in out] == [str(ts) for ts, _ in given]
    finally:
        monkeypatch.undo()
        time.tzset()


# Labels out


def test_a_label_undone_and_given_again_by_two_people_is_one_current_label_each(
    store, put, judged, press
):
    # HumanSignal/label-studio#719/#764
    run = put(judged(3))
    queue = work.draw_queue(store, run["id"], "census")
    row_id = store.next_row(queue["id"], "ana")["row_id"]
    press(queue, row_id, "pass")
    press(queue, row_id, "undo")
    press(queue, row_id, "fail", note=" on second thought ")
    press(queue, row_id, "pass", annotator="bo")
    out = [
        (x["annotator"], x["label"], x.get("note")) for x in work.export_labels(store, run["id"])
    ]
    assert out == [("ana", 0, "on second thought"), ("bo", 1, None)]
    past = list(work.export_labels(store, run["id"], history=True))
    assert [(x["annotator"], x["verdict"]) for x in past] == [
        ("ana", "pass"),
        ("ana", None),
        ("ana", "fail"),
        ("bo", "pass"),
    ]
    assert [x.get("undone", False) for x in past] == [False, True, False, False]
    line = work.overview(store)[0]
    assert line["n_labelled"] == 1


def every_kind_of_label(store, run, press):
    """Answers of a random queue and of a review, can't tell, seen first, by a rule, imported."""
    queue = work.draw_queue(store, run["id"], n=20, seed=3)
    for n in range(8):
        row_id = store.next_row(queue["id"], "ana")["row_id"]
        press(queue, row_id, ("pass", "fail", "unclear")[n % 3], note=f"n{n}", step=n)
    row_id = store.next_row(queue["id"], "ana")["row_id"]
    store.add_finding(row_id, "cause", "ana", code="names the tool")
    press(queue, row_id, "fail")
    for n, row_id in enumerate(store.queue_row_ids(queue["id"])[4:]):
        press(queue, row_id, "pass" if n % 2 else "fail", annotator="bo")
    work.label_by_rule(store, run["id"], lambda row: int("reply 1" in row["final_text"]), "ones")
    review = work.review_queue(store, run["id"])
    for _ in range(3):
        press(review, store.next_row(review["id"], "cy")["row_id"], "fail", annotator="cy")


def test_an_export_comes_back_as_it_was_into_a_fresh_store(
    store, put, judged, press, tmp_path, lines
):
    run = put(judged(24))
    every_kind_of_label(store, run, press)
    first = list(work.export_labels(store, run["id"]))
    assert {x["kind"] for x in first} == {"human", "program"}
    assert any("unblinded_at" in x for x in first)
    with open_store(tmp_path / "fresh.db") as fresh:
        other = work.load_file(fresh, lines(judged(24), "base.jsonl"), mapping=Mapping(
            {"reward": "reward"}))["runs"][0]  # fmt: skip
        path = as_records(tmp_path / "labels.jsonl", first)
        result = work.import_labels(fresh, other["id"], path)
        assert result["new"] == len(first)
        fresh.choose(other["id"], gold="human")
        store.choose(run["id"], gold="human")

        def order(x):
            return (x["key"], x["annotator"])

        again = sorted(work.export_labels(fresh, other["id"]), key=order)
        for label in again:
            label.pop("ts_original")  # how the file wrote it; the first one came from no file
        assert again == sorted(first, key=order)
        for gold in ("human", "program"):
            one, two = (
                work.trust(s, r["id"], gold=gold) for s, r in ((store, run), (fresh, other))
            )
            assert {k: one[k] for k in MEASURED} == {k: two[k] for k in MEASURED}
            assert one["coverage"] == two["coverage"]


@pytest.mark.parametrize("gold", ["human", "program"])
def test_judge_trust_of_the_export_is_trust_of_the_store(store, put, judged, press, gold, tmp_path):
    run = put(judged(60))
    every_kind_of_label(store, run, press)
    store.choose(run["id"], gold=gold)
    report = work.trust(store, run["id"])
    path = as_records(tmp_path / "estimate.jsonl", work.export_labels(store, run["id"], True))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    direct = judge_trust(rows)
    assert report["n_labeled"] > 12
    assert {k: plain(direct[k]) for k in MEASURED} == {k: plain(report[k]) for k in MEASURED}
    # Rows that nobody could tell are in no row of the export; all else is printed alike.
    more = str(report).removeprefix(str(direct)).strip()
    assert str(report) == report["text"] and str(report).startswith(str(direct))
    assert not more or (more.startswith("! can't tell on") and "\n" not in more)
    assert len(direct["disagreements"]) == report["n_disagreements"]


def test_what_is_exported_for_an_estimate_is_what_trust_measures_on_each_criterion(
    store, recipe, press
):
    # People labelled `overall`, the picked gold; on `action` there is the rule's gold alone.
    queue = work.draw_queue(store, recipe["id"], n=5)
    for _ in range(5):
        press(queue, store.next_row(queue["id"], "ana")["row_id"], "pass")
    store.choose(recipe["id"], gold="human", criterion="action")
    report = work.trust(store, recipe["id"])
    direct = judge_trust(list(work.export_labels(store, recipe["id"], for_estimate=True)))
    assert report["n_labeled"] == direct["n_labeled"] == 222
    assert plain(direct["agreement"]) == plain(report["agreement"])
    assert work.review_queue(store, recipe["id"])["gold"] == "program"


def test_an_export_for_an_estimate_leaves_out_what_may_not_enter_one(store, put, judged, press):
    run = put(judged(6))
    ids = store.tasks_of(run["id"])[0]
    queue = work.draw_queue(store, run["id"], "census")
    press(queue, ids[0], "pass")
    press(queue, ids[1], "unclear")
    store.add_finding(ids[2], "cause", "ana", code="x")
    press(queue, ids[2], "pass")  # seen first
    store.add_label(ids[3], "ana", "pass", "no queue")  # picked
    rows = list(work.export_labels(store, run["id"], for_estimate=True))
    assert [row.get("gold_reward") for row in rows] == [1, None, None, None, None, None]
    assert work.trust(store, run["id"])["coverage"] == {
        "random": 1, "imported": 0, "picked": 2, "unblinded": 1, "unclear": 1, "none": 2
    }  # fmt: skip


def test_labels_of_one_person_in_a_tie_with_another_leave_a_row_without_gold(
    store, put, judged, press
):
    run = put(judged(3))
    queue = work.draw_queue(store, run["id"], "census")
    row_id = store.tasks_of(run["id"])[0][0]
    press(queue, row_id, "pass")
    press(queue, row_id, "fail", annotator="bo")
    found = work.gold_of_row(store, row_id, "human", "overall")
    assert (found["label"], len(found["by"])) == (None, 2)
    press(queue, row_id, "fail", annotator="cy")
    assert work.gold_of_row(store, row_id, "human", "overall")["label"] == 0
    assert work.gold_of_row(store, row_id, "program", "overall") == {"label": None, "by": []}


# Whole ways through (field reports A and B)

HARD = [
    9223372036854775808,
    9223372036854775809,
    "1234567890123456789",
    -1234567890123456789,
    "NA",
    "None",
    "null",
    "nan",
    "007",
    7,
    "1e5",
    "2024-01-02",
    "👩‍👩‍👧",
    "\u202eabc",
    "a\u0301",
]


def test_hard_ids_survive_load_label_and_export(store, lines, press, tmp_path):
    # simonw/sqlite-utils#605, pandas-dev/pandas#20608, #10647, plotly/plotly.js#7147
    rows = [{"rollout_id": i, "prompt": "p", "final_text": f"r{n}"} for n, i in enumerate(HARD)]
    run = work.load_file(store, lines(rows))["runs"][0]
    queue = work.draw_queue(store, run["id"], "census")
    for row_id in store.tasks_of(run["id"])[0]:
        press(queue, row_id, "pass")
    assert [x["key"] for x in work.export_labels(store, run["id"])] == [str(i) for i in HARD]
    out = list(work.export_labels(store, run["id"], for_estimate=True))
    assert [row["rollout_id"] for row in out] == HARD
    assert [type(row["rollout_id"]) for row in out] == [type(i) for i in HARD]
    with open_store(tmp_path / "fresh.db") as fresh:
        work.load_file(fresh, tmp_path / "base.jsonl")
        path = as_records(tmp_path / "labels.jsonl", work.export_labels(store, run["id"]))
        assert work.import_labels(fresh, "base", path)["new"] == len(HARD)


@pytest.mark.parametrize(
    "named",
    [{}, {"rollout_index": 0}, {"scenario_id": "s"}, {"task_id": 7}, {"task_id": 7,
      "rollout_index": 1}, {"rollout_id": ""}, {"rollout_id": None, "scenario_id": 3}],
    ids=str,
)  # fmt: skip
def test_rows_named_by_less_than_an_id_take_their_exported_labels_again(
    store, put, named, tmp_path
):
    rows = [{"prompt": "p", "final_text": f"reply {i}", "reward": 1} | named for i in range(3)]
    if "rollout_index" in named and "task_id" in named:
        rows = [row | {"rollout_index": i} for i, row in enumerate(rows)]
    run = put(rows)
    work.label_by_rule(store, run["id"], lambda row: int(row["final_text"] == "reply 1"), "r")
    labels = list(work.export_labels(store, run["id"]))
    path = as_records(tmp_path / "labels.jsonl", labels)
    with open_store(tmp_path / "fresh.db") as fresh:
        work.load_file(fresh, tmp_path / "base.jsonl")
        assert work.import_labels(fresh, "base", path)["matched"] == 3
        got = [x["label"] for x in work.export_labels(fresh, "base")]
        assert got == [0, 1, 0]


def test_words_of_a_spreadsheet_stay_words_and_only_an_empty_cell_is_missing(
    store, tmp_path, press
):
    # pandas-dev/pandas#10647/#55032/#61788
    out = io.StringIO()
    csv.writer(out).writerows(
        [["task_id", "prompt", "final_text", "reward", "human_label"],
         ["NA", "ask", "nan", "1", "None"], ["None", "ask", "null", "0", "1"],
         ["null", "ask", "", "", "0"]]
    )  # fmt: skip
    path = tmp_path / "sheet.csv"
    path.write_text(out.getvalue())
    mapping = load.open_source(path).sniff().mapping
    mapping = mapping.merged(Mapping({"gold_reward": "human_label"}))
    result = work.load_file(
        store, path, mapping=mapping, origins={"gold_reward": {"kind": "human"}}
    )
    rows = list(store.rows("sheet"))
    assert [row["final_text"] for row in rows[:2]] == ["nan", "null"]
    assert store.tasks_of("sheet")[1] == ["NA", "None", "null"]
    assert store.columns("sheet", 1, "overall")["verdict"] == [1, 0, None]
    assert [x["verdict"] for x in store.labels("sheet")] == ["pass", "fail"]
    assert any("'None'" in note for note in result["notes"])


def test_a_column_of_mixed_values_refuses_its_odd_rows_one_by_one(store, lines):
    # huggingface/datasets#7222, #7322
    values = [1, "1", True, None, [1], {"v": 1}]
    rows = [
        {"rollout_id": f"r{n}", "prompt": "p", "final_text": "x", "reward": v}
        for n, v in enumerate(values)
    ]
    result = work.load_file(store, lines(rows), mapping=Mapping({"reward": "reward"}))
    assert [r[1] for r in result["refused"]] == [5, 6]
    assert store.columns("base", 1, "overall")["verdict"] == [1, 1, 1, None]


def test_four_kinds_of_empty_reply_load_and_stay_distinct(store, lines):
    # argilla-io/argilla#5630
    row = {"prompt": "p", "reward": 1}
    rows = [row | {"rollout_id": "a", "final_text": ""},
            row | {"rollout_id": "b", "final_text": "  "},
            row | {"rollout_id": "c", "final_text": None},
            row | {"rollout_id": "d"}]  # fmt: skip
    run = work.load_file(store, lines(rows))["runs"][0]
    got = [row.get("final_text", "absent") for row in store.rows(run["id"])]
    assert got == ["", "  ", None, "absent"]
    assert store.columns(run["id"], 1, "overall")["reply_chars"] == [0, 2, 0, 0]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.one_of(st.integers(), st.text(max_size=12)), min_size=1, max_size=8, unique_by=str)
)
def test_any_id_comes_back_as_its_text(tmp_path_factory, ids):
    folder = tmp_path_factory.mktemp("ids")
    ids = [i for i in ids if str(i)]
    if not ids:
        return
    rows = [{"rollout_id": i, "prompt": "p", "final_text": f"r{n}"} for n, i in enumerate(ids)]
    path = as_records(folder / "base.jsonl", rows)
    with open_store(folder / "review.db") as store:
        run = work.load_file(store, path)["runs"][0]
        work.label_by_rule(store, run["id"], lambda row: 1, "all")
        labels = list(work.export_labels(store, run["id"]))
        assert [x["key"] for x in labels] == [str(i) for i in ids]
        again = work.import_labels(
            store, run["id"], as_records(folder / "l.jsonl", labels), kind="program"
        )
        assert again["unchanged"] == len(ids)


# By a rule


def by_rule(store, run, annotator="rule:r"):
    return [x["identity"] for x in store.labels(run["id"]) if x["annotator"] == annotator]


def test_a_rule_labels_where_it_applies_and_replaces_its_own_labels_only(store, put, judged, press):
    run = put(judged(6))
    queue = work.draw_queue(store, run["id"], "census")
    press(queue, store.tasks_of(run["id"])[0][0], "fail")
    work.label_by_rule(store, run["id"], lambda row: 1, "other")
    first = work.label_by_rule(store, run["id"], lambda row: row["reward"] or None, "r")
    counts = ("n", "n_pass", "n_fail", "n_no_label", "new", "changed", "unchanged", "withdrawn")
    assert [first[k] for k in counts] == [6, 3, 0, 3, 3, 0, 0, 0]
    assert by_rule(store, run) == ["t0#0", "t0#2", "t1#1"]
    second = work.label_by_rule(
        store, run["id"], lambda row: {"t0": row["reward"]}.get(row["scenario_id"]), "r"
    )
    assert [second[k] for k in counts] == [6, 2, 1, 3, 1, 0, 2, 1]
    assert by_rule(store, run) == ["t0#0", "t0#2", "t0#1"]
    assert len(by_rule(store, run, "rule:other")) == 6
    assert len(by_rule(store, run, "ana")) == 1


def test_a_rule_that_fails_on_a_row_names_it_and_writes_nothing(store, put, judged):
    run = put(judged(6))

    def rule(row):
        return 1 if row["rollout_index"] < 2 else row["nosuch"]

    with pytest.raises(work.rules.RuleError, match=r"row 3 \(t0#2\).*nosuch"):
        work.label_by_rule(store, run["id"], rule, "r")
    assert store.labels(run["id"], history=True) == []


def test_a_preview_counts_and_writes_nothing(store, recipe):
    rule = work.rules.read_rule(
        "when: completed(lookup_invoice)\npass: called(issue_credit)", criterion="credit"
    )
    before = len(store.labels(recipe["id"], history=True))
    seen = work.label_by_rule(store, recipe["id"], rule, "credit", dry_run=True)
    assert seen["n_pass"] + seen["n_fail"] + seen["n_no_label"] == 222
    assert len(seen["examples"]["pass"]) == 5
    example = seen["examples"]["pass"][0]
    assert store.row(example["row_id"])["identity"] == example["row"]
    assert len(store.labels(recipe["id"], history=True)) == before
    assert store.rules() == []


def test_a_rule_labels_alike_in_the_pool_and_here(store, recipe):
    from whileai_review.work import ruling

    rule = work.rules.read_rule("when: completed(lookup_invoice)\npass: called(issue_credit)")
    here = ruling._labels(store, recipe["id"], rule)
    assert here == ruling._labels_in_pool(str(store.path), recipe["id"], rule)
    assert here[1]["n_pass"] > 20


def test_a_rule_keeps_its_version_with_its_labels(store, put, judged):
    run = put(judged(4))
    rule = work.rules.parse_rule("", "called(refund)", criterion="refund")
    work.label_by_rule(store, run["id"], rule, "  paid   back ")
    labels = store.labels(run["id"], criterion="refund")
    assert {(x["annotator"], x["kind"], x["rule_version"], x["chosen"]) for x in labels} == {
        ("rule:paid back", "program", rule.version, "census")
    }
    assert [(r["name"], r["version"]) for r in store.rules()] == [("paid back", rule.version)]
    with pytest.raises(work.rules.RuleError, match="needs a name"):
        work.label_by_rule(store, run["id"], rule, "  ")


# On the label bar


def test_a_press_that_came_too_fast_is_not_kept(store, put, judged, press):
    run = put(judged(3))
    queue = work.draw_queue(store, run["id"], "census")
    row_id = store.next_row(queue["id"], "ana")["row_id"]
    with pytest.raises(RefusedError, match="too fast"):
        press(queue, row_id, "pass", shown_ms=249)
    assert store.labels(run["id"], history=True) == []
    press(queue, row_id, "pass", shown_ms=250)
    assert store.labels(run["id"])[0]["seconds"] == 0.25


def test_the_same_press_twice_is_one_label(store, put, judged, press):
    run = put(judged(3))
    queue = work.draw_queue(store, run["id"], "census")
    row_id = store.next_row(queue["id"], "ana")["row_id"]
    first = press(queue, row_id, "pass", nonce="n")
    second = press(queue, row_id, "pass", nonce="n")
    assert (first["label_id"], second["repeated"]) == (second["label_id"], True)
    with pytest.raises(RefusedError, match="answered this row already"):
        press(queue, row_id, "fail")
    with pytest.raises(RefusedError, match="another row"):
        press(queue, store.next_row(queue["id"], "ana")["row_id"], "pass", nonce="n")
    assert [x["verdict"] for x in store.labels(run["id"], history=True)] == ["pass"]


def test_undo_opens_the_row_again_and_later_puts_it_off(store, put, judged, press):
    run = put(judged(3))
    queue = work.draw_queue(store, run["id"], "census")
    first = store.next_row(queue["id"], "ana")["row_id"]
    press(queue, first, "pass")
    undone = press(queue, first, "undo")
    assert undone["row_id"] == first
    assert store.next_row(queue["id"], "ana")["row_id"] == first
    assert press(queue, first, "undo") is None
    assert press(queue, first, "later") is None
    assert store.next_row(queue["id"], "ana")["row_id"] != first
    for _ in range(2):
        press(queue, store.next_row(queue["id"], "ana")["row_id"], "pass")
    last = store.next_row(queue["id"], "ana")
    assert (last["row_id"], last["deferred"]) == (first, 1)


def test_an_answer_keeps_how_its_row_was_drawn(store, put, judged, press):
    run = put(judged(12))
    queue = work.draw_queue(store, run["id"], n=3)
    row_id = store.next_row(queue["id"], "ana")["row_id"]
    press(queue, row_id, "pass", note="  ", step=2)
    label = store.labels(run["id"])[0]
    kept = ("chosen", "inclusion_p", "draw_order", "step", "note", "kind")
    assert [label[k] for k in kept] == ["random", 0.25, 0, 2, None, "human"]


def test_a_run_deleted_while_somebody_labels_it_says_so(store, put, judged, press):
    run = put(judged(3))
    queue = work.draw_queue(store, run["id"], "census")
    row_id = store.next_row(queue["id"], "ana")["row_id"]
    store.delete_run(run["id"])
    with pytest.raises(LookupError, match="deleted"):
        press(queue, row_id, "pass")
