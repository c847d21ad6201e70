"""Trust as one file: what a parser of HTML finds in it, and whether it says what was measured."""

import json
import re
from hashlib import sha256
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from whileai_review import judge_trust, work
from whileai_review.intervals import wilson
from whileai_review.load import Mapping
from whileai_review.score.certificate import canonical, read_certificate
from whileai_review.work import trust_report
from whileai_review.work.trust_report import (
    figure_svg,
    headline_texts,
    trust_file,
    trust_html,
    trust_page,
)

SCRIPT = '<script>fetch("http://192.0.2.1/x")</script>'
IMAGE = '"><img src=http://192.0.2.1/i.png onerror=alert(1)>'
STYLE = "</style></title><style>@import url(//192.0.2.1/c.css)</style>"
ODD = "‮liaf\x1b[31m￿\x00]]>&lt;"
HOSTILE = (SCRIPT, IMAGE, STYLE, ODD)

TAGS = set(
    "html head meta title style body p h1 h2 span div i table thead tbody tr th td pre s "
    "svg defs pattern rect line circle polygon text".split()
)
ATTRIBUTES = set(
    "lang charset name content http-equiv style class scope role aria-label title viewbox width "
    "height x y x1 x2 y1 y2 cx cy r points fill fill-opacity stroke stroke-width stroke-dasharray "
    "text-anchor id patternunits patterntransform xmlns".split()
)
"""All that the file may hold: nothing here runs, links or loads."""


class Page(HTMLParser):
    """Tags, attributes and texts of a file, as a browser would have them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.styles, self.texts, self.cells = [], [], [], [], []
        self.inside = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.inside.add(tag)
        self.attributes += attributes
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_data(self, data):
        (self.styles if "style" in self.inside else self.texts).append(data)
        if self.inside & {"td", "th"}:
            self.cells[-1][-1] += data

    def handle_endtag(self, tag):
        self.inside.discard(tag)

    def line(self, name):
        """The cells of the line of a table that begins with this name."""
        return next(cells for cells in self.cells if cells and cells[0] == name)


def asks_nobody(text):
    """Assert that nothing in the file runs, links or loads; return it parsed."""
    page = Page(text)
    assert set(page.tags) <= TAGS, set(page.tags) - TAGS
    names = {name for name, _ in page.attributes}
    assert names <= ATTRIBUTES, names - ATTRIBUTES
    styles = page.styles + [value for name, value in page.attributes if name == "style"]
    for style in styles:
        assert "@import" not in style and "//" not in style and "url(" not in style
    fills = [value for name, value in page.attributes if name == "fill"]
    assert {value for value in fills if "url" in value} <= {"url(#wf-hatch)"}
    return page


def confused(tp, fp, fn, tn, tasks=10, **more):
    """Rows with these counts, one after the other over the tasks."""
    cells = [(1, 1)] * tp + [(1, 0)] * fp + [(0, 1)] * fn + [(0, 0)] * tn
    return [
        {"scenario_id": f"t{i % tasks}", "prompt": f"ask {i % tasks}", "final_text": f"r {i}",
         "reward": judge, "gold_reward": gold} | more
        for i, (judge, gold) in enumerate(cells)
    ]  # fmt: skip


@pytest.fixture
def hostile(store, lines):
    """A run whose every name was made to break out of a page."""
    rows = confused(40, 10, 5, 25)
    for i, row in enumerate(rows):
        row[SCRIPT] = HOSTILE[i % 4]
        row["scenario_id"] = f"{IMAGE}{i % 10}"
    return work.load_file(
        store,
        lines(rows),
        name=f"run {SCRIPT} {ODD}",
        grader=f"judge {IMAGE}",
        mapping=Mapping({"reward": "reward", "gold_reward": "gold_reward"}),
        origins={"gold_reward": {"kind": "human", "annotator": STYLE}},
    )["runs"][0]


@pytest.fixture
def base(store, lines):
    return work.load_file(
        store,
        lines(confused(40, 10, 5, 25, regime="BIG")),
        grader="rubric",
        mapping=Mapping({"reward": "reward", "gold_reward": "gold_reward"}),
        origins={"gold_reward": {"kind": "human"}},
    )["runs"][0]


def test_texts_made_to_break_out_are_text(store, hostile):
    issued = work.issue(store, hostile["id"], by=SCRIPT)
    work.sign_off(store, issued["hash"], "hold", f"why {IMAGE} {STYLE}", f"lead {SCRIPT}")
    text = trust_html(store, hostile["id"], field=SCRIPT)
    page = asks_nobody(text)
    said = "".join(page.texts)
    for each in (SCRIPT, IMAGE, STYLE):
        assert each in said
    assert f"judge {IMAGE}" in said and f"why {IMAGE} {STYLE}" in said and f"lead {SCRIPT}" in said
    assert "⟦U+202E⟧liaf␛[31m⟦U+FFFF⟧␀]]>&lt;" in said
    text.encode("utf-8")


@pytest.mark.parametrize("name", ["confusion", "checks", "slices"])
def test_a_figure_is_xml_that_asks_nobody(store, hostile, name):
    report = work.trust(store, hostile["id"])
    cut = work.slices(store, hostile["id"], SCRIPT)
    text = figure_svg(report, name, cut)
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    asks_nobody(text)


def test_no_figure_of_another_name(store, base):
    report = work.trust(store, base["id"])
    with pytest.raises(ValueError, match="No figure 'slices'"):
        figure_svg(report, "slices")
    with pytest.raises(ValueError, match="No figure 'pie'"):
        figure_svg(report, "pie")


def test_the_numbers_are_those_of_the_rows(store, base):
    """40 + 25 of 80 agree; 25 of 35 failures are caught; each interval at least Wilson's."""
    page = asks_nobody(trust_html(store, base["id"]))
    _, value, interval, _, n, tasks, _ = page.line("Agreement")
    assert (value, n, tasks) == ("81%", "80", "10")
    low, high = (int(part) for part in re.findall(r"\d+", interval))
    bounds = wilson(65, 80)
    assert low <= round(100 * bounds.low) and high >= round(100 * bounds.high)
    report = work.trust(store, base["id"])
    for name, key in (("Catches failures (TNR)", "tnr"), ("Passes passes (TPR)", "tpr")):
        _, value, interval, _, n, tasks, _ = page.line(name)
        found = report[key]
        low = min(found["ci95"][0], found["ci95_tasks"][0])
        high = max(found["ci95"][1], found["ci95_tasks"][1])
        assert value == f"{100 * found['value']:.0f}%"
        assert interval == f"[{100 * low:.0f}, {100 * high:.0f}]"
        assert (n, tasks) == (str(found["n"]), str(found["n_tasks"]))
    corrected = report["corrected"]
    _, value, interval, rows, tasks = page.line("Corrected by labels")
    low, high = corrected["ci95"]
    assert interval == f"[{100 * low:.0f}, {100 * high:.0f}]" and (rows, tasks) == ("80", "10")
    assert report["headline"]["bold"] in "".join(page.texts)


def test_a_slice_is_quoted_with_the_wider_of_its_intervals(store, base):
    page = asks_nobody(trust_html(store, base["id"], field="regime"))
    line = work.slices(store, base["id"], "regime")["rows"][0]
    both = [line["false_pass_ci95"], line["false_pass_ci95_tasks"]]
    low, high = min(each[0] for each in both), max(each[1] for each in both)
    assert [round(100 * bound) for bound in both[0]] != [round(100 * bound) for bound in both[1]]
    cells = page.line("BIG")
    assert cells[1:5] == ["80", "10", "29%, 10 of 35", f"[{100 * low:.0f}, {100 * high:.0f}]"]


def test_the_hashes_are_those_of_the_certificate(store, base):
    issued = work.issue(store, base["id"])
    page = asks_nobody(trust_html(store, base["id"]))
    data = issued["data"]
    assert page.line("content of the run")[1] == data["sha256"] == base["content_hash"]
    assert page.line("rows measured, verdicts and labels")[1] == data["rows_sha256"]
    assert page.line("measurement")[1] == issued["measurement"]
    day = issued["measured_at"][:10]
    assert page.line(day) == [day, "FAILS", "rubric · overall", issued["hash"], "none"]


def test_before_the_last_planned_label_nothing_has_a_verdict(store, base, press):
    queue = work.draw_queue(store, base["id"], "random", 30)
    for row in store.queue_row_ids(queue["id"])[:12]:
        press(queue, row, "pass")
    store.choose(base["id"], gold="human")
    text = trust_html(store, base["id"])
    page = asks_nobody(text)
    report = work.trust(store, base["id"])
    assert report["interim"] and report["headline"]["word"] in "".join(page.texts)
    assert page.line("Agreement")[6] == ""
    assert not re.search("[▲▼]", text) and "<polygon" not in text
    assert json.loads(headline_texts(report)["json"])["state"] == "interim"


def test_without_gold_and_without_a_judge_it_is_still_a_page(store, put, judged):
    page = asks_nobody(trust_html(store, put(judged())["id"]))
    assert "NOT MEASURED" in "".join(page.texts) and "svg" not in page.tags
    bare = put([{"prompt": "a", "final_text": "b"}], "bare", mapping=Mapping({}))
    assert "NOT MEASURED" in "".join(asks_nobody(trust_html(store, bare["id"])).texts)


def test_a_report_of_a_file_is_a_page_too(store, base):
    from whileai_review.score.certificate import make_certificate

    report = judge_trust(confused(40, 10, 5, 25))
    bound = {
        "judge": {"name": None}, "guideline": {}, "criterion": "overall",
        "gold": {"kind": report["gold_kind"]}, "data": {"run": IMAGE, "sha256": "0" * 64},
        "policy": {"sha256": "0" * 64, "from": "run"},
    }  # fmt: skip
    certificate = make_certificate(report, bound, "2026-01-02T03:04:05+00:00", "0.2.1")
    page = asks_nobody(trust_page(report, certificate))
    assert IMAGE in "".join(page.texts) and page.line("Agreement")[1] == "81%"
    assert "measured 2026-01-02 03:04 UTC" in "".join(page.texts)


def test_the_headline_to_copy(store, hostile):
    report = work.trust(store, hostile["id"])
    texts = headline_texts(report)
    lines = texts["text"].splitlines()
    assert lines[0] == f"FAILS. {report['headline']['bold']}"
    assert lines[2].startswith(f"run {SCRIPT} ⟦U+202E⟧")
    assert "\\<script\\>" in texts["markdown"] and "<script>" not in texts["markdown"]
    value = json.loads(texts["json"])
    assert value["judge"] == f"judge {IMAGE}" and value["state"] == "fails"
    agreement = report["agreement"]
    assert value["agreement"]["value"] == 65 / 80 and value["n_tasks"] == 10
    assert value["agreement"]["low"] == min(agreement["ci95"][0], agreement["ci95_tasks"][0])
    assert value["agreement"]["high"] == max(agreement["ci95"][1], agreement["ci95_tasks"][1])


def test_the_hash_of_the_rows_is_that_of_their_canonical_lines(store, lines):
    """Identities with quotes, accents, emoji and controls: as `canonical` writes each line."""
    names = ['a"b', "ü\\", "🙂", "a\tb\x7f", " "]
    rows = [
        {"rollout_id": name, "prompt": "p", "final_text": "r", "reward": n % 2, "gold_reward": 1}
        for n, name in enumerate(names)
    ]
    run = work.load_file(
        store,
        lines(rows),
        mapping=Mapping({"reward": "reward", "gold_reward": "gold_reward"}),
        origins={"gold_reward": {"kind": "human"}},
    )["runs"][0]
    expected = sorted(canonical([name, n % 2, 1]) for n, name in enumerate(names))
    found = work.certificate_of(store, run["id"])["data"]["rows_sha256"]
    assert found == sha256("\n".join(expected).encode("ascii")).hexdigest()


def test_of_many_rows_it_is_made_beside_the_server(store, base, monkeypatch):
    asked = []

    def run(function, *arguments):
        asked.append(function.__module__)
        return function(*arguments)

    monkeypatch.setattr(trust_report.pool, "ROWS", 10)
    monkeypatch.setattr(trust_report.pool, "run", run)
    page = trust_file(store, base["id"])
    assert asked[0] == "whileai_review.work.trust_report"
    assert "whileai_review.work.certificates" in asked

    def parts(text):
        return re.sub(r"measured [-0-9: ]+ UTC", "", text)

    assert parts(page) == parts(trust_html(store, base["id"]))


def test_weighted_shares_say_so_and_their_certificate_can_be_read(store, put, judged):
    """Drawn by verdict: shares are weighted, counts are not; a gate must not call that an edit."""
    rows = judged(90)
    for n, row in enumerate(rows):
        row["reward"] = int(n % 6 > 0)
    run = put(rows)["id"]
    queue = work.draw_queue(store, run, "stratified", 30)["id"]
    for n, row_id in enumerate(store.queue_row_ids(queue)):
        store.add_label(row_id, "ana", "fail" if n % 3 else "pass", f"n{n}", queue_id=queue)
    store.choose(run, gold="human")
    store.close_queue(queue)
    page = asks_nobody(trust_html(store, run))
    report = work.trust(store, run)
    assert report["weighted"]
    said = "Each labelled row counts as the rows of the run that it stands for"
    assert said in "".join(page.texts)
    issued = work.issue(store, run)
    assert read_certificate(json.dumps(issued))["hash"] == issued["hash"]
