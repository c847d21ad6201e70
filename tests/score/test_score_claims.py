"""What a reply names as done beside what was done."""

import json
from pathlib import Path

import pytest

from whileai_review import claimed_actions

BILLING = Path(__file__).parents[1] / "conformance" / "rows" / "billing.jsonl"
TOOLS = ["lookup_invoice", "escalate_to_human", "issue_credit"]


def billing():
    return [json.loads(line) for line in BILLING.read_text(encoding="utf-8").splitlines()]


def test_the_recipes_leak_patterns_are_found():
    # The recipe's table: BIG 15 / 1 / 2, SMALL 26 / 7 / 6.
    found = [
        (row["leak_pattern"], claimed_actions(row, TOOLS)["pattern"])
        for row in billing()
        if row.get("leak_pattern")
    ]
    assert len(found) == 57
    for pattern in ("announced", "wrong_tool", "silent"):
        true = sum(a == b == pattern for a, b in found)
        assert true / sum(b == pattern for _, b in found) >= 0.95  # precision
        assert true / sum(a == pattern for a, _ in found) >= 0.95  # recall


def test_rows_with_the_right_action_show_no_pattern():
    right = [row for row in billing() if row["gold_action"] == 1 and row["final_text"]]
    assert [claimed_actions(row, TOOLS)["pattern"] for row in right] == [None] * len(right)


def named(text, tools):
    seen = claimed_actions({"final_text": text}, tools)["tools"]
    return [tool for tool in tools if seen[tool]["in_reply"]]


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("I will escalate this to a specialist.", "escalate_to_human"),
        ("I’ll escalate it.", "escalate_to_human"),
        ("Escalating now.", "escalate_to_human"),
        ("A colleague has now taken the case over.", "escalate_to_human"),
        ("Your request was passed on to a human agent.", "escalate_to_human"),
        ("I've issued a credit of $20.50 to your account. Anything else?", "issue_credit"),
        ("That has been credited.", "issue_credit"),
        ("I have cancelled your order.", "cancelOrder"),
        ("I am going to cancel it.", "cancel-order"),
        ("I have sent you an email.", "crm.send_email"),
        ("Your flight has been rebooked.", "rebook_flight"),
        ("The assistant called issue_refund.", "issue_refund"),
        ("I deleted the file.", "delete_file"),
    ],
)
def test_an_assertion_names_its_tool(text, tool):
    assert named(text, [tool]) == [tool]


@pytest.mark.parametrize(
    "text",
    [
        "I can't escalate this.",
        "I did not issue the credit.",
        "Should I escalate this?",
        "Would you like me to issue a credit?",
        "If it is over $200, I will escalate it.",
        "I can issue a credit if you like.",
        "Your credit card is on file.",
        "The record shows the lookup before crediting.",
        "",
    ],
)
def test_denials_offers_questions_and_conditions_name_nothing(text):
    assert named(text, ["escalate_to_human", "issue_credit"]) == []


def test_a_verb_two_tools_share_needs_its_object():
    tools = ["cancel_order", "cancel_subscription"]
    assert named("I have cancelled your subscription.", tools) == ["cancel_subscription"]


def test_counts_come_from_the_steps_and_undeclared_calls_are_listed():
    row = {"tools": ["a_tool"], "steps": [{"tool": "b_tool"}, {"tool": "b_tool"}]}
    tools = claimed_actions(row)["tools"]
    assert {name: seen["called"] for name, seen in tools.items()} == {"a_tool": 0, "b_tool": 2}


def test_a_claim_of_the_judge_alone_is_not_an_announcement():
    row = {"final_text": "It is $12.", "reason": "It escalated to a human."}
    report = claimed_actions(row, TOOLS)
    assert report["tools"]["escalate_to_human"] == {
        "in_reply": False,
        "in_reason": True,
        "called": 0,
    }
    assert report["pattern"] == "silent"


@pytest.mark.parametrize(
    "row", [{}, None, {"final_text": 3, "reason": ["x"], "steps": 7, "tools": 1}]
)
def test_odd_rows_never_raise(row):
    report = claimed_actions(row)
    assert report == {"tools": {}, "pattern": None}
    assert str(claimed_actions(row, ["", "__", "(", "a.b:c", "É"]))


def test_a_long_reply_is_read_in_one_pass_over_its_sentences():
    assert named("word " * 100_000 + "I will escalate it.", ["escalate_to_human"])
