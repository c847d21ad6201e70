"""A mapping: from their keys to ours, without guessing and without losing a key."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_review import rows
from whileai_review.load import Mapping, RowRefusedError, parse_line, parse_map


def test_our_keys_are_set_and_theirs_are_kept():
    obj = {"question": "Hi", "answer": "Yes", "extra": {"a": 1}}
    row = Mapping({"prompt": "question", "final_text": "answer"}).apply(obj)
    assert row == {**obj, "prompt": "Hi", "final_text": "Yes"}


def test_the_object_stays_as_it_was():
    obj = {"q": "Hi", "traj": [{"from": "human", "value": "Hi"}], "ok": True}
    before = {"q": "Hi", "traj": [{"from": "human", "value": "Hi"}], "ok": True}
    Mapping({"prompt": "q", "messages": "traj", "reward": "ok"}).apply(obj)
    assert obj == before


def test_a_dotted_path_reaches_inside_and_a_key_with_a_dot_wins():
    mapping = Mapping({"prompt": "a.b", "final_text": "c.0.text"})
    row = mapping.apply({"a": {"b": "inside"}, "c": [{"text": "reply"}]})
    assert (row["prompt"], row["final_text"]) == ("inside", "reply")
    assert mapping.apply({"a.b": "key", "a": {"b": "inside"}})["prompt"] == "key"


def test_a_key_that_is_absent_stays_absent():
    assert "prompt" not in Mapping({"prompt": "q"}).apply({"rollout_id": "a"})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1),
        (0.0, 0.0),
        (0.5, 0.5),
        (True, 1),
        (False, 0),
        (None, None),
        ("1", 1),
        ("0.5", 0.5),
        ("True", 1),
        ("false", 0),
        ("nan", None),
        ("1e400", None),
        ("good", None),
        ("", None),
    ],
)
def test_how_a_verdict_is_read_without_a_value_map(value, expected):
    row = Mapping({"reward": "ok"}).apply({"ok": value})
    assert row["reward"] == expected
    assert type(row["reward"]) is type(expected)


@pytest.mark.parametrize("value", [[1], {"v": 1}])
def test_a_verdict_that_is_no_scalar_refuses_the_row(value):
    with pytest.raises(RowRefusedError, match="ok is a"):
        Mapping({"reward": "ok"}).apply({"ok": value})


@pytest.mark.parametrize(
    ("value", "expected"),
    [("approve", 1), ("reject", 0), (" approve ", 1), ("unsure", None), ("later", None), (4, 1)]
    + [(4.0, 1), (True, 0), (None, None), (3, None)],
)
def test_a_value_map_says_what_each_value_means(value, expected):
    table = {"approve": 1, "reject": 0, "unsure": None, "4": 1, "true": 0}
    assert Mapping({"reward": "v"}, {"reward": table}).apply({"v": value})["reward"] == expected


def test_further_criteria_are_keys_of_their_own():
    mapping = parse_map(
        ["reward=j", "reward:action=judge_action", "gold_reward:action=gold_action"]
    )
    row = mapping.apply({"j": 1, "judge_action": True, "gold_action": 0})
    assert (row["reward"], row["reward:action"], row["gold_reward:action"]) == (1, 1, 0)
    assert mapping.verdict_keys() == {"overall": "reward", "action": "reward:action"}
    assert mapping.verdict_keys("gold_reward") == {"action": "gold_reward:action"}


def test_nothing_becomes_a_label_that_the_mapping_does_not_name():
    assert "gold_reward" not in Mapping().apply({"gold": 1, "label": 1, "human_label": 1})


def test_a_mapping_survives_json_pickle_and_comparison():
    mapping = parse_map(
        ["prompt=q", "reward=v:a=1,b=0,c=none", "metric=cost:unit=$,direction=down"]
    )
    again = Mapping.from_json(mapping.to_json())
    assert again == mapping
    assert hash(again) == hash(mapping)
    assert pickle.loads(pickle.dumps(mapping)).apply({"v": "a"})["reward"] == 1
    assert Mapping.from_json("{}") == Mapping()


@pytest.mark.parametrize(
    "text", ["[]", '{"other": {}}', '{"keys": []}', '{"keys": {"no": "x"}}', "x"]
)
def test_a_text_that_is_no_mapping_is_refused(text):
    with pytest.raises(ValueError):
        Mapping.from_json(text)


def test_what_is_said_later_wins_and_drops_the_old_values():
    first = parse_map(["reward=v:a=1,b=0", "prompt=q"])
    merged = first.merged(parse_map(["reward=score"]))
    assert merged == Mapping({"reward": "score", "prompt": "q"})


# --map


@pytest.mark.parametrize(
    ("text", "keys", "values"),
    [
        ("prompt=question", {"prompt": "question"}, {}),
        ("prompt = my question ", {"prompt": "my question"}, {}),
        ("reward=verdict:approve=1,reject=0", {"reward": "verdict"}, {"approve": 1, "reject": 0}),
        ("reward:action=judge_action", {"reward:action": "judge_action"}, None),
        ("reward:a=v:yes=1,no=0", {"reward:a": "v"}, {"yes": 1, "no": 0}),
        ("reward=v:x=none,y=-", {"reward": "v"}, {"x": None, "y": None}),
        ("prompt=meta:text", {"prompt": "meta:text"}, {}),
        ('reward="a:b=c":yes=1', {"reward": "a:b=c"}, {"yes": 1}),
        ('reward=v:"yes, it does"=1,no=0', {"reward": "v"}, {"yes, it does": 1, "no": 0}),
        ("reward=v:a=b=1", {"reward": "v"}, {"a=b": 1}),
    ],
)
def test_the_text_of_map(text, keys, values):
    mapping = parse_map([text])
    assert mapping.keys == keys
    assert mapping.values == ({next(iter(keys)): values} if values else {})


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["prompt"], "OURS=THEIRS"),
        (["=x"], "OURS=THEIRS"),
        (["prompt="], "OURS=THEIRS"),
        (["promt=x"], "Did you mean prompt"),
        (["reward:=x"], "lacks the criterion"),
        (["prompt:x=y"], "no key of a row"),
        (["prompt=x:yes=1"], "only reward and gold_reward take values"),
        (["reward=x:yes=2"], "'yes' is 1, 0 or none, not '2'"),
        (["reward=x:yes=1,yes=0"], "'yes' twice"),
        (["reward=x:yes=1,no"], "'no' is no VALUE=1"),
        (["reward=a", "reward=b"], "names 'reward' twice"),
        (['reward="a'], "never closed"),
        (["metric=cost:direction=sideways"], "up or down"),
        (["metric=cost:price=3"], "unit= and direction="),
    ],
)
def test_a_wrong_map_says_what_is_wrong(texts, message):
    with pytest.raises(ValueError, match=message) as error:
        parse_map(texts)
    assert "\n" not in str(error.value)


def test_metrics_carry_unit_and_direction():
    mapping = parse_map(["metric=latency:unit=s,direction=down", "metric=calls"])
    assert mapping.metrics == {
        "latency": {"unit": "s", "direction": "down"},
        "calls": {"unit": "", "direction": ""},
    }


# Messages


OPENAI = [
    {"role": "user", "content": "Refund"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "pay", "arguments": '{"id": 7}'}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "ok"},
    {"role": "assistant", "content": "Done"},
]


def test_openai_messages_give_ask_reply_and_steps():
    row = Mapping({"messages": "traj"}).apply({"task_id": 1, "traj": OPENAI})
    assert (row["prompt"], row["final_text"]) == ("Refund", "Done")
    assert rows.steps(row) == [rows.Step("pay", {"id": 7}, "ok", None)]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [('{"id": 7}', {"id": 7}), ({"id": 7}, {"id": 7}), ("not json", "not json")],
)
def test_arguments_come_as_json_text_as_object_or_raw(arguments, shown):
    # whilehq/whileai-sdk#593: a reader of one shape gave a silent 0.00 on the other.
    call = {"id": "1", "function": {"name": "pay", "arguments": arguments}}
    row = Mapping().apply({"messages": [{"role": "assistant", "tool_calls": [call]}]})
    assert [(s.tool, s.arguments) for s in rows.steps(row)] == [("pay", shown)]


def test_a_sharegpt_conversation_becomes_roles():
    turns = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes"}]
    row = Mapping({"messages": "conversations"}).apply({"conversations": turns})
    assert [turn["role"] for turn in row["messages"]] == ["user", "assistant"]
    assert (row["prompt"], row["final_text"]) == ("Hi", "Yes")


def test_ask_and_reply_that_are_lists_of_turns_become_text_and_messages():
    obj = {
        "prompt": [{"role": "user", "content": "Hi"}],
        "completion": [{"role": "assistant", "content": "Yes"}],
    }
    row = Mapping({"final_text": "completion"}).apply(obj)
    assert (row["prompt"], row["final_text"]) == ("Hi", "Yes")
    assert len(rows.messages(row)) == 2


@pytest.mark.parametrize("value", ["", "   ", None])
def test_an_empty_reply_stays_as_it_is(value):
    assert Mapping().apply({"prompt": "Hi", "final_text": value})["final_text"] == value
    assert "final_text" not in Mapping().apply({"prompt": "Hi"})


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["messages", "steps", "tools", "prompt", "final_text"]),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=4),
            lambda x: (
                st.lists(x, max_size=3)
                | st.dictionaries(st.sampled_from(["role", "content", "from", "value"]), x)
            ),
            max_leaves=6,
        ),
    )
)
def test_odd_messages_never_raise(obj):
    row = Mapping().apply(obj)
    rows.identity(row), rows.reply(row), rows.steps(row)


# Identity


def identity(**obj) -> str:
    return rows.identity(Mapping().apply(obj))


def test_ids_of_the_row_come_first():
    assert identity(rollout_id=7, prompt="x") == "7"
    assert identity(scenario_id="a", rollout_index=0, prompt="x") == "a#0"
    assert identity(task_id="a", rollout_index=2, prompt="x", final_text="y") == "a#2"


def test_ask_and_reply_name_a_row_as_the_core_has_it():
    obj = {"task_id": "a", "prompt": "x", "final_text": "y"}
    assert rows.identity(Mapping().apply(obj)) == rows.identity(obj)


def test_a_row_of_a_task_without_text_is_the_task():
    assert identity(task_id="DCC-192:reject", correct=True) == "DCC-192:reject"
    assert identity(task_id=0) == "0"


def test_two_tasks_with_the_same_reply_are_two_rows_and_another_reply_is_another_row():
    one, two = identity(task_id=1, final_text="Yes"), identity(task_id=2, final_text="Yes")
    assert one != two
    assert identity(task_id=1, final_text="No") != one
    assert identity(task_id="1", final_text="Yes") == one


def test_rows_without_ids_and_text_are_told_apart_by_all_they_hold():
    assert identity(a=1) != identity(a=2)
    assert identity(a=1, b=2) == identity(b=2, a=1)


def test_integers_and_texts_of_one_id_are_one_row():
    assert identity(task_id=7) == identity(task_id="7") != identity(task_id="007")


def test_a_stored_line_gives_the_same_identity_again():
    raw = '{"task_id": 36893488147419103232, "traj": [{"role": "assistant", "content": "Hi"}]}'
    mapping = Mapping({"messages": "traj"})
    assert rows.identity(mapping.apply(parse_line(raw))) == rows.identity(
        mapping.apply(parse_line(raw))
    )
