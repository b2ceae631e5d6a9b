"""HLS with what stands around it: hls.js in Chromium, GStreamer, gohlslib, and an nginx that caches in front. hls.js comes
from npm, by scripts/test."""

import re

import pytest

from lib import api, browser, gohlslib, hls, http as client_http, media, ports, publishing, rtmp
from lib.ffmpeg import command9
from lib.server import can_connect
from lib.timing import scaled, wait_until

HLS_JS = "hls.js/dist/hls.min.js"
PATH = "/live/one.m3u8"

# It tells what it sees each quarter of a second.
PAGE = """<!doctype html><video id="video" muted autoplay></video><script src="/hls.js/dist/hls.min.js"></script><script>
const video = document.getElementById("video"), errors = [], fragments = [];
let waits = 0;  // playlists that it asked for by what is new in them
const player = new Hls({liveSyncDurationCount: 2});
player.on(Hls.Events.ERROR, (_, data) => errors.push({fatal: data.fatal, details: data.details, why: String(data.reason || data.error)}));
player.on(Hls.Events.FRAG_BUFFERED, (_, data) => fragments.push(data.frag.sn));
player.on(Hls.Events.LEVEL_LOADED, (_, data) => waits += data.networkDetails.responseURL.includes("_HLS_msn="));
player.loadSource(decodeURIComponent(location.hash.slice(1)));
player.attachMedia(video);
reportEvery(250, () => ({
    time: video.currentTime, frames: video.getVideoPlaybackQuality().totalVideoFrames, width: video.videoWidth,
    audio: video.webkitAudioDecodedByteCount, errors, fragments, waits}));
</script>"""


@pytest.mark.parametrize("form", ["ts", "fmp4", "ts-encrypted", "fmp4-memory", "fmp4-low-latency"])
def test_hls_js_in_chromium(servers, tool, tmp_path, form):
    if not browser.is_there(HLS_JS):
        pytest.skip("scripts/test installs hls.js and Chromium")
    server = servers(
        top=api.ON,
        vhosts=hls.vhost(
            fragment="0.5",
            window="20",
            ctx="on",
            use_fmp4="on" if form.startswith("fmp4") else "off",
            keys="on" if form.endswith("encrypted") else "off",
            storage="memory" if form.endswith("memory") else "disk",
            low_latency="on" if form.endswith("latency") else "off",
        )
    )
    tags = media.from_keyframe(media.frequent_keyframes())
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags):
        wait_until(lambda: client_http.get_status(server.http_port, PATH) == 200, 15, "a playlist")
        page = browser.Browser(tool, tmp_path, PAGE, server.http_url(PATH[1:]))
        try:

            def plays():
                last = page.last()
                assert not last or not [error for error in last["errors"] if error["fatal"]], f"hls.js gave up: {last}"
                return last and last["frames"] > 60 and last["time"] > 3 and len(last["fragments"]) >= 3 and last

            seen = wait_until(plays, 60, lambda: f"60 frames; {page.last()}\n{page.process.text()[-2000:]}", 0.2)
        finally:
            page.close()
    frames = [report["frames"] for report in page.reports]
    assert frames == sorted(frames), f"frames should only rise: {frames}"
    assert seen["width"] > 0 and seen["audio"] > 0, f"video and audio: {seen}"
    numbers = list(dict.fromkeys(seen["fragments"]))  # each part of a segment counts
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), f"segments one after the other: {numbers}"
    assert (seen["waits"] > 2) == form.endswith("latency"), f"it waits for parts where it may: {seen}"
    viewers = [one for one in api.clients(server) if one["type"] == "hls-play"]
    assert len(viewers) == 1, f"the browser is one viewer: {viewers}"


@pytest.mark.parametrize("form", ["ts", "fmp4", "fmp4-low-latency"])
def test_gstreamer(servers, tool, form):
    """Its hlsdemux, which takes whole segments: each once, and goes on at the live end."""
    server = servers(
        vhosts=hls.vhost(
            fragment="1",
            window="20",
            ctx="on",
            use_fmp4="off" if form == "ts" else "on",
            low_latency="on" if form.endswith("latency") else "off",
        )
    )
    tags = media.from_keyframe(media.frequent_keyframes())
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags):
        wait_until(lambda: client_http.get(server.http_port, f"{PATH}?hls_ctx=x").body.count(b"#EXTINF") >= 3, 15, "three segments")
        demuxer = "tsdemux" if form == "ts" else "qtdemux"
        words = ["gst-launch-1.0", "-v", "souphttpsrc", f"location={server.http_url(PATH[1:])}", "!", "hlsdemux", "!", demuxer]
        # An element that ends the stream would have it fetch one segment again and again.
        process = tool([*words, "!", "h264parse", "!", "identity", "silent=false", "!", "fakesink"])

        def times():
            return re.findall(r"identity0:sink\) \(\d+ bytes, dts: ([\d:.]+)", process.text())

        wait_until(lambda: len(times()) >= 125, 30, lambda: f"125 pictures: {process.text()[-2000:]}", 0.2)
    seen = times()
    assert seen == sorted(set(seen)), f"each picture once: {seen}"


@pytest.mark.skipif(not gohlslib.is_there(), reason="there is no Go")
@pytest.mark.parametrize("form", ["ts", "fmp4", "fmp4-low-latency"])
def test_gohlslib(servers, form):
    """Two audio tracks, in playlists of their own. Its client takes parts by their hints alone."""
    is_ll = form.endswith("latency")
    server = servers(
        vhosts=hls.vhost(fragment="1" if is_ll else "2", window="20", ctx="on", use_fmp4="off" if form == "ts" else "on", low_latency="on" if is_ll else "off")
    )
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), media.tags(media.two_audio_tracks(20))):
        wait_until(lambda: client_http.get(server.http_port, f"{PATH}?hls_ctx=x").body.count(b"#EXTINF") >= 4, 15, "four segments")
        found = gohlslib.run(server.http_url(PATH[1:]), 6)
    assert not found["end"] and not found["decode_errors"], found
    video, *audio = found["tracks"]
    assert video["codec"] == "*codecs.H264" and [one["codec"] for one in audio] == ["*codecs.MPEG4Audio"] * 2, found
    for track, rate in ((video, 25), *((one, 44100 / 1024) for one in audio)):
        span = track["end"] - track["begin"]
        assert span > 4 and track["back"] == 0 and track["frames"] >= 0.95 * span * rate, f"{track['frames']} frames of {span} s: {found}"
    assert (len(found["parts"]) > 10) == is_ll, found


NGINX = """
daemon off; master_process off; worker_processes 1; error_log {dir}/error.log; pid {dir}/nginx.pid;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
    proxy_cache_path {dir}/cache keys_zone=hls:1m;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{origin};
            proxy_cache hls;
            proxy_cache_lock on;
            add_header X-Cache $upstream_cache_status;
        }}
    }}
}}
"""


@pytest.fixture
def nginx(tool, tmp_path):
    taken = ports.take(1)
    directory = tmp_path / "nginx"
    directory.mkdir()

    def start(server):
        conf = directory / "nginx.conf"
        conf.write_text(NGINX.format(dir=directory, port=taken[0], origin=server.http_port))
        tool(["nginx", "-e", directory / "error.log", "-c", conf])
        wait_until(lambda: can_connect(taken[0]), 10, "nginx listens")
        return taken[0]

    yield start
    ports.release(taken)


def requests_so_far(server, name):
    """Connections by HTTP that have ended, up to one more of that name: the log is written a little later."""
    client_http.get(server.http_port, f"/{name}")
    wait_until(lambda: f"http ended: /{name}" in server.log(), 5, f"a line of /{name}")
    return server.log().partition(f"http ended: /{name}")[0].count("http ended")


@pytest.mark.parametrize("storage", ["disk", "memory"])
def test_nginx_as_a_cache(servers, nginx, storage):
    """With no more than proxy_cache: it keeps segments and asks for playlists each time."""
    server = servers(vhosts=hls.vhost(fragment="1", storage=storage))
    port = nginx(server)
    path = media.with_b_frames()
    tags = media.tags(path)
    middle = tags[len(tags) // 2].timestamp
    with rtmp.publisher(server, "live", "one", timeout=scaled(10)) as client:
        publishing.send_all(client, [tag for tag in tags if tag.timestamp < middle])
        first = hls.wait(server, PATH, lambda playlist: len(playlist.segments) >= 2)
        answers = [client_http.get(port, PATH, Accept_Encoding="gzip") for _ in range(2)]
        assert [answer.headers["x-cache"] for answer in answers] == ["MISS", "MISS"], answers[1].describe()
        assert answers[0].headers["content-encoding"] == "gzip", answers[0].describe()
        url = "/live/" + first.segments[0].uri
        answers = [client_http.get(port, url) for _ in range(3)]
        assert [answer.headers["x-cache"] for answer in answers] == ["MISS", "HIT", "HIT"], answers[1].describe()
        assert answers[2].body == client_http.get(server.http_port, url).body, "the cache should have the very bytes"
        part = client_http.get(port, url, Range="bytes=188-375")
        assert part.status == 206 and part.body == answers[0].body[188:376], part.describe()
        publishing.send_all(client, [tag for tag in tags if tag.timestamp >= middle])
    playlist = hls.wait_end(server, PATH)
    assert client_http.get(port, PATH).body.decode() == playlist.text, "nginx should have the newest playlist"
    for segment in playlist.segments:
        client_http.get(port, "/live/" + segment.uri)
    requests = requests_so_far(server, "before")
    parts = "filter_units=remove_types=7-9"
    own = ["-bsf:v", parts, "-bsf:a", "aac_adtstoasc"]
    got = hls.packets(f"http://127.0.0.1:{port}{PATH}", *own, run=command9)
    hls.assert_same(hls.packets(path, "-bsf:v", f"h264_mp4toannexb,{parts}"), got, "FFmpeg by nginx")
    more = requests_so_far(server, "after") - requests - 1
    assert more <= 3, f"all segments are in the cache; the server was asked {more} times"
