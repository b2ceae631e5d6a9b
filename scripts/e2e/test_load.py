"""Many connections and viewers, by the project's load tool: memory and descriptors come back, frames come soon."""

import socket
import subprocess
import time

import pytest

from lib import ffmpeg, http, media, publishing, rtmp, srt
from lib.server import BENCH, default_vhost
from lib.load import Bench, bench
from lib.timing import SLOW, VALGRIND, scaled, wait_until

CYCLES = 10000 if SLOW == 1 else 1000
GROWTH_KB = 2048 if SLOW == 1 else 40000  # a sanitizer keeps what was freed


def fall_silent(server, count):
    """Connections that end within their handshake."""
    for index in range(count):
        with socket.create_connection(("127.0.0.1", server.rtmp_port), 10) as one:
            one.sendall(b"\3" + bytes(index % 4 * 500))


def churn(server, cycles):
    """Viewers of both protocols, publishers, and peers that never finish their handshake: in all so many."""
    for url, share in ((server.rtmp_url("live/s"), 4), (server.http_url("live/s.flv"), 4)):
        result = bench(server, "churn", url, "--cycles", cycles // share, "--concurrency", 20)
        assert result["failed"] == 0, result
    bench(server, "churn", server.rtmp_url("live/p{i}"), "--publish", "--cycles", cycles // 4, "--concurrency", 20)
    fall_silent(server, cycles // 4)


@pytest.mark.valgrind
@pytest.mark.long
def test_memory_and_descriptors_come_back(servers):
    server = servers(vhosts=default_vhost(play="mw_latency 100;"))
    client = rtmp.publisher(server, "live", "s")
    with publishing.Steady(client, media.tags(media.plain())):
        time.sleep(0.5)
        churn(server, CYCLES // 5)  # the allocator's reserves fill up
        time.sleep(scaled(1))
        descriptors, memory = server.fds(), server.rss_kb()
        churn(server, CYCLES)
        wait_until(
            lambda: server.fds() <= descriptors,
            10,
            lambda: f"descriptors should come back to {descriptors}; there are {server.fds()}",
        )
        time.sleep(scaled(1))
        grown = server.rss_kb() - memory
    assert (
        grown <= GROWTH_KB
    ), f"{CYCLES} connections should leave memory where it was, {memory} kB; it grew by {grown} kB"


@pytest.mark.skipif(VALGRIND, reason="times under valgrind say nothing")
@pytest.mark.parametrize(
    "vhost, play, limit_ms",
    [
        pytest.param("min_latency on;", "", 30, id="min_latency", marks=pytest.mark.serial),
        pytest.param("", "", 400, id="default", marks=pytest.mark.quiet),
        pytest.param("", "mw_latency 100;", 150, id="mw_latency-100", marks=pytest.mark.quiet),
    ],
)
@pytest.mark.parametrize("protocol", ["rtmp", "http-flv"])
def test_latency_of_100_viewers(servers, vhost, play, limit_ms, protocol):
    """From the publisher's send to a viewer's receipt, p99."""
    server = servers(vhosts=default_vhost(vhost, play=play))
    publish = server.rtmp_url("live/latency")
    url = publish if protocol == "rtmp" else server.http_url("live/latency.flv")
    result = bench(server, "latency", url, "--publish", publish, "-n", 100, "--seconds", 4, "--ramp", 0)
    assert (result["connected"], result["failed"], result["lost"]) == (100, 0, 0), result
    for kind in ("video", "audio"):
        times = result[f"{kind}_latency_ms"]
        assert times["count"] > 100, f"{kind} frames should have been timed: {result}"
        late = result["publisher_lateness_ms"]["p99"]  # of the load tool itself, which shares the machine
        assert (
            times["p99"] <= limit_ms * SLOW + late
        ), f"{kind}: p99 should be at most {limit_ms * SLOW:.0f} ms, and {late} ms that the load tool was late: {times}"


def test_bench_publishes_and_plays(server):
    """Everybody connects, gets the stream, and nobody is lost."""
    count = 20 if SLOW == 1 else 5
    words = [BENCH, "publish", server.rtmp_url("live/load{i}"), "--file", media.plain(), "--loop", "-n", str(count)]
    with subprocess.Popen([*words, "--seconds", "60", "-q"], stdout=subprocess.DEVNULL) as publishers:
        try:
            wait_until(
                lambda: http.get_status(server.http_port, f"/live/load{count - 1}.flv") == 200,
                10,
                f"{count} publishers are there",
                step=0.2,
            )
            for url in (server.rtmp_url("live/load1"), server.http_url("live/load2.flv")):
                result = bench(server, "play", url, "-n", 200, "--seconds", 2)
                assert (result["connected"], result["failed"], result["lost"]) == (200, 0, 0), result
                assert result["stream_errors"] == 0 and result["without_frame"] == 0, result
            assert publishers.poll() is None, "the publishers should go on"
        finally:
            publishers.terminate()


def test_bench_publishes_and_plays_by_srt(servers, tool, tmp_path):
    """The same by SRT: the load tool's own publishers and players, who get whole transport streams."""
    server, source = srt.make(servers), tmp_path / "plain.ts"
    tool(ffmpeg.command("-i", media.plain(), "-c", "copy", "-f", "mpegts", source)).finish(20)
    url = f"srt://127.0.0.1:{server.rtc_port}"
    publishers = Bench(server, "srt-publish", url + "/publish:live/p{i}", "--file", source, "-n", 5, "--seconds", 60)
    try:
        server.wait_log("srt-publish began: __defaultVhost__/live/p4", 10)
        result = bench(server, "srt-play", url + "/read:live/p{i}", "--streams", 5, "-n", 50, "--seconds", 2)
        assert (result["connected"], result["failed"], result["lost"]) == (50, 0, 0), result
        assert result["packets"] > 1000 and result["packets_lost"] == 0 and result["without_frame"] == 0, result
        assert result["messages_damaged"] == 0, result
    finally:
        result = publishers.stop()
    assert (result["connected"], result["failed"], result["lost"]) == (5, 0, 0), result
