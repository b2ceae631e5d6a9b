"""HLS and DASH in an upgrade: each kind goes over with its segments and parts, whether they are files or in memory:
nothing is missing, numbers go on, and each frame is there once."""

import subprocess
import time
from urllib.parse import urljoin

import pytest

from lib import crowd, dash, edges, ffmpeg, flv, hls, hooks, http, media
from lib.timing import scaled, wait_until
from lib.upgrades import Upgrades

PATH = "/live/s.m3u8"
KINDS = {
    "ts": {},
    "fmp4": {"use_fmp4": "on"},
    "memory": {"storage": "memory"},
    "both": {"storage": "both", "use_fmp4": "on"},
    "keys": {"keys": "on", "storage": "memory"},
    "low_latency": {"use_fmp4": "on", "low_latency": "on"},
    "low_latency_in_memory": {"use_fmp4": "on", "low_latency": "on", "storage": "memory"},
}


def start(servers, more="", **options):
    return servers(vhosts=hls.vhost(rejoin=20000, more=more, fragment="1", window="30", dispose="60", **options))


def follow(server, upgrades, *kinds, more=6):
    """Players of these kinds see an upgrade, and so many segments more. Returns them, stopped."""
    players = [kind(server, "s") for kind in kinds]
    try:
        for player in players:
            wait_until(lambda player=player: len(player.seen) >= 3, 20, lambda player=player: f"{player.seen} {player.problems}")
        upgrades.upgrade()
        for player in players:
            least = len(player.seen) + more
            wait_until(
                lambda player=player, least=least: len(player.seen) >= least or player.problems,
                25,
                lambda player=player, least=least: f"{least} segments: {player.seen} {player.problems}",
            )
    finally:
        for player in players:
            player.stop()
    for player in players:
        name = type(player).__name__
        assert not player.problems, f"{name}: nothing should be missing: {player.problems}"
        assert player.seen == list(range(player.seen[0], player.seen[0] + len(player.seen))), f"{name}: {player.seen}"
    return players


LOW_LATENCY = ("#EXT-X-PART", "#EXT-X-SERVER-CONTROL", "#EXT-X-PRELOAD-HINT", "#EXT-X-RENDITION-REPORT")


def complete_segments(server):
    """The playlist without what low latency adds."""
    response = http.get(server.http_port, PATH)
    assert response.status == 200, response.describe()
    lines = [line for line in response.body.decode().splitlines() if not line.startswith(LOW_LATENCY)]
    while lines[-1].startswith("#"):
        del lines[-1]
    return hls.Playlist("\n".join(lines) + "\n")


def assert_whole(server, steady, kind="video"):
    """The playlist has each frame that was sent once, without a discontinuity."""
    playlist = complete_segments(server)
    assert playlist.sequence == 0, f"the whole stream should be there: {playlist.text}"
    assert not any(segment.discontinuity for segment in playlist.segments), playlist.text
    frames = b"".join(hls.segment_bytes(server, PATH, segment) for segment in playlist.segments)
    init = hls.fetch(server, PATH, playlist.segments[0].map) if playlist.segments[0].map else b""
    whole = server.dir / "whole.media"
    whole.write_bytes(init + frames)
    got = [size for size, _ in hls.packets(whole)[kind]]
    sent = [tag for tag in list(steady.sent) if flv.is_frame(tag) and tag.type == (flv.VIDEO if kind == "video" else flv.AUDIO)]
    assert 0 <= len(sent) - len(got) < 90, f"{len(sent)} frames of {kind} were sent, the segments have {len(got)}"
    times = hls.packet_times(whole, kind)
    steps = {round((after - before) * 1000) for before, after in zip(times, times[1:])}
    assert max(steps) < 90 and min(steps) > 0, f"a frame is missing or there twice: steps of {sorted(steps)} ms"


@pytest.mark.parametrize("kind", KINDS)
def test_hls_goes_on(servers, kind):
    server = start(servers, **KINDS[kind])
    with Upgrades(server) as upgrades, edges.steady(server, "s", media.tags(media.frequent_keyframes())) as steady:
        follow(server, upgrades, crowd.LowLatency if "low_latency" in kind else crowd.Hls)
        if kind != "keys":
            assert_whole(server, steady)


@pytest.mark.parametrize("kind", ["ts", "low_latency", "memory"])
def test_audio_alone_goes_on(servers, kind):
    server = start(servers, aof_ratio="1", **KINDS[kind])
    tags = [tag for tag in media.tags(media.frequent_keyframes()) if tag.type != flv.VIDEO]
    with Upgrades(server) as upgrades, edges.steady(server, "s", tags) as steady:
        follow(server, upgrades, crowd.LowLatency if "low_latency" in kind else crowd.Hls)
        assert_whole(server, steady, "audio")


DASH = "dash { enabled on; dash_path ./html; dash_fragment 1; dash_timeshift 60; }"


@pytest.mark.parametrize("kind", ["fmp4", "memory", "low_latency"])
def test_dash_goes_on(servers, kind):
    server = start(servers, more=DASH, **KINDS[kind])
    with Upgrades(server) as upgrades, edges.steady(server, "s", media.tags(media.frequent_keyframes())):
        before = {}

        def keep():
            answer = http.get(server.http_port, "/live/s.mpd")
            if answer.status != 200:
                return False
            manifest = dash.Manifest(answer.body.decode(), "/live/s.mpd")
            before.update({segment.uri: segment for period in manifest.periods for track in period for segment in track.segments})
            return len(before) >= 6

        wait_until(keep, 20, lambda: f"six segments: {before}")
        follow(server, upgrades, crowd.Dash)
        text = http.get(server.http_port, "/live/s.mpd").body.decode()
        manifest = dash.Manifest(text, "/live/s.mpd")
        assert len(manifest.periods) == 1, f"no period should begin: {text}"
        for uri in before:
            assert http.get(server.http_port, uri).status == 200, f"{uri}, which a manifest of before names"


def test_requests_that_wait_are_answered(servers):
    """In the process before: each gets what it waits for, and no 404."""
    server = start(servers, **KINDS["low_latency"])
    with Upgrades(server) as upgrades, edges.steady(server, "s", media.tags(media.frequent_keyframes())):
        players = [crowd.LowLatency(server, "s") for _ in range(20)]
        for player in players:
            wait_until(lambda player=player: len(player.seen) >= 2, 20, lambda player=player: f"{player.problems}")
        upgrades.upgrade()
        time.sleep(scaled(3))
        for player in players:
            player.stop()
        problems = [problem for player in players for problem in player.problems]
        assert not problems, "\n".join(problems)


@pytest.mark.parametrize("kind", ["ts", "memory", "low_latency_in_memory"])
def test_connections_that_were_opened_before_may_ask_later(servers, kind):
    """Browsers open some in advance, which the process before has accepted: it sends them to the new one. The names of
    segments are none of live streams (http_remux)."""
    more = f"{DASH} http_remux {{ enabled on; mount [vhost]/[app]/[stream].ts; }}"
    server = start(servers, more=more, **KINDS[kind])
    with Upgrades(server) as upgrades, edges.steady(server, "s", media.tags(media.frequent_keyframes())):
        text = lambda: http.get(server.http_port, PATH).body.decode()
        wait_until(lambda: text().count("#EXTINF") >= 3, 15, lambda: f"three segments: {text()}")
        opened = [http.Connection(server.http_port) for _ in range(4)]
        upgrades.upgrade()
        time.sleep(scaled(4))
        lines = text().splitlines()
        newest = [line for line in lines if line and not line.startswith("#")][-1]
        parts = [line.split('URI="')[1].split('"')[0] for line in lines if line.startswith("#EXT-X-PART:")]
        paths = [PATH, "/live/s.mpd", *(urljoin(PATH, uri) for uri in (newest, *parts[-1:]))]
        for path, connection in zip(paths, opened):
            with connection:
                connection.request("GET", path)
                response = connection.read_response()
            is_on_disk = kind == "ts" and path.endswith((".m3u8", ".mpd"))
            assert response.status == (200 if is_on_disk else 307), f"{path}, in a connection of before: {response.describe()}"
            if is_on_disk:
                continue
            where = path.rpartition("/")[0] + response.headers["location"].removeprefix(".")
            assert http.get(server.http_port, where).status == 200, f"{path} is with the new process, at {where}"


@pytest.mark.parametrize("kind", ["ts", "memory"])
def test_each_segment_is_reported_once(servers, kind):
    """By on_hls: those that are complete by the process before, the others by the new one."""
    with hooks.HookServer() as asked:
        report = f"http_hooks {{ enabled on; on_hls {asked.url('on_hls')}; }}"
        server = start(servers, more=report, **KINDS[kind])
        with Upgrades(server) as upgrades, edges.steady(server, "s", media.tags(media.frequent_keyframes())):
            asked.wait("on_hls", 3)
            upgrades.upgrade()
            asked.wait("on_hls", 8, 20)
            numbers = [body["seq_no"] for body in asked.bodies("on_hls")]
        assert sorted(numbers) == list(range(len(numbers))), f"each number once was expected: {numbers}"


def test_ffmpeg_plays_on(servers):
    """A player that asks by itself: all that it writes is in order, and nothing is missing."""
    server = start(servers, **KINDS["fmp4"])
    out = server.dir / "played.mp4"
    with Upgrades(server) as upgrades, edges.steady(server, "s", media.tags(media.frequent_keyframes())):
        hls.wait(server, PATH, lambda playlist: len(playlist.segments) >= 3, 15)
        url = server.http_url(PATH[1:])
        player = subprocess.Popen(ffmpeg.command("-live_start_index", "0", "-i", url, "-t", "10", "-c", "copy", out), stderr=subprocess.PIPE)
        time.sleep(scaled(2))
        upgrades.upgrade()
        _, errors = player.communicate(timeout=scaled(40))
        assert player.returncode == 0, errors.decode()
    times = hls.packet_times(out, "video")
    steps = [after - before for before, after in zip(times, times[1:])]
    assert times and max(steps) < 0.09, f"a frame is missing: {max(steps)} s between two"
