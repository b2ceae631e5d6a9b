"""A viewer that comes in the middle of a stream has a video frame it can decode within 200 ms of its request."""

import subprocess
import time

import pytest

from lib import ffmpeg, flv, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import SLOW, scaled

LIMIT_MS = 200 * SLOW
VIEWERS = 5
WATCHED_SECONDS = 0.4


def first_video_frame(source, requested):
    """Milliseconds from the request to the first keyframe, and all that came shortly after."""
    tags, at, end = [], None, time.monotonic() + scaled(5)
    while time.monotonic() < end and not source.ended:
        tags += source.tags()
        if at is None and any(flv.is_keyframe(tag) for tag in tags):
            at = time.monotonic()
            end = at + WATCHED_SECONDS
    source.close()
    assert at is not None, f"no keyframe within {scaled(5)} s; {len(tags)} tags came"
    return (at - requested) * 1000, tags


def by_rtmp(server, stream):
    client = rtmp.Client("127.0.0.1", server.rtmp_port).handshake()
    client.connect("live")
    stream_id = client.create_stream()
    requested = time.monotonic()
    client.play(stream, stream_id=stream_id, wait=False)
    return first_video_frame(client, requested)


def by_http(server, stream):
    live = http.Live(server.http_port, f"/live/{stream}.flv", wait=False)
    return first_video_frame(live, live.requested)


def by_websocket(server, stream):
    live = http.WebSocket(server.http_port, f"/live/{stream}.flv")
    return first_video_frame(live, live.requested)


def assert_decodable(tags, path, who):
    """Sequence headers and then a keyframe come first, and FFmpeg decodes all of it without a complaint."""
    video = [tag for tag in tags if tag.type == flv.VIDEO]
    assert flv.is_sequence_header(
        video[0]
    ), f"{who}: video should begin with its sequence header, not {video[0].describe()}"
    assert flv.is_keyframe(next(tag for tag in video if flv.is_frame(tag))), f"{who}: a frame came before the keyframe"
    path.write_bytes(flv.header() + b"".join(flv.encode(tag) for tag in tags))
    done = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "warning", "-xerror", "-i", path, "-map", "0:v", "-f", "framemd5", "-"],
        capture_output=True,
        check=False,
    )
    video_frames = ffmpeg.framemd5(done.stdout.decode()).get(0, [])
    assert done.returncode == 0 and video_frames, f"{who}: ffmpeg decodes {len(video_frames)} video frames: {done.stderr.decode()}"


def assert_no_subtitles(path, who):
    """Which FFmpeg takes metadata for that has a time of its own. RTMP's onStatus is data to it, from every server."""
    words = ["ffprobe", "-v", "error", "-show_entries", "stream=codec_type", "-of", "csv=p=0", path]
    found = set(subprocess.check_output(words, text=True).split())
    assert found - {"data"} == {"audio", "video"}, f"{who}: ffprobe should find audio and video, it finds {found}"


@pytest.mark.quiet
@pytest.mark.valgrind
@pytest.mark.parametrize("way", [by_rtmp, by_http, by_websocket], ids=["rtmp", "http-flv", "ws-flv"])
def test_video_within_200_ms(server, tmp_path, way):
    client = rtmp.publisher(server, "live", "middle")
    with publishing.Steady(client, media.tags(media.plain())) as steady:
        time.sleep(1)
        seen = []
        for _ in range(VIEWERS):
            seen.append(way(server, "middle"))
            time.sleep(0.13)  # not in step with keyframes or the merge interval
        assert steady.error is None, f"the publisher was disturbed: {steady.error}"
    waits = [round(wait) for wait, _ in seen]
    for index, (_, tags) in enumerate(seen):
        assert any(b"onMetaData" in tag.body for tag in tags if tag.type == flv.SCRIPT), f"viewer {index}: no metadata"
        assert_decodable(tags, tmp_path / f"{index}.flv", f"viewer {index}")
        assert_no_subtitles(tmp_path / f"{index}.flv", f"viewer {index}")
    assert (
        max(waits) <= LIMIT_MS
    ), f"each keyframe should be there within {LIMIT_MS:.0f} ms of its request; they took {waits}"


def test_without_gop_cache_the_next_keyframe_is_first(servers):
    server = servers(vhosts=default_vhost(play="gop_cache off; mw_latency 0;"))
    tags = media.tags(media.plain())
    frames = flv.frames(tags)
    keys = [index for index, tag in enumerate(frames) if flv.is_keyframe(tag)]
    middle = (keys[1] + keys[2]) // 2
    with rtmp.publisher(server, "live", "nocache") as client:
        publishing.send_all(client, [tag for tag in tags if not flv.is_frame(tag)] + frames[:middle])
        time.sleep(scaled(0.3))
        player = rtmp.player(server, "live", "nocache", timeout=scaled(10))
        time.sleep(scaled(0.3))
        publishing.send_all(client, frames[middle:])
        got = []
        while len(got) < len(frames) - keys[2]:
            got += flv.frames(player.tags())
    assert got[0].body == frames[keys[2]].body, (
        f"with gop_cache off a viewer should start with the next keyframe, {frames[keys[2]].describe()}; it "
        f"started with {got[0].describe()}"
    )
