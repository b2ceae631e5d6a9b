#!/usr/bin/env python3
"""A small hook server to start from (doc/hooks.md): prints what it is asked and told, checks the signature, and accepts
everything but streams whose name begins with "no".

    conf/hook_server.py --port 8085 --secret change-me
"""

import argparse
import collections
import hashlib
import hmac
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def verify(secret, header, body):
    """Whether X-SRS-Signature fits the body and is not old."""
    try:
        fields = dict(part.split("=", 1) for part in header.split(","))
        expected = hmac.new(secret.encode(), fields["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, fields["v1"]) and abs(time.time() - int(fields["t"])) < 300
    except (KeyError, ValueError):
        return False


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    secret = None
    seen = collections.OrderedDict()  # ids of reports: a report may come twice

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.secret and not verify(self.secret, self.headers.get("X-SRS-Signature", ""), body):
            return self.answer(403, {"code": 403, "text": "the signature is wrong"})
        events = json.loads(body)
        events = events if isinstance(events, list) else [events]  # a list with outbox_batch
        for event in events:
            if not self.is_repeated(event.get("report_id")):
                print(json.dumps(event), flush=True)
        refused = any(event.get("stream", "").startswith("no") for event in events)
        self.answer(200, {"code": 1 if refused else 0})

    def is_repeated(self, report_id):
        if report_id is None:
            return False  # a query
        found = report_id in self.seen
        self.seen[report_id] = True
        if len(self.seen) > 100_000:
            self.seen.popitem(last=False)
        return found

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description="A small hook server")
    parser.add_argument("--port", type=int, default=8085)
    parser.add_argument("--secret", help="of http_hooks; without it signatures are not looked at")
    words = parser.parse_args()
    Handler.secret = words.secret
    server = ThreadingHTTPServer(("127.0.0.1", words.port), Handler)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
