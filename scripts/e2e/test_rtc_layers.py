"""Layers of a WebRTC publisher's simulcast as streams of their own: layers_as_streams. Who plays them, variants of HLS, names
that others have, layers that end and return."""

import contextlib
import json
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from lib import api, dvr, flv, hls, hooks, http, media, mediamtx, pion, publishing, rtc, rtmp, variants_page
from lib.server import ROOT
from lib.timing import SLOW, scaled, wait_until

pytestmark = [
    pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go"),
    pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our streams"),
]

# With the frames' height: the streams that a publisher of pion.LARGE_LAYERS makes.
STREAMS = {"one": 360, "one@h": 180, "one@q": 90}
RTC = "layers_as_streams on; pli_for_rtmp 1;"
HLS = "hls { enabled on; hls_fragment 1; hls_window 10; hls_storage memory; %s }"


def start(servers, more="", hls_more="", rtc_more="", **blocks):
    return servers(**rtc.options(rtc=RTC + rtc_more, vhost=f"{HLS % hls_more} play {{ rejoin_timeout 300; }} {more}", **blocks))


def publish(server, tool, seconds=120, order="qhf", path="live/one"):
    layers = pion.layers("h264", order, pion.LARGE_LAYERS)
    return tool(pion.words("h264", whip=rtc.whip_url(server, path), seconds=seconds, layers=layers))


def published(server):
    return {name: one["publish"].get("cid") for name, one in api.streams(server).items() if one["publish"]["active"]}


def wait_published(server, names, seconds=15):
    return wait_until(
        lambda: (found := published(server)).keys() == set(names) and (found,),
        seconds,
        lambda: f"the streams {sorted(names)} are published; there are {published(server)}",
        0.1,
    )[0]


def multivariant(server):
    response = http.get(server.http_port, "/live/one.m3u8")
    return hls.Multivariant(response.body.decode()) if response.status == 200 else None


def wait_variants(server, names, seconds=20):
    last = []

    def look():
        found = multivariant(server)
        last[:] = [unquote(urlsplit(uri).path).removeprefix("/live/").removesuffix(".m3u8") for uri in found.variants] if found else ["404"]
        return sorted(last) == sorted(names) and found

    return wait_until(look, seconds, lambda: f"the variants {names}; there are {last}", 0.1)


def height_of(url, *options):
    """Of the video, and the codec of the audio, as FFmpeg finds them."""
    words = ["ffprobe", "-v", "error", "-show_streams", "-of", "json", *options, url]
    done = subprocess.run(words, capture_output=True, text=True, timeout=scaled(30), check=False)
    assert done.returncode == 0, f"ffprobe {url}: {done.stderr[-1000:]}"
    found = {one["codec_type"]: one for one in json.loads(done.stdout)["streams"]}
    return found["video"]["height"], found["audio"]["codec_name"]


def test_each_smaller_layer_is_a_stream(servers, tool):
    """Of every protocol, with the publisher's audio; hooks are asked about the publisher once."""
    with hooks.HookServer() as asked:
        block = f"http_hooks {{ enabled on; on_publish http://127.0.0.1:{asked.port}/on_publish; on_unpublish http://127.0.0.1:{asked.port}/on_unpublish; }}"
        rtsp = "rtsp_server { enabled on; listen 127.0.0.1:RTMPS_PORT; }\n"
        server = start(servers, more=f"{block} rtsp {{ enabled on; }} dvr {{ enabled on; dvr_path ./rec/[stream].flv; }}", top=rtsp)
        publisher = publish(server, tool)
        found = wait_published(server, STREAMS)
        assert len(set(found.values())) == 1 and all(found.values()), f"all are of one session: {found}"
        for name, height in STREAMS.items():
            for url in (server.rtmp_url(f"live/{name}"), server.http_url(f"live/{name}.flv")):
                assert height_of(url) == (height, "aac"), f"{url} should have the layer of {height} rows, and AAC"
            url = f"rtsp://127.0.0.1:{server.rtmps_port}/live/{name}"
            found = height_of(url, "-rtsp_transport", "tcp")
            assert found[0] == height, f"{url} should have the layer of {height} rows, it has {found}"
        player = pion.run(codec="h264", whep=rtc.whep_url(server, "live/one@q"), seconds=3)["player"]
        assert player["video"]["got"] > 40 and player["audio"]["got"] > 100, f"by WHEP: {player}"
        publisher.process.terminate()
        wait_published(server, [], 20)
        asked.wait("on_unpublish")
        about = [body["stream"] for body in asked.bodies() if body["action"] in ("on_publish", "on_unpublish")]
        assert about == ["one", "one"], f"one client came and left: {about}"
        # In its first two seconds the stream changes to larger layers, each of which begins a file.
        wait_until(lambda: not dvr.growing(server), 10, "recordings are complete")
        for name, height in STREAMS.items():
            files = [file for file in dvr.files(server) if re.fullmatch(rf"{name}(-\d)?\.flv", file.name)]
            assert len(files) == 1 or name == "one", f"a recording of {name}: {files}"
            file = files[-1]
            assert height_of(file) == (height, "aac"), f"{file} should have the layer of {height} rows, and AAC"


@pytest.mark.parametrize("form", ["", "hls_use_fmp4 on; hls_low_latency on;"], ids=["ts", "fmp4-parts"])
def test_layers_are_variants_of_hls(servers, tool, tmp_path, form):
    """One multivariant playlist, whose variants have the same numbers for the same content."""
    server = start(servers, hls_more=form)
    publish(server, tool)
    wait_published(server, STREAMS)
    found = wait_variants(server, STREAMS)
    bandwidths = []
    for uri, about in found.variants.items():
        name = unquote(urlsplit(uri).path).removeprefix("/live/").removesuffix(".m3u8")
        assert about["RESOLUTION"].endswith(f"x{STREAMS[name]}"), f"{name} has {STREAMS[name]} rows: {found.text}"
        bandwidths.append(about["BANDWIDTH"])
        playlist = http.get(server.http_port, urljoin("/live/", uri))
        assert playlist.status == 200, f"{uri}: {playlist.describe()}"
    assert bandwidths == sorted(bandwidths, key=int, reverse=True), f"in the order of their bandwidths: {found.text}"
    out = tmp_path / "found.json"
    words = [ROOT / "research/hls_check.py", server.http_url("live/one.m3u8"), "--seconds", 8, "--slack", 0.3 * SLOW, "--json", out]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=scaled(60), check=False)
    assert done.returncode in (0, 1) and ", 0 segments" not in done.stdout, f"segments should be fetched: {done.stdout}{done.stderr}"
    errors = [one for one in json.loads(out.read_text())["findings"] if one["severity"] == "error"]
    assert not errors, f"{errors}\n{done.stdout}"


@pytest.mark.quiet
def test_a_player_of_hls_changes_between_layers(servers, tool, tmp_path):
    if not variants_page.is_there("hls.js"):
        pytest.skip("scripts/test installs hls.js and Chromium")
    server = start(servers)
    publish(server, tool)
    wait_variants(server, STREAMS)
    wait_until(lambda: http.get(server.http_port, "/live/one@q.m3u8?hls_ctx=somebody").body.count(b"#EXTINF") >= 7, 20, "as much as the player stays behind")
    page = variants_page.Page(tool, tmp_path, "hls.js", server.http_url("live/one.m3u8"))
    heights = list(STREAMS.values())
    try:
        assert sorted(page.shows(None, among=heights)["known"]) == sorted(heights), page.last()
        for height in (heights[0], heights[2], heights[1], heights[0]):
            page.commands.append(height)
            page.shows(height)
    finally:
        page.close()


@pytest.mark.parametrize("form", ["", "hls_use_fmp4 on;"], ids=["ts", "fmp4"])
def test_a_layer_whose_size_changes(servers, tool, tmp_path, form):
    """An adaptive encoder: the layer's HLS has a discontinuity there, and of fMP4 another initialization."""
    server = start(servers, hls_more=form)
    sizes = {"q": ("160x90", 100), "r": ("128x72", 100)}
    layers = dict(one.split("=") for one in pion.layers("h264", "hf", pion.LARGE_LAYERS).split(","))
    parts = [Path(one.split("=")[1]).read_bytes() for one in pion.layers("h264", "qr", sizes).split(",")]
    changing = tmp_path / "q.h264"
    changing.write_bytes(b"".join(parts))
    order = ",".join([f"q={changing}", f"h={layers['h']}", f"f={layers['f']}"])
    tool(pion.words("h264", whip=rtc.whip_url(server), seconds=60, layers=order))
    wait_published(server, STREAMS)
    last = []

    def changed():
        response = http.get(server.http_port, "/live/one@q.m3u8?hls_ctx=somebody")
        last[:] = [response.body.decode()]
        found = response.status == 200 and hls.Playlist(last[0])
        return found and [one for one in found.segments[1:] if one.discontinuity] and found

    found = wait_until(changed, 30, lambda: f"a discontinuity in {last}", 0.3)
    if form:
        maps = [one.map for one in found.segments]
        assert len(set(maps)) > 1, f"each size has its initialization: {found.text}"
    other = hls.Playlist(http.get(server.http_port, "/live/one@h.m3u8?hls_ctx=somebody").body.decode())
    assert not any(one.discontinuity for one in other.segments), f"one@h goes on: {other.text}"


def test_a_name_that_another_has_is_left_to_it(servers, tool):
    """Its stream is no variant, and the publisher of layers goes on without that one. It gets it when it is free."""
    server = start(servers)
    other = publishing.Steady(rtmp.publisher(server, "live", "one@q", timeout=scaled(10)), media.tags(media.ladder("180p")))
    with contextlib.ExitStack() as stack:
        stack.enter_context(other)
        before = wait_published(server, ["one@q"])
        publish(server, tool)
        found = wait_published(server, STREAMS)
        assert found["one@q"] == before["one@q"] != found["one"] == found["one@h"], f"one@q stays the other's: {found}"
        wait_variants(server, ["one", "one@h"])
        assert "a layer is left out: " in server.log(), server.log()
        stack.close()
        wait_until(lambda: published(server).get("one@q") == found["one"], 15, lambda: f"the layer has its name: {published(server)}", 0.2)
    wait_variants(server, STREAMS)


@pytest.mark.skipif(not rtc.there_is_chromium(), reason="scripts/test installs Chromium")
def test_a_page_switches_layers_off_and_on(servers, pages):
    """The layer's stream ends and returns; its viewer by HTTP-FLV, who came before, goes on."""
    server = start(servers, more="")
    layers = [
        {"rid": "q", "scaleResolutionDownBy": 4, "maxBitrate": 80_000},
        {"rid": "h", "scaleResolutionDownBy": 2, "maxBitrate": 200_000},
        {"rid": "f", "maxBitrate": 500_000},
    ]
    page = pages(source="canvas", zoom=1.5, codec="H264", encodings=layers, publish=rtc.whip_url(server))
    wait_published(server, STREAMS, 40)
    wait_variants(server, STREAMS)
    page.commands.append("off q")
    wait_published(server, ["one", "one@h"], 10)
    wait_until(lambda: http.get(server.http_port, "/live/one@q.m3u8?hls_ctx=somebody").status == 404, 5, "404 of its playlist")
    page.commands.append("on q")
    wait_published(server, STREAMS, 20)
    with http.Live(server.http_port, "/live/one@q.flv") as viewer:
        tags = http.collect(viewer, lambda tags: tags and tags[-1].timestamp - tags[0].timestamp > 3000)
    video = [tag for tag in tags if tag.type == flv.VIDEO and flv.is_frame(tag)]
    audio = [tag for tag in tags if tag.type == flv.AUDIO and flv.is_frame(tag)]
    assert len(video) > 40 and len(audio) > 80, f"frames of 3 s: {len(video)} of video, {len(audio)} of audio"
