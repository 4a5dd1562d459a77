"""The HTTP side of the scripted server: requests in, replies out, on loopback.

Belongs here: sockets and headers. Does not: what a reply says.
"""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memory_pipeline_tests.scripted_server.replies import Reply


class HttpSide(ThreadingHTTPServer):
    """One thread for each connection; hands each request to `handle`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, address: tuple[str, int], handle: Callable[[str, dict[str, Any], str], Reply]
    ) -> None:
        self.handle = handle
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are written apart; without this the second waits for an acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: HttpSide

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self._answer(json.loads(self.rfile.read(length)))

    def _answer(self, body: dict[str, Any]) -> None:
        key = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        reply = self.server.handle(self.path, body, key)
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.content)))
        for name, value in reply.headers:
            self.send_header(name, value)
        self.end_headers()
        if reply.is_cut:
            self.wfile.write(reply.content[: len(reply.content) // 2])
            self.close_connection = True
            return
        self.wfile.write(reply.content)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are logged as values, not on stderr."""
