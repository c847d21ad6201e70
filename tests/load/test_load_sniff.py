"""Recognition by name and values: one reading is taken, two are asked about."""

from __future__ import annotations

import pytest

from whileai_review.load import Sniff, recognise

TEXTS = {"prompt": "Hi there", "final_text": "Yes indeed"}


def look(*objects: dict, tabular: bool = False) -> Sniff:
    return recognise([{**TEXTS, **o} for o in objects], tabular)


def bare(*objects: dict) -> Sniff:
    return recognise(objects)


def keys_asked(sniffed: Sniff) -> list[str]:
    return [question.key for question in sniffed.questions]


@pytest.mark.parametrize("name", ["correct", "passed", "score", "judge_score", "reward", "Passed"])
@pytest.mark.parametrize("values", [(0, 1), (True, False), (1.0, 0.0), (1, None), (True, 0)])
def test_a_verdict_is_known_by_its_name_and_its_values(name, values):
    sniffed = look(*({name: v} for v in values))
    assert sniffed.mapping.keys == {"reward": name}
    assert sniffed.questions == []


@pytest.mark.parametrize("values", [("0", "1"), ("yes", "no"), (0, 2), ("1",)])
def test_other_values_of_a_verdict_are_asked_about(values):
    sniffed = look(*({"score": v} for v in values))
    assert "reward" not in sniffed.mapping.keys
    assert keys_asked(sniffed) == ["reward"]


def test_a_score_without_a_verdict_is_asked_about_and_loads_as_a_metric():
    sniffed = look({"score": 0.7}, {"score": 3})
    (question,) = sniffed.questions
    assert (
        question.why
        == "No verdict of 0 and 1: score holds numbers from 0.7 to 3. Which values pass?"
    )
    assert not question.blocks
    assert list(sniffed.mapping.metrics) == ["score"]


def test_text_forms_are_verdicts_in_a_table_only():
    rows = [{"passed": "true"}, {"passed": "0"}]
    assert look(*rows, tabular=True).mapping.keys == {"reward": "passed"}
    assert "reward" not in look(*rows).mapping.keys


def test_two_verdicts_are_asked_about():
    sniffed = look({"correct": 1, "passed": 0}, {"correct": 0, "passed": 0})
    (question,) = sniffed.questions
    assert (question.key, question.candidates) == ("reward", ["correct", "passed"])
    assert question.blocks
    assert "reward" not in sniffed.mapping.keys


def test_our_own_key_needs_no_question():
    sniffed = look({"reward": 0.5, "score": 1, "correct": 0})
    assert sniffed.mapping.keys == {"reward": "reward"}
    assert sniffed.questions == []


def test_a_score_outside_0_and_1_is_a_metric_and_no_verdict():
    sniffed = look({"score": 0.7, "correct": 1}, {"score": 3.2, "correct": 0})
    assert sniffed.mapping.keys == {"reward": "correct"}
    assert sniffed.mapping.metrics == {"score": {"unit": "", "direction": ""}}


def test_a_verdict_in_words_is_asked_about_with_its_values():
    sniffed = look({"verdict": "approve"}, {"verdict": "reject"}, {"verdict": None})
    (question,) = sniffed.questions
    assert question.candidates == ["verdict"]
    assert "approve, reject" in question.why
    assert sniffed.values["verdict"] == {"approve": 1, "reject": 1}


def test_a_mixed_reward_shows_its_mix():
    # huggingface/datasets#7222: a column that changes its type killed the load.
    sniffed = look(*({"reward": v} for v in (1, "1", True, None, [1], {"v": 1})))
    assert sniffed.kinds["reward"] == {
        "int": 1,
        "number text": 1,
        "bool": 1,
        "null": 1,
        "list": 1,
        "object": 1,
    }
    assert sniffed.mapping.keys == {"reward": "reward"}


def test_a_reward_in_words_is_asked_about():
    sniffed = look({"reward": "good"}, {"reward": "bad"})
    assert keys_asked(sniffed) == ["reward"]
    assert sniffed.mapping.keys == {}


@pytest.mark.parametrize(
    "name",
    ["gold", "human_label", "expected", "gold_reward", "gold_label", "label", "annotator1"],
)
@pytest.mark.parametrize("values", [(0, 1), ("approve", "reject"), ("Paris", "Rome")])
def test_a_label_column_is_listed_and_never_becomes_gold(name, values):
    sniffed = look(*({name: v, "correct": 1} for v in values))
    assert sniffed.label_columns == [name]
    assert not any(ours.startswith("gold") for ours in sniffed.mapping.keys)
    assert sniffed.mapping.apply({name: 1}).get("gold_reward") == (
        1 if name == "gold_reward" else None
    )


def test_the_origin_that_a_file_states_is_shown():
    sniffed = look(
        {"gold_reward": 1, "gold_kind": "program"}, {"gold_reward": 0, "gold_kind": "human"}
    )
    assert sniffed.gold_kinds == {"program": 1, "human": 1}
    assert sniffed.label_columns == ["gold_reward"]


@pytest.mark.parametrize("name", ["question", "input", "ask", "instruction", "Question"])
def test_an_ask_is_known_by_its_name(name):
    assert bare({name: "What?"}).mapping.keys["prompt"] == name


@pytest.mark.parametrize("name", ["reply", "output", "response", "answer", "completion"])
def test_a_reply_is_known_by_its_name(name):
    assert bare({"prompt": "What?", name: "This and that."}).mapping.keys["final_text"] == name


def test_two_asks_and_two_replies_are_asked_about():
    sniffed = bare(
        {"instruction": "Shorten", "input": "Long text", "answer": "a b", "response": "c d"}
    )
    assert keys_asked(sniffed) == ["prompt", "final_text"]
    assert sniffed.mapping.keys == {}


def test_an_ask_that_is_a_number_is_none():
    assert "prompt" not in bare({"input": 3}).mapping.keys


def test_answers_that_are_verdicts_of_people_are_asked_about():
    rows = [{"prompt": f"ask {n}", "answer": "accept" if n % 3 else "reject"} for n in range(30)]
    sniffed = recognise(rows)
    assert keys_asked(sniffed) == ["final_text"]
    assert "final_text" not in sniffed.mapping.keys
    assert sniffed.label_columns == ["answer"]


@pytest.mark.parametrize("name", ["traj", "trajectory", "conversation", "messages"])
def test_a_conversation_is_known_by_its_turns(name):
    turns = [{"role": "user", "content": "Hi"}]
    sniffed = bare({name: turns}, {name: turns})
    assert sniffed.mapping.keys == ({} if name == "messages" else {"messages": name})


def test_a_trajectory_of_other_things_is_no_conversation():
    assert bare({"trajectory": [{"thought": "x", "action": "ls"}]}).mapping.keys == {}


def test_tool_calls_are_steps_as_a_list_and_a_metric_as_a_number():
    calls = [{"name": "pay", "arguments": {}}]
    assert look({"tool_calls": calls}).mapping.keys == {"steps": "tool_calls"}
    counted = look({"tool_calls": 3}, {"tool_calls": 5})
    assert counted.mapping.keys == {}
    assert counted.mapping.metrics == {"tool_calls": {"unit": "", "direction": ""}}


@pytest.mark.parametrize("name", ["idx", "id", "task_id", "question_id"])
def test_an_id_names_the_task(name):
    assert look({name: 1}, {name: 1}).mapping.keys == {"scenario_id": name}


def test_two_ids_are_asked_about():
    assert keys_asked(look({"id": 1, "idx": 2}, {"id": 1, "idx": 2})) == ["scenario_id"]


def test_an_id_beside_the_task_names_the_rollout_only_when_unique():
    unique = look({"task_id": 1, "id": "a"}, {"task_id": 1, "id": "b"})
    assert unique.mapping.keys == {"scenario_id": "task_id", "rollout_id": "id"}
    repeated = look({"task_id": 1, "id": "a"}, {"task_id": 1, "id": "a"})
    assert repeated.mapping.keys == {"scenario_id": "task_id"}


@pytest.mark.parametrize("name", ["trial", "epoch", "repeat"])
def test_a_repeat_is_known_by_its_name_and_whole_numbers(name):
    keys = look({"task_id": 1, name: 0}, {"task_id": 1, name: 1}).mapping.keys
    assert keys == {"rollout_index": name, "scenario_id": "task_id"}
    assert "rollout_index" not in look({name: 0.5}).mapping.keys


def test_columns_that_may_split_a_file_are_listed():
    sniffed = look({"arm": "a", "checkpoint": 1}, {"arm": "b", "checkpoint": 1})
    assert sniffed.split_columns == ["arm", "checkpoint"]


def test_numbers_that_only_name_or_count_rows_are_no_metrics():
    row = {
        "calls": 3,
        "latency": 0.5,
        "cost": 2,
        "user_id": 4,
        "_input_hash": -5,
        "seed": 1,
        "line": 9,
    }
    assert list(look(row, {**row, "calls": 4}).mapping.metrics) == ["calls", "latency", "cost"]


def test_further_columns_of_0_and_1_are_offered_and_not_taken():
    sniffed = look({"reward": 1, "judge_action": 1, "gold_action": 0})
    assert sniffed.verdict_columns == ["judge_action"]
    assert sniffed.label_columns == ["gold_action"]
    assert sniffed.mapping.keys == {"reward": "reward"}


def test_a_bare_text_may_be_ask_or_reply():
    (question,) = bare({"text": "Some words"}).questions
    assert question.key == "prompt"
    assert not question.blocks


def test_columns_beyond_the_limit_are_not_looked_at():
    assert len(bare({f"k{n}": n for n in range(40_000)}).columns) == 5_000
