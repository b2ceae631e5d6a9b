"""The circuit breaker: while the loop has no time left, new players are refused, and those who are there go on."""

import json
import signal
import threading

import pytest

from lib import http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import VALGRIND, scaled, wait_until

# What the loop does anyway under the requests below is dying enough.
TOP = """http_api { enabled on; listen 127.0.0.1:API_PORT; debug on; }
circuit_breaker { high_threshold 1; high_pulse 1; critical_threshold 2; critical_pulse 1; dying_threshold 3; dying_pulse 2; %s }
"""


def load(server):
    return json.loads(http.get(server.api_port, "/api/v1/operations").body)["data"]["load"]


class Busy:
    """Requests one after the other, from two threads."""

    def __init__(self, server):
        self.server, self.stopping = server, threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(2)]

    def run(self):
        while not self.stopping.is_set():
            with http.Connection(self.server.api_port, timeout=scaled(20)) as connection:
                for _ in range(900):
                    if self.stopping.is_set():
                        return
                    connection.request("GET", "/api/v1/debug/coroutines")
                    connection.read_response()

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.skipif(VALGRIND, reason="it is never idle there")
def test_players_are_refused_while_it_is_dying(servers):
    server = servers(top=TOP % "", vhosts=default_vhost(play="mw_latency 500;"))
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.from_keyframe(media.plain())) as steady:
        there = publishing.Collector(rtmp.player(server, "live", "s", timeout=scaled(30)))
        wait_until(lambda: len(there.tags) > 20, 10, "a viewer sees the stream")
        with Busy(server):
            wait_until(lambda: load(server)["level"] == "dying", 20, lambda: f"it is dying: {load(server)}")
            with pytest.raises(rtmp.Refused):
                rtmp.player(server, "live", "s", timeout=scaled(10))
            assert http.get_status(server.http_port, "/live/s.flv") in (403, 503), "a player should be refused"
            assert load(server)["refused"] >= 2, load(server)
            rtmp.publisher(server, "live", "other").close()
            seen = len(there.tags)
            wait_until(lambda: len(there.tags) > seen + 30, 10, "who was there goes on")
        assert steady.error is None, f"the publisher should go on: {steady.error}"


@pytest.mark.skipif(VALGRIND, reason="it is never idle there")
@pytest.mark.parametrize("ctx", ["on", "off"])
def test_hls_players_who_are_there_go_on(servers, ctx):
    """With hls_ctx off nobody knows who was there before: everybody is served. The breaker comes when the player is there,
    because a slow build is busy enough with the publisher alone."""
    server = servers(top=TOP % "enabled off;", vhosts=default_vhost(f"hls {{ enabled on; hls_fragment 0.5; hls_ctx {ctx}; }}"))
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.from_keyframe(media.plain())):
        there = "/live/s.m3u8"
        wait_until(lambda: http.get_status(server.http_port, there) == 200, 10, "a playlist comes")
        if ctx == "on":
            there = http.get(server.http_port, there).body.decode().split()[-1]
            assert "hls_ctx=" in there and http.get_status(server.http_port, there) == 200, there
        server.conf_path.write_text(server.conf_path.read_text().replace("enabled off;", "enabled on;", 1))
        server.signal(signal.SIGHUP)
        with Busy(server):
            wait_until(lambda: load(server)["level"] == "dying", 20, lambda: f"it is dying: {load(server)}")
            new, known = http.get_status(server.http_port, "/live/s.m3u8"), http.get_status(server.http_port, there)
            assert load(server)["level"] == "dying", f"it should still be dying: {load(server)}"
            assert known == 200, f"who was there should go on, with hls_ctx {ctx}: {known}"
            assert new == (503 if ctx == "on" else 200), f"with hls_ctx {ctx} a new player got {new}"


def test_switched_off_it_refuses_nobody(servers):
    server = servers(top=TOP % "enabled off;")
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.from_keyframe(media.plain())):
        with Busy(server):
            wait_until(lambda: load(server)["busy_percent"] > 3, 20, "it is busy")
            assert load(server)["level"] == "normal", load(server)
            rtmp.player(server, "live", "s", timeout=scaled(10)).close()
