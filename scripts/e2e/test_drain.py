"""A gentle end with viewers of every kind and a recording: who is told when, who goes on, and what is left on disk."""

import signal
import time
import urllib.parse

import pytest

from lib import api, dvr, flv, hls, http, media, publishing, rtmp
from lib.server import can_connect, default_vhost
from lib.timing import scaled, wait_until

START_WAIT_MS = int(scaled(1200))  # time for four requests
TOP = f"http_api {{ enabled on; listen 127.0.0.1:API_PORT; }}\ngrace_start_wait {START_WAIT_MS}; grace_limit 60000; grace_final_wait 100;\n"
VHOST = (
    "dvr { enabled on; dvr_path ./rec/[app]/[stream].[timestamp].flv; }"
    "hls { enabled on; hls_path ./html; hls_fragment 0.5; hls_window 60; hls_ctx off; hls_dispose 0; }"
)
PLAYLIST = "/live/s.m3u8"


def ready(server):
    return http.get(server.api_port, "/readyz").status


def test_viewers_and_recordings_through_a_gentle_end(servers):
    server = servers(top=TOP, vhosts=default_vhost(VHOST, play="mw_latency 100;"))
    assert ready(server) == 200, "it is ready while it runs"
    publisher = rtmp.publisher(server, "live", "s")
    with publishing.Steady(publisher, media.from_keyframe(media.frequent_keyframes())) as steady:
        viewers = {
            "RTMP": publishing.Collector(rtmp.player(server, "live", "s", timeout=scaled(30))),
            "HTTP-FLV": publishing.Collector(http.Live(server.http_port, "/live/s.flv", timeout=scaled(30))),
        }
        hls.wait(server, PLAYLIST, lambda playlist: len(playlist.segments) >= 2, what="two segments")
        dvr.wait_growing(server)
        server.signal(signal.SIGQUIT)
        wait_until(lambda: ready(server) == 503, 5, "a load balancer is told at once")
        assert http.get(server.api_port, "/healthz").status == 200, "it is not ill"
        late = rtmp.player(server, "live", "s", timeout=scaled(30))
        assert hls.get(server, PLAYLIST), "meanwhile who comes is still served"
        wait_until(lambda: not can_connect(server.rtmp_port), 10, "then no new connection is taken")
        seen = {who: len(viewer.tags) for who, viewer in viewers.items()}
        wait_until(
            lambda: all(len(viewer.tags) > seen[who] + 60 for who, viewer in viewers.items()),
            10,
            lambda: f"viewers go on: {seen} then, { {who: len(v.tags) for who, v in viewers.items()} } now",
        )
        assert server.alive() and steady.error is None, f"the publisher should go on: {steady.error}"
        late.close()
    for who, viewer in viewers.items():
        assert flv.frames(viewer.finish(scaled(20), who)), f"{who} should have had its stream to the end"
    assert server.wait_exit(20) == 0, "with the last one gone it should end well"
    files = dvr.files(server)
    assert len(files) == 1 and not dvr.growing(server), f"one complete recording: {files}, {dvr.growing(server)}"
    got = flv.frames(flv.read_file(files[0]))
    assert [tag.body for tag in got] == [tag.body for tag in flv.frames(steady.sent)][-len(got) :], "all of it recorded"
    playlist = hls.Playlist((server.dir / "html" / PLAYLIST[1:]).read_text())
    for segment in playlist.segments:
        assert hls.file_on_disk(server, PLAYLIST, segment.uri).stat().st_size > 0, f"{segment.uri} should be there"


@pytest.mark.parametrize("ctx", ["on", "off"])
def test_viewers_of_hls_through_a_gentle_end(servers, ctx):
    """They come anew for each piece, and are served to the last one; others who come by HTTP are not."""
    conf = f"hls {{ enabled on; hls_path ./html; hls_fragment 0.5; hls_window 2; hls_ctx {ctx}; hls_ts_ctx {ctx}; }}"
    server = servers(
        top="grace_start_wait 100; grace_limit 120000; grace_final_wait 100;\n", vhosts=default_vhost(conf)
    )
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.from_keyframe(media.frequent_keyframes())) as steady:
        wait_until(lambda: http.get(server.http_port, PLAYLIST).status == 200, 20, "a playlist")
        path = PLAYLIST
        if ctx == "on":
            master = http.get(server.http_port, PLAYLIST).body.decode()
            path = urllib.parse.urljoin(PLAYLIST, next(line for line in master.splitlines() if "hls_ctx=" in line))
        first = hls.get(server, path)
        server.signal(signal.SIGQUIT)
        wait_until(lambda: not can_connect(server.rtmp_port), 10, "no publisher is taken any more")

        def piece(uri):
            return http.get(server.http_port, urllib.parse.urljoin(path, uri))

        def fresh():
            return [one.uri for one in hls.get(server, path).segments if one.uri not in [s.uri for s in first.segments]]

        wait_until(lambda: len(fresh()) >= 2, 20, lambda: f"the playlist goes on: {fresh()}")
        for uri in fresh():
            response = piece(uri)
            assert response.status == 200 and len(response.body) % 188 == 0, f"{uri}: {response.describe()}"
        stranger = http.get(server.http_port, PLAYLIST).status
        assert stranger == (503 if ctx == "on" else 200), f"hls_ctx {ctx}: who is new got {stranger}"
        for other in ("/live/s.flv", "/", "/page.html"):
            assert http.get(server.http_port, other).status == 503, f"{other} is for nobody any more"
        assert server.alive() and steady.error is None, f"the publisher should go on: {steady.error}"
    # It has gone. What was made last is there for whoever is behind.
    last = hls.get(server, path).segments[-1].uri
    time.sleep(1)
    assert piece(last).status == 200, f"{last} is still served"
    assert server.wait_exit(30) == 0, "then it ends well, long before grace_limit has passed"


def test_a_reload_does_not_end_a_drain(servers):
    server = servers(top=api.ON + "grace_start_wait 100; grace_limit 60000; grace_final_wait 100;\n")
    with rtmp.publisher(server, "live", "s") as client:
        publishing.send_all(client, media.tags(media.plain())[:20])
        server.signal(signal.SIGQUIT)
        wait_until(lambda: not can_connect(server.rtmp_port), 5, "no new connection is taken")
        api.reload(server, server.conf.replace("grace_limit 60000", "grace_limit 50000"))
        time.sleep(0.3)
        assert server.alive() and not can_connect(server.rtmp_port), "it still drains"
    assert server.wait_exit(10) == 0
