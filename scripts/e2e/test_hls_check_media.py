"""research/hls_check.py: rules of media and of responses, each broken once in what ffmpeg made."""

import subprocess
from types import SimpleNamespace

import pytest

from lib import ffmpeg
from lib.hls_checked import PLAYLIST, Found, names, response

from hls_check import fetcher, http_rules, measured, multivariant, playlist, rules
from hls_check.media import Media


def made(directory, *words):
    """The text of a playlist of four segments of a second, and its files."""
    directory.mkdir()
    video = ["-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25:duration=4", "-f", "lavfi", "-i", "sine=sample_rate=48000:duration=4"]
    video += ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac"]
    hls = ["-f", "hls", "-hls_time", "1", "-hls_list_size", "0", "-hls_flags", "independent_segments", *words, directory / "list.m3u8"]
    subprocess.run([str(word) for word in ffmpeg.command(*video, *hls)], check=True, capture_output=True, cwd=directory)
    files = {path.name: path.read_bytes() for path in directory.iterdir()}
    return files.pop("list.m3u8").decode(), files


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    top = tmp_path_factory.mktemp("streams")
    (top / "key").write_bytes(bytes(range(16)))
    (top / "key.info").write_text(f"key\n{top}/key\n{'0' * 31}7\n")
    kinds = {"ts": [], "mp4": ["-hls_segment_type", "fmp4"], "keys": ["-hls_key_info_file", top / "key.info"]}
    found = {name: made(top / name, *words) for name, words in kinds.items()}
    found["keys"][1]["key"] = bytes(range(16))
    # Each segment of MP4 is one part, too.
    text, files = found["mp4"]
    for number in range(4):
        files[f"p{number}"] = files[f"list{number}.m4s"]
        text = text.replace("#EXTINF", f'#EXT-X-PART:DURATION=1.000,INDEPENDENT=YES,URI="p{number}"\n#EX TINF', 1)
    found["parts"] = (text.replace("#EX TINF", "#EXTINF"), files)
    return found


def checked(text, files):
    """What is found, and the Media. The playlist comes in two steps, the last part before its segment."""
    found = Found()
    media = Media(found, lambda uri, *_: files.get(uri))
    whole = playlist.read(text)
    if whole.segments[-1].parts:
        media.update(playlist.read(text[: text.rindex("#EXTINF")]))
    media.update(whole)
    return found.ids(), media


def packets(data):
    return [data[at : at + 188] for at in range(0, len(data), 188)]


def without_packet(data, number):
    return b"".join(one for index, one in enumerate(packets(data)) if index != number)


def first_video(data):
    """The index of the first packet of PID 256."""
    return next(index for index, one in enumerate(packets(data)) if one[1] & 0x1F == 1 and one[2] == 0)


def no_tables(data):
    return b"".join(one for one in packets(data) if int.from_bytes(one[1:3], "big") & 0x1FFF not in (0, 4096))


def tables_last(data):
    return packets(data)[first_video(data)] + data


def later(data, ticks):
    """All tfdt of a segment by so many ticks of each track; they are of 64 bits."""
    out, at = bytearray(data), data.find(b"tfdt")
    while at >= 0:
        out[at + 8 : at + 16] = (int.from_bytes(out[at + 8 : at + 16], "big") + ticks).to_bytes(8, "big")
        at = data.find(b"tfdt", at + 4)
    return bytes(out)


def no_sync(data):
    """The first sample of the first run is none that a decoder can begin with."""
    at = data.find(b"trun")
    assert data[at + 7] & 4, "first_sample_flags are there"
    return data[: at + 16] + (0x01010000).to_bytes(4, "big") + data[at + 20 :]


# (rule, stream, file that is changed, how; or text, what stands there, what breaks it)
BYTES = [
    ("media-format", "ts", "list2.ts", lambda data: b"<html>"),
    ("media-format", "mp4", "list2.m4s", lambda data: data[:-100]),
    ("media-format", "mp4", "init.mp4", lambda data: data[:40]),
    ("media-encrypted", "keys", "list2.ts", lambda data: data[:-1]),
    ("media-encrypted", "keys", "key", lambda data: b"\1" * 16),
    ("key-size", "keys", "key", lambda data: data + b"\n"),
    ("media-independent", "mp4", "list2.m4s", no_sync),
    ("media-independent", "parts", "p2", no_sync),
    ("parts-joined", "parts", "p3", lambda data: data + b"\0\0\0\x08free"),
    ("ts-packets", "ts", "list2.ts", lambda data: data[:-1]),
    ("ts-packets", "ts", "list2.ts", lambda data: data[:188] + b"\0" + data[189:]),
    ("ts-tables", "ts", "list2.ts", no_tables),
    ("ts-tables-first", "ts", "list2.ts", tables_last),
    ("ts-split", "ts", "list2.ts", lambda data: without_packet(data, first_video(data))),
    ("ts-continuity", "ts", "list2.ts", lambda data: without_packet(data, len(packets(data)) // 2)),
    ("ts-continuity", "ts", "list2.ts", lambda data: without_packet(data, first_video(data))),
    ("mp4-decode-time", "mp4", "list2.m4s", lambda data: later(data, 2000)),
    ("mp4-decode-time", "parts", "p3", lambda data: later(data, 2000)),
    ("mp4-boxes", "mp4", "list2.m4s", lambda data: data + b"\0\0\0\x08styp"),
    ("media-jump", "mp4", "list2.m4s", lambda data: later(data, 100_000)),
]  # fmt: skip
LINES = [
    ("media-map", "mp4", '#EXT-X-MAP:URI="init.mp4"\n', ""),
    ("media-duration", "ts", "#EXTINF:1.000000,\nlist2", "#EXTINF:1.200000,\nlist2"),
    ("media-duration", "parts", 'DURATION=1.000,INDEPENDENT=YES,URI="p3"', 'DURATION=1.200,INDEPENDENT=YES,URI="p3"'),
    ("media-durations", "ts", "#EXTINF:1.000000,\nlist1.ts\n#EXTINF:1.000000", "#EXTINF:1.080000,\nlist1.ts\n#EXTINF:1.080000"),
    ("media-jump", "ts", "list2.ts", "list3.ts"),
    ("media-tracks", "ts", "list2.ts", "audio.ts"),
    ("media-independent", "ts", "list2.ts", "late.ts"),
]  # fmt: skip


@pytest.mark.parametrize("rule, kind, file, change", BYTES, ids=names(BYTES))
def test_broken_bytes(streams, rule, kind, file, change):
    text, files = streams[kind]
    found, _ = checked(text, {**files, file: change(files[file])})
    assert rule in found, f"{rule} should be found, {sorted(found)} was"


@pytest.mark.parametrize("rule, kind, right, wrong", LINES, ids=names(LINES))
def test_a_playlist_of_other_media(streams, rule, kind, right, wrong):
    text, files = streams[kind]
    assert right in text, text
    video = [one for one in packets(files.get("list2.ts", b"")) if one[1] & 0x1F == 1 and one[2] == 0]
    frames = [index for index, one in enumerate(video) if one[1] & 0x40]
    more = {}
    if kind == "ts":
        tables = files["list2.ts"][: 188 * 3]
        audio = [one for one in packets(files["list2.ts"]) if one[1] & 0x1F == 1 and one[2] == 1]
        program = bytearray(tables)
        more = {"late.ts": tables + b"".join(video[frames[1] :]), "audio.ts": bytes(program).replace(b"\x1b\xe1\x00", b"\x06\xe1\x00") + b"".join(audio)}
    found, _ = checked(text.replace(right, wrong), {**files, **more})
    assert rule in found, f"{rule} should be found, {sorted(found)} was"


@pytest.mark.parametrize("kind", ["ts", "mp4", "keys", "parts"])
def test_what_ffmpeg_made_is_right(streams, kind):
    found, media = checked(*streams[kind])
    assert found == set()
    assert len(media.rates) == 4 and media.frame_rate == pytest.approx(25), media.rates
    if kind in ("mp4", "parts"):
        assert media.sizes == {(160, 90)} and media.codecs == {"avc1.42c00b", "mp4a.40.2"}, media.codecs


def test_a_last_segment_with_more_audio(streams):
    """Its publisher left: EXTINF may be that of the audio."""
    text, files = streams["ts"]
    video = [index for index, one in enumerate(packets(files["list3.ts"])) if one[1] & 0x5F == 0x41 and one[2] == 0]
    cut = set(range(video[5], len(packets(files["list3.ts"]))))
    kept = [one for index, one in enumerate(packets(files["list3.ts"])) if index not in cut or not (one[1] & 0x1F == 1 and one[2] == 0)]
    text = text.replace("#EXT-X-ENDLIST", "#EXT-X-DISCONTINUITY\n#EXTINF:1.000000,\nlist0.ts\n#EXT-X-ENDLIST")
    assert "media-duration" not in checked(text, {**files, "list3.ts": b"".join(kept)})[0]
    no_audio = [one for one in kept if not (one[1] & 0x1F == 1 and one[2] == 1)]
    assert "media-duration" in checked(text, {**files, "list3.ts": b"".join(no_audio)})[0], "nothing is that long"


# --- beside the multivariant playlist

VARIANT = """#EXTM3U
#EXT-X-STREAM-INF:BANDWIDTH=1000,AVERAGE-BANDWIDTH=1000,CODECS="avc1.42c00b,mp4a.40.2",RESOLUTION=160x90,FRAME-RATE=25.000
x.m3u8
"""
MEASURED = [
    ("bandwidth-peak", "BANDWIDTH=1000", "BANDWIDTH=900"),
    ("bandwidth-average", "AVERAGE-BANDWIDTH=1000", "AVERAGE-BANDWIDTH=920"),
    ("codecs-media", "avc1.42c00b", "avc1.64001f"),
    ("codecs-media", ",mp4a.40.2", ""),
    ("resolution-media", "160x90", "320x180"),
    ("frame-rate-media", "25.000", "30.000"),
]  # fmt: skip


def of_measured(text):
    found = Found()
    media = SimpleNamespace(rates=[(120, 1), (120, 1), (150, 1)], codecs={"avc1.42c00b", "mp4a.40.2"}, sizes={(160, 90)}, frame_rate=25.0)
    measured.check(multivariant.read(text), {"x.m3u8": media}, found)
    return found.ids()


@pytest.mark.parametrize("rule, right, wrong", MEASURED, ids=names(MEASURED))
def test_measured(rule, right, wrong):
    assert of_measured(VARIANT) == set()
    assert right in VARIANT and of_measured(VARIANT.replace(right, wrong, 1)) == {rule}


# --- responses

SEGMENT = {"content_type": "video/mp2t", "access_control_allow_origin": "*", "cache_control": "public, max-age=20", "content_length": "188"}
HTTP = [
    ("playlist-known", PLAYLIST, {"content_type": "text/plain"}),
    ("playlist-type", PLAYLIST, {"content_type": "application/x-mpegURL"}),
    ("playlist-gzip", PLAYLIST, {"content_encoding": ""}),
    ("playlist-cache", PLAYLIST, {"cache_control": "public, max-age=3"}),
    ("cors", PLAYLIST, {"access_control_allow_origin": ""}),
    ("cors", SEGMENT, {"access_control_allow_origin": ""}),
    ("media-type", SEGMENT, {"content_type": "application/octet-stream"}),
    ("media-cache", SEGMENT, {"cache_control": "no-cache"}),
    ("media-length", SEGMENT, {"content_length": ""}),
]  # fmt: skip


def of_http(kind, headers):
    found = Found()
    if kind is PLAYLIST:
        http_rules.playlist(response("x", url="http://x/live", **headers), 2, True, False, found)
    else:
        http_rules.media(response("x", **headers), b"\x47" * 188, "segment", found)
    return found.ids()


@pytest.mark.parametrize("rule, kind, broken", HTTP, ids=names(HTTP))
def test_headers(rule, kind, broken):
    assert of_http(kind, kind) == set()
    assert of_http(kind, {**kind, **broken}) == {rule}


def test_a_playlist_by_its_path():
    found = Found()
    http_rules.playlist(response("x", **{**PLAYLIST, "content_type": "text/plain"}), 2, True, False, found)
    assert found.ids() == {"playlist-type"}, "a path that ends in .m3u8 is enough for players"


DATA = bytes(range(200))


class Server:
    """A client whose server has one segment; broken: status, body and headers of some request."""

    def __init__(self, **broken):
        self.broken = broken

    def get(self, url, method="GET", **headers):
        kind = "range" if "Range" in headers else "head" if method == "HEAD" else "tag" if "If_None_Match" in headers else "get"
        status, body = {"range": (206, DATA[1:101]), "head": (200, b""), "tag": (304, b""), "get": (200, DATA)}[kind]
        found = response(body, status, url=url, etag='"x"', content_length="200", access_control_allow_origin="*")
        return found._replace(**self.broken.get(kind, {}))


TAGLESS = {"headers": {"access-control-allow-origin": "*", "content-length": "200"}}
ASKED = [
    ("media-status", {"get": {"status": 404}}),
    ("media-redirect", {"get": {"redirects": 1}}),
    ("media-range", {"range": {"status": 200, "body": DATA}}),
    ("media-range", {"range": {"body": DATA[:100]}}),
    ("media-head", {"head": {"status": 405}}),
    ("media-head", {"head": {"headers": {}}}),
    ("media-tag", {"tag": {"status": 200}}),
    ("media-tag", {"get": TAGLESS}),
]  # fmt: skip


LISTED = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.0,\nb/1.ts\n"


def of_asked(broken, listed=LISTED, seen_at=0):
    """seen_at: when the playlist with the segment came; it is asked for at 0."""
    found = Found()
    follower = SimpleNamespace(add=found, url="http://x/a/list.m3u8", name_="x", latest=playlist.read(listed))
    one = fetcher.Fetcher(follower, SimpleNamespace(insecure=False))
    one.client, one._seen_at = Server(**broken), seen_at
    data = one._fetch("b/1.ts", None, "segment")
    return found.ids(), data


@pytest.mark.parametrize("rule, broken", ASKED, ids=names(ASKED))
def test_requests_of_a_segment(rule, broken):
    assert of_asked({}) == (set(), DATA)
    assert of_asked(broken)[0] == {rule}


def test_a_segment_that_left_while_it_was_waited_for():
    gone = {"get": {"status": 404}}
    assert of_asked(gone, LISTED.replace("1.ts", "2.ts"))[0] == {"gone-early"}
    assert of_asked(gone, LISTED.replace("1.ts", "2.ts"), seen_at=-6.5)[0] == set(), "it need not be there any more"


ALL = (*BYTES, *LINES, *MEASURED, *HTTP, *ASKED)
assert {case[0] for case in ALL} <= set(rules.RULES)
