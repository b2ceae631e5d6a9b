"""The HTTP server: static files, live streams, errors, TLS."""

import re
import signal
import subprocess

import pytest

from lib import ffmpeg, flv, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled, wait_until

BODY = bytes(range(256)) * 40


@pytest.fixture
def files(servers):
    server = servers(vhosts=default_vhost(remux="wait_publisher_timeout 100;"))
    (server.dir / "html" / "a.bin").write_bytes(BODY)
    (server.dir / "html" / "page.html").write_text("<html>a page</html>")
    (server.dir / "html" / "sub").mkdir()
    (server.dir / "html" / "sub" / "index.html").write_text("index of sub")
    (server.dir / "secret.txt").write_text("secret")
    return server


def test_static_file(files):
    response = http.get(files.http_port, "/a.bin")
    assert response.status == 200 and response.body == BODY, response.describe()
    page = http.get(files.http_port, "/page.html")
    assert page.headers.get("content-type", "").startswith("text/html"), page.describe()
    assert page.headers.get("server"), page.describe()


def test_head_has_no_body(files):
    with http.Connection(files.http_port) as connection:
        connection.request("HEAD", "/a.bin")
        response = connection.read_response("HEAD")
        assert response.status == 200 and response.headers["content-length"] == str(len(BODY)), response.describe()
        connection.request("GET", "/page.html")
        assert (
            connection.read_response().body == b"<html>a page</html>"
        ), "nothing may stand between HEAD's answer and the next"


def test_keep_alive(files):
    with http.Connection(files.http_port) as connection:
        for _ in range(50):
            connection.request("GET", "/page.html")
            assert connection.read_response().body == b"<html>a page</html>"


def test_pipelined_requests(files):
    with http.Connection(files.http_port) as connection:
        for _ in range(10):
            connection.request("GET", "/page.html")
            connection.request("GET", "/none")
        statuses = [connection.read_response().status for _ in range(20)]
    assert statuses == [200, 404] * 10, statuses


def test_connection_close_and_http_1_0(files):
    for request in (
        b"GET /page.html HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET /page.html HTTP/1.0\r\n\r\n",
    ):
        with http.Connection(files.http_port) as connection:
            connection.send(request)
            assert connection.read_response().body == b"<html>a page</html>"
            assert connection.read_to_end() == b"", f"the connection should end after {request!r}"


@pytest.mark.parametrize(
    "value, first, last",
    [
        ("bytes=0-99", 0, 99),
        ("bytes=100-", 100, len(BODY) - 1),
        ("bytes=-10", len(BODY) - 10, len(BODY) - 1),
        ("bytes=0-999999", 0, len(BODY) - 1),
    ],
)
def test_range(files, value, first, last):
    response = http.get(files.http_port, "/a.bin", Range=value)
    assert response.status == 206 and response.body == BODY[first : last + 1], response.describe()
    assert response.headers["content-range"] == f"bytes {first}-{last}/{len(BODY)}", response.describe()


def test_range_out_of_the_file(files):
    response = http.get(files.http_port, "/a.bin", Range=f"bytes={len(BODY)}-")
    assert response.status == 416 and response.headers["content-range"] == f"bytes */{len(BODY)}", response.describe()


def test_not_modified(files):
    first = http.get(files.http_port, "/a.bin")
    fields = {}
    if "etag" in first.headers:
        fields["If_None_Match"] = first.headers["etag"]
    else:
        fields["If_Modified_Since"] = first.headers["last-modified"]
    assert http.get(files.http_port, "/a.bin", **fields).status == 304


def test_options_with_cors(files):
    response = http.get(
        files.http_port, "/live/s.flv", "OPTIONS", Origin="http://a.example", Access_Control_Request_Method="GET"
    )
    assert response.status in (200, 204), response.describe()
    assert response.headers.get("access-control-allow-origin") in ("*", "http://a.example"), response.describe()
    assert "GET" in response.headers.get("access-control-allow-methods", ""), response.describe()
    plain = http.get(files.http_port, "/page.html", Origin="http://a.example")
    assert plain.headers.get("access-control-allow-origin") in ("*", "http://a.example"), plain.describe()


def test_crossdomain_off(servers):
    server = servers(http="crossdomain off;")
    response = http.get(server.http_port, "/none", Origin="http://a.example")
    assert "access-control-allow-origin" not in response.headers, response.describe()


def test_index_and_404(files):
    assert http.get(files.http_port, "/sub/").body == b"index of sub"
    for path in ("/none.html", "/live/none.flv", "/none/", "/live/none.mp3", "/%00", "/a.bin/x"):
        response = http.get(files.http_port, path)
        assert response.status in (404, 400), f"{path}: {response.describe()}"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/sub/../../secret.txt",
        "/..%2fsecret.txt",
        "/sub/%2e%2e/%2e%2e/secret.txt",
        "/./../secret.txt",
        "//secret.txt",
        "/..\\secret.txt",
    ],
)
def test_nothing_outside_the_directory(files, path):
    response = http.get(files.http_port, path)
    assert response.status >= 400 and b"secret" not in response.body, response.describe()


def test_no_symbolic_surprise(files):
    """A file that cannot be read is an error of its own, not an end of the server."""
    (files.dir / "html" / "directory.flv").mkdir()
    assert http.get(files.http_port, "/directory.flv").status >= 400
    assert http.get(files.http_port, "/page.html").status == 200


MALFORMED = {
    "no version": b"GET /\r\n\r\n",
    "no method": b" / HTTP/1.1\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "space in a name": b"GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n",
    "no colon": b"GET / HTTP/1.1\r\nHost: x\r\nabc\r\n\r\n",
    "lengths disagree": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "length and chunks": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "length no number": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n",
    "a header without end": b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 40000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(3000)) + b"\r\n",
    "a long URL": b"GET /" + b"a" * 40000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "control character": b"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
    "random": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_requests_get_their_4xx(server, case):
    with http.Connection(server.http_port) as connection:
        try:
            connection.send(MALFORMED[case])
        except OSError:
            pass
        response = connection.read_response()
        assert 400 <= response.status < 500, response.describe()
    assert http.get(server.http_port, "/none").status == 404, "the server goes on"


def test_post_to_a_file_is_not_allowed(files):
    response = http.get(files.http_port, "/a.bin", "POST")
    assert response.status in (404, 405), response.describe()


def test_body_that_nobody_wants_is_passed_over(files):
    with http.Connection(files.http_port) as connection:
        connection.request("GET", "/page.html", body=b"GET /secret HTTP/1.1\r\n\r\n")
        assert connection.read_response().body == b"<html>a page</html>"
        connection.request("GET", "/page.html")
        assert connection.read_response().body == b"<html>a page</html>"


# --- live streams


@pytest.fixture
def live(server):
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())):
        wait_until(lambda: http.get_status(server.http_port, "/live/s.flv") == 200, 5, "the stream is there")
        yield server


def test_flv_response_head(live):
    with http.Live(live.http_port, "/live/s.flv", Origin="http://a.example") as stream:
        assert stream.response.status == 200, stream.response.describe()
        assert stream.response.headers["content-type"].startswith("video/x-flv"), stream.response.describe()
        assert stream.response.headers.get("access-control-allow-origin") in ("*", "http://a.example")
        assert "content-length" not in stream.response.headers, "a live stream has no length"


def test_head_of_a_stream(live):
    response = http.get(live.http_port, "/live/s.flv", "HEAD")
    assert response.status == 200, response.describe()


def test_http_1_0_player(live):
    """Without chunks, which HTTP/1.0 does not know."""
    with http.Connection(live.http_port) as connection:
        connection.send(b"GET /live/s.flv HTTP/1.0\r\n\r\n")
        response = connection.read_head()
        assert response.status == 200 and "transfer-encoding" not in response.headers, response.describe()
        data = connection.buffer + connection.socket.recv(100)
        assert data.startswith(b"FLV\x01"), data[:20]


def test_websocket_answers_ping_and_close(live):
    with http.WebSocket(live.http_port, "/live/s.flv") as socket:
        assert socket.response.status == 101, socket.response.describe()
        socket.send_frame(9, b"are you there")
        wait_for_frame(socket, 10, b"are you there")
        socket.send_frame(8, b"\x03\xe8")
        wait_for_frame(socket, 8, b"\x03\xe8")
        rest = socket.socket.recv(4096)
        assert not socket.buffer and not rest, f"nothing may follow the Close (RFC 6455, 5.5.1): {socket.buffer + rest}"


def test_websocket_is_told_that_the_server_stops(live):
    with http.WebSocket(live.http_port, "/live/s.flv") as socket:
        socket.frame()
        live.signal(signal.SIGTERM)
        wait_for_frame(socket, 8, b"\x03\xe9the server stops")
        live.wait_exit(5)


def wait_for_frame(socket, opcode, payload=None):
    for _ in range(1000):
        got = socket.frame()
        if got[0] == opcode:
            assert payload is None or got[1] == payload, f"the payload should be {payload!r}, it is {got[1]!r}"
            return
        assert got[0] in (0, 2), f"opcode {got[0]} where media or {opcode} was expected"
    raise AssertionError(f"no frame with opcode {opcode} among 1000")


def test_websocket_of_an_unknown_stream(servers):
    server = servers(vhosts=default_vhost(remux="wait_publisher_timeout 100;"))
    with http.WebSocket(server.http_port, "/live/none.flv") as socket:
        assert socket.response.status == 404, socket.response.describe()


def test_http_remux_disabled(servers):
    server = servers(vhosts="vhost __defaultVhost__ { http_remux { enabled off; } }")
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())):
        assert http.get_status(server.http_port, "/live/s.flv") == 404


@pytest.mark.parametrize(
    "directives, audio, video",
    [("has_audio off; guess_has_av off;", False, True), ("has_video off; guess_has_av off;", True, False)],
)
def test_has_audio_and_has_video(servers, directives, audio, video):
    """The FLV header says what is configured, and with drop_if_not_match on the other track is left out."""
    server = servers(vhosts=default_vhost(remux=directives))
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())):
        wait_until(lambda: http.get_status(server.http_port, "/live/s.flv") == 200, 5, "the stream is there")
        with http.Live(server.http_port, "/live/s.flv", timeout=scaled(5)) as stream:
            tags = []
            while len(flv.frames(tags)) < 30:
                tags += stream.tags()
            kinds = {tag.type for tag in tags} - {flv.SCRIPT}
            assert (stream.flv.has_audio, stream.flv.has_video) == (audio, video), f"flags are {stream.flv.flags}"
            assert kinds == (
                {flv.AUDIO} if audio else {flv.VIDEO}
            ), f"tags of {[flv.NAMES[kind] for kind in kinds]} came"


def test_http_static_of_a_vhost(servers, tmp_path):
    directory = tmp_path / "files"
    directory.mkdir()
    (directory / "v.txt").write_text("of the vhost")
    server = servers(
        vhosts=default_vhost() + f"vhost files.example {{ http_static {{ enabled on; mount [vhost]/static; "
        f"dir {directory}; }} }}"
    )
    response = http.get(server.http_port, "/static/v.txt", Host="files.example")
    assert response.status == 200 and response.body == b"of the vhost", response.describe()


# --- TLS


@pytest.fixture
def secure(servers, certificate):
    key, cert = certificate
    return servers(
        top=f"rtmps {{ enabled on; listen 127.0.0.1:RTMPS_PORT; key {key}; cert {cert}; }}",
        http=f"https {{ enabled on; listen 127.0.0.1:HTTPS_PORT; key {key}; cert {cert}; }}",
        vhosts=default_vhost(remux="wait_publisher on;"),
    )


@pytest.mark.valgrind
def test_rtmps_and_https(secure, tool, tmp_path):
    """Published by RTMPS; played by RTMPS, HTTPS and WebSocket over TLS."""
    path, out = media.with_b_frames(), tmp_path / "tls.framemd5"
    (secure.dir / "html" / "page.html").write_text("a page")
    assert http.get(secure.https_port, "/page.html", tls=True).body == b"a page"
    players = {
        "RTMPS": rtmp.player(secure, "live", "tls", port=secure.rtmps_port, tls=True, timeout=scaled(20)),
        "HTTPS-FLV": http.Live(secure.https_port, "/live/tls.flv", tls=True, wait=False, timeout=scaled(20)),
        "WSS-FLV": http.WebSocket(secure.https_port, "/live/tls.flv", tls=True, wait=False, timeout=scaled(20)),
    }
    collectors = {name: publishing.Collector(player) for name, player in players.items()}
    recording = tool(
        ffmpeg.command("-i", f"rtmps://127.0.0.1:{secure.rtmps_port}/live/tls", "-c", "copy", "-f", "framemd5", out)
    )
    secure.wait_players("live/tls", 4)
    tool(
        ffmpeg.command(
            "-readrate", 16, "-i", path, "-c", "copy", "-f", "flv", f"rtmps://127.0.0.1:{secure.rtmps_port}/live/tls"
        )
    ).finish(20)
    for name, collector in collectors.items():
        flv.assert_same(media.tags(path), collector.finish(scaled(20), name), name)
    recording.finish(20)
    done = subprocess.run(
        ffmpeg.command("-i", path, "-c", "copy", "-f", "framemd5", "-"), check=True, capture_output=True
    )
    ffmpeg.assert_same_packets(
        ffmpeg.framemd5(done.stdout.decode()), ffmpeg.framemd5(out.read_text()), "ffmpeg by RTMPS"
    )


def test_no_tls_on_a_tls_port(secure):
    """Plain bytes there are closed with a clear line, and the others go on."""
    for port in (secure.rtmps_port, secure.https_port):
        mark = secure.log_mark()
        with http.Connection(port) as connection:
            connection.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            try:
                while connection.socket.recv(1000):
                    pass
            except ConnectionError:
                pass
        secure.wait_log(r"TLS|SSL", 3, mark)
    assert http.get(secure.https_port, "/none", tls=True).status == 404


def test_missing_certificate_is_said(servers):
    server = servers.make(top="rtmps { enabled on; listen 127.0.0.1:RTMPS_PORT; key /no/key.pem; cert /no/cert.pem; }")
    server.spawn()
    code = server.wait_exit(5)
    said = server.log() + server.output()
    assert code != 0 and re.search(r"/no/(key|cert)\.pem", said), f"the file should be named; exit code {code}\n{said}"
    server.process = None


def test_a_404_says_why_in_every_format(servers):
    """As WHEP and RTSP do: nobody publishes it, there is no such vhost, or it has no HLS."""
    vhosts = "vhost a.com { hls { enabled on; } http_remux { enabled on; mount [vhost]/[app]/[stream].flv; wait_publisher off; } }\nvhost b.com { }\n"
    server = servers(vhosts=vhosts)
    wanted = {
        ("a.com", "/live/none.m3u8"): "the stream is not published",
        ("b.com", "/live/none.m3u8"): "vhost b.com has no HLS",
        ("c.com", "/live/none.m3u8"): "there is no vhost c.com",
        ("c.com", "/live/none.flv"): "there is no vhost c.com",
        ("c.com", "/live/none.ts"): "there is no vhost c.com",
    }
    for (host, path), why in wanted.items():
        answer = http.get(server.http_port, path, Host=host)
        assert answer.status == 404 and why in answer.body.decode(), answer.describe()
    assert b"vhost" not in http.get(server.http_port, "/none.html", Host="c.com").body, "of files nothing is said"
