"""DASH in players: shaka-player and dash.js in Chromium, from npm, by scripts/test, and FFmpeg. What they show is read from
the video frames: the publisher draws its clock into them."""

import statistics
import subprocess

import pytest

from lib import browser, dash, media, publishing, rtmp
from lib.ffmpeg import command
from lib.timing import scaled, wait_until

PLAYERS = {"shaka": "shaka-player/dist/shaka-player.dash.js", "dashjs": "dashjs/dist/modern/umd/dash.all.min.js"}
BITS = 12
# Of each video frame that is shown: its age in ms, and that of the newest one in the buffer.
PAGE = """<!doctype html><video id="video" muted autoplay></video><script src="/%s"></script><script>
const video = document.getElementById("video"), errors = [], ages = [], newest = [], source = decodeURIComponent(location.hash.slice(1));
const canvas = document.createElement("canvas"); canvas.width = 640; canvas.height = 40;
const pen = canvas.getContext("2d", {willReadFrequently: true});
let stalls = 0, tracks = [];
video.addEventListener("waiting", () => stalls++);
function look() {
    pen.drawImage(video, 0, 0, video.videoWidth, 40, 0, 0, 640, 40);
    let value = 0;
    for (let bit = 0; bit < %d; bit++) value += (pen.getImageData(bit * 40 + 20, 20, 1, 1).data[0] > 128) * 2 ** bit;
    let age = (Date.now() / 10 - value) %% 4096;
    if (age > 2048) age -= 4096;
    ages.push(10 * age);
    const end = video.buffered.length ? video.buffered.end(video.buffered.length - 1) : video.currentTime;
    newest.push(10 * age - 1000 * (end - video.currentTime));
    video.requestVideoFrameCallback(look);
}
video.requestVideoFrameCallback(look);
%s
reportEvery(250, () => ({
    time: video.currentTime, frames: video.getVideoPlaybackQuality().totalVideoFrames, width: video.videoWidth, stalls, errors,
    audio: video.webkitAudioDecodedByteCount, ages: ages.splice(0), newest: newest.splice(0), tracks}), choose);
</script>"""
SCRIPTS = {
    "shaka": """
shaka.polyfill.installAll();
const player = new shaka.Player();
player.addEventListener("error", event => errors.push([event.detail.severity == 2, event.detail.code, String(event.detail.data)]));
player.attach(video).then(() => player.load(source)).catch(error => errors.push([true, error.code, String(error.data)]));
setInterval(() => tracks = player.getAudioTracks().map(track => ({label: track.label, language: track.language, active: track.active})), 250);
const choose = at => player.selectAudioTrack(player.getAudioTracks()[at]);""",
    "dashjs": """
const player = dashjs.MediaPlayer().create();
player.on("error", event => errors.push([true, event.error && event.error.code, JSON.stringify(event.error)]));
player.initialize(video, source, true);
const mine = track => JSON.stringify([track.index, track.lang, track.id]);
setInterval(() => {
    const now = player.getCurrentTrackFor("audio");
    tracks = player.getTracksFor("audio").map(track => ({label: String(track.labels[0]?.text ?? ""), language: track.lang, active: !!now && mine(now) == mine(track)}));
}, 250);
const choose = at => player.setCurrentTrack(player.getTracksFor("audio")[at]);""",
}
LOW = "enabled on; hls_use_fmp4 on; hls_fragment 1; hls_low_latency on; hls_storage memory;"


def clock():
    """A source of FFmpeg's: the clock in hundredths of a second, as white fields for its bits."""
    fields = "".join(
        f",drawbox=x={40 * bit}:y=0:w=40:h=40:t=fill:color=black,"
        f"drawbox=x={40 * bit}:y=0:w=40:h=40:t=fill:color=white:enable='bitand(floor(mod(time(0)*100,{1 << BITS})),{1 << bit})'"
        for bit in range(BITS)
    )
    return f"testsrc2=size=640x360:rate=25,realtime{fields}"


@pytest.fixture
def publish_clock(tool):
    def start(server, *more):
        return tool(
            command(
                "-f", "lavfi", "-i", clock(), "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000,arealtime", "-c:v", "libx264",
                "-preset", "ultrafast", "-tune", "zerolatency", "-g", "25", "-c:a", "aac", *more, "-f", "flv", server.rtmp_url("live/one"),
            )
        )  # fmt: skip

    return start


@pytest.fixture
def pages(tool, tmp_path):
    opened = []

    def open_page(player, url):
        if not browser.is_there(PLAYERS[player]):
            pytest.skip("scripts/test installs the players and Chromium")
        opened.append(browser.Browser(tool, tmp_path, PAGE % (PLAYERS[player], BITS, SCRIPTS[player]), url))
        return opened[-1]

    yield open_page
    for page in opened:
        page.close()


def wait_frames(page, frames, seconds=60):
    def plays():
        last = page.last()
        assert not last or not [error for error in last["errors"] if error[0]], f"it gave up: {last}"
        return last and last["frames"] >= frames and last

    return wait_until(plays, seconds, lambda: f"{frames} frames; {page.last()}", 0.2)


@pytest.mark.quiet
@pytest.mark.parametrize("player", PLAYERS)
def test_low_latency(servers, publish_clock, pages, player):
    """From the encoder to the picture; four parts of a third of a second are the target."""
    server = servers(vhosts=dash.vhost(hls=LOW, window_size=10))
    publish_clock(server)
    dash.wait(server, lambda one: len(one.numbers()) >= 3, 30, "three segments")
    page = pages(player, server.http_url("live/one.mpd"))
    wait_frames(page, 50)
    seen = len(page.reports)
    last = wait_frames(page, page.last()["frames"] + 100)
    assert last["width"] == 640 and last["audio"] > 0, last
    ages, newest = ([age for report in page.reports[seen:] for age in report[name]] for name in ("ages", "newest"))
    middle, end = statistics.median(ages), statistics.median(newest)
    print(f"{player}: glass to glass {middle:.0f} ms, the newest frame {end:.0f} ms old, {last['stalls']} stalls, {page.reports[seen]['stalls']} at the start")
    assert middle < scaled(3_000) and end < scaled(1_500), f"glass to glass {middle:.0f} ms, the newest frame {end:.0f} ms old"


@pytest.mark.parametrize("player", PLAYERS)
def test_an_audio_track_is_chosen_and_a_publisher_returns(servers, pages, player):
    server = servers(vhosts=dash.vhost(window_size=10, ctx="on"))
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), media.from_keyframe(media.two_audio_tracks())):
        dash.wait(server, lambda one: len(one.numbers("audio2")) >= 3, 30, "three segments")
        page = pages(player, server.http_url("live/one.mpd"))
        wait_frames(page, 30)
        wait_until(lambda: len(page.last()["tracks"]) == 2, 10, lambda: f"two audio tracks: {page.last()}")
        chosen = [track["active"] for track in page.last()["tracks"]].index(False)
        page.commands.append(chosen)
        wait_until(lambda: page.last()["tracks"][chosen]["active"], 20, lambda: f"the other one: {page.last()}")
        wait_frames(page, page.last()["frames"] + 25)
    tags = media.from_keyframe(media.frequent_keyframes())
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags):
        now = dash.wait(server, lambda one: len(one.periods) == 2 and len(one.track().segments) >= 3, 30, "a second Period")
        begin = now.track().segments[0].begin
        wait_until(lambda: page.last()["time"] > begin + 1, 60, lambda: f"it plays the second Period, from {begin}: {page.last()}", 0.2)
        wait_frames(page, page.last()["frames"] + 15)


def test_ffmpeg_reads_it(servers, tmp_path):
    server = servers(vhosts=dash.vhost(window_size=10))
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), media.from_keyframe(media.frequent_keyframes())):
        dash.wait(server, lambda one: len(one.numbers()) >= 3, 30, "three segments")
        words = command("-i", server.http_url("live/one.mpd"), "-t", "2", "-map", "0:v", "-map", "0:a", "-f", "framecrc", "-")
        done = subprocess.run(words, capture_output=True, text=True, timeout=scaled(60), check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert sum(line.startswith("0,") for line in lines) >= 45 and sum(line.startswith("1,") for line in lines) >= 50, done.stdout[-500:]
