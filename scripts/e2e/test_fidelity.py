"""What a player gets is what was published: the same packets, byte for byte and in order, timestamps shifted by one
constant. By RTMP, HTTP-FLV and WebSocket-FLV; published and recorded by FFmpeg, rtmpdump, GStreamer and our own
clients. Players come before the publisher, so that they must get the whole stream."""

import subprocess

import pytest

from lib import ffmpeg, flv, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled

WAITING = default_vhost(remux="wait_publisher on;", play="mw_latency 100;", rejoin=100)
SPEED = 16  # times real time


@pytest.fixture
def server(servers):
    return servers(vhosts=WAITING)


def packets(path, run=ffmpeg.command):
    """What FFmpeg reads from a file, by framemd5."""
    done = subprocess.run(run("-i", path, "-c", "copy", "-f", "framemd5", "-"), check=True, capture_output=True)
    return ffmpeg.framemd5(done.stdout.decode())


def recorder(tool, tmp_path, url, name, run=ffmpeg.command):
    """FFmpeg noting the packets of a URL; the process and where they will be."""
    out = tmp_path / f"{name}.framemd5"
    return tool(run("-i", url, "-c", "copy", "-f", "framemd5", out)), out


def publish(tool, server, path, name, run=ffmpeg.command):
    return tool(run("-readrate", SPEED, "-i", path, "-c", "copy", "-f", "flv", server.rtmp_url(f"live/{name}")))


@pytest.mark.valgrind
@pytest.mark.parametrize(
    "source", [media.with_b_frames, media.plain, media.h264_mp3], ids=lambda source: source.__name__
)
def test_ffmpeg_publishes_and_all_players_get_it(server, tool, tmp_path, source):
    path = source()
    by_rtmp, rtmp_out = recorder(tool, tmp_path, server.rtmp_url("live/one"), "rtmp")
    by_http, http_out = recorder(tool, tmp_path, server.http_url("live/one.flv"), "http")
    dump_path = tmp_path / "dump.flv"
    dump = tool(["rtmpdump", "--live", "-q", "-r", server.rtmp_url("live/one"), "-o", dump_path])
    own = publishing.Collector(http.Live(server.http_port, "/live/one.flv", wait=False, timeout=scaled(30)))
    websocket = publishing.Collector(http.WebSocket(server.http_port, "/live/one.flv", wait=False, timeout=scaled(30)))
    server.wait_players("live/one", 5)
    publish(tool, server, path, "one").finish(20)

    own_tags = own.finish(scaled(20), "HTTP-FLV")
    flv.assert_same(media.tags(path), own_tags, "HTTP-FLV")
    flv.assert_same(media.tags(path), websocket.finish(scaled(20), "WebSocket-FLV"), "WebSocket-FLV")
    by_rtmp.finish(20)
    by_http.finish(20)
    want = packets(path)
    ffmpeg.assert_same_packets(want, ffmpeg.framemd5(rtmp_out.read_text()), "ffmpeg by RTMP")
    ffmpeg.assert_same_packets(want, ffmpeg.framemd5(http_out.read_text()), "ffmpeg by HTTP-FLV")
    dump.finish(20, codes=(0, 2))  # 2: rtmpdump took the stream for incomplete, having no duration to go by
    flv.assert_same(media.tags(path), flv.read_file(dump_path), "rtmpdump")


@pytest.mark.valgrind
def test_hevc_by_enhanced_rtmp(server, tool, tmp_path):
    path = media.hevc()
    by_rtmp, rtmp_out = recorder(tool, tmp_path, server.rtmp_url("live/hevc"), "rtmp", ffmpeg.command9)
    by_http, http_out = recorder(tool, tmp_path, server.http_url("live/hevc.flv"), "http", ffmpeg.command9)
    own = publishing.Collector(http.Live(server.http_port, "/live/hevc.flv", wait=False, timeout=scaled(30)))
    websocket = publishing.Collector(http.WebSocket(server.http_port, "/live/hevc.flv", wait=False, timeout=scaled(30)))
    server.wait_players("live/hevc", 4)
    publish(tool, server, path, "hevc", ffmpeg.command9).finish(20)

    flv.assert_same(media.tags(path), own.finish(scaled(20), "HTTP-FLV"), "HTTP-FLV")
    flv.assert_same(media.tags(path), websocket.finish(scaled(20), "WebSocket-FLV"), "WebSocket-FLV")
    by_rtmp.finish(20)
    by_http.finish(20)
    want = packets(path, ffmpeg.command9)
    ffmpeg.assert_same_packets(want, ffmpeg.framemd5(rtmp_out.read_text()), "FFmpeg 9 by RTMP")
    ffmpeg.assert_same_packets(want, ffmpeg.framemd5(http_out.read_text()), "FFmpeg 9 by HTTP-FLV")


def old_hevc(tag):
    """An enhanced HEVC tag as encoders wrote it before: codec id 12 in the place of H.264's 7."""
    packet = flv.enhanced(tag)
    if tag.type != flv.VIDEO or packet is None:
        return tag
    key = tag.body[0] & 0x70
    if packet == 0:
        body = bytes([key | 12, 0, 0, 0, 0]) + tag.body[5:]
    elif packet in (1, 3):
        body = bytes([key | 12, 1]) + (tag.body[5:] if packet == 1 else b"\0\0\0" + tag.body[5:])
    elif packet == 2:
        body = bytes([key | 12, 2, 0, 0, 0])
    else:
        return None
    return tag._replace(body=body)


def test_hevc_by_the_old_codec_id_comes_out_enhanced(server):
    tags = media.tags(media.hevc())
    own = publishing.Collector(rtmp.player(server, "live", "old", timeout=scaled(20)))
    with rtmp.publisher(server, "live", "old") as client:
        publishing.send_all(client, [old for old in map(old_hevc, tags) if old], SPEED * 2)
    flv.assert_same(tags, own.finish(scaled(20), "RTMP"), "RTMP")


@pytest.mark.parametrize(
    "scheme, fmle",
    [(0, True), (1, True), (None, True), (None, False)],
    ids=["digest0-fmle", "digest1-fmle", "simple-fmle", "simple-flash"],
)
def test_own_client_both_ways(server, scheme, fmle):
    """Each handshake, and publishing as OBS does and as Flash did."""
    tags = media.tags(media.with_b_frames())
    own = publishing.Collector(rtmp.player(server, "live", "own", scheme=scheme, timeout=scaled(20)))
    web = publishing.Collector(http.WebSocket(server.http_port, "/live/own.flv", wait=False, timeout=scaled(20)))
    server.wait_players("live/own", 2)
    with rtmp.publisher(server, "live", "own", scheme=scheme, fmle=fmle) as client:
        publishing.send_all(client, tags, SPEED * 2)
    flv.assert_same(tags, own.finish(scaled(20), "RTMP"), "RTMP")
    flv.assert_same(tags, web.finish(scaled(20), "WebSocket-FLV"), "WebSocket-FLV")


@pytest.mark.parametrize("chunk_size", [128, 4096, 1 << 20])
def test_publishers_chunk_size_does_not_matter(server, chunk_size):
    tags = media.tags(media.plain())
    own = publishing.Collector(rtmp.player(server, "live", "chunks", timeout=scaled(20)))
    with rtmp.publisher(server, "live", "chunks", chunk_size=chunk_size) as client:
        publishing.send_all(client, tags)
    flv.assert_same(tags, own.finish(scaled(20), "RTMP"), "RTMP")


def test_servers_chunk_size(servers):
    """The vhost's chunk_size is what players get, and small chunks carry the same stream."""
    server = servers(vhosts=default_vhost("chunk_size 128;", play="mw_latency 100;"))
    tags = media.tags(media.plain())
    player = rtmp.player(server, "live", "small", timeout=scaled(20))
    own = publishing.Collector(player)
    with rtmp.publisher(server, "live", "small") as client:
        publishing.send_all(client, tags)
    flv.assert_same(tags, own.finish(scaled(20), "RTMP"), "RTMP")
    assert player.reader.chunk_size == 128, f"chunk_size 128 is configured, the server used {player.reader.chunk_size}"


@pytest.mark.parametrize("element", ["rtmpsink", "rtmp2sink"])
def test_gstreamer_publishes(server, tool, element):
    """rtmpsink is librtmp, which OBS publishes with: a digest handshake and the FMLE commands."""
    path = media.plain()  # GStreamer writes B-frames' composition times anew
    own = publishing.Collector(rtmp.player(server, "live", "gst", timeout=scaled(30)))
    url = server.rtmp_url("live/gst") + (" live=1" if element == "rtmpsink" else "")
    words = f"filesrc location={path} ! flvdemux name=d flvmux name=m streamable=true ! {element} sync=false".split()
    tracks = "d.video ! queue ! m.video d.audio ! queue ! m.audio".split()
    tool(["gst-launch-1.0", "-q", *words, f"location={url}", *tracks]).finish(30)
    flv.assert_same(media.tags(path), own.finish(scaled(20), "RTMP"), "RTMP")


def test_gstreamer_records(server, tool, tmp_path):
    path, out = media.plain(), tmp_path / "out.flv"
    words = ["rtmp2src", f"location={server.rtmp_url('live/gstplay')}", "!", "filesink", f"location={out}"]
    recording = tool(["gst-launch-1.0", "-q", *words])
    server.wait_players("live/gstplay", 1)
    with rtmp.publisher(server, "live", "gstplay") as client:
        publishing.send_all(client, media.tags(path), SPEED * 2)
    recording.finish(20, codes=None)  # the stream's end is an error to some versions
    flv.assert_same(media.tags(path), flv.read_file(out), "GStreamer")


# --- one track only, and the FLV header that says so


def flv_header_and_tags(server, source, name, tags):
    own = publishing.Collector(source)
    server.wait_players(f"live/{name}", 1)
    with rtmp.publisher(server, "live", name) as client:
        publishing.send_all(client, tags, SPEED * 2)
    received = own.finish(scaled(20), name)
    flv.assert_same(tags, received, name)
    return source.flv


@pytest.mark.parametrize(
    "kind, audio, video", [("audio", True, False), ("mp3", True, False), ("video", False, True), ("both", True, True)]
)
@pytest.mark.parametrize("way", ["http", "websocket"])
def test_flv_header_says_which_tracks(server, kind, audio, video, way):
    path = {
        "audio": media.audio_only,
        "mp3": lambda: media.audio_only("mp3"),
        "video": media.video_only,
        "both": media.plain,
    }[kind]()
    if way == "http":
        source = http.Live(server.http_port, "/live/tracks.flv", wait=False, timeout=scaled(20))
    else:
        source = http.WebSocket(server.http_port, "/live/tracks.flv", wait=False, timeout=scaled(20))
    header = flv_header_and_tags(server, source, "tracks", media.tags(path))
    assert (header.has_audio, header.has_video) == (
        audio,
        video,
    ), f"the FLV header should say audio {audio}, video {video}; it says {header.has_audio}, {header.has_video}"


def adts_frames(data):
    """The raw frames of an ADTS stream (ISO/IEC 13818-7, 6.2), with the 28 fixed bits of the first header."""
    frames, at, fixed = [], 0, None
    while at < len(data):
        assert data[at] == 0xFF and data[at + 1] & 0xF6 == 0xF0, f"no ADTS header at {at}: {data[at:at + 8].hex()}"
        size = (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
        head = 7 if data[at + 1] & 1 else 9
        assert size >= head and at + size <= len(data), f"ADTS frame of {size} bytes at {at} of {len(data)}"
        fixed = fixed or data[at : at + 3]
        frames.append(data[at + head : at + size])
        at += size
    return frames, fixed


def collect_raw(server, path, name, tags):
    live = http.Live(server.http_port, path, wait=False, timeout=scaled(20))
    server.wait_players(f"live/{name}", 1)
    with rtmp.publisher(server, "live", name) as client:
        publishing.send_all(client, tags, SPEED * 2)
    data = []
    while not live.ended:
        data.append(live.data())
    return live.response, b"".join(data)


@pytest.mark.parametrize("source", [media.plain, media.audio_only], ids=["with-video", "audio-only"])
def test_aac_url(server, source):
    tags = media.tags(source())
    response, data = collect_raw(server, "/live/audio.aac", "audio", tags)
    frames, fixed = adts_frames(data)
    want = [tag.body[2:] for tag in flv.frames(tags) if tag.type == flv.AUDIO]
    assert frames == want, f"{len(want)} AAC frames were published, {len(frames)} came or they differ"
    # The sequence header's two bytes: object type (5 bits), sampling frequency (4), channels (4).
    config = int.from_bytes(next(tag for tag in tags if tag.type == flv.AUDIO).body[2:4], "big")
    assert (fixed[2] >> 2 & 0xF) == config >> 7 & 0xF, "ADTS should have the published sampling frequency"
    assert (fixed[2] >> 6) + 1 == config >> 11, "ADTS should have the published profile"
    assert response.headers.get("content-type", "").startswith("audio/aac"), response.head


def test_mp3_url(server):
    tags = media.tags(media.audio_only("mp3"))
    response, data = collect_raw(server, "/live/audio.mp3", "audio", tags)
    want = b"".join(tag.body[1:] for tag in flv.frames(tags))
    assert data == want, f"{len(want)} bytes of MP3 were published, {len(data)} came or they differ"
    assert response.headers.get("content-type", "").startswith("audio/mp"), response.head
