"""Take the README's screenshots of the demo: ``python tests/browser/screenshots.py``.

Starts the app as a user would, on a database of its own, and writes data/screenshots/*.png.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from conftest import CHROMIUM, FLAGS, Server, free_port
from playwright.sync_api import Page, sync_playwright

from whileai_review import work
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent.parent
TARGET = ROOT / "data" / "screenshots"


def addresses(db: Path) -> dict[str, str]:
    """Name of the picture -> the page's address; a queue is drawn and partly labelled for it."""
    with open_store(db) as store:
        run = store.run("before")["id"]
        recipe = store.run("recipe-run-1 (rebuilt)")["id"]
        queue = work.draw_queue(store, run, "one_per_task", 120, by="ana")["id"]
        for n in range(4):
            row = store.next_row(queue, "ana")["row_id"]
            verdict = ("pass", "fail", "pass")[n % 3]
            work.answer(store, queue, "ana", row, verdict, f"shot {n}", shown_ms=4_000)
    return {
        "runs": "runs",
        "trust": f"trust?run={recipe}",
        "queue": f"queue?run={recipe}&cell=fp&field=regime&value=BIG",
        "label": f"label?queue={queue}",
    }


def take(page: Page, url: str, path: Path) -> None:
    """Wait until nothing moves any more, then take the picture."""
    page.goto(url)
    page.wait_for_selector(".stMain")
    page.wait_for_function("!document.querySelector('[data-testid=stStatusWidget]')")
    if "/trust" in url:
        page.wait_for_selector(".js-plotly-plot .barlayer, .js-plotly-plot .scatterlayer")
    page.wait_for_timeout(5_000)
    page.screenshot(path=path)


def main() -> None:
    """Start, take, stop."""
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        db, port = Path(folder) / "demo.db", free_port()
        command = [sys.executable, "-m", "whileai_review"]
        subprocess.run([*command, "demo", "--db", str(db)], check=True, cwd=ROOT)
        pages = addresses(db)
        serve = [*command, "serve", "--no-browser", "--db", str(db), "--port", str(port)]
        server = Server(serve, db, port, {"PYTHONPATH": str(ROOT)}, cwd=ROOT).start()
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            context = browser.new_context(viewport={"width": 1440, "height": 860})
            context.add_cookies([{"name": "wr_annotator", "value": "ana", "url": server.url}])
            page = context.new_page()
            for name, address in pages.items():
                take(page, f"{server.url}/{address}", TARGET / f"{name}.png")
            browser.close()
        finally:
            server.stop()


if __name__ == "__main__":
    main()
