"""An HTTP server that is asked by the server under test: notes what came, and answers as it is told."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from . import ports


class Request(NamedTuple):
    at: float  # monotonic, s
    method: str
    path: str
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)


class Web:
    """answer: status, body and perhaps headers, or a function of the request that returns them. delay: seconds before each answer."""

    def __init__(self, answer=(200, b'{"code":0}'), port=None):
        self.port = port or ports.take()[0]
        self.taken = port is None
        self.answer, self.delay = answer, 0
        self.requests = []
        self.busy = self.most_busy = 0
        self.server = None

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def start(self):
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                if web.server is None:  # stopped; the connection was kept
                    self.close_connection = True
                    return
                size = int(self.headers.get("Content-Length") or 0)
                request = Request(
                    time.monotonic(), self.command, self.path, dict(self.headers), self.rfile.read(size)
                )
                web.requests.append(request)
                web.busy += 1
                web.most_busy = max(web.most_busy, web.busy)
                end = time.monotonic() + web.delay
                while time.monotonic() < end and web.server is not None:
                    time.sleep(0.02)
                web.busy -= 1
                status, body, *headers = web.answer(request) if callable(web.answer) else web.answer
                self.send_response(status)
                for name, value in ({"Content-Type": "application/json"} | (headers[0] if headers else {})).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = handle_any

            def log_message(self, *_):
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_):
                pass  # who asked has gone meanwhile

        self.server = Quiet(("127.0.0.1", self.port), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        return self

    def stop(self):
        server, self.server = self.server, None
        if server:
            server.shutdown()
            server.server_close()
            self.thread.join()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
        if self.taken:
            ports.release([self.port])
