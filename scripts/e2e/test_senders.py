"""Sender threads (sender_threads): players in a crowd are sent to by them, and come and go."""

import re
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lib import api, flv, hls, http, media, mediamtx, publishing, rtc, rtmp, rtsp, ts
from lib.load import bench
from lib.metrics import EXPORTER
from lib.server import BENCH, OBJS, default_vhost
from lib.timing import SLOW, scaled, wait_until

pytestmark = pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our own server")

PLAYERS = 60 if SLOW == 1 else 20
CYCLES = 300 if SLOW == 1 else 40


def threads_of(server):
    return [one.read_text().strip() for one in Path(f"/proc/{server.pid}/task").glob("*/comm")].count("sender")


def metric(server, name):
    text = http.get(server.rtmps_port, "/metrics").body.decode()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


@pytest.fixture
def start_tcp(servers):
    """With the load tool's stream, live/one, of which it knows each frame."""
    processes = []

    def started(directives, play=""):
        top = f"exporter {{ enabled on; listen 127.0.0.1:RTMPS_PORT; }}\n{directives}\n"
        server = servers(top=top, vhosts=default_vhost(play=play))
        words = [BENCH, "publish", server.rtmp_url("live/one"), "--kbps", 237, "--loop", "--seconds", 600, "-q"]
        processes.append(subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL))
        wait_until(lambda: http.get_status(server.http_port, "/live/one.flv") == 200, 10, "the stream is there", step=0.2)
        return server

    yield started
    for process in processes:
        process.terminate()
        process.wait()


@pytest.fixture
def start(servers):
    def started(directives):
        top = f"exporter {{ enabled on; listen 127.0.0.1:RTMPS_PORT; }}\n{directives}\n"
        return servers(**rtc.options(top=top))

    return started


def test_none_where_there_are_to_be_none(start):
    server = start("sender_threads 0;")
    assert threads_of(server) == 0
    assert metric(server, "srs_sender") == 0


def test_a_crowd_is_sent_to_by_threads_while_others_come_and_go(start):
    """The load tool opens what it gets and counts gaps. Others end at once, by DELETE, DTLS or silence, and some are kicked."""
    server = start("sender_threads 2;")
    assert threads_of(server) == 2
    client = rtmp.publisher(server, "live", "one", timeout=scaled(20))
    with publishing.Steady(client, media.tags(media.plain())):
        time.sleep(0.5)
        failed = []

        def churn():
            found = bench(server, "rtc-churn", rtc.whep_url(server), "--cycles", CYCLES, "--concurrency", 10, seconds=120)
            failed.append((found["connected"], found["failed"]))

        others = threading.Thread(target=churn)
        others.start()
        found = bench(server, "whep", rtc.whep_url(server), "-n", PLAYERS, "--ramp", 100, "--seconds", 6)
        others.join()
        assert failed == [(CYCLES, 0)], f"who comes and goes should be served: {failed}"
        assert (found["connected"], found["without_frame"]) == (PLAYERS, 0), f"the crowd, with packets: {found}"
        assert found["packets_lost"] == 0, f"nothing is lost on loopback: {found}"
    listed = api.ask(server, "/api/v1/overview")["overview"]["senders"]
    assert len(listed) == 2 and sum(one["datagrams"] for one in listed) > 1000, f"the API should list the threads: {listed}"
    lent = metric(server, 'srs_sender_lent_total{kind="datagram"}')
    assert lent > 100 * PLAYERS, f"the crowd's datagrams are lent: {lent}"
    assert metric(server, "srs_sender_datagrams_total") > 0.99 * lent
    assert metric(server, 'srs_sender_full_total{kind="datagram"}') == 0
    assert metric(server, "srs_sender_retired_bytes") < 1_000_000
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < scaled(3), "the end should take no time"


@pytest.mark.parametrize("mw_latency", [350, 0])
def test_viewers_are_sent_each_frame_by_threads(start_tcp, mw_latency):
    """Half of them by RTMP, half by HTTP-FLV; the load tool checks each frame."""
    server = start_tcp("sender_threads 2;", f"mw_latency {mw_latency};")
    assert threads_of(server) == 2
    urls = [server.rtmp_url("live/one"), server.http_url("live/one.flv")]
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda url: bench(server, "play", url, "-n", PLAYERS, "--verify", "--seconds", 4), urls))
    for url, one in zip(urls, found, strict=True):
        assert (one["connected"], one["lost"], one["stream_errors"]) == (PLAYERS, 0, 0), f"{url}: {one}"
        assert one["frames_verified"] > 50 * PLAYERS and one["viewers_with_a_break"] == 0, f"{url}, each frame: {one}"
    lent = metric(server, 'srs_sender_lent_total{kind="write"}')
    assert lent > 10 * PLAYERS, f"a crowd's writes are lent: {lent}"
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < scaled(3), "the end should take no time"


def test_other_viewers_get_all_by_threads(servers):
    """By WebSocket and RTSP, interleaved, every frame; HLS beside them."""
    top = f"rtsp_server {{ enabled on; listen 127.0.0.1:RTC_PORT; }}\n{EXPORTER % ''}\n{rtc.BY_THREADS}"
    more = "rtsp { enabled on; } http_remux { enabled on; mount [vhost]/[app]/[stream].flv; }"
    server = servers(top=top, vhosts=hls.vhost(storage="memory", fragment="1", play="mw_latency 0;", more=more))
    tags = media.tags(media.with_b_frames())
    viewers = [publishing.Collector(http.WebSocket(server.http_port, "/live/s.flv", wait=False)) for _ in range(8)]
    server.wait_players("live/s", len(viewers))
    with rtmp.publisher(server, "live", "s") as client:
        publishing.send_all(client, tags[:60])
        with rtsp.client(server) as player:
            player.play(rtsp.url(server, "live/s"))
            publishing.send_all(client, tags[60:], 16)
            enough = sum(tag.type == flv.VIDEO for tag in flv.frames(tags)) - 5
            frames = player.read_frames(10, lambda got: len(rtsp.h264_units([rtsp.rtp(d) for c, d in got if c == 0])) > enough)
            lent = metric(server, 'srs_sender_lent_total{kind="write"}')
    rtsp.assert_same(tags, frames, 44_100, "RTSP")
    for viewer in viewers:
        flv.assert_same(tags, viewer.finish(scaled(20), "WebSocket-FLV"), "WebSocket-FLV")
    checker = ts.Checker()
    for segment in hls.wait_end(server, "/live/s.m3u8", 20).segments:
        checker.segment(http.get(server.http_port, f"/live/{segment.uri}").body, segment.discontinuity)
    ts.assert_same(tags, checker.assert_good("HLS"), "HLS")
    assert lent > 10 * len(viewers), f"the viewers' writes are lent: {lent}"


def test_the_measuring_program_measures():
    """objs/senders, whose figures are those of a quiet machine: here only that threads send all they are given."""
    words = [OBJS / "senders", "127.0.0.1", "0.1", "1", "3", "20"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=scaled(60), check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 4, done.stdout
    for threads, line in enumerate(lines[:3]):
        assert re.fullmatch(rf"threads {threads}: best \d+\.\d+ Gbit/s with .*; lost 0", line), line
        assert float(re.search(r"(\S+) us a datagram", line)[1]) > 0, line
    assert re.fullmatch(r"hand-over to a sleeping thread: p50 \d+ us, p99 \d+ us, of 30", lines[3]), lines[3]
