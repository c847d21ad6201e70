"""From a search to a view, a queue, a label and what Trust then says."""

import json
import re

import pytest

from whileai_review import load, work
from whileai_review.store import open_store


@pytest.fixture
def store(tmp_path):
    rows = [
        {"scenario_id": f"t{n // 2}", "rollout_index": n % 2, "prompt": f"ask {n // 2}",
         "final_text": f"I will {'escalate' if n % 6 == 0 else 'refund'} this, number {n}",
         "regime": "BIG" if n % 4 == 0 else "SMALL", "reward": 1}
        for n in range(60)
    ]  # fmt: skip
    path = tmp_path / "base.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(tmp_path / "rows.db") as opened:
        work.load_file(opened, path, mapping=load.Mapping({"reward": "reward"}))
        yield opened


def listed(page, rows, filters):
    """The headline; a word joiner behind the colon keeps Markdown from reading it."""
    return page.get_by_text(re.compile(f"{rows}:\u2060? {re.escape(filters)}"))


def test_search_view_queue_label_and_trust_changes(serve_app, store, page):
    app = serve_app(db=store.path)
    page.goto(f"{app.url}/trust?run=1", timeout=60_000)
    page.get_by_text("60 no gold").wait_for(timeout=60_000)

    page.goto(f"{app.url}/rows?run=1", timeout=60_000)
    page.get_by_text("60 of 60 rows.").wait_for(timeout=60_000)
    search = page.get_by_placeholder("Search in ask, reply, tool calls, reasons, notes")
    search.fill("escalate")
    search.press("Enter")
    listed(page, "10 of 60 rows", "“escalate”.").wait_for(timeout=20_000)

    page.get_by_role("button", name="Views").click()
    name = page.get_by_label("Name for this list")
    name.fill("Announced")
    name.press("Enter")
    page.get_by_role("button", name="Save this view").click()
    page.get_by_role("button", name="Announced", exact=True).wait_for(timeout=20_000)
    page.goto(f"{app.url}/rows?run=1", timeout=60_000)
    page.get_by_text("60 of 60 rows.").wait_for(timeout=60_000)
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="Announced", exact=True).click()
    page.wait_for_url("**q=escalate**", timeout=20_000)
    listed(page, "10 of 60 rows", "“escalate”.").wait_for(timeout=20_000)
    page.keyboard.press("Escape")

    page.get_by_role("button", name="Label these 10 rows").click()
    page.wait_for_url("**/label?**queue=1**", timeout=20_000)
    page.get_by_placeholder("Your name").fill("Ana")
    page.get_by_role("button", name="Start labelling").click()
    page.get_by_text("0 of 10").first.wait_for(timeout=20_000)
    page.wait_for_timeout(1_000)
    page.keyboard.press("2")
    page.get_by_text("1 of 10").first.wait_for(timeout=20_000)

    page.goto(f"{app.url}/trust?run=1", timeout=60_000)
    page.get_by_text("1 picked or seen first, outside every estimate · 59 no gold").wait_for(
        timeout=60_000
    )
    page.goto(f"{app.url}/rows?run=1&label=any", timeout=60_000)
    listed(page, "1 of 60 rows", "labelled by anybody.").wait_for(timeout=60_000)


def test_an_address_opens_the_list_and_the_row_and_back_goes_back(serve_app, store, page):
    app = serve_app(db=store.path)
    ids = store.tasks_of(1)[0]
    page.goto(f"{app.url}/rows?run=1&where=regime%3DBIG&row={ids[4]}", timeout=60_000)
    listed(page, "15 of 60 rows", "regime=BIG.").wait_for(timeout=60_000)
    page.get_by_text("I will refund this, number 4", exact=True).wait_for(timeout=20_000)
    page.get_by_role("button", name="regime=BIG ×").click()
    page.get_by_text("60 of 60 rows.").wait_for(timeout=20_000)
    page.go_back()
    listed(page, "15 of 60 rows", "regime=BIG.").wait_for(timeout=20_000)
