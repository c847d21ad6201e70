"""Trust in a browser: a click on a bar leads to its rows, and nobody is asked for anything."""

from pathlib import Path

import pytest

from whileai_review import work
from whileai_review.store import open_store

RECIPE = Path(__file__).parent.parent.parent / "data/recipe"
SENTENCE = "Misses 79% of failures [69, 87]"


@pytest.fixture(scope="module")
def recipe(serve_once, tmp_path_factory):
    """The app on the rebuilt recipe; nothing here writes to it."""
    db = tmp_path_factory.mktemp("recipe") / "recipe.db"
    with open_store(db) as store:
        work.load_demo(store, RECIPE)
    return serve_once(db=db)


def bars(page):
    """The pieces of the two bars, in the order of their cells: tp, fn, tn, fp."""
    page.wait_for_selector(".barlayer .trace path", timeout=60_000)
    pieces, before = page.locator(".barlayer .trace path"), None
    for _ in range(50):  # until the figure is laid out
        page.wait_for_timeout(250)
        boxes = [piece.bounding_box() for piece in pieces.all()]
        if boxes == before:
            break
        before = boxes
    return pieces


def click(page, piece):
    box = piece.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


@pytest.mark.parametrize(
    ("piece", "cell", "shown"), [(1, "fn", "false alarms (24)"), (3, "fp", "false passes (58)")]
)
def test_a_click_on_a_bar_opens_its_rows(recipe, tab, piece, cell, shown):
    tab.goto(f"{recipe.url}/trust?run=1", timeout=60_000)
    click(tab, bars(tab).nth(piece))
    tab.wait_for_url(f"**/queue?run=1&cell={cell}", timeout=30_000)
    box = tab.get_by_role("combobox", name="Rows", exact=True)
    box.wait_for(timeout=30_000)
    assert box.input_value() == shown


def test_the_same_rows_are_reached_by_the_keyboard(recipe, tab):
    tab.goto(f"{recipe.url}/trust?run=1", timeout=60_000)
    tab.get_by_role("link", name="24 false alarms").press("Enter")
    tab.wait_for_url("**/queue?run=1&cell=fn", timeout=30_000)


def test_the_button_reads_the_false_passes(recipe, tab):
    tab.goto(f"{recipe.url}/trust?run=1", timeout=60_000)
    tab.get_by_role("button", name="Read the 58 false passes").click()
    tab.wait_for_url("**/queue?run=1&cell=fp", timeout=30_000)


def test_the_field_is_part_of_the_address_and_a_reload_shows_it_again(recipe, tab, new_page):
    tab.goto(f"{recipe.url}/trust?run=1", timeout=60_000)
    box = tab.get_by_role("combobox", name="Field")
    box.click()
    tab.get_by_role("option", name="leak_pattern").click()
    tab.wait_for_url("**/trust?run=1&field=leak_pattern", timeout=30_000)
    tab.get_by_text("announced").first.wait_for(timeout=30_000)
    other = new_page()
    other.goto(tab.url, timeout=60_000)
    other.get_by_text("announced").first.wait_for(timeout=60_000)


@pytest.mark.parametrize("dark", [False, True])
def test_the_sentence_and_the_table_fit_at_1024(recipe, new_page, dark):
    page = new_page(width=1024, height=760, dark=dark)
    page.goto(f"{recipe.url}/trust?run=1", timeout=60_000)
    page.get_by_text(SENTENCE).wait_for(timeout=60_000)
    bars(page)
    table = page.locator(".wr-table").first.bounding_box()
    assert table["x"] + table["width"] <= 1024
    last = page.locator(".wr-table").first.locator("th").last.bounding_box()
    assert last["x"] + last["width"] <= 1024


def test_nothing_is_asked_of_another_host(recipe, page):
    page.goto(f"{recipe.url}/trust?run=1", timeout=60_000)
    bars(page)
    foreign = [url for url in page.requested if f"127.0.0.1:{recipe.port}" not in url]
    assert [url for url in foreign if not url.startswith(("data:", "blob:"))] == []
