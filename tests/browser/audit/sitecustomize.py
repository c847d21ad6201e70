"""Writes down every address that a process asks for. Loaded by being on PYTHONPATH."""

import os
import sys

if os.environ.get("WHILEAI_REVIEW_AUDIT"):
    _log = open(os.environ["WHILEAI_REVIEW_AUDIT"], "a", buffering=1)

    def _hook(event, arguments):
        if event in ("socket.connect", "socket.sendto"):
            _log.write(f"{event} {arguments[1]!r}\n")
        elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
            _log.write(f"{event} {arguments[0]!r}\n")

    sys.addaudithook(_hook)
