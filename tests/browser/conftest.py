"""A server as a user starts it, a Chromium, and a line that is half a second slow.

Without Playwright or a Chromium these tests are skipped with the reason, or fail when
``WHILEAI_REVIEW_BROWSER=required`` says that they must run.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CHROMIUM = os.environ.get("WHILEAI_REVIEW_CHROMIUM") or next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


def _missing():
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return None if CHROMIUM else "no chromium on this machine"


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One headless Chromium for all tests; it writes to no home but a temporary one."""
    reason = _missing()
    if reason and os.environ.get("WHILEAI_REVIEW_BROWSER") == "required":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        home = str(tmp_path_factory.mktemp("home"))
        env = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")} | {"HOME": home}
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, env=env)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def watched():
    """Return a function that opens a page of a profile and records what the page asks for."""

    def open_page(context):
        page = context.new_page()
        page.requested = []
        page.on("request", lambda request: page.requested.append(request.url))
        page.on("websocket", lambda socket_: page.requested.append(socket_.url))
        return page

    return open_page


@pytest.fixture
def new_page(browser, watched):
    """Return a function that opens a page in a fresh profile and records its requests."""
    contexts = []

    def open_page(width=1440, height=900, dark=False, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            **options,
        )
        context.set_default_timeout(20_000)
        contexts.append(context)
        return watched(context)

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_page):
    return new_page()


@pytest.fixture(scope="module")
def profile(browser):
    """One profile for a file: its tabs load the app's files once. No test may rely on cookies."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(20_000)
    yield context
    context.close()


@pytest.fixture
def tab(profile, watched):
    """A new tab of the file's profile: its session storage is empty, its cache is warm."""
    page = watched(profile)
    yield page
    page.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Stored:
    """What a test app stored, and how it is told to behave."""

    def __init__(self, db):
        self.db = Path(db)

    def settings(self, **values):
        """Change how a test app behaves while it runs."""
        Path(f"{self.db}.settings").write_text(json.dumps(values))

    def lines(self):
        """What a test app stored, one dict a line."""
        return (
            [json.loads(line) for line in self.db.read_text().splitlines()]
            if self.db.exists()
            else []
        )


class Server(Stored):
    """A running app: where it is, what it wrote, and ways to end it."""

    def __init__(self, command, db, port, env=None, cwd=None):
        super().__init__(db)
        self.command, self.port = command, port
        self.env, self.cwd = {**os.environ, **(env or {})}, cwd
        self.url = f"http://127.0.0.1:{port}"
        self.log = Path(f"{db}.log")
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, env=self.env, cwd=self.cwd
            )
        for _ in range(400):
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended: {self.log.read_text()}")
            try:
                urllib.request.urlopen(self.url + "/health", timeout=1).read()
                return self
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"the server did not come up: {self.log.read_text()}")

    def stop(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(15)

    def kill(self):
        self.stop(signal.SIGKILL)

    def apart(self, name):
        """Return an address at which a test app stores in a file of its own, and that file."""
        return f"{self.url}/?log={name}", Stored(f"{self.db}.{name}")


@contextmanager
def apps(folder):
    """Give a function that starts servers in `folder`; all are stopped at the end."""
    servers = []

    def start(script=None, db=None, env=None, python=(sys.executable,)):
        db = db or folder / f"store{len(servers)}.db"
        port = free_port()
        command = [*python, "-m", "whileai_review.ui.server", str(db), str(port)]
        if script:
            command.append(str(HERE / "apps" / script))
        paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        server = Server(command, db, port, {"PYTHONPATH": paths, **(env or {})}, cwd=folder)
        servers.append(server)
        return server.start()

    try:
        yield start
    finally:
        for server in servers:
            server.stop()


@pytest.fixture
def serve_app(tmp_path):
    """Return a function that starts a server of this test's own; stopped after the test."""
    with apps(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def serve_once(tmp_path_factory):
    """Return a function that starts a server for all tests of a file."""
    with apps(tmp_path_factory.mktemp("served")) as start:
        yield start


@pytest.fixture
def serve_demo(tmp_path):
    """Return a function that starts the demo as the README says; stopped after the test."""
    servers = []

    def start(db=None):
        db = db or tmp_path / "demo.db"
        port = free_port()
        command = [sys.executable, "-m", "whileai_review", "serve", "--demo", "--no-browser"]
        command += ["--db", str(db), "--port", str(port)]
        env = {
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        }
        servers.append(Server(command, db, port, env, cwd=tmp_path))
        return servers[-1].start()

    yield start
    for server in servers:
        server.stop()


class SlowProxy:
    """Passes bytes on, each after ``delay`` seconds, in order, both ways."""

    def __init__(self, target_port, delay=0.5):
        self.target_port, self.delay = target_port, delay
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.sockets = []
        self.open = True
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while self.open:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target_port))
            except OSError:
                return
            self.sockets += [client, server]
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source, target):
        queue = []
        ready = threading.Condition()

        def deliver():
            while True:
                with ready:
                    while not queue:
                        ready.wait()
                    due, data = queue.pop(0)
                time.sleep(max(0.0, due - time.monotonic()))
                try:
                    if data is None:
                        target.shutdown(socket.SHUT_WR)
                        return
                    target.sendall(data)
                except OSError:
                    return

        threading.Thread(target=deliver, daemon=True).start()
        data = b"-"
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            with ready:
                queue.append((time.monotonic() + self.delay, data or None))
                ready.notify()

    def close(self):
        self.open = False
        self.listener.close()
        for each in self.sockets:
            each.close()


@pytest.fixture(scope="module")
def slow_proxy():
    """Return a function that puts a slow line in front of a server."""
    proxies = []

    def start(server, delay=0.5):
        proxies.append(SlowProxy(server.port, delay))
        return proxies[-1]

    yield start
    for proxy in proxies:
        proxy.close()


@pytest.fixture
def wait_until():
    """Return a function that waits for a condition and says what was there instead."""

    def wait(condition, seconds=20, pump=None):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            pump(50) if pump else time.sleep(0.05)
        raise AssertionError(f"still not so after {seconds} s: {condition()!r}")

    return wait
