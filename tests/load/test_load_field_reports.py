"""Faults that users of neighbouring tools met, as they would show up here."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from whileai_review import load
from whileai_review.load import UnreadableError, parse_map


def named(data: bytes | str, name: str = "rows.jsonl") -> io.BytesIO:
    file = io.BytesIO(data.encode() if isinstance(data, str) else data)
    file.name = name
    return file


def lines(*objects: dict) -> io.BytesIO:
    return named("".join(json.dumps(o) + "\n" for o in objects))


def test_bad_rewards_are_refused_one_by_one_and_the_others_load():
    # huggingface/datasets#7222: int in one row and list in another killed the load.
    values = [1, "1", True, None, [1], {"v": 1}]
    found, report = load.read(lines(*({"task_id": n, "reward": v} for n, v in enumerate(values))))
    assert [row["reward"] for row in found] == [1, 1, 1, None]
    assert [(r["line"], r["reason"].split(";")[0]) for r in report["refused"]] == [
        (5, "reward is a list"),
        (6, "reward is an object"),
    ]


def test_a_column_that_is_null_for_10_000_rows_may_become_an_object():
    # huggingface/datasets#7322
    rows = [{"task_id": n, "meta": None} for n in range(10_000)] + [
        {"task_id": "x", "meta": {"a": 1}}
    ]
    found, report = load.read(lines(*rows))
    assert found[-1]["meta"] == {"a": 1}
    assert report["n_refused"] == 0


def test_four_kinds_of_empty_reply_stay_distinct():
    # argilla-io/argilla#5630
    found, _ = load.read(lines({"prompt": "a", "final_text": ""}, {"prompt": "b", "final_text": "  "},
                               {"prompt": "c", "final_text": None}, {"prompt": "d"}))  # fmt: skip
    assert [row.get("final_text", "absent") for row in found] == ["", "  ", None, "absent"]


@pytest.mark.parametrize("text", ["👩‍👩‍👧", "e\u0301", "\u202egnorw", "a\u200db", "\x00", "𝒳"])
def test_odd_characters_come_back_code_point_by_code_point(text):
    # argilla-io/argilla#3790
    for ascii_only in (True, False):
        data = json.dumps({"prompt": "a", "final_text": text}, ensure_ascii=ascii_only)
        assert load.read(named(data))[0][0]["final_text"] == text


def test_a_bare_list_of_labels_names_no_row():
    # whilehq/whileai-sdk#685
    with pytest.raises(UnreadableError, match="nothing says which row"):
        load.read(named("[0,1,1,0]", "labels.json"))


def test_a_file_in_which_every_row_stands_twice():
    # EleutherAI/lm-evaluation-harness#1687: n doubled.
    row = {"scenario_id": "a", "rollout_index": 0, "reward": 1}
    twice = [row, row, {**row, "judge_name": "other"}]
    found, report = load.read(lines(*twice), duplicates="collapse")
    assert len(found) == 2
    assert report["duplicates"]["n_exact"] == report["duplicates"]["n_conflicting"] == 1


@pytest.mark.parametrize("ids", [["007", "7", "1e5", "2024-01-02"], [-0.0, 0, 1, -1]])
def test_ids_are_neither_numbers_nor_dates(ids):
    # plotly/plotly.js#7147
    found, _ = load.read(lines(*({"task_id": i, "correct": 1} for i in ids)))
    assert [row["task_id"] for row in found] == ids


def test_a_list_with_entries_that_are_no_objects():
    found, report = load.read(
        named('[{"task_id": 1}, 3, null, {"task_id": 2, "task_id": 3}]', "x.json")
    )
    assert len(found) == 1
    assert [r["line"] for r in report["refused"]] == [2, 3, 4]
    assert "'task_id' is there twice" in report["refused"][2]["reason"]


def test_long_integers_and_nan_in_a_json_list():
    found, report = load.read(named(f'[{{"task_id": {2**65}, "cost": NaN}}]', "x.json"))
    assert (found[0]["task_id"], found[0]["cost"]) == (2**65, None)
    assert report["notes"]


@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_that_holds_one_list_is_that_list(indent):
    data = json.dumps({"model": "m", "rows": [{"task_id": 1}, {"task_id": 2}]}, indent=indent)
    assert len(load.read(named(data, "x.json"))[0]) == 2


def test_one_row_on_one_line_is_a_row_and_its_messages_are_no_rows():
    row = {"prompt": "Hi", "messages": [{"role": "user", "content": "Hi"}] * 3, "reward": 1}
    for name in ("x.jsonl", "x.json", "x"):
        assert len(load.read(named(json.dumps(row), name))[0]) == 1


def test_json_lines_under_a_wrong_extension_and_a_list_under_another():
    assert load.read(named('{"task_id": 1}\n{"task_id": 2}\n', "x.json"))[1]["format"] == "jsonl"
    assert load.read(named('{"task_id": 1}\n{"task_id": 2}\n', "x.csv"))[1]["format"] == "jsonl"
    assert load.read(named('[\n{"task_id": 1}\n]', "x.jsonl"))[1]["format"] == "json"


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "name", "what"),
    [
        (zipped("_journal/start.json"), "log.eval", "an Inspect log"),
        (zipped("_journal/start.json"), "upload", "an Inspect log"),
        (zipped("xl/workbook.xml"), "x.xlsx", "an Excel workbook"),
        (zipped("a.jsonl"), "x.zip", "a zip file"),
        (json.dumps({"version": 2, "status": "success", "eval": {}, "plan": {}, "samples": []}), "x.json", "an Inspect log"),
        (json.dumps([{"id": 1, "data": {"t": "x"}, "annotations": [{"result": []}]}]), "x.json", "a Label Studio export"),
        (json.dumps({"tests": {"a": {}}, "metrics": {}, "config": {}}), "x.json", "an agbenchmark report"),
        (json.dumps({"trajectory": [], "history": [], "info": {}}), "x.traj", "a SWE-agent trajectory"),
        (json.dumps({"nbformat": 4, "cells": [{"a": 1}]}, indent=1), "x.ipynb", "a Jupyter notebook"),
    ],
)  # fmt: skip
def test_containers_of_other_tools_are_refused_by_name(data, name, what):
    with pytest.raises(UnreadableError, match=what) as error:
        load.read(named(data, name))
    assert "\n" not in str(error.value)


def test_a_row_that_names_an_unknown_verdict_is_kept_and_counted():
    source = load.open_source(lines({"task_id": 1, "v": "yes"}, {"task_id": 2, "v": "maybe"}))
    found = [r.row["reward"] for r in source.records(parse_map(["reward=v:yes=1,no=0"]))]
    assert found == [1, None]
    assert "'maybe'" in source.notes[0]


def test_progress_goes_from_nothing_to_all(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"task_id": 1}\n' * 100_000)
    source = load.open_source(path)
    assert source.fraction == 0.0
    seen = [source.fraction for _ in source.records()]
    assert seen == sorted(seen)
    assert 0 < seen[0] < 1
    assert seen[-1] == 1.0
    assert source.n_bytes == path.stat().st_size
