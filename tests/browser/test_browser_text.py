"""Text from rollouts is data: shown letter by letter, fetched and run never.

Every image below points at a host of its own; a request to it is the failure.
"""

import json
from urllib.parse import urlencode

import pytest

BEACON = "http://beacon.example"
MARKDOWN = (
    f"![t]({BEACON}/md.png) $x^2$ :red[red] :smile: :material/add: **b** `c` www.example.com "
    f"a@example.com https://example.com [l]({BEACON}) <b>tag</b> -> ~~s~~ # h"
)
HTML = (
    f"<img src={BEACON}/a.png onerror='document.title=\"run\"'><script>document.title='run'</script>"
    f"<style>body{{background:url({BEACON}/b.png)}}</style><svg onload=\"document.title='run'\">"
    f"<a href=\"javascript:document.title='run'\">link</a><iframe src={BEACON}></iframe>"
)
PLOTLY = '<a href="https://example.com">x</a> %{x} <br> <b>'
RTL = "pass \u202eliaf\u202c \u2066x\u2069 \u05e9\u05dc\u05d5\u05dd"
HIDDEN = "a\u200bb\ufeffc\u00add \x1b[31mred\x1b[0m \x00 \U000e0041"
TEXTS = {"markdown": MARKDOWN, "html": HTML, "plotly": PLOTLY, "rtl": RTL, "hidden": HIDDEN}


def row_of(text):
    return {
        "prompt": text, "policy": text, "final_text": text, "tools": [text],
        "steps": [{"tool": text, "arguments": {text: text}, "result": text * 3, "error": text}],
        "messages": [{"role": "assistant", "content": text + "!"}],
    }  # fmt: skip


@pytest.fixture(scope="module")
def server(serve_once):
    return serve_once("record_app.py")


@pytest.fixture(scope="module")
def bare(browser):
    """A profile without the second line: what holds in it holds by escaping alone."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
    context.set_default_timeout(20_000)
    context.route(BEACON + "/**", lambda route: route.abort())
    yield context
    context.close()


@pytest.fixture
def show(server, bare, watched, tmp_path):
    pages = []

    def show(row, **query):
        rows = tmp_path / "rows.json"
        rows.write_text(json.dumps([row]))
        page = watched(bare)
        pages.append(page)
        page.goto(f"{server.url}/?" + urlencode({"rows": rows, **query}))
        page.wait_for_selector("[data-wr-ready='0']", state="attached")
        page.wait_for_timeout(700)
        return page

    yield show
    for page in pages:
        page.close()


def foreign(page):
    return [
        url
        for url in page.requested
        if "127.0.0.1" not in url and not url.startswith(("data:", "blob:"))
    ]


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_record_shows_hostile_text_and_fetches_nothing(show, name):
    from whileai_review.ui.text import visible

    page = show(row_of(TEXTS[name]))
    page.keyboard.press("e")
    assert foreign(page) == []
    assert page.title() != "run"
    say = page.locator("[data-wr-reply] .wr-say").inner_text()
    assert say == visible(TEXTS[name])
    assert page.locator(".wr img, .wr script, .wr style, .wr iframe, .wr svg, .wr b").count() == 0


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_labels_of_widgets_show_hostile_text_and_fetch_nothing(show, name):
    from whileai_review.ui.text import visible

    page = show(row_of(TEXTS[name]), widgets=1)
    assert foreign(page) == []
    assert page.title() != "run"
    expected = visible(TEXTS[name])
    for place in (
        "stButton",
        "stCaptionContainer",
        "stAlert",
        "stExpander",
        "stTab",
        "stMetricLabel",
        "stRadioOption",
    ):
        found = page.locator(f"[data-testid={place}]").first
        if found.count():
            assert expected in found.inner_text().replace("\u2060", ""), place
    assert page.locator(".stMarkdown img, .stMarkdown a, .katex, button img").count() == 0


def test_a_table_cell_is_text(show):
    page = show(row_of(MARKDOWN), widgets=1)
    cell = page.locator("[data-testid=stTable] td, [data-testid=stTable] [role=cell]").first
    assert MARKDOWN in cell.inner_text().replace("\u2060", "")


def test_with_the_policy_in_force_a_planted_image_is_not_fetched(server, page, tmp_path):
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps([row_of("x")]))
    page.goto(f"{server.url}/?" + urlencode({"rows": rows}))
    page.wait_for_selector("[data-wr-ready='0']", state="attached")
    blocked = page.evaluate(
        """beacon => new Promise(done => {
            document.addEventListener('securitypolicyviolation', e => done(e.blockedURI));
            const image = new Image(); image.src = beacon + '/planted.png';
            document.body.append(image); setTimeout(() => done('not blocked'), 3000); })""",
        BEACON,
    )
    assert blocked.startswith(BEACON)


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "a", "final_text": "b" * 5_000_000},
        {"messages": [{"role": "user", "content": f"turn {i} " * 30} for i in range(10_000)]},
        {"prompt": "a", "final_text": "\u200b\u202e" * 50_000},
    ],
    ids=["one line of 5 MB", "10,000 messages", "100,000 characters that draw nothing"],
)
def test_a_very_long_row_opens_cut_and_can_be_labelled(show, row):
    page = show(row)
    assert page.evaluate("document.querySelector('.wr').innerText.length") < 700_000
    page.locator("a", has_text="all of it").first.wait_for()
    page.keyboard.press("n")
    page.keyboard.type("note")
    assert page.locator(".note").input_value() == "note"
