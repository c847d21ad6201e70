"""Notes get a code in a browser: it is typed, given, undone; two screens do not undo each other."""

from pathlib import Path

import pytest

from whileai_review import work
from whileai_review.store import open_store

RECIPE = Path(__file__).parent.parent.parent / "data/recipe"
EVIL = "![t](http://127.0.0.1:9/t.png) <img src=x> $x$ **b** 😀"


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "recipe.db") as opened:
        work.load_demo(opened, RECIPE)
        for n, row_id in enumerate(opened.tasks_of(1)[0][:3]):
            opened.add_label(row_id, "ben", "fail", f"n{n}", note=(EVIL, "says it", "never")[n])
        yield opened


@pytest.fixture
def app(serve_app, store):
    return serve_app(db=store.path)


def opened(page, app, address="codes?run=1"):
    page.goto(f"{app.url}/{address}", timeout=60_000)
    page.locator(".wr-meta").first.wait_for(timeout=60_000)


def tick(page, text):
    page.locator(".st-key-wr_notes label", has_text=text).click()


def test_a_typed_code_is_given_to_what_was_ticked_and_undone(app, store, page, wait_until):
    opened(page, app)
    tick(page, "![t]")  # a note of Markdown and HTML stands there letter by letter
    tick(page, "never")
    page.get_by_role("button", name="Give it to 2 notes").wait_for(timeout=20_000)
    box = page.locator(".st-key-wr_code_name_1 input")
    box.click()
    page.keyboard.type("never calls")
    page.keyboard.press("Enter")
    give = page.get_by_role("button", name="Give it to 2 notes")
    wait_until(give.is_enabled, pump=page.wait_for_timeout)
    give.click()
    page.get_by_text("“never calls”: 2 notes").wait_for(timeout=20_000)
    page.get_by_text("1 code on 2 rows").wait_for(timeout=20_000)
    assert len(store.coded_rows(1)) == 2
    page.locator("summary", has_text="History").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("No note has a code yet.").wait_for(timeout=20_000)
    assert store.coded_rows(1) == []
    page.get_by_text("undone by").wait_for(timeout=20_000)


def test_the_second_screen_is_told_what_the_first_did(app, store, page, new_page):
    notes = [each["note"] for each in store.notes(1)]
    store.give_code(1, notes[:1], "a", "ben")
    store.give_code(1, notes[1:], "b", "ben")
    a, b = (code["id"] for code in store.codes())
    opened(page, app, f"codes?run=1&code={a}")
    other = new_page()
    opened(other, app, f"codes?run=1&code={b}")
    for screen, into in ((page, "b"), (other, "a")):
        screen.get_by_role("button", name="Merge into").click()
        screen.get_by_role("combobox", name="Its notes then count under").click()
        screen.get_by_role("option", name=into, exact=True).click()
    page.get_by_role("button", name="Merge it").click()
    page.get_by_text("Merged into “b”.").wait_for(timeout=20_000)
    other.get_by_role("button", name="Merge it").click()
    other.get_by_text("“a” was merged into “b” by reader meanwhile").wait_for(timeout=20_000)
    assert [code["name"] for code in store.codes()] == ["b"]
    assert len(store.coded_rows(1)) == 3
