"""Start the app: one process, one port, nothing asked of any other host.

Streamlit has no place for response headers when it is started by its own command,
so :func:`serve` builds the ASGI application itself and puts :class:`Guard` around it.
"""

import gc
import importlib
import ipaddress
import logging
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from whileai_review.work import pool

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

DB_VARIABLE = "WHILEAI_REVIEW_DB"
"""The environment variable that tells the pages which store to open."""

DEMO_VARIABLE = "WHILEAI_REVIEW_DEMO"
"""Set to 1 while the store holds the demo runs."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' blob:",  # components v2 are loaded as blobs
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "frame-src 'none'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""The second line of defence: text from a rollout that escaped all else fetches nothing."""

GC_THRESHOLDS = (50_000, 50, 100)
"""A collection in the middle of a key press doubles its time at 30 sessions (ui.md 2.5)."""

_LOG = logging.getLogger("whileai_review")
_SCRIPT_ERROR = (
    "This page could not be drawn. Nothing that was saved is lost: reload the page, "
    "and if it comes back, look into the server's log for the reason."
)


def app_script() -> Path:
    """Return where ``app.py`` lies: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_app" / "app.py"
    return installed if installed.is_file() else package.parent / "app.py"


def serve(
    db: str | os.PathLike[str],
    port: int = 8501,
    demo: bool = False,
    address: str = "127.0.0.1",
    hosts: Sequence[str] = (),
    open_browser: bool = False,
    script: Path | None = None,
) -> None:
    """Serve the app until it is told to stop.

    Parameters
    ----------
    db
        The store that the pages open; handed to them by ``WHILEAI_REVIEW_DB``.
    port, address
        Where to listen. The default address is this machine only.
    demo
        Whether the store holds the demo, which the pages then say.
    hosts
        Names under which a proxy makes the app known. On a loopback address every
        other name is refused, so that a foreign page cannot reach it by DNS rebinding.
    open_browser
        Open the first page once the server is up.
    script
        Another script than the app's own, for tests of one part.

    Raises
    ------
    SystemExit
        With status 1 and one line when the port is taken.
    """
    _check_port(address, port)
    script = script or app_script()
    os.environ[DB_VARIABLE] = str(Path(db).resolve())
    os.environ[DEMO_VARIABLE] = "1" if demo else ""
    pool.enable()
    # Streamlit looks for config.toml beside the script that sys.argv[0] names.
    sys.argv = [str(app_script())]
    _log_to_stderr()
    url = f"http://{_display(address)}:{port}"
    app = build_app(script, address, hosts, after_start=lambda: _started(url, open_browser))
    with suppress(KeyboardInterrupt):  # uvicorn raises it once more after a clean stop
        app.run(
            config={
                "server.address": address,
                "server.port": port,
                "server.headless": True,
                "server.fileWatcherType": "none",
                "server.enableStaticServing": False,
                "browser.gatherUsageStats": False,
                # The welcome text looks up this machine's outside address.
                "logger.hideWelcomeMessage": True,
            }
        )


def build_app(
    script: Path,
    address: str = "127.0.0.1",
    hosts: Sequence[str] = (),
    after_start: Any = None,
) -> Any:
    """Return the ASGI application: Streamlit's own inside :class:`Guard`, and ``/health``."""
    import streamlit as st
    from starlette.middleware import Middleware
    from starlette.routing import Route
    from streamlit.runtime.pages_manager import PagesManager

    # Else the first visit of a process to /label runs that file alone, without app.py:
    # Streamlit takes a folder named pages for its older kind of app until st.navigation ran.
    PagesManager.uses_pages_directory = False

    @asynccontextmanager
    async def lifespan(_app: Any) -> AsyncIterator[None]:
        threading.Thread(target=_warm_up, args=(after_start,), daemon=True).start()
        yield

    return st.App(
        script,
        middleware=[Middleware(Guard, address=address, hosts=hosts)],
        routes=[
            Route("/health", _health),
            Route("/record/{row_id:int}", _record_text),
            Route("/runs", _first_page),
        ],
        lifespan=lifespan,
        on_script_error=on_script_error,
    )


class Guard:
    """Answer only to our own pages, and send the security headers with every answer.

    A request of a foreign origin ends here, before Streamlit's own check, which would
    ask an address service and 8.8.8.8 for the outside address of this machine.
    """

    def __init__(self, app: Any, address: str = "127.0.0.1", hosts: Sequence[str] = ()) -> None:
        self.app = app
        self.names = _own_names(address, hosts)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass one request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if self.refuses(headers.get(b"host", b""), headers.get(b"origin")):
            await _refuse(scope, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in HEADERS if name not in given),
                ]
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def refuses(self, host: bytes, origin: bytes | None) -> bool:
        """Whether a request names a host that is not ours or comes from another page."""
        name = urlsplit("//" + host.decode("latin-1")).hostname
        if self.names and name not in self.names:
            return True
        return origin is not None and urlsplit(origin.decode("latin-1")).netloc != host.decode(
            "latin-1"
        )


def on_script_error(error: Exception) -> bool:
    """Put the traceback into the log and one line on the screen."""
    import streamlit as st

    _LOG.error("a page failed", exc_info=error)
    st.error(_SCRIPT_ERROR)
    return True


async def _health(_request: "Request") -> "Response":
    from starlette.responses import JSONResponse

    return JSONResponse({"status": "ok"})


async def _first_page(request: "Request") -> "Response":
    """Lead /runs to the first page: Streamlit gives its default page no address of its own."""
    from starlette.responses import RedirectResponse

    query = request.url.query
    return RedirectResponse(f"./?{query}" if query else "./")


def _record_text(request: "Request") -> "Response":
    """All of one rollout as plain text: what a page cut, without what anyone thinks of it."""
    from starlette.responses import PlainTextResponse, StreamingResponse

    from whileai_review.store import StoreError, open_store
    from whileai_review.ui._record import as_text, read_record
    from whileai_review.ui.text import visible

    try:
        with open_store(os.environ[DB_VARIABLE], create=False) as store:
            row = store.row(request.path_params["row_id"])["row"]
    except StoreError as error:
        return PlainTextResponse(f"{error}\n", 404)
    parts = (visible(part).encode() for part in as_text(read_record(row)))
    return StreamingResponse(parts, media_type="text/plain; charset=utf-8")


async def _refuse(scope: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    await send(
        {
            "type": "http.response.start",
            "status": 403,
            "headers": [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS],
        }
    )
    await send({"type": "http.response.body", "body": b"this app answers to its own pages only\n"})


def _own_names(address: str, hosts: Sequence[str]) -> frozenset[str]:
    """Names that a request may ask for; empty means any, for an address that others reach."""
    if not _is_loopback(address):
        return frozenset(hosts)
    return frozenset({"localhost", "127.0.0.1", "::1", address, *hosts})


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _display(address: str) -> str:
    if address in ("0.0.0.0", "::", ""):
        return "localhost"
    return f"[{address}]" if ":" in address else address


def _check_port(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        if os.name != "nt":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            sys.stderr.write(
                f"cannot listen on {_display(address)}:{port} ({error.strerror or error}): "
                "stop what uses it, or choose another with --port\n"
            )
            raise SystemExit(1) from None


def _log_to_stderr() -> None:
    if not _LOG.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        _LOG.addHandler(handler)
        _LOG.propagate = False


def _started(url: str, open_browser: bool) -> None:
    sys.stderr.write(f"whileai-review is at {url} (stop with Ctrl+C)\n")
    has_screen = os.name == "nt" or sys.platform == "darwin" or _has_display()
    if open_browser and has_screen:
        import webbrowser

        webbrowser.open(url)


def _has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _warm_up(after_start: Any) -> None:
    """Load what the first page needs, then keep all of it out of the collector's way."""
    if after_start is not None:
        after_start()
    for name in ("pandas", "pyarrow", "whileai_review.store", "whileai_review.ui.transcript"):
        try:
            importlib.import_module(name)
        except ImportError:
            _LOG.debug("%s cannot be loaded before it is needed", name)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


if __name__ == "__main__":
    # For tests, until they can start the app as a user does.
    serve(sys.argv[1], int(sys.argv[2]), script=Path(sys.argv[3]) if sys.argv[3:] else None)
