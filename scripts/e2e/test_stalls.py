"""Nothing that a client does holds the loop for longer than 20 ms, by the watchdog's own account: not the end of thousands
at once, and no message that expands into many. Who plays another stream meanwhile does not notice."""

import json
import subprocess
import time

import pytest

from lib import api, flv, http, media, rtmp
from lib.server import BENCH, default_vhost
from lib.timing import SLOW, scaled, wait_until
from lib.watch import Watch

LIMIT_MS = 20 * SLOW
GAP_MS = 150 * SLOW
CROWD = 5000 if SLOW == 1 else 1000
TOP = f"""max_connections 20000;
stall_warn {int(LIMIT_MS)};
http_api {{ enabled on; listen 127.0.0.1:API_PORT; debug on; }}
"""


class Scene:
    """A server, and a stream that is watched by RTMP and HTTP-FLV."""

    def __init__(self, servers):
        self.server = servers(top=TOP, vhosts=default_vhost("min_latency on;", publish="normal_timeout 60000;", rejoin=100))
        self.watch = Watch(self.server, media.plain(), self.server.dir)
        wait_until(lambda: all(self.watch.seen(who) > 40 for who in Watch.VIEWERS), 15, "the viewers see the stream")
        self.since = time.monotonic()
        self.stalls()

    def stalls(self):
        """Milliseconds of processor time of each stall, for others may have the processor meanwhile, and where."""
        answer = json.loads(http.get(self.server.api_port, "/api/v1/debug/runtime").body)["data"]
        return [(one["cpu_ms"], one["coroutine"], one["calls"]) for one in answer["last_stalls"]]

    def unharmed(self, what):
        until = time.monotonic()
        held = [stall for stall in self.stalls() if stall[0] > LIMIT_MS]
        assert not held, f"{what} should hold the loop for at most {LIMIT_MS} ms: {held}"
        usual = self.watch.gap("send", self.since, until)
        for who in Watch.VIEWERS:
            grown = (self.watch.gap(who, self.since, until) - usual) * 1000
            assert grown <= GAP_MS, f"{what}: the {who} viewer's longest gap grew by {grown:.0f} ms"


@pytest.fixture
def scene(servers):
    scene = Scene(servers)
    yield scene
    scene.watch.stop()


def clients(server):
    """Of the stream that the crowd plays."""
    return api.streams(server).get("crowd", {"clients": 0})["clients"]


def crowd(scene, url):
    words = [BENCH, "play", url, "-n", CROWD, "--ramp", 2500, "--seconds", 600, "-q", "--settle-ms", 0]
    bench = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    api.wait_stream(scene.server, "crowd", lambda stream: stream["clients"] > CROWD, scaled(60))
    return bench



@pytest.mark.quiet
@pytest.mark.parametrize("way", ["rtmp", "http-flv"])
def test_the_end_of_thousands_at_once(scene, way):
    """Of those whose stream ends, and of those whose own end does."""
    url = scene.server.rtmp_url("live/crowd") if way == "rtmp" else scene.server.http_url("live/crowd.flv")
    header, key = [tag for tag in media.tags(media.plain()) if tag.type == flv.VIDEO][:2]
    for what in ("the end of a stream", "the end of its viewers"):
        publisher = rtmp.publisher(scene.server, "live", "crowd")
        for tag in (header, key):
            publisher.send_tag(tag)
        bench = crowd(scene, url)
        scene.since = time.monotonic()
        if what == "the end of a stream":
            publisher.close()
        else:
            bench.kill()
        try:
            wait_until(lambda: clients(scene.server) <= 1, 30, lambda: f"they are gone; there are {clients(scene.server)}")
        finally:
            publisher.close()
            bench.kill()
            bench.wait()
        scene.unharmed(what)


def send_aggregate(client):
    part = bytes([rtmp.AUDIO, 0, 0, 2, 0, 0, 10, 0, 0, 0, 0, 0x2F, 0, 0, 0, 0, 13])
    count = 0xFFFFFF // len(part)
    client.set_chunk_size(0xFFFFFF)
    client.send(rtmp.Message(rtmp.AGGREGATE, 0, part * count, client.stream_id), 4)
    return count


def send_small_messages(client):
    """Messages of two bytes, each with a header of one: the same length, type and step as the one before."""
    client.send(rtmp.Message(rtmp.AUDIO, 0, b"\x2f\x00", client.stream_id), 4)
    count = 1_000_000
    client.socket.sendall(b"\xc4\x2f\x00" * count)
    return count + 1


@pytest.mark.quiet
@pytest.mark.parametrize("send", [send_aggregate, send_small_messages])
def test_a_million_frames_at_once(scene, send):
    with rtmp.publisher(scene.server, "live", "many", timeout=scaled(60)) as client, rtmp.player(
        scene.server, "live", "many", timeout=scaled(60)
    ) as player:
        count = send(client)
        # The connection's commands are answered in order, so that all was taken by the time of the answer.
        client.wait_result(client.send_command("getStreamLength", None, "many"), "getStreamLength")
        stream = api.streams(scene.server)["many"]
        assert stream["frames"] >= count, f"all {count} of them should count: {stream}"
        while not flv.frames(player.tags()):
            assert not player.ended, "who plays that stream should go on"
    scene.unharmed("a million frames at once")
