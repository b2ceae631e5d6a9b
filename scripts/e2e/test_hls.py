"""HLS: the published packets, all of them and no others, in segments that begin with keyframes; read by our own checker
and by FFmpeg; as HTTP has it."""

import gzip
import re
import time

import pytest

from lib import api, ffmpeg, flv, hls, http, media, publishing, rtmp, ts
from lib.timing import scaled, wait_until

PATH = "/live/one.m3u8"
SOURCES = {
    "b-frames": media.with_b_frames,
    "plain": media.plain,
    "hevc": media.hevc,
    "mp3": media.h264_mp3,
    "aac-only": media.audio_only,
    "mp3-only": lambda: media.audio_only("mp3"),
    "video-only": media.video_only,
}


GOOD = """#EXTM3U
#EXT-X-VERSION:6
#EXT-X-TARGETDURATION:2
#EXT-X-MEDIA-SEQUENCE:7
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MAP:URI="init.mp4"
#EXT-X-KEY:METHOD=AES-128,URI="k?a=b",IV=0x00000000000000000000000000000001
#EXTINF:2.000,
7.m4s
#EXT-X-DISCONTINUITY
#EXT-X-KEY:METHOD=NONE
#EXTINF:0.040,
8.m4s?x=1
#EXT-X-ENDLIST
"""
GOOD_VARIANT = """#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="a, b",DEFAULT=YES,AUTOSELECT=YES
#EXT-X-STREAM-INF:BANDWIDTH=9,CODECS="avc1.64001f,mp4a.40.2",FRAME-RATE=25.000,AUDIO="audio"
a.m3u8?x
"""


def test_the_reader_accepts_what_is_right():
    playlist = hls.Playlist(GOOD)
    assert [segment.uri for segment in playlist.segments] == ["7.m4s", "8.m4s?x=1"]
    assert playlist.ended and playlist.segments[0].key.uri == "k?a=b" and not playlist.segments[1].key
    master = hls.Multivariant(GOOD_VARIANT)
    assert master.variant["CODECS"] == "avc1.64001f,mp4a.40.2" and master.audio[0]["NAME"] == "a, b"


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("DURATION:2", "DURATION: 2"),
        ("DURATION:2", "DURATION:2 "),
        ("DURATION:2", "DURATION:2.0"),
        ("DURATION:2", "DURATION:+2"),
        ("DURATION:2", "DURATION:1"),
        ("SEQUENCE:7", "SEQUENCE:-7"),
        ("SEQUENCE:7", "SEQUENCE:0x7"),
        ("SEQUENCE:7\n", "SEQUENCE:7\n#EXT-X-MEDIA-SEQUENCE:7\n"),
        ("VERSION:6", "VERSION:2"),
        ("VERSION:6", "VERSION:5"),
        ("#EXT-X-VERSION:6\n", ""),
        ("#EXTM3U\n", "#EXTM3U \n"),
        ("#EXTM3U\n", "\ufeff#EXTM3U\n"),
        ("#EXTM3U\n", "#EXTM3U\r\n"),
        ("#EXTINF:2.000,", "#EXTINF: 2.000,"),
        ("#EXTINF:2.000,", "#EXTINF:2.000"),
        ("#EXTINF:2.000,", "#EXTINF:2,000,"),
        ("#EXTINF:2.000,", "#EXTINF:nan,"),
        ("#EXTINF:2.000,\n", ""),
        ("#EXTINF:2.000,\n", "#EXTINF:2.000,\n\n"),
        ("7.m4s", "7 .m4s"),
        ("7.m4s", "7.m4s "),
        ("SEGMENTS", "SEGMENTS:YES"),
        ("DISCONTINUITY\n", "DISCONTINUITY:\n"),
        ("8.m4s?x=1\n#EXT-X-ENDLIST", "8.m4s\n#EXT-X-ENDLIST\n#EXTINF:1.000,\n9.m4s"),
        ("8.m4s?x=1\n", ""),
        ('URI="k?a=b",', 'URI="k?a=b", '),
        ('URI="k?a=b"', "URI=k?a=b"),
        ("METHOD=NONE", 'METHOD=NONE,URI="k"'),
        ("#EXT-X-MAP:", "#EXT-X-MAPS:"),
        ("1\n#EXT-X-ENDLIST\n", "1\n#EXT-X-ENDLIST"),
    ],
)
def test_the_reader_refuses_what_players_refuse(right, wrong):
    assert GOOD.count(right) >= 1
    with pytest.raises(AssertionError):
        hls.Playlist(GOOD.replace(right, wrong, 1))


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("BANDWIDTH=9", "BANDWIDTH= 9"),
        ("BANDWIDTH=9,", "BANDWIDTH=9, "),
        ("BANDWIDTH=9,", "BANDWIDTH=9,BANDWIDTH=9,"),
        ("BANDWIDTH=9,", "BANDWIDTH=9,,"),
        ("BANDWIDTH=9,", ""),
        ("=25.000", "=25"),
        ('"avc1.64001f,mp4a.40.2"', "avc1.64001f"),
        ('"avc1.64001f,mp4a.40.2"', '""'),
        (',AUDIO="audio"', ""),
        (',AUDIO="audio"', ',AUDIO="audio",'),
        ("a.m3u8?x\n", "a.m3u8?x\n#EXT-X-ENDLIST\n"),
        ("TYPE=AUDIO", "TYPE=audio"),
    ],
)
def test_the_reader_refuses_variants_that_players_refuse(right, wrong):
    assert GOOD_VARIANT.count(right) >= 1
    with pytest.raises(AssertionError):
        hls.Multivariant(GOOD_VARIANT.replace(right, wrong, 1))


def publish(server, tags, name="one", speed=40, app="live"):
    with rtmp.publisher(server, app, name, timeout=scaled(10)) as client:
        publishing.send_all(client, tags, speed)


def filters(name, from_flv):
    """What makes packets of FLV and of TS alike: no delimiters and parameter sets, no ADTS headers."""
    words = []
    if name not in ("aac-only", "mp3-only"):
        parts = "filter_units=remove_types=32-35" if name == "hevc" else "filter_units=remove_types=7-9"
        codec = "hevc" if name == "hevc" else "h264"
        words += ["-bsf:v", f"{codec}_mp4toannexb,{parts}" if from_flv else parts]
    if not from_flv and "mp3" not in name and name != "video-only":
        words += ["-bsf:a", "aac_adtstoasc"]
    return words


@pytest.mark.parametrize("storage", ["disk", "memory"])
@pytest.mark.parametrize("name", SOURCES)
def test_ts_has_the_published_packets(servers, name, storage):
    server = servers(vhosts=hls.vhost(storage=storage))
    path = SOURCES[name]()
    tags = media.tags(path)
    publish(server, tags)
    playlist = hls.wait_end(server, PATH)
    assert len(playlist.segments) >= 2, f"several segments should have come:\n{playlist.text}"
    checker = ts.Checker()
    for segment in playlist.segments:
        checker.segment(hls.segment_bytes(server, PATH, segment), segment.discontinuity)
    ts.assert_same(tags, checker.assert_good(f"HLS of {name}"), f"HLS of {name}")
    got = hls.packets(server.http_url(PATH[1:]), *filters(name, False))
    hls.assert_same(hls.packets(path, *filters(name, True)), got, f"FFmpeg by HLS, {name}")
    files = [entry for entry in (server.dir / "html").rglob("*") if entry.is_file()]
    assert (len(files) == 0) == (storage == "memory"), f"storage {storage}, and these files: {files}"


@pytest.mark.parametrize("storage", ["disk", "both"])
@pytest.mark.parametrize("name", SOURCES)
def test_fmp4_has_the_published_packets(servers, tmp_path, name, storage):
    server = servers(vhosts=hls.vhost(storage=storage, use_fmp4="on"))
    path = SOURCES[name]()
    publish(server, media.tags(path))
    playlist = hls.wait_end(server, PATH)
    maps = {segment.map for segment in playlist.segments}
    assert maps == {"one/init.mp4"}, f"one initialisation segment is enough:\n{playlist.text}"
    want = hls.packets(path)
    hls.assert_same(want, hls.packets(server.http_url(PATH[1:])), f"FFmpeg by HLS, {name}")
    whole = hls.fetch(server, PATH, "one/init.mp4")
    whole += b"".join(hls.segment_bytes(server, PATH, segment) for segment in playlist.segments)
    (tmp_path / "whole.mp4").write_bytes(whole)
    hls.assert_same(want, hls.packets(tmp_path / "whole.mp4"), f"the segments of {name} as a file")
    assert (server.dir / "html/live/one.m3u8").read_text() == playlist.text, "the playlist on disk should be HTTP's"


@pytest.mark.parametrize("form", ["ts", "fmp4"])
def test_encrypted(servers, form):
    server = servers(
        vhosts=hls.vhost(keys="on", fragments_per_key=2, use_fmp4="on" if form == "fmp4" else "off", fragment="1")
    )
    path = media.with_b_frames()
    publish(server, media.tags(path))
    playlist = hls.wait_end(server, PATH)
    keys = [segment.key.uri for segment in playlist.segments]
    assert keys == [f"one-{number // 2 * 2}.key" for number in range(len(keys))], f"a key for two segments each: {keys}"
    ivs = {segment.key.iv for segment in playlist.segments}
    assert len(ivs) == len(keys), f"each segment should have an IV of its own:\n{playlist.text}"
    secrets = {hls.fetch(server, PATH, uri) for uri in keys}
    assert len(secrets) == len(set(keys)), "each key should be another one"
    segment = hls.fetch(server, PATH, playlist.segments[0].uri)
    # One byte of what is encrypted is any byte now and then.
    is_plain = segment[4:8] in (b"styp", b"moof") or set(segment[: 8 * 188 : 188]) == {ord("G")}
    assert not is_plain, f"a segment should not be plain: {segment[:16]}"
    assert (server.dir / "html/live" / keys[0]).read_bytes() in secrets
    reader = ["-allowed_extensions", "ALL", "-i", server.http_url(PATH[1:])]
    got = hls.packets(reader[-1], *(filters("b-frames", False) if form == "ts" else []),
                      run=lambda *words: ffmpeg.command9(*reader[:2], *words))  # fmt: skip
    want = hls.packets(path, *(filters("b-frames", True) if form == "ts" else []))
    hls.assert_same(want, got, f"FFmpeg by encrypted HLS, {form}")


def test_http(servers):
    server = servers(vhosts=hls.vhost(dispose=30))
    with rtmp.publisher(server, "live", "one") as client:
        tags = media.tags(media.with_b_frames())
        publishing.send_all(client, [tag for tag in tags if tag.timestamp < 1000])
        response = wait_until(lambda: http.get(server.http_port, PATH), 5, "an answer")
        assert response.status == 404 and b"first HLS segment is not complete yet" in response.body, response.describe()
        publishing.send_all(client, [tag for tag in tags if tag.timestamp >= 1000])
        playlist = hls.wait(server, PATH, lambda playlist: len(playlist.segments) >= 3)

        response = http.get(server.http_port, PATH, Accept_Encoding="br, gzip;q=0.5")
        assert response.headers["content-type"] == "application/vnd.apple.mpegurl", response.describe()
        assert "no-store" in response.headers["cache-control"], response.describe()
        assert response.headers["access-control-allow-origin"] == "*", response.describe()
        assert response.headers["content-encoding"] == "gzip", response.describe()
        assert "Accept-Encoding" in response.headers["vary"], response.describe()
        assert gzip.decompress(response.body).decode() == playlist.text
        response = http.get(server.http_port, PATH, Accept_Encoding="gzip;q=0")
        assert "content-encoding" not in response.headers and response.body.decode() == playlist.text

        for storage_path in [f"/live/{playlist.segments[0].uri}"]:
            whole = http.get(server.http_port, storage_path)
            assert whole.headers["content-type"] == "video/mp2t", whole.describe()
            assert whole.headers["cache-control"] == "public, max-age=30", whole.describe()
            assert whole.headers["access-control-allow-origin"] == "*", whole.describe()
            part = http.get(server.http_port, storage_path, Range="bytes=188-375")
            assert part.status == 206 and part.body == whole.body[188:376], part.describe()
            same = http.get(server.http_port, storage_path, If_None_Match=whole.headers["etag"])
            assert same.status == 304, same.describe()
            head = http.get(server.http_port, storage_path, method="HEAD")
            assert head.headers["content-length"] == str(len(whole.body)), head.describe()
        assert http.get_status(server.http_port, "/live/other.m3u8") == 404
        assert http.get_status(server.http_port, "/live/one-99.ts") == 404
        # A file that is gone is no answer for a cache to keep.
        (server.dir / "html/live" / playlist.segments[0].uri).unlink()
        response = http.get(server.http_port, f"/live/{playlist.segments[0].uri}")
        assert response.status == 404 and response.headers["cache-control"] == "no-store", response.describe()


def test_segments_in_memory_have_ranges_too(servers):
    server = servers(vhosts=hls.vhost(storage="memory"))
    publish(server, media.tags(media.with_b_frames()))
    path = "/live/" + hls.wait_end(server, PATH).segments[0].uri
    whole = http.get(server.http_port, path)
    assert len(whole.body) > 70_000, "it should be of several blocks"
    for first, last in ((0, 0), (32_700, 65_600), (188, 375)):
        part = http.get(server.http_port, path, Range=f"bytes={first}-{last}")
        assert part.status == 206 and part.body == whole.body[first : last + 1], part.describe()
        assert part.headers["content-range"] == f"bytes {first}-{last}/{len(whole.body)}", part.describe()
    assert http.get(server.http_port, path, Range="bytes=99999999-").status == 416
    assert http.get(server.http_port, path, If_None_Match=whole.headers["etag"]).status == 304


@pytest.mark.parametrize("relative, in_segments", [("off", "on"), ("on", "off")])
def test_viewers_are_counted(servers, relative, in_segments):
    server = servers(top=api.ON, vhosts=hls.vhost(ctx="on", ts_ctx=in_segments, master_m3u8_path_relative=relative))
    publish(server, media.tags(media.with_b_frames()))
    wait_until(lambda: http.get_status(server.http_port, PATH) == 200, 10, "the playlist")
    master = http.get(server.http_port, PATH + "?token=a%20b").body.decode().splitlines()
    variant = hls.Multivariant("\n".join(master) + "\n").variant
    assert sorted(variant) == ["AVERAGE-BANDWIDTH", "BANDWIDTH", "CODECS", "FRAME-RATE", "RESOLUTION"], master
    assert re.fullmatch(r"avc1\.[0-9a-f]{6},mp4a\.40\.2", variant["CODECS"]), master
    assert variant["FRAME-RATE"] == "25.000" and variant["RESOLUTION"] == "768x320", master
    start = "one.m3u8?hls_ctx=" if relative == "on" else "/live/one.m3u8?hls_ctx="
    assert master[1] == "#EXT-X-INDEPENDENT-SEGMENTS", master
    assert master[-1].startswith(start) and master[-1].endswith("&token=a%20b"), master
    context = master[-1].split("hls_ctx=")[1].split("&")[0]
    url = PATH + f"?hls_ctx={context}"
    playlist = hls.wait_end(server, url)
    query = f"?hls_ctx={context}" if in_segments == "on" else ""
    assert all(segment.uri.endswith(f".ts{query}") for segment in playlist.segments), playlist.text
    hls.fetch(server, PATH, playlist.segments[0].uri)
    hls.get(server, url)
    viewers = [one["id"] for one in api.clients(server) if one["type"] == "hls-play"]
    assert viewers == [context], f"one viewer, whatever it fetches: {viewers}"
    assert http.get_status(server.http_port, PATH + "?hls_ctx=../x") == 400
    # FFmpeg follows the master playlist.
    got = hls.packets(server.http_url(PATH[1:]), *filters("b-frames", False))
    hls.assert_same(hls.packets(media.with_b_frames(), *filters("b-frames", True)), got, "FFmpeg by a master playlist")
    server.stop()
    line = server.wait_log(rf"\[{context}\].* hls-play ended: __defaultVhost__/live/one")
    if in_segments == "on":
        assert int(line.split("sent ")[1].split()[0]) > 100_000, f"the segment should be in its bytes: {line}"


def test_the_window_slides_and_what_left_it_is_deleted(servers):
    server = servers(vhosts=hls.vhost(fragment="0.5", window="1.5", rejoin=300, dispose=1, publish="normal_timeout 60000;"))
    sequences = []
    with rtmp.publisher(server, "live", "one") as client:
        tags = media.from_keyframe(media.frequent_keyframes())
        frames = flv.frames(tags)
        publishing.send_all(client, [tag for tag in tags if not flv.is_frame(tag)])
        first = server.dir / "html/live/one-0.ts"
        for round_ in range(3):
            began = time.monotonic()
            for tag in frames:
                client.send_tag(tag._replace(timestamp=tag.timestamp + round_ * (frames[-1].timestamp + 40)))
            playlist = hls.wait(
                server,
                PATH,
                lambda found: len(found.segments) >= 3 and found.sequence > (sequences[-1] if sequences else -1),
            )
            if playlist.sequence > 0 and (not sequences or sequences[-1] == 0):
                is_there = first.exists()
                # The playlist's length is how long it stays.
                assert is_there or time.monotonic() - began > 1.5, "who has read the last playlist may still ask for it"
            sequences.append(playlist.sequence)
            for segment in playlist.segments:
                hls.fetch(server, PATH, segment.uri)
        wait_until(lambda: not first.exists(), 40, "one-0.ts is deleted once nobody can want it")
        assert http.get_status(server.http_port, "/live/one-0.ts") == 404
        last = hls.wait(server, PATH, lambda found: found.segments)
        for segment in last.segments:
            hls.fetch(server, PATH, segment.uri)
    wait_until(lambda: not (server.dir / "html/live").exists(), 10, "nothing is left 1 s after the publisher")
    assert http.get_status(server.http_port, PATH) == 404
    # It begins anew, behind all that was.
    publish(server, media.tags(media.with_b_frames()))
    again = hls.wait(server, PATH, lambda found: found.segments)
    assert again.sequence >= last.sequence + len(last.segments), f"{again.text} should be behind {last.text}"


@pytest.mark.parametrize("name", ["../../etc/x", "..", "a\x01b", "a\\b", "x" * 300])
def test_names_that_lead_elsewhere_are_no_streams(servers, tmp_path, name):
    server = servers(vhosts=hls.vhost())
    with pytest.raises(rtmp.Refused):
        publish(server, media.tags(media.with_b_frames()), name=name)
    assert not [entry for entry in tmp_path.rglob("*") if entry.suffix in (".ts", ".m3u8", ".tmp")]


def test_a_name_that_is_no_file_name_is_refused_and_the_stream_lives(servers, tmp_path):
    server = servers(top=api.ON, vhosts=hls.vhost())
    name = "x" * 200
    with rtmp.publisher(server, "live", name) as client:
        publishing.send_all(client, media.tags(media.with_b_frames()))
        api.explained(server, name, "outputs", "hls: .*the stream's name has 200 bytes")
        player = rtmp.player(server, "live", name)
        wait_until(lambda: any(flv.is_frame(tag) for tag in player.tags()), 5, "the stream itself lives")
        player.close()
    assert not [entry for entry in tmp_path.rglob("*") if entry.suffix in (".ts", ".m3u8", ".tmp")]


def test_a_slash_in_the_name_is_a_folder(servers):
    server = servers(vhosts=hls.vhost())
    publish(server, media.tags(media.with_b_frames()), name="a/b")
    hls.wait_end(server, "/live/a/b.m3u8")
    assert (server.dir / "html/live/a/b.m3u8").exists()


def test_two_streams_do_not_share_a_playlist(servers):
    server = servers(vhosts=hls.vhost(m3u8_file="[stream].m3u8"))
    tags = media.tags(media.with_b_frames())
    with rtmp.publisher(server, "live", "one") as first, rtmp.publisher(server, "other", "one") as second:
        publishing.send_all(first, tags)
        publishing.send_all(second, tags)
        server.wait_log("HLS of .*/other/one refused: its playlist would be that of .*/live/one")
    playlist = hls.wait_end(server, "/one.m3u8")
    assert {segment.uri.split("/")[0] for segment in playlist.segments} == {"live"}, playlist.text


def test_paths_with_variables(servers):
    server = servers(
        vhosts=hls.vhost(
            m3u8_file="lists/[vhost]/[app]/[stream].m3u8",
            ts_file="[app]/[stream]/[2006]-[01]/[timestamp]-[duration]-[seq].ts",
            entry_prefix=f"http://127.0.0.1:{1}",
        )
    )
    tags = media.tags(media.with_b_frames())
    publish(server, tags, name="a b#ü")
    playlist = hls.wait_end(server, "/lists/__defaultVhost__/live/a%20b%23%C3%BC.m3u8")
    checker = ts.Checker()
    for segment in playlist.segments:
        assert segment.uri.startswith("http://127.0.0.1:1/live/a%20b%23%C3%BC/20"), playlist.text
        path = "/" + segment.uri.split("/", 3)[3]
        assert f"-{round(segment.duration * 1000)}-{segment.sequence}.ts" in path, playlist.text
        checker.segment(http.get(server.http_port, path).body, segment.discontinuity)
    ts.assert_same(tags, checker.assert_good("segments"), "segments")


def test_where_http_static_mounts_the_directory(servers):
    server = servers(
        vhosts=hls.vhost(path="./other", more="http_static { enabled on; mount [vhost]/hls; dir ./other; }")
    )
    publish(server, media.tags(media.with_b_frames()))
    for path in (PATH, "/hls" + PATH):
        playlist = hls.wait_end(server, path)
        for segment in playlist.segments:
            hls.fetch(server, path, segment.uri)
