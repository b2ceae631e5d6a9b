"""Streams with periodic intra refresh: after the first frame no IDR comes. Players begin at recovery points."""

import subprocess

import pytest

from lib import api, ffmpeg, flv, media, publishing, rtmp, rtsp
from lib.rtsp_server import API, make


@pytest.fixture
def server(servers):
    return make(servers, top=API)


def intra_refresh(protocol):
    """25 frames a second; after the first frame there is no IDR."""
    words = ["-re", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
    return ffmpeg.command9(*words, "-x264-params", "keyint=25:intra-refresh=1:bframes=0", *protocol)


@pytest.mark.parametrize("by", ["rtsp", "rtmp"])
def test_players_begin_at_recovery_points(server, tool, by):
    where = ["-f", "rtsp", "-rtsp_transport", "tcp", rtsp.url(server, "live/s")] if by == "rtsp" else ["-f", "flv", server.rtmp_url("live/s")]
    tool(intra_refresh(where))
    api.wait_stream(server, "s", lambda stream: stream["frames"] > 80, seconds=30)
    with rtsp.client(server) as player:
        player.play(rtsp.url(server, "live/s"))
        frames = player.read_frames(10, lambda got: len(rtsp.h264_units([rtsp.rtp(data) for channel, data in got if channel == 0])) > 25)
    units = rtsp.h264_units(rtsp.packets(frames, 0))
    assert len(units) > 20, f"a player by RTSP should get more than 20 frames of a stream without IDR, it got {len(units)}"
    assert all(unit[0] & 31 != 5 for _, one in units for unit in one), "the stream has no IDR after its first frame"
    words = ["-i", server.rtmp_url("live/s"), "-t", "2", "-f", "framemd5", "-"]
    done = subprocess.run(ffmpeg.command9(*words), capture_output=True, text=True, check=False, timeout=30)
    shown = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert len(shown) > 5, f"ffmpeg should decode frames by RTMP, it decoded {len(shown)}: {done.stderr[-1500:]}"


def test_recovery_points_of_rtmp_publishers_that_mark_them_as_inter_frames(server):
    """As encoders do that mark IDR pictures alone."""
    tags = media.tags(media.intra_refresh())
    first = next(tag for tag in tags if flv.is_frame(tag))
    unmarked = [
        tag._replace(body=bytes([0x20 | tag.body[0] & 15]) + tag.body[1:]) if flv.is_keyframe(tag) and tag is not first else tag
        for tag in tags
    ]
    with rtmp.publisher(server, "live", "s") as client:
        publishing.send_all(client, unmarked[:120])
        with rtsp.client(server) as player:
            player.play(rtsp.url(server, "live/s"))
            publishing.send_all(client, unmarked[120:180], 4)
            frames = player.read_frames(2)
    units = rtsp.h264_units(rtsp.packets(frames, 0))
    published = [tag for tag in unmarked[:120] if flv.is_frame(tag)]
    assert len(units) > 20, f"a player should get more than 20 frames, it got {len(units)}"
    assert len(units) < len(published), "the player should begin at the newest recovery point, not at the first frame"
