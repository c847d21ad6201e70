"""What each reader of a row answers."""

import pytest

from whileai_review import rows


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0), (1, 1), (1.0, 1), (-0.0, 0), (True, None), (False, None), ("1", None), (0.5, None)]
    + [(2, None), (float("nan"), None), (float("inf"), None), (None, None), ([1], None)],
)
def test_a_verdict_is_a_number_equal_to_zero_or_one(value, expected):
    assert rows.verdict(value) == expected


def test_numpy_numbers_are_verdicts_and_numpy_booleans_are_none():
    np = pytest.importorskip("numpy")
    assert rows.verdict(np.int64(1)) == 1
    assert rows.verdict(np.float32(0)) == 0
    assert rows.verdict(np.bool_(True)) is None


def test_identity_prefers_the_rollout_id_then_the_position_then_the_text():
    full = {"rollout_id": 7, "scenario_id": "s", "rollout_index": 0}
    assert rows.identity(full) == "7"
    assert rows.identity({"scenario_id": "s", "rollout_index": 0}) == "s#0"
    text = rows.identity({"prompt": "p", "final_text": "a"})
    assert text != rows.identity({"prompt": "pa", "final_text": ""})
    assert text == rows.identity({"prompt": "p", "final_text": "a", "scenario_id": "s"})


def test_identity_is_text_so_leading_zeros_count():
    assert rows.identity({"rollout_id": "007"}) != rows.identity({"rollout_id": 7})
    assert rows.identity({"rollout_id": "7"}) == rows.identity({"rollout_id": 7})


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ({"scenario_id": "s", "task_id": "t", "prompt": "p"}, "s"),
        ({"scenario_id": "", "task_id": "t"}, "t"),
        ({"task_id": None, "prompt": "  Ask "}, "  Ask "),
        ({}, ""),
    ],
)
def test_task_key_is_the_first_of_scenario_task_and_prompt(row, key):
    assert rows.task_key(row) == key


def test_a_row_answers_to_each_of_its_keys_once():
    row = {"rollout_id": "r", "scenario_id": "s", "rollout_index": 2, "prompt": "p"}
    keys = rows.identity_keys(row)
    assert keys[:3] == ["r", "s#2", "s"]
    assert len(keys) == len(set(keys)) == 4


def test_reply_is_final_text_else_the_last_assistant_message():
    talk = [
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": "and?"},
        {"role": "assistant", "content": [{"type": "text", "text": "last"}]},
        {"role": "assistant", "content": None, "tool_calls": []},
    ]
    assert rows.reply({"messages": talk}) == "last"
    assert rows.reply({"messages": talk, "final_text": "final"}) == "final"
    assert rows.reply({}) == ""


@pytest.mark.parametrize(
    ("final", "chars"),
    # 5 + 4 characters by the assistant; final_text is added unless it is the last of them.
    [("last", 9), ("other", 14), ("", 9), (None, 9)],
)
def test_reply_chars_adds_final_text_only_when_it_is_not_the_last_message(final, chars):
    talk = [
        {"role": r, "content": c}
        for r, c in [("assistant", "first"), ("user", "hello"), ("assistant", "last")]
    ]
    assert rows.reply_chars({"messages": talk, "final_text": final}) == chars


def test_steps_read_the_common_spellings():
    row = {
        "steps": [
            {"tool": "a", "arguments": {"x": 1}, "result": 2, "error": None},
            {"name": "b", "args": '{"y": 2}', "output": "out", "status": "error"},
            {"tool_name": "c", "arguments": "{broken", "observation": {"error": "gone"}},
            "d",
            None,
            {"thought": "no tool here"},
        ]
    }
    assert rows.steps(row) == [
        ("a", {"x": 1}, 2, True),
        ("b", {"y": 2}, "out", False),
        ("c", "{broken", {"error": "gone"}, False),
        ("d", None, None, None),
    ]


def test_tool_trace_is_read_when_steps_name_no_tool():
    assert rows.steps({"steps": [], "tool_trace": [{"tool": "a"}]})[0].tool == "a"


def test_calls_in_messages_find_their_results_by_id_whatever_the_order():
    call = {"type": "function", "function": {"name": "look", "arguments": '{"id": 1}'}}
    row = {
        "messages": [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call | {"id": "c1"}, call | {"id": "c2"}],
            },
            {"role": "tool", "tool_call_id": "c2", "content": "second"},
            {"role": "tool", "tool_call_id": "c1", "content": "first"},
        ]
    }
    assert [(s.tool, s.arguments, s.result) for s in rows.steps(row)] == [
        ("look", {"id": 1}, "first"),
        ("look", {"id": 1}, "second"),
    ]


def test_content_blocks_of_tool_use_are_calls():
    row = {
        "messages": [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "u", "name": "n", "input": {"q": 1}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "u", "content": "r", "is_error": True}
                ],
            },
        ]
    }
    assert rows.steps(row) == [("n", {"q": 1}, "r", False)]


def test_declared_tools_come_as_names_or_as_function_declarations():
    openai = [{"type": "function", "function": {"name": "b"}}, {"name": "c"}]
    assert rows.declared_tools({"tools": ["a", *openai, "a", None]}) == ["a", "b", "c"]
    assert rows.declared_tools({"tools": {"x": {}, "y": {}}}) == ["x", "y"]
    assert rows.declared_tools({"tools": "search"}) == []


def test_tool_counts_lists_declared_tools_first_even_at_zero():
    row = {
        "tools": ["escalate", "credit"],
        "steps": [{"tool": "lookup"}, {"tool": "credit"}, {"tool": "lookup"}],
    }
    assert list(rows.tool_counts(row).items()) == [("escalate", 0), ("credit", 1), ("lookup", 2)]


def test_mixed_gold_is_trusted_only_when_every_label_is():
    labels = [{"label": 1, "kind": "human"}, {"label": 1, "kind": "verifier"}]
    assert rows.mixed_is_trusted({"gold_labels": labels})
    assert not rows.mixed_is_trusted({"gold_labels": [*labels, {"label": 0, "kind": "model"}]})
    assert not rows.mixed_is_trusted({"gold_kind": "mixed"})
