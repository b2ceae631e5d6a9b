"""The codecs of Enhanced RTMP, and multitrack messages: what is published comes out byte for byte. Encoded by FFmpeg 9,
published by our own client, so that each tag is known."""

import pytest

from lib import ffmpeg, flv, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled

SPEED = 16  # times real time


@pytest.fixture
def server(servers):
    return servers(vhosts=default_vhost(remux="wait_publisher on;", play="mw_latency 50;", rejoin=100))


def recorded_everywhere(server, tags, name):
    """What players by RTMP and HTTP-FLV get of those tags."""
    by_rtmp = publishing.Collector(rtmp.player(server, "live", name, timeout=scaled(20)))
    by_http = publishing.Collector(http.Live(server.http_port, f"/live/{name}.flv", wait=False, timeout=scaled(20)))
    server.wait_players(f"live/{name}", 2)
    with rtmp.publisher(server, "live", name) as client:
        publishing.send_all(client, tags, SPEED)
    return {
        "RTMP": by_rtmp.finish(scaled(20), "RTMP"),
        "HTTP-FLV": by_http.finish(scaled(20), "HTTP-FLV"),
    }


@pytest.mark.parametrize(
    "video, audio",
    [("libaom-av1", "libopus"), ("libvpx-vp9", "flac"), ("libx264", "ac3"), ("libx264", "eac3")],
    ids=["AV1-Opus", "VP9-FLAC", "H264-AC3", "H264-EAC3"],
)
def test_byte_for_byte(server, tool, tmp_path, video, audio):
    path = media.encoded_by_9(video, audio)
    # FFmpeg writes empty configurations (of AC-3, which has none) and empty last packets: there is nothing to serve.
    tags = [tag for tag in media.tags(path) if flv.enhanced(tag) is None or len(tag.body) > 5]
    out = tmp_path / "ffmpeg.framemd5"
    recorder = tool(ffmpeg.command9("-i", server.rtmp_url("live/x"), "-c", "copy", "-f", "framemd5", out))
    server.wait_players("live/x", 1)
    with rtmp.publisher(server, "live", "x") as client:
        publishing.send_all(client, tags, SPEED)
    recorder.finish(20)
    done = tool(ffmpeg.command9("-i", path, "-c", "copy", "-f", "framemd5", tmp_path / "want.framemd5"))
    done.finish(20)
    want = ffmpeg.framemd5((tmp_path / "want.framemd5").read_text())
    want = {stream: [packet for packet in packets if packet.size] for stream, packets in want.items()}
    ffmpeg.assert_same_packets(want, ffmpeg.framemd5(out.read_text()), "ffmpeg 9 by RTMP")
    for who, got in recorded_everywhere(server, tags, "y").items():
        flv.assert_same(tags, got, who)


# --- multitrack (Enhanced RTMP v2): layouts and packet types

_ONE, _MANY, _MANY_CODECS = 0, 1, 2


def multitrack(tag, layout, tracks):
    """The H.264 or AAC tag as a multitrack message. tracks: (track id, FourCC, alters) in order; alters: the payload is
    to be another than the tag's."""
    if tag.type == flv.VIDEO:
        packet_type, payload, first = (tag.body[1], tag.body[2:], 0x80 | (tag.body[0] & 0x70) | 6)
        if packet_type == 0:
            payload = tag.body[5:]
    else:
        packet_type, payload, first = tag.body[1], tag.body[2:], 0x95
    body = bytes([first, layout << 4 | packet_type])
    if layout != _MANY_CODECS:
        body += tracks[0][1]
    for track, fourcc, alters in tracks:
        part = payload[:-1] + bytes([payload[-1] ^ 0xFF]) if alters else payload
        body += fourcc if layout == _MANY_CODECS else b""
        body += bytes([track])
        body += b"" if layout == _ONE else len(part).to_bytes(3, "big")
        body += part
    return tag._replace(body=body)


MULTITRACK = {
    "one track": lambda own, other: (_ONE, [(0, own, False)]),
    "the first of two": lambda own, other: (_MANY, [(0, own, False), (1, own, True)]),
    "track 0 comes second": lambda own, other: (_MANY, [(1, own, True), (0, own, False)]),
    "two codecs": lambda own, other: (_MANY_CODECS, [(0, own, False), (1, other, True)]),
}


@pytest.mark.parametrize("case", MULTITRACK)
def test_the_first_track_of_multitrack_messages_is_served(server, case):
    tags = media.tags(media.with_b_frames())[:300]
    names = {flv.VIDEO: (b"avc1", b"hvc1"), flv.AUDIO: (b"mp4a", b"Opus")}
    published = [tag if tag.type == flv.SCRIPT else multitrack(tag, *MULTITRACK[case](*names[tag.type])) for tag in tags]
    server_tags = recorded_everywhere(server, published, "tracks")
    for who, got in server_tags.items():
        flv.assert_same(tags, got, f"{who}, {case}")


def test_other_tracks_are_not_served(server):
    """Whole messages of track 1 between those of track 0."""
    tags = media.tags(media.plain())[:300]
    published = []
    for tag in tags:
        published.append(tag)
        if tag.type == flv.VIDEO:
            published.append(multitrack(tag, _ONE, [(1, b"avc1", True)]))
    for who, got in recorded_everywhere(server, published, "others").items():
        flv.assert_same(tags, got, who)
