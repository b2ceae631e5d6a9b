"""Who counts as a connection. Contexts of HLS viewers and WebRTC offers have limits of their own; ICE over TCP and
connected WebRTC sessions count as every connection does; connections that say nothing make room for others, and the
operator gets in to a full server. And no client's input holds the loop, however many small things it is made of."""

import contextlib
import re
import struct
import threading
import time

import pytest

from lib import api, http, media, publishing, rtc, rtc_raw, rtmp, sockets
from lib.rtc_raw import Dtls, Session
from lib.server import default_vhost
from lib.timing import SLOW, scaled, wait_until

OTHER = "127.0.0.2"
HLS = "hls { enabled on; hls_fragment 1; hls_window 5; hls_ctx on; }"
EXPORTER = "exporter { enabled on; listen 127.0.0.1:RTMPS_PORT; }\n"
SDP = {"Content_Type": "application/sdp"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return rtc_raw.Certificate(tmp_path_factory.mktemp("peer"))


KNOWN = {"Authorization": api.basic("admin:a long one")}


def metric(server, name):
    text = http.get(server.rtmps_port, "/metrics", **KNOWN).body.decode()
    found = re.search(rf"(?m)^{re.escape(name)} (\S+)$", text)
    assert found, f"there should be a metric {name}:\n{text}"
    return float(found[1])


class Bystanders:
    """A publisher by RTMP, a viewer by FLV, and a caller of the API; none of them may notice."""

    def __init__(self, server, tags=None):
        self.server = server
        self.steady = publishing.Steady(rtmp.publisher(server, "live", "s"), tags or media.tags(media.frequent_keyframes()))
        wait_until(lambda: len(self.steady.sent) > 5, 5, "the publisher sends")
        self.viewer = publishing.Collector(http.Live(server.http_port, "/live/s.flv", timeout=scaled(10)))
        wait_until(lambda: self.viewer.tags, 5, "the viewer sees it")
        self.stopping = threading.Event()
        self.answers = []
        self.thread = threading.Thread(target=self._ask, daemon=True)
        self.thread.start()

    def _ask(self):
        while not self.stopping.wait(0.05):
            began = time.monotonic()
            try:
                status = http.get(self.server.api_port, "/api/v1/versions").status
            except OSError as error:
                status = repr(error)
            self.answers.append((status, time.monotonic() - began))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            wait_until(lambda: len(self.answers) >= 5, 5, "the API was asked")
        self.stopping.set()
        self.thread.join()
        self.steady.stop()
        self.steady.client.close()
        if kind is None:
            self.assert_served()

    def assert_served(self):
        assert self.steady.error is None, f"the publisher was disturbed: {self.steady.error}"
        assert self.viewer.error is None, f"the viewer was disturbed: {self.viewer.error}"
        bad_answers = [answer for answer in self.answers if answer[0] != 200]
        assert self.answers and not bad_answers, f"the API should answer always: {bad_answers[:5]} of {len(self.answers)}"


def in_connections(port, count, each, source=None):
    """each(connection, number) for so many numbers; a connection is good for 1,000 requests."""
    for begin in range(0, count, 900):
        with http.Connection(port, source=source) as connection:
            for number in range(begin, min(count, begin + 900)):
                yield each(connection, number)


def ask_playlist(connection, context):
    connection.request("GET", f"/live/s.m3u8?hls_ctx={context}")
    return connection.read_response()


def wait_hls(server):
    wait_until(lambda: http.get(server.http_port, "/live/s.m3u8").status == 200, 15, "HLS is there")


def test_hls_contexts_are_no_connections(servers):
    """More contexts than max_connections, of one client: RTMP, HTTP and the API go on."""
    server = servers(top=f"max_connections 60;\n{api.CONF % ''}{EXPORTER}", vhosts=default_vhost(HLS))
    with Bystanders(server):
        wait_hls(server)
        statuses = list(in_connections(server.http_port, 300, lambda one, n: ask_playlist(one, f"c{n}").status))
        assert set(statuses) == {200}, f"300 contexts should be served: {statuses}"
        assert metric(server, "srs_hls_viewers") >= 300
        assert metric(server, "srs_connections") < 30, "contexts are no connections"
        assert len([one for one in api.clients(server) if one["type"] == "hls-play"]) >= 300, "but they are clients"
        with rtmp.player(server, "live", "s") as player:
            assert player.tags(), "another player comes in"


def test_hls_contexts_have_limits_of_their_own(servers):
    """Of one address, and of all; others are served."""
    limits = "address_limits { exempt none; hls_viewers 20; }\nmax_hls_viewers 30;\n"
    server = servers(top=limits + api.CONF % "" + EXPORTER, vhosts=default_vhost(HLS))
    with Bystanders(server):
        wait_hls(server)
        answers = list(in_connections(server.http_port, 40, lambda one, n: ask_playlist(one, f"c{n}")))
        assert [one.status for one in answers] == [200] * 20 + [503] * 20, [one.status for one in answers]
        assert answers[-1].headers["retry-after"] and b"hls_viewers" in answers[-1].body, answers[-1].describe()
        assert ask_playlist(http.Connection(server.http_port), "c3").status == 200, "who is known goes on"
        others = list(in_connections(server.http_port, 15, lambda one, n: ask_playlist(one, f"d{n}"), OTHER))
        assert [one.status for one in others] == [200] * 10 + [503] * 5, [one.status for one in others]
        assert b"max_hls_viewers" in others[-1].body, others[-1].describe()
        assert metric(server, 'srs_hls_viewers_refused_total{limit="address"}') == 20
        assert metric(server, 'srs_hls_viewers_refused_total{limit="all"}') == 5


def post_offer(connection, kind="whep", stream="s"):
    connection.request("POST", f"/rtc/v1/{kind}/?app=live&stream={stream}", rtc_raw.offer().encode(), **SDP)
    return connection.read_response("POST")


def rtc_server(servers, top="", more=""):
    wanted = rtc.options(vhost=HLS)
    return servers(**{**wanted, "top": wanted["top"].replace("rtc_server {", f"rtc_server {{ {more}", 1) + EXPORTER + top})


def test_offers_are_no_connections(servers):
    server = rtc_server(servers, "max_connections 60;\n")
    with Bystanders(server):
        statuses = list(in_connections(server.api_port, 150, lambda one, _: post_offer(one).status))
        assert set(statuses) == {201}, f"150 offers should be answered: {statuses}"
        assert metric(server, "srs_rtc_half_open") == 150
        assert metric(server, "srs_connections") < 30, "offers are no connections"
        with rtmp.player(server, "live", "s") as player:
            assert player.tags(), "another player comes in"


def test_offers_have_limits_of_their_own(servers):
    """Of one address: one more is refused. Of all: the oldest makes room."""
    server = rtc_server(servers, "address_limits { exempt none; rtc_offers 20; }\n", "max_offers 30;")
    with Bystanders(server):
        answers = list(in_connections(server.api_port, 40, lambda one, _: post_offer(one)))
        assert [one.status for one in answers] == [201] * 20 + [503] * 20, [one.status for one in answers]
        assert answers[-1].headers["retry-after"] and b"rtc_offers" in answers[-1].body, answers[-1].describe()
        others = list(in_connections(server.api_port, 15, lambda one, _: post_offer(one).status, OTHER))
        assert others == [201] * 15, others
        wait_until(lambda: metric(server, "srs_rtc_half_open") == 30, 5, "30 are left")
        assert metric(server, 'srs_rtc_offers_refused_total{limit="address"}') == 20
        assert metric(server, 'srs_rtc_half_open_dropped_total{reason="replaced"}') == 5


@contextlib.contextmanager
def hold_all(server, count):
    """Connections that may not be ended for others: each is in the middle of a body, up to max_connections."""
    held, before = [], server.fds()
    try:
        for _ in range(count):
            one = sockets.connect("127.0.0.1", server.api_port, scaled(5))
            held.append(one)
            one.sendall(b"POST /rtc/v1/play/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx")
        wait_until(lambda: server.fds() >= before + count, 5, lambda: f"{count} are taken: {before}, now {server.fds()}")
        yield held
    finally:
        for one in held:
            one.close()


def test_a_connected_session_is_a_connection(servers, certificate):
    """By UDP it counts from then on; where there is no room any more it is ended."""
    server = rtc_server(servers, "max_connections 20;\n")
    with Session(server, "live/s", fingerprint=certificate.fingerprint).verify() as session:
        before = metric(server, "srs_connections")
        with Dtls(session, certificate) as dtls:
            assert dtls.run(Dtls.established), dtls.told()
            wait_until(lambda: metric(server, "srs_connections") == before + 1, 5, "it counts")
            with Session(server, "live/s", fingerprint=certificate.fingerprint).verify() as late:
                with hold_all(server, 19):
                    wait_until(lambda: metric(server, "srs_connections") == 20, 5, "with the session the server is full")
                    with Dtls(late, certificate) as refused:
                        refused.run(lambda one: one.process.poll() is not None, 3)
                    api.ended(server, "the limit of max_connections", 5, type="rtc-play")
                    rtc.wait_sessions(server, "rtc-play", 1)


def join(server, stack):
    """One more player, which stays."""

    def plays():
        with contextlib.suppress(ConnectionError, rtmp.RtmpError):
            player = stack.enter_context(rtmp.player(server, "live", "s"))
            return bool(player.tags())

    wait_until(plays, 5, "another player comes in", 0.2)


def ice_tcp_server(servers, top=""):
    more = "protocol all; tcp { enabled on; listen 127.0.0.1:HTTPS_PORT; }"
    return rtc_server(servers, top, more)


def is_open(connection):
    """Whether the server has kept it: it ends those that it does not take."""
    connection.settimeout(scaled(0.5))
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionError:
        return False


def ask_by_tcp(server, session, source=None):
    """A right request over a new connection, and its answer."""
    with sockets.connect("127.0.0.1", server.https_port, scaled(5), source=source) as stream:
        request = session.request()
        stream.sendall(struct.pack("!H", len(request)) + request)
        data = b""
        while len(data) < 2 or len(data) < 2 + struct.unpack_from("!H", data)[0]:
            more = stream.recv(4096)
            if not more:
                return None
            data += more
        return data[2:]


def test_ice_over_tcp_counts_for_its_address(servers):
    server = ice_tcp_server(servers, "address_limits { exempt none; connections 5; }\n")
    held = [sockets.connect("127.0.0.1", server.https_port, scaled(5), source=OTHER) for _ in range(8)]
    kept = [is_open(one) for one in held]
    assert kept == [True] * 5 + [False] * 3, f"five connections of one address: {kept}"
    server.wait_log(r"WebRTC connection from 127\.0\.0\.2 refused: 5 connections from this address")
    with Session(server, "live/s") as session:
        assert rtc_raw.stun_kind(ask_by_tcp(server, session)) == rtc_raw.SUCCESS, "another address is served"
    for one in held:
        one.close()


def test_idle_ice_connections_close_the_port_to_nobody(servers):
    """1,010 of one address that say nothing; another one comes, and all goes on."""
    server = ice_tcp_server(servers)
    with Bystanders(server), Session(server, "live/s") as session, contextlib.ExitStack() as stack:
        for _ in range(1010):
            stack.enter_context(sockets.connect("127.0.0.1", server.https_port, scaled(5), source=OTHER))
        answer = ask_by_tcp(server, session)
        assert answer and rtc_raw.stun_kind(answer) == rtc_raw.SUCCESS, "a new connection should be served"


def test_ice_connections_are_counted_in_all(servers):
    """Idle ones fill max_connections, and make room for who comes after a second."""
    server = ice_tcp_server(servers, "max_connections 40;\n")
    with Bystanders(server), contextlib.ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(sockets.connect("127.0.0.1", server.https_port, scaled(5)))
        assert metric(server, "srs_connections") <= 40
        for _ in range(5):
            join(server, stack)
        assert metric(server, 'srs_connections_made_room_total{state="new"}') >= 1


# --- a full server, and its operator


@pytest.mark.parametrize("port", ["http", "api", "rtmp"])
def test_connections_that_say_nothing_make_room(servers, port):
    """700 of them fill the server: the API answers at once, and after a second others come in."""
    server = servers(top=f"max_connections 700;\n{api.CONF % ''}{EXPORTER}")
    with Bystanders(server), contextlib.ExitStack() as stack:
        for _ in range(720):
            with contextlib.suppress(ConnectionError):
                stack.enter_context(sockets.connect("127.0.0.1", getattr(server, f"{port}_port"), scaled(5)))
        assert http.get(server.api_port, "/api/v1/summaries").status == 200, "the operator gets in"
        assert metric(server, "srs_connections") <= 700
        for _ in range(5):
            join(server, stack)


def test_kept_connections_make_room(servers):
    """Those that had an answer and wait for their next request, too; who is in the middle of something does not."""
    server = servers(top=f"max_connections 40;\n{api.CONF % ''}{EXPORTER}")
    with Bystanders(server), contextlib.ExitStack() as stack:
        kept = [stack.enter_context(http.Connection(server.http_port)) for _ in range(30)]
        for one in kept:
            one.request("GET", "/none")
            assert one.read_response().status == 404
        time.sleep(1.1)
        busy = [stack.enter_context(http.Live(server.http_port, "/live/s.flv")) for _ in range(30)]
        assert all(one.data() for one in busy), "players come in"
        assert metric(server, 'srs_connections_made_room_total{state="idle"}') >= 20


def test_the_operator_gets_in_to_a_full_server(servers):
    """Nobody can make room. The API answers this machine, and who has the password; others are told to come later."""
    auth = 'auth { enabled on; username admin; password "a long one"; }'
    server = servers(top=f"max_connections 40;\n{api.CONF % auth}{EXPORTER}", vhosts=default_vhost(HLS))
    with hold_all(server, 40):
        assert http.get(server.http_port, "/x").status == 503
        with pytest.raises((ConnectionError, rtmp.RtmpError)):
            rtmp.player(server, "live", "s")
        assert http.get(server.api_port, "/api/v1/summaries", **KNOWN).status == 200
        assert http.get(server.api_port, "/api/v1/summaries").status == 401, "from this machine it is answered, too"
        # A proxy on this machine speaks for others.
        stranger = http.get(server.api_port, "/api/v1/summaries", X_Forwarded_For="192.0.2.1")
        assert stranger.status == 503 and stranger.headers["retry-after"], stranger.describe()
        # Strangers that fill the reserve make room at once.
        with contextlib.ExitStack() as stack:
            for number in range(100):
                one = stack.enter_context(http.Connection(server.api_port))
                if number % 2:
                    one.send(b"GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")
            for _ in range(10):
                assert http.get(server.api_port, "/api/v1/summaries", **KNOWN).status == 200
            assert metric(server, "srs_connections") == 40
        with http.Connection(server.api_port) as connection:
            connection.request("GET", "/api/v1/summaries", **KNOWN)
            assert connection.read_response().status == 200


# --- what holds the loop


class Stalls:
    """What held the loop: [(ms of processor time, coroutine)], of turns longer than 20 ms."""

    TOP = "stall_warn 20;\n"

    def __init__(self, server):
        self.server = server
        self.mark = server.log_mark()

    def seen(self):
        text = self.server.log()[self.mark :]
        line = r"the loop stalled for \d+ ms: coroutine (\S+).*?, (\d+) ms of processor time"
        return [(int(ms), name) for name, ms in re.findall(line, text)]

    def assert_none(self, limit_ms=60):
        worst = max(self.seen(), default=(0, ""))
        assert worst[0] <= limit_ms * SLOW, f"nothing should hold the loop for more than {limit_ms} ms: {self.seen()}"


def pour(connection, data, seconds):
    """As much of it, again and again, as the server takes in that time."""
    end, sent = time.monotonic() + seconds, 0
    connection.settimeout(0.5)
    with contextlib.suppress(ConnectionError):
        while time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                sent += connection.send(data)
    return sent


def small_frames_by_ice():
    return b"\0\2ab" * 65_536


def small_commands():
    """RTMP: user control messages of one byte (nobody answers), in chunks without a header of their own."""
    return b"\x42\0\0\0\0\0\1\4x" + b"\xc2x" * 131_072


def requests_in_a_row():
    return b"GET /none HTTP/1.1\r\nHost: x\r\n\r\n" * 900


def offers_in_a_row():
    body = rtc_raw.offer().encode()
    head = f"POST /rtc/v1/whep/?app=live&stream=s HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head.encode() + body) * 300


FLOODS = {
    "ICE over TCP": ("https", small_frames_by_ice),
    "RTMP": ("rtmp", small_commands),
    "RTMP player": ("player", small_commands),
    "HTTP": ("http", requests_in_a_row),
    "WebRTC offers": ("api", offers_in_a_row),
}


@pytest.mark.parametrize("what", FLOODS)
def test_a_flood_of_small_things_does_not_hold_the_loop(servers, what):
    """Four clients at once, each as fast as it can."""
    server = ice_tcp_server(servers, Stalls.TOP)
    port, make = FLOODS[what]
    data = make()
    with Bystanders(server) as bystanders, contextlib.ExitStack() as stack:

        def connect():
            if port == "player":
                return stack.enter_context(rtmp.player(server, "live", "s")).socket
            if port == "rtmp":
                client = stack.enter_context(rtmp.Client("127.0.0.1", server.rtmp_port))
                client.handshake()
                return client.socket
            return stack.enter_context(sockets.connect("127.0.0.1", getattr(server, f"{port}_port"), scaled(5)))

        connections = [connect() for _ in range(4)]
        stalls = Stalls(server)
        threads = [threading.Thread(target=pour, args=(one, data, 1.5)) for one in connections]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        stalls.assert_none()
        slow = [took for _, took in bystanders.answers if took > 1.0 * SLOW]
        assert not slow, f"the API should answer quickly: {slow}"
