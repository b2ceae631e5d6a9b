"""Low-latency HLS in players: hls.js and shaka-player in Chromium, from npm, by scripts/test; FFmpeg, which reads
whole segments. The published frames carry the wall clock, so the time from the encoder to the picture is measured."""

import statistics
import subprocess

import pytest

from lib import api, browser, certificates, ffmpeg, hls, http, media, metrics, players, publishing, rtmp
from lib.ffmpeg import Process
from lib.timing import SLOW, scaled, wait_until

PATH = "/live/one.m3u8"
HLS_JS, SHAKA = "hls.js/dist/hls.min.js", "shaka-player/dist/shaka-player.compiled.js"
ON = {"use_fmp4": "on", "fragment": "1", "window": "10", "storage": "memory", "low_latency": "on"}

# ms since the frame that is seen was made, as timecode.js of the players page reads it; null: none is seen.
_READ = """
const canvas = new OffscreenCanvas(96, 8), context = canvas.getContext("2d", {willReadFrequently: true});
function latency(video) {
    if (!video.videoWidth) return null;
    const now = Date.now();
    context.drawImage(video, 0, 0, video.videoWidth, video.videoHeight / 15, 0, 0, 96, 8);
    const data = context.getImageData(0, 0, 96, 8).data, level = (x, y) => data[(y * 96 + x) * 4 + 1];
    let value = 0;
    for (let column = 0; column < 24; ++column) {
        const x = column * 4 + 2, difference = level(x, 2) - level(x, 6);
        if (Math.abs(difference) < 90 || (column == 0) != (difference > 0) && (column == 0 || column == 23)) return null;
        if (column > 0 && column < 23) value = (value << 1) | ((value & 1) ^ (difference > 0));
    }
    return (now % 2 ** 22 - value + 2 ** 22) % 2 ** 22;
}
"""
_PAGE = """<!doctype html><video id="video" muted autoplay></video><script src="/%s"></script><script>
const video = document.getElementById("video"), errors = [], url = decodeURIComponent(location.hash.slice(1));
let stalls = 0, started = false, parts = 0, language = "", codecs = "";
video.addEventListener("playing", () => started = true);
video.addEventListener("waiting", () => stalls += started);
%s
reportEvery(100, () => {
    const quality = video.getVideoPlaybackQuality(), end = video.buffered.length ? video.buffered.end(video.buffered.length - 1) : 0;
    const seen = latency(video), ahead = (end - video.currentTime) * 1000;
    return {frames: quality.totalVideoFrames, dropped: quality.droppedVideoFrames, stalls, errors, parts, codecs, language,
            width: video.videoWidth, audio: video.webkitAudioDecodedByteCount, seen, newest: seen === null ? null : seen - ahead};
}, (command) => eval(command));
</script>"""
PAGES = {
    "hls.js": (HLS_JS, """
const player = new Hls({maxLiveSyncPlaybackRate: 1.5});
player.on(Hls.Events.ERROR, (_, data) => errors.push(data.details));
player.on(Hls.Events.FRAG_BUFFERED, (_, data) => parts += data.part ? 1 : 0);
player.on(Hls.Events.BUFFER_CODECS, (_, tracks) => codecs = Object.values(tracks).map((track) => track.codec).join());
player.on(Hls.Events.AUDIO_TRACK_SWITCHED, (_, data) => language = player.audioTracks[data.id].name);
player.loadSource(url);
player.attachMedia(video);
"""),
    "shaka": (SHAKA, """
shaka.polyfill.installAll();
const player = new shaka.Player();
player.addEventListener("error", (event) => errors.push(event.detail.code));
// Unless it takes the times as they are it moves each part to where the playlist has it, by a millisecond and back, and
// resets its parser for that: of a segment only the part with the keyframe stays.
player.configure({manifest: {hls: {ignoreManifestTimestampsInSegmentsMode: true}},
    streaming: {lowLatencyMode: true, liveSync: {enabled: true, targetLatency: 1.2, maxPlaybackRate: 1.5}}});
player.getNetworkingEngine().registerResponseFilter((type, response) => parts += /~p[0-9]+[.]/.test(response.uri) ? 1 : 0);
player.attach(video).then(() => player.load(url)).then(() => video.play()).catch((error) => errors.push(String(error)));
setInterval(() => {
    const track = player.getVariantTracks().find((one) => one.active);
    if (track) [codecs, language] = [track.codecs, track.label || track.language];
}, 200);
"""),
}  # fmt: skip


@pytest.fixture
def published(servers, tmp_path):
    """A server, and an encoder that publishes frames with the wall clock to it."""
    server = servers(top=api.ON, vhosts=hls.vhost(**ON))
    publisher = Process(players.pattern(server), tmp_path / "publisher.txt")
    try:
        hls_is_there(server, PATH)
        yield server
        assert publisher.alive(), publisher.describe()
    finally:
        publisher.kill()


def hls_is_there(server, path):
    wait_until(lambda: http.get_status(server.http_port, path) == 200, 15, "a playlist")


def page_of(name, tool, directory, url, flags=""):
    script, code = PAGES[name]
    if not browser.is_there(script):
        pytest.skip(f"scripts/test installs {script} and Chromium")
    return browser.Browser(tool, directory, _PAGE % (script, _READ + code), url, flags)


def played(page, frames):
    def enough():
        last = page.last()
        return last and last["frames"] >= frames and last

    return wait_until(enough, 60, lambda: f"{frames} frames; {page.last()}\n{page.process.text()[-2000:]}", 0.2)


@pytest.mark.quiet
@pytest.mark.parametrize("name", PAGES)
def test_from_the_encoder_to_the_picture(published, tool, tmp_path, name):
    """Players are three parts behind, a second, and what the encoder and they themselves take."""
    page = page_of(name, tool, tmp_path, published.http_url(PATH[1:]))
    try:
        played(page, 200)
        steady = len(page.reports)
        last = played(page, 500)
    finally:
        page.close()
    seen = [one["seen"] for one in page.reports[steady:] if one["seen"] is not None]
    newest = [one["newest"] for one in page.reports[steady:] if one["newest"] is not None]
    figures = f"{name}: {statistics.median(seen):.0f} ms to the picture (p50), {sorted(seen)[len(seen) * 95 // 100]} p95, the newest frame {statistics.median(newest):.0f} ms old; {last}"
    print(figures)
    assert last["width"] == players.WIDTH and last["audio"] > 0 and "avc1" in last["codecs"] and "mp4a" in last["codecs"], figures
    assert last["parts"] > 20, f"it plays parts: {figures}"
    assert page.reports[steady]["stalls"] == last["stalls"], f"no stall: {figures}"
    assert statistics.median(seen) < (2500 if name == "hls.js" else 3500) * SLOW and statistics.median(newest) < 800 * SLOW, figures


@pytest.mark.quiet
def test_over_http2(servers, tool, tmp_path):
    """Requests that wait are streams of one connection with TLS."""
    key, cert = certificates.make(tmp_path)
    server = servers(
        top=api.ON + metrics.EXPORTER % "",
        http=f"https {{ listen 127.0.0.1:HTTPS_PORT; enabled on; key {key}; cert {cert}; }}",
        vhosts=hls.vhost(**ON),
    )
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), media.tags(media.two_audio_tracks(20))):
        hls_is_there(server, PATH)
        url = f"https://127.0.0.1:{server.https_port}{PATH}"
        page = page_of("hls.js", tool, tmp_path, url, "--ignore-certificate-errors")
        try:
            last = played(page, 150)
        finally:
            page.close()
        counts = metrics.Metrics(server)
    assert last["parts"] > 10 and not last["errors"], last
    assert counts.value("srs_http2_requests_total") > 2 * last["parts"], "a playlist and a part each"
    assert counts.value("srs_http2_connections_total") <= 3


# Another one than is played.
CHOOSE = {"hls.js": "player.audioTrack = 1 - player.audioTrack", "shaka": "player.selectAudioTrack(player.getAudioTracks().find((one) => !one.active))"}


@pytest.mark.quiet
@pytest.mark.parametrize("name", PAGES)
def test_an_audio_track_is_chosen(servers, tool, tmp_path, name):
    """From the first segment on, when the multivariant playlist and the open segment are all that there is beside it."""
    server = servers(top=api.ON, vhosts=hls.vhost(**ON))
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), media.tags(media.two_audio_tracks(20))):
        hls_is_there(server, "/live/one~master.m3u8")
        page = page_of(name, tool, tmp_path, server.http_url("live/one~master.m3u8"))
        try:
            first = played(page, 75)
            page.commands.append(CHOOSE[name])
            wait_until(lambda: page.last()["language"] != first["language"] and page.last(), 20, lambda: f"another track than {first}: {page.last()}")
            last = played(page, page.last()["frames"] + 75)
        finally:
            page.close()
    assert last["audio"] > first["audio"] and last["parts"] > first["parts"], last


def test_ffmpeg_reads_whole_segments(published):
    words = ffmpeg.command("-i", published.http_url(PATH[1:]), "-map", "0:v", "-frames:v", 150, "-f", "framemd5", "-")
    done = subprocess.run(words, capture_output=True, text=True, timeout=scaled(60), check=False)
    assert done.returncode == 0, done.stderr[-1500:]
    frames = [line.split(",")[-1] for line in done.stdout.splitlines() if line[:1].isdigit()]
    assert len(frames) == len(set(frames)) == 150, "each picture once"
