"""The report from the click on Trust to a browser without a network."""

import json

import pytest

from whileai_review import load, work
from whileai_review.store import open_store

SCRIPT = '<script>document.title="ran"</script><img src=http://127.0.0.1:9/i.png onerror=alert(1)>'
PAIRS = [(1, 1)] * 60 + [(1, 0)] * 40 + [(0, 1)] * 20 + [(0, 0)] * 10


@pytest.fixture(scope="module")
def served(serve_once, tmp_path_factory):
    """The app on a run whose names and values were made to break out of a page."""
    folder = tmp_path_factory.mktemp("report")
    path, db = folder / "rows.jsonl", folder / "report.db"
    rows = [
        {"scenario_id": f"t{n}", "prompt": f"ask {n}", "final_text": SCRIPT, "reward": judge,
         "gold_reward": gold, "regime": f"BIG {SCRIPT}" if n % 2 else "SMALL",
         "tool": "a" if n % 3 else f"b {SCRIPT}"}
        for n, (judge, gold) in enumerate(PAIRS)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(db) as store:
        work.load_file(
            store,
            path,
            name=f"run {SCRIPT}",
            grader=SCRIPT,
            mapping=load.Mapping({"reward": "reward", "gold_reward": "gold_reward"}),
            origins={"gold_reward": {"kind": "human"}},
        )
    return serve_once(db=db)


@pytest.fixture(scope="module")
def files(served, profile, tmp_path_factory):
    """What the buttons of the page give, by their label, and what the copy button copied."""
    folder, found = tmp_path_factory.mktemp("downloads"), {}
    profile.grant_permissions(["clipboard-read", "clipboard-write"])
    page = profile.new_page()
    page.goto(f"{served.url}/trust?run=1", timeout=60_000)
    box = page.get_by_role("combobox", name="Field")
    box.wait_for(timeout=60_000)
    box.click()  # redraws the slices alone: the popover asks again when it is opened
    page.get_by_role("option", name="tool").click()
    page.wait_for_url("**/trust?run=1&field=tool", timeout=30_000)
    page.get_by_role("button", name="Quote or export").click()
    for label in ("Report (HTML)", "Bars (SVG)", "Checks (SVG)", "Slices (SVG)"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=label).click()
        found[label] = folder / waiting.value.suggested_filename
        waiting.value.save_as(found[label])
    page.get_by_role("tab", name="Markdown").click()
    block = page.get_by_test_id("stCode").filter(visible=True).first
    block.hover()
    block.get_by_role("button").first.click()
    page.wait_for_timeout(300)
    found["copied"] = page.evaluate("navigator.clipboard.readText()")
    page.close()
    return found


def test_the_headline_is_copied(files):
    assert files["copied"].startswith("**FAILS. Misses 80% of failures \\[")
    assert "<script>" not in files["copied"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1440, 1024])
def test_the_report_asks_nobody_and_runs_nothing(files, new_page, width, dark):
    page = new_page(width=width, dark=dark, offline=True)
    address = files["Report (HTML)"].as_uri()
    page.goto(address)
    assert page.requested == [address]
    assert page.title().startswith("FAILS: run <script>")
    assert page.locator("script, img, link, iframe, a").count() == 0
    assert page.locator("svg").count() == 3
    assert page.get_by_text("Where does it leak? By tool").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colours = "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(%s))"
    ink, paper = page.evaluate(colours % "document.body")
    assert (max(rgb(ink)) < 80, min(rgb(paper)) > 200) == (not dark, not dark)
    of_figure = page.evaluate("getComputedStyle(document.querySelector('svg text')).fill")
    assert of_figure == ink


def test_it_is_printed_dark_on_white_with_its_bars(files, new_page):
    page = new_page(width=794, dark=True, offline=True)
    page.goto(files["Report (HTML)"].as_uri())
    page.emulate_media(media="print")
    style = "getComputedStyle(document.body)"
    assert max(rgb(page.evaluate(f"{style}.color"))) < 80
    assert min(rgb(page.evaluate(f"{style}.backgroundColor"))) > 200
    assert (
        page.evaluate("getComputedStyle(document.querySelector('i')).printColorAdjust") == "exact"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 794
    assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.parametrize("label", ["Bars (SVG)", "Checks (SVG)", "Slices (SVG)"])
def test_a_figure_opens_alone(files, new_page, label):
    page = new_page(offline=True)
    address = files[label].as_uri()
    page.goto(address)
    assert page.requested == [address]
    assert page.locator("svg text").count() > 4
    assert page.locator("parsererror, script, image, a").count() == 0


def rgb(colour):
    return [int(part) for part in colour[4:-1].split(",")]
