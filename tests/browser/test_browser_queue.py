"""Reading and answering in a browser: the address is the view, J and K walk, keys code."""

from pathlib import Path

import pytest

from whileai_review import work
from whileai_review.store import open_store

RECIPE = Path(__file__).parent.parent.parent / "data/recipe"


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "recipe.db") as opened:
        work.load_demo(opened, RECIPE)
        yield opened


@pytest.fixture
def app(serve_app, store):
    return serve_app(db=store.path)


@pytest.fixture(scope="module")
def read_store(tmp_path_factory):
    """The recipe for the tests that only read: they share it and its server."""
    with open_store(tmp_path_factory.mktemp("recipe") / "recipe.db") as opened:
        work.load_demo(opened, RECIPE)
        yield opened


@pytest.fixture(scope="module")
def read_app(serve_once, read_store):
    return serve_once(db=read_store.path)


def big(store):
    return work.cell_rows(store, 1, None, None, None, "fp", "regime", "BIG")


def opened(page, row_id):
    page.wait_for_selector(f"[data-wr-row='{row_id}']", state="attached", timeout=60_000)
    page.wait_for_timeout(500)


def pick(page, name, option):
    page.get_by_role("combobox", name=name, exact=True).click()
    page.get_by_role("option", name=option).first.click()


def test_false_passes_in_the_big_regime_are_filtered_and_the_link_opens_them_again(
    read_app, read_store, tab, new_page, wait_until
):
    tab.goto(f"{read_app.url}/queue?run=1&cell=fp", timeout=60_000)
    tab.get_by_text("58 false passes").first.wait_for(timeout=60_000)
    pick(tab, "Only where", "regime")
    tab.wait_for_url("**&field=regime", timeout=20_000)
    pick(tab, "is", "BIG")
    tab.wait_for_url("**&value=BIG", timeout=20_000)
    opened(tab, big(read_store)[0])
    tab.keyboard.press("j")
    opened(tab, big(read_store)[1])
    tab.wait_for_url(f"**&row={big(read_store)[1]}", timeout=20_000)
    fresh = new_page()
    fresh.goto(tab.url, timeout=60_000)
    opened(fresh, big(read_store)[1])
    lines = fresh.locator(".st-key-wr_list [role=radiogroup] label")
    wait_until(lambda: lines.count() == len(big(read_store)), pump=fresh.wait_for_timeout)
    assert fresh.get_by_text("2 of 19").count() == 1


def test_back_goes_row_by_row(read_app, read_store, tab):
    ids = big(read_store)
    tab.goto(f"{read_app.url}/queue?run=1&cell=fp&field=regime&value=BIG", timeout=60_000)
    opened(tab, ids[0])
    for row_id in ids[1:4]:
        tab.keyboard.press("j")
        opened(tab, row_id)
    tab.go_back()
    opened(tab, ids[2])
    tab.keyboard.press("k")
    opened(tab, ids[1])
    tab.reload()
    opened(tab, ids[1])


def test_a_cause_that_was_typed_once_is_on_a_key(app, store, page):
    ids = big(store)
    store.add_finding(ids[0], "cause", "Ana", code="says it, never calls")
    page.goto(f"{app.url}/queue?run=1&cell=fp&field=regime&value=BIG&row={ids[1]}", timeout=60_000)
    opened(page, ids[1])
    page.keyboard.press("5")
    page.get_by_role("button", name="says it, never calls ×").wait_for(timeout=20_000)
    causes = {f["row_id"] for f in store.findings(1, "cause")}
    assert causes == set(ids[:2])


def test_keys_walk_on_after_a_cause_was_typed(app, store, page):
    ids = big(store)
    page.goto(f"{app.url}/queue?run=1&cell=fp&field=regime&value=BIG&row={ids[0]}", timeout=60_000)
    opened(page, ids[0])
    page.get_by_role("combobox").last.click()
    page.keyboard.type("never calls")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="never calls ×").wait_for(timeout=20_000)
    page.wait_for_timeout(500)
    page.keyboard.press("j")
    opened(page, ids[1])
    assert [f["code"] for f in store.findings(1, "cause")] == ["never calls"]


def test_a_long_list_folds_to_a_strip_on_a_narrow_screen(app, store, new_page):
    first = work.cell_rows(store, 1, None, None, None, "fp")[0]
    for n in range(8):
        store.add_finding(first, "cause", "Ana", code=f"cause {n}")
    page = new_page(width=1024, height=760)
    page.goto(f"{app.url}/queue?run=1&cell=fp", timeout=60_000)
    opened(page, work.cell_rows(store, 1, None, None, None, "fp")[0])
    strip = page.locator(".st-key-wr_list").bounding_box()
    record = page.locator(".wr-two").bounding_box()
    assert strip["height"] <= 130
    assert strip["y"] + strip["height"] <= record["y"]
    assert record["width"] > 900
    # Counted causes stand after the record there, not between it and the list.
    assert record["y"] < 620


def test_the_open_row_is_in_sight_in_its_list(read_app, read_store, tab):
    ids = work.cell_rows(read_store, 1, None, None, None, "fp")
    tab.goto(f"{read_app.url}/queue?run=1&cell=fp&row={ids[45]}", timeout=60_000)
    opened(tab, ids[45])
    tab.wait_for_timeout(1_000)
    frame = tab.locator(".st-key-wr_list").bounding_box()
    line = tab.locator(".st-key-wr_list label:has(input:checked)").bounding_box()
    assert frame["y"] - 1 <= line["y"] <= frame["y"] + frame["height"]


def test_answering_is_blind_and_saves_by_key(app, store, page):
    queue = work.review_queue(store, 1, "fp", field="regime", value="BIG", by="Ana")
    store.add_person("Ana")
    page.context.add_cookies([{"name": "wr_annotator", "value": "Ana", "url": app.url}])
    page.goto(f"{app.url}/queue?queue={queue['id']}", timeout=60_000)
    first = store.next_row(queue["id"], "Ana")["row_id"]
    page.wait_for_selector(f"[data-wr-ready='{first}']", state="attached", timeout=60_000)
    page.wait_for_timeout(1_300)
    body = page.inner_text("body")
    assert "Looked it up and" not in body
    assert "rule:recipe" not in body
    page.keyboard.press("2")
    second = store.next_row(queue["id"], "Ana")
    page.wait_for_timeout(1_500)
    second = store.next_row(queue["id"], "Ana")["row_id"]
    assert second != first
    (label,) = store.labels_of(first, "overall")[-1:]
    assert (label["annotator"], label["verdict"], label["chosen"]) == ("Ana", "fail", "picked")
