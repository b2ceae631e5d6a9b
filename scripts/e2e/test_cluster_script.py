"""scripts/cluster: its edges and its cache play, also what one origin alone has, and all of it ends. The configurations are those of packaging/kubernetes."""

import re
import shutil
import signal
import subprocess
import time
from types import SimpleNamespace

import pytest

from lib import api, flv, http, media, publishing, rtmp
from lib.server import OBJS, ROOT, can_connect
from lib.timing import scaled, wait_until

pytestmark = pytest.mark.skipif(not shutil.which("nginx"), reason="scripts/test installs nginx")


@pytest.fixture
def cluster(tmp_path):
    """Starts it with these options: (process, what it prints)."""
    started = []

    def start(*options):
        out = tmp_path / f"cluster{len(started)}.txt"
        words = [ROOT / "scripts/cluster", "--port", "0", f"--objs={OBJS}", f"--work={tmp_path / 'work'}", *options]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out.open("wb"), stderr=subprocess.STDOUT)
        started.append(process)
        wait_until(lambda: process.poll() is not None or "Ctrl-C" in out.read_text(), 60, lambda: f"URLs should be printed:\n{out.read_text()}")
        return process, out

    yield start
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.wait(scaled(30))


def lives(port, api_port, name):
    """The stream of that name is published to one origin, and registered."""
    stream = publishing.Steady(rtmp.publisher(None, "live", name, port=port), media.from_keyframe(media.plain()))
    origin = SimpleNamespace(api_port=api_port)
    held = lambda: [one["stream"] for one in api.ask(origin, "/api/v1/cluster")["leases"] if one["state"] == "held"]  # noqa: E731
    wait_until(lambda: name in held(), 10, lambda: f"{name} is registered, there are {held()}")
    return stream


def assert_plays(player, who):
    tags = http.collect(player, lambda tags: sum(flv.is_frame(tag) for tag in tags) >= 30, scaled(15))
    player.close()
    assert any(flv.is_keyframe(tag) for tag in tags), f"{who}: a keyframe should come, {len(tags)} tags came"


def test_edges_and_cache_play(cluster):
    process, out = cluster()
    text = out.read_text()
    flv_ports = [int(port) for port in re.findall(r"http://[^/\s]+:(\d+)/live/livestream\.flv", text)]
    rtmp_ports = [int(port) for port in re.findall(r"rtmp://[^/\s]+:(\d+)/live/livestream", text)]
    assert len(flv_ports) == len(rtmp_ports) == 2, f"URLs of two edges should be printed:\n{text}"
    for port in flv_ports:
        assert_plays(http.Live(port, "/live/livestream.flv"), f"the edge at {port} by HTTP-FLV")
    for port in rtmp_ports:
        assert_plays(rtmp.player(None, "live", "livestream", port=port), f"the edge at {port} by RTMP")
    alone = [int(port) for port in re.findall(r"http://[^/\s]+:(\d+)/live/second\.flv", text)]
    assert sorted(alone) == sorted(flv_ports), f"both edges should play the second stream, too:\n{text}"
    if shutil.which("redis-server"):
        ends_of_origins = re.findall(r"publish +rtmp://[^/\s]+:(\d+)/\S+\n +registered http://[^/\s]+:(\d+)/api/v1/cluster", text)
        assert len(ends_of_origins) == 2, f"two origins should be printed:\n{text}"
        for index, (port, api_port) in enumerate(ends_of_origins):
            with lives(int(port), int(api_port), f"alone{index}"):
                for edge in flv_ports:
                    began = time.monotonic()
                    assert_plays(http.Live(edge, f"/live/alone{index}.flv"), f"what origin-{index} alone has, at the edge at {edge}")
                    took = time.monotonic() - began
                    assert took < scaled(3), f"the edge should ask origin-{index} at once; 30 frames took {took:.1f} s"
    cache, path = re.search(r"http://[^/\s]+:(\d+)(/live/livestream\.m3u8)", text).groups()
    playlists = [http.get(int(cache), path) for _ in range(4)]
    assert "HIT" in [one.headers["x-cache"] for one in playlists], f"a playlist is kept for a second: {playlists[-1].describe()}"
    segment = next(line for line in playlists[-1].body.decode().splitlines() if line.endswith(".ts"))
    answers = [http.get(int(cache), f"/live/{segment}") for _ in range(2)]
    assert [one.status for one in answers] == [200, 200] and answers[0].body[0] == 0x47, answers[0].describe()
    assert answers[1].headers["x-cache"] == "HIT", f"the second request of a segment: {answers[1].describe()}"
    assert answers[0].body == answers[1].body, "the cache should have the very bytes"
    process.send_signal(signal.SIGINT)
    code = process.wait(scaled(30))
    assert code == 130, f"Ctrl-C should end it with 130, it was {code}:\n{out.read_text()}"
    for port in (*flv_ports, *rtmp_ports, int(cache)):
        assert not can_connect(port), f"nothing should listen at {port} any more:\n{out.read_text()}"


@pytest.mark.long
def test_it_ends_by_itself(cluster):
    process, out = cluster("--for", "1")
    code = process.wait(scaled(30))
    assert code == 0 and "1 seconds are over" in out.read_text(), f"{code}:\n{out.read_text()}"
