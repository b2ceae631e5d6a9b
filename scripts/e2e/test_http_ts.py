"""Live MPEG-TS at [stream].ts: what was published comes, in a transport stream without a flaw; ffmpeg, FFmpeg 9 and
GStreamer read it; one may come in at any time."""

import json
import subprocess

import pytest

from lib import amf0, ffmpeg, flv, http, media, publishing, rtmp, ts
from lib.server import default_vhost
from lib.timing import scaled, wait_until

SPEED = 16  # times real time


@pytest.fixture
def server(servers):
    return servers(vhosts=default_vhost(remux="wait_publisher on;", play="mw_latency 50;", rejoin=100))


def publish(server, name, tags, speed=SPEED):
    with rtmp.publisher(server, "live", name) as client:
        publishing.send_all(client, tags, speed)


SOURCES = {
    "b-frames": media.with_b_frames,
    "plain": media.plain,
    "hevc": media.hevc,
    "mp3": media.h264_mp3,
    "aac-only": media.audio_only,
    "mp3-only": lambda: media.audio_only("mp3"),
    "video-only": media.video_only,
}


def packets_of_file(path, run, video_filter, audio_filter):
    words = ["-i", path, "-map", "0:v?", "-map", "0:a?", "-c", "copy", *video_filter, *audio_filter]
    done = subprocess.run(run(*words, "-f", "framemd5", "-"), check=True, capture_output=True)
    return ffmpeg.framemd5(done.stdout.decode())


@pytest.mark.valgrind
@pytest.mark.parametrize("name", SOURCES)
def test_the_published_stream_comes(server, tool, tmp_path, name):
    """Read by ourselves, and by ffmpeg: framemd5 with -c copy of both, without what belongs to the container (start
    codes, delimiters, parameter sets, ADTS headers)."""
    path = SOURCES[name]()
    run = ffmpeg.command9 if name == "hevc" else ffmpeg.command
    own_parts = "remove_types=32-35" if name == "hevc" else "remove_types=7-9"
    tracks = "mp3-only" if name == "mp3-only" else "aac-only" if name == "aac-only" else "both"
    video = [] if tracks != "both" else ["-bsf:v", f"filter_units={own_parts}"]
    from_flv = [] if tracks != "both" else [
        "-bsf:v", f"{'hevc' if name == 'hevc' else 'h264'}_mp4toannexb,filter_units={own_parts}"
    ]
    audio = [] if "mp3" in name or name == "video-only" else ["-bsf:a", "aac_adtstoasc"]
    out = tmp_path / "ts.framemd5"
    words = ["-i", server.http_url(f"live/{name}.ts"), "-map", "0:v?", "-map", "0:a?", "-c", "copy", *video, *audio]
    recording = tool(run(*words, "-f", "framemd5", out))
    own = ts.Collector(server, f"/live/{name}.ts")
    server.wait_players(f"live/{name}", 2)
    tags = media.tags(path)
    publish(server, name, tags)

    checker = own.finish()
    ts.assert_same(tags, checker, "HTTP-TS")
    # MP3 has no header that would tell of it before its first frame: where the video frame is earlier, a second map has both.
    late = name == "mp3" and flv.frames(tags)[0].type == flv.VIDEO
    want = 2 if late else 1
    assert len(checker.programs) == want, f"{want} program maps should come: {checker.programs}"
    recording.finish(20)
    # A body without a length ends when the connection does, which ffmpeg tells as an error.
    ends = ("Stream ends prematurely", "Input/output error")
    said = [line for line in recording.text().splitlines() if line and not any(text in line for text in ends)]
    assert not said, f"ffmpeg complains: {recording.text()}"
    want = packets_of_file(path, run, from_flv, [])
    # FLV counts in ms, MPEG-TS in ticks of 90 kHz.
    ticks = {
        stream: [packet._replace(dts=packet.dts * 90, pts=packet.pts * 90) for packet in packets]
        for stream, packets in want.items()
    }
    got = ffmpeg.framemd5(out.read_text())
    ffmpeg.assert_same_packets(ticks, got, f"ffmpeg by HTTP-TS, {name}", slack=ts.HALF_A_MS)


@pytest.mark.parametrize("name, parser", [("b-frames", "h264parse"), ("hevc", "h265parse")])
def test_gstreamer_plays(server, tool, tmp_path, name, parser):
    out = tmp_path / "out.video"
    url = server.http_url(f"live/{name}.ts")
    words = f"souphttpsrc location={url} ! tsdemux ! {parser} ! video/x-{parser[:4]},stream-format=byte-stream"
    player = tool(["gst-launch-1.0", "-q", *f"{words},alignment=au ! filesink location={out}".split()])
    server.wait_players(f"live/{name}", 1)
    tags = media.tags(SOURCES[name]())
    publish(server, name, tags)
    player.finish(20)
    stream_type = ts.HEVC if name == "hevc" else ts.H264
    added = (32, 33, 34, 35) if name == "hevc" else (7, 8, 9)
    got = [unit for unit in ts.nal_units(out.read_bytes()) if ts.unit_type(stream_type, unit) not in added]
    want = [unit for tag in flv.frames(tags) if tag.type == flv.VIDEO for unit in ts.published_units(tag)]
    assert want == got, f"{len(want)} NAL units were published, GStreamer got {len(got)} or other ones"


def second_track(tag):
    """The AAC tag as a message of Enhanced RTMP for audio track 1."""
    return tag._replace(body=bytes([0x95, tag.body[1]]) + b"mp4a" + bytes([1]) + tag.body[2:])


def test_every_audio_track_comes_with_its_language(server, tmp_path):
    names = {"0": {"language": "en-GB"}, "1": {"language": "deu"}}
    published = [flv.Tag(flv.SCRIPT, 0, amf0.encode("onMetaData", {"audioTrackIdInfoMap": names}))]
    for tag in media.tags(media.plain())[:300]:
        published += [tag] if tag.type != flv.SCRIPT else []
        published += [second_track(tag)] if tag.type == flv.AUDIO else []
    own = ts.Collector(server, "/live/languages.ts")
    server.wait_players("live/languages", 1)
    publish(server, "languages", published)
    checker = own.finish()
    first, second = ([pes.payload for pes in checker.pes if pes.pid == pid] for pid in (0x101, 0x103))
    assert first == second and len(first) > 100, f"{len(first)} and {len(second)} audio frames came"
    path = tmp_path / "languages.ts"
    path.write_bytes(b"".join(own.tags))
    words = ["ffprobe", "-v", "error", "-of", "json", "-show_entries", "stream=codec_name:stream_tags=language", path]
    streams = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["streams"]
    got = [(stream["codec_name"], stream.get("tags", {}).get("language")) for stream in streams]
    assert got == [("h264", None), ("aac", "eng"), ("aac", "deu")], got


def test_who_comes_late_begins_at_a_keyframe(server):
    tags = media.tags(media.with_b_frames())
    with publishing.Steady(rtmp.publisher(server, "live", "late"), tags) as publisher:
        wait_until(lambda: len(publisher.sent) > 40, 10, "the publisher has begun")
        live = http.Live(server.http_port, "/live/late.ts", timeout=scaled(10))
        data = b""
        while len(data) < 60_000:
            data += live.data()
        live.close()
    checker = ts.Checker().segment(data[: len(data) // 188 * 188])
    # The last PES packet of each PID is cut.
    problems = [problem for problem in checker.problems if "says that it has" not in problem]
    assert not problems, problems
    assert live.response.headers["content-type"] == "video/mp2t", live.response.describe()
    assert len(checker.of_kind(flv.VIDEO)) > 10, f"{len(checker.of_kind(flv.VIDEO))} video frames"


def test_a_late_viewer_of_audio_alone(server):
    tags = media.tags(media.audio_only())
    with publishing.Steady(rtmp.publisher(server, "live", "audio"), tags, speed=4) as publisher:
        wait_until(lambda: len(publisher.sent) > 20, 10, "the publisher has begun")
        live = http.Live(server.http_port, "/live/audio.ts", timeout=scaled(10))
        data = b""
        while len(data) < 188 * 200:
            data += live.data()
        live.close()
    checker = ts.Checker().segment(data[: 188 * 200])
    assert checker.clocks > 10, f"{checker.clocks} clocks"
    problems = [problem for problem in checker.problems if "says that it has" not in problem]
    assert not problems, problems


def test_another_publisher_with_another_codec(servers):
    """H.264 and AAC, then HEVC, then audio alone: a viewer who stays gets new program maps, and nothing is out of
    order."""
    server = servers(vhosts=default_vhost(remux="wait_publisher on;", play="mw_latency 50;", rejoin=int(scaled(2000))))
    own = ts.Collector(server, "/live/changes.ts")
    server.wait_players("live/changes", 1)
    parts = [media.plain(), media.hevc(), media.audio_only()]
    for path in parts:
        publish(server, "changes", media.tags(path)[:200])
    checker = own.finish(clock_ms=10_000, gap_ms=10_000)
    kinds = [sorted(streams.values()) for _, streams in checker.programs]
    assert kinds[0] == [ts.AAC, ts.H264] and [ts.AAC, ts.HEVC] in kinds and kinds[-1] == [ts.AAC], checker.programs
    versions = [version for version, _ in checker.programs]
    assert versions == list(range(len(versions))), f"each map should have the next version: {checker.programs}"
    want = sum(tag.type == flv.VIDEO for path in parts[:2] for tag in flv.frames(media.tags(path)[:200]))
    got = len(checker.of_kind(flv.VIDEO))
    assert got == want, f"{want} video frames were published, {got} came"


def test_a_codec_that_mpeg_ts_does_not_carry(server):
    tags = media.tags(media.encoded_by_9("libvpx-vp9", "flac"))
    with publishing.Steady(rtmp.publisher(server, "live", "vp9"), tags):
        viewer = http.Live(server.http_port, "/live/vp9.flv", wait=False)
        http.collect(viewer, lambda got: any(flv.is_keyframe(tag) for tag in got))
        viewer.close()
        response = http.get(server.http_port, "/live/vp9.ts")
    assert response.status == 404 and b"does not carry" in response.body, response.describe()
