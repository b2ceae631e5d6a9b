"""Several audio tracks by Enhanced RTMP's multitrack: FFmpeg 9 publishes, and what each player and output gets of them.
Who knows one track of a kind gets the first."""

import json
import random
import subprocess

import pytest

from lib import amf0, api, dvr, ffmpeg, flv, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled, wait_until

SPEED = 8  # times real time
WAITING = default_vhost(remux="wait_publisher on;", play="mw_latency 100;", rejoin=100)


@pytest.fixture
def server(servers):
    return servers(vhosts=WAITING)


def packets(path, run=ffmpeg.command9, *words):
    """What FFmpeg reads from a file, by framemd5."""
    done = subprocess.run(
        run("-i", path, "-map", "0", "-c", "copy", *words, "-f", "framemd5", "-"), check=True, capture_output=True
    )
    return ffmpeg.framemd5(done.stdout.decode())


def recorder(tool, tmp_path, url, name, run=ffmpeg.command9):
    """FFmpeg noting the packets of all streams of a URL; the process and where they will be."""
    out = tmp_path / f"{name}.framemd5"
    return tool(run("-i", url, "-map", "0", "-c", "copy", "-f", "framemd5", out)), out


def publish(tool, server, name):
    path = media.two_audio_tracks()
    words = ["-readrate", SPEED, "-i", path, "-map", "0", "-c", "copy", "-f", "flv", server.rtmp_url(f"live/{name}")]
    tool(ffmpeg.command9(*words)).finish(30)
    return path


def first_tracks(streams):
    """Without the second audio track."""
    return {stream: streams[stream] for stream in (0, 1)}


def test_players_that_ask_get_all_tracks_and_others_the_first(server, tool, tmp_path):
    players = {
        "FFmpeg 9 by RTMP, all": recorder(tool, tmp_path, server.rtmp_url("live/two?tracks=all"), "rtmp-all"),
        "FFmpeg 9 by HTTP-FLV, all": recorder(tool, tmp_path, server.http_url("live/two.flv?tracks=all"), "http-all"),
        "FFmpeg 9 by RTMP": recorder(tool, tmp_path, server.rtmp_url("live/two"), "rtmp"),
        "ffmpeg 5 by RTMP": recorder(tool, tmp_path, server.rtmp_url("live/two"), "old", ffmpeg.command),
        "ffmpeg 5 by HTTP-FLV": recorder(tool, tmp_path, server.http_url("live/two.flv"), "old-http", ffmpeg.command),
    }
    # Enhanced RTMP's way to ask: capsEx in connect.
    modern = publishing.Collector(rtmp.player(server, "live", "two", connect={"capsEx": 2}, timeout=scaled(30)))
    server.wait_players("live/two", len(players) + 1)
    want = packets(publish(tool, server, "two"))
    assert len(want) == 3, f"the file has three streams: {list(want)}"
    for who, (player, out) in players.items():
        player.finish(20)
        expected = want if who.endswith("all") else first_tracks(want)
        ffmpeg.assert_same_packets(expected, ffmpeg.framemd5(out.read_text()), who)
    flv.assert_same(media.tags(media.two_audio_tracks()), modern.finish(scaled(20), "RTMP with capsEx"), "capsEx")


def test_the_api_tells_of_all_tracks(servers):
    server = servers(top=api.CONF % "", vhosts=WAITING)
    tags = media.tags(media.two_audio_tracks())
    with publishing.Steady(rtmp.publisher(server, "live", "api"), tags) as publisher:
        wait_until(lambda: len(publisher.sent) > 60, 10, "the publisher has begun")
        stream = api.streams(server)["api"]
        assert [(track["kind"], track["track"], track["codec"]) for track in stream["tracks"]] == [
            ("video", 0, "H264"),
            ("audio", 0, "AAC"),
            ("audio", 1, "AAC"),
        ], stream
        assert stream["audio"]["sample_rate"] == 44100, f"the first audio track's: {stream['audio']}"


def test_the_api_counts_tracks_that_are_too_many(servers):
    server = servers(top=api.CONF % "", vhosts=WAITING)
    tags = media.tags(media.plain())
    with publishing.Steady(rtmp.publisher(server, "live", "many"), with_tracks(tags, range(1, 10))):
        stream = api.wait_stream(server, "many", lambda stream: stream.get("dropped_tracks") == 2)
        assert [track["track"] for track in stream["tracks"] if track["kind"] == "audio"] == list(range(8)), stream
    with publishing.Steady(rtmp.publisher(server, "live", "few"), with_tracks(tags, range(1, 8))):
        stream = api.wait_stream(server, "few", lambda stream: len(stream.get("tracks", ())) == 9)
        assert "dropped_tracks" not in stream, stream


def test_forwarding_passes_all_tracks_to_a_server_that_takes_them(servers, tool, tmp_path):
    second = servers(vhosts=default_vhost(play="mw_latency 50;"))
    first = servers(
        vhosts=default_vhost(vhost=f"forward {{ enabled on; destination 127.0.0.1:{second.rtmp_port}; }}", play="mw_latency 50;")
    )
    there, out = recorder(tool, tmp_path, second.rtmp_url("live/s?tracks=all"), "there")
    second.wait_players("live/s", 1)
    want = packets(publish(tool, first, "s"))
    there.finish(20)
    ffmpeg.assert_same_packets(want, ffmpeg.framemd5(out.read_text()), "FFmpeg 9 behind the second server")


def named(tags, names):
    """The tags with onMetaData that names audio tracks: id -> (language, label)."""
    tracks = {str(track): {"language": language, "label": label} for track, (language, label) in names.items()}
    metadata = amf0.encode("onMetaData", {"audioTrackIdInfoMap": tracks})
    return [flv.Tag(flv.SCRIPT, 0, metadata), *[tag for tag in tags if tag.type != flv.SCRIPT]]


def probe(path):
    words = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", path]
    return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["streams"]


def test_a_recording_as_mp4_has_all_tracks_and_as_flv_the_first(servers):
    tags = media.tags(media.two_audio_tracks())
    published = named(tags, {0: ("eng", "Stadium"), 1: ("deu", "Kommentar")})
    want = packets(media.two_audio_tracks())
    for form in ("mp4", "flv"):
        server = servers(vhosts=dvr.vhost(f"./rec/[app]/[stream].[timestamp].{form}"))
        with rtmp.publisher(server, "live", "one") as client:
            publishing.send_all(client, published)
        (recorded,) = dvr.wait_files(server, 1)
        dvr.check_clean(recorded)
        got = packets(recorded)
        assert len(got) == (3 if form == "mp4" else 2), f"{form} has the streams {list(got)}"
        for stream, of_stream in got.items():
            assert [packet.md5 for packet in want[stream]] == [packet.md5 for packet in of_stream], (
                f"{form}, stream {stream}: other packets than were published"
            )
        if form == "flv":
            server.wait_log("AAC is not recorded: an FLV file has the first track of each kind only")
            continue
        audio = [stream for stream in probe(recorded) if stream["codec_type"] == "audio"]
        names = [(one["tags"]["language"], one["tags"]["handler_name"]) for one in audio]
        assert names == [("eng", "Stadium"), ("deu", "Kommentar")], f"languages and labels of the MP4: {names}"
        # Both begin where they began: in step within what FLV's milliseconds allow.
        starts = [float(one["start_time"]) for one in audio]
        assert abs(starts[0] - starts[1]) < 0.03, f"the audio tracks begin at {starts} s"


def test_a_recording_as_mp4_has_the_tracks_behind_one_that_mp4_does_not_carry(servers):
    """Audio alone, whose first track is Speex."""
    path = media.two_audio_tracks()
    tags = [tag for tag in media.tags(path) if tag.type == flv.AUDIO and (flv.track_of(tag) == 1 or flv.is_frame(tag))]
    tags = [tag if flv.track_of(tag) == 1 else tag._replace(body=b"\xb6" + tag.body[2:]) for tag in tags]
    server = servers(vhosts=dvr.vhost("./rec/[app]/[stream].[timestamp].mp4"))
    with rtmp.publisher(server, "live", "one") as client:
        publishing.send_all(client, tags)
    (recorded,) = dvr.wait_files(server, 1)
    got = packets(recorded)
    assert len(got) == 1, f"the MP4 has the streams {list(got)}"
    assert [packet.md5 for packet in got[0]] == [packet.md5 for packet in packets(path)[2]], "packets of the second track"
    server.wait_log("Speex is not recorded")


def one_track(tag, track, payload=None):
    """An AAC tag as a multitrack message of one track."""
    body = bytes([0x95, tag.body[1]]) + b"mp4a" + bytes([track]) + (tag.body[2:] if payload is None else payload)
    return tag._replace(body=body)


def with_tracks(tags, ids):
    """The same with further audio tracks, copies of the first."""
    out = []
    for tag in tags:
        out.append(tag)
        if tag.type == flv.AUDIO:
            out.extend(one_track(tag, track) for track in ids)
    return out


def test_tracks_that_are_too_many_or_broken_hurt_nobody(server):
    """Sixteen audio tracks, and noise in two of them: the first comes to a player as it was published, also when
    the player asks for all; of the others no more than seven."""
    noise = random.Random(4711)
    tags = media.tags(media.plain())[:250]
    published = []
    for tag in tags:
        published.append(tag)
        if tag.type != flv.AUDIO:
            continue
        published.extend(one_track(tag, track) for track in range(1, 16))
        # An unknown codec, and sequence headers that are none.
        published.append(tag._replace(body=bytes([0x95, 0x01]) + b"????" + bytes([5]) + noise.randbytes(40)))
        published.append(tag._replace(body=bytes([0x95, 0x00]) + b"fLaC" + bytes([6]) + noise.randbytes(20)))
    first = publishing.Collector(rtmp.player(server, "live", "many", timeout=scaled(20)))
    everything = publishing.Collector(rtmp.player(server, "live", "many", connect={"capsEx": 2}, timeout=scaled(20)))
    bystander_tags = media.tags(media.with_b_frames())[:250]
    bystander = publishing.Collector(http.Live(server.http_port, "/live/other.flv", wait=False, timeout=scaled(20)))
    server.wait_players("live/many", 2)
    server.wait_players("live/other", 1)
    with rtmp.publisher(server, "live", "other") as other, rtmp.publisher(server, "live", "many") as client:
        publishing.send_all(client, published)
        publishing.send_all(other, bystander_tags)
    flv.assert_same(tags, first.finish(scaled(20), "RTMP"), "a player that knows one track")
    got = everything.finish(scaled(20), "RTMP, all tracks")
    flv.assert_same(tags, [tag for tag in got if tag.type != flv.AUDIO or tag.body[0] != 0x95], "the first of all tracks")
    ids = {tag.body[6] for tag in got if tag.type == flv.AUDIO and tag.body[0] == 0x95}
    assert ids == set(range(1, 8)), f"tracks 1 to 7 of fifteen are passed on: {sorted(ids)}"
    flv.assert_same(bystander_tags, bystander.finish(scaled(20), "HTTP-FLV"), "the bystander")
