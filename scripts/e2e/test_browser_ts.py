"""Live MPEG-TS in a browser: mpegts.js, from npm, in Chromium, over HTTP and WebSocket."""

import pytest

from lib import browser, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled, wait_until

MPEGTS_JS = "mpegts.js/dist/mpegts.js"

PAGE = """<!doctype html><video id="video" muted autoplay></video><script src="/mpegts.js/dist/mpegts.js"></script><script>
const video = document.getElementById("video"), errors = [];
const url = decodeURIComponent(location.hash.slice(1));
const player = mpegts.createPlayer({type: "mpegts", isLive: true, url});
player.on(mpegts.Events.ERROR, (...what) => errors.push(String(what)));
player.attachMediaElement(video);
player.load();
player.play();
reportEvery(250, () => ({
    time: video.currentTime, frames: video.getVideoPlaybackQuality().totalVideoFrames, width: video.videoWidth,
    audio: video.webkitAudioDecodedByteCount, errors}));
</script>"""


@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_mpegts_js_in_chromium(servers, tool, tmp_path, scheme):
    if not browser.is_there(MPEGTS_JS):
        pytest.skip("scripts/test installs mpegts.js and Chromium")
    server = servers(vhosts=default_vhost(play="mw_latency 100;"))
    tags = media.from_keyframe(media.with_b_frames())
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags):
        page = browser.Browser(tool, tmp_path, PAGE, server.http_url("live/one.ts").replace("http", scheme, 1))
        try:

            def plays():
                last = page.last()
                assert not last or not last["errors"], f"mpegts.js complains: {last}"
                return last and last["frames"] > 40 and last["time"] > 2 and last

            seen = wait_until(plays, 60, lambda: f"40 frames; {page.last()}\n{page.process.text()[-2000:]}", 0.2)
        finally:
            page.close()
    assert seen["width"] > 0 and seen["audio"] > 0, f"video and audio: {seen}"


def test_mpegts_js_before_its_publisher(servers, tool, tmp_path):
    """A 404 would stop it for good."""
    if not browser.is_there(MPEGTS_JS):
        pytest.skip("scripts/test installs mpegts.js and Chromium")
    server = servers(vhosts=default_vhost(play="mw_latency 100;"))
    tags = media.from_keyframe(media.with_b_frames())
    page = browser.Browser(tool, tmp_path, PAGE.replace('"mpegts"', '"flv"'), server.http_url("live/later.flv"))
    try:
        wait_until(page.last, 60, lambda: f"the page runs\n{page.process.text()[-2000:]}")
        server.wait_players("live/later", 1)
        with publishing.Steady(rtmp.publisher(server, "live", "later", timeout=scaled(10)), tags):

            def plays():
                last = page.last()
                assert not last["errors"], f"mpegts.js complains: {last}"
                return last["frames"] > 40

            wait_until(plays, 60, lambda: f"40 frames; {page.last()}\n{page.process.text()[-2000:]}", 0.2)
    finally:
        page.close()
