"""Attacks by HTTP, on every HTTP server that there is: what is not to be read, what two readers would read differently,
what is too large and what is too slow. Each is answered with an error or not at all, and the next client is served."""

import os
import re
import socket
import ssl
import time

import pytest

from conftest import Servers
from lib import http, sockets
from lib.http_attacks import CHUNKED, HEAD, OVERSIZED, SLOW, SMUGGLING, TRAVERSALS
from lib.server import can_connect, default_vhost
from lib.timing import VALGRIND, scaled, wait_until

SECRET = "nobody is to read this"
LIMIT_MS = 1000
LIMITS = " ".join(f"{name} {LIMIT_MS};" for name in ("request_timeout", "body_timeout", "idle_timeout", "write_timeout"))
# By the name of the server's port: a path that it answers with 200.
TARGETS = {"http": "/inside.txt", "api": "/api/v1/versions", "exporter": "/metrics"}
TOP = f"""
rtmp {{ handshake_timeout {LIMIT_MS}; }}
http_api {{ enabled on; listen 127.0.0.1:API_PORT; {LIMITS} }}
exporter {{ enabled on; listen 127.0.0.1:RTMPS_PORT; }}
"""


def port_of(server, name):
    """The exporter has the port of RTMPS, which is free here."""
    return server.rtmps_port if name == "exporter" else getattr(server, f"{name}_port")


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """One server for the tests of this file. What must not be read lies beside what may."""
    made = Servers(tmp_path_factory.mktemp("attacked"))
    server = made.make(
        top=TOP, http=LIMITS, vhosts=default_vhost("http_static { enabled on; mount [vhost]/static; dir ./static; }")
    )
    (server.dir / "secret.txt").write_text(SECRET)
    for folder in ("html", "static"):
        (server.dir / folder).mkdir(exist_ok=True)
        (server.dir / folder / "inside.txt").write_text("inside")
        (server.dir / folder / "link.txt").symlink_to(server.dir / "secret.txt")
    (server.dir / "html" / "large.bin").write_bytes(bytes(30_000_000))
    server.start()
    for name in TARGETS:
        wait_until(lambda name=name: can_connect(port_of(server, name)), 5, f"{name} listens")
    yield server
    made.finish()


@pytest.fixture(params=TARGETS)
def target(request, attacked):
    """(port, a path that is there), of each HTTP server."""
    return port_of(attacked, request.param), TARGETS[request.param]


def raw(port, data, seconds=5):
    """All that the server sends in answer to those bytes, up to its end."""
    with sockets.connect("127.0.0.1", port, scaled(seconds)) as connection:
        connection.sendall(data)
        out = b""
        try:
            while more := connection.recv(1 << 16):
                out += more
        except ConnectionResetError:
            pass
        except TimeoutError:
            raise AssertionError(
                f"after {data[:200]!r} the server should close within {scaled(seconds)} s; it said {out[:500]!r}"
            ) from None
        return out


def statuses(answer):
    return [int(code) for code in re.findall(rb"HTTP/1\.[01] (\d{3}) ", answer)]


# --- what is not to be read


@pytest.mark.parametrize("name", TRAVERSALS)
def test_traversal(target, name):
    port, good = target
    path = TRAVERSALS[name].encode()
    answer = raw(port, b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert SECRET.encode() not in answer and b"root:" not in answer, f"{path} should not be read: {answer[:500]!r}"
    allowed = {400, 403, 404} | ({200} if name == "in the vhost" else set())
    assert set(statuses(answer)) <= allowed and answer, f"{path} should be refused; the answer was {answer[:500]!r}"
    assert http.get(port, good).status == 200, f"after {path} the next request should be served"


def test_raw_nul_and_controls_in_the_target(target):
    port, _ = target
    for byte in (0, 1, 9, 0x7F):
        answer = raw(port, b"GET /a" + bytes([byte]) + b"b HTTP/1.1\r\nHost: x\r\n\r\n")
        assert statuses(answer) == [400], f"byte {byte} in the URL should be answered with 400, it was {answer[:300]!r}"


def test_a_redirect_stays_on_this_server(attacked):
    """A path that begins with two slashes would name another host in Location."""
    (attacked.dir / "html" / "evil.example").mkdir(exist_ok=True)
    (attacked.dir / "html" / "evil.example" / "index.html").write_text("x")
    for path in ("//evil.example", "/.//evil.example", "/%2fevil.example", "///evil.example"):
        where = http.get(attacked.http_port, path).headers.get("location", "/")
        assert re.match(r"/(?![/\\])", where), f"{path} should not lead to another host: Location: {where}"


# --- what is not to be called


@pytest.mark.parametrize("method", ["TRACE", "PROPFIND", "BREW", "DELETE", "QUERY"])
def test_a_method_that_a_path_does_not_have(target, method):
    """405, and Allow says which there are; nothing of the request comes back in the answer."""
    port, good = target
    with http.Connection(port) as connection:
        connection.request(method, good, Cookie="secret-cookie")
        response = connection.read_response()
        assert response.status == 405, f"{method} {good} should be answered with 405: {response.describe()}"
        allowed = response.headers["allow"].split(", ")
        assert "GET" in allowed and method not in allowed, allowed
        assert b"secret-cookie" not in response.body, response.describe()
        connection.request("GET", good)
        assert connection.read_response().status == 200, f"after {method} the connection should go on"


def test_the_exporter_has_metrics_and_nothing_else(attacked):
    """Neither the API nor files nor streams, with whatever method."""
    port = port_of(attacked, "exporter")
    paths = (
        "/", "/api", "/api/v1/versions", "/api/v1/clients", "/api/v1/config", "/api/v1/raw?rpc=reload",
        "/api/v1/debug/runtime", "/api/v1/openapi.json", "/healthz", "/metrics/", "/metrics/api/v1/versions", "//metrics",
        "/metrics/../api/v1/versions", "/inside.txt", "/static/inside.txt", "/live/s.flv", "/live/s.m3u8",
        "/rtc/v1/whep/?app=live&stream=s",
    )  # fmt: skip
    for path in paths:
        for method in ("GET", "POST", "PUT", "DELETE"):
            with http.Connection(port) as connection:
                connection.request(method, path)
                response = connection.read_response()
            one_of = (400, 404, 405) if "metrics" in path else (404,)
            good = path in ("/metrics/", "//metrics") and method == "GET"  # a slash more is the same as none
            assert response.status in (200, *one_of) if good else response.status in one_of, (
                f"{method} {path} on the exporter should be answered with one of {one_of}: {response.describe()}"
            )


# --- what two readers would read differently (RFC 9112, 11.2)

@pytest.mark.parametrize("name", SMUGGLING)
def test_smuggling(target, name):
    """One answer, an error, and the connection's end: what stands behind is never taken for a request."""
    port, good = target
    answer = raw(port, SMUGGLING[name])
    codes = statuses(answer)
    assert len(codes) == 1, f"{name}: one answer was expected, {codes} came: {answer[:800]!r}"
    assert 400 <= codes[0] <= 505 and codes[0] not in (404, 405), f"{name}: a refusal was expected: {answer[:500]!r}"
    assert http.get(port, good).status == 200, f"after {name} the next client should be served"


WELL_FRAMED = {
    "a length": HEAD + b"Content-Length: 5\r\n\r\nabcde",
    "chunks with extensions and a trailer": HEAD
    + CHUNKED
    + b'3;a=b;c="d"\r\nabc\r\n0A \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n',
    "space around a length": HEAD + b"Content-Length: \t 5 \r\n\r\nabcde",
    "capitals": HEAD + b"TRANSFER-ENCODING: Chunked\r\n\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("name", WELL_FRAMED)
def test_what_is_well_framed_goes_on(target, name):
    """The next request on the connection is read from the right byte; else the tests above would show nothing."""
    port, good = target
    rest = f"GET {good} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    codes = statuses(raw(port, WELL_FRAMED[name] + rest))
    assert len(codes) == 2 and codes[0] in (401, 404, 405) and codes[1] == 200, f"{name}: {codes} came"


def test_a_smuggled_trailer_changes_nothing(target):
    """A field in the trailer is none of the head's."""
    port, good = target
    body = HEAD + CHUNKED + b"0\r\nContent-Length: 50\r\nHost: evil\r\n\r\n"
    rest = f"GET {good} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    assert statuses(raw(port, body + rest))[-1] == 200


# --- too large

@pytest.mark.parametrize("name", OVERSIZED)
def test_oversized(target, name):
    port, good = target
    data, allowed = OVERSIZED[name]
    try:
        codes = statuses(raw(port, data))
    except (BrokenPipeError, ConnectionResetError):
        codes = []  # it would not read on, and we did not read its answer
    assert len(codes) <= 1 and set(codes) <= allowed, f"{name}: one of {allowed} was expected, {codes} came"
    assert http.get(port, good).status == 200, f"after {name} the next client should be served"


def test_ten_thousand_pipelined_requests(target):
    """A connection has an end, however fast it asks."""
    port, good = target
    request = f"GET {good} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with sockets.connect("127.0.0.1", port, scaled(20)) as connection:
        got = b""
        connection.setblocking(False)
        data = request * 3000
        end = time.monotonic() + scaled(20)
        while time.monotonic() < end:
            try:
                if data:
                    data = data[connection.send(data) :]
            except BlockingIOError:
                pass
            except (BrokenPipeError, ConnectionResetError):
                data = b""
            try:
                more = connection.recv(1 << 16)
                if not more:
                    break
                got += more
            except BlockingIOError:
                time.sleep(0.001)
            except ConnectionResetError:
                break
    count = len(statuses(got))
    assert 500 <= count <= 1000, f"up to 1,000 requests are served on one connection, {count} were"


# --- too slow


def closed_after(connection, seconds):
    """How long it took the server to close, and what it said; fails when it takes longer."""
    began = time.monotonic()
    connection.settimeout(scaled(seconds))
    out = b""
    try:
        while more := connection.recv(1 << 16):
            out += more
    except ConnectionResetError:
        pass
    except TimeoutError:
        raise AssertionError(f"it should be closed within {scaled(seconds)} s; it said {out[:300]!r}") from None
    return time.monotonic() - began, out


@pytest.mark.parametrize("name", SLOW)
def test_slow(target, name):
    port, _ = target
    data, wanted = SLOW[name]
    with sockets.connect("127.0.0.1", port, 5) as connection:
        connection.sendall(data)
        _, answer = closed_after(connection, LIMIT_MS / 1000 * 2 + 3)
    assert set(statuses(answer)) == wanted, f"{name}: {wanted} was expected, the answer was {answer[:300]!r}"


@pytest.mark.parametrize("name", ["head", "body", "after an answer"])
def test_a_byte_at_a_time(target, name):
    """Bytes that come do not prolong the time: it is for the whole."""
    port, good = target
    with sockets.connect("127.0.0.1", port, 5) as connection:
        if name == "after an answer":
            connection.sendall(f"GET {good} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        if name == "body":
            connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        else:
            connection.sendall(b"GET /")
        began, answer = time.monotonic(), b""
        connection.settimeout(0.1)
        while time.monotonic() - began < scaled(LIMIT_MS / 1000 * 2 + 3):
            try:
                connection.sendall(b"a")
                more = connection.recv(1 << 16)
                if not more:
                    break
                answer += more
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            raise AssertionError("it should be closed although a byte comes each 100 ms")
    assert statuses(answer) in ([408], []), f"408 was expected, it was {answer[:300]!r}"


def test_idle_between_requests(target):
    port, good = target
    with http.Connection(port) as connection:
        connection.request("GET", good)
        assert connection.read_response().status == 200
        took, rest = closed_after(connection.socket, LIMIT_MS / 1000 * 2 + 3)
    assert rest == b"" and took > LIMIT_MS / 1000 * 0.5, f"it should be kept for a while: {took:.2f} s, {rest[:200]!r}"


def test_a_reader_that_takes_nothing(attacked):
    """write_timeout: who does not read gets the connection's end, not a place for ever."""
    mark = attacked.log_mark()
    with http.Connection(attacked.http_port, receive_buffer=4096) as connection:
        connection.request("GET", "/large.bin")
        attacked.wait_log(r"http ended: /large.bin .*timed out", LIMIT_MS / 1000 * 2 + 3, mark)


def test_silence_on_rtmp(attacked):
    with sockets.connect("127.0.0.1", attacked.rtmp_port, 5) as connection:
        connection.sendall(b"\3" + bytes(100))
        closed_after(connection, LIMIT_MS / 1000 * 2 + 3)


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n\r\n"], ids=["silence", "half", "plain"])
def test_tls_handshakes_that_do_not_come(servers, certificate, sent):
    key, cert = certificate
    tls = f"enabled on; key {key}; cert {cert};"
    server = servers(
        top=f"rtmp {{ handshake_timeout {LIMIT_MS}; }} rtmps {{ listen 127.0.0.1:RTMPS_PORT; {tls} }}\n"
        f"http_api {{ enabled on; listen 127.0.0.1:API_PORT; {LIMITS} }}",
        http=f"{LIMITS} https {{ listen 127.0.0.1:HTTPS_PORT; {tls} }}",
    )
    for port in (server.rtmps_port, server.https_port):
        with sockets.connect("127.0.0.1", port, 5) as connection:
            connection.sendall(sent)
            closed_after(connection, LIMIT_MS / 1000 * 2 + 3)
    assert http.get(server.https_port, "/", tls=True).status == 200


def test_nothing_of_all_that_is_left(attacked):
    """After the tests before: no descriptor is held by a connection that is gone."""
    before, mark = attacked.fds(), attacked.log_mark()
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", attacked.http_port)) as one:
            one.sendall(os.urandom(50))
    # Those that the server has not even accepted yet hold no descriptor.
    wait_until(lambda: attacked.log_count("http ended", mark) >= 50, 10, "the server has seen all 50 end")
    wait_until(
        lambda: attacked.fds() <= before,
        10,
        lambda: f"{before} descriptors are open again; those open now are {attacked.open_files()}",
    )
    assert attacked.alive()


@pytest.mark.skipif(VALGRIND, reason="it measures processor time")
def test_a_part_of_a_tls_record_between_requests(servers, certificate):
    """It costs nothing while the rest does not come, and does not prolong the connection's idle time."""
    key, cert = certificate
    server = servers(http=f"idle_timeout 3000; https {{ enabled on; listen 127.0.0.1:HTTPS_PORT; cert {cert}; key {key}; }}")
    (server.dir / "html" / "a.txt").write_text("a")
    request = b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"
    came, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    tls = unverified.wrap_bio(came, sent)
    with sockets.connect("127.0.0.1", server.https_port, scaled(10)) as connection:

        def done(call, *arguments):
            while True:
                try:
                    return call(*arguments)
                except ssl.SSLWantReadError:
                    connection.sendall(sent.read())
                    came.write(connection.recv(1 << 16))

        done(tls.do_handshake)
        for cut in (1, 5, 20):  # in the head of the record, after it, in what is encrypted
            tls.write(request)
            record = sent.read()
            connection.sendall(record[:cut])
            before = server.cpu_seconds()
            time.sleep(0.5)
            took = server.cpu_seconds() - before
            assert took < scaled(0.1), f"{cut} bytes of a record: {took} s of processor time in 0.5 s"
            connection.sendall(record[cut:])
            answer = done(tls.read, 1 << 16)
            assert answer.startswith(b"HTTP/1.1 200"), f"{cut} bytes, and then the rest: {answer}"
        tls.write(request)
        record = sent.read()
        began = time.monotonic()
        for byte in record:
            try:
                connection.sendall(bytes([byte]))
            except OSError:
                break
            time.sleep(0.25)
        took = time.monotonic() - began
        assert took < scaled(5), f"closed after {took:.1f} s of {len(record) / 4:.1f}; the idle timeout is 3 s"
    server.wait_log("idle for 3000 ms")
