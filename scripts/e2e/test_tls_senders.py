"""Sender threads (sender_threads) encrypt and send for viewers over TLS. They get the bytes that the loop would send, also
those who send requests, pings and acknowledgements meanwhile, for which the loop needs the connection itself."""

import random
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from lib import flv, http, media, mediamtx, metrics, ports, publishing, rtmp, rtsp
from lib.server import default_vhost
from lib.timing import SLOW, scaled, wait_until

pytestmark = pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our own server")

VIEWERS = 4 if SLOW == 1 else 2  # by each protocol
SPEED = 2 if SLOW == 1 else 1
FRAMES = 200


@pytest.fixture
def rtsps_port():
    taken = ports.take(2)
    yield taken
    ports.release(taken)


@pytest.fixture
def server(servers, certificate, rtsps_port):
    key, cert = certificate
    tls = f"enabled on; key {key}; cert {cert}; listen 127.0.0.1:"
    rtsps = f"listen 127.0.0.1:{rtsps_port[0]}; rtsps {{ {tls}{rtsps_port[1]}; }}"
    return servers(
        top=f"sender_threads 2; sender_min_batch 0; {metrics.EXPORTER % ''}"
        f"rtmps {{ {tls}API_PORT; }} rtsp_server {{ enabled on; {rtsps} }}",
        http=f"https {{ {tls}HTTPS_PORT; }}",
        vhosts=default_vhost("rtsp { enabled on; }", "wait_publisher on;", "mw_latency 40;"),
    )


class Talking:
    """A player that sends something for each few tags that it gets."""

    def __init__(self, player, talk):
        self.player, self.talk, self.close = player, talk, player.close

    @property
    def ended(self):
        return self.player.ended

    def tags(self):
        got = self.player.tags()
        if not self.player.ended:
            self.talk(self.player)
        return got


class WebSocket(http.WebSocket):
    """Skips the pongs."""

    pongs = 0

    def frame(self):
        while (got := super().frame())[0] == 10:
            self.pongs += 1
        return got


def acknowledge(player):
    player.send(rtmp.Message(rtmp.ACK, 0, struct.pack(">I", player.received), 0), 2)


def ping(player):
    player.send_frame(9)


def test_files_are_what_they_are(server):
    """Large and small ones, whole and in ranges, to several clients at once."""
    body = random.Random(53).randbytes(1_500_000)
    (server.dir / "html/large.bin").write_bytes(body)
    (server.dir / "html/small.bin").write_bytes(body[:1000])

    def fetch(number):
        with http.Connection(server.https_port, True) as connection:
            for first, last in ((0, len(body) - 1), (number * 1000, number * 1000 + 149_999), (5, 40_000)):
                connection.request("GET", "/large.bin", Range=f"bytes={first}-{last}")
                got = connection.read_response()
                assert got.status == 206 and got.body == body[first : last + 1], f"bytes {first} to {last}: {got.describe()}"
                connection.request("GET", "/small.bin")
                assert connection.read_response().body == body[:1000]

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(fetch, range(12)))
    found = metrics.Metrics(server)
    lent = found.value("srs_sender_lent_total", kind="write")
    assert lent > 12, f"the bodies' writes are lent, {lent} were"
    assert found.value("srs_sender_awaited_total") == 0, "the loop waits for none of them"


def test_viewers_get_what_the_loop_would_send(server, rtsps_port):
    secure = {"tls": True, "timeout": scaled(20)}
    collectors = []
    for _ in range(VIEWERS):
        by_rtmp = rtmp.player(server, "live", "s", port=server.api_port, **secure)
        by_http = http.Live(server.https_port, "/live/s.flv", wait=False, **secure)
        by_websocket = WebSocket(server.https_port, "/live/s.flv", wait=False, **secure)
        players = {"RTMPS": Talking(by_rtmp, acknowledge), "HTTPS": by_http, "WSS": Talking(by_websocket, ping)}
        collectors += [(who, publishing.Collector(player)) for who, player in players.items()]
    tags = media.tags(media.plain())
    address = f"rtsps://127.0.0.1:{rtsps_port[1]}/live/s"
    with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, tags, speed=SPEED) as steady:
        wait_until(lambda: len(steady.sent) > 40, 5, "the stream is there")
        by_rtsp = [rtsp.Client(rtsps_port[1], tls=True) for _ in range(VIEWERS)]
        for player in by_rtsp:
            player.play(address)
        for player in by_rtsp:
            while len(player.frames) < FRAMES:
                player.read_frames(5, lambda got, enough=len(player.frames) + 20: len(got) > enough)
                assert player.request("OPTIONS", address).status == 200
            rtsp.assert_same(steady.sent, player.frames, 44_100, "RTSPS")
            player.close()
    for who, collector in collectors:
        flv.assert_same(steady.sent, collector.finish(scaled(20), who), who)
        assert who != "WSS" or collector.source.player.pongs > 20, "pings are answered"
    found = metrics.Metrics(server)
    lent = found.value("srs_sender_lent_total", kind="write")
    assert lent > 10 * len(collectors), f"the viewers' writes are lent, {lent} were"
    assert found.value("srs_sender_full_total", kind="write") == 0
