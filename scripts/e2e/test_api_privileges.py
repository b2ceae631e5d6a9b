"""Calls of the API that change or reveal: every one of them, as the server's own OpenAPI document lists them, so that a
new one cannot be forgotten. They answer to this machine alone, or to who authenticates and may do more than read."""

import base64
import json

import pytest

from lib import http
from lib.server import can_connect
from lib.timing import wait_until

ALL, READ = "all-of-it-0123456789", "read-only-0123456789"
API = "http_api {{ enabled on; listen 127.0.0.1:API_PORT; debug on; raw_api {{ enabled on; allow_reload off; }} {} }}"
AUTH = f"auth {{ enabled on; username ops; password s3cret; tokens {ALL}; read_tokens {READ}; }}"
# Calls that must be among them, whatever the document says.
KNOWN = {"DELETE /api/v1/clients/{id}", "GET /api/v1/raw", "GET /api/v1/debug/coroutines", "GET /api/v1/config"}
# Without a proxy that is trusted these are only words.
FORGED = {"X_Forwarded_For": "127.0.0.1", "X_Real_IP": "127.0.0.1", "Forwarded": "for=127.0.0.1", "Via": "1.1 x"}
# Open to who may read, but for the names of customers, which take what a privileged call takes, or authentication.
RECORDS = {"/api/v1/usage": "?by=token"}
# Of visitors who measure their connection: off by default, each with an id of its own, bounded (test_players_check.py).
VISITORS = {"POST /api/v1/bandwidth", "DELETE /api/v1/bandwidth", "POST /api/v1/bandwidth/bytes"}
WEB_PAGES = [
    {"Origin": "http://evil.example"},
    {"Sec_Fetch_Site": "cross-site"},
    {"Host": "evil.example"},
    {"Host": "127.0.0.1.evil.example"},
]


def start(servers, tmp_path, more=""):
    server = servers(top=f"{API.format(more)}\nusage {{ enabled on; path {tmp_path}/usage.txt; }}")
    wait_until(lambda: can_connect(server.api_port), 5, "the API listens")
    return server


def operations(server, **headers):
    """(method, path, who may call it): "privileged", "records", "read" or "open", by the answers that the document tells
    of."""
    response = http.get(server.api_port, "/api/v1/openapi.json", **headers)
    assert response.status == 200, response.describe()
    found = []
    for path, item in json.loads(response.body)["paths"].items():
        for method, operation in item.items():
            if method.upper() not in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                continue
            answers = operation["responses"]
            # What is open to everybody may still refuse, for reasons of its own: a hook's no to a publisher by WebRTC.
            is_open = operation.get("security") == []
            kind = "open" if is_open else "records" if path in RECORDS else "privileged" if "403" in answers else "read" if "401" in answers else "open"
            found.append((method.upper(), path, kind))
    return found


def status(server, method, path, **headers):
    """With an id that is nobody's: nothing is to be changed by who may call it either."""
    for name in ("{id}", "{stream}", "{name}"):
        path = path.replace(name, "vid-nobody")
    with http.Connection(server.api_port) as connection:
        connection.request(method, path + RECORDS.get(path, ""), **headers)
        return connection.read_head().status


def is_slow(path):
    return "pprof/profile" in path


def test_the_document_tells_of_them(servers, tmp_path):
    server = start(servers, tmp_path)
    privileged = {f"{method} {path}" for method, path, kind in operations(server) if kind == "privileged"}
    assert KNOWN <= privileged, f"{KNOWN - privileged} should be among {privileged}"
    changing = {f"{m} {p}" for m, p, kind in operations(server) if m != "GET" and p.startswith("/api/") and kind == "open"}
    changing -= VISITORS
    assert not changing, f"what changes something is open to nobody: {changing}"


@pytest.mark.parametrize("headers", [*({k: v} for k, v in FORGED.items()), *WEB_PAGES], ids=str)
def test_neither_forwarded_nor_from_a_web_page(servers, tmp_path, headers):
    """Without auth they are for this machine itself: who says that he speaks for it is somebody else."""
    server = start(servers, tmp_path)
    for method, path, kind in operations(server):
        if kind in ("privileged", "records"):
            got = status(server, method, path, **headers)
            assert got == 403, f"{method} {path} with {headers} should be refused with 403, it was {got}"
    assert status(server, "GET", "/api/v1/versions", **headers) == 200, "what only reads is as the listener is"


def test_wrong_credentials(servers, tmp_path):
    server = start(servers, tmp_path, AUTH)

    def basic(text):
        return "Basic " + base64.b64encode(text.encode()).decode()

    wrong = [None, basic("ops:wrong"), basic("ops:s3cret "), basic(":"), "Bearer wrong", f"Bearer {ALL[:-1]}"]
    listed = operations(server, Authorization=f"Bearer {ALL}")
    assert sum(kind == "privileged" for _, _, kind in listed) >= len(KNOWN)
    for method, path, kind in listed:
        if kind == "open":
            continue
        for one in wrong:
            got = status(server, method, path, **({"Authorization": one} if one else {}), **FORGED)
            assert got == 401, f"{method} {path} with {one} should be refused with 401, it was {got}"
        if kind == "records":
            got = status(server, method, path, Authorization=f"Bearer {READ}")
            assert got == 200, f"{method} {path} by who may read was {got}"
        if kind == "privileged":
            got = status(server, method, path, Authorization=f"Bearer {READ}")
            assert got == 403, f"{method} {path} with a token that may only read should be 403, it was {got}"
            if not is_slow(path):
                got = status(server, method, path, Authorization=f"Bearer {ALL}")
                assert got not in (401, 403) or "raw" in path, f"{method} {path} with a good token was {got}"
