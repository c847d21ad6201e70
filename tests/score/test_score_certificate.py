"""A certificate is what was measured, is refused when it was changed, and opens no other door."""

import copy
import hashlib
import json

import pytest

from whileai_review import judge_trust
from whileai_review.score import certificate as c
from whileai_review.score._gate_text import format_gate, format_gate_markdown, sign_off_words

WHEN = "2026-11-30T10:00:00+00:00"


def rows_of(tp=0, fp=0, fn=0, tn=0):
    """Rows by their cell, a task each."""
    cells = [(1, 1)] * tp + [(1, 0)] * fp + [(0, 1)] * fn + [(0, 0)] * tn
    return [
        {"scenario_id": f"t{n}", "reward": judge, "gold_reward": gold, "gold_kind": "human"}
        for n, (judge, gold) in enumerate(cells)
    ]


def bound(**more):
    return {
        "judge": {"name": "rubric_judge"},
        "guideline": {"versions": ["v4"], "rules": []},
        "criterion": "overall",
        "gold": {"kind": "human", "name": "human"},
        "data": {"run": "before", "sha256": "d" * 64, "split": None},
        "policy": {"sha256": "a" * 64, "from": "rows"},
        "plan": None,
        "slices": None,
    } | more


def made(report=None, when=WHEN, version="1", **more):
    report = report or judge_trust(rows_of(tp=60, tn=60))
    return c.make_certificate(report, bound(**more), when, version)


def target(**more):
    return {"run": "after"} | {k: v for k, v in bound(**more).items() if k in ("judge", "policy")}


def test_the_hash_is_the_sha256_of_the_rest_as_sorted_json():
    found = made()
    rest = {k: v for k, v in found.items() if k != "hash"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":")).replace(".0,", ",")
    text = text.replace(".0}", "}")  # whole numbers are written without a point
    assert found["hash"] == hashlib.sha256(text.encode()).hexdigest()


def test_a_certificate_survives_its_file_however_that_is_laid_out():
    found = made()
    # A program that knows one kind of number writes 1.0 as 1 and orders keys as it likes.
    other = json.loads(json.dumps(found, sort_keys=True), parse_float=lambda t: float(t) or 0)
    for text in (json.dumps(found, indent=4), json.dumps(other), json.dumps(found).encode()):
        assert c.read_certificate(text) == found


def test_making_one_changes_no_report():
    report = judge_trust(rows_of(tp=40, fp=3, fn=4, tn=30))
    before = copy.deepcopy(dict(report))
    made(report)
    assert dict(report) == before


def leaves(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in items:
        if isinstance(each, dict | list) and each:
            yield from leaves(each, (*path, key))
        else:
            yield (*path, key)


@pytest.mark.parametrize("path", list(leaves(made())), ids=lambda p: ".".join(map(str, p)))
def test_an_edit_of_any_value_is_refused(path):
    found = copy.deepcopy(made())
    at = found
    for key in path[:-1]:
        at = at[key]
    old = at[path[-1]]
    at[path[-1]] = old + 1 if isinstance(old, int | float) else f"{old}x"
    with pytest.raises(c.CertificateError):
        c.read_certificate(json.dumps(found))


def test_an_edit_says_that_it_was_changed():
    found = made(judge_trust(rows_of(tp=60, fp=40, fn=20, tn=10)))
    assert found["state"] == "fails"
    with pytest.raises(
        c.CertificateError, match="this certificate was changed after it was issued"
    ):
        c.read_certificate(json.dumps(found | {"state": "passes"}))


def test_a_key_added_or_taken_is_an_edit_too():
    found = made()
    with pytest.raises(c.CertificateError, match="was changed"):
        c.read_certificate(json.dumps(found | {"note": "trust me"}))
    del found["slices"]
    with pytest.raises(c.CertificateError, match="was changed"):
        c.read_certificate(json.dumps(found))


def rehashed(found):
    """As somebody would forge it who can compute a hash."""
    found["measurement"] = c.measurement_of(found)
    return found | {"hash": c.certificate_hash(found)}


def test_a_state_that_its_own_bounds_deny_is_refused():
    found = made(judge_trust(rows_of(tp=60, fp=40, fn=20, tn=10)))
    with pytest.raises(c.CertificateError, match="contradicts itself"):
        c.check_certificate(rehashed(found | {"state": "passes"}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[1", "not JSON"),
        ("[]", "no certificate of whileai-review"),
        ('{"format": "another"}', "no certificate of whileai-review"),
        (json.dumps({"format": c.FORMAT}), "changed"),
        (json.dumps({"format": c.FORMAT, "format_version": 2}), "newer format"),
        (json.dumps(made()).replace('"n_rows": 120', '"n_rows": NaN'), "changed"),
        ("[" * 100_000, "not JSON"),
        (json.dumps(rehashed({"format": c.FORMAT, "format_version": 1})), "no whole certificate"),
        (json.dumps(rehashed(made() | {"bounds": {}})), "bounds.agreement"),
        (json.dumps(rehashed(made() | {"state": "fine"})), "a state nobody knows"),
    ],
    ids=["empty", "broken", "list", "other", "bare", "newer", "nan", "deep", "few keys",
         "no bounds", "state"],
)  # fmt: skip
def test_what_is_no_certificate_is_named(text, said):
    with pytest.raises(c.CertificateError, match=said):
        c.read_certificate(text)


def test_the_same_measurement_on_another_day_differs_in_nothing_that_counts():
    one, two = made(), made(when="2026-12-24T10:00:00+00:00", version="2")
    renamed = made(data={"run": "monday", "sha256": "d" * 64, "split": None})
    assert one["hash"] != two["hash"]
    assert one["measurement"] == two["measurement"] == renamed["measurement"]
    for other in (
        made(policy={"sha256": "b" * 64, "from": "rows"}),
        made(guideline={"versions": ["v5"], "rules": []}),
        made(judge={"name": "rubric_judge", "rubric_sha256": "c" * 64}),
        made(judge_trust(rows_of(tp=60, tn=61))),
    ):
        assert other["measurement"] != one["measurement"]


def test_the_bounds_are_the_wider_of_rows_and_tasks():
    # statistics.md 5: p=.8, 25 tasks of 8 rows that agree as a whole; deff 8 (25/24 * 8 > 8).
    rows = [
        {"scenario_id": f"t{n // 8}", "reward": 1, "gold_reward": int(n // 8 < 20),
         "gold_kind": "human"}
        for n in range(200)
    ]  # fmt: skip
    found = made(judge_trust(rows))["bounds"]["agreement"]
    row_wilson = (0.739, 0.850)  # of 160 in 200, statsmodels
    assert found["value"] == pytest.approx(0.8)
    assert found["low"] < row_wilson[0] - 0.1 and found["high"] > row_wilson[1]
    assert (found["n"], found["n_tasks"]) == (200, 25)


@pytest.mark.parametrize(
    ("cells", "state", "status"),
    [
        ({"tp": 60, "tn": 60}, "passes", 0),
        ({"tp": 60, "fp": 40, "fn": 20, "tn": 10}, "fails", 1),
        ({"tp": 14, "fp": 1, "fn": 1, "tn": 14}, "not_shown", 3),
        ({}, "not_measured", 3),
    ],
)
def test_the_state_is_the_reports_and_its_exit_status(cells, state, status):
    said = c.gate(made(judge_trust(rows_of(**cells))))
    assert (said["decision"], said["exit"]) == (state, status)


def test_agreement_over_the_floor_by_its_point_alone_does_not_pass():
    # 27 of 30: point .90, Wilson [.74, .97].
    report = judge_trust(rows_of(tp=14, fp=1, fn=2, tn=13))
    assert report["agreement"]["agreement"] == 0.9
    assert c.gate(made(report))["exit"] == 3


def test_j_is_held_against_zero_by_its_lower_bound():
    """One failure, caught: agreement and kappa are 1, and no failure was missed."""
    report = judge_trust(rows_of(tp=200, tn=60))
    assert report["state"] == "passes"
    from whileai_review.score._state import trust_state

    short = dict(report) | {"j": report["j"] | {"ci95": (-0.01, 1.0), "ci95_tasks": None}}
    assert trust_state(short)[0] == "not_shown"
    assert "not shown to depend on the truth" in trust_state(short)[1]


def test_an_interim_queue_is_three_whatever_the_numbers():
    report = judge_trust(rows_of(tp=60, tn=60)) | {"interim": {"labelled": 82, "planned": 150}}
    said = c.gate(made(report))
    assert (said["decision"], said["exit"], said["word"]) == ("interim", 3, "INTERIM")


def test_another_policy_is_said_with_what_to_do():
    said = c.gate(made(), target(policy={"sha256": "b" * 64}))
    assert (said["decision"], said["exit"]) == ("other_policy", 3)
    assert said["reason"] == "measured on before; this run is after: label 40 random rows of after"
    assert c.gate(made(), target())["exit"] == 0


def test_a_policy_that_nobody_knows_is_another_one():
    assert c.gate(made(), target(policy={"sha256": None}))["decision"] == "other_policy"


@pytest.mark.parametrize(
    ("mine", "other", "said"),
    [
        ({"name": "j"}, {"name": "k"}, "measured for the judge j; this run is scored by k"),
        ({"name": "j", "rubric_sha256": "1" * 64}, {"name": "j", "rubric_sha256": "2" * 64},
         "the rubric 111111111111; this run has the rubric 222222222222"),
        ({"name": "j", "threshold": 3}, {"name": "j", "threshold": 4}, "another threshold"),
    ],
)  # fmt: skip
def test_another_judge_is_not_measured(mine, other, said):
    found = c.gate(made(judge=mine), target(judge=other))
    assert (found["decision"], found["exit"]) == ("other_judge", 3)
    assert said in found["reason"]


def test_the_same_judge_under_another_name_is_the_same():
    mine, other = {"name": "j", "sha256": "1" * 64}, {"name": "k", "sha256": "1" * 64}
    assert c.gate(made(judge=mine), target(judge=other))["exit"] == 0


def test_labels_that_came_since_can_fail_a_judge_that_passed():
    today = made(judge_trust(rows_of(tp=60, fp=40, fn=20, tn=10)))
    said = c.gate(made(), target(), today)
    assert said["exit"] == 1
    assert said["reason"].startswith("the certificate of 2026-11-30 passes; with the labels of tod")


def test_moved_is_about_numbers_alone():
    report = judge_trust(rows_of(tp=60, tn=60))
    assert not c.moved(made(report), report)
    assert c.moved(made(report), judge_trust(rows_of(tp=60, fp=1, tn=60)))


def signed(found, *decisions):
    said, before = [], None
    for decision in decisions:
        one = {"certificate": found["hash"], "decision": decision, "reason": "r", "by": "lea",
               "at": WHEN}  # fmt: skip
        before = c.sign_off_hash(one, before)
        said.append(one | {"hash": before})
    return found | {"sign_offs": said}


def test_sign_offs_ride_along_and_an_edited_one_is_refused():
    found = signed(made(), "hold", "accept")
    assert c.read_certificate(json.dumps(found)) == found
    found["sign_offs"][0]["decision"] = "accept"
    with pytest.raises(c.CertificateError, match="a sign-off of this certificate was changed"):
        c.read_certificate(json.dumps(found))
    with pytest.raises(c.CertificateError, match="of another certificate"):
        c.read_certificate(json.dumps(made(version="9") | {"sign_offs": found["sign_offs"]}))
    dropped = signed(made(), "hold", "accept")
    del dropped["sign_offs"][0]
    with pytest.raises(c.CertificateError, match="was changed"):
        c.read_certificate(json.dumps(dropped))


def test_a_sign_off_against_the_numbers_says_so():
    one = {"decision": "accept", "reason": "we know", "by": "lea", "at": WHEN}
    assert sign_off_words(one, "passes") == "accepted by lea on 2026-11-30: we know"
    assert sign_off_words(one, "fails").endswith("(the gate goes by the numbers: FAILS)")
    assert sign_off_words(one | {"decision": "hold"}, "passes").endswith("numbers: PASSES)")
    assert sign_off_words(None, "passes") == ""


def test_the_text_has_every_bound_with_rows_and_tasks():
    text = format_gate(c.gate(made()) | {"issued": True})
    assert text.startswith("PASSES. ")
    assert "Agreement" in text and "≥ 80%" in text and "120" in text
    assert made()["hash"] in text


def test_the_markdown_draws_names_letter_by_letter():
    evil = "![t](http://h/t.png) <img src=x> |a| `b`"
    found = made(judge={"name": evil}, data={"run": evil, "sha256": None})
    said = c.gate(found) | {"issued": True}
    said["sign_off"] = {"decision": "hold", "reason": evil, "by": evil, "at": WHEN}
    text = format_gate_markdown(said)
    for raw in ("![t]", "<img", "|a|", "`b`", "http://"):
        assert raw not in text.replace("\\" + raw[0], "")
    assert text.count("\n|") == 9  # head, rule, seven bounds: no cell was broken


def test_a_certificate_with_a_lone_surrogate_can_be_hashed_again():
    found = made(judge={"name": "j\ud800"})
    assert c.read_certificate(json.dumps(found)) == found


def forged(**parts):
    """A certificate with whole parts replaced by somebody who can compute a hash."""
    return rehashed(copy.deepcopy(made()) | parts)


def bounds(**changed):
    found = copy.deepcopy(made())["bounds"]
    for name, values in changed.items():
        found[name] |= values
    return found


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"judge": {"name": ["a"]}}, "judge.name"),
        ({"judge": made()["judge"] | {"threshold": "many"}}, "judge.threshold"),
        ({"guideline": {"versions": "v1"}}, "guideline.versions"),
        ({"guideline": {"versions": [1]}}, "guideline.versions"),
        ({"plan": {"planned": 30}}, "plan.labelled, plan.looks"),
        ({"headline": {}}, "headline.word"),
        ({"confusion": {"tp": 1}}, "confusion.fp"),
        ({"measured_at": ""}, "measured_at"),
        ({"measured_at": "yesterday"}, "measured_at"),
        ({"format_version": True}, "format_version"),
        ({"bounds": bounds(agreement={"low": "0.97"})}, "bounds.agreement"),
        ({"bounds": bounds(tnr={"n": True})}, "bounds.tnr"),
        ({"headline": made()["headline"] | {"word": "FAILS"}}, "headline says 'FAILS'"),
        ({"n_rows": 7}, "its number of rows is not of its rows"),
        ({"n_tasks": 1_000}, "its number of rows is not of its rows"),
        ({"bounds": bounds(tnr={"n": 7})}, "its tnr is not of its rows"),
        ({"bounds": bounds(tpr={"value": 0.2})}, "its tpr is not of its rows"),
        ({"bounds": bounds(agreement={"low": None})}, "its agreement is not of its rows"),
    ],
)
def test_a_forged_part_is_named_and_breaks_nothing(parts, said):
    with pytest.raises(c.CertificateError, match=said):
        c.read_certificate(json.dumps(forged(**parts)))


def test_a_key_that_stands_twice_is_an_edit():
    """One reader takes the first, another the last: neither text is the one that was issued."""
    for text in (
        json.dumps(made())[:-1] + ', "state": "passes"}',
        '{"state": "passes", ' + json.dumps(made(judge_trust(rows_of(60, 40, 20, 10))))[1:],
    ):
        with pytest.raises(c.CertificateError, match="was changed"):
            c.read_certificate(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_what_a_shell_of_windows_writes_is_read(encoding):
    found = made()
    text = json.dumps(found, ensure_ascii=False, indent=1).replace("\n", "\r\n")
    assert c.looks_like_certificate(text.encode(encoding))
    assert c.read_certificate(text.encode(encoding)) == found


def test_a_count_that_came_back_as_a_decimal_is_the_count():
    text = json.dumps(made()).replace('"n_rows": 120', '"n_rows": 120.0')
    assert c.read_certificate(text)["n_rows"] == 120


def test_two_certificates_in_a_file_are_refused():
    line = json.dumps(made())
    assert c.looks_like_certificate(f"{line}\n{line}\n")
    with pytest.raises(c.CertificateError, match="more than one"):
        c.read_certificate(f"{line}\n{line}\n")


def test_a_sign_off_is_one_line_whatever_was_typed():
    said = {"decision": "hold", "by": "lea", "at": "2026-01-02T03:04:05+00:00",
            "reason": "wait\ncertificate: sha256 0000"}  # fmt: skip
    words = sign_off_words(said, "fails")
    assert words == "put on hold by lea on 2026-01-02: wait certificate: sha256 0000"


def test_a_key_put_into_a_sign_off_is_an_edit():
    found = made()
    one = {"certificate": found["hash"], "decision": "accept", "reason": "read", "by": "lea",
           "at": "2026-01-02T03:04:05+00:00"}  # fmt: skip
    one["hash"] = c.sign_off_hash(one, None)
    c.check_certificate(found | {"sign_offs": [one]})
    with pytest.raises(c.CertificateError, match="a sign-off of this certificate was changed"):
        c.check_certificate(found | {"sign_offs": [one | {"also": "ok by legal"}]})
