"""Expected texts were written out by hand from look.md, "Keystrokes and attention"."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whileai_review.ui import _record
from whileai_review.ui._record import Call, Said, read_record
from whileai_review.ui.transcript import TEXT_CHARS, record_html


def page(row, row_id="7", declared=None):
    return record_html(read_record(row, declared), row_id)


def words(html):
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def calls(n, **changed):
    steps = [{"tool": "lookup", "arguments": {"i": i}, "result": {"ok": i}} for i in range(n)]
    for at, step in changed.items():
        steps[int(at[1:])] |= step
    return {"prompt": "ask", "final_text": "reply", "steps": steps}


def test_a_call_is_one_line_with_arguments_and_result():
    html = page(
        {"prompt": "a", "steps": [{"tool": "lookup", "arguments": {"id": "INV-7"}, "result": 5}]}
    )
    assert "1 lookup(id=&quot;INV-7&quot;) → 5" in words(html)
    assert "<details" not in html


def test_a_row_without_anything_to_read_says_so_instead_of_asking_for_a_guess():
    assert "There is nothing to read in this row" in words(page({"correct": 1}))
    for row in ({"prompt": "a"}, {"final_text": "r"}, {"steps": [{"tool": "t"}]}):
        assert "There is nothing to read" not in words(page(row))


def test_arguments_that_could_not_be_read_are_called_so():
    html = page({"prompt": "a", "steps": [{"tool": "pay", "arguments": '{"amount": 12, '}]})
    assert "(arguments are no JSON)" in words(html)


def test_a_long_result_shows_120_characters_and_unfolds():
    html = page({"prompt": "a", "steps": [{"tool": "t", "result": "x" * 130}]})
    assert "x" * 120 + "…" in html
    assert "x" * 130 in html
    assert "<details>" in html


def test_the_strip_lists_every_declared_tool_in_declared_order_and_then_the_others():
    row = {
        "prompt": "a",
        "tools": ["zeta", "alpha"],
        "steps": [{"tool": "other"}, {"tool": "alpha"}],
    }
    assert "zeta 0 · alpha 1 · other 1" in words(page(row))


def test_tools_of_the_run_stand_in_for_a_row_that_lists_none():
    html = page({"prompt": "a", "steps": [{"tool": "lookup"}]}, declared=["lookup", "credit"])
    assert "lookup 1 · credit 0" in words(html)


def test_ten_steps_are_all_open_and_eleven_are_folded_but_for_the_last_two():
    assert "steps 1 to" not in page(calls(10))
    assert "steps 1 to 9: lookup ×9" in words(page(calls(11)))


def test_a_write_and_a_failure_stay_open_among_many():
    row = calls(14, s3={"tool": "issue_credit"}, s6={"error": "denied"})
    html = words(page(row))
    assert "steps 1 to 3: lookup ×3" in html
    assert "steps 5 to 6: lookup ×2" in html
    assert "steps 8 to 12: lookup ×5" in html
    assert {3, 6, 12, 13} == _record.eventful(
        [i for i in read_record(row).items if isinstance(i, Call)]
    )


@pytest.mark.parametrize(
    ("row", "note"),
    [
        ({"final_text": ""}, "(empty reply)"),
        ({"final_text": "   "}, "(a reply of 3 blank characters)"),
        ({"final_text": None}, "(the reply is null)"),
        ({}, "(no reply in this row)"),
    ],
)
def test_four_ways_of_having_no_reply_are_told_apart(row, note):
    assert note in words(page({"prompt": "a"} | row))


def test_a_conversation_is_told_in_its_order_and_the_reply_once():
    row = {
        "messages": [
            {"role": "system", "content": "policy line"},
            {"role": "user", "content": "first"},
            {
                "role": "assistant",
                "content": "look",
                "tool_calls": [{"id": "a", "function": {"name": "t", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "a", "content": "found"},
            {"role": "user", "content": "and?"},
            {"role": "assistant", "content": "done"},
        ]
    }
    record = read_record(row)
    assert (record.ask, record.policy, record.reply) == ("first", "policy line", "done")
    kinds = [item.text if isinstance(item, Said) else item.step.result for item in record.items]
    assert kinds == ["look", "found", "and?"]
    assert words(record_html(record, "1")).count("done") == 1


def test_five_megabytes_are_cut_with_their_length_and_a_way_to_all():
    html = page({"prompt": "a", "final_text": "b" * 5_000_000})
    assert len(html) < 2 * TEXT_CHARS
    assert "first 20,000 of 5,000,000 characters" in html
    assert 'href="record/7"' in html


def test_ten_thousand_messages_draw_three_hundred_and_say_so():
    talk = [{"role": "user", "content": f"m{i}"} for i in range(10_001)]
    html = page({"messages": talk})
    assert "9,700 turns and calls in between are not drawn" in html
    assert "m10000" in html


def test_the_plain_text_of_a_record_holds_all_of_it():
    row = calls(3) | {"final_text": "z" * 100_000}
    text = "".join(_record.as_text(read_record(row)))
    assert text.endswith("z" * 100_000 + "\n")
    assert text.count("STEP ") == 3


def test_nothing_about_judge_run_or_model_is_on_a_blind_page():
    row = calls(1) | {
        "reward": 1, "reason": "REASON", "judge_name": "JUDGE", "gold_reward": 0, "model": "MODEL",
        "lineage": "LINE", "markers": {"MARK": 1}, "privileged": "SECRET", "run": "RUN",
    }  # fmt: skip
    html = page(row)
    assert not [
        word
        for word in ("REASON", "JUDGE", "MODEL", "LINE", "MARK", "SECRET", "RUN")
        if word in html
    ]


EVIL = "<img src=x onerror=alert(1)>\x00\u202e\x1b[31m"


def test_text_from_a_rollout_is_escaped_wherever_it_stands():
    row = {
        "prompt": EVIL, "policy": EVIL, "final_text": EVIL, "tools": [EVIL],
        "steps": [{"tool": EVIL, "arguments": {EVIL: EVIL}, "result": EVIL * 9}],
        "messages": [{"role": EVIL, "content": EVIL}],
    }  # fmt: skip
    html = page(row, row_id=EVIL)
    assert "<img" not in html
    assert not re.search("[\x00\u202e\x1b]", html)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
_keys = st.sampled_from(
    ["prompt", "final_text", "messages", "steps", "tools", "policy", "tool_trace"]
)


@given(st.dictionaries(_keys, _json, max_size=7))
def test_no_row_is_too_odd_to_be_shown(row):
    html = page(row)
    assert html.startswith('<div class="wr') and html.count("<div") == html.count("</div")
    assert html.count("<details") == html.count("</details")
    "".join(_record.as_text(read_record(row)))
    json.dumps(html)
