"""Quote or export on the Trust page: the headline to copy, and files made when they are asked for."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from whileai_review import load, work
from whileai_review.store import open_store
from whileai_review.ui import trust_export

ROOT = Path(__file__).parent.parent.parent
PAIRS = [(1, 1)] * 60 + [(1, 0)] * 40 + [(0, 1)] * 20 + [(0, 0)] * 10
NAME = 'a/b "<script>" $x$'


@pytest.fixture
def db(tmp_path, monkeypatch):
    path = tmp_path / "review.db"
    monkeypatch.setenv("WHILEAI_REVIEW_DB", str(path))
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(
        json.dumps({"scenario_id": f"t{n}", "prompt": f"ask {n}", "final_text": "r", "reward": judge,
                    "gold_reward": gold, "regime": "BIG" if n % 2 else "SMALL",
                    "tool": "a" if n % 3 else "b"}) + "\n"
        for n, (judge, gold) in enumerate(PAIRS)
    ))  # fmt: skip
    mapping = load.Mapping({"reward": "reward", "gold_reward": "gold_reward"})
    with open_store(path) as store:
        work.load_file(store, file, name=NAME, grader="judge", mapping=mapping,
                       origins={"gold_reward": {"kind": "human"}})  # fmt: skip
    return path


def page(opened=True, **params):
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.session_state["annotator"] = "Lea"
    at.run()
    at.query_params["run"] = "1"
    for name, value in params.items():
        at.query_params[name] = value
    at.switch_page("pages/trust.py")
    if opened:
        at.session_state[trust_export.KEY] = True
    at.run()
    assert not at.exception, at.exception
    return at


@pytest.fixture
def made(monkeypatch):
    """What the buttons would give, and nothing made before."""
    files = {}

    def button(label, data, file_name=None, mime=None, **_):
        files[label] = (file_name, mime, data)

    monkeypatch.setattr(trust_export.st, "download_button", button)
    return files


def test_it_is_closed_at_first_and_nothing_is_made(db, made, monkeypatch):
    monkeypatch.setattr(trust_export, "headline_texts", lambda report: 1 / 0)
    page(opened=False)
    assert not [label for label in made if "HTML" in label or "SVG" in label]


def test_the_headline_in_three_forms(db):
    at = page()
    text, markdown, value = (block.value for block in at.code[:3])
    assert text.startswith("FAILS. Misses 80% of failures [")
    assert text.splitlines()[-1] == f"{NAME} · judge · overall"
    assert markdown.startswith("**FAILS. Misses 80% of failures \\[") and "\\<script\\>" in markdown
    assert json.loads(value)["run"] == NAME


def test_files_are_made_by_the_press_and_have_a_name_that_is_safe(db, made):
    page(field="tool", share="agreement")
    assert {label: name for label, (name, _, _) in made.items() if "(" in label} == {
        "Report (HTML)": "trust-a-b-script-x.html",
        "Bars (SVG)": "confusion-a-b-script-x.svg",
        "Checks (SVG)": "checks-a-b-script-x.svg",
        "Slices (SVG)": "slices-a-b-script-x-tool.svg",
    }
    report = made["Report (HTML)"][2]
    assert callable(report) and "Where does it leak? By tool" in report()
    slices = made["Slices (SVG)"][2]()
    assert slices.startswith("<svg ") and "agree" in slices.split(">")[0]
    assert made["Bars (SVG)"][2]().startswith("<svg ")


def test_the_report_is_of_the_field_that_the_page_slices_by(db, made):
    page()
    assert "Where does it leak? By regime" in made["Report (HTML)"][2]()


def test_who_labels_a_queue_is_given_no_figure_so_far(db, made):
    with open_store(db) as store:
        queue = work.draw_queue(store, 1, "random", 40)["id"]
        store.add_label(store.queue_row_ids(queue)[0], "Lea", "pass", "n", queue_id=queue)
        store.choose(1, gold="human")
    at = page()
    assert not [label for label in made if "(" in label]
    assert not any("Misses" in block.value for block in at.code)
