"""Half an hour of stream, published as fast as it goes: every packet comes, once and in order, over HTTP-TS, in HLS of
MPEG-TS and of fMP4; no counter is broken and no clock late between any two segments. HLS is kept in memory, for so fast
a disk may be behind; what happens then is a test too."""

import pytest

from lib import api, flv, hls, http, media, publishing, rtmp, ts
from lib.timing import scaled

pytestmark = pytest.mark.long

MINUTES = 30
PATH = "/live/long.m3u8"


def long_tags(path, minutes=MINUTES):
    """The file's tags again and again on one timeline."""
    tags = media.tags(path)
    frames = flv.frames(tags)
    first, span = frames[0].timestamp, max(tag.timestamp for tag in frames) - frames[0].timestamp + 40
    out = [tag._replace(timestamp=0) for tag in tags if not flv.is_frame(tag)]
    for base in range(0, minutes * 60_000, span):
        out += [tag._replace(timestamp=tag.timestamp - first + base) for tag in frames]
    return out


@pytest.mark.parametrize("name", ["b-frames", "hevc"])
def test_mpeg_ts(servers, name):
    remux = "http_remux { enabled on; mount [vhost]/[app]/[stream].flv; wait_publisher on; }"
    more = {"play": "queue_length 3600;", "more": remux, "fragment": "10"}
    server = servers(vhosts=hls.vhost(storage="memory", **more))
    tags = long_tags(media.hevc() if name == "hevc" else media.with_b_frames())
    live = ts.Collector(server, "/live/long.ts")
    server.wait_players("live/long", 1)
    with rtmp.publisher(server, "live", "long", timeout=scaled(30)) as client:
        publishing.send_all(client, tags)
    playlist = hls.wait_end(server, PATH, 30)
    assert playlist.span() == pytest.approx(MINUTES * 60, abs=15), f"{playlist.span()} s are in the playlist"
    assert len(playlist.segments) > MINUTES * 60 / 15, f"{len(playlist.segments)} segments"
    gap = 3000  # one of the files has audio in its first ten seconds of twelve
    checker = ts.Checker(gap_ms=gap)
    for segment in playlist.segments:
        checker.segment(http.get(server.http_port, f"/live/{segment.uri}").body, segment.discontinuity)
    ts.assert_same(tags, checker.assert_good("HLS"), "HLS")
    by_http = live.finish(seconds=60, gap_ms=gap)
    ts.assert_same(tags, by_http, "HTTP-TS")
    assert len(by_http.programs) == len(checker.programs) == 1


def test_fmp4(servers, tmp_path):
    server = servers(vhosts=hls.vhost(storage="memory", fragment="10", use_fmp4="on"))
    tags = long_tags(media.with_b_frames())
    published = tmp_path / "published.flv"
    published.write_bytes(flv.header() + b"".join(flv.encode(tag) for tag in tags))
    with rtmp.publisher(server, "live", "long", timeout=scaled(30)) as client:
        publishing.send_all(client, tags)
    playlist = hls.wait_end(server, PATH, 30)
    assert playlist.span() == pytest.approx(MINUTES * 60, abs=15), f"{playlist.span()} s are in the playlist"
    hls.assert_same(hls.packets(published), hls.packets(server.http_url(PATH[1:])), "FFmpeg by HLS of fMP4")


def test_a_disk_that_does_not_keep_up(servers, tmp_path):
    """Segments are lost; where, the playlist says, and nowhere else."""
    fault = tmp_path / "fault"
    fault.write_text("path=live/ op=write delay_ms=1000")
    server = servers(top=api.ON, vhosts=hls.vhost(fragment="2"), environment={"DISK_FAULT": f"@{fault}"})
    tags = long_tags(media.with_b_frames(), 10)
    late = [tag for tag in tags if tag.timestamp >= 540_000]
    with rtmp.publisher(server, "live", "long", timeout=scaled(30)) as client:
        publishing.send_all(client, tags[: -len(late)])
        fault.unlink()
        api.explained(server, "long", "outputs", "does not keep up|too slow")
        # So many wait at most; then the disk has caught up.
        hls.wait(server, PATH, lambda playlist: len(playlist.segments) >= 64, 30)
        publishing.send_all(client, late)
    playlist = hls.wait_end(server, PATH, 30)
    checker = ts.Checker()
    for segment, goes_on in playlist.there():
        checker.segment(http.get(server.http_port, f"/live/{segment.uri}").body, not goes_on)
    checker.assert_good("HLS")
    want = sum(tag.type == flv.VIDEO for tag in flv.frames(tags))
    got = len(checker.of_kind(flv.VIDEO))
    assert 0 < got < want, f"{got} of {want} video frames came: the disk should have been too slow for all of them"
    told = sum(segment.gap for segment in playlist.segments)
    assert told >= 1, f"that segments are missing should be told:\n{playlist.text}"
