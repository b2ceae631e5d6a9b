"""research/hls_check.py on this server: no rule is broken whose breach is an error.

SRS_HLS_ROUNDS=60     how often a publisher does all that publishers do, for most of a minute each; once unless given"""

import contextlib
import json
import os
import subprocess
import threading
import time

import pytest

from lib import flv, hls, http, media, publishing, rtmp
from lib.server import ROOT
from lib.timing import SLOW, scaled, wait_until

FORMS = {
    "ts-keys": {"keys": "on", "fragments_per_key": 2, "ctx": "on"},
    "fmp4-keys-memory": {"use_fmp4": "on", "keys": "on", "storage": "memory"},
    "fmp4": {"use_fmp4": "on"},
    "fmp4-parts": {"use_fmp4": "on", "low_latency": "on"},
    "ts-parts-memory": {"low_latency": "on", "storage": "memory"},
    "fmp4-dvr": {"use_fmp4": "on", "storage": "both", "dvr_window": "150"},
    "fmp4-parts-dvr": {"use_fmp4": "on", "low_latency": "on", "dvr_window": "150"},
}


def start(server, path, directory, seconds):
    out = directory / "found.json"
    words = [ROOT / "research/hls_check.py", server.http_url(path), "--seconds", seconds, "--slack", 0.3 * SLOW, "--json", out]
    return subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True), out


def finish(process, out, seconds=60):
    """What it printed, and the findings by rule."""
    text, _ = process.communicate(timeout=scaled(seconds))
    assert process.returncode in (0, 1), text
    assert ", 0 segments" not in text, f"segments should be fetched: {text}"
    return text, {one["rule"]: one for one in json.loads(out.read_text())["findings"]}


@pytest.mark.quiet
@pytest.mark.parametrize("form", FORMS)
def test_no_rule_is_broken(servers, tmp_path, form):
    """Two audio tracks: two or three media playlists of one multivariant playlist."""
    server = servers(vhosts=hls.vhost(fragment="1", window="6", **FORMS[form]))
    # Without its end, which has a gap before it begins anew.
    tags = media.tags(media.two_audio_tracks(20))
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags):
        path = "/live/one.m3u8" if FORMS[form].get("ctx") == "on" else "/live/one~master.m3u8"
        wait_until(lambda: http.get_status(server.http_port, path) == 200, 15, "a playlist")
        text, found = finish(*start(server, path[1:], tmp_path, 10))
    errors = {rule for rule, one in found.items() if one["severity"] == "error"}
    assert not errors, text
    assert text.splitlines()[-1].startswith("2 media" if form.startswith("ts") else "3 media"), text
    # The file does not say the languages, and with low latency a late keyframe does not delay a segment.
    allowed = {"rendition-language"} | ({"independent-multivariant"} if "parts" in form else set())
    assert set(found) <= allowed, text


@pytest.mark.quiet
@pytest.mark.parametrize("form", ["fmp4-parts", "ts-parts-memory"])
def test_parts_of_audio_alone(servers, tmp_path, form):
    server = servers(vhosts=hls.vhost(fragment="1", window="8", aof_ratio="1", **FORMS[form]))
    tags = [tag for tag in media.tags(media.two_audio_tracks(20)) if tag.type == flv.AUDIO]
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags):
        wait_until(lambda: http.get_status(server.http_port, "/live/one.m3u8") == 200, 15, "a playlist")
        text, found = finish(*start(server, "live/one.m3u8", tmp_path, 10))
    assert not found, text


@pytest.mark.quiet
@pytest.mark.parametrize("form", ["fmp4-parts", "ts-parts-memory"])
def test_segments_that_begin_without_a_keyframe(servers, tmp_path, form):
    """The target duration of low latency does not grow with a keyframe that is late."""
    server = servers(vhosts=hls.vhost(fragment="1", window="6", **FORMS[form]))
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), media.tags(media.late_keyframes())):
        wait_until(lambda: http.get_status(server.http_port, "/live/one.m3u8") == 200, 15, "a playlist")
        text, found = finish(*start(server, "live/one.m3u8", tmp_path, 8))
    errors = {rule for rule, one in found.items() if one["severity"] == "error"}
    assert not errors, text


@pytest.mark.quiet
def test_a_publisher_that_returns(servers, tmp_path):
    """Its discontinuity is listed while segments leave, and then leaves itself."""
    server = servers(vhosts=hls.vhost(fragment="1", window="6", rejoin=5000))
    tags = media.tags(media.two_audio_tracks(20))
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags):
        hls.wait(server, "/live/one.m3u8", lambda playlist: len(playlist.segments) >= 4, 15)
        process, out = start(server, "live/one.m3u8", tmp_path, 12)
        hls.wait(server, "/live/one.m3u8", lambda playlist: playlist.sequence >= 1, 15)
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags):
        hls.wait(server, "/live/one.m3u8", lambda playlist: playlist.discontinuities == 1, 20)
        text, found = finish(process, out)
    errors = {rule for rule, one in found.items() if one["severity"] == "error"}
    # While nobody publishes no segment comes.
    assert errors <= {"segment-late"}, text


@pytest.mark.quiet
@pytest.mark.parametrize("form", ["fmp4-parts", "ts-parts-memory"])
def test_low_latency_with_pauses(servers, tmp_path, form):
    """Its times stand still while it pauses; then it is gone for a while, and begins anew: parts and segments come all
    the same, by the clock."""
    server = servers(vhosts=hls.vhost(fragment="1", window="12", rejoin=30_000, **FORMS[form]))
    tags = media.tags(media.two_audio_tracks(20))
    publisher = publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags)
    with publisher:
        wait_until(lambda: http.get_status(server.http_port, "/live/one~master.m3u8") == 200, 15, "a playlist")
        process, out = start(server, "live/one~master.m3u8", tmp_path, 20)
        time.sleep(3)
        publisher.stop()
        time.sleep(4)
        with publishing.Steady(publisher.client, tags, start_at=publisher.sent[-1].timestamp + 40):
            time.sleep(3)
    time.sleep(3)
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags):
        text, found = finish(process, out)
    errors = {rule for rule, one in found.items() if one["severity"] == "error"}
    assert not errors, text


class Troubled:
    """A publisher that pauses, jumps by an hour, changes its resolution, loses its audio, dies and returns."""

    def __init__(self, server):
        self.server, self.one, self.other = server, media.tags(media.two_audio_tracks(20)), media.tags(media.frequent_keyframes())
        self.client, self.last, self.rounds = None, 0, 0

    def run(self):
        """Until the server ends."""
        with contextlib.suppress(OSError, rtmp.RtmpError):
            while True:
                self.round()
                self.rounds += 1

    def publish(self, tags, seconds, ahead=40):
        steady = publishing.Steady(self.client, tags, start_at=self.last + ahead)
        time.sleep(seconds)
        steady.stop()
        if steady.error:
            raise steady.error
        self.last = steady.sent[-1].timestamp

    def round(self):
        self.client, self.last = rtmp.publisher(self.server, "live", "one", timeout=scaled(10)), 0
        self.publish(self.one, 6)
        time.sleep(3)
        self.publish(self.one, 4)
        self.publish(self.one, 4, ahead=3_600_000)
        self.publish(self.other, 4)
        self.publish([tag for tag in self.other if tag.type != flv.AUDIO or not flv.is_frame(tag)], 6)
        self.client.close()
        time.sleep(4)


@pytest.mark.quiet
@pytest.mark.parametrize("form", ["fmp4-parts", "ts-parts-memory"])
def test_a_publisher_with_all_troubles(servers, tmp_path, form):
    server = servers(vhosts=hls.vhost(fragment="1", window="12", rejoin=30_000, **FORMS[form]))
    rounds = int(os.environ.get("SRS_HLS_ROUNDS", "1"))
    publisher = Troubled(server)
    threading.Thread(target=publisher.run, daemon=True).start()
    wait_until(lambda: http.get_status(server.http_port, "/live/one.m3u8") == 200, 15, "a playlist")
    process, out = start(server, "live/one.m3u8", tmp_path, 31 * rounds + 8)
    text, found = finish(process, out, 31 * rounds + 68)
    errors = {rule for rule, one in found.items() if one["severity"] == "error"}
    # Where a loaded machine delays frames a pause begins later.
    assert errors <= {"part-late"} and publisher.rounds >= rounds, text
    assert "EXT-X-GAP" in http.get(server.http_port, "/live/one.m3u8").body.decode()
