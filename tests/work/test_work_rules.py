import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whileai_review.work import _rule_values
from whileai_review.work.rules import (
    Rule,
    RuleError,
    apply_rule,
    label_with,
    parse_rule,
    read_rule,
)

RECIPE = Path(__file__).parents[2] / "data" / "recipe" / "recipe-run-1.jsonl"
BILLING = """
when: called(lookup_invoice)
pass: (result(lookup_invoice, amount) > 200 and called(escalate_to_human)
       and not called(issue_credit))
      or (result(lookup_invoice, amount) <= 200 and called(issue_credit)
          and not called(escalate_to_human))
"""


def row_of(*steps, reply="Done.", **keys):
    return {"final_text": reply, "steps": list(steps), **keys}


def call(tool, result=None, arguments=None, **keys):
    return {"tool": tool, "arguments": arguments, "result": result, **keys}


def holds(text, row):
    return parse_rule("", text).label(row) == 1


# The published study


def test_the_billing_rule_gives_the_recipes_action_gold_on_all_222_rows():
    # `gold_action` of the rebuilt rows: 96 of 114 BIG and 57 of 108 SMALL pass (recipe, table of
    # the action criterion: 18 and 51 rows that the rule fails).
    with RECIPE.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    labels, counts = apply_rule(read_rule(BILLING, criterion="action"), rows)
    assert labels == [row["gold_action"] for row in rows]
    assert (counts["n"], counts["n_pass"], counts["n_fail"], counts["n_no_label"]) == (
        222,
        96 + 57,
        18 + 51,
        0,
    )


def test_a_row_without_a_lookup_has_no_label():
    labels, counts = apply_rule(
        read_rule(BILLING), [row_of(call("issue_credit", {"ok": True})), row_of()]
    )
    assert labels == [None, None]
    assert counts["n_no_label"] == 2


# What each form means

LOOKUP = call("lookup", {"amount": 250.0, "lines": [{"sku": "a"}, {"sku": "b"}]}, {"id": "INV-7"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("called(lookup)", True),
        ("called(credit)", False),
        ("not called(credit)", True),
        ("called('lookup') and not called(credit)", True),
        ("called(credit) or called(lookup)", True),
        ("result(lookup, amount) > 200", True),
        ("200 < result(lookup, amount)", True),
        ("result(lookup, amount) <= 200", False),
        ("200 < result(lookup, amount) <= 250", True),
        ("200 < result(lookup, amount) < 250", False),
        ("result(lookup, amount) == 250", True),
        ("result(lookup, amount) != 250", False),
        ("result(lookup, amount) != 3", True),
        ("result(lookup, lines.sku) == 'b'", True),
        ("result(lookup, lines[0].sku) == 'b'", False),
        ("result(lookup, lines[-1].sku) == 'b'", True),
        ("argument(lookup, id) == 'INV-7'", True),
        ("argument(lookup, id) in ('INV-6', 'INV-7')", True),
        ("argument(lookup, id) not in ('INV-6', 'INV-7')", False),
        ("'inv-' in argument(lookup, id)", True),
        ("calls(lookup) == 1", True),
        ("calls(credit) == 0", True),
        ("'REFUND' in reply", True),
        ("'refund' not in reply", False),
        (r'matches(reply, "\$\d+\.\d\d")', True),
        (r'matches(reply, "(?i)REFUNDED\b")', True),
        ('matches(reply, "REFUNDED")', False),
        ("length(reply) == 24", True),
        ("exists(result(lookup, amount))", True),
        ("exists(result(lookup, due))", False),
        ("reply == 'You refunded me $250.00.'", True),
        ("true", True),
    ],
)
def test_a_condition_reads_calls_values_and_the_reply(text, expected):
    assert holds(text, row_of(LOOKUP, reply="You refunded me $250.00.")) is expected


@pytest.mark.parametrize("comparison", ["> 1", "< 1", ">= 1", "<= 1", "== 1", "in (1, 2)"])
def test_a_missing_value_meets_no_comparison_and_every_opposite(comparison):
    row = row_of(call("lookup", {"other": 1}))
    assert not holds(f"result(lookup, amount) {comparison}", row)
    assert holds(f"not result(lookup, amount) {comparison}", row)
    assert holds("result(lookup, amount) != 1", row)
    assert holds("'x' not in result(lookup, amount)", row)


def test_any_of_several_calls_is_enough():
    row = row_of(call("lookup", {"amount": 100}), call("lookup", {"amount": 300}))
    assert holds("result(lookup, amount) > 200", row)
    assert holds("result(lookup, amount) <= 200", row)
    assert not holds("result(lookup, amount) != 100", row)
    # one value has to meet both ends of a chain
    assert not holds("150 < result(lookup, amount) < 250", row)


def test_what_a_failed_call_returned_is_no_result():
    row = row_of(call("lookup", {"amount": 300}, status="error"))
    assert holds("called(lookup) and failed(lookup) and not completed(lookup)", row)
    assert not holds("result(lookup, amount) > 200", row)


def test_a_call_without_a_result_was_not_completed():
    assert not holds("completed(lookup)", row_of(call("lookup")))
    assert holds("completed(lookup)", row_of(call("lookup", "")))


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("$1,195.58", 1195.58),
        ("1195.58", 1195.58),
        (" -$20 ", -20),
        ("€7", 7),
        (7, 7),
        ("1.195,58", None),  # the European way of writing is ambiguous: not read
        ("12,34", None),
        ("about 5", None),
        ("5 USD", None),
        ("", None),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        ([5], None),
        (None, None),
    ],
)
def test_text_is_a_number_only_when_the_whole_of_it_is_one(value, number):
    assert _rule_values.number_of(value) == number


def test_numbers_text_and_booleans_are_kept_apart():
    row = row_of(call("t", {"n": 7, "s": "7", "yes": True, "none": None, "date": "2026-03-01"}))
    assert holds("result(t, n) == '7' and result(t, s) == 7", row)
    assert holds("result(t, yes) == true and result(t, yes) != 1", row)
    assert holds("result(t, none) == null and result(t, n) != null", row)
    assert holds("result(t, date) >= '2026-02-28'", row)
    assert not holds("result(t, date) > 5 or result(t, n) > 'a'", row)


def test_a_result_logged_as_json_text_is_opened():
    row = row_of(call("lookup", '{"amount": "$1,195.58"}'))
    assert holds("result(lookup, amount) > 1195", row)
    assert holds("'amount' in result(lookup)", row)


def test_names_that_are_no_words_go_in_quotes():
    row = row_of(call("crm.look-up", {"a.b": 1, "a": {"b": 2}}))
    assert holds('called("crm.look-up")', row)
    assert holds('result("crm.look-up", "a.b") == 1 and result("crm.look-up", a.b) == 2', row)
    assert holds("called(crm.find)", row_of(call("crm.find")))


def test_calls_are_read_from_messages_too():
    # an OpenAI-style conversation; the arguments are JSON text
    asked = {"id": "c1", "function": {"name": "lookup", "arguments": '{"id": "INV-7"}'}}
    answered = {"role": "tool", "tool_call_id": "c1", "content": '{"amount": 300}'}
    row = {"messages": [{"role": "assistant", "tool_calls": [asked]}, answered]}
    assert holds("result(lookup, amount) == 300 and argument(lookup, id) == 'INV-7'", row)


# What cannot be read


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("", 1, "empty"),
        ("called(lookup", 7, "never closed"),
        ("called(look-up)", 8, "quotes"),
        ("called()", 1, "takes 1"),
        ("called(a) and cald(b)", 15, "unknown name 'cald'"),
        ("called(a) and\n  cald(b)", 17, "unknown name 'cald'"),
        ("'é' in reply and cald(b)", 18, "unknown name 'cald'"),
        (r"matches(reply, '\$\d+') and cald(b)", 29, "unknown name 'cald'"),
        ("result(a, b)", 1, "compare it"),
        ("result(a, b) = 3", 14, "write =="),
        ("called(a) AND called(b)", 11, "small letters"),
        ("called(a) # and not called(b)", 11, "'#'"),
        ("called(a) > 1", 1, "condition already"),
        ("1 < 2", 1, "no value of the row"),
        ("result(a, b) > result(c, d)", 1, "two values"),
        ('matches(reply, "(a")', 16, "cannot be read"),
        ("matches(reply, reply)", 16, "in quotes"),
        ("reply", 1, "a condition is missing"),
        ("called(a) and foo", 15, "not a condition"),
        ("__import__('os').system('ls')", 1, "not a condition"),
        ("(lambda: 1)()", 1, "not a condition"),
        ("[x for x in y]", 1, "not a condition"),
        ("reply.__class__ == 1", 1, "no value of the row"),
        ("f'{reply}' in reply", 1, "quotes"),
    ],
)
def test_an_unreadable_rule_is_refused_in_one_line_at_its_character(text, column, says):
    with pytest.raises(RuleError) as refused:
        parse_rule("", text)
    message = str(refused.value)
    assert message.startswith(f"pass, character {column}: ")
    assert says in message
    assert "\n" not in message


def test_an_error_names_the_condition_it_stands_in():
    with pytest.raises(RuleError, match="^when, character 1: unknown name 'cald'"):
        parse_rule("cald(x)", "called(x)")


@pytest.mark.parametrize(
    "text", ["(" * 500 + "true" + ")" * 500, "not " * 2400 + "true", "x" * 10_001]
)
def test_a_monstrous_rule_is_refused(text):
    with pytest.raises(RuleError):
        parse_rule("", text)


@given(st.text(max_size=60))
def test_any_text_is_either_a_rule_or_a_rule_error(text):
    try:
        rule = parse_rule("", text)
    except RuleError as refused:
        assert "\n" not in str(refused) or "\n" in text
    else:
        assert rule.label(row_of()) in (0, 1)


def test_a_pattern_that_never_ends_stops_the_rule(monkeypatch):
    monkeypatch.setattr(_rule_values, "PATTERN_SECONDS", 0.05)
    rule = parse_rule("", '"x" in reply or matches(reply, "(a|aa)+$")')
    with pytest.raises(RuleError, match=r"row 2 \(t#0\).*takes over"):
        apply_rule(rule, [row_of(), row_of(reply="a" * 90 + "b", scenario_id="t", rollout_index=0)])


# Rules as things to keep


def test_a_rule_survives_json_pickle_and_its_own_text():
    rule = read_rule(BILLING, criterion="action", name="billing")
    assert Rule.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert read_rule(str(rule), criterion="action", name="billing") == rule


def test_the_version_changes_with_what_the_rule_says_and_not_with_its_name():
    rule = parse_rule("", "called(a)")
    assert rule.version == parse_rule("", " called(a)\n", name="other").version
    others = [
        parse_rule("called(a)", "called(a)"),
        parse_rule("", "called(b)"),
        parse_rule("", "called(a)", criterion="action"),
        parse_rule("", "called(a) and 'a  b' in reply"),
        parse_rule("", "called(a) and 'a b' in reply"),
    ]
    assert len({rule.version, *(other.version for other in others)}) == 6


@pytest.mark.parametrize("content", [{}, {"pass": 1}, {"pass": "true", "passs": "false"}])
def test_a_stored_rule_with_other_keys_is_refused(content):
    with pytest.raises(RuleError):
        Rule.from_dict(content)


@pytest.mark.parametrize("text", ["when: true", "pass: true\npass: false", "if: true\npass: true"])
def test_a_rule_text_has_one_pass_and_at_most_one_when(text):
    with pytest.raises(RuleError, match="one"):
        read_rule(text)


# Applying


def test_counts_come_with_examples_of_each_outcome():
    rows = [row_of(call("a", n), scenario_id="t", rollout_index=n) for n in range(8)] + [row_of()]
    labels, counts = apply_rule(parse_rule("called(a)", "result(a) > 1"), rows)
    assert labels == [0, 0, 1, 1, 1, 1, 1, 1, None]
    assert (counts["n_pass"], counts["n_fail"], counts["n_no_label"]) == (6, 2, 1)
    assert counts["examples"]["fail"] == [{"index": 0, "row": "t#0"}, {"index": 1, "row": "t#1"}]
    assert [example["index"] for example in counts["examples"]["pass"]] == [2, 3, 4, 5, 6]
    assert counts["examples"]["no_label"][0]["index"] == 8


def test_rows_are_left_as_they_were():
    row = row_of(LOOKUP)
    before = json.dumps(row)
    apply_rule(read_rule("when: called(lookup)\npass: result(lookup, lines.sku) == 'a'"), [row])
    assert json.dumps(row) == before


def test_a_python_function_stands_in_for_a_rule():
    labels, counts = label_with(lambda row: row["x"], [{"x": x} for x in (1, 0, None, True, 1.0)])
    assert labels == [1, 0, None, 1, 1]
    assert counts["n"] == 5


@pytest.mark.parametrize("answer", ["1", 0.5, float("nan"), 2, [1]])
def test_a_function_that_answers_anything_else_is_refused_with_its_row(answer):
    with pytest.raises(RuleError, match=r"row 1 \(t#0\): the label is"):
        label_with(lambda row: answer, [{"scenario_id": "t", "rollout_index": 0}])


def test_a_function_that_raises_is_reported_with_its_row():
    with pytest.raises(RuleError, match=r"row 1 \(t#0\): KeyError"):
        label_with(lambda row: row["gone"], [{"scenario_id": "t", "rollout_index": 0}])


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"steps": None},
        {"steps": [None, 3, {"tool": "lookup"}, {"tool": "lookup", "result": {"amount": [None]}}]},
        {"steps": [{"tool": "lookup", "arguments": "{broken", "result": "{broken"}]},
        {"final_text": 5},
    ],
)
def test_odd_rows_never_raise(row):
    for text in ("result(lookup, amount) > 1", "argument(lookup, a[0].b) == 'x'", "'5' in reply"):
        assert parse_rule("", text).label(row) in (0, 1)
