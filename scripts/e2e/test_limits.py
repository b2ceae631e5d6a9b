"""max_connections and what one address may take: for every listener, with a log that cannot be filled, and without
harm to those who are there."""

import re
import resource
import signal
import socket
import subprocess
import time

import pytest

from conftest import Servers
from lib import http, media, publishing, rtmp, sockets
from lib.server import default_vhost
from lib.timing import SLOW, scaled, wait_until
from lib.watched import Watched

OTHER = "127.0.0.2"
API = "http_api { enabled on; listen 127.0.0.1:API_PORT; }\n"


def limited(servers, limits, **options):
    return servers(top=f"address_limits {{ exempt none; {limits} }}\n{API}", **options)


def is_taken(port, source=None):
    """Whether a new connection is served: RTMP's handshake begins, HTTP answers with what is no 429 or 503."""
    try:
        with sockets.connect("127.0.0.1", port, scaled(5), source=source) as connection:
            connection.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = connection.recv(100)
            return answer[9:12] not in (b"429", b"503", b"")
    except ConnectionError:
        return False


def is_taken_by_rtmp(port, source=None):
    try:
        with rtmp.Client("127.0.0.1", port, scaled(5), source=source) as client:
            client.handshake()
            return True
    except ConnectionError:
        return False


def ports_of(server):
    return {"rtmp": server.rtmp_port, "http": server.http_port, "api": server.api_port}


def taken(server, kind, source=None):
    return (is_taken_by_rtmp if kind == "rtmp" else is_taken)(ports_of(server)[kind], source)


def hold(server, count, source=None, data=b"", ports=("rtmp", "http", "api")):
    """Connections that just stay, over all listeners in turn, each after it has sent that."""
    ports = [ports_of(server)[name] for name in ports]
    before = server.fds()
    held = [sockets.connect("127.0.0.1", ports[i % len(ports)], 5, source=source) for i in range(count)]
    for one in held if data else []:
        one.sendall(data)
    wait_until(lambda: server.fds() >= before + count, 5, lambda: f"{count} are taken: {before} descriptors, now {server.fds()}")
    return held


def drop(server, connections):
    """They leave, and the server has seen it."""
    before = server.fds()
    for one in connections:
        one.close()
    wait_until(
        lambda: server.fds() <= before - len(connections),
        5,
        lambda: f"{len(connections)} are gone: {before} descriptors, now {server.fds()}",
    )


@pytest.mark.parametrize("kind", ["rtmp", "http", "api"])
def test_connections_of_one_address(servers, kind):
    """The limit counts those of all listeners together, and only one's own."""
    server = limited(servers, "connections 3;")
    held = hold(server, 3)
    assert not taken(server, kind), f"a fourth connection should be refused by {kind}"
    assert taken(server, kind, OTHER), "another address has a limit of its own"
    server.wait_log(r"connection from 127\.0\.0\.1 refused: 3 connections from this address")
    drop(server, held[:1])
    wait_until(lambda: taken(server, kind), 5, "when one has left another is taken")
    drop(server, held[1:])


def test_the_answer_tells_why(servers):
    server = limited(servers, "connections 1;")
    held = hold(server, 1)
    response = http.get(server.http_port, "/x")
    assert response.status == 429 and "retry-after" in response.headers, response.describe()
    drop(server, held)


def test_exempt_addresses_have_no_limit(servers):
    """This machine is exempt unless the directive says otherwise."""
    server = servers(top=f"address_limits {{ connections 1; rate 0.01; burst 1; }}\n{API}")
    held = hold(server, 6)
    assert all(taken(server, kind) for kind in ports_of(server)), "loopback should be exempt"
    drop(server, held)


def test_rate_of_one_address(servers):
    """A burst is taken, then as many a second as it says; those that were refused cost no share of it."""
    server = limited(servers, "rate 0.5; burst 3;")
    results = [taken(server, "http", OTHER) for _ in range(6)]
    assert results[:3] == [True] * 3 and not all(results), f"3 at once, then one in 2 s, were expected: {results}"
    wait_until(lambda: taken(server, "http", OTHER), 10, "after a while another one is taken")
    assert taken(server, "http", "127.0.0.3"), "another address has a share of its own"


def test_refusals_do_not_fill_the_log(servers):
    """One line a second; the next one tells how many had none."""
    # Room for the three connections that look whether the server listens: a refusal of those would be counted too.
    server = limited(servers, "connections 3;")
    held = hold(server, 3)
    began = time.monotonic()
    for _ in range(300):
        is_taken(server.http_port)
        is_taken_by_rtmp(server.rtmp_port)
    took = time.monotonic() - began
    time.sleep(1.1)
    mark = server.log_mark()
    is_taken(server.http_port)
    server.wait_log(r"refused: .*\(\d+ more were refused since the last such line\)", since=mark)
    lines = [line for line in server.log().splitlines() if "refused:" in line]
    assert len(lines) <= took + 3, f"{took:.1f} s should have about as many lines, there are {len(lines)}"
    told = sum(int(number) for line in lines for number in re.findall(r"\((\d+) more", line))
    assert told + len(lines) == 601, f"601 were refused; {len(lines)} lines tell of {told} more"
    drop(server, held)


def test_limits_change_with_a_reload(servers):
    """Those who are there count as soon as there is a limit."""
    server = limited(servers, "connections 0;")
    held = hold(server, 5)
    assert taken(server, "http")
    text = server.conf_path.read_text()
    for limit, wanted in ((5, False), (6, True), (2, False), (0, True)):
        server.conf_path.write_text(text.replace("connections 0;", f"connections {limit};"))
        server.signal(signal.SIGHUP)
        wait_until(lambda: taken(server, "http") == wanted, 5, f"with {limit} and 5 there, another one: {wanted}")
    drop(server, held)


def test_limits_do_not_touch_who_is_there(servers):
    """A flood from the address of a publisher and its players ends none of them."""
    server = limited(servers, "connections 4; rate 50; burst 50;", vhosts=default_vhost(play="mw_latency 0;"))
    tags = media.from_keyframe(media.plain())
    with publishing.Steady(rtmp.publisher(server, "live", "s"), tags) as steady:
        by_rtmp = publishing.Collector(rtmp.player(server, "live", "s", timeout=scaled(10)))
        by_http = publishing.Collector(http.Live(server.http_port, "/live/s.flv", timeout=scaled(10)))
        wait_until(lambda: by_rtmp.tags and by_http.tags, 5, "both players see the stream")
        end = time.monotonic() + 2
        while time.monotonic() < end:
            is_taken(server.http_port)
        seen = len(by_rtmp.tags), len(by_http.tags)
        wait_until(
            lambda: len(by_rtmp.tags) > seen[0] + 5 and len(by_http.tags) > seen[1] + 5, 2, "the players should go on"
        )
    assert steady.error is None, f"the publisher was disturbed: {steady.error}"


@pytest.mark.parametrize("kind", ["rtmp", "http", "api"])
def test_max_connections_counts_for_every_listener(servers, kind):
    """Of the API, requests of this machine are answered all the same (test_admission.py)."""
    server = servers(top=f"max_connections 6;\n{API}")
    held = hold(server, 6, data=b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", ports=["http", "api"])
    assert taken(server, kind) == (kind == "api"), f"{kind} should refuse the seventh connection, unless it is the API"
    server.wait_log(r"refused: 6 connections, the limit of max_connections")
    drop(server, held)
    wait_until(lambda: taken(server, kind), 5, "when they have left others are taken")


IDLE = 5000 if SLOW == 1 else 1000


@pytest.fixture
def watched(tmp_path):
    made = Watched(
        Servers(tmp_path),
        f"rtmp {{ handshake_timeout 3000; }}\nmax_connections {IDLE + 1000};\n"
        "http_api { enabled on; listen 127.0.0.1:API_PORT; request_timeout 3000; }\n",
        "request_timeout 3000;",
    )
    yield made.up()
    made.down()


@pytest.mark.quiet
def test_five_thousand_idle_connections(watched):
    """To every listener, silent or with half of something, while a stream plays on; then they are gone."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, IDLE + 2000), hard))
    server = watched.server
    before = server.fds()
    halves = [
        (server.rtmp_port, b""),
        (server.rtmp_port, b"\3" + bytes(700)),
        (server.http_port, b""),
        (server.http_port, b"GET /live/watched.flv HTTP/1.1\r\nHost: x\r\n"),
        (server.api_port, b"GET /api/v1/ver"),
    ]
    began = time.monotonic()
    idle = []
    try:
        for number in range(IDLE):
            port, data = halves[number % len(halves)]
            one = socket.create_connection(("127.0.0.1", port), 10)
            if data:
                one.sendall(data)
            idle.append(one)
            if number == IDLE // 2:
                assert http.get(server.api_port, "/api/v1/versions").status == 200, "the API should answer meanwhile"
        opened = time.monotonic() - began
        assert rtmp.player(server, "live", "watched").close() is None  # another player comes in
        watched.assert_undisturbed(began)
        wait_until(
            lambda: server.fds() <= before + 20,
            15 + opened,
            lambda: f"the idle ones should be closed by the server: {before} descriptors before, {server.fds()} now",
        )
        watched.assert_undisturbed(time.monotonic() - 1)
    finally:
        for one in idle:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_clients_leave_descriptors(servers, tool):
    """256 open files and as many clients as want to come: the API answers, a stream is recorded and cut into segments, and they are read."""
    vhost = f"dvr {{ enabled on; dvr_path [stream].flv; }} hls {{ enabled on; hls_path ./html; hls_fragment 1; }}"
    server = servers.make(top="max_connections 5000; http_api { enabled on; listen 127.0.0.1:API_PORT; }", vhosts=default_vhost(vhost=vhost))
    server.file_limit = 256
    server.start()
    server.wait_log("max_connections 5000 needs a limit of .* 160 connections are allowed")
    idle = []
    try:
        with rtmp.publisher(server, "live", "before") as before, publishing.Steady(before, media.tags(media.with_b_frames())):
            # Players of a stream are not closed to make room, so that they take what they may have.
            for _ in range(300):
                one = socket.create_connection(("127.0.0.1", server.http_port), 10)
                one.sendall(b"GET /live/before.flv HTTP/1.1\r\nHost: x\r\n\r\n")
                idle.append(one)
            wait_until(lambda: server.fds() > 150, 10, lambda: f"clients should have taken most of 256 descriptors: {server.fds()}")
            assert http.get(server.api_port, "/api/v1/versions").status == 200, "the API should answer"
            listed = wait_until(lambda: list((server.dir / "html/live").glob("before-*.ts")), 15, "a segment")
            recorded = sum(path.stat().st_size for path in server.dir.glob("before.flv*"))
            assert recorded > 10_000, f"the stream should be recorded: {recorded} bytes"
            for one in idle[100:]:
                one.close()
            del idle[100:]
            wait_until(lambda: server.fds() < 170, 10, lambda: f"those that left: {server.fds()} descriptors")
            assert http.get(server.http_port, f"/live/{listed[0].name}").status == 200, "a segment should be read"
    finally:
        for one in idle:
            one.close()


def test_descriptors_that_are_too_few(servers):
    server = servers.make(top="max_connections 5000;")
    words = ["sh", "-c", 'ulimit -n 80 && exec "$@"', "sh", *server.command()]
    done = subprocess.run(words, cwd=server.dir, env=server.environment(), capture_output=True, text=True, timeout=scaled(10), check=False)
    assert done.returncode == 1 and "the limit of open files is 80, and the server needs 112 at least: raise it" in done.stderr, done.stderr
